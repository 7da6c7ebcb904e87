//===- BufferizableOpInterfaceImpl.h - attn from tensors to memrefs -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_ATTN_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H
#define FA4_DIALECT_ATTN_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace fa4::attn {

/// Lets one-shot-bufferize handle the ops of attn.
void registerBufferizableOpInterfaceExternalModels(mlir::DialectRegistry &registry);

} // namespace fa4::attn

#endif // FA4_DIALECT_ATTN_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H
