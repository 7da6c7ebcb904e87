//===- IntegerMath.h - wrap-around arithmetic -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations as types, so that executors can be templates over them. All
// arithmetic is unsigned: wrap-around is defined on the host as it is in PTX.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_INTEGERMATH_H
#define FA4_LIB_SIMULATOR_INTEGERMATH_H

#include <cstdint>
#include <type_traits>

namespace fa4::sim {

template <typename T>
using Unsigned = std::make_unsigned_t<T>;
/// 16-bit operands promote to int; arithmetic is done in at least 32 unsigned bits.
template <typename T>
using Wide = std::conditional_t<(sizeof(T) < 4), uint32_t, Unsigned<T>>;

struct Add {
  template <typename T>
  static T apply(T a, T b) {
    return T(Wide<T>(a) + Wide<T>(b));
  }
};
struct Sub {
  template <typename T>
  static T apply(T a, T b) {
    return T(Wide<T>(a) - Wide<T>(b));
  }
};
struct MulLo {
  template <typename T>
  static T apply(T a, T b) {
    return T(Wide<T>(a) * Wide<T>(b));
  }
};
struct MulHi {
  template <typename T>
  static T apply(T a, T b) {
    if constexpr (sizeof(T) == 8) {
      using W = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
      return T((W(a) * W(b)) >> 64);
    } else {
      using W = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
      return T((W(a) * W(b)) >> (8 * sizeof(T)));
    }
  }
};

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_INTEGERMATH_H
