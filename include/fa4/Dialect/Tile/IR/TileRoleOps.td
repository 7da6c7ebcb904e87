//===- TileRoleOps.td - T1 and T2: roles and what they do to memory -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_IR_TILEROLEOPS_TD
#define FA4_DIALECT_TILE_IR_TILEROLEOPS_TD

include "fa4/Dialect/Tile/IR/TileAttrs.td"
include "fa4/Dialect/Tile/IR/TileInterfaces.td"
include "fa4/Dialect/Tile/IR/TileTypes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

// Reads or writes a view; which memory it is in is the view's to say.
defvar Tile_ReadsViews = MemoryEffects<[MemRead<Tile_SmemResource>, MemRead<Tile_TmemResource>]>;
defvar Tile_WritesViews = MemoryEffects<[MemWrite<Tile_SmemResource>, MemWrite<Tile_TmemResource>]>;

def Tile_RoleOp : Tile_Op<"role", T1T2, [Symbol, HasParent<"KernelOp">, IsolatedFromAbove,
    NoTerminator, SingleBlock, RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<OpAsmOpInterface>]> {
  let summary = "what some warps do";
  let description = [{
    `warps` per replica; replica k's warps follow those of k - 1. `at` is the
    first warp (T2). `one_lane`: waits run on all lanes, ops that issue or
    commit on one lane, chosen once. The region sees the replica's number if
    `index`, the CTA's rank if `rank`, then the used scalars and globals, under
    their outer names.

    ```mlir
    tile.role @softmax warps(4) replicas(2) index(%r) uses(%c : f32) {
      ...
    }
    tile.role @mma warps(1) at(12) one_lane ctas(leader) regs(56) {
    }
    ```

    Constraints:
    * (C1) warps, replicas and registers are positive, and the first warp is not negative;
    * (C2) uses are scalars or globals;
    * (C3) `index` iff `replicas` is given, `rank` only with `ctas(both)`;
    * (C4) the region's arguments are the index, the rank, and the uses.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Tile_NumberAttr:$warps,
                       DefaultValuedAttr<Tile_NumberAttr, "1">:$replicas, OptionalAttr<Tile_NumberAttr>:$first_warp,
                       UnitAttr:$one_lane,
                       DefaultValuedAttr<Tile_CtasAttr, "::fa4::tile::Ctas::Single">:$ctas,
                       UnitAttr:$has_rank, OptionalAttr<Tile_NumberAttr>:$regs, Variadic<AnyType>:$uses);
  let regions = (region SizedRegion<1>:$body);
  // Custom: the region's arguments are named where they come from.
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    bool hasIndex() { return getReplicas() > 1; }
    /// The replica's number inside the region; null if there is one replica.
    ::mlir::Value getIndex() {
      return hasIndex() ? ::mlir::Value(getBody().getArgument(0)) : ::mlir::Value();
    }
    /// The CTA's rank in its pair; null if the role does not ask.
    ::mlir::Value getRank() {
      return getHasRank() ? ::mlir::Value(getBody().getArgument(hasIndex())) : ::mlir::Value();
    }
    void getAsmBlockArgumentNames(::mlir::Region &region, ::mlir::OpAsmSetValueNameFn setNameFn);
  }];
}

class Tile_WholeCtaOp<string mnemonic> : Tile_Op<mnemonic, T1T2, [HasParent<"KernelOp">,
    IsolatedFromAbove, NoTerminator, SingleBlock, RecursiveMemoryEffects]> {
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "attr-dict-with-keyword $body";
}

def Tile_SetupOp : Tile_WholeCtaOp<"setup"> {
  let summary = "what all warps do before the roles run";
  let description = [{
    Constraints: what may stand inside is said by T1.P and T2.P of the phase verifiers.
  }];
}

def Tile_TeardownOp : Tile_WholeCtaOp<"teardown"> {
  let summary = "what is done after the roles";
  let description = [{
    Constraints: what may stand inside is said by T1.P and T2.P of the phase verifiers.
  }];
}

