//===- ProtocolModel.cpp - actors and memory of a kernel's protocol -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cells are the finest ranges that views of an allocation tell apart, so that an
// access either covers a cell or leaves it alone.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/ProtocolModel.h"

#include "ProtocolSteps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <functional>
#include <set>

using namespace mlir;
using namespace fa4::tile;

// Warps of a warpgroup own a quarter of the rows each, in every spread of TileAttrs.td.
static constexpr int64_t kWarpsPerGroup = 4;

//===----------------------------------------------------------------------===//
// Actors
//===----------------------------------------------------------------------===//

/// The warps of a role that act: two of the first warpgroup, one of each other.
static SmallVector<int64_t> actingWarps(RoleOp role, bool placed) {
  SmallVector<int64_t> warps{0};
  auto count = static_cast<int64_t>(role.getWarps());
  if (!placed || role.getOneLane()) {
    return warps;
  }
  if (count > 1) {
    warps.push_back(1);
  }
  for (int64_t warp = kWarpsPerGroup; warp < count; warp += kWarpsPerGroup) {
    warps.push_back(warp);
  }
  return warps;
}

bool ProtocolModel::addActors() {
  for (auto role : kernel.getBody().getOps<RoleOp>()) {
    ctas = role.getCtas() == Ctas::Single ? ctas : 2;
  }
  for (auto role : kernel.getBody().getOps<RoleOp>()) {
    int64_t ranks = role.getCtas() == Ctas::Both ? 2 : 1;
    for (int64_t cta = 0; cta < ranks; ++cta) {
      for (int64_t replica = 0; replica < static_cast<int64_t>(role.getReplicas()); ++replica) {
        for (int64_t warp : actingWarps(role, placed)) {
          actors.push_back({role, replica, cta, warp});
        }
      }
    }
  }
  // Tensor memory of the other CTA is freed by the warp of a role that does not run there.
  kernel.walk([&](TmemFreeOp free) {
    auto role = lookup<RoleOp>(free.getRoleAttr());
    if (role && ctas == 2 && role.getCtas() != Ctas::Both) {
      actors.push_back({role, 0, 1, 0, /*onlyFrees=*/true});
    }
  });
  return !actors.empty();
}

