//===- ProtocolMutationTest.cpp - every broken protocol is refused ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Deletes or changes each wait, arrival, commit, fence, count, credit, phase and
// element of the placed kernels by hand, one at a time, and asks the verifier and
// the proof. What both accept must be on the list of edits that break nothing, with
// the reason; the table is printed.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/IR/TileOps.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"

#include "HandText.h"
#include "ParsedModule.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

#include <functional>
#include <map>

using namespace fa4::tile;
using namespace mlir;

namespace {

/// One edit: what it does, and how, to the op of the same number in a clone.
struct Mutation {
  unsigned op;
  std::string what;
  std::function<void(Operation *)> apply;
};

void erase(Operation *op) {
  for (auto [result, operand] : llvm::zip(op->getResults(), op->getOperands())) {
    result.replaceAllUsesWith(operand);
  }
  op->erase();
}

/// Sets element 0 instead of 1 and the other way round.
void swapElement(Operation *op) {
  auto old = op->getAttrOfType<IntegerAttr>("static_element");
  op->setAttr("static_element", IntegerAttr::get(old.getType(), 1 - old.getInt()));
}

void addMutations(unsigned number, Operation *op, std::vector<Mutation> &mutations) {
  auto add = [&](std::string what, std::function<void(Operation *)> apply) {
    mutations.push_back({number, std::move(what), std::move(apply)});
  };
  bool inProtocol =
      isa<BarrierWaitOp, BarrierArriveOp, BarrierExpectOp, BarrierCommitOp, NamedArriveOp,
          NamedSyncOp, RoleSyncOp, ClusterSyncOp, GroupCommitOp, GroupWaitOp, AdvanceOp>(op);
  if (inProtocol) {
    add("delete", erase);
  }
  if (auto fence = dyn_cast<FenceOp>(op)) {
    for (unsigned bit = 0; bit < 7; ++bit) {
      auto kind = static_cast<FenceKind>(1U << bit);
      if (bitEnumContainsAny(fence.getKinds(), kind)) {
        add("without " + stringifyFenceKind(kind), [kind](Operation *clone) {
          auto other = cast<FenceOp>(clone);
          FenceKind rest = other.getKinds() & ~kind;
          if (static_cast<unsigned>(rest) == 0) {
            clone->erase();
          } else {
            other.setKinds(rest);
          }
        });
      }
    }
  }
  if (auto barrier = dyn_cast<BarrierOp>(op)) {
    add("count + 1", [](Operation *clone) {
      auto other = cast<BarrierOp>(clone);
      other.setCount(other.getCount() + 1);
    });
    if (barrier.getCount() > 1) {
      add("count - 1", [](Operation *clone) {
        auto other = cast<BarrierOp>(clone);
        other.setCount(other.getCount() - 1);
      });
    }
  }
  if (isa<CursorOp>(op)) {
    add("credit the other way", [](Operation *clone) {
      auto cursor = cast<CursorOp>(clone);
      cursor.setCredit(!cursor.getCredit());
    });
  }
  if (isa<BarrierExpectOp>(op)) {
    add("half of the bytes", [](Operation *clone) {
      auto expect = cast<BarrierExpectOp>(clone);
      expect.setBytes(expect.getBytes() / 2);
    });
  }
  if (auto arrive = dyn_cast<BarrierArriveOp>(op); arrive && arrive.getWhen()) {
    add("without when",
        [](Operation *clone) { cast<BarrierArriveOp>(clone).getWhenMutable().clear(); });
  }
  if (auto wait = dyn_cast<GroupWaitOp>(op)) {
    add("one more group open", [](Operation *clone) {
      auto group = cast<GroupWaitOp>(clone);
      group.setPending(group.getPending() + 1);
    });
  }
  if (auto mma = dyn_cast<IssueMmaOp>(op)) {
    if (mma.getUnless()) {
      add("without unless",
          [](Operation *clone) { cast<IssueMmaOp>(clone).getUnlessMutable().clear(); });
    }
  }
  auto element = op->getAttrOfType<IntegerAttr>("static_element");
  if (element && inProtocol && element.getInt() <= 1) {
    add("other element", swapElement);
  }
}

/// The first error of the passes on `module`; empty if they accept it.
std::string firstError(ModuleOp module) {
  std::string error;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diagnostic) {
    if (error.empty() && diagnostic.getSeverity() == DiagnosticSeverity::Error) {
      error = diagnostic.str();
    }
    return success();
  });
  PassManager manager(module.getContext());
  manager.enableVerifier(false);
  manager.addPass(createTileVerifyProtocol());
  if (failed(verify(module)) || failed(manager.run(module))) {
    return error.empty() ? "refused" : error;
  }
  // Some rules are the phase verifier's alone, such as groups of registers.
  PassManager phase(module.getContext());
  phase.addPass(createTileVerifyT2());
  if (failed(phase.run(module))) {
    return "tile-verify-t2: " + error;
  }
  return "";
}

