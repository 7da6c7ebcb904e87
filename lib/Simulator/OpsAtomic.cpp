//===- OpsAtomic.cpp - atom and red -----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lanes act one after the other. Between host threads an operation is a
// compare-and-swap loop on the word. f32 add flushes subnormals in global memory
// and keeps them in shared memory, as the manual says and an H200 showed.
//
//===----------------------------------------------------------------------===//

#include "FloatMath.h"
#include "Lanes.h"
#include "MemoryOps.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace fa4::sim;

namespace {
enum class AtomOp : uint8_t { Add, Min, Max, Exch, Cas, Inc, Dec, And, Or, Xor, Invalid };

struct AtomExtra : Extra {
  AtomOp op = AtomOp::Invalid;
  Type type = Type::None;
  Space space = Space::Generic;
  unsigned bytes = 4;
  SmallVector<Reg, 4> results, values, compares;
  bool returns = false;
};
} // namespace

uint16_t fa4::sim::addHalfBits(uint16_t a, uint16_t b, bool bf) {
  return bf ? doubleToBfloat(addToOdd(bfloatToFloat(a), bfloatToFloat(b)))
            : doubleToHalf(addToOdd(halfToFloat(a), halfToFloat(b)));
}

uint16_t fa4::sim::minmaxHalfBits(uint16_t a, uint16_t b, bool bf, bool max) {
  float x = bf ? bfloatToFloat(a) : halfToFloat(a), y = bf ? bfloatToFloat(b) : halfToFloat(b);
  if (x != x || y != y) {
    return x != x && y != y ? canonicalNan16 : x != x ? b : a;
  }
  bool first = x == y ? std::signbit(x) != max : max ? x > y : x < y;
  return first ? a : b;
}

static uint64_t applyHalves(AtomOp op, uint64_t old, uint64_t v, bool bf, bool pair) {
  auto one = [&](uint16_t a, uint16_t b) -> uint64_t {
    return op == AtomOp::Add ? addHalfBits(a, b, bf) : minmaxHalfBits(a, b, bf, op == AtomOp::Max);
  };
  uint64_t lo = one(uint16_t(old), uint16_t(v));
  return pair ? lo | one(uint16_t(old >> 16), uint16_t(v >> 16)) << 16 : lo;
}

template <typename T>
static uint64_t applyInteger(AtomOp op, uint64_t old, uint64_t v, uint64_t compare) {
  using U = std::make_unsigned_t<T>;
  T a = T(old), b = T(v);
  switch (op) {
  case AtomOp::Add:
    return U(U(a) + U(b));
  case AtomOp::Min:
    return U(a < b ? a : b);
  case AtomOp::Max:
    return U(a < b ? b : a);
  case AtomOp::Exch:
    return U(b);
  case AtomOp::Cas:
    return U(a) == U(compare) ? U(b) : U(a);
  case AtomOp::Inc:
    return U(a) >= U(b) ? 0 : U(a) + 1;
  case AtomOp::Dec:
    return U(a) == 0 || U(a) > U(b) ? U(b) : U(a) - 1;
  case AtomOp::And:
    return U(a) & U(b);
  case AtomOp::Or:
    return U(a) | U(b);
  case AtomOp::Xor:
    return U(a) ^ U(b);
  case AtomOp::Invalid:
    break;
  }
  return old;
}

static uint64_t apply(const AtomExtra &x, bool shared, uint64_t old, uint64_t v, uint64_t compare) {
  switch (x.type) {
  case Type::F32:
    if (x.op == AtomOp::Add) {
      float a = bitCast<float>(uint32_t(old)), b = bitCast<float>(uint32_t(v));
      float r = shared ? addFloat<Rounding::Nearest, false, false>(a, b)
                       : addFloat<Rounding::Nearest, true, false>(a, b);
      return bitCast<uint32_t>(r);
    }
    return applyInteger<uint32_t>(x.op, old, v, compare);
  case Type::F64:
    if (x.op == AtomOp::Add) {
      double a = bitCast<double>(old), b = bitCast<double>(v);
      return bitCast<uint64_t>(shared ? withNan(a + b, a, b) : withPlainNan(a + b, a, b));
    }
    return applyInteger<uint64_t>(x.op, old, v, compare);
  case Type::F16:
    return applyHalves(x.op, old, v, false, false);
  case Type::F16x2:
    return applyHalves(x.op, old, v, false, true);
  case Type::BF16:
    return applyHalves(x.op, old, v, true, false);
  case Type::BF16x2:
    return applyHalves(x.op, old, v, true, true);
  case Type::S32:
    return applyInteger<int32_t>(x.op, old, v, compare);
  case Type::S64:
    return applyInteger<int64_t>(x.op, old, v, compare);
  case Type::U64:
  case Type::B64:
    return applyInteger<uint64_t>(x.op, old, v, compare);
  case Type::B16:
    return applyInteger<uint16_t>(x.op, old, v, compare);
  default:
    return applyInteger<uint32_t>(x.op, old, v, compare);
  }
}

