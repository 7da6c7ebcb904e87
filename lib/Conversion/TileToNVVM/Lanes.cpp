//===- Lanes.cpp - cutting and joining a thread's columns -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Renaming of registers, and what lanes of a warp agree on: no column is computed here.
//
//===----------------------------------------------------------------------===//

#include "Values.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;

namespace fa4::tile::gpu {

Value floatConstant(ImplicitLocOpBuilder &b, Type type, double value) {
  Attribute scalar = b.getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type)) {
    return arith::ConstantOp::create(b, DenseElementsAttr::get(vector, scalar));
  }
  return arith::ConstantOp::create(b, cast<TypedAttr>(scalar));
}

Value intConstant(ImplicitLocOpBuilder &b, Type type, int64_t value) {
  Attribute scalar = b.getIntegerAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type)) {
    return arith::ConstantOp::create(b, DenseElementsAttr::get(vector, scalar));
  }
  return arith::ConstantOp::create(b, cast<TypedAttr>(scalar));
}

static int64_t widthOf(Value vector) { return cast<VectorType>(vector.getType()).getDimSize(0); }

Value broadcast(ImplicitLocOpBuilder &b, Value value, int64_t width) {
  if (isa<VectorType>(value.getType())) {
    return value;
  }
  return vector::BroadcastOp::create(b, VectorType::get({width}, value.getType()), value);
}

namespace {
/// Where a lane comes from: a lane of `vector`, or `scalar` itself.
struct LaneSource {
  Value vector;
  int64_t lane = 0;
  Value scalar = Value();
};
} // namespace

/// Past what only renames registers, so that it is never built for the lane's sake.
static LaneSource findSource(Value vector, int64_t lane) {
  while (true) {
    if (auto joined = vector.getDefiningOp<vector::FromElementsOp>()) {
      return {vector, lane, joined.getElements()[lane]};
    }
    auto shuffle = vector.getDefiningOp<LLVM::ShuffleVectorOp>();
    int32_t picked = shuffle ? shuffle.getMask()[lane] : -1;
    if (picked < 0) {
      return {vector, lane};
    }
    int64_t lanes = widthOf(shuffle.getV1());
    vector = picked < lanes ? shuffle.getV1() : shuffle.getV2();
    lane = picked % lanes;
  }
}

Value pickLanes(ImplicitLocOpBuilder &b, Value vector, ArrayRef<int32_t> lanes) {
  SmallVector<LaneSource> sources =
      llvm::map_to_vector(lanes, [&](int32_t lane) { return findSource(vector, lane); });
  if (llvm::all_of(sources, [](const LaneSource &source) { return source.scalar; })) {
    return fromLanes(
        b, getElementTypeOrSelf(vector),
        llvm::map_to_vector(sources, [](const LaneSource &source) { return source.scalar; }));
  }
  Value first = sources.front().vector;
  if (llvm::any_of(sources, [&](const LaneSource &source) { return source.vector != first; })) {
    return LLVM::ShuffleVectorOp::create(b, vector, vector, lanes);
  }
  return LLVM::ShuffleVectorOp::create(b, first, first,
                                       llvm::map_to_vector(sources, [](const LaneSource &source) {
                                         return static_cast<int32_t>(source.lane);
                                       }));
}

Value takeLanes(ImplicitLocOpBuilder &b, Value vector, int64_t begin, int64_t width) {
  if (begin == 0 && width == widthOf(vector)) {
    return vector;
  }
  SmallVector<int32_t> lanes(width);
  std::iota(lanes.begin(), lanes.end(), static_cast<int32_t>(begin));
  return pickLanes(b, vector, lanes);
}

/// `vector` with lanes of no value behind it: a shuffle takes two equal types.
static Value widen(ImplicitLocOpBuilder &b, Value vector, int64_t width) {
  int64_t lanes = widthOf(vector);
  if (lanes == width) {
    return vector;
  }
  SmallVector<int32_t> mask(width, -1);
  std::iota(mask.begin(), mask.begin() + lanes, 0);
  return LLVM::ShuffleVectorOp::create(b, vector, vector, mask);
}

static Value joinTwo(ImplicitLocOpBuilder &b, Value low, Value high) {
  int64_t lowLanes = widthOf(low);
  int64_t highLanes = widthOf(high);
  int64_t common = std::max(lowLanes, highLanes);
  SmallVector<int32_t> mask(lowLanes + highLanes);
  std::iota(mask.begin(), mask.begin() + lowLanes, 0);
  std::iota(mask.begin() + lowLanes, mask.end(), static_cast<int32_t>(common));
  return LLVM::ShuffleVectorOp::create(b, widen(b, low, common), widen(b, high, common), mask);
}

/// The lanes of `pieces` if each of them is a scalar already.
static std::optional<SmallVector<Value>> findScalars(ArrayRef<Value> pieces) {
  SmallVector<Value> scalars;
  for (Value piece : pieces) {
    for (int64_t lane = 0, end = widthOf(piece); lane < end; ++lane) {
      Value scalar = findSource(piece, lane).scalar;
      if (!scalar) {
        return std::nullopt;
      }
      scalars.push_back(scalar);
    }
  }
  return scalars;
}

