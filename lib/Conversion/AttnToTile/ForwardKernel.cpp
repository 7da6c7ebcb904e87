//===- ForwardKernel.cpp - the body of a forward kernel -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Work, then per tile: one loop over key blocks in which every stage does its
// steps, then the results. Nothing in it depends on an extent: one kernel serves
// all of them.
//
//===----------------------------------------------------------------------===//

#include "ForwardDefs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;
using namespace fa4;

namespace {
class KernelEmitter {
public:
  KernelEmitter(OpBuilder &builder, const ForwardPlan &plan, tile::KernelOp kernel,
                const KernelArguments &args)
      : builder(builder), plan(plan), loc(kernel.getLoc()), kernel(kernel), args(args) {}

  void run();

private:
  using BodyFn = llvm::function_ref<void(ValueRange)>;

  /// Per stage, what the loop carries.
  struct StageState {
    Value output, reference, sum;
  };

  void emitWork();
  void emitTile();
  /// Cuts the tensors of a tile to its sequence, and to the lengths in use.
  void cutTensors();
  Value cut(Value global, unsigned dim, Value start, Value length);
  SmallVector<StageState> emitLoop(ArrayRef<Value> queries, ArrayRef<StageState> inits);
  StageState emitStage(int64_t stage, Value query, Value key, Value value, Value keyBlock,
                       Value isFirst, Value isEdge, StageState state);
  void emitResult(int64_t stage, StageState state);

  Value constant(int64_t value) {
    return arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(value));
  }
  Value splat(tile::FragType type, float value) {
    Value scalar = arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(value));
    return tile::SplatOp::create(builder, loc, type, scalar);
  }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  }
  /// One step; writes its def in front of the work if it is the first.
  ValueRange step(StringRef name, std::optional<int64_t> index, ValueRange inputs, BodyFn body,
                  Value unless = {});
  Value loadStep(StringRef name, std::optional<int64_t> index, Value global, Value block,
                 Value head, tile::FragType type);

  OpBuilder &builder;
  const ForwardPlan &plan;
  Location loc;
  tile::KernelOp kernel;
  KernelArguments args;
  tile::WorkOp work;
  TileScalars scalars;
  /// Results of each def, known once its body is written.
  llvm::StringMap<SmallVector<Type>> defs;
};
} // namespace

ValueRange KernelEmitter::step(StringRef name, std::optional<int64_t> index, ValueRange inputs,
                               BodyFn body, Value unless) {
  if (!defs.contains(name)) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(work);
    auto def =
        tile::DefOp::create(builder, loc, name, builder.getFunctionType(inputs.getTypes(), {}),
                            [&](OpBuilder &, Location, ValueRange arguments) { body(arguments); });
    auto results = llvm::to_vector(def.getYield().getValues().getTypes());
    def.setFunctionType(builder.getFunctionType(inputs.getTypes(), results));
    defs[name] = results;
  }
  IntegerAttr number = index ? builder.getI64IntegerAttr(*index) : IntegerAttr();
  auto step = tile::StepOp::create(builder, loc, defs[name],
                                   FlatSymbolRefAttr::get(builder.getContext(), name), number,
                                   inputs, unless);
  return step.getResults();
}

