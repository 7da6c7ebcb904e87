//===- MutationsTest.cpp - what fa4-mutations runs and believes -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs with a step stand for as many lengths as the deepest ring has slots, and an
// argument holds for the op that it names, for the edits that it counts, and no other.
//
//===----------------------------------------------------------------------===//

#include "Report.h"

#include "gtest/gtest.h"

#include <set>

using namespace fa4::mutations;

namespace {

constexpr llvm::StringLiteral kPlaced = "tile.fence [before]\n"
                                        "tile.barrier.wait @a.full\n"
                                        "tile.fence [before]\n";

Run parse(llvm::StringRef text) {
  llvm::Expected<Run> run = parseRun(text);
  EXPECT_TRUE(bool(run)) << llvm::toString(run.takeError());
  return run ? *run : Run();
}

std::string refuse(llvm::StringRef arguments) {
  auto parsed = parseArguments(arguments, kPlaced);
  return parsed ? "" : llvm::toString(parsed.takeError());
}

std::string print(const Report &report) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  report.print(stream);
  return text;
}

/// An edit that every rung accepts.
Verdict accepted() { return {"", "", "", false, false}; }

PtxEdit editAt(unsigned placedLine) {
  PtxEdit edit;
  edit.kind = "tcgen05.wait::ld: deleted";
  edit.placedLine = placedLine;
  return edit;
}

// A tile of n blocks fills two slots a block, so that its last fill is at 2 n - 1.
TEST(MutationRuns, PutEverySlotLast) {
  constexpr int64_t block = 128;
  for (int64_t slots : {2, 3, 5, 7}) {
    std::set<int64_t> last;
    for (const auto &inputs : parse("gaussian,k=1x60+128x1x128,q=1x4x1x128").unroll(slots)) {
      const auto &keys = inputs.shapes.lookup("k");
      EXPECT_EQ(inputs.shapes.lookup("q")[1], 4);
      EXPECT_EQ(keys[3], 128);
      last.insert((2 * ((keys[1] + block - 1) / block) - 1) % slots);
    }
    // An even ring has blocks in fixed slots.
    EXPECT_EQ(int64_t(last.size()), slots % 2 == 0 ? slots / 2 : slots) << slots;
  }
}

TEST(MutationRuns, WithoutStepAreOne) {
  auto run = parse("pair:peaked,q=1x60,scale=1.5");
  EXPECT_EQ(run.kernel, "pair");
  EXPECT_FALSE(run.isLadder());
  EXPECT_EQ(run.unroll(6).size(), 1u);
  EXPECT_EQ(run.options.scalars.lookup("scale"), 1.5);
}

TEST(MutationRuns, RefuseOtherText) {
  for (llvm::StringRef text :
       {"gaussian,k=1x60+", "gaussian,k=60+0", "gaussian,k=-1", "level,k=1"}) {
    auto run = parseRun(text);
    EXPECT_FALSE(bool(run)) << text.str();
    llvm::consumeError(run.takeError());
  }
}

TEST(MutationArguments, NameOneOp) {
  EXPECT_EQ(refuse("a: b | tile.barrier.wait @a.full | 1 | so"), "");
  EXPECT_EQ(refuse("a: b | tile.fence [before] (2 of 2) | 1 | so"), "");
  EXPECT_EQ(refuse("a: b | tile.fence [before] (all 2) | 2 | so"), "");
  EXPECT_NE(refuse("a: b | tile.fence [before] | 1 | so").find("but got 2 lines"),
            std::string::npos);
  EXPECT_NE(refuse("a: b | tile.fence [before] (3 of 3) | 1 | so").find("but got 2 lines"),
            std::string::npos);
  EXPECT_NE(refuse("a: b | tile.fence [after] | 1 | so").find("but got 0 lines"),
            std::string::npos);
  EXPECT_NE(refuse("a: b | tile.fence [before] | so").find("class | text of the op | edits"),
            std::string::npos);
}

TEST(MutationArguments, HoldForTheirOpAndNumberAlone) {
  auto arguments =
      parseArguments("tcgen05.wait::ld: deleted | tile.fence [before] (2 of 2) | 2 | so", kPlaced);
  ASSERT_TRUE(bool(arguments));
  Report report(/*canRun=*/true, kPlaced, *arguments);
  EXPECT_TRUE(report.add(editAt(3), accepted()));
  EXPECT_FALSE(report.add(editAt(1), accepted()));
  EXPECT_EQ(report.getFailed(), 1u);
  report.checkArguments();
  EXPECT_EQ(report.getFailed(), 2u);
  EXPECT_NE(print(report).find("an argument for 2 edits, but 1 need it"), std::string::npos);
}

// A fence of T2 that the proof does not need has instructions that nobody needs.
TEST(MutationArguments, FollowFromTheProof) {
  PlacedEdit placed;
  placed.kind = "fence: without before";
  placed.placedLine = 1;
  PtxEdit edit;
  edit.kind = "tcgen05.fence::before_thread_sync: deleted";
  edit.placedLine = 1;
  PtxEdit other = edit;
  other.placedLine = 3;
  Report report(/*canRun=*/true, kPlaced, {});
  EXPECT_TRUE(report.add(placed, accepted()));
  EXPECT_TRUE(report.add(edit, accepted()));
  EXPECT_FALSE(report.add(other, accepted()));
}

} // namespace
