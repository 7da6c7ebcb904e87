//===- TensorOperands.h - reading matrix operands ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What wgmma, tcgen05.mma and tcgen05.cp share: an operand in shared memory, read at the
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

/// Swizzles move pieces of at least this many bytes, so a piece is contiguous.
constexpr unsigned kPieceBytes = 16;

/// The written piece that `op` reads at window offset `address`, or null after a fault. `name`,
/// `row` and `k` are for the report.
const uint8_t *sharedPiece(AsyncOp &op, Cta &cta, uint32_t address, const char *name, unsigned row,
                           unsigned k, ReportFault report);

/// Fills rows [firstRow, firstRow + rows) of `panel` from the shared memory of
/// `cta`. `name` is the operand's name in reports. False after a fault.
bool fillPanel(AsyncOp &op, TensorPanel &panel, unsigned firstRow, unsigned rows,
               const MatrixDescriptor &descriptor, bool mnMajor, Cta &cta, const char *name,
               ReportFault report);

/// The value of a 64-bit register that must agree among `lanes`.
bool uniformDescriptor(Warp &warp, const Inst &inst, Reg reg, LaneMask lanes, FaultId id,
                       uint64_t &value);

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_TENSOROPERANDS_H
