//===- OpsFloat.cpp - f32, f32x2 and f64 arithmetic -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The opcodes that integers and halves share are dispatched by type here.
//
//===----------------------------------------------------------------------===//

#include "DoubleMath.h"
#include "Lanes.h"

using namespace llvm;
using namespace fa4::sim;

static Rounding roundingOf(const Decoder &d) {
  return d.has("rz")   ? Rounding::Zero
         : d.has("rm") ? Rounding::Down
         : d.has("rp") ? Rounding::Up
                       : Rounding::Nearest;
}

namespace {
enum class Op { Add, Sub, Mul };
} // namespace

/// Multiplication and fma to nearest with .ftz: computed for all lanes, then the
/// lanes that rounded to the smallest normal are looked at again.
template <unsigned Count, bool HasC, bool Sat>
static Step execProductFtz(Warp &w, const Inst &i, LaneMask m) {
  const float *a = w.in<float>(i.a), *b = w.in<float>(i.b), *c = w.in<float>(i.c);
  float r[Count];
  uint32_t borderline = 0;
  FA4_LANE_LOOP
  for (unsigned l = 0; l < Count; ++l) {
    r[l] = HasC ? fmaFloat<Rounding::Nearest, true, Sat>(a[l], b[l], c[l])
                : mulFloat<Rounding::Nearest, true, Sat>(a[l], b[l]);
    borderline |= (bitCast<uint32_t>(r[l]) & 0x7fffffffu) == smallestNormalBits;
  }
  if (__builtin_expect(borderline != 0, 0)) {
    for (unsigned l = 0; l < Count; ++l) {
      bool border = (bitCast<uint32_t>(r[l]) & 0x7fffffffu) == smallestNormalBits;
      if (border && wasTiny(a[l], b[l], HasC ? c[l] : 0.0f)) {
        r[l] = std::copysign(0.0f, r[l]);
      }
    }
  }
  constexpr unsigned perLane = Count / warpLanes;
  float *d = w.out<float>(i.d);
  if (m == allLanes) {
    std::memcpy(d, r, sizeof(r));
  } else {
    for (unsigned l = 0; l < Count; ++l) {
      d[l] = (m >> (l / perLane) & 1) ? r[l] : d[l];
    }
  }
  for (unsigned half = 0; half < perLane; ++half) {
    int32_t o = half * slotBytes;
    LaneMask p = (i.a >= 0 ? w.poisonIn(i.a + o) : 0) | (i.b >= 0 ? w.poisonIn(i.b + o) : 0);
    w.setPoison(i.d + o, m, p | (HasC && i.c >= 0 ? w.poisonIn(i.c + o) : 0));
  }
  return Step::Next;
}

template <Op O, Rounding R, bool Ftz, bool Sat>
static float binaryFloat(float a, float b) {
  return O == Op::Add   ? addFloat<R, Ftz, Sat>(a, b)
         : O == Op::Sub ? subFloat<R, Ftz, Sat>(a, b)
                        : mulFloat<R, Ftz, Sat>(a, b);
}

template <Op O, Rounding R>
static ExecFn scalarBinary(bool ftz, bool sat) {
  if (ftz) {
    return sat ? exec2<float, float, float, binaryFloat<O, R, true, true>>
               : exec2<float, float, float, binaryFloat<O, R, true, false>>;
  }
  return sat ? exec2<float, float, float, binaryFloat<O, R, false, true>>
             : exec2<float, float, float, binaryFloat<O, R, false, false>>;
}

template <Op O, Rounding R>
static ExecFn packedBinary(bool ftz) {
  return ftz ? execPacked2<binaryFloat<O, R, true, false>>
             : execPacked2<binaryFloat<O, R, false, false>>;
}

template <Op O, Rounding R>
static double binaryDouble(double a, double b) {
  double r = O == Op::Mul ? multiplyRounded(R, a, b) : addRounded(R, a, O == Op::Sub ? -b : b);
  return withLaterNan(r, a, b);
}

/// f64 knows neither '.ftz' nor '.sat'.
static bool refusesDoubleModifiers(Decoder &d) {
  if (d.has("ftz") || d.has("sat")) {
    d.error("expected f64 arithmetic without '.ftz' and '.sat', but got one of them");
    return true;
  }
  return false;
}

