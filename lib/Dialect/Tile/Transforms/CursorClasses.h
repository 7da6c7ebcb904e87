//===- CursorClasses.h - cursors that step together -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_CURSORCLASSES_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_CURSORCLASSES_H

#include "ChannelHalves.h"

namespace fa4::tile {

/// What one role does at one element of a channel, as producer or as consumer.
struct CursorKey {
  ChannelOp channel;
  bool producer = false;
  mlir::Value element;          ///< an element that the role computes, or null
  std::optional<int64_t> fixed; ///< a constant element
  unsigned cursorClass = 0;

  bool names(mlir::Operation *op) const;
};

/// Cursors of a role. Keys of one class start equal and are advanced equally often
/// between any two loops, so one cursor serves them all.
struct CursorClasses {
  struct Class {
    int64_t depth = 1;
    bool credit = false;
    /// The key whose slots are full at the start, if there is one; it is alone.
    std::optional<unsigned> startsOf;
  };

  std::vector<CursorKey> keys;
  std::vector<Class> classes;

  /// The key of an acquire, wait or settle.
  unsigned keyOf(mlir::Operation *op) const;
  /// Whether `op` holds an acquire or wait of the class.
  bool advancesIn(mlir::Operation *op, unsigned cursorClass) const;
};

/// Whether slots of `channel` are full at the start.
bool fillsSlots(ChannelOp channel);

/// Waits at named barriers have no phase to know, and so no key.
mlir::FailureOr<CursorClasses> findCursorClasses(RoleOp role, const HalvesOfChannels &halves);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_CURSORCLASSES_H
