//===- RoleLowering.cpp - a role from tokens to barriers ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Generation by generation a role waits at the same barrier as the channel's other
// end arrives at, because both count from 0 and advance once per token. Nothing is
// left out here, also where a wait is implied: tile-simplify-barriers knows why.
//
//===----------------------------------------------------------------------===//

#include "RoleLowering.h"

#include "RoleScalars.h"

using namespace mlir;
using namespace fa4::tile;

//===----------------------------------------------------------------------===//
// Cursors
//===----------------------------------------------------------------------===//

SmallVector<unsigned> RoleLowering::carriedClasses(Operation *op) const {
  SmallVector<unsigned> carried;
  for (unsigned number = 0; number < cursors.classes.size(); ++number) {
    if (cursors.advancesIn(op, number)) {
      carried.push_back(number);
    }
  }
  return carried;
}

Value RoleLowering::valueOf(unsigned cursorClass, const Position &at) const {
  for (auto [key, value] : llvm::zip_equal(cursors.keys, at.next)) {
    if (key.cursorClass == cursorClass) {
      return value;
    }
  }
  return {};
}

void RoleLowering::setClass(unsigned cursorClass, Value value, Position &at) const {
  for (auto [key, next] : llvm::zip_equal(cursors.keys, at.next)) {
    if (key.cursorClass == cursorClass) {
      next = value;
    }
  }
}

Value RoleLowering::advance(Value cursor, Position &at) {
  Value &next = at.advanced[cursor];
  if (!next) {
    next = AdvanceOp::create(builder, cursor.getLoc(), cursor);
  }
  return next;
}

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

void RoleLowering::emitTokenStart(Operation *op, Position &at) {
  ChannelOp channel = channelOf(op);
  const Halves &both = halves.find(channel)->second;
  bool producer = isa<AcquireOp>(op);
  std::pair<Value, IntegerAttr> named =
      TypeSwitch<Operation *, std::pair<Value, IntegerAttr>>(op)
          .Case<AcquireOp, WaitOp>([](auto use) {
            return std::pair<Value, IntegerAttr>(use.getElement(), use.getStaticElementAttr());
          })
          .Default([](Operation *) { return std::pair<Value, IntegerAttr>(); });
  Slot slot{channel, named.first ? mapping.lookup(named.first) : Value(), named.second, Value()};
  if (!producer && both.full.isNamed()) {
    NamedSyncOp::create(builder, op->getLoc(), symbol(both.full.name), slot.element, slot.fixed,
                        Value());
  } else {
    unsigned key = cursors.keyOf(op);
    Value cursor = at.next[key];
    BarrierWaitOp::create(builder, op->getLoc(), cursor,
                          symbol(producer ? both.empty.name : both.full.name), slot.element,
                          slot.fixed);
    if (channel.getDepth() > 1) {
      slot.cursor = cursor;
    }
    at.next[key] = advance(cursor, at);
  }
  slots[op->getResult(0)] = slot;
}

// Everything committed was released: the releases that the next `depth` acquires
// would wait for.
void RoleLowering::emitSettle(SettleOp settle, Position &at) {
  ChannelOp channel = channelOf(settle);
  Value cursor = at.next[cursors.keyOf(settle)];
  Value element = settle.getElement() ? mapping.lookup(settle.getElement()) : Value();
  for (uint64_t slot = 0; slot < channel.getDepth(); ++slot) {
    if (slot != 0) {
      cursor = advance(cursor, at);
    }
    BarrierWaitOp::create(builder, settle.getLoc(), cursor,
                          symbol(halves.find(channel)->second.empty.name), element,
                          settle.getStaticElementAttr());
  }
}

