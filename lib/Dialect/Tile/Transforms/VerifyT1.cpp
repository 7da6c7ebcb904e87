//===- VerifyT1.cpp - tile-verify-t1 -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel that passes is a set of isolated roles joined by channels: every token
// ends once on every path, and memory is reached through tokens, or by name where
// no channel carries the view.
//
//===----------------------------------------------------------------------===//

#include "TokenLinearity.h"
#include "VerifyPhase.h"

#include "fa4/Dialect/Tile/Analysis/TileLoops.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace fa4::tile {
#define GEN_PASS_DEF_TILEVERIFYT1
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

using namespace mlir;
using namespace fa4::tile;

namespace {

/// The symbols of one kernel and what its roles do to the channels.
class KernelVerifier {
public:
  explicit KernelVerifier(KernelOp kernel) : kernel(kernel) {}

  LogicalResult verify();

private:
  LogicalResult verifyTopLevel();
  LogicalResult verifyChannelUse(Operation *op, FlatSymbolRefAttr name, Value element,
                                 IntegerAttr staticElement, bool producer);
  LogicalResult verifyChannelOps(RoleOp role);
  LogicalResult verifyChannelsServed();
  LogicalResult verifyCarried(Operation *op, OperandRange inits, ValueRange yields);
  LogicalResult verifyPlace(Operation *op, Value handle, FlatSymbolRefAttr view);
  LogicalResult verifyAccess(Operation *op);
  LogicalResult verifyProduct(AsyncMmaOp mma);

  ChannelOp channelOf(Value token) {
    Operation *start = findTokenStart(token);
    FlatSymbolRefAttr name;
    if (auto acquire = dyn_cast_or_null<AcquireOp>(start)) {
      name = acquire.getChannelAttr();
    } else if (auto wait = dyn_cast_or_null<WaitOp>(start)) {
      name = wait.getChannelAttr();
    }
    return name ? channels.lookup(name.getValue()) : ChannelOp();
  }
  ViewOp viewOf(FlatSymbolRefAttr name) { return views.lookup(name.getValue()); }

  KernelOp kernel;
  llvm::StringMap<ViewOp> views;
  llvm::StringMap<ChannelOp> channels;
  /// Per channel and role: it acquires, it waits.
  llvm::StringMap<llvm::StringSet<>> acquirers, waiters;
};

} // namespace

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

LogicalResult KernelVerifier::verifyTopLevel() {
  for (Operation &op : kernel.getBody().getOps()) {
    if (!isa<AllocOp, ViewOp, ChannelOp, RoleOp, SetupOp, TeardownOp, WorkOp>(op)) { // T1.P
      return op.emitOpError()
             << "expected a kernel at T1 to hold work, memory, channels, roles, set-up and "
                "tear-down directly";
    }
    if (auto view = dyn_cast<ViewOp>(op)) {
      views[view.getSymName()] = view;
    } else if (auto channel = dyn_cast<ChannelOp>(op)) {
      channels[channel.getSymName()] = channel;
    } else if (auto role = dyn_cast<RoleOp>(op)) {
      if (role.getFirstWarp() || role.getOneLane()) { // T1.P
        return role.emitOpError()
               << "expected a role to have no place at T1, but got a first warp or one_lane";
      }
    } else if (isa<SetupOp, TeardownOp>(op)) {
      WalkResult result = op.walk([&](Operation *inner) {
        if (inner == &op || isScalarDialectOp(inner)) {
          return WalkResult::advance();
        }
        inner->emitOpError() << "expected set-up and tear-down to hold scalar ops only"; // T1.P
        return WalkResult::interrupt();
      });
      if (result.wasInterrupted()) {
        return failure();
      }
    }
  }
  WalkResult result = kernel.walk<WalkOrder::PreOrder>([](Operation *op) {
    if (!isScalarDialectOp(op) && !op->hasTrait<AtT1>()) { // T1.P
      op->emitOpError() << "expected ops of a kernel to be T1, arith, math or scf ops";
      return WalkResult::interrupt();
    }
    return WalkResult(verifyLayouts(op, /*wanted=*/true, "T1")); // T1.L
  });
  return failure(result.wasInterrupted() || failed(verifyTileLoops(kernel)));
}

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

