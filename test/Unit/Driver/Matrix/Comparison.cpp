//===- Comparison.cpp - a GPU's results beside the simulator's ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Errors are by allowance: 1 is all that R7 grants o, or R2 lse without a score
// region, a polynomial or a device's products.
//
//===----------------------------------------------------------------------===//

#include "Comparison.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"

#include <cmath>

using fa4::driver::HostArray;
using Index = llvm::ArrayRef<int64_t>;

namespace fa4::matrix {

static void describeWorst(llvm::raw_ostream &os, const char *name, const HostArray &here,
                          const HostArray &simulated, const CaseDifference &difference,
                          double exact, double bound) {
  const Difference &plain = difference.plain;
  auto use = [&](double value) { return std::fabs(value - exact) / bound; };
  double x = here.get(plain.worst), y = simulated.get(plain.worst);
  os << "\n       " << name << '[';
  llvm::interleaveComma(plain.worst, os);
  os << llvm::format("] %.9g, simulator %.9g, exact %.9g; errors by allowance %.3g and %.3g; ", x,
                     y, exact, use(x), use(y))
     << llvm::format("%.1f ulp, all elements %.2f of their terms; ", plain.units,
                     difference.ofTerms.units);
}

llvm::Expected<Comparison> compareOutputs(Outputs here, Outputs simulated, double outputBound,
                                          llvm::function_ref<llvm::Expected<Terms>()> makeTerms) {
  Comparison result;
  CaseDifference &output = result.output, &logits = result.logits;
  output.plain = output.ofTerms = findDifference(here.output, simulated.output);
  logits.plain = logits.ofTerms = findDifference(here.lse, simulated.lse);
  if (std::max(output.plain.units, logits.plain.units) <= kUnitsOfFunctions) {
    return result;
  }
  llvm::Expected<Terms> terms = makeTerms();
  if (!terms) {
    return terms.takeError();
  }
  output.ofTerms = findDifference(here.output, simulated.output,
                                  [&](Index index) { return terms->ofOutput(index); });
  logits.ofTerms =
      findDifference(here.lse, simulated.lse, [&](Index index) { return terms->ofLse(index); });
  llvm::raw_string_ostream os(result.worst);
  if (output.plain.others) {
    Index worst = output.plain.worst;
    describeWorst(os, "o", here.output, simulated.output, output, terms->exactOutput(worst),
                  outputBound);
    os << llvm::format("sum of |p v| %.6g", terms->ofOutput(worst));
  }
  if (logits.plain.others) {
    Index worst = logits.plain.worst;
    double exact = terms->exactLse(worst);
    describeWorst(os, "lse", here.lse, simulated.lse, logits, exact, ref::lseBound(exact, {}));
    os << llvm::format("terms %.6g, of scores %.6g", terms->ofLse(worst), terms->ofScores(worst));
  }
  return result;
}

} // namespace fa4::matrix
