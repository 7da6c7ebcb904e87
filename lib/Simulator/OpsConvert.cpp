//===- OpsConvert.cpp - cvt and cvt.pack ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversions between two scalars go through one exact intermediate (a 128-bit
// integer or an f64), rounded once. Packed conversions and the two that attention
// kernels are full of, f32 pairs to bf16x2 and f16x2, have executors of their own.
//
//===----------------------------------------------------------------------===//

#include "FloatMath.h"
#include "FunctionDecoder.h"
#include "Lanes.h"
#include "SmallFloat.h"

using namespace llvm;
using namespace fa4::sim;

namespace {
struct ConvertExtra : Extra {
  Type to = Type::None, from = Type::None;
  Rounding rounding = Rounding::Nearest;
  bool toInteger = false; ///< .rni and friends: round to an integral value
  bool ftz = false, sat = false, satfinite = false, relu = false, away = false;
  unsigned srcBits = 32, dstBits = 32; ///< of the registers
};
} // namespace

static double widen(Type t, uint64_t bits) {
  switch (t) {
  case Type::F16:
    return halfToFloat(uint16_t(bits));
  case Type::BF16:
    return bfloatToFloat(uint16_t(bits));
  case Type::F32:
    return bitCast<float>(uint32_t(bits));
  default:
    return bitCast<double>(bits);
  }
}

static __int128 asInteger(Type t, uint64_t bits) {
  switch (t) {
  case Type::U8:
    return uint8_t(bits);
  case Type::S8:
    return int8_t(bits);
  case Type::U16:
    return uint16_t(bits);
  case Type::S16:
    return int16_t(bits);
  case Type::U32:
    return uint32_t(bits);
  case Type::S32:
    return int32_t(bits);
  case Type::U64:
    return bits;
  default:
    return int64_t(bits);
  }
}

static __int128 lowest(Type t) {
  return isSignedType(t) ? -(__int128(1) << (bitWidth(t) - 1)) : __int128(0);
}
static __int128 highest(Type t) {
  return (__int128(1) << (bitWidth(t) - (isSignedType(t) ? 1 : 0))) - 1;
}

static double roundIntegral(double v, Rounding r) {
  switch (r) {
  case Rounding::Zero:
    return std::trunc(v);
  case Rounding::Down:
    return std::floor(v);
  case Rounding::Up:
    return std::ceil(v);
  case Rounding::Nearest:
    break;
  }
  return std::nearbyint(v);
}

static uint64_t floatToInteger(const ConvertExtra &x, double v) {
  if (v != v) {
    // Measured for 32-bit: 0. The manual: 0x8000… for f64 or 64-bit results.
    bool wide = x.from == Type::F64 || bitWidth(x.to) == 64;
    return wide ? uint64_t(1) << (bitWidth(x.to) - 1) : 0;
  }
  v = roundIntegral(v, x.rounding);
  double lo = double(lowest(x.to)), hi = std::ldexp(1.0, int(bitWidth(x.to)) - isSignedType(x.to));
  if (v <= lo) {
    return uint64_t(lowest(x.to));
  }
  return v >= hi ? uint64_t(highest(x.to)) : uint64_t(__int128(v));
}

/// An integer as f64 rounded to odd, so that a second rounding is exact.
static double integerToOdd(__int128 v) {
  double r = double(int64_t(v >> 64)) * 0x1p64;
  if (v >= INT64_MIN && v <= INT64_MAX) {
    int64_t n = int64_t(v);
    r = double(n);
    __int128 back = __int128(r);
    return back == v ? r : roundToOdd(r, back < v ? 1.0 : -1.0);
  }
  r = double(uint64_t(v));
  __int128 back = __int128(r);
  return back == v ? r : roundToOdd(r, back < v ? 1.0 : -1.0);
}

static float narrowFloat(double v, Rounding r) {
  switch (r) {
  case Rounding::Zero:
    return roundToFloat<Rounding::Zero>(v);
  case Rounding::Down:
    return roundToFloat<Rounding::Down>(v);
  case Rounding::Up:
    return roundToFloat<Rounding::Up>(v);
  case Rounding::Nearest:
    break;
  }
  return float(v);
}

static double narrowDouble(__int128 exact, Rounding r) {
  // Only 64-bit integers are wider than f64.
  double n = double(int64_t(exact));
  if (exact > INT64_MAX) {
    n = double(uint64_t(exact));
  }
  __int128 back = __int128(n);
  if (back == exact || r == Rounding::Nearest) {
    return n;
  }
  bool above = back > exact;
  bool wantAbove = r == Rounding::Up || (r == Rounding::Zero && exact < 0);
  if (above == wantAbove) {
    return n;
  }
  return std::nextafter(n, above ? -HUGE_VAL : HUGE_VAL);
}

