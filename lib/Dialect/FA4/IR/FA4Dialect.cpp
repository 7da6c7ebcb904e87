//===- FA4Dialect.cpp - registration of the fa4 dialect -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attributes only, and one discardable attribute, `fa4.target` on a module: a
// misspelt one is an error, so a chip is never silently ignored.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/FA4/IR/FA4Dialect.h"

#include "fa4/Dialect/FA4/IR/FA4Attributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace fa4;

#include "fa4/Dialect/FA4/IR/FA4Dialect.cpp.inc"

namespace {
/// Both attributes are long; dumps read better when they stand at the top.
struct FA4AsmInterface : public OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Attribute attr, raw_ostream &os) const override {
    if (isa<TargetAttr>(attr)) {
      os << "target";
      return AliasResult::FinalAlias;
    }
    if (isa<ScheduleAttr>(attr)) {
      os << "schedule";
      return AliasResult::FinalAlias;
    }
    return AliasResult::NoAlias;
  }
};
} // namespace

void FA4Dialect::initialize() {
  registerAttributes();
  addInterfaces<FA4AsmInterface>();
}

LogicalResult FA4Dialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() != targetAttrName) {
    return op->emitOpError("expected attribute of the fa4 dialect to be '")
           << targetAttrName << "', but got '" << attribute.getName().getValue() << "'";
  }
  if (!isa<ModuleOp>(op)) {
    return op->emitOpError("expected '")
           << targetAttrName << "' to be on a module, but got it on '" << op->getName() << "'";
  }
  if (!isa<TargetAttr>(attribute.getValue())) {
    return op->emitOpError("expected '")
           << targetAttrName << "' to be #fa4.target, but got " << attribute.getValue();
  }
  return success();
}

TargetAttr fa4::lookupTargetAttr(Operation *op) {
  for (; op; op = op->getParentOp()) {
    if (auto module = dyn_cast<ModuleOp>(op)) {
      if (auto target = module->getAttrOfType<TargetAttr>(targetAttrName)) {
        return target;
      }
    }
  }
  return {};
}
