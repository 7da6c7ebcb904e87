//===- OpsHalf.cpp - f16 and bf16 arithmetic --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Results are formed exactly (or rounded to odd) in f64 and rounded once.
//
//===----------------------------------------------------------------------===//

#include "FloatMath.h"
#include "Lanes.h"

using namespace llvm;
using namespace fa4::sim;

namespace {
struct Half {
  static double widen(uint16_t h) { return halfToFloat(h); }
  static uint16_t narrow(double v) { return doubleToHalf(v); }
  static constexpr uint16_t exponentMask = 0x7c00, one = 0x3c00;
  static constexpr double smallest = 0x1p-14;
};
struct Bfloat {
  static double widen(uint16_t h) { return bfloatToFloat(h); }
  static uint16_t narrow(double v) { return doubleToBfloat(v); }
  static constexpr uint16_t exponentMask = 0x7f80, one = 0x3f80;
  static constexpr double smallest = smallestNormal;
};

/// What the modifiers say about one result.
enum HalfFlags : uint32_t {
  Ftz = 1,
  Sat = 2,
  Relu = 4,
  PropagateNan = 8,
  Xorsign = 16,
  AbsInputs = 32
};

enum class HalfOp { Add, Sub, Mul, Fma, Min, Max };
} // namespace

template <typename F>
static uint16_t flushHalf(uint16_t h) {
  return (h & F::exponentMask) == 0 ? h & 0x8000 : h;
}

static bool isNan16(uint16_t h, uint16_t exponentMask) { return (h & 0x7fff) > exponentMask; }

template <typename F>
static uint16_t finishHalf(uint16_t h, uint32_t flags) {
  if (flags & Ftz) {
    h = flushHalf<F>(h);
  }
  bool nan = isNan16(h, F::exponentMask);
  if (flags & Sat) {
    return nan || (h & 0x8000) ? 0 : h > F::one ? F::one : h;
  }
  if ((flags & Relu) && !nan && (h & 0x8000)) {
    return 0;
  }
  return h;
}

template <typename F, HalfOp O>
static uint16_t computeHalf(uint16_t a, uint16_t b, uint16_t c, uint32_t flags) {
  if (flags & Ftz) {
    a = flushHalf<F>(a);
    b = flushHalf<F>(b);
    c = flushHalf<F>(c);
  }
  if constexpr (O == HalfOp::Min || O == HalfOp::Max) {
    uint16_t sign = (flags & Xorsign) ? (a ^ b) & 0x8000 : 0;
    if (flags & (Xorsign | AbsInputs)) {
      a &= 0x7fff;
      b &= 0x7fff;
    }
    bool nanA = isNan16(a, F::exponentMask), nanB = isNan16(b, F::exponentMask);
    if ((nanA && nanB) || ((nanA || nanB) && (flags & PropagateNan))) {
      return canonicalNan16;
    }
    uint16_t r = nanA ? b : nanB ? a : 0;
    if (!nanA && !nanB) {
      double x = F::widen(a), y = F::widen(b);
      bool first =
          x == y ? ((a & 0x8000) == 0) == (O == HalfOp::Max) : (O == HalfOp::Max) == (x > y);
      r = first ? a : b;
    }
    return finishHalf<F>(r | sign, flags);
  }
  double x = F::widen(a), y = F::widen(b), z = F::widen(c), r;
  switch (O) {
  case HalfOp::Add:
    r = addToOdd(x, y);
    break;
  case HalfOp::Sub:
    r = addToOdd(x, -y);
    break;
  case HalfOp::Mul:
    r = x * y;
    break;
  default:
    r = addToOdd(x * y, z);
    break;
  }
  bool product = O == HalfOp::Mul || O == HalfOp::Fma;
  if (product && (flags & Ftz) && std::fabs(r) < F::smallest) {
    r = std::copysign(0.0, r);
  }
  return finishHalf<F>(F::narrow(r), flags);
}

template <typename F, HalfOp O, bool Packed>
static Step execHalf(Warp &w, const Inst &i, LaneMask m) {
  const uint32_t *a = w.in<uint32_t>(i.a), *b = w.in<uint32_t>(i.b), *c = w.in<uint32_t>(i.c);
  uint32_t flags = i.aux;
  forLanes(w.out<uint32_t>(i.d), m, [=](unsigned l) {
    uint32_t r = computeHalf<F, O>(uint16_t(a[l]), uint16_t(b[l]), uint16_t(c[l]), flags);
    if (Packed) {
      r |= uint32_t(computeHalf<F, O>(uint16_t(a[l] >> 16), uint16_t(b[l] >> 16),
                                      uint16_t(c[l] >> 16), flags))
           << 16;
    }
    return r;
  });
  w.setPoison(i.d, m, w.poisonIn(i.a) | w.poisonIn(i.b) | w.poisonIn(i.c));
  return Step::Next;
}

