//===- HomeClasses.cpp - values of one home, and their views --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two kept values share a home if one is handed on as the other, if one is the
// other's sum, or if they are one result of copies of a step. That two classes lie
// over each other is said by the schedule, never found.
//
//===----------------------------------------------------------------------===//

#include "HomePlan.h"

#include "fa4/Dialect/FA4/IR/FA4Attributes.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

#include <map>
#include <tuple>

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

/// PTX ISA, tensor memory: a cell is 32 bits.
static constexpr int64_t kCellBits = 32;
/// The unit of `tile.alloc` in tensor memory (its C2).
static constexpr int64_t kColumnStep = 16;

namespace {

class HomeMaker {
public:
  HomeMaker(KernelOp kernel, ArrayRef<KeptValue> kept, OpBuilder &builder)
      : kernel(kernel), kept(kept), builder(builder) {}

  LogicalResult run();

  std::vector<HomeClass> classes;

private:
  void formClasses();
  void nameResult(HomeClass &home);
  LogicalResult chooseHome(HomeClass &home);
  LogicalResult useListedHome(HomeClass &home, const Home &listed);
  void useDefaultHome(HomeClass &home);
  LogicalResult chooseLayout(HomeClass &home);
  LogicalResult checkSpace(HomeClass &home);
  void placeStatistics();
  LogicalResult makeMemory();
  LogicalResult makePart(HomeClass &home, const OperandChain &chain);
  LogicalResult makeParts(HomeClass &home);
  std::string nameView(StringRef name);
  Location locationOf(const HomeClass &home) { return kept[home.members[0]].getStep().getLoc(); }
  InFlightDiagnostic emitAt(const HomeClass &home) { return emitError(locationOf(home)); }
  bool isProductResult(const HomeClass &home);
  /// The uses, in products, of all members.
  SmallVector<OperandChain> productUses(const HomeClass &home);

  KernelOp kernel;
  ArrayRef<KeptValue> kept;
  OpBuilder &builder;
  llvm::StringSet<> symbols;
};

} // namespace

//===----------------------------------------------------------------------===//
// Classes
//===----------------------------------------------------------------------===//

void HomeMaker::formClasses() {
  llvm::EquivalenceClasses<const void *> sets;
  auto unite = [&](Value a, Value b) {
    sets.unionSets(a.getAsOpaquePointer(), b.getAsOpaquePointer());
  };
  llvm::StringMap<InlinedStepOp> firstCopy;
  for (const KeptValue &entry : kept) {
    sets.insert(entry.value.getAsOpaquePointer());
    for (Value copy : getCopies(entry.value)) {
      unite(entry.value, copy);
    }
    // What a loop leaves is what its steps made.
    for (Value origin : getOrigins(entry.value)) {
      if (origin.getDefiningOp() && getStepOf(origin.getDefiningOp())) {
        for (Value copy : getCopies(origin)) {
          unite(entry.value, copy);
        }
      }
    }
    if (auto mma = entry.value.getDefiningOp<MmaOp>(); mma && mma.getOnto()) {
      unite(entry.value, mma.getOnto());
    }
    InlinedStepOp step = entry.step;
    auto [first, isNew] = firstCopy.try_emplace(step.getStep(), step);
    if (!isNew) {
      // One home per result of a step, whichever copy and stage makes it.
      for (auto [a, b] : llvm::zip_equal(first->second.getOutputs(), step.getOutputs())) {
        unite(a, b);
      }
    }
  }
  llvm::MapVector<const void *, HomeClass> byLeader;
  for (unsigned index = 0; index < kept.size(); ++index) {
    const void *leader = sets.getLeaderValue(kept[index].value.getAsOpaquePointer());
    byLeader[leader].members.push_back(index);
  }
  for (auto &[leader, home] : byLeader) {
    classes.push_back(std::move(home));
  }
}

/// The first listed result among those that the class's values are; else the first.
void HomeMaker::nameResult(HomeClass &home) {
  const Schedule &plan = kernel.getSchedule().getPlan();
  bool isFound = false;
  for (unsigned index : home.members) {
    const KeptValue &entry = kept[index];
    InlinedStepOp step = entry.step;
    for (auto [number, output] : llvm::enumerate(step.getOutputs())) {
      if (!getCopies(output).contains(entry.value) && !getCopies(entry.value).contains(output)) {
        continue;
      }
      auto result = static_cast<int64_t>(number);
      bool isListed = plan.findHome(step.getStep(), result) ||
                      (step.getNumResults() == 1 && plan.findHome(step.getStep(), std::nullopt));
      if (!isFound || isListed) {
        home.step = step.getStep().str();
        home.result = result;
        isFound = true;
      }
      if (isListed) {
        return;
      }
    }
  }
  if (!isFound) {
    home.step = kept[home.members[0]].getStep().getStep().str();
  }
}

