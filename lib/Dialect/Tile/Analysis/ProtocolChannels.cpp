//===- ProtocolChannels.cpp - events of a kernel of channels -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tokens give generations: the k-th acquire of an actor is that of generation k,
// and waits for the release of generation k - depth. Every other half follows.
//
//===----------------------------------------------------------------------===//

#include "ProtocolUnroller.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace fa4::tile;

namespace {

class ChannelUnroller : public ProtocolUnroller {
public:
  using ProtocolUnroller::ProtocolUnroller;

private:
  void visit(Operation *op) override;

  struct Half {
    ChannelOp channel;
    int64_t element;
    unsigned object;
  };
  std::optional<Half> half(Operation *op, ChannelOp channel, int64_t element, bool full);
  /// Whether there is one of `channel` per CTA, as between roles of both CTAs, and not one
  /// of the pair.
  bool isPerCta(ChannelOp channel);
  template <typename OpTy>
  void start(OpTy op, bool producer);
  void finish(Operation *op, Value token, OperandRange after, bool afterAll, bool full);
  void settle(SettleOp op);
  /// The access to a view by a token, or to the region `element` by name.
  void access(EventId event, FlatSymbolRefAttr view, Value token, Value element, IntegerAttr fixed,
              int64_t cta, bool reads, bool writes, bool engine,
              std::optional<int64_t> rank = std::nullopt);
  EventId finishAsync(Operation *op, EventId issue, ProtocolStream::Kind kind);
  void visitMma(AsyncMmaOp mma);
  bool visitCopy(Operation *op);
  int64_t startsOf(ChannelOp channel, int64_t element) {
    return channel.getStarts() ? (*channel.getStarts())[element] : 0;
  }

  /// Acquires and waits, commits by (actor, object).
  llvm::DenseMap<std::pair<unsigned, unsigned>, int64_t> taken;
  llvm::DenseMap<std::pair<unsigned, unsigned>, int64_t> committed;
  llvm::DenseMap<Operation *, bool> perCtaChannels;
};

} // namespace

/// Whether the end gives `element` to replica `replica`.
static bool isTied(EndAttr end, int64_t replica, int64_t element, int64_t family) {
  switch (end.getTie()) {
  case Tie::All:
    return true;
  case Tie::Each:
    return replica == element;
  case Tie::Previous:
    return (replica + 1) % family == element;
  }
  return false;
}

bool ChannelUnroller::isPerCta(ChannelOp channel) {
  auto [entry, added] = perCtaChannels.insert({channel, true});
  if (added) {
    for (ArrayAttr ends : {channel.getFrom(), channel.getTo()}) {
      for (auto end : ends.getAsRange<EndAttr>()) {
        auto role = model.lookup<RoleOp>(end.getRole());
        entry->second &= role && role.getCtas() == Ctas::Both;
      }
    }
  }
  return entry->second;
}

std::optional<ChannelUnroller::Half> ChannelUnroller::half(Operation *op, ChannelOp channel,
                                                           int64_t element, bool full) {
  auto family = static_cast<int64_t>(channel.getFamily());
  if (element < 0 || element >= family) {
    if (!failed) {
      op->emitOpError() << "expected element of '@" << channel.getSymName() << "' to be from 0 to "
                        << family - 1 << ", but got " << element;
    }
    failed = true;
    return std::nullopt;
  }
  bool perCta = isPerCta(channel);
  int64_t cta = perCta ? actor().cta : 0;
  auto kind = full ? ProtocolObject::Kind::Full : ProtocolObject::Kind::Empty;
  unsigned index = object(kind, channel, element, 0, cta, 0);
  ProtocolObject &entry = graph.objects[index];
  if (entry.count == 0) {
    entry.starts = startsOf(channel, element);
    for (auto end : (full ? channel.getFrom() : channel.getTo()).getAsRange<EndAttr>()) {
      for (const ProtocolActor &other : model.actors) {
        bool same = RoleOp(other.role).getSymName() == end.getRole().getValue();
        entry.count +=
            same && (!perCta || other.cta == cta) && isTied(end, other.replica, element, family);
      }
    }
  }
  return Half{channel, element, index};
}

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

template <typename OpTy>
void ChannelUnroller::start(OpTy op, bool producer) {
  auto channel = model.lookup<ChannelOp>(op.getChannelAttr());
  int64_t element = op.getStaticElementAttr() ? op.getStaticElementAttr().getInt()
                    : op.getElement() ? require(op, op.getElement(), "an element of a channel")
                                      : 0;
  std::optional<Half> where = half(op, channel, element, !producer);
  if (!where || failed) {
    return;
  }
  int64_t starts = startsOf(channel, element);
  int64_t generation = taken[{current, where->object}]++ + (producer ? starts : 0);
  int64_t phase =
      producer ? generation - static_cast<int64_t>(channel.getDepth()) : generation - starts;
  waitFor(addEvent(op, EventKind::Wait), where->object, phase);
  set(op.getToken(), {generation, false, channel, element});
}

