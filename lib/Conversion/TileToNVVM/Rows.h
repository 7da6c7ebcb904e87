//===- Rows.h - a thread's columns, piece by piece --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ops whose columns need no other column (maps, masks) are emitted one piece of
// columns after the other, all ops of a chain for one piece before the next: what
// one of them has at hand of a column dies before the next piece, even if a later
// op, as LLVM finds, needs it again.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_TILETONVVM_ROWS_H
#define FA4_LIB_CONVERSION_TILETONVVM_ROWS_H

#include "Values.h"

#include <memory>

namespace fa4::tile::gpu {

/// What one more column of a piece takes while an op works on it.
struct PieceCost {
  /// Registers beside the result's; 0 if a whole row can be done at once.
  int64_t registers = 0;
  /// Numbers that are loaded for it.
  int64_t loads = 0;
  /// Registers that all pieces share for those loads (kTensorRegisters).
  int64_t shared = 0;
};

/// Of a tensor that is loaded from column by column: an address and a stride of 64 bits, a
/// bound; of a part of one, two bounds of its own.
inline constexpr int64_t kTensorRegisters = 5, kPartRegisters = 2;

/// How one op is emitted in pieces.
class PieceEmitter {
public:
  virtual ~PieceEmitter() = default;

  /// Emits what all pieces share.
  virtual void prepare() = 0;
  /// The lanes [begin, begin + width) of each result. `piece` are those of the operand
  /// whose columns are the result's, if the op before in the chain has just made them.
  virtual llvm::SmallVector<mlir::Value> emit(int64_t begin, int64_t width, mlir::Value piece) = 0;
  virtual PieceCost costPerLane() = 0;
};

/// `operands` are converted.
std::unique_ptr<PieceEmitter> makeMapEmitter(mlir::ImplicitLocOpBuilder &b, MapOp op,
                                             mlir::ValueRange operands, const Lowering &lowering);
std::unique_ptr<PieceEmitter> makeMaskEmitter(mlir::ImplicitLocOpBuilder &b, MaskOp op,
                                              mlir::ValueRange operands, const Lowering &lowering);

/// Finishes a piece of `op`'s result before the next one starts.
void endPiece(mlir::ImplicitLocOpBuilder &b, mlir::Operation *op, mlir::Value piece,
              const Lowering &lowering);

/// Finds the chains of ops that are emitted together.
void findPieceChains(Lowering &lowering);

void populateRowPatterns(const TileToNVVMTypeConverter &converter,
                         mlir::RewritePatternSet &patterns, const Lowering &lowering);

} // namespace fa4::tile::gpu

#endif // FA4_LIB_CONVERSION_TILETONVVM_ROWS_H
