//===- OpsCompare.cpp - setp and set ----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A comparison is a mask of lanes; combining with another predicate and writing
// it as a predicate or as a number are separate steps.
//
//===----------------------------------------------------------------------===//

#include "FloatMath.h"
#include "Lanes.h"

#include "llvm/ADT/StringSwitch.h"

using namespace llvm;
using namespace fa4::sim;

namespace {
enum class Cmp : uint8_t {
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  Equ,
  Neu,
  Ltu,
  Leu,
  Gtu,
  Geu,
  Num,
  Nan,
  Invalid
};
enum class Combine : uint8_t { None, And, Or, Xor };

struct CompareExtra : Extra {
  LaneMask (*compare)(Warp &, Reg, Reg, bool) = nullptr;
  LaneMask (*compareHigh)(Warp &, Reg, Reg, bool) = nullptr;
  Combine combine = Combine::None;
  bool negateC = false, ftz = false, wide = false;
  Pred second = predSink;
  bool asFloat = false; ///< set: 1.0f instead of ~0
  bool half = false;    ///< set: a 16-bit destination
};
} // namespace

template <typename T, Cmp C>
static bool holds(T a, T b) {
  constexpr bool isFloat = std::is_floating_point_v<T>;
  bool nan = isFloat && (a != a || b != b);
  switch (C) {
  case Cmp::Eq:
    return a == b;
  case Cmp::Ne:
    return !nan && a != b;
  case Cmp::Lt:
    return a < b;
  case Cmp::Le:
    return a <= b;
  case Cmp::Gt:
    return a > b;
  case Cmp::Ge:
    return a >= b;
  case Cmp::Equ:
    return nan || a == b;
  case Cmp::Neu:
    return a != b;
  case Cmp::Ltu:
    return nan || a < b;
  case Cmp::Leu:
    return nan || a <= b;
  case Cmp::Gtu:
    return nan || a > b;
  case Cmp::Geu:
    return nan || a >= b;
  case Cmp::Num:
    return !nan;
  case Cmp::Nan:
    return nan;
  case Cmp::Invalid:
    break;
  }
  return false;
}

template <typename T, Cmp C>
static LaneMask compareLanes(Warp &w, Reg ra, Reg rb, bool ftz) {
  const Stored<T> *a = w.in<Stored<T>>(ra), *b = w.in<Stored<T>>(rb);
  return maskLanes([=](unsigned l) {
    T x = LaneStorage<T>::get(a, l), y = LaneStorage<T>::get(b, l);
    if constexpr (std::is_same_v<T, float>) {
      x = ftz ? flushToZero(x) : x;
      y = ftz ? flushToZero(y) : y;
    }
    return holds<T, C>(x, y);
  });
}

/// 16-bit floats compare as the f32 values they widen to.
template <bool Bf, Cmp C, unsigned Shift = 0>
static LaneMask compareHalf(Warp &w, Reg ra, Reg rb, bool ftz) {
  const uint32_t *a = w.in<uint32_t>(ra), *b = w.in<uint32_t>(rb);
  return maskLanes([=](unsigned l) {
    auto widen = [ftz](uint16_t h) {
      bool tiny = (h & (Bf ? 0x7f80 : 0x7c00)) == 0;
      h = ftz && tiny ? h & 0x8000 : h;
      return Bf ? bfloatToFloat(h) : halfToFloat(h);
    };
    return holds<float, C>(widen(uint16_t(a[l] >> Shift)), widen(uint16_t(b[l] >> Shift)));
  });
}

template <Cmp C>
static decltype(CompareExtra::compare) pickType(Type t, bool high) {
  switch (t) {
  case Type::F16x2:
    return high ? compareHalf<false, C, 16> : compareHalf<false, C>;
  case Type::BF16x2:
    return high ? compareHalf<true, C, 16> : compareHalf<true, C>;
  case Type::U16:
  case Type::B16:
    return compareLanes<uint16_t, C>;
  case Type::S16:
    return compareLanes<int16_t, C>;
  case Type::U32:
  case Type::B32:
    return compareLanes<uint32_t, C>;
  case Type::S32:
    return compareLanes<int32_t, C>;
  case Type::U64:
  case Type::B64:
    return compareLanes<uint64_t, C>;
  case Type::S64:
    return compareLanes<int64_t, C>;
  case Type::F32:
    return compareLanes<float, C>;
  case Type::F64:
    return compareLanes<double, C>;
  case Type::F16:
    return compareHalf<false, C>;
  case Type::BF16:
    return compareHalf<true, C>;
  default:
    return nullptr;
  }
}

