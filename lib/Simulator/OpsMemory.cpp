//===- OpsMemory.cpp - ld and st --------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads of bytes that were never written give poisoned registers: copying is
// legal, using is not. Storing a poisoned register to global memory counts as
// use, because it is output. Strong loads (volatile, relaxed, acquire) let other
// warps run, since programs poll with them.
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"
#include "MemoryOps.h"

#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace fa4::sim;

namespace {
struct AccessExtra : Extra {
  SmallVector<Reg, 8> regs;
  SmallVector<uint8_t, 8> regBits;
  unsigned elementBytes = 4;
  Space space = Space::Generic;
  bool signExtend = false;
  bool strong = false;
};
} // namespace

FaultId fa4::sim::uninitFault(Space space) {
  return space == Space::Shared || space == Space::SharedCluster ? FaultId::UninitSmem
                                                                 : FaultId::UninitGlobal;
}

static Step reportBarrier(Warp &w, const Inst &i, unsigned lane, uint64_t address) {
  return w.fault(
      FaultId::MbOverwrite, i, LaneMask(1) << lane,
      formatv("expected bytes that hold no live mbarrier, but got {0:x}", address).str());
}

static void putElement(Warp &w, const AccessExtra &x, unsigned k, unsigned lane,
                       const uint8_t *from) {
  Reg r = x.regs[k];
  uint64_t v = 0;
  std::memcpy(&v, from, std::min(8u, x.elementBytes));
  if (x.elementBytes == 16) {
    uint64_t hi;
    std::memcpy(&hi, from + 8, 8);
    w.out<uint64_t>(r)[lane] = v;
    w.out<uint64_t>(r + 2 * slotBytes)[lane] = hi;
    return;
  }
  if (x.signExtend && x.elementBytes < 8) {
    unsigned up = 64 - 8 * x.elementBytes;
    v = uint64_t(int64_t(v << up) >> up);
  }
  if (x.regBits[k] == 64) {
    w.out<uint64_t>(r)[lane] = v;
  } else {
    w.out<uint32_t>(r)[lane] = uint32_t(x.regBits[k] == 16 ? v & 0xffff : v);
  }
}

static Step execLoad(Warp &w, const Inst &i, LaneMask m) {
  const auto &x = *static_cast<const AccessExtra *>(i.extra);
  uint64_t address[warpLanes];
  if (!w.addresses(i, m, address)) {
    return Step::Stop;
  }
  unsigned count = x.regs.size(), bytes = count * x.elementBytes;
  LaneMask poison[8] = {};
  for (LaneMask left = m; left != 0; left &= left - 1) {
    unsigned l = __builtin_ctz(left);
    uint8_t *shadow;
    uint8_t *p = w.access(i, x.space, address[l], bytes, Access::Read, l, shadow);
    if (!p) {
      return Step::Stop;
    }
    for (unsigned k = 0; k < count; ++k) {
      putElement(w, x, k, l, p + k * x.elementBytes);
      const uint8_t *s = shadow + k * x.elementBytes;
      for (unsigned b = 0; b < x.elementBytes; ++b) {
        if (__builtin_expect(s[b] != shadowValid, 0)) {
          if (s[b] == shadowBarrier) {
            return reportBarrier(w, i, l, address[l]);
          }
          poison[k] |= LaneMask(1) << l;
        }
      }
    }
  }
  for (unsigned k = 0; k < count; ++k) {
    for (unsigned s = 0; s < std::max(1u, x.regBits[k] / 32u); ++s) {
      w.setPoison(x.regs[k] + int32_t(s) * slotBytes, m, poison[k]);
    }
  }
  return x.strong ? w.poll() : Step::Next;
}

