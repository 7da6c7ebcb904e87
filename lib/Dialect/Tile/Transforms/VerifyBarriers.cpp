//===- VerifyBarriers.cpp - barriers of a placed kernel -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counts, bytes and groups follow from the ops that arrive, load and commit; here
// they are derived a second time and compared with what is written.
//
//===----------------------------------------------------------------------===//

#include "PlacedKernel.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fa4::tile;

namespace {

/// How an op names a barrier.
struct BarrierUse {
  FlatSymbolRefAttr name;
  Value element;
  IntegerAttr staticElement;
  Value cursor;

  bool operator==(const BarrierUse &other) const {
    return name == other.name && element == other.element && staticElement == other.staticElement &&
           cursor == other.cursor;
  }
};

/// Arrivals and waits at one element of a barrier.
struct ElementUses {
  /// Arrivals per phase that each role makes.
  llvm::MapVector<Operation *, int64_t> arrivals;
  bool waited = false;
};

class BarrierVerifier {
public:
  explicit BarrierVerifier(PlacedKernel &placed) : placed(placed) {}
  LogicalResult verify();

private:
  LogicalResult verifyUse(Operation *op, const BarrierUse &use);
  LogicalResult addArrival(Operation *op, const BarrierUse &use, Arrival by, int64_t homes);
  void addWait(const BarrierUse &use);
  LogicalResult visit(Operation *op);
  LogicalResult verifyBytes(BarrierExpectOp expect);
  LogicalResult verifyAnnounced(Operation *op, const BarrierUse &use);
  LogicalResult verifyCounts();

  PlacedKernel &placed;
  llvm::MapVector<Operation *, SmallVector<ElementUses>> uses;
};

} // namespace

template <typename OpTy>
static BarrierUse useOf(OpTy op) {
  return {op.getBarrierAttr(), op.getElement(), op.getStaticElementAttr(), op.getCursor()};
}

//===----------------------------------------------------------------------===//
// Uses
//===----------------------------------------------------------------------===//

LogicalResult BarrierVerifier::verifyUse(Operation *op, const BarrierUse &use) {
  BarrierOp barrier = placed.barrier(use.name);
  if (!barrier) { // T2.B
    return op->emitOpError() << "expected a barrier of the kernel, but got '" << use.name << "'";
  }
  auto family = static_cast<int64_t>(barrier.getFamily());
  auto depth = static_cast<int64_t>(barrier.getDepth());
  bool named = use.element || use.staticElement;
  if (named != (family > 1)) { // T2.B
    return op->emitOpError() << "expected an element of '" << use.name
                             << "' exactly if it has several, but got " << (named ? "one" : "none")
                             << " of " << family;
  }
  if (use.staticElement &&
      (use.staticElement.getInt() < 0 || use.staticElement.getInt() >= family)) { // T2.B
    return op->emitOpError() << "expected element of '" << use.name << "' to be from 0 to "
                             << family - 1 << ", but got " << use.staticElement.getInt();
  }
  if (!use.cursor) {
    if (depth == 1) {
      return success();
    }
    return op->emitOpError() << "expected a cursor into the " << depth << " slots of '" // T2.B
                             << use.name << "', but got none";
  }
  int64_t cursorDepth = cast<CursorType>(use.cursor.getType()).getDepth();
  if (cursorDepth != depth) { // T2.B
    InFlightDiagnostic diag = op->emitOpError() << "expected a cursor of the depth of '" << use.name
                                                << "', " << depth << ", but got " << cursorDepth;
    diag.attachNote(barrier.getLoc()) << "the barrier is here";
    return diag;
  }
  return success();
}

/// The elements that a use may mean: one, or any when it depends on the replica.
static SmallVector<int64_t> elementsOf(const BarrierUse &use, BarrierOp barrier) {
  if (use.staticElement) {
    return {use.staticElement.getInt()};
  }
  return llvm::to_vector(llvm::seq<int64_t>(0, barrier.getFamily()));
}