template <template <Rounding> class Pick>
static ExecFn doubleExec(Rounding rounding) {
  switch (rounding) {
  case Rounding::Nearest:
    return Pick<Rounding::Nearest>::exec();
  case Rounding::Zero:
    return Pick<Rounding::Zero>::exec();
  case Rounding::Down:
    return Pick<Rounding::Down>::exec();
  case Rounding::Up:
    return Pick<Rounding::Up>::exec();
  }
  return nullptr;
}

namespace {
template <Op O>
struct DoubleBinary {
  template <Rounding R>
  struct Pick {
    static ExecFn exec() { return exec2<double, double, double, binaryDouble<O, R>>; }
  };
};
} // namespace

template <Op O>
static void decodeFloatBinary(Decoder &d) {
  Rounding r = roundingOf(d);
  bool ftz = d.has("ftz"), sat = d.has("sat");
  if (d.type() == Type::F64) {
    if (!refusesDoubleModifiers(d)) {
      decode2(d, doubleExec<DoubleBinary<O>::template Pick>(r), 64);
    }
    return;
  }
  ExecFn exec = nullptr;
  bool packed = d.type() == Type::F32x2;
  switch (r) {
  case Rounding::Nearest:
    exec = packed ? packedBinary<O, Rounding::Nearest>(ftz)
                  : scalarBinary<O, Rounding::Nearest>(ftz, sat);
    break;
  case Rounding::Zero:
    exec =
        packed ? packedBinary<O, Rounding::Zero>(ftz) : scalarBinary<O, Rounding::Zero>(ftz, sat);
    break;
  case Rounding::Down:
    exec =
        packed ? packedBinary<O, Rounding::Down>(ftz) : scalarBinary<O, Rounding::Down>(ftz, sat);
    break;
  case Rounding::Up:
    exec = packed ? packedBinary<O, Rounding::Up>(ftz) : scalarBinary<O, Rounding::Up>(ftz, sat);
    break;
  }
  if (packed && sat) {
    d.error("expected packed arithmetic without '.sat', but got it");
    return;
  }
  if (O == Op::Mul && ftz && r == Rounding::Nearest) {
    exec = packed ? execProductFtz<2 * warpLanes, false, false>
           : sat  ? execProductFtz<warpLanes, false, true>
                  : execProductFtz<warpLanes, false, false>;
  }
  decode2(d, exec, packed ? 64 : 32);
}

static bool isHalfType(Type t) {
  return t == Type::F16 || t == Type::F16x2 || t == Type::BF16 || t == Type::BF16x2;
}

/// add.f32.bf16 d, a, c: a 16-bit operand widened exactly (sm_100).
template <bool Bf, bool Subtract, Rounding R, bool Sat>
static float mixedAdd(uint16_t a, float c) {
  float wide = Bf ? bfloatToFloat(a) : halfToFloat(a);
  return Subtract ? subFloat<R, false, Sat>(wide, c) : addFloat<R, false, Sat>(wide, c);
}

template <bool Bf, bool Subtract, Rounding R>
static ExecFn mixedExec(bool sat) {
  return sat ? exec2<float, uint16_t, float, mixedAdd<Bf, Subtract, R, true>>
             : exec2<float, uint16_t, float, mixedAdd<Bf, Subtract, R, false>>;
}

template <bool Bf, bool Subtract>
static ExecFn pickMixed(Rounding r, bool sat) {
  switch (r) {
  case Rounding::Nearest:
    return mixedExec<Bf, Subtract, Rounding::Nearest>(sat);
  case Rounding::Zero:
    return mixedExec<Bf, Subtract, Rounding::Zero>(sat);
  case Rounding::Down:
    return mixedExec<Bf, Subtract, Rounding::Down>(sat);
  case Rounding::Up:
    break;
  }
  return mixedExec<Bf, Subtract, Rounding::Up>(sat);
}

template <bool Subtract>
static void decodeMixed(Decoder &d) {
  if (d.type(0) != Type::F32) {
    d.error("expected f32 before the second type, but got another type");
    return;
  }
  bool bf = d.type(1) == Type::BF16;
  d.inst.exec = bf ? pickMixed<true, Subtract>(roundingOf(d), d.has("sat"))
                   : pickMixed<false, Subtract>(roundingOf(d), d.has("sat"));
  d.inst.a = d.src(1, 16);
  d.inst.b = d.src(2, 32);
  d.inst.d = d.dst(0, 32);
  d.emit();
}

static void decodeAdd(Decoder &d) {
  if (d.types.size() == 2) {
    decodeMixed<false>(d);
  } else if (isHalfType(d.type())) {
    decodeHalfBinary(d);
  } else if (isFloatType(d.type())) {
    decodeFloatBinary<Op::Add>(d);
  } else {
    decodeIntegerAdd(d);
  }
}

