//===- OpsMove.cpp - mov, cvta, selp, special registers ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Moves copy poison half by half: compilers pack undefined halves freely.
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"

#include <algorithm>

using namespace llvm;
using namespace fa4::sim;
using ptx::Operand;

template <unsigned Slots>
static Step execCopy(Warp &w, const Inst &i, LaneMask m) {
  using T = std::conditional_t<Slots == 1, uint32_t, uint64_t>;
  constexpr unsigned planes = Slots <= 2 ? 1 : Slots / 2;
  for (unsigned p = 0; p < planes; ++p) {
    int32_t o = p * 2 * slotBytes;
    const T *a = w.in<T>(i.a >= 0 ? i.a + o : i.a - o);
    forLanes(w.out<T>(i.d + o), m, [=](unsigned l) { return a[l]; });
  }
  for (unsigned s = 0; s < Slots; ++s) {
    int32_t o = s * slotBytes;
    w.setPoison(i.d + o, m, i.a >= 0 ? w.poisonIn(i.a + o) : 0);
  }
  return Step::Next;
}

static Step execPack32x2(Warp &w, const Inst &i, LaneMask m) {
  const uint32_t *a = w.in<uint32_t>(i.a), *b = w.in<uint32_t>(i.b);
  forLanes(w.out<uint64_t>(i.d), m,
           [=](unsigned l) { return uint64_t(a[l]) | uint64_t(b[l]) << 32; });
  LaneMask pa = w.poisonIn(i.a), pb = w.poisonIn(i.b);
  w.setPoison(i.d, m, pa);
  w.setPoison(i.d + slotBytes, m, pb);
  return Step::Next;
}

static Step execUnpack32x2(Warp &w, const Inst &i, LaneMask m) {
  // The source may be one of the destinations' neighbours, never overlapping.
  const uint64_t *a = w.in<uint64_t>(i.a);
  forLanes(w.out<uint32_t>(i.d), m, [=](unsigned l) { return uint32_t(a[l]); });
  forLanes(w.out<uint32_t>(i.b), m, [=](unsigned l) { return uint32_t(a[l] >> 32); });
  w.setPoison(i.d, m, w.poisonIn(i.a));
  w.setPoison(i.b, m, i.a >= 0 ? w.poisonIn(i.a + slotBytes) : 0);
  return Step::Next;
}

namespace {
struct PackExtra : Extra {
  SmallVector<Reg, 8> parts;
  unsigned partBits = 0, wholeBits = 0;
};
} // namespace

/// Reads `bits` bits of lane l starting at bit `at` of a register.
static uint64_t readBits(Warp &w, Reg r, unsigned regBits, unsigned lane, unsigned at,
                         unsigned bits) {
  uint64_t v;
  if (regBits <= 32) {
    v = w.in<uint32_t>(r)[lane];
  } else {
    int32_t plane = int32_t(at / 64) * 2 * slotBytes;
    v = w.in<uint64_t>(r >= 0 ? r + plane : r - plane)[lane];
    at %= 64;
  }
  v >>= at;
  return bits == 64 ? v : v & ((uint64_t(1) << bits) - 1);
}

static LaneMask poisonBits(Warp &w, Reg r, unsigned at, unsigned bits) {
  if (r < 0) {
    return 0;
  }
  LaneMask p = w.poisonIn(r + int32_t(at / 32) * slotBytes);
  return bits == 64 ? p | w.poisonIn(r + int32_t(at / 32 + 1) * slotBytes) : p;
}

