//===- TileProgramOps.td - T0: kernels, work, steps -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What gives a kernel its names: work, defs and steps. Kernel, work and the tile
// loop stay through T2.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_IR_TILEPROGRAMOPS_TD
#define FA4_DIALECT_TILE_IR_TILEPROGRAMOPS_TD

include "fa4/Dialect/FA4/IR/FA4Attributes.td"
include "fa4/Dialect/Tile/IR/TileAttrs.td"
include "fa4/Dialect/Tile/IR/TileTypes.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_KernelOp : Tile_Op<"kernel", T0T1T2, [IsolatedFromAbove, HasParent<"::mlir::ModuleOp">, Symbol,
    SymbolTable, NoTerminator, SingleBlock]> {
  let summary = "one kernel: its memory map, work, steps or roles";
  let description = [{
    Stands in a module. Arguments are globals and scalars. `target` holds the
    hardware facts, `schedule` the plan.

    ```mlir
    tile.kernel @fwd(%Q: !g, %c: f32) target(#fa4.target<"sm_100a">) schedule(#fwd) {
      tile.work ...
      tile.for_each_tile ...
    }
    ```

    Constraints:
    * (C1) arguments are `!tile.global` or scalars;
    * (C2) exactly one `tile.work`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FA4_TargetAttr:$target, FA4_ScheduleAttr:$schedule);
  let regions = (region SizedRegion<1>:$body);
  // Custom: arguments are printed with their types, as a function's are.
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block *getEntry() { return &getBody().front(); }
    /// The kernel's one work.
    WorkOp getWork();
  }];
}

def Tile_WorkOp : Tile_Op<"work", T0T1T2, [IsolatedFromAbove, HasParent<"KernelOp">, Symbol,
    SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<OpAsmOpInterface>]> {
  let summary = "which tiles there are, and the scalars of each";
  let description = [{
    The one place where tile indices become coordinates and trip counts. There
    are `tiles` tiles, numbered from 0 (none if it is not positive). The region
    sees the tile's number, then the used scalars under their outer names, and
    yields the results. Facts `a <= b` are made true, in the order given: a
    constant or result below a lower bound is raised to it (`c <= %x`), one
    above an upper bound is lowered to it (`%x <= c`, `%x <= %y` change `%x`).

    ```mlir
    tile.work @work(%t) tiles(%nt) uses(%sq, %hq : i32, i32) -> (%q0, %h, %n) facts(1 <= %n) {
      ...
      tile.yield %q0, %h, %n : i32, i32, i32
    }
    ```

    Constraints:
    * (C1) the region's arguments are an i32 and the used scalars;
    * (C2) one yielded i32 per result name, and the names differ;
    * (C3) facts speak of results and constants, at least one of them a result;
    * (C4) the region has no memory effect but fetching from globals.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I32:$tiles, Variadic<AnyType>:$uses,
                       StrArrayAttr:$result_names, Tile_FactArrayAttr:$facts);
  let regions = (region SizedRegion<1>:$body);
  // Custom: results and facts are spelled with the results' names.
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    unsigned getNumWorkResults() { return getResultNames().size(); }
    ::mlir::StringRef getResultName(unsigned index) {
      return ::llvm::cast<::mlir::StringAttr>(getResultNames()[index]).getValue();
    }
    /// The number of the result called `name`, if there is one.
    std::optional<unsigned> findResult(::mlir::StringRef name);
    /// Whether the facts state `constant <= result`.
    bool impliesAtLeast(unsigned result, int64_t constant);
    YieldOp getYield();
    void getAsmBlockArgumentNames(::mlir::Region &region, ::mlir::OpAsmSetValueNameFn setNameFn);
  }];
}

def Tile_ForEachTileOp : Tile_Op<"for_each_tile", T0T1T2, [SingleBlockImplicitTerminator<"YieldOp">,
    RecursiveMemoryEffects, DeclareOpInterfaceMethods<OpAsmOpInterface>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    DeclareOpInterfaceMethods<RegionBranchOpInterface, ["getEntrySuccessorOperands"]>]> {
  let summary = "the loop over tiles";
  let description = [{
    At T0 it visits every tile of the work in order; inside a role, those of
    its CTA: which they are is said by the schedule's `work`, and where that is
    dynamic, by the `tile.next_tile` in the body. Arguments are the results of the work in order, then the carried
    values.

    ```mlir
    %kv2 = tile.for_each_tile (%q0, %h, %n) in @work iter_args(%kv = %kv0) -> (!tile.cursor<3>) {
      ...
      tile.yield %kv1 : !tile.cursor<3>
    }
    ```

    Constraints:
    * (C1) the leading arguments are i32, the rest have the types of the inits;
    * (C2) the yielded values have the types of the results, which are those of the inits;
    * (C3) the source is the kernel's work, with as many results.
  }];
  let arguments = (ins FlatSymbolRefAttr:$source, Variadic<AnyType>:$inits);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  // Custom: the loop's arguments are named in the header.
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    unsigned getNumTileArgs() { return getBody().getNumArguments() - getInits().size(); }
    ::mlir::Block::BlockArgListType getTileArgs() {
      return getBody().getArguments().take_front(getNumTileArgs());
    }
    ::mlir::Block::BlockArgListType getIterArgs() {
      return getBody().getArguments().drop_front(getNumTileArgs());
    }
    YieldOp getYield();
    void getAsmBlockArgumentNames(::mlir::Region &region, ::mlir::OpAsmSetValueNameFn setNameFn);
  }];
}