void ChannelUnroller::finish(Operation *op, Value token, OperandRange after, bool afterAll,
                             bool full) {
  std::optional<ProtocolValue> held = get(token);
  if (!held || !held->channel) {
    return;
  }
  std::optional<Half> where = half(op, held->channel, held->element, full);
  if (!where) {
    return;
  }
  int64_t phase = held->number - (full ? startsOf(held->channel, held->element) : 0);
  SmallVector<EventId> dones;
  for (Value value : after) {
    if (std::optional<ProtocolValue> async = get(value)) {
      dones.push_back(static_cast<EventId>(async->number));
    }
  }
  if (afterAll) {
    for (const ProtocolStream &stream : graph.streams) {
      if (stream.actor == current) {
        dones.append(stream.done.begin(), stream.done.end());
      }
    }
  }
  bool byThread = llvm::all_of(dones, [&](EventId done) {
    return graph.streams[graph.events[done].stream].kind == ProtocolStream::Kind::Bulk;
  });
  if (byThread) {
    if (!dones.empty()) {
      EventId wait = addEvent(op, EventKind::GroupWait);
      for (EventId done : dones) {
        addEdge(done, wait);
      }
    }
    arrive(addEvent(op, EventKind::Arrive), where->object, phase, 1);
  } else {
    EventId event = addEngineEvent(op, EventKind::Commit, last);
    for (EventId done : dones) {
      const ProtocolEvent &other = graph.events[done];
      if (graph.streams[other.stream].kind == ProtocolStream::Kind::Mma) {
        // The tensor core's arrival reports all that was issued before.
        graph.events[event].stream = other.stream;
        graph.events[event].order = std::max(graph.events[event].order, other.order + 1);
      } else {
        addEdge(done, event);
      }
    }
    arrive(event, where->object, phase, 1);
  }
  if (full) {
    std::optional<Half> empty = half(op, held->channel, held->element, false);
    committed[{current, empty->object}] = held->number + 1;
  }
}

