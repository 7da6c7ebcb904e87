//===- AttnToTile.h - attention as tile programs ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_CONVERSION_ATTNTOTILE_H
#define FA4_CONVERSION_ATTNTOTILE_H

#include "mlir/Pass/Pass.h"

namespace fa4 {

#define GEN_PASS_DECL_CONVERTATTNTOTILE
#include "fa4/Conversion/Passes.h.inc"

} // namespace fa4

#endif // FA4_CONVERSION_ATTNTOTILE_H
