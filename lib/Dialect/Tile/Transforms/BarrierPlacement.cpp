//===- BarrierPlacement.cpp - where barriers lie --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Barriers are few and small, so they are not planned with the tiles: they fill
// the bytes behind them without a gap.
//
//===----------------------------------------------------------------------===//

#include "BarrierPlacement.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

/// Id 0 is what whole CTAs meet at (PTX ISA, bar.sync); id 1 is kept for the warps
/// of one role.
static constexpr int64_t kFirstNamedBarrier = 2;
static constexpr int64_t kAddressWordBytes = 4; ///< tcgen05.alloc writes 32 bits

static LogicalResult placeNamed(KernelOp kernel) {
  const TargetInfo &target = kernel.getTarget().getInfo();
  int64_t next = kFirstNamedBarrier;
  // Single ids first: they stay when a family gains or loses members.
  for (bool families : {false, true}) {
    for (auto barrier : kernel.getBody().getOps<NamedBarrierOp>()) {
      int64_t more =
          static_cast<int64_t>(barrier.getLast()) - static_cast<int64_t>(barrier.getFirst());
      if ((more != 0) != families) {
        continue;
      }
      barrier.setFirst(static_cast<uint64_t>(next));
      barrier.setLast(static_cast<uint64_t>(next + more));
      next += more + 1;
      if (next > target.namedBarriers) {
        InFlightDiagnostic diag = barrier.emitOpError()
                                  << "expected at most " << target.namedBarriers
                                  << " named barriers of a CTA on " << target.chip << ", but got "
                                  << next;
        diag.attachNote() << "hand over by mbarriers: drop the channel from 'via' of the schedule";
        return diag;
      }
    }
  }
  return success();
}

LogicalResult fa4::tile::placeBarriers(KernelOp kernel) {
  const TargetInfo &target = kernel.getTarget().getInfo();
  int64_t next = 0;
  for (auto alloc : kernel.getBody().getOps<PlacedAllocOp>()) {
    if (alloc.getSpace() == Space::Smem) {
      next = std::max(next, alloc.getEnd());
    }
  }
  next = static_cast<int64_t>(
      llvm::alignTo(static_cast<uint64_t>(next), static_cast<uint64_t>(BarrierOp::kBytes)));
  Operation *last = kernel;
  for (auto barrier : kernel.getBody().getOps<BarrierOp>()) {
    barrier.setStart(static_cast<uint64_t>(next));
    next = barrier.getEnd();
    last = barrier;
  }
  kernel.walk([&](TmemAllocOp alloc) {
    alloc.setWord(static_cast<uint64_t>(next));
    next += kAddressWordBytes;
    last = alloc;
  });
  if (next > target.smemBytesPerCta) {
    InFlightDiagnostic diag = last->emitOpError()
                              << "expected tiles and barriers to fit into the "
                              << target.smemBytesPerCta << " bytes of shared memory of a CTA on "
                              << target.chip << ", but got " << next;
    diag.attachNote(kernel.getLoc()) << "take fewer slots in the schedule's rings ('x n' of homes)";
    return diag;
  }
  return placeNamed(kernel);
}
