//===- HostArray.cpp - strided arrays that kernels run on -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bytes between the elements of a strided array are filled with a pattern that
// is a NaN in every float type, so a kernel that reads beside its operand is
// seen.
//
//===----------------------------------------------------------------------===//

#include "fa4/Driver/HostArray.h"

#include "fa4/Numerics/Float16.h"
#include "llvm/Support/MathExtras.h"

#include <cstdlib>
#include <cstring>

using namespace fa4::support;

namespace fa4::driver {

/// S2 asks for 16; vectors of 64 bytes are the widest a host has.
constexpr size_t kAlignment = 64;

static llvm::SmallVector<int64_t, 4> packedStrides(llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t, 4> strides(shape.size(), 1);
  for (size_t dim = shape.size(); dim-- > 1;) {
    strides[dim - 1] = strides[dim] * std::max<int64_t>(shape[dim], 1);
  }
  return strides;
}

HostArray::HostArray(NpyType type, llvm::ArrayRef<int64_t> shape)
    : HostArray(type, shape, packedStrides(shape), 0) {}

HostArray::HostArray(NpyType type, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides,
                     int64_t offset)
    : type(type), shape(shape), strides(strides), offset(offset) {
  int64_t last = offset;
  bool empty = false;
  for (auto [extent, stride] : llvm::zip_equal(shape, strides)) {
    last += std::max<int64_t>(extent - 1, 0) * stride;
    empty |= extent == 0;
  }
  int64_t numBytes = (empty ? offset : last + 1) * static_cast<int64_t>(npyTypeBytes(type));
  size_t allocated = llvm::alignTo(static_cast<size_t>(numBytes) + 1, kAlignment);
  bytes.reset(static_cast<char *>(std::aligned_alloc(kAlignment, allocated)), std::free);
  constexpr int nanPattern = 0xFF;
  std::memset(bytes.get(), nanPattern, allocated);
  // Zero is all bits zero in every type.
  unsigned size = npyTypeBytes(type);
  forEachRun([&](int64_t position, int64_t, int64_t length) {
    std::memset(bytes.get() + position * size, 0, length * size);
  });
}

HostArray HostArray::viewOf(NpyType type, llvm::ArrayRef<int64_t> shape,
                            llvm::ArrayRef<int64_t> strides, int64_t offset, char *data) {
  HostArray view;
  view.type = type;
  view.shape.assign(shape.begin(), shape.end());
  view.strides.assign(strides.begin(), strides.end());
  view.offset = offset;
  view.bytes = std::shared_ptr<char>(data, [](char *) {});
  return view;
}

HostArray HostArray::fromNpy(const NpyArray &source) {
  NpyArray packed = source.toCOrder();
  HostArray array(packed.type, packed.shape);
  if (!packed.data.empty()) {
    std::memcpy(array.bytes.get(), packed.data.data(), packed.data.size());
  }
  return array;
}

NpyArray HostArray::toNpy() const {
  NpyArray packed(type, shape);
  unsigned size = npyTypeBytes(type);
  forEachRun([&](int64_t position, int64_t number, int64_t length) {
    std::memcpy(packed.data.data() + number * size, bytes.get() + position * size, length * size);
  });
  return packed;
}

int64_t HostArray::numElements() const {
  int64_t count = 1;
  for (int64_t extent : shape) {
    count *= extent;
  }
  return count;
}

int64_t HostArray::positionOf(llvm::ArrayRef<int64_t> index) const {
  int64_t position = offset;
  for (size_t dim = 0; dim < index.size(); ++dim) {
    position += index[dim] * strides[dim];
  }
  return position;
}

llvm::MutableArrayRef<uint8_t> HostArray::getSpan() {
  if (numElements() == 0) {
    return {};
  }
  int64_t last = offset;
  for (auto [extent, stride] : llvm::zip_equal(shape, strides)) {
    last += (extent - 1) * stride;
  }
  auto size = static_cast<int64_t>(npyTypeBytes(type));
  return {reinterpret_cast<uint8_t *>(bytes.get()) + offset * size,
          static_cast<size_t>((last + 1 - offset) * size)};
}

void HostArray::copyElements(llvm::ArrayRef<uint8_t> span) {
  unsigned size = npyTypeBytes(type);
  llvm::MutableArrayRef<uint8_t> own = getSpan();
  forEachRun([&](int64_t position, int64_t, int64_t length) {
    int64_t at = (position - offset) * size;
    std::memcpy(own.data() + at, span.data() + at, length * size);
  });
}

double HostArray::getAt(int64_t position) const {
  const char *address = bytes.get() + position * static_cast<int64_t>(npyTypeBytes(type));
  auto read = [&](auto value) {
    std::memcpy(&value, address, sizeof(value));
    return value;
  };
  switch (type) {
  case NpyType::BF16:
    return numerics::bf16ToFloat(read(uint16_t()));
  case NpyType::F16:
    return numerics::f16ToFloat(read(uint16_t()));
  case NpyType::F32:
    return read(float());
  case NpyType::F64:
    return read(double());
  case NpyType::I32:
    return read(int32_t());
  case NpyType::I64:
    return static_cast<double>(read(int64_t()));
  }
  llvm_unreachable("all element types are handled");
}

void HostArray::set(llvm::ArrayRef<int64_t> index, double value) {
  char *address = bytes.get() + positionOf(index) * static_cast<int64_t>(npyTypeBytes(type));
  auto write = [&](auto stored) { std::memcpy(address, &stored, sizeof(stored)); };
  switch (type) {
  case NpyType::BF16:
    return write(numerics::doubleToBF16(value));
  case NpyType::F16:
    return write(numerics::doubleToF16(value));
  case NpyType::F32:
    return write(static_cast<float>(value));
  case NpyType::F64:
    return write(value);
  case NpyType::I32:
    return write(static_cast<int32_t>(value));
  case NpyType::I64:
    return write(static_cast<int64_t>(value));
  }
}

void HostArray::forEach(
    llvm::function_ref<void(llvm::ArrayRef<int64_t> index, int64_t number)> body) const {
  llvm::SmallVector<int64_t, 4> index(shape.size(), 0);
  int64_t count = numElements();
  for (int64_t number = 0; number < count; ++number) {
    body(index, number);
    for (size_t dim = shape.size(); dim-- > 0;) {
      if (++index[dim] < shape[dim]) {
        break;
      }
      index[dim] = 0;
    }
  }
}

void HostArray::forEachRun(
    llvm::function_ref<void(int64_t position, int64_t number, int64_t length)> body) const {
  // As many inner dimensions as leave no gap.
  int64_t length = 1;
  size_t outer = shape.size();
  while (outer > 0 && (strides[outer - 1] == length || shape[outer - 1] == 1)) {
    length *= shape[--outer];
  }
  int64_t count = numElements();
  llvm::SmallVector<int64_t, 4> index(outer, 0);
  for (int64_t number = 0; number < count; number += length) {
    body(positionOf(index), number, length);
    for (size_t dim = outer; dim-- > 0;) {
      if (++index[dim] < shape[dim]) {
        break;
      }
      index[dim] = 0;
    }
  }
}

MemRefDescriptor HostArray::describe() {
  return MemRefDescriptor(bytes.get(), shape, strides, offset);
}

bool haveEqualBits(const HostArray &a, const HostArray &b) {
  return a.getType() == b.getType() && a.getShape() == b.getShape() &&
         a.toNpy().data == b.toNpy().data;
}

} // namespace fa4::driver
