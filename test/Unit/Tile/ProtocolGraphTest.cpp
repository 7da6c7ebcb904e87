//===- ProtocolGraphTest.cpp - happens-before of the kernels by hand -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the rules of barrier simplification ask, on the texts of test/Dialect/Tile/by-hand.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/ProtocolGraph.h"

#include "HandText.h"
#include "ParsedModule.h"
#include "gtest/gtest.h"

using namespace fa4::tile;

namespace {

struct HandKernel {
  explicit HandKernel(const std::string &name)
      : parsed(readHandText(name)), model(ProtocolModel::create(parsed.first<KernelOp>())) {}

  template <typename OpTy>
  OpTy lookup(llvm::StringRef name) {
    return model->lookup<OpTy>(mlir::StringAttr::get(model->kernel.getContext(), name));
  }

  /// Waits in the tile loop of `role` for the barrier or channel called `name`.
  std::vector<mlir::Operation *> waits(llvm::StringRef role, llvm::StringRef name) {
    std::vector<mlir::Operation *> found;
    lookup<RoleOp>(role).walk([&](BarrierWaitOp wait) {
      // Those after the tile loop only keep the CTA alive.
      if (wait.getBarrier() == name && wait->getParentOp() != wait->getParentOfType<RoleOp>()) {
        found.push_back(wait);
      }
    });
    return found;
  }

  ParsedModule parsed;
  std::unique_ptr<ProtocolModel> model;
};

class EveryHandKernel : public ::testing::TestWithParam<const char *> {};

} // namespace

TEST_P(EveryHandKernel, RunsToItsEndForEveryShortSequenceOfTiles) {
  HandKernel kernel(GetParam());
  ASSERT_TRUE(kernel.model);
  std::vector<ProtocolRun> runs = protocolRuns(*kernel.model, 4);
  EXPECT_GT(runs.size(), 4U);
  for (const ProtocolRun &run : runs) {
    auto graph = ProtocolGraph::build(*kernel.model, run);
    ASSERT_TRUE(mlir::succeeded(graph));
    EXPECT_FALSE(graph->hasCycle());
    for (const ProtocolEvent &event : graph->events) {
      if (event.kind == EventKind::Wait) {
        EXPECT_TRUE(graph->isComplete(graph->objects[event.object], event.phase))
            << graph->describe(graph->objects[event.object]) << " phase " << event.phase;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(ByHand, EveryHandKernel,
                         ::testing::Values("forward-sm100-t2.mlir", "forward-sm90-t2.mlir",
                                           "backward-sm100-t2.mlir", "forward-sm100-t1.mlir",
                                           "forward-sm90-t1.mlir", "backward-sm100-t1.mlir"));

TEST(ProtocolGraphTest, NoWaitOfTheForwardKernelIsImplied) {
  HandKernel kernel("forward-sm100-t2.mlir");
  std::vector<ProtocolRun> runs = protocolRuns(*kernel.model, 4);
  for (auto [role, barrier] :
       {std::pair("mma", "pa.full"), std::pair("mma", "pb.full"), std::pair("softmax", "s.full"),
        std::pair("correction", "o.full"), std::pair("load", "kv.empty")}) {
    for (mlir::Operation *wait : kernel.waits(role, barrier)) {
      bool implied = true;
      for (const ProtocolRun &run : runs) {
        auto graph = ProtocolGraph::build(*kernel.model, run);
        implied &= graph->isImplied({wait});
      }
      EXPECT_FALSE(implied) << role << " waits for " << barrier;
    }
  }
}

TEST(ProtocolGraphTest, ProductsOfPAreReportedByTheNextS) {
  HandKernel kernel("forward-sm100-t2.mlir");
  auto graph = ProtocolGraph::build(*kernel.model, {TileNumbers{0, 0, 0, 0, 0, 0, 3, 1}});
  ASSERT_TRUE(mlir::succeeded(graph));
  BarrierOp barrier = kernel.lookup<BarrierOp>("pa.full");
  llvm::SmallVector<unsigned> elements = graph->objectsOf(barrier);
  ASSERT_EQ(elements.size(), 2U);
  EXPECT_TRUE(graph->hasNoEarlyArrival({elements[0]}));
  EXPECT_FALSE(graph->hasNoEarlyArrival(elements)) << "P of one stage may be early for the other";
  EXPECT_EQ(graph->tileBegin.back(), 3);
  // A commit reports every product issued before it.
  for (EventId id = 0; id < graph->events.size(); ++id) {
    if (graph->events[id].kind == EventKind::Commit) {
      EXPECT_EQ(graph->reportedBy(id).size(), graph->events[id].order);
    }
  }
}
