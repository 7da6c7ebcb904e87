//===- Engine.cpp - asynchronous operations ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operation may go when no older one has the same order key. Operations with
// an order key have one step.
//
//===----------------------------------------------------------------------===//

#include "Machine.h"
#include "Races.h"
#include "TimelineRecorder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace llvm;
using namespace fa4::sim;

AsyncOp::AsyncOp() = default;
AsyncOp::~AsyncOp() = default;

bool AsyncOp::fault(FaultId id, const Twine &message) {
  return issuer->fault(id, *inst, lane, message) != Step::Stop;
}

void Engine::push(std::unique_ptr<AsyncOp> op) {
  if (TimelineRecorder *timeline = op->issuer->cluster->timeline.get()) {
    timeline->issue(*op);
  }
  pending.push_back(std::move(op));
}

Engine::Result Engine::performOne(Cluster &cluster, bool randomly, bool signalsWait) {
  SmallVector<size_t, 16> candidates;
  SmallVector<uint64_t, 16> taken;
  for (size_t i = 0; i < pending.size(); ++i) {
    AsyncOp &op = *pending[i];
    if (op.order != 0) {
      if (is_contained(taken, op.order)) {
        continue;
      }
      taken.push_back(op.order);
    }
    if (op.ready(cluster)) {
      candidates.push_back(i);
      if (!randomly) {
        break;
      }
    }
  }
  if (candidates.empty()) {
    return Result::None;
  }
  auto isSignal = [&](size_t i) { return pending[i]->isSignal(); };
  if (signalsWait && !all_of(candidates, isSignal)) {
    erase_if(candidates, isSignal);
  }
  size_t pick = randomly ? candidates[cluster.random() % candidates.size()] : candidates.front();
  // Performing may push further operations, so the list is settled first.
  std::unique_ptr<AsyncOp> op = std::move(pending[pick]);
  pending.erase(pending.begin() + pick);
  op->unfinished = false;
  bool ok = op->perform(cluster);
  if (op->unfinished) {
    // Where it was: what came later may wait for all of it.
    pending.insert(pending.begin() + std::min(pick, pending.size()), std::move(op));
  } else if (TimelineRecorder *timeline = cluster.timeline.get()) {
    timeline->complete(*op);
  }
  cluster.event();
  return ok ? Result::Performed : Result::Stopped;
}