static uint64_t toFloatBits(const ConvertExtra &x, double v) {
  if (x.relu && v < 0.0) {
    v = 0.0;
  }
  if (x.relu && v == 0.0) {
    v = 0.0; // -0 becomes +0
  }
  switch (x.to) {
  case Type::F16: {
    uint16_t h = doubleToHalf(v, x.rounding, x.satfinite);
    if (x.sat) {
      h = (h & 0x7fff) > 0x7c00 || (h & 0x8000) ? 0 : h > 0x3c00 ? 0x3c00 : h;
    }
    return h;
  }
  case Type::BF16:
    return doubleToBfloat(v, x.rounding, x.satfinite);
  case Type::F32: {
    float f = canonical(narrowFloat(v, x.rounding));
    f = x.ftz ? flushToZero(f) : f;
    if (x.sat) {
      f = finish<false, true>(f);
    }
    return bitCast<uint32_t>(f);
  }
  default:
    if (x.sat) {
      v = v > 0.0 ? std::min(v, 1.0) : 0.0;
    }
    return bitCast<uint64_t>(v);
  }
}

/// A NaN of a narrower float as f64: payload kept, quieted.
static uint64_t quietWide(Type from, uint64_t bits) {
  constexpr uint64_t quiet = uint64_t(0x7ff8) << 48;
  switch (from) {
  case Type::F16:
    return (bits & 0x8000) << 48 | quiet | (bits & 0x3ff) << 42;
  case Type::BF16:
    return (bits & 0x8000) << 48 | quiet | (bits & 0x7f) << 45;
  case Type::F32:
    return (bits & 0x80000000) << 32 | quiet | (bits & 0x7fffff) << 29;
  default:
    return bits | quiet;
  }
}

static uint64_t convert(const ConvertExtra &x, uint64_t bits) {
  bool fromFloat = isFloatType(x.from), toFloat = isFloatType(x.to);
  if (fromFloat) {
    double v = widen(x.from, bits);
    if (v != v && x.to == Type::F64) {
      if (x.ftz) { // measured: the flushing form loses sign and payload
        return quietWide(x.from, 0x7fffffff);
      }
      return quietWide(x.from, bits);
    }
    if (v != v && x.to == Type::F32 && x.from == Type::F64) {
      return 0x7fc00000; // measured: not the canonical one here
    }
    // Measured: .ftz has no effect on the way to f16.
    if (x.ftz && x.from == Type::F32 && x.to != Type::F16) {
      v = flushToZero(float(v));
    }
    if (!toFloat) {
      return floatToInteger(x, v);
    }
    if (x.toInteger) {
      v = v == v ? std::copysign(roundIntegral(v, x.rounding), v) : v;
    }
    return toFloatBits(x, v);
  }
  __int128 n = asInteger(x.from, bits);
  if (!toFloat) {
    if (x.sat) {
      n = std::min(std::max(n, lowest(x.to)), highest(x.to));
    }
    return uint64_t(n);
  }
  if (x.to == Type::F64) {
    return bitCast<uint64_t>(narrowDouble(n, x.rounding));
  }
  return toFloatBits(x, integerToOdd(n));
}

static Step execConvert(Warp &w, const Inst &i, LaneMask m) {
  const auto &x = *static_cast<const ConvertExtra *>(i.extra);
  unsigned width = bitWidth(x.to);
  uint64_t keep = width == 64 ? ~uint64_t(0) : (uint64_t(1) << width) - 1;
  for (unsigned l = 0; l < warpLanes; ++l) {
    if (!(m >> l & 1)) {
      continue;
    }
    uint64_t s = x.srcBits == 64 ? w.in<uint64_t>(i.a)[l] : w.in<uint32_t>(i.a)[l];
    uint64_t r = convert(x, s) & keep;
    // A destination register that is wider than the type is extended.
    if (isSignedType(x.to) && width < x.dstBits && (r >> (width - 1) & 1)) {
      r |= ~keep;
    }
    if (x.dstBits == 64) {
      w.out<uint64_t>(i.d)[l] = r;
    } else {
      w.out<uint32_t>(i.d)[l] = uint32_t(x.dstBits == 16 ? r & 0xffff : r);
    }
  }
  LaneMask p = x.srcBits == 64 && bitWidth(x.from) == 64 ? w.poisonWide(i.a) : w.poisonIn(i.a);
  w.setPoison(i.d, m, p);
  if (x.dstBits == 64) {
    w.setPoison(i.d + slotBytes, m, p);
  }
  return Step::Next;
}

