//===- TilePlacedOps.td - T2: where and when exactly -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Placed programs: every byte, column, barrier, count, slot and phase is written
// down. A barrier op names an element by `[...]` and a slot by `at %cursor mod depth`.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_IR_TILEPLACEDOPS_TD
#define FA4_DIALECT_TILE_IR_TILEPLACEDOPS_TD

include "fa4/Dialect/Tile/IR/TileChannelOps.td"
include "fa4/Dialect/Tile/IR/TileRoleOps.td"

def Tile_PlacedAllocOp : Tile_KernelSymbolOp<"placed_alloc", T2> {
  let summary = "a family of regions at their place";
  let description = [{
    Element k starts at `start + k * stride` and has `stride` bytes or columns.

    ```mlir
    tile.placed_alloc @kv_mem[3] smem at 65536 stride 32768
    tile.placed_alloc @o_mem[2] tmem at 256 stride 128
    ```

    Constraints:
    * (C1) family and stride are positive, the start is not negative;
    * (C2) tensor memory: start and stride are multiples of 16 columns.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DefaultValuedAttr<Tile_NumberAttr, "1">:$family,
                       Tile_SpaceAttr:$space, Tile_NumberAttr:$start, Tile_NumberAttr:$stride);
  let assemblyFormat = [{
    $sym_name (`` `[` $family^ `]`)? `` $space `at` $start `stride` $stride attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    int64_t getEnd() {
      return static_cast<int64_t>(getStart()) +
             static_cast<int64_t>(getFamily()) * static_cast<int64_t>(getStride());
    }
  }];
}

def Tile_BarrierOp : Tile_KernelSymbolOp<"barrier", T2> {
  let summary = "mbarriers in shared memory";
  let description = [{
    `family * depth` barriers of 8 bytes (PTX ISA: an mbarrier object is 8 bytes,
    8-byte aligned), element by element, each initialised to `count`.

    ```mlir
    tile.barrier @kv.full depth(3) count(1) at 231448
    ```

    Constraints:
    * (C1) family, depth and count are positive;
    * (C2) the place is a multiple of 8 and not negative.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DefaultValuedAttr<Tile_NumberAttr, "1">:$family,
                       Tile_NumberAttr:$depth, Tile_NumberAttr:$count, Tile_NumberAttr:$start);
  let assemblyFormat = [{
    $sym_name (`` `[` $family^ `]`)? `depth` `(` $depth `)` `count` `(` $count `)` `at` $start attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    static constexpr int64_t kBytes = 8; // PTX ISA, mbarrier: size and alignment
    int64_t getEnd() {
      return static_cast<int64_t>(getStart()) +
             kBytes * static_cast<int64_t>(getFamily()) * static_cast<int64_t>(getDepth());
    }
  }];
}

def Tile_NamedBarrierOp : Tile_KernelSymbolOp<"named_barrier", T2> {
  let summary = "named barriers of the CTA";
  let description = [{
    Ids `first` to `last`, one per element; `per_warp`: one per element and warp,
    joining the warps of equal number of two roles.

    ```mlir
    tile.named_barrier @alpha.full[2] ids(3 to 10) threads(64) per_warp
    ```

    Constraints:
    * (C1) `0 <= first <= last`, and the ids divide evenly among the elements;
    * (C2) one id per element unless `per_warp`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DefaultValuedAttr<Tile_NumberAttr, "1">:$family,
                       Tile_NumberAttr:$first, Tile_NumberAttr:$last, Tile_NumberAttr:$threads, UnitAttr:$per_warp);
  let assemblyFormat = [{
    $sym_name (`` `[` $family^ `]`)? `ids` `(` $first `to` $last `)` `threads` `(` $threads `)`
    (`per_warp` $per_warp^)? attr-dict
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Cursors
//===----------------------------------------------------------------------===//

def Tile_CursorOp : Tile_NamedOp<"cursor", "cur", T2, [Pure]> {
  let summary = "slot 0; parity 0, or 1 with credit";
  let description = [{
    With credit the first `depth` waits pass: a fresh barrier's phase before the
    first has parity 1.

    ```mlir
    %c = tile.cursor credit : !tile.cursor<3>
    ```
  }];
  let arguments = (ins UnitAttr:$credit);
  let results = (outs Tile_Cursor:$result);
  let assemblyFormat = "(`credit` $credit^)? attr-dict `:` type($result)";
}

def Tile_AdvanceOp : Tile_NamedOp<"advance", "cur", T2, [Pure, AllTypesMatch<["cursor", "result"]>]> {
  let summary = "the next slot; the parity flips on the wrap";
  let description = [{
    ```mlir
    %d = tile.advance %c : !tile.cursor<3>
    ```
  }];
  let arguments = (ins Tile_Cursor:$cursor);
  let results = (outs Tile_Cursor:$result);
  let assemblyFormat = "$cursor attr-dict `:` type($cursor)";
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

class Tile_BarrierUseOp<string mnemonic> : Tile_Op<mnemonic, T2,
    [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]>;

defvar barrierPlace = (ins Optional<Tile_Cursor>:$cursor, FlatSymbolRefAttr:$barrier,
                           Optional<I32>:$element, OptionalAttr<Tile_NumberAttr>:$static_element);

def Tile_BarrierWaitOp : Tile_BarrierUseOp<"barrier.wait"> {
  let summary = "waits for the phase of the cursor";
  let description = [{
    ```mlir
    tile.barrier.wait @kv.full at %kv mod 3
    ```

    Constraints:
    * (C1) there is a cursor.
  }];
  let arguments = barrierPlace;
  let assemblyFormat = [{
    custom<Slot>($cursor, type($cursor), $barrier, $element, $static_element) attr-dict
  }];
  let hasVerifier = 1;
}

def Tile_BarrierArriveOp : Tile_BarrierUseOp<"barrier.arrive"> {
  let summary = "arrives";
  let description = [{
    By every thread of the role, one lane of each of its warps, or one lane of
    the role. `on leader`: at the barrier of the pair's leader. `when`: only if true.

    ```mlir
    tile.barrier.arrive @pa.full[%r] by(thread)
    tile.barrier.arrive @ds.full by(warp) on leader when(%again)
    ```

    Constraints:
    * (C1) the grain is thread, warp or lane.
  }];
  let arguments = !con(barrierPlace, (ins Tile_ArrivalAttr:$by, UnitAttr:$on_leader,
                                          Optional<I1>:$when));
  let assemblyFormat = [{
    custom<Slot>($cursor, type($cursor), $barrier, $element, $static_element)
    `by` `(` custom<Arrival>($by) `)` (`on` `leader` $on_leader^)? (`when` `(` $when^ `)`)? attr-dict
  }];
  let hasVerifier = 1;
}

def Tile_BarrierExpectOp : Tile_BarrierUseOp<"barrier.expect"> {
  let summary = "arrives, and announces bytes that engines will bring";
  let description = [{
    `on leader`: only the leader's role does it, for both CTAs' bytes. `on peer`:
    at the peer's barrier, for bytes sent there.

    ```mlir
    tile.barrier.expect @kv.full at %kv mod 3 bytes(32768)
    ```

    Constraints:
    * (C1) a positive number of bytes;
    * (C2) not on both the leader and the peer.
  }];
  let arguments = !con(barrierPlace, (ins Tile_NumberAttr:$bytes, UnitAttr:$on_leader, UnitAttr:$on_peer));
  let assemblyFormat = [{
    custom<Slot>($cursor, type($cursor), $barrier, $element, $static_element)
    `bytes` `(` $bytes `)` `` custom<Home>($on_leader, $on_peer) attr-dict
  }];
  let hasVerifier = 1;
}

def Tile_BarrierCommitOp : Tile_BarrierUseOp<"barrier.commit"> {
  let summary = "arrives when all matrix products issued before are done";
  let description = [{
    tcgen05.commit: it reports the products its lane issued before, and nothing
    else. `on both`: at the barriers of both CTAs.

    ```mlir
    tile.barrier.commit @s.full[0]
    ```

    Constraints: those of tile-verify-t2.
  }];
  let arguments = !con(barrierPlace, (ins UnitAttr:$on_both));
  let assemblyFormat = [{
    custom<Slot>($cursor, type($cursor), $barrier, $element, $static_element)
    (`on` `both` $on_both^)? attr-dict
  }];
}

class Tile_NamedUseOp<string mnemonic> : Tile_Op<mnemonic, T2,
    [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let arguments = (ins FlatSymbolRefAttr:$barrier, Optional<I32>:$element,
                       OptionalAttr<Tile_NumberAttr>:$static_element, Optional<I1>:$when);
  let assemblyFormat = [{
    $barrier `` custom<Element>($element, $static_element) (`when` `(` $when^ `)`)? attr-dict
  }];
}

def Tile_NamedArriveOp : Tile_NamedUseOp<"named.arrive"> {
  let summary = "arrives at a named barrier and goes on";
  let description = [{
    Constraints: those of tile-verify-t2.
  }];
}

def Tile_NamedSyncOp : Tile_NamedUseOp<"named.sync"> {
  let summary = "arrives at a named barrier and waits for the others";
  let description = [{
    Constraints: those of tile-verify-t2.
  }];
}

def Tile_RoleSyncOp : Tile_Op<"role_sync", T2, [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "all warps of the role meet; in setup, all warps of the CTA";
  let description = [{
    Where accesses of two warps of a role conflict.
  }];
  let assemblyFormat = "attr-dict";
}

def Tile_ClusterSyncOp : Tile_Op<"cluster_sync", T2, [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "all threads of both CTAs of a pair meet";
  let description = [{
    After set-up, so that the peer's barriers exist before anyone arrives there;
    before exit, so that none ends while its peer may still arrive.
  }];
  let assemblyFormat = "attr-dict";
}

//===----------------------------------------------------------------------===//
// Issue
//===----------------------------------------------------------------------===//

def Tile_IssueLoadOp : Tile_BarrierUseOp<"issue_load"> {
  let summary = "TMA load into a view";
  let description = [{
    ```mlir
    tile.issue_load %K[%b, %j, %h] to(@K at %kv mod 3) signals(@kv.full at %kv mod 3) : !g
    ```

    `on leader`: signals the barrier of the pair's leader.

    Constraints:
    * (C1) at most one coordinate per dimension of the tensor.
  }];
  let arguments = (ins Tile_Global:$global, Variadic<I32>:$coordinates,
                       Optional<Tile_Cursor>:$slot, FlatSymbolRefAttr:$view,
                       Optional<I32>:$view_element, OptionalAttr<Tile_NumberAttr>:$static_view_element,
                       Optional<Tile_Cursor>:$cursor, FlatSymbolRefAttr:$barrier,
                       Optional<I32>:$element, OptionalAttr<Tile_NumberAttr>:$static_element,
                       UnitAttr:$on_leader);
  let assemblyFormat = [{
    $global `` `[` $coordinates `]`
    `to` `(` custom<Slot>($slot, type($slot), $view, $view_element, $static_view_element) `)`
    `signals` `(` custom<Slot>($cursor, type($cursor), $barrier, $element, $static_element) `)`
    (`on` `leader` $on_leader^)? attr-dict `:` type($global)
  }];
  let hasVerifier = 1;
}

def Tile_IssueStoreOp : Tile_BarrierUseOp<"issue_store"> {
  let summary = "TMA store, or reduction, from a view";
  let description = [{
    Belongs to the bulk group that the next group.commit closes.

    ```mlir
    tile.issue_store @Out[0] to %O[%b, %i, %h] : !g
    ```

    Constraints:
    * (C1) at most one coordinate per dimension of the tensor.
  }];
  let arguments = (ins UnitAttr:$add, Optional<Tile_Cursor>:$slot, FlatSymbolRefAttr:$view,
                       Optional<I32>:$view_element, OptionalAttr<Tile_NumberAttr>:$static_view_element,
                       Tile_Global:$global, Variadic<I32>:$coordinates);
  let assemblyFormat = [{
    (`add` $add^)? custom<Slot>($slot, type($slot), $view, $view_element, $static_view_element)
    `to` $global `` `[` $coordinates `]` attr-dict `:` type($global)
  }];
  let hasVerifier = 1;
}

def Tile_IssueSendOp : Tile_BarrierUseOp<"issue_send"> {
  let summary = "bulk copy of a view into the peer's shared memory";
  let description = [{
    A copy can signal only beside its destination: the barrier is the peer's.

    ```mlir
    tile.issue_send @X to peer(@dSk) signals(@dsx.full)
    ```

    Constraints: those of tile-verify-t2.
  }];
  let arguments = (ins FlatSymbolRefAttr:$view, FlatSymbolRefAttr:$peer_view,
                       Optional<Tile_Cursor>:$cursor, FlatSymbolRefAttr:$barrier,
                       Optional<I32>:$element, OptionalAttr<Tile_NumberAttr>:$static_element);
  let assemblyFormat = [{
    $view `to` `peer` `(` $peer_view `)`
    `signals` `(` custom<Slot>($cursor, type($cursor), $barrier, $element, $static_element) `)`
    attr-dict
  }];
}

def Tile_IssueNextOp : Tile_BarrierUseOp<"issue_next"> {
  let summary = "asks for the next tile; the answer lands in a view";
  let description = [{
    ```mlir
    tile.issue_next to(@Work at %c mod 2) signals(@next.full at %c mod 2)
    ```

    Constraints: those of tile-verify-t2.
  }];
  let arguments = (ins Optional<Tile_Cursor>:$slot, FlatSymbolRefAttr:$view,
                       Optional<I32>:$view_element, OptionalAttr<Tile_NumberAttr>:$static_view_element,
                       Optional<Tile_Cursor>:$cursor, FlatSymbolRefAttr:$barrier,
                       Optional<I32>:$element, OptionalAttr<Tile_NumberAttr>:$static_element);
  let assemblyFormat = [{
    `to` `(` custom<Slot>($slot, type($slot), $view, $view_element, $static_view_element) `)`
    `signals` `(` custom<Slot>($cursor, type($cursor), $barrier, $element, $static_element) `)`
    attr-dict
  }];
}

def Tile_IssueMmaOp : Tile_NamedOp<"issue_mma", "acc", T2, [AttrSizedOperandSegments,
    MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "a matrix product, tcgen05 or wgmma";
  let description = [{
    Operands are views or, on targets whose products are fragments, fragments.
    `into` starts from zero, `onto` adds, unless `%skip` is true. The result is a
    fragment that is in use until its group was waited for.

    ```mlir
    tile.issue_mma a(@Pa[0]) b(@Va at %v mod 3) onto(@O[0]) unless(%first)
    %f = tile.issue_mma a(%p) b(@V at %v mod 2) onto(%o) : (!P, !S) -> !S
    ```

    Constraints:
    * (C1) a is a view or a fragment;
    * (C2) a result iff no accumulator is in memory, and the accumulating
      fragment has its type; an accumulator is not both;
    * (C3) `unless` only with `onto`.
  }];
  let arguments = (ins Optional<Tile_CursorOrFrag>:$a, OptionalAttr<FlatSymbolRefAttr>:$a_view,
                       Optional<I32>:$a_element, OptionalAttr<Tile_NumberAttr>:$static_a_element,
                       Optional<Tile_Cursor>:$b, FlatSymbolRefAttr:$b_view, Optional<I32>:$b_element,
                       OptionalAttr<Tile_NumberAttr>:$static_b_element, Optional<Tile_CursorOrFrag>:$acc,
                       OptionalAttr<FlatSymbolRefAttr>:$acc_view, Optional<I32>:$acc_element,
                       OptionalAttr<Tile_NumberAttr>:$static_acc_element, UnitAttr:$overwrite,
                       Optional<I1>:$unless);
  let results = (outs Optional<Tile_F32Frag>:$result);
  // Custom: fragment operands and memory operands are spelled differently.
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Tile_GroupCommitOp : Tile_Op<"group.commit", T2, [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "closes a group of what was issued before";
  let description = [{
    ```mlir
    tile.group.commit wgmma
    ```
  }];
  let arguments = (ins Tile_GroupAttr:$kind);
  let assemblyFormat = "`` $kind attr-dict";
}

def Tile_GroupWaitOp : Tile_NamedOp<"group.wait", "x", T2, [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until at most `pending` groups are open";
  let description = [{
    `read`: until their sources have been read. Results are the values usable now.

    ```mlir
    %s = tile.group.wait wgmma 1 (%f) : !S
    tile.group.wait bulk 0 read
    ```

    Constraints:
    * (C1) pending is not negative;
    * (C2) results have the operands' types; values only from wgmma, `read` only bulk.
  }];
  let arguments = (ins Tile_GroupAttr:$kind, Tile_NumberAttr:$pending, UnitAttr:$read,
                       Variadic<Tile_Frag>:$values);
  let results = (outs Variadic<Tile_Frag>:$results);
  let assemblyFormat = [{
    `` $kind $pending (`read` $read^)? (`(` $values^ `)`)? `` custom<SameTypes>(type($values), type($results)) attr-dict
  }];
  let hasVerifier = 1;
}

def Tile_FenceOp : Tile_Op<"fence", T2, [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "orders accesses of different kinds";
  let description = [{
    `tmem_loads`, `tmem_stores`: tcgen05.wait::ld, ::st. `before`, `after`: the
    tcgen05 fences of a hand-over. `proxy`: generic writes before async reads.
    `wgmma`: register accesses before a product. `init`: barriers are visible.

    ```mlir
    tile.fence [tmem_loads, before]
    ```
  }];
  let arguments = (ins Tile_FenceKindAttr:$kinds);
  let assemblyFormat = "custom<FenceKinds>($kinds) attr-dict";
}

def Tile_TmemAllocOp : Tile_Op<"tmem.alloc", T2, [HasParent<"SetupOp">,
    MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "allocates tensor memory";
  let description = [{
    The base address is written to `word` of shared memory.

    ```mlir
    tile.tmem.alloc 512 columns by @mma word at 231608
    ```

    Constraints:
    * (C1) columns are a power of two from 32 (PTX ISA, tcgen05.alloc);
    * (C2) the word is 4-byte aligned.
  }];
  let arguments = (ins Tile_NumberAttr:$columns, FlatSymbolRefAttr:$role, Tile_NumberAttr:$word);
  let assemblyFormat = "$columns `columns` `by` $role `word` `at` $word attr-dict";
  let hasVerifier = 1;
}

def Tile_TmemFreeOp : Tile_Op<"tmem.free", T2, [HasParent<"TeardownOp">,
    MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "frees tensor memory";
  let description = [{
    After its users met at a named barrier.

    ```mlir
    tile.tmem.free 512 columns by @mma after(@tmem_users)
    ```

    Constraints: those of tile-verify-t2.
  }];
  let arguments = (ins Tile_NumberAttr:$columns, FlatSymbolRefAttr:$role, FlatSymbolRefAttr:$after);
  let assemblyFormat = "$columns `columns` `by` $role `after` `(` $after `)` attr-dict";
}

#endif // FA4_DIALECT_TILE_IR_TILEPLACEDOPS_TD
