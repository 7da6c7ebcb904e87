//===- OpsWarp.cpp - shuffles, votes, elections -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instructions with a member mask wait until all lanes of the mask that have not
// exited execute them, whatever fragment they are in, and then act once for all.
//
//===----------------------------------------------------------------------===//

#include "FloatMath.h"
#include "Lanes.h"

using namespace llvm;
using namespace fa4::sim;

/// The member mask operand, which must agree among the lanes. False = stop.
static bool readMask(Warp &w, const Inst &i, Reg r, LaneMask m, LaneMask &mask) {
  if (!w.checkUsed(i, r, false, m, "the member mask")) {
    return false;
  }
  const uint32_t *v = w.in<uint32_t>(r);
  unsigned first = __builtin_ctz(m);
  mask = v[first];
  for (LaneMask left = m; left != 0; left &= left - 1) {
    unsigned l = __builtin_ctz(left);
    if (v[l] != mask) {
      w.fault(FaultId::MaskLane, i, LaneMask(1) << l,
              "expected all lanes to give the same member mask, but got different ones");
      return false;
    }
  }
  return true;
}

#define FA4_GATHER(maskReg)                                                                        \
  LaneMask members, group;                                                                         \
  Step waiting;                                                                                    \
  if (!readMask(w, i, maskReg, m, members)) {                                                      \
    return Step::Stop;                                                                             \
  }                                                                                                \
  if (!w.gather(i, m, members, group, waiting)) {                                                  \
    return waiting;                                                                                \
  }

namespace {
enum class Shuffle : uint32_t { Up, Down, Bfly, Idx };
} // namespace

static Step execShfl(Warp &w, const Inst &i, LaneMask m) {
  Reg maskReg = Reg(int64_t(i.imm));
  FA4_GATHER(maskReg)
  if (!w.checkUsed(i, i.b, false, group, "the lane operand") ||
      !w.checkUsed(i, i.c, false, group, "the clamp operand")) {
    return Step::Stop;
  }
  uint32_t a[warpLanes], r[warpLanes];
  std::memcpy(a, w.in<uint32_t>(i.a), sizeof(a));
  const uint32_t *b = w.in<uint32_t>(i.b), *c = w.in<uint32_t>(i.c);
  LaneMask poisonA = w.poisonIn(i.a), poison = 0, inRange = 0;
  for (LaneMask left = group; left != 0; left &= left - 1) {
    unsigned l = __builtin_ctz(left);
    uint32_t segment = c[l] >> 8 & 31, clamp = c[l] & 31, base = l & segment;
    uint32_t top = base | (clamp & ~segment), at = b[l] & 31;
    uint32_t source = 0;
    bool ok = false;
    switch (Shuffle(i.aux)) {
    case Shuffle::Up:
      source = l - at;
      ok = int32_t(l) - int32_t(at) >= int32_t(top);
      break;
    case Shuffle::Down:
      source = l + at;
      ok = source <= top;
      break;
    case Shuffle::Bfly:
      source = l ^ at;
      ok = source <= top;
      break;
    case Shuffle::Idx:
      source = base | (at & ~segment);
      ok = source <= top;
      break;
    }
    source = ok ? source : l;
    if (!(group >> source & 1)) {
      return w.fault(FaultId::ShflLane, i, LaneMask(1) << l,
                     "expected the source lane to take part, but got lane " + Twine(source));
    }
    inRange |= LaneMask(ok) << l;
    r[l] = a[source];
    poison |= (poisonA >> source & 1) << l;
  }
  forLanes(w.out<uint32_t>(i.d), group, [&](unsigned l) { return r[l]; });
  w.setPoison(i.d, group, poison);
  w.setPred(i.q, group, inRange);
  return Step::Next;
}

static void decodeShfl(Decoder &d) {
  d.inst.aux = unsigned(d.has("up")     ? Shuffle::Up
                        : d.has("down") ? Shuffle::Down
                        : d.has("bfly") ? Shuffle::Bfly
                                        : Shuffle::Idx);
  d.inst.exec = execShfl;
  d.inst.a = d.src(1, 32);
  d.inst.b = d.src(2, 32);
  d.inst.c = d.src(3, 32);
  d.inst.imm = uint64_t(int64_t(d.src(4, 32)));
  d.pairDst(0, 32, d.inst.d, d.inst.q);
  d.emit();
}

namespace {
enum class Vote : uint32_t { All, Any, Uni, Ballot };
} // namespace

