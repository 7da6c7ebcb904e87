//===- FA4Attributes.td - targets and schedules ----------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both attributes hold one plain struct, shared with the planners, which know
// no IR.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_FA4_IR_FA4ATTRIBUTES_TD
#define FA4_DIALECT_FA4_IR_FA4ATTRIBUTES_TD

include "fa4/Dialect/FA4/IR/FA4Dialect.td"
include "mlir/IR/AttrTypeBase.td"

class FA4_Attr<string name, string attrMnemonic> : AttrDef<FA4_Dialect, name> {
  let mnemonic = attrMnemonic;
  let genVerifyDecl = 1;
  let hasCustomAssemblyFormat = 1;
}

def FA4_TargetAttr : FA4_Attr<"Target", "target"> {
  let summary = "everything the compiler may know of the chip";
  let description = [{
    All hardware numbers that passes and planners use, each from the table in
    `lib/Target/KnownTargets.cpp` or from the text itself:

    ```mlir
    #fa4.target<"sm_100a">                          // the row of that name
    #fa4.target<"sm_100a", tmem_columns = 256>      // the row, with changes
    ```

    A chip that is not in the table states every field. It prints in full, so
    that a dump does not depend on the table. As a module attribute it is called
    `fa4.target`.
  }];
  let parameters = (ins AttrParameter<"::fa4::TargetInfo", "the numbers",
                                      "const ::fa4::TargetInfo &">:$info);
}

def FA4_ScheduleAttr : FA4_Attr<"Schedule", "schedule"> {
  let summary = "the plan of one kernel";
  let description = [{
    How a kernel is tiled, pipelined, divided into roles and put into memory. It
    is input: whoever edits it into another legal schedule gets a right kernel.
    It names steps (`softmax[0]`) and results of steps (`softmax.1`), never
    values. `tile` counts the query rows of one stage and the keys of one block.

    ```mlir
    #fa4.schedule<forward, tile = 128 x 128, stages = 2,
      order = [softmax[0] at 1, qk[0] at 0],
      homes = [load_k = smem @kv x 3, qk = tmem @sp, softmax.0 = tmem @sp column 64 as p],
      roles = [softmax = {softmax} warps 4 x 2 at 0 regs 192, mma = {qk, pv} warps 1 at 12],
      split_p = [96, 32], rescale_log2_threshold = 8.0,
      exp2 = <degree 3, of 16 columns the last 4, chunks 1 to 2>>
    ```

    Constraints on the attribute itself (those that need a target are
    `attn-select-schedule`'s):
    - F1. Tile rows and columns are positive multiples of 16.
    - F2. `stages` is positive, `ctas` is 1 or 2; CTAs of a role are named exactly
      when `ctas` is 2.
    - F3. A step stands at most once in `order`, its index is below `stages`.
    - F4. A step has at most one home per result and runs in at most one role;
      the names of results differ.
    - F5. Roles have different names and disjoint warps.
    - F6. `split_p` adds up to the tile's columns in positive multiples of 16.
    - F7. The rescale threshold is finite and not negative.
    - F8. `exp2`: degree 3 to 5, 0 < last <= period, chunks in ascending order.
    - F9. No number is above 4096.
  }];
  let parameters = (ins AttrParameter<"::fa4::Schedule", "the plan",
                                      "const ::fa4::Schedule &">:$plan);
}

def FA4_ExtentRuleAttr : AttrDef<FA4_Dialect, "ExtentRule"> {
  let mnemonic = "extent_rule";
  let summary = "what a kernel takes for granted of two open extents";
  let description = [{
    Stands in the list `extents` of a `tile.launch`, whose operands it counts: one
    extent is another, or a multiple of it. A kernel reads only one of them, so a
    wrong one would give a wrong result; whoever launches it asks before.

    ```mlir
    #fa4.extent_rule<operand = 4, dim = 0, other_operand = 0, other_dim = 0>
    #fa4.extent_rule<operand = 0, dim = 2, other_operand = 1, other_dim = 2, multiple = true>
    ```

    Constraints: E1. No number is negative.
  }];
  let parameters = (ins "int64_t":$operand, "int64_t":$dim, "int64_t":$other_operand,
                        "int64_t":$other_dim, DefaultValuedParameter<"bool", "false">:$multiple);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif // FA4_DIALECT_FA4_IR_FA4ATTRIBUTES_TD
