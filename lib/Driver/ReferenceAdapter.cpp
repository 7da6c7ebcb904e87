//===- ReferenceAdapter.cpp - attn.forward as a problem of the oracle -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Driver/ReferenceAdapter.h"

#include "fa4/Driver/RegionInterpreter.h"
#include "fa4/Numerics/Exp2.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <limits>

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

/// Whether key j stands in a column that takes the polynomial. Blocks of keys
/// start at multiples of the tile's columns.
static bool isPolynomialKey(const Schedule &schedule, int64_t j) {
  constexpr int64_t chunkColumns = 32; // As #fa4.schedule counts chunks.
  const Exp2Share &share = *schedule.exp2;
  int64_t column = j % schedule.tileColumns;
  int64_t chunk = column / chunkColumns;
  return chunk >= share.firstChunk && chunk <= share.lastChunk &&
         column % share.period >= share.period - share.last;
}

/// The largest difference of lse over the rows where both are finite.
static double largestLseError(const ref::Results &exact, const ref::Results &plain) {
  double largest = 0.0;
  for (int64_t b = 0; b < exact.batch(); ++b) {
    for (int64_t h = 0; h < exact.heads(); ++h) {
      for (int64_t i = 0; i < exact.rows(b); ++i) {
        double error = std::fabs(exact.lse(b, h, i) - plain.lse(b, h, i));
        largest = std::isfinite(error) ? std::max(largest, error) : largest;
      }
    }
  }
  return largest;
}

llvm::Expected<ForwardOracle> ForwardOracle::create(attn::ForwardOp op, Binding bind,
                                                    ScheduleAttr schedule, unsigned threads) {
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
  if (op.hasScoreRegion()) {
    oracle.regionAllowance = 2.0 * largestLseError(oracle.exact, oracle.plain);
  }
  if (!schedule || !schedule.getPlan().exp2) {
    return oracle;
  }
  const Schedule &plan = schedule.getPlan();
  const numerics::Exp2TableRow *row =
      numerics::lookupExp2Row(static_cast<unsigned>(plan.exp2->degree));
  if (!row) {
    return llvm::createStringError("expected the schedule's exp2 polynomial to be of a degree with "
                                   "a known error, but got " +
                                   llvm::Twine(plan.exp2->degree));
  }
  oracle.polynomialError = row->errorBound;
  problem->sink.clear();
  problem->predicate = [kept = problem->predicate, plan](int64_t b, int64_t h, int64_t i,
                                                         int64_t j) {
    return isPolynomialKey(plan, j) && (!kept || kept(b, h, i, j));
  };
  llvm::Expected<ref::Results> polynomialKeys = ref::evaluate(*problem, threads);
  if (!polynomialKeys) {
    return polynomialKeys.takeError();
  }
  oracle.polynomialKeys = std::move(*polynomialKeys);
  return oracle;
}

void ForwardOracle::grantDeviceProducts() {
  productAllowance = 2.0 * largestLseError(exact, plain);
}

double ForwardOracle::readLse(const HostArray &lse, int64_t b, int64_t h, int64_t i) const {
  return queryPrefix.empty() ? lse.get({b, h, i}) : lse.get({h, queryPrefix[b] + i});
}

/// R2 row by row, since the share differs from row to row. What the report
/// names as worst is the row that comes closest to its bound.
void ForwardOracle::checkLse(const HostArray &lse, ref::CheckReport &report) const {
  double worstRatio = -1.0;
  for (int64_t b = 0; b < exact.batch(); ++b) {
    for (int64_t h = 0; h < exact.heads(); ++h) {
      for (int64_t i = 0; i < exact.rows(b); ++i) {
        double expected = exact.lse(b, h, i);
        double got = readLse(lse, b, h, i);
        if (std::isinf(expected) && got == expected) {
          continue;
        }
        ref::CheckOptions options;
        if (polynomialKeys) {
          options.exp2Error = polynomialError;
          options.exp2Share = std::exp(polynomialKeys->lse(b, h, i) - expected);
        }
        double bound =
            std::max(ref::lseBound(expected, options), regionAllowance) + productAllowance;
        double error = std::fabs(got - expected);
        double ratio = error <= bound ? error / bound : std::numeric_limits<double>::infinity();
        if (ratio > worstRatio) {
          worstRatio = ratio;
          report.lseError = error;
          report.lseBound = bound;
          report.worstLse = {b, h, i, 0};
        }
      }
    }
  }
  if (std::isinf(worstRatio)) {
    const ref::Position &at = report.worstLse;
    report.passed = false;
    llvm::raw_string_ostream(report.message)
        << "lse[b = " << at.b << ", h = " << at.h << ", i = " << at.i
        << "] (R2): expected the error to be at most " << report.lseBound << ", but got "
        << report.lseError << " (" << readLse(lse, at.b, at.h, at.i) << " for "
        << exact.lse(at.b, at.h, at.i) << ")\n";
  }
}

ref::CheckReport ForwardOracle::check(const HostArray &output, const HostArray *lse) const {
  ref::CheckOptions options;
  options.outputType = type;
  // The caller keeps the array.
  LayoutReader reader{std::shared_ptr<const HostArray>(&output, [](const HostArray *) {}), layout,
                      queryPrefix};
  ref::CheckReport report = ref::checkResults(exact, plain, reader, nullptr, options);
  if (lse) {
    checkLse(*lse, report);
  }
  return report;
}

} // namespace fa4::driver
