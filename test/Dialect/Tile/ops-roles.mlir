// RUN: fa4-opt %s --verify-roundtrip
// RUN: fa4-opt %s | FileCheck %s

// What the kernels in by-hand do not use, and the spelling of what they do.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
!g = !tile.global<1x64x128xbf16>

// CHECK-LABEL: tile.kernel @roles
// CHECK-SAME: (%[[G:.*]]: !tile.global<1x64x128xbf16>, %[[N:.*]]: i32)
tile.kernel @roles(%G: !g, %n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> (%i) {
    tile.yield %t : i32
  }
  // CHECK: tile.alloc @m[4] : smem 16384 bytes
  tile.alloc @m[4] : smem 16384 bytes
  // CHECK: tile.alloc @w_mem : smem 16 bytes
  tile.alloc @w_mem : smem 16 bytes
  // CHECK: tile.alloc @a_mem : tmem 64 columns
  tile.alloc @a_mem : tmem 64 columns
  // CHECK: tile.view @V of @m : 64x128xbf16, #k_major
  tile.view @V of @m : 64x128xbf16, #tile.smem<k_major, 128>
  // CHECK: tile.view @H of @m plus rank * 8192 : 32x128xbf16, #mn_major
  tile.view @H of @m plus rank * 8192 : 32x128xbf16, #tile.smem<mn_major, 64>
  // CHECK: tile.view @W of @w_mem : 4xi32, #linear
  tile.view @W of @w_mem : 4xi32, #tile.smem<linear>
  // CHECK: tile.view @A of @a_mem at column 32 : 64x64xf32, #fold
  tile.view @A of @a_mem at column 32 : 64x64xf32, #tile.tmem<fold>
  // CHECK: tile.channel @c[2] depth(2) from(@a, @b previous) to(@b each) carries(@V, @H) full(named_per_warp) empty(lane) starts(2, 0)
  tile.channel @c[2] depth(2) from(@a, @b previous) to(@b each) carries(@V, @H) full(named_per_warp) empty(lane) starts(2, 0)
  // CHECK: tile.channel @order depth(1) from(@a) to(@b){{$}}
  tile.channel @order depth(1) from(@a) to(@b)
  // CHECK: tile.channel @next depth(1) from(@a) to(@b) carries(@W)
  tile.channel @next depth(1) from(@a) to(@b) carries(@W)
  // CHECK: tile.setup {
  tile.setup {
  }
  // CHECK: tile.role @a warps(1) ctas(both) rank(%[[RANK:.*]]) uses(%[[G]], %[[N]] : !tile.global<1x64x128xbf16>, i32) {
  tile.role @a warps(1) ctas(both) rank(%rank) uses(%G, %n : !g, i32) {
    // CHECK: %[[T:.*]] = tile.acquire @c[1]{{$}}
    %t = tile.acquire @c[1]
    // CHECK: %[[E:.*]] = tile.async_load %[[G]][%[[N]], %[[RANK]]] to %[[T]] as @V : !tile.global<1x64x128xbf16>
    %e = tile.async_load %G[%n, %rank] to %t as @V : !g
    // CHECK: tile.commit %[[T]] after(%[[E]])
    tile.commit %t after(%e)
    // CHECK: %[[O:.*]] = tile.acquire @order
    %o = tile.acquire @order
    // CHECK: tile.commit %[[O]] after(all)
    tile.commit %o after(all)
    // CHECK: %[[X:.*]] = tile.acquire @next
    %x = tile.acquire @next
    // CHECK: %[[F:.*]] = tile.async_next to %[[X]] as @W
    %f = tile.async_next to %x as @W
    tile.commit %x after(%f)
    // CHECK: tile.run_ptx "nanosleep.u32 $0;" constraints "r"(%[[N]]) reads(@V, @H) writes() : i32
    tile.run_ptx "nanosleep.u32 $0;" constraints "r" (%n) reads(@V, @H) writes() : i32
    // CHECK: tile.settle @c[0]
    tile.settle @c[0]
  }
  // CHECK: tile.role @b warps(4) replicas(2) index(%[[R:.*]]) regs(192) {
  tile.role @b warps(4) replicas(2) index(%r) regs(192) {
    // CHECK: %[[T2:.*]] = tile.wait @c[%[[R]]]
    %t = tile.wait @c[%r]
    // CHECK: tile.read %[[T2]] as @V : !tile.frag<64x128xbf16, #acc>
    %v = tile.read %t as @V : !tile.frag<64x128xbf16, #tile.spread<acc>>
    // CHECK: tile.write %{{.*}} over %[[T2]] as @V : !tile.frag<64x128xbf16, #acc>
    tile.write %v over %t as @V : !tile.frag<64x128xbf16, #tile.spread<acc>>
    // CHECK: tile.release %[[T2]]{{$}}
    tile.release %t
  }
  tile.teardown {
  }
}

