//===- OpsConvertPacked.cpp - conversions of pairs --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `cvt.…x2.f32 d, a, b` puts a into the high half and b into the low one.
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"
#include "SmallFloat.h"

using namespace llvm;
using namespace fa4::sim;

static bool isPair(Type t) {
  switch (t) {
  case Type::F16x2:
  case Type::BF16x2:
  case Type::E4M3x2:
  case Type::E5M2x2:
  case Type::E2M1x2:
  case Type::E2M3x2:
  case Type::E3M2x2:
  case Type::UE8M0x2:
    return true;
  default:
    return false;
  }
}

bool fa4::sim::isPackedConversion(Type to, Type from) { return isPair(to) || isPair(from); }

namespace {
enum PairFlags : uint32_t { PairRelu = 1, PairSatfinite = 2, PairZero = 4, PairUp = 8 };
} // namespace

static float reluFloat(float v) { return v == v && v <= 0.0f ? 0.0f : v; }

template <bool Bf>
static Step execPairFast(Warp &w, const Inst &i, LaneMask m) {
  const float *a = w.in<float>(i.a), *b = w.in<float>(i.b);
  forLanes(w.out<uint32_t>(i.d), m, [=](unsigned l) {
    uint32_t hi = Bf ? floatToBfloat(a[l]) : floatToHalf(a[l]);
    uint32_t lo = Bf ? floatToBfloat(b[l]) : floatToHalf(b[l]);
    return hi << 16 | lo;
  });
  w.setPoison(i.d, m, w.poisonIn(i.a) | w.poisonIn(i.b));
  return Step::Next;
}

/// One element of a packed destination.
static uint32_t narrowElement(Type to, float v, uint32_t flags) {
  v = (flags & PairRelu) ? reluFloat(v) : v;
  Rounding r = (flags & PairZero) ? Rounding::Zero
               : (flags & PairUp) ? Rounding::Up
                                  : Rounding::Nearest;
  bool finite = flags & PairSatfinite;
  switch (to) {
  case Type::F16x2:
    return doubleToHalf(v, r, finite);
  case Type::BF16x2:
    return doubleToBfloat(v, r, finite);
  case Type::E4M3x2:
    return floatToE4m3(v);
  case Type::E5M2x2:
    return floatToE5m2(v);
  case Type::E2M1x2:
    return floatToE2m1(v);
  case Type::E2M3x2:
    return floatToSixBit<2>(v);
  case Type::E3M2x2:
    return floatToSixBit<3>(v);
  default: {
    // ue8m0: the exponent, rounded to zero or up; NaN is 0xff.
    uint32_t b = bitCast<uint32_t>(std::fabs(v));
    if (v != v) {
      return 0xff;
    }
    uint32_t e = b >> 23;
    if ((flags & PairUp) && (b & 0x7fffff) != 0) {
      e += e == 0 ? (b > 0x400000) : 1;
    }
    return std::min(e, 0xfeu);
  }
  }
}

static float widenElement(Type from, uint32_t v) {
  switch (from) {
  case Type::F16x2:
    return halfToFloat(uint16_t(v));
  case Type::BF16x2:
    return bfloatToFloat(uint16_t(v));
  case Type::E4M3x2:
    return e4m3ToFloat(uint8_t(v));
  case Type::E5M2x2:
    return e5m2ToFloat(uint8_t(v));
  case Type::E2M1x2:
    return e2m1ToFloat(uint8_t(v));
  case Type::E2M3x2:
    return sixBitToFloat<2>(uint8_t(v));
  case Type::E3M2x2:
    return sixBitToFloat<3>(uint8_t(v));
  default:
    return (v & 0xff) == 0xff ? bitCast<float>(canonicalNan)
           : (v & 0xff) == 0  ? 0x1p-127f
                              : bitCast<float>((v & 0xff) << 23);
  }
}

/// Bits between the two elements of a packed type.
static unsigned elementShift(Type t) {
  return t == Type::F16x2 || t == Type::BF16x2 ? 16 : t == Type::E2M1x2 ? 4 : 8;
}

static Step execPairFromFloats(Warp &w, const Inst &i, LaneMask m) {
  const float *a = w.in<float>(i.a), *b = w.in<float>(i.b);
  Type to = Type(i.imm);
  uint32_t flags = i.aux;
  unsigned shift = elementShift(to);
  forLanes(w.out<uint32_t>(i.d), m, [=](unsigned l) {
    return narrowElement(to, a[l], flags) << shift | narrowElement(to, b[l], flags);
  });
  w.setPoison(i.d, m, w.poisonIn(i.a) | w.poisonIn(i.b));
  return Step::Next;
}

