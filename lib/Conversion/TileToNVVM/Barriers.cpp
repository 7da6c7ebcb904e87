//===- Barriers.cpp - cursors, barriers, fences, groups -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every wait and arrival clobbers memory for LLVM: what the protocol orders, no
// pass of the compiler may reorder.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa4::tile;
using namespace fa4::tile::gpu;

static Value equals(OpBuilder &b, Location loc, Value left, int64_t right) {
  return LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::eq, left, i32Constant(b, loc, right));
}

/// Emits `body` under `condition`, if there is one.
static void emitWhen(OpBuilder &b, Location loc, Value condition,
                     llvm::function_ref<void(OpBuilder &)> body) {
  if (!condition) {
    return body(b);
  }
  auto guard = scf::IfOp::create(b, loc, condition);
  OpBuilder inner = guard.getThenBodyBuilder(b.getListener());
  body(inner);
}

static Value single(ValueRange values) { return values.empty() ? Value() : values.front(); }

template <typename OpTy, typename AdaptorTy>
static Place barrierPlaceOf(OpTy op, AdaptorTy adaptor) {
  return Place(op.getBarrierAttr(), op.getCursor(), adaptor.getCursor(), adaptor.getElement(),
               op.getStaticElementAttr());
}

//===----------------------------------------------------------------------===//
// Cursors
//===----------------------------------------------------------------------===//

namespace {
struct CursorLowering : LoweringPattern<CursorOp> {
  using LoweringPattern::LoweringPattern;

  LogicalResult matchAndRewrite(CursorOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &b) const override {
    Location loc = op.getLoc();
    SmallVector<Value> values;
    if (cast<CursorType>(op.getType()).getDepth() > 1) {
      values.push_back(i32Constant(b, loc, 0));
    }
    values.push_back(i32Constant(b, loc, op.getCredit() ? 1 : 0));
    b.replaceOpWithMultiple(op, {values});
    return success();
  }
};

struct AdvanceLowering : LoweringPattern<AdvanceOp> {
  using LoweringPattern::LoweringPattern;

