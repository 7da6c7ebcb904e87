//===- Descriptors.h - words that describe matrix operands ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_TILETONVVM_DESCRIPTORS_H
#define FA4_LIB_CONVERSION_TILETONVVM_DESCRIPTORS_H

#include "Lowering.h"

namespace fa4::tile::gpu {

/// The shared memory descriptor of a view without its address.
uint64_t sharedDescriptorConstant(SmemLayoutAttr layout, int64_t panelPitch,
                                  const TargetInfo &target);

/// Whether the matrix unit takes operands of `type`.
bool isMmaOperandType(mlir::Type type);

/// The instruction descriptor of a tcgen05 product that accumulates in f32.
uint32_t instructionDescriptor(mlir::Type a, mlir::Type b, bool aMnMajor, bool bMnMajor,
                               int64_t rows, int64_t columns);

/// Bytes from the start of an operand's view to k-step `step` of `kBytes`.
int64_t stepByteOffset(ViewOp view, int64_t step, int64_t kBytes);

bool isMnMajor(ViewOp view);

/// `value` as LLVM cannot see through it, so that sums with it are not formed before
/// the loops: constants beside a register cost nothing, but sixteen sums a stage do.
mlir::Value pinValue(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value);

/// An operand in shared memory.
class SharedOperand {
public:
  SharedOperand(mlir::OpBuilder &b, mlir::Location loc, const Lowering &lowering,
                const RoleContext &role, const Place &place);

  /// The descriptor (i64) of k-step `step`.
  mlir::Value descriptor(mlir::OpBuilder &b, mlir::Location loc, int64_t step) const;
  /// The same as a word to which the step's offset is to be added.
  mlir::Value base() const { return word; }
  int64_t offset(int64_t step) const;

private:
  static constexpr int64_t kUnit = 16; // addresses in descriptors count 16 bytes

  ViewOp view;
  int64_t kBytes;
  mlir::Value word;
  int64_t known = 0;
};

} // namespace fa4::tile::gpu

#endif // FA4_LIB_CONVERSION_TILETONVVM_DESCRIPTORS_H
