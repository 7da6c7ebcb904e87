//===- TileToCPU.h - T0 programs on the host --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_CONVERSION_TILETOCPU_H
#define FA4_CONVERSION_TILETOCPU_H

#include "mlir/Pass/Pass.h"

namespace fa4 {

#define GEN_PASS_DECL_CONVERTTILETOCPU
#include "fa4/Conversion/Passes.h.inc"

} // namespace fa4

#endif // FA4_CONVERSION_TILETOCPU_H
