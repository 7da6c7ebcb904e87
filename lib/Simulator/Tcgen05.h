//===- Tcgen05.h - shared by the tcgen05 families ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_TCGEN05_H
#define FA4_LIB_SIMULATOR_TCGEN05_H

#include "Machine.h"
#include "Opcodes.h"
#include "TensorMemory.h"

namespace fa4::sim {

/// The two halves of a tensor-memory address.
inline uint32_t tmemLane(uint32_t address) { return address >> 16; }
inline uint32_t tmemColumn(uint32_t address) { return address & 0xFFFF; }

/// The CTA's tensor memory, made when it is first needed.
TensorMemory &tensorMemoryOf(Cta &cta);

/// Reads `cta_group::N` and refuses a kernel that mixes both.
unsigned decodeCtaGroup(Decoder &d);

/// An operation of the tensor pipe that reads or writes tensor memory.
class TensorPipeOp : public AsyncOp {
public:
  TensorPipeOp(Cta &cta, unsigned ctas) : cta(cta), ctas(ctas) {
    // All operations of one CTA or pair are performed in the order of issue.
    order = (uint64_t(2) << 40) + firstRank();
  }
  unsigned firstRank() const { return ctas == 2 ? cta.rank & ~1u : cta.rank; }
  bool touches(const Cta &other) const {
    return other.rank >= firstRank() && other.rank < firstRank() + ctas;
  }
  virtual bool usesTensorMemory() const = 0;

protected:
  Cta &cta;
  unsigned ctas;
};

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_TCGEN05_H
