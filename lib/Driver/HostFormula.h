//===- HostFormula.h - host arithmetic as formulas --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Formulas compute in 64 bits and never wrap: where the host's i32 would, the
// launch is refused.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DRIVER_HOSTFORMULA_H
#define FA4_LIB_DRIVER_HOSTFORMULA_H

#include "fa4/Dialect/Tile/IR/TileOps.h"
#include "fa4/Runtime/Bundle.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace fa4::driver {

class HostFormula {
public:
  HostFormula(mlir::func::FuncOp function, llvm::ArrayRef<std::string> names)
      : function(function), names(names) {}

  /// The number of the function's argument that `value` is, looking through casts
  /// that keep every extent and stride.
  std::optional<unsigned> getArgument(mlir::Value value) const;
  /// An integer or index as a formula; failure is an error at the op that is none.
  mlir::FailureOr<runtime::Expr> getInteger(mlir::Value value) const;
  /// An f32 as a parameter.
  mlir::FailureOr<runtime::FloatParameter> getFloat(mlir::Value value) const;
  /// What a launch asks of extents of the function's arguments. The function answers for
  /// what it makes itself.
  std::vector<runtime::Condition> getConditions(tile::LaunchOp launch) const;

private:
  mlir::FailureOr<runtime::Expr> getResult(mlir::Operation *op, mlir::Value value) const;

  mutable mlir::func::FuncOp function;
  llvm::ArrayRef<std::string> names;
};

} // namespace fa4::driver

#endif // FA4_LIB_DRIVER_HOSTFORMULA_H