std::string ProtocolModel::describe(const ProtocolActor &actor) const {
  RoleOp role = actor.role;
  std::string text = ("role @" + role.getSymName()).str();
  if (role.getReplicas() > 1) {
    text += "[" + llvm::utostr(actor.replica) + "]";
  }
  if (ctas > 1) {
    text += " of CTA " + llvm::utostr(actor.cta);
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Ranges of one region that the columns of `warpgroup` cover, under a spread that
/// gives warpgroups alternate chunks; the whole range otherwise.
static SmallVector<MemoryRange> rangesOf(const ViewRegion &region, int64_t cta, int64_t warpgroup,
                                         FragType spread) {
  MemoryRange whole = region.rangeOf(cta);
  auto layout = spread ? dyn_cast_or_null<SpreadAttr>(spread.getLayout()) : SpreadAttr();
  auto tmem = dyn_cast<TmemLayoutAttr>(ViewOp(region.view).getLayout());
  if (warpgroup < 0 || !layout || layout.getValue() != Spread::Rows2 || !tmem ||
      tmem.getForm() != TmemForm::Lanes) {
    return {whole};
  }
  int64_t chunks = spread.getColumns() / Exp2ShareAttr::kChunkColumns;
  if (chunks < 2) {
    return {whole};
  }
  int64_t width = (whole.end - whole.begin) / chunks;
  SmallVector<MemoryRange> ranges;
  for (int64_t chunk = warpgroup % 2; chunk < chunks; chunk += 2) {
    ranges.push_back({whole.begin + chunk * width, whole.begin + (chunk + 1) * width});
  }
  return ranges;
}

void ProtocolModel::addMemory() {
  views = std::make_unique<ViewOverlap>(kernel);
  for (Operation &op : kernel.getBody().front()) {
    if (auto alloc = dyn_cast<PlacedAllocOp>(op)) {
      allocs.push_back({alloc,
                        alloc.getSymName(),
                        alloc.getSpace(),
                        static_cast<int64_t>(alloc.getFamily()),
                        numRegions,
                        {}});
    } else if (auto plain = dyn_cast<AllocOp>(op)) {
      allocs.push_back({plain,
                        plain.getSymName(),
                        plain.getSpace(),
                        static_cast<int64_t>(plain.getFamily()),
                        numRegions,
                        {}});
    } else {
      continue;
    }
    numRegions += allocs.back().family * ctas;
  }
  for (ProtocolAlloc &alloc : allocs) {
    std::set<int64_t> bounds;
    for (auto view : kernel.getBody().getOps<ViewOp>()) {
      const ViewRegion *region = views->lookup(view.getSymName());
      if (region->alloc != alloc.name) {
        continue;
      }
      for (const MemoryRange &range : region->ranges) {
        bounds.insert({range.begin, range.end});
      }
    }
    // Chunks of spreads over warpgroups, wherever an access has one.
    kernel.walk([&](Operation *op) {
      FlatSymbolRefAttr name;
      FragType spread;
      if (auto read = dyn_cast<ReadOp>(op)) {
        name = read.getViewAttr();
        spread = read.getFragType();
      } else if (auto write = dyn_cast<WriteOp>(op)) {
        name = write.getViewAttr();
        spread = cast<FragType>(write.getValue().getType());
      }
      const ViewRegion *region = name ? views->lookup(name.getValue()) : nullptr;
      if (!region || region->alloc != alloc.name) {
        return;
      }
      for (int64_t cta = 0; cta < ctas; ++cta) {
        for (int64_t group = 0; group < 2; ++group) {
          for (const MemoryRange &range : rangesOf(*region, cta, group, spread)) {
            bounds.insert({range.begin, range.end});
          }
        }
      }
    });
    alloc.bounds.assign(bounds.begin(), bounds.end());
    if (alloc.bounds.empty()) {
      alloc.bounds.assign({0, 1});
    }
  }
}

unsigned ProtocolModel::footprint(StringRef name, int64_t cta, int64_t warpgroup, FragType spread) {
  const ViewRegion *region = views->lookup(name);
  auto view = ViewOp(region->view);
  auto layout = spread ? dyn_cast_or_null<SpreadAttr>(spread.getLayout()) : SpreadAttr();
  bool perGroup = warpgroup >= 0 && layout && layout.getValue() == Spread::Rows2;
  // Key: view and type, rank and warpgroup.
  const void *type = perGroup ? spread.getAsOpaquePointer() : nullptr;
  int64_t variant = cta * 64 + (perGroup ? warpgroup + 1 : 0);
  auto key = std::make_pair(static_cast<const void *>(view.getOperation()),
                            variant * 4096 +
                                static_cast<int64_t>(reinterpret_cast<uintptr_t>(type) % 4093));
  auto [entry, added] = footprintIndex.insert({key, footprints.size()});
  if (!added) {
    return entry->second;
  }
  auto found = llvm::find_if(
      allocs, [&](const ProtocolAlloc &alloc) { return alloc.name == region->alloc; });
  ProtocolFootprint result{view, static_cast<unsigned>(found - allocs.begin()), {}};
  for (const MemoryRange &range : rangesOf(*region, cta, warpgroup, spread)) {
    for (unsigned cell = 0; cell < found->getNumCells(); ++cell) {
      if (found->bounds[cell] >= range.begin && found->bounds[cell + 1] <= range.end) {
        result.cells.push_back(cell);
      }
    }
  }
  footprints.push_back(std::move(result));
  return entry->second;
}

int64_t ProtocolModel::largestRing() {
  int64_t slots = 1;
  for (const ProtocolAlloc &alloc : allocs) {
    slots = std::max(slots, alloc.family);
  }
  for (auto barrier : kernel.getBody().getOps<BarrierOp>()) {
    slots = std::max(slots, static_cast<int64_t>(barrier.getDepth()));
  }
  for (auto channel : kernel.getBody().getOps<ChannelOp>()) {
    slots = std::max(slots, static_cast<int64_t>(channel.getDepth()));
  }
  return slots;
}

bool ProtocolModel::hasManyTiles() {
  return kernel.getSchedule().getPlan().work != WorkKind::OnePerCluster;
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

LogicalResult ProtocolModel::addSteps() {
  for (auto role : kernel.getBody().getOps<RoleOp>()) {
    ProtocolSteps collected(role);
    if (failed(collected.collect())) {
      return failure();
    }
    for (unsigned number : collected.control) {
      control.insert(number);
    }
    for (auto &[block, ops] : collected.steps) {
      steps[block] = std::move(ops);
    }
  }
  return success();
}

std::unique_ptr<ProtocolModel> ProtocolModel::create(KernelOp kernel) {
  auto model = std::make_unique<ProtocolModel>();
  model->kernel = kernel;
  for (Operation &op : kernel.getBody().front()) {
    if (auto symbol = dyn_cast<SymbolOpInterface>(op)) {
      model->symbols[symbol.getNameAttr()] = &op;
    }
    model->placed |= isa<PlacedAllocOp, BarrierOp, NamedBarrierOp>(op);
  }
  WalkResult named = kernel.walk([&](Operation *op) {
    auto channel = isa<AcquireOp, WaitOp, SettleOp>(op)
                       ? op->getAttrOfType<FlatSymbolRefAttr>("channel")
                       : FlatSymbolRefAttr();
    if (channel && !model->lookup<ChannelOp>(channel)) {
      op->emitOpError() << "expected " << channel << " to be a channel of the kernel, but got none";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  if (named.wasInterrupted()) {
    return nullptr;
  }
  if (!model->addActors()) {
    kernel.emitOpError() << "expected a kernel with a protocol to have roles, but got none";
    return nullptr;
  }
  model->addMemory();
  if (failed(model->addSteps())) {
    return nullptr;
  }
  if (model->placed) {
    model->pairArrivals = PairArrivals(kernel);
  }
  return model;
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

namespace {

/// The work's results as functions of each other, as far as their code says.
class WorkNumbers {
public:
  WorkNumbers(WorkOp work, const llvm::SetVector<unsigned> &asked)
      : work(work), yielded(work.getYield()->getOperands()) {
    for (unsigned number : asked) {
      (follows(yielded[number], number, asked, /*top=*/true) ? derived : free).push_back(number);
    }
    llvm::sort(free);
  }

  /// What the work's code yields for a derived result, given the free ones.
  std::optional<int64_t> evaluate(unsigned number, ArrayRef<int64_t> raw) {
    return evaluate(yielded[number], number, raw, /*top=*/true);
  }
  void clamp(MutableArrayRef<int64_t> numbers);
  /// The least value that the code yields for `number`, if it says one.
  std::optional<int64_t> leastYielded(unsigned number) { return least(yielded[number]); }

  SmallVector<unsigned> free;
  SmallVector<unsigned> derived;

private:
  bool follows(Value value, unsigned self, const llvm::SetVector<unsigned> &asked, bool top);
  std::optional<int64_t> evaluate(Value value, unsigned self, ArrayRef<int64_t> raw, bool top);
  std::optional<int64_t> least(Value value);

  WorkOp work;
  OperandRange yielded;
};

} // namespace

bool WorkNumbers::follows(Value value, unsigned self, const llvm::SetVector<unsigned> &asked,
                          bool top) {
  for (unsigned number : asked) {
    if (yielded[number] == value && (top ? number < self : number != self)) {
      return true;
    }
  }
  Operation *op = value.getDefiningOp();
  return op && isInteger(op) && llvm::all_of(op->getOperands(), [&](Value operand) {
           return follows(operand, self, asked, /*top=*/false);
         });
}

std::optional<int64_t> WorkNumbers::evaluate(Value value, unsigned self, ArrayRef<int64_t> raw,
                                             bool top) {
  for (unsigned number : free) {
    if (yielded[number] == value && (top ? number < self : number != self)) {
      return raw[number];
    }
  }
  Operation *op = value.getDefiningOp();
  if (!op) {
    return std::nullopt;
  }
  SmallVector<int64_t, 4> operands;
  for (Value operand : op->getOperands()) {
    std::optional<int64_t> number = evaluate(operand, self, raw, /*top=*/false);
    if (!number) {
      return std::nullopt;
    }
    operands.push_back(*number);
  }
  return evaluateInteger(op, operands);
}

std::optional<int64_t> WorkNumbers::least(Value value) {
  if (auto constant = value.getDefiningOp<arith::ConstantIntOp>()) {
    return constant.value();
  }
  // The numbers of a tile are computed in 64 bits where products could wrap.
  if (auto narrow = value.getDefiningOp<arith::TruncIOp>()) {
    return least(narrow.getIn());
  }
  if (auto max = value.getDefiningOp<arith::MaxSIOp>()) {
    std::optional<int64_t> left = least(max.getLhs()), right = least(max.getRhs());
    return left && right ? std::max(*left, *right) : left ? left : right;
  }
  if (auto min = value.getDefiningOp<arith::MinSIOp>()) {
    std::optional<int64_t> left = least(min.getLhs()), right = least(min.getRhs());
    return left && right ? std::optional(std::min(*left, *right)) : std::nullopt;
  }
  return std::nullopt;
}

void WorkNumbers::clamp(MutableArrayRef<int64_t> numbers) {
  for (auto fact : work.getFacts().getAsRange<FactAttr>()) {
    if (fact.isConstantLower()) {
      int64_t &upper = numbers[fact.getUpper()];
      upper = std::max(upper, fact.getConstant());
    } else {
      int64_t limit = fact.isConstantUpper() ? fact.getConstant() : numbers[fact.getUpper()];
      int64_t &lower = numbers[fact.getLower()];
      lower = std::min(lower, limit);
    }
  }
}

/// Results that a fact compares with one of `asked` matter for its clamping.
static llvm::SetVector<unsigned> linkedByFacts(WorkOp work, llvm::SetVector<unsigned> asked) {
  for (size_t before = 0; before != asked.size();) {
    before = asked.size();
    for (auto fact : work.getFacts().getAsRange<FactAttr>()) {
      if (fact.isConstantLower() || fact.isConstantUpper()) {
        continue;
      }
      unsigned lower = fact.getLower(), upper = fact.getUpper();
      if (asked.contains(lower) || asked.contains(upper)) {
        asked.insert(lower);
        asked.insert(upper);
      }
    }
  }
  return asked;
}

std::vector<TileNumbers> ProtocolModel::tiles(int64_t maxTrips) {
  WorkOp work = kernel.getWork();
  WorkNumbers numbers(work, linkedByFacts(work, control));
  // Before clamping: from one below the least number of trips, so that what the
  // code yields for others is seen where clamping raises this one.
  SmallVector<int64_t> low;
  for (unsigned number : numbers.free) {
    low.push_back(std::max<int64_t>(numbers.leastYielded(number).value_or(-1), -1));
  }
  std::set<TileNumbers> found;
  TileNumbers raw(work.getNumWorkResults(), 0);
  std::function<void(unsigned)> enumerate = [&](unsigned depth) {
    if (depth < numbers.free.size()) {
      for (int64_t value = low[depth]; value <= maxTrips; ++value) {
        raw[numbers.free[depth]] = value;
        enumerate(depth + 1);
      }
      return;
    }
    TileNumbers tile = raw;
    for (unsigned number : numbers.derived) {
      tile[number] = numbers.evaluate(number, raw).value_or(0);
    }
    numbers.clamp(tile);
    for (auto [number, value] : llvm::enumerate(tile)) {
      value = control.contains(number) ? value : 0;
    }
    found.insert(tile);
  };
  enumerate(0);
  return {found.begin(), found.end()};
}
