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

#include "fa4/Dialect/Tile/Analysis/ProtocolProof.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"

#include "mlir/IR/Remarks.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace fa4::tile {
#define GEN_PASS_DEF_TILEVERIFYPROTOCOL
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

using namespace mlir;
using namespace fa4::tile;

namespace {

/// "1 + 3 trips" of the tiles of a run.
std::string describeRun(const ProtocolGraph &graph) {
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

class Proof {
public:
  Proof(KernelOp kernel, int64_t maxRuns) : kernel(kernel), maxRuns(maxRuns) {}
  LogicalResult prove();

private:
  /// Checks runs in which every word of up to `trips` trips occurs, those of `prefix`
  /// trips at the start of a run, and those of up to `whole` trips as whole runs.
  LogicalResult proveUpTo(ProtocolModel &model, int64_t trips, int64_t whole, int64_t prefix);
  /// That no loop waits for itself, however many trips it makes.
  LogicalResult proveLoops(ProtocolModel &model, int64_t trips);
  LogicalResult checkOne(ProtocolModel &model, const ProtocolRun &run);
  void emitFinding(const ProtocolGraph &graph, const ProtocolFinding &finding);
  void emitRemarks(int64_t trips);

  KernelOp kernel;
  int64_t maxRuns;
  int64_t numRuns = 0;
  std::vector<ProtocolLetter> letters;
  /// Trips that the certificates found so far span.
  int64_t span = 0;
  llvm::DenseSet<std::tuple<Operation *, Operation *, int>> classes;
  SmallVector<ProtocolLean> leans;
};

} // namespace

void Proof::emitFinding(const ProtocolGraph &graph, const ProtocolFinding &finding) {
  InFlightDiagnostic diag = finding.op->emitOpError() << finding.text;
  for (const ProtocolNote &note : finding.notes) {
    diag.attachNote(note.op->getLoc()) << note.text;
  }
  diag.attachNote(kernel.getLoc()) << "in a run " << describeRun(graph);
}

LogicalResult Proof::checkOne(ProtocolModel &model, const ProtocolRun &run) {
  FailureOr<ProtocolGraph> graph = ProtocolGraph::build(model, run, /*ordered=*/false);
  if (failed(graph)) {
    return failure();
  }
  ProtocolReport report = checkRun(*graph);
  if (report.finding) {
    emitFinding(*graph, *report.finding);
    return failure();
  }
  SmallVector<ProtocolPair> added;
  for (const ProtocolPair &pair : report.pairs) {
    const ProtocolEvent &first = graph->events[pair.first];
    const ProtocolEvent &second = graph->events[pair.second];
    int distance = graph->position(second) - graph->position(first);
    if (classes.insert({first.op, second.op, distance}).second) {
      added.push_back(pair);
    }
  }
  span = std::max(span, certificateSpan(*graph, added));
  for (const ProtocolLean &lean : report.leans) {
    if (!llvm::is_contained(leans, lean)) {
      leans.push_back(lean);
    }
  }
  return success();
}

LogicalResult Proof::proveUpTo(ProtocolModel &model, int64_t trips, int64_t whole, int64_t prefix) {
  FailureOr<std::vector<ProtocolLetter>> found = protocolLetters(model, trips + 1);
  if (failed(found)) {
    return failure();
  }
  letters = std::move(*found);
  std::vector<ProtocolRun> longRuns = protocolLongRuns(model, letters, trips);
  std::vector<ProtocolRun> runs =
      protocolWords(model, letters, longRuns.empty() ? trips : std::min(trips, whole), maxRuns);
  if (!longRuns.empty() && prefix > whole && prefix <= trips) {
    std::vector<ProtocolRun> prefixes = protocolWords(model, letters, prefix, maxRuns, prefix);
    runs.insert(runs.end(), prefixes.begin(), prefixes.end());
  }
  runs.insert(runs.end(), longRuns.begin(), longRuns.end());
  numRuns = static_cast<int64_t>(runs.size());
  if (numRuns > maxRuns) {
    return kernel.emitOpError() << "expected the proof of the protocol to need at most " << maxRuns
                                << " runs, but got more of up to " << trips
                                << " trips; shorten the rings or raise max-runs";
  }
  for (const ProtocolRun &run : runs) {
    if (failed(checkOne(model, run))) {
      return failure();
    }
  }
  return success();
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
             "the protocol holds for all lengths: certificates span " + std::to_string(span) +
                 " trips, and " + std::to_string(numRuns) + " runs with all words of " +
                 std::to_string(trips) + " trips hold");
}

LogicalResult Proof::prove() {
  if (kernel.getBody().getOps<RoleOp>().empty()) {
    return success();
  }
  std::unique_ptr<ProtocolModel> model = ProtocolModel::create(kernel);
  if (!model) {
    return failure();
  }
  // Certificates of a longer run may span more; the window lemma needs 2 span + 3.
  constexpr int64_t kFirstTrips = 5, kMostTrips = 64;
  int64_t trips = kFirstTrips;
  // The work's facts may promise more trips than that.
  for (unsigned number = 0; number < kernel.getWork().getNumWorkResults(); ++number) {
    while (trips < kMostTrips && kernel.getWork().impliesAtLeast(number, trips - kFirstTrips + 2)) {
      ++trips;
    }
  }
  for (int64_t done = 0; done != trips;) {
    done = trips;
    if (failed(proveUpTo(*model, trips, std::max(kFirstTrips, span + 2), 2 * span + 1))) {
      return failure();
    }
    trips = std::max(trips, 2 * span + 3);
  }
  if (failed(proveLoops(*model, trips))) {
    return failure();
  }
  emitRemarks(trips);
  return success();
}

namespace {
struct VerifyProtocol : public fa4::tile::impl::TileVerifyProtocolBase<VerifyProtocol> {
  using TileVerifyProtocolBase::TileVerifyProtocolBase;
  void runOnOperation() override {
    WalkResult result = getOperation()->walk<WalkOrder::PreOrder>([&](KernelOp kernel) {
      return failed(Proof(kernel, maxRuns).prove()) ? WalkResult::interrupt() : WalkResult::skip();
    });
    if (result.wasInterrupted()) {
      signalPassFailure();
    }
    markAllAnalysesPreserved();
  }
};
} // namespace
