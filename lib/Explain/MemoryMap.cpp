//===- MemoryMap.cpp - what is where, and when ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of the warps of a role the first one speaks for all.
//
//===----------------------------------------------------------------------===//

#include "fa4/Explain/MemoryMap.h"

#include "fa4/Dialect/Tile/Transforms/ProveProtocol.h"
#include "fa4/Explain/Events.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <tuple>

using namespace mlir;
using namespace fa4;
using namespace fa4::explain;
using namespace fa4::tile;

/// Two tiles of as many trips as there may be, but not more than `trips`.
static FailureOr<ProtocolRun> chooseRun(ProtocolModel &model, int64_t trips) {
  FailureOr<std::vector<ProtocolLetter>> letters = protocolLetters(model, trips);
  if (failed(letters)) {
    return failure();
  }
  auto longest = llvm::max_element(
      *letters, [](const ProtocolLetter &a, const ProtocolLetter &b) { return a.trips < b.trips; });
  if (longest == letters->end()) {
    return model.kernel.emitOpError()
           << "expected tiles of at most " << trips << " trips to be allowed, but got none";
  }
  return ProtocolRun(model.hasManyTiles() ? 2 : 1, longest->tiles.front());
}

namespace {
class MapBuilder {
public:
  MapBuilder(const ProtocolGraph &graph, MemoryMap &map)
      : graph(graph), map(map), levels(eventLevels(graph)) {}
  void build();

private:
  void add(EventId id, const MemoryAccess &access);
  unsigned roleOf(const ProtocolEvent &event);

  const ProtocolGraph &graph;
  MemoryMap &map;
  std::vector<unsigned> levels;
};
} // namespace

unsigned MapBuilder::roleOf(const ProtocolEvent &event) {
  std::string name = graph.model->describe(graph.model->actors[event.actor]);
  StringRef role = StringRef(name).split(',').first;
  auto found = llvm::find(map.roles, role);
  if (found == map.roles.end()) {
    found = map.roles.insert(found, role.str());
  }
  return found - map.roles.begin();
}

void MapBuilder::add(EventId id, const MemoryAccess &access) {
  const ProtocolEvent &event = graph.events[id];
  const ProtocolAlloc *owner = nullptr;
  for (const ProtocolAlloc &alloc : graph.model->allocs) {
    owner = access.region >= alloc.firstRegion ? &alloc : owner;
  }
  unsigned index = access.region - owner->firstRegion;
  auto allocation = llvm::find_if(
      map.allocations, [&](const auto &known) { return StringRef(known.name) == owner->name; });
  // The leader's memory shows how the peer's is used.
  if (access.footprint == ~0U || index >= owner->family || allocation == map.allocations.end()) {
    return;
  }
  bool engine = event.kind == EventKind::Issue && id + 1 < graph.events.size() &&
                levels[id + 1] != kNeverHappens;
  MemoryMap::Use use;
  use.allocation = allocation - map.allocations.begin();
  use.element = index;
  use.start = levels[id];
  use.end = (engine ? levels[id + 1] : levels[id]) + 1;
  use.role = roleOf(event);
  use.reads = access.reads;
  use.writes = access.writes;
  use.text = map.roles[use.role] + " " + describeEvent(graph, id) + ", " + describePlace(graph, id);
  // Cells next to each other are one range.
  for (unsigned cell : graph.model->getFootprint(access.footprint).cells) {
    int64_t low = owner->bounds[cell], high = owner->bounds[cell + 1];
    if (use.high == low && use.high != use.low) {
      use.high = high;
      continue;
    }
    if (use.high != use.low) {
      map.uses.push_back(use);
    }
    use.low = low;
    use.high = high;
  }
  map.uses.push_back(use);
}

void MapBuilder::build() {
  for (EventId id = 0; id < graph.events.size(); ++id) {
    const ProtocolEvent &event = graph.events[id];
    bool touches = event.kind == EventKind::Access || event.kind == EventKind::Issue;
    if (touches && levels[id] != kNeverHappens && graph.model->actors[event.actor].warp == 0) {
      for (const MemoryAccess &access : graph.accessesOf(event)) {
        add(id, access);
      }
    }
  }
  // Steps in which memory is not touched say nothing here.
  std::vector<unsigned> used;
  for (const MemoryMap::Use &use : map.uses) {
    used.push_back(use.start);
    used.push_back(use.end - 1);
  }
  llvm::sort(used);
  used.erase(std::unique(used.begin(), used.end()), used.end());
  for (MemoryMap::Use &use : map.uses) {
    use.start = llvm::lower_bound(used, use.start) - used.begin();
    use.end = llvm::lower_bound(used, use.end - 1) - used.begin() + 1;
  }
  map.steps = used.size();
  llvm::sort(map.uses, [](const MemoryMap::Use &a, const MemoryMap::Use &b) {
    return std::tie(a.start, a.end, a.allocation, a.element, a.low, a.role, a.writes) <
           std::tie(b.start, b.end, b.allocation, b.element, b.low, b.role, b.writes);
  });
}

FailureOr<MemoryMap> MemoryMap::of(KernelOp kernel, int64_t trips) {
  MemoryMap map;
  map.kernel = kernel.getSymName().str();
  for (driver::KernelReport &report : driver::reportKernels(kernel->getParentOfType<ModuleOp>())) {
    if (report.name == map.kernel) {
      map.allocations = std::move(report.allocations);
    }
  }
  std::unique_ptr<ProtocolModel> model = ProtocolModel::create(kernel);
  if (!model) {
    return failure();
  }
  FailureOr<ProtocolRun> run = chooseRun(*model, trips);
  if (failed(run)) {
    return failure();
  }
  FailureOr<ProtocolGraph> graph = ProtocolGraph::build(*model, *run, /*ordered=*/false);
  if (failed(graph)) {
    return failure();
  }
  map.run = describeRun(*graph);
  MapBuilder(*graph, map).build();
  return map;
}

void MemoryMap::printText(llvm::raw_ostream &os) const {
  os << "kernel @" << kernel << ", in a run " << run << ", " << steps << " steps\n";
  for (bool tensorMemory : {true, false}) {
    for (auto [index, allocation] : llvm::enumerate(allocations)) {
      if (allocation.isTensorMemory != tensorMemory) {
        continue;
      }
      int64_t size = (allocation.end - allocation.start) / allocation.elements;
      for (int64_t element = 0; element < allocation.elements; ++element) {
        int64_t start = allocation.start + element * size;
        os << llvm::formatv("{0} {1} to {2}: @{3}{4}\n", tensorMemory ? "columns" : "bytes", start,
                            start + size, allocation.name,
                            allocation.elements > 1 ? llvm::formatv("[{0}]", element).str() : "");
        for (const Use &use : uses) {
          if (use.allocation == index && use.element == element) {
            os << llvm::formatv("  {0,4} to {1,4}  +{2} to +{3}  {4}\n", use.start, use.end,
                                use.low, use.high, use.text);
          }
        }
      }
    }
  }
}