// CHECK-LABEL: tile.kernel @placed
tile.kernel @placed(%G: !g, %n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> (%i) {
    tile.yield %t : i32
  }
  // CHECK: tile.placed_alloc @m[2] smem at 1024 stride 16384
  tile.placed_alloc @m[2] smem at 1024 stride 16384
  // CHECK: tile.placed_alloc @w_mem smem at 0 stride 128
  tile.placed_alloc @w_mem smem at 0 stride 128
  tile.view @V of @m : 64x128xbf16, #tile.smem<k_major, 128>
  tile.view @W of @w_mem : 4xi32, #tile.smem<linear>
  // CHECK: tile.barrier @b[2] depth(3) count(128) at 256
  tile.barrier @b[2] depth(3) count(128) at 256
  // CHECK: tile.named_barrier @nb[2] ids(3 to 10) threads(64) per_warp
  tile.named_barrier @nb[2] ids(3 to 10) threads(64) per_warp
  // CHECK: tile.role @a warps(4) replicas(2) index(%[[R:.*]]) at(8) one_lane ctas(both) rank(%{{.*}}) regs(72) uses(%[[G:.*]] : !tile.global<1x64x128xbf16>) {
  tile.role @a warps(4) replicas(2) index(%r) at(8) one_lane ctas(both) rank(%rank) regs(72) uses(%G : !g) {
    %yes = arith.constant true
    // CHECK: %[[C:.*]] = tile.cursor credit : !tile.cursor<3>
    %c = tile.cursor credit : !tile.cursor<3>
    // CHECK: %[[D:.*]] = tile.advance %[[C]] : !tile.cursor<3>
    %d = tile.advance %c : !tile.cursor<3>
    // CHECK: tile.barrier.wait @b[%[[R]]] at %[[C]] mod 3
    tile.barrier.wait @b[%r] at %c mod 3
    // CHECK: tile.barrier.arrive @b[1] at %[[D]] mod 3 by(warp) on leader when(%{{.*}})
    tile.barrier.arrive @b[1] at %d mod 3 by(warp) on leader when(%yes)
    // CHECK: tile.barrier.expect @b[0] at %[[D]] mod 3 bytes(16) on peer
    tile.barrier.expect @b[0] at %d mod 3 bytes(16) on peer
    // CHECK: tile.issue_next to(@W) signals(@b[0] at %[[D]] mod 3)
    tile.issue_next to(@W) signals(@b[0] at %d mod 3)
    // CHECK: tile.barrier.commit @b[0] at %[[D]] mod 3 on both
    tile.barrier.commit @b[0] at %d mod 3 on both
    // CHECK: tile.named.arrive @nb[%[[R]]] when(%{{.*}})
    tile.named.arrive @nb[%r] when(%yes)
    // CHECK: tile.issue_store add @V[%[[R]]] to %[[G]][%[[R]]] : !tile.global<1x64x128xbf16>
    tile.issue_store add @V[%r] to %G[%r] : !g
    // CHECK: tile.group.commit bulk
    tile.group.commit bulk
    // CHECK: tile.group.wait bulk 0 read
    tile.group.wait bulk 0 read
    // CHECK: tile.fence [tmem_loads, before, proxy]
    tile.fence [tmem_loads, before, proxy]
    // CHECK: tile.role_sync
    tile.role_sync
    // CHECK: tile.cluster_sync
    tile.cluster_sync
  }
}
