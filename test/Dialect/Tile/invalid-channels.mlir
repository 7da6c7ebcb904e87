// RUN: fa4-opt %s --split-input-file --verify-diagnostics

// alloc C1.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  // expected-error @+1 {{expected size to be positive, but got 0}}
  tile.alloc @m : smem 0 bytes
}

// -----

// alloc C1.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  // expected-error @+1 {{expected family to be positive, but got -1}}
  tile.alloc @m[-1] : smem 8 bytes
}

// -----

// alloc C2.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  // expected-error @+1 {{expected columns to be a multiple of 16, but got 24}}
  tile.alloc @m : tmem 24 columns
}

// -----

// alloc spelling.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  // expected-error @+1 {{expected the space to be smem or tmem, but got 'gmem'}}
  tile.alloc @m : gmem 24 bytes
}

// -----

// view C1.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.alloc @m : smem 1024 bytes
  // expected-error @+1 {{expected layout of a view to be a #tile.smem or #tile.tmem, but got #tile.spread<rows>}}
  tile.view @v of @m : 8x8xf32, #tile.spread<rows>
}

// -----

// view C1.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.alloc @m : smem 1024 bytes
  // expected-error @+1 {{expected the offset of a view with this layout to be in bytes, but got columns}}
  tile.view @v of @m at column 16 : 8x8xf32, #tile.smem<linear>
}

// -----

// view C1.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.alloc @m : smem 1024 bytes
  // expected-error @+1 {{expected offset to be at least 0, but got -8}}
  tile.view @v of @m at byte -8 : 8x8xf32, #tile.smem<linear>
}

// -----

// view C2.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  // expected-error @+1 {{expected a view to be of an allocation, but got '@w'}}
  tile.view @v of @w : 8x8xf32, #tile.smem<linear>
}

// -----

// view C2.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  // expected-note @+1 {{the allocation is here}}
  tile.alloc @m : tmem 128 columns
  // expected-error @+1 {{expected layout to be one of tmem, where the allocation is, but got #tile.smem<linear>}}
  tile.view @v of @m : 8x8xf32, #tile.smem<linear>
}

// -----

// view C3.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  // expected-note @+1 {{the allocation is here}}
  tile.alloc @m : smem 1024 bytes
  // expected-error @+1 {{expected the view to end within the region's 1024 bytes, but got 1056}}
  tile.view @v of @m at byte 800 : 8x8xf32, #tile.smem<linear>
}

// -----

// view C4.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.alloc @m : tmem 128 columns
  // expected-error @+1 {{expected a view of tensor memory to have rank 2, but got '!tile.frag<128xf32>'}}
  tile.view @v of @m : 128xf32, #tile.tmem<lanes>
}

// -----

// smem C1.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.alloc @m : smem 1024 bytes
  // expected-error @+1 {{expected swizzle of a k_major layout to be 32, 64 or 128 bytes, but got 48}}
  tile.view @v of @m : 8x8xf32, #tile.smem<k_major, 48>
}

// -----

// smem C1.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.alloc @m : smem 1024 bytes
  // expected-error @+1 {{expected swizzle of a linear layout to be absent, but got 128}}
  tile.view @v of @m : 8x8xf32, #tile.smem<linear, 128>
}

// -----

// channel C1.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.role @r warps(1) {
  }
  // expected-error @+1 {{expected depth to be positive, but got 0}}
  tile.channel @c depth(0) from(@r) to(@r)
}

// -----

// channel C2.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.role @r warps(1) {
  }
  // expected-error @+1 {{expected a role on each side, but got 1 and 0}}
  "tile.channel"() <{sym_name = "c", depth = 1 : i64, from = [#tile.end<@r>], to = []}> : () -> ()
}

// -----

// channel C3.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.role @r warps(1) {
  }
  // expected-error @+1 {{expected one start for each of 2 elements, but got 1}}
  tile.channel @c[2] depth(1) from(@r) to(@r) starts(1)
}

// -----

// channel C3.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.role @r warps(1) {
  }
  // expected-error @+1 {{expected starts to be from 0 to the depth 1, but got 2}}
  tile.channel @c depth(1) from(@r) to(@r) starts(2)
}

// -----

// channel C4.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.role @r warps(1) {
  }
  // expected-error @+1 {{expected the ends of a channel to be roles, but got '@q'}}
  tile.channel @c depth(1) from(@r) to(@q)
}

// -----

// channel C4.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  // expected-note @+1 {{the role is here}}
  tile.role @r warps(1) {
  }
  // expected-error @+1 {{expected as many replicas of a tied role as elements, but got 1 and 2}}
  tile.channel @c[2] depth(1) from(@r each) to(@r)
}

// -----

// channel C5.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.role @r warps(1) {
  }
  // expected-error @+1 {{expected a channel to carry views, but got '@r'}}
  tile.channel @c depth(1) from(@r) to(@r) carries(@r)
}

// -----

// channel C5.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.role @r warps(1) {
  }
  tile.alloc @m[2] : smem 1024 bytes
  tile.alloc @m2 : smem 1024 bytes
  tile.view @v of @m : 8x8xf32, #tile.smem<linear>
  tile.view @w of @m2 : 8x8xf32, #tile.smem<linear>
  // expected-error @+1 {{expected carried views to lie in one allocation, but got '@m' and '@m2'}}
  tile.channel @c depth(1) from(@r) to(@r) carries(@v, @w)
}

// -----

// channel C5.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.role @r warps(1) {
  }
  // expected-note @+1 {{the allocation is here}}
  tile.alloc @m[2] : smem 1024 bytes
  tile.alloc @m2 : smem 1024 bytes
  tile.view @v of @m : 8x8xf32, #tile.smem<linear>
  tile.view @w of @m2 : 8x8xf32, #tile.smem<linear>
  // expected-error @+1 {{expected family times depth, 3, to be the regions of the allocation, but got 2}}
  tile.channel @c depth(3) from(@r) to(@r) carries(@v)
}
