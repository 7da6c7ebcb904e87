//===- Configurations.cpp - kernels that many orders are run of -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lengths are small, because each configuration runs hundreds of times, and no multiple
// of a tile.
//
//===----------------------------------------------------------------------===//

#include "Configurations.h"

#include "fa4/Target/TargetInfo.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

namespace fa4::matrix {

namespace {

using Choice = std::pair<Factor, llvm::StringRef>;

/// The configurations of one chip.
class ChipList {
public:
  ChipList(llvm::StringRef chip, std::vector<Configuration> &all)
      : chip(chip), info(*lookupTarget(chip)), all(all) {}

  void addDefaults();
  void addSchedulers();

private:
  Configuration &add(llvm::ArrayRef<Choice> choices);

  llvm::StringRef chip;
  const TargetInfo &info;
  std::vector<Configuration> &all;
};

} // namespace

/// `FACTOR=LEVEL` choices on top of the plain forward pass.
static Case makeCase(llvm::ArrayRef<Choice> choices) {
  Case point{};
  auto choose = [&](Factor factor, llvm::StringRef level) {
    const std::vector<std::string> &levels = factors()[factor].levels;
    point[factor] = static_cast<unsigned>(llvm::find(levels, level) - levels.begin());
  };
  choose(HeadDim, "128");
  choose(QueryLength, "129");
  choose(KeyLength, "300");
  choose(Inputs, "peaked");
  for (auto [factor, level] : choices) {
    choose(factor, level);
  }
  return point;
}

Configuration &ChipList::add(llvm::ArrayRef<Choice> choices) {
  std::string name;
  for (auto [factor, level] : choices) {
    name += (name.empty() ? "" : " ") + std::string(factors()[factor].name) + "=" + level.str();
  }
  return all.emplace_back(Configuration{chip.str(), name, makeCase(choices)});
}

void ChipList::addDefaults() {
  for (const char *dim : {"64", "96", "128", "192/128", "256"}) {
    if (info.hasTensorMemory() && llvm::StringRef(dim) == "256") {
      continue; // no plan: accumulators of 256 columns leave no room for scores
    }
    for (const char *mask : {"none", "causal", "window:33:33"}) {
      add({{HeadDim, dim}, {Mask, mask}});
    }
  }
  add({{Mask, "causal"}, {QueryLength, "255"}, {KeyLength, "1000"}});
  add({{Mask, "causal"}, {ElementType, "f16"}});
  add({{Mask, "causal"}, {Ratio, "3"}});
  add({{Mask, "causal"}, {LayoutKind, "bhsd"}});
  add({{Mask, "causal"}, {Sink, "yes"}});
  add({{Mask, "causal"}, {PositionOffset, "yes"}});
  add({{Mask, "document"}});
  add({{Mask, "predicate"}});
  for (const char *score : {"softcap", "alibi", "bias", "temperature"}) {
    add({{Mask, "causal"}, {Score, score}});
  }
}

/// Every scheduler with padded and packed sequences and on pairs of CTAs. The lengths give
/// tiles without keys, and of one, two and three blocks of keys: inner loops run 0, 1 and
/// 2 times.
void ChipList::addSchedulers() {
  auto addWith = [&](llvm::StringRef layout, bool onPairs) {
    const Levels levels = deviceLevels(info.clusterLaunchControl, onPairs);
    for (unsigned level : levels[Scheduler]) {
      llvm::StringRef scheduler = factors()[Scheduler].levels[level];
      if (layout == "thd" && scheduler.ends_with("+longest") && !scheduler.starts_with("drawn")) {
        continue; // packed tiles have one order
      }
      for (auto [queries, keys] : {std::pair("1000", "129"), std::pair("300", "300")}) {
        Configuration &made = add({{Mask, "causal"},
                                   {LayoutKind, layout},
                                   {Scheduler, scheduler},
                                   {QueryLength, queries},
                                   {KeyLength, keys}});
        made.statesScheduler = true;
        made.onPairs = onPairs;
        made.name += onPairs ? " pairs" : "";
      }
    }
  };
  addWith("bshd", /*onPairs=*/false);
  addWith("thd", /*onPairs=*/false);
  if (info.hasTensorMemory()) {
    addWith("bshd", /*onPairs=*/true);
  }
}

std::vector<Configuration> listConfigurations() {
  std::vector<Configuration> all;
  for (const char *chip : {"sm_100a", "sm_90a"}) {
    ChipList list(chip, all);
    list.addDefaults();
    list.addSchedulers();
  }
  return all;
}

} // namespace fa4::matrix
