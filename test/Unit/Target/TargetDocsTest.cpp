//===- TargetDocsTest.cpp - the table of docs/Targets.md is the table -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every field of every known chip stands in the documentation with its value and
// a source, and the documentation names nothing else.
//
//===----------------------------------------------------------------------===//

#include "fa4/Planning/ScheduleSelection.h"
#include "fa4/Target/TargetInfo.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"

#include <memory>

using namespace fa4;

namespace {

using Cells = llvm::SmallVector<std::string>;

/// The rows of all tables of the page, by their first cell.
std::vector<Cells> readRows() {
  auto file = llvm::MemoryBuffer::getFile(FA4_TARGETS_DOC);
  EXPECT_TRUE(static_cast<bool>(file));
  std::vector<Cells> rows;
  llvm::SmallVector<llvm::StringRef> lines;
  (*file)->getBuffer().split(lines, '\n');
  for (llvm::StringRef line : lines) {
    if (!line.consume_front("| ")) {
      continue;
    }
    llvm::SmallVector<llvm::StringRef> parts;
    line.split(parts, '|');
    Cells cells;
    for (llvm::StringRef part : parts) {
      cells.push_back(part.trim().str());
    }
    rows.push_back(cells);
  }
  return rows;
}

std::string valueOf(const TargetInfo &info, const TargetField &field) {
  if (field.number) {
    return std::to_string(info.*field.number);
  }
  if (field.flag) {
    return info.*field.flag ? "true" : "false";
  }
  std::string text;
  for (int64_t value : info.*field.list) {
    text += (text.empty() ? "" : ", ") + std::to_string(value);
  }
  return text.empty() ? "–" : text;
}

TEST(TargetDocs, EveryFieldWithItsValueAndSource) {
  llvm::StringMap<Cells> fields;
  Cells header;
  for (const Cells &cells : readRows()) {
    if (cells[0] == "Field") {
      header = cells;
    } else if (cells[0].front() == '`') {
      fields[llvm::StringRef(cells[0]).trim('`')] = cells;
    }
  }
  ASSERT_EQ(header.size(), 7u); // field, three chips, meaning, source, end
  EXPECT_EQ(fields.size(), targetFields().size());
  for (size_t column = 1; column <= knownTargets().size(); ++column) {
    const TargetInfo *info = lookupTarget(header[column]);
    ASSERT_TRUE(info) << header[column];
    for (const TargetField &field : targetFields()) {
      ASSERT_TRUE(fields.count(field.name)) << field.name.str();
      EXPECT_EQ(fields[field.name][column], valueOf(*info, field)) << field.name.str();
      EXPECT_FALSE(fields[field.name][5].empty()) << field.name.str() << " has no source";
    }
  }
}

TEST(TargetDocs, SelectedTiles) {
  int compared = 0;
  Cells header;
  for (const Cells &cells : readRows()) {
    if (cells[0] == "Head dims") {
      header = cells;
      continue;
    }
    if (header.empty() || cells.size() != header.size() || !isdigit(cells[0].front())) {
      continue;
    }
    auto [queryKey, value] = llvm::StringRef(cells[0]).split(" / ");
    ForwardProblem problem;
    ASSERT_FALSE(queryKey.getAsInteger(10, problem.queryKeyDim));
    if (value.empty()) {
      problem.valueDim = problem.queryKeyDim;
    } else {
      ASSERT_FALSE(value.getAsInteger(10, problem.valueDim));
    }
    for (size_t column = 1; column + 1 < header.size(); ++column) {
      std::string violation;
      std::optional<ScheduleChoice> choice =
          selectForward(problem, *lookupTarget(header[column]), violation);
      ASSERT_TRUE(choice) << violation;
      const Schedule &plan = choice->schedule;
      EXPECT_EQ(cells[column],
                std::to_string(plan.tileRows) + " x " + std::to_string(plan.tileColumns) + ", " +
                    std::to_string(plan.stages) + (plan.stages == 1 ? " stage" : " stages"))
          << header[column] << " at " << cells[0];
      ++compared;
    }
  }
  EXPECT_EQ(compared, 15);
}

TEST(TargetTable, EveryRowIsSane) {
  EXPECT_EQ(knownTargets().size(), 3u);
  for (llvm::StringRef name : knownTargets()) {
    EXPECT_EQ(checkTarget(*lookupTarget(name)), "") << name.str();
  }
  EXPECT_EQ(lookupTarget("sm_999"), nullptr);
}

} // namespace