bool HomeMaker::isProductResult(const HomeClass &home) {
  return llvm::any_of(home.members, [&](unsigned index) {
    return isa_and_present<MmaOp>(kept[index].value.getDefiningOp());
  });
}

SmallVector<OperandChain> HomeMaker::productUses(const HomeClass &home) {
  SmallVector<OperandChain> uses;
  for (unsigned index : home.members) {
    for (Value copy : getCopies(kept[index].value)) {
      for (OperandChain &chain : getUseChains(copy)) {
        if (chain.isProduct() && !chain.isAccumulator()) {
          uses.push_back(std::move(chain));
        }
      }
    }
  }
  return uses;
}

//===----------------------------------------------------------------------===//
// Homes
//===----------------------------------------------------------------------===//

LogicalResult HomeMaker::useListedHome(HomeClass &home, const Home &listed) {
  if (listed.space == HomeSpace::Registers) {
    return emitAt(home) << "expected the home of '" << home.step << "." << home.result
                        << "' to be in memory, as a product or another role takes it, but got "
                           "registers";
  }
  home.space = listed.space == HomeSpace::Tmem ? Space::Tmem : Space::Smem;
  home.allocation = listed.allocation;
  home.slots = listed.slots;
  home.position = static_cast<int64_t>(&listed - kernel.getSchedule().getPlan().homes.data());
  home.column = listed.column.value_or(0);
  home.isNamed = !listed.name.empty();
  if (home.isNamed) {
    home.name = listed.name;
  }
  return success();
}

/// Matrix results, and the first operand of a product where threads make it, lie in
/// tensor memory; all else in shared memory. Row statistics of a step share what
/// the schedule gives one of them.
void HomeMaker::useDefaultHome(HomeClass &home) {
  bool isLeft = llvm::any_of(productUses(home), [](const OperandChain &chain) {
    return chain.use->getOperandNumber() == 0;
  });
  bool isByEngine = kept[home.members[0]].isByEngine;
  home.space = isProductResult(home) || (isLeft && !isByEngine) ? Space::Tmem : Space::Smem;
  home.allocation = home.name + "_mem";
  if (!home.tile.isRow()) {
    return;
  }
  home.allocation = home.step + "_rows";
  for (const Home &listed : kernel.getSchedule().getPlan().homes) {
    bool isRow = llvm::any_of(kept, [&](const KeptValue &entry) {
      InlinedStepOp step = entry.step;
      auto number = static_cast<unsigned>(listed.result.value_or(0));
      return step.getStep() == listed.step && number < step.getNumResults() &&
             cast<FragType>(step.getOutputs()[number].getType()).isRow();
    });
    if (listed.step == home.step && listed.space == HomeSpace::Smem && isRow) {
      home.allocation = listed.allocation;
      home.slots = listed.slots;
      home.name = listed.name.empty() ? home.name : listed.name;
      home.position = static_cast<int64_t>(&listed - kernel.getSchedule().getPlan().homes.data());
      return;
    }
  }
}

LogicalResult HomeMaker::checkSpace(HomeClass &home) {
  auto expect = [&](Space space, StringRef what) -> LogicalResult {
    if (home.space == space) {
      return success();
    }
    return emitAt(home) << "expected the home of '" << home.name << "', " << what << ", to be in "
                        << stringifySpace(space) << ", but got " << stringifySpace(home.space);
  };
  if (isProductResult(home) && failed(expect(Space::Tmem, "a matrix result"))) {
    return failure();
  }
  for (const OperandChain &chain : productUses(home)) {
    if (chain.use->getOperandNumber() == 1 &&
        failed(expect(Space::Smem, "the second operand of a product"))) {
      return failure();
    }
  }
  if (home.tile.isRow() && failed(expect(Space::Smem, "a number per row"))) {
    return failure();
  }
  for (unsigned index : home.members) {
    Value value = kept[index].value;
    bool isStored = llvm::any_of(getCopies(value), [](Value copy) {
      return llvm::any_of(getDirectUses(copy),
                          [](OpOperand *use) { return isa<StoreOp>(use->getOwner()); });
    });
    if ((isStored || isa_and_present<LoadOp>(value.getDefiningOp())) &&
        failed(expect(Space::Smem, "copied from or to global memory"))) {
      return failure();
    }
  }
  return success();
}

