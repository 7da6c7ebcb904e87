//===- RoleLoweringEngines.cpp - engines and full starts of a role --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies announce what they bring before it can arrive. Products on registers
// close a group each; until tile-lower-async counts, a wait waits for all of them.
//
//===----------------------------------------------------------------------===//

#include "RoleLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fa4::tile;

//===----------------------------------------------------------------------===//
// Engines
//===----------------------------------------------------------------------===//

/// The commit that a load completes, and the loads that it names.
static CommitOp commitOf(AsyncLoadOp load) {
  for (Operation *user : load->getUsers()) {
    if (auto commit = dyn_cast<CommitOp>(user)) {
      return commit;
    }
  }
  return {};
}

void RoleLowering::emitLoad(AsyncLoadOp load) {
  const Slot &slot = slots.find(load.getToken())->second;
  const Half &half = halves.find(slot.channel)->second.full;
  FlatSymbolRefAttr full = symbol(half.name);
  CommitOp commit = commitOf(load);
  // The bytes are announced with the first load, so before any arrives.
  if (commit && commit.getAfter().front() == load.getResult()) {
    int64_t bytes = 0;
    for (Value async : commit.getAfter()) {
      auto part = async.getDefiningOp<AsyncLoadOp>();
      bytes += SymbolTable::lookupNearestSymbolFrom<ViewOp>(role, part.getViewAttr()).getBytes();
    }
    bytes *= isFromPair(half) ? 2 : 1; // both CTAs' parts arrive at the leader
    BarrierExpectOp::create(builder, load.getLoc(), slot.cursor, full, slot.element, slot.fixed,
                            builder.getI64IntegerAttr(bytes), unitIf(isFromPair(half)));
  }
  SmallVector<Value> coordinates;
  for (Value coordinate : load.getCoordinates()) {
    coordinates.push_back(mapping.lookup(coordinate));
  }
  issued[load.getResult()] =
      IssueLoadOp::create(builder, load.getLoc(), mapping.lookup(load.getGlobal()), coordinates,
                          slot.cursor, load.getViewAttr(), slot.element, slot.fixed, slot.cursor,
                          full, slot.element, slot.fixed, unitIf(isFromPair(half)));
}

void RoleLowering::emitNext(AsyncNextOp next) {
  const Slot &slot = slots.find(next.getToken())->second;
  FlatSymbolRefAttr full = symbol(halves.find(slot.channel)->second.full.name);
  int64_t bytes = SymbolTable::lookupNearestSymbolFrom<ViewOp>(role, next.getViewAttr()).getBytes();
  BarrierExpectOp::create(builder, next.getLoc(), slot.cursor, full, slot.element, slot.fixed,
                          builder.getI64IntegerAttr(bytes), UnitAttr());
  issued[next.getResult()] =
      IssueNextOp::create(builder, next.getLoc(), slot.cursor, next.getViewAttr(), slot.element,
                          slot.fixed, slot.cursor, full, slot.element, slot.fixed);
}

LogicalResult RoleLowering::emitMma(AsyncMmaOp mma) {
  // A place in memory, or the fragment in `cursor`.
  auto placeOf = [&](Value operand) -> Slot {
    if (!operand || isa<TokenType>(operand.getType())) {
      return operand ? slots.find(operand)->second : Slot();
    }
    return {ChannelOp(), Value(), IntegerAttr(), mapping.lookup(operand)};
  };
  Slot a = placeOf(mma.getA()), b = placeOf(mma.getB()), acc = placeOf(mma.getAcc());
  Type value = cast<AsyncType>(mma.getResult().getType()).getValue();
  bool hasTensorMemory = role->getParentOfType<KernelOp>().getTarget().getInfo().hasTensorMemory();
  if (hasTensorMemory && (value || !mma.getAView())) {
    return mma.emitOpError() << "expected operands and accumulator of a product to be views on "
                                "this target, but got a fragment";
  }
  issued[mma.getResult()] =
      IssueMmaOp::create(builder, mma.getLoc(), value, a.cursor, mma.getAViewAttr(), a.element,
                         a.fixed, b.cursor, mma.getBViewAttr(), b.element, b.fixed, acc.cursor,
                         mma.getAccViewAttr(), acc.element, acc.fixed, mma.getOverwriteAttr(),
                         mma.getUnless() ? mapping.lookup(mma.getUnless()) : Value());
  if (value) {
    GroupCommitOp::create(builder, mma.getLoc(), Group::Wgmma);
  }
  return success();
}

