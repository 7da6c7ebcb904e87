// RUN: fa4-opt %s --verify-roundtrip
// RUN: fa4-opt %s | FileCheck %s

!g   = !tile.global<1x128x1x64xbf16>
!gl  = !tile.global<1x1x128xf32>
!gd  = !tile.global<1x128xi32>
!T   = !tile.frag<128x64xbf16>
!Tt  = !tile.frag<64x128xbf16>
!S   = !tile.frag<128x128xf32>
!Sa  = !tile.frag<128x96xf32>
!O   = !tile.frag<128x64xf32>
!P   = !tile.frag<128x128xbf16>
!row = !tile.frag<128xf32>
!col = !tile.frag<1x128xf32>
!ids = !tile.frag<128xi32>
#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>

// CHECK-LABEL: tile.def @memory
// CHECK-SAME: (%[[G:.*]]: !tile.global<1x128x1x64xbf16>, %[[A:.*]]: !tile.global<1x1x128xf32>, %[[I:.*]]: i32)
tile.def @memory(%G: !g, %L: !gl, %i: i32) {
  // CHECK: %[[R:.*]] = tile.subrange %[[G]] dim(1) from %[[I]] to %[[I]] : !tile.global<1x128x1x64xbf16>
  %r = tile.subrange %G dim(1) from %i to %i : !g
  // CHECK: %[[X:.*]] = tile.load %[[R]][%[[I]], %[[I]]] : !tile.global<1x128x1x64xbf16> -> !tile.frag<128x64xbf16>
  %x = tile.load %r[%i, %i] : !g -> !T
  // CHECK: tile.store %[[X]] to %[[G]][%[[I]], %[[I]], %[[I]], %[[I]]] : !tile.frag<128x64xbf16>, !tile.global<1x128x1x64xbf16>
  tile.store %x to %G[%i, %i, %i, %i] : !T, !g
  // CHECK: %[[E:.*]] = tile.fetch %[[A]][%[[I]], %[[I]], %[[I]]] : !tile.global<1x1x128xf32> -> f32
  %e = tile.fetch %L[%i, %i, %i] : !gl -> f32
  // CHECK: %[[F:.*]] = tile.splat %[[E]] : f32 -> !tile.frag<128xf32>
  %f = tile.splat %e : f32 -> !row
  // CHECK: tile.store add %[[F]] to %[[A]][] : !tile.frag<128xf32>, !tile.global<1x1x128xf32>
  tile.store add %f to %L[] : !row, !gl
  tile.yield
}

// CHECK-LABEL: tile.def @products
// CHECK-SAME: (%[[Q:.*]]: {{.*}}, %[[K:.*]]: {{.*}}, %[[V:.*]]: {{.*}}, %[[O:.*]]: {{.*}}, %[[SKIP:.*]]: i1) -> (!tile.frag<128x96xf32>, !tile.frag<128x64xf32>)
tile.def @products(%q: !T, %k: !T, %v: !T, %o: !O, %skip: i1) -> (!Sa, !O) {
  // CHECK: %[[KT:.*]] = tile.transpose %[[K]] : !tile.frag<128x64xbf16> -> !tile.frag<64x128xbf16>
  %kt = tile.transpose %k : !T -> !Tt
  // CHECK: %[[S:.*]] = tile.mma a(%[[Q]]) b(%[[KT]]) : (!tile.frag<128x64xbf16>, !tile.frag<64x128xbf16>) -> !tile.frag<128x128xf32>
  %s = tile.mma a(%q) b(%kt) : (!T, !Tt) -> !S
  // CHECK: %[[P:.*]] = tile.cast %[[S]] : !tile.frag<128x128xf32> -> !tile.frag<128x128xbf16>
  %p = tile.cast %s : !S -> !P
  // CHECK: tile.mma a(%[[P]]) b(%[[V]]) onto(%[[O]]) unless(%[[SKIP]]) : (!tile.frag<128x128xbf16>, !tile.frag<128x64xbf16>, !tile.frag<128x64xf32>) -> !tile.frag<128x64xf32>
  %y = tile.mma a(%p) b(%v) onto(%o) unless(%skip) : (!P, !T, !O) -> !O
  // CHECK: tile.slice %[[S]] columns 32 to 128 : !tile.frag<128x128xf32> -> !tile.frag<128x96xf32>
  %c = tile.slice %s columns 32 to 128 : !S -> !Sa
  // CHECK: tile.slice %[[S]] rows 0 to 64 : !tile.frag<128x128xf32> -> !tile.frag<64x128xf32>
  %rr = tile.slice %s rows 0 to 64 : !S -> !tile.frag<64x128xf32>
  // CHECK: tile.redistribute %[[S]] columns to peers : !tile.frag<128x128xf32>
  %half = tile.redistribute %s columns to peers : !S
  tile.yield %c, %y : !Sa, !O
}