static Step execPack(Warp &w, const Inst &i, LaneMask m) {
  const auto &x = *static_cast<const PackExtra *>(i.extra);
  uint64_t whole[2][warpLanes] = {};
  LaneMask bad[4] = {};
  for (unsigned k = 0; k < x.parts.size(); ++k) {
    unsigned at = k * x.partBits;
    for (unsigned l = 0; l < warpLanes; ++l) {
      whole[at / 64][l] |= readBits(w, x.parts[k], x.partBits, l, 0, x.partBits) << (at % 64);
    }
    for (unsigned s = 0; s < std::max(1u, x.partBits / 32); ++s) {
      bad[at / 32 + s] |= poisonBits(w, x.parts[k], s * 32, 32);
    }
  }
  if (x.wholeBits <= 32) {
    forLanes(w.out<uint32_t>(i.d), m, [&](unsigned l) { return uint32_t(whole[0][l]); });
  } else {
    for (unsigned p = 0; p < x.wholeBits / 64; ++p) {
      forLanes(w.out<uint64_t>(i.d + int32_t(p) * 2 * slotBytes), m,
               [&](unsigned l) { return whole[p][l]; });
    }
  }
  for (unsigned s = 0; s < std::max(1u, x.wholeBits / 32); ++s) {
    w.setPoison(i.d + int32_t(s) * slotBytes, m, bad[s]);
  }
  return Step::Next;
}

static Step execUnpack(Warp &w, const Inst &i, LaneMask m) {
  const auto &x = *static_cast<const PackExtra *>(i.extra);
  uint64_t whole[2][warpLanes];
  LaneMask bad[4] = {};
  for (unsigned p = 0; p < std::max(1u, x.wholeBits / 64); ++p) {
    for (unsigned l = 0; l < warpLanes; ++l) {
      whole[p][l] = readBits(w, i.a, x.wholeBits, l, p * 64, std::min(64u, x.wholeBits));
    }
  }
  for (unsigned s = 0; s < std::max(1u, x.wholeBits / 32); ++s) {
    bad[s] = poisonBits(w, i.a, s * 32, 32);
  }
  for (unsigned k = 0; k < x.parts.size(); ++k) {
    unsigned at = k * x.partBits;
    auto part = [&](unsigned l) {
      uint64_t v = whole[at / 64][l] >> (at % 64);
      return x.partBits == 64 ? v : v & ((uint64_t(1) << x.partBits) - 1);
    };
    if (x.partBits == 64) {
      forLanes(w.out<uint64_t>(x.parts[k]), m, part);
      w.setPoison(x.parts[k] + slotBytes, m, bad[at / 32 + 1]);
    } else {
      forLanes(w.out<uint32_t>(x.parts[k]), m, [&](unsigned l) { return uint32_t(part(l)); });
    }
    w.setPoison(x.parts[k], m, bad[at / 32]);
  }
  return Step::Next;
}

/// %clock and friends: monotone, seeded, never equal to host time.
template <typename T, unsigned Shift>
static Step execClock(Warp &w, const Inst &i, LaneMask m) {
  // One instruction is taken as a few cycles; only monotonicity is promised.
  uint64_t t = (w.cluster->instructionCount() << 2) + (w.grid->options.seed & 0xffff);
  t = t >> Shift << Shift;
  forLanes(w.out<T>(i.d), m, [=](unsigned) { return T(t); });
  setPoisonOf<T>(w, i.d, m, 0);
  return Step::Next;
}

static bool decodeDynamicSpecial(Decoder &d, unsigned bits) {
  StringRef name = d.specialName(1);
  ExecFn exec = nullptr;
  if (name == "%clock") {
    exec = execClock<uint32_t, 0>;
  } else if (name == "%clock64") {
    exec = execClock<uint64_t, 0>;
  } else if (name == "%globaltimer") {
    exec = execClock<uint64_t, 5>; // 32 ns steps
  } else if (name == "%globaltimer_lo") {
    exec = execClock<uint32_t, 5>;
  }
  if (!exec) {
    return false;
  }
  d.inst.exec = exec;
  d.inst.d = d.dst(0, bits);
  d.emit();
  return true;
}

