//===- FA4Dialect.cpp - registration of the fa4 dialect ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/FA4/IR/FA4Dialect.h"

#include "fa4/Dialect/FA4/IR/FA4Dialect.cpp.inc"

void fa4::FA4Dialect::initialize() {}
