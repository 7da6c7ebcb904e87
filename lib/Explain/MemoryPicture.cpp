//===- MemoryPicture.cpp - what is where, and when, drawn -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A band per element of an allocation, whose height is the element's size. Grey is
// from a write to the last read of it: what may not be used for anything else.
//
//===----------------------------------------------------------------------===//

#include "fa4/Explain/MemoryMap.h"
#include "fa4/Explain/Svg.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

using namespace llvm;
using namespace fa4::explain;

namespace {
constexpr double kMargin = 24, kLabels = 230, kPlot = 900, kBand = 40, kGap = 6;

class MemoryDrawing {
public:
  explicit MemoryDrawing(const MemoryMap &map)
      : map(map), svg("memory of @" + map.kernel), scale(kPlot / std::max(map.steps, 1u)) {}
  void draw(raw_ostream &os);

private:
  double x(unsigned step) const { return kMargin + kLabels + step * scale; }
  void drawLegend();
  void drawElement(unsigned allocation, unsigned element);
  void drawLives(const std::vector<const MemoryMap::Use *> &uses, double height);

  const MemoryMap &map;
  Svg svg;
  double scale;
  double top = 0;
};
} // namespace

/// From each write to the last read before the next one, part by part.
void MemoryDrawing::drawLives(const std::vector<const MemoryMap::Use *> &uses, double height) {
  std::map<std::pair<int64_t, int64_t>, std::pair<unsigned, unsigned>> open;
  auto close = [&](std::pair<int64_t, int64_t> part, std::pair<unsigned, unsigned> life) {
    svg.rect({x(life.first), top + part.first * height}, (life.second - life.first) * scale,
             (part.second - part.first) * height, "idle");
  };
  for (const MemoryMap::Use *use : uses) {
    if (use->reads) {
      // A read of any part that overlaps keeps it, also one that adds to it.
      for (auto &[part, life] : open) {
        if (part.first < use->high && use->low < part.second) {
          life.second = std::max(life.second, use->end);
        }
      }
      continue;
    }
    auto [entry, added] = open.insert({{use->low, use->high}, {use->start, use->end}});
    if (!added) {
      close(entry->first, entry->second);
      entry->second = {use->start, use->end};
    }
  }
  for (const auto &[part, life] : open) {
    close(part, life);
  }
}

void MemoryDrawing::drawElement(unsigned index, unsigned element) {
  const auto &allocation = map.allocations[index];
  int64_t size = (allocation.end - allocation.start) / allocation.elements;
  int64_t start = allocation.start + element * size;
  std::string name = "@" + allocation.name;
  if (allocation.elements > 1) {
    name += "[" + utostr(element) + "]";
  }
  svg.text({kMargin, top + 15}, name, "strong");
  svg.text({kMargin, top + 30},
           formatv("{0} {1} to {2}", allocation.isTensorMemory ? "columns" : "bytes", start,
                   start + size)
               .str(),
           "small");
  svg.rect({kMargin + kLabels, top}, kPlot, kBand, "plain");
  std::vector<const MemoryMap::Use *> uses;
  for (const MemoryMap::Use &use : map.uses) {
    if (use.allocation == index && use.element == element) {
      uses.push_back(&use);
    }
  }
  double height = kBand / double(std::max<int64_t>(size, 1));
  drawLives(uses, height);
  for (const MemoryMap::Use *use : uses) {
    std::string style = "hue" + utostr(use->role % kNumHues) + (use->writes ? "" : " faint");
    svg.rect({x(use->start), top + use->low * height},
             std::max((use->end - use->start) * scale - 0.6, 0.8), (use->high - use->low) * height,
             style, use->text);
  }
  top += kBand + kGap;
}

void MemoryDrawing::drawLegend() {
  double left = kMargin;
  auto entry = [&](StringRef style, StringRef text) {
    svg.rect({left, top - 10}, 14, 12, style);
    svg.text({left + 20, top}, text, "label");
    left += 40 + Svg::textWidth(text.size(), 10.5);
  };
  for (unsigned role = 0; role < map.roles.size(); ++role) {
    entry("hue" + utostr(role % kNumHues), map.roles[role]);
  }
  entry("hue7 faint", "pale: reads");
  entry("idle", "grey: written, still to be read");
  top += 24;
}

void MemoryDrawing::draw(raw_ostream &os) {
  svg.text({kMargin, 34}, "Memory of @" + map.kernel + ", in the order in which it must be used",
           "title");
  svg.text({kMargin, 54},
           formatv("in a run {0}; a step to the right comes after one to the left, it is no time",
                   map.run)
               .str(),
           "small");
  top = 80;
  drawLegend();
  for (bool tensorMemory : {true, false}) {
    bool any = false;
    for (unsigned index = 0; index < map.allocations.size(); ++index) {
      const auto &allocation = map.allocations[index];
      if (allocation.isTensorMemory != tensorMemory) {
        continue;
      }
      if (!any) {
        top += 14;
        svg.text({kMargin, top}, tensorMemory ? "Tensor memory" : "Shared memory", "strong");
        top += 12;
        any = true;
      }
      for (unsigned element = 0; element < allocation.elements; ++element) {
        drawElement(index, element);
      }
    }
  }
  svg.print(os, kMargin + kLabels + kPlot + kMargin, top + 16);
}

void MemoryMap::printSvg(raw_ostream &os) const { MemoryDrawing(*this).draw(os); }