LogicalResult HomeMaker::chooseHome(HomeClass &home) {
  const Schedule &plan = kernel.getSchedule().getPlan();
  home.tile = cast<FragType>(kept[home.members[0]].value.getType());
  nameResult(home);
  InlinedStepOp step = kept[home.members[0]].getStep();
  bool isOnly = step.getNumResults() == 1;
  home.name = isOnly ? home.step : home.step + "_" + std::to_string(home.result);
  const Home *listed = plan.findHome(home.step, home.result);
  if (!listed && isOnly) {
    listed = plan.findHome(home.step, std::nullopt);
  }
  if (!listed) {
    useDefaultHome(home);
  } else if (failed(useListedHome(home, *listed))) {
    return failure();
  }
  for (unsigned index : home.members) {
    InlinedStepOp member = kept[index].step;
    home.family = std::max<int64_t>(home.family, member.getIndex().value_or(0) + 1);
  }
  return failure(failed(checkSpace(home)) || failed(chooseLayout(home)));
}

//===----------------------------------------------------------------------===//
// Layouts and places
//===----------------------------------------------------------------------===//

static bool isTurned(const OperandChain &chain) {
  return llvm::count_if(chain.layout, [](Operation *op) { return isa<TransposeOp>(op); }) % 2 != 0;
}

LogicalResult HomeMaker::chooseLayout(HomeClass &home) {
  MLIRContext *context = kernel.getContext();
  if (home.space == Space::Tmem) {
    home.layout = TmemLayoutAttr::get(context, TmemForm::Lanes);
    return success();
  }
  if (home.tile.isRow()) {
    home.layout = SmemLayoutAttr::get(context, Major::Linear, 0);
    return success();
  }
  // Rows of memory run along k for a first operand as it is, and for a second one
  // that is transposed.
  std::optional<Major> major;
  for (const OperandChain &chain : productUses(home)) {
    bool isSecond = chain.use->getOperandNumber() == 1;
    Major wanted = isSecond != isTurned(chain) ? Major::MnMajor : Major::KMajor;
    if (major && *major != wanted) {
      InFlightDiagnostic error = emitAt(home)
                                 << "expected all products to take '" << home.name
                                 << "' with the same dimension innermost, but got both";
      error.attachNote(chain.use->getOwner()->getLoc()) << "this one takes it the other way";
      return error;
    }
    major = wanted;
  }
  int64_t rowBytes =
      home.tile.getColumns() * home.tile.getElementType().getIntOrFloatBitWidth() / 8;
  for (int64_t swizzle : {128, 64, 32}) {
    if (rowBytes % swizzle == 0) {
      home.layout = SmemLayoutAttr::get(context, major.value_or(Major::KMajor), swizzle);
      return success();
    }
  }
  return emitAt(home) << "expected the rows of '" << home.name
                      << "' to be a multiple of 32 bytes, but got " << rowBytes;
}

/// The steps of other roles that take `entry`.
static SetVector<StringRef> getTakers(const KeptValue &entry) {
  SetVector<StringRef> takers;
  for (Value copy : getCopies(entry.value)) {
    for (OpOperand *use : getDirectUses(copy)) {
      InlinedStepOp taker = getStepOf(use->getOwner());
      InlinedStepOp maker = entry.step;
      if (taker && getRoleOf(taker) != getRoleOf(maker)) {
        takers.insert(taker.getStep());
      }
    }
  }
  return takers;
}

/// Results of one step that one step takes are one message and lie side by side;
/// what different steps take are messages one after the other in the same slot.
void HomeMaker::placeStatistics() {
  std::map<std::tuple<std::string, std::string, std::string>, int64_t> ends;
  SmallVector<HomeClass *> rows;
  for (HomeClass &home : classes) {
    if (home.space == Space::Smem && home.tile.isRow()) {
      rows.push_back(&home);
    }
  }
  llvm::sort(rows, [](const HomeClass *a, const HomeClass *b) {
    return std::tie(a->step, a->result) < std::tie(b->step, b->result);
  });
  for (HomeClass *home : rows) {
    SetVector<StringRef> takers = getTakers(kept[home->members[0]]);
    std::string taker = takers.empty() ? "" : takers.front().str();
    int64_t &end = ends[{home->allocation, home->step, taker}];
    home->offset = end;
    end += home->tile.getRows() * home->tile.getElementType().getIntOrFloatBitWidth() / 8;
  }
}

//===----------------------------------------------------------------------===//
// Allocations and views
//===----------------------------------------------------------------------===//

/// `pa` becomes `Pa`; a name that is taken gets a number.
std::string HomeMaker::nameView(StringRef name) {
  std::string view = name.str();
  view[0] = llvm::toUpper(view[0]);
  std::string tried = view;
  for (int number = 1; !symbols.insert(tried).second; ++number) {
    tried = view + "_" + std::to_string(number);
  }
  return tried;
}

