//===- Lanes.h - loops over the 32 lanes of a warp --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Templates from which families build executors: they read operands, apply a
// scalar function per lane, write active lanes only and carry poison along. With
// all lanes active the loops have no branches, so the host compiler vectorises.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_LANES_H
#define FA4_LIB_SIMULATOR_LANES_H

#include "Machine.h"
#include "Opcodes.h"

#include <type_traits>

/// Lanes are independent: a destination is either the same register as a source,
/// lane for lane, or a different one.
#if defined(__clang__)
#define FA4_LANE_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define FA4_LANE_LOOP _Pragma("GCC ivdep")
#endif

namespace fa4::sim {

/// How a value of T lies in a register: integers below 32 bits occupy the low
/// part of a 32-bit lane, zero-extended.
template <typename T>
struct LaneStorage {
  using Type = std::conditional_t<std::is_floating_point_v<T>, T,
                                  std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>>;
  static T get(const Type *p, unsigned lane) { return T(p[lane]); }
  static Type put(T v) {
    if constexpr (std::is_floating_point_v<T>) {
      return v;
    } else {
      return std::make_unsigned_t<T>(v);
    }
  }
};

template <typename T>
using Stored = typename LaneStorage<T>::Type;

template <typename T>
LaneMask poisonOf(const Warp &w, Reg r) {
  return sizeof(Stored<T>) == 8 ? w.poisonWide(r) : w.poisonIn(r);
}
template <typename T>
void setPoisonOf(Warp &w, Reg r, LaneMask lanes, LaneMask value) {
  w.setPoison(r, lanes, value);
  if (sizeof(Stored<T>) == 8) {
    w.setPoison(r + slotBytes, lanes, value);
  }
}

/// d[l] = f(l) for active lanes.
template <typename T, typename F>
inline void forLanes(T *d, LaneMask lanes, F f) {
  if (__builtin_expect(lanes == allLanes, 1)) {
    FA4_LANE_LOOP
    for (unsigned l = 0; l < warpLanes; ++l) {
      d[l] = f(l);
    }
  } else {
    for (unsigned l = 0; l < warpLanes; ++l) {
      if (lanes >> l & 1) {
        d[l] = f(l);
      }
    }
  }
}

/// A mask of lanes for which f holds.
template <typename F>
inline LaneMask maskLanes(F f) {
  LaneMask m = 0;
  for (unsigned l = 0; l < warpLanes; ++l) {
    m |= LaneMask(f(l) ? 1 : 0) << l;
  }
  return m;
}

template <typename D, typename A, D (*Fn)(A)>
Step exec1(Warp &w, const Inst &i, LaneMask m) {
  const Stored<A> *a = w.in<Stored<A>>(i.a);
  forLanes(w.out<Stored<D>>(i.d), m,
           [=](unsigned l) { return LaneStorage<D>::put(Fn(LaneStorage<A>::get(a, l))); });
  setPoisonOf<D>(w, i.d, m, poisonOf<A>(w, i.a));
  return Step::Next;
}

template <typename D, typename A, typename B, D (*Fn)(A, B)>
Step exec2(Warp &w, const Inst &i, LaneMask m) {
  const Stored<A> *a = w.in<Stored<A>>(i.a);
  const Stored<B> *b = w.in<Stored<B>>(i.b);
  forLanes(w.out<Stored<D>>(i.d), m, [=](unsigned l) {
    return LaneStorage<D>::put(Fn(LaneStorage<A>::get(a, l), LaneStorage<B>::get(b, l)));
  });
  setPoisonOf<D>(w, i.d, m, poisonOf<A>(w, i.a) | poisonOf<B>(w, i.b));
  return Step::Next;
}

template <typename D, typename A, typename B, typename C, D (*Fn)(A, B, C)>
Step exec3(Warp &w, const Inst &i, LaneMask m) {
  const Stored<A> *a = w.in<Stored<A>>(i.a);
  const Stored<B> *b = w.in<Stored<B>>(i.b);
  const Stored<C> *c = w.in<Stored<C>>(i.c);
  forLanes(w.out<Stored<D>>(i.d), m, [=](unsigned l) {
    return LaneStorage<D>::put(
        Fn(LaneStorage<A>::get(a, l), LaneStorage<B>::get(b, l), LaneStorage<C>::get(c, l)));
  });
  setPoisonOf<D>(w, i.d, m, poisonOf<A>(w, i.a) | poisonOf<B>(w, i.b) | poisonOf<C>(w, i.c));
  return Step::Next;
}

/// Two packed f32 per 64-bit lane: element 0 is the low word, and each half has
/// its own poison.
template <float (*Fn)(float, float)>
Step execPacked2(Warp &w, const Inst &i, LaneMask m) {
  const float *a = w.in<float>(i.a), *b = w.in<float>(i.b);
  float *d = w.out<float>(i.d);
  if (m == allLanes) {
    FA4_LANE_LOOP
    for (unsigned l = 0; l < 2 * warpLanes; ++l) {
      d[l] = Fn(a[l], b[l]);
    }
  } else {
    for (unsigned l = 0; l < 2 * warpLanes; ++l) {
      if (m >> (l / 2) & 1) {
        d[l] = Fn(a[l], b[l]);
      }
    }
  }
  for (int half = 0; half < 2; ++half) {
    int32_t o = half * slotBytes;
    LaneMask pa = i.a >= 0 ? w.poisonIn(i.a + o) : 0, pb = i.b >= 0 ? w.poisonIn(i.b + o) : 0;
    w.setPoison(i.d + o, m, pa | pb);
  }
  return Step::Next;
}

template <float (*Fn)(float, float, float)>
Step execPacked3(Warp &w, const Inst &i, LaneMask m) {
  const float *a = w.in<float>(i.a), *b = w.in<float>(i.b), *c = w.in<float>(i.c);
  float *d = w.out<float>(i.d);
  if (m == allLanes) {
    FA4_LANE_LOOP
    for (unsigned l = 0; l < 2 * warpLanes; ++l) {
      d[l] = Fn(a[l], b[l], c[l]);
    }
  } else {
    for (unsigned l = 0; l < 2 * warpLanes; ++l) {
      if (m >> (l / 2) & 1) {
        d[l] = Fn(a[l], b[l], c[l]);
      }
    }
  }
  for (int half = 0; half < 2; ++half) {
    int32_t o = half * slotBytes;
    LaneMask pa = i.a >= 0 ? w.poisonIn(i.a + o) : 0, pb = i.b >= 0 ? w.poisonIn(i.b + o) : 0;
    LaneMask pc = i.c >= 0 ? w.poisonIn(i.c + o) : 0;
    w.setPoison(i.d + o, m, pa | pb | pc);
  }
  return Step::Next;
}

/// A predicate into a predicate, as it is or inverted.
inline Step execPredicateCopy(Warp &w, const Inst &i, LaneMask m) {
  w.setPred(i.q, m, i.aux ? ~w.preds[i.p] : w.preds[i.p], w.predPoison[i.p]);
  return Step::Next;
}
inline void decodePredicateCopy(Decoder &d, bool invert) {
  bool negated = false;
  d.inst.exec = execPredicateCopy;
  d.inst.p = d.predSrc(1, &negated);
  d.inst.aux = negated != invert;
  d.inst.q = d.predDst(0);
  d.emit();
}

/// Decode helpers: destination and sources of one width each.
inline void decode1(Decoder &d, ExecFn exec, unsigned dstBits, unsigned srcBits) {
  d.inst.exec = exec;
  d.inst.a = d.src(1, srcBits);
  d.inst.d = d.dst(0, dstBits);
  d.emit();
}
inline void decode2(Decoder &d, ExecFn exec, unsigned bits) {
  d.inst.exec = exec;
  d.inst.a = d.src(1, bits);
  d.inst.b = d.src(2, bits);
  d.inst.d = d.dst(0, bits);
  d.emit();
}
inline void decode3(Decoder &d, ExecFn exec, unsigned bits) {
  d.inst.exec = exec;
  d.inst.a = d.src(1, bits);
  d.inst.b = d.src(2, bits);
  d.inst.c = d.src(3, bits);
  d.inst.d = d.dst(0, bits);
  d.emit();
}

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_LANES_H
