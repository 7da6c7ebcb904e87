//===- VerifyProtocol.cpp - the proof of a kernel's protocol -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs every sequence of tiles up to a length that the certificates found in them
// show to be enough, shortest first, so that the counterexample is a shortest one.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Transforms/ProveProtocol.h"

#include "fa4/Dialect/Tile/Transforms/Passes.h"

#include "mlir/IR/Remarks.h"

#include "llvm/ADT/STLExtras.h"

namespace fa4::tile {
#define GEN_PASS_DEF_TILEVERIFYPROTOCOL
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

using namespace mlir;
using namespace fa4::tile;

namespace {

/// Lets `count` tiles of the shortest letter follow.
void addTail(ProtocolModel &model, ArrayRef<ProtocolLetter> letters, int64_t count,
             ProtocolRun &run) {
  if (!run.empty() && model.hasManyTiles()) {
    run.insert(run.end(), count, letters.front().tiles.front());
  }
}

} // namespace

std::string fa4::tile::describeRun(const ProtocolGraph &graph) {
  if (graph.run.empty()) {
    return "without a tile";
  }
  std::string text;
  for (size_t tile = 0; tile + 1 < graph.tileBegin.size(); ++tile) {
    int32_t trips = graph.tileBegin[tile + 1] - graph.tileBegin[tile];
    text += (tile == 0 ? "" : " + ") + std::to_string(trips);
  }
  return "with tiles of " + text + " trips";
}

namespace {
class Proof {
public:
  Proof(KernelOp kernel, int64_t maxRuns, CounterexampleFn onFinding)
      : kernel(kernel), maxRuns(maxRuns), onFinding(onFinding) {}
  LogicalResult prove();

private:
  /// Checks runs in which every word of up to `trips` trips occurs, those of `prefix`
  /// trips at the start of a run, and those of up to `whole` trips as whole runs.
  LogicalResult proveUpTo(ProtocolModel &model, int64_t trips, int64_t whole, int64_t prefix);
  /// That no loop waits for itself, however many trips it makes.
  LogicalResult proveLoops(ProtocolModel &model, int64_t trips);
  /// Checks the runs, and with `measured` how far their certificates reach.
  LogicalResult checkAll(ProtocolModel &model, ArrayRef<ProtocolRun> runs, bool measured);
  LogicalResult checkOne(ProtocolModel &model, const ProtocolRun &run, bool measured);
  void emitRemarks(int64_t trips);

