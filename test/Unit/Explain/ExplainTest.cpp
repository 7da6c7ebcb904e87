//===- ExplainTest.cpp - the parts of pictures ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Explain/PassDiff.h"
#include "fa4/Explain/Sequence.h"
#include "fa4/Explain/Svg.h"
#include "fa4/Explain/Trace.h"

#include "gtest/gtest.h"

#include <random>

using namespace fa4::explain;

template <typename Print>
static std::string printed(Print print) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  print(stream);
  return text;
}

TEST(Svg, EscapesWhatHasAMeaning) {
  EXPECT_EQ(escaped("a<b & \"c\">\x01\x1b"), "a&lt;b &amp; &quot;c&quot;&gt;");
  Svg svg("<name>");
  svg.text({1, 2.25}, "x<y", "small");
  svg.rect({0, 0}, 3, 4, "plain", "a & b");
  std::string text = printed([&](auto &os) { svg.print(os, 10, 20); });
  EXPECT_NE(text.find("aria-label=\"&lt;name&gt;\""), std::string::npos);
  EXPECT_NE(text.find(">x&lt;y</text>"), std::string::npos);
  EXPECT_NE(text.find("<title>a &amp; b</title>"), std::string::npos);
}

TEST(Svg, WrapsAtSpaces) {
  EXPECT_EQ(wrapped("one two three", 7), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(wrapped("unbreakable", 4), (std::vector<std::string>{"unbreakable"}));
  EXPECT_TRUE(wrapped("", 4).empty());
}

/// What is removed and kept gives the first text, what is kept and added the second.
static void expectDiff(const std::string &before, const std::string &after) {
  std::vector<std::string> first, second;
  for (const DiffLine &line : diffLines(before, after)) {
    if (line.kind != DiffLine::Kind::Added) {
      first.push_back(line.text);
    }
    if (line.kind != DiffLine::Kind::Removed) {
      second.push_back(line.text);
    }
  }
  auto join = [](const std::vector<std::string> &lines) {
    std::string text;
    for (size_t index = 0; index < lines.size(); ++index) {
      text += (index == 0 ? "" : "\n") + lines[index];
    }
    return text;
  };
  EXPECT_EQ(join(first), before);
  EXPECT_EQ(join(second), after);
}

TEST(PassDiff, RandomTexts) {
  std::mt19937 random(7);
  for (unsigned round = 0; round < 300; ++round) {
    auto text = [&] {
      std::string lines;
      for (unsigned count = random() % 12; count != 0; --count) {
        lines += std::string(1, char('a' + random() % 4)) + "\n";
      }
      return lines;
    };
    std::string before = text(), after = text();
    expectDiff(before, after);
  }
}

TEST(PassDiff, KeepsWhatItCan) {
  std::vector<DiffLine> lines = diffLines("a\nb\nc\nd", "a\nx\nc\nd");
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[1].kind, DiffLine::Kind::Removed);
  EXPECT_EQ(lines[2].kind, DiffLine::Kind::Added);
  EXPECT_EQ(lines[2].text, "x");
}

TEST(PassDiff, TextsTooLargeToCompare) {
  std::string before, after;
  for (unsigned line = 0; line < 6000; ++line) {
    before += "a" + std::to_string(line) + "\n";
    after += "b" + std::to_string(line) + "\n";
  }
  expectDiff(before, after);
}

TEST(Sequence, SaysWhatIsMissing) {
  Sequence sequence;
  sequence.title = "title";
  sequence.lanes = {"left", "right"};
  sequence.rows = {{0, "arrive", "line 1", Sequence::Tone::Plain, 0},
                   {1, "wait", "line 2", Sequence::Tone::Bad, 1}};
  sequence.arrows = {{0, 1, true, "no order"}};
  sequence.notes = {"it waits"};
  std::string text = printed([&](auto &os) { sequence.printText(os); });
  EXPECT_NE(text.find("1 -x-> 2: no order"), std::string::npos);
  EXPECT_NE(text.find("(1) it waits"), std::string::npos);
  std::string svg = printed([&](auto &os) { sequence.printSvg(os); });
  EXPECT_NE(svg.find("class=\"stop\""), std::string::npos);
  EXPECT_NE(svg.find(">no order</text>"), std::string::npos);
}

TEST(Trace, ReadsAndCuts) {
  llvm::Expected<Trace> trace = Trace::parse(R"([
    {"ph": "M", "name": "process_name", "pid": 3, "tid": 0, "args": {"name": "CTA"}},
    {"ph": "X", "name": "run", "cat": "run", "pid": 3, "tid": 1, "ts": 10, "dur": 20},
    {"ph": "B", "name": "other kind"},
    {"ph": "i", "name": "fault", "pid": 4, "tid": 1, "ts": 50}])");
  ASSERT_TRUE(static_cast<bool>(trace)) << llvm::toString(trace.takeError());
  EXPECT_EQ(trace->processes.size(), 2u);
  EXPECT_EQ(trace->end, 51);
  trace->keep(1, 15, 25);
  ASSERT_EQ(trace->tracks.size(), 1u);
  EXPECT_EQ(trace->tracks.front().spans.front().start, 0);
  EXPECT_EQ(trace->tracks.front().spans.front().end, 10);
  EXPECT_EQ(trace->end, 10);
}

TEST(Trace, RefusesWhatIsNoTrace) {
  for (const char *text : {"", "7", "{}", "[1]", R"([{"ph": "X"}])",
                           R"([{"ph": "X", "name": "a", "pid": 0, "tid": 0, "ts": 0}])",
                           R"([{"ph": "X", "name": "a", "ts": 0, "dur": 1}])"}) {
    llvm::Expected<Trace> trace = Trace::parse(text);
    EXPECT_FALSE(static_cast<bool>(trace)) << text;
    llvm::consumeError(trace.takeError());
  }
  // A run without anything is still a picture.
  llvm::Expected<Trace> empty = Trace::parse("[]");
  ASSERT_TRUE(static_cast<bool>(empty));
  empty->keep(4, 0, 100);
  EXPECT_NE(printed([&](auto &os) { empty->printSvg(os); }).find("</svg>"), std::string::npos);
}
