//===- TimelineTest.cpp - what a run leaves behind ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Timeline.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"

#include "gtest/gtest.h"

#include <map>

using namespace fa4::sim;
using Track = TimelineSpan::Track;

static TimelineSpan span(Track track, uint64_t start, uint64_t end, const char *name) {
  TimelineSpan made;
  made.track = track;
  made.start = start;
  made.end = end;
  made.name = name;
  return made;
}

TEST(Timeline, NamesOfWarpsAndBarriers) {
  TimelineNames names;
  names.roles = {{"softmax", 0, 4, 2}, {"mma", 12, 1, 1}};
  names.barriers = {{"kv.full", 64, 3}, {"q.empty", 88, 1}};
  EXPECT_EQ(names.roleOf(3), "softmax[0]");
  EXPECT_EQ(names.roleOf(7), "softmax[1]");
  EXPECT_EQ(names.roleOf(8), "");
  EXPECT_EQ(names.roleOf(12), "mma");
  EXPECT_EQ(names.barrierAt(64), "@kv.full[0]");
  EXPECT_EQ(names.barrierAt(80), "@kv.full[2]");
  EXPECT_EQ(names.barrierAt(88), "@q.empty");
  EXPECT_EQ(names.barrierAt(56), "");
  EXPECT_EQ(names.barrierAt(96), "");
}

TEST(Timeline, KeepsNoMoreThanItsLimit) {
  Timeline timeline({}, 2);
  timeline.startLaunch("k", 1);
  timeline.lastLaunch().ctas = {"(0, 0, 0)"};
  timeline.add(span(Track::Warp, 0, 0, "empty"));
  for (unsigned k = 0; k < 5; ++k) {
    timeline.add(span(Track::Warp, k, k + 1, "run"));
  }
  EXPECT_EQ(timeline.getLaunches().front().spans.size(), 2u);
  EXPECT_EQ(timeline.getLeftOut(), 3u);
  timeline.add(TimelineFault{0, 0, 1, "DEADLOCK: x"});
  timeline.add(TimelineFault{0, 0, 2, "DEADLOCK: x"});
  EXPECT_EQ(timeline.getLaunches().front().faults.size(), 1u);
}

/// Chrome asks that complete events of one thread do not overlap, and a second launch
/// comes after the first.
TEST(Timeline, TraceEvents) {
  Timeline timeline;
  timeline.startLaunch("first", 1);
  timeline.lastLaunch().ctas = {"(0, 0, 0)"};
  timeline.add(span(Track::CopyIn, 0, 4, "tensor load"));
  timeline.add(span(Track::CopyIn, 1, 3, "tensor load"));
  timeline.add(span(Track::CopyIn, 4, 6, "tensor load"));
  timeline.add(TimelineFault{0, 0, 2, "OOB-SMEM: \"x\""});
  timeline.startLaunch("second", 1);
  timeline.lastLaunch().ctas = {"(0, 0, 0)"};
  timeline.add(span(Track::Warp, 0, 2, "run"));
  std::string text;
  llvm::raw_string_ostream stream(text);
  timeline.writeJson(stream);
  llvm::Expected<llvm::json::Value> root = llvm::json::parse(text);
  ASSERT_TRUE(static_cast<bool>(root)) << llvm::toString(root.takeError());
  const llvm::json::Array *events = root->getAsObject()->getArray("traceEvents");
  ASSERT_NE(events, nullptr);
  std::map<std::pair<int64_t, int64_t>, int64_t> ends;
  llvm::StringMap<unsigned> kinds;
  for (const llvm::json::Value &value : *events) {
    const llvm::json::Object &event = *value.getAsObject();
    ++kinds[*event.getString("ph")];
    if (*event.getString("ph") != "X") {
      continue;
    }
    int64_t &end = ends[{*event.getInteger("pid"), *event.getInteger("tid")}];
    EXPECT_LE(end, *event.getInteger("ts"));
    end = *event.getInteger("ts") + *event.getInteger("dur");
    if (*event.getInteger("pid") == 1) {
      EXPECT_EQ(*event.getInteger("ts"), 6);
    }
  }
  EXPECT_EQ(kinds["X"], 4u);
  EXPECT_EQ(kinds["i"], 1u);
  // Two processes; a warp each, and two threads of copies.
  EXPECT_EQ(kinds["M"], 6u);
}