LogicalResult KernelVerifier::verifyChannelUse(Operation *op, FlatSymbolRefAttr name, Value element,
                                               IntegerAttr staticElement, bool producer) {
  ChannelOp channel = channels.lookup(name.getValue());
  if (!channel) { // T1.C
    return op->emitOpError() << "expected a channel of the kernel, but got '" << name << "'";
  }
  auto role = op->getParentOfType<RoleOp>();
  EndAttr end = channel.findEnd(producer, role.getSymName());
  if (!end) { // T1.C
    InFlightDiagnostic diag = op->emitOpError()
                              << "expected role '@" << role.getSymName() << "' to be at the "
                              << (producer ? "producing" : "consuming") << " end of '" << name
                              << "', but got another role's end";
    diag.attachNote(channel.getLoc()) << "the channel is here";
    return diag;
  }
  auto family = static_cast<int64_t>(channel.getFamily());
  if (staticElement && (staticElement.getInt() < 0 || staticElement.getInt() >= family)) { // T1.C
    return op->emitOpError() << "expected element of '" << name << "' to be from 0 to "
                             << family - 1 << ", but got " << staticElement.getInt();
  }
  bool named = element || staticElement;
  if (named != (family > 1)) { // T1.C
    return op->emitOpError() << "expected an element of '" << name << "' exactly if it has several"
                             << ", but got " << (named ? "one" : "none") << " of " << family;
  }
  if (element && end.getTie() == Tie::Each && element != role.getIndex()) { // T1.C
    return op->emitOpError() << "expected the element of '" << name
                             << "' to be the replica's number, as its end is tied, but got another";
  }
  if (staticElement && end.getTie() != Tie::All) { // T1.C
    return op->emitOpError() << "expected the element of '" << name
                             << "' to depend on the replica, as its end is tied, but got "
                             << staticElement.getInt();
  }
  return success();
}

LogicalResult KernelVerifier::verifyCarried(Operation *op, OperandRange inits, ValueRange yields) {
  for (auto [init, yield] : llvm::zip_equal(inits, yields)) {
    if (isa<TokenType>(init.getType()) && channelOf(init) != channelOf(yield)) { // T1.K
      return op->emitOpError() << "expected a carried token to stay with its channel '@"
                               << (channelOf(init) ? channelOf(init).getSymName() : "?")
                               << "', but got another's token in the next trip";
    }
  }
  return success();
}

LogicalResult KernelVerifier::verifyChannelOps(RoleOp role) {
  WalkResult result = role.walk<WalkOrder::PreOrder>([&](Operation *op) {
    LogicalResult status = success();
    if (auto acquire = dyn_cast<AcquireOp>(op)) {
      status = verifyChannelUse(op, acquire.getChannelAttr(), acquire.getElement(),
                                acquire.getStaticElementAttr(), /*producer=*/true);
      acquirers[acquire.getChannel()].insert(role.getSymName());
    } else if (auto wait = dyn_cast<WaitOp>(op)) {
      status = verifyChannelUse(op, wait.getChannelAttr(), wait.getElement(),
                                wait.getStaticElementAttr(), /*producer=*/false);
      waiters[wait.getChannel()].insert(role.getSymName());
    } else if (auto settle = dyn_cast<SettleOp>(op)) {
      status = verifyChannelUse(op, settle.getChannelAttr(), settle.getElement(),
                                settle.getStaticElementAttr(), /*producer=*/true);
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      status = verifyCarried(op, loop.getInits(), loop.getYieldedValues());
    } else if (auto tiles = dyn_cast<ForEachTileOp>(op)) {
      status = verifyCarried(op, tiles.getInits(), tiles.getYield().getValues());
    } else {
      status = verifyAccess(op);
    }
    return WalkResult(status);
  });
  return failure(result.wasInterrupted());
}