static uint64_t zext(uint32_t v) { return v; }
static uint64_t sext(int32_t v) { return uint64_t(int64_t(v)); }

static Step execTruncate(Warp &w, const Inst &i, LaneMask m) {
  const uint64_t *a = w.in<uint64_t>(i.a);
  forLanes(w.out<uint32_t>(i.d), m, [=](unsigned l) { return uint32_t(a[l]); });
  w.setPoison(i.d, m, w.poisonIn(i.a));
  return Step::Next;
}

static uint32_t s32ToFloat(int32_t v) { return bitCast<uint32_t>(float(v)); }
static uint32_t u32ToFloat(uint32_t v) { return bitCast<uint32_t>(float(v)); }
static uint16_t bfloatOf(float v) { return floatToBfloat(v); }
static uint16_t halfOf(float v) { return floatToHalf(v); }
static uint32_t floatOfBfloat(uint16_t v) { return uint32_t(v) << 16; }
static float floatOfHalf(uint16_t v) { return canonical(halfToFloat(v)); }

/// Common scalar conversions without modifiers that change the result.
static ExecFn fastConvert(const ConvertExtra &x, const Decoder &d) {
  if (x.sat || x.satfinite || x.relu || x.toInteger || x.ftz || x.rounding != Rounding::Nearest) {
    return nullptr;
  }
  auto is = [&](Type to, Type from) { return x.to == to && x.from == from; };
  if (x.srcBits == 32 && x.dstBits == 64) {
    if (is(Type::U64, Type::U32) || is(Type::S64, Type::U32)) {
      return exec1<uint64_t, uint32_t, zext>;
    }
    if (is(Type::S64, Type::S32) || is(Type::U64, Type::S32)) {
      return exec1<uint64_t, int32_t, sext>;
    }
  }
  if (x.srcBits == 64 && x.dstBits == 32 && !isFloatType(x.to) && !isFloatType(x.from) &&
      bitWidth(x.to) == 32) {
    return execTruncate;
  }
  if (x.srcBits == 32 && x.dstBits == 32 && d.has("rn")) {
    if (is(Type::F32, Type::S32)) {
      return exec1<uint32_t, int32_t, s32ToFloat>;
    }
    if (is(Type::F32, Type::U32)) {
      return exec1<uint32_t, uint32_t, u32ToFloat>;
    }
  }
  if (is(Type::BF16, Type::F32)) {
    return exec1<uint16_t, float, bfloatOf>;
  }
  if (is(Type::F16, Type::F32)) {
    return exec1<uint16_t, float, halfOf>;
  }
  if (x.dstBits == 32 && is(Type::F32, Type::BF16)) {
    return exec1<uint32_t, uint16_t, floatOfBfloat>;
  }
  if (x.dstBits == 32 && is(Type::F32, Type::F16)) {
    return exec1<float, uint16_t, floatOfHalf>;
  }
  return nullptr;
}

static void readModifiers(const Decoder &d, ConvertExtra &x) {
  x.toInteger = d.has("rni") || d.has("rzi") || d.has("rmi") || d.has("rpi");
  x.rounding = d.has("rz") || d.has("rzi")   ? Rounding::Zero
               : d.has("rm") || d.has("rmi") ? Rounding::Down
               : d.has("rp") || d.has("rpi") ? Rounding::Up
                                             : Rounding::Nearest;
  x.ftz = d.has("ftz");
  x.sat = d.has("sat");
  x.satfinite = d.has("satfinite");
  x.relu = d.has("relu");
  x.away = d.has("rna");
}

static void decodeScalar(Decoder &d) {
  auto *x = d.extra<ConvertExtra>();
  readModifiers(d, *x);
  x->to = d.type(0);
  x->from = d.type(1);
  bool floats = isFloatType(x->to) && isFloatType(x->from);
  if (isFloatType(x->from) && !isFloatType(x->to) && !x->toInteger) {
    d.error("expected '.rni', '.rzi', '.rmi' or '.rpi' from float to integer, but got none");
    return;
  }
  if (!floats && (x->relu || x->satfinite || x->away)) {
    d.error("expected '.relu' and '.satfinite' only between floats, but got integers");
    return;
  }
  d.inst.a = d.srcAny(d.operand(1), bitWidth(x->from), x->srcBits);
  d.inst.d = d.dstAny(d.operand(0), bitWidth(x->to), x->dstBits);
  ExecFn fast = fastConvert(*x, d);
  d.inst.exec = fast ? fast : execConvert;
  d.emit();
}

