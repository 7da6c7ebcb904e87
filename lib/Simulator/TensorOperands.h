//===- TensorOperands.h - reading matrix operands ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What wgmma and tcgen05.mma share: an operand in shared memory, read at the
// time when the operation is performed, byte for byte checked.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_TENSOROPERANDS_H
#define FA4_LIB_SIMULATOR_TENSOROPERANDS_H

#include "Machine.h"
#include "Opcodes.h"
#include "fa4/Simulator/Layouts.h"
#include "fa4/Simulator/TensorArith.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace fa4::sim {

/// The matrix element that a PTX type names; f32 for what is no element of a or b.
ElementType elementOf(Type type);

/// Reports a fault; false means that the run must stop.
using ReportFault = llvm::function_ref<bool(FaultId, const llvm::Twine &)>;

/// Fills rows [firstRow, firstRow + rows) of `panel` from the shared memory of
/// `cta`. `name` is the operand's name in reports. False after a fault.
bool fillPanel(TensorPanel &panel, unsigned firstRow, unsigned rows,
               const MatrixDescriptor &descriptor, bool mnMajor, Cta &cta, const char *name,
               ReportFault report);

/// The value of a 64-bit register that must agree among `lanes`.
bool uniformDescriptor(Warp &warp, const Inst &inst, Reg reg, LaneMask lanes, FaultId id,
                       uint64_t &value);

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_TENSOROPERANDS_H
