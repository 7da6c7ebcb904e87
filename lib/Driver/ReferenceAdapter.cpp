//===- ReferenceAdapter.cpp - attn.forward as a problem of the oracle -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Driver/ReferenceAdapter.h"

#include "fa4/Driver/RegionInterpreter.h"
#include "fa4/Numerics/Exp2.h"

using namespace mlir;

namespace fa4::driver {

namespace {
/// An array in one of the orders of S1, read by (b, s, h, d).
struct LayoutReader {
  std::shared_ptr<const HostArray> array;
  attn::Layout layout;
  std::vector<int64_t> prefix;

  double operator()(int64_t b, int64_t s, int64_t h, int64_t d) const {
    switch (layout) {
    case attn::Layout::BSHD:
      return array->get({b, s, h, d});
    case attn::Layout::BHSD:
      return array->get({b, h, s, d});
    case attn::Layout::THD:
      return array->get({prefix[b] + s, h, d});
    }
    llvm_unreachable("all layouts are handled");
  }
};

/// Collects the operands of one op; the first failure stays.
class Operands {
public:
  explicit Operands(Binding bind) : bind(bind) {}

  std::shared_ptr<HostArray> array(Value operand) {
    if (!operand || failed) {
      return nullptr;
    }
    llvm::Expected<Argument> argument = bind(operand);
    if (!argument) {
      fail(argument.takeError());
      return nullptr;
    }
    if (auto *held = std::get_if<std::shared_ptr<HostArray>>(&*argument)) {
      return *held;
    }
    fail(llvm::createStringError("expected an operand of attn.forward to be bound to an array, but "
                                 "got a scalar"));
    return nullptr;
  }
  std::vector<int64_t> integers(Value operand) {
    std::vector<int64_t> values;
    if (auto held = array(operand)) {
      held->forEach([&](llvm::ArrayRef<int64_t> index, int64_t) {
        values.push_back(static_cast<int64_t>(held->get(index)));
      });
    }
    return values;
  }
  std::vector<double> reals(Value operand) {
    std::vector<double> values;
    if (auto held = array(operand)) {
      held->forEach(
          [&](llvm::ArrayRef<int64_t> index, int64_t) { values.push_back(held->get(index)); });
    }
    return values;
  }
  std::shared_ptr<RegionInterpreter> region(Region &body, OperandRange captures) {
    llvm::SmallVector<Argument> bound;
    for (Value capture : captures) {
      llvm::Expected<Argument> argument = bind(capture);
      if (!argument) {
        fail(argument.takeError());
        return nullptr;
      }
      bound.push_back(*argument);
    }
    llvm::Expected<RegionInterpreter> interpreter = RegionInterpreter::create(body, bound);
    if (!interpreter) {
      fail(interpreter.takeError());
      return nullptr;
    }
    return std::make_shared<RegionInterpreter>(std::move(*interpreter));
  }
  llvm::Error take() { return std::move(error); }
  bool hasFailed() const { return failed; }

private:
  void fail(llvm::Error next) {
    if (failed) {
      llvm::consumeError(std::move(next));
      return;
    }
    llvm::cantFail(std::move(error));
    error = std::move(next);
    failed = true;
  }
  Binding bind;
  llvm::Error error = llvm::Error::success();
  bool failed = false;
};
} // namespace

static RegionValue realValue(double value) {
  RegionValue result;
  result.real = value;
  return result;
}
static RegionValue integerValue(int64_t value) {
  RegionValue result;
  result.integer = value;
  return result;
}

static std::vector<ref::PositionMask> readMasks(attn::ForwardOp op) {
  std::vector<ref::PositionMask> masks;
  for (attn::AttnMaskInterface attribute : op.getMaskList()) {
    ref::PositionMask mask;
    if (auto causal = dyn_cast<attn::CausalAttr>(attribute)) {
      mask.causal = true;
      mask.alignment = causal.getAlignment() == attn::MaskAlignment::TopLeft
                           ? ref::Alignment::TopLeft
                           : ref::Alignment::BottomRight;
    } else {
      auto window = cast<attn::WindowAttr>(attribute);
      mask.left = window.getLeft();
      mask.right = window.getRight();
      mask.alignment = window.getAlignment() == attn::MaskAlignment::TopLeft
                           ? ref::Alignment::TopLeft
                           : ref::Alignment::BottomRight;
    }
    masks.push_back(mask);
  }
  return masks;
}

static void readSizes(attn::ForwardOp op, const HostArray &q, const HostArray &k,
                      const HostArray &v, ref::Problem &problem) {
  bool packed = op.getLayout() == attn::Layout::THD;
  bool headsFirst = op.getLayout() == attn::Layout::BHSD;
  unsigned headDim = packed || headsFirst ? 1 : 2;
  problem.queryHeads = q.getShape()[headDim];
  problem.keyHeads = k.getShape()[headDim];
  problem.queryDim = q.getShape().back();
  problem.valueDim = v.getShape().back();
  if (packed) {
    problem.batch = static_cast<int64_t>(problem.queryPrefix.size()) - 1;
    return;
  }
  unsigned sequenceDim = headsFirst ? 2 : 1;
  problem.batch = q.getShape()[0];
  problem.queryLength = q.getShape()[sequenceDim];
  problem.keyLength = k.getShape()[sequenceDim];
}

/// Ids of a [B, S] array, or of a packed [T] one.
static std::function<int64_t(int64_t, int64_t)> documentReader(std::shared_ptr<HostArray> ids,
                                                               std::vector<int64_t> prefix) {
  if (!ids) {
    return nullptr;
  }
  return [ids = std::move(ids), prefix = std::move(prefix)](int64_t b, int64_t i) {
    double id = prefix.empty() ? ids->get({b, i}) : ids->get({prefix[b] + i});
    return static_cast<int64_t>(id);
  };
}

llvm::Expected<ref::Problem> buildProblem(attn::ForwardOp op, Binding bind) {
  if (op.getBatchOrigin()) {
    return llvm::createStringError(
        "expected attn.forward to be a whole problem, but got an origin");
  }
  Operands operands(bind);
  ref::Problem problem;
  auto q = operands.array(op.getQ());
  auto k = operands.array(op.getK());
  auto v = operands.array(op.getV());
  problem.queryPrefix = operands.integers(op.getQueryPrefixSums());
  problem.keyPrefix = operands.integers(op.getKeyPrefixSums());
  problem.queryUsed = operands.integers(op.getQueryUsedLengths());
  problem.keyUsed = operands.integers(op.getKeyUsedLengths());
  problem.positionOffsets = operands.integers(op.getPositionOffset());
  problem.sink = operands.reals(op.getSink());
  problem.queryDocument =
      documentReader(operands.array(op.getQueryDocuments()), problem.queryPrefix);
  problem.keyDocument = documentReader(operands.array(op.getKeyDocuments()), problem.keyPrefix);
  std::shared_ptr<RegionInterpreter> score, predicate;
  if (op.hasScoreRegion()) {
    score = operands.region(op.getScore(), op.getScoreCaptures());
  }
  if (op.hasPredicateRegion()) {
    predicate = operands.region(op.getPredicate(), op.getPredicateCaptures());
  }
  bool failed = operands.hasFailed();
  if (llvm::Error error = operands.take()) {
    return error;
  }
  if (failed) {
    return llvm::createStringError("expected every operand of attn.forward to be bound");
  }

  readSizes(op, *q, *k, *v, problem);
  problem.query = LayoutReader{q, op.getLayout(), problem.queryPrefix};
  problem.key = LayoutReader{k, op.getLayout(), problem.keyPrefix};
  problem.value = LayoutReader{v, op.getLayout(), problem.keyPrefix};
  problem.scale = static_cast<double>(op.getScaleOrDefault().convertToFloat());
  problem.masks = readMasks(op);
  if (score) {
    problem.score = [score](double s, int64_t b, int64_t h, int64_t i, int64_t j) {
      return score
          ->run({realValue(s), integerValue(b), integerValue(h), integerValue(i), integerValue(j)})
          .real;
    };
  }
  if (predicate) {
    problem.predicate = [predicate](int64_t b, int64_t h, int64_t i, int64_t j) {
      return predicate->run({integerValue(b), integerValue(h), integerValue(i), integerValue(j)})
                 .integer != 0;
    };
  }
  return problem;
}

llvm::Expected<ForwardOracle> ForwardOracle::create(attn::ForwardOp op, Binding bind,
                                                    unsigned threads) {
  llvm::Expected<ref::Problem> problem = buildProblem(op, bind);
  if (!problem) {
    return problem.takeError();
  }
  Type element = cast<ShapedType>(op.getQ().getType()).getElementType();
  ForwardOracle oracle(op.getLayout(),
                       element.isBF16() ? numerics::HalfKind::BF16 : numerics::HalfKind::F16);
  oracle.queryPrefix = problem->queryPrefix;
  llvm::Expected<ref::Results> exact = ref::evaluate(*problem, threads);
  if (!exact) {
    return exact.takeError();
  }
  llvm::Expected<ref::Results> plain = ref::evaluatePlainF32(*problem, oracle.type, threads);
  if (!plain) {
    return plain.takeError();
  }
  oracle.exact = std::move(*exact);
  oracle.plain = std::move(*plain);
  return oracle;
}

/// The part of a tile's columns that takes the polynomial.
static double polynomialShare(const Schedule &schedule) {
  const Exp2Share &share = *schedule.exp2;
  int64_t count = 0;
  for (int64_t column = 0; column < schedule.tileColumns; ++column) {
    constexpr int64_t chunkColumns = 32; // As #fa4.schedule counts chunks.
    int64_t chunk = column / chunkColumns;
    count += chunk >= share.firstChunk && chunk <= share.lastChunk &&
             column % share.period >= share.period - share.last;
  }
  return static_cast<double>(count) / static_cast<double>(schedule.tileColumns);
}

ref::CheckReport ForwardOracle::check(const HostArray &output, const HostArray *lse,
                                      ScheduleAttr schedule) const {
  ref::CheckOptions options;
  options.outputType = type;
  if (schedule && schedule.getPlan().exp2) {
    auto degree = static_cast<unsigned>(schedule.getPlan().exp2->degree);
    if (const numerics::Exp2TableRow *row = numerics::lookupExp2Row(degree)) {
      options.exp2Error = row->errorBound;
      options.exp2Share = polynomialShare(schedule.getPlan());
    }
  }
  // The caller keeps the array.
  LayoutReader reader{std::shared_ptr<const HostArray>(&output, [](const HostArray *) {}), layout,
                      queryPrefix};
  ref::LseAt lseAt;
  if (lse) {
    lseAt = [&](int64_t b, int64_t h, int64_t i) {
      return queryPrefix.empty() ? lse->get({b, h, i}) : lse->get({h, queryPrefix[b] + i});
    };
  }
  return ref::checkResults(exact, plain, reader, lseAt, options);
}

} // namespace fa4::driver
