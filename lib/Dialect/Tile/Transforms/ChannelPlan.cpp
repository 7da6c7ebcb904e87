//===- ChannelPlan.cpp - which values go through which channel ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A channel is an allocation, who fills it and who takes it. Views that overlap are
// slots of one ring; parts side by side are handed over apart. What the taker writes
// in place goes back with the slot.
//
//===----------------------------------------------------------------------===//

#include "ChannelPlan.h"

#include "fa4/Dialect/FA4/IR/FA4Attributes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

InlinedStepOp fa4::tile::getMakerOf(KeepOp keep) {
  if (InlinedStepOp step = getStepOf(keep)) {
    return step;
  }
  for (Value origin : getOrigins(keep.getValue())) {
    if (InlinedStepOp step = getStepOf(origin.getDefiningOp())) {
      return step;
    }
  }
  return InlinedStepOp();
}

int64_t fa4::tile::getReplicaOf(InlinedStepOp step) {
  const Role *role = getRoleOf(step);
  return role && role->replicas > 1 ? static_cast<int64_t>(step.getIndex().value_or(0)) : 0;
}

bool Taking::isByEngine() const {
  return llvm::any_of(
      uses, [](const OperandChain &chain) { return isa<MmaOp, StoreOp>(chain.use->getOwner()); });
}

namespace {

class Planner {
public:
  Planner(KernelOp kernel, const ViewOverlap &overlap) : kernel(kernel), overlap(overlap) {}

  LogicalResult run();

  ChannelPlan plan;

private:
  /// What is known of one `tile.keep`.
  struct Entry {
    KeepOp keep;
    const Role *from, *to = nullptr;
    InlinedStepOp taker = {};
    bool isOver = false;
    /// Copies that the role itself makes of it.
    SmallVector<OpOperand *> ownStores = {};
    std::optional<unsigned> handOver = std::nullopt;
  };

  LogicalResult collect();
  LogicalResult findTaker(Entry &entry);
  LogicalResult refuseTwo(const Entry &entry, InlinedStepOp taker);
  bool isWrittenInPlace(KeepOp keep, const Role *role);
  void formChannels();
  void formHandOvers();
  LogicalResult formTakings();
  void splitByReplica(Taking &taking, std::vector<Taking> &parts);
  LogicalResult placeTaking(Taking &taking);
  LogicalResult placeOver(Entry &entry);
  LogicalResult nameChannels();
  bool isRow(KeepOp keep) { return cast<FragType>(keep.getType()).isRow(); }
  StringRef allocationOf(KeepOp keep) { return overlap.lookup(keep.getView())->alloc; }

  KernelOp kernel;
  const ViewOverlap &overlap;
  std::vector<Entry> entries;
  llvm::DenseMap<Value, unsigned> entryOf;
};

} // namespace

static bool isKeptByEngine(KeepOp keep) {
  return isa_and_present<MmaOp, LoadOp>(keep.getValue().getDefiningOp());
}

//===----------------------------------------------------------------------===//
// Who takes what
//===----------------------------------------------------------------------===//

/// Whether threads of `role` write what another role filled, where it lies.
bool Planner::isWrittenInPlace(KeepOp keep, const Role *role) {
  Operation *op = keep.getValue().getDefiningOp();
  if (!getStepOf(keep) || !op || isKeptByEngine(keep)) {
    return false;
  }
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    return llvm::any_of(getOrigins(operand), [&](Value origin) {
      auto other = origin.getDefiningOp<KeepOp>();
      return other && other.getView() == keep.getView() && getRoleOf(getMakerOf(other)) != role;
    });
  });
}

/// One slot is given back by one role: another that takes it would need its own.
LogicalResult Planner::refuseTwo(const Entry &entry, InlinedStepOp taker) {
  KeepOp keep = entry.keep;
  InFlightDiagnostic error = taker.emitError()
                             << "expected one role to take " << keep.getViewAttr() << " from role '"
                             << entry.from->name << "', but got '" << entry.to->name << "' and '"
                             << getRoleOf(taker)->name << "'";
  InlinedStepOp other = entry.taker;
  error.attachNote(other.getLoc()) << "'" << other.getStepName() << "' takes it, too";
  return error;
}