LogicalResult RoleLowering::emitTokenEnd(Operation *op, Value token, ValueRange after) {
  const Slot &slot = slots.find(token)->second;
  const Halves &both = halves.find(slot.channel)->second;
  const Half &half = isa<CommitOp>(op) ? both.full : both.empty;
  FlatSymbolRefAttr name = symbol(half.name);
  bool all = false;
  if (auto commit = dyn_cast<CommitOp>(op)) {
    all = commit.getAfterAll();
  } else if (auto release = dyn_cast<ReleaseOp>(op)) {
    all = release.getAfterAll();
  }
  if (after.empty() && !all) {
    if (half.isNamed()) {
      NamedArriveOp::create(builder, op->getLoc(), name, slot.element, slot.fixed, Value());
    } else {
      BarrierArriveOp::create(builder, op->getLoc(), slot.cursor, name, slot.element, slot.fixed,
                              ArrivalAttr::get(op->getContext(), half.by), unitIf(isFromPair(half)),
                              Value());
    }
    return success();
  }
  OpBuilder::InsertionGuard guard(builder);
  bool products = all, stores = false;
  Operation *last = nullptr;
  for (Value async : after) {
    auto engine = cast<AsyncOpInterface>(async.getDefiningOp()).getEngine();
    products |= engine == Engine::Mma;
    stores |= engine == Engine::Store;
    Operation *here = issued.lookup(async);
    if (here && here->getBlock() == builder.getInsertionBlock() &&
        (!last || last->isBeforeInBlock(here))) {
      last = here;
    }
  }
  if (products) {
    // A commit reports what its lane issued before: the earlier, the less.
    if (!all && last) {
      builder.setInsertionPointAfter(last);
    }
    if (!role->getParentOfType<KernelOp>().getTarget().getInfo().hasTensorMemory()) {
      return op->emitOpError() << "expected products of this target to be awaited before their "
                                  "slot is handed over, but got one after them";
    }
    bool onBoth = role.getCtas() == Ctas::Leader && !half.isAtLeader;
    Operation *commit = BarrierCommitOp::create(builder, op->getLoc(), slot.cursor, name,
                                                slot.element, slot.fixed, unitIf(onBoth));
    for (Value async : after) {
      issued[async] = commit;
    }
  } else if (stores) {
    for (Value async : after) {
      AwaitOp::create(builder, op->getLoc(), Type(), mapping.lookup(async));
    }
    BarrierArriveOp::create(builder, op->getLoc(), slot.cursor, name, slot.element, slot.fixed,
                            ArrivalAttr::get(op->getContext(), Arrival::Lane),
                            unitIf(isFromPair(half)), Value());
  }
  // Loads signal the barrier themselves.
  return success();
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

template <typename OpTy>
void RoleLowering::emitAccess(OpTy access) {
  Value handle = access.getHandle();
  if (!handle || !isa<TokenType>(handle.getType())) {
    builder.clone(*access, mapping);
    return;
  }
  const Slot &slot = slots.find(handle)->second;
  auto copy = cast<OpTy>(builder.clone(*access, mapping));
  // Not mapped, the clone still holds the old token.
  copy.getHandleMutable().clear();
  if (slot.cursor) {
    copy.getHandleMutable().assign(slot.cursor);
  }
  if (slot.element) {
    copy.getElementMutable().assign(slot.element);
  }
  copy.setStaticElementAttr(slot.fixed);
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

void RoleLowering::appendMapped(ValueRange values, SmallVectorImpl<Value> &to) const {
  for (Value value : values) {
    if (!isa<TokenType>(value.getType())) {
      to.push_back(mapping.lookup(value));
    } else if (Value cursor = slots.find(value)->second.cursor) {
      to.push_back(cursor);
    }
  }
}

void RoleLowering::appendCarried(ValueRange values, ArrayRef<unsigned> carried, const Position &at,
                                 SmallVectorImpl<Value> &to) const {
  appendMapped(values, to);
  for (unsigned number : carried) {
    to.push_back(valueOf(number, at));
  }
}

void RoleLowering::takeCarried(ValueRange old, ValueRange inits, ValueRange fresh,
                               ArrayRef<unsigned> carried, Position &at) {
  unsigned next = 0;
  for (auto [value, init] : llvm::zip_equal(old, inits)) {
    if (!isa<TokenType>(value.getType())) {
      mapping.map(value, fresh[next++]);
      continue;
    }
    Slot slot = slots.find(init)->second;
    if (slot.cursor) {
      slot.cursor = fresh[next++];
    }
    slots[value] = slot;
  }
  for (unsigned number : carried) {
    setClass(number, fresh[next++], at);
  }
}

LogicalResult RoleLowering::emitFor(scf::ForOp loop, Position &at) {
  SmallVector<unsigned> carried = carriedClasses(loop);
  SmallVector<Value> inits;
  appendCarried(loop.getInits(), carried, at, inits);
  auto fresh = scf::ForOp::create(builder, loop.getLoc(), mapping.lookup(loop.getLowerBound()),
                                  mapping.lookup(loop.getUpperBound()),
                                  mapping.lookup(loop.getStep()), inits);
  fresh->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  {
    OpBuilder::InsertionGuard guard(builder);
    Block &body = *fresh.getBody();
    if (!body.empty()) {
      body.back().erase();
    }
    builder.setInsertionPointToEnd(&body);
    mapping.map(loop.getInductionVar(), fresh.getInductionVar());
    Position inside = at;
    takeCarried(loop.getRegionIterArgs(), loop.getInits(), fresh.getRegionIterArgs(), carried,
                inside);
    if (failed(emitBlock(*loop.getBody(), inside))) {
      return failure();
    }
    SmallVector<Value> yields;
    appendCarried(loop.getYieldedValues(), carried, inside, yields);
    scf::YieldOp::create(builder, loop.getLoc(), yields);
  }
  takeCarried(loop.getResults(), loop.getInits(), fresh.getResults(), carried, at);
  return success();
}

LogicalResult RoleLowering::emitTiles(ForEachTileOp tiles, Position &at) {
  SmallVector<unsigned> carried = carriedClasses(tiles);
  SmallVector<Value> inits;
  appendCarried(tiles.getInits(), carried, at, inits);
  auto fresh = ForEachTileOp::create(builder, tiles.getLoc(), ValueRange(inits).getTypes(),
                                     tiles.getSourceAttr(), inits);
  {
    OpBuilder::InsertionGuard guard(builder);
    Block *body = builder.createBlock(&fresh.getBody());
    for (BlockArgument argument : tiles.getTileArgs()) {
      mapping.map(argument, body->addArgument(argument.getType(), argument.getLoc()));
    }
    for (Value init : inits) {
      body->addArgument(init.getType(), init.getLoc());
    }
    Position inside = at;
    takeCarried(tiles.getIterArgs(), tiles.getInits(),
                body->getArguments().drop_front(tiles.getNumTileArgs()), carried, inside);
    builder.setInsertionPointToEnd(body);
    if (failed(emitBlock(tiles.getBody().front(), inside))) {
      return failure();
    }
    SmallVector<Value> yields;
    appendCarried(tiles.getYield().getOperands(), carried, inside, yields);
    YieldOp::create(builder, tiles.getLoc(), yields);
  }
  takeCarried(tiles.getResults(), tiles.getInits(), fresh.getResults(), carried, at);
  return success();
}

LogicalResult RoleLowering::emitIf(scf::IfOp branch, Position &at) {
  SmallVector<unsigned> carried = carriedClasses(branch);
  SmallVector<Type> types;
  for (Type type : branch.getResultTypes()) {
    if (isa<TokenType>(type)) {
      return branch.emitOpError() << "expected tokens to end in the branch where they start";
    }
    types.push_back(type);
  }
  for (unsigned number : carried) {
    types.push_back(valueOf(number, at).getType());
  }
  bool withElse = !branch.getElseRegion().empty() || !carried.empty();
  auto fresh = scf::IfOp::create(builder, branch.getLoc(), types,
                                 mapping.lookup(branch.getCondition()), withElse);
  for (auto [from, to] : llvm::zip_equal(branch->getRegions(), fresh->getRegions())) {
    if (to.empty()) {
      continue;
    }
    OpBuilder::InsertionGuard guard(builder);
    if (!to.front().empty()) {
      to.front().back().erase();
    }
    builder.setInsertionPointToEnd(&to.front());
    Position inside = at;
    ValueRange yielded;
    if (!from.empty()) {
      if (failed(emitBlock(from.front(), inside))) {
        return failure();
      }
      yielded = from.front().getTerminator()->getOperands();
    }
    SmallVector<Value> yields;
    appendCarried(yielded, carried, inside, yields);
    scf::YieldOp::create(builder, branch.getLoc(), yields);
  }
  takeCarried(branch.getResults(), branch.getResults(), fresh.getResults(), carried, at);
  return success();
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

LogicalResult RoleLowering::emitOp(Operation *op, Position &at) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<AcquireOp, WaitOp>([&](auto) {
        emitTokenStart(op, at);
        return success();
      })
      .Case([&](SettleOp settle) {
        emitSettle(settle, at);
        return success();
      })
      .Case<CommitOp, ReleaseOp>(
          [&](auto end) { return emitTokenEnd(op, end.getToken(), end.getAfter()); })
      .Case([&](AsyncLoadOp load) {
        emitLoad(load);
        return success();
      })
      .Case([&](AsyncMmaOp mma) { return emitMma(mma); })
      .Case([&](AwaitOp await) {
        emitAwait(await);
        return success();
      })
      .Case<ReadOp, WriteOp, RescaleOp, AsyncStoreOp>([&](auto access) {
        emitAccess(access);
        return success();
      })
      .Case([&](AsyncNextOp next) {
        emitNext(next);
        return success();
      })
      .Case([&](AsyncSendOp) -> LogicalResult {
        return op->emitOpError() << "expected loads, products and stores, but got an op whose "
                                    "channel has no lowering yet";
      })
      .Case([&](scf::ForOp loop) { return emitFor(loop, at); })
      .Case([&](ForEachTileOp tiles) { return emitTiles(tiles, at); })
      .Case([&](scf::IfOp branch) { return emitIf(branch, at); })
      .Default([&](Operation *other) {
        builder.clone(*other, mapping);
        return success();
      });
}

LogicalResult RoleLowering::emitBlock(Block &from, Position &at) {
  bool ends = from.mightHaveTerminator();
  for (Operation &op : from) {
    if (ends && op.hasTrait<OpTrait::IsTerminator>()) {
      break;
    }
    if (failed(emitOp(&op, at))) {
      return failure();
    }
  }
  return success();
}

LogicalResult RoleLowering::run() {
  Block &old = role.getBody().front();
  Block *fresh = new Block();
  role.getBody().push_back(fresh);
  for (BlockArgument argument : old.getArguments()) {
    mapping.map(argument, fresh->addArgument(argument.getType(), argument.getLoc()));
  }
  builder.setInsertionPointToStart(fresh);
  Position at;
  SmallVector<Value> heads;
  for (const CursorClasses::Class &each : cursors.classes) {
    heads.push_back(startOf(each));
  }
  for (const CursorKey &key : cursors.keys) {
    at.next.push_back(heads[key.cursorClass]);
  }
  LogicalResult emitted = success();
  bool started = false;
  for (Operation &op : old) {
    // Elements are known in front of the first op that speaks of a channel.
    if (!started && holdsChannelOps(&op)) {
      emitStarts();
      started = true;
    }
    emitted = emitOp(&op, at);
    if (failed(emitted)) {
      break;
    }
  }
  if (failed(emitted)) {
    fresh->dropAllDefinedValueUses();
    fresh->erase();
    return failure();
  }
  old.dropAllDefinedValueUses();
  old.erase();
  return success();
}
