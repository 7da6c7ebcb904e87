//===- Registration.h - everything of FA4 in one call -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_PIPELINES_REGISTRATION_H
#define FA4_PIPELINES_REGISTRATION_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace fa4 {

/// Adds the attn, tile and fa4 dialects and their external models to `registry`.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Registers every pass and pipeline of FA4 with MLIR's global pass registry.
void registerAllPasses();

} // namespace fa4

#endif // FA4_PIPELINES_REGISTRATION_H
