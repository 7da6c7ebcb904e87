//===- Resolve.h - from formulas to the numbers of a launch -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Evaluates a bundle for one binding: bytes of workspaces, then per launch the
// grid, the parameter bytes and the tensor maps that belong inside them. Tensor
// maps stay plain numbers here, since only the consumer knows the encoding (the
// CUDA driver's is not public, the simulator has its own).
//
//===----------------------------------------------------------------------===//

#ifndef FA4_RUNTIME_RESOLVE_H
#define FA4_RUNTIME_RESOLVE_H

#include "fa4/Runtime/Bundle.h"

namespace fa4::runtime {

struct ResolvedTensorMap {
  std::string tensor; ///< whose memory it describes, for messages
  uint64_t address = 0;
  ElementType type = ElementType::BF16;
  std::vector<uint64_t> extents; ///< at least 1 each
  /// Of dimensions 1 and up; those of extents of 1 are replaced by a legal value.
  std::vector<uint64_t> strides;
  std::vector<uint32_t> box, elementStrides;
  Swizzle swizzle = Swizzle::None;
  L2Promotion promotion = L2Promotion::None;
  OutsideFill fill = OutsideFill::Zero;
};

/// Size of a CUtensorMap (CUDA driver API).
constexpr uint32_t kTensorMapBytes = 128;

struct ResolvedParameter {
  std::vector<uint8_t> bytes;
  /// Byte offset in `bytes` of each map; its 128 bytes there are still zero.
  std::vector<std::pair<uint32_t, ResolvedTensorMap>> maps;
};

struct ResolvedLaunch {
  std::string entry;
  std::array<uint32_t, 3> grid, block;
  std::optional<std::array<uint32_t, 3>> cluster;
  uint32_t dynamicSharedBytes = 0;
  std::vector<ResolvedParameter> parameters;
  bool programmaticDependence = false;

  /// A grid of 0 is not launched.
  bool isEmpty() const { return !grid[0] || !grid[1] || !grid[2]; }
};

/// All tensors and scalars of the bundle are bound, with its types and ranks, and
/// its conditions hold.
llvm::Error checkBinding(const Bundle &bundle, const Binding &binding);

/// Names the first condition that does not hold.
llvm::Error checkConditions(llvm::ArrayRef<Condition> conditions, const Binding &binding);

/// Bytes of each workspace, in the bundle's order; at least 1.
llvm::Expected<std::vector<uint64_t>> workspaceBytes(const Bundle &bundle, const Binding &binding);

/// The launch with its workspaces bound as tensors.
llvm::Expected<ResolvedLaunch> resolveLaunch(const Launch &launch, const Binding &binding);

} // namespace fa4::runtime

#endif // FA4_RUNTIME_RESOLVE_H
