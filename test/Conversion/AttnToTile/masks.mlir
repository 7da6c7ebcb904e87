// RUN: fa4-opt %s --convert-attn-to-tile --cse | FileCheck %s --implicit-check-not="attn.forward" --implicit-check-not="attn.fetch" --implicit-check-not="attn.merge"
// RUN: fa4-opt %s --convert-attn-to-tile | fa4-opt --verify-roundtrip --tile-verify-t0 | FileCheck %s --check-prefix=ROUND

// Block ranges of intervals, lengths and offsets.

#one = #fa4.schedule<forward, tile = 64 x 128, stages = 1, work = static_persistent>
module attributes {fa4.target = #fa4.target<"sm_90a">} {

// No mask: every tile visits all blocks, only the last one is masked.
// CHECK-LABEL: tile.kernel @plain_attn0(
// CHECK: tile.mask %{{.+}} block(%{{.+}}, %{{.+}}) [] extents
// CHECK: tile.work @work(%[[T:.+]]) tiles(%{{.+}}) uses(%[[SQ:.+]], %[[SK:.+]], %[[HQ:.+]], %[[GROUP:.+]] : i32, i32, i32, i32) -> (%q0, %h, %kvh, %b, %j0, %n, %ne)
// CHECK: %[[BLOCKS:.+]] = arith.ceildivsi %[[SQ]], %c64_i32
// CHECK: %[[BLOCK:.+]] = arith.remui %[[T]], %[[BLOCKS]]
// CHECK: %[[REST:.+]] = arith.divui %[[T]], %[[BLOCKS]]
// CHECK: %[[KEYS:.+]] = arith.extsi %[[SK]]
// CHECK: %[[LASTKEY:.+]] = arith.subi %[[KEYS]], %c1_i64
// CHECK: %[[LASTBLOCK:.+]] = arith.floordivsi %[[LASTKEY]], %c128_i64
// CHECK: %[[J0:.+]] = arith.maxsi %[[LASTBLOCK]], %c-1_i64
// CHECK: %[[COUNT:.+]] = arith.addi %[[J0]], %c1_i64
// CHECK: %[[N:.+]] = arith.maxsi %[[COUNT]], %c1_i64
// ROUND-LABEL: tile.kernel @plain_attn0(
func.func @plain(%q: memref<?x?x?x64xf16>, %k: memref<?x?x?x64xf16>, %v: memref<?x?x?x64xf16>, %o: memref<?x?x?x64xf16>) {
  attn.forward ins(%q, %k, %v : memref<?x?x?x64xf16>, memref<?x?x?x64xf16>, memref<?x?x?x64xf16>)
      outs(%o : memref<?x?x?x64xf16>) schedule(#one)
  return
}

// A window has two ends: the right one bounds the first block, the left one the
// last; blocks before `ne` and from `nl` on are masked.
// CHECK-LABEL: tile.kernel @window_attn0(
// CHECK: tile.mask %{{.+}} block(%{{.+}}, %{{.+}}) [#attn.window<left = 100, right = 20>] extents
// CHECK: tile.work @work(%[[T:.+]]) tiles
// CHECK-SAME: -> (%q0, %h, %kvh, %b, %j0, %n, %ne, %nl) facts(1 <= %n, 1 <= %nl, %nl <= %n, 1 <= %ne, %ne <= %nl)
// CHECK: %[[ROWS:.+]] = arith.extsi %[[SQ:.+]] : i32 to i64
// CHECK: %[[KEYS:.+]] = arith.extsi %[[SK:.+]] : i32 to i64
// CHECK: %[[SHIFT:.+]] = arith.subi %[[KEYS]], %[[ROWS]]
// CHECK: %[[FIRST:.+]] = arith.muli %{{.+}}, %c64_i64
// CHECK: %[[PAST:.+]] = arith.addi %[[FIRST]], %c64_i64
// CHECK: %[[END:.+]] = arith.minsi %[[PAST]], %[[ROWS]]
// CHECK: %[[LAST:.+]] = arith.subi %[[END]], %c1_i64
// CHECK: %[[LASTKEY:.+]] = arith.subi %[[KEYS]], %c1_i64
// CHECK: %[[ALIGNED:.+]] = arith.addi %[[LAST]], %[[SHIFT]]
// CHECK: %[[RIGHT:.+]] = arith.addi %[[ALIGNED]], %c20_i64
// CHECK: %[[TOPKEY:.+]] = arith.minsi %[[LASTKEY]], %[[RIGHT]]
// CHECK: arith.floordivsi %[[TOPKEY]], %c128_i64
// CHECK: %[[ALIGNED0:.+]] = arith.addi %[[FIRST]], %[[SHIFT]]
// CHECK: %[[LEFT:.+]] = arith.addi %[[ALIGNED0]], %c-100_i64
// CHECK: %[[LOWKEY:.+]] = arith.maxsi %[[LEFT]], %c0_i64
// CHECK: arith.floordivsi %[[LOWKEY]], %c128_i64
// CHECK: tile.for_each_tile (%{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %[[N:.+]], %[[NE:.+]], %[[NL:.+]]) in @work
// CHECK: scf.for %[[I:[^ ]+]] =
// CHECK: %[[HIGH:.+]] = arith.cmpi slt, %[[I]], %[[NE]]
// CHECK: %[[LOW:.+]] = arith.cmpi sge, %[[I]], %[[NL]]
// CHECK: arith.ori %[[HIGH]], %[[LOW]]
// ROUND-LABEL: tile.kernel @window_attn0(
func.func @window(%q: memref<?x?x?x64xf16>, %k: memref<?x?x?x64xf16>, %v: memref<?x?x?x64xf16>, %o: memref<?x?x?x64xf16>) {
  attn.forward ins(%q, %k, %v : memref<?x?x?x64xf16>, memref<?x?x?x64xf16>, memref<?x?x?x64xf16>)
      outs(%o : memref<?x?x?x64xf16>) mask [#attn.window<left = 100, right = 20>] schedule(#one)
  return
}

// Top left aligned rows do not move with the lengths; the offset of the batch
// moves both kinds.
// CHECK-LABEL: tile.kernel @offset_attn0(
// CHECK: tile.mask %{{.+}} offset(%{{.+}}) :
// CHECK: tile.work @work(%{{.+}}) tiles(%{{.+}}) uses({{.*}} : !tile.global<1xi32>, i32, i32, i32, i32)
// CHECK: %[[REST:.+]] = arith.divui %[[T:.+]], %{{.+}} : i32
// CHECK: %[[B:.+]] = arith.divui %[[REST]], %{{.+}} : i32
// CHECK: %[[OFF:.+]] = tile.fetch %{{.+}}[%[[B]]] : !tile.global<1xi32> -> i32
// CHECK: %[[OFF64:.+]] = arith.extsi %[[OFF]]
// CHECK: %[[LAST:.+]] = arith.subi %{{.+}}, %c1_i64
// CHECK-NEXT: %[[LASTKEY:.+]] = arith.subi %{{.+}}, %c1_i64
// CHECK-NEXT: %[[ALIGNED:.+]] = arith.addi %[[LAST]], %[[OFF64]]
// CHECK-NEXT: arith.minsi %[[LASTKEY]], %[[ALIGNED]]
// ROUND-LABEL: tile.kernel @offset_attn0(
func.func @offset(%q: memref<?x?x?x64xf16>, %k: memref<?x?x?x64xf16>, %v: memref<?x?x?x64xf16>, %o: memref<?x?x?x64xf16>, %off: memref<?xi32>) {
  attn.forward ins(%q, %k, %v : memref<?x?x?x64xf16>, memref<?x?x?x64xf16>, memref<?x?x?x64xf16>)
      outs(%o : memref<?x?x?x64xf16>) mask [#attn.causal<top_left>] position_offset(%off : memref<?xi32>) schedule(#one)
  return
}
}
