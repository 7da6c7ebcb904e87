//===- OpsApprox.cpp - approximate functions, division, roots ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an approximate function may return is in Approx.h. Division, roots and
// reciprocals with a rounding are exact here.
//
//===----------------------------------------------------------------------===//

#include "DoubleMath.h"
#include "Lanes.h"

using namespace llvm;
using namespace fa4::sim;

static uint32_t siteOf(const Inst &i) { return i.source->line; }

template <ApproxOp F, bool Ftz>
static Step execApprox(Warp &w, const Inst &i, LaneMask m) {
  const uint32_t *a = w.in<uint32_t>(i.a);
  ApproxPolicy policy{w.grid->options.approx, w.grid->options.seed};
  forLanes(w.out<uint32_t>(i.d), m,
           [&](unsigned l) { return approximate(F, Ftz, a[l], policy, siteOf(i)); });
  w.setPoison(i.d, m, w.poisonIn(i.a));
  return Step::Next;
}

/// exp2 of all lanes is the hottest of these: a f64 polynomial whose error is far
/// below half an f32 ulp, so that rounding it once is correct except for
/// arguments within 2^-45 of a rounding boundary, where libm decides.
static double exp2Fast(double x, bool &sure) {
  // Adding 1.5·2^52 rounds to an integer and leaves it in the low bits.
  double shifted = x + 0x1.8p52, n = shifted - 0x1.8p52;
  double t = (x - n) * 0.6931471805599453094;
  // Taylor series to t^13 for |t| <= ln2/2: the rest is below 2^-56.
  double p = 1.0 / 6227020800.0;
  const double inverse[] = {1.0 / 479001600,
                            1.0 / 39916800,
                            1.0 / 3628800,
                            1.0 / 362880,
                            1.0 / 40320,
                            1.0 / 5040,
                            1.0 / 720,
                            1.0 / 120,
                            1.0 / 24,
                            1.0 / 6,
                            0.5,
                            1.0,
                            1.0};
  for (double c : inverse) {
    p = p * t + c;
  }
  uint64_t bits = bitCast<uint64_t>(p);
  // Distance of the 29 bits that rounding drops from their midpoint.
  uint64_t rest = bits & 0x1fffffff;
  int64_t distance = int64_t(rest) - 0x10000000;
  sure = (distance < 0 ? -distance : distance) > 256;
  return bitCast<double>(bits + (bitCast<uint64_t>(shifted) << 52));
}

template <bool Ftz>
static Step execEx2(Warp &w, const Inst &i, LaneMask m) {
  const float *a = w.in<float>(i.a);
  if (w.grid->options.approx != ApproxMode::Nearest) {
    return execApprox<ApproxOp::Ex2, Ftz>(w, i, m);
  }
  float r[warpLanes];
  uint32_t unsure = 0;
  FA4_LANE_LOOP
  for (unsigned l = 0; l < warpLanes; ++l) {
    float x = input<Ftz>(a[l]);
    bool inside = x > -126.0f && x < 128.0f; // normal results
    float y = inside ? x : 0.0f;
    bool sure;
    double v = exp2Fast(y, sure);
    r[l] = float(v);
    unsure |= uint32_t(!sure || !inside) << l;
  }
  unsure &= m;
  while (unsure) {
    unsigned l = __builtin_ctz(unsure);
    unsure &= unsure - 1;
    r[l] = bitCast<float>(approximate(ApproxOp::Ex2, Ftz, bitCast<uint32_t>(a[l]), {}, 0));
  }
  forLanes(w.out<float>(i.d), m, [&](unsigned l) { return r[l]; });
  w.setPoison(i.d, m, w.poisonIn(i.a));
  return Step::Next;
}

static bool isHalfType(Type t) {
  return t == Type::F16 || t == Type::F16x2 || t == Type::BF16 || t == Type::BF16x2;
}

template <ApproxOp F>
static void decodeApprox(Decoder &d) {
  if (isHalfType(d.type())) {
    decodeHalfApprox(d);
    return;
  }
  if (!d.has("approx")) {
    d.error("expected '.approx' with type f32, but got none");
    return;
  }
  decode1(d, d.has("ftz") ? execApprox<F, true> : execApprox<F, false>, 32, 32);
}

static void decodeEx2(Decoder &d) {
  if (isHalfType(d.type())) {
    decodeHalfApprox(d);
    return;
  }
  decode1(d, d.has("ftz") ? execEx2<true> : execEx2<false>, 32, 32);
}

/// Correctly rounded reciprocal, root and quotient in all directions. The f64
/// value carries an error, so the exact remainder decides where it fell.
template <Rounding R, bool Ftz>
static float divideFloat(float a, float b) {
  a = input<Ftz>(a);
  b = input<Ftz>(b);
  double q = double(a) / double(b);
  if (Ftz && std::fabs(q) < smallestNormal) {
    q = std::copysign(0.0, q); // before rounding, as products
  }
  if (R == Rounding::Nearest || !std::isfinite(q) || q == 0.0) {
    // 53 ≥ 2·24 + 2: rounding the f64 quotient again is innocuous.
    return finish<Ftz, false>(float(q));
  }
  double rest = std::fma(-q, double(b), double(a));
  return finish<Ftz, false>(roundToFloat<R>(roundToOdd(q, b < 0.0f ? -rest : rest)));
}

