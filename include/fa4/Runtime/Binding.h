//===- Binding.h - what a caller hands to a bundle --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The names of a bundle's arguments and workspaces with the caller's tensors and
// numbers behind them. Addresses are opaque: of a GPU, or of simulated memory.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_RUNTIME_BINDING_H
#define FA4_RUNTIME_BINDING_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace fa4::runtime {

enum class ElementType : uint8_t {
  U8,
  U16,
  U32,
  I32,
  U64,
  I64,
  F16,
  BF16,
  F32,
  F64,
  TF32,
  E4M3,
  E5M2
};

unsigned elementBytes(ElementType type);
llvm::StringRef elementName(ElementType type);
std::optional<ElementType> elementNamed(llvm::StringRef name);
/// Every name, for messages: "u8, u16, …".
std::string elementNames();

struct BoundTensor {
  uint64_t address = 0;
  ElementType type = ElementType::U8;
  std::vector<int64_t> extents;
  std::vector<int64_t> strides; ///< bytes
};

/// A tensor that is dense, last dimension fastest.
BoundTensor bindDense(uint64_t address, ElementType type, llvm::ArrayRef<int64_t> extents);

struct Binding {
  llvm::StringMap<BoundTensor> tensors; ///< workspaces too, without extents
  llvm::StringMap<int64_t> integers;
  llvm::StringMap<double> floats;
  int64_t processors = 0; ///< multiprocessors of the device
};

} // namespace fa4::runtime

#endif // FA4_RUNTIME_BINDING_H
