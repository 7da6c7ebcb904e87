//===- Check.cpp - judging a kernel's results -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Comparisons are written so that a NaN anywhere makes them false, and only a
// true one counts as within the bound.
//
//===----------------------------------------------------------------------===//

#include "fa4/Reference/Check.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace fa4::ref {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// NaN orders as larger than anything, so that a maximum finds it.
double orderable(double error) { return std::isnan(error) ? kInfinity : error; }

/// A position as printed; `withElement` for o, without for lse.
std::string spell(const Position &at, bool withElement) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "[b = " << at.b << ", h = " << at.h << ", i = " << at.i;
  if (withElement) {
    stream << ", d = " << at.d;
  }
  stream << "]";
  return text;
}

class Judge {
public:
  Judge(const Results &exact, const Results &plain, const CheckOptions &options)
      : exact(exact), plain(plain), options(options) {}

  CheckReport run(const ElementAt &output, const LseAt &lse) {
    report.passed = true;
    for (int64_t b = 0; b < exact.batch(); ++b) {
      for (int64_t h = 0; h < exact.heads(); ++h) {
        for (int64_t i = 0; i < exact.rows(b); ++i) {
          visitOutput(output, b, h, i);
          if (lse) {
            visitLse(lse(b, h, i), {b, h, i, 0});
          }
        }
      }
    }
    judgeOutput(output);
    if (lse) {
      judgeLse(lse);
    }
    return report;
  }

private:
  void visitOutput(const ElementAt &output, int64_t b, int64_t h, int64_t i) {
    const double *exactRow = exact.output(b, h, i), *plainRow = plain.output(b, h, i);
    bool empty = exact.seenKeys(b, h, i) == 0;
    for (int64_t d = 0; d < exact.dim(); ++d) {
      double value = output(b, i, h, d);
      if (empty && value != 0.0 && report.passed) {
        fail() << "o" << spell({b, h, i, d}, true)
               << " (R1): expected the output of a row without keys to be 0, but got " << value;
      }
      double error = orderable(std::fabs(value - exactRow[d]));
      if (error > report.outputError) {
        report.outputError = error;
        report.worstOutput = {b, h, i, d};
      }
      report.plainError =
          std::max(report.plainError, orderable(std::fabs(plainRow[d] - exactRow[d])));
      largestOutput = std::max(largestOutput, orderable(std::fabs(exactRow[d])));
    }
  }

  void visitLse(double value, const Position &at) {
    double wanted = exact.lse(at.b, at.h, at.i);
    // Equal infinities differ by 0, not by NaN.
    double error = value == wanted ? 0.0 : orderable(std::fabs(value - wanted));
    double bound = std::isinf(wanted) ? 0.0 : lseBound(wanted, options);
    double used = error == 0.0 ? 0.0 : orderable(error / bound);
    if (used >= largestLseUse) {
      largestLseUse = used;
      report.lseError = error;
      report.lseBound = bound;
      report.worstLse = at;
    }
  }

  void judgeOutput(const ElementAt &output) {
    // R7. An oracle or plain result that is not finite leaves nothing to compare with.
    report.outputBound =
        2.0 * report.plainError + numerics::halfEpsilon(options.outputType) * largestOutput;
    if (report.outputError <= report.outputBound && std::isfinite(report.outputBound)) {
      return;
    }
    const Position &at = report.worstOutput;
    fail() << "o" << spell(at, true) << " (R7): expected the error to be at most "
           << report.outputBound << ", but got " << report.outputError << " ("
           << output(at.b, at.i, at.h, at.d) << " for " << exact.output(at.b, at.h, at.i)[at.d]
           << ")";
  }

  void judgeLse(const LseAt &lse) {
    if (largestLseUse <= 1.0) {
      return;
    }
    const Position &at = report.worstLse;
    fail() << "lse" << spell(at, false) << " (R2): expected the error to be at most "
           << report.lseBound << ", but got " << report.lseError << " (" << lse(at.b, at.h, at.i)
           << " for " << exact.lse(at.b, at.h, at.i) << ")";
  }

  /// Starts a line of the message.
  llvm::raw_ostream &fail() {
    report.passed = false;
    if (!report.message.empty()) {
      stream << '\n';
    }
    return stream;
  }

  const Results &exact, &plain;
  const CheckOptions &options;
  CheckReport report;
  llvm::raw_string_ostream stream{report.message};
  double largestOutput = 0.0, largestLseUse = 0.0;
};

} // namespace

double lseBound(double exactLse, const CheckOptions &options) {
  return 0x1p-20 * std::max(1.0, std::fabs(exactLse)) + 2.0 * options.exp2Error * options.exp2Share;
}

CheckReport checkResults(const Results &exact, const Results &plain, const ElementAt &output,
                         const LseAt &lse, const CheckOptions &options) {
  return Judge(exact, plain, options).run(output, lse);
}

} // namespace fa4::ref
