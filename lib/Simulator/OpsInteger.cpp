//===- OpsInteger.cpp - integer arithmetic ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All arithmetic is done in unsigned types, so that wrap-around is defined on
// the host as it is in PTX.
//
//===----------------------------------------------------------------------===//

#include "IntegerMath.h"
#include "Lanes.h"

#include <limits>

using namespace llvm;
using namespace fa4::sim;

namespace {
struct Min {
  template <typename T>
  static T apply(T a, T b) {
    return a < b ? a : b;
  }
};
struct Max {
  template <typename T>
  static T apply(T a, T b) {
    return a < b ? b : a;
  }
};
struct MinRelu {
  template <typename T>
  static T apply(T a, T b) {
    return Max::apply<T>(Min::apply(a, b), T(0));
  }
};
struct MaxRelu {
  template <typename T>
  static T apply(T a, T b) {
    return Max::apply<T>(Max::apply(a, b), T(0));
  }
};
struct AddSat {
  static int32_t apply(int32_t a, int32_t b) {
    int64_t s = int64_t(a) + b;
    return s > INT32_MAX ? INT32_MAX : s < INT32_MIN ? INT32_MIN : int32_t(s);
  }
};
struct SubSat {
  static int32_t apply(int32_t a, int32_t b) {
    int64_t s = int64_t(a) - b;
    return s > INT32_MAX ? INT32_MAX : s < INT32_MIN ? INT32_MIN : int32_t(s);
  }
};
} // namespace

template <typename T, typename Op>
static T applyOp(T a, T b) {
  return Op::apply(a, b);
}

template <typename T, typename Op>
static constexpr ExecFn binary() {
  return exec2<T, T, T, applyOp<T, Op>>;
}

template <typename Op>
static ExecFn pickBinary(Type t) {
  switch (t) {
  case Type::U16:
    return binary<uint16_t, Op>();
  case Type::S16:
    return binary<int16_t, Op>();
  case Type::U32:
    return binary<uint32_t, Op>();
  case Type::S32:
    return binary<int32_t, Op>();
  case Type::U64:
    return binary<uint64_t, Op>();
  case Type::S64:
    return binary<int64_t, Op>();
  default:
    return nullptr;
  }
}

/// Two 16-bit elements per 32-bit lane.
template <typename T, typename Op>
static uint32_t applyPacked(uint32_t a, uint32_t b) {
  return uint32_t(uint16_t(Op::apply(T(a), T(b)))) |
         uint32_t(uint16_t(Op::apply(T(a >> 16), T(b >> 16)))) << 16;
}
template <typename T, typename Op>
static constexpr ExecFn packed() {
  return exec2<uint32_t, uint32_t, uint32_t, applyPacked<T, Op>>;
}

template <typename Op>
static void decodeBinary(Decoder &d) {
  ExecFn exec = d.type() == Type::U16x2   ? packed<uint16_t, Op>()
                : d.type() == Type::S16x2 ? packed<int16_t, Op>()
                                          : pickBinary<Op>(d.type());
  decode2(d, exec, bitWidth(d.type()));
}

/// `Op`, or its saturating form where `.sat` asks for it.
template <typename Op, typename Saturating>
static void decodeSaturable(Decoder &d) {
  if (!d.has("sat")) {
    decodeBinary<Op>(d);
    return;
  }
  if (d.type() != Type::S32) {
    d.error("expected '.sat' with type s32, but got another type");
    return;
  }
  decode2(d, exec2<int32_t, int32_t, int32_t, Saturating::apply>, 32);
}

void fa4::sim::decodeIntegerAdd(Decoder &d) { decodeSaturable<Add, AddSat>(d); }
void fa4::sim::decodeIntegerSub(Decoder &d) { decodeSaturable<Sub, SubSat>(d); }
void fa4::sim::decodeIntegerMinMax(Decoder &d, bool isMax) {
  if (d.has("relu")) {
    isMax ? decodeBinary<MaxRelu>(d) : decodeBinary<MinRelu>(d);
  } else {
    isMax ? decodeBinary<Max>(d) : decodeBinary<Min>(d);
  }
}

template <typename D, typename S>
static D mulWide(S a, S b) {
  return D(Unsigned<D>(D(a)) * Unsigned<D>(D(b)));
}

template <typename D, typename S>
static D madWide(S a, S b, D c) {
  return D(Unsigned<D>(mulWide<D, S>(a, b)) + Unsigned<D>(c));
}

