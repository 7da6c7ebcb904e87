//===- OpsBit.cpp - logic, shifts, bit fields -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shift amounts are clamped, not taken modulo the width as the host would.
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"

#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace fa4::sim;

template <typename T>
static T bitAnd(T a, T b) {
  return a & b;
}
template <typename T>
static T bitOr(T a, T b) {
  return a | b;
}
template <typename T>
static T bitXor(T a, T b) {
  return a ^ b;
}
template <typename T>
static T bitNot(T a) {
  return T(~a);
}
template <typename T>
static T boolNot(T a) {
  return a == 0;
}

namespace {
enum class Logic { And, Or, Xor };
} // namespace

template <Logic Op>
static Step execPredLogic(Warp &w, const Inst &i, LaneMask m) {
  LaneMask a = w.preds[i.a] ^ ((i.aux & 1) ? allLanes : 0);
  LaneMask b = w.preds[i.b] ^ ((i.aux & 2) ? allLanes : 0);
  LaneMask pa = w.predPoison[i.a], pb = w.predPoison[i.b];
  LaneMask r = Op == Logic::And ? a & b : Op == Logic::Or ? a | b : a ^ b;
  // A known side may decide alone.
  LaneMask poison = pa | pb;
  if (Op == Logic::And) {
    poison &= ~((~pa & ~a) | (~pb & ~b));
  } else if (Op == Logic::Or) {
    poison &= ~((~pa & a) | (~pb & b));
  }
  w.setPred(i.q, m, r, poison);
  return Step::Next;
}

static ExecFn logicExec(Logic op, unsigned bits) {
  bool wide = bits == 64;
  switch (op) {
  case Logic::And:
    return wide ? ExecFn(exec2<uint64_t, uint64_t, uint64_t, bitAnd<uint64_t>>)
                : ExecFn(exec2<uint32_t, uint32_t, uint32_t, bitAnd<uint32_t>>);
  case Logic::Or:
    return wide ? ExecFn(exec2<uint64_t, uint64_t, uint64_t, bitOr<uint64_t>>)
                : ExecFn(exec2<uint32_t, uint32_t, uint32_t, bitOr<uint32_t>>);
  case Logic::Xor:
    break;
  }
  return wide ? ExecFn(exec2<uint64_t, uint64_t, uint64_t, bitXor<uint64_t>>)
              : ExecFn(exec2<uint32_t, uint32_t, uint32_t, bitXor<uint32_t>>);
}

template <Logic Op>
static void decodeLogic(Decoder &d) {
  if (d.type() == Type::Pred) {
    bool na = false, nb = false;
    d.inst.exec = execPredLogic<Op>;
    d.inst.a = d.predSrc(1, &na);
    d.inst.b = d.predSrc(2, &nb);
    d.inst.aux = unsigned(na) | unsigned(nb) << 1;
    d.inst.q = d.predDst(0);
    d.emit();
    return;
  }
  unsigned bits = bitWidth(d.type());
  decode2(d, logicExec(Op, bits), bits);
}

static void decodeNot(Decoder &d) {
  if (d.type() == Type::Pred) {
    decodePredicateCopy(d, /*invert=*/true);
    return;
  }
  unsigned bits = bitWidth(d.type());
  decode1(d,
          bits == 64   ? ExecFn(exec1<uint64_t, uint64_t, bitNot<uint64_t>>)
          : bits == 16 ? ExecFn(exec1<uint16_t, uint16_t, bitNot<uint16_t>>)
                       : ExecFn(exec1<uint32_t, uint32_t, bitNot<uint32_t>>),
          bits, bits);
}

static void decodeCnot(Decoder &d) {
  unsigned bits = bitWidth(d.type());
  decode1(d,
          bits == 64 ? ExecFn(exec1<uint64_t, uint64_t, boolNot<uint64_t>>)
                     : ExecFn(exec1<uint32_t, uint32_t, boolNot<uint32_t>>),
          bits, bits);
}

template <typename T>
static T shiftLeft(T a, uint32_t n) {
  return n >= sizeof(T) * 8 ? T(0) : T(a << n);
}
template <typename T>
static T shiftRight(T a, uint32_t n) {
  constexpr uint32_t bits = sizeof(T) * 8;
  if (std::is_signed_v<T>) {
    return T(a >> (n >= bits ? bits - 1 : n));
  }
  return n >= bits ? T(0) : T(a >> n);
}