static void decodeSub(Decoder &d) {
  if (d.types.size() == 2) {
    decodeMixed<true>(d);
  } else if (isHalfType(d.type())) {
    decodeHalfBinary(d);
  } else if (isFloatType(d.type())) {
    decodeFloatBinary<Op::Sub>(d);
  } else {
    decodeIntegerSub(d);
  }
}

static void decodeMul(Decoder &d) {
  if (isHalfType(d.type())) {
    decodeHalfBinary(d);
  } else if (isFloatType(d.type())) {
    decodeFloatBinary<Op::Mul>(d);
  } else {
    decodeIntegerMul(d);
  }
}

template <Rounding R>
static ExecFn fmaExec(bool packed, bool ftz, bool sat) {
  if (packed) {
    return ftz ? execPacked3<fmaFloat<R, true, false>> : execPacked3<fmaFloat<R, false, false>>;
  }
  if (ftz) {
    return sat ? exec3<float, float, float, float, fmaFloat<R, true, true>>
               : exec3<float, float, float, float, fmaFloat<R, true, false>>;
  }
  return sat ? exec3<float, float, float, float, fmaFloat<R, false, true>>
             : exec3<float, float, float, float, fmaFloat<R, false, false>>;
}

template <Rounding R>
static double fmaDouble(double a, double b, double c) {
  return withLaterNan(fmaRounded(R, a, b, c), a, b, c);
}

namespace {
template <Rounding R>
struct DoubleFma {
  static ExecFn exec() { return exec3<double, double, double, double, fmaDouble<R>>; }
};
} // namespace

static void decodeFloatFma(Decoder &d) {
  Rounding r = roundingOf(d);
  bool ftz = d.has("ftz"), sat = d.has("sat"), packed = d.type() == Type::F32x2;
  if (d.type() == Type::F64) {
    if (!refusesDoubleModifiers(d)) {
      decode3(d, doubleExec<DoubleFma>(r), 64);
    }
    return;
  }
  if (packed && sat) {
    d.error("expected packed arithmetic without '.sat', but got it");
    return;
  }
  ExecFn exec = r == Rounding::Zero   ? fmaExec<Rounding::Zero>(packed, ftz, sat)
                : r == Rounding::Down ? fmaExec<Rounding::Down>(packed, ftz, sat)
                : r == Rounding::Up   ? fmaExec<Rounding::Up>(packed, ftz, sat)
                                      : fmaExec<Rounding::Nearest>(packed, ftz, sat);
  if (ftz && r == Rounding::Nearest) {
    exec = packed ? execProductFtz<2 * warpLanes, true, false>
           : sat  ? execProductFtz<warpLanes, true, true>
                  : execProductFtz<warpLanes, true, false>;
  }
  decode3(d, exec, packed ? 64 : 32);
}

/// fma.f32.bf16 d, a, b, c: a and b widened exactly, one rounding (sm_100).
template <bool Bf, Rounding R, bool Sat>
static float mixedFma(uint16_t a, uint16_t b, float c) {
  return fmaFloat<R, false, Sat>(Bf ? bfloatToFloat(a) : halfToFloat(a),
                                 Bf ? bfloatToFloat(b) : halfToFloat(b), c);
}

static void decodeMixedFma(Decoder &d) {
  bool bf = d.type(1) == Type::BF16, sat = d.has("sat");
  if (d.type(0) != Type::F32 || roundingOf(d) != Rounding::Nearest) {
    d.error("expected a mixed fma to be .rn.f32, but got another form");
    return;
  }
  d.inst.exec =
      bf ? (sat ? exec3<float, uint16_t, uint16_t, float, mixedFma<true, Rounding::Nearest, true>>
                : exec3<float, uint16_t, uint16_t, float, mixedFma<true, Rounding::Nearest, false>>)
         : (sat ? exec3<float, uint16_t, uint16_t, float, mixedFma<false, Rounding::Nearest, true>>
                : exec3<float, uint16_t, uint16_t, float,
                        mixedFma<false, Rounding::Nearest, false>>);
  d.inst.a = d.src(1, 16);
  d.inst.b = d.src(2, 16);
  d.inst.c = d.src(3, 32);
  d.inst.d = d.dst(0, 32);
  d.emit();
}

