//===- InsertChannels.cpp - tile-insert-channels --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Puts channels under the values that cross roles: a slot is acquired just before
// its first write and committed right after the last, waited for just before its
// first read and released right after the last. The order of the one thread stays.
//
//===----------------------------------------------------------------------===//

#include "ChannelPlan.h"
#include "ViewParts.h"

#include "fa4/Dialect/FA4/IR/FA4Attributes.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

namespace fa4::tile {
#define GEN_PASS_DEF_TILEINSERTCHANNELS
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

namespace {

class Inserter {
public:
  Inserter(KernelOp kernel, ChannelPlan &plan)
      : kernel(kernel), plan(plan), builder(kernel.getContext()) {}

  LogicalResult run();

private:
  LogicalResult createChannels();
  LogicalResult setArrivals(PlannedChannel &channel);
  void acquire(HandOver &handOver);
  void commit(HandOver &handOver);
  void take(Taking &taking);
  LogicalResult useInProducts();
  LogicalResult useInProduct(Taking &taking, const OperandChain &chain);
  /// Reads `carrier` once in front of `first`, for all of `step`.
  void useByThreads(Taking &taking, Value carrier, InlinedStepOp step, Operation *first);
  KeepOp getKeepOf(const Taking &taking, Value carrier);
  IntegerAttr getElementOfTaking(const Taking &taking) {
    return getElementOf(plan, plan.handOvers[taking.handOvers.front()]);
  }

