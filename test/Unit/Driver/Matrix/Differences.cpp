//===- Differences.cpp - two results, element by element ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Differences.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/Format.h"

#include <algorithm>
#include <cmath>

using fa4::driver::HostArray;

namespace fa4::matrix {

/// One unit in the last place of `type` at `value`.
static double unitAt(support::NpyType type, double value) {
  const bool isHalf = type == support::NpyType::F16, isBrain = type == support::NpyType::BF16;
  const int fraction = isHalf ? 10 : isBrain ? 7 : 23, least = isHalf ? -14 : -126;
  return std::ldexp(1.0, (value == 0 ? least : std::max(std::ilogb(value), least)) - fraction);
}

void Difference::add(const Difference &more) {
  elements += more.elements;
  others += more.others;
  units = std::max(units, more.units);
}

void Difference::print(llvm::raw_ostream &os) const {
  os << others << " of " << elements << " elements differ, by " << llvm::format("%.1f", units)
     << " ulp at most";
}

Difference findDifference(const HostArray &a, const HostArray &b, SizeAt sizeAt) {
  Difference result;
  a.forEach([&](llvm::ArrayRef<int64_t> index, int64_t) {
    double x = a.get(index), y = b.get(index);
    ++result.elements;
    // Every element is exact in a double, whose bits tell zeros and NaNs apart.
    if (llvm::bit_cast<uint64_t>(x) == llvm::bit_cast<uint64_t>(y)) {
      return;
    }
    ++result.others;
    double distance = HUGE_VAL;
    if (std::isfinite(x) && std::isfinite(y)) {
      double size = std::max({std::fabs(x), std::fabs(y), sizeAt ? sizeAt(index) : 0.0});
      distance = std::fabs(x - y) / unitAt(a.getType(), size);
    }
    if (result.worst.empty() || distance > result.units) {
      result.worst.assign(index.begin(), index.end());
      result.units = distance;
    }
  });
  return result;
}

void Differences::add(const CaseDifference &output, const CaseDifference &logits,
                      const std::string &text) {
  std::lock_guard<std::mutex> lock(mutex);
  ++cases;
  bool equal = output.plain.others + logits.plain.others == 0;
  equalCases += equal;
  nearCases += std::max(output.plain.units, logits.plain.units) <= kUnitsOfFunctions;
  for (auto [all, one] : {std::pair(&allOutput, &output), std::pair(&allLogits, &logits)}) {
    all->plain.add(one->plain);
    all->ofTerms.add(one->ofTerms);
  }
  if (!equal && !text.empty()) {
    llvm::outs() << "     o: ";
    output.plain.print(llvm::outs());
    llvm::outs() << "; lse: ";
    logits.plain.print(llvm::outs());
    llvm::outs() << "; " << text << '\n';
  }
}

void Differences::print(llvm::raw_ostream &os) const {
  os << "beside the simulator: " << equalCases << " of " << cases << " cases equal bit by bit, "
     << nearCases << llvm::format(" within %.0f ulp; o: ", kUnitsOfFunctions);
  allOutput.plain.print(os);
  os << llvm::format(", %.2f of their terms; lse: ", allOutput.ofTerms.units);
  allLogits.plain.print(os);
  os << llvm::format(", %.2f of their terms\n", allLogits.ofTerms.units);
}

} // namespace fa4::matrix
