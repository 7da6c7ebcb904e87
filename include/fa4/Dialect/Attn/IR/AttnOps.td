//===- AttnOps.td - attention, as one op per direction ---------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_ATTN_IR_ATTNOPS_TD
#define FA4_DIALECT_ATTN_IR_ATTNOPS_TD

include "fa4/Dialect/Attn/IR/AttnAttributes.td"
include "fa4/Dialect/FA4/IR/FA4Attributes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/TilingInterface.td"

class Attn_Op<string opMnemonic, list<Trait> traits = []> : Op<Attn_Dialect, opMnemonic, traits>;

//===----------------------------------------------------------------------===//
// Constraints
//===----------------------------------------------------------------------===//

def Attn_Array : AnyTypeOf<[AnyRankedTensor, AnyNon0RankedMemRef], "ranked tensor or memref">;
def Attn_Captured : AnyTypeOf<[AnyRankedTensor, AnyNon0RankedMemRef, F32, I32],
                              "ranked tensor or memref, f32 or i32">;
def Attn_AnyMask : Attr<CPred<"::llvm::isa<::fa4::attn::AttnMaskInterface>($_self)">,
                        "a mask of AttnMaskInterface">;
def Attn_MaskArray : TypedArrayAttrBase<Attn_AnyMask, "array of masks">;

/// What all destination-style ops of the dialect share.
defvar Attn_DestinationTraits = [
  DestinationStyleOpInterface,
  DeclareOpInterfaceMethods<InferTypeOpInterface, ["inferReturnTypes"]>,
  DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
  DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>
];

//===----------------------------------------------------------------------===//
// attn.forward
//===----------------------------------------------------------------------===//

