//===- VerifyTarget.cpp - tile-verify-target ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What passes has an instruction for every op on the kernel's target. Each error
// names what the target gives beside what was asked.
//
//===----------------------------------------------------------------------===//

#include "PlacedKernel.h"

#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

namespace fa4::tile {
#define GEN_PASS_DEF_TILEVERIFYTARGET
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

/// PTX ISA, wgmma and setmaxnreg: a warpgroup is four warps, the first a multiple of 4.
static constexpr int64_t kWarpsPerGroup = 4;

namespace {
class TargetVerifier {
public:
  explicit TargetVerifier(PlacedKernel &placed) : placed(placed), target(placed.target()) {}
  LogicalResult verify();

private:
  LogicalResult require(Operation *op, bool has, const Twine &what);
  LogicalResult verifyRole(RoleOp role);
  LogicalResult verifyWarpgroups();
  LogicalResult verifyOp(Operation *op);
  LogicalResult verifyProduct(IssueMmaOp product);
  LogicalResult verifyFence(FenceOp fence);
  LogicalResult verifyTensorAccess(Operation *op, FlatSymbolRefAttr view);
  bool isTmem(FlatSymbolRefAttr view) {
    ViewOp op = placed.view(view);
    return op && op.getSpace() == Space::Tmem;
  }