LogicalResult BarrierVerifier::addArrival(Operation *op, const BarrierUse &use, Arrival by,
                                          int64_t homes) {
  auto role = op->getParentOfType<RoleOp>();
  BarrierOp barrier = placed.barrier(use.name);
  auto warps = static_cast<int64_t>(role.getWarps());
  int64_t arrivals = by == Arrival::Thread ? warps * placed.target().threadsPerWarp
                     : by == Arrival::Warp ? warps
                                           : 1;
  // An element that depends on the replica belongs to one replica each.
  arrivals *= homes * (use.element ? 1 : static_cast<int64_t>(role.getReplicas()));
  for (int64_t element : elementsOf(use, barrier)) {
    auto [entry, added] = uses[barrier][element].arrivals.insert({role, arrivals});
    if (!added && entry->second != arrivals) { // T2.C
      return op->emitOpError() << "expected every site of role '@" << role.getSymName()
                               << "' to make as many arrivals at '" << use.name << "', "
                               << entry->second << ", but got " << arrivals;
    }
  }
  return success();
}

void BarrierVerifier::addWait(const BarrierUse &use) {
  BarrierOp barrier = placed.barrier(use.name);
  for (int64_t element : elementsOf(use, barrier)) {
    uses[barrier][element].waited = true;
  }
}

