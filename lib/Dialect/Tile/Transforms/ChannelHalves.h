//===- ChannelHalves.h - what a channel becomes -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_CHANNELHALVES_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_CHANNELHALVES_H

#include "fa4/Dialect/Tile/IR/TileOps.h"

#include "llvm/ADT/MapVector.h"

#include <string>

namespace fa4::tile {

/// One half of a channel: `full`, from commits to waits, or `empty`, from releases
/// to acquires.
struct Half {
  std::string name;
  /// Who arrives. An engine arrives once, as a lane does.
  Arrival by = Arrival::Thread;
  /// Arrivals that complete a phase; for named barriers the threads that meet.
  int64_t count = 0;
  /// Who waits runs in the leader of a pair only, and so the barrier is there.
  bool isAtLeader = false;

  bool isNamed() const { return by == Arrival::Named || by == Arrival::NamedPerWarp; }
};

struct Halves {
  Half full, empty;
};

using HalvesOfChannels = llvm::MapVector<mlir::Operation *, Halves>;

/// Halves of every channel of `kernel` by rule R0 (and R6 for named barriers): who
/// arrives follows from the ops that commits and releases name in `after`, and from
/// the channel's grain where they name none.
mlir::FailureOr<HalvesOfChannels> deriveHalves(KernelOp kernel);

/// The acquire or wait that a token, carried or not, first came from.
mlir::Operation *tokenOrigin(mlir::Value token);

/// The channel that an acquire, wait or settle names.
ChannelOp channelOf(mlir::Operation *op);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_CHANNELHALVES_H
