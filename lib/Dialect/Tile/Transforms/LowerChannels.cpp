//===- LowerChannels.cpp - tile-lower-channels ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every half of every channel becomes barriers (R0, R6), tokens become cursors and
// places. Set-up and tear-down are made here, because they know who uses tensor
// memory and which barriers there are.
//
//===----------------------------------------------------------------------===//

#include "BarrierPlacement.h"
#include "RoleLowering.h"

#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

namespace fa4::tile {
#define GEN_PASS_DEF_TILELOWERCHANNELS
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

static constexpr const char *kTmemUsers = "tmem_users";

namespace {

class LowerChannels : public fa4::tile::impl::TileLowerChannelsBase<LowerChannels> {
  void runOnOperation() override;
};

/// Set-up and tear-down of one kernel.
class KernelFrame {
public:
  explicit KernelFrame(KernelOp kernel) : kernel(kernel), builder(kernel.getContext()) {}
  LogicalResult build();

private:
  int64_t tmemColumns();
  bool usesTmem(RoleOp role, bool products);
  bool isPair() {
    return llvm::any_of(kernel.getBody().getOps<RoleOp>(),
                        [](RoleOp role) { return role.getCtas() != Ctas::Single; });
  }
  LogicalResult buildTmem(int64_t columns, Block &setup, Block &teardown);

  KernelOp kernel;
  OpBuilder builder;
};

} // namespace

/// Columns to allocate: PTX ISA, tcgen05.alloc takes powers of two.
int64_t KernelFrame::tmemColumns() {
  int64_t end = 0;
  for (auto alloc : kernel.getBody().getOps<PlacedAllocOp>()) {
    if (alloc.getSpace() == Space::Tmem) {
      end = std::max(end, alloc.getEnd());
    }
  }
  if (end == 0) {
    return 0;
  }
  int64_t granule = kernel.getTarget().getInfo().tmemAllocGranule;
  return static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(std::max(end, granule))));
}