LogicalResult BarrierVerifier::visit(Operation *op) {
  auto role = op->getParentOfType<RoleOp>();
  for (StringRef home : {"on_leader", "on_peer", "on_both"}) {
    if (role && role.getCtas() == Ctas::Single && op->hasAttr(home)) { // T2.B
      return op->emitOpError() << "expected '" << home
                               << "' in a role of a pair of CTAs, but got '@" << role.getSymName()
                               << "', which every CTA runs for itself";
    }
  }
  if (auto wait = dyn_cast<BarrierWaitOp>(op)) {
    if (failed(verifyUse(op, useOf(wait)))) {
      return failure();
    }
    addWait(useOf(wait));
  } else if (auto arrive = dyn_cast<BarrierArriveOp>(op)) {
    if (failed(verifyUse(op, useOf(arrive)))) {
      return failure();
    }
    int64_t homes = arrive.getOnLeader() && role.getCtas() == Ctas::Both ? 2 : 1;
    return addArrival(op, useOf(arrive), arrive.getBy(), homes);
  } else if (auto expect = dyn_cast<BarrierExpectOp>(op)) {
    if (failed(verifyUse(op, useOf(expect))) || failed(verifyBytes(expect))) {
      return failure();
    }
    return addArrival(op, useOf(expect), Arrival::Lane, 1);
  } else if (auto commit = dyn_cast<BarrierCommitOp>(op)) {
    if (failed(verifyUse(op, useOf(commit)))) {
      return failure();
    }
    if (!role.getOneLane()) { // T2.B
      return commit.emitOpError() << "expected the role of a commit to be one_lane, but got '@"
                                  << role.getSymName() << "'";
    }
    if (commit.getOnBoth() && role.getCtas() != Ctas::Leader) { // T2.B
      return commit.emitOpError() << "expected a commit on both CTAs to come from the leader, "
                                     "but got '@"
                                  << role.getSymName() << "'";
    }
    return addArrival(op, useOf(commit), Arrival::Lane, 1);
  } else if (auto load = dyn_cast<IssueLoadOp>(op)) {
    return failure(failed(verifyUse(op, useOf(load))) || failed(verifyAnnounced(op, useOf(load))));
  } else if (auto send = dyn_cast<IssueSendOp>(op)) {
    return failure(failed(verifyUse(op, useOf(send))) || failed(verifyAnnounced(op, useOf(send))));
  } else if (auto next = dyn_cast<IssueNextOp>(op)) {
    return failure(failed(verifyUse(op, useOf(next))) || failed(verifyAnnounced(op, useOf(next))));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

/// The view whose bytes `op` brings to the barrier of `use`; null if it does not.
static FlatSymbolRefAttr viewBrought(Operation *op, const BarrierUse &use) {
  if (auto load = dyn_cast<IssueLoadOp>(op)) {
    return useOf(load) == use ? load.getViewAttr() : FlatSymbolRefAttr();
  }
  if (auto send = dyn_cast<IssueSendOp>(op)) {
    return useOf(send) == use ? send.getPeerViewAttr() : FlatSymbolRefAttr();
  }
  if (auto next = dyn_cast<IssueNextOp>(op)) {
    return useOf(next) == use ? next.getViewAttr() : FlatSymbolRefAttr();
  }
  return FlatSymbolRefAttr();
}

LogicalResult BarrierVerifier::verifyBytes(BarrierExpectOp expect) {
  BarrierUse use = useOf(expect);
  int64_t bytes = 0;
  for (Operation *op = expect->getNextNode(); op; op = op->getNextNode()) {
    auto other = dyn_cast<BarrierExpectOp>(op);
    if (other && useOf(other) == use) {
      break;
    }
    if (FlatSymbolRefAttr name = viewBrought(op, use)) {
      ViewOp view = placed.view(name);
      bytes += view ? view.getBytes() : 0;
    }
  }
  auto role = expect->getParentOfType<RoleOp>();
  if (expect.getOnLeader() && role.getCtas() == Ctas::Both) {
    bytes *= 2; // both CTAs' parts arrive at the leader
  }
  if (bytes != static_cast<int64_t>(expect.getBytes())) { // T2.X
    return expect.emitOpError() << "expected bytes to be what the copies after it bring, " << bytes
                                << ", but got " << expect.getBytes();
  }
  return success();
}

LogicalResult BarrierVerifier::verifyAnnounced(Operation *op, const BarrierUse &use) {
  for (Operation *before = op->getPrevNode(); before; before = before->getPrevNode()) {
    auto expect = dyn_cast<BarrierExpectOp>(before);
    if (expect && useOf(expect) == use) {
      return success();
    }
  }
  return op->emitOpError() << "expected the bytes of a copy to be announced at '" << use.name
                           << "' before it, but got no barrier.expect"; // T2.X
}

//===----------------------------------------------------------------------===//
// Counts
//===----------------------------------------------------------------------===//

LogicalResult BarrierVerifier::verifyCounts() {
  for (auto &[op, elements] : uses) {
    auto barrier = cast<BarrierOp>(op);
    for (auto [index, element] : llvm::enumerate(elements)) {
      std::string name = "element " + std::to_string(index);
      if (!element.waited || element.arrivals.empty()) { // T2.S
        return barrier.emitOpError() << "expected " << name
                                     << " of a barrier to be waited for and arrived at, but got no "
                                     << (element.waited ? "arrival" : "wait");
      }
      int64_t total = 0;
      for (auto &[role, arrivals] : element.arrivals) {
        total += arrivals;
      }
      if (total != static_cast<int64_t>(barrier.getCount())) { // T2.C
        InFlightDiagnostic diag = barrier.emitOpError()
                                  << "expected count to be the arrivals at " << name << ", "
                                  << total << ", but got " << barrier.getCount();
        for (auto &[role, arrivals] : element.arrivals) {
          diag.attachNote(role->getLoc())
              << arrivals << " by role '@" << cast<RoleOp>(role).getSymName() << "'";
        }
        return diag;
      }
    }
  }
  return success();
}

LogicalResult BarrierVerifier::verify() {
  for (auto barrier : placed.kernel.getBody().getOps<BarrierOp>()) {
    uses[barrier].resize(barrier.getFamily());
  }
  for (auto role : placed.kernel.getBody().getOps<RoleOp>()) {
    WalkResult result = role.walk([&](Operation *op) { return WalkResult(visit(op)); });
    if (result.wasInterrupted()) {
      return failure();
    }
  }
  return verifyCounts();
}

//===----------------------------------------------------------------------===//
// Named barriers
//===----------------------------------------------------------------------===//

namespace {
/// One way in which threads take part: a role, arriving or waiting, at an element.
using Participant = std::tuple<Operation *, unsigned, Attribute, Value>;
} // namespace

static LogicalResult verifyNamedIds(PlacedKernel &placed) {
  SmallVector<Operation *> owners(placed.target().namedBarriers);
  for (auto barrier : placed.kernel.getBody().getOps<NamedBarrierOp>()) {
    auto last = static_cast<int64_t>(barrier.getLast());
    if (last >= static_cast<int64_t>(owners.size())) { // T2.N
      return barrier.emitOpError() << "expected ids below the target's " << owners.size()
                                   << " named barriers, but got " << last;
    }
    for (auto id = static_cast<int64_t>(barrier.getFirst()); id <= last; ++id) {
      if (owners[id]) { // T2.N
        InFlightDiagnostic diag = barrier.emitOpError()
                                  << "expected ids of named barriers to differ, but got " << id
                                  << " twice";
        diag.attachNote(owners[id]->getLoc()) << "the other is here";
        return diag;
      }
      owners[id] = barrier;
    }
  }
  return success();
}

static LogicalResult verifyNamedThreads(PlacedKernel &placed) {
  llvm::MapVector<Operation *, llvm::SetVector<Participant>> participants;
  for (auto role : placed.kernel.getBody().getOps<RoleOp>()) {
    WalkResult result = role.walk([&](Operation *op) {
      auto arrive = dyn_cast<NamedArriveOp>(op);
      auto sync = dyn_cast<NamedSyncOp>(op);
      if (!arrive && !sync) {
        return WalkResult::advance();
      }
      StringRef name = arrive ? arrive.getBarrier() : sync.getBarrier();
      Value element = arrive ? arrive.getElement() : sync.getElement();
      IntegerAttr fixed = arrive ? arrive.getStaticElementAttr() : sync.getStaticElementAttr();
      NamedBarrierOp barrier = placed.namedBarriers.lookup(name);
      bool several = barrier && barrier.getFamily() > 1;
      if (!barrier || several != (element || fixed)) { // T2.N
        op->emitOpError() << "expected a named barrier, with an element exactly if it has several,"
                             " but got '@"
                          << name << "'";
        return WalkResult::interrupt();
      }
      participants[barrier].insert({role, sync ? 1U : 0U, fixed, element});
      return WalkResult::advance();
    });
    if (result.wasInterrupted()) {
      return failure();
    }
  }
  placed.kernel.walk([&](TmemFreeOp free) {
    auto role = SymbolTable::lookupNearestSymbolFrom<RoleOp>(free, free.getRoleAttr());
    NamedBarrierOp barrier = placed.namedBarriers.lookup(free.getAfter());
    participants[barrier].insert({role, 1U, Attribute(), Value()});
  });
  for (auto barrier : placed.kernel.getBody().getOps<NamedBarrierOp>()) {
    for (int64_t element = 0; element < static_cast<int64_t>(barrier.getFamily()); ++element) {
      int64_t threads = 0;
      for (auto [op, sync, fixed, dynamic] : participants[barrier]) {
        if (fixed && cast<IntegerAttr>(fixed).getInt() != element) {
          continue;
        }
        auto role = cast<RoleOp>(op);
        int64_t warps = barrier.getPerWarp() ? 1 : static_cast<int64_t>(role.getWarps());
        int64_t replicas = dynamic ? 1 : static_cast<int64_t>(role.getReplicas());
        threads += warps * replicas * placed.target().threadsPerWarp;
      }
      if (threads != static_cast<int64_t>(barrier.getThreads())) { // T2.N
        return barrier.emitOpError()
               << "expected threads to be those that meet at element " << element << ", " << threads
               << ", but got " << barrier.getThreads();
      }
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// Groups of `kind` that are committed between two ops of a block.
static int64_t countCommits(Operation *from, Operation *to, Group kind) {
  int64_t commits = 0;
  for (Operation *op = from; op && op != to; op = op->getNextNode()) {
    op->walk([&](GroupCommitOp commit) { commits += commit.getKind() == kind; });
  }
  return commits;
}

static LogicalResult verifyGroupWait(GroupWaitOp wait) {
  auto pending = static_cast<int64_t>(wait.getPending());
  if (wait.getKind() == Group::Bulk) {
    int64_t open = countCommits(&wait->getBlock()->front(), wait, Group::Bulk);
    if (open > 0 && pending >= open) { // T2.G
      return wait.emitOpError() << "expected pending groups to be below the " << open
                                << " committed before, but got " << pending;
    }
    return success();
  }
  for (Value value : wait.getValues()) {
    auto issue = value.getDefiningOp<IssueMmaOp>();
    if (!issue || issue->getBlock() != wait->getBlock()) { // T2.G
      return wait.emitOpError() << "expected values of a group wait to be issued before it in the "
                                   "same block, but got another value";
    }
    int64_t later = countCommits(issue, wait, Group::Wgmma) - 1;
    if (later != pending) { // T2.G
      InFlightDiagnostic diag = wait.emitOpError()
                                << "expected pending groups to be those committed after the "
                                   "value's own, "
                                << later << ", but got " << pending;
      diag.attachNote(issue.getLoc()) << "the value is issued here";
      return diag;
    }
  }
  return success();
}

LogicalResult fa4::tile::verifyBarriers(PlacedKernel &placed) {
  if (failed(BarrierVerifier(placed).verify()) || failed(verifyNamedIds(placed)) ||
      failed(verifyNamedThreads(placed))) {
    return failure();
  }
  WalkResult result =
      placed.kernel.walk([](GroupWaitOp wait) { return WalkResult(verifyGroupWait(wait)); });
  return failure(result.wasInterrupted());
}
