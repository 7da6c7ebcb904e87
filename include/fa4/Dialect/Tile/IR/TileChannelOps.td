//===- TileChannelOps.td - T1: memory, channels, tokens -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Allocations, views and channels are symbols of the kernel. A token is the only
// handle to a channel's memory.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_IR_TILECHANNELOPS_TD
#define FA4_DIALECT_TILE_IR_TILECHANNELOPS_TD

include "fa4/Dialect/Tile/IR/TileAttrs.td"
include "fa4/Dialect/Tile/IR/TileTypes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Tile_KernelSymbolOp<string mnemonic, list<Trait> phases, list<Trait> traits = []>
    : Tile_Op<mnemonic, phases, !listconcat([Symbol, HasParent<"KernelOp">], traits)>;

def Tile_AllocOp : Tile_KernelSymbolOp<"alloc", T1> {
  let summary = "a family of equal regions of shared or tensor memory";
  let description = [{
    ```mlir
    tile.alloc @kv_mem[3] : smem 32768 bytes
    tile.alloc @o_mem[2] : tmem 128 columns
    ```

    Constraints:
    * (C1) family and size are positive;
    * (C2) tensor memory: a multiple of 16 columns.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DefaultValuedAttr<Tile_NumberAttr, "1">:$family,
                       Tile_SpaceAttr:$space, Tile_NumberAttr:$size);
  let assemblyFormat = [{
    $sym_name (`` `[` $family^ `]`)? `:` custom<Size>($space, $size) attr-dict
  }];
  let hasVerifier = 1;
}

def Tile_ViewOp : Tile_KernelSymbolOp<"view", T1T2,
    [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a tile in a region: shape, place and layout";
  let description = [{
    Views of one allocation may overlap: that is how aliasing is stated. With
    `plus rank * n` the view starts n bytes or columns further in rank 1 of a pair.

    ```mlir
    tile.view @Vb of @kv_mem at byte 12288 : 32x128xbf16, #tile.smem<mn_major, 128, panel = 16384>
    tile.view @Pa of @sp_mem at column 64 : 128x96xbf16, #tile.tmem<lanes>
    ```

    Constraints:
    * (C1) the layout is a `#tile.smem` or `#tile.tmem`, and the offset is in its
      unit and not negative;
    * (C2) the allocation exists and its space is the layout's;
    * (C3) the view lies inside the region;
    * (C4) tensor memory: rank 2;
    * (C5) with `panel`: rank 2, whole panels, and each ends before the next.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$alloc,
                       DefaultValuedAttr<Tile_NumberAttr, "0">:$offset,
                       DefaultValuedAttr<Tile_NumberAttr, "0">:$rank_stride, TypeAttrOf<Tile_Frag>:$tile,
                       AnyAttr:$layout);
  // Custom: the unit of the offset follows from the layout, which stands last.
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    FragType getTileType() { return ::llvm::cast<FragType>(getTile()); }
    Space getSpace() {
      return ::llvm::isa<SmemLayoutAttr>(getLayout()) ? Space::Smem : Space::Tmem;
    }
    /// From the first to the last byte of shared memory, or column of tensor
    /// memory, of the view. The gaps between panels count.
    int64_t getExtent();
    /// Pieces with gaps between them, and the distance from one to the next; 1
    /// and 0 for a view in one piece.
    int64_t getPanels();
    int64_t getPanelPitch();
    /// Bytes that one CTA's part of the tile takes.
    int64_t getBytes();
  }];
}