template <typename T>
static constexpr ExecFn shl() {
  return exec2<T, T, uint32_t, shiftLeft<T>>;
}
template <typename T>
static constexpr ExecFn shr() {
  return exec2<T, T, uint32_t, shiftRight<T>>;
}

static void decodeShift(Decoder &d, ExecFn exec) {
  unsigned bits = bitWidth(d.type());
  d.inst.exec = exec;
  d.inst.a = d.src(1, bits);
  d.inst.b = d.src(2, 32);
  d.inst.d = d.dst(0, bits);
  d.emit();
}

static void decodeShl(Decoder &d) {
  unsigned bits = bitWidth(d.type());
  decodeShift(d, bits == 64 ? shl<uint64_t>() : bits == 32 ? shl<uint32_t>() : shl<uint16_t>());
}

static void decodeShr(Decoder &d) {
  unsigned bits = bitWidth(d.type());
  bool isSigned = isSignedType(d.type());
  decodeShift(d, bits == 64   ? (isSigned ? shr<int64_t>() : shr<uint64_t>())
                 : bits == 32 ? (isSigned ? shr<int32_t>() : shr<uint32_t>())
                              : (isSigned ? shr<int16_t>() : shr<uint16_t>()));
}

/// Funnel shift of the pair b:a.
template <bool Left, bool Wrap>
static uint32_t funnel(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t n = Wrap ? c & 31 : std::min(c, 32u);
  uint64_t pair = uint64_t(b) << 32 | a;
  return Left ? uint32_t(pair << n >> 32) : uint32_t(pair >> n);
}
template <bool Left, bool Wrap>
static constexpr ExecFn shf() {
  return exec3<uint32_t, uint32_t, uint32_t, uint32_t, funnel<Left, Wrap>>;
}

static void decodeShf(Decoder &d) {
  if (d.has("l") == d.has("r")) {
    d.error("expected '.l' or '.r', but got neither");
    return;
  }
  bool wrap = d.has("wrap");
  decode3(d,
          d.has("l") ? (wrap ? shf<true, true>() : shf<true, false>())
                     : (wrap ? shf<false, true>() : shf<false, false>()),
          32);
}

template <typename T>
static T extractField(T a, uint32_t b, uint32_t c) {
  using U = std::make_unsigned_t<T>;
  constexpr uint32_t bits = sizeof(T) * 8;
  // Measured: only the 32-bit forms take the low eight bits of each.
  uint32_t pos = bits == 32 ? b & 0xff : std::min(b, bits);
  uint32_t len = bits == 32 ? c & 0xff : std::min(c, bits);
  if (len == 0) {
    return 0;
  }
  bool negative = false;
  if (std::is_signed_v<T>) {
    uint32_t signAt = std::min(pos + len - 1, bits - 1);
    negative = U(a) >> signAt & 1;
  }
  U field = pos >= bits ? 0 : U(a) >> pos;
  uint32_t valid = pos >= bits ? 0 : std::min(len, bits - pos);
  U mask = valid >= bits ? ~U(0) : (U(1) << valid) - 1;
  return T((field & mask) | (negative ? ~mask : U(0)));
}
template <typename T>
static constexpr ExecFn bfe() {
  return exec3<T, T, uint32_t, uint32_t, extractField<T>>;
}

static void decodeBfe(Decoder &d) {
  unsigned bits = bitWidth(d.type());
  bool isSigned = isSignedType(d.type());
  d.inst.exec = bits == 64 ? (isSigned ? bfe<int64_t>() : bfe<uint64_t>())
                           : (isSigned ? bfe<int32_t>() : bfe<uint32_t>());
  d.inst.a = d.src(1, bits);
  d.inst.b = d.src(2, 32);
  d.inst.c = d.src(3, 32);
  d.inst.d = d.dst(0, bits);
  d.emit();
}