static Step execPairFromPair(Warp &w, const Inst &i, LaneMask m) {
  const uint32_t *a = w.in<uint32_t>(i.a);
  Type to = Type(i.imm & 0xff), from = Type(i.imm >> 8);
  uint32_t flags = i.aux;
  unsigned shift = elementShift(to), fromShift = elementShift(from);
  uint32_t mask = (1u << fromShift) - 1;
  forLanes(w.out<uint32_t>(i.d), m, [=](unsigned l) {
    uint32_t hi = narrowElement(to, widenElement(from, a[l] >> fromShift & mask), flags);
    return hi << shift | narrowElement(to, widenElement(from, a[l] & mask), flags);
  });
  w.setPoison(i.d, m, w.poisonIn(i.a));
  return Step::Next;
}

/// Stochastic rounding: the bits that the result drops plus the supplied random
/// ones; a carry out of them rounds away from zero.
template <bool Bf>
static uint32_t stochastic(float v, uint32_t random, bool relu, bool finite) {
  v = relu ? reluFloat(v) : v;
  if (v != v || std::isinf(v)) {
    return narrowElement(Bf ? Type::BF16x2 : Type::F16x2, v, finite ? PairSatfinite : 0);
  }
  uint32_t b = bitCast<uint32_t>(v);
  constexpr unsigned drop = Bf ? 16 : 13;
  if (!Bf && std::fabs(v) < 0x1p-14f) {
    // Below the normal range the dropped part is wider; work on the scaled value.
    double scaled = std::ldexp(std::fabs(double(v)), 24);
    double whole = std::floor(scaled);
    uint32_t rest = uint32_t((scaled - whole) * 0x1p13);
    uint32_t q = uint32_t(whole) + ((rest + random) >> 13);
    return q | (std::signbit(v) ? 0x8000 : 0);
  }
  uint32_t kept = (b >> drop) + (((b & ((1u << drop) - 1)) + random) >> drop);
  float rounded = bitCast<float>(kept << drop);
  return narrowElement(Bf ? Type::BF16x2 : Type::F16x2, rounded,
                       PairZero | (finite ? PairSatfinite : 0));
}

template <bool Bf>
static Step execPairStochastic(Warp &w, const Inst &i, LaneMask m) {
  const float *a = w.in<float>(i.a), *b = w.in<float>(i.b);
  const uint32_t *c = w.in<uint32_t>(i.c);
  bool relu = i.aux & PairRelu, finite = i.aux & PairSatfinite;
  constexpr unsigned bits = Bf ? 16 : 13;
  forLanes(w.out<uint32_t>(i.d), m, [=](unsigned l) {
    uint32_t hi = c[l] >> 16 & ((1u << bits) - 1), lo = c[l] & ((1u << bits) - 1);
    return stochastic<Bf>(a[l], hi, relu, finite) << 16 | stochastic<Bf>(b[l], lo, relu, finite);
  });
  w.setPoison(i.d, m, w.poisonIn(i.a) | w.poisonIn(i.b) | w.poisonIn(i.c));
  return Step::Next;
}

void fa4::sim::decodePackedConvert(Decoder &d) {
  Type to = d.type(0), from = d.type(1);
  if (!isPair(to)) {
    d.error("expected a packed type to be converted to a packed type, but got a scalar");
    return;
  }
  d.inst.aux = (d.has("relu") ? PairRelu : 0) | (d.has("satfinite") ? PairSatfinite : 0) |
               (d.has("rz") ? PairZero : 0) | (d.has("rp") ? PairUp : 0);
  unsigned dstBits = bitWidth(to);
  bool small = to != Type::F16x2 && to != Type::BF16x2 && to != Type::UE8M0x2;
  if (small && !d.has("satfinite")) {
    d.error("expected '.satfinite' with 8-bit and smaller floats, but got none");
    return;
  }
  if (d.has("rs")) {
    if (small || to == Type::UE8M0x2 || from != Type::F32 || d.operandCount() != 4) {
      d.error("expected '.rs' to convert two f32 and random bits to f16x2 or bf16x2, but got "
              "another form");
      return;
    }
    d.inst.c = d.src(3, 32);
    decode2(d, to == Type::BF16x2 ? execPairStochastic<true> : execPairStochastic<false>, 32);
    return;
  }
  if (from == Type::F32) {
    if (d.operandCount() != 3) {
      d.error("expected two sources, but got another number");
      return;
    }
    bool fast = d.inst.aux == 0 && (to == Type::BF16x2 || to == Type::F16x2);
    d.inst.imm = unsigned(to);
    d.inst.exec = !fast                ? ExecFn(execPairFromFloats)
                  : to == Type::BF16x2 ? ExecFn(execPairFast<true>)
                                       : ExecFn(execPairFast<false>);
    d.inst.a = d.src(1, 32);
    d.inst.b = d.src(2, 32);
    d.inst.d = d.dst(0, dstBits);
    d.emit();
    return;
  }
  if (!isPair(from) || d.operandCount() != 2) {
    d.error("expected a packed source, but got another form");
    return;
  }
  d.inst.imm = unsigned(to) | unsigned(from) << 8;
  decode1(d, execPairFromPair, dstBits, bitWidth(from));
}
