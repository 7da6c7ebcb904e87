//===- Frame.cpp - set-up, roles, tear-down -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The function's blocks: entry with the set-up, one block per role, one per budget
// of idle warps, exit with the tear-down. Every warp passes entry, one block and
// exit, whole. A role's ops keep their order and nesting.
//
//===----------------------------------------------------------------------===//

#include "Frame.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fa4::tile::gpu {

/// Whether something in `role` is done by one thread for all.
static bool needsIssuer(RoleOp role) {
  return role.getBody()
      .walk([](Operation *op) {
        auto arrive = dyn_cast<BarrierArriveOp>(op);
        bool single = isa<BarrierExpectOp, BarrierCommitOp, IssueLoadOp, IssueStoreOp, IssueMmaOp,
                          GroupCommitOp, GroupWaitOp>(op) ||
                      (arrive && arrive.getBy() == Arrival::Lane);
        return single ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

namespace {
/// Warps from `first` to before `end` that run one block: a role, or idle.
struct Segment {
  int64_t first;
  int64_t end;
  int64_t registers;
  RoleOp role;
  Block *block;
};

class FrameBuilder {
public:
  FrameBuilder(Lowering &lowering, RewriterBase &b)
      : lowering(lowering), b(b), kernel(lowering.kernel), loc(kernel.getLoc()) {}

  void build();

private:
  /// The start of shared memory.
  Value emitSharedBase();
  /// The number of the thread in the CTA, in a role.
  Value emitOwnThread(Value roleWarp);
  void emitEntry();
  void emitSetup(SetupOp setup);
  void emitBarrierInits();
  void emitTmemAlloc(TmemAllocOp alloc);
  void emitMeeting(bool ofPair = false);
  void emitRole(RoleOp role, Block *block);
  void emitRegisters(int64_t registers);
  void emitIdle(const Segment &segment);
  /// Adds the warps that no role has, in order. They give back what they have
  /// with the others of their warpgroup.
  void addIdle(SmallVectorImpl<Segment> &segments);
  void emitDispatch(Block *entry, ArrayRef<Segment> segments);
  void emitTeardown();
  /// The loops of roles are as they were scheduled.
  void keepLoopsRolled();

  Value i32(int64_t value) { return i32Constant(b, loc, value); }
  Value isWarp(int64_t number) {
    return LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::eq, warp, i32(number));
  }
  Value elect() { return NVVM::ElectSyncOp::create(b, loc, b.getI1Type(), Value()); }
  /// Emits `body` under `condition`.
  void emitIf(Value condition, llvm::function_ref<void()> body) {
    auto guard = scf::IfOp::create(b, loc, condition);
    OpBuilder::InsertionGuard restore(b);
    b.setInsertionPointToStart(guard.thenBlock());
    body();
  }
  int64_t entryRegisters();
  NVVM::CTAGroupKind ctaGroup() { return ctaGroupOf(lowering); }

  Lowering &lowering;
  RewriterBase &b;
  KernelOp kernel;
  Location loc;
  SmallVector<Value> arguments;
  Value thread, warp, lane, tmem;
  /// The CTA's number in its pair, and whether it leads; null without pairs.
  Value rank, leads;
  Block *exit = nullptr;
  int64_t numSyncs = 0;
};
} // namespace

/// Registers per thread that a launch of `threads` gets.
int64_t FrameBuilder::entryRegisters() {
  const TargetInfo &target = lowering.target();
  int64_t share = target.registersPerSm / countThreads(kernel);
  share = std::min(share, target.maxRegistersPerThread);
  return share / target.registerGranule * target.registerGranule;
}

Value FrameBuilder::emitSharedBase() {
  auto pointer = LLVM::LLVMPointerType::get(b.getContext(), kSharedSpace);
  Value symbol = LLVM::AddressOfOp::create(b, loc, pointer, kSharedMemoryName);
  Value number = LLVM::PtrToIntOp::create(b, loc, b.getI32Type(), symbol);
  // Without the detour the base is built from the symbol at every use, also in
  // the loops of waits.
  Value opaque = LLVM::InlineAsmOp::create(b, loc, TypeRange{b.getI32Type()}, ValueRange{number},
                                           "mov.b32 $0, $1;", "=r,r", /*has_side_effects=*/false,
                                           /*is_align_stack=*/false, LLVM::TailCallKind::None,
                                           LLVM::AsmDialectAttr(), ArrayAttr())
                     .getResult(0);
  return LLVM::IntToPtrOp::create(b, loc, pointer, opaque);
}

Value FrameBuilder::emitOwnThread(Value roleWarp) {
  if (!lowering.target().hasTensorMemory()) {
    return thread;
  }
  // Where roles keep rows for tensor memory, ptxas spills a number that lives from the launch's
  // registers into those of several roles. The operand tells the roles' questions apart.
  return LLVM::InlineAsmOp::create(b, loc, TypeRange{b.getI32Type()}, ValueRange{roleWarp},
                                   "mov.u32 $0, %tid.x;", "=r,r", /*has_side_effects=*/false,
                                   /*is_align_stack=*/false, LLVM::TailCallKind::None,
                                   LLVM::AsmDialectAttr(), ArrayAttr())
      .getResult(0);
}

//===----------------------------------------------------------------------===//
// Set-up
//===----------------------------------------------------------------------===//

void FrameBuilder::emitEntry() {
  Type type = b.getI32Type();
  thread = NVVM::ThreadIdXOp::create(b, loc, type);
  constexpr int64_t lanesLog2 = 5, lastLane = 31;
  lane = LLVM::AndOp::create(b, loc, thread, i32(lastLane));
  Value number = LLVM::LShrOp::create(b, loc, thread, i32(lanesLog2));
  // All lanes hold the same; only so does ptxas know it.
  warp = NVVM::ShflOp::create(b, loc, type, i32(kAllLanes), number, i32(0), i32(lastLane),
                              NVVM::ShflKind::idx, UnitAttr());
  if (lowering.isPair()) {
    rank = NVVM::ClusterId::create(b, loc, type);
    leads = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::eq, rank, i32(kLeaderRank));
  }
  for (auto setup : kernel.getBody().getOps<SetupOp>()) {
    emitSetup(setup);
  }
}

void FrameBuilder::emitBarrierInits() {
  emitIf(isWarp(0), [&] {
    emitIf(elect(), [&] {
      RoleContext context;
      context.smem = emitSharedBase();
      for (auto barrier : kernel.getBody().getOps<BarrierOp>()) {
        Value count = i32(static_cast<int64_t>(barrier.getCount()));
        auto total = static_cast<int64_t>(barrier.getFamily() * barrier.getDepth());
        for (int64_t number = 0; number < total; ++number) {
          Value pointer = LLVM::GEPOp::create(
              b, loc, context.smem.getType(), b.getI8Type(), context.smem,
              ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(barrier.getStart()) +
                                     static_cast<int32_t>(number * BarrierOp::kBytes)});
          NVVM::MBarrierInitOp::create(b, barrier.getLoc(), pointer, count, Value());
        }
      }
      NVVM::FenceMbarrierInitOp::create(b, loc);
      for (Value handle : arguments) {
        auto global = lowering.globals.find(handle);
        if (global != lowering.globals.end()) {
          for (const TensorMap &map : global->second.maps) {
            // A generic pointer becomes two prefetches in LLVM 22.
            NVVM::PrefetchOp::create(b, loc, NVVM::PrefetchCacheLevelAttr(),
                                     NVVM::CacheEvictionPriorityAttr(), map.pointer, Value(),
                                     /*tensormap=*/b.getUnitAttr(), /*uniform=*/UnitAttr(),
                                     /*in_param_space=*/b.getUnitAttr());
          }
        }
      }
    });
  });
}