static void decodeFma(Decoder &d) {
  if (d.types.size() == 2) {
    decodeMixedFma(d);
  } else if (isHalfType(d.type())) {
    decodeHalfFma(d);
  } else {
    decodeFloatFma(d);
  }
}

static void decodeMad(Decoder &d) {
  isFloatType(d.type()) ? decodeFloatFma(d) : decodeIntegerMad(d);
}

template <bool Max, bool Ftz, bool Nan>
static float minmax3(float a, float b, float c) {
  return minmaxFloat<Max, Ftz, Nan>(minmaxFloat<Max, Ftz, Nan>(a, b), c);
}

/// Compares magnitudes (or values) as usual; the sign is the xor of both signs.
template <bool Max, bool Ftz, bool Nan>
static float minmaxXorsign(float a, float b) {
  uint32_t sign = (bitCast<uint32_t>(a) ^ bitCast<uint32_t>(b)) & 0x80000000u;
  float r = minmaxFloat<Max, Ftz, Nan>(std::fabs(input<Ftz>(a)), std::fabs(input<Ftz>(b)));
  return r != r ? r : bitCast<float>((bitCast<uint32_t>(r) & 0x7fffffffu) | sign);
}

template <bool Max, bool Ftz, bool Nan>
static float minmaxAbs(float a, float b) {
  return minmaxFloat<Max, Ftz, Nan>(std::fabs(input<Ftz>(a)), std::fabs(input<Ftz>(b)));
}

template <bool Max, bool Ftz, bool Nan>
static ExecFn minmaxExec(Decoder &d) {
  if (d.operandCount() == 4) {
    return exec3<float, float, float, float, minmax3<Max, Ftz, Nan>>;
  }
  if (d.has("xorsign")) {
    return exec2<float, float, float, minmaxXorsign<Max, Ftz, Nan>>;
  }
  if (d.has("abs")) {
    return exec2<float, float, float, minmaxAbs<Max, Ftz, Nan>>;
  }
  return exec2<float, float, float, minmaxFloat<Max, Ftz, Nan>>;
}

template <bool Max>
static double minmaxDouble(double a, double b) {
  if (a != a || b != b) {
    return a != a ? (b != b ? quieted(b) : b) : a;
  }
  if (a == b) {
    return std::signbit(a) == Max ? b : a;
  }
  return (Max ? a > b : a < b) ? a : b;
}

template <bool Max>
static void decodeMinMax(Decoder &d) {
  if (d.operandCount() == 4 && d.type() != Type::F32) {
    d.error("expected three inputs only with type f32, but got another type");
    return;
  }
  if (isHalfType(d.type())) {
    decodeHalfBinary(d);
    return;
  }
  if (!isFloatType(d.type())) {
    decodeIntegerMinMax(d, Max);
    return;
  }
  if (d.type() == Type::F64) {
    decode2(d, exec2<double, double, double, minmaxDouble<Max>>, 64);
    return;
  }
  bool ftz = d.has("ftz"), nan = d.has("NaN");
  if (d.operandCount() == 4 && (d.has("abs") || d.has("xorsign"))) {
    d.error("expected three-input min and max without '.abs', but got it");
    return;
  }
  ExecFn exec = ftz ? (nan ? minmaxExec<Max, true, true>(d) : minmaxExec<Max, true, false>(d))
                    : (nan ? minmaxExec<Max, false, true>(d) : minmaxExec<Max, false, false>(d));
  d.operandCount() == 4 ? decode3(d, exec, 32) : decode2(d, exec, 32);
}

template <bool Abs, bool Ftz>
static float signFloat(float a) {
  a = input<Ftz>(a);
  uint32_t b = bitCast<uint32_t>(a);
  return canonical(bitCast<float>(Abs ? b & 0x7fffffffu : b ^ 0x80000000u));
}
template <bool Abs>
static double signDouble(double a) {
  return a != a ? quieted(a) : Abs ? std::fabs(a) : -a;
}

template <bool Abs>
static void decodeSign(Decoder &d) {
  if (isHalfType(d.type())) {
    decodeHalfUnary(d);
  } else if (d.type() == Type::F64) {
    decode1(d, exec1<double, double, signDouble<Abs>>, 64, 64);
  } else if (d.type() == Type::F32) {
    decode1(d,
            d.has("ftz") ? exec1<float, float, signFloat<Abs, true>>
                         : exec1<float, float, signFloat<Abs, false>>,
            32, 32);
  } else {
    decodeIntegerUnary(d, Abs);
  }
}

