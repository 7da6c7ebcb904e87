//===- ScheduleSyntax.h - words of #fa4.schedule --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one table per enum that the parser and the printer of schedules share.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_FA4_IR_SCHEDULESYNTAX_H
#define FA4_LIB_DIALECT_FA4_IR_SCHEDULESYNTAX_H

#include "fa4/Dialect/FA4/IR/Schedule.h"
#include "llvm/ADT/StringRef.h"

#include <cstddef>

namespace fa4 {

template <class Enum>
struct EnumName {
  Enum value;
  llvm::StringLiteral name;
};

inline constexpr EnumName<Direction> directionNames[] = {{Direction::Forward, "forward"},
                                                         {Direction::Backward, "backward"}};
inline constexpr EnumName<WorkKind> workNames[] = {
    {WorkKind::StaticPersistent, "static_persistent"},
    {WorkKind::OnePerCluster, "one_per_cluster"},
    {WorkKind::Dynamic, "dynamic"}};
inline constexpr EnumName<WorkOrder> workOrderNames[] = {
    {WorkOrder::InOrder, "in_order"}, {WorkOrder::LongestFirst, "longest_first"}};
inline constexpr EnumName<HomeSpace> homeNames[] = {
    {HomeSpace::Smem, "smem"}, {HomeSpace::Tmem, "tmem"}, {HomeSpace::Registers, "registers"}};
/// `RoleCtas::Single` has no word: it is the absence of the clause.
inline constexpr EnumName<RoleCtas> roleCtaNames[] = {{RoleCtas::Leader, "leader"},
                                                      {RoleCtas::Both, "both"}};
inline constexpr EnumName<ChannelHalf> halfNames[] = {{ChannelHalf::Full, "full"},
                                                      {ChannelHalf::Empty, "empty"}};
inline constexpr EnumName<ArrivalGrain> grainNames[] = {
    {ArrivalGrain::Thread, "thread"}, {ArrivalGrain::Warp, "warp"}, {ArrivalGrain::Lane, "lane"}};

template <class Enum, size_t N>
llvm::StringRef nameOf(Enum value, const EnumName<Enum> (&names)[N]) {
  for (const EnumName<Enum> &entry : names) {
    if (entry.value == value) {
      return entry.name;
    }
  }
  return {};
}

} // namespace fa4

#endif // FA4_LIB_DIALECT_FA4_IR_SCHEDULESYNTAX_H
