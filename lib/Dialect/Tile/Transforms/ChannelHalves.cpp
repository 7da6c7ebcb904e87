//===- ChannelHalves.cpp - what a channel becomes -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rules R0 and R6: generation g of a channel of depth d uses barrier g mod d of a
// half; its phase is complete when every arriver has arrived.
//
//===----------------------------------------------------------------------===//

#include "ChannelHalves.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

Operation *fa4::tile::tokenOrigin(Value token) {
  while (true) {
    if (auto argument = dyn_cast<BlockArgument>(token)) {
      Operation *parent = argument.getOwner()->getParentOp();
      if (auto loop = dyn_cast<scf::ForOp>(parent)) {
        token = loop.getTiedLoopInit(argument)->get();
        continue;
      }
      if (auto tiles = dyn_cast<ForEachTileOp>(parent)) {
        token = tiles.getInits()[argument.getArgNumber() - tiles.getNumTileArgs()];
        continue;
      }
      return nullptr;
    }
    Operation *op = token.getDefiningOp();
    unsigned number = cast<OpResult>(token).getResultNumber();
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      token = loop.getInits()[number];
    } else if (auto tiles = dyn_cast<ForEachTileOp>(op)) {
      token = tiles.getInits()[number];
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      token = branch.thenYield().getOperand(number);
    } else {
      return isa<AcquireOp, WaitOp>(op) ? op : nullptr;
    }
  }
}

ChannelOp fa4::tile::channelOf(Operation *op) {
  FlatSymbolRefAttr name =
      TypeSwitch<Operation *, FlatSymbolRefAttr>(op)
          .Case<AcquireOp, WaitOp, SettleOp>([](auto use) { return use.getChannelAttr(); })
          .Default([](Operation *) { return FlatSymbolRefAttr(); });
  return name ? SymbolTable::lookupNearestSymbolFrom<ChannelOp>(op, name) : ChannelOp();
}

namespace {

/// How the ends of tokens on one half arrive, so far.
struct Ends {
  std::optional<Arrival> by;
  Operation *first = nullptr;
  /// Copies signal: their bytes are announced once.
  bool copies = false;
};

class HalfDeriver {
public:
  explicit HalfDeriver(KernelOp kernel)
      : kernel(kernel), threadsPerWarp(kernel.getTarget().getInfo().threadsPerWarp) {}
  FailureOr<HalvesOfChannels> derive();

private:
  LogicalResult addEnd(Operation *op, Value token, ValueRange after, bool all);
  int64_t arrivals(ChannelOp channel, ArrayAttr ends, Arrival by);
  int64_t arrivalsAt(const Half &half, ChannelOp channel, ArrayAttr ends, bool fromEngine);
  bool isAtLeader(ChannelOp channel, ArrayAttr waiters);
  LogicalResult checkNamed(ChannelOp channel, const Half &full);

  KernelOp kernel;
  int64_t threadsPerWarp;
  /// By channel: the full half, then the empty one.
  DenseMap<Operation *, std::array<Ends, 2>> ends;
};

} // namespace

LogicalResult HalfDeriver::addEnd(Operation *op, Value token, ValueRange after, bool all) {
  Operation *origin = tokenOrigin(token);
  ChannelOp channel = origin ? channelOf(origin) : ChannelOp();
  if (!channel) {
    return op->emitOpError() << "expected a token that came from an acquire or a wait";
  }
  bool full = isa<CommitOp>(op);
  std::optional<Arrival> grain = full ? channel.getFull() : channel.getEmpty();
  Arrival by = after.empty() && !all ? grain.value_or(Arrival::Thread) : Arrival::Lane;
  Ends &half = ends[channel][full ? 0 : 1];
  half.copies |= llvm::any_of(after, [](Value async) {
    auto starter = async.getDefiningOp<AsyncOpInterface>();
    return starter && starter.getEngine() != Engine::Mma && starter.getEngine() != Engine::Store;
  });
  if (!half.by) {
    half.by = by;
    half.first = op;
  } else if (*half.by != by) {
    InFlightDiagnostic diag = op->emitOpError()
                              << "expected all " << (full ? "commits" : "releases") << " on '@"
                              << channel.getSymName()
                              << "' to arrive alike, but got an engine here and threads elsewhere";
    diag.attachNote(half.first->getLoc()) << "the first one is here";
    return diag;
  }
  return success();
}

int64_t HalfDeriver::arrivals(ChannelOp channel, ArrayAttr roles, Arrival by) {
  int64_t sum = 0;
  for (auto end : roles.getAsRange<EndAttr>()) {
    auto role = SymbolTable::lookupNearestSymbolFrom<RoleOp>(channel, end.getRole());
    auto warps = static_cast<int64_t>(role.getWarps());
    int64_t each = by == Arrival::Lane ? 1 : by == Arrival::Warp ? warps : warps * threadsPerWarp;
    sum += each * (end.getTie() == Tie::All ? static_cast<int64_t>(role.getReplicas()) : 1);
  }
  return sum;
}