static decltype(CompareExtra::compare) pickCompare(Cmp c, Type t, bool high = false) {
  switch (c) {
  case Cmp::Eq:
    return pickType<Cmp::Eq>(t, high);
  case Cmp::Ne:
    return pickType<Cmp::Ne>(t, high);
  case Cmp::Lt:
    return pickType<Cmp::Lt>(t, high);
  case Cmp::Le:
    return pickType<Cmp::Le>(t, high);
  case Cmp::Gt:
    return pickType<Cmp::Gt>(t, high);
  case Cmp::Ge:
    return pickType<Cmp::Ge>(t, high);
  case Cmp::Equ:
    return pickType<Cmp::Equ>(t, high);
  case Cmp::Neu:
    return pickType<Cmp::Neu>(t, high);
  case Cmp::Ltu:
    return pickType<Cmp::Ltu>(t, high);
  case Cmp::Leu:
    return pickType<Cmp::Leu>(t, high);
  case Cmp::Gtu:
    return pickType<Cmp::Gtu>(t, high);
  case Cmp::Geu:
    return pickType<Cmp::Geu>(t, high);
  case Cmp::Num:
    return pickType<Cmp::Num>(t, high);
  case Cmp::Nan:
    return pickType<Cmp::Nan>(t, high);
  case Cmp::Invalid:
    break;
  }
  return nullptr;
}

static LaneMask combined(Warp &w, const Inst &i, const CompareExtra &x, LaneMask r) {
  LaneMask c = x.negateC ? ~w.preds[i.p] : w.preds[i.p];
  switch (x.combine) {
  case Combine::None:
    return r;
  case Combine::And:
    return r & c;
  case Combine::Or:
    return r | c;
  case Combine::Xor:
    return r ^ c;
  }
  return r;
}

static LaneMask comparePoison(Warp &w, const Inst &i, const CompareExtra &x) {
  LaneMask p = x.wide ? w.poisonWide(i.a) | w.poisonWide(i.b) : w.poisonIn(i.a) | w.poisonIn(i.b);
  return x.combine == Combine::None ? p : p | w.predPoison[i.p];
}

static Step execSetp(Warp &w, const Inst &i, LaneMask m) {
  const auto &x = *static_cast<const CompareExtra *>(i.extra);
  LaneMask r = x.compare(w, i.a, i.b, x.ftz);
  LaneMask poison = comparePoison(w, i, x);
  LaneMask first = combined(w, i, x, r), second = combined(w, i, x, ~r);
  w.setPred(i.q, m, first, poison);
  w.setPred(x.second, m, second, poison);
  return Step::Next;
}

/// f16x2 and bf16x2: the low halves decide the first predicate, the high ones the
/// second.
static Step execSetpPair(Warp &w, const Inst &i, LaneMask m) {
  const auto &x = *static_cast<const CompareExtra *>(i.extra);
  LaneMask poison = comparePoison(w, i, x);
  w.setPred(i.q, m, combined(w, i, x, x.compare(w, i.a, i.b, x.ftz)), poison);
  w.setPred(x.second, m, combined(w, i, x, x.compareHigh(w, i.a, i.b, x.ftz)), poison);
  return Step::Next;
}

static Step execSet(Warp &w, const Inst &i, LaneMask m) {
  const auto &x = *static_cast<const CompareExtra *>(i.extra);
  LaneMask r = combined(w, i, x, x.compare(w, i.a, i.b, x.ftz));
  uint32_t yes = x.half ? (x.asFloat ? i.aux : 0xffff) : x.asFloat ? 0x3f800000 : ~0u;
  LaneMask poison = comparePoison(w, i, x);
  forLanes(w.out<uint32_t>(i.d), m, [=](unsigned l) { return (r >> l & 1) ? yes : 0u; });
  w.setPoison(i.d, m, poison);
  return Step::Next;
}

static Step execSetPair(Warp &w, const Inst &i, LaneMask m) {
  const auto &x = *static_cast<const CompareExtra *>(i.extra);
  LaneMask low = combined(w, i, x, x.compare(w, i.a, i.b, x.ftz));
  LaneMask high = combined(w, i, x, x.compareHigh(w, i.a, i.b, x.ftz));
  uint32_t one = i.aux;
  LaneMask poison = comparePoison(w, i, x);
  forLanes(w.out<uint32_t>(i.d), m, [=](unsigned l) {
    return (low >> l & 1 ? one : 0u) | (high >> l & 1 ? one << 16 : 0u);
  });
  w.setPoison(i.d, m, poison);
  return Step::Next;
}

