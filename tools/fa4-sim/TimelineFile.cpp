//===- TimelineFile.cpp - timelines and the names in them -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The names are a help to readers: a line that is not understood gives none, and the
// run is the same.
//
//===----------------------------------------------------------------------===//

#include "TimelineFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace llvm;
using namespace fa4;

/// Whether all of `words` are numbers, which `values` get.
static bool readNumbers(std::initializer_list<StringRef> words,
                        std::initializer_list<unsigned *> values) {
  auto value = values.begin();
  for (StringRef word : words) {
    word.consume_back(",");
    if (word.getAsInteger(10, **value++)) {
      return false;
    }
  }
  return true;
}

std::vector<sim::TimelineNames> fa4::tool::parseReport(StringRef text) {
  std::vector<sim::TimelineNames> kernels;
  SmallVector<StringRef> lines, words;
  text.split(lines, '\n');
  for (StringRef line : lines) {
    words.clear();
    line.split(words, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
    if (words.size() == 2 && words[0] == "kernel") {
      kernels.emplace_back();
      kernels.back().kernel = words[1].str();
    } else if (kernels.empty()) {
      continue;
    } else if (words.size() >= 8 && words[0] == "role") {
      // role NAME warps W x R at FIRST, …
      sim::TimelineNames::Role role;
      role.name = words[1].str();
      if (readNumbers({words[3], words[5], words[7]},
                      {&role.warps, &role.replicas, &role.firstWarp})) {
        kernels.back().roles.push_back(std::move(role));
      }
    } else if (words.size() == 8 && words[0] == "barrier") {
      // barrier NAME SLOTS of count COUNT at START
      sim::TimelineNames::Barrier barrier;
      barrier.name = words[1].str();
      unsigned start = 0;
      if (readNumbers({words[2], words[7]}, {&barrier.slots, &start})) {
        barrier.start = start;
        kernels.back().barriers.push_back(std::move(barrier));
      }
    }
  }
  return kernels;
}

std::vector<sim::TimelineNames> fa4::tool::readNames(StringRef bundleFile) {
  SmallString<128> path(bundleFile);
  sys::path::replace_extension(path, "report.txt");
  auto text = MemoryBuffer::getFile(path, /*IsText=*/true);
  return text ? parseReport((*text)->getBuffer()) : std::vector<sim::TimelineNames>();
}

Error fa4::tool::writeTimeline(StringRef file, const sim::Timeline &timeline) {
  std::error_code code;
  ToolOutputFile output(file, code, sys::fs::OF_None);
  if (code) {
    return createStringError("expected '" + file + "' to be writable, but got: " + code.message());
  }
  timeline.writeJson(output.os());
  output.keep();
  return Error::success();
}
