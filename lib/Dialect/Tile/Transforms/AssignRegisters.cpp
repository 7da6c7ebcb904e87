//===- AssignRegisters.cpp - tile-assign-registers --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Warps and registers are what the schedule says. Roles for which it states no
// registers share evenly, by warpgroups, what the others leave. The result is
// checked by the same independent code that judges hand-written kernels.
//
//===----------------------------------------------------------------------===//

#include "PlacedKernel.h"

#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace fa4::tile;

namespace fa4::tile {
#define GEN_PASS_DEF_TILEASSIGNREGISTERS
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

static const fa4::Role *findRole(KernelOp kernel, RoleOp role) {
  for (const fa4::Role &plan : kernel.getSchedule().getPlan().roles) {
    if (plan.name == role.getSymName()) {
      return &plan;
    }
  }
  return nullptr;
}

/// The warpgroups that `role` has warps of.
static llvm::iota_range<int64_t> groupsOf(RoleOp role) {
  auto first = static_cast<int64_t>(*role.getFirstWarp());
  int64_t last = first + static_cast<int64_t>(role.getWarps() * role.getReplicas()) - 1;
  return llvm::seq_inclusive(first / kWarpsPerWarpgroup, last / kWarpsPerWarpgroup);
}

static LogicalResult assign(KernelOp kernel) {
  const fa4::TargetInfo &target = kernel.getTarget().getInfo();
  OpBuilder builder(kernel.getContext());
  /// Registers of each warpgroup; none if the schedule leaves them open.
  llvm::MapVector<int64_t, std::optional<int64_t>> groups;
  SmallVector<RoleOp> roles(kernel.getBody().getOps<RoleOp>());
  for (RoleOp role : roles) {
    const fa4::Role *plan = findRole(kernel, role);
    if (!plan) {
      return role.emitOpError() << "expected the schedule to say where a role's warps are, but it "
                                   "has no role '"
                                << role.getSymName() << "'";
    }
    if (static_cast<int64_t>(role.getWarps()) != plan->warps ||
        static_cast<int64_t>(role.getReplicas()) != plan->replicas) {
      return role.emitOpError() << "expected the schedule's " << plan->warps << " x "
                                << plan->replicas << " warps, but got " << role.getWarps() << " x "
                                << role.getReplicas();
    }
    role.setFirstWarpAttr(builder.getI64IntegerAttr(plan->firstWarp));
    for (int64_t group : groupsOf(role)) {
      std::optional<int64_t> &registers = groups[group];
      registers = plan->registers ? plan->registers : registers;
    }
  }
  int64_t threads = kWarpsPerWarpgroup * target.threadsPerWarp;
  int64_t left = target.registersPerSm, sharers = 0;
  for (auto &[group, registers] : groups) {
    left -= threads * registers.value_or(0);
    sharers += registers ? 0 : 1;
  }
  int64_t share = 0;
  if (sharers > 0) {
    share = std::max<int64_t>(left, 0) / (threads * sharers);
    share = std::min(share - share % target.registerGranule, target.maxRoleRegisters);
    if (share < target.minRoleRegisters) {
      return kernel.emitOpError() << "expected the schedule to leave at least "
                                  << target.minRoleRegisters
                                  << " registers to each thread of roles without `regs`, but got "
                                  << share << "; give the other roles fewer";
    }
  }
  for (RoleOp role : roles) {
    const fa4::Role *plan = findRole(kernel, role);
    int64_t registers = plan->registers.value_or(groups[*groupsOf(role).begin()].value_or(share));
    role.setRegsAttr(builder.getI64IntegerAttr(registers));
  }
  PlacedKernel placed(kernel);
  return verifyPlacedRoles(placed);
}

namespace {
struct AssignRegisters : public fa4::tile::impl::TileAssignRegistersBase<AssignRegisters> {
  void runOnOperation() override {
    if (failed(assign(getOperation()))) {
      signalPassFailure();
    }
  }
};
} // namespace
