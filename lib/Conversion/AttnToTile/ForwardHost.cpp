//===- ForwardHost.cpp - attn.forward as a kernel and its launch ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernel's arguments, in order: q, k, v, o, lse, document ids, position
// offset, prefix sums, used lengths, sink, captured values, origin, extents of q
// and k, batches, heads, heads per kv head, number of tiles. What a kernel does
// not need is left out. Extents are i32, tensors are bounded grids.
//
//===----------------------------------------------------------------------===//

#include "ForwardDefs.h"
#include "Lowering.h"
#include "ScalarBuilder.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace fa4;

namespace {
class HostEmitter {
public:
  HostEmitter(OpBuilder &builder, const ForwardPlan &plan)
      : builder(builder), plan(plan), op(plan.op), loc(op.getLoc()),
        size(builder, loc, builder.getIndexType()), narrow(builder, loc, builder.getI32Type()) {}

  KernelArguments collect();

private:
  Value getExtent(Value memref, unsigned dim) {
    return builder.createOrFold<memref::DimOp>(loc, memref, dim);
  }
  Value countTiles(Value batches, Value heads);

  OpBuilder &builder;
  const ForwardPlan &plan;
  attn::ForwardOp op;
  Location loc;
  ScalarBuilder size, narrow;
};
} // namespace

/// The number of tiles fits i32: each writes its own part of o.
Value HostEmitter::countTiles(Value batches, Value heads) {
  Value rows = getExtent(op.getQ(), plan.dims.sequence);
  if (!plan.isPacked()) {
    return size.mul(size.mul(batches, heads), size.ceilDiv(rows, plan.ctaRows()));
  }
  // No sequence has more than rows / tile + (tile - 1) / tile tiles, and the
  // prefix sums are the kernel's to read. Numbers past the last tile are empty.
  Value slack = size.mul(batches, plan.ctaRows() - 1);
  return size.mul(size.floorDiv(size.add(rows, slack), plan.ctaRows()), heads);
}

KernelArguments HostEmitter::collect() {
  KernelArguments args;
  args.q = op.getQ();
  args.k = op.getK();
  args.v = op.getV();
  args.o = op.getO();
  args.lse = op.getLse();
  args.queryDocuments = op.getQueryDocuments();
  args.keyDocuments = op.getKeyDocuments();
  // An offset moves only what is aligned.
  args.positionOffset = plan.bounds.empty() ? Value() : op.getPositionOffset();
  args.queryStarts = op.getQueryPrefixSums();
  args.keyStarts = op.getKeyPrefixSums();
  args.queryUsed = op.getQueryUsedLengths();
  args.keyUsed = op.getKeyUsedLengths();
  args.sink = op.getSink();
  llvm::append_range(args.captured, op.getScoreCaptures());
  llvm::append_range(args.captured, op.getPredicateCaptures());
  if (op.getBatchOrigin() && (op.hasScoreRegion() || op.hasPredicateRegion())) {
    args.batchOrigin = narrow.convert(op.getBatchOrigin());
    args.headOrigin = narrow.convert(op.getHeadOrigin());
  }
  unsigned headDim = plan.dims.head;
  Value heads = getExtent(op.getQ(), headDim);
  // S3 promises at least one kv head; an empty tensor must not divide by 0.
  Value group = size.div(heads, size.max(getExtent(op.getK(), headDim), 1));
  Value batches;
  if (plan.isPacked()) {
    batches = size.sub(getExtent(op.getQueryPrefixSums(), 0), 1);
  } else {
    batches = getExtent(op.getQ(), 0);
    args.queryExtent = narrow.convert(getExtent(op.getQ(), plan.dims.sequence));
    args.keyExtent = narrow.convert(getExtent(op.getK(), plan.dims.sequence));
  }
  if (plan.isPacked() || plan.isLongestFirst()) {
    args.batches = narrow.convert(batches);
  }
  args.heads = narrow.convert(heads);
  args.group = narrow.convert(group);
  args.tiles = narrow.convert(countTiles(batches, heads));
  return args;
}