static void decodeVectorMove(Decoder &d, unsigned bits, bool pack) {
  const Operand &vec = d.operand(pack ? 1 : 0);
  unsigned count = vec.elements.size();
  if (count != 2 && count != 4 && count != 8) {
    d.error("expected a vector of 2, 4 or 8 elements, but got " + Twine(count));
    return;
  }
  unsigned partBits = bits / count;
  if (partBits < 8) {
    d.error("expected vector elements of at least 8 bits, but got " + Twine(partBits));
    return;
  }
  PackExtra local;
  for (const Operand &e : vec.elements) {
    local.parts.push_back(pack ? d.srcOf(e, partBits) : d.dstOf(e, partBits));
  }
  if (pack) {
    d.inst.d = d.dst(0, bits);
  } else {
    d.inst.a = d.src(1, bits);
  }
  if (count == 2 && bits == 64) {
    if (pack) {
      d.inst.exec = execPack32x2;
      d.inst.a = local.parts[0];
      d.inst.b = local.parts[1];
    } else {
      d.inst.exec = execUnpack32x2;
      d.inst.d = local.parts[0];
      d.inst.b = local.parts[1];
    }
  } else {
    auto *x = d.extra<PackExtra>();
    x->parts = local.parts;
    x->partBits = partBits;
    x->wholeBits = bits;
    d.inst.exec = pack ? execPack : execUnpack;
  }
  d.emit();
}

static void decodeMov(Decoder &d) {
  if (d.type() == Type::Pred) {
    decodePredicateCopy(d, /*invert=*/false);
    return;
  }
  unsigned bits = bitWidth(d.type());
  if (d.isVector(0) || d.isVector(1)) {
    decodeVectorMove(d, bits, d.isVector(1));
    return;
  }
  if (decodeDynamicSpecial(d, bits)) {
    return;
  }
  decode1(d, bits <= 32 ? execCopy<1> : bits == 64 ? execCopy<2> : execCopy<4>, bits, bits);
}

/// Adds or removes the window of a state space.
static Step execWindow(Warp &w, const Inst &i, LaneMask m) {
  const uint64_t *a = w.in<uint64_t>(i.a);
  uint64_t delta = i.imm;
  forLanes(w.out<uint64_t>(i.d), m, [=](unsigned l) { return a[l] + delta; });
  setPoisonOf<uint64_t>(w, i.d, m, w.poisonWide(i.a));
  return Step::Next;
}

static void decodeCvta(Decoder &d) {
  uint64_t window = 0;
  if (d.has("shared") || d.has("shared::cta") || d.has("shared::cluster")) {
    window = sharedWindow;
  } else if (d.has("local")) {
    window = localWindow;
  } else if (d.has("param") || d.has("param::entry")) {
    window = paramWindow;
  }
  d.inst.imm = d.has("to") ? 0 - window : window;
  decode1(d, execWindow, 64, 64);
}

static bool isConstant(const Grid &grid, uint64_t address) {
  for (size_t k = 0; k < grid.globalAddresses.size(); ++k) {
    const GlobalVariable &variable = grid.kernel.globals[k];
    if (variable.readOnly && address - grid.globalAddresses[k] < variable.size) {
      return true;
    }
  }
  return false;
}

static Step execIsSpace(Warp &w, const Inst &i, LaneMask m) {
  bool wantsConstant = i.imm != 0;
  const uint64_t *a = w.in<uint64_t>(i.a);
  LaneMask r = maskLanes([&](unsigned l) {
    bool shared = a[l] - sharedWindow < windowSize, local = a[l] - localWindow < windowSize;
    bool param = a[l] - paramWindow < windowSize;
    bool constant = !shared && !local && !param && isConstant(*w.grid, a[l]);
    switch (Space(i.aux)) {
    case Space::Shared:
      return shared && (a[l] - sharedWindow) >> sharedRankShift == w.cta->rank;
    case Space::SharedCluster:
      return shared;
    case Space::Local:
      return local;
    case Space::Param:
      return param;
    default:
      // The window of parameters lies within that of global memory (PTX ISA, isspacep).
      return wantsConstant ? constant : !shared && !local && !constant;
    }
  });
  w.setPred(i.q, m, r, w.poisonWide(i.a));
  return Step::Next;
}

