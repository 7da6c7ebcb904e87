//===- AttnDialect.cpp - registration of the attn dialect -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Attn/IR/AttnDialect.h"

#include "fa4/Dialect/FA4/IR/FA4Dialect.h"

#include "fa4/Dialect/Attn/IR/AttnDialect.cpp.inc"

void fa4::attn::AttnDialect::initialize() {
  registerAttributes();
  registerOps();
}