void FrameBuilder::emitTmemAlloc(TmemAllocOp alloc) {
  auto role = SymbolTable::lookupNearestSymbolFrom<RoleOp>(alloc, alloc.getRoleAttr());
  emitIf(isWarp(static_cast<int64_t>(*role.getFirstWarp())), [&] {
    Value base = emitSharedBase();
    Value word = LLVM::GEPOp::create(b, loc, base.getType(), b.getI8Type(), base,
                                     ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(alloc.getWord())});
    NVVM::Tcgen05AllocOp::create(b, alloc.getLoc(), word,
                                 i32(static_cast<int64_t>(alloc.getColumns())), ctaGroup());
    NVVM::Tcgen05RelinquishAllocPermitOp::create(b, alloc.getLoc(), ctaGroup());
  });
}

/// All warps of the CTA, or of both CTAs of a pair, meet; what was done to tensor
/// memory before is seen after.
void FrameBuilder::emitMeeting(bool ofPair) {
  bool fenced = lowering.target().hasTensorMemory();
  if (fenced) {
    NVVM::Tcgen05FenceOp::create(b, loc, NVVM::Tcgen05FenceKind::BEFORE_THREAD_SYNC);
  }
  if (ofPair) {
    NVVM::ClusterArriveOp::create(b, loc, b.getUnitAttr());
    NVVM::ClusterWaitOp::create(b, loc, b.getUnitAttr());
  } else {
    NVVM::BarrierOp::create(b, loc);
  }
  if (fenced) {
    NVVM::Tcgen05FenceOp::create(b, loc, NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC);
  }
}

