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
class ForwardOracle {
public:
  static llvm::Expected<ForwardOracle> create(attn::ForwardOp op, Binding bind,
                                              unsigned threads = 0);

  /// Judges results by R1, R2 and R7; `schedule` says how exp2 was computed.
  ref::CheckReport check(const HostArray &output, const HostArray *lse,
                         fa4::ScheduleAttr schedule) const;
  const ref::Results &getExact() const { return exact; }

private:
  ForwardOracle(attn::Layout layout, numerics::HalfKind type) : layout(layout), type(type) {}

  attn::Layout layout;
  numerics::HalfKind type;
  std::vector<int64_t> queryPrefix;
  ref::Results exact, plain;
};

} // namespace fa4::driver

#endif // FA4_DRIVER_REFERENCEADAPTER_H