  LogicalResult matchAndRewrite(AdvanceOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    Location loc = op.getLoc();
    ValueRange cursor = adaptor.getCursor();
    Value one = i32Constant(b, loc, 1);
    int64_t depth = cast<CursorType>(op.getType()).getDepth();
    if (depth == 1) {
      Value parity = LLVM::XOrOp::create(b, loc, cursorParity(cursor), one);
      b.replaceOp(op, parity);
      return success();
    }
    Value next = LLVM::AddOp::create(b, loc, cursor.front(), one);
    Value wraps = equals(b, loc, next, depth);
    Value slot = LLVM::SelectOp::create(b, loc, wraps, i32Constant(b, loc, 0), next);
    Value flip = LLVM::ZExtOp::create(b, loc, b.getI32Type(), wraps);
    Value parity = LLVM::XOrOp::create(b, loc, cursorParity(cursor), flip);
    b.replaceOpWithMultiple(op, {ValueRange{slot, parity}});
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

struct WaitLowering : LoweringPattern<BarrierWaitOp> {
  using LoweringPattern::LoweringPattern;

  LogicalResult matchAndRewrite(BarrierWaitOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    Location loc = op.getLoc();
    const RoleContext &role = lowering.role(op);
    Value pointer = lowering.barrierPointer(b, loc, role, barrierPlaceOf(op, adaptor));
    Value parity = cursorParity(adaptor.getCursor());
    auto loop = scf::WhileOp::create(b, loc, TypeRange(), ValueRange());
    {
      OpBuilder::InsertionGuard restore(b);
      b.createBlock(&loop.getBefore());
      // What the peer's threads did before they arrived is acquired only so; an acquire
      // at this scope drops the first-level cache, and tensor memory needs none.
      const PairArrivals &pair = lowering.getPairArrivals();
      StringAttr name = op.getBarrierAttr().getAttr();
      auto scope = pair.isPairWide(name) ? NVVM::MemScopeKind::CLUSTER : NVVM::MemScopeKind::CTA;
      Value done = NVVM::MBarrierTryWaitOp::create(b, loc, b.getI1Type(), pointer, parity, Value(),
                                                   scope, pair.isRelaxed(name));
      Value always = LLVM::ConstantOp::create(b, loc, b.getBoolAttr(true));
      Value again = LLVM::XOrOp::create(b, loc, done, always);
      scf::ConditionOp::create(b, loc, again, ValueRange());
      b.createBlock(&loop.getAfter());
      scf::YieldOp::create(b, loc);
    }
    if (role.issues) {
      // One lane issues for the others, which may therefore not see a phase later.
      NVVM::SyncWarpOp::create(b, loc, i32Constant(b, loc, kAllLanes));
    }
    b.eraseOp(op);
    return success();
  }
};

struct ArriveLowering : LoweringPattern<BarrierArriveOp> {
  using LoweringPattern::LoweringPattern;

  LogicalResult matchAndRewrite(BarrierArriveOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    Location loc = op.getLoc();
    const RoleContext &role = lowering.role(op);
    Place place = barrierPlaceOf(op, adaptor);
    auto arrive = [&](OpBuilder &b) {
      if (op.getOnLeader()) {
        NVVM::MBarrierArriveOp::create(
            b, loc, Type(), lowering.leaderBarrierPointer(b, loc, role, place),
            /*count=*/Value(), NVVM::MemScopeKind::CLUSTER,
            lowering.getPairArrivals().isRelaxed(op.getBarrierAttr().getAttr()));
        return;
      }
      Value pointer = lowering.barrierPointer(b, loc, role, place);
      NVVM::MBarrierArriveOp::create(b, loc, Type(), pointer, /*count=*/Value());
    };
    emitWhen(b, loc, single(adaptor.getWhen()), [&](OpBuilder &b) {
      if (op.getBy() == Arrival::Lane) {
        lowering.emitByOne(b, loc, role, [&](OpBuilder &b) { arrive(b); });
      } else if (op.getBy() == Arrival::Warp) {
        emitWhen(b, loc, NVVM::ElectSyncOp::create(b, loc, b.getI1Type(), Value()),
                 [&](OpBuilder &b) { arrive(b); });
      } else {
        arrive(b);
      }
    });
    b.eraseOp(op);
    return success();
  }
};

struct ExpectLowering : LoweringPattern<BarrierExpectOp> {
  using LoweringPattern::LoweringPattern;

  LogicalResult matchAndRewrite(BarrierExpectOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    Location loc = op.getLoc();
    const RoleContext &role = lowering.role(op);
    Place place = barrierPlaceOf(op, adaptor);
    // The leader announces the bytes of both.
    emitWhen(b, loc, op.getOnLeader() ? role.leads : Value(), [&](OpBuilder &b) {
      lowering.emitByOne(b, loc, role, [&](OpBuilder &b) {
        Value pointer = lowering.barrierPointer(b, loc, role, place);
        NVVM::MBarrierArriveExpectTxOp::create(
            b, loc, Type(), pointer, i32Constant(b, loc, static_cast<int64_t>(op.getBytes())),
            NVVM::MemScopeKind::CTA, /*relaxed=*/false, Value());
      });
    });
    b.eraseOp(op);
    return success();
  }
};

struct CommitLowering : LoweringPattern<BarrierCommitOp> {
  using LoweringPattern::LoweringPattern;

  LogicalResult matchAndRewrite(BarrierCommitOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    Location loc = op.getLoc();
    const RoleContext &role = lowering.role(op);
    Place place = barrierPlaceOf(op, adaptor);
    lowering.emitByOne(b, loc, role, [&](OpBuilder &b) {
      Value both;
      if (op.getOnBoth()) {
        constexpr int16_t kBothCtas = 3; // a bit per CTA
        both = LLVM::ConstantOp::create(b, loc, b.getI16Type(), b.getI16IntegerAttr(kBothCtas));
      }
      NVVM::Tcgen05CommitOp::create(b, loc, lowering.barrierPointer(b, loc, role, place), both,
                                    ctaGroupOf(lowering));
    });
    b.eraseOp(op);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Named barriers
//===----------------------------------------------------------------------===//

/// The hardware's number of an element, for this warp.
template <typename OpTy, typename AdaptorTy>
static Value namedBarrierId(OpBuilder &b, const Lowering &lowering, OpTy op, AdaptorTy adaptor) {
  Location loc = op.getLoc();
  NamedBarrierOp named = lowering.namedBarrier(op.getBarrierAttr());
  auto first = static_cast<int64_t>(named.getFirst());
  int64_t perElement =
      (static_cast<int64_t>(named.getLast()) - first + 1) / static_cast<int64_t>(named.getFamily());
  RegionOffset offset = regionOffset(b, loc,
                                     Place(op.getBarrierAttr(), Value(), ValueRange(),
                                           adaptor.getElement(), op.getStaticElementAttr()),
                                     perElement);
  Value id = i32Constant(b, loc, first + offset.known);
  if (offset.rest) {
    id = LLVM::AddOp::create(b, loc, id, offset.rest);
  }
  if (named.getPerWarp()) {
    id = LLVM::AddOp::create(b, loc, id, lowering.role(op).warp);
  }
  return id;
}

struct NamedArriveLowering : LoweringPattern<NamedArriveOp> {
  using LoweringPattern::LoweringPattern;

  LogicalResult matchAndRewrite(NamedArriveOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    Location loc = op.getLoc();
    emitWhen(b, loc, single(adaptor.getWhen()), [&](OpBuilder &b) {
      Value id = namedBarrierId(b, lowering, op, adaptor);
      Value threads = i32Constant(
          b, loc, static_cast<int64_t>(lowering.namedBarrier(op.getBarrierAttr()).getThreads()));
      // Not nvvm.barrier.arrive: that is inline PTX, which loses its convergence.
      LLVM::CallIntrinsicOp::create(b, loc,
                                    b.getStringAttr("llvm.nvvm.barrier.cta.arrive.aligned.count"),
                                    ValueRange{id, threads});
    });
    b.eraseOp(op);
    return success();
  }
};

struct NamedSyncLowering : LoweringPattern<NamedSyncOp> {
  using LoweringPattern::LoweringPattern;

  LogicalResult matchAndRewrite(NamedSyncOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    Location loc = op.getLoc();
    emitWhen(b, loc, single(adaptor.getWhen()), [&](OpBuilder &b) {
      Value id = namedBarrierId(b, lowering, op, adaptor);
      Value threads = i32Constant(
          b, loc, static_cast<int64_t>(lowering.namedBarrier(op.getBarrierAttr()).getThreads()));
      NVVM::BarrierOp::create(b, loc, Type(), id, threads, NVVM::BarrierReductionAttr(), Value());
    });
    b.eraseOp(op);
    return success();
  }
};

struct RoleSyncLowering : LoweringPattern<RoleSyncOp> {
  using LoweringPattern::LoweringPattern;

  LogicalResult matchAndRewrite(RoleSyncOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &b) const override {
    Location loc = op.getLoc();
    const RoleContext &role = lowering.role(op);
    if (role.syncBarrier) {
      Value threads = i32Constant(b, loc, role.warps * lowering.target().threadsPerWarp);
      NVVM::BarrierOp::create(b, loc, Type(), role.syncBarrier, threads,
                              NVVM::BarrierReductionAttr(), Value());
    } else {
      NVVM::SyncWarpOp::create(b, loc, i32Constant(b, loc, -1));
    }
    b.eraseOp(op);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Fences and groups
//===----------------------------------------------------------------------===//

struct FenceLowering : LoweringPattern<FenceOp> {
  using LoweringPattern::LoweringPattern;

  LogicalResult matchAndRewrite(FenceOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &b) const override {
    Location loc = op.getLoc();
    auto has = [&](FenceKind kind) { return bitEnumContainsAny(op.getKinds(), kind); };
    // What has to be complete comes first, what is passed on with it last.
    if (has(FenceKind::After)) {
      NVVM::Tcgen05FenceOp::create(b, loc, NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC);
    }
    if (has(FenceKind::TmemLoads)) {
      NVVM::Tcgen05WaitOp::create(b, loc, NVVM::Tcgen05WaitKind::LOAD);
    }
    if (has(FenceKind::TmemStores)) {
      NVVM::Tcgen05WaitOp::create(b, loc, NVVM::Tcgen05WaitKind::STORE);
    }
    auto product = dyn_cast_or_null<IssueMmaOp>(op->getNextNode());
    if (has(FenceKind::Wgmma) && !(product && fencesItself(product))) {
      NVVM::WgmmaFenceAlignedOp::create(b, loc);
    }
    if (has(FenceKind::Proxy)) {
      NVVM::FenceProxyOp::create(
          b, loc, NVVM::ProxyKind::async_shared,
          NVVM::SharedSpaceAttr::get(b.getContext(), NVVM::SharedSpace::shared_cta));
    }
    if (has(FenceKind::Init)) {
      NVVM::FenceMbarrierInitOp::create(b, loc);
    }
    if (has(FenceKind::Before)) {
      NVVM::Tcgen05FenceOp::create(b, loc, NVVM::Tcgen05FenceKind::BEFORE_THREAD_SYNC);
    }
    b.eraseOp(op);
    return success();
  }
};

struct GroupCommitLowering : LoweringPattern<GroupCommitOp> {
  using LoweringPattern::LoweringPattern;

  LogicalResult matchAndRewrite(GroupCommitOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &b) const override {
    if (op.getKind() != Group::Bulk) {
      return failure(); // Wgmma.cpp
    }
    lowering.emitByOne(b, op.getLoc(), lowering.role(op), [&](OpBuilder &b) {
      NVVM::CpAsyncBulkCommitGroupOp::create(b, op.getLoc());
    });
    b.eraseOp(op);
    return success();
  }
};

struct GroupWaitLowering : LoweringPattern<GroupWaitOp> {
  using LoweringPattern::LoweringPattern;

  LogicalResult matchAndRewrite(GroupWaitOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &b) const override {
    if (op.getKind() != Group::Bulk) {
      return failure(); // Wgmma.cpp
    }
    lowering.emitByOne(b, op.getLoc(), lowering.role(op), [&](OpBuilder &b) {
      NVVM::CpAsyncBulkWaitGroupOp::create(b, op.getLoc(), static_cast<uint32_t>(op.getPending()),
                                           op.getReadAttr());
    });
    b.eraseOp(op);
    return success();
  }
};
} // namespace

void fa4::tile::gpu::populateBarrierPatterns(const TileToNVVMTypeConverter &converter,
                                             RewritePatternSet &patterns,
                                             const Lowering &lowering) {
  patterns.add<CursorLowering, AdvanceLowering, WaitLowering, ArriveLowering, ExpectLowering,
               CommitLowering, NamedArriveLowering, NamedSyncLowering, RoleSyncLowering,
               FenceLowering, GroupCommitLowering, GroupWaitLowering>(
      converter, patterns.getContext(), lowering);
}