void ChannelUnroller::settle(SettleOp op) {
  auto channel = model.lookup<ChannelOp>(op.getChannelAttr());
  int64_t element = op.getStaticElementAttr() ? op.getStaticElementAttr().getInt()
                    : op.getElement() ? require(op, op.getElement(), "an element of a channel")
                                      : 0;
  std::optional<Half> where = half(op, channel, element, false);
  if (where) {
    waitFor(addEvent(op, EventKind::Wait), where->object,
            committed.lookup({current, where->object}) - 1);
  }
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

void ChannelUnroller::access(EventId event, FlatSymbolRefAttr view, Value token, Value element,
                             IntegerAttr fixed, int64_t cta, bool reads, bool writes, bool engine,
                             std::optional<int64_t> rank) {
  Operation *op = graph.events[event].op;
  int64_t region = fixed     ? fixed.getInt()
                   : element ? require(op, element, "an element of a view")
                             : 0;
  if (token) {
    std::optional<ProtocolValue> held = get(token);
    if (!held || !held->channel) {
      return;
    }
    auto depth = static_cast<int64_t>(held->channel.getDepth());
    region = held->element * depth + held->number % depth;
  }
  unsigned footprint = model.footprint(view.getValue(), rank.value_or(cta), -1, FragType());
  const ProtocolAlloc &alloc = model.allocs[model.getFootprint(footprint).alloc];
  if (region >= alloc.family) {
    return;
  }
  AccessKind kind = alloc.space == Space::Tmem ? AccessKind::Tmem
                    : engine                   ? AccessKind::Async
                                               : AccessKind::Generic;
  addAccess(event, {static_cast<unsigned>(alloc.firstRegion + cta * alloc.family + region),
                    footprint, kind, reads, writes, static_cast<int8_t>(-1)});
}

EventId ChannelUnroller::finishAsync(Operation *op, EventId issue, ProtocolStream::Kind kind) {
  EventId done = addDone(op, issue, stream(kind));
  set(op->getResult(0), {static_cast<int64_t>(done)});
  return done;
}

void ChannelUnroller::visitMma(AsyncMmaOp mma) {
  bool inMemory = mma.getAccView().has_value();
  EventId issue = addEvent(mma, EventKind::Issue);
  bool overwrites = startsFromZero(mma.getOverwrite(), mma.getUnless());
  for (int64_t cta : homesOfProducts()) {
    if (mma.getAView()) {
      access(issue, mma.getAViewAttr(), mma.getA(), Value(), IntegerAttr(), cta, true, false, true);
    }
    access(issue, mma.getBViewAttr(), mma.getB(), Value(), IntegerAttr(), cta, true, false, true);
    if (inMemory) {
      access(issue, mma.getAccViewAttr(), mma.getAcc(), Value(), IntegerAttr(), cta, !overwrites,
             true, true);
    }
  }
  finishAsync(mma, issue, inMemory ? ProtocolStream::Kind::Mma : ProtocolStream::Kind::Wgmma);
}

bool ChannelUnroller::visitCopy(Operation *op) {
  int64_t cta = actor().cta;
  if (auto load = dyn_cast<AsyncLoadOp>(op)) {
    EventId issue = addEvent(op, EventKind::Issue);
    access(issue, load.getViewAttr(), load.getToken(), Value(), IntegerAttr(), cta, false, true,
           true);
    finishAsync(op, issue, ProtocolStream::Kind::Copy);
  } else if (auto next = dyn_cast<AsyncNextOp>(op)) {
    EventId issue = addEvent(op, EventKind::Issue);
    access(issue, next.getViewAttr(), next.getToken(), Value(), IntegerAttr(), cta, false, true,
           true);
    finishAsync(op, issue, ProtocolStream::Kind::Copy);
  } else if (auto send = dyn_cast<AsyncSendOp>(op)) {
    EventId issue = addEvent(op, EventKind::Issue);
    access(issue, send.getViewAttr(), send.getToken(), Value(), IntegerAttr(), cta, true, false,
           true);
    access(issue, send.getPeerViewAttr(), Value(), Value(), IntegerAttr(), 1 - cta, false, true,
           true, cta);
    finishAsync(op, issue, ProtocolStream::Kind::Copy);
  } else if (auto store = dyn_cast<AsyncStoreOp>(op)) {
    EventId issue = addEvent(op, EventKind::Issue);
    access(issue, store.getViewAttr(), store.getHandle(), store.getElement(),
           store.getStaticElementAttr(), cta, true, false, true);
    finishAsync(op, issue, ProtocolStream::Kind::Bulk);
  } else {
    return false;
  }
  return true;
}

void ChannelUnroller::visit(Operation *op) {
  int64_t cta = actor().cta;
  if (auto acquire = dyn_cast<AcquireOp>(op)) {
    start(acquire, /*producer=*/true);
  } else if (auto wait = dyn_cast<WaitOp>(op)) {
    start(wait, /*producer=*/false);
  } else if (auto commit = dyn_cast<CommitOp>(op)) {
    finish(op, commit.getToken(), commit.getAfter(), commit.getAfterAll(), /*full=*/true);
  } else if (auto release = dyn_cast<ReleaseOp>(op)) {
    finish(op, release.getToken(), release.getAfter(), release.getAfterAll(), /*full=*/false);
  } else if (auto all = dyn_cast<SettleOp>(op)) {
    settle(all);
  } else if (auto read = dyn_cast<ReadOp>(op)) {
    access(addEvent(op, EventKind::Access), read.getViewAttr(), read.getHandle(), read.getElement(),
           read.getStaticElementAttr(), cta, true, false, false);
  } else if (auto write = dyn_cast<WriteOp>(op)) {
    access(addEvent(op, EventKind::Access), write.getViewAttr(), write.getHandle(),
           write.getElement(), write.getStaticElementAttr(), cta, false, true, false);
  } else if (auto rescale = dyn_cast<RescaleOp>(op)) {
    access(addEvent(op, EventKind::Access), rescale.getViewAttr(), rescale.getHandle(),
           rescale.getElement(), rescale.getStaticElementAttr(), cta, true, true, false);
  } else if (auto mma = dyn_cast<AsyncMmaOp>(op)) {
    visitMma(mma);
  } else if (auto await = dyn_cast<AwaitOp>(op)) {
    EventId event = addEvent(op, EventKind::GroupWait);
    if (std::optional<ProtocolValue> async = get(await.getAsync())) {
      addEdge(static_cast<EventId>(async->number), event);
    }
  } else {
    visitCopy(op);
  }
}

std::unique_ptr<ProtocolUnroller>
fa4::tile::createChannelUnroller(ProtocolModel &model, ProtocolGraph &graph, bool &failed) {
  return std::make_unique<ChannelUnroller>(model, graph, failed);
}
