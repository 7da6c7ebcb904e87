// RUN: fa4-opt %s --tile-split-mma | FileCheck %s
// RUN: fa4-opt %s --tile-split-mma --tile-split-mma | FileCheck %s
// RUN: fa4-opt %s --tile-split-mma --tile-verify-t0 --verify-roundtrip | FileCheck %s

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 16 x 64, split_p = [32, 16, 16]>
!q = !tile.frag<16x64xbf16>
!k = !tile.frag<64x64xbf16>
!s = !tile.frag<16x64xf32>
!row = !tile.frag<16xf32>
!g = !tile.global<16x64xf32>
!gq = !tile.global<16x64xbf16>
!gk = !tile.global<64x64xbf16>

// P is computed, so it leaves @softmax in three parts; the exponentials and casts
// are done per part, the row sum goes through the parts in order. Q is loaded:
// @qk stays whole, although it has as many columns.
// CHECK-LABEL: tile.kernel @parts
// CHECK: tile.def @qk(%[[Q:.+]]: !tile.frag<16x64xbf16>, %[[K:.+]]: !tile.frag<64x64xbf16>)
// CHECK-NEXT: %[[S:.+]] = tile.mma a(%[[Q]]) b(%[[K]]) :
// CHECK-NEXT: tile.yield %[[S]]

// CHECK: tile.def @softmax(%[[S:.+]]: !tile.frag<16x64xf32>, %[[L:.+]]: !tile.frag<16xf32>) -> (!tile.frag<16xf32>, !tile.frag<16x32xbf16>, !tile.frag<16x16xbf16>, !tile.frag<16x16xbf16>) {
// CHECK: %[[Z:.+]] = tile.map (%{{.+}} = %[[S]])
// CHECK: %[[Z0:.+]] = tile.slice %[[Z]] columns 0 to 32
// CHECK: %[[E0:.+]] = tile.exp2 %[[Z0]] share(<degree = 3, period = 16, last = 4, first_chunk = 0, last_chunk = 1>) from(64) : !tile.frag<16x32xf32>
// CHECK: %[[P0:.+]] = tile.cast %[[E0]]
// CHECK: %[[Z1:.+]] = tile.slice %[[Z]] columns 32 to 48
// CHECK: %[[E1:.+]] = tile.exp2 %[[Z1]] share({{.*}}) from(96)
// CHECK: %[[P1:.+]] = tile.cast %[[E1]]
// CHECK: %[[Z2:.+]] = tile.slice %[[Z]] columns 48 to 64
// CHECK: %[[E2:.+]] = tile.exp2 %[[Z2]] share({{.*}}) from(112)
// CHECK: %[[P2:.+]] = tile.cast %[[E2]]
// CHECK-NOT: tile.exp2
// CHECK: %[[L0:.+]] = tile.row_sum %[[E0]] init(%[[L]])
// CHECK: %[[L1:.+]] = tile.row_sum %[[E1]] init(%[[L0]])
// CHECK: %[[L2:.+]] = tile.row_sum %[[E2]] init(%[[L1]])
// CHECK: tile.yield %[[L2]], %[[P0]], %[[P1]], %[[P2]]

// Only the first product of the chain may start from zero.
// CHECK: tile.def @pv(%[[V:.+]]: !tile.frag<64x64xbf16>, %[[P0:.+]]: !tile.frag<16x32xbf16>, %[[P1:.+]]: !tile.frag<16x16xbf16>, %[[P2:.+]]: !tile.frag<16x16xbf16>, %[[O:.+]]: !tile.frag<16x64xf32>, %[[FIRST:.+]]: i1)
// CHECK: %[[V0:.+]] = tile.slice %[[V]] rows 0 to 32
// CHECK: %[[O0:.+]] = tile.mma a(%[[P0]]) b(%[[V0]]) onto(%[[O]]) unless(%[[FIRST]])
// CHECK: %[[V1:.+]] = tile.slice %[[V]] rows 32 to 48
// CHECK: %[[O1:.+]] = tile.mma a(%[[P1]]) b(%[[V1]]) onto(%[[O0]]) :
// CHECK: %[[V2:.+]] = tile.slice %[[V]] rows 48 to 64
// CHECK: %[[O2:.+]] = tile.mma a(%[[P2]]) b(%[[V2]]) onto(%[[O1]]) :
// CHECK: tile.yield %[[O2]]