void RoleLowering::emitAwait(AwaitOp await) {
  if (!await.getResult()) {
    builder.clone(*await, mapping);
    return;
  }
  Value product = issued.lookup(await.getAsync())->getResult(0);
  auto wait = GroupWaitOp::create(builder, await.getLoc(), product.getType(), Group::Wgmma,
                                  /*pending=*/0, /*read=*/false, product);
  mapping.map(await.getResult(), wait.getResults().front());
}

//===----------------------------------------------------------------------===//
// Slots that are full at the start
//===----------------------------------------------------------------------===//

Value RoleLowering::isProducerOf(ChannelOp channel, int64_t element) {
  EndAttr end = channel.findEnd(/*producer=*/true, role.getSymName());
  auto replicas = static_cast<int64_t>(role.getReplicas());
  int64_t replica = end.getTie() == Tie::Previous ? (element + replicas - 1) % replicas : element;
  Value number = arith::ConstantIntOp::create(builder, channel.getLoc(), replica, 32);
  return arith::CmpIOp::create(builder, channel.getLoc(), arith::CmpIPredicate::eq,
                               mapping.lookup(role.getIndex()), number);
}

/// Slot 0. A producer's first acquires pass, less those of slots that are full.
Value RoleLowering::startOf(const CursorClasses::Class &each) {
  Location loc = role.getLoc();
  Value fresh =
      CursorOp::create(builder, loc, CursorType::get(role.getContext(), each.depth), each.credit);
  if (!each.startsOf) {
    return fresh;
  }
  const CursorKey &key = cursors.keys[*each.startsOf];
  ChannelOp channel = key.channel;
  ArrayRef<int64_t> starts = *channel.getStarts();
  auto advanced = [&](int64_t steps) {
    Value cursor = fresh;
    for (int64_t step = 0; step < steps; ++step) {
      cursor = AdvanceOp::create(builder, loc, cursor);
    }
    return cursor;
  };
  if (!key.element || llvm::all_equal(starts)) {
    return advanced(starts[key.fixed.value_or(0)]);
  }
  Value result = fresh;
  for (auto [element, steps] : llvm::enumerate(starts)) {
    if (steps != 0) {
      result = arith::SelectOp::create(builder, loc,
                                       isProducerOf(channel, static_cast<int64_t>(element)),
                                       advanced(steps), result);
    }
  }
  return result;
}

void RoleLowering::emitStarts() {
  for (const CursorKey &key : cursors.keys) {
    ChannelOp channel = key.channel;
    if (!key.producer || !fillsSlots(channel)) {
      continue;
    }
    const Half &full = halves.find(channel)->second.full;
    Value element = key.element ? mapping.lookup(key.element) : Value();
    IntegerAttr fixed = key.fixed ? builder.getI64IntegerAttr(*key.fixed) : IntegerAttr();
    for (auto [number, count] : llvm::enumerate(*channel.getStarts())) {
      auto start = static_cast<int64_t>(number);
      if (count == 0 || (key.fixed && *key.fixed != start)) {
        continue;
      }
      Value when = element ? isProducerOf(channel, start) : Value();
      if (full.isNamed()) {
        NamedArriveOp::create(builder, channel.getLoc(), symbol(full.name), element, fixed, when);
        continue;
      }
      Value slot;
      for (int64_t generation = 0; generation < count; ++generation) {
        if (channel.getDepth() > 1) {
          auto type = CursorType::get(role.getContext(), channel.getDepth());
          slot = slot ? Value(AdvanceOp::create(builder, channel.getLoc(), slot))
                      : Value(CursorOp::create(builder, channel.getLoc(), type, false));
        }
        BarrierArriveOp::create(builder, channel.getLoc(), slot, symbol(full.name), element, fixed,
                                ArrivalAttr::get(role.getContext(), full.by),
                                unitIf(isFromPair(full)), when);
      }
    }
  }
}