LogicalResult HomeMaker::makeMemory() {
  // Views first, where they are shared: a class's place is known.
  struct Region {
    Space space;
    int64_t slots = 1, family = 1, size = 0;
    const HomeClass *first;
  };
  llvm::MapVector<StringRef, Region> regions;
  for (HomeClass &home : classes) {
    auto [entry, isNew] =
        regions.insert({home.allocation, Region{home.space, 1, home.family, 0, &home}});
    Region &region = entry->second;
    if (region.space != home.space) {
      return emitAt(home) << "expected homes in @" << home.allocation
                          << " to be in one memory, but got smem and tmem";
    }
    if (!isNew && region.family != home.family) {
      return emitAt(home) << "expected homes in @" << home.allocation
                          << " to be of steps with as many indices, but got " << region.family
                          << " and " << home.family;
    }
    region.slots = std::max(region.slots, home.slots);
    int64_t bits = home.tile.getElementType().getIntOrFloatBitWidth() * home.tile.getColumns();
    int64_t end = home.space == Space::Tmem
                      ? static_cast<int64_t>(llvm::alignTo(
                            home.column + llvm::divideCeil(bits, kCellBits), kColumnStep))
                      : home.offset + bits * home.tile.getRows() / 8;
    region.size = std::max(region.size, end);
  }
  for (auto &[name, region] : regions) {
    AllocOp::create(builder, locationOf(*region.first), name, region.family * region.slots,
                    region.space, region.size);
  }
  llvm::StringMap<ViewOp> placed;
  for (HomeClass &home : classes) {
    int64_t offset = home.space == Space::Tmem ? home.column : home.offset;
    std::string place;
    llvm::raw_string_ostream(place) << home.allocation << offset << home.tile << home.layout;
    // Statistics at one place are one view: which number lies in it, a message says.
    ViewOp &view = placed[place];
    if (!view || !home.tile.isRow()) {
      view = ViewOp::create(builder, locationOf(home), nameView(home.name), home.allocation, offset,
                            /*rank_stride=*/0, home.tile, home.layout);
    }
    home.view = view;
    if (failed(makeParts(home))) {
      return failure();
    }
  }
  return success();
}

LogicalResult HomeMaker::makePart(HomeClass &home, const OperandChain &chain) {
  ViewPlace whole{home.space == Space::Tmem ? home.column : home.offset, home.tile, home.layout};
  FailureOr<ViewPlace> place = getPlaceOfPart(whole, chain, home.name);
  if (failed(place)) {
    return failure();
  }
  if (*place == whole || llvm::is_contained(home.parts, *place)) {
    return success();
  }
  std::string suffix = home.parts.size() < 26
                           ? std::string(1, static_cast<char>('a' + home.parts.size()))
                           : "_" + std::to_string(home.parts.size());
  ViewOp::create(builder, chain.use->getOwner()->getLoc(), nameView(home.name + suffix),
                 home.allocation, place->offset, /*rank_stride=*/0, place->tile, place->layout);
  home.parts.push_back(*place);
  return success();
}

LogicalResult HomeMaker::makeParts(HomeClass &home) {
  for (const OperandChain &chain : productUses(home)) {
    if (failed(makePart(home, chain))) {
      return failure();
    }
  }
  return success();
}

LogicalResult HomeMaker::run() {
  for (Operation &op : kernel.getBody().getOps()) {
    if (auto symbol = dyn_cast<SymbolOpInterface>(op)) {
      symbols.insert(symbol.getName());
    }
  }
  formClasses();
  for (HomeClass &home : classes) {
    if (failed(chooseHome(home))) {
      return failure();
    }
  }
  // In the order of the schedule's list, so that views and channels come as planned.
  auto numHomes = static_cast<int64_t>(kernel.getSchedule().getPlan().homes.size());
  auto rank = [&](const HomeClass &home) {
    return std::tuple(home.position.value_or(numHomes), home.result, home.members[0]);
  };
  llvm::sort(classes, [&](const HomeClass &a, const HomeClass &b) { return rank(a) < rank(b); });
  placeStatistics();
  return makeMemory();
}

FailureOr<std::vector<HomeClass>> fa4::tile::makeHomes(KernelOp kernel, ArrayRef<KeptValue> kept,
                                                       OpBuilder &builder) {
  HomeMaker maker(kernel, kept, builder);
  if (failed(maker.run())) {
    return failure();
  }
  return std::move(maker.classes);
}
