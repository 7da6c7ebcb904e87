//===- OpsWgmma.cpp - warpgroup matrix multiply -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Registers of an unfinished wgmma may be touched by no other instruction.
//
//===----------------------------------------------------------------------===//

#include "AsyncState.h"

using namespace fa4::sim;

bool fa4::sim::mayTouchInFlight(const Inst &i, const RegUse &) {
  return i.source->opcode == "wgmma";
}