def Attn_ForwardOp : Attn_Op<"forward", Attn_DestinationTraits # [
    AttrSizedOperandSegments, IsolatedFromAbove,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames", "getAsmBlockArgumentNames"]>,
    DeclareOpInterfaceMethods<TilingInterface,
        ["getLoopIteratorTypes", "getIterationDomain", "getTiledImplementation",
         "getResultTilePosition", "getIterationDomainTileFromResultTile",
         "generateResultTileValue"]>]> {
  let summary = "attention: o = softmax(mask(score(scale q k'))) v, and its lse";
  let description = [{
    Computes attention of `q`, `k`, `v` into the destinations `o` and, if given,
    `lse`: on tensors with results, on memrefs in place. Destinations are written
    whole and never read.

    ```mlir
    %o, %lse = attn.forward ins(%q, %k, %v : tensor<1x1024x8x128xbf16>, tensor<1x1024x2x128xbf16>, tensor<1x1024x2x128xbf16>)
        outs(%oi, %li : tensor<1x1024x8x128xbf16>, tensor<1x8x1024xf32>)
        mask [#attn.causal, #attn.window<left = 256, right = none>]
        score captures(%slopes : tensor<8xf32>) {
        ^bb0(%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %t: tensor<8xf32>):
          %slope = attn.fetch %t[%h] : tensor<8xf32>
          %behind = arith.subi %j, %i : i32
          %distance = arith.sitofp %behind : i32 to f32
          %bias = arith.mulf %slope, %distance : f32
          %x = arith.addf %s, %bias : f32
          attn.yield %x : f32
        }
    ```

    Shapes and types:
    - S1. `q [B, Sq, Hq, Dqk]`, `k [B, Sk, Hkv, Dqk]`, `v [B, Sk, Hkv, Dv]`,
      `o [B, Sq, Hq, Dv]`, `lse [B, Hq, Sq]` of f32. `layout(bhsd)` swaps the inner
      two of q, k, v, o. `layout(thd)` packs sequences: `q [Tq, Hq, Dqk]`,
      `k [Tk, Hkv, Dqk]`, `v [Tk, Hkv, Dv]`, `o [Tq, Hq, Dv]`, `lse [Hq, Tq]`, i32
      `prefix_sums [B + 1]` of q and k, optional i32 `used_lengths [B]` of q and k;
      then b is the sequence and i, j count inside it. M3 aligns used lengths; rows
      past a used q length get o = 0, lse = -inf.
    - S2. On memrefs: innermost stride 1, other strides non-negative multiples of 16
      bytes, base 16-byte aligned; strides of extents <= 1 are ignored. Destinations
      have no stride 0. What is dynamic is the caller's promise.
    - S3. Hq is a positive multiple of Hkv; query head h reads kv head h / (Hq / Hkv).
    - S4. B, Sq, Sk and packed lengths may be 0 or 1; all extents fit 32 bits, as
      positions do.
    - S6. Dqk and Dv are static multiples of 8 from 8 to 256.
    - S7. q, k, v, o are all bf16 or all f16; sums and statistics are f32.

    Scores, in this order:
    - M1. s = scale (q . k), `scale` finite, default 1/sqrt(Dqk), rounded to f32.
      Then the `score` region, pure: (s, b, h, i, j, captures...) -> s of f32; i and
      j are raw positions. -inf hides the key. `fast` permits less than 4 ulp.
    - M2. Masked keys are removed from the sum.
    - M3. `mask` lists interval masks, each aligned bottom-right or top-left;
      `position_offset [B]` of i32 is added to the aligned row of either.
    - M4. Bounds of windows are exact numbers, or absent.
    - M5. Masks intersect: every one of `mask`, `document_ids` (i32 `[B, Sq]` and
      `[B, Sk]`, packed `[Tq]` and `[Tk]`; keep iff equal) and the `predicate` region
      ((b, h, i, j, captures...) -> i1, keep iff true).
    - M8. `sink [Hq]` of f32: one more logit per head, in the denominator only.

    Results:
    - R1. A row that sees no key: o = 0, lse = -inf; with a sink lse = sink.
    - R2. lse is the natural logarithm of the sum of exp(s).

    Regions are isolated: what they read from outside is listed in `captures` and
    follows the scalars as a block argument; arrays are read by `attn.fetch`.

    `origin(%b, %h)` is added to the b and h that regions see; tiling over batch
    and heads sets it, so that a tile computes what the whole would.

    `scale_placement` is set by `attn-legalize`: `in_exp2` multiplies once, inside
    exp2, and needs scale > 0 and no score region; `before_max` is always right.
  }];

  let arguments = (ins
    Attn_Array:$q, Attn_Array:$k, Attn_Array:$v,
    Attn_Array:$o, Optional<Attn_Array>:$lse,
    Optional<Attn_Array>:$queryDocuments, Optional<Attn_Array>:$keyDocuments,
    Optional<Attn_Array>:$positionOffset,
    Optional<Attn_Array>:$queryPrefixSums, Optional<Attn_Array>:$keyPrefixSums,
    Optional<Attn_Array>:$queryUsedLengths, Optional<Attn_Array>:$keyUsedLengths,
    Optional<Attn_Array>:$sink,
    Optional<Index>:$batchOrigin, Optional<Index>:$headOrigin,
    Variadic<Attn_Captured>:$scoreCaptures,
    Variadic<Attn_Captured>:$predicateCaptures,
    DefaultValuedAttr<Attn_LayoutAttr, "::fa4::attn::Layout::BSHD">:$layout,
    OptionalAttr<F32Attr>:$scale,
    OptionalAttr<Attn_ScalePlacementAttr>:$scalePlacement,
    OptionalAttr<Attn_MaskArray>:$masks,
    OptionalAttr<FA4_ScheduleAttr>:$schedule,
    UnitAttr:$fast);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region AnyRegion:$score, AnyRegion:$predicate);

  let assemblyFormat = [{
    `ins` `(` $q `,` $k `,` $v `:` type($q) `,` type($k) `,` type($v) `)`
    `outs` `(` $o (`,` $lse^)? `:` type($o) (`,` type($lse)^)? `)`
    (`layout` `(` custom<Layout>($layout)^ `)`)?
    (`scale` `(` $scale^ `)`)?
    (`scale_placement` `(` custom<ScalePlacement>($scalePlacement)^ `)`)?
    (`mask` $masks^)?
    (`document_ids` `(` $queryDocuments^ `,` $keyDocuments `:`
        type($queryDocuments) `,` type($keyDocuments) `)`)?
    (`position_offset` `(` $positionOffset^ `:` type($positionOffset) `)`)?
    (`prefix_sums` `(` $queryPrefixSums^ `,` $keyPrefixSums `:`
        type($queryPrefixSums) `,` type($keyPrefixSums) `)`)?
    (`used_lengths` `(` $queryUsedLengths^ `,` $keyUsedLengths `:`
        type($queryUsedLengths) `,` type($keyUsedLengths) `)`)?
    (`sink` `(` $sink^ `:` type($sink) `)`)?
    (`origin` `(` $batchOrigin^ `,` $headOrigin `)`)?
    (`schedule` `(` qualified($schedule)^ `)`)?
    (`fast` $fast^)?
    attr-dict-with-keyword
    (`score` (`captures` `(` $scoreCaptures^ `:` type($scoreCaptures) `)`)? $score^)?
    (`predicate` (`captures` `(` $predicateCaptures^ `:` type($predicateCaptures) `)`)? $predicate^)?
  }];

  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    mlir::MutableOperandRange getDpsInitsMutable();

    bool hasScoreRegion() { return !getScore().empty(); }
    bool hasPredicateRegion() { return !getPredicate().empty(); }
    /// Where the dimensions of q, k, v and o are.
    TensorDims getTensorDims() { return attn::getTensorDims(getLayout()); }
    /// What S1 lets operands share, a list of places for each extent.
    llvm::SmallVector<SharedExtent> getSharedExtents();
    /// The head dims; static by S6.
    int64_t getQueryKeyDim();
    int64_t getValueDim();
    /// The scale as f32, also where the attribute is absent (M1).
    llvm::APFloat getScaleOrDefault();
    /// The placement, also before `attn-legalize` has set it.
    ScalePlacement getScalePlacementOrDefault();
    /// The interval masks; empty if there are none.
    llvm::SmallVector<AttnMaskInterface> getMaskList();
  }];
}