void FrameBuilder::emitSetup(SetupOp setup) {
  IRMapping mapping;
  std::optional<int64_t> word;
  for (Operation &op : setup.getBody().getOps()) {
    if (auto alloc = dyn_cast<TmemAllocOp>(op)) {
      emitTmemAlloc(alloc);
      word = static_cast<int64_t>(alloc.getWord());
    } else if (isa<FenceOp>(op)) {
      emitBarrierInits();
    } else if (isa<RoleSyncOp>(op)) {
      emitMeeting();
    } else if (isa<ClusterSyncOp>(op)) {
      emitMeeting(/*ofPair=*/true);
    } else {
      b.clone(op, mapping);
    }
  }
  if (word) {
    Value base = emitSharedBase();
    Value pointer = LLVM::GEPOp::create(b, loc, base.getType(), b.getI8Type(), base,
                                        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(*word)});
    tmem = LLVM::LoadOp::create(b, loc, b.getI32Type(), pointer, /*alignment=*/4);
  }
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

void FrameBuilder::emitRegisters(int64_t registers) {
  int64_t before = entryRegisters();
  if (registers != before) {
    NVVM::SetMaxRegisterOp::create(b, loc, static_cast<uint32_t>(registers),
                                   registers > before ? NVVM::SetMaxRegisterAction::increase
                                                      : NVVM::SetMaxRegisterAction::decrease);
  }
}

/// A named barrier that no symbol of the kernel has; Check.cpp saw that there are
/// enough.
static int64_t freeNamedBarrier(KernelOp kernel, int64_t skip) {
  for (int64_t id = 1;; ++id) {
    bool taken = llvm::any_of(kernel.getBody().getOps<NamedBarrierOp>(), [&](NamedBarrierOp op) {
      return static_cast<int64_t>(op.getFirst()) <= id && id <= static_cast<int64_t>(op.getLast());
    });
    if (!taken && skip-- == 0) {
      return id;
    }
  }
}

