//===- LaunchAttr.cpp - what a launch needs to know --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a single attribute can say wrong; whether the arguments exist is for those
// who have the launch to check.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/FA4/IR/FA4Attributes.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace mlir;
using namespace fa4;

LogicalResult LaunchAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t threads,
                                 int64_t smemBytes, int64_t cluster, int64_t tiles, bool) {
  if (threads <= 0 || cluster <= 0) { // L1
    return emitError() << "expected threads and cluster to be positive, but got " << threads
                       << " and " << cluster;
  }
  if (smemBytes < 0 || tiles < 0) { // L1
    return emitError() << "expected smem_bytes and tiles to be at least 0, but got " << smemBytes
                       << " and " << tiles;
  }
  return success();
}

LogicalResult ParamAttr::verify(function_ref<InFlightDiagnostic()> emitError, ParamKind kind,
                                int64_t argument, int64_t dim, ArrayRef<int64_t> box,
                                int64_t swizzle) {
  if (argument < 0) {
    return emitError() << "expected the argument to be at least 0, but got " << argument;
  }
  bool isMap = kind == ParamKind::TensorMap;
  bool ofDimension = kind == ParamKind::Stride || kind == ParamKind::Extent;
  if (!isMap && ofDimension != (dim >= 0)) { // P1
    return emitError() << "expected a dimension of at least 0 exactly with stride and extent, but "
                          "got "
                       << dim << " with " << stringifyParamKind(kind);
  }
  if (isMap && dim >= static_cast<int64_t>(box.size())) { // P1
    return emitError() << "expected a tensor map to be cut along one of " << box.size()
                       << " dimensions, but got " << dim;
  }
  if (isMap == box.empty() || llvm::any_of(box, [](int64_t size) { return size <= 0; })) { // P2
    return emitError() << "expected a box of positive numbers exactly with tensor_map, but got ["
                       << box << "] with " << stringifyParamKind(kind);
  }
  bool known = isMap ? llvm::is_contained({0, 32, 64, 128}, swizzle) : swizzle == 0;
  if (!known) { // P3
    return emitError() << "expected the swizzle to be 0, 32, 64 or 128 bytes with tensor_map and "
                          "left out otherwise, but got "
                       << swizzle << " with " << stringifyParamKind(kind);
  }
  return success();
}

LogicalResult ExtentRuleAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t operand,
                                     int64_t dim, int64_t otherOperand, int64_t otherDim, bool) {
  int64_t least = std::min({operand, dim, otherOperand, otherDim});
  if (least < 0) { // E1
    return emitError() << "expected operands and dimensions to be at least 0, but got " << least;
  }
  return success();
}