template <typename T>
static Step execBfi(Warp &w, const Inst &i, LaneMask m) {
  constexpr uint32_t bits = sizeof(T) * 8;
  Reg lengthReg = Reg(i.imm);
  const T *a = w.in<T>(i.a), *b = w.in<T>(i.b);
  const uint32_t *c = w.in<uint32_t>(i.c), *e = w.in<uint32_t>(lengthReg);
  forLanes(w.out<T>(i.d), m, [=](unsigned l) {
    uint32_t pos = bits == 32 ? c[l] & 0xff : std::min(c[l], bits);
    uint32_t len = bits == 32 ? e[l] & 0xff : std::min(e[l], bits);
    if (len == 0 || pos >= bits) {
      return b[l];
    }
    T mask = (len >= bits ? ~T(0) : (T(1) << len) - 1) << pos;
    return T((b[l] & ~mask) | ((a[l] << pos) & mask));
  });
  setPoisonOf<T>(w, i.d, m,
                 poisonOf<T>(w, i.a) | poisonOf<T>(w, i.b) | w.poisonIn(i.c) |
                     w.poisonIn(lengthReg));
  return Step::Next;
}

static void decodeBfi(Decoder &d) {
  unsigned bits = bitWidth(d.type());
  d.inst.exec = bits == 64 ? execBfi<uint64_t> : execBfi<uint32_t>;
  d.inst.a = d.src(1, bits);
  d.inst.b = d.src(2, bits);
  d.inst.c = d.src(3, 32);
  d.inst.imm = uint64_t(int64_t(d.src(4, 32)));
  d.inst.d = d.dst(0, bits);
  d.emit();
}

template <bool Wrap>
static uint32_t bitMask(uint32_t a, uint32_t b) {
  uint32_t pos = Wrap ? a & 31 : std::min(a, 32u), len = Wrap ? b & 31 : std::min(b, 32u);
  uint64_t mask = (uint64_t(1) << len) - 1;
  return uint32_t(mask << pos);
}
static void decodeBmsk(Decoder &d) {
  decode2(d,
          d.has("wrap") ? exec2<uint32_t, uint32_t, uint32_t, bitMask<true>>
                        : exec2<uint32_t, uint32_t, uint32_t, bitMask<false>>,
          32);
}

template <bool Signed, bool Wrap>
static uint32_t extend(uint32_t a, uint32_t n) {
  n = Wrap ? n & 31 : n;
  if (n == 0) {
    return 0;
  }
  if (n >= 32) {
    return a;
  }
  uint32_t up = 32 - n;
  return Signed ? uint32_t(int32_t(a << up) >> up) : a << up >> up;
}
template <bool S, bool W>
static constexpr ExecFn szext() {
  return exec2<uint32_t, uint32_t, uint32_t, extend<S, W>>;
}
static void decodeSzext(Decoder &d) {
  bool isSigned = isSignedType(d.type()), wrap = d.has("wrap");
  decode2(d,
          isSigned ? (wrap ? szext<true, true>() : szext<true, false>())
                   : (wrap ? szext<false, true>() : szext<false, false>()),
          32);
}

static uint32_t permute(uint32_t a, uint32_t b, uint32_t c) {
  uint64_t bytes = uint64_t(b) << 32 | a;
  uint32_t r = 0;
  for (unsigned k = 0; k < 4; ++k) {
    uint32_t s = c >> (4 * k) & 0xf;
    uint32_t byte = bytes >> (8 * (s & 7)) & 0xff;
    if (s & 8) {
      byte = (byte & 0x80) ? 0xff : 0;
    }
    r |= byte << (8 * k);
  }
  return r;
}

/// Selectors of the named modes for c & 3, as nibbles (manual, table of prmt).
static uint32_t permuteMode(uint32_t mode, uint32_t c) {
  static const uint16_t table[6][4] = {
      {0x3210, 0x4321, 0x5432, 0x6543}, // f4e
      {0x5670, 0x6701, 0x7012, 0x0123}, // b4e
      {0x0000, 0x1111, 0x2222, 0x3333}, // rc8
      {0x3210, 0x3211, 0x3222, 0x3333}, // ecl
      {0x0000, 0x1110, 0x2210, 0x3210}, // ecr
      {0x1010, 0x3232, 0x1010, 0x3232}, // rc16
  };
  return table[mode][c & 3];
}

static Step execPermuteMode(Warp &w, const Inst &i, LaneMask m) {
  const uint32_t *a = w.in<uint32_t>(i.a), *b = w.in<uint32_t>(i.b), *c = w.in<uint32_t>(i.c);
  uint32_t mode = i.aux;
  forLanes(w.out<uint32_t>(i.d), m,
           [=](unsigned l) { return permute(a[l], b[l], permuteMode(mode, c[l])); });
  w.setPoison(i.d, m, w.poisonIn(i.a) | w.poisonIn(i.b) | w.poisonIn(i.c));
  return Step::Next;
}