// CHECK: tile.for_each_tile
// CHECK: %[[L0:.+]], %[[P0:.+]], %[[P1:.+]], %[[P2:.+]] = tile.step @softmax[0](
// CHECK: tile.step @pv[0](%{{.+}}, %[[P0]], %[[P1]], %[[P2]], %{{.+}}, %{{.+}})
// CHECK: %[[R0:.+]], %[[R1:.+]], %[[R2:.+]], %[[R3:.+]] = tile.step @softmax[1](%{{.+}}, %[[L0]])
// CHECK: tile.step @pv[1](%{{.+}}, %[[R1]], %[[R2]], %[[R3]], %{{.+}}, %{{.+}})
tile.kernel @parts(%n: i32, %G: !g, %Q: !gq, %K: !gk) target(#t) schedule(#s) {
  tile.def @load_q(%Q: !gq, %i: i32) -> !q {
    %x = tile.load %Q[%i] : !gq -> !q
    tile.yield %x : !q
  }
  tile.def @load_k(%K: !gk, %i: i32) -> !k {
    %x = tile.load %K[%i] : !gk -> !k
    tile.yield %x : !k
  }
  tile.def @qk(%q: !q, %k: !k) -> !s {
    %s = tile.mma a(%q) b(%k) : (!q, !k) -> !s
    tile.yield %s : !s
  }
  tile.def @softmax(%s: !s, %l: !row) -> (!row, !q) {
    %z = tile.map (%e = %s) : (!s) -> !s {
      %m = arith.negf %e : f32
      tile.yield %m : f32
    }
    %p = tile.exp2 %z share(<degree = 3, period = 16, last = 4, first_chunk = 0, last_chunk = 1>) from(64) : !s
    %l1 = tile.row_sum %p init(%l) : !s -> !row
    %pb = tile.cast %p : !s -> !q
    tile.yield %l1, %pb : !row, !q
  }
  tile.def @pv(%v: !k, %p: !q, %o: !s, %first: i1) -> !s {
    %x = tile.mma a(%p) b(%v) onto(%o) unless(%first) : (!q, !k, !s) -> !s
    tile.yield %x : !s
  }
  tile.def @store(%o: !s, %G: !g, %i: i32) {
    tile.store %o to %G[%i] : !s, !g
  }
  tile.work @work(%t) tiles(%n : i32) -> (%i) {
    tile.yield %t : i32
  }
  tile.for_each_tile (%i) in @work {
    %zero = arith.constant 0.0 : f32
    %true = arith.constant true
    %false = arith.constant false
    %l = tile.splat %zero : f32 -> !row
    %o = tile.splat %zero : f32 -> !s
    %q = tile.step @load_q(%Q, %i) : (!gq, i32) -> !q
    %k = tile.step @load_k(%K, %i) : (!gk, i32) -> !k
    %s = tile.step @qk(%q, %k) : (!q, !k) -> !s
    %l0, %p0 = tile.step @softmax[0](%s, %l) : (!s, !row) -> (!row, !q)
    %o0 = tile.step @pv[0](%k, %p0, %o, %true) : (!k, !q, !s, i1) -> !s
    %l1, %p1 = tile.step @softmax[1](%s, %l0) : (!s, !row) -> (!row, !q)
    %o1 = tile.step @pv[1](%k, %p1, %o0, %false) : (!k, !q, !s, i1) -> !s
    tile.step @store(%o1, %G, %i) : (!s, !g, i32) -> ()
  }
}

// A tile that something else needs whole stays whole between the steps, and is
// cut where it is multiplied.
// CHECK-LABEL: tile.kernel @whole
// CHECK: tile.def @double(%[[X:.+]]: !tile.frag<16x64xbf16>) -> !tile.frag<16x64xbf16>
// CHECK: tile.def @square(%[[P:.+]]: !tile.frag<16x64xbf16>, %[[V:.+]]: !tile.frag<64x64xbf16>)
// CHECK: %[[P0:.+]] = tile.slice %[[P]] columns 0 to 32
// CHECK: %[[V0:.+]] = tile.slice %[[V]] rows 0 to 32
// CHECK: %[[O0:.+]] = tile.mma a(%[[P0]]) b(%[[V0]]) :
// CHECK: %[[P1:.+]] = tile.slice %[[P]] columns 32 to 48
// CHECK: tile.mma a(%[[P1]]) b(%{{.+}}) onto(%[[O0]])
tile.kernel @whole(%n: i32, %G: !g, %Q: !gq, %K: !gk) target(#t) schedule(#s) {
  tile.def @load_k(%K: !gk, %i: i32) -> !k {
    %x = tile.load %K[%i] : !gk -> !k
    tile.yield %x : !k
  }
  tile.def @double(%x: !q) -> !q {
    %y = tile.map (%e = %x) : (!q) -> !q {
      %d = arith.addf %e, %e : bf16
      tile.yield %d : bf16
    }
    tile.yield %y : !q
  }
  tile.def @square(%p: !q, %v: !k) -> !s {
    %x = tile.mma a(%p) b(%v) : (!q, !k) -> !s
    tile.yield %x : !s
  }
  tile.def @store(%o: !s, %p: !q, %G: !g, %Q: !gq, %i: i32) {
    tile.store %o to %G[%i] : !s, !g
    tile.store %p to %Q[%i] : !q, !gq
  }
  tile.work @work(%t) tiles(%n : i32) -> (%i) {
    tile.yield %t : i32
  }
  tile.for_each_tile (%i) in @work {
    %one = arith.constant 1.0 : bf16
    %x = tile.splat %one : bf16 -> !q
    %k = tile.step @load_k(%K, %i) : (!gk, i32) -> !k
    %p = tile.step @double(%x) : (!q) -> !q
    %o = tile.step @square(%p, %k) : (!q, !k) -> !s
    tile.step @store(%o, %p, %G, %Q, %i) : (!s, !q, !g, !gq, i32) -> ()
  }
}