Value KernelEmitter::loadStep(StringRef name, std::optional<int64_t> index, Value global,
                              Value block, Value head, tile::FragType type) {
  return step(name, index, {global, scalars.batch, block, head}, [&](ValueRange in) {
    Value loaded = tile::LoadOp::create(builder, loc, type, in[0],
                                        plan.getTensorCoordinates(in[1], in[2], in[3]));
    tile::YieldOp::create(builder, loc, loaded);
  })[0];
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

void KernelEmitter::emitWork() {
  // All of them first; what the region turns out not to use is dropped below.
  KernelArguments used;
  used.queryExtent = args.queryExtent;
  used.keyExtent = args.keyExtent;
  used.batches = args.batches;
  used.heads = args.heads;
  used.group = args.group;
  used.positionOffset = args.positionOffset;
  used.queryStarts = args.queryStarts;
  used.keyStarts = args.keyStarts;
  used.queryUsed = args.queryUsed;
  used.keyUsed = args.keyUsed;
  SmallVector<Value> uses = flatten(used);

  Block region;
  Value number = region.addArgument(builder.getI32Type(), loc);
  for (Value use : uses) {
    region.addArgument(use.getType(), loc);
  }
  KernelArguments inside = refill(used, region.getArguments().drop_front());
  SmallVector<Attribute> names;
  SmallVector<Value> yielded;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&region);
    emitDecode(builder, plan, number, inside, scalars);
    scalars.forEach([&](StringRef name, Value value) {
      if (value) {
        names.push_back(builder.getStringAttr(name));
        yielded.push_back(value);
      }
    });
    tile::YieldOp::create(builder, loc, yielded);
  }
  for (int64_t index = static_cast<int64_t>(uses.size()) - 1; index >= 0; --index) {
    if (region.getArgument(index + 1).use_empty()) {
      region.eraseArgument(index + 1);
      uses.erase(uses.begin() + index);
    }
  }

  auto find = [&](StringRef name) -> int64_t {
    return std::distance(names.begin(), llvm::find(names, builder.getStringAttr(name)));
  };
  auto atLeast = [&](int64_t bound, StringRef name) -> Attribute {
    return tile::FactAttr::get(builder.getContext(), -1, find(name), bound);
  };
  auto atMost = [&](StringRef lower, StringRef upper) -> Attribute {
    return tile::FactAttr::get(builder.getContext(), find(lower), find(upper), 0);
  };
  // From the outermost bound inwards: to clamp by one must not undo those before.
  SmallVector<Attribute> facts{atLeast(1, "n")};
  if (scalars.leftEdge) {
    facts.append({atLeast(1, "nl"), atMost("nl", "n")});
  }
  facts.append({atLeast(1, "ne"), atMost("ne", scalars.leftEdge ? "nl" : "n")});
  work = tile::WorkOp::create(builder, loc, "work", args.tiles, uses, builder.getArrayAttr(names),
                              builder.getArrayAttr(facts));
  work.getBody().push_back(new Block());
  Block &body = work.getBody().front();
  SmallVector<Value> moved;
  for (BlockArgument argument : region.getArguments()) {
    moved.push_back(body.addArgument(argument.getType(), loc));
    argument.replaceAllUsesWith(moved.back());
  }
  body.getOperations().splice(body.end(), region.getOperations());
}

//===----------------------------------------------------------------------===//
// One tile
//===----------------------------------------------------------------------===//

Value KernelEmitter::cut(Value global, unsigned dim, Value start, Value length) {
  Value from = start ? start : constant(0);
  Value end = start ? arith::AddIOp::create(builder, loc, start, length).getResult() : length;
  return tile::SubrangeOp::create(builder, loc, global.getType(), global, dim, from, end);
}

void KernelEmitter::cutTensors() {
  if (!plan.hasLengthsPerBatch()) {
    return;
  }
  unsigned rowDim = plan.dims.sequence;
  args.q = cut(args.q, rowDim, scalars.queryStart, scalars.queryLength);
  args.k = cut(args.k, rowDim, scalars.keyStart, scalars.keyLength);
  args.v = cut(args.v, rowDim, scalars.keyStart, scalars.keyLength);
  if (!plan.isPacked()) {
    return;
  }
  // Rows past a used length are written too, up to the end of the sequence.
  Type type = args.o.getType();
  args.o = tile::SubrangeOp::create(builder, loc, type, args.o, rowDim, scalars.queryStart,
                                    scalars.queryEnd);
  if (args.lse) {
    args.lse = tile::SubrangeOp::create(builder, loc, args.lse.getType(), args.lse,
                                        plan.getLseRowDim(), scalars.queryStart, scalars.queryEnd);
  }
  if (args.queryDocuments) {
    args.queryDocuments = cut(args.queryDocuments, 0, scalars.queryStart, scalars.queryLength);
    args.keyDocuments = cut(args.keyDocuments, 0, scalars.keyStart, scalars.keyLength);
  }
}

