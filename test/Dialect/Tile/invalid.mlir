// RUN: fa4-opt %s --split-input-file --verify-diagnostics

// Types and attributes.

// expected-error @+1 {{expected rank of a frag to be 1 or 2, but got 3}}
func.func private @frag_c1(!tile.frag<2x4x8xf32>)

// -----

// expected-error @+1 {{expected extents of a frag to be positive, but got 0}}
func.func private @frag_c1_extent(!tile.frag<0x8xf32>)

// -----

// expected-error @+1 {{expected element type of a frag to be a float, i1 or i32, but got 'i64'}}
func.func private @frag_c2(!tile.frag<8xi64>)

// -----

// expected-error @+1 {{expected rank of a global to be at least 1, but got 0}}
func.func private @global_c1(!tile.global<f32>)

// -----

// expected-error @+1 {{expected a global's box to have at most 2 extents other than 1, but got 3}}
func.func private @global_c2(!tile.global<2x4x1x8xf32>)

// -----

// expected-error @+1 {{expected element type of a global to be a float or signless integer, but got 'index'}}
func.func private @global_c3(!tile.global<8xindex>)

// -----

// expected-error @+1 {{expected degree of an exp2 share to be from 1 to 8, but got 0}}
func.func private @exp2_share_c1() attributes {test.a = #tile.exp2_share<degree = 0, period = 16, last = 4, first_chunk = 1, last_chunk = 2>}

// -----

// expected-error @+1 {{expected last of an exp2 share to be from 0 to the period 16, but got 17}}
func.func private @exp2_share_c2() attributes {test.a = #tile.exp2_share<degree = 3, period = 16, last = 17, first_chunk = 1, last_chunk = 2>}

// -----

// expected-error @+1 {{expected chunks of an exp2 share to be an ascending range, but got 2 to 1}}
func.func private @exp2_share_c3() attributes {test.a = #tile.exp2_share<degree = 3, period = 16, last = 4, first_chunk = 2, last_chunk = 1>}

// -----

// Memory.

!g = !tile.global<1x128x1x64xbf16>
tile.def @load_c1(%G: !g, %i: i32) {
  // expected-error @+1 {{expected at most 4 coordinates, one per dimension, but got 5}}
  %x = tile.load %G[%i, %i, %i, %i, %i] : !g -> !tile.frag<128x64xbf16>
}

// -----

!g = !tile.global<1x128x1x64xbf16>
tile.def @load_c2(%G: !g) {
  // expected-error @+1 {{expected the tile value to be like the grid's tile '!tile.frag<128x64xbf16>', but got '!tile.frag<64x128xbf16>'}}
  %x = tile.load %G[] : !g -> !tile.frag<64x128xbf16>
}

// -----

!g = !tile.global<1x1xf32>
tile.def @load_scalar_grid(%G: !g) {
  // expected-error @+1 {{expected the grid to have a tile, but got a grid of scalars '!tile.global<1x1xf32>'}}
  %x = tile.load %G[] : !g -> !tile.frag<1xf32>
}

// -----

!g = !tile.global<1x128x1x64xbf16>
tile.def @store_c2(%G: !g, %x: !tile.frag<128x64xf32>) {
  // expected-error @+1 {{expected the tile value to be like the grid's tile}}
  tile.store %x to %G[] : !tile.frag<128x64xf32>, !g
}

// -----

!g = !tile.global<1x128x1x64xbf16>
tile.def @store_c3(%G: !g, %x: !tile.frag<128x64xbf16>) {
  // expected-error @+1 {{expected element type of an adding store to be f32, but got 'bf16'}}
  tile.store add %x to %G[] : !tile.frag<128x64xbf16>, !g
}

// -----

!g = !tile.global<1x128xf32>
tile.def @fetch_c1(%G: !g, %i: i32) {
  // expected-error @+1 {{expected 2 coordinates, one per dimension, but got 1}}
  %x = tile.fetch %G[%i] : !g -> f32
}

// -----

!g = !tile.global<1x128xf32>
tile.def @fetch_c2(%G: !g, %i: i32) {
  // expected-error @+1 {{expected result type to be the tensor's element type 'f32', but got 'f16'}}
  %x = tile.fetch %G[%i, %i] : !g -> f16
}

// -----

!g = !tile.global<1x128xf32>
tile.def @subrange_c1(%G: !g, %i: i32) {
  // expected-error @+1 {{expected dim to be from 0 to 1, but got 2}}
  %x = tile.subrange %G dim(2) from %i to %i : !g
}

// -----

// Products and shapes.

tile.def @mma_c1(%a: !tile.frag<128x64xbf16>, %b: !tile.frag<128x64xbf16>) {
  // expected-error @+1 {{expected columns of 'a' and rows of 'b' to be equal, but got 64 and 128}}
  %s = tile.mma a(%a) b(%b) : (!tile.frag<128x64xbf16>, !tile.frag<128x64xbf16>) -> !tile.frag<128x64xf32>
}

// -----

tile.def @mma_c1_result(%a: !tile.frag<128x64xbf16>, %b: !tile.frag<64x32xbf16>) {
  // expected-error @+1 {{expected result to be 128x32, but got 32x128}}
  %s = tile.mma a(%a) b(%b) : (!tile.frag<128x64xbf16>, !tile.frag<64x32xbf16>) -> !tile.frag<32x128xf32>
}

// -----

tile.def @mma_c2(%a: !tile.frag<128x64xbf16>, %b: !tile.frag<64x32xf16>) {
  // expected-error @+1 {{expected element types of 'a' and 'b' to be one of bf16, f16, tf32, or 8-bit floats, but got 'bf16' and 'f16'}}
  %s = tile.mma a(%a) b(%b) : (!tile.frag<128x64xbf16>, !tile.frag<64x32xf16>) -> !tile.frag<128x32xf32>
}

// -----

tile.def @mma_c3(%a: !tile.frag<128x64xbf16>, %b: !tile.frag<64x32xbf16>) {
  // expected-error @+1 {{result #0 must be a tile value of f32, but got '!tile.frag<128x32xbf16>'}}
  %s = tile.mma a(%a) b(%b) : (!tile.frag<128x64xbf16>, !tile.frag<64x32xbf16>) -> !tile.frag<128x32xbf16>
}

// -----

tile.def @mma_c4(%a: !tile.frag<128x64xbf16>, %b: !tile.frag<64x32xbf16>, %c: !tile.frag<32x128xf32>) {
  // expected-error @+1 {{expected 'onto' to have the result's type '!tile.frag<128x32xf32>', but got '!tile.frag<32x128xf32>'}}
  %s = tile.mma a(%a) b(%b) onto(%c) : (!tile.frag<128x64xbf16>, !tile.frag<64x32xbf16>, !tile.frag<32x128xf32>) -> !tile.frag<128x32xf32>
}

// -----

tile.def @mma_c5(%a: !tile.frag<128x64xbf16>, %b: !tile.frag<64x32xbf16>, %f: i1) {
  // expected-error @+1 {{expected 'unless' to be used with 'onto', but got no 'onto'}}
  %s = tile.mma a(%a) b(%b) unless(%f) : (!tile.frag<128x64xbf16>, !tile.frag<64x32xbf16>) -> !tile.frag<128x32xf32>
}

// -----

tile.def @transpose_c1(%a: !tile.frag<128xbf16>) {
  // expected-error @+1 {{expected rank of 'operand' to be 2, but got 1}}
  %s = tile.transpose %a : !tile.frag<128xbf16> -> !tile.frag<128xbf16>
}

// -----

tile.def @transpose_c2(%a: !tile.frag<128x64xbf16>) {
  // expected-error @+1 {{expected result to be '!tile.frag<64x128xbf16>', but got '!tile.frag<128x64xbf16>'}}
  %s = tile.transpose %a : !tile.frag<128x64xbf16> -> !tile.frag<128x64xbf16>
}

// -----

tile.def @slice_c1(%a: !tile.frag<128x64xbf16>) {
  // expected-error @+1 {{expected columns to be an ascending range within 0 to 64, but got 32 to 96}}
  %s = tile.slice %a columns 32 to 96 : !tile.frag<128x64xbf16> -> !tile.frag<128x64xbf16>
}

// -----

tile.def @slice_c2(%a: !tile.frag<128x64xbf16>) {
  // expected-error @+1 {{expected result to be '!tile.frag<32x64xbf16>', but got '!tile.frag<128x32xbf16>'}}
  %s = tile.slice %a rows 0 to 32 : !tile.frag<128x64xbf16> -> !tile.frag<128x32xbf16>
}

// -----

tile.def @splat_c1(%x: f16) {
  // expected-error @+1 {{expected scalar to have the tile's element type 'f32', but got 'f16'}}
  %s = tile.splat %x : f16 -> !tile.frag<128xf32>
}

// -----

tile.def @cast_c1(%a: !tile.frag<128x64xf32>) {
  // expected-error @+1 {{expected operand and result to have one shape, but got '!tile.frag<128x64xf32>' and '!tile.frag<64x64xbf16>'}}
  %s = tile.cast %a : !tile.frag<128x64xf32> -> !tile.frag<64x64xbf16>
}

// -----

tile.def @redistribute_c1(%a: !tile.frag<127x64xbf16>) {
  // expected-error @+1 {{expected extents to be even, but got 127 and 64}}
  %s = tile.redistribute %a columns to peers : !tile.frag<127x64xbf16>
}

// -----

// Softmax.

tile.def @mask_c1(%s: !tile.frag<128xf32>, %i: i32) {
  // expected-error @+1 {{expected rank of 'scores' to be 2, but got 1}}
  %x = tile.mask %s block(%i, %i) [] extents(%i, %i) : !tile.frag<128xf32>
}

// -----

tile.def @mask_c2(%s: !tile.frag<128x64xf32>, %i: i32) {
  // expected-error @+1 {{expected masks to implement the attn mask interface, but got "causal"}}
  %x = tile.mask %s block(%i, %i) ["causal"] extents(%i, %i) : !tile.frag<128x64xf32>
}

// -----

tile.def @row_max_c1(%s: !tile.frag<128xf32>) {
  // expected-error @+1 {{expected rank of 'operand' to be 2, but got 1}}
  %x = tile.row_max %s init(%s) : !tile.frag<128xf32> -> !tile.frag<128xf32>
}

// -----

tile.def @row_sum_c2(%s: !tile.frag<128x64xf32>, %i: !tile.frag<64xf32>) {
  // expected-error @+1 {{expected 'init' to have one number for each of 128 rows, but got 64}}
  %x = tile.row_sum %s init(%i) : !tile.frag<128x64xf32> -> !tile.frag<64xf32>
}

// -----

tile.def @online_max_c1(%m: !tile.frag<128xf32>, %c: f32) {
  // expected-error @+1 {{expected lag to be finite and not negative, but got -1.000000e+00}}
  %d, %u, %a = tile.online_max %m from(%m) scale(%c) lag(-1.0) : !tile.frag<128xf32>
}

// -----

tile.def @exp2_c1(%s: !tile.frag<128x64xf32>) {
  // expected-error @+1 {{expected first column to be at least 0, but got -32}}
  %x = tile.exp2 %s from(-32) : !tile.frag<128x64xf32>
}

// -----

tile.def @scale_rows_c1(%s: !tile.frag<128x64xf32>, %a: !tile.frag<64xf32>) {
  // expected-error @+1 {{expected 'by' to have one number for each of 128 rows, but got 64}}
  %x = tile.scale_rows %s by %a : !tile.frag<128x64xf32>, !tile.frag<64xf32>
}

// -----

tile.def @inline_ptx_c1(%s: !tile.frag<128x64xf32>) {
  // expected-error @+1 {{expected constraints to be 1 for results, then 1 for operands, but got '=f'}}
  %x = tile.inline_ptx "ex2.approx.f32 $0, $1;" constraints "=f" (%s) : (!tile.frag<128x64xf32>) -> !tile.frag<128x64xf32>
}

// -----

tile.def @inline_ptx_c2(%s: !tile.frag<128x64xf32>) {
  // expected-error @+1 {{expected at least one result, but got none}}
  tile.inline_ptx "prefetch $0;" constraints "f" (%s) : (!tile.frag<128x64xf32>) -> ()
}

// -----

tile.def @inline_ptx_c3(%s: !tile.frag<128x64xf32>, %x: f32) {
  // expected-error @+1 {{expected operands and results to be scalars, or tiles of one shape, but got 'f32' beside '!tile.frag<128x64xf32>'}}
  %y = tile.inline_ptx "add.f32 $0, $1, $2;" constraints "=f,f,f" (%s, %x) : (!tile.frag<128x64xf32>, f32) -> !tile.frag<128x64xf32>
}

// -----

// Maps.

tile.def @map_at_two(%i: i32) {
  // expected-error @+1 {{expected 'at' to name two positions, but got 1}}
  %y = tile.map () at(%r = %i) : () -> !tile.frag<8xi32> { tile.yield %r : i32 }
}

// -----

tile.def @map_c1(%s: !tile.frag<128x64xf32>) {
  // expected-error @+1 {{expected region arguments to be 'f32', but got 'i32'}}
  %y = "tile.map"(%s) <{operandSegmentSizes = array<i32: 1, 0, 0>}> ({
  ^bb0(%e: i32):
    %x = arith.sitofp %e : i32 to f32
    tile.yield %x : f32
  }) : (!tile.frag<128x64xf32>) -> !tile.frag<128x64xf32>
}

// -----

tile.def @map_c2(%s: !tile.frag<128x64xf32>, %r: !tile.frag<64xf32>) {
  // expected-error @+1 {{expected operand #1 to broadcast to '!tile.frag<128x64xf32>', but got '!tile.frag<64xf32>'}}
  %y = tile.map (%e = %s, %f = %r) : (!tile.frag<128x64xf32>, !tile.frag<64xf32>) -> !tile.frag<128x64xf32> { tile.yield %e : f32 }
}

// -----

tile.def @map_c2_results(%s: !tile.frag<128x64xf32>) {
  // expected-error @+1 {{expected results to have one shape, but got '!tile.frag<128x64xf32>' and '!tile.frag<128xf32>'}}
  %y:2 = tile.map (%e = %s) : (!tile.frag<128x64xf32>) -> (!tile.frag<128x64xf32>, !tile.frag<128xf32>) { tile.yield %e, %e : f32, f32 }
}

// -----

tile.def @map_c3(%s: !tile.frag<128x64xf32>) {
  // expected-error @+1 {{expected yielded types to be 'f16', but got 'f32'}}
  %y = tile.map (%e = %s) : (!tile.frag<128x64xf32>) -> !tile.frag<128x64xf16> { tile.yield %e : f32 }
}

// -----

tile.def @map_c4() {
  // expected-error @+1 {{expected an operand or 'at', but got neither}}
  %y = tile.map () : () -> !tile.frag<8xf32> {
    %x = arith.constant 0.0 : f32
    tile.yield %x : f32
  }
}

// -----

tile.def @map_c5(%s: !tile.frag<128x64xf32>, %o: !tile.frag<128x64xbf16>) {
  %y = tile.map (%e = %s) : (!tile.frag<128x64xf32>) -> !tile.frag<128x64xf32> {
    // expected-error @+1 {{expected ops inside a map to use scalars only, but got a tile}}
    %t = tile.cast %o : !tile.frag<128x64xbf16> -> !tile.frag<128x64xf32>
    tile.yield %e : f32
  }
}

// -----

func.func private @effect(f32) -> f32
tile.def @map_c5_effect(%s: !tile.frag<128x64xf32>) {
  %y = tile.map (%e = %s) : (!tile.frag<128x64xf32>) -> !tile.frag<128x64xf32> {
    // expected-error @+1 {{expected ops inside a map to be free of memory effects}}
    %t = func.call @effect(%e) : (f32) -> f32
    tile.yield %t : f32
  }
}
