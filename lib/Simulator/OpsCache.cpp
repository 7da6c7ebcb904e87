//===- OpsCache.cpp - prefetch, policies, discard ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Hints have no effect, but their addresses must be good all the same.
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"
#include "MemoryOps.h"

using namespace llvm;
using namespace fa4::sim;

static Step execPrefetch(Warp &w, const Inst &i, LaneMask m) {
  uint64_t address[warpLanes];
  if (!w.addresses(i, m, address)) {
    return Step::Stop;
  }
  for (LaneMask left = m; left != 0; left &= left - 1) {
    unsigned l = __builtin_ctz(left);
    uint8_t *shadow;
    if (!w.access(i, Space(i.aux), address[l], 1, Access::Hint, l, shadow)) {
      return Step::Stop;
    }
  }
  return Step::Next;
}

static void decodePrefetch(Decoder &d) {
  d.inst.aux = unsigned(spaceOf(d, d.setAddress(0)));
  d.inst.exec = execPrefetch;
  d.emit();
}

/// discard.global.L2 [a], 128: the bytes become undefined.
static Step execDiscard(Warp &w, const Inst &i, LaneMask m) {
  uint64_t address[warpLanes];
  if (!w.addresses(i, m, address)) {
    return Step::Stop;
  }
  for (LaneMask left = m; left != 0; left &= left - 1) {
    unsigned l = __builtin_ctz(left);
    uint8_t *shadow;
    uint8_t *p = w.access(i, Space(i.aux), address[l], 128, Access::Write, l, shadow);
    if (!p) {
      return Step::Stop;
    }
    std::memset(shadow, shadowPoison, 128);
  }
  return Step::Next;
}

static void decodeDiscard(Decoder &d) {
  d.inst.aux = unsigned(spaceOf(d, d.setAddress(0)));
  d.inst.exec = execDiscard;
  if (d.immediate(1) != 128) {
    d.error("expected a size of 128, but got " + Twine(d.immediate(1)));
    return;
  }
  d.emit();
}

/// The policy is opaque; any constant will do, but a recognisable one helps.
static Step execPolicy(Warp &w, const Inst &i, LaneMask m) {
  constexpr uint64_t policy = 0x1000000000000000;
  forLanes(w.out<uint64_t>(i.d), m, [=](unsigned) { return policy; });
  setPoisonOf<uint64_t>(w, i.d, m, 0);
  return Step::Next;
}

static void decodePolicy(Decoder &d) {
  d.inst.exec = execPolicy;
  d.inst.d = d.dst(0, 64);
  d.emit();
}

void fa4::sim::addCacheOpcodes(OpcodeTable &t) {
  t.add({
      {"prefetch", "global|local|param|const tensormap L1|L2 L2::evict_last|L2::evict_normal", 1, 1,
       decodePrefetch},
      {"prefetchu", "L1", 1, 1, decodePrefetch},
      {"applypriority", "global L2::evict_normal", 1, 2, decodePrefetch},
      {"discard", "global L2", 2, 2, decodeDiscard},
      {"createpolicy.fractional",
       "L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged "
       "L2::evict_first|L2::evict_unchanged :b64",
       1, 2, decodePolicy},
      {"createpolicy.range",
       "global L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged "
       "L2::evict_first|L2::evict_unchanged :b64",
       4, 4, decodePolicy},
      {"createpolicy.cvt", "L2 :b64", 2, 2, decodePolicy},
  });
}
