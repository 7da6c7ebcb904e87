//===- TensorMemory.cpp - tensor memory of one CTA --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Allocation bookkeeping; the instructions are in OpsTmem.cpp.
//
//===----------------------------------------------------------------------===//

#include "TensorMemory.h"
#include "Machine.h"

#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace fa4::sim;

TensorMemory::TensorMemory() {
  // Cells that were never written hold a pattern that is no small number, so
  // that a missed check still shows.
  std::memset(cells, 0xA5, sizeof(cells));
  std::memset(valid, 0, sizeof(valid));
}

const TmemAllocation *TensorMemory::covering(uint32_t first, uint32_t count) const {
  for (const TmemAllocation &a : allocations) {
    if (first >= a.column && first + count <= a.column + a.columns) {
      return &a;
    }
  }
  return nullptr;
}

int TensorMemory::findFree(uint32_t columns, uint64_t pick, bool lowest) const {
  SmallVector<int, 16> places;
  for (uint32_t c = 0; c + columns <= kTmemColumns; c += tmemMinColumns) {
    bool free = true;
    for (const TmemAllocation &a : allocations) {
      free &= c + columns <= a.column || a.column + a.columns <= c;
    }
    if (free) {
      places.push_back(c);
    }
  }
  if (places.empty()) {
    return -1;
  }
  return lowest ? places.front() : places[pick % places.size()];
}

std::string TensorMemory::describeAllocations() const {
  std::string s;
  for (const TmemAllocation &a : allocations) {
    s += formatv("{0}columns {1}..{2} by warp {3}", s.empty() ? "" : ", ", a.column,
                 a.column + a.columns - 1, a.warp);
  }
  return s.empty() ? "none" : s;
}

bool TensorMemory::checkExit(Cta &cta) const {
  if (allocations.empty()) {
    return true;
  }
  const TmemAllocation &a = allocations.front();
  return cta.warps[a.warp].fault(FaultId::TmLeak, *a.inst, allLanes,
                                 "expected tensor memory to be deallocated before the CTA exits, "
                                 "but got live " +
                                     describeAllocations()) != Step::Stop;
}
