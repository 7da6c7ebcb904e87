//===- TargetArgument.cpp - the chip to compile for -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The module's word counts: an argument may only repeat it.
//
//===----------------------------------------------------------------------===//

#include "TargetArgument.h"

#include "fa4/Dialect/FA4/IR/FA4Attributes.h"
#include "fa4/Dialect/FA4/IR/FA4Dialect.h"
#include "fa4/Driver/DeviceCode.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::driver;

llvm::Expected<TargetInfo> fa4::tool::settleTarget(ModuleOp module, const std::string &chip) {
  const TargetInfo *row = lookupTarget(chip);
  if (!row) {
    return llvm::createStringError("expected --target to be cpu or one of " +
                                   llvm::join(knownTargets(), ", ") + ", but got '" + chip + "'");
  }
  // A module without a word of ours, an empty one say, has not loaded our attributes.
  module.getContext()->getOrLoadDialect<FA4Dialect>();
  TargetAttr given = lookupTargetAttr(module);
  if (!given) {
    given = TargetAttr::get(module.getContext(), *row);
    module->setAttr(targetAttrName, given);
  }
  if (given.getInfo().chip != chip) {
    return llvm::createStringError("expected --target to be the chip that the module states, '" +
                                   given.getInfo().chip + "', but got '" + chip + "'");
  }
  if (llvm::Error error = checkBackEnd(given.getInfo())) {
    return error;
  }
  return given.getInfo();
}