//===----------------------------------------------------------------------===//
// Synchronous accesses. A place is `%token as @View` at T1, `@View[element] at
// %cursor mod depth` at T2, and at both a bare `@View`.
//===----------------------------------------------------------------------===//

def Tile_ReadOp : Tile_NamedOp<"read", "x", T1T2, [Tile_ReadsViews, AttrSizedOperandSegments]> {
  let summary = "a view's tile as a value";
  let description = [{
    Synchronous in the program. That tensor-memory loads have landed is owed at
    the next hand-over, where tile-insert-fences pays it. As an i32: the number of
    the tile that `async_next` brought, -1 if it brought none.

    ```mlir
    %s = tile.read %t as @S : !S
    %s = tile.read @S[%r] : !S
    %n = tile.read %u as @Next : i32
    ```

    Constraints: those of the phase verifiers.
  }];
  let arguments = (ins Optional<Tile_TokenOrCursor>:$handle, FlatSymbolRefAttr:$view, Optional<I32>:$element,
                       OptionalAttr<Tile_NumberAttr>:$static_element);
  let results = (outs AnyTypeOf<[Tile_Frag, I32]>:$result);
  let assemblyFormat = [{
    custom<ReadPlace>($handle, type($handle), $view, $element, $static_element) attr-dict
    `:` type($result)
  }];
  let extraClassDeclaration = nameResults # [{
    /// The fragment's type; null if the result is the number of a tile.
    FragType getFragType() { return ::llvm::dyn_cast<FragType>(getResult().getType()); }
  }];
}

def Tile_WriteOp : Tile_Op<"write", T1T2, [Tile_WritesViews, AttrSizedOperandSegments]> {
  let summary = "a value into a view";
  let description = [{
    `to` a slot that was acquired; `over` one that was waited for, by its only consumer.

    ```mlir
    tile.write %p to %t as @Pa : !Pa
    tile.write %o over %q as @Out : !T
    tile.write %p to @Pa[%r] : !Pa
    ```

    Constraints: those of the phase verifiers.
  }];
  let arguments = (ins Tile_Frag:$value, Optional<Tile_TokenOrCursor>:$handle, FlatSymbolRefAttr:$view,
                       Optional<I32>:$element, OptionalAttr<Tile_NumberAttr>:$static_element);
  let assemblyFormat = [{
    $value custom<WriteTarget>($handle, type($handle), $view, $element, $static_element) attr-dict
    `:` type($value)
  }];
}

def Tile_RescaleOp : Tile_Op<"rescale", T1T2, [AttrSizedOperandSegments,
    MemoryEffects<[MemRead<Tile_TmemResource>, MemWrite<Tile_TmemResource>]>]> {
  let summary = "scales the rows of a view in place";
  let description = [{
    ```mlir
    tile.rescale %o as @O by %a likely_one : !row
    ```

    With `likely_one` the whole op is skipped where every factor is one. The fences that
    its own accesses need are executed only where it scales, so it hands on to what follows
    no order that it received; a fence that later accesses rely on has to stand beside it.

    Constraints: the view is f32 in tensor memory (phase verifiers).
  }];
  let arguments = (ins Optional<Tile_TokenOrCursor>:$handle, FlatSymbolRefAttr:$view, Optional<I32>:$element,
                       OptionalAttr<Tile_NumberAttr>:$static_element, Tile_F32Row:$by,
                       UnitAttr:$likely_one);
  let assemblyFormat = [{
    custom<ReadPlace>($handle, type($handle), $view, $element, $static_element) `by` $by
    (`likely_one` $likely_one^)? attr-dict `:` type($by)
  }];
}

