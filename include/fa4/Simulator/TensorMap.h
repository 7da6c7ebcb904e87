//===- TensorMap.h - boxes of a strided tensor ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tiled mode of tensor copies: which global bytes a box covers and where
// they land in shared memory. The driver's 128-byte encoding is not public, so
// the simulator has its own (with a checksum), built from the same recipe.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SIMULATOR_TENSORMAP_H
#define FA4_SIMULATOR_TENSORMAP_H

#include "fa4/Simulator/Layouts.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <array>

namespace fa4::sim {

/// The element types of a tensor map.
enum class MapElement : uint8_t {
  U8,
  U16,
  U32,
  S32,
  U64,
  S64,
  F16,
  F32,
  F64,
  BF16,
  F32Ftz,
  TF32,
  TF32Ftz
};
unsigned mapElementBytes(MapElement type);

constexpr unsigned kMaxMapRank = 5; // CUDA driver API, cuTensorMapEncodeTiled
constexpr unsigned kMapBytes = 128; // same: the size of a CUtensorMap

struct TensorMap {
  MapElement type = MapElement::U8;
  unsigned rank = 1;
  Swizzle swizzle = Swizzle::None;
  bool nanFill = false;
  uint64_t base = 0;
  std::array<uint64_t, kMaxMapRank> sizes{};
  /// Bytes between neighbours of a dimension; strides[0] is the element size.
  std::array<uint64_t, kMaxMapRank> strides{};
  std::array<uint32_t, kMaxMapRank> box{};
  std::array<uint32_t, kMaxMapRank> elementStrides{};

  /// Checks the rules of the driver's encoder.
  llvm::Error verify() const;
  /// Elements that the box visits in dimension `d`.
  unsigned boxCount(unsigned d) const;
  /// Bytes of a box's elements: what the transaction counts.
  uint32_t boxBytes() const;
  /// Bytes from one line of a box to the next in shared memory. A swizzled line
  /// takes the whole span (measured on an H200).
  uint32_t linePitch() const;
  /// Bytes of shared memory from the first to behind the last line.
  uint32_t footprint() const;
  /// What fills elements outside of the tensor, 16 bits at a time.
  uint16_t fillPattern() const;
  /// The element as a load delivers it: tf32 types round.
  uint32_t convertLoaded(uint32_t bits) const;

  void encode(llvm::MutableArrayRef<uint8_t> bytes) const;
  static llvm::Expected<TensorMap> decode(llvm::ArrayRef<uint8_t> bytes);
};

/// A run of bytes of a box, contiguous on both sides.
struct BoxRun {
  uint32_t offset; ///< from the box's start in shared memory, before swizzling
  uint64_t global; ///< meaningful only if inside
  uint32_t bytes;
  bool inside;
};

/// Calls `visit` for every run of the box at `coordinates`, in memory order.
void walkBox(const TensorMap &map, llvm::ArrayRef<int32_t> coordinates,
             llvm::function_ref<void(const BoxRun &)> visit);

} // namespace fa4::sim

#endif // FA4_SIMULATOR_TENSORMAP_H