Value joinLanes(ImplicitLocOpBuilder &b, ArrayRef<Value> pieces) {
  if (pieces.size() > 1) {
    if (std::optional<SmallVector<Value>> scalars = findScalars(pieces)) {
      return fromLanes(b, getElementTypeOrSelf(pieces.front()), *scalars);
    }
  }
  SmallVector<Value> level(pieces);
  while (level.size() > 1) {
    SmallVector<Value> next;
    for (size_t index = 0; index + 1 < level.size(); index += 2) {
      next.push_back(joinTwo(b, level[index], level[index + 1]));
    }
    if (level.size() % 2 == 1) {
      next.push_back(level.back());
    }
    level = std::move(next);
  }
  return level.front();
}

Value takeLane(ImplicitLocOpBuilder &b, Value vector, int64_t lane) {
  LaneSource source = findSource(vector, lane);
  return source.scalar ? source.scalar
                       : vector::ExtractOp::create(b, source.vector, source.lane).getResult();
}

SmallVector<Value> takeAllLanes(ImplicitLocOpBuilder &b, Value vector) {
  SmallVector<Value> lanes;
  for (int64_t lane = 0, end = widthOf(vector); lane < end; ++lane) {
    lanes.push_back(takeLane(b, vector, lane));
  }
  return lanes;
}

Value fromLanes(ImplicitLocOpBuilder &b, Type element, ArrayRef<Value> lanes) {
  auto type = VectorType::get({static_cast<int64_t>(lanes.size())}, element);
  return vector::FromElementsOp::create(b, type, lanes);
}

Value toWords(ImplicitLocOpBuilder &b, Value value) {
  auto vector = dyn_cast<VectorType>(value.getType());
  if (!vector) {
    value = broadcast(b, value, 1);
    vector = cast<VectorType>(value.getType());
  }
  int64_t bytes = vector.getDimSize(0) * getElementBytes(vector.getElementType());
  return LLVM::BitcastOp::create(b, VectorType::get({bytes / kWordBytes}, b.getI32Type()), value);
}

Value fromWords(ImplicitLocOpBuilder &b, Value words, Type type) {
  auto vector = dyn_cast<VectorType>(type);
  Value value =
      LLVM::BitcastOp::create(b, vector ? vector : VectorType::get({widthOf(words)}, type), words);
  return vector ? value : takeLane(b, value, 0);
}

Value emitPtx(ImplicitLocOpBuilder &b, Type result, ValueRange operands, StringRef text,
              StringRef constraints, bool hasSideEffects) {
  return LLVM::InlineAsmOp::create(b, result ? TypeRange{result} : TypeRange{}, operands, text,
                                   constraints, hasSideEffects, /*is_align_stack=*/false,
                                   LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr())
      .getRes();
}

/// LLVM's constraint for a register of `type`.
static char registerLetter(Type type) {
  if (type.isF32()) {
    return 'f';
  }
  return type.isInteger(64) ? 'l' : 'r';
}

SmallVector<Value> emitPtxOnLanes(ImplicitLocOpBuilder &b, ArrayRef<Value> lanes, ValueRange inputs,
                                  StringRef text, bool clobbersMemory) {
  SmallVector<std::string> constraints;
  for (Value lane : lanes) {
    constraints.push_back(std::string("=") + registerLetter(lane.getType()));
  }
  for (size_t lane = 0; lane < lanes.size(); ++lane) {
    constraints.push_back(std::to_string(lane));
  }
  for (Value input : inputs) {
    constraints.emplace_back(1, registerLetter(input.getType()));
  }
  if (clobbersMemory) {
    constraints.emplace_back("~{memory}");
  }
  SmallVector<Value> operands(lanes);
  llvm::append_range(operands, inputs);
  SmallVector<Type> types = llvm::to_vector(ValueRange(lanes).getTypes());
  Type result =
      types.size() == 1 ? types.front() : LLVM::LLVMStructType::getLiteral(b.getContext(), types);
  Value all = emitPtx(b, result, operands, text, llvm::join(constraints, ","),
                      /*hasSideEffects=*/true);
  if (lanes.size() == 1) {
    return {all};
  }
  SmallVector<Value> results;
  for (size_t lane = 0; lane < lanes.size(); ++lane) {
    results.push_back(LLVM::ExtractValueOp::create(b, all, static_cast<int64_t>(lane)));
  }
  return results;
}

Value anyLane(ImplicitLocOpBuilder &b, Value condition) {
  return NVVM::VoteSyncOp::create(b, b.getI1Type(), intConstant(b, b.getI32Type(), kAllLanes),
                                  condition, NVVM::VoteSyncKind::any);
}

void orderBehind(ImplicitLocOpBuilder &b, ArrayRef<Value> lanes, Value smem,
                 const Lowering &lowering) {
  // Shared memory starts at no such address, which no tool knows. Each boundary has its
  // own: ptxas drops a second test of what a first one has decided.
  uint32_t address = ~lowering.takeBoundaryNumber();
  std::string text =
      "{ .reg .pred never; setp.eq.u32 never, $0, " + std::to_string(address) + "; @never exit; }";
  SmallVector<Value> operands{smem};
  std::string constraints = "r";
  for (Value lane : lanes) {
    operands.push_back(lane);
    constraints += std::string(",") + registerLetter(lane.getType());
  }
  emitPtx(b, Type(), operands, text, constraints, /*hasSideEffects=*/true);
}

} // namespace fa4::tile::gpu