template <Rounding R, bool Ftz>
static float reciprocal(float a) {
  return divideFloat<R, Ftz>(1.0f, a);
}

template <Rounding R, bool Ftz>
static float rootFloat(float a) {
  a = input<Ftz>(a);
  double q = std::sqrt(double(a));
  if (R == Rounding::Nearest || !std::isfinite(q) || q == 0.0) {
    return finish<Ftz, false>(float(q));
  }
  return finish<Ftz, false>(roundToFloat<R>(roundToOdd(q, std::fma(-q, q, double(a)))));
}

template <template <Rounding, bool> class Pick>
static ExecFn byRounding(const Decoder &d) {
  bool ftz = d.has("ftz");
  if (d.has("rz")) {
    return ftz ? Pick<Rounding::Zero, true>::exec() : Pick<Rounding::Zero, false>::exec();
  }
  if (d.has("rm")) {
    return ftz ? Pick<Rounding::Down, true>::exec() : Pick<Rounding::Down, false>::exec();
  }
  if (d.has("rp")) {
    return ftz ? Pick<Rounding::Up, true>::exec() : Pick<Rounding::Up, false>::exec();
  }
  return ftz ? Pick<Rounding::Nearest, true>::exec() : Pick<Rounding::Nearest, false>::exec();
}

namespace {
template <Rounding R, bool Ftz>
struct PickDivide {
  static ExecFn exec() { return exec2<float, float, float, divideFloat<R, Ftz>>; }
};
template <Rounding R, bool Ftz>
struct PickReciprocal {
  static ExecFn exec() { return exec1<float, float, reciprocal<R, Ftz>>; }
};
template <Rounding R, bool Ftz>
struct PickRoot {
  static ExecFn exec() { return exec1<float, float, rootFloat<R, Ftz>>; }
};
} // namespace

// The second parameter is the one that `byRounding` gives for '.ftz', which f64
// does not have.
namespace {
template <Rounding R, bool>
struct PickDoubleDivide {
  static double value(double a, double b) { return withNan(divideRounded(R, a, b), a, b); }
  static ExecFn exec() { return exec2<double, double, double, value>; }
};
template <Rounding R, bool>
struct PickDoubleReciprocal {
  static double value(double a) { return withNan(divideRounded(R, 1.0, a), a); }
  static ExecFn exec() { return exec1<double, double, value>; }
};
template <Rounding R, bool>
struct PickDoubleRoot {
  static double value(double a) { return withNan(rootRounded(R, a), a); }
  static ExecFn exec() { return exec1<double, double, value>; }
};
} // namespace

static bool refuseApproximateDouble(Decoder &d) {
  if (d.has("ftz") || d.has("approx") || d.has("full")) {
    d.error("expected f64 to be rounded correctly, but got an approximate form");
    return true;
  }
  return false;
}

static void decodeDiv(Decoder &d) {
  if (d.type() == Type::F64) {
    if (!refuseApproximateDouble(d)) {
      decode2(d, byRounding<PickDoubleDivide>(d), 64);
    }
  } else if (d.type() == Type::F32) {
    // .approx and .full are within 2 ulp; correctly rounded is.
    decode2(d, byRounding<PickDivide>(d), 32);
  } else {
    decodeIntegerDiv(d);
  }
}

static void decodeRcp(Decoder &d) {
  if (d.type() == Type::F64) {
    if (!refuseApproximateDouble(d)) {
      decode1(d, byRounding<PickDoubleReciprocal>(d), 64, 64);
    }
  } else if (d.has("approx")) {
    decodeApprox<ApproxOp::Rcp>(d);
  } else {
    decode1(d, byRounding<PickReciprocal>(d), 32, 32);
  }
}

static void decodeSqrt(Decoder &d) {
  if (d.type() == Type::F64) {
    if (!refuseApproximateDouble(d)) {
      decode1(d, byRounding<PickDoubleRoot>(d), 64, 64);
    }
  } else if (d.has("approx")) {
    decodeApprox<ApproxOp::Sqrt>(d);
  } else {
    decode1(d, byRounding<PickRoot>(d), 32, 32);
  }
}

void fa4::sim::addApproxOpcodes(OpcodeTable &t) {
  t.add({
      {"ex2", "approx ftz :f32|f16|f16x2|bf16|bf16x2", 2, 2, decodeEx2},
      {"lg2", "approx ftz :f32", 2, 2, decodeApprox<ApproxOp::Lg2>},
      {"sin", "approx ftz :f32", 2, 2, decodeApprox<ApproxOp::Sin>},
      {"cos", "approx ftz :f32", 2, 2, decodeApprox<ApproxOp::Cos>},
      {"tanh", "approx :f32|f16|f16x2|bf16|bf16x2", 2, 2, decodeApprox<ApproxOp::Tanh>},
      {"rsqrt", "approx ftz :f32", 2, 2, decodeApprox<ApproxOp::Rsqrt>},
      {"rcp", "approx rn|rz|rm|rp ftz :f32|f64", 2, 2, decodeRcp},
      {"sqrt", "approx rn|rz|rm|rp ftz :f32|f64", 2, 2, decodeSqrt},
      {"div", "approx full rn|rz|rm|rp ftz :u16|s16|u32|s32|u64|s64|f32|f64", 3, 3, decodeDiv},
  });
}