/// Whether threads of `role` load or store tensor memory, or (`products`) whether its
/// matrix instructions do.
bool KernelFrame::usesTmem(RoleOp role, bool products) {
  auto inTmem = [&](FlatSymbolRefAttr name) {
    auto view = name ? SymbolTable::lookupNearestSymbolFrom<ViewOp>(role, name) : ViewOp();
    return view && view.getSpace() == Space::Tmem;
  };
  return role
      .walk([&](Operation *op) {
        bool uses = false;
        if (auto mma = dyn_cast<IssueMmaOp>(op)) {
          uses = products && inTmem(mma.getAccViewAttr());
        } else if (!products) {
          uses = TypeSwitch<Operation *, bool>(op)
                     .Case<ReadOp, WriteOp, RescaleOp>(
                         [&](auto access) { return inTmem(access.getViewAttr()); })
                     .Default([](Operation *) { return false; });
        }
        return uses ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

LogicalResult KernelFrame::buildTmem(int64_t columns, Block &setup, Block &teardown) {
  int64_t threadsPerWarp = kernel.getTarget().getInfo().threadsPerWarp;
  RoleOp allocating;
  // The allocating warp meets the users once they are done.
  int64_t threads = threadsPerWarp;
  SmallVector<RoleOp> users;
  for (auto role : kernel.getBody().getOps<RoleOp>()) {
    if (!allocating && usesTmem(role, /*products=*/true)) {
      allocating = role;
    } else if (usesTmem(role, /*products=*/false)) {
      threads += threadsPerWarp * static_cast<int64_t>(role.getWarps() * role.getReplicas());
      users.push_back(role);
    }
  }
  if (!allocating) {
    return kernel.emitOpError()
           << "expected a role with matrix products to allocate the tensor memory, but got none";
  }
  auto allocator = FlatSymbolRefAttr::get(kernel.getContext(), allocating.getSymName());
  auto met = FlatSymbolRefAttr::get(kernel.getContext(), kTmemUsers);
  NamedBarrierOp::create(builder, kernel.getLoc(), kTmemUsers, 1, 0, 0,
                         static_cast<uint64_t>(threads), /*per_warp=*/false);
  for (RoleOp role : users) {
    OpBuilder atEnd = OpBuilder::atBlockEnd(&role.getBody().front());
    if (isPair()) {
      // The whole pair meets before the allocating warp joins.
      NamedArriveOp::create(atEnd, role.getLoc(), met, Value(), IntegerAttr(), Value());
    } else {
      NamedSyncOp::create(atEnd, role.getLoc(), met, Value(), IntegerAttr(), Value());
    }
  }
  OpBuilder inSetup = OpBuilder::atBlockBegin(&setup);
  if (isPair()) {
    // Both CTAs allocate together: each waits until the other is there.
    ClusterSyncOp::create(inSetup, kernel.getLoc());
  }
  TmemAllocOp::create(inSetup, kernel.getLoc(), builder.getI64IntegerAttr(columns), allocator,
                      builder.getI64IntegerAttr(0));
  OpBuilder inTeardown = OpBuilder::atBlockEnd(&teardown);
  TmemFreeOp::create(inTeardown, kernel.getLoc(), builder.getI64IntegerAttr(columns), allocator,
                     met);
  return success();
}

LogicalResult KernelFrame::build() {
  auto roles = kernel.getBody().getOps<RoleOp>();
  if (roles.empty()) {
    return success();
  }
  builder.setInsertionPoint(*roles.begin());
  auto setup = SetupOp::create(builder, kernel.getLoc());
  OpBuilder inSetup(kernel.getContext());
  Block *block = inSetup.createBlock(&setup.getBody());
  builder.setInsertionPointToEnd(kernel.getEntry());
  int64_t columns = tmemColumns();
  Block *end = nullptr;
  if (columns > 0 || isPair()) {
    auto teardown = TeardownOp::create(builder, kernel.getLoc());
    OpBuilder inTeardown(kernel.getContext());
    end = inTeardown.createBlock(&teardown.getBody());
    if (isPair()) {
      // No CTA frees its half or ends while its peer may still use tensor memory or
      // arrive here.
      ClusterSyncOp::create(inTeardown, kernel.getLoc());
    }
  }
  // Nobody arrives at a peer's barrier before it is there.
  if (isPair()) {
    ClusterSyncOp::create(inSetup, kernel.getLoc());
  } else {
    RoleSyncOp::create(inSetup, kernel.getLoc());
  }
  builder.setInsertionPoint(setup);
  return columns == 0 ? success() : buildTmem(columns, *block, *end);
}

/// A role of one warp that starts engines runs on one lane; its waits are the warp's.
static void chooseOneLane(RoleOp role) {
  if (role.getWarps() != 1 || role.getReplicas() != 1) {
    return;
  }
  bool issues =
      role.walk([](Operation *op) {
            return isa<AsyncOpInterface>(op) ? WalkResult::interrupt() : WalkResult::advance();
          })
          .wasInterrupted();
  if (issues) {
    role.setOneLane(true);
  }
}

static void createBarriers(KernelOp kernel, const HalvesOfChannels &halves) {
  OpBuilder builder(kernel.getContext());
  for (auto &[op, both] : halves) {
    auto channel = cast<ChannelOp>(op);
    builder.setInsertionPoint(channel);
    for (const Half *half : {&both.full, &both.empty}) {
      if (!half->isNamed()) {
        BarrierOp::create(builder, channel.getLoc(), half->name, channel.getFamily(),
                          channel.getDepth(), static_cast<uint64_t>(half->count), 0);
        continue;
      }
      bool perWarp = half->by == Arrival::NamedPerWarp;
      uint64_t ids = channel.getFamily();
      if (perWarp) {
        auto end = cast<EndAttr>(channel.getFrom()[0]);
        ids *= SymbolTable::lookupNearestSymbolFrom<RoleOp>(channel, end.getRole()).getWarps();
      }
      NamedBarrierOp::create(builder, channel.getLoc(), half->name, channel.getFamily(), 0, ids - 1,
                             static_cast<uint64_t>(half->count), perWarp);
    }
  }
}

/// Slots are filled by who acquires them next.
static LogicalResult verifyStarts(ChannelOp channel) {
  for (auto end : channel.getFrom().getAsRange<EndAttr>()) {
    auto role = SymbolTable::lookupNearestSymbolFrom<RoleOp>(channel, end.getRole());
    WalkResult acquired = role.walk([&](AcquireOp acquire) {
      return channelOf(acquire) == channel ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (!acquired.wasInterrupted()) {
      return channel.emitOpError() << "expected the producer of slots that are full at the start "
                                      "to acquire some, but got none in '@"
                                   << role.getSymName() << "'";
    }
  }
  return success();
}

static LogicalResult lower(KernelOp kernel) {
  for (auto channel : kernel.getBody().getOps<ChannelOp>()) {
    if (fillsSlots(channel) && failed(verifyStarts(channel))) {
      return failure();
    }
  }
  FailureOr<HalvesOfChannels> halves = deriveHalves(kernel);
  if (failed(halves)) {
    return failure();
  }
  createBarriers(kernel, *halves);
  for (auto role : kernel.getBody().getOps<RoleOp>()) {
    chooseOneLane(role);
    FailureOr<CursorClasses> cursors = findCursorClasses(role, *halves);
    if (failed(cursors) || failed(RoleLowering(role, *halves, *cursors).run())) {
      return failure();
    }
  }
  for (ChannelOp channel : llvm::make_early_inc_range(kernel.getBody().getOps<ChannelOp>())) {
    channel.erase();
  }
  return success(succeeded(KernelFrame(kernel).build()) && succeeded(placeBarriers(kernel)));
}

void LowerChannels::runOnOperation() {
  KernelOp kernel = getOperation();
  if (kernel.getBody().getOps<RoleOp>().empty()) {
    return;
  }
  if (!kernel.getBody().getOps<AllocOp>().empty()) {
    kernel.emitOpError() << "expected memory to be placed before channels are lowered, but got "
                            "'tile.alloc'; run tile-place-smem and tile-place-tmem first";
    return signalPassFailure();
  }
  if (failed(lower(kernel))) {
    signalPassFailure();
  }
}