def Tile_ChannelOp : Tile_KernelSymbolOp<"channel", T1,
    [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "hand-overs between roles: a full half and an empty half";
  let description = [{
    A family of rings of `depth` slots. A generation is one hand-over: acquire
    and commit by the producer, wait and release by the consumer. Carried views
    lie in one allocation, slot by slot; a channel may carry none. `full` and
    `empty` say how threads arrive at that half (engines do as they must);
    `starts` makes so many generations full at the start, per element.

    ```mlir
    tile.channel @kv depth(3) from(@load) to(@mma) carries(@K, @V)
    tile.channel @turn[2] depth(1) from(@consumer previous) to(@consumer each) full(named) starts(1, 0)
    ```

    Constraints:
    * (C1) family and depth are positive;
    * (C2) at least one end on each side;
    * (C3) one start per element, from 0 to the depth;
    * (C4) the ends are roles of the kernel, or of its schedule while it has none,
      and a tie other than `all` needs as many replicas as elements;
    * (C5) the carried views lie in one allocation of family * depth regions.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DefaultValuedAttr<Tile_NumberAttr, "1">:$family,
                       Tile_NumberAttr:$depth, Tile_EndArrayAttr:$from, Tile_EndArrayAttr:$to,
                       OptionalAttr<Tile_ViewArrayAttr>:$carries,
                       OptionalAttr<Tile_ArrivalAttr>:$full, OptionalAttr<Tile_ArrivalAttr>:$empty,
                       OptionalAttr<DenseI64ArrayAttr>:$starts);
  let assemblyFormat = [{
    $sym_name (`` `[` $family^ `]`)? `depth` `(` $depth `)` `from` `(` custom<Ends>($from) `)`
    `to` `(` custom<Ends>($to) `)` (`carries` `(` custom<Symbols>($carries)^ `)`)?
    (`full` `(` custom<Arrival>($full)^ `)`)?
    (`empty` `(` custom<Arrival>($empty)^ `)`)?
    (`starts` `(` custom<Integers>($starts)^ `)`)?
    attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The end on the producing or consuming side that names `role`, or null.
    EndAttr findEnd(bool producer, ::mlir::StringRef role);
    bool doesCarry(::mlir::StringRef view);
  }];
}

class Tile_TokenStartOp<string mnemonic, string resultName>
    : Tile_NamedOp<mnemonic, resultName, T1, [MemoryEffects<[MemRead, MemWrite]>]> {
  let arguments = (ins FlatSymbolRefAttr:$channel, Optional<I32>:$element,
                       OptionalAttr<Tile_NumberAttr>:$static_element);
  let assemblyFormat = [{
    $channel `` custom<Element>($element, $static_element) attr-dict
  }];
}

def Tile_AcquireOp : Tile_TokenStartOp<"acquire", "t"> {
  let summary = "waits for an empty slot, and gives the right to write it";
  let description = [{
    Generation g waits for the release of generation g - depth; the first ones
    pass. Constraints: those of tile-verify-t1 (T1.C).
  }];
  let results = (outs Tile_WriteToken:$token);
}

def Tile_WaitOp : Tile_TokenStartOp<"wait", "t"> {
  let summary = "waits for a full slot, and gives the right to read it";
  let description = [{
    Constraints: those of tile-verify-t1 (T1.C).
  }];
  let results = (outs Tile_ReadToken:$token);
}

class Tile_TokenEndOp<string mnemonic> : Tile_Op<mnemonic, T1, [MemoryEffects<[MemRead, MemWrite]>]> {
  let assemblyFormat = "$token `` custom<After>($after, $after_all) attr-dict";
  let hasVerifier = 1;
}

def Tile_CommitOp : Tile_TokenEndOp<"commit"> {
  let summary = "hands the slot over: it is full";
  let description = [{
    Immediately, or after asynchronous ops complete; `after(all)`: after all
    that this role issued before. The token ends.

    Constraints:
    * (C1) `after(all)` names no op besides.
  }];
  let arguments = (ins Tile_WriteToken:$token, Variadic<Tile_PlainAsync>:$after, UnitAttr:$after_all);
}

def Tile_ReleaseOp : Tile_TokenEndOp<"release"> {
  let summary = "gives the slot back: it is empty";
  let description = [{
    As commit.

    Constraints:
    * (C1) `after(all)` names no op besides.
  }];
  let arguments = (ins Tile_ReadToken:$token, Variadic<Tile_PlainAsync>:$after, UnitAttr:$after_all);
}

def Tile_SettleOp : Tile_Op<"settle", T1, [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until everything committed was released";
  let description = [{
    Takes no slot. In a loop: everything committed before the last commit.

    Constraints: those of tile-verify-t1 (T1.C).
  }];
  let arguments = (ins FlatSymbolRefAttr:$channel, Optional<I32>:$element,
                       OptionalAttr<Tile_NumberAttr>:$static_element);
  let assemblyFormat = "$channel `` custom<Element>($element, $static_element) attr-dict";
}

#endif // FA4_DIALECT_TILE_IR_TILECHANNELOPS_TD
