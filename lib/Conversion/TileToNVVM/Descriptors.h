//===- Descriptors.h - words that describe matrix operands ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_TILETONVVM_DESCRIPTORS_H
#define FA4_LIB_CONVERSION_TILETONVVM_DESCRIPTORS_H

#include "fa4/Dialect/Tile/IR/TileOps.h"

namespace fa4::tile::gpu {

/// The shared memory descriptor of a view without its address.
uint64_t sharedDescriptorConstant(SmemLayoutAttr layout, int64_t panelPitch);

/// Whether the matrix unit takes operands of `type`.
bool isMmaOperandType(mlir::Type type);

/// The instruction descriptor of a product that accumulates in f32.
uint32_t instructionDescriptor(mlir::Type a, mlir::Type b, bool aMnMajor, bool bMnMajor,
                               int64_t rows, int64_t columns);

/// Bytes from the start of an operand's view to k-step `step` of `kBytes`.
int64_t stepByteOffset(ViewOp view, int64_t step, int64_t kBytes);

} // namespace fa4::tile::gpu

#endif // FA4_LIB_CONVERSION_TILETONVVM_DESCRIPTORS_H