/// Sign of the first operand, magnitude of the second.
static uint32_t copySign32(uint32_t a, uint32_t b) { return (a & 0x80000000u) | (b & 0x7fffffffu); }
static uint64_t copySign64(uint64_t a, uint64_t b) {
  constexpr uint64_t sign = uint64_t(1) << 63;
  return (a & sign) | (b & ~sign);
}
static void decodeCopysign(Decoder &d) {
  d.type() == Type::F64 ? decode2(d, exec2<uint64_t, uint64_t, uint64_t, copySign64>, 64)
                        : decode2(d, exec2<uint32_t, uint32_t, uint32_t, copySign32>, 32);
}

static Step execTestp(Warp &w, const Inst &i, LaneMask m) {
  bool wide = i.aux & 16;
  LaneMask r = maskLanes([&](unsigned l) {
    int category =
        wide ? std::fpclassify(w.in<double>(i.a)[l]) : std::fpclassify(w.in<float>(i.a)[l]);
    switch (i.aux & 15) {
    case 0:
      return category != FP_NAN && category != FP_INFINITE;
    case 1:
      return category == FP_INFINITE;
    case 2:
      return category != FP_NAN;
    case 3:
      return category == FP_NAN;
    case 4:
      return category == FP_NORMAL || category == FP_ZERO; // as measured
    default:
      return category == FP_SUBNORMAL;
    }
  });
  w.setPred(i.q, m, r, wide ? w.poisonWide(i.a) : w.poisonIn(i.a));
  return Step::Next;
}

static void decodeTestp(Decoder &d) {
  static const char *const tests[] = {"finite",     "infinite", "number",
                                      "notanumber", "normal",   "subnormal"};
  bool wide = d.type() == Type::F64;
  d.inst.aux = ~0u;
  for (unsigned k = 0; k < 6; ++k) {
    d.inst.aux = d.has(tests[k]) ? k : d.inst.aux;
  }
  if (d.inst.aux == ~0u) {
    d.error("expected a test such as '.finite', but got none");
    return;
  }
  d.inst.aux |= wide ? 16 : 0;
  d.inst.exec = execTestp;
  d.inst.a = d.src(1, wide ? 64 : 32);
  d.inst.q = d.predDst(0);
  d.emit();
}

void fa4::sim::addFloatOpcodes(OpcodeTable &t) {
  t.add({
      {"add",
       "rn|rz|rm|rp ftz sat "
       ":u16|s16|u32|s32|u64|s64|u16x2|s16x2|f32|^f32x2|f64|f16|f16x2|bf16|bf16x2 ?:^f16|^bf16",
       3, 3, decodeAdd},
      {"sub",
       "rn|rz|rm|rp ftz sat :u16|s16|u32|s32|u64|s64|f32|^f32x2|f64|f16|f16x2|bf16|bf16x2 "
       "?:^f16|^bf16",
       3, 3, decodeSub},
      {"mul",
       "lo|hi|wide rn|rz|rm|rp ftz sat "
       ":u16|s16|u32|s32|u64|s64|f32|^f32x2|f64|f16|f16x2|bf16|bf16x2",
       3, 3, decodeMul},
      {"fma", "rn|rz|rm|rp ftz sat relu :f32|^f32x2|f64|f16|f16x2|bf16|bf16x2 ?:^f16|^bf16", 4, 4,
       decodeFma},
      {"mad", "lo|hi|wide rn|rz|rm|rp ftz sat :u16|s16|u32|s32|u64|s64|f32|f64", 4, 4, decodeMad},
      {"min",
       "ftz NaN xorsign abs relu "
       ":u16|s16|u32|s32|u64|s64|u16x2|s16x2|f32|f64|f16|f16x2|bf16|bf16x2",
       3, 4, decodeMinMax<false>},
      {"max",
       "ftz NaN xorsign abs relu "
       ":u16|s16|u32|s32|u64|s64|u16x2|s16x2|f32|f64|f16|f16x2|bf16|bf16x2",
       3, 4, decodeMinMax<true>},
      {"neg", "ftz :s16|s32|s64|f32|f64|f16|f16x2|bf16|bf16x2", 2, 2, decodeSign<false>},
      {"abs", "ftz :s16|s32|s64|f32|f64|f16|f16x2|bf16|bf16x2", 2, 2, decodeSign<true>},
      {"copysign", ":f32|f64", 3, 3, decodeCopysign},
      {"testp", "finite|infinite|number|notanumber|normal|subnormal :f32|f64", 2, 2, decodeTestp},
  });
}