static Step execVote(Warp &w, const Inst &i, LaneMask m) {
  FA4_GATHER(i.a)
  if (w.predPoison[i.p] & group) {
    return w.fault(FaultId::UninitReg, i, w.predPoison[i.p] & group,
                   "expected the vote to hold a value, but got an uninitialised predicate");
  }
  LaneMask votes = ((i.aux & 4) ? ~w.preds[i.p] : w.preds[i.p]) & group;
  switch (Vote(i.aux & 3)) {
  case Vote::All:
    w.setPred(i.q, group, votes == group ? allLanes : 0);
    break;
  case Vote::Any:
    w.setPred(i.q, group, votes ? allLanes : 0);
    break;
  case Vote::Uni:
    w.setPred(i.q, group, votes == 0 || votes == group ? allLanes : 0);
    break;
  case Vote::Ballot:
    forLanes(w.out<uint32_t>(i.d), group, [=](unsigned) { return votes; });
    w.setPoison(i.d, group, 0);
    break;
  }
  return Step::Next;
}

static void decodeVote(Decoder &d) {
  bool negated = false, ballot = d.has("ballot");
  if (ballot != (d.type() == Type::B32)) {
    d.error("expected '.ballot.b32' or another mode with '.pred', but got a mixture");
    return;
  }
  d.inst.exec = execVote;
  d.inst.p = d.predSrc(1, &negated);
  d.inst.a = d.src(2, 32);
  d.inst.aux = unsigned(d.has("all")   ? Vote::All
                        : d.has("any") ? Vote::Any
                        : d.has("uni") ? Vote::Uni
                                       : Vote::Ballot) |
               (negated ? 4 : 0);
  if (ballot) {
    d.inst.d = d.dst(0, 32);
  } else {
    d.inst.q = d.predDst(0);
  }
  d.emit();
}

template <typename T>
static Step execMatch(Warp &w, const Inst &i, LaneMask m) {
  FA4_GATHER(i.b)
  if (!w.checkUsed(i, i.a, sizeof(T) == 8, group, "the value to match")) {
    return Step::Stop;
  }
  T a[warpLanes];
  std::memcpy(a, w.in<T>(i.a), sizeof(a));
  auto equalTo = [&](T v) { return group & maskLanes([&](unsigned l) { return a[l] == v; }); };
  if (i.aux) { // all
    LaneMask same = equalTo(a[__builtin_ctz(group)]);
    LaneMask r = same == group ? group : 0;
    forLanes(w.out<uint32_t>(i.d), group, [=](unsigned) { return r; });
    w.setPred(i.q, group, r ? allLanes : 0);
  } else {
    forLanes(w.out<uint32_t>(i.d), group, [&](unsigned l) { return equalTo(a[l]); });
  }
  w.setPoison(i.d, group, 0);
  return Step::Next;
}

static void decodeMatch(Decoder &d) {
  unsigned bits = bitWidth(d.type());
  d.inst.exec = bits == 64 ? execMatch<uint64_t> : execMatch<uint32_t>;
  d.inst.aux = d.has("all");
  d.inst.a = d.src(1, bits);
  d.inst.b = d.src(2, 32);
  d.pairDst(0, 32, d.inst.d, d.inst.q);
  d.emit();
}

static Step execActivemask(Warp &w, const Inst &i, LaneMask m) {
  LaneMask active = w.active;
  forLanes(w.out<uint32_t>(i.d), m, [=](unsigned) { return active; });
  w.setPoison(i.d, m, 0);
  return Step::Next;
}

static void decodeActivemask(Decoder &d) {
  d.inst.exec = execActivemask;
  d.inst.d = d.dst(0, 32);
  d.emit();
}

namespace {
enum class Redux : uint32_t { Add, Min, Max, And, Or, Xor };
} // namespace

template <typename T>
static uint32_t reduceInteger(Redux op, const uint32_t *a, LaneMask group) {
  uint32_t r = a[__builtin_ctz(group)];
  for (LaneMask left = group & (group - 1); left != 0; left &= left - 1) {
    uint32_t v = a[__builtin_ctz(left)];
    switch (op) {
    case Redux::Add:
      r += v;
      break;
    case Redux::Min:
      r = T(v) < T(r) ? v : r;
      break;
    case Redux::Max:
      r = T(v) > T(r) ? v : r;
      break;
    case Redux::And:
      r &= v;
      break;
    case Redux::Or:
      r |= v;
      break;
    case Redux::Xor:
      r ^= v;
      break;
    }
  }
  return r;
}