void FrameBuilder::emitRole(RoleOp role, Block *block) {
  OpBuilder::InsertionGuard restore(b);
  b.setInsertionPointToStart(block);
  loc = role.getLoc();
  emitRegisters(static_cast<int64_t>(*role.getRegs()));
  if (role.getCtas() == Ctas::Leader) {
    Block *own = b.createBlock(block->getNextNode());
    b.setInsertionPointToEnd(block);
    LLVM::CondBrOp::create(b, loc, leads, own, exit);
    b.setInsertionPointToStart(own);
    block = own;
  }

  RoleContext context;
  context.leads = leads;
  context.warps = static_cast<int64_t>(role.getWarps());
  context.smem = emitSharedBase();
  context.tmem = tmem;
  context.lane = lane;
  int64_t threads = context.warps * lowering.target().threadsPerWarp;
  Value first = i32(static_cast<int64_t>(*role.getFirstWarp()));
  context.warp = LLVM::SubOp::create(b, loc, warp, first);
  context.thread = LLVM::SubOp::create(
      b, loc, emitOwnThread(context.warp),
      i32(static_cast<int64_t>(*role.getFirstWarp()) * lowering.target().threadsPerWarp));
  Value replica;
  if (role.hasIndex()) {
    replica = LLVM::UDivOp::create(b, loc, context.warp, i32(context.warps));
    context.warp = LLVM::URemOp::create(b, loc, context.warp, i32(context.warps));
    context.thread = LLVM::URemOp::create(b, loc, context.thread, i32(threads));
  }
  bool syncs = context.warps > 1 &&
               role.walk([](RoleSyncOp) { return WalkResult::interrupt(); }).wasInterrupted();
  if (syncs) {
    context.syncBarrier = i32(freeNamedBarrier(kernel, numSyncs));
    if (replica) {
      // One barrier for each replica; their numbers need not follow each other.
      for (int64_t number = 1; number < static_cast<int64_t>(role.getReplicas()); ++number) {
        Value own = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::eq, replica, i32(number));
        context.syncBarrier = LLVM::SelectOp::create(
            b, loc, own, i32(freeNamedBarrier(kernel, numSyncs + number)), context.syncBarrier);
      }
    }
    numSyncs += static_cast<int64_t>(role.getReplicas());
  }

  if (needsIssuer(role)) {
    context.issues = elect();
    if (context.warps > 1) {
      Value firstWarp = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::eq, context.warp, i32(0));
      context.issues = LLVM::AndOp::create(b, loc, firstWarp, context.issues);
    }
  }
  LLVM::BrOp::create(b, loc, exit);

  SmallVector<Value> inner;
  if (replica) {
    inner.push_back(replica);
  }
  if (role.getHasRank()) {
    inner.push_back(rank);
  }
  for (Value use : role.getUses()) {
    inner.push_back(arguments[kernelArgumentOf(use)]);
  }
  b.inlineBlockBefore(&role.getBody().front(), block->getTerminator(), inner);
  lowering.roles[block] = context;
}

void FrameBuilder::emitIdle(const Segment &segment) {
  OpBuilder::InsertionGuard restore(b);
  b.setInsertionPointToStart(segment.block);
  emitRegisters(segment.registers);
  LLVM::BrOp::create(b, loc, exit);
}

//===----------------------------------------------------------------------===//
// Tear-down
//===----------------------------------------------------------------------===//

void FrameBuilder::emitTeardown() {
  b.setInsertionPointToStart(exit);
  loc = kernel.getLoc();
  IRMapping mapping;
  for (auto teardown : kernel.getBody().getOps<TeardownOp>()) {
    for (Operation &op : teardown.getBody().getOps()) {
      if (auto free = dyn_cast<TmemFreeOp>(op)) {
        auto role = SymbolTable::lookupNearestSymbolFrom<RoleOp>(free, free.getRoleAttr());
        NamedBarrierOp users = lowering.namedBarrier(free.getAfterAttr());
        emitIf(isWarp(static_cast<int64_t>(*role.getFirstWarp())), [&] {
          NVVM::BarrierOp::create(
              b, free.getLoc(), Type(), i32(static_cast<int64_t>(users.getFirst())),
              i32(static_cast<int64_t>(users.getThreads())), NVVM::BarrierReductionAttr(), Value());
          NVVM::Tcgen05FenceOp::create(b, free.getLoc(), NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC);
          Value address = LLVM::IntToPtrOp::create(
              b, free.getLoc(), LLVM::LLVMPointerType::get(b.getContext(), kTensorSpace), tmem);
          NVVM::Tcgen05DeallocOp::create(b, free.getLoc(), address,
                                         i32(static_cast<int64_t>(free.getColumns())), ctaGroup());
        });
      } else if (isa<RoleSyncOp>(op)) {
        emitMeeting();
      } else if (isa<ClusterSyncOp>(op)) {
        emitMeeting(/*ofPair=*/true);
      } else {
        b.clone(op, mapping);
      }
    }
  }
  LLVM::ReturnOp::create(b, loc, ValueRange());
}

