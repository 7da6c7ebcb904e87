//===- VerifyPhase.cpp - checks common to the phase verifiers -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One definition of what scalar code a kernel may hold and of where layouts are.
//
//===----------------------------------------------------------------------===//

#include "VerifyPhase.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

bool fa4::tile::isScalarDialectOp(Operation *op) {
  return isa_and_present<arith::ArithDialect, math::MathDialect, scf::SCFDialect>(op->getDialect());
}

static LogicalResult verifyLayout(Operation *op, Type type, bool wanted, StringRef phase) {
  auto frag = dyn_cast<fa4::tile::FragType>(type);
  if (!frag || static_cast<bool>(frag.getLayout()) == wanted) {
    return success();
  }
  return op->emitOpError() << "expected tiles to have " << (wanted ? "a" : "no") << " layout at "
                           << phase << ", but got " << frag;
}

LogicalResult fa4::tile::verifyLayouts(Operation *op, bool wanted, StringRef phase) {
  for (Type type : op->getResultTypes()) {
    if (failed(verifyLayout(op, type, wanted, phase))) {
      return failure();
    }
  }
  for (Region &region : op->getRegions()) {
    for (Type type : region.getArgumentTypes()) {
      if (failed(verifyLayout(op, type, wanted, phase))) {
        return failure();
      }
    }
  }
  return success();
}