LogicalResult Planner::findTaker(Entry &entry) {
  for (Value copy : getCopies(entry.keep.getResult())) {
    for (const OperandChain &chain : getUseChains(copy)) {
      InlinedStepOp taker = getStepOf(chain.use->getOwner());
      const Role *role = taker ? getRoleOf(taker) : nullptr;
      if (role == entry.from && isa<StoreOp>(chain.use->getOwner())) {
        entry.ownStores.push_back(chain.use);
      }
      if (!role || role == entry.from || isa<KeepOp>(chain.use->getOwner())) {
        continue;
      }
      if (entry.to && entry.to != role) {
        return refuseTwo(entry, taker);
      }
      if (!entry.to) {
        entry.to = role;
        entry.taker = taker;
      }
    }
  }
  return success();
}

LogicalResult Planner::collect() {
  SmallVector<KeepOp> keeps;
  kernel.walk<WalkOrder::PreOrder>([&](KeepOp keep) { keeps.push_back(keep); });
  for (KeepOp keep : keeps) {
    InlinedStepOp maker = getMakerOf(keep);
    if (!maker) {
      return keep.emitOpError() << "expected a kept value to be made by a step";
    }
    Entry entry{keep, getRoleOf(maker)};
    entry.isOver = isWrittenInPlace(keep, entry.from);
    if (!entry.isOver && failed(findTaker(entry))) {
      return failure();
    }
    entryOf[keep.getResult()] = static_cast<unsigned>(entries.size());
    entries.push_back(entry);
  }
  for (const Entry &entry : entries) {
    for (const Entry &other : entries) {
      KeepOp first = entry.keep, second = other.keep;
      if (entry.to && other.to && entry.from == other.from && entry.to != other.to &&
          overlap.shared(first.getView(), second.getView())) {
        return refuseTwo(entry, other.taker);
      }
    }
  }
  // A sum in the making goes with the sum.
  for (Entry &entry : entries) {
    for (Entry &other : entries) {
      if (!entry.to && !entry.isOver && other.to && entry.from == other.from &&
          entry.keep.getView() == other.keep.getView() &&
          getMakerOf(entry.keep) == getMakerOf(other.keep)) {
        entry.to = other.to;
        entry.taker = other.taker;
      }
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Channels and hand-overs
//===----------------------------------------------------------------------===//

void Planner::formChannels() {
  for (Entry &entry : entries) {
    if (!entry.to) {
      continue;
    }
    StringRef allocation = allocationOf(entry.keep);
    auto joins = [&](const PlannedChannel &channel) {
      if (channel.allocation != allocation || channel.from != entry.from ||
          channel.to != entry.to) {
        return false;
      }
      return llvm::any_of(channel.views, [&](StringRef view) {
        ViewOp other = overlap.lookup(view)->view;
        bool areRows = other.getTileType().isRow() && isRow(entry.keep);
        return areRows || overlap.shared(view, entry.keep.getView());
      });
    };
    auto found = llvm::find_if(plan.channels, joins);
    if (found == plan.channels.end()) {
      PlannedChannel channel;
      channel.allocation = allocation.str();
      channel.from = entry.from;
      channel.to = entry.to;
      plan.channels.push_back(std::move(channel));
      found = std::prev(plan.channels.end());
    }
    found->views.insert(entry.keep.getView());
  }
  // In the order of their views, which is that of the schedule's homes.
  llvm::StringMap<unsigned> position;
  for (auto view : kernel.getBody().getOps<ViewOp>()) {
    position[view.getSymName()] = position.size();
  }
  llvm::sort(plan.channels, [&](const PlannedChannel &a, const PlannedChannel &b) {
    return position[a.views.front()] < position[b.views.front()];
  });
}

static Block *getBlockOf(KeepOp keep) { return keep->getBlock(); }

/// Engine writes of one step into one channel are one hand-over, and so are row
/// statistics of one step that one step takes; all else is handed over when written.
void Planner::formHandOvers() {
  for (Entry &entry : entries) {
    if (!entry.to) {
      continue;
    }
    auto channel = static_cast<unsigned>(
        llvm::find_if(plan.channels,
                      [&](const PlannedChannel &planned) {
                        return planned.from == entry.from && planned.to == entry.to &&
                               planned.allocation == allocationOf(entry.keep) &&
                               planned.views.contains(entry.keep.getView());
                      }) -
        plan.channels.begin());
    PlannedChannel &planned = plan.channels[channel];
    planned.isFilledByThreads |= !isKeptByEngine(entry.keep);
    planned.family = std::max<int64_t>(planned.family, entry.keep.getElement().value_or(0) + 1);
    for (Entry &other : entries) {
      if (!other.handOver || &other == &entry) {
        continue;
      }
      bool isSame = plan.handOvers[*other.handOver].channel == channel &&
                    getMakerOf(other.keep) == getMakerOf(entry.keep) &&
                    getBlockOf(other.keep) == getBlockOf(entry.keep);
      bool isOne = (isKeptByEngine(entry.keep) && isKeptByEngine(other.keep)) ||
                   (isRow(entry.keep) && other.taker.getStep() == entry.taker.getStep());
      if (isSame && isOne) {
        entry.handOver = other.handOver;
        plan.handOvers[*entry.handOver].keeps.push_back(entry.keep);
        break;
      }
    }
    if (!entry.handOver) {
      entry.handOver = static_cast<unsigned>(plan.handOvers.size());
      plan.handOvers.push_back(
          {channel, static_cast<int64_t>(entry.keep.getElement().value_or(0)), {entry.keep}});
    }
  }
}

//===----------------------------------------------------------------------===//
// Takings
//===----------------------------------------------------------------------===//

/// Where all replicas take the slots of one ring, each takes them by itself.
void Planner::splitByReplica(Taking &taking, std::vector<Taking> &parts) {
  if (plan.channels[taking.channel].family > 1) {
    parts.push_back(std::move(taking));
    return;
  }
  llvm::MapVector<int64_t, SmallVector<OperandChain>> byReplica;
  for (OperandChain &chain : taking.uses) {
    byReplica[getReplicaOf(getStepOf(chain.use->getOwner()))].push_back(chain);
  }
  for (auto &[replica, uses] : byReplica) {
    Taking &part = parts.emplace_back(taking);
    part.replica = replica;
    part.uses = uses;
  }
}

/// What a role writes over a slot that it took, and copies from there, goes back with
/// the slot when the copy has read it.
LogicalResult Planner::placeOver(Entry &entry) {
  KeepOp keep = entry.keep;
  auto found = llvm::find_if(plan.takings, [&](const Taking &taking) {
    const PlannedChannel &channel = plan.channels[taking.channel];
    return channel.to == entry.from &&
           plan.handOvers[taking.handOvers.front()].element ==
               static_cast<int64_t>(keep.getElement().value_or(0)) &&
           llvm::any_of(channel.views, [&](StringRef view) {
             return overlap.shared(view, keep.getView()).has_value();
           });
  });
  Block *block = found == plan.takings.end() ? nullptr : found->carriers[0].getParentBlock();
  bool isBehind = block && llvm::all_of(found->uses, [&](const OperandChain &chain) {
                    Operation *use = getAncestorIn(block, chain.use->getOwner());
                    Operation *writer = getAncestorIn(block, keep);
                    return use && writer && use->isBeforeInBlock(writer);
                  });
  if (!isBehind || found->over) {
    InlinedStepOp maker = getMakerOf(keep);
    return maker.emitError() << "expected what role '" << entry.from->name
                             << "' copies to global memory itself to lie over a slot that it takes "
                                "once in a tile, and is done with, but got "
                             << keep.getViewAttr()
                             << "; give it the home of such a slot, or the copy another role";
  }
  PlannedChannel &channel = plan.channels[found->channel];
  channel.views.insert(keep.getView());
  found->over = keep;
  found->stores = entry.ownStores;
  found->isInside = false;
  for (const OperandChain &chain : found->uses) {
    Operation *op = getAncestorIn(block, chain.use->getOwner());
    found->first = !found->first || op->isBeforeInBlock(found->first) ? op : found->first;
  }
  found->last = block->getTerminator()->getPrevNode();
  return success();
}

LogicalResult Planner::formTakings() {
  llvm::SetVector<Value> carriers;
  for (Entry &entry : entries) {
    if (entry.to) {
      for (Value copy : getCopies(entry.keep.getResult())) {
        carriers.insert(copy);
      }
    }
  }
  for (Value carrier : carriers) {
    Taking taking{};
    const Role *from = nullptr;
    for (Value origin : getOrigins(carrier)) {
      auto found = entryOf.find(origin);
      const Entry *entry = found == entryOf.end() ? nullptr : &entries[found->second];
      if (entry && entry->handOver) {
        taking.handOvers.insert(*entry->handOver);
        taking.channel = plan.handOvers[*entry->handOver].channel;
        from = entry->from;
      } else if (!entry) {
        taking.mayBeNone = true;
      }
    }
    for (OperandChain &chain : getUseChains(carrier)) {
      InlinedStepOp taker = getStepOf(chain.use->getOwner());
      if (taker && getRoleOf(taker) != from && !isa<KeepOp>(chain.use->getOwner())) {
        taking.uses.push_back(chain);
      }
    }
    if (taking.uses.empty()) {
      continue;
    }
    taking.carriers.push_back(carrier);
    std::vector<Taking> parts;
    splitByReplica(taking, parts);
    for (Taking &part : parts) {
      // Numbers of one message are taken together.
      auto together = llvm::find_if(plan.takings, [&](const Taking &other) {
        Value beside = other.carriers[0];
        return other.handOvers == part.handOvers && other.replica == part.replica &&
               beside.getParentBlock() == carrier.getParentBlock() &&
               other.mayBeNone == part.mayBeNone && cast<FragType>(carrier.getType()).isRow();
      });
      if (together != plan.takings.end()) {
        together->carriers.push_back(carrier);
        llvm::append_range(together->uses, part.uses);
        continue;
      }
      plan.takings.push_back(std::move(part));
    }
  }
  for (Taking &taking : plan.takings) {
    if (failed(placeTaking(taking))) {
      return failure();
    }
  }
  for (Entry &entry : entries) {
    if (!entry.ownStores.empty() && !entry.to && !entry.isOver && failed(placeOver(entry))) {
      return failure();
    }
  }
  // Waits that stand at one place: what is only read comes first, in the order in
  // which it was handed over; what is written in place last.
  llvm::sort(plan.takings, [](const Taking &a, const Taking &b) {
    return std::tuple(static_cast<bool>(a.over), a.handOvers.front()) <
           std::tuple(static_cast<bool>(b.over), b.handOvers.front());
  });
  return success();
}

LogicalResult Planner::placeTaking(Taking &taking) {
  InlinedStepOp step = getStepOf(taking.uses[0].use->getOwner());
  bool isOneStep = llvm::all_of(taking.uses, [&](const OperandChain &chain) {
    return getStepOf(chain.use->getOwner()) == step;
  });
  StringRef view = plan.handOvers[taking.handOvers.front()].keeps[0].getView();
  for (Entry &entry : entries) {
    if (entry.isOver && getStepOf(entry.keep) == step && isOneStep &&
        entry.keep.getView() == view) {
      taking.over = entry.keep;
    }
  }
  // Copies out of shared memory are waited for by who releases: at the end.
  bool isStored = llvm::any_of(
      taking.uses, [](const OperandChain &chain) { return isa<StoreOp>(chain.use->getOwner()); });
  // What a loop takes in every trip is waited for in front of it.
  Block *block = taking.carriers[0].getParentBlock();
  taking.isInside = isOneStep && step->getBlock() == block &&
                    (!step.getUnless() || taking.mayBeNone) && !isStored;
  PlannedChannel &channel = plan.channels[taking.channel];
  // Products on registers are awaited by the threads that issue them.
  bool isAwaited = !kernel.getTarget().getInfo().hasTensorMemory();
  channel.isEmptiedByThreads |= isAwaited || !taking.isByEngine();
  channel.isEmptiedByProducts |=
      !isAwaited &&
      llvm::any_of(taking.uses, [](const OperandChain &chain) { return chain.isProduct(); });
  if (taking.isInside) {
    return success();
  }
  if (channel.to->replicas > 1 && channel.family == 1) {
    return step.emitError() << "expected each replica of role '" << channel.to->name
                            << "' to take @" << view
                            << " in one step of the trip that hands it over, but got others";
  }
  for (const OperandChain &chain : taking.uses) {
    Operation *op = getAncestorIn(block, chain.use->getOwner());
    if (!op) {
      return step.emitError() << "expected '" << step.getStepName() << "' to take @" << view
                              << " inside the loop that hands it over";
    }
    taking.first = !taking.first || op->isBeforeInBlock(taking.first) ? op : taking.first;
    taking.last = !taking.last || taking.last->isBeforeInBlock(op) ? op : taking.last;
  }
  if (isStored) {
    taking.last = block->getTerminator()->getPrevNode();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

IntegerAttr fa4::tile::getElementOf(const ChannelPlan &plan, const HandOver &handOver) {
  if (plan.channels[handOver.channel].family == 1) {
    return IntegerAttr();
  }
  KeepOp keep = handOver.keeps[0];
  return IntegerAttr::get(IntegerType::get(keep.getContext(), 64), handOver.element);
}

/// A channel is called what the schedule calls its one named result, else as its
/// allocation without `_mem`.
LogicalResult Planner::nameChannels() {
  const Schedule &schedule = kernel.getSchedule().getPlan();
  llvm::StringSet<> taken;
  for (Operation &op : kernel.getBody().getOps()) {
    if (auto symbol = op.getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName())) {
      taken.insert(symbol.getValue());
    }
  }
  for (const auto &[number, channel] : llvm::enumerate(plan.channels)) {
    SetVector<StringRef> names;
    for (const HandOver &handOver : plan.handOvers) {
      if (handOver.channel != number) {
        continue;
      }
      for (KeepOp keep : handOver.keeps) {
        InlinedStepOp maker = getMakerOf(keep);
        for (auto [result, output] : llvm::enumerate(maker.getOutputs())) {
          bool isThis = getOrigins(output).contains(keep.getResult()) ||
                        getOrigins(keep.getValue()).contains(getOrigins(output).front());
          const Home *home = schedule.findHome(maker.getStep(), static_cast<int64_t>(result));
          if (!home && maker.getNumResults() == 1) {
            home = schedule.findHome(maker.getStep(), std::nullopt);
          }
          if (isThis && home && !home->name.empty()) {
            names.insert(home->name);
          }
        }
      }
    }
    StringRef allocation = channel.allocation;
    allocation.consume_back("_mem");
    channel.name = names.size() == 1 ? names.front().str() : allocation.str();
    std::string tried = channel.name;
    for (int copy = 1; !taken.insert(tried).second; ++copy) {
      tried = channel.name + "_" + std::to_string(copy);
    }
    channel.name = tried;
    auto alloc = cast<AllocOp>(SymbolTable::lookupSymbolIn(kernel, channel.allocation));
    channel.depth = static_cast<int64_t>(alloc.getFamily()) / channel.family;
  }
  return success();
}

LogicalResult Planner::run() {
  if (failed(collect())) {
    return failure();
  }
  formChannels();
  formHandOvers();
  return failure(failed(formTakings()) || failed(nameChannels()));
}

FailureOr<ChannelPlan> fa4::tile::planChannels(KernelOp kernel, const ViewOverlap &overlap) {
  Planner planner(kernel, overlap);
  if (failed(planner.run())) {
    return failure();
  }
  return std::move(planner.plan);
}