KernelEmitter::StageState KernelEmitter::emitStage(int64_t stage, Value query, Value key,
                                                   Value value, Value keyBlock, Value isFirst,
                                                   Value isEdge, StageState state) {
  Value scores = step("qk", stage, {query, key}, [&](ValueRange in) {
    auto type = cast<tile::FragType>(in[1].getType());
    auto transposed = plan.getFrag({type.getColumns(), type.getRows()}, type.getElementType());
    Value columns = tile::TransposeOp::create(builder, loc, transposed, in[1]);
    Value product = tile::MmaOp::create(builder, loc, plan.getScoreType(), in[0], columns,
                                        /*onto=*/Value(), /*unless=*/Value());
    tile::YieldOp::create(builder, loc, product);
  })[0];

  attn::ForwardOp op = plan.op;
  SoftmaxInputs inputs;
  inputs.scores = scores;
  inputs.reference = state.reference;
  inputs.sum = state.sum;
  inputs.queryBlock = scalars.queryBlocks[stage];
  inputs.keyBlock = keyBlock;
  inputs.queryLength = scalars.queryLength ? scalars.queryLength : args.queryExtent;
  inputs.keyLength = scalars.keyLength ? scalars.keyLength : args.keyExtent;
  inputs.isEdge = isEdge;
  inputs.offset = scalars.offset;
  if (op.hasScoreRegion() || op.hasPredicateRegion()) {
    inputs.batch = scalars.batch;
    inputs.head = scalars.head;
    inputs.batchOrigin = args.batchOrigin;
    inputs.headOrigin = args.headOrigin;
  }
  if (args.queryDocuments) {
    inputs.batch = plan.isPacked() ? inputs.batch : scalars.batch;
    inputs.queryDocuments = args.queryDocuments;
    inputs.keyDocuments = args.keyDocuments;
  }
  inputs.captured = args.captured;
  ValueRange weights = step("softmax", stage, flatten(inputs),
                            [&](ValueRange in) { emitSoftmax(builder, plan, refill(inputs, in)); });

  Value rescaled = step(
      "rescale", stage, {state.output, weights[1]},
      [&](ValueRange in) {
        Value scaled = tile::ScaleRowsOp::create(builder, loc, in[0].getType(), in[0], in[1],
                                                 /*likely_one=*/false);
        tile::YieldOp::create(builder, loc, scaled);
      },
      isFirst)[0];
  Value output = step("pv", stage, {weights[0], value, rescaled, isFirst}, [&](ValueRange in) {
    Value product =
        tile::MmaOp::create(builder, loc, plan.getOutputType(), in[0], in[1], in[2], in[3]);
    tile::YieldOp::create(builder, loc, product);
  })[0];
  return {output, weights[2], weights[3]};
}

SmallVector<KernelEmitter::StageState> KernelEmitter::emitLoop(ArrayRef<Value> queries,
                                                               ArrayRef<StageState> inits) {
  Value zero = constant(0), one = constant(1);
  SmallVector<Value> carried;
  for (auto member : {&StageState::output, &StageState::reference, &StageState::sum}) {
    for (const StageState &state : inits) {
      carried.push_back(state.*member);
    }
  }
  auto getStates = [&](ValueRange values) {
    SmallVector<StageState> states;
    for (int64_t stage = 0; stage < plan.stages; ++stage) {
      states.push_back(
          {values[stage], values[plan.stages + stage], values[2 * plan.stages + stage]});
    }
    return states;
  };
  auto loop = scf::ForOp::create(builder, loc, zero, scalars.blocks, one, carried);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(loop.getBody());
    Value trip = loop.getInductionVar();
    Value isFirst = compare(arith::CmpIPredicate::eq, trip, zero);
    Value isEdge = compare(arith::CmpIPredicate::slt, trip, scalars.edgeBlocks);
    if (scalars.leftEdge) {
      Value isLeft = compare(arith::CmpIPredicate::sge, trip, scalars.leftEdge);
      isEdge = arith::OrIOp::create(builder, loc, isEdge, isLeft);
    }
    Value keyBlock = arith::SubIOp::create(builder, loc, scalars.firstBlock, trip);
    Value key =
        loadStep("load_k", std::nullopt, args.k, keyBlock, scalars.kvHead, plan.getKeyTile());
    Value value =
        loadStep("load_v", std::nullopt, args.v, keyBlock, scalars.kvHead, plan.getValueTile());
    SmallVector<StageState> states = getStates(loop.getRegionIterArgs());
    for (int64_t stage = 0; stage < plan.stages; ++stage) {
      states[stage] =
          emitStage(stage, queries[stage], key, value, keyBlock, isFirst, isEdge, states[stage]);
    }
    SmallVector<Value> next;
    for (auto member : {&StageState::output, &StageState::reference, &StageState::sum}) {
      for (const StageState &state : states) {
        next.push_back(state.*member);
      }
    }
    scf::YieldOp::create(builder, loc, next);
  }
  return getStates(loop.getResults());
}

