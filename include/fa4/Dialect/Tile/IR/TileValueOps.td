//===- TileValueOps.td - T0: ops on tile values -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Value ops take and give tiles. They exist at every phase: without layouts at
// T0, on layout-carrying tiles inside roles from T1 on.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_IR_TILEVALUEOPS_TD
#define FA4_DIALECT_TILE_IR_TILEVALUEOPS_TD

include "fa4/Dialect/Tile/IR/TileAttrs.td"
include "fa4/Dialect/Tile/IR/TileTypes.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Tile_ValueOp<string mnemonic, string resultName, list<Trait> phases, list<Trait> traits = []>
    : Tile_NamedOp<mnemonic, resultName, phases, !listconcat([Pure], traits)>;

def Tile_LoadOp : Tile_NamedOp<"load", "tile", T0T1T2, [MemoryEffects<[MemRead<Tile_GmemResource>]>]> {
  let summary = "one tile of a global tensor";
  let description = [{
    Reads the tile at a grid coordinate; what lies outside the tensor reads zero.

    ```mlir
    %k = tile.load %K[%b, %j, %h] : !tile.global<1x128x1x128xbf16> -> !tile.frag<128x128xbf16>
    ```

    Constraints:
    * (C1) at most one coordinate per dimension of the tensor;
    * (C2) the result has the shape and element type of the grid's tile.
  }];
  let arguments = (ins Tile_Global:$global, Variadic<I32>:$coordinates);
  let results = (outs Tile_Frag:$result);
  let assemblyFormat = [{
    $global `` `[` $coordinates `]` attr-dict `:` type($global) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_StoreOp : Tile_Op<"store", T0T1T2, [MemoryEffects<[MemWrite<Tile_GmemResource>]>]> {
  let summary = "writes, or adds to, one tile of a global tensor";
  let description = [{
    What lies outside the tensor vanishes. `add` adds to the memory instead,
    in no fixed order between tiles.

    ```mlir
    tile.store %t to %O[%b, %i, %h] : !T, !g
    tile.store add %t to %dQ[%b, %i, %h] : !S, !gacc
    ```

    Constraints:
    * (C1) at most one coordinate per dimension of the tensor;
    * (C2) the value has the shape and element type of the grid's tile;
    * (C3) `add` only for f32.
  }];
  let arguments = (ins UnitAttr:$add, Tile_Frag:$value, Tile_Global:$global,
                       Variadic<I32>:$coordinates);
  let assemblyFormat = [{
    (`add` $add^)? $value `to` $global `` `[` $coordinates `]` attr-dict
    `:` type($value) `,` type($global)
  }];
  let hasVerifier = 1;
}

def Tile_FetchOp : Tile_NamedOp<"fetch", "elem", T0T1T2, [MemoryEffects<[MemRead<Tile_GmemResource>]>]> {
  let summary = "one element of a global tensor";
  let description = [{
    Element coordinates, one per dimension, in units of elements. Outside the
    tensor reads zero. The only memory access allowed inside a map.

    ```mlir
    %x = tile.fetch %slopes[%h] : !tile.global<1xf32> -> f32
    ```

    Constraints:
    * (C1) one coordinate per dimension of the tensor;
    * (C2) the result is the tensor's element type.
  }];
  let arguments = (ins Tile_Global:$global, Variadic<I32>:$coordinates);
  let results = (outs Tile_Scalar:$result);
  let assemblyFormat = [{
    $global `` `[` $coordinates `]` attr-dict `:` type($global) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_SubrangeOp : Tile_ValueOp<"subrange", "part", T0T1T2, [AllTypesMatch<["global", "result"]>]> {
  let summary = "the grid over a range of one dimension";
  let description = [{
    The same grid over the elements [start, end) of one dimension: coordinates
    count boxes from `start`, and what is outside the range is outside. An end
    before the start is the empty range.

    ```mlir
    %Qb = tile.subrange %Q dim(0) from %start to %end : !tile.global<128x1x128xbf16>
    ```

    Constraints:
    * (C1) the dimension exists.
  }];
  let arguments = (ins Tile_Global:$global, Tile_NumberAttr:$dim, I32:$start, I32:$end);
  let results = (outs Tile_Global:$result);
  let assemblyFormat = [{
    $global `dim` `(` $dim `)` `from` $start `to` $end attr-dict `:` type($global)
  }];
  let hasVerifier = 1;
}

def Tile_MmaOp : Tile_ValueOp<"mma", "acc", T0, [AttrSizedOperandSegments]> {
  let summary = "matrix product, optionally onto an accumulator";
  let description = [{
    `a * b`, or `onto + a * b`. With `unless(%skip)`, a true `%skip` ignores the
    accumulator: the product starts from zero. Products and sums are at least
    of the result's precision. `pair`: of a product of two CTAs this one's rows, for
    which each CTA has half of the columns of `b`.

    ```mlir
    %s = tile.mma a(%q) b(%kt) : (!Q, !Kt) -> !S
    %o = tile.mma a(%p) b(%v) onto(%o0) unless(%first) : (!P, !V, !S) -> !S
    %s = tile.mma a(%q) b(%kt) pair : (!Q, !halfKt) -> !S
    ```

    Constraints:
    * (C1) a is MxK, b is KxN, or K x N/2 if `pair`, the result MxN;
    * (C2) a and b have one element type: bf16, f16, tf32 or an 8-bit float, or
      two 8-bit floats;
    * (C3) the result is f32;
    * (C4) the accumulator has the result's type;
    * (C5) `unless` only with an accumulator.
  }];
  let arguments = (ins Tile_FloatFrag:$a, Tile_FloatFrag:$b, Optional<Tile_F32Frag>:$onto,
                       Optional<I1>:$unless, UnitAttr:$pair);
  let results = (outs Tile_F32Frag:$result);
  let assemblyFormat = [{
    `a` `(` $a `)` `b` `(` $b `)` (`onto` `(` $onto^ `)`)? (`unless` `(` $unless^ `)`)?
    (`pair` $pair^)? attr-dict
    `:` `(` type($a) `,` type($b) (`,` type($onto)^)? `)` `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_TransposeOp : Tile_ValueOp<"transpose", "t", T0> {
  let summary = "rows become columns";
  let description = [{
    ```mlir
    %kt = tile.transpose %k : !tile.frag<128x64xbf16> -> !tile.frag<64x128xbf16>
    ```

    Constraints:
    * (C1) rank 2;
    * (C2) the result has the operand's element type and its extents exchanged.
  }];
  let arguments = (ins Tile_Frag:$operand);
  let results = (outs Tile_Frag:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_SliceOp : Tile_ValueOp<"slice", "part", T0T1T2> {
  let summary = "a range of rows or columns";
  let description = [{
    ```mlir
    %za = tile.slice %z columns 0 to 96 : !tile.frag<128x128xf32> -> !tile.frag<128x96xf32>
    ```

    Constraints:
    * (C1) `0 <= begin < end <=` the extent; columns need rank 2;
    * (C2) the result has the operand's element type and the range's shape.
  }];
  let arguments = (ins Tile_Frag:$operand, Tile_AxisAttr:$axis, Tile_NumberAttr:$begin, Tile_NumberAttr:$end);
  let results = (outs Tile_Frag:$result);
  let assemblyFormat = [{
    $operand `` $axis $begin `to` $end attr-dict `:` type($operand) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_MapOp : Tile_NamedOp<"map", "x", T0T1T2, [AttrSizedOperandSegments, RecursiveMemoryEffects,
    RecursivelySpeculatable, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "an elementwise function, given as a region on scalars";
  let description = [{
    The region runs once per element of the results. A rank-1 operand gives the
    number of the element's row, a `1xN` operand that of its column. With
    `at(%i = %row0, %j = %col0)` the region also sees the element's position:
    `%i` = row0 + row and `%j` = col0 + column, in elements. The region may
    use scalars and globals from outside, never tiles.

    ```mlir
    %p = tile.map (%v = %x, %off = %d) at(%i = %row0, %j = %col0) : (!S, !row) -> !S {
      %f = math.fma %v, %c, %off : f32
      tile.yield %f : f32
    }
    ```

    Constraints:
    * (C1) the region's arguments are the operands' elements, then the two i32 positions if `at`;
    * (C2) all results have one shape, and each operand has it or broadcasts to it;
    * (C3) the yielded scalars are the results' elements;
    * (C4) at least one result, and an operand or `at`;
    * (C5) the region uses no tile, and only memory-effect-free ops or `tile.fetch`.
  }];
  let arguments = (ins Variadic<Tile_Frag>:$inputs, Optional<I32>:$row_base, Optional<I32>:$column_base);
  let results = (outs Variadic<Tile_Frag>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  // Custom: region arguments are named beside the operands they stand for.
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$results, "::mlir::ValueRange":$inputs,
      "::mlir::Value":$rowBase, "::mlir::Value":$columnBase,
      "::llvm::function_ref<void(::mlir::OpBuilder &, ::mlir::Location, ::mlir::ValueRange)>":$body)>];
  let extraClassDeclaration = nameResults # [{
    bool hasPosition() { return static_cast<bool>(getRowBase()); }
    /// The shape every result has.
    ::llvm::ArrayRef<int64_t> getCommonShape() {
      return ::llvm::cast<FragType>(getOutputs().front().getType()).getShape();
    }
    YieldOp getYield();
  }];
}

def Tile_MaskOp : Tile_ValueOp<"mask", "s", T0T1T2, [AllTypesMatch<["scores", "result"]>]> {
  let summary = "removes scores: minus infinity where a key is not visible";
  let description = [{
    `block(%i, %j)` is the tile's position in units of its own rows and columns:
    its first row is `%i * M`, its first column `%j * N`. A score stays iff
    every mask keeps it and `0 <= column < sk` and `row < sq`. Masks align rows
    to columns as they say, with `offset` added to the aligned row (M3).

    ```mlir
    %y = tile.mask %s block(%qi, %j) [#attn.causal<bottom_right>] extents(%sq, %sk) : !S
    ```

    Constraints:
    * (C1) rank 2, f32;
    * (C2) every mask implements the attn mask interface.
  }];
  let arguments = (ins Tile_F32Frag:$scores, I32:$row_block, I32:$column_block, ArrayAttr:$masks,
                       I32:$rows, I32:$columns, Optional<I32>:$offset);
  let results = (outs Tile_F32Frag:$result);
  let assemblyFormat = [{
    $scores `block` `(` $row_block `,` $column_block `)` $masks
    `extents` `(` $rows `,` $columns `)` (`offset` `(` $offset^ `)`)? attr-dict `:` type($scores)
  }];
  let hasVerifier = 1;
}

class Tile_RowReduceOp<string mnemonic, string resultName>
    : Tile_ValueOp<mnemonic, resultName, T0T1T2, [AllTypesMatch<["init", "result"]>]> {
  let arguments = (ins Tile_F32Frag:$operand, Tile_F32Row:$init);
  let results = (outs Tile_F32Row:$result);
  let assemblyFormat = [{
    $operand `init` `(` $init `)` attr-dict `:` type($operand) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_RowMaxOp : Tile_RowReduceOp<"row_max", "top"> {
  let summary = "per row, the largest of the row and the initial value";
  let description = [{
    NaNs are passed over, as PTX `max` and `arith.maxnumf` do.

    Constraints:
    * (C1) rank 2;
    * (C2) init has one number per row.
  }];
}

def Tile_RowSumOp : Tile_RowReduceOp<"row_sum", "sum"> {
  let summary = "per row, the initial value plus the sum of the row";
  let description = [{
    The value is that of any association of the sum, fixed per target. On the
    CPU: 16 interleaved partial sums (column mod 16) from zero, then a tree that
    adds partial k + 8, then k + 4, k + 2 and k + 1 to partial k, then the initial value.

    Constraints:
    * (C1) rank 2;
    * (C2) init has one number per row.
  }];
}

def Tile_OnlineMaxOp : Tile_NamedOp<"online_max", "d", T0T1T2, [Pure, AllTypesMatch<["top", "reference",
    "next_reference", "offset", "factor"]>]> {
  let summary = "the online-softmax statistic: next reference, offset and factor";
  let description = [{
    The carried statistic is the negated scaled reference `d = -(m * c)` of a
    row's maximum m, plus infinity before any key was seen; c > 0 holds the
    log2 domain. With `top` the largest raw score seen in this step and `lag` the
    log2 distance by which a row may stay behind (0 if absent):

    ```
    dn = -(top * c)         a = dn - d
    keep   = a >= -lag or a is NaN
    d1     = keep ? d : dn
    use    = d1 is +inf ? 0 : d1
    factor = keep ? 1 : exp2(a)
    ```

    Scores become exp2(x * c + use), what was accumulated is multiplied by
    `factor`. Offset and factor come from the same rounded numbers, so they are
    consistent also for huge logits. Results: d1, use, factor.

    ```mlir
    %d1, %use, %a = tile.online_max %top from(%d) scale(%c) lag(8.0) : !row
    ```

    Constraints:
    * (C1) lag is finite and not negative.
  }];
  let arguments = (ins Tile_F32Row:$top, Tile_F32Row:$reference, F32:$scale,
                       OptionalAttr<F32Attr>:$lag);
  let results = (outs Tile_F32Row:$next_reference, Tile_F32Row:$offset, Tile_F32Row:$factor);
  let assemblyFormat = [{
    $top `from` `(` $reference `)` `scale` `(` $scale `)` (`lag` `(` $lag^ `)`)? attr-dict
    `:` type($top)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    void getAsmResultNames(::mlir::OpAsmSetValueNameFn setNameFn) {
      setNameFn(getNextReference(), "d");
      setNameFn(getOffset(), "use");
      setNameFn(getFactor(), "factor");
    }
  }];
}

def Tile_Exp2Op : Tile_ValueOp<"exp2", "p", T0T1T2, [AllTypesMatch<["operand", "result"]>]> {
  let summary = "two to the power of each element";
  let description = [{
    `share` names the columns that get the polynomial; all others get the
    machine's own exp2. Columns count from `from` (0 if absent), which slices
    keep right: column c of this tile is column `from + c` of the whole.

    ```mlir
    %p = tile.exp2 %z share(<degree = 3, period = 16, last = 4, first_chunk = 1, last_chunk = 2>) from(32) : !S
    ```

    Constraints:
    * (C1) the offset is not negative.
  }];
  let arguments = (ins Tile_F32Frag:$operand, OptionalAttr<Tile_Exp2ShareAttr>:$share,
                       DefaultValuedAttr<Tile_NumberAttr, "0">:$columns_from);
  let results = (outs Tile_F32Frag:$result);
  let assemblyFormat = [{
    $operand (`share` `(` $share^ `)`)? (`from` `(` $columns_from^ `)`)? attr-dict `:` type($operand)
  }];
  let hasVerifier = 1;
}

def Tile_ScaleRowsOp : Tile_ValueOp<"scale_rows", "scaled", T0T1T2, [AllTypesMatch<["operand", "result"]>]> {
  let summary = "each row times its number";
  let description = [{
    Exact: one rounded product per element. `likely_one` changes no value; it
    permits a warp to vote and skip the products when all its numbers are 1.

    ```mlir
    %r = tile.scale_rows %o by %a likely_one : !S, !row
    ```

    Constraints:
    * (C1) rank 2, and one number per row.
  }];
  let arguments = (ins Tile_F32Frag:$operand, Tile_F32Row:$by, UnitAttr:$likely_one);
  let results = (outs Tile_F32Frag:$result);
  let assemblyFormat = [{
    $operand `by` $by (`likely_one` $likely_one^)? attr-dict `:` type($operand) `,` type($by)
  }];
  let hasVerifier = 1;
}

def Tile_CastOp : Tile_ValueOp<"cast", "cast", T0T1T2> {
  let summary = "elementwise conversion between float types";
  let description = [{
    Rounds to nearest even. From T1 on it may also move the tile between
    layouts of the same threads (`acc` to `a16`).

    Constraints:
    * (C1) the shapes agree.
  }];
  let arguments = (ins Tile_FloatFrag:$operand);
  let results = (outs Tile_FloatFrag:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_SplatOp : Tile_ValueOp<"splat", "fill", T0T1T2> {
  let summary = "every element is one scalar";
  let description = [{
    ```mlir
    %zo = tile.splat %zero : f32 -> !tile.frag<128x128xf32>
    ```

    Constraints:
    * (C1) the scalar has the tile's element type.
  }];
  let arguments = (ins Tile_Scalar:$value);
  let results = (outs Tile_Frag:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_RedistributeOp : Tile_ValueOp<"redistribute", "halves", T0,
    [AllTypesMatch<["operand", "result"]>]> {
  let summary = "the same tile, split over a CTA pair along the other dimension";
  let description = [{
    A tile of a pair's logical program lies split by rows over its two CTAs. The
    result is the same value, split along `axis`; at T0 it is the identity.

    ```mlir
    %x = tile.redistribute %ds columns to peers : !S
    ```

    Constraints:
    * (C1) rank 2, and both extents are even.
  }];
  let arguments = (ins Tile_Frag:$operand, Tile_AxisAttr:$axis);
  let results = (outs Tile_Frag:$result);
  let assemblyFormat = "$operand `` $axis `to` `peers` attr-dict `:` type($operand)";
  let hasVerifier = 1;
}

def Tile_CtaRankOp : Tile_ValueOp<"cta_rank", "rank", T0> {
  let summary = "which CTA of a pair this is";
  let description = [{
    0 in the leader, 1 in its peer. In the program of one CTA of a pair, which
    tile-pair-ctas makes; roles have it as an argument.

    ```mlir
    %rank = tile.cta_rank : i32
    ```
  }];
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Tile_InlinePtxOp : Tile_ValueOp<"inline_ptx", "ptx", T0T1T2> {
  let summary = "an elementwise function in PTX";
  let description = [{
    The text runs once per element, on scalars inside a map or on tiles of one
    shape. It must be a function of its operands. `constraints` are LLVM's, the
    results first.

    ```mlir
    %y = tile.inline_ptx "tanh.approx.f32 $0, $1;" constraints "=f,f" (%x) : (!S) -> !S
    ```

    Constraints:
    * (C1) one `=` constraint per result, then one per operand;
    * (C2) at least one result;
    * (C3) operands and results are all scalars, or all tiles of one shape.
  }];
  let arguments = (ins StrAttr:$text, StrAttr:$constraints, Variadic<AnyType>:$inputs);
  let results = (outs Variadic<AnyType>:$outputs);
  let assemblyFormat = [{
    $text `constraints` $constraints `(` $inputs `)` attr-dict
    `:` functional-type($inputs, $outputs)
  }];
  let hasVerifier = 1;
}

#endif // FA4_DIALECT_TILE_IR_TILEVALUEOPS_TD
