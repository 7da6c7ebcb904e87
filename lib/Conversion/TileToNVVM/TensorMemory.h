//===- TensorMemory.h - rows of tensor memory -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Row-wise accesses for `tile.read` and `tile.write`. Addresses are i32 and
// already those of the warp's own lanes.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_TILETONVVM_TENSORMEMORY_H
#define FA4_LIB_CONVERSION_TILETONVVM_TENSORMEMORY_H

#include "Values.h"

namespace fa4::tile::gpu {

/// `address` of lane 0 as that of the first lane that the warp may access.
mlir::Value ownLanes(mlir::ImplicitLocOpBuilder &b, mlir::Value address, const RoleContext &role);

/// The thread's row at `address`, as `converted`; usable at once.
mlir::Value readTensorMemory(mlir::ImplicitLocOpBuilder &b, mlir::Value address, FragType type,
                             mlir::Type converted);
void writeTensorMemory(mlir::ImplicitLocOpBuilder &b, mlir::Value address, FragType type,
                       mlir::Value value);

} // namespace fa4::tile::gpu

#endif // FA4_LIB_CONVERSION_TILETONVVM_TENSORMEMORY_H