static uint32_t reduceFloat(const Inst &i, const uint32_t *a, LaneMask group) {
  bool max = Redux(i.aux & 7) == Redux::Max, nan = i.aux & 8, magnitude = i.aux & 16;
  float r = bitCast<float>(canonicalNan);
  bool first = true;
  for (LaneMask left = group; left != 0; left &= left - 1) {
    uint32_t bits = a[__builtin_ctz(left)];
    float v = bitCast<float>(magnitude ? bits & 0x7fffffffu : bits);
    if (first) {
      r = canonical(v);
    } else if (nan) {
      r = max ? minmaxFloat<true, false, true>(r, v) : minmaxFloat<false, false, true>(r, v);
    } else {
      r = max ? minmaxFloat<true, false, false>(r, v) : minmaxFloat<false, false, false>(r, v);
    }
    first = false;
  }
  return bitCast<uint32_t>(r);
}

static Step execRedux(Warp &w, const Inst &i, LaneMask m) {
  FA4_GATHER(i.b)
  const uint32_t *a = w.in<uint32_t>(i.a);
  Redux op = Redux(i.aux & 7);
  uint32_t r = (i.aux & 64)   ? reduceFloat(i, a, group)
               : (i.aux & 32) ? reduceInteger<int32_t>(op, a, group)
                              : reduceInteger<uint32_t>(op, a, group);
  LaneMask bad = w.poisonIn(i.a) & group;
  forLanes(w.out<uint32_t>(i.d), group, [=](unsigned) { return r; });
  w.setPoison(i.d, group, bad ? allLanes : 0);
  return Step::Next;
}

static void decodeRedux(Decoder &d) {
  Redux op = d.has("add")   ? Redux::Add
             : d.has("min") ? Redux::Min
             : d.has("max") ? Redux::Max
             : d.has("and") ? Redux::And
             : d.has("or")  ? Redux::Or
                            : Redux::Xor;
  bool isFloat = d.type() == Type::F32, bitwise = op >= Redux::And;
  if ((isFloat && op != Redux::Min && op != Redux::Max) || (bitwise != (d.type() == Type::B32)) ||
      (!isFloat && (d.has("NaN") || d.has("abs")))) {
    d.error("expected an operation that exists for the type, but got another one");
    return;
  }
  d.inst.aux = unsigned(op) | (d.has("NaN") ? 8 : 0) | (d.has("abs") ? 16 : 0) |
               (isSignedType(d.type()) ? 32 : 0) | (isFloat ? 64 : 0);
  d.inst.exec = execRedux;
  d.inst.a = d.src(1, 32);
  d.inst.b = d.src(2, 32);
  d.inst.d = d.dst(0, 32);
  d.emit();
}

/// Which lane is elected is not promised, only that it depends on the mask
/// alone; the seed picks, so that code which assumes lane 0 is caught.
static Step execElect(Warp &w, const Inst &i, LaneMask m) {
  FA4_GATHER(i.a)
  if ((members & ~w.live) != 0 && (members & w.live) != group) {
    return w.fault(FaultId::ElectMask, i, group,
                   "expected the member mask to name executing lanes, but got others");
  }
  uint64_t h =
      (uint64_t(members) * 0x9e3779b97f4a7c15ull) ^ (w.grid->options.seed * 0xbf58476d1ce4e5b9ull);
  unsigned nth = (h >> 32) % __builtin_popcount(group);
  LaneMask left = group;
  for (unsigned k = 0; k < nth; ++k) {
    left &= left - 1;
  }
  uint32_t leader = __builtin_ctz(left);
  forLanes(w.out<uint32_t>(i.d), group, [=](unsigned) { return leader; });
  w.setPoison(i.d, group, 0);
  w.setPred(i.q, group, LaneMask(1) << leader);
  return Step::Next;
}

static void decodeElect(Decoder &d) {
  d.inst.exec = execElect;
  d.inst.a = d.src(1, 32);
  d.pairDst(0, 32, d.inst.d, d.inst.q);
  d.emit();
}

static Step execWarpSync(Warp &w, const Inst &i, LaneMask m) {
  FA4_GATHER(i.a)
  return Step::Next;
}

static void decodeWarpSync(Decoder &d) {
  d.inst.exec = execWarpSync;
  d.inst.a = d.src(0, 32);
  d.inst.flags |= SwitchPoint;
  d.emit();
}

void fa4::sim::addWarpOpcodes(OpcodeTable &t) {
  t.add({
      {"shfl.sync", "up|down|bfly|idx :b32", 5, 5, decodeShfl},
      {"vote.sync", "all|any|uni|ballot :pred|b32", 3, 3, decodeVote},
      {"match.sync", "any|all :b32|b64", 3, 3, decodeMatch},
      {"activemask", ":b32", 1, 1, decodeActivemask},
      {"redux.sync", "add|min|max|and|or|xor ^abs ^NaN :u32|s32|b32|^f32", 3, 3, decodeRedux},
      {"elect.sync", "", 2, 2, decodeElect},
      {"bar.warp.sync", "", 1, 1, decodeWarpSync},
  });
}
