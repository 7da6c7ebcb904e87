//===- ChannelTokens.cpp - tokens that live longer than their op needs ----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `early_acquire` takes the next slot behind the last channel op of the step that
// filled the one before; `stagger` gives a slot back only when the next stage has
// taken its own. Both make tokens cross steps and trips, and change no hand-over.
//
//===----------------------------------------------------------------------===//

#include "ChannelPlan.h"

#include "fa4/Dialect/FA4/IR/FA4Attributes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

namespace {

/// Where the ops of one element stand: before, in and after the one loop of the tile.
template <typename T>
struct Positions {
  SmallVector<T *> before, inside, after;
  scf::ForOp loop;
};

class TokenMover {
public:
  TokenMover(KernelOp kernel, ChannelPlan &plan)
      : kernel(kernel), plan(plan), rewriter(kernel.getContext()),
        tileBlock(&(*kernel.getBody().getOps<ForEachTileOp>().begin()).getBody().front()) {}

  void acquireEarly(unsigned channel, int64_t element);
  void stagger(unsigned channel);

private:
  Value acquireNext(HandOver &handOver);
  /// Carries a token through `loop`; gives the loop's argument and result.
  std::pair<Value, Value> carry(scf::ForOp &loop, Value init, Value yielded);
  Value createAcquire(HandOver &handOver);
  static void setToken(HandOver &handOver, Value token);
  /// The loop in the tile that `op` stands in; null if it is none of one level.
  scf::ForOp getLoopOf(Operation *op) {
    return dyn_cast_or_null<scf::ForOp>(getAncestorIn(tileBlock, op));
  }
  /// Orders `ops` around the tile's loop; false if they stand in other places.
  template <typename T, typename Fn>
  bool locate(MutableArrayRef<T *> ops, Fn opOf, Positions<T> &positions);
  void delayRelease(Taking &taking, Operation *after);

  KernelOp kernel;
  ChannelPlan &plan;
  IRRewriter rewriter;
  Block *tileBlock;
};

} // namespace

template <typename T, typename Fn>
bool TokenMover::locate(MutableArrayRef<T *> ops, Fn opOf, Positions<T> &positions) {
  for (T *entry : ops) {
    Operation *op = opOf(*entry);
    InlinedStepOp step = getStepOf(op);
    Block *block = step ? step->getBlock() : op->getBlock();
    scf::ForOp loop = getLoopOf(op);
    if (block != tileBlock && (!loop || block != loop.getBody())) {
      return false;
    }
    if (!loop) {
      (positions.loop ? positions.after : positions.before).push_back(entry);
      continue;
    }
    if ((positions.loop && positions.loop != loop) || !positions.after.empty()) {
      return false;
    }
    positions.loop = loop;
    positions.inside.push_back(entry);
  }
  return true;
}

Value fa4::tile::yieldToken(InlinedStepOp &step, Value token) {
  OpBuilder builder(step);
  SmallVector<Type> types(step.getResultTypes());
  types.push_back(token.getType());
  auto wider = InlinedStepOp::create(builder, step.getLoc(), types, step.getStepAttr(),
                                     step.getIndexAttr(), Value(), ValueRange());
  wider.getBody().takeBody(step.getBody());
  wider.getYield().getValuesMutable().append(token);
  step->replaceAllUsesWith(wider->getResults().drop_back());
  step.erase();
  step = wider;
  return wider->getResults().back();
}

std::pair<Value, Value> TokenMover::carry(scf::ForOp &loop, Value init, Value yielded) {
  rewriter.setInsertionPoint(loop);
  auto wider = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
      rewriter, init, /*replaceInitOperandUsesInLoop=*/false,
      [&](OpBuilder &, Location, ArrayRef<BlockArgument>) { return SmallVector<Value>{yielded}; }));
  loop = wider;
  return {wider.getRegionIterArgs().back(), wider.getResults().back()};
}

Value TokenMover::createAcquire(HandOver &handOver) {
  return AcquireOp::create(rewriter, handOver.keeps.back().getLoc(),
                           plan.channels[handOver.channel].name, Value(),
                           getElementOf(plan, handOver));
}

/// The slot after that of `handOver`, taken behind the last channel op of its step.
Value TokenMover::acquireNext(HandOver &handOver) {
  InlinedStepOp step = getStepOf(handOver.commit);
  if (!step) {
    rewriter.setInsertionPointAfter(handOver.commit);
    return createAcquire(handOver);
  }
  Operation *last = handOver.commit;
  for (Operation &op : step.getBody().front()) {
    if (isa<AcquireOp, CommitOp, WaitOp, ReleaseOp>(op)) {
      last = &op;
    }
  }
  rewriter.setInsertionPointAfter(last);
  return yieldToken(step, createAcquire(handOver));
}

void TokenMover::setToken(HandOver &handOver, Value token) {
  handOver.acquire.getToken().replaceAllUsesWith(token);
  handOver.acquire.erase();
  handOver.acquire = AcquireOp();
}

