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

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;
using namespace fa4::tile::gpu;

//===----------------------------------------------------------------------===//
// The kernel as a whole
//===----------------------------------------------------------------------===//

static LogicalResult checkLaunch(KernelOp kernel) {
  const Schedule &plan = kernel.getSchedule().getPlan();
  if (plan.work == WorkKind::Dynamic) {
    return kernel.emitOpError() << "expected work to be static_persistent or one_per_cluster, but "
                                   "got a dynamic schedule";
  }
  if (plan.ctas != 1) {
    return kernel.emitOpError() << "expected a kernel of single CTAs, but got ctas = " << plan.ctas;
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
      } else if (isa<RoleSyncOp>(op)) {
        meets = inits;
      }
    }
  }
  if (!kernel.getBody().getOps<BarrierOp>().empty() && !meets) {
    return kernel.emitOpError() << "expected set-up to fence [init] and then to meet, so that all "
                                   "warps see the barriers, but got "
                                << (inits ? "no role_sync" : "no fence");
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

/// Registers change hands by warpgroups: its roles have one budget, and idle
/// warps count.
static LogicalResult checkRoles(KernelOp kernel) {
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
    if (role.getCtas() != Ctas::Single || role.getHasRank()) {
      return role.emitOpError() << "expected a role of single CTAs, but got ctas("
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

static LogicalResult checkProduct(IssueMmaOp op, const Lowering &lowering) {
  const TargetInfo &target = op->getParentOfType<KernelOp>().getTarget().getInfo();
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
  if (a.getTileType().getElementType().getIntOrFloatBitWidth() !=
      b.getTileType().getElementType().getIntOrFloatBitWidth()) {
    return op.emitOpError() << "expected operands of one width, but got "
                            << a.getTileType().getElementType() << " and "
                            << b.getTileType().getElementType();
  }
  if (auto form = dyn_cast<TmemLayoutAttr>(a.getLayout());
      form && form.getForm() != TmemForm::Lanes) {
    return op.emitOpError() << "expected 'a' to lie in #tile.tmem<lanes>, but got "
                            << a.getLayout();
  }
  int64_t rows = acc.getTileType().getRows(), columns = acc.getTileType().getColumns();
  if (!llvm::is_contained(target.mmaRows, rows) || rows != target.tmemLanes) {
    return op.emitOpError() << "expected the accumulator to have " << target.tmemLanes
                            << " rows, one per lane, but got " << rows;
  }
  if (columns > target.mmaMaxColumns || columns % target.mmaColumnStep != 0) {
    return op.emitOpError() << "expected the accumulator to have a multiple of "
                            << target.mmaColumnStep << " columns and at most "
                            << target.mmaMaxColumns << ", but got " << columns;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

static LogicalResult checkOp(Operation *op, const Lowering &lowering) {
  if (isa<IssueSendOp, IssueNextOp, ClusterSyncOp, PartOp, SubrangeOp>(op)) {
    return op->emitOpError() << "expected ops with a lowering to nvvm, but got one of pairs of "
                                "CTAs, dynamic work or packed sequences";
  }
  if (auto arrive = dyn_cast<BarrierArriveOp>(op); arrive && arrive.getOnLeader()) {
    return op->emitOpError() << "expected an arrival at this CTA's barrier, but got the leader's";
  }
  if (auto expect = dyn_cast<BarrierExpectOp>(op);
      expect && (expect.getOnLeader() || expect.getOnPeer())) {
    return op->emitOpError() << "expected bytes at this CTA's barrier, but got another's";
  }
  if (auto commit = dyn_cast<BarrierCommitOp>(op); commit && commit.getOnBoth()) {
    return op->emitOpError() << "expected a commit at this CTA's barrier, but got both CTAs'";
  }
  if (auto commit = dyn_cast<GroupCommitOp>(op); commit && commit.getKind() != Group::Bulk) {
    return op->emitOpError() << "expected bulk groups, but got "
                             << stringifyGroup(commit.getKind());
  }
  if (auto wait = dyn_cast<GroupWaitOp>(op); wait && wait.getKind() != Group::Bulk) {
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
    return checkProduct(mma, lowering);
  }
  return success();
}

/// Tiles are spread over the threads of their role, a row each.
static LogicalResult checkTypes(Operation *op, const TileToNVVMTypeConverter &converter) {
  auto check = [&](Type type) -> LogicalResult {
    auto tile = dyn_cast<FragType>(type);
    if (!tile) {
      return success();
    }
    if (!converter.convertType(tile)) {
      return op->emitOpError() << "expected tiles to be spread by rows, or by columns if they are "
                                  "one row, but got "
                               << tile;
    }
    auto role = op->getParentOfType<RoleOp>();
    auto spread = cast<SpreadAttr>(tile.getLayout());
    int64_t threads =
        role ? static_cast<int64_t>(role.getWarps()) *
                   role->getParentOfType<KernelOp>().getTarget().getInfo().threadsPerWarp
             : 0;
    if (spread.getValue() == Spread::Rows && tile.getRows() != threads) {
      return op->emitOpError() << "expected a tile to have one row for each of its role's "
                               << threads << " threads, but got " << tile;
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
  if (phase.wasInterrupted() || failed(checkLaunch(kernel)) || failed(checkRoles(kernel))) {
    return failure();
  }
  Lowering lowering(kernel);
  TileToNVVMTypeConverter converter;
  WalkResult result = kernel.walk([&](Operation *op) {
    return WalkResult(failure(failed(checkOp(op, lowering)) || failed(checkTypes(op, converter))));
  });
  return failure(result.wasInterrupted());
}
