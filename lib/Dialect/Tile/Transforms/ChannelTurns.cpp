//===- ChannelTurns.cpp - replicas that take turns at the matrix unit -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// While one replica has its products run, the others compute on what theirs gave.
// A channel that carries nothing says whose turn it is: who has it passes it to the
// next one, round robin, and the first has it at the start.
//
//===----------------------------------------------------------------------===//

#include "ChannelPlan.h"

#include "fa4/Dialect/FA4/IR/FA4Attributes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

namespace {

class TurnTaker {
public:
  TurnTaker(KernelOp kernel, const Role &role)
      : kernel(kernel), role(role), builder(kernel.getContext()) {}

  LogicalResult run();

private:
  void createChannel();
  InlinedStepOp findLast(InlinedStepOp first);
  void takeTurn(InlinedStepOp first);

  KernelOp kernel;
  const Role &role;
  OpBuilder builder;
  std::string name = "turn";
};

} // namespace

void TurnTaker::createChannel() {
  while (SymbolTable::lookupSymbolIn(kernel, name)) {
    name += "_free";
  }
  Operation *last = kernel.getWork();
  for (auto channel : kernel.getBody().getOps<ChannelOp>()) {
    last = channel;
  }
  builder.setInsertionPointAfter(last);
  auto end = [&](Tie tie) {
    auto symbol = FlatSymbolRefAttr::get(kernel.getContext(), role.name);
    return builder.getArrayAttr(Attribute(EndAttr::get(kernel.getContext(), symbol, tie)));
  };
  SmallVector<int64_t> starts(static_cast<size_t>(role.replicas), 0);
  starts.front() = 1;
  ChannelOp::create(builder, kernel.getLoc(), builder.getStringAttr(name),
                    builder.getI64IntegerAttr(role.replicas), builder.getI64IntegerAttr(1),
                    end(Tie::Previous), end(Tie::Each), ArrayAttr(),
                    ArrivalAttr::get(kernel.getContext(), Arrival::Named), ArrivalAttr(),
                    builder.getDenseI64ArrayAttr(starts));
}

/// The last step of the turn that `first` begins: before that step comes again, which
/// it does in a loop.
InlinedStepOp TurnTaker::findLast(InlinedStepOp first) {
  const std::vector<std::string> &turn = kernel.getSchedule().getPlan().turn;
  InlinedStepOp last = first;
  for (Operation *op = first->getNextNode(); op; op = op->getNextNode()) {
    auto step = dyn_cast<InlinedStepOp>(op);
    if (!step && op->getNumRegions() != 0) {
      break;
    }
    if (!step || step.getIndex() != first.getIndex()) {
      continue;
    }
    if (step.getStep() == first.getStep()) {
      break;
    }
    if (llvm::is_contained(turn, step.getStep())) {
      last = step;
    }
  }
  return last;
}

void TurnTaker::takeTurn(InlinedStepOp first) {
  InlinedStepOp last = findLast(first);
  int64_t replica = getReplicaOf(first);
  auto products = first.getBody().getOps<MmaOp>();
  if (products.empty()) {
    builder.setInsertionPointToStart(&first.getBody().front());
  } else {
    builder.setInsertionPoint(*products.begin());
  }
  Location loc = first.getLoc();
  auto element = [&](int64_t number) { return builder.getI64IntegerAttr(number); };
  Value token = WaitOp::create(builder, loc, name, Value(), element(replica)).getToken();
  Operation *behind = last.getYield()->getPrevNode();
  for (MmaOp product : last.getBody().getOps<MmaOp>()) {
    behind = product;
  }
  if (last != first) {
    token = yieldToken(first, token);
  }
  builder.setInsertionPointAfter(behind);
  ReleaseOp::create(builder, loc, token, ValueRange(), /*after_all=*/false);
  auto next =
      AcquireOp::create(builder, loc, name, Value(), element((replica + 1) % role.replicas));
  CommitOp::create(builder, loc, next.getToken(), ValueRange(), /*after_all=*/false);
}

LogicalResult TurnTaker::run() {
  SmallVector<InlinedStepOp> firsts;
  const std::vector<std::string> &turn = kernel.getSchedule().getPlan().turn;
  kernel.walk([&](InlinedStepOp step) {
    if (step.getStep() == turn.front()) {
      firsts.push_back(step);
    }
  });
  for (InlinedStepOp first : firsts) {
    if (first.getUnless() || !first.getIndex()) {
      return first.emitError() << "expected a step that begins a turn to run always and to have an "
                                  "index, but got '"
                               << first.getStepName() << "'";
    }
  }
  createChannel();
  llvm::for_each(firsts, [&](InlinedStepOp first) { takeTurn(first); });
  return success();
}

LogicalResult fa4::tile::takeTurns(KernelOp kernel) {
  const Schedule &plan = kernel.getSchedule().getPlan();
  if (plan.turn.empty()) {
    return success();
  }
  const Role *role = plan.findRoleOf(plan.turn.front());
  for (const std::string &step : plan.turn) {
    if (!role || plan.findRoleOf(step) != role) {
      return kernel.emitError() << "expected the steps of the schedule's turn to be of one role, "
                                   "but got '"
                                << step << "'";
    }
  }
  // Who is alone always has the turn.
  return role->replicas > 1 ? TurnTaker(kernel, *role).run() : success();
}
