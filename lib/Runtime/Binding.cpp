//===- Binding.cpp - what a caller hands to a bundle ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One table of element types: every name and size of the JSON form is read and
// written through it.
//
//===----------------------------------------------------------------------===//

#include "fa4/Runtime/Binding.h"

#include "llvm/ADT/STLExtras.h"

namespace fa4::runtime {

namespace {

struct ElementRow {
  ElementType type;
  llvm::StringLiteral name;
  unsigned bytes;
};

constexpr ElementRow kElements[] = {
    {ElementType::U8, "u8", 1},     {ElementType::U16, "u16", 2},   {ElementType::U32, "u32", 4},
    {ElementType::I32, "i32", 4},   {ElementType::U64, "u64", 8},   {ElementType::I64, "i64", 8},
    {ElementType::F16, "f16", 2},   {ElementType::BF16, "bf16", 2}, {ElementType::F32, "f32", 4},
    {ElementType::F64, "f64", 8},   {ElementType::TF32, "tf32", 4}, {ElementType::E4M3, "e4m3", 1},
    {ElementType::E5M2, "e5m2", 1},
};

const ElementRow &rowOf(ElementType type) {
  return *llvm::find_if(kElements, [&](const ElementRow &row) { return row.type == type; });
}

} // namespace

unsigned elementBytes(ElementType type) { return rowOf(type).bytes; }

llvm::StringRef elementName(ElementType type) { return rowOf(type).name; }

std::optional<ElementType> elementNamed(llvm::StringRef name) {
  for (const ElementRow &row : kElements) {
    if (row.name == name) {
      return row.type;
    }
  }
  return std::nullopt;
}

std::string elementNames() {
  std::string names;
  for (const ElementRow &row : kElements) {
    names += (names.empty() ? "" : ", ") + row.name.str();
  }
  return names;
}

BoundTensor bindDense(uint64_t address, ElementType type, llvm::ArrayRef<int64_t> extents) {
  BoundTensor tensor{address, type, extents.vec(), std::vector<int64_t>(extents.size())};
  int64_t stride = elementBytes(type);
  for (size_t d = extents.size(); d-- > 0;) {
    tensor.strides[d] = stride;
    stride *= std::max<int64_t>(extents[d], 1);
  }
  return tensor;
}

} // namespace fa4::runtime