  KernelOp kernel;
  ChannelPlan &plan;
  OpBuilder builder;
};

} // namespace

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

/// How threads arrive at each half that threads arrive at: one by one, unless the
/// schedule has another way.
LogicalResult Inserter::setArrivals(PlannedChannel &channel) {
  const Schedule &schedule = kernel.getSchedule().getPlan();
  MLIRContext *context = kernel.getContext();
  std::optional<Arrival> full, empty;
  if (channel.isFilledByThreads) {
    full = Arrival::Thread;
  }
  if (channel.isEmptiedByThreads) {
    empty = Arrival::Thread;
  }
  auto set = [&](ChannelHalf half, Arrival arrival) -> LogicalResult {
    std::optional<Arrival> &side = half == ChannelHalf::Full ? full : empty;
    if (!side) {
      return channel.op.emitError()
             << "expected threads to arrive where the schedule says how, but got an engine at '"
             << channel.name << (half == ChannelHalf::Full ? ".full'" : ".empty'");
    }
    side = arrival;
    return success();
  };
  for (const GrainEntry &entry : schedule.grain) {
    Arrival arrival = entry.grain == ArrivalGrain::Thread ? Arrival::Thread
                      : entry.grain == ArrivalGrain::Warp ? Arrival::Warp
                                                          : Arrival::Lane;
    if (entry.channel == channel.name && failed(set(entry.half, arrival))) {
      return failure();
    }
  }
  for (const ViaEntry &entry : schedule.via) {
    if (entry.channel != channel.name) {
      continue;
    }
    if (channel.depth != 1) { // R6
      return channel.op.emitError()
             << "expected a named barrier to serve one slot, but got depth " << channel.depth
             << " of '" << channel.name << "'; leave it out of the schedule's via";
    }
    if (failed(set(entry.half, entry.perWarp ? Arrival::NamedPerWarp : Arrival::Named))) {
      return failure();
    }
  }
  if (full) {
    channel.op.setFullAttr(ArrivalAttr::get(context, *full));
  }
  if (empty) {
    channel.op.setEmptyAttr(ArrivalAttr::get(context, *empty));
  }
  return success();
}

/// Names in clauses of the schedule that no result and no channel has.
static LogicalResult checkNames(KernelOp kernel, const ChannelPlan &plan) {
  const Schedule &schedule = kernel.getSchedule().getPlan();
  llvm::StringSet<> known;
  for (const Home &home : schedule.homes) {
    known.insert(home.name);
  }
  for (const PlannedChannel &channel : plan.channels) {
    known.insert(channel.name);
  }
  auto check = [&](StringRef clause, StringRef name) -> LogicalResult {
    if (known.contains(name)) {
      return success();
    }
    return kernel.emitError() << "expected '" << clause
                              << "' of the schedule to speak of a channel or of a home's name, but "
                                 "got '"
                              << name << "'; name the home with 'as " << name << "'";
  };
  for (const GrainEntry &entry : schedule.grain) {
    if (failed(check("grain", entry.channel))) {
      return failure();
    }
  }
  for (const ViaEntry &entry : schedule.via) {
    if (failed(check("via", entry.channel))) {
      return failure();
    }
  }
  for (auto [clause, names] : {std::pair("early_acquire", &schedule.earlyAcquire),
                               std::pair("stagger", &schedule.stagger)}) {
    for (const std::string &name : *names) {
      if (failed(check(clause, name))) {
        return failure();
      }
    }
  }
  return success();
}

LogicalResult Inserter::createChannels() {
  // Channels follow the views that they carry.
  Operation *last = kernel.getWork();
  for (auto view : kernel.getBody().getOps<ViewOp>()) {
    last = view;
  }
  builder.setInsertionPointAfter(last);
  MLIRContext *context = kernel.getContext();
  for (PlannedChannel &channel : plan.channels) {
    auto endOf = [&](const Role *role) -> Attribute {
      Tie tie = role->replicas > 1 && channel.family > 1 ? Tie::Each : Tie::All;
      return EndAttr::get(context, FlatSymbolRefAttr::get(context, role->name), tie);
    };
    SmallVector<Attribute> views = llvm::map_to_vector(channel.views, [&](StringRef view) {
      return Attribute(FlatSymbolRefAttr::get(context, view));
    });
    for (const Role *role : {channel.from, channel.to}) {
      bool isTakenByAll = role == channel.to && channel.family == 1;
      if (role->replicas > 1 && channel.family != role->replicas && !isTakenByAll) {
        return kernel.emitError() << "expected as many replicas of role '" << role->name
                                  << "' as elements of '" << channel.name << "', " << channel.family
                                  << ", but got " << role->replicas;
      }
    }
    channel.op = ChannelOp::create(
        builder, kernel.getLoc(), builder.getStringAttr(channel.name),
        builder.getI64IntegerAttr(channel.family), builder.getI64IntegerAttr(channel.depth),
        builder.getArrayAttr({endOf(channel.from)}), builder.getArrayAttr({endOf(channel.to)}),
        builder.getArrayAttr(views), ArrivalAttr(), ArrivalAttr(), DenseI64ArrayAttr());
    if (failed(setArrivals(channel))) {
      return failure();
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

void Inserter::acquire(HandOver &handOver) {
  KeepOp last = handOver.keeps.back();
  Operation *first = handOver.keeps.front();
  if (isa_and_present<MmaOp, LoadOp>(handOver.keeps.front().getValue().getDefiningOp())) {
    first = handOver.keeps.front().getValue().getDefiningOp();
  } else {
    // Threads write a message at once, when its last number is known.
    for (KeepOp keep : ArrayRef(handOver.keeps).drop_back()) {
      keep->moveBefore(last);
    }
  }
  builder.setInsertionPoint(first);
  handOver.acquire = AcquireOp::create(builder, last.getLoc(), plan.channels[handOver.channel].name,
                                       Value(), getElementOf(plan, handOver));
  for (KeepOp keep : handOver.keeps) {
    keep.getHandleMutable().assign(handOver.acquire.getToken());
    keep.removeElementAttr();
  }
}

/// After `op` and what follows it of these kinds.
template <typename... Kinds>
static void setInsertionPointPast(OpBuilder &builder, Operation *op) {
  Operation *last = op;
  while (isa_and_nonnull<Kinds...>(last->getNextNode())) {
    last = last->getNextNode();
  }
  builder.setInsertionPointAfter(last);
}

void Inserter::commit(HandOver &handOver) {
  KeepOp last = handOver.keeps.back();
  setInsertionPointPast<ReleaseOp>(builder, last);
  handOver.commit = CommitOp::create(builder, last.getLoc(), handOver.acquire.getToken(),
                                     ValueRange(), /*after_all=*/false);
}

KeepOp Inserter::getKeepOf(const Taking &taking, Value carrier) {
  for (Value origin : getOrigins(carrier)) {
    auto keep = origin.getDefiningOp<KeepOp>();
    if (keep && llvm::any_of(taking.handOvers, [&](unsigned handOver) {
          return llvm::is_contained(plan.handOvers[handOver].keeps, keep);
        })) {
      return keep;
    }
  }
  return KeepOp();
}

LogicalResult Inserter::useInProduct(Taking &taking, const OperandChain &chain) {
  Value carrier = chain.layout.empty() ? chain.getOperand() : chain.layout[0]->getOperand(0);
  StringRef name = getKeepOf(taking, carrier).getView();
  auto whole = cast<ViewOp>(SymbolTable::lookupSymbolIn(kernel, name));
  FailureOr<ViewPlace> place = getPlaceOfPart(
      {static_cast<int64_t>(whole.getOffset()), whole.getTileType(), whole.getLayout()}, chain,
      name);
  if (failed(place)) {
    return failure();
  }
  ViewOp part;
  for (auto view : kernel.getBody().getOps<ViewOp>()) {
    ViewPlace other{static_cast<int64_t>(view.getOffset()), view.getTileType(), view.getLayout()};
    if (view.getAlloc() == whole.getAlloc() && other == *place &&
        (!part || view.getSymName() == name)) {
      part = view;
    }
  }
  if (!part) {
    return chain.use->getOwner()->emitError()
           << "expected a view for the part of @" << name << " that a product takes";
  }
  plan.channels[taking.channel].views.insert(part.getSymName());
  builder.setInsertionPoint(chain.use->getOwner());
  auto used = UseOp::create(builder, chain.use->getOwner()->getLoc(), chain.getOperand().getType(),
                            chain.getOperand(), taking.wait.getToken(), part.getSymName());
  chain.use->set(used.getResult());
  return success();
}

void Inserter::useByThreads(Taking &taking, Value carrier, InlinedStepOp step, Operation *first) {
  builder.setInsertionPoint(first);
  auto used = UseOp::create(builder, first->getLoc(), carrier.getType(), carrier,
                            taking.wait.getToken(), getKeepOf(taking, carrier).getView());
  carrier.replaceUsesWithIf(used.getResult(), [&](OpOperand &operand) {
    return operand.getOwner() != used && getStepOf(operand.getOwner()) == step &&
           operand.getOwner() != step.getOperation() && !isa<MmaOp>(operand.getOwner());
  });
}

void Inserter::take(Taking &taking) {
  // Where each step starts to take it, by threads.
  llvm::MapVector<Operation *, Operation *> firstRead;
  Operation *firstUse = nullptr, *lastUse = nullptr;
  for (const OperandChain &chain : taking.uses) {
    InlinedStepOp step = getStepOf(chain.use->getOwner());
    Operation *op = getAncestorIn(&step.getBody().front(), chain.use->getOwner());
    if (!chain.isProduct() && !chain.layout.empty()) {
      op = getAncestorIn(&step.getBody().front(), chain.layout[0]);
    }
    if (taking.isInside) {
      firstUse = !firstUse || op->isBeforeInBlock(firstUse) ? op : firstUse;
      lastUse = !lastUse || lastUse->isBeforeInBlock(op) ? op : lastUse;
    }
    if (!chain.isProduct()) {
      Operation *&first = firstRead[step];
      first = !first || op->isBeforeInBlock(first) ? op : first;
    }
  }
  builder.setInsertionPoint(taking.isInside ? firstUse : taking.first);
  Location loc = taking.uses[0].use->getOwner()->getLoc();
  taking.wait = WaitOp::create(builder, loc, plan.channels[taking.channel].name, Value(),
                               getElementOfTaking(taking));
  bool isRead = false;
  for (auto &[reader, first] : firstRead) {
    Operation *step = reader;
    for (Value carrier : taking.carriers) {
      bool isTaken = llvm::any_of(taking.uses, [&](const OperandChain &chain) {
        Value source = chain.layout.empty() ? chain.getOperand() : chain.layout[0]->getOperand(0);
        return source == carrier && getStepOf(chain.use->getOwner()).getOperation() == step &&
               !chain.isProduct();
      });
      if (isTaken) {
        useByThreads(taking, carrier, cast<InlinedStepOp>(step), first);
        isRead = true;
      }
    }
  }
  if (taking.over) {
    taking.over.getHandleMutable().assign(taking.wait.getToken());
    taking.over.removeElementAttr();
  }
  for (OpOperand *store : taking.stores) {
    builder.setInsertionPoint(store->getOwner());
    auto used = UseOp::create(builder, loc, store->get().getType(), store->get(),
                              taking.wait.getToken(), taking.over.getView());
    store->set(used.getResult());
  }
  if (!taking.isInside) {
    setInsertionPointPast<ReleaseOp>(builder, taking.last);
  } else if (taking.over) {
    setInsertionPointPast<ReleaseOp>(builder, taking.over);
  } else if (isRead && lastUse && !taking.isByEngine()) {
    setInsertionPointPast<UseOp>(builder, taking.wait);
  } else {
    setInsertionPointPast<KeepOp, ReleaseOp>(builder, lastUse);
  }
  taking.release =
      ReleaseOp::create(builder, loc, taking.wait.getToken(), ValueRange(), /*after_all=*/false);
}

/// Marks the operands of products, in their order.
LogicalResult Inserter::useInProducts() {
  SmallVector<std::pair<Taking *, const OperandChain *>> uses;
  for (Taking &taking : plan.takings) {
    for (const OperandChain &chain : taking.uses) {
      if (chain.isProduct()) {
        uses.push_back({&taking, &chain});
      }
    }
  }
  for (unsigned operand : {0U, 1U}) {
    for (auto [taking, chain] : uses) {
      if (chain->use->getOperandNumber() == operand && failed(useInProduct(*taking, *chain))) {
        return failure();
      }
    }
  }
  return success();
}

/// A role that fills a ring and hears nothing else from who empties it must see the
/// engine's last arrivals land before it ends.
static void settleEngines(KernelOp kernel, const ChannelPlan &plan) {
  auto loops = kernel.getBody().getOps<ForEachTileOp>();
  OpBuilder builder(kernel.getContext());
  builder.setInsertionPointAfter(*loops.begin());
  // The deepest ring first: it takes longest.
  SmallVector<const PlannedChannel *> settled;
  for (const PlannedChannel &channel : plan.channels) {
    bool isAnswered = llvm::any_of(plan.channels, [&](const PlannedChannel &other) {
      return other.from == channel.to && other.to == channel.from;
    });
    if (channel.isEmptiedByProducts && !isAnswered) {
      settled.push_back(&channel);
    }
  }
  llvm::sort(settled, [](const PlannedChannel *a, const PlannedChannel *b) {
    return std::tuple(-a->depth, a) < std::tuple(-b->depth, b);
  });
  for (const PlannedChannel *channel : settled) {
    for (int64_t element = 0; element < channel->family; ++element) {
      SettleOp::create(builder, kernel.getLoc(), channel->name, Value(),
                       channel->family > 1 ? builder.getI64IntegerAttr(element) : IntegerAttr());
    }
  }
}

LogicalResult Inserter::run() {
  if (failed(createChannels())) {
    return failure();
  }
  for (HandOver &handOver : plan.handOvers) {
    acquire(handOver);
  }
  for (Taking &taking : plan.takings) {
    take(taking);
  }
  if (failed(useInProducts())) {
    return failure();
  }
  for (HandOver &handOver : plan.handOvers) {
    commit(handOver);
  }
  for (PlannedChannel &channel : plan.channels) {
    SmallVector<Attribute> views = llvm::map_to_vector(channel.views, [&](StringRef view) {
      return Attribute(FlatSymbolRefAttr::get(kernel.getContext(), view));
    });
    channel.op.setCarriesAttr(builder.getArrayAttr(views));
  }
  return success();
}

namespace {
struct TileInsertChannels : public fa4::tile::impl::TileInsertChannelsBase<TileInsertChannels> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (!kernel.getBody().getOps<ChannelOp>().empty() ||
        kernel.getBody().getOps<AllocOp>().empty()) {
      kernel.emitError() << "expected a kernel with memory and without channels; run "
                            "tile-assign-memory first, and this pass once";
      return signalPassFailure();
    }
    ViewOverlap overlap(kernel);
    FailureOr<ChannelPlan> plan = planChannels(kernel, overlap);
    if (failed(plan) || failed(checkNames(kernel, *plan)) ||
        failed(Inserter(kernel, *plan).run()) || failed(orderRegions(kernel, *plan, overlap))) {
      return signalPassFailure();
    }
    settleEngines(kernel, *plan);
    if (failed(takeTurns(kernel))) {
      return signalPassFailure();
    }
    // Tokens that are moved hold slots longer than the one thread can: what the
    // schedule asks for there is judged when roles run side by side.
    if (failed(checkRings(kernel))) {
      return signalPassFailure();
    }
    moveTokens(kernel, *plan);
    numChannels += plan->channels.size();
    numHandOvers += plan->handOvers.size();
  }
};
} // namespace