bool HalfDeriver::isAtLeader(ChannelOp channel, ArrayAttr waiters) {
  return llvm::all_of(waiters.getAsRange<EndAttr>(), [&](EndAttr end) {
    auto role = SymbolTable::lookupNearestSymbolFrom<RoleOp>(channel, end.getRole());
    return role.getCtas() == Ctas::Leader;
  });
}

/// Roles that run in both CTAs arrive at the leader's barrier from both; but the
/// leader alone announces the bytes of both.
int64_t HalfDeriver::arrivalsAt(const Half &half, ChannelOp channel, ArrayAttr roles,
                                bool fromEngine) {
  int64_t sum = 0;
  for (Attribute attribute : roles) {
    auto end = cast<EndAttr>(attribute);
    auto role = SymbolTable::lookupNearestSymbolFrom<RoleOp>(channel, end.getRole());
    bool twice = half.isAtLeader && role.getCtas() == Ctas::Both && !fromEngine;
    sum += (twice ? 2 : 1) * arrivals(channel, ArrayAttr::get(roles.getContext(), end), half.by);
  }
  return sum;
}

// R6: a named barrier has one phase, which its own meeting completes.
LogicalResult HalfDeriver::checkNamed(ChannelOp channel, const Half &full) {
  if (channel.getDepth() != 1) {
    return channel.emitOpError() << "expected depth 1 of a channel by named barrier, but got "
                                 << channel.getDepth();
  }
  std::optional<uint64_t> warps;
  for (ArrayAttr side : {channel.getFrom(), channel.getTo()}) {
    for (auto end : side.getAsRange<EndAttr>()) {
      auto role = SymbolTable::lookupNearestSymbolFrom<RoleOp>(channel, end.getRole());
      if (role.getCtas() == Ctas::Leader) {
        return channel.emitOpError() << "expected a named barrier to join roles of one CTA, but "
                                        "got '@"
                                     << role.getSymName() << "' of a pair's leader";
      }
      if (full.by == Arrival::NamedPerWarp && warps && *warps != role.getWarps()) {
        return channel.emitOpError()
               << "expected as many warps at both ends of a named barrier per warp, but got "
               << *warps << " and " << role.getWarps();
      }
      warps = role.getWarps();
    }
  }
  return success();
}

FailureOr<HalvesOfChannels> HalfDeriver::derive() {
  WalkResult walk = kernel.walk([&](Operation *op) {
    LogicalResult added = success();
    if (auto commit = dyn_cast<CommitOp>(op)) {
      added = addEnd(op, commit.getToken(), commit.getAfter(), commit.getAfterAll());
    } else if (auto release = dyn_cast<ReleaseOp>(op)) {
      added = addEnd(op, release.getToken(), release.getAfter(), release.getAfterAll());
    }
    return WalkResult(added);
  });
  if (walk.wasInterrupted()) {
    return failure();
  }
  HalvesOfChannels halves;
  for (auto channel : kernel.getBody().getOps<ChannelOp>()) {
    auto [full, empty] = ends[channel];
    Halves &both = halves[channel];
    both.full = {(channel.getSymName() + ".full").str(), full.by.value_or(Arrival::Thread), 0};
    both.empty = {(channel.getSymName() + ".empty").str(), empty.by.value_or(Arrival::Thread), 0};
    if (both.empty.isNamed()) {
      return channel.emitOpError()
             << "expected releases to arrive at an mbarrier, but got a named barrier";
    }
    if (both.full.by == Arrival::Peer || both.empty.by == Arrival::Peer) {
      return channel.emitOpError() << "expected hand-overs inside a CTA, but got one to its peer";
    }
    both.full.isAtLeader = isAtLeader(channel, channel.getTo());
    both.empty.isAtLeader = isAtLeader(channel, channel.getFrom());
    both.full.count = arrivalsAt(both.full, channel, channel.getFrom(), full.copies);
    both.empty.count = arrivalsAt(both.empty, channel, channel.getTo(), empty.copies);
    if (both.full.isNamed()) {
      if (failed(checkNamed(channel, both.full))) {
        return failure();
      }
      int64_t arriving = arrivals(channel, channel.getFrom(), Arrival::Thread);
      int64_t waiting = arrivals(channel, channel.getTo(), Arrival::Thread);
      both.full.count =
          both.full.by == Arrival::NamedPerWarp ? 2 * threadsPerWarp : arriving + waiting;
    }
  }
  return halves;
}

FailureOr<HalvesOfChannels> fa4::tile::deriveHalves(KernelOp kernel) {
  return HalfDeriver(kernel).derive();
}
