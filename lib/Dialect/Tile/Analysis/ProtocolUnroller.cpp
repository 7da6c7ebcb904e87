//===- ProtocolUnroller.cpp - from roles to events -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A role is run with the numbers of each tile; what it computes on tiles is left
// out. Every actor runs by itself, since no event depends on another's values.
//
//===----------------------------------------------------------------------===//

#include "ProtocolUnroller.h"

#include "ProtocolSteps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace fa4::tile;

std::optional<ProtocolValue> ProtocolUnroller::get(Value value) const {
  auto found = values.find(value);
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

int64_t ProtocolUnroller::require(Operation *op, Value value, StringRef what) {
  if (std::optional<ProtocolValue> known = get(value)) {
    return known->number;
  }
  if (!failed) {
    op->emitOpError() << "expected " << what
                      << " to follow from the work's results, but got a value that does not";
  }
  failed = true;
  return 0;
}

void ProtocolUnroller::copy(ValueRange from, ValueRange to) {
  // A parallel assignment: a loop may swap what it carries.
  SmallVector<std::optional<ProtocolValue>, 8> known;
  for (Value value : from) {
    known.push_back(get(value));
  }
  for (auto [value, target] : llvm::zip_equal(known, to)) {
    if (value) {
      values[target] = *value;
    } else {
      values.erase(target);
    }
  }
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

void ProtocolUnroller::walk(Block *block) {
  auto found = model.steps.find(block);
  if (found == model.steps.end()) {
    return;
  }
  for (Operation *op : found->second) {
    if (failed) {
      return;
    }
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      walkFor(loop);
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      walkIf(branch);
    } else if (auto tiles = dyn_cast<ForEachTileOp>(op)) {
      walkTiles(tiles);
    } else if (auto cursor = dyn_cast<CursorOp>(op)) {
      set(cursor.getResult(), {0, cursor.getCredit()});
    } else if (auto advance = dyn_cast<AdvanceOp>(op)) {
      if (std::optional<ProtocolValue> known = get(advance.getCursor())) {
        set(advance.getResult(), {known->number + 1, known->credit});
      }
    } else if (auto select = dyn_cast<arith::SelectOp>(op); select && !isInteger(op)) {
      // Replicas of a role may start at different slots.
      bool first = require(op, select.getCondition(), "the choice of a cursor") != 0;
      copy(first ? select.getTrueValue() : select.getFalseValue(), select.getResult());
    } else if (isInteger(op)) {
      SmallVector<int64_t, 3> operands;
      for (Value operand : op->getOperands()) {
        if (std::optional<ProtocolValue> known = get(operand)) {
          operands.push_back(known->number);
        }
      }
      std::optional<int64_t> result;
      if (operands.size() == op->getNumOperands()) {
        result = evaluateInteger(op, operands);
      }
      if (result) {
        set(op->getResult(0), {*result, false});
      } else {
        values.erase(op->getResult(0));
      }
    } else {
      visit(op);
    }
  }
}

void ProtocolUnroller::walkFor(scf::ForOp loop) {
  int64_t lower = require(loop, loop.getLowerBound(), "the bounds of a loop around protocol ops");
  int64_t upper = require(loop, loop.getUpperBound(), "the bounds of a loop around protocol ops");
  int64_t step = require(loop, loop.getStep(), "the step of a loop around protocol ops");
  if (!failed && step <= 0) {
    loop.emitOpError() << "expected the step to be positive, but got " << step;
    failed = true;
  }
  copy(loop.getInitArgs(), loop.getRegionIterArgs());
  ++loopDepth;
  for (int64_t i = lower; i < upper && !failed; i += step) {
    trip = static_cast<int32_t>(std::max<int64_t>(i, trip));
    set(loop.getInductionVar(), {i, false});
    walk(loop.getBody());
    copy(loop.getYieldedValues(), loop.getRegionIterArgs());
  }
  --loopDepth;
  copy(loop.getRegionIterArgs(), loop.getResults());
}

void ProtocolUnroller::walkIf(scf::IfOp branch) {
  bool taken = require(branch, branch.getCondition(), "a condition around protocol ops") != 0;
  if (taken) {
    walk(branch.thenBlock());
    copy(branch.thenYield()->getOperands(), branch.getResults());
  } else if (branch.elseBlock()) {
    walk(branch.elseBlock());
    copy(branch.elseYield()->getOperands(), branch.getResults());
  }
}

void ProtocolUnroller::walkTiles(ForEachTileOp tiles) {
  copy(tiles.getInits(), tiles.getIterArgs());
  for (auto [index, numbers] : llvm::enumerate(graph.run)) {
    tile = static_cast<int32_t>(index);
    trip = 0;
    for (auto [number, argument] : llvm::zip_equal(numbers, tiles.getTileArgs())) {
      set(argument, {number, false});
    }
    // Results that steer nothing have no number here.
    for (auto [position, argument] : llvm::enumerate(tiles.getTileArgs())) {
      if (!model.control.contains(position)) {
        values.erase(argument);
      }
    }
    walk(&tiles.getBody().front());
    copy(tiles.getYield()->getOperands(), tiles.getIterArgs());
    if (failed) {
      return;
    }
  }
  copy(tiles.getIterArgs(), tiles.getResults());
  tile = -1;
}

void ProtocolUnroller::run() {
  for (current = 0; current < model.actors.size() && !failed; ++current) {
    values.clear();
    tile = -1;
    trip = 0;
    last = kNoEvent;
    graph.actorBegin.push_back(graph.events.size());
    RoleOp role = actor().role;
    if (role.getIndex()) {
      set(role.getIndex(), {actor().replica, false});
    }
    if (role.getRank()) {
      set(role.getRank(), {actor().cta, false});
    }
    if (!actor().onlyFrees) {
      walk(&role.getBody().front());
    }
    finishActor();
  }
  graph.actorBegin.push_back(graph.events.size());
  if (!failed) {
    finishAll();
  }
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

EventId ProtocolUnroller::addEngineEvent(Operation *op, EventKind kind, EventId before) {
  ProtocolEvent event;
  event.op = op;
  event.kind = kind;
  event.actor = current;
  event.tile = tile;
  event.trip = trip;
  event.perTrip = loopDepth > 0;
  event.firstAccess = graph.accesses.size();
  graph.events.push_back(event);
  graph.previous.push_back(before);
  return graph.events.size() - 1;
}

EventId ProtocolUnroller::addEvent(Operation *op, EventKind kind) {
  last = addEngineEvent(op, kind, last);
  return last;
}

EventId ProtocolUnroller::addDone(Operation *op, EventId issue, unsigned stream) {
  EventId done = addEngineEvent(op, EventKind::Done, issue);
  std::vector<EventId> &before = graph.streams[stream].done;
  for (EventId event : {issue, done}) {
    graph.events[event].stream = static_cast<int32_t>(stream);
    graph.events[event].order = before.size();
  }
  before.push_back(done);
  return done;
}

bool ProtocolUnroller::startsFromZero(bool overwrite, Value unless) const {
  if (!unless) {
    return overwrite;
  }
  std::optional<ProtocolValue> skip = get(unless);
  return skip && skip->number != 0;
}

SmallVector<int64_t, 2> ProtocolUnroller::homesOfProducts() const {
  if (RoleOp(actor().role).getCtas() != Ctas::Leader || model.ctas == 1) {
    return {actor().cta};
  }
  // A pair's products read and write the memories of both CTAs.
  return llvm::to_vector<2>(llvm::seq<int64_t>(0, model.ctas));
}

void ProtocolUnroller::addAccess(EventId event, const MemoryAccess &access) {
  graph.accesses.push_back(access);
  ++graph.events[event].numAccesses;
}

unsigned ProtocolUnroller::object(ProtocolObject::Kind kind, Operation *symbol, int64_t element,
                                  int64_t slot, int64_t cta, int64_t count) {
  auto key = std::make_tuple(symbol, element, slot, cta, static_cast<int>(kind));
  auto [entry, added] = objectIndex.insert({key, static_cast<unsigned>(graph.objects.size())});
  if (added) {
    graph.objects.push_back({kind, symbol, element, slot, cta, count, 0, {}});
  }
  return entry->second;
}

ProtocolPhase &ProtocolUnroller::phaseOf(unsigned object, int64_t phase) {
  std::vector<ProtocolPhase> &phases = graph.objects[object].phases;
  if (static_cast<int64_t>(phases.size()) <= phase) {
    phases.resize(phase + 1);
  }
  return phases[phase];
}

void ProtocolUnroller::arrive(EventId event, unsigned object, int64_t phase, int64_t weight) {
  graph.events[event].object = static_cast<int32_t>(object);
  graph.events[event].phase = static_cast<int32_t>(phase);
  ProtocolPhase &entry = phaseOf(object, phase);
  entry.arrivals.push_back(event);
  entry.weight += weight;
}

void ProtocolUnroller::waitFor(EventId event, unsigned object, int64_t phase) {
  graph.events[event].object = static_cast<int32_t>(object);
  graph.events[event].phase = static_cast<int32_t>(phase);
  if (phase >= 0) {
    phaseOf(object, phase).waits.push_back(event);
  }
}

unsigned ProtocolUnroller::stream(ProtocolStream::Kind kind, unsigned owner) {
  auto [entry, added] = streamIndex.insert(
      {{owner, static_cast<int>(kind)}, static_cast<unsigned>(graph.streams.size())});
  if (added) {
    graph.streams.push_back({kind, owner, {}});
  }
  return entry->second;
}
