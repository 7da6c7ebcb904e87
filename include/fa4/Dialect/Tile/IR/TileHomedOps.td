//===- TileHomedOps.td - between T0 and T1: values with homes -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// While memory and channels are put in, the program stays one thread of values:
// steps are inlined, and identities say where a value is kept and used. No phase
// verifier accepts these ops; the host runs them.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_IR_TILEHOMEDOPS_TD
#define FA4_DIALECT_TILE_IR_TILEHOMEDOPS_TD

include "fa4/Dialect/Tile/IR/TileAttrs.td"
include "fa4/Dialect/Tile/IR/TileTypes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

defvar Tile_BetweenPhases = []<Trait>;

def Tile_InlinedStepOp : Tile_NamedOp<"inlined_step", "r", Tile_BetweenPhases, [AttrSizedOperandSegments,
    SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<RegionBranchOpInterface, ["getEntrySuccessorOperands"]>]> {
  let summary = "a step with the body of its def inside";
  let description = [{
    Stands where the step stood and keeps its name. The region uses values of the
    outside directly. With `unless(%skip)` a true `%skip` leaves the region out,
    and the passed values are the results.

    ```mlir
    %r = tile.inlined_step @rescale[0] unless(%first) passing(%o : !S) -> (!S) {
      %x = tile.scale_rows %o by %a likely_one : !S, !row
      tile.yield %x : !S
    }
    ```

    Constraints:
    * (C1) the yielded values have the types of the results (checked by the
      interface of region branches);
    * (C2) with `unless`, the passed values have the types of the results; without,
      nothing is passed;
    * (C3) the index is not negative.
  }];
  let arguments = (ins SymbolNameAttr:$step, OptionalAttr<Tile_NumberAttr>:$index, Optional<I1>:$unless,
                       Variadic<AnyType>:$passed);
  let results = (outs Variadic<AnyType>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $step (`` `[` $index^ `]`)?
    (`unless` `(` $unless^ `)` `passing` `(` ($passed^ `:` type($passed))? `)`)?
    (`->` `(` type($outputs)^ `)`)? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = nameResults # [{
    YieldOp getYield();
    /// The step's name as schedules and diagnostics write it: `qk[0]`, `load_k`.
    std::string getStepName();
  }];
}

def Tile_KeepOp : Tile_NamedOp<"keep", "kept", Tile_BetweenPhases, [
    AllTypesMatch<["value", "result"]>, MemoryEffects<[MemWrite]>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the value, which from here on lies in a view";
  let description = [{
    First with the family's element, then, once there are channels, with the token
    of the slot. `over` a read token: written in place by the consumer.

    ```mlir
    %k = tile.keep %x in @K : !T
    %s = tile.keep %x in @S[0] : !S
    %s = tile.keep %x in %t as @S : !S
    %o = tile.keep %x in over %u as @O : !S
    ```

    Constraints:
    * (C1) an element only without a token, and not negative;
    * (C2) the view exists and has the tile's extents and element type.
  }];
  let arguments = (ins Tile_Frag:$value, Optional<Tile_Token>:$handle, FlatSymbolRefAttr:$view,
                       OptionalAttr<Tile_NumberAttr>:$element);
  let results = (outs Tile_Frag:$result);
  let assemblyFormat = [{
    $value `in` custom<KeepPlace>($handle, type($handle), $view, $element) attr-dict
    `:` type($value)
  }];
  let hasVerifier = 1;
}

def Tile_UseOp : Tile_NamedOp<"use", "used", Tile_BetweenPhases, [
    AllTypesMatch<["value", "result"]>, MemoryEffects<[MemRead]>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the value, taken from a view";
  let description = [{
    The value is the kept one, or slices and transposes of it that the view's place
    and layout stand for. As an operand of a product it is the place itself, as the
    value of a store the copy's source; for any other op it is a read.

    ```mlir
    %y = tile.use %va from %u as @Va : !Va
    ```

    Constraints:
    * (C1) the view exists and has the tile's element type and, up to a transpose,
      its extents.
  }];
  let arguments = (ins Tile_Frag:$value, Tile_ReadToken:$handle, FlatSymbolRefAttr:$view);
  let results = (outs Tile_Frag:$result);
  let assemblyFormat = "$value `from` $handle `as` $view attr-dict `:` type($value)";
}

def Tile_NoTokenOp : Tile_NamedOp<"no_token", "none", Tile_BetweenPhases, [Pure]> {
  let summary = "a token of no slot";
  let description = [{
    What a loop that carries a token starts with when its first trip has none yet.
    Releasing it does nothing; tile-split-range removes both with the first trip.

    ```mlir
    %none = tile.no_token
    ```

    Constraints: none.
  }];
  let results = (outs Tile_ReadToken:$token);
  let assemblyFormat = "attr-dict";
}

#endif // FA4_DIALECT_TILE_IR_TILEHOMEDOPS_TD
