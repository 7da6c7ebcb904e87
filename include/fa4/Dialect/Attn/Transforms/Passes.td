//===- Passes.td - passes on attn ------------------------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_ATTN_TRANSFORMS_PASSES_TD
#define FA4_DIALECT_ATTN_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttnLegalize : Pass<"attn-legalize", "mlir::func::FuncOp"> {
  let summary = "Make defaults of attention explicit and simplify its masks";
  let description = [{
    Requires: nothing.

    Ensures, for each `attn.forward`: `scale` and `scale_placement` are stated.
    The mask list has at most one mask per alignment, the intersection of those
    that were given (M5), and none that keeps every key of the static extents;
    where extents make both alignments equal, one. A score region that gives the
    score back and a predicate that is always true are gone. Running it again
    changes nothing.

    Fails: never.
  }];
  let dependentDialects = ["::fa4::attn::AttnDialect"];
  let statistics = [
    Statistic<"numLegalized", "num-legalized", "Number of ops that were changed">,
    Statistic<"numMasksRemoved", "num-masks-removed", "Number of masks merged or dropped">
  ];
}

def AttnSelectSchedule : Pass<"attn-select-schedule", "mlir::func::FuncOp"> {
  let summary = "Give each attention a schedule that fits the target";
  let description = [{
    Requires: `fa4.target` on the module.

    Ensures: each `attn.forward` has a `schedule` that passes the resource check
    of the target. What one that is there already states is kept; what it leaves
    open is planned as if nothing had been asked for. Analysis remarks say what was
    chosen, what it takes of the chip and which unit bounds it.

    Fails when there is no target, when a schedule that was asked for breaks a
    limit (the error names it, both numbers and the nearest legal tile), and when
    no schedule fits the head dims (it names the largest that some schedule fits).
  }];
  let dependentDialects = ["::fa4::attn::AttnDialect"];
  let statistics = [
    Statistic<"numSelected", "num-selected", "Number of schedules chosen">,
    Statistic<"numHonoured", "num-honoured", "Number of requested schedules kept">
  ];
}

#endif // FA4_DIALECT_ATTN_TRANSFORMS_PASSES_TD