static void decodeMulWide(Decoder &d) {
  unsigned bits = bitWidth(d.type());
  ExecFn exec = nullptr;
  switch (d.type()) {
  case Type::U16:
    exec = exec2<uint32_t, uint16_t, uint16_t, mulWide<uint32_t, uint16_t>>;
    break;
  case Type::S16:
    exec = exec2<int32_t, int16_t, int16_t, mulWide<int32_t, int16_t>>;
    break;
  case Type::U32:
    exec = exec2<uint64_t, uint32_t, uint32_t, mulWide<uint64_t, uint32_t>>;
    break;
  case Type::S32:
    exec = exec2<int64_t, int32_t, int32_t, mulWide<int64_t, int32_t>>;
    break;
  default:
    d.error("expected a 16- or 32-bit type for '.wide', but got a wider one");
    return;
  }
  d.inst.exec = exec;
  d.inst.a = d.src(1, bits);
  d.inst.b = d.src(2, bits);
  d.inst.d = d.dst(0, bits * 2);
  d.emit();
}

static void decodeMadWide(Decoder &d) {
  unsigned bits = bitWidth(d.type());
  ExecFn exec = nullptr;
  switch (d.type()) {
  case Type::U16:
    exec = exec3<uint32_t, uint16_t, uint16_t, uint32_t, madWide<uint32_t, uint16_t>>;
    break;
  case Type::S16:
    exec = exec3<int32_t, int16_t, int16_t, int32_t, madWide<int32_t, int16_t>>;
    break;
  case Type::U32:
    exec = exec3<uint64_t, uint32_t, uint32_t, uint64_t, madWide<uint64_t, uint32_t>>;
    break;
  case Type::S32:
    exec = exec3<int64_t, int32_t, int32_t, int64_t, madWide<int64_t, int32_t>>;
    break;
  default:
    d.error("expected a 16- or 32-bit type for '.wide', but got a wider one");
    return;
  }
  d.inst.exec = exec;
  d.inst.a = d.src(1, bits);
  d.inst.b = d.src(2, bits);
  d.inst.c = d.src(3, bits * 2);
  d.inst.d = d.dst(0, bits * 2);
  d.emit();
}

void fa4::sim::decodeIntegerMul(Decoder &d) {
  if (d.has("wide")) {
    decodeMulWide(d);
  } else if (d.has("hi")) {
    decodeBinary<MulHi>(d);
  } else if (d.has("lo")) {
    decodeBinary<MulLo>(d);
  } else {
    d.error("expected '.lo', '.hi' or '.wide' with an integer type, but got none");
  }
}

template <typename T>
static T madLo(T a, T b, T c) {
  return Add::apply<T>(MulLo::apply<T>(a, b), c);
}
template <typename T>
static T madHi(T a, T b, T c) {
  return Add::apply<T>(MulHi::apply<T>(a, b), c);
}

static int32_t madHiSat(int32_t a, int32_t b, int32_t c) {
  return AddSat::apply(MulHi::apply<int32_t>(a, b), c);
}

template <typename T>
static ExecFn madOf(bool hi) {
  return hi ? ExecFn(exec3<T, T, T, T, madHi<T>>) : ExecFn(exec3<T, T, T, T, madLo<T>>);
}

void fa4::sim::decodeIntegerMad(Decoder &d) {
  if (d.has("wide")) {
    decodeMadWide(d);
    return;
  }
  bool hi = d.has("hi");
  if (!hi && !d.has("lo")) {
    d.error("expected '.lo', '.hi' or '.wide' with an integer type, but got none");
    return;
  }
  if (d.has("sat")) {
    if (!hi || d.type() != Type::S32) {
      d.error("expected '.sat' only with mad.hi.s32, but got another form");
      return;
    }
    decode3(d, exec3<int32_t, int32_t, int32_t, int32_t, madHiSat>, 32);
    return;
  }
  ExecFn exec = nullptr;
  switch (d.type()) {
  case Type::U16:
    exec = madOf<uint16_t>(hi);
    break;
  case Type::S16:
    exec = madOf<int16_t>(hi);
    break;
  case Type::U32:
    exec = madOf<uint32_t>(hi);
    break;
  case Type::S32:
    exec = madOf<int32_t>(hi);
    break;
  case Type::U64:
    exec = madOf<uint64_t>(hi);
    break;
  default:
    exec = madOf<int64_t>(hi);
    break;
  }
  decode3(d, exec, bitWidth(d.type()));
}

//===----------------------------------------------------------------------===//
// Division, negation, 24-bit, sums of differences, dot products
//===----------------------------------------------------------------------===//

