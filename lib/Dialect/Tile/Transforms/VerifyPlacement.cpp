//===- VerifyPlacement.cpp - memory, warps and registers of a placed kernel -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Solutions of the placement solvers and hand edits meet the same independent
// check: everything lies somewhere legal, and nothing on anything else.
//
//===----------------------------------------------------------------------===//

#include "PlacedKernel.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <tuple>

using namespace mlir;
using namespace fa4::tile;

namespace {
/// What lies at [begin, end) of one memory.
struct Placement {
  int64_t begin;
  int64_t end;
  Operation *op;
  std::string name;
};
} // namespace

static LogicalResult verifyDisjoint(SmallVectorImpl<Placement> &placements, int64_t limit,
                                    StringRef unit) {
  llvm::sort(placements, [](const Placement &left, const Placement &right) {
    return std::tie(left.begin, left.name) < std::tie(right.begin, right.name);
  });
  const Placement *previous = nullptr;
  for (const Placement &placement : placements) {
    if (placement.end > limit) { // T2.D
      return placement.op->emitOpError()
             << "expected '" << placement.name << "' to end within the target's " << limit << " "
             << unit << ", but got " << placement.end;
    }
    if (previous && placement.begin < previous->end) { // T2.D
      InFlightDiagnostic diag = placement.op->emitOpError()
                                << "expected '" << placement.name << "' to start after '"
                                << previous->name << "', which ends at " << previous->end
                                << ", but got " << placement.begin;
      diag.attachNote(previous->op->getLoc()) << "the other is here";
      return diag;
    }
    previous = &placement;
  }
  return success();
}

/// A swizzled tile repeats every 8 rows of its swizzle, and must start there; bulk
/// copies of linear tiles need 128 bytes (PTX ISA, tensor copies and swizzling).
int64_t fa4::tile::getSmemAlignment(ViewOp view) {
  auto layout = cast<SmemLayoutAttr>(view.getLayout());
  constexpr int64_t rowsPerRepeat = 8;
  return layout.getSwizzle() == 0 ? 128 : rowsPerRepeat * layout.getSwizzle();
}

static LogicalResult verifyViews(PlacedKernel &placed) {
  for (auto view : placed.kernel.getBody().getOps<ViewOp>()) {
    PlacedAllocOp alloc = placed.allocs.lookup(view.getAlloc());
    if (!alloc) {
      continue; // between the two placement passes
    }
    if (view.getSpace() == Space::Tmem) {
      int64_t rows = view.getTileType().getRows();
      if (rows > placed.target().tmemLanes) { // T2.D
        return view.emitOpError() << "expected a view of tensor memory to have at most "
                                  << placed.target().tmemLanes << " rows, but got " << rows;
      }
      continue;
    }
    int64_t alignment = getSmemAlignment(view);
    int64_t start = static_cast<int64_t>(alloc.getStart()) + static_cast<int64_t>(view.getOffset());
    auto stride = static_cast<int64_t>(alloc.getStride());
    bool strided = alloc.getFamily() == 1 || stride % alignment == 0;
    if (start % alignment != 0 || !strided ||
        static_cast<int64_t>(view.getRankStride()) % alignment != 0) { // T2.D
      return view.emitOpError() << "expected each element of a view with this layout to start at a "
                                   "multiple of "
                                << alignment << " bytes, but got " << start << " plus multiples of "
                                << stride;
    }
  }
  return success();
}

LogicalResult fa4::tile::verifyPlacedMemory(PlacedKernel &placed) {
  SmallVector<Placement> smem, tmem;
  for (auto alloc : placed.kernel.getBody().getOps<PlacedAllocOp>()) {
    auto &list = alloc.getSpace() == Space::Smem ? smem : tmem;
    list.push_back({static_cast<int64_t>(alloc.getStart()), alloc.getEnd(), alloc,
                    "@" + alloc.getSymName().str()});
  }
  for (auto barrier : placed.kernel.getBody().getOps<BarrierOp>()) {
    smem.push_back({static_cast<int64_t>(barrier.getStart()), barrier.getEnd(), barrier,
                    "@" + barrier.getSymName().str()});
  }
  placed.kernel.walk([&](TmemAllocOp alloc) {
    constexpr int64_t wordBytes = 4; // PTX ISA, tcgen05.alloc writes a 32-bit address
    auto word = static_cast<int64_t>(alloc.getWord());
    smem.push_back({word, word + wordBytes, alloc, "the tensor-memory base"});
  });
  if (failed(verifyDisjoint(smem, placed.target().smemBytesPerCta, "bytes of shared memory"))) {
    return failure();
  }
  if (failed(verifyDisjoint(tmem, placed.target().tmemColumns, "columns of tensor memory"))) {
    return failure();
  }
  return verifyViews(placed);
}

//===----------------------------------------------------------------------===//
// Warps, registers, tensor memory
//===----------------------------------------------------------------------===//

