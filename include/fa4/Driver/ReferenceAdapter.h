//===- ReferenceAdapter.h - attn.forward as a problem of the oracle -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the op itself, with its operands bound to arrays. Shares nothing with
// the lowering: what the two make of an op is compared by their results.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DRIVER_REFERENCEADAPTER_H
#define FA4_DRIVER_REFERENCEADAPTER_H

#include "fa4/Dialect/Attn/IR/AttnOps.h"
#include "fa4/Driver/HostArray.h"
#include "fa4/Reference/Attention.h"
#include "fa4/Reference/Check.h"

namespace fa4::driver {

/// What an operand of the op is bound to.
using Binding = llvm::function_ref<llvm::Expected<Argument>(mlir::Value operand)>;

/// The problem that `op` states. It keeps the bound arrays alive.
llvm::Expected<ref::Problem> buildProblem(attn::ForwardOp op, Binding bind);

/// The problem together with what the oracle says about it: made once, to judge
/// any number of results.
///
/// R2 grants lse twice the polynomial's error times its share. The share is that
/// of the row: the part of its sum that keys in polynomial columns make up. It is
/// 1 for a row whose only key stands in such a column, whatever the share of
/// columns is.
///
/// A score region works on f32 scores (M1). Where it cancels most of a score
/// (ALiBi against a large mean), what is left carries the rounding of the large
/// one, which R2's bound relative to lse cannot grant. With a score region a row may
/// therefore also be off by twice the plain f32 computation's largest error, as
/// R7 has it for o.
///
/// The host sums products in f64; a tensor core cuts every step off at f32. Where
/// a score is what is left of large products, that is more than R2 grants. Of a
/// device's results lse may therefore be off by twice the plain f32 computation's
/// largest error besides.
class ForwardOracle {
public:
  /// `schedule` says which columns take the polynomial; null: none.
  static llvm::Expected<ForwardOracle> create(attn::ForwardOp op, Binding bind,
                                              fa4::ScheduleAttr schedule, unsigned threads = 0);

  /// Says that the results to judge come from products summed in f32.
  void grantDeviceProducts();

  /// Judges results by R1, R2 and R7.
  ref::CheckReport check(const HostArray &output, const HostArray *lse) const;

private:
  void checkLse(const HostArray &lse, ref::CheckReport &report) const;
  double readLse(const HostArray &lse, int64_t b, int64_t h, int64_t i) const;
  ForwardOracle(attn::Layout layout, numerics::HalfKind type) : layout(layout), type(type) {}

  attn::Layout layout;
  numerics::HalfKind type;
  std::vector<int64_t> queryPrefix;
  ref::Results exact, plain;
  /// The problem with the keys of polynomial columns alone, and that
  /// polynomial's error.
  std::optional<ref::Results> polynomialKeys;
  double polynomialError = 0.0;
  /// What the score region's f32 may cost lse; 0 without one.
  double regionAllowance = 0.0;
  /// What products summed in f32 may cost lse; 0 on the host.
  double productAllowance = 0.0;
};

} // namespace fa4::driver

#endif // FA4_DRIVER_REFERENCEADAPTER_H