template <typename T, bool Remainder>
static Step execDivide(Warp &w, const Inst &i, LaneMask m) {
  const Stored<T> *a = w.in<Stored<T>>(i.a), *b = w.in<Stored<T>>(i.b);
  LaneMask zero = m & ~poisonOf<T>(w, i.b) & maskLanes([=](unsigned l) { return T(b[l]) == 0; });
  if (zero) {
    return w.fault(FaultId::IntDiv0, i, zero, "expected a divisor other than 0, but got 0");
  }
  forLanes(w.out<Stored<T>>(i.d), m, [=](unsigned l) {
    T x = T(a[l]), y = T(b[l]);
    if (y == 0) { // a poisoned lane
      return Stored<T>(0);
    }
    if (std::is_signed_v<T> && x == std::numeric_limits<T>::min() && y == T(-1)) {
      return LaneStorage<T>::put(Remainder ? T(0) : x);
    }
    return LaneStorage<T>::put(T(Remainder ? x % y : x / y));
  });
  setPoisonOf<T>(w, i.d, m, poisonOf<T>(w, i.a) | poisonOf<T>(w, i.b));
  return Step::Next;
}

template <bool Remainder>
static void decodeDivide(Decoder &d) {
  ExecFn exec = nullptr;
  switch (d.type()) {
  case Type::U16:
    exec = execDivide<uint16_t, Remainder>;
    break;
  case Type::S16:
    exec = execDivide<int16_t, Remainder>;
    break;
  case Type::U32:
    exec = execDivide<uint32_t, Remainder>;
    break;
  case Type::S32:
    exec = execDivide<int32_t, Remainder>;
    break;
  case Type::U64:
    exec = execDivide<uint64_t, Remainder>;
    break;
  default:
    exec = execDivide<int64_t, Remainder>;
    break;
  }
  decode2(d, exec, bitWidth(d.type()));
}

void fa4::sim::decodeIntegerDiv(Decoder &d) { decodeDivide<false>(d); }

template <typename T>
static T negate(T a) {
  return T(Wide<T>(0) - Wide<T>(a));
}
template <typename T>
static T absolute(T a) {
  return a < 0 ? negate(a) : a;
}

template <typename T>
static void decodeUnaryOf(Decoder &d, bool isAbs) {
  ExecFn exec = isAbs ? ExecFn(exec1<T, T, absolute<T>>) : ExecFn(exec1<T, T, negate<T>>);
  decode1(d, exec, sizeof(T) * 8, sizeof(T) * 8);
}

void fa4::sim::decodeIntegerUnary(Decoder &d, bool isAbs) {
  switch (bitWidth(d.type())) {
  case 16:
    decodeUnaryOf<int16_t>(d, isAbs);
    break;
  case 32:
    decodeUnaryOf<int32_t>(d, isAbs);
    break;
  default:
    decodeUnaryOf<int64_t>(d, isAbs);
    break;
  }
}

/// Low 24 bits of each operand; .hi takes bits 47..16 of the 48-bit product.
template <typename T, bool Hi>
static T mul24(T a, T b) {
  int64_t x =
      std::is_signed_v<T> ? int64_t(int32_t(uint32_t(a) << 8) >> 8) : uint32_t(a) & 0xffffff;
  int64_t y =
      std::is_signed_v<T> ? int64_t(int32_t(uint32_t(b) << 8) >> 8) : uint32_t(b) & 0xffffff;
  return T(Hi ? (x * y) >> 16 : x * y);
}
template <typename T, bool Hi>
static T mad24(T a, T b, T c) {
  return Add::apply<T>(mul24<T, Hi>(a, b), c);
}
static int32_t mad24HiSat(int32_t a, int32_t b, int32_t c) {
  return AddSat::apply(mul24<int32_t, true>(a, b), c);
}

static void decodeMul24(Decoder &d) {
  bool hi = d.has("hi"), isSigned = isSignedType(d.type());
  ExecFn exec = isSigned ? (hi ? exec2<int32_t, int32_t, int32_t, mul24<int32_t, true>>
                               : exec2<int32_t, int32_t, int32_t, mul24<int32_t, false>>)
                         : (hi ? exec2<uint32_t, uint32_t, uint32_t, mul24<uint32_t, true>>
                               : exec2<uint32_t, uint32_t, uint32_t, mul24<uint32_t, false>>);
  decode2(d, exec, 32);
}

static void decodeMad24(Decoder &d) {
  bool hi = d.has("hi"), isSigned = isSignedType(d.type());
  if (d.has("sat")) {
    if (!hi || !isSigned) {
      d.error("expected '.sat' only with mad24.hi.s32, but got another form");
      return;
    }
    decode3(d, exec3<int32_t, int32_t, int32_t, int32_t, mad24HiSat>, 32);
    return;
  }
  ExecFn exec = isSigned
                    ? (hi ? exec3<int32_t, int32_t, int32_t, int32_t, mad24<int32_t, true>>
                          : exec3<int32_t, int32_t, int32_t, int32_t, mad24<int32_t, false>>)
                    : (hi ? exec3<uint32_t, uint32_t, uint32_t, uint32_t, mad24<uint32_t, true>>
                          : exec3<uint32_t, uint32_t, uint32_t, uint32_t, mad24<uint32_t, false>>);
  decode3(d, exec, 32);
}

