//===- MemoryOps.h - shared by the memory families --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small helpers of loads, stores, atomics and copies.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_MEMORYOPS_H
#define FA4_LIB_SIMULATOR_MEMORYOPS_H

#include "Machine.h"
#include "Opcodes.h"

namespace fa4::sim {

/// The state space that modifiers and the kind of symbol name.
Space spaceOf(const Decoder &d, SymbolSpace symbol);

/// The memory order of an instruction, as InstFlags.
uint16_t orderOf(const Decoder &d);

/// UNINIT-SMEM or UNINIT-GLOBAL.
FaultId uninitFault(Space space);

/// 16-bit atomics share their arithmetic with cp.reduce.
uint16_t addHalfBits(uint16_t a, uint16_t b, bool bf);
uint16_t minmaxHalfBits(uint16_t a, uint16_t b, bool bf, bool max);

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_MEMORYOPS_H
