//===- ScalarBuilder.h - integer arithmetic, written short ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Host code and tile.work are integer arithmetic. Constants fold as they are
// built, so a static extent leaves no arithmetic behind; each stands once, at the
// start of the block in which the builder was made.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_SCALARBUILDER_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_SCALARBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace fa4 {

class ScalarBuilder {
public:
  ScalarBuilder(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type)
      : builder(builder), loc(loc), type(type), home(builder.getInsertionBlock()) {}

  mlir::Value constant(int64_t value) {
    mlir::Value &known = constants[value];
    if (!known) {
      mlir::OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(home);
      known = mlir::arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(type, value));
    }
    return known;
  }
  mlir::Value add(mlir::Value a, mlir::Value b) { return make<mlir::arith::AddIOp>(a, b); }
  mlir::Value sub(mlir::Value a, mlir::Value b) { return make<mlir::arith::SubIOp>(a, b); }
  mlir::Value mul(mlir::Value a, mlir::Value b) { return make<mlir::arith::MulIOp>(a, b); }
  mlir::Value min(mlir::Value a, mlir::Value b) { return make<mlir::arith::MinSIOp>(a, b); }
  mlir::Value max(mlir::Value a, mlir::Value b) { return make<mlir::arith::MaxSIOp>(a, b); }
  mlir::Value add(mlir::Value a, int64_t b) { return b == 0 ? a : add(a, constant(b)); }
  mlir::Value sub(mlir::Value a, int64_t b) { return b == 0 ? a : sub(a, constant(b)); }
  mlir::Value mul(mlir::Value a, int64_t b) { return b == 1 ? a : mul(a, constant(b)); }
  mlir::Value min(mlir::Value a, int64_t b) { return min(a, constant(b)); }
  mlir::Value max(mlir::Value a, int64_t b) { return max(a, constant(b)); }

  /// Quotient and remainder of numbers that are not negative.
  mlir::Value div(mlir::Value a, mlir::Value b) { return make<mlir::arith::DivUIOp>(a, b); }
  mlir::Value rem(mlir::Value a, mlir::Value b) { return make<mlir::arith::RemUIOp>(a, b); }
  /// Quotients rounded down and up, of either sign.
  mlir::Value floorDiv(mlir::Value a, int64_t b) {
    return make<mlir::arith::FloorDivSIOp>(a, constant(b));
  }
  mlir::Value ceilDiv(mlir::Value a, int64_t b) {
    return make<mlir::arith::CeilDivSIOp>(a, constant(b));
  }

  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value a, mlir::Value b) {
    return builder.createOrFold<mlir::arith::CmpIOp>(loc, predicate, a, b);
  }
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b) {
    return builder.createOrFold<mlir::arith::SelectOp>(loc, condition, a, b);
  }
  /// `value` of another width, as a signed number of this builder's type.
  mlir::Value convert(mlir::Value value) {
    if (value.getType() == type) {
      return value;
    }
    if (value.getType().isIndex() || type.isIndex()) {
      return builder.createOrFold<mlir::arith::IndexCastOp>(loc, type, value);
    }
    if (value.getType().getIntOrFloatBitWidth() < type.getIntOrFloatBitWidth()) {
      return builder.createOrFold<mlir::arith::ExtSIOp>(loc, type, value);
    }
    return builder.createOrFold<mlir::arith::TruncIOp>(loc, type, value);
  }

private:
  template <class Op>
  mlir::Value make(mlir::Value a, mlir::Value b) {
    return builder.createOrFold<Op>(loc, a, b);
  }

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Type type;
  mlir::Block *home;
  llvm::DenseMap<int64_t, mlir::Value> constants;
};

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_SCALARBUILDER_H