template <typename T>
static T sumOfDifference(T a, T b, T c) {
  Wide<T> difference = a < b ? Wide<T>(b) - Wide<T>(a) : Wide<T>(a) - Wide<T>(b);
  return T(Wide<T>(c) + difference);
}

static void decodeSad(Decoder &d) {
  ExecFn exec = nullptr;
  switch (d.type()) {
  case Type::U16:
    exec = exec3<uint16_t, uint16_t, uint16_t, uint16_t, sumOfDifference>;
    break;
  case Type::S16:
    exec = exec3<int16_t, int16_t, int16_t, int16_t, sumOfDifference>;
    break;
  case Type::U32:
    exec = exec3<uint32_t, uint32_t, uint32_t, uint32_t, sumOfDifference>;
    break;
  case Type::S32:
    exec = exec3<int32_t, int32_t, int32_t, int32_t, sumOfDifference>;
    break;
  case Type::U64:
    exec = exec3<uint64_t, uint64_t, uint64_t, uint64_t, sumOfDifference>;
    break;
  default:
    exec = exec3<int64_t, int64_t, int64_t, int64_t, sumOfDifference>;
    break;
  }
  decode3(d, exec, bitWidth(d.type()));
}

template <bool SignedA, bool SignedB>
static uint32_t dp4a(uint32_t a, uint32_t b, uint32_t c) {
  for (unsigned k = 0; k < 4; ++k) {
    uint32_t x = a >> (8 * k) & 0xff, y = b >> (8 * k) & 0xff;
    c +=
        (SignedA ? uint32_t(int32_t(int8_t(x))) : x) * (SignedB ? uint32_t(int32_t(int8_t(y))) : y);
  }
  return c;
}

template <bool SignedA, bool SignedB, bool Hi>
static uint32_t dp2a(uint32_t a, uint32_t b, uint32_t c) {
  for (unsigned k = 0; k < 2; ++k) {
    uint32_t x = a >> (16 * k) & 0xffff, y = b >> (8 * k + (Hi ? 16 : 0)) & 0xff;
    c += (SignedA ? uint32_t(int32_t(int16_t(x))) : x) *
         (SignedB ? uint32_t(int32_t(int8_t(y))) : y);
  }
  return c;
}

template <uint32_t (*Fn)(uint32_t, uint32_t, uint32_t)>
static constexpr ExecFn ternary() {
  return exec3<uint32_t, uint32_t, uint32_t, uint32_t, Fn>;
}

static void decodeDp4a(Decoder &d) {
  bool a = isSignedType(d.type(0)), b = isSignedType(d.type(1));
  decode3(d,
          a ? (b ? ternary<dp4a<true, true>>() : ternary<dp4a<true, false>>())
            : (b ? ternary<dp4a<false, true>>() : ternary<dp4a<false, false>>()),
          32);
}

template <bool Hi>
static ExecFn pickDp2a(bool a, bool b) {
  return a ? (b ? ternary<dp2a<true, true, Hi>>() : ternary<dp2a<true, false, Hi>>())
           : (b ? ternary<dp2a<false, true, Hi>>() : ternary<dp2a<false, false, Hi>>());
}

static void decodeDp2a(Decoder &d) {
  bool a = isSignedType(d.type(0)), b = isSignedType(d.type(1));
  decode3(d, d.has("hi") ? pickDp2a<true>(a, b) : pickDp2a<false>(a, b), 32);
}

void fa4::sim::addIntegerOpcodes(OpcodeTable &t) {
  // add, sub, mul, mad, min, max, neg, abs, div serve floats too: OpsFloat.cpp.
  t.add({
      {"rem", ":u16|s16|u32|s32|u64|s64", 3, 3, decodeDivide<true>},
      {"mul24", "lo|hi :u32|s32", 3, 3, decodeMul24},
      {"mad24", "lo|hi sat :u32|s32", 4, 4, decodeMad24},
      {"sad", ":u16|s16|u32|s32|u64|s64", 4, 4, decodeSad},
      {"dp4a", ":u32|s32 :u32|s32", 4, 4, decodeDp4a},
      {"dp2a", "lo|hi :u32|s32 :u32|s32", 4, 4, decodeDp2a},
  });
}
