//===- LinearForm.h - integers as sums of values ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Trip counts and coordinates are sums of a work's results, induction variables
// and constants. Two that have one form are equal; an order between two follows
// from the facts of the work, and from nothing else.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_LINEARFORM_H
#define FA4_DIALECT_TILE_ANALYSIS_LINEARFORM_H

#include "fa4/Dialect/Tile/IR/TileOps.h"
#include "llvm/ADT/SmallVector.h"

namespace fa4::tile {

/// constant + sum of coefficient * value.
class LinearForm {
public:
  using Term = std::pair<mlir::Value, int64_t>;

  LinearForm() = default;
  explicit LinearForm(int64_t constant) : constant(constant) {}

  /// Looks through additions, subtractions and multiplications by constants.
  static LinearForm get(mlir::Value value);

  /// Adds `factor` times `other`.
  LinearForm &add(const LinearForm &other, int64_t factor = 1);
  LinearForm plus(int64_t addend) const;
  LinearForm minus(const LinearForm &other) const;
  LinearForm negated() const { return LinearForm().minus(*this); }
  /// The form with `form` in place of `value`.
  LinearForm replace(mlir::Value value, const LinearForm &form) const;

  int64_t getCoefficient(mlir::Value value) const;
  int64_t getConstant() const { return constant; }
  llvm::ArrayRef<Term> getTerms() const { return terms; }
  bool isConstant() const { return terms.empty(); }
  bool operator==(const LinearForm &other) const;

  /// Computes the form, with constants from `getConstantValue`.
  mlir::Value materialize(mlir::OpBuilder &builder, mlir::Location loc,
                          llvm::function_ref<mlir::Value(int64_t)> getConstantValue) const;

private:
  llvm::SmallVector<Term> terms;
  int64_t constant = 0;
};

/// Lower bounds of differences of a work's results, closed under addition.
class WorkFacts {
public:
  explicit WorkFacts(WorkOp work);

  /// Whether the facts imply `form >= 0` in every tile.
  bool impliesNotNegative(const LinearForm &form) const;

private:
  /// The result that `value` is in a loop over the work's tiles.
  std::optional<unsigned> findResult(mlir::Value value) const;

  unsigned numResults;
  mlir::StringAttr name;
  /// [a][b] bounds a - b from below; the last index stands for zero.
  llvm::SmallVector<llvm::SmallVector<std::optional<int64_t>>> bounds;
};

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_LINEARFORM_H
