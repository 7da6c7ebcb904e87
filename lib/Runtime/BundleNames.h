//===- BundleNames.h - spellings of a bundle's choices ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One table per enumeration, shared by reader and writer.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_RUNTIME_BUNDLENAMES_H
#define FA4_LIB_RUNTIME_BUNDLENAMES_H

#include "fa4/Runtime/Bundle.h"

namespace fa4::runtime {

template <typename Enum>
struct NamedValue {
  Enum value;
  llvm::StringLiteral name;
};

inline constexpr NamedValue<Access> kAccessNames[] = {
    {Access::Read, "read"}, {Access::Write, "write"}, {Access::ReadWrite, "read_write"}};
inline constexpr NamedValue<Swizzle> kSwizzleNames[] = {{Swizzle::None, "none"},
                                                        {Swizzle::Bytes32, "32"},
                                                        {Swizzle::Bytes64, "64"},
                                                        {Swizzle::Bytes128, "128"}};
inline constexpr NamedValue<L2Promotion> kPromotionNames[] = {{L2Promotion::None, "none"},
                                                              {L2Promotion::Bytes64, "64"},
                                                              {L2Promotion::Bytes128, "128"},
                                                              {L2Promotion::Bytes256, "256"}};
inline constexpr NamedValue<OutsideFill> kFillNames[] = {{OutsideFill::Zero, "zero"},
                                                         {OutsideFill::NaN, "nan"}};

template <typename Enum, size_t N>
llvm::StringRef nameOf(const NamedValue<Enum> (&table)[N], Enum value) {
  for (const NamedValue<Enum> &row : table) {
    if (row.value == value) {
      return row.name;
    }
  }
  return table[0].name;
}

} // namespace fa4::runtime

#endif // FA4_LIB_RUNTIME_BUNDLENAMES_H