template <typename T>
static uint64_t atomically(const AtomExtra &x, bool shared, uint8_t *p, uint64_t v,
                           uint64_t compare) {
  T *word = reinterpret_cast<T *>(p);
  T old = __atomic_load_n(word, __ATOMIC_SEQ_CST);
  while (!__atomic_compare_exchange_n(word, &old, T(apply(x, shared, old, v, compare)), false,
                                      __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
  return old;
}

static Step execAtom(Warp &w, const Inst &i, LaneMask m) {
  const auto &x = *static_cast<const AtomExtra *>(i.extra);
  uint64_t address[warpLanes];
  if (!w.addresses(i, m, address)) {
    return Step::Stop;
  }
  bool wide = x.bytes == 8, changed = false;
  for (Reg r : x.values) {
    if (!w.checkUsed(i, r, wide, m, "the operand of an atomic")) {
      return Step::Stop;
    }
  }
  for (Reg r : x.compares) {
    if (!w.checkUsed(i, r, wide, m, "the comparand of an atomic")) {
      return Step::Stop;
    }
  }
  auto value = [&](Reg r, unsigned l) {
    return wide ? w.in<uint64_t>(r)[l] : uint64_t(w.in<uint32_t>(r)[l]);
  };
  for (LaneMask left = m; left != 0; left &= left - 1) {
    unsigned l = __builtin_ctz(left);
    uint8_t *shadow;
    uint8_t *p =
        w.access(i, x.space, address[l], x.bytes * x.values.size(), Access::Atomic, l, shadow);
    if (!p) {
      return Step::Stop;
    }
    bool shared = x.space == Space::Shared || x.space == Space::SharedCluster ||
                  (x.space == Space::Generic && address[l] - sharedWindow < windowSize);
    for (unsigned k = 0; k < x.values.size(); ++k) {
      uint8_t *word = p + k * x.bytes, *s = shadow + k * x.bytes;
      for (unsigned b = 0; b < x.bytes; ++b) {
        if (s[b] == shadowBarrier) {
          return w.fault(
              FaultId::MbOverwrite, i, LaneMask(1) << l,
              formatv("expected bytes that hold no live mbarrier, but got {0:x}", address[l])
                  .str());
        }
        if (s[b] == shadowPoison && x.op != AtomOp::Exch) {
          return w.fault(
              shared ? FaultId::UninitSmem : FaultId::UninitGlobal, i, LaneMask(1) << l,
              formatv("expected the word to hold a value, but got {0:x} never written", address[l])
                  .str());
        }
        s[b] = shadowValid;
      }
      uint64_t v = value(x.values[k], l), c = x.compares.empty() ? 0 : value(x.compares[k], l);
      uint64_t old = x.bytes == 8   ? atomically<uint64_t>(x, shared, word, v, c)
                     : x.bytes == 4 ? atomically<uint32_t>(x, shared, word, v, c)
                                    : atomically<uint16_t>(x, shared, word, v, c);
      // A lock that is found taken is no change: whoever spins on it is polling.
      changed |= apply(x, shared, old, v, c) != old;
      if (x.returns) {
        if (wide) {
          w.out<uint64_t>(x.results[k])[l] = old;
        } else {
          w.out<uint32_t>(x.results[k])[l] = uint32_t(old);
        }
      }
    }
  }
  for (Reg r : x.results) {
    w.setPoison(r, m, 0);
    if (wide) {
      w.setPoison(r + slotBytes, m, 0);
    }
  }
  w.cluster->changes += changed;
  return x.returns ? w.poll() : Step::Next;
}

static AtomOp operation(const Decoder &d) {
  for (StringRef m : d.source->modifiers) {
    AtomOp op = StringSwitch<AtomOp>(m)
                    .Case("add", AtomOp::Add)
                    .Case("min", AtomOp::Min)
                    .Case("max", AtomOp::Max)
                    .Case("exch", AtomOp::Exch)
                    .Case("cas", AtomOp::Cas)
                    .Case("inc", AtomOp::Inc)
                    .Case("dec", AtomOp::Dec)
                    .Case("and", AtomOp::And)
                    .Case("or", AtomOp::Or)
                    .Case("xor", AtomOp::Xor)
                    .Default(AtomOp::Invalid);
    if (op != AtomOp::Invalid) {
      return op;
    }
  }
  return AtomOp::Invalid;
}

static void decodeAtomic(Decoder &d, bool returns) {
  auto *x = d.extra<AtomExtra>();
  x->op = operation(d);
  x->type = d.type();
  unsigned bits = bitWidth(x->type);
  x->bytes = bits / 8;
  x->returns = returns;
  if (x->op == AtomOp::Invalid) {
    d.error("expected an operation such as '.add', but got none");
    return;
  }
  bool half = x->type == Type::F16 || x->type == Type::BF16 || x->type == Type::F16x2 ||
              x->type == Type::BF16x2;
  bool isFloat = isFloatType(x->type);
  bool halfOp = x->op == AtomOp::Add || x->op == AtomOp::Min || x->op == AtomOp::Max;
  if ((isFloat && !half && x->op != AtomOp::Add) || (half && !halfOp)) {
    d.error("expected an operation that exists for the type, but got another one");
    return;
  }
  unsigned at = returns ? 0 : ~0u, address = returns ? 1 : 0;
  auto list = [&](unsigned index, bool write, SmallVectorImpl<Reg> &out) {
    const ptx::Operand &op = d.operand(index);
    ArrayRef<ptx::Operand> elements = op.kind == ptx::Operand::Kind::Vector
                                          ? ArrayRef<ptx::Operand>(op.elements)
                                          : ArrayRef<ptx::Operand>(op);
    for (const ptx::Operand &e : elements) {
      out.push_back(write ? d.dstOf(e, bits) : d.srcOf(e, bits));
    }
  };
  unsigned needed = address + 2 + (x->op == AtomOp::Cas);
  if (d.operandCount() < needed) {
    d.error("expected " + Twine(needed) + " operands, but got " + Twine(d.operandCount()));
    return;
  }
  if (x->op == AtomOp::Cas) {
    list(address + 1, false, x->compares);
    list(address + 2, false, x->values);
  } else {
    list(address + 1, false, x->values);
  }
  if (at == 0) {
    list(0, true, x->results);
  }
  if (x->values.empty() || x->values.size() * x->bytes > 16 ||
      (returns && x->results.size() != x->values.size()) ||
      (x->op == AtomOp::Cas && x->compares.size() != x->values.size())) {
    d.error("expected vectors of equal length and at most 16 bytes, but got others");
    return;
  }
  x->space = spaceOf(d, d.setAddress(address));
  d.inst.exec = execAtom;
  d.inst.flags |= SwitchPoint | OrderStrong | orderOf(d);
  d.emit();
}

static void decodeAtom(Decoder &d) { decodeAtomic(d, true); }
static void decodeRed(Decoder &d) { decodeAtomic(d, false); }

void fa4::sim::addAtomicOpcodes(OpcodeTable &t) {
  const char *atom = "relaxed|acquire|release|acq_rel cta|cluster|gpu|sys "
                     "global|shared|shared::cta|shared::cluster "
                     "add|min|max|exch|cas|inc|dec|and|or|xor noftz v2|v4|v8 L2::cache_hint "
                     ":b16|b32|b64|u32|u64|s32|s64|f32|f64|f16|f16x2|bf16|bf16x2";
  const char *red = "relaxed|release cta|cluster|gpu|sys global|shared|shared::cta|shared::cluster "
                    "add|min|max|inc|dec|and|or|xor noftz v2|v4|v8 L2::cache_hint "
                    ":b32|b64|u32|u64|s32|s64|f32|f64|f16|f16x2|bf16|bf16x2";
  t.add({{"atom", atom, 3, 5, decodeAtom}, {"red", red, 2, 3, decodeRed}});
}
