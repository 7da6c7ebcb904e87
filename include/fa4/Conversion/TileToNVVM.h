//===- TileToNVVM.h - placed kernels for the machine ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_CONVERSION_TILETONVVM_H
#define FA4_CONVERSION_TILETONVVM_H

#include "mlir/Pass/Pass.h"

namespace fa4 {

#define GEN_PASS_DECL_CONVERTTILETONVVM
#include "fa4/Conversion/Passes.h.inc"

} // namespace fa4

#endif // FA4_CONVERSION_TILETONVVM_H
