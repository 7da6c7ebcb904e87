//===- Registration.h - FA4 for clients of MLIR's C API ---------*- C -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// libFA4CAPI holds these functions and MLIR's own C API for IR, passes and
// registration (Debian ships the latter as static archives only). Link it
// alone: a second copy of those archives in the process is not needed.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_C_REGISTRATION_H
#define FA4_C_REGISTRATION_H

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Adds the attn, tile and fa4 dialects to `registry`.
MLIR_CAPI_EXPORTED void fa4RegisterAllDialects(MlirDialectRegistry registry);

/// Registers every pass and pipeline of FA4, for mlirParsePassPipeline. May be
/// called more than once.
MLIR_CAPI_EXPORTED void fa4RegisterAllPasses(void);

/// The version of this library, as "major.minor.patch".
MLIR_CAPI_EXPORTED MlirStringRef fa4GetVersion(void);

#ifdef __cplusplus
}
#endif

#endif // FA4_C_REGISTRATION_H