def Attn_YieldOp : Attn_Op<"yield", [Pure, Terminator, HasParent<"ForwardOp">]> {
  let summary = "ends a score or predicate region";
  let description = [{
    Gives the new score (f32), or whether the key is kept (i1).
  }];
  let arguments = (ins AnyTypeOf<[F32, I1]>:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def Attn_FetchOp : Attn_Op<"fetch", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    TypesMatchWith<"the result is an element of the source", "source", "result",
                   "::mlir::getElementTypeOrSelf($_self)">]> {
  let summary = "reads one element of a captured array";
  let description = [{
    One i32 coordinate per dimension. Outside the array it reads 0, since a region
    is also evaluated for rows and keys past the ends, whose scores are then masked.

    ```mlir
    %x = attn.fetch %bias[%h, %i, %j] : tensor<8x1024x1024xf32>
    ```
  }];
  let arguments = (ins Arg<Attn_Array, "the array">:$source, Variadic<I32>:$indices);
  let results = (outs AnyTypeOf<[AnyFloat, AnySignlessInteger]>:$result);
  let assemblyFormat = "$source `[` $indices `]` attr-dict `:` type($source)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// attn.merge
//===----------------------------------------------------------------------===//

def Attn_MergeOp : Attn_Op<"merge", Attn_DestinationTraits # [
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "joins two partial attentions over disjoint keys";
  let description = [{
    With w1 = exp(lse1 - lse) and w2 = exp(lse2 - lse): o = w1 o1 + w2 o2 and
    lse = log(exp(lse1) + exp(lse2)).

    - S1. The o's and lse's have the shapes of `attn.forward`'s; lse is f32, o is
      f32, bf16 or f16.
    - R3. Associative; two empty states give o = 0, lse = -inf; an empty state
      (lse = -inf) leaves the other as it is.

    ```mlir
    %o, %lse = attn.merge ins(%o1, %l1, %o2, %l2 : tensor<1x64x8x128xf32>, tensor<1x8x64xf32>, tensor<1x64x8x128xf32>, tensor<1x8x64xf32>)
        outs(%oi, %li : tensor<1x64x8x128xbf16>, tensor<1x8x64xf32>)
    ```
  }];
  let arguments = (ins Attn_Array:$o1, Attn_Array:$lse1, Attn_Array:$o2, Attn_Array:$lse2,
    Attn_Array:$o, Optional<Attn_Array>:$lse,
    DefaultValuedAttr<Attn_LayoutAttr, "::fa4::attn::Layout::BSHD">:$layout);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $o1 `,` $lse1 `,` $o2 `,` $lse2 `:`
        type($o1) `,` type($lse1) `,` type($o2) `,` type($lse2) `)`
    `outs` `(` $o (`,` $lse^)? `:` type($o) (`,` type($lse)^)? `)`
    (`layout` `(` custom<Layout>($layout)^ `)`)? attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    mlir::MutableOperandRange getDpsInitsMutable();
    TensorDims getTensorDims() { return attn::getTensorDims(getLayout()); }
  }];
}

#endif // FA4_DIALECT_ATTN_IR_ATTNOPS_TD