template <HalfOp O>
static ExecFn pickHalf(Type t) {
  switch (t) {
  case Type::F16:
    return execHalf<Half, O, false>;
  case Type::F16x2:
    return execHalf<Half, O, true>;
  case Type::BF16:
    return execHalf<Bfloat, O, false>;
  default:
    return execHalf<Bfloat, O, true>;
  }
}

static uint32_t halfFlags(const Decoder &d) {
  return (d.has("ftz") ? Ftz : 0) | (d.has("sat") ? Sat : 0) | (d.has("relu") ? Relu : 0) |
         (d.has("NaN") ? PropagateNan : 0) | (d.has("xorsign") ? Xorsign : 0) |
         (d.has("abs") ? AbsInputs : 0);
}

static bool refuseRounding(Decoder &d) {
  if (d.has("rz") || d.has("rm") || d.has("rp")) {
    d.error("expected 16-bit arithmetic to round to nearest, but got another rounding");
    return true;
  }
  return false;
}

void fa4::sim::decodeHalfBinary(Decoder &d) {
  if (refuseRounding(d)) {
    return;
  }
  StringRef op = d.source->opcode;
  Type t = d.type();
  unsigned bits = bitWidth(t);
  d.inst.aux = halfFlags(d);
  ExecFn exec = op == "add"   ? pickHalf<HalfOp::Add>(t)
                : op == "sub" ? pickHalf<HalfOp::Sub>(t)
                : op == "mul" ? pickHalf<HalfOp::Mul>(t)
                : op == "min" ? pickHalf<HalfOp::Min>(t)
                              : pickHalf<HalfOp::Max>(t);
  decode2(d, exec, bits);
}

void fa4::sim::decodeHalfFma(Decoder &d) {
  if (refuseRounding(d)) {
    return;
  }
  d.inst.aux = halfFlags(d);
  decode3(d, pickHalf<HalfOp::Fma>(d.type()), bitWidth(d.type()));
}

template <typename F, bool Abs, bool Packed>
static Step execHalfSign(Warp &w, const Inst &i, LaneMask m) {
  const uint32_t *a = w.in<uint32_t>(i.a);
  bool ftz = i.aux & Ftz;
  auto one = [ftz](uint16_t h) -> uint32_t {
    h = ftz ? flushHalf<F>(h) : h;
    return isNan16(h, F::exponentMask) ? canonicalNan16 : uint16_t(Abs ? h & 0x7fff : h ^ 0x8000);
  };
  forLanes(w.out<uint32_t>(i.d), m, [=](unsigned l) {
    return one(uint16_t(a[l])) | (Packed ? one(uint16_t(a[l] >> 16)) << 16 : 0);
  });
  w.setPoison(i.d, m, w.poisonIn(i.a));
  return Step::Next;
}

template <bool Abs>
static ExecFn pickHalfSign(Type t) {
  switch (t) {
  case Type::F16:
    return execHalfSign<Half, Abs, false>;
  case Type::F16x2:
    return execHalfSign<Half, Abs, true>;
  case Type::BF16:
    return execHalfSign<Bfloat, Abs, false>;
  default:
    return execHalfSign<Bfloat, Abs, true>;
  }
}

void fa4::sim::decodeHalfUnary(Decoder &d) {
  d.inst.aux = halfFlags(d);
  unsigned bits = bitWidth(d.type());
  decode1(d,
          d.source->opcode == "abs" ? pickHalfSign<true>(d.type()) : pickHalfSign<false>(d.type()),
          bits, bits);
}

template <ApproxOp F, bool Packed>
static Step execHalfApprox(Warp &w, const Inst &i, LaneMask m) {
  const uint32_t *a = w.in<uint32_t>(i.a);
  ApproxPolicy policy{w.grid->options.approx, w.grid->options.seed};
  ElementType type = ElementType(i.imm);
  auto one = [&](uint32_t h) -> uint32_t {
    return approximateHalf(F, type, i.aux & Ftz, uint16_t(h), policy, i.source->line);
  };
  forLanes(w.out<uint32_t>(i.d), m,
           [&](unsigned l) { return one(a[l]) | (Packed ? one(a[l] >> 16) << 16 : 0); });
  w.setPoison(i.d, m, w.poisonIn(i.a));
  return Step::Next;
}

void fa4::sim::decodeHalfApprox(Decoder &d) {
  d.inst.aux = halfFlags(d);
  bool packed = d.type() == Type::F16x2 || d.type() == Type::BF16x2;
  bool bf = d.type() == Type::BF16 || d.type() == Type::BF16x2;
  d.inst.imm = uint64_t(bf ? ElementType::BF16 : ElementType::F16);
  unsigned bits = bitWidth(d.type());
  ExecFn exec =
      d.source->opcode == "tanh"
          ? (packed ? execHalfApprox<ApproxOp::Tanh, true> : execHalfApprox<ApproxOp::Tanh, false>)
          : (packed ? execHalfApprox<ApproxOp::Ex2, true> : execHalfApprox<ApproxOp::Ex2, false>);
  decode1(d, exec, bits, bits);
}
