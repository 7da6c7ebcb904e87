//===- OpsCarry.cpp - extended-precision arithmetic -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The carry flag is a thread's own and lives between instructions.
//
//===----------------------------------------------------------------------===//

#include "IntegerMath.h"
#include "Lanes.h"

using namespace llvm;
using namespace fa4::sim;

template <typename T, bool Subtract, bool UseCarry, bool SetCarry>
static Step execCarry(Warp &w, const Inst &i, LaneMask m) {
  const T *a = w.in<T>(i.a), *b = w.in<T>(i.b);
  T *d = w.out<T>(i.d);
  for (unsigned l = 0; l < warpLanes; ++l) {
    if (!(m >> l & 1)) {
      continue;
    }
    // Subtraction is a + ~b + 1; its carry flag is "no borrow" inverted, as in
    // the manual: the flag of sub.cc is the borrow.
    unsigned __int128 r;
    bool in = UseCarry && w.carry[l];
    if (Subtract) {
      r = (unsigned __int128)a[l] - b[l] - in;
    } else {
      r = (unsigned __int128)a[l] + b[l] + in;
    }
    d[l] = T(r);
    if (SetCarry) {
      w.carry[l] = (r >> (8 * sizeof(T))) & 1;
    }
  }
  setPoisonOf<T>(w, i.d, m, poisonOf<T>(w, i.a) | poisonOf<T>(w, i.b));
  return Step::Next;
}

template <bool Subtract, bool UseCarry>
static void decodeCarry(Decoder &d) {
  unsigned bits = bitWidth(d.type());
  bool set = d.has("cc");
  ExecFn exec;
  if (bits == 64) {
    exec = set ? execCarry<uint64_t, Subtract, UseCarry, true>
               : execCarry<uint64_t, Subtract, UseCarry, false>;
  } else {
    exec = set ? execCarry<uint32_t, Subtract, UseCarry, true>
               : execCarry<uint32_t, Subtract, UseCarry, false>;
  }
  decode2(d, exec, bits);
}

/// mad{c}.{lo,hi}.cc: the product, then the sum with the carry flag.
template <typename T, bool Hi, bool UseCarry, bool SetCarry>
static Step execMadCarry(Warp &w, const Inst &i, LaneMask m) {
  const Stored<T> *a = w.in<Stored<T>>(i.a), *b = w.in<Stored<T>>(i.b), *c = w.in<Stored<T>>(i.c);
  Stored<T> *d = w.out<Stored<T>>(i.d);
  for (unsigned l = 0; l < warpLanes; ++l) {
    if (!(m >> l & 1)) {
      continue;
    }
    T product = Hi ? MulHi::apply<T>(T(a[l]), T(b[l])) : MulLo::apply<T>(T(a[l]), T(b[l]));
    unsigned __int128 r =
        (unsigned __int128)Unsigned<T>(product) + c[l] + (UseCarry && w.carry[l] ? 1 : 0);
    d[l] = Stored<T>(r);
    if (SetCarry) {
      w.carry[l] = (r >> (8 * sizeof(T))) & 1;
    }
  }
  setPoisonOf<T>(w, i.d, m, poisonOf<T>(w, i.a) | poisonOf<T>(w, i.b) | poisonOf<T>(w, i.c));
  return Step::Next;
}

template <typename T, bool UseCarry, bool SetCarry>
static ExecFn madCarry(bool hi) {
  return hi ? execMadCarry<T, true, UseCarry, SetCarry>
            : execMadCarry<T, false, UseCarry, SetCarry>;
}

template <bool UseCarry>
static void decodeMadCarry(Decoder &d) {
  bool hi = d.has("hi"), set = d.has("cc");
  ExecFn exec = nullptr;
  switch (d.type()) {
  case Type::U32:
    exec = set ? madCarry<uint32_t, UseCarry, true>(hi) : madCarry<uint32_t, UseCarry, false>(hi);
    break;
  case Type::S32:
    exec = set ? madCarry<int32_t, UseCarry, true>(hi) : madCarry<int32_t, UseCarry, false>(hi);
    break;
  case Type::U64:
    exec = set ? madCarry<uint64_t, UseCarry, true>(hi) : madCarry<uint64_t, UseCarry, false>(hi);
    break;
  default:
    exec = set ? madCarry<int64_t, UseCarry, true>(hi) : madCarry<int64_t, UseCarry, false>(hi);
    break;
  }
  decode3(d, exec, bitWidth(d.type()));
}

void fa4::sim::addCarryOpcodes(OpcodeTable &t) {
  t.add({
      {"add.cc", ":u32|s32|u64|s64", 3, 3, decodeCarry<false, false>},
      {"addc", "cc :u32|s32|u64|s64", 3, 3, decodeCarry<false, true>},
      {"sub.cc", ":u32|s32|u64|s64", 3, 3, decodeCarry<true, false>},
      {"subc", "cc :u32|s32|u64|s64", 3, 3, decodeCarry<true, true>},
      {"mad.cc", "lo|hi :u32|s32|u64|s64", 4, 4, decodeMadCarry<false>},
      {"madc", "lo|hi cc :u32|s32|u64|s64", 4, 4, decodeMadCarry<true>},
  });
}
