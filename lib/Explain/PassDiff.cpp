//===- PassDiff.cpp - what each pass does to a kernel ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Removed lines come before the added ones that take their place.
//
//===----------------------------------------------------------------------===//

#include "fa4/Explain/PassDiff.h"

#include "fa4/Explain/Svg.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>

using namespace mlir;
using namespace fa4::explain;

using Kind = DiffLine::Kind;

namespace {
/// Longest common subsequences of all tails of two texts.
class CommonLines {
public:
  CommonLines(ArrayRef<StringRef> a, ArrayRef<StringRef> b) : columns(b.size() + 1) {
    lengths.resize((a.size() + 1) * columns);
    for (size_t i = a.size(); i-- > 0;) {
      for (size_t j = b.size(); j-- > 0;) {
        lengths[i * columns + j] =
            a[i] == b[j] ? at(i + 1, j + 1) + 1 : std::max(at(i + 1, j), at(i, j + 1));
      }
    }
  }
  uint16_t at(size_t i, size_t j) const { return lengths[i * columns + j]; }

private:
  size_t columns;
  std::vector<uint16_t> lengths;
};
} // namespace

std::vector<DiffLine> fa4::explain::diffLines(StringRef before, StringRef after) {
  SmallVector<StringRef> a, b;
  before.split(a, '\n');
  after.split(b, '\n');
  std::vector<DiffLine> lines;
  auto add = [&](Kind kind, ArrayRef<StringRef> texts) {
    for (StringRef text : texts) {
      lines.push_back({kind, text.str()});
    }
  };
  size_t head = 0, tail = 0;
  while (head < a.size() && head < b.size() && a[head] == b[head]) {
    ++head;
  }
  while (tail < a.size() - head && tail < b.size() - head &&
         a[a.size() - 1 - tail] == b[b.size() - 1 - tail]) {
    ++tail;
  }
  ArrayRef<StringRef> from = ArrayRef(a).slice(head, a.size() - head - tail);
  ArrayRef<StringRef> to = ArrayRef(b).slice(head, b.size() - head - tail);
  add(Kind::Same, ArrayRef(a).take_front(head));
  // 40 MB of table, and lengths of 16 bits.
  constexpr size_t kMostCells = 20'000'000, kMostLines = 60'000;
  if (from.size() * to.size() > kMostCells || std::max(from.size(), to.size()) > kMostLines) {
    add(Kind::Removed, from);
    add(Kind::Added, to);
  } else {
    CommonLines common(from, to);
    size_t i = 0, j = 0;
    while (i < from.size() || j < to.size()) {
      if (i < from.size() && j < to.size() && from[i] == to[j]) {
        add(Kind::Same, from[i]);
        ++i;
        ++j;
      } else if (i < from.size() &&
                 (j == to.size() || common.at(i + 1, j) >= common.at(i, j + 1))) {
        add(Kind::Removed, from[i++]);
      } else {
        add(Kind::Added, to[j++]);
      }
    }
  }
  add(Kind::Same, ArrayRef(a).take_back(tail));
  return lines;
}

namespace fa4::explain {
class PassDiffRecorder : public PassInstrumentation {
public:
  explicit PassDiffRecorder(PassDiff &diff) : diff(diff) {}

  void runBeforePass(Pass *pass, Operation *op) override {
    if (diff.last.empty()) {
      diff.last = print(op);
      diff.input = diff.last;
    }
  }
  void runAfterPass(Pass *pass, Operation *op) override {
    // Those without a name only run others.
    if (pass->getArgument().empty()) {
      return;
    }
    std::string text = print(op);
    PassDiff::Step step;
    step.pass = pass->getArgument().str();
    step.lines = diffLines(diff.last, text);
    for (const DiffLine &line : step.lines) {
      step.added += line.kind == Kind::Added;
      step.removed += line.kind == Kind::Removed;
    }
    diff.steps.push_back(std::move(step));
    diff.last = std::move(text);
  }

private:
  static std::string print(Operation *op) {
    while (op->getParentOp()) {
      op = op->getParentOp();
    }
    std::string text;
    llvm::raw_string_ostream stream(text);
    op->print(stream);
    return text;
  }
  PassDiff &diff;
};
} // namespace fa4::explain

std::unique_ptr<PassInstrumentation> PassDiff::recorder() {
  return std::make_unique<PassDiffRecorder>(*this);
}

static std::string countsOf(const PassDiff::Step &step) {
  if (step.added == 0 && step.removed == 0) {
    return "no change";
  }
  return "+" + llvm::utostr(step.added) + " -" + llvm::utostr(step.removed);
}

void PassDiff::printText(llvm::raw_ostream &os) const {
  for (const Step &step : steps) {
    os << "=== " << step.pass << ": " << countsOf(step) << '\n';
    for (const DiffLine &line : step.lines) {
      if (line.kind != Kind::Same) {
        os << (line.kind == Kind::Added ? "+ " : "- ") << line.text << '\n';
      }
    }
  }
}

/// Lines of one kind next to each other.
static void printRun(llvm::raw_ostream &os, ArrayRef<DiffLine> run) {
  static constexpr llvm::StringLiteral kStyles[] = {"same", "add", "del"},
                                       kMarks[] = {" ", "+", "-"};
  auto kind = static_cast<unsigned>(run.front().kind);
  // Unchanged lines that stand near changed ones stay open.
  constexpr size_t kContext = 3;
  bool folds = run.front().kind == Kind::Same && run.size() > 3 * kContext;
  auto print = [&](ArrayRef<DiffLine> lines) {
    for (const DiffLine &line : lines) {
      os << "<div class=\"" << kStyles[kind] << "\">" << kMarks[kind] << ' ' << escaped(line.text)
         << "</div>";
    }
  };
  if (!folds) {
    print(run);
    return;
  }
  print(run.take_front(kContext));
  os << "<details><summary><span>" << run.size() - 2 * kContext
     << " lines as before</span></summary>";
  print(run.drop_front(kContext).drop_back(kContext));
  os << "</details>";
  print(run.take_back(kContext));
}

static void printLines(llvm::raw_ostream &os, ArrayRef<DiffLine> lines) {
  os << "<pre>";
  while (!lines.empty()) {
    Kind kind = lines.front().kind;
    size_t length = llvm::find_if(lines, [&](const DiffLine &line) { return line.kind != kind; }) -
                    lines.begin();
    printRun(os, lines.take_front(length));
    lines = lines.drop_front(length);
  }
  os << "</pre>";
}

void PassDiff::printHtml(llvm::raw_ostream &os) const {
  beginPage(os, "Pass by pass");
  os << "<h1>Pass by pass</h1>\n<p>Added lines are green, removed lines red; a click opens a pass."
     << "</p>\n<details><summary>input</summary><pre>" << escaped(input) << "</pre></details>\n";
  for (const Step &step : steps) {
    os << "<details><summary>" << escaped(step.pass) << " <span>" << countsOf(step)
       << "</span></summary>";
    printLines(os, step.lines);
    os << "</details>\n";
  }
  endPage(os);
}