/// The kernel's view of each argument: a tensor is a grid of boxes, of single
/// elements where nothing says more.
static SmallVector<Type> getKernelTypes(const ForwardPlan &plan, KernelArguments &args) {
  SmallVector<Type> types;
  args.forEach([&](Value &argument) {
    if (!argument) {
      return;
    }
    auto memref = dyn_cast<MemRefType>(argument.getType());
    if (!memref) {
      types.push_back(argument.getType());
      return;
    }
    SmallVector<int64_t> box(memref.getRank(), 1);
    if (&argument == &args.q) {
      box = plan.getTensorBox(plan.rows, plan.getHeadDimQk());
    } else if (&argument == &args.k) {
      box = plan.getTensorBox(plan.columns, plan.getHeadDimQk());
    } else if (&argument == &args.v) {
      box = plan.getTensorBox(plan.columns, plan.getHeadDimV());
    } else if (&argument == &args.o) {
      box = plan.getTensorBox(plan.rows, plan.getHeadDimV());
    } else if (&argument == &args.lse || &argument == &args.queryDocuments) {
      box.back() = plan.rows;
    }
    types.push_back(tile::GlobalType::get(memref.getContext(), box, memref.getElementType()));
  });
  return types;
}

static StringAttr makeKernelName(ModuleOp module, StringRef function) {
  for (unsigned number = 0;; ++number) {
    auto name = StringAttr::get(module.getContext(), function + "_attn" + Twine(number));
    if (!module.lookupSymbol(name)) {
      return name;
    }
  }
}

/// What S1 promises of extents that the types leave open.
static ArrayAttr getExtentRules(attn::ForwardOp op, ArrayRef<Value> operands) {
  SmallVector<Attribute> rules;
  auto isOpen = [](std::pair<Value, unsigned> place) {
    return cast<ShapedType>(place.first.getType()).isDynamicDim(place.second);
  };
  auto add = [&](std::pair<Value, unsigned> place, std::pair<Value, unsigned> other,
                 bool multiple) {
    const auto *operand = llvm::find(operands, place.first);
    const auto *otherOperand = llvm::find(operands, other.first);
    // A kernel that does not take a tensor does not depend on its shape.
    if ((isOpen(place) || isOpen(other)) && operand != operands.end() &&
        otherOperand != operands.end()) {
      rules.push_back(ExtentRuleAttr::get(op.getContext(), operand - operands.begin(), place.second,
                                          otherOperand - operands.begin(), other.second, multiple));
    }
  };
  for (const attn::SharedExtent &places : op.getSharedExtents()) {
    // A number that the types know stands for all.
    const auto *known = llvm::find_if_not(places, isOpen);
    const auto *first = known == places.end() ? places.begin() : known;
    for (const auto &place : places) {
      if (&place != first) {
        add(place, *first, /*multiple=*/false);
      }
    }
  }
  unsigned heads = op.getTensorDims().head;
  add({op.getQ(), heads}, {op.getK(), heads}, /*multiple=*/true); // S3
  return rules.empty() ? ArrayAttr() : ArrayAttr::get(op.getContext(), rules);
}

LogicalResult fa4::lowerForward(attn::ForwardOp op) {
  FailureOr<ForwardPlan> plan = ForwardPlan::create(op);
  if (failed(plan)) {
    return failure();
  }
  auto function = op->getParentOfType<FunctionOpInterface>();
  auto module = op->getParentOfType<ModuleOp>();
  if (!function || function->getParentOp() != module) {
    return op.emitError("expected the op to stand in a function of a module, but got it in '")
           << op->getParentOp()->getName() << "'";
  }
  OpBuilder builder(op);
  KernelArguments host = HostEmitter(builder, *plan).collect();
  SmallVector<Value> operands = flatten(host);

  builder.setInsertionPoint(function);
  StringAttr name = makeKernelName(module, function.getName());
  auto kernel = tile::KernelOp::create(builder, op.getLoc(), name, plan->target, plan->schedule);
  kernel.getBody().push_back(new Block());
  SmallVector<Type> types = getKernelTypes(*plan, host);
  kernel.getEntry()->addArguments(types, SmallVector<Location>(types.size(), op.getLoc()));
  emitKernelBody(builder, *plan, kernel, refill(host, kernel.getEntry()->getArguments()));

  builder.setInsertionPoint(op);
  tile::LaunchOp::create(builder, op.getLoc(), name, operands, getExtentRules(op, operands));
  op.erase();
  return success();
}