def Tile_NextTileOp : Tile_Op<"next_tile", T1T2, [HasParent<"ForEachTileOp">,
    MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "which tile the loop goes on with";
  let description = [{
    The number of a tile, or a negative one: the loop ends.

    ```mlir
    %n = tile.read %u as @Next : i32
    tile.next_tile %n
    ```

    Constraints:
    * (C1) the number is what `tile.read` found, so all roles of a CTA see the same;
    * (C2) one in each tile loop if the schedule's work is dynamic, none otherwise.
  }];
  let arguments = (ins I32:$number);
  let assemblyFormat = "$number attr-dict";
  let hasVerifier = 1;
}

def Tile_DefOp : Tile_Op<"def", T0, [IsolatedFromAbove, ParentOneOf<["KernelOp", "::mlir::ModuleOp"]>,
    Symbol, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "a function on tiles that steps call";
  let description = [{
    Its only memory effects are loads from, fetches from and stores to globals.
    Stands in a kernel, or in the module for several kernels.

    ```mlir
    tile.def @rescale(%o: !S, %a: !row) -> !S {
      %r = tile.scale_rows %o by %a likely_one : !S, !row
      tile.yield %r : !S
    }
    ```

    Constraints:
    * (C1) the region's arguments are the inputs of the type;
    * (C2) the yielded types are the results of the type;
    * (C3) no step inside.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type);
  let regions = (region SizedRegion<1>:$body);
  // Custom: a signature, as a function's.
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::StringRef":$name, "::mlir::FunctionType":$type,
      CArg<"::llvm::function_ref<void(::mlir::OpBuilder &, ::mlir::Location, ::mlir::ValueRange)>",
           "nullptr">:$body)>];
  let extraClassDeclaration = [{
    YieldOp getYield();
  }];
}

def Tile_StepOp : Tile_NamedOp<"step", "r", T0, [AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "one call of a def: what schedules and roles speak of";
  let description = [{
    The index says which of several equal steps this is; `@load_k` without an
    index and `@qk[0]` are different names. With `unless(%skip)` a true
    `%skip` leaves the step out and passes its first operands through as results.

    ```mlir
    %r = tile.step @rescale[0](%o, %a) unless(%first) : (!S, !row) -> !S
    ```

    Constraints:
    * (C1) the callee is a def of these operand and result types;
    * (C2) the index is not negative;
    * (C3) with `unless`, the results have the types of the first operands.
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, OptionalAttr<Tile_NumberAttr>:$index,
                       Variadic<AnyType>:$inputs, Optional<I1>:$unless);
  let results = (outs Variadic<AnyType>:$outputs);
  let assemblyFormat = [{
    $callee (`` `[` $index^ `]`)? `` `(` $inputs `)` (`unless` `(` $unless^ `)`)? attr-dict
    `:` functional-type($inputs, $outputs)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = nameResults # [{
    /// The def this step calls; null if there is none. Looks outward from the
    /// step's kernel to the module.
    DefOp getDef();
    DefOp getDef(::mlir::SymbolTableCollection &tables);
    /// The step's name as schedules and diagnostics write it: `qk[0]`, `load_k`.
    std::string getStepName();
  }];
}

def Tile_ExtentRules : TypedArrayAttrBase<FA4_ExtentRuleAttr, "an array of #fa4.extent_rule">;

def Tile_LaunchOp : Tile_Op<"launch", T0T1T2, [DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "runs a kernel, on the host";
  let description = [{
    ```mlir
    tile.launch @fwd(%q, %c, %nt) : memref<?x?x?x128xbf16>, f32, i32
    ```

    Constraints:
    * (C1) the kernel exists in the module, as a `tile.kernel` or lowered, as a
      function with `fa4.launch`;
    * (C2) one operand per kernel argument: a memref of the rank and element type
      of a `!tile.global`, the same type for a scalar;
    * (C3) `extents`, what the kernel takes for granted of open extents, names
      dimensions of operands that are memrefs.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyType>:$inputs,
                       OptionalAttr<Tile_ExtentRules>:$extents);
  let builders = [OpBuilder<(ins "llvm::StringRef":$kernel, "mlir::ValueRange":$inputs), [{
    build($_builder, $_state, kernel, inputs, mlir::ArrayAttr());
  }]>];
  let hasVerifier = 1;
  let assemblyFormat = "$kernel `(` $inputs `)` attr-dict (`:` type($inputs)^)? (`extents` $extents^)?";
}

def Tile_YieldOp : Tile_Op<"yield", T0T1T2, [Pure, ReturnLike, Terminator,
    ParentOneOf<["DefOp", "WorkOp", "ForEachTileOp", "InlinedStepOp", "MapOp"]>]> {
  let summary = "ends a region and gives its results";
  let description = [{
    Constraints: those of the op it ends.
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let builders = [OpBuilder<(ins), [{ }]>];
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

#endif // FA4_DIALECT_TILE_IR_TILEPROGRAMOPS_TD
