//===- PlaceMemory.cpp - tile-place-tmem, tile-place-smem -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every allocation lives as long as the kernel, so a place is a prefix sum: largest
// alignment first, which leaves no gaps, then the order of the text. The result is
// checked by the same independent code that judges hand-written placements.
//
//===----------------------------------------------------------------------===//

#include "PlacedKernel.h"

#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa4::tile;

namespace fa4::tile {
#define GEN_PASS_DEF_TILEPLACETMEM
#define GEN_PASS_DEF_TILEPLACESMEM
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

namespace {
/// An allocation on its way to its place.
struct Placed {
  AllocOp alloc;
  int64_t alignment = 1;
  int64_t stride = 0;
  int64_t start = 0;
};
} // namespace

static SmallVector<Placed> findRegions(KernelOp kernel, Space space) {
  SmallVector<Placed> regions;
  for (auto alloc : kernel.getBody().getOps<AllocOp>()) {
    if (alloc.getSpace() != space) {
      continue;
    }
    Placed region{alloc};
    for (auto view : kernel.getBody().getOps<ViewOp>()) {
      if (space == Space::Smem && view.getAlloc() == alloc.getSymName()) {
        region.alignment = std::max(region.alignment, getSmemAlignment(view));
      }
    }
    region.stride = static_cast<int64_t>(llvm::alignTo(alloc.getSize(), region.alignment));
    regions.push_back(region);
  }
  return regions;
}

/// The end of the last region.
static int64_t solve(MutableArrayRef<Placed> regions) {
  SmallVector<unsigned> order = llvm::to_vector(llvm::seq<unsigned>(regions.size()));
  llvm::sort(order, [&](unsigned left, unsigned right) {
    return std::tuple(-regions[left].alignment, left) <
           std::tuple(-regions[right].alignment, right);
  });
  int64_t end = 0;
  for (unsigned index : order) {
    Placed &region = regions[index];
    region.start = static_cast<int64_t>(llvm::alignTo(end, region.alignment));
    end = region.start + region.stride * static_cast<int64_t>(region.alloc.getFamily());
  }
  return end;
}

/// Says which ring could be shallower, if that is enough.
static void noteWayOut(InFlightDiagnostic &diag, KernelOp kernel, MutableArrayRef<Placed> regions,
                       int64_t excess) {
  for (auto channel : kernel.getBody().getOps<ChannelOp>()) {
    auto depth = static_cast<int64_t>(channel.getDepth());
    if (depth == 1 || !channel.getCarries()) {
      continue;
    }
    auto name = *channel.getCarries()->getAsRange<FlatSymbolRefAttr>().begin();
    auto view = cast<ViewOp>(SymbolTable::lookupSymbolIn(kernel, name));
    for (Placed &region : regions) {
      int64_t perSlot = region.stride * static_cast<int64_t>(channel.getFamily());
      int64_t fewer = llvm::divideCeil(excess, perSlot);
      if (view.getAlloc() == region.alloc.getSymName() && fewer < depth) {
        diag.attachNote(channel.getLoc())
            << "a depth of " << depth - fewer << " instead of " << depth << " would leave room";
        return;
      }
    }
  }
  diag.attachNote(kernel.getLoc()) << "smaller tiles, or fewer stages of the schedule, would";
}

static LogicalResult place(KernelOp kernel, Space space) {
  const fa4::TargetInfo &target = kernel.getTarget().getInfo();
  SmallVector<Placed> regions = findRegions(kernel, space);
  if (regions.empty()) {
    return success();
  }
  bool isSmem = space == Space::Smem;
  if (!isSmem && !target.hasTensorMemory()) {
    return regions.front().alloc.emitOpError()
           << "expected no tensor memory on a target that has none; give the value a home in "
              "registers";
  }
  int64_t limit = isSmem ? target.smemBytesPerCta : target.tmemColumns;
  int64_t end = solve(regions);
  if (end > limit) {
    InFlightDiagnostic diag = kernel.emitOpError()
                              << "expected allocations to take at most the target's " << limit
                              << (isSmem ? " bytes of shared memory" : " columns of tensor memory")
                              << ", but got " << end;
    for (Placed &region : regions) {
      diag.attachNote(region.alloc.getLoc())
          << "'@" << region.alloc.getSymName() << "' takes "
          << region.stride * static_cast<int64_t>(region.alloc.getFamily());
    }
    noteWayOut(diag, kernel, regions, end - limit);
    return diag;
  }
  for (Placed &region : regions) {
    OpBuilder builder(region.alloc);
    PlacedAllocOp::create(builder, region.alloc.getLoc(), region.alloc.getSymName(),
                          region.alloc.getFamily(), space, region.start, region.stride);
    region.alloc.erase();
  }
  PlacedKernel placed(kernel);
  return verifyPlacedMemory(placed);
}

namespace {
struct PlaceTmem : public fa4::tile::impl::TilePlaceTmemBase<PlaceTmem> {
  void runOnOperation() override {
    if (failed(place(getOperation(), Space::Tmem))) {
      signalPassFailure();
    }
  }
};

struct PlaceSmem : public fa4::tile::impl::TilePlaceSmemBase<PlaceSmem> {
  void runOnOperation() override {
    if (failed(place(getOperation(), Space::Smem))) {
      signalPassFailure();
    }
  }
};
} // namespace
