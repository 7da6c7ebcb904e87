// RUN: fa4-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-draw-tiles),tile-verify-t1,tile-verify-protocol)' --split-input-file | FileCheck %s
// RUN: fa4-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-draw-tiles,tile-place-tmem,tile-place-smem,tile-assign-registers,tile-lower-channels,tile-lower-async,tile-simplify-barriers,tile-insert-fences),tile-verify-t2,tile-verify-protocol,tile.kernel(tile-verify-target))' --split-input-file | FileCheck %s --check-prefix=PLACED

// The role that loads asks for the next tile behind the loads of one; both roles learn it at
// the end of theirs.

#rows = #tile.spread<rows>
#kmaj = #tile.smem<k_major, 128>
!T = !tile.frag<128x64xbf16, #rows>
!g = !tile.global<1x128x1x64xbf16>

// CHECK-LABEL: tile.kernel @drawn
// CHECK: tile.alloc @next_mem : smem 16 bytes
// CHECK-NEXT: tile.view @Next of @next_mem : 4xi32, #linear
// CHECK-NEXT: tile.channel @next depth(1) from(@load) to(@load, @copy) carries(@Next) empty(warp)
// CHECK-LABEL: tile.role @load
// CHECK: tile.for_each_tile
// CHECK-NEXT: tile.acquire @x
// CHECK: tile.commit
// CHECK-NEXT: %[[T:.*]] = tile.acquire @next
// CHECK-NEXT: %[[E:.*]] = tile.async_next to %[[T]] as @Next
// CHECK-NEXT: tile.commit %[[T]] after(%[[E]])
// CHECK-NEXT: %[[U:.*]] = tile.wait @next
// CHECK-NEXT: %[[N:.*]] = tile.read %[[U]] as @Next : i32
// CHECK-NEXT: tile.release %[[U]]
// CHECK-NEXT: tile.next_tile %[[N]]
// CHECK-LABEL: tile.role @copy
// CHECK: tile.for_each_tile
// CHECK-NEXT: tile.wait @x
// CHECK: tile.store
// CHECK-NEXT: %[[U:.*]] = tile.wait @next
// CHECK-NEXT: %[[N:.*]] = tile.read %[[U]] as @Next : i32
// CHECK-NEXT: tile.release %[[U]]
// CHECK-NEXT: tile.next_tile %[[N]]

// One warp and four hand an answer back: five arrivals. Sixteen bytes come, by the async
// proxy, which must know of the reads; without those fences the proof objects.
// RUN: fa4-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-draw-tiles,tile-place-tmem,tile-place-smem,tile-assign-registers,tile-lower-channels,tile-lower-async,tile-simplify-barriers,tile-insert-fences))' --split-input-file > %t.placed.mlir
// RUN: sed '/tile.fence \[proxy\]/d' %t.placed.mlir > %t.bare.mlir
// RUN: not fa4-opt %t.bare.mlir --tile-verify-protocol --split-input-file --mlir-print-op-on-diagnostic=false 2>&1 | FileCheck %s --check-prefix=BARE
// BARE: expected the order of two accesses to be carried by fences, but got no 'proxy' fence between them
// BARE: tile.read
// PLACED-LABEL: tile.kernel @drawn
// PLACED: tile.barrier @next.full depth(1) count(1)
// PLACED: tile.barrier @next.empty depth(1) count(5)
// PLACED-LABEL: tile.role @load
// PLACED: tile.for_each_tile {{.*}} iter_args(
// PLACED: tile.fence [proxy]
// PLACED: tile.barrier.wait @next.empty at %[[C:.*]] mod 1
// PLACED: tile.barrier.expect @next.full bytes(16)
// PLACED-NEXT: tile.issue_next to(@Next) signals(@next.full)
// PLACED: tile.barrier.wait @next.full at %[[D:.*]] mod 1
// PLACED: %[[N:.*]] = tile.read @Next : i32
// PLACED: tile.barrier.arrive @next.empty by(warp)
// PLACED: tile.next_tile %[[N]]
// PLACED-LABEL: tile.role @copy
// PLACED: tile.read @Next : i32
// PLACED-NEXT: tile.fence [proxy]
// PLACED-NEXT: tile.barrier.arrive @next.empty by(warp)
tile.kernel @drawn(%X: !g, %Y: !g, %nt: i32) target(#fa4.target<"sm_100a">)
    schedule(#fa4.schedule<forward, tile = 128 x 64, work = dynamic,
      roles = [load = {load} warps 1 at 4 regs 64, copy = {copy} warps 4 at 0 regs 128]>) {
  tile.work @work(%t) tiles(%nt : i32) -> (%i) { tile.yield %t : i32 }
  tile.alloc @x_mem : smem 16384 bytes
  tile.view @X of @x_mem : 128x64xbf16, #kmaj
  tile.channel @x depth(1) from(@load) to(@copy) carries(@X)
  tile.role @load warps(1) uses(%X : !g) {
    %c0 = arith.constant 0 : i32
    tile.for_each_tile (%i) in @work {
      %t = tile.acquire @x
      %e = tile.async_load %X[%c0, %i] to %t as @X : !g
      tile.commit %t after(%e)
    }
  }
  tile.role @copy warps(4) uses(%Y : !g) {
    %c0 = arith.constant 0 : i32
    tile.for_each_tile (%i) in @work {
      %t = tile.wait @x
      %x = tile.read %t as @X : !T
      tile.release %t
      tile.store %x to %Y[%c0, %i, %c0] : !T, !g
    }
  }
}

// -----

// Nothing is drawn where each CTA knows its tiles.

// CHECK-LABEL: tile.kernel @strided
// CHECK-NOT: @next
// PLACED-LABEL: tile.kernel @strided
// PLACED-NOT: @next
#kmaj = #tile.smem<k_major, 128>
!T = !tile.frag<128x64xbf16, #tile.spread<rows>>
!g = !tile.global<1x128x1x64xbf16>
tile.kernel @strided(%X: !g, %Y: !g, %nt: i32) target(#fa4.target<"sm_90a">)
    schedule(#fa4.schedule<forward, tile = 128 x 64, work = static_persistent,
      roles = [load = {load} warps 1 at 4 regs 64, copy = {copy} warps 4 at 0 regs 128]>) {
  tile.work @work(%t) tiles(%nt : i32) -> (%i) { tile.yield %t : i32 }
  tile.alloc @x_mem : smem 16384 bytes
  tile.view @X of @x_mem : 128x64xbf16, #kmaj
  tile.channel @x depth(1) from(@load) to(@copy) carries(@X)
  tile.role @load warps(1) uses(%X : !g) {
    %c0 = arith.constant 0 : i32
    tile.for_each_tile (%i) in @work {
      %t = tile.acquire @x
      %e = tile.async_load %X[%c0, %i] to %t as @X : !g
      tile.commit %t after(%e)
    }
  }
  tile.role @copy warps(4) uses(%Y : !g) {
    %c0 = arith.constant 0 : i32
    tile.for_each_tile (%i) in @work {
      %t = tile.wait @x
      %x = tile.read %t as @X : !T
      tile.release %t
      tile.store %x to %Y[%c0, %i, %c0] : !T, !g
    }
  }
}