void FrameBuilder::keepLoopsRolled() {
  MLIRContext *context = b.getContext();
  auto rolled = LLVM::LoopUnrollAttr::get(context, /*disable=*/b.getBoolAttr(true),
                                          /*count=*/IntegerAttr(), /*runtimeDisable=*/BoolAttr(),
                                          /*full=*/BoolAttr(), /*followupUnrolled=*/{},
                                          /*followupRemainder=*/{}, /*followupAll=*/{});
  auto annotation = LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, rolled, {}, {}, {}, {}, {},
                                                  {}, {}, {}, {}, {}, {});
  lowering.function.walk(
      [&](scf::ForOp loop) { loop->setDiscardableAttr(kLoopAnnotationName, annotation); });
}

void FrameBuilder::addIdle(SmallVectorImpl<Segment> &segments) {
  llvm::sort(segments,
             [](const Segment &left, const Segment &right) { return left.first < right.first; });
  SmallVector<Segment> idle;
  int64_t end = countThreads(kernel) / lowering.target().threadsPerWarp;
  for (int64_t warp = 0; warp < end;) {
    auto owner =
        llvm::find_if(segments, [&](const Segment &segment) { return warp < segment.end; });
    if (owner != segments.end() && owner->first <= warp) {
      warp = owner->end;
      continue;
    }
    // Up to the next role or warpgroup: the budget is that of the warpgroup.
    int64_t group = warp / kWarpsPerWarpgroup;
    int64_t stop = (group + 1) * kWarpsPerWarpgroup;
    int64_t registers = lowering.target().minRoleRegisters;
    for (const Segment &segment : segments) {
      if (segment.first / kWarpsPerWarpgroup <= group &&
          group <= (segment.end - 1) / kWarpsPerWarpgroup) {
        registers = segment.registers;
      }
      stop = segment.first > warp ? std::min(stop, segment.first) : stop;
    }
    idle.push_back({warp, stop, registers, RoleOp(), b.createBlock(exit)});
    warp = stop;
  }
  llvm::append_range(segments, idle);
  llvm::sort(segments,
             [](const Segment &left, const Segment &right) { return left.first < right.first; });
}

/// Comparisons of a uniform value; a switch would become an indirect branch, which
/// ptxas takes for a divergent one.
void FrameBuilder::emitDispatch(Block *entry, ArrayRef<Segment> segments) {
  Block *anchor = entry->getNextNode(), *from = entry;
  for (const Segment &segment : segments.drop_back()) {
    Block *others = b.createBlock(anchor);
    b.setInsertionPointToEnd(from);
    Value own = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ult, warp, i32(segment.end));
    LLVM::CondBrOp::create(b, loc, own, segment.block, others);
    from = others;
  }
  b.setInsertionPointToEnd(from);
  LLVM::BrOp::create(b, loc, segments.back().block);
}

void FrameBuilder::build() {
  arguments = createFunction(lowering, b);
  Region &region = lowering.function.getBody();
  emitEntry();

  exit = b.createBlock(&region, region.end());
  SmallVector<Segment> segments;
  for (auto role : kernel.getBody().getOps<RoleOp>()) {
    auto first = static_cast<int64_t>(*role.getFirstWarp());
    segments.push_back({first, first + static_cast<int64_t>(role.getWarps() * role.getReplicas()),
                        static_cast<int64_t>(*role.getRegs()), role, b.createBlock(exit)});
  }
  addIdle(segments);
  emitDispatch(&region.front(), segments);
  for (const Segment &segment : segments) {
    segment.role ? emitRole(segment.role, segment.block) : emitIdle(segment);
  }
  emitTeardown();

  WorkOp work = kernel.getWork();
  WorkKind draw = kernel.getSchedule().getPlan().work;
  SmallVector<ForEachTileOp> loops;
  lowering.function.walk([&](ForEachTileOp loop) { loops.push_back(loop); });
  for (ForEachTileOp loop : loops) {
    lowerTileLoop(loop, work, arguments, draw, lowering.isPair(), b);
  }
  bindRanges(lowering, b);
  keepLoopsRolled();
}

void buildFrame(Lowering &lowering, RewriterBase &rewriter) {
  FrameBuilder(lowering, rewriter).build();
}

} // namespace fa4::tile::gpu