static void decodeIsSpace(Decoder &d) {
  d.inst.exec = execIsSpace;
  d.inst.aux = unsigned(d.has("shared::cluster")                  ? Space::SharedCluster
                        : d.has("shared") || d.has("shared::cta") ? Space::Shared
                        : d.has("local")                          ? Space::Local
                        : d.has("param") || d.has("param::entry") ? Space::Param
                                                                  : Space::Global);
  d.inst.imm = d.has("const");
  d.inst.a = d.src(1, 64);
  d.inst.q = d.predDst(0);
  d.emit();
}

template <typename T>
static Step execSelect(Warp &w, const Inst &i, LaneMask m) {
  const T *a = w.in<T>(i.a), *b = w.in<T>(i.b);
  LaneMask p = i.aux ? ~w.preds[i.p] : w.preds[i.p];
  LaneMask pp = w.predPoison[i.p];
  forLanes(w.out<T>(i.d), m, [=](unsigned l) { return (p >> l & 1) ? a[l] : b[l]; });
  for (unsigned s = 0; s < sizeof(T) / 4; ++s) {
    int32_t o = s * slotBytes;
    LaneMask pa = i.a >= 0 ? w.poisonIn(i.a + o) : 0, pb = i.b >= 0 ? w.poisonIn(i.b + o) : 0;
    w.setPoison(i.d + o, m, (p & pa) | (~p & pb) | pp);
  }
  return Step::Next;
}

static void decodeSelp(Decoder &d) {
  unsigned bits = bitWidth(d.type());
  bool negated = false;
  d.inst.p = d.predSrc(3, &negated);
  d.inst.aux = negated;
  decode2(d, bits == 64 ? execSelect<uint64_t> : execSelect<uint32_t>, bits);
}

template <typename T, bool FloatTest>
static Step execSlct(Warp &w, const Inst &i, LaneMask m) {
  const T *a = w.in<T>(i.a), *b = w.in<T>(i.b);
  const int32_t *c = w.in<int32_t>(i.c);
  const float *cf = w.in<float>(i.c);
  const float threshold = i.aux ? -0x1.fffffcp-127f : 0.0f;
  forLanes(w.out<T>(i.d), m, [=](unsigned l) {
    // -0 and, with .ftz, negative subnormals count as zero.
    bool first = FloatTest ? cf[l] >= threshold : c[l] >= 0;
    return first ? a[l] : b[l];
  });
  setPoisonOf<T>(w, i.d, m, poisonOf<T>(w, i.a) | poisonOf<T>(w, i.b) | w.poisonIn(i.c));
  return Step::Next;
}

static void decodeSlct(Decoder &d) {
  unsigned bits = bitWidth(d.type(0));
  bool isFloat = d.type(1) == Type::F32;
  d.inst.c = d.src(3, 32);
  d.inst.aux = d.has("ftz");
  if (bits == 64) {
    decode2(d, isFloat ? execSlct<uint64_t, true> : execSlct<uint64_t, false>, bits);
  } else {
    decode2(d, isFloat ? execSlct<uint32_t, true> : execSlct<uint32_t, false>, bits);
  }
}

void fa4::sim::addMoveOpcodes(OpcodeTable &t) {
  t.add({
      {"mov", ":pred|b16|b32|b64|b128|u16|u32|u64|s16|s32|s64|f32|f64", 2, 2, decodeMov},
      {"cvta", "to shared|shared::cta|shared::cluster|global|local|const|param|param::entry :u64",
       2, 2, decodeCvta},
      {"isspacep", "shared|shared::cta|shared::cluster|global|local|const|param|param::entry", 2, 2,
       decodeIsSpace},
      {"selp", ":b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64", 4, 4, decodeSelp},
      {"slct", "ftz :b16|u16|s16|b32|b64|u32|u64|s32|s64|f32|f64 :s32|f32", 4, 4, decodeSlct},
  });
}