// CHECK-LABEL: tile.def @softmax
// CHECK-SAME: (%[[S:.*]]: !tile.frag<128x128xf32>, %[[D:.*]]: !tile.frag<128xf32>, %[[L:.*]]: !tile.frag<128xf32>, %[[C:.*]]: f32, %[[I:.*]]: i32, %[[J:.*]]: i32)
tile.def @softmax(%s: !S, %d: !row, %l: !row, %c: f32, %i: i32, %j: i32) -> (!S, !row, !row) {
  // CHECK: %[[M:.*]] = tile.mask %[[S]] block(%[[I]], %[[J]]) [#attn.causal] extents(%[[I]], %[[J]]) offset(%[[I]]) : !tile.frag<128x128xf32>
  %m = tile.mask %s block(%i, %j) [#attn.causal<bottom_right>] extents(%i, %j) offset(%i) : !S
  // CHECK: %[[TOP:.*]] = tile.row_max %[[M]] init(%[[D]]) : !tile.frag<128x128xf32> -> !tile.frag<128xf32>
  %top = tile.row_max %m init(%d) : !S -> !row
  // CHECK: %[[D1:.*]], %[[USE:.*]], %[[A:.*]] = tile.online_max %[[TOP]] from(%[[D]]) scale(%[[C]]) lag(8.000000e+00) : !tile.frag<128xf32>
  %d1, %use, %a = tile.online_max %top from(%d) scale(%c) lag(8.0) : !row
  // CHECK: tile.online_max %[[TOP]] from(%[[D]]) scale(%[[C]]) : !tile.frag<128xf32>
  %d2, %use2, %a2 = tile.online_max %top from(%d) scale(%c) : !row
  // CHECK: %[[Z:.*]] = tile.map (%[[V:.*]] = %[[M]], %[[OFF:.*]] = %[[USE]]) : (!tile.frag<128x128xf32>, !tile.frag<128xf32>) -> !tile.frag<128x128xf32> {
  // CHECK-NEXT: math.fma %[[V]], %[[C]], %[[OFF]] : f32
  // CHECK-NEXT: tile.yield
  %z = tile.map (%v = %m, %off = %use) : (!S, !row) -> !S {
    %f = math.fma %v, %c, %off : f32
    tile.yield %f : f32
  }
  // CHECK: %[[E:.*]] = tile.exp2 %[[Z]] share(<degree = 3, period = 16, last = 4, first_chunk = 1, last_chunk = 2>) from(96) : !tile.frag<128x128xf32>
  %e = tile.exp2 %z share(<degree = 3, period = 16, last = 4, first_chunk = 1, last_chunk = 2>) from(96) : !S
  // CHECK: tile.exp2 %[[Z]] : !tile.frag<128x128xf32>
  %e0 = tile.exp2 %z : !S
  // CHECK: %[[SUM:.*]] = tile.row_sum %[[E]] init(%[[L]]) : !tile.frag<128x128xf32> -> !tile.frag<128xf32>
  %sum = tile.row_sum %e init(%l) : !S -> !row
  // CHECK: tile.scale_rows %[[E]] by %[[A]] likely_one : !tile.frag<128x128xf32>, !tile.frag<128xf32>
  %scaled = tile.scale_rows %e by %a likely_one : !S, !row
  // CHECK: tile.scale_rows %[[E]] by %[[A]] : !tile.frag<128x128xf32>, !tile.frag<128xf32>
  %plain = tile.scale_rows %e by %a : !S, !row
  // CHECK: tile.inline_ptx "tanh.approx.f32 $0, $1;" constraints "=f,f"(%[[E]]) : (!tile.frag<128x128xf32>) -> !tile.frag<128x128xf32>
  %t = tile.inline_ptx "tanh.approx.f32 $0, $1;" constraints "=f,f" (%e) : (!S) -> !S
  tile.yield %scaled, %d1, %sum : !S, !row, !row
}

// Positions, broadcasting along both dimensions, a fetch and a conditional inside a map.
// CHECK-LABEL: tile.def @positions
// CHECK-SAME: (%[[S:.*]]: {{.*}}, %[[IDS:.*]]: {{.*}}, %[[COL:.*]]: {{.*}}, %[[B:.*]]: !tile.global<1x128xi32>, %[[I:.*]]: i32, %[[J:.*]]: i32)
tile.def @positions(%s: !S, %ids: !ids, %col: !col, %B: !gd, %i: i32, %j: i32) -> !S {
  // CHECK: tile.map (%[[X:.*]] = %[[S]], %[[ID:.*]] = %[[IDS]], %[[Y:.*]] = %[[COL]]) at(%[[R:.*]] = %[[I]], %[[K:.*]] = %[[J]])
  // CHECK: tile.fetch %[[B]][%[[R]], %[[K]]]
  %x = tile.map (%e = %s, %id = %ids, %y = %col) at(%r = %i, %k = %j) : (!S, !ids, !col) -> !S {
    %f = tile.fetch %B[%r, %k] : !gd -> i32
    %same = arith.cmpi eq, %f, %id : i32
    %p = tile.inline_ptx "ex2.approx.f32 $0, $1;" constraints "=f,f" (%y) : (f32) -> f32
    %w = scf.if %same -> f32 {
      %q = arith.addf %e, %p : f32
      scf.yield %q : f32
    } else {
      scf.yield %y : f32
    }
    tile.yield %w : f32
  }
  // CHECK: tile.map () at(%[[R2:.*]] = %[[I]], %[[K2:.*]] = %[[J]]) : () -> !tile.frag<128x128xi32>
  %n = tile.map () at(%r = %i, %k = %j) : () -> !tile.frag<128x128xi32> {
    %d = arith.subi %r, %k : i32
    tile.yield %d : i32
  }
  tile.yield %x : !S
}

// A def of the kernel, one of the module, carried values, facts of each kind.
// CHECK-LABEL: tile.kernel @program
// CHECK-SAME: (%[[G:.*]]: !tile.global<1x128x1x64xbf16>, %[[L:.*]]: !tile.global<1x1x128xf32>, %[[N:.*]]: i32) target(#{{.*}}) schedule(#{{.*}}) {
tile.kernel @program(%G: !g, %L: !gl, %nt: i32) target(#t) schedule(#s) {
  // CHECK: tile.def @pass(%[[T:.*]]: !tile.frag<128x64xbf16>) -> !tile.frag<128x64xbf16> {
  tile.def @pass(%t: !T) -> !T {
    tile.yield %t : !T
  }
  // CHECK: tile.work @work(%[[I:.*]]) tiles(%[[N]] : i32) uses(%[[N]], %[[L]] : i32, !tile.global<1x1x128xf32>) -> (%q0, %n, %ne) facts(1 <= %n, %ne <= %n, %q0 <= 7) {
  // CHECK: arith.addi %[[I]], %[[N]] : i32
  tile.work @work(%t) tiles(%nt : i32) uses(%nt, %L : i32, !gl) -> (%q0, %n, %ne)
      facts(1 <= %n, %ne <= %n, %q0 <= 7) {
    %x = arith.addi %t, %nt : i32
    tile.yield %x, %t, %t : i32, i32, i32
  }
  %zero = arith.constant 0.0 : bf16
  %z = tile.splat %zero : bf16 -> !T
  // CHECK: tile.for_each_tile (%[[Q:.*]], %[[CNT:.*]], %{{.*}}) in @work iter_args(%[[C:.*]] = %{{.*}}) -> (!tile.frag<128x64xbf16>) {
  %r = tile.for_each_tile (%q0, %n, %ne) in @work iter_args(%c = %z) -> (!T) {
    %first = arith.cmpi eq, %n, %ne : i32
    // CHECK: %[[A:.*]] = tile.step @pass[3](%[[C]]) unless(%{{.*}}) : (!tile.frag<128x64xbf16>) -> !tile.frag<128x64xbf16>
    %a = tile.step @pass[3](%c) unless(%first) : (!T) -> !T
    // CHECK: tile.step @memory(%[[G]], %[[L]], %[[Q]]) : (!tile.global<1x128x1x64xbf16>, !tile.global<1x1x128xf32>, i32) -> ()
    tile.step @memory(%G, %L, %q0) : (!g, !gl, i32) -> ()
    tile.yield %a : !T
  }
}

// CHECK-LABEL: func.func @host
func.func @host(%q: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>, %l: memref<?x?x?xf32>, %n: i32) {
  // CHECK: tile.launch @program(%{{.*}}, %{{.*}}, %{{.*}}) : memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>, memref<?x?x?xf32>, i32
  tile.launch @program(%q, %l, %n) : memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>, memref<?x?x?xf32>, i32
  // CHECK: tile.launch @program({{.*}} i32 extents [#fa4.extent_rule<operand = 1, dim = 0, other_operand = 0, other_dim = 0>, #fa4.extent_rule<operand = 1, dim = 1, other_operand = 0, other_dim = 2, multiple = true>]
  tile.launch @program(%q, %l, %n) : memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>, memref<?x?x?xf32>, i32 extents [#fa4.extent_rule<operand = 1, dim = 0, other_operand = 0, other_dim = 0>, #fa4.extent_rule<operand = 1, dim = 1, other_operand = 0, other_dim = 2, multiple = true>]
  return
}