void KernelEmitter::emitResult(int64_t stage, StageState state) {
  FinishInputs inputs;
  inputs.output = state.output;
  inputs.reference = state.reference;
  inputs.sum = state.sum;
  inputs.sink = args.sink;
  if (args.lse) {
    inputs.lse = args.lse;
    inputs.batch = plan.isPacked() ? Value() : scalars.batch;
  }
  if (args.lse || args.sink) {
    inputs.head = scalars.head;
  }
  if (args.lse || plan.hasUsedLengths()) {
    inputs.queryBlock = scalars.queryBlocks[stage];
  }
  if (plan.hasUsedLengths()) {
    inputs.queryLength = scalars.queryLength;
  }
  Value result = step("finish", stage, flatten(inputs),
                      [&](ValueRange in) { emitFinish(builder, plan, refill(inputs, in)); })[0];
  step("store", stage, {result, args.o, scalars.batch, scalars.queryBlocks[stage], scalars.head},
       [&](ValueRange in) {
         tile::StoreOp::create(builder, loc, /*add=*/false, in[0], in[1],
                               plan.getTensorCoordinates(in[2], in[3], in[4]));
         tile::YieldOp::create(builder, loc);
       });
}

void KernelEmitter::emitTile() {
  SmallVector<Type> types;
  scalars.forEach([&](StringRef, Value value) {
    if (value) {
      types.push_back(builder.getI32Type());
    }
  });
  auto tiles =
      tile::ForEachTileOp::create(builder, loc, TypeRange(), work.getSymName(), ValueRange());
  Block *body = new Block();
  tiles.getBody().push_back(body);
  body->addArguments(types, SmallVector<Location>(types.size(), loc));
  auto next = body->args_begin();
  scalars.forEach([&](StringRef, Value &value) {
    if (value) {
      value = *next++;
    }
  });
  builder.setInsertionPointToEnd(body);
  cutTensors();
  SmallVector<Value> queries;
  SmallVector<StageState> states;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  Value output = splat(plan.getOutputType(), 0);
  Value reference = splat(plan.getRowType(), infinity);
  Value sum = splat(plan.getRowType(), 0);
  for (int64_t stage = 0; stage < plan.stages; ++stage) {
    queries.push_back(loadStep("load_q", stage, args.q, scalars.queryBlocks[stage], scalars.head,
                               plan.getQueryTile()));
    states.push_back({output, reference, sum});
  }
  states = emitLoop(queries, states);
  for (int64_t stage = 0; stage < plan.stages; ++stage) {
    emitResult(stage, states[stage]);
  }
  tile::YieldOp::create(builder, loc);
}

void KernelEmitter::run() {
  builder.setInsertionPointToStart(kernel.getEntry());
  emitWork();
  builder.setInsertionPointAfter(work);
  emitTile();
}

void fa4::emitKernelBody(OpBuilder &builder, const ForwardPlan &plan, tile::KernelOp kernel,
                         KernelArguments args) {
  KernelEmitter(builder, plan, kernel, args).run();
}