  KernelOp kernel;
  int64_t maxRuns;
  CounterexampleFn onFinding;
  int64_t numRuns = 0;
  std::vector<ProtocolLetter> letters;
  /// Of the certificates found so far.
  CertificateReach reach;
  SmallVector<ProtocolLean> leans;
};

} // namespace

static void emitFinding(const ProtocolGraph &graph, const ProtocolFinding &finding) {
  InFlightDiagnostic diag = finding.op->emitOpError() << finding.text;
  for (const ProtocolNote &note : finding.notes) {
    diag.attachNote(note.op->getLoc()) << note.text;
  }
  diag.attachNote(graph.model->kernel.getLoc()) << "in a run " << describeRun(graph);
}

LogicalResult Proof::checkOne(ProtocolModel &model, const ProtocolRun &run, bool measured) {
  FailureOr<ProtocolGraph> graph = ProtocolGraph::build(model, run, /*ordered=*/false);
  if (failed(graph)) {
    return failure();
  }
  ProtocolReport report = checkRun(*graph, measured);
  if (report.finding) {
    onFinding(*graph, *report.finding);
    return failure();
  }
  reach.add(*graph, report.pairs);
  for (const ProtocolLean &lean : report.leans) {
    if (!llvm::is_contained(leans, lean)) {
      leans.push_back(lean);
    }
  }
  return success();
}

LogicalResult Proof::checkAll(ProtocolModel &model, ArrayRef<ProtocolRun> runs, bool measured) {
  numRuns += static_cast<int64_t>(runs.size());
  return success(
      llvm::all_of(runs, [&](auto &run) { return succeeded(checkOne(model, run, measured)); }));
}

LogicalResult Proof::proveUpTo(ProtocolModel &model, int64_t trips, int64_t whole, int64_t prefix) {
  FailureOr<std::vector<ProtocolLetter>> found = protocolLetters(model, trips + 1);
  if (failed(found)) {
    return failure();
  }
  letters = std::move(*found);
  if (letters.empty()) {
    return kernel.emitOpError() << "expected the facts of the work to allow tiles of " << trips
                                << " trips, but got a promise of more; promise less";
  }
  std::vector<ProtocolRun> longRuns = protocolLongRuns(model, letters, trips);
  bool isLong = !longRuns.empty();
  std::vector<ProtocolRun> wholeRuns =
      protocolWords(model, letters, isLong ? std::min(trips, whole) : trips, maxRuns);
  // The events of a window have their next accesses, too, if more tiles follow.
  int64_t open = isLong ? std::min(trips, prefix) : trips;
  std::vector<ProtocolRun> openRuns = protocolWords(model, letters, open, maxRuns, open);
  for (ProtocolRun &run : openRuns) {
    addTail(model, letters, reach.getTileDistance() + 1, run);
  }
  if (!isLong) {
    for (const ProtocolLetter &letter : letters) {
      if (letter.trips > trips) {
        openRuns.push_back({letter.tiles.front()});
      }
    }
  }
  size_t count = wholeRuns.size() + openRuns.size() + longRuns.size();
  if (static_cast<int64_t>(count) > maxRuns) {
    return kernel.emitOpError() << "expected the proof of the protocol to need at most " << maxRuns
                                << " runs, but got more of up to " << trips
                                << " trips; shorten the rings or raise max-runs";
  }
  numRuns = 0;
  return success(succeeded(checkAll(model, wholeRuns, /*measured=*/!isLong)) &&
                 succeeded(checkAll(model, openRuns, /*measured=*/true)) &&
                 succeeded(checkAll(model, longRuns, /*measured=*/true)));
}

LogicalResult Proof::proveLoops(ProtocolModel &model, int64_t trips) {
  ProtocolLoopGraph loops;
  for (const ProtocolLetter &letter : letters) {
    if (letter.trips != trips) {
      continue;
    }
    for (const TileNumbers &tile : letter.tiles) {
      FailureOr<ProtocolGraph> graph = ProtocolGraph::build(model, {tile}, /*ordered=*/false);
      if (succeeded(graph)) {
        loops.add(*graph);
      }
    }
  }
  SmallVector<Operation *> cycle = loops.findTokenlessCycle();
  if (cycle.empty()) {
    return success();
  }
  InFlightDiagnostic diag = cycle.front()->emitOpError() // P.1
                            << "expected every cycle of waits in the loops to pass on a trip, but "
                               "got one that does not";
  for (Operation *op : cycle) {
    diag.attachNote(op->getLoc()) << "then this";
  }
  return diag;
}

/// "the product into @S at 12:3".
static std::string describeProduct(Operation *op) {
  std::optional<StringRef> view;
  if (auto issue = dyn_cast<IssueMmaOp>(op)) {
    view = issue.getAccView();
  } else if (auto async = dyn_cast<AsyncMmaOp>(op)) {
    view = async.getAccView();
  }
  std::string text = "the product into @" + view.value_or("").str();
  if (auto loc = dyn_cast<FileLineColLoc>(op->getLoc())) {
    text += " at " + std::to_string(loc.getLine()) + ":" + std::to_string(loc.getColumn());
  }
  return text;
}

static void emitRemark(Location loc, StringRef name, const std::string &text) {
  remark::analysis(loc, remark::RemarkOpts::name(name).category("tile-verify-protocol")) << text;
}

void Proof::emitRemarks(int64_t trips) {
  for (const ProtocolLean &lean : leans) {
    emitRemark(lean.second->getLoc(), "issue-order",
               describeProduct(lean.second) + " goes over what " + describeProduct(lean.first) +
                   " takes: only mma_issue_order keeps them apart");
  }
  emitRemark(kernel.getLoc(), "proof",
             "the protocol holds for all lengths: certificates span " +
                 std::to_string(reach.getSpan()) + " trips, and " + std::to_string(numRuns) +
                 " runs with all words of " + std::to_string(trips) + " trips hold");
}

LogicalResult Proof::prove() {
  if (kernel.getBody().getOps<RoleOp>().empty()) {
    return success();
  }
  std::unique_ptr<ProtocolModel> model = ProtocolModel::create(kernel);
  if (!model) {
    return failure();
  }
  // Longer words may hold certificates that reach farther, up to rings gone round.
  constexpr int64_t kFirstTrips = 5, kMostTrips = 64;
  int64_t trips = kFirstTrips;
  // The work's facts may promise more trips than that.
  for (unsigned number = 0; number < kernel.getWork().getNumWorkResults(); ++number) {
    while (trips < kMostTrips && kernel.getWork().impliesAtLeast(number, trips - kFirstTrips + 2)) {
      ++trips;
    }
  }
  int64_t round = std::max(trips, model->largestRing() + 2);
  if (failed(checkAll(*model, protocolRuns(*model, round), /*measured=*/true))) {
    return failure();
  }
  for (int64_t done = 0; done != trips;) {
    trips = std::max(trips, reach.getSpan() + 3);
    done = trips;
    int64_t span = reach.getSpan();
    if (failed(proveUpTo(*model, trips, std::max(kFirstTrips, span + 2), span + 1))) {
      return failure();
    }
    trips = std::max(trips, reach.getSpan() + 3);
  }
  if (failed(proveLoops(*model, trips))) {
    return failure();
  }
  emitRemarks(trips);
  return success();
}

LogicalResult fa4::tile::proveProtocol(KernelOp kernel, int64_t maxRuns,
                                       CounterexampleFn onFinding) {
  return Proof(kernel, maxRuns, onFinding).prove();
}

namespace {
struct VerifyProtocol : public fa4::tile::impl::TileVerifyProtocolBase<VerifyProtocol> {
  using TileVerifyProtocolBase::TileVerifyProtocolBase;
  void runOnOperation() override {
    WalkResult result = getOperation()->walk<WalkOrder::PreOrder>([&](KernelOp kernel) {
      return failed(proveProtocol(kernel, maxRuns, emitFinding)) ? WalkResult::interrupt()
                                                                 : WalkResult::skip();
    });
    if (result.wasInterrupted()) {
      signalPassFailure();
    }
    markAllAnalysesPreserved();
  }
};
} // namespace
