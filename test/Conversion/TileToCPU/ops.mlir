// RUN: fa4-opt %s --convert-tile-to-cpu="mma-rows=4" --canonicalize --cse | FileCheck %s --implicit-check-not="tile."

// The shape of the code per op family; what it computes is tested by value in
// test/Unit/Driver.

!a = !tile.frag<8x32xbf16>
!b = !tile.frag<32x16xbf16>
!s = !tile.frag<8x16xf32>
!p = !tile.frag<8x16xbf16>
!r = !tile.frag<8xf32>

// No launch: an entry, with any innermost stride.
// CHECK: func.func @kernel(%[[A:.*]]: memref<?x?xbf16, strided<[?, ?], offset: ?>>, %[[B:.*]]: memref<?x?xbf16, strided<[?, ?], offset: ?>>,
// CHECK: scf.parallel
// CHECK: %[[ARENA:.*]] = memref.alloc()
// CHECK: %[[AT:.*]] = memref.view %[[ARENA]]{{.*}} to memref<8x32xf32>
// CHECK: %[[BT:.*]] = memref.view %[[ARENA]]{{.*}} to memref<32x16xf32>
// Blocks of four rows, sums in f64, rounded once.
// CHECK: %[[ST:.*]] = memref.view %[[ARENA]]{{.*}} to memref<8x16xf32>
// CHECK: scf.for %[[ROW:.*]] = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK:   %[[SUM:.*]]:4 = scf.for %[[K:.*]] = {{.*}} iter_args(%[[S0:[^ ]*]] =
// CHECK:     %[[RIGHT:.*]] = vector.load %[[BT]][%[[K]], %{{.*}}] : memref<32x16xf32>, vector<16xf32>
// CHECK:     %[[R64:.*]] = arith.extf %[[RIGHT]] : vector<16xf32> to vector<16xf64>
// CHECK:     %[[LEFT:.*]] = memref.load %[[AT]][%[[ROW]], %[[K]]]
// CHECK:     %[[L64:.*]] = arith.extf %[[LEFT]] : f32 to f64
// CHECK:     %[[WIDE:.*]] = vector.broadcast %[[L64]] : f64 to vector<16xf64>
// CHECK:     vector.fma %[[WIDE]], %[[R64]], %[[S0]] : vector<16xf64>
// CHECK:   %[[OUT:.*]] = arith.truncf %[[SUM]]#0 : vector<16xf64> to vector<16xf32>
// CHECK:   vector.store %[[OUT]], %[[ST]][%[[ROW]], %{{.*}}]
// A fold of a strip by halves.
// CHECK: vector.extract_strided_slice %{{.*}} {offsets = [8], sizes = [8], strides = [1]}
// CHECK: vector.extract_strided_slice %{{.*}} {offsets = [4], sizes = [4], strides = [1]}
// Some columns by the polynomial, the others not.
// CHECK: %[[POLY:.*]] = arith.bitcast %{{.*}} : vector<16xi32> to vector<16xf32>
// CHECK: arith.select %{{.*}}, %[[POLY]], %{{.*}} : vector<16xi1>, vector<16xf32>
// bf16 is a rounding, kept as f32.
// CHECK: %[[NARROW:.*]] = arith.truncf %{{.*}} : vector<16xf32> to vector<16xbf16>
// CHECK: arith.extf %[[NARROW]] : vector<16xbf16> to vector<16xf32>
tile.kernel @kernel(%A: !tile.global<8x32xbf16>, %B: !tile.global<32x16xbf16>, %O: !tile.global<8x16xbf16>, %R: !tile.global<8xf32>, %nt: i32)
    target(#fa4.target<"sm_100a">) schedule(#fa4.schedule<forward, tile = 128 x 128>) {
  tile.work @work(%w) tiles(%nt : i32) -> (%t) facts() {
    tile.yield %w : i32
  }
  tile.for_each_tile (%t) in @work {
    %a = tile.load %A[%t] : !tile.global<8x32xbf16> -> !a
    %b = tile.load %B[] : !tile.global<32x16xbf16> -> !b
    %s = tile.mma a(%a) b(%b) : (!a, !b) -> !s
    %zero = arith.constant 0.0 : f32
    %z = tile.splat %zero : f32 -> !r
    %l = tile.row_sum %s init(%z) : !s -> !r
    %e = tile.exp2 %s share(<degree = 3, period = 16, last = 2, first_chunk = 0, last_chunk = 0>) : !s
    %p = tile.cast %e : !s -> !p
    tile.store %p to %O[%t] : !p, !tile.global<8x16xbf16>
    tile.store %l to %R[%t] : !r, !tile.global<8xf32>
  }
}