def Tile_PartOp : Tile_NamedOp<"part", "part", T1T2, [Pure]> {
  let summary = "this CTA's half of a tile, or its peer's";
  let description = [{
    ```mlir
    %mine = tile.part %ds columns own(%rank) : !Pt -> !Ph
    %theirs = tile.part %ds columns other(%rank) : !Pt -> !Ph
    ```

    Constraints:
    * (C1) rank 2, and the extent is even;
    * (C2) the result is half of the operand.
  }];
  let arguments = (ins Tile_Frag:$operand, Tile_AxisAttr:$axis, UnitAttr:$other, I32:$rank);
  let results = (outs Tile_Frag:$result);
  let assemblyFormat = [{
    $operand `` $axis custom<Side>($other) `(` $rank `)` attr-dict
    `:` type($operand) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_RunPtxOp : Tile_Op<"run_ptx", T1T2, [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "a PTX statement with declared effects on views";
  let description = [{
    An event of the protocol like any other: it reads and writes the views named.

    ```mlir
    tile.run_ptx "nanosleep.u32 $0;" constraints "r" (%n) reads(@S) writes() : i32
    ```

    Constraints:
    * (C1) one constraint per operand.
  }];
  let arguments = (ins StrAttr:$text, StrAttr:$constraints, Variadic<AnyType>:$inputs,
                       Tile_ViewArrayAttr:$reads, Tile_ViewArrayAttr:$writes);
  let assemblyFormat = [{
    $text `constraints` $constraints `(` $inputs `)`
    `reads` `(` custom<Symbols>($reads) `)` `writes` `(` custom<Symbols>($writes) `)`
    attr-dict (`:` type($inputs)^)?
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Asynchronous ops: the result is the completion.
//===----------------------------------------------------------------------===//

class Tile_AsyncOp<string mnemonic, list<Trait> traits = []>
    : Tile_NamedOp<mnemonic, "e", T1, !listconcat([Tile_AsyncOpInterface], traits)>;

def Tile_AsyncMmaOp : Tile_AsyncOp<"async_mma", [AttrSizedOperandSegments,
    MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "starts a matrix product";
  let description = [{
    Operands are tiles in memory (`%token as @View`) or fragments. `into`
    overwrites the accumulator, `onto` adds to it, unless `%skip` is true. Without
    either, or with a fragment, the result is the async's value.

    ```mlir
    %e = tile.async_mma a(%q as @Q) b(%k as @K) into(%s as @S)
    %e = tile.async_mma a(%p as @Pa) b(%v as @Va) onto(%o as @O) unless(%first)
    %e = tile.async_mma a(%p) b(%v as @V) onto(%oa) : (!P, !S) -> !tile.async<!S>
    ```

    Constraints:
    * (C1) a read token with a view, or a fragment without;
    * (C2) the accumulator is a write token with a view, or a fragment without;
    * (C3) the async has a value iff there is no accumulator in memory;
    * (C4) `into` only with an accumulator in memory, `unless` only with `onto`.
  }];
  let arguments = (ins Tile_TokenOrFrag:$a, OptionalAttr<FlatSymbolRefAttr>:$a_view, Tile_ReadToken:$b,
                       FlatSymbolRefAttr:$b_view, Optional<Tile_TokenOrFrag>:$acc,
                       OptionalAttr<FlatSymbolRefAttr>:$acc_view, UnitAttr:$overwrite,
                       Optional<I1>:$unless);
  let results = (outs Tile_Async:$result);
  // Custom: fragment operands and memory operands are spelled differently.
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = nameResults # [{
    Engine getEngine() { return Engine::Mma; }
  }];
}

def Tile_AsyncLoadOp : Tile_AsyncOp<"async_load", [MemoryEffects<[MemRead<Tile_GmemResource>,
    MemWrite<Tile_SmemResource>]>]> {
  let summary = "starts the copy of a grid's tile to shared memory";
  let description = [{
    ```mlir
    %e = tile.async_load %K[%b, %j, %h] to %t as @K : !g
    ```

    Constraints:
    * (C1) at most one coordinate per dimension of the tensor.
  }];
  let arguments = (ins Tile_Global:$global, Variadic<I32>:$coordinates, Tile_WriteToken:$token,
                       FlatSymbolRefAttr:$view);
  let results = (outs Tile_PlainAsync:$result);
  let assemblyFormat = [{
    $global `` `[` $coordinates `]` `to` $token `as` $view attr-dict `:` type($global)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = nameResults # [{
    Engine getEngine() { return Engine::Load; }
  }];
}

def Tile_AsyncStoreOp : Tile_AsyncOp<"async_store", [AttrSizedOperandSegments,
    MemoryEffects<[MemRead<Tile_SmemResource>, MemWrite<Tile_GmemResource>]>]> {
  let summary = "starts the copy, or addition, of a view to a grid's tile";
  let description = [{
    ```mlir
    %e = tile.async_store %t as @Out to %O[%b, %i, %h] : !g
    %e = tile.async_store add @Acc[%k] to %dQ[%b, %i, %h] : !gacc
    ```

    Constraints:
    * (C1) at most one coordinate per dimension of the tensor.
  }];
  let arguments = (ins UnitAttr:$add, Optional<Tile_TokenOrCursor>:$handle, FlatSymbolRefAttr:$view,
                       Optional<I32>:$element, OptionalAttr<Tile_NumberAttr>:$static_element,
                       Tile_Global:$global, Variadic<I32>:$coordinates);
  let results = (outs Tile_PlainAsync:$result);
  let assemblyFormat = [{
    (`add` $add^)? custom<ReadPlace>($handle, type($handle), $view, $element, $static_element)
    `to` $global `` `[` $coordinates `]` attr-dict `:` type($global)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = nameResults # [{
    Engine getEngine() { return Engine::Store; }
  }];
}

def Tile_AsyncSendOp : Tile_AsyncOp<"async_send", [MemoryEffects<[MemRead<Tile_SmemResource>,
    MemWrite<Tile_SmemResource>]>]> {
  let summary = "starts the copy of a view to the peer CTA";
  let description = [{
    ```mlir
    %e = tile.async_send %t as @X to peer @dSk
    ```

    Constraints: the views have one size (tile-verify-t1 (T1.A)).
  }];
  let arguments = (ins Tile_WriteToken:$token, FlatSymbolRefAttr:$view,
                       FlatSymbolRefAttr:$peer_view);
  let results = (outs Tile_PlainAsync:$result);
  let assemblyFormat = "$token `as` $view `to` `peer` $peer_view attr-dict";
  let extraClassDeclaration = nameResults # [{
    Engine getEngine() { return Engine::Send; }
  }];
}

def Tile_AsyncNextOp : Tile_AsyncOp<"async_next", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "asks for the next tile";
  let description = [{
    For the role that schedules: cluster launch control. A tile is handed out to
    one CTA; after an answer of none, no CTA asks again.

    Constraints: those of tile-verify-t1.
  }];
  let arguments = (ins Tile_WriteToken:$token, FlatSymbolRefAttr:$view);
  let results = (outs Tile_PlainAsync:$result);
  let assemblyFormat = "`to` $token `as` $view attr-dict";
  let extraClassDeclaration = nameResults # [{
    Engine getEngine() { return Engine::Next; }
  }];
}

def Tile_AwaitOp : Tile_NamedOp<"await", "x", T1, [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits for an asynchronous op; its value";
  let description = [{
    ```mlir
    %s = tile.await %f : !S
    tile.await %e
    ```

    Constraints:
    * (C1) the result is the async's value, if it has one.
  }];
  let arguments = (ins Tile_Async:$async);
  let results = (outs Optional<AnyType>:$result);
  let assemblyFormat = "$async custom<AwaitType>(type($async), type($result)) attr-dict";
  let hasVerifier = 1;
}

#endif // FA4_DIALECT_TILE_IR_TILEROLEOPS_TD