LogicalResult fa4::tile::verifyPlacedRoles(PlacedKernel &placed) {
  const fa4::TargetInfo &target = placed.target();
  SmallVector<Placement> warps;
  for (auto role : placed.kernel.getBody().getOps<RoleOp>()) {
    auto first = static_cast<int64_t>(*role.getFirstWarp());
    auto count = static_cast<int64_t>(role.getWarps() * role.getReplicas());
    warps.push_back({first, first + count, role, "@" + role.getSymName().str()});
  }
  // Before warpgroups are counted one by one, so that there are not too many.
  if (failed(verifyDisjoint(warps, target.maxThreadsPerCta / target.threadsPerWarp,
                            "warps"))) { // T2.W
    return failure();
  }
  llvm::DenseSet<int64_t> groups;
  int64_t registers = 0;
  for (auto role : placed.kernel.getBody().getOps<RoleOp>()) {
    auto first = static_cast<int64_t>(*role.getFirstWarp());
    auto regs = static_cast<int64_t>(*role.getRegs());
    auto count = static_cast<int64_t>(role.getWarps() * role.getReplicas());
    if (regs % target.registerGranule != 0 || regs < target.minRoleRegisters ||
        regs > target.maxRoleRegisters) { // T2.W
      return role.emitOpError() << "expected registers to be a multiple of "
                                << target.registerGranule << " from " << target.minRoleRegisters
                                << " to " << target.maxRoleRegisters << ", but got " << regs;
    }
    for (int64_t group = first / kWarpsPerWarpgroup; group * kWarpsPerWarpgroup < first + count;
         ++group) {
      // A warpgroup's idle warps keep their registers.
      bool isNew = groups.insert(group).second;
      registers += isNew ? kWarpsPerWarpgroup * target.threadsPerWarp * regs : 0;
    }
    if (registers > target.registersPerSm) { // T2.W
      return role.emitOpError() << "expected the roles up to this one to take at most "
                                << target.registersPerSm << " registers, but got " << registers;
    }
  }
  return success();
}

static LogicalResult verifyTensorMemory(PlacedKernel &placed) {
  int64_t end = 0;
  for (auto alloc : placed.kernel.getBody().getOps<PlacedAllocOp>()) {
    if (alloc.getSpace() == Space::Tmem) {
      end = std::max(end, alloc.getEnd());
    }
  }
  SmallVector<TmemAllocOp> allocs;
  SmallVector<TmemFreeOp> frees;
  placed.kernel.walk([&](Operation *op) {
    if (auto alloc = dyn_cast<TmemAllocOp>(op)) {
      allocs.push_back(alloc);
    } else if (auto free = dyn_cast<TmemFreeOp>(op)) {
      frees.push_back(free);
    }
  });
  size_t wanted = end > 0 ? 1 : 0;
  if (allocs.size() != wanted || frees.size() != wanted) { // T2.T
    return placed.kernel.emitOpError()
           << "expected tensor memory to be allocated and freed " << wanted << " times, but got "
           << allocs.size() << " and " << frees.size();
  }
  if (wanted == 0) {
    return success();
  }
  auto columns = static_cast<int64_t>(allocs.front().getColumns());
  if (columns < end) { // T2.T
    return allocs.front().emitOpError()
           << "expected columns to reach the last one placed, " << end << ", but got " << columns;
  }
  if (static_cast<int64_t>(frees.front().getColumns()) != columns ||
      frees.front().getRole() != allocs.front().getRole()) { // T2.T
    return frees.front().emitOpError()
           << "expected the role '@" << allocs.front().getRole() << "' to free its " << columns
           << " columns, but got '@" << frees.front().getRole() << "' and "
           << frees.front().getColumns();
  }
  if (!SymbolTable::lookupNearestSymbolFrom<RoleOp>(allocs.front(),
                                                    allocs.front().getRoleAttr())) { // T2.T
    return allocs.front().emitOpError()
           << "expected a role to allocate, but got '@" << allocs.front().getRole() << "'";
  }
  if (!placed.namedBarriers.contains(frees.front().getAfter())) { // T2.T
    return frees.front().emitOpError() << "expected users to meet at a named barrier, but got '@"
                                       << frees.front().getAfter() << "'";
  }
  TmemAllocOp alloc = allocs.front();
  if (llvm::none_of(*alloc->getBlock(), [&](Operation &op) {
        return isa<RoleSyncOp, ClusterSyncOp>(op) && alloc->isBeforeInBlock(&op);
      })) { // T2.T
    return alloc.emitOpError() << "expected all warps to meet after it, who read where the columns "
                                  "are, but got no meeting";
  }
  bool isPair = llvm::any_of(placed.kernel.getBody().getOps<RoleOp>(),
                             [](RoleOp role) { return role.getCtas() != Ctas::Single; });
  for (Operation *op : {allocs.front().getOperation(), frees.front().getOperation()}) {
    auto meets = [&](ClusterSyncOp sync) { return sync->isBeforeInBlock(op); };
    if (isPair && llvm::none_of(op->getBlock()->getOps<ClusterSyncOp>(), meets)) { // T2.T
      return op->emitOpError() << "expected both CTAs of a pair to meet before, but got no "
                                  "cluster_sync";
    }
  }
  return success();
}

LogicalResult fa4::tile::verifyPlacement(PlacedKernel &placed) {
  if (failed(verifyPlacedMemory(placed)) || failed(verifyPlacedRoles(placed))) {
    return failure();
  }
  return verifyTensorMemory(placed);
}
