//===- Runs.cpp - inputs that the simulator runs a kernel on --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text to inputs. Nothing here knows a kernel: what a step is worth is the text's.
//
//===----------------------------------------------------------------------===//

#include "Runs.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace fa4::mutations {

std::vector<driver::InputOptions> Run::unroll(int64_t slots) const {
  std::vector<driver::InputOptions> all;
  for (int64_t number = 0; number < (isLadder() ? slots : 1); ++number) {
    all.push_back(options);
    for (const auto &[argument, step] : steps) {
      for (auto [extent, more] : llvm::zip_equal(all.back().shapes[argument], step)) {
        extent += number * more;
      }
    }
  }
  return all;
}

static llvm::Error parseExtents(llvm::StringRef argument, llvm::StringRef text, Run &run) {
  std::vector<int64_t> steps;
  llvm::SmallVector<llvm::StringRef> extents;
  text.split(extents, 'x');
  for (llvm::StringRef extent : extents) {
    auto [first, more] = extent.split('+');
    int64_t begin = 0;
    int64_t step = 0;
    bool grows = extent.contains('+');
    if (first.getAsInteger(10, begin) || begin < 0 ||
        (grows && (more.getAsInteger(10, step) || step < 1))) {
      return llvm::createStringError("expected an extent of '" + argument +
                                     "' to be a number, or two with a plus between, but got '" +
                                     extent + "'");
    }
    run.options.shapes[argument].push_back(begin);
    steps.push_back(step);
  }
  if (llvm::any_of(steps, [](int64_t step) { return step != 0; })) {
    run.steps[argument.str()] = std::move(steps);
  }
  return llvm::Error::success();
}

llvm::Expected<Run> parseRun(llvm::StringRef text) {
  Run run;
  llvm::StringRef rest = text;
  if (text.contains(':')) {
    auto [kernel, inputs] = text.split(':');
    run.kernel = kernel.str();
    rest = inputs;
  }
  auto [name, arguments] = rest.split(',');
  auto distribution = numerics::parseInputDistribution(std::string_view(name));
  if (!distribution) {
    return llvm::createStringError("expected --run to start with a distribution, but got '" + name +
                                   "'");
  }
  run.options.random.distribution = *distribution;
  llvm::SmallVector<llvm::StringRef> parts;
  arguments.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef part : parts) {
    auto [argument, value] = part.split('=');
    double number = 0;
    if (value.contains('.') && !value.getAsDouble(number)) {
      run.options.scalars[argument] = number;
    } else if (llvm::Error error = parseExtents(argument, value, run)) {
      return std::move(error);
    }
  }
  return run;
}

std::vector<Run> selectRuns(llvm::ArrayRef<Run> runs, llvm::StringRef kernel) {
  bool own = llvm::any_of(runs, [&](const Run &run) { return run.kernel == kernel; });
  std::vector<Run> selected;
  for (const Run &run : runs) {
    if (run.kernel == (own ? kernel : "")) {
      selected.push_back(run);
    }
  }
  if (selected.empty()) {
    selected.emplace_back();
  }
  return selected;
}

} // namespace fa4::mutations
