//===- Schedule.h - the plan of one kernel, as plain data -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `#fa4.schedule` stores exactly this struct. It has no IR in it, so that the
// planners judge a schedule without a context, and passes edit a copy and make
// a new attribute from it.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_FA4_IR_SCHEDULE_H
#define FA4_DIALECT_FA4_IR_SCHEDULE_H

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MathExtras.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fa4 {

/// S6's one padding rule, for kernels and scratch alike: head dims are padded
/// to the k extent of one 16-bit matrix instruction.
inline int64_t padHeadDim(int64_t headDim) {
  constexpr int64_t mmaK16Bit = 16; // PTX ISA, tcgen05.mma kind::f16 and wgmma .bf16: K = 16.
  return static_cast<int64_t>(llvm::alignTo(static_cast<uint64_t>(headDim), mmaK16Bit));
}

enum class Direction { Forward, Backward };

/// Who draws the next tile: a grid of resident CTAs with a fixed stride, one
/// cluster (or CTA) per tile, or a counter in memory.
enum class WorkKind { StaticPersistent, OnePerCluster, Dynamic };
enum class WorkOrder { InOrder, LongestFirst };

/// Where the result of a step lives between steps.
enum class HomeSpace { Smem, Tmem, Registers };

/// Which CTAs of a pair run a role; `Single` when the schedule has one CTA.
enum class RoleCtas { Single, Leader, Both };

enum class ChannelHalf { Full, Empty };
enum class ArrivalGrain { Thread, Warp, Lane };

/// A step as schedules name it: `softmax[0]`. Without an index it stands for
/// the one step of that name.
struct StepRef {
  std::string name;
  std::optional<int64_t> index;

  bool operator==(const StepRef &other) const { return name == other.name && index == other.index; }
};

/// `qk[0] at 1`: the step runs in pipeline stage 1, at its place in the list.
struct OrderEntry {
  StepRef step;
  int64_t stage = 0;

  bool operator==(const OrderEntry &other) const {
    return step == other.step && stage == other.stage;
  }
};

/// `softmax.0 = tmem @sp_mem column 64 as pa`: the home of one result of a step.
struct Home {
  std::string step;
  /// The result's number; absent: the step's only result.
  std::optional<int64_t> result;
  HomeSpace space = HomeSpace::Registers;
  /// The allocation; empty for registers. Equal names mean intended aliasing.
  std::string allocation;
  /// Slots of a ring.
  int64_t slots = 1;
  /// First column inside a tensor-memory allocation.
  std::optional<int64_t> column;
  /// What the result is called: its view and channel, and the clauses that speak
  /// of them, take this name. Empty: that of its step.
  std::string name = {};

  bool operator==(const Home &other) const;
};

/// `softmax = {softmax} warps 4 x 2 at 0 regs 192`.
struct Role {
  std::string name;
  /// Steps by name; `load_*` names every step that starts with `load_`.
  std::vector<std::string> steps;
  int64_t warps = 1;
  int64_t replicas = 1;
  int64_t firstWarp = 0;
  /// Registers per thread while the role runs; absent: the launch's share.
  std::optional<int64_t> registers;
  RoleCtas ctas = RoleCtas::Single;

  bool operator==(const Role &other) const;
  bool runs(llvm::StringRef step) const;
  int64_t endWarp() const { return firstWarp + warps * replicas; }
};

/// Which columns take the polynomial exp2: column q does iff its chunk of 32,
/// q / 32, lies in [firstChunk, lastChunk] and q mod period >= period - last.
struct Exp2Share {
  int64_t degree = 3;
  int64_t period = 1;
  int64_t last = 1;
  int64_t firstChunk = 0;
  int64_t lastChunk = 0;

  bool operator==(const Exp2Share &other) const;
};

/// `pb.full = warp`.
struct GrainEntry {
  std::string channel;
  ChannelHalf half = ChannelHalf::Full;
  ArrivalGrain grain = ArrivalGrain::Thread;

  bool operator==(const GrainEntry &other) const {
    return channel == other.channel && half == other.half && grain == other.grain;
  }
};

/// `alpha.full = named per_warp`: that half is a named barrier.
struct ViaEntry {
  std::string channel;
  ChannelHalf half = ChannelHalf::Full;
  bool perWarp = false;

  bool operator==(const ViaEntry &other) const {
    return channel == other.channel && half == other.half && perWarp == other.perWarp;
  }
};

/// The clauses that a schedule may leave to the planner.
enum class Clause : uint32_t {
  Stages = 1 << 0,
  Ctas = 1 << 1,
  Work = 1 << 2,
  Order = 1 << 3,
  Homes = 1 << 4,
  Roles = 1 << 5,
  SplitP = 1 << 6,
  Rescale = 1 << 7,
  Exp2 = 1 << 8,
  Grain = 1 << 9,
  Via = 1 << 10,
  EarlyAcquire = 1 << 11,
  Stagger = 1 << 12,
  Turn = 1 << 13,
};
inline constexpr uint32_t kAllClauses = (1 << 14) - 1;

struct Schedule {
  Direction direction = Direction::Forward;
  /// Query rows of one stage and keys of one block.
  int64_t tileRows = 0;
  int64_t tileColumns = 0;
  int64_t stages = 1;
  int64_t ctas = 1;
  WorkKind work = WorkKind::StaticPersistent;
  WorkOrder workOrder = WorkOrder::InOrder;
  std::vector<OrderEntry> order;
  std::vector<Home> homes;
  std::vector<Role> roles;
  /// Columns of P handed over together; empty: P in one part.
  std::vector<int64_t> splitP;
  /// A row that lags by at most this much (log2) keeps its old maximum.
  std::optional<double> rescaleLog2Threshold;
  std::optional<Exp2Share> exp2;
  std::vector<GrainEntry> grain;
  std::vector<ViaEntry> via;
  std::vector<std::string> earlyAcquire;
  std::vector<std::string> stagger;
  /// Steps between which the replicas of a role take turns.
  std::vector<std::string> turn;
  std::optional<int64_t> reduceColumns;
  std::optional<int64_t> reduceDepth;
  /// The clauses that nobody stated: their members have their defaults until
  /// `completeForward` plans them.
  uint32_t open = 0;

  bool isOpen(Clause clause) const { return (open & static_cast<uint32_t>(clause)) != 0; }
  /// States order, homes and roles: whatever else it leaves out is off.
  bool isWhole() const { return !order.empty() && !homes.empty() && !roles.empty(); }
  bool operator==(const Schedule &other) const;

  /// The query rows of one CTA's tile.
  int64_t ctaRows() const { return tileRows * stages; }
  /// The largest pipeline stage of `order`.
  int64_t maxPipelineStage() const;
  const OrderEntry *findStep(llvm::StringRef name, std::optional<int64_t> index) const;
  const Home *findHome(llvm::StringRef step, std::optional<int64_t> result) const;
  const Role *findRoleOf(llvm::StringRef step) const;
};

llvm::hash_code hash_value(const Schedule &schedule);

} // namespace fa4

#endif // FA4_DIALECT_FA4_IR_SCHEDULE_H