/// tf32: ten mantissa bits, the rest of the register zero. rna rounds ties away.
static Step execTf32(Warp &w, const Inst &i, LaneMask m) {
  const uint32_t *a = w.in<uint32_t>(i.a);
  uint32_t flags = i.aux; // 1 rz, 2 rn, else rna; 4 relu; 8 satfinite
  forLanes(w.out<uint32_t>(i.d), m, [=](unsigned l) {
    uint32_t b = a[l];
    if ((b & 0x7fffffffu) > 0x7f800000u) {
      // Measured: rna only truncates NaNs.
      return ((flags & 3) ? canonicalNan : b) & 0xffffe000u;
    }
    if ((flags & 4) && (b >> 31)) {
      return 0u;
    }
    if ((b & 0x7f800000u) != 0x7f800000u) {
      b += (flags & 1) ? 0 : (flags & 2) ? 0xfff + (b >> 13 & 1) : 0x1000;
    }
    if ((flags & 8) && (b & 0x7fffffffu) >= 0x7f800000u) {
      b = (b & 0x80000000u) | 0x7f7fe000u;
    }
    return b & 0xffffe000u;
  });
  w.setPoison(i.d, m, w.poisonIn(i.a));
  return Step::Next;
}

static void decodeTf32(Decoder &d) {
  d.inst.aux = (d.has("rz") ? 1 : 0) | (d.has("rn") ? 2 : 0) | (d.has("relu") ? 4 : 0) |
               (d.has("satfinite") ? 8 : 0);
  decode1(d, execTf32, 32, 32);
}

static void decodeCvt(Decoder &d) {
  if (d.type(0) == Type::TF32) {
    decodeTf32(d);
  } else if (isPackedConversion(d.type(0), d.type(1))) {
    decodePackedConvert(d);
  } else if (bitWidth(d.type(1)) == 0 || d.operandCount() != 2) {
    d.error("expected two scalar types and two operands, but got another form");
  } else {
    decodeScalar(d);
  }
}

/// cvt.pack.sat: two saturated integers into one register, c above them.
static Step execCvtPack(Warp &w, const Inst &i, LaneMask m) {
  Type to = Type(i.aux & 0xff), from = Type(i.aux >> 8 & 0xff);
  unsigned bits = bitWidth(to);
  uint32_t keep = (1u << bits) - 1;
  const uint32_t *a = w.in<uint32_t>(i.a), *b = w.in<uint32_t>(i.b), *c = w.in<uint32_t>(i.c);
  forLanes(w.out<uint32_t>(i.d), m, [&](unsigned l) {
    auto one = [&](uint32_t v) {
      __int128 n = std::min(std::max(asInteger(from, v), lowest(to)), highest(to));
      return uint32_t(n) & keep;
    };
    uint32_t upper = bits == 16 ? 0 : c[l] << 16;
    return upper | one(a[l]) << bits | one(b[l]);
  });
  w.setPoison(i.d, m, w.poisonIn(i.a) | w.poisonIn(i.b) | w.poisonIn(i.c));
  return Step::Next;
}

static void decodeCvtPack(Decoder &d) {
  Type to = d.type(0), from = d.type(1);
  bool narrow = bitWidth(to) == 8;
  if (narrow != (d.operandCount() == 4)) {
    d.error("expected a third source exactly for 8-bit elements, but got otherwise");
    return;
  }
  d.inst.aux = unsigned(to) | unsigned(from) << 8;
  if (narrow) {
    d.inst.c = d.src(3, 32);
  } else {
    d.inst.c = d.function->constant(0, 0, 32);
  }
  decode2(d, execCvtPack, 32);
}

void fa4::sim::addConvertOpcodes(OpcodeTable &t) {
  const char *all =
      "rn|rz|rm|rp|rni|rzi|rmi|rpi|rna|^rs ftz sat satfinite relu "
      ":u8|u16|u32|u64|s8|s16|s32|s64|f16|bf16|f32|f64|tf32|f16x2|bf16x2|e4m3x2|e5m2x2|^e2m1x2|"
      "^e2m3x2|^e3m2x2|^ue8m0x2 "
      ":u8|u16|u32|u64|s8|s16|s32|s64|f16|bf16|f32|f64|f16x2|^bf16x2|e4m3x2|e5m2x2|^e2m1x2|^e2m3x2|"
      "^e3m2x2|^ue8m0x2";
  t.add({
      {"cvt", all, 2, 4, decodeCvt},
      {"cvt.pack", "sat :u8|s8|u16|s16 :s32 ?:b32", 3, 4, decodeCvtPack},
  });
}
