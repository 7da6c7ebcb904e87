//===- TileOrder.h - which tile has which number ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The order of work is a bijection between the numbers below tile.work's count
// and the tiles, written into tile.work and nowhere else. Who draws the next
// number does not matter to it.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_TILEORDER_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_TILEORDER_H

#include "ForwardPlan.h"
#include "ScalarBuilder.h"

#include <memory>

namespace fa4 {

/// Integer arithmetic in tile.work's region.
struct WorkMath {
  WorkMath(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc), narrow(builder, loc, builder.getI32Type()),
        wide(builder, loc, builder.getI64Type()) {}

  mlir::Value fetch(mlir::Value global, mlir::Value index) {
    return tile::FetchOp::create(builder, loc, builder.getI32Type(), global, index);
  }

  mlir::OpBuilder &builder;
  mlir::Location loc;
  ScalarBuilder narrow, wide;
};

/// A tile before masks are asked: the `rank`-th block of rows of a head.
struct TilePlace {
  mlir::Value batch, head, rank;
};

class TileOrder {
public:
  virtual ~TileOrder() = default;
  virtual TilePlace locate(mlir::Value number) = 0;

  static std::unique_ptr<TileOrder> create(WorkMath &math, const ForwardPlan &plan,
                                           KernelArguments &args);
};

/// Which of `blocks` blocks comes `rank`-th if their lengths fall from a middle, of
/// which `twice` (i64) is the double, to both sides.
mlir::Value emitFromMiddle(WorkMath &math, mlir::Value rank, mlir::Value blocks, mlir::Value twice);

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_TILEORDER_H
