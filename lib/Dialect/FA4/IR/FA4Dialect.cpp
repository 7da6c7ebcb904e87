//===- FA4Dialect.cpp - registration of the fa4 dialect -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attributes only. A misspelt or misplaced discardable attribute is an error, so a
// chip or a parameter is never silently ignored.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/FA4/IR/FA4Dialect.h"

#include "fa4/Dialect/FA4/IR/FA4Attributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

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

/// `attribute` has to be a `Wanted` on a `Holder`.
template <typename Holder, typename Wanted>
static LogicalResult verifyPlace(Operation *op, NamedAttribute attribute, StringRef holder,
                                 StringRef wanted) {
  if (!isa<Holder>(op)) {
    return op->emitOpError("expected ") << attribute.getName() << " to be on " << holder
                                        << ", but got it on '" << op->getName() << "'";
  }
  if (!isa<Wanted>(attribute.getValue())) {
    return op->emitOpError("expected ")
           << attribute.getName() << " to be " << wanted << ", but got " << attribute.getValue();
  }
  return success();
}

LogicalResult FA4Dialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() == targetAttrName) {
    return verifyPlace<ModuleOp, TargetAttr>(op, attribute, "a module", "#fa4.target");
  }
  if (attribute.getName() == launchAttrName) {
    return verifyPlace<FunctionOpInterface, LaunchAttr>(op, attribute, "a function", "#fa4.launch");
  }
  return op->emitOpError("expected an attribute of the fa4 dialect to be '")
         << targetAttrName << "' or '" << launchAttrName << "', but got " << attribute.getName();
}

LogicalResult FA4Dialect::verifyRegionArgAttribute(Operation *op, unsigned region,
                                                   unsigned argument, NamedAttribute attribute) {
  if (attribute.getName() != paramAttrName) {
    return op->emitOpError("expected an argument's attribute of the fa4 dialect to be '")
           << paramAttrName << "', but got " << attribute.getName();
  }
  return verifyPlace<FunctionOpInterface, ParamAttr>(op, attribute, "a function", "#fa4.param");
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
