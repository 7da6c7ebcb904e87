//===- RoleLowering.h - a role from tokens to barriers ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_ROLELOWERING_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_ROLELOWERING_H

#include "CursorClasses.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace fa4::tile {

/// Writes the body of a role again, with barriers, cursors and places instead of
/// tokens. The old body is dropped.
class RoleLowering {
public:
  RoleLowering(RoleOp role, const HalvesOfChannels &halves, const CursorClasses &cursors)
      : role(role), halves(halves), cursors(cursors), builder(role.getContext()) {}

  mlir::LogicalResult run();

private:
  /// A token in the new body: a slot of an element of a channel.
  struct Slot {
    ChannelOp channel;
    mlir::Value element;
    mlir::IntegerAttr fixed;
    mlir::Value cursor; ///< null in a channel of depth 1
  };
  /// The cursor of the next generation, by key, and what is already advanced.
  struct Position {
    llvm::SmallVector<mlir::Value> next;
    mlir::DenseMap<mlir::Value, mlir::Value> advanced;
  };

  mlir::LogicalResult emitBlock(mlir::Block &from, Position &at);
  mlir::LogicalResult emitOp(mlir::Operation *op, Position &at);
  mlir::LogicalResult emitFor(mlir::scf::ForOp loop, Position &at);
  mlir::LogicalResult emitTiles(ForEachTileOp tiles, Position &at);
  mlir::LogicalResult emitIf(mlir::scf::IfOp branch, Position &at);

  void emitTokenStart(mlir::Operation *op, Position &at);
  void emitSettle(SettleOp settle, Position &at);
  mlir::LogicalResult emitTokenEnd(mlir::Operation *op, mlir::Value token, mlir::ValueRange after);
  void emitLoad(AsyncLoadOp load);
  void emitNext(AsyncNextOp next);
  void emitAwait(AwaitOp await);
  mlir::LogicalResult emitMma(AsyncMmaOp mma);
  template <typename OpTy>
  void emitAccess(OpTy access);

  /// Slots that are full at the start: the producer's arrivals, and its cursor.
  void emitStarts();
  mlir::Value startOf(const CursorClasses::Class &each);
  /// Whether this is the replica that produces `element` of the channel.
  mlir::Value isProducerOf(ChannelOp channel, int64_t element);

  /// Classes that `op` advances, and the values they have before it.
  llvm::SmallVector<unsigned> carriedClasses(mlir::Operation *op) const;
  mlir::Value valueOf(unsigned cursorClass, const Position &at) const;
  void setClass(unsigned cursorClass, mlir::Value value, Position &at) const;
  mlir::Value advance(mlir::Value cursor, Position &at);
  /// Appends the new values of `values`; tokens become their cursors, or nothing.
  void appendMapped(mlir::ValueRange values, llvm::SmallVectorImpl<mlir::Value> &to) const;
  /// The same, and behind them the values of `carried`.
  void appendCarried(mlir::ValueRange values, llvm::ArrayRef<unsigned> carried, const Position &at,
                     llvm::SmallVectorImpl<mlir::Value> &to) const;
  /// Takes new results or arguments, in the order of `appendCarried`, for old ones;
  /// `inits` are what the tokens among the old ones were initialised with.
  void takeCarried(mlir::ValueRange old, mlir::ValueRange inits, mlir::ValueRange fresh,
                   llvm::ArrayRef<unsigned> carried, Position &at);
  mlir::FlatSymbolRefAttr symbol(llvm::StringRef name) const {
    return mlir::FlatSymbolRefAttr::get(builder.getContext(), name);
  }

  /// Whether the role arrives at `half` from both CTAs of a pair.
  bool isFromPair(const Half &half) { return half.isAtLeader && role.getCtas() == Ctas::Both; }
  mlir::UnitAttr unitIf(bool condition) {
    return condition ? builder.getUnitAttr() : mlir::UnitAttr();
  }

  RoleOp role;
  const HalvesOfChannels &halves;
  const CursorClasses &cursors;
  mlir::OpBuilder builder;
  mlir::IRMapping mapping;
  mlir::DenseMap<mlir::Value, Slot> slots;
  /// By old async value: the op that completes last of what stands for it.
  mlir::DenseMap<mlir::Value, mlir::Operation *> issued;
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_ROLELOWERING_H
