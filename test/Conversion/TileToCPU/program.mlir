// RUN: fa4-opt %s --convert-tile-to-cpu="workers=3" --canonicalize --cse | FileCheck %s --implicit-check-not="tile."
// RUN: fa4-opt %s --convert-tile-to-cpu --canonicalize --cse | fa4-opt --convert-tile-to-cpu --verify-roundtrip

// A launched kernel is private and has the innermost stride that its launches
// have; the tiles are dealt in turn to three shares with an arena each; the
// facts clamp in their order; the loop over i stays, its tile is carried in a
// buffer.

!g = !tile.global<1x16x32xf32>
!t = !tile.frag<16x32xf32>

// CHECK: func.func private @kernel(%[[X:.*]]: memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>, %[[Y:.*]]: memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>, %[[NT:.*]]: i32, %[[N:.*]]: i32)
// CHECK-DAG: %[[C3:.*]] = arith.constant 3 : index
// CHECK-DAG: %[[C2:.*]] = arith.constant 2 : i32
// CHECK: %[[TILES:.*]] = arith.index_cast %[[NT]] : i32 to index
// CHECK: %[[POSITIVE:.*]] = arith.maxsi %[[TILES]],
// CHECK: %[[SHARES:.*]] = arith.minsi %[[POSITIVE]], %[[C3]]
// CHECK: scf.parallel (%[[W:.*]]) = (%{{.*}}) to (%[[SHARES]])
// CHECK:   %[[ARENA:.*]] = memref.alloc() {alignment = 64 : i64} : memref<4096xi8>
// CHECK:   scf.for %[[T:.*]] = %[[W]] to %[[POSITIVE]] step %[[SHARES]]
// CHECK:     %[[I:.*]] = arith.index_cast %[[T]] : index to i32
// CHECK:     %[[HIGH:.*]] = arith.maxsi %[[N]], %[[C2]] : i32
// CHECK:     %[[LOW:.*]] = arith.minsi %[[I]], %[[HIGH]] : i32
// CHECK:     scf.for %{{.*}} = %{{.*}} to %[[HIGH]] step %{{.*}}  : i32 {
// CHECK:   memref.dealloc %[[ARENA]]
tile.kernel @kernel(%X: !g, %Y: !g, %nt: i32, %n: i32) target(#fa4.target<"sm_100a">)
    schedule(#fa4.schedule<forward, tile = 128 x 128>) {
  tile.work @work(%w) tiles(%nt : i32) uses(%n : i32) -> (%t, %high, %low) facts(2 <= %high, %low <= %high) {
    tile.yield %w, %n, %w : i32, i32, i32
  }
  tile.def @double(%x: !t) -> !t {
    %y = tile.map (%e = %x) : (!t) -> !t {
      %f = arith.addf %e, %e : f32
      tile.yield %f : f32
    }
    tile.yield %y : !t
  }
  tile.for_each_tile (%t, %high, %low) in @work {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %x = tile.load %X[%t] : !g -> !t
    %r = scf.for %i = %c0 to %high step %c1 iter_args(%v = %x) -> (!t) : i32 {
      %y = tile.step @double[0](%v) : (!t) -> !t
      scf.yield %y : !t
    }
    tile.store %r to %Y[%low] : !t, !g
  }
}

// CHECK: func.func @main(%[[A:.*]]: memref<5x16x32xf32>, %[[B:.*]]: memref<5x16x32xf32>, %[[M:.*]]: i32)
// CHECK-DAG: %[[CA:.*]] = memref.cast %[[A]] : memref<5x16x32xf32> to memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>
// CHECK-DAG: %[[CB:.*]] = memref.cast %[[B]]
// CHECK: call @kernel(%[[CA]], %[[CB]], %[[M]], %[[M]])
func.func @main(%a: memref<5x16x32xf32>, %b: memref<5x16x32xf32>, %m: i32) {
  tile.launch @kernel(%a, %b, %m, %m) : memref<5x16x32xf32>, memref<5x16x32xf32>, i32, i32
  return
}
