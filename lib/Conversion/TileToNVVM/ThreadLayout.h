//===- ThreadLayout.h - what a thread holds of a tile -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile in registers is one vector per thread. A layout says which row and which
// column each of its lanes is, as constants counted from numbers that the thread
// adds: patterns are written against it and know no fragment.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_TILETONVVM_THREADLAYOUT_H
#define FA4_LIB_CONVERSION_TILETONVVM_THREADLAYOUT_H

#include "Lowering.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa4::tile::gpu {

class ThreadLayout {
public:
  /// None if the tiles of this spread have no lowering.
  static std::optional<ThreadLayout> find(FragType type);
  /// Of a tile that passed the check.
  static ThreadLayout of(FragType type) { return *find(type); }
  static ThreadLayout of(mlir::Value tile) { return of(llvm::cast<FragType>(tile.getType())); }

  /// What a thread holds of the tile: a vector, or one scalar of a rank-1 tile of
  /// which it has one row.
  mlir::Type registerType() const;

  /// Rows that a thread holds, 1 or 2, and threads that share a row.
  int64_t rows() const { return fragment ? 2 : 1; }
  int64_t threadsPerRow() const { return fragment ? 4 : 1; }
  int64_t lanes() const {
    return type.isRow() ? rows() : type.getColumns() / threadsPerRow() * rows();
  }
  /// Which of the thread's rows, and which column after its first, a lane is.
  int64_t rowOf(int64_t lane) const { return fragment ? lane / kRun % 2 : 0; }
  int64_t columnOf(int64_t lane) const {
    return fragment ? lane / (2 * kRun) * kGroup + lane % kRun : lane;
  }
  /// Lanes of one row that follow each other, in registers as in the row.
  int64_t run() const { return fragment ? kRun : type.getColumns(); }
  /// Slices of columns begin and end at multiples of this.
  int64_t columnStep() const { return fragment ? kGroup : 1; }
  /// How many lanes the columns before `column`, such a multiple, take.
  int64_t lanesBefore(int64_t column) const { return column / threadsPerRow() * rows(); }
  /// The rows that a role of `warps` warps holds; none if it cannot hold tiles of
  /// this spread.
  std::optional<int64_t> rowsOfRole(int64_t warps, int64_t threadsPerWarp) const;

  /// The number (i32) in the tile of row `row` of the thread.
  mlir::Value rowNumber(mlir::ImplicitLocOpBuilder &b, const RoleContext &role, int64_t row) const;
  /// The number (i32) of the thread's first column; null if it is 0.
  mlir::Value firstColumn(mlir::ImplicitLocOpBuilder &b, const RoleContext &role) const;
  /// Whether this thread speaks for its rows; null if each does.
  mlir::Value isFirstOfRow(mlir::ImplicitLocOpBuilder &b, const RoleContext &role) const;
  /// `combine` over the threads of a row, in a fixed order; the same in all of them.
  mlir::Value reduceRow(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                        llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> combine) const;

  /// One number of row `row` out of `numbers`, what a thread holds of a rank-1 tile.
  mlir::Value numberOf(mlir::ImplicitLocOpBuilder &b, mlir::Value numbers, int64_t row) const;
  /// The other way round.
  mlir::Value joinNumbers(mlir::ImplicitLocOpBuilder &b, llvm::ArrayRef<mlir::Value> numbers) const;
  /// The numbers of its rows beside each lane of the tile.
  mlir::Value spreadNumbers(mlir::ImplicitLocOpBuilder &b, mlir::Value numbers) const;

private:
  /// PTX ISA, wgmma register fragments: a quad of threads holds a row, two adjacent
  /// columns of every eight each, and a thread two rows that are eight apart.
  static constexpr int64_t kRun = 2, kGroup = 8, kRowDistance = 8, kRowsPerWarp = 16;

  ThreadLayout(FragType type, bool fragment) : type(type), fragment(fragment) {}

  FragType type;
  bool fragment;
};

} // namespace fa4::tile::gpu

#endif // FA4_LIB_CONVERSION_TILETONVVM_THREADLAYOUT_H