std::string describe(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  auto loc = dyn_cast<FileLineColLoc>(op->getLoc());
  stream << (loc ? loc.getLine() : 0) << ' ' << op->getName().getStringRef().drop_front(5);
  for (StringRef name : {"barrier", "view", "acc_view", "sym_name"}) {
    if (Attribute attr = op->getAttr(name)) {
      stream << ' ' << attr;
      break;
    }
  }
  if (auto element = op->getAttrOfType<IntegerAttr>("static_element")) {
    stream << '[' << element.getInt() << ']';
  }
  if (auto role = op->getParentOfType<RoleOp>()) {
    stream << " in @" << role.getSymName();
  }
  return text;
}

/// Edits that break nothing: text of the table's row (a part of it) and the reason.
using Harmless = std::vector<std::pair<std::string, std::string>>;

void checkMutations(const std::string &name, const Harmless &harmless) {
  ParsedModule parsed(readHandText(name));
  ASSERT_TRUE(parsed.module);
  ASSERT_EQ(firstError(*parsed.module), "");
  std::vector<Operation *> ops;
  std::vector<Mutation> mutations;
  parsed.module->walk<WalkOrder::PreOrder>([&](Operation *op) {
    addMutations(ops.size(), op, mutations);
    ops.push_back(op);
  });
  std::map<std::string, unsigned> kinds;
  std::vector<unsigned> used(harmless.size(), 0);
  for (const Mutation &mutation : mutations) {
    OwningOpRef<ModuleOp> clone(parsed.module->clone());
    Operation *target = nullptr;
    unsigned number = 0;
    clone->walk<WalkOrder::PreOrder>(
        [&](Operation *op) { target = number++ == mutation.op ? op : target; });
    mutation.apply(target);
    std::string row = describe(ops[mutation.op]) + ": " + mutation.what;
    std::string error = firstError(*clone);
    std::string reason;
    for (auto [index, entry] : llvm::enumerate(harmless)) {
      if (error.empty() && row.find(entry.first) != std::string::npos) {
        reason = entry.second;
        ++used[index];
        break;
      }
    }
    EXPECT_FALSE(error.empty() && reason.empty()) << "nobody objects to " << row;
    ++kinds[error.empty()                                    ? "harmless"
            : StringRef(error).starts_with("tile-verify-t2") ? "t2"
                                                             : "proof"];
    llvm::outs() << name << " | " << row << " | " << (error.empty() ? "harmless: " + reason : error)
                 << '\n';
  }
  for (auto [index, entry] : llvm::enumerate(harmless)) {
    EXPECT_GT(used[index], 0U) << "no longer harmless: " << entry.first;
  }
  llvm::outs() << name << ": " << mutations.size() << " edits, " << kinds["proof"]
               << " refused by the proof, " << kinds["t2"] << " by tile-verify-t2, "
               << kinds["harmless"] << " harmless\n";
  llvm::outs().flush();
}

} // namespace

TEST(ProtocolMutationTest, ForwardBlackwell) {
  checkMutations(
      "forward-sm100-t2.mlir",
      {{"184 fence in @mma: without after",
        "S of the tile before was handed over, fenced, for its last P V: the wait for P has an "
        "'after', and one issuer's products keep their order"},
       {"350 fence in @softmax: without before",
        "each access to tensor memory has its 'before' at the arrival that hands it over"},
       {"450 fence in @correction: without before",
        "each access to tensor memory has its 'before' at the arrival that hands it over"}});
}

TEST(ProtocolMutationTest, ForwardHopper) { checkMutations("forward-sm90-t2.mlir", {}); }

TEST(ProtocolMutationTest, BackwardBlackwell) {
  const std::string credit = "one tile per cluster: the first wait passes by credit";
  const std::string fresh = "nothing was handed over before the first products";
  checkMutations(
      "backward-sm100-t2.mlir",
      {{"187 barrier.wait @q.empty in @load: delete", credit},
       {"190 barrier.wait @lse.empty in @load: delete", credit},
       {"195 barrier.wait @do.empty in @load: delete", credit},
       {"199 barrier.wait @del.empty in @load: delete", credit},
       {"257 fence in @mma: without after", fresh},
       {"263 fence in @mma: without after", fresh},
       {"288 fence in @mma: without after",
        "dP was handed over with dS, whose wait has an 'after' before the product of dK"},
       {"451 group.commit in @compute: delete", "the next commit closes both stores' group"},
       {"586 fence in @reduce: without before",
        "the read of dQ has its 'before' at the arrival that hands it over"}});
}

TEST(ProtocolMutationTest, ForwardBlackwellPair) {
  checkMutations(
      "forward-sm100-pair-t2.mlir",
      {{"204 fence in @mma: without after",
        "S of the tile before was handed over, fenced, for its last P V: the wait for P has an "
        "'after', and one issuer's products keep their order"},
       {"373 fence in @softmax: without before",
        "each access to tensor memory has its 'before' at the arrival that hands it over"},
       {"478 fence in @correction: without before",
        "each access to tensor memory has its 'before' at the arrival that hands it over"}});
}