/// Poison byte by byte is not tracked, but compilers build packs with prmt and
/// never select bytes of a register they did not set, so unselected sources of
/// an immediate selector do not count.
static Step execPermute(Warp &w, const Inst &i, LaneMask m) {
  const uint32_t *a = w.in<uint32_t>(i.a), *b = w.in<uint32_t>(i.b), *c = w.in<uint32_t>(i.c);
  forLanes(w.out<uint32_t>(i.d), m, [=](unsigned l) { return permute(a[l], b[l], c[l]); });
  LaneMask poison = w.poisonIn(i.c);
  bool usesA = true, usesB = true;
  if (i.c < 0) {
    usesA = usesB = false;
    for (unsigned k = 0; k < 4; ++k) {
      ((c[0] >> (4 * k) & 4) ? usesB : usesA) = true;
    }
  }
  w.setPoison(i.d, m, poison | (usesA ? w.poisonIn(i.a) : 0) | (usesB ? w.poisonIn(i.b) : 0));
  return Step::Next;
}

static void decodePrmt(Decoder &d) {
  static const char *const modes[] = {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"};
  for (unsigned k = 0; k < 6; ++k) {
    if (d.has(modes[k])) {
      d.inst.aux = k;
      decode3(d, execPermuteMode, 32);
      return;
    }
  }
  decode3(d, execPermute, 32);
}

static uint32_t lop3Value(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
  uint32_t r = 0;
  for (unsigned k = 0; k < 8; ++k) {
    uint32_t t = ((k & 4) ? a : ~a) & ((k & 2) ? b : ~b) & ((k & 1) ? c : ~c);
    r |= (table >> k & 1) ? t : 0;
  }
  return r;
}

static Step execLop3(Warp &w, const Inst &i, LaneMask m) {
  const uint32_t *a = w.in<uint32_t>(i.a), *b = w.in<uint32_t>(i.b), *c = w.in<uint32_t>(i.c);
  uint32_t table = i.imm;
  uint32_t r[warpLanes];
  FA4_LANE_LOOP
  for (unsigned l = 0; l < warpLanes; ++l) {
    r[l] = lop3Value(a[l], b[l], c[l], table);
  }
  LaneMask poison = w.poisonIn(i.a) | w.poisonIn(i.b) | w.poisonIn(i.c);
  if (i.aux) { // predicate form: d|p with .or / .and
    LaneMask nonzero = maskLanes([&](unsigned l) { return r[l] != 0; });
    LaneMask q = w.preds[i.p] ^ ((i.aux & 4) ? allLanes : 0);
    w.setPred(i.q, m, (i.aux & 1) ? nonzero | q : nonzero & q, poison | w.predPoison[i.p]);
  }
  forLanes(w.out<uint32_t>(i.d), m, [&](unsigned l) { return r[l]; });
  w.setPoison(i.d, m, poison);
  return Step::Next;
}

static void decodeLop3(Decoder &d) {
  d.inst.exec = execLop3;
  bool predicate = d.has("or") || d.has("and");
  d.inst.a = d.src(1, 32);
  d.inst.b = d.src(2, 32);
  d.inst.c = d.src(3, 32);
  if (d.operandCount() < (predicate ? 6u : 5u)) {
    d.error("expected a table and, with '.or' or '.and', a predicate, but got fewer operands");
    return;
  }
  d.inst.imm = d.immediate(4) & 0xff;
  if (predicate) {
    bool negated = false;
    d.inst.p = d.predSrc(5, &negated);
    d.inst.aux = (d.has("or") ? 1 : 2) | (negated ? 4 : 0);
    d.pairDst(0, 32, d.inst.d, d.inst.q);
  } else {
    d.inst.d = d.dst(0, 32);
  }
  d.emit();
}

template <typename T>
static uint32_t countLeading(T a) {
  return countl_zero(a);
}
template <typename T>
static uint32_t countOnes(T a) {
  return popcount(a);
}
template <typename T>
static T reverse(T a) {
  return reverseBits(a);
}

template <typename T, bool ShiftAmount>
static uint32_t findBit(T a) {
  using U = std::make_unsigned_t<T>;
  U u = U(std::is_signed_v<T> && a < 0 ? ~a : a);
  if (u == 0) {
    return ~0u;
  }
  uint32_t lead = countl_zero(u);
  return ShiftAmount ? lead : uint32_t(sizeof(T) * 8 - 1) - lead;
}

template <uint32_t (*F32)(uint32_t), uint32_t (*F64)(uint64_t)>
static void decodeCount(Decoder &d) {
  unsigned bits = bitWidth(d.type());
  decode1(d,
          bits == 64 ? ExecFn(exec1<uint32_t, uint64_t, F64>)
                     : ExecFn(exec1<uint32_t, uint32_t, F32>),
          32, bits);
}

static void decodeBrev(Decoder &d) {
  unsigned bits = bitWidth(d.type());
  decode1(d,
          bits == 64 ? ExecFn(exec1<uint64_t, uint64_t, reverse<uint64_t>>)
                     : ExecFn(exec1<uint32_t, uint32_t, reverse<uint32_t>>),
          bits, bits);
}

template <typename T>
static ExecFn bfindOf(bool shift) {
  return shift ? ExecFn(exec1<uint32_t, T, findBit<T, true>>)
               : ExecFn(exec1<uint32_t, T, findBit<T, false>>);
}

static void decodeBfind(Decoder &d) {
  bool shift = d.has("shiftamt"), isSigned = isSignedType(d.type());
  unsigned bits = bitWidth(d.type());
  decode1(d,
          bits == 64 ? (isSigned ? bfindOf<int64_t>(shift) : bfindOf<uint64_t>(shift))
                     : (isSigned ? bfindOf<int32_t>(shift) : bfindOf<uint32_t>(shift)),
          32, bits);
}

/// fns: the position of the n-th set bit, counted from `base` upwards for n > 0
/// and downwards for n < 0; n = 0 asks whether the bit at base itself is set.
static uint32_t findNth(uint32_t mask, uint32_t base, uint32_t offset) {
  int32_t n = int32_t(offset);
  base &= 31;
  if (n == 0) {
    return (mask >> base & 1) ? base : ~0u;
  }
  int32_t count = 0, step = n > 0 ? 1 : -1;
  for (int32_t at = int32_t(base); at >= 0 && at < 32; at += step) {
    if ((mask >> at & 1) && ++count == std::abs(int64_t(n))) {
      return at;
    }
  }
  return ~0u;
}

static void decodeFns(Decoder &d) {
  decode3(d, exec3<uint32_t, uint32_t, uint32_t, uint32_t, findNth>, 32);
}

void fa4::sim::addBitOpcodes(OpcodeTable &t) {
  t.add({
      {"and", ":pred|b16|b32|b64", 3, 3, decodeLogic<Logic::And>},
      {"or", ":pred|b16|b32|b64", 3, 3, decodeLogic<Logic::Or>},
      {"xor", ":pred|b16|b32|b64", 3, 3, decodeLogic<Logic::Xor>},
      {"not", ":pred|b16|b32|b64", 2, 2, decodeNot},
      {"cnot", ":b16|b32|b64", 2, 2, decodeCnot},
      {"shl", ":b16|b32|b64", 3, 3, decodeShl},
      {"shr", ":b16|b32|b64|u16|u32|u64|s16|s32|s64", 3, 3, decodeShr},
      {"shf", "l|r wrap|clamp :b32", 4, 4, decodeShf},
      {"bfe", ":u32|u64|s32|s64", 4, 4, decodeBfe},
      {"bfi", ":b32|b64", 5, 5, decodeBfi},
      {"bmsk", "clamp|wrap :b32", 3, 3, decodeBmsk},
      {"szext", "clamp|wrap :u32|s32", 3, 3, decodeSzext},
      {"prmt", "f4e|b4e|rc8|ecl|ecr|rc16 :b32", 4, 4, decodePrmt},
      {"lop3", "or|and :b32", 5, 6, decodeLop3},
      {"clz", ":b32|b64", 2, 2, decodeCount<countLeading<uint32_t>, countLeading<uint64_t>>},
      {"popc", ":b32|b64", 2, 2, decodeCount<countOnes<uint32_t>, countOnes<uint64_t>>},
      {"brev", ":b32|b64", 2, 2, decodeBrev},
      {"bfind", "shiftamt :u32|u64|s32|s64", 2, 2, decodeBfind},
      {"fns", ":b32", 4, 4, decodeFns},
  });
}