/// lo, ls, hi, hs are the unsigned spellings of lt, le, gt, ge.
static Cmp comparison(const Decoder &d) {
  for (StringRef m : d.source->modifiers) {
    Cmp c = StringSwitch<Cmp>(m)
                .Case("eq", Cmp::Eq)
                .Case("ne", Cmp::Ne)
                .Cases({"lt", "lo"}, Cmp::Lt)
                .Cases({"le", "ls"}, Cmp::Le)
                .Cases({"gt", "hi"}, Cmp::Gt)
                .Cases({"ge", "hs"}, Cmp::Ge)
                .Case("equ", Cmp::Equ)
                .Case("neu", Cmp::Neu)
                .Case("ltu", Cmp::Ltu)
                .Case("leu", Cmp::Leu)
                .Case("gtu", Cmp::Gtu)
                .Case("geu", Cmp::Geu)
                .Case("num", Cmp::Num)
                .Case("nan", Cmp::Nan)
                .Default(Cmp::Invalid);
    if (c != Cmp::Invalid) {
      return c;
    }
  }
  return Cmp::Invalid;
}

static CompareExtra *decodeCompare(Decoder &d, Type operands) {
  auto *x = d.extra<CompareExtra>();
  Cmp c = comparison(d);
  if (c == Cmp::Invalid) {
    d.error("expected a comparison such as '.lt', but got none");
    return nullptr;
  }
  if (c >= Cmp::Equ && !isFloatType(operands)) {
    d.error("expected an unordered comparison only with float types, but got an integer type");
    return nullptr;
  }
  unsigned bits = bitWidth(operands);
  x->compare = pickCompare(c, operands);
  x->compareHigh = pickCompare(c, operands, /*high=*/true);
  x->ftz = d.has("ftz");
  x->wide = bits == 64;
  x->combine = d.has("and")   ? Combine::And
               : d.has("or")  ? Combine::Or
               : d.has("xor") ? Combine::Xor
                              : Combine::None;
  d.inst.a = d.src(1, bits);
  d.inst.b = d.src(2, bits);
  if ((x->combine != Combine::None) != (d.operandCount() == 4)) {
    d.error(
        "expected a predicate operand exactly with '.and', '.or' and '.xor', but got otherwise");
    return nullptr;
  }
  if (x->combine != Combine::None) {
    d.inst.p = d.predSrc(3, &x->negateC);
  }
  return x;
}

static void decodeSetp(Decoder &d) {
  CompareExtra *x = decodeCompare(d, d.type());
  if (!x) {
    return;
  }
  const ptx::Operand &dst = d.operand(0);
  if (dst.kind == ptx::Operand::Kind::Pair) {
    d.inst.q = d.predDstOf(dst.elements[0]);
    x->second = d.predDstOf(dst.elements[1]);
  } else {
    d.inst.q = d.predDst(0);
  }
  bool pair = d.type() == Type::F16x2 || d.type() == Type::BF16x2;
  d.inst.exec = pair ? execSetpPair : execSetp;
  d.emit();
}

static void decodeSet(Decoder &d) {
  Type to = d.type(0);
  bool pair = to == Type::F16x2 || to == Type::BF16x2;
  if (pair != (d.type(1) == Type::F16x2 || d.type(1) == Type::BF16x2) ||
      (pair && to != d.type(1))) {
    d.error("expected packed halves to be compared into packed halves of their type, but got "
            "another type");
    return;
  }
  CompareExtra *x = decodeCompare(d, d.type(1));
  if (!x) {
    return;
  }
  x->asFloat = isFloatType(to);
  x->half = bitWidth(to) == 16;
  d.inst.aux = to == Type::BF16 || to == Type::BF16x2 ? 0x3f80 : 0x3c00;
  d.inst.d = d.dst(0, bitWidth(to));
  d.inst.exec = pair ? execSetPair : execSet;
  d.emit();
}

void fa4::sim::addCompareOpcodes(OpcodeTable &t) {
  t.add({
      {"setp",
       "eq|ne|lt|le|gt|ge|lo|ls|hi|hs|equ|neu|ltu|leu|gtu|geu|num|nan and|or|xor ftz "
       ":b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64|f16|bf16|f16x2|bf16x2",
       3, 4, decodeSetp},
      {"set",
       "eq|ne|lt|le|gt|ge|lo|ls|hi|hs|equ|neu|ltu|leu|gtu|geu|num|nan and|or|xor ftz "
       ":u32|s32|f32|u16|s16|f16|bf16|f16x2|bf16x2 "
       ":b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64|f16|bf16|f16x2|bf16x2",
       3, 4, decodeSet},
  });
}
