//===- NeedlessFences.cpp - fences that pass on what is known ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fences are inserted wherever order may have to pass. The proof's check of a run says
// which of those that only pass it on no run needs; the proof that follows in the
// pipeline judges the outcome for all lengths.
//
//===----------------------------------------------------------------------===//

#include "FenceNeeds.h"

#include "fa4/Dialect/Tile/Analysis/ProtocolProof.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace fa4::tile;

namespace {
class NeedlessFences {
public:
  /// Whether the kernel can be judged at all.
  bool build(KernelOp kernel);
  /// Those of `fences` that all runs hold without, each tried against what is left.
  SmallVector<FenceOp> find(ArrayRef<FenceOp> fences);

private:
  bool holds() const;
  void setKinds(FenceOp fence, FenceKind kinds);
  bool holdsWithout(ArrayRef<FenceOp> fences);

  std::unique_ptr<ProtocolModel> model;
  std::vector<ProtocolGraph> graphs;
};
} // namespace

bool NeedlessFences::build(KernelOp kernel) {
  // As many as tell the classes of pairs apart (docs/Dialects/Tile/Protocol.md).
  constexpr int64_t trips = 5;
  ScopedDiagnosticHandler quiet(kernel.getContext(), [](Diagnostic &) { return success(); });
  model = ProtocolModel::create(kernel);
  if (!model) {
    return false;
  }
  for (const ProtocolRun &run : protocolRuns(*model, trips)) {
    FailureOr<ProtocolGraph> graph = ProtocolGraph::build(*model, run);
    if (failed(graph)) {
      return false;
    }
    graphs.push_back(std::move(*graph));
  }
  return !graphs.empty();
}

bool NeedlessFences::holds() const {
  return llvm::none_of(
      graphs, [](const ProtocolGraph &graph) { return checkRun(graph).finding.has_value(); });
}

void NeedlessFences::setKinds(FenceOp fence, FenceKind kinds) {
  for (ProtocolGraph &graph : graphs) {
    for (EventId event : graph.instances(fence)) {
      graph.events[event].fences = static_cast<uint8_t>(kinds);
    }
  }
}

/// Leaves `fences` out if all runs hold without them.
bool NeedlessFences::holdsWithout(ArrayRef<FenceOp> fences) {
  for (FenceOp fence : fences) {
    setKinds(fence, FenceKind(0));
  }
  if (holds()) {
    return true;
  }
  for (FenceOp fence : fences) {
    setKinds(fence, fence.getKinds());
  }
  return false;
}

SmallVector<FenceOp> NeedlessFences::find(ArrayRef<FenceOp> fences) {
  if (fences.empty() || holdsWithout(fences)) {
    return SmallVector<FenceOp>(fences);
  }
  SmallVector<FenceOp> needless;
  for (FenceOp fence : fences) {
    if (fences.size() > 1 && holdsWithout(fence)) {
      needless.push_back(fence);
    }
  }
  return needless;
}

unsigned fa4::tile::dropNeedlessFences(KernelOp kernel, ArrayRef<FenceOp> doubtful) {
  NeedlessFences needless;
  if (doubtful.empty() || !needless.build(kernel)) {
    return 0;
  }
  auto isKind = [](FenceKind kind) {
    return [=](FenceOp fence) { return fence.getKinds() == kind; };
  };
  auto passing = llvm::to_vector(llvm::make_filter_range(doubtful, isKind(FenceKind::Before)));
  SmallVector<FenceOp> found = needless.find(passing);
  // What a role passes on after all it has to take up: the ISA does not say that the
  // fence before a hand-over covers what came in unfenced.
  llvm::DenseSet<Operation *> busy;
  for (FenceOp fence : passing) {
    if (!llvm::is_contained(found, fence)) {
      busy.insert(fence->getParentOfType<RoleOp>());
    }
  }
  SmallVector<FenceOp> taking;
  for (FenceOp fence : llvm::make_filter_range(doubtful, isKind(FenceKind::After))) {
    if (!busy.contains(fence->getParentOfType<RoleOp>())) {
      taking.push_back(fence);
    }
  }
  llvm::append_range(found, needless.find(taking));
  for (FenceOp fence : found) {
    fence.erase();
  }
  return found.size();
}