LogicalResult KernelVerifier::verifyChannelsServed() {
  for (ChannelOp channel : kernel.getBody().getOps<ChannelOp>()) {
    for (bool producer : {true, false}) {
      auto &roles = producer ? acquirers : waiters;
      for (auto end : (producer ? channel.getFrom() : channel.getTo()).getAsRange<EndAttr>()) {
        if (!roles[channel.getSymName()].contains(end.getRole().getValue())) { // T1.S
          return channel.emitOpError()
                 << "expected role '" << end.getRole() << "' to "
                 << (producer ? "acquire" : "wait on") << " the channel, but got no such op";
        }
      }
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

LogicalResult KernelVerifier::verifyPlace(Operation *op, Value handle, FlatSymbolRefAttr name) {
  ViewOp view = viewOf(name);
  if (!view) { // T1.A
    return op->emitOpError() << "expected a view of the kernel, but got '" << name << "'";
  }
  if (!handle) {
    for (auto &entry : channels) {
      if (entry.second.doesCarry(name.getValue())) { // T1.A
        InFlightDiagnostic diag = op->emitOpError()
                                  << "expected view '" << name
                                  << "' to be reached by a token of its channel, but got its name";
        diag.attachNote(entry.second.getLoc()) << "the channel is here";
        return diag;
      }
    }
    return success();
  }
  if (!isa<TokenType>(handle.getType())) { // T1.A
    return op->emitOpError() << "expected a token as the handle of '" << name << "', but got "
                             << handle.getType();
  }
  ChannelOp channel = channelOf(handle);
  if (!channel || !channel.doesCarry(name.getValue())) { // T1.A
    InFlightDiagnostic diag = op->emitOpError() << "expected '" << name
                                                << "' to be a view that the token's channel "
                                                   "carries, but got a view of another";
    if (channel) {
      diag.attachNote(channel.getLoc()) << "the channel is here";
    }
    return diag;
  }
  return success();
}

LogicalResult KernelVerifier::verifyProduct(AsyncMmaOp mma) {
  FragType a = mma.getAView() ? viewOf(mma.getAViewAttr()).getTileType()
                              : cast<FragType>(mma.getA().getType());
  FragType acc = mma.getAccView()
                     ? viewOf(mma.getAccViewAttr()).getTileType()
                     : cast<FragType>(cast<AsyncType>(mma.getResult().getType()).getValue());
  return verifyProductExtents(mma, mma->getParentOfType<RoleOp>(), a, viewOf(mma.getBViewAttr()),
                              acc); // T1.M
}

/// Whether one replica of one role waits on each element of the channel.
static bool hasOneConsumer(ChannelOp channel) {
  if (channel.getTo().size() != 1) {
    return false;
  }
  auto end = cast<EndAttr>(channel.getTo()[0]);
  auto role = SymbolTable::lookupNearestSymbolFrom<RoleOp>(channel, end.getRole());
  return end.getTie() != Tie::All || role.getReplicas() == 1;
}

LogicalResult KernelVerifier::verifyAccess(Operation *op) {
  if (auto read = dyn_cast<ReadOp>(op)) {
    return failure(
        failed(verifyPlace(op, read.getHandle(), read.getViewAttr())) ||
        failed(verifyTileOfView(op, viewOf(read.getViewAttr()), read.getResult().getType())));
  }
  if (auto write = dyn_cast<WriteOp>(op)) {
    if (failed(verifyPlace(op, write.getHandle(), write.getViewAttr())) ||
        failed(verifyTileOfView(op, viewOf(write.getViewAttr()), write.getValue().getType()))) {
      return failure();
    }
    auto token = write.getHandle() ? cast<TokenType>(write.getHandle().getType()) : TokenType();
    if (token && token.getKind() == TokenKind::Read &&
        !hasOneConsumer(channelOf(write.getHandle()))) { // T1.A
      return write.emitOpError() << "expected a slot written by its reader to have one consumer, "
                                    "but got several";
    }
    return success();
  }
  if (auto rescale = dyn_cast<RescaleOp>(op)) {
    if (failed(verifyPlace(op, rescale.getHandle(), rescale.getViewAttr()))) {
      return failure();
    }
    ViewOp view = viewOf(rescale.getViewAttr());
    if (view.getSpace() != Space::Tmem || !view.getTileType().getElementType().isF32()) { // T1.A
      return rescale.emitOpError() << "expected a rescaled view to be f32 in tmem, but got "
                                   << view.getTileType() << ", " << view.getLayout();
    }
    return success();
  }
  if (auto load = dyn_cast<AsyncLoadOp>(op)) {
    return failure(
        failed(verifyPlace(op, load.getToken(), load.getViewAttr())) ||
        failed(verifyTileOfView(op, viewOf(load.getViewAttr()), load.getGlobal().getType())));
  }
  if (auto store = dyn_cast<AsyncStoreOp>(op)) {
    return failure(
        failed(verifyPlace(op, store.getHandle(), store.getViewAttr())) ||
        failed(verifyTileOfView(op, viewOf(store.getViewAttr()), store.getGlobal().getType())));
  }
  if (auto send = dyn_cast<AsyncSendOp>(op)) {
    ViewOp peer = viewOf(send.getPeerViewAttr());
    if (failed(verifyPlace(op, send.getToken(), send.getViewAttr()))) {
      return failure();
    }
    if (!peer || peer.getBytes() != viewOf(send.getViewAttr()).getBytes()) { // T1.A
      return send.emitOpError() << "expected the views of a send to have one size, but got "
                                << viewOf(send.getViewAttr()).getBytes() << " bytes to '"
                                << send.getPeerViewAttr() << "'";
    }
    return success();
  }
  if (auto next = dyn_cast<AsyncNextOp>(op)) {
    return verifyPlace(op, next.getToken(), next.getViewAttr());
  }
  if (auto mma = dyn_cast<AsyncMmaOp>(op)) {
    if ((mma.getAView() && failed(verifyPlace(op, mma.getA(), mma.getAViewAttr()))) ||
        failed(verifyPlace(op, mma.getB(), mma.getBViewAttr())) ||
        (mma.getAccView() && failed(verifyPlace(op, mma.getAcc(), mma.getAccViewAttr())))) {
      return failure();
    }
    return verifyProduct(mma);
  }
  if (auto ptx = dyn_cast<RunPtxOp>(op)) {
    for (ArrayAttr list : {ptx.getReads(), ptx.getWrites()}) {
      for (auto ref : list.getAsRange<FlatSymbolRefAttr>()) {
        if (!viewOf(ref)) { // T1.A
          return ptx.emitOpError() << "expected a view of the kernel, but got '" << ref << "'";
        }
      }
    }
  }
  return success();
}

LogicalResult KernelVerifier::verify() {
  if (failed(verifyTopLevel())) {
    return failure();
  }
  for (RoleOp role : kernel.getBody().getOps<RoleOp>()) {
    if (failed(verifyTokenLinearity(role)) || failed(verifyChannelOps(role))) { // T1.K
      return failure();
    }
  }
  return verifyChannelsServed();
}

namespace {
struct VerifyT1 : public fa4::tile::impl::TileVerifyT1Base<VerifyT1> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk<WalkOrder::PreOrder>([](KernelOp kernel) {
      return failed(KernelVerifier(kernel).verify()) ? WalkResult::interrupt() : WalkResult::skip();
    });
    if (result.wasInterrupted()) {
      signalPassFailure();
    }
    markAllAnalysesPreserved();
  }
};
} // namespace