static Step execStore(Warp &w, const Inst &i, LaneMask m) {
  const auto &x = *static_cast<const AccessExtra *>(i.extra);
  uint64_t address[warpLanes];
  if (!w.addresses(i, m, address)) {
    return Step::Stop;
  }
  unsigned count = x.regs.size(), bytes = count * x.elementBytes;
  for (LaneMask left = m; left != 0; left &= left - 1) {
    unsigned l = __builtin_ctz(left);
    uint8_t *shadow;
    uint8_t *p = w.access(i, x.space, address[l], bytes, Access::Write, l, shadow);
    if (!p) {
      return Step::Stop;
    }
    for (unsigned k = 0; k < count; ++k) {
      Reg r = x.regs[k];
      uint64_t v = x.regBits[k] >= 64 ? w.in<uint64_t>(r)[l] : w.in<uint32_t>(r)[l];
      LaneMask bad = w.poisonIn(r);
      uint8_t *to = p + k * x.elementBytes, *s = shadow + k * x.elementBytes;
      std::memcpy(to, &v, std::min(8u, x.elementBytes));
      if (x.elementBytes >= 8) {
        bad |= r >= 0 ? w.poisonIn(r + slotBytes) : 0;
      }
      if (x.elementBytes == 16) {
        uint64_t hi = w.in<uint64_t>(r >= 0 ? r + 2 * slotBytes : r - 2 * slotBytes)[l];
        std::memcpy(to + 8, &hi, 8);
        bad |= r >= 0 ? w.poisonIn(r + 2 * slotBytes) | w.poisonIn(r + 3 * slotBytes) : 0;
      }
      bool poisoned = bad >> l & 1;
      if (poisoned && x.space == Space::Global) {
        return w.fault(FaultId::UninitReg, i, bad & m,
                       "expected a value to be stored to global memory, but got an uninitialised "
                       "register");
      }
      for (unsigned b = 0; b < x.elementBytes; ++b) {
        if (__builtin_expect(s[b] == shadowBarrier, 0)) {
          return reportBarrier(w, i, l, address[l]);
        }
        s[b] = poisoned ? shadowPoison : shadowValid;
      }
    }
  }
  ++w.cluster->changes;
  return Step::Next;
}

Space fa4::sim::spaceOf(const Decoder &d, SymbolSpace symbol) {
  if (d.has("shared") || d.has("shared::cta")) {
    return Space::Shared;
  }
  if (d.has("shared::cluster")) {
    return Space::SharedCluster;
  }
  if (d.has("local") || symbol == SymbolSpace::CallParam) {
    return Space::Local;
  }
  if (d.has("param") || d.has("param::entry") || d.has("param::func")) {
    return Space::Param;
  }
  return d.has("global") || d.has("const") ? Space::Global : Space::Generic;
}

uint16_t fa4::sim::orderOf(const Decoder &d) {
  bool acquires = d.has("acquire") || d.has("acq_rel") || d.has("sc");
  bool releases = d.has("release") || d.has("acq_rel") || d.has("sc");
  bool strong = acquires || releases || d.has("relaxed") || d.has("volatile") || d.has("mmio");
  unsigned scope = d.has("cta") ? 0 : d.has("cluster") ? 1 : 2;
  return (strong ? OrderStrong : 0) | (acquires ? OrderAcquire : 0) |
         (releases ? OrderRelease : 0) | scope * OrderScopeUnit;
}

static void decodeAccess(Decoder &d, bool store) {
  auto *x = d.extra<AccessExtra>();
  unsigned value = store ? 1 : 0, address = store ? 0 : 1;
  Type t = d.type();
  x->elementBytes = bitWidth(t) / 8;
  x->signExtend = isSignedType(t);
  x->strong = !store && (d.has("volatile") || d.has("relaxed") || d.has("acquire"));
  unsigned wanted = d.has("v8") ? 8 : d.has("v4") ? 4 : d.has("v2") ? 2 : 1;
  const ptx::Operand &op = d.operand(value);
  ArrayRef<ptx::Operand> elements = op.kind == ptx::Operand::Kind::Vector
                                        ? ArrayRef<ptx::Operand>(op.elements)
                                        : ArrayRef<ptx::Operand>(op);
  // PTX ISA 9.7.9.8: vectors up to 256 bits.
  if (elements.size() != wanted || wanted * x->elementBytes > 32) {
    d.error("expected a vector as '.v' says and of at most 32 bytes, but got " +
            Twine(elements.size()) + " elements");
    return;
  }
  for (const ptx::Operand &e : elements) {
    unsigned bits = bitWidth(t);
    x->regs.push_back(store ? d.srcAny(e, bitWidth(t), bits) : d.dstAny(e, bitWidth(t), bits));
    x->regBits.push_back(bits);
  }
  x->space = spaceOf(d, d.setAddress(address));
  d.inst.exec = store ? execStore : execLoad;
  d.inst.flags |= SwitchPoint | orderOf(d);
  d.emit();
}