  PlacedKernel &placed;
  const TargetInfo &target;
};
} // namespace

LogicalResult TargetVerifier::require(Operation *op, bool has, const Twine &what) {
  if (has) {
    return success();
  }
  return op->emitOpError() << "expected the target to have " << what << ", but got '" // X.F
                           << target.chip << "'";
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

LogicalResult TargetVerifier::verifyRole(RoleOp role) {
  return require(role, role.getCtas() == Ctas::Single || target.ctaPairs, "pairs of CTAs");
}

/// setmaxnreg is for a whole warpgroup at once.
LogicalResult TargetVerifier::verifyWarpgroups() {
  llvm::MapVector<int64_t, RoleOp> groups;
  for (auto role : placed.kernel.getBody().getOps<RoleOp>()) {
    auto first = static_cast<int64_t>(*role.getFirstWarp());
    auto warps = static_cast<int64_t>(role.getWarps() * role.getReplicas());
    for (int64_t warp = first; warp < first + warps; ++warp) {
      auto [entry, added] = groups.insert({warp / kWarpsPerGroup, role});
      if (!added && entry->second.getRegs() != role.getRegs()) { // X.G
        InFlightDiagnostic diag = role.emitOpError()
                                  << "expected roles that share warps "
                                  << entry->first * kWarpsPerGroup << " to "
                                  << (entry->first + 1) * kWarpsPerGroup - 1
                                  << " to have the same registers, "
                                  << static_cast<int64_t>(*entry->second.getRegs()) << ", but got "
                                  << static_cast<int64_t>(*role.getRegs());
        diag.attachNote(entry->second.getLoc()) << "the other is here";
        return diag;
      }
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

LogicalResult TargetVerifier::verifyProduct(IssueMmaOp product) {
  auto role = product->getParentOfType<RoleOp>();
  bool registers = static_cast<bool>(product.getResult());
  if (registers) {
    if (failed(require(product, target.asyncWarpgroupMma, "products onto registers"))) {
      return failure();
    }
    auto first = static_cast<int64_t>(*role.getFirstWarp());
    auto warps = static_cast<int64_t>(role.getWarps());
    if (warps != kWarpsPerGroup || first % kWarpsPerGroup != 0) { // X.W
      return product.emitOpError()
             << "expected products onto registers to stand in a role of " << kWarpsPerGroup
             << " warps that starts at a multiple of it, but got " << warps << " warps at "
             << first;
    }
  } else if (failed(require(product, target.hasTensorMemory(), "products onto tensor memory"))) {
    return failure();
  }
  FragType acc = registers ? cast<FragType>(product.getResult().getType())
                           : placed.view(product.getAccViewAttr()).getTileType();
  FragType a = product.getAView() ? placed.view(product.getAViewAttr()).getTileType()
                                  : cast<FragType>(product.getA().getType());
  FragType b = placed.view(product.getBViewAttr()).getTileType();
  bool pair = role.getCtas() != Ctas::Single;
  // Each CTA of a pair has half of the rows.
  int64_t rows = acc.getRows() * (pair ? 2 : 1);
  const std::vector<int64_t> &legal = pair ? target.pairMmaRows : target.mmaRows;
  if (!llvm::is_contained(legal, rows)) { // X.M
    return product.emitOpError() << "expected rows of a product to be "
                                 << llvm::join(llvm::map_range(legal,
                                                               [](int64_t number) {
                                                                 return std::to_string(number);
                                                               }),
                                               " or ")
                                 << " on '" << target.chip << "', but got " << rows;
  }
  int64_t columns = acc.getColumns();
  if (columns % target.mmaColumnStep != 0 || columns > target.mmaMaxColumns) { // X.M
    return product.emitOpError() << "expected columns of a product to be a multiple of "
                                 << target.mmaColumnStep << " up to " << target.mmaMaxColumns
                                 << " on '" << target.chip << "', but got " << columns;
  }
  if (a.getElementType() != b.getElementType()) { // X.M
    return product.emitOpError() << "expected both operands of a product to have one element type, "
                                    "but got "
                                 << a.getElementType() << " and " << b.getElementType();
  }
  int64_t depth = a.getColumns() * a.getElementType().getIntOrFloatBitWidth() / 8;
  if (depth % target.mmaKBytes != 0) { // X.M
    return product.emitOpError() << "expected rows of a to be a multiple of " << target.mmaKBytes
                                 << " bytes on '" << target.chip << "', but got " << depth;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Other ops
//===----------------------------------------------------------------------===//

LogicalResult TargetVerifier::verifyFence(FenceOp fence) {
  constexpr FenceKind tensor =
      FenceKind::TmemLoads | FenceKind::TmemStores | FenceKind::Before | FenceKind::After;
  FenceKind kinds = fence.getKinds();
  if (bitEnumContainsAny(kinds, tensor) &&
      failed(require(fence, target.hasTensorMemory(), "fences of tensor memory"))) {
    return failure();
  }
  return require(fence, !bitEnumContainsAny(kinds, FenceKind::Wgmma) || target.asyncWarpgroupMma,
                 "products onto registers");
}

/// A warp reaches the lanes of its number in its warpgroup only (PTX ISA, tcgen05.ld).
LogicalResult TargetVerifier::verifyTensorAccess(Operation *op, FlatSymbolRefAttr view) {
  if (!isTmem(view)) {
    return success();
  }
  auto role = op->getParentOfType<RoleOp>();
  auto first = static_cast<int64_t>(*role.getFirstWarp());
  auto warps = static_cast<int64_t>(role.getWarps());
  if (first % kWarpsPerGroup != 0 || warps % kWarpsPerGroup != 0) { // X.W
    return op->emitOpError() << "expected warps that access tensor memory to be multiples of "
                             << kWarpsPerGroup << " from a multiple of it, but got " << warps
                             << " from " << first;
  }
  return success();
}

LogicalResult TargetVerifier::verifyOp(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](IssueMmaOp product) { return verifyProduct(product); })
      .Case([&](FenceOp fence) { return verifyFence(fence); })
      .Case<ReadOp, WriteOp, RescaleOp>(
          [&](auto access) { return verifyTensorAccess(access, access.getViewAttr()); })
      .Case([&](BarrierCommitOp commit) {
        return require(commit, target.hasTensorMemory(), "commits of products");
      })
      .Case<IssueSendOp, ClusterSyncOp>(
          [&](Operation *pair) { return require(pair, target.ctaPairs, "pairs of CTAs"); })
      .Case([&](IssueNextOp next) {
        return require(next, target.clusterLaunchControl, "cluster launch control");
      })
      .Case([&](GroupCommitOp group) {
        return require(group, group.getKind() == Group::Bulk || target.asyncWarpgroupMma,
                       "products onto registers");
      })
      .Case([&](TmemAllocOp alloc) -> LogicalResult {
        auto columns = static_cast<int64_t>(alloc.getColumns());
        if (columns > target.tmemColumns || columns % target.tmemAllocGranule != 0) { // X.T
          return alloc.emitOpError()
                 << "expected columns to be a multiple of " << target.tmemAllocGranule << " up to "
                 << target.tmemColumns << " on '" << target.chip << "', but got " << columns;
        }
        return success();
      })
      .Case<BarrierOp>([&](BarrierOp barrier) -> LogicalResult {
        constexpr int64_t most = (1 << 20) - 1; // PTX ISA, mbarrier: range of pending counts
        auto count = static_cast<int64_t>(barrier.getCount());
        if (count > most) { // X.B
          return barrier.emitOpError()
                 << "expected count of a barrier to be at most " << most << ", but got " << count;
        }
        return success();
      })
      .Case<BarrierExpectOp>([&](BarrierExpectOp expect) -> LogicalResult {
        constexpr int64_t most = (1 << 20) - 1; // PTX ISA, mbarrier: range of the tx-count
        auto bytes = static_cast<int64_t>(expect.getBytes());
        if (bytes > most) { // X.B
          return expect.emitOpError()
                 << "expected bytes of one phase to be at most " << most << ", but got " << bytes;
        }
        return success();
      })
      .Default(success());
}

LogicalResult TargetVerifier::verify() {
  for (auto role : placed.kernel.getBody().getOps<RoleOp>()) {
    if (failed(verifyRole(role))) {
      return failure();
    }
  }
  if (failed(verifyWarpgroups())) {
    return failure();
  }
  WalkResult result = placed.kernel.walk([&](Operation *op) { return WalkResult(verifyOp(op)); });
  return failure(result.wasInterrupted());
}

namespace {
struct TileVerifyTarget : public fa4::tile::impl::TileVerifyTargetBase<TileVerifyTarget> {
  void runOnOperation() override {
    PlacedKernel placed(getOperation());
    if (failed(verifyPlacement(placed)) || failed(TargetVerifier(placed).verify())) {
      signalPassFailure();
    }
    markAllAnalysesPreserved();
  }
};
} // namespace
