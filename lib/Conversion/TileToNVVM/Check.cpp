//===- Check.cpp - what has a lowering ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Said before anything is rewritten, where the op stands, with a way out.
//
//===----------------------------------------------------------------------===//

#include "Descriptors.h"
#include "Frame.h"
#include "ThreadLayout.h"

#include "fa4/Dialect/Tile/Analysis/TileLoops.h"
#include "fa4/Dialect/Tile/Transforms/VerifyPlaced.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;
using namespace fa4::tile::gpu;

//===----------------------------------------------------------------------===//
// The kernel as a whole
//===----------------------------------------------------------------------===//

static LogicalResult checkLaunch(KernelOp kernel) {
  const Schedule &plan = kernel.getSchedule().getPlan();
  if (plan.work == WorkKind::Dynamic && plan.ctas != 1) {
    return kernel.emitOpError()
           << "expected dynamic work to be that of single CTAs, but got ctas = " << plan.ctas;
  }
  if (failed(verifyTileLoops(kernel))) {
    return failure();
  }
  for (BlockArgument argument : kernel.getEntry()->getArguments()) {
    Type type = argument.getType();
    if (!isa<GlobalType, FloatType>(type) && !(isa<IntegerType>(type))) {
      return kernel.emitOpError()
             << "expected arguments to be globals, floats or integers, but got " << type;
    }
  }
  bool inits = false, meets = false;
  for (auto setup : kernel.getBody().getOps<SetupOp>()) {
    for (Operation &op : setup.getBody().getOps()) {
      if (auto fence = dyn_cast<FenceOp>(op)) {
        if (fence.getKinds() != FenceKind::Init) {
          return fence.emitOpError() << "expected a fence in set-up to be [init], but got "
                                     << stringifyFenceKind(fence.getKinds());
        }
        inits = true;
      } else if (isa<RoleSyncOp, ClusterSyncOp>(op)) {
        meets |= inits && isa<ClusterSyncOp>(op) == (plan.ctas == 2);
      }
    }
  }
  if (!kernel.getBody().getOps<BarrierOp>().empty() && !meets) {
    return kernel.emitOpError() << "expected set-up to fence [init] and then to meet, so that all "
                                   "warps see the barriers, but got "
                                << (!inits           ? "no fence"
                                    : plan.ctas == 2 ? "no cluster_sync"
                                                     : "no role_sync");
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

/// Registers change hands by warpgroups: its roles have one budget, and idle
/// warps count.
static LogicalResult checkRoles(KernelOp kernel) {
  if (kernel.getBody().getOps<RoleOp>().empty()) {
    return kernel.emitOpError() << "expected a role, but got none";
  }
  const TargetInfo &target = kernel.getTarget().getInfo();
  int64_t threads = countThreads(kernel);
  if (threads > target.maxThreadsPerCta) {
    return kernel.emitOpError() << "expected roles to fit " << target.maxThreadsPerCta
                                << " threads in whole warpgroups, but got " << threads;
  }
  SmallVector<RoleOp> owners(threads / target.threadsPerWarp / kWarpsPerWarpgroup);
  int64_t syncing = 0;
  for (auto role : kernel.getBody().getOps<RoleOp>()) {
    auto first = static_cast<int64_t>(*role.getFirstWarp());
    int64_t last = first + static_cast<int64_t>(role.getWarps() * role.getReplicas()) - 1;
    for (int64_t group = first / kWarpsPerWarpgroup; group <= last / kWarpsPerWarpgroup; ++group) {
      RoleOp &owner = owners[group];
      if (owner && owner.getRegs() != role.getRegs()) {
        InFlightDiagnostic diag = role.emitOpError()
                                  << "expected roles that share a warpgroup to have equal "
                                     "registers, but got "
                                  << *role.getRegs() << " and " << *owner.getRegs();
        diag.attachNote(owner.getLoc()) << "the other role is here";
        return diag;
      }
      owner = role;
    }
    int64_t ctas = kernel.getSchedule().getPlan().ctas;
    if ((role.getCtas() == Ctas::Single) != (ctas == 1)) {
      return role.emitOpError() << "expected a role of " << (ctas == 1 ? "single CTAs" : "a pair")
                                << ", as ctas = " << ctas << " in the schedule, but got ctas("
                                << stringifyCtas(role.getCtas()) << ")";
    }
    bool syncs = role.walk([](RoleSyncOp) { return WalkResult::interrupt(); }).wasInterrupted();
    syncing += syncs && role.getWarps() > 1 ? static_cast<int64_t>(role.getReplicas()) : 0;
  }
  int64_t registers = 0;
  for (RoleOp owner : owners) {
    int64_t budget = owner ? static_cast<int64_t>(*owner.getRegs()) : target.minRoleRegisters;
    registers += budget * kWarpsPerWarpgroup * target.threadsPerWarp;
  }
  if (registers > target.registersPerSm) {
    return kernel.emitOpError() << "expected roles and idle warps of their warpgroups to take at "
                                   "most "
                                << target.registersPerSm << " registers, but got " << registers;
  }
  int64_t taken = 1; // set-up meets at barrier 0
  for (auto named : kernel.getBody().getOps<NamedBarrierOp>()) {
    taken += static_cast<int64_t>(named.getLast()) - static_cast<int64_t>(named.getFirst()) + 1;
  }
  if (taken + syncing > target.namedBarriers) {
    return kernel.emitOpError() << "expected named barriers and meetings of roles to need at most "
                                << target.namedBarriers << " barriers, but got " << taken + syncing;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Copies and products
//===----------------------------------------------------------------------===//

static LogicalResult checkCopy(Operation *op, ViewOp view, GlobalType global) {
  constexpr int64_t maxRank = 5, maxBox = 256, granule = 16; // CUDA driver API, cuTensorMapEncode
  auto layout = dyn_cast<SmemLayoutAttr>(view.getLayout());
  if (!layout) {
    return op->emitOpError() << "expected a tensor copy to have its view in smem, but got "
                             << view.getLayout();
  }
  int64_t bits = global.getElementType().getIntOrFloatBitWidth();
  if (bits % 8 != 0) {
    return op->emitOpError() << "expected elements of a tensor copy to be whole bytes, but got "
                             << global.getElementType();
  }
  SmallVector<int64_t> dims = global.getTileDims();
  if (dims.empty() || dims.back() != global.getRank() - 1) {
    return op->emitOpError() << "expected the tensor's innermost dimension to be the tile's in a "
                                "tensor copy, but got "
                             << global << "; transpose the tensor";
  }
  if (global.getRank() > maxRank) {
    return op->emitOpError() << "expected a tensor copy to have at most " << maxRank
                             << " dimensions, but got " << global.getRank();
  }
  int64_t rowBytes = global.getBox().back() * bits / 8;
  int64_t multiple = layout.getSwizzle() == 0 ? granule : layout.getSwizzle();
  if (rowBytes % multiple != 0) {
    return op->emitOpError() << "expected rows of a tensor copy to be a multiple of " << multiple
                             << " bytes, but got " << rowBytes;
  }
  for (int64_t extent : tensorBoxOf(view, global).box) {
    if (extent > maxBox) {
      return op->emitOpError() << "expected a box of a tensor copy to have at most " << maxBox
                               << " elements per dimension, but got " << extent;
    }
  }
  return success();
}

/// An operand in shared memory, of which whole instructions can be cut.
static LogicalResult checkOperand(IssueMmaOp op, ViewOp view, StringRef name) {
  const TargetInfo &target = op->getParentOfType<KernelOp>().getTarget().getInfo();
  FragType tile = view.getTileType();
  if (!isMmaOperandType(tile.getElementType())) {
    return op.emitOpError() << "expected '" << name
                            << "' to be f16, bf16, f8E4M3FN or f8E5M2, but got "
                            << tile.getElementType();
  }
  int64_t elementBytes = tile.getElementType().getIntOrFloatBitWidth() / 8;
  auto layout = dyn_cast<SmemLayoutAttr>(view.getLayout());
  bool mnMajor = layout && layout.getMajor() == Major::MnMajor;
  if (layout &&
      (layout.getSwizzle() == 0 || tile.getColumns() * elementBytes % layout.getSwizzle() != 0)) {
    return op.emitOpError() << "expected rows of '" << name
                            << "' to be whole panels of its swizzle, but got "
                            << tile.getColumns() * elementBytes << " bytes and "
                            << layout.getSwizzle();
  }
  if (mnMajor && elementBytes != 2) {
    return op.emitOpError() << "expected an mn_major '" << name
                            << "' to have elements of 16 bits, but got " << tile.getElementType();
  }
  int64_t innerBytes = (mnMajor ? tile.getRows() : tile.getColumns()) * elementBytes;
  if (innerBytes % target.mmaKBytes != 0) {
    return op.emitOpError() << "expected the inner extent of '" << name << "' to be a multiple of "
                            << target.mmaKBytes << " bytes, but got " << innerBytes;
  }
  return success();
}

/// What both machines ask of the accumulator's extents and of two operands' types.
static LogicalResult checkExtents(IssueMmaOp op, FragType acc, Type a, Type b) {
  const TargetInfo &target = op->getParentOfType<KernelOp>().getTarget().getInfo();
  if (a.getIntOrFloatBitWidth() != b.getIntOrFloatBitWidth()) {
    return op.emitOpError() << "expected operands of one width, but got " << a << " and " << b;
  }
  if (acc.getColumns() > target.mmaMaxColumns || acc.getColumns() % target.mmaColumnStep != 0) {
    return op.emitOpError() << "expected the accumulator to have a multiple of "
                            << target.mmaColumnStep << " columns and at most "
                            << target.mmaMaxColumns << ", but got " << acc.getColumns();
  }
  return success();
}

/// A product on tensor memory.
static LogicalResult checkPlacedProduct(IssueMmaOp op, const Lowering &lowering) {
  const TargetInfo &target = lowering.target();
  if (!target.hasTensorMemory() || !op.getAView() || !op.getAccView()) {
    return op.emitOpError() << "expected a product on tensor memory, whose operands are views, but "
                               "got fragments";
  }
  ViewOp a = lowering.view(op.getAViewAttr()), b = lowering.view(op.getBViewAttr());
  ViewOp acc = lowering.view(op.getAccViewAttr());
  auto lanes = dyn_cast<TmemLayoutAttr>(acc.getLayout());
  if (!lanes || lanes.getForm() != TmemForm::Lanes || !acc.getTileType().getElementType().isF32()) {
    return op.emitOpError() << "expected the accumulator to be f32 in #tile.tmem<lanes>, but got "
                            << acc.getTileType() << " in " << acc.getLayout();
  }
  if (failed(checkOperand(op, a, "a")) || failed(checkOperand(op, b, "b"))) {
    return failure();
  }
  if (auto form = dyn_cast<TmemLayoutAttr>(a.getLayout());
      form && form.getForm() != TmemForm::Lanes) {
    return op.emitOpError() << "expected 'a' to lie in #tile.tmem<lanes>, but got "
                            << a.getLayout();
  }
  int64_t rows = acc.getTileType().getRows();
  if (!llvm::is_contained(target.mmaRows, rows) || rows != target.tmemLanes) {
    return op.emitOpError() << "expected the accumulator to have " << target.tmemLanes
                            << " rows, one per lane, but got " << rows;
  }
  return checkExtents(op, acc.getTileType(), a.getTileType().getElementType(),
                      b.getTileType().getElementType());
}

/// A product on fragments of a warpgroup.
static LogicalResult checkFragmentProduct(IssueMmaOp op, const Lowering &lowering) {
  const TargetInfo &target = lowering.target();
  FragType acc = cast<FragType>(op.getResult().getType());
  auto spread = dyn_cast_or_null<SpreadAttr>(acc.getLayout());
  if (!target.asyncWarpgroupMma) {
    return op.emitOpError() << "expected a product on tensor memory, but got fragments";
  }
  if (!spread || spread.getValue() != Spread::Acc ||
      !llvm::is_contained(target.mmaRows, acc.getRows())) {
    return op.emitOpError() << "expected the accumulator to be spread by acc with "
                            << target.mmaRows.front() << " rows, but got " << acc;
  }
  auto role = op->getParentOfType<RoleOp>();
  if (role.getWarps() != kWarpsPerWarpgroup || *role.getFirstWarp() % kWarpsPerWarpgroup != 0) {
    return op.emitOpError() << "expected a product on fragments in a role of one whole warpgroup, "
                               "but got "
                            << role.getWarps() << " warps at " << *role.getFirstWarp();
  }
  ViewOp b = lowering.view(op.getBViewAttr());
  if (failed(checkOperand(op, b, "b"))) {
    return failure();
  }
  if (op.getAView()) {
    ViewOp a = lowering.view(op.getAViewAttr());
    if (failed(checkOperand(op, a, "a"))) {
      return failure();
    }
    return checkExtents(op, acc, a.getTileType().getElementType(),
                        b.getTileType().getElementType());
  }
  FragType a = cast<FragType>(op.getA().getType());
  auto aSpread = dyn_cast_or_null<SpreadAttr>(a.getLayout());
  bool isHalf = a.getElementType().isF16() || a.getElementType().isBF16();
  if (!aSpread || aSpread.getValue() != Spread::A16 || !isHalf) {
    return op.emitOpError()
           << "expected 'a' in registers to be f16 or bf16, spread by a16, but got " << a;
  }
  return checkExtents(op, acc, a.getElementType(), b.getTileType().getElementType());
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

static LogicalResult checkOp(Operation *op, const Lowering &lowering) {
  if (auto part = dyn_cast<SubrangeOp>(op)) {
    constexpr int64_t mostDims = 5; // CUDA driver API, cuTensorMapEncodeTiled
    auto global = cast<GlobalType>(part.getGlobal().getType());
    if (part.getGlobal().getDefiningOp<SubrangeOp>() || global.getRank() >= mostDims) {
      return op->emitOpError() << "expected one range of a tensor of at most " << mostDims - 1
                               << " dimensions, as a tensor map has one more, but got " << global
                               << (global.getRank() < mostDims ? " in a range" : "");
    }
    return success();
  }
  bool inRole = static_cast<bool>(op->getParentOfType<RoleOp>());
  if (isa<IssueSendOp, PartOp>(op) || (isa<ClusterSyncOp>(op) && inRole)) {
    return op->emitOpError() << "expected ops with a lowering to nvvm, but got one of copies to a "
                                "peer";
  }
  if (auto expect = dyn_cast<BarrierExpectOp>(op); expect && expect.getOnPeer()) {
    return op->emitOpError() << "expected bytes at this CTA's barrier or the leader's, but got the "
                                "peer's";
  }
  auto isKnownGroup = [&](Group kind) {
    return kind == Group::Bulk || lowering.target().asyncWarpgroupMma;
  };
  if (auto commit = dyn_cast<GroupCommitOp>(op); commit && !isKnownGroup(commit.getKind())) {
    return op->emitOpError() << "expected bulk groups, but got "
                             << stringifyGroup(commit.getKind());
  }
  if (auto wait = dyn_cast<GroupWaitOp>(op); wait && !isKnownGroup(wait.getKind())) {
    return op->emitOpError() << "expected bulk groups, but got " << stringifyGroup(wait.getKind());
  }
  if (auto load = dyn_cast<IssueLoadOp>(op)) {
    return checkCopy(op, lowering.view(load.getViewAttr()),
                     cast<GlobalType>(load.getGlobal().getType()));
  }
  if (auto store = dyn_cast<IssueStoreOp>(op)) {
    return checkCopy(op, lowering.view(store.getViewAttr()),
                     cast<GlobalType>(store.getGlobal().getType()));
  }
  if (auto mma = dyn_cast<IssueMmaOp>(op)) {
    return mma.getResult() ? checkFragmentProduct(mma, lowering)
                           : checkPlacedProduct(mma, lowering);
  }
  return success();
}

/// Tiles are spread over the threads of their role, all rows at once.
static LogicalResult checkTypes(Operation *op) {
  auto check = [&](Type type) -> LogicalResult {
    auto tile = dyn_cast<FragType>(type);
    if (!tile) {
      return success();
    }
    std::optional<ThreadLayout> layout = ThreadLayout::find(tile);
    if (!layout) {
      return op->emitOpError() << "expected tiles to be spread by rows, by columns if they are one "
                                  "row, or as fragments in groups of eight columns, but got "
                               << tile;
    }
    auto spread = cast<SpreadAttr>(tile.getLayout());
    auto role = op->getParentOfType<RoleOp>();
    if (spread.getValue() == Spread::Columns) {
      return success();
    }
    int64_t warps = role ? static_cast<int64_t>(role.getWarps()) : 0;
    int64_t perWarp = op->getParentOfType<KernelOp>().getTarget().getInfo().threadsPerWarp;
    std::optional<int64_t> rows = layout->rowsOfRole(warps, perWarp);
    if (!rows) {
      return op->emitOpError() << "expected fragments in a role of a whole warpgroup, but got "
                               << warps << " warps";
    }
    if (tile.getRows() != *rows) {
      return op->emitOpError() << "expected a tile to have the " << *rows
                               << " rows that its role's threads hold, but got " << tile;
    }
    return success();
  };
  for (Type type : op->getResultTypes()) {
    if (failed(check(type))) {
      return failure();
    }
  }
  for (Region &region : op->getRegions()) {
    for (Type type : region.getArgumentTypes()) {
      if (failed(check(type))) {
        return failure();
      }
    }
  }
  return success();
}

LogicalResult fa4::tile::gpu::checkControl(KernelOp kernel) {
  WalkResult phase = kernel.walk<WalkOrder::PreOrder>([](Operation *op) {
    auto role = dyn_cast<RoleOp>(op);
    bool placed = !role || (role.getFirstWarp() && role.getRegs());
    if (placed && (!isa<TileDialect>(op->getDialect()) || op->hasTrait<AtT2>())) {
      return WalkResult::advance();
    }
    op->emitOpError() << "expected a kernel at T2, which tile-verify-t2 accepts, but got an op of "
                         "another phase";
    return WalkResult::interrupt();
  });
  if (phase.wasInterrupted() || failed(verifyAccesses(kernel)) || failed(checkLaunch(kernel)) ||
      failed(checkRoles(kernel))) {
    return failure();
  }
  Lowering lowering(kernel);
  WalkResult result = kernel.walk([&](Operation *op) {
    return WalkResult(failure(failed(checkOp(op, lowering)) || failed(checkTypes(op))));
  });
  return failure(result.wasInterrupted());
}