static void decodeLoad(Decoder &d) { decodeAccess(d, false); }
static void decodeStore(Decoder &d) { decodeAccess(d, true); }

/// st.bulk.weak.shared::cta [a], size, 0: writes zeros.
static Step execStoreBulk(Warp &w, const Inst &i, LaneMask m) {
  uint64_t address[warpLanes];
  if (!w.addresses(i, m, address) || !w.checkUsed(i, i.b, true, m, "the size")) {
    return Step::Stop;
  }
  for (LaneMask left = m; left != 0; left &= left - 1) {
    unsigned l = __builtin_ctz(left);
    uint64_t size = w.in<uint64_t>(i.b)[l];
    uint8_t *shadow;
    // Eight-byte steps keep every check of a plain store.
    for (uint64_t at = 0; at + 8 <= size; at += 8) {
      uint8_t *p = w.access(i, Space::Shared, address[l] + at, 8, Access::Write, l, shadow);
      if (!p) {
        return Step::Stop;
      }
      if (is_contained(ArrayRef<uint8_t>(shadow, 8), uint8_t(shadowBarrier))) {
        return reportBarrier(w, i, l, address[l] + at);
      }
      std::memset(p, 0, 8);
      std::memset(shadow, shadowValid, 8);
    }
    if (size % 8 != 0) {
      return w.fault(FaultId::Align, i, LaneMask(1) << l,
                     "expected the size to be a multiple of 8, but got " + Twine(size));
    }
  }
  ++w.cluster->changes;
  return Step::Next;
}

static void decodeStoreBulk(Decoder &d) {
  d.setAddress(0);
  d.inst.exec = execStoreBulk;
  d.inst.b = d.src(1, 64);
  if (d.operandCount() > 2 && d.immediate(2) != 0) {
    d.error("expected st.bulk to store 0, but got another value");
    return;
  }
  d.emit();
}

void fa4::sim::addMemoryOpcodes(OpcodeTable &t) {
  const char *load =
      "mmio weak|volatile|relaxed|acquire cta|cluster|gpu|sys "
      "global|shared|shared::cta|shared::cluster|local|param|param::entry|param::func|const "
      "nc ca|cg|cs|lu|cv "
      "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate "
      "^L2::evict_normal|^L2::evict_first|^L2::evict_last L2::cache_hint L2::64B|L2::128B|L2::256B "
      "v2|v4|^v8 "
      ":b8|b16|b32|b64|b128|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64";
  const char *store =
      "mmio weak|volatile|relaxed|release cta|cluster|gpu|sys "
      "global|shared|shared::cta|shared::cluster|local|param|param::func wb|cg|cs|wt "
      "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate "
      "^L2::evict_normal|^L2::evict_first|^L2::evict_last L2::cache_hint v2|v4|^v8 "
      ":b8|b16|b32|b64|b128|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64";
  t.add({
      {"ld", load, 2, 3, decodeLoad},
      {"ldu", "global v2|v4 :b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64", 2, 2,
       decodeLoad},
      {"st", store, 2, 3, decodeStore},
      {"st.bulk", "weak shared::cta", 2, 3, decodeStoreBulk, Arch::Sm100a},
  });
}