void TokenMover::acquireEarly(unsigned channel, int64_t element) {
  SmallVector<HandOver *> sites;
  for (HandOver &handOver : plan.handOvers) {
    if (handOver.channel == channel && handOver.element == element) {
      sites.push_back(&handOver);
    }
  }
  Positions<HandOver> positions;
  bool isPlain = locate<HandOver>(
      sites, [](HandOver &handOver) { return handOver.commit.getOperation(); }, positions);
  bool isConditional = llvm::any_of(sites, [](HandOver *handOver) {
    InlinedStepOp step = getStepOf(handOver->commit);
    return step && step.getUnless();
  });
  // A slot acquired in the last trip must be used in the same tile.
  bool isLeftOver = positions.loop && positions.after.empty();
  if (!isPlain || isConditional || isLeftOver) {
    return;
  }
  auto chain = [&](MutableArrayRef<HandOver *> list, Value first) {
    Value token = first;
    for (auto [number, handOver] : llvm::enumerate(list)) {
      if (token) {
        setToken(*handOver, token);
      }
      bool isLast = number + 1 == list.size();
      token = isLast ? Value() : acquireNext(*handOver);
    }
  };
  chain(positions.before, Value());
  Value token;
  if (positions.loop) {
    scf::ForOp loop = positions.loop;
    if (positions.before.empty()) {
      rewriter.setInsertionPoint(loop);
      token = createAcquire(*positions.inside.front());
    } else {
      token = acquireNext(*positions.before.back());
    }
    chain(MutableArrayRef(positions.inside).drop_front(0), Value());
    Value next = acquireNext(*positions.inside.back());
    auto [argument, result] = carry(loop, token, next);
    setToken(*positions.inside.front(), argument);
    token = result;
  }
  chain(positions.after, token);
}

void TokenMover::delayRelease(Taking &taking, Operation *after) {
  taking.release->moveAfter(after);
}

void TokenMover::stagger(unsigned channel) {
  auto family = static_cast<size_t>(plan.channels[channel].family);
  SmallVector<Taking *> takings;
  for (Taking &taking : plan.takings) {
    if (taking.channel == channel && !taking.isInside) {
      takings.push_back(&taking);
    }
  }
  auto stepOf = [](Taking &taking) { return getStepOf(taking.uses[0].use->getOwner()); };
  llvm::sort(takings,
             [](Taking *a, Taking *b) { return a->handOvers.front() < b->handOvers.front(); });
  Positions<Taking> positions;
  bool isPlain =
      locate<Taking>(takings, [](Taking &taking) { return taking.wait.getOperation(); }, positions);
  auto inOrder = [&](SmallVector<Taking *> &list) {
    llvm::sort(list, [](Taking *a, Taking *b) { return a->wait->isBeforeInBlock(b->wait); });
  };
  inOrder(positions.inside);
  inOrder(positions.after);
  // One taking per stage and trip, and after the loop none or as many.
  bool isRegular = positions.inside.size() == family &&
                   (positions.after.empty() || positions.after.size() == family);
  if (!isPlain || family < 2 || !positions.loop || !isRegular) {
    return;
  }
  auto shift = [&](ArrayRef<Taking *> list) {
    for (size_t number = 0; number + 1 < list.size(); ++number) {
      delayRelease(*list[number], stepOf(*list[number + 1]));
    }
  };
  shift(positions.inside);
  shift(positions.after);
  // The last stage's slot is given back in the next trip.
  Taking &first = *positions.inside.front(), &last = *positions.inside.back();
  scf::ForOp loop = positions.loop;
  rewriter.setInsertionPoint(loop);
  auto none = NoTokenOp::create(rewriter, loop.getLoc());
  last.release.erase();
  auto [argument, result] = carry(loop, none.getToken(), last.wait.getToken());
  rewriter.setInsertionPointAfter(stepOf(first));
  last.release = ReleaseOp::create(rewriter, last.wait.getLoc(), argument, ValueRange(),
                                   /*after_all=*/false);
  Operation *after = positions.after.empty() ? loop.getOperation()
                                             : stepOf(*positions.after.front()).getOperation();
  rewriter.setInsertionPointAfter(after);
  ReleaseOp::create(rewriter, last.wait.getLoc(), result, ValueRange(), /*after_all=*/false);
}

void fa4::tile::moveTokens(KernelOp kernel, ChannelPlan &plan) {
  const Schedule &schedule = kernel.getSchedule().getPlan();
  TokenMover mover(kernel, plan);
  for (const auto &[number, channel] : llvm::enumerate(plan.channels)) {
    if (llvm::is_contained(schedule.earlyAcquire, channel.name)) {
      for (int64_t element = 0; element < channel.family; ++element) {
        mover.acquireEarly(number, element);
      }
    }
    if (llvm::is_contained(schedule.stagger, channel.name)) {
      mover.stagger(number);
    }
  }
}
