// RUN: fa4-opt %s --split-input-file --verify-diagnostics

tile.kernel @k(%n: i32) target(#fa4.target<"sm_100a">) schedule(#fa4.schedule<forward, tile = 16 x 16>) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.alloc @m : tmem 16 columns
  tile.view @X of @m : 16x16xf32, #tile.tmem<lanes>
  %f = arith.constant 0.0 : f32
  // expected-error @+1 {{operand type #0 '!tile.frag<16x32xf32>' should match successor input type #0 '!tile.frag<16x16xf32>'}}
  %x = tile.inlined_step @a -> (!tile.frag<16x16xf32>) { // inlined_step C1
    %y = tile.splat %f : f32 -> !tile.frag<16x32xf32>
    // expected-note @+1 {{region branch point}}
    tile.yield %y : !tile.frag<16x32xf32>
  }
}

// -----

tile.kernel @k(%n: i32) target(#fa4.target<"sm_100a">) schedule(#fa4.schedule<forward, tile = 16 x 16>) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.alloc @m : tmem 16 columns
  tile.view @X of @m : 16x16xf32, #tile.tmem<lanes>
  %f = arith.constant 0.0 : f32
  %c = arith.constant false
  %z = tile.splat %f : f32 -> !tile.frag<16x32xf32>
  // expected-error @+1 {{expected passed values to have the types of the results under 'unless', and none without}}
  %x = tile.inlined_step @a unless(%c) passing(%z : !tile.frag<16x32xf32>) -> (!tile.frag<16x16xf32>) { // inlined_step C2
    %y = tile.splat %f : f32 -> !tile.frag<16x16xf32>
    tile.yield %y : !tile.frag<16x16xf32>
  }
}

// -----

tile.kernel @k(%n: i32) target(#fa4.target<"sm_100a">) schedule(#fa4.schedule<forward, tile = 16 x 16>) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.alloc @m : tmem 16 columns
  tile.view @X of @m : 16x16xf32, #tile.tmem<lanes>
  // expected-error @+1 {{expected index to be at least 0, but got -1}}
  tile.inlined_step @a[-1] { // inlined_step C3
  }
}

// -----

tile.kernel @k(%n: i32) target(#fa4.target<"sm_100a">) schedule(#fa4.schedule<forward, tile = 16 x 16>) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.alloc @m : tmem 16 columns
  tile.view @X of @m : 16x16xf32, #tile.tmem<lanes>
  %f = arith.constant 0.0 : f32
  %y = tile.splat %f : f32 -> !tile.frag<16x16xf32>
  // expected-error @+1 {{expected element to be at least 0, but got -1}}
  %k = tile.keep %y in @X[-1] : !tile.frag<16x16xf32> // keep C1
}

// -----

tile.kernel @k(%n: i32) target(#fa4.target<"sm_100a">) schedule(#fa4.schedule<forward, tile = 16 x 16>) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.alloc @m : tmem 16 columns
  tile.view @X of @m : 16x16xf32, #tile.tmem<lanes>
  %f = arith.constant 0.0 : f32
  %y = tile.splat %f : f32 -> !tile.frag<16x16xf32>
  // expected-error @+1 {{expected a view of the kernel, but got '@Y'}}
  %k = tile.keep %y in @Y : !tile.frag<16x16xf32> // keep C2
}

// -----

tile.kernel @k(%n: i32) target(#fa4.target<"sm_100a">) schedule(#fa4.schedule<forward, tile = 16 x 16>) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.alloc @m : tmem 16 columns
  // expected-note @+1 {{the view is here}}
  tile.view @X of @m : 16x16xf32, #tile.tmem<lanes>
  %f = arith.constant 0.0 : f32
  %y = tile.splat %f : f32 -> !tile.frag<8x16xf32>
  // expected-error @+1 {{expected the tile of view '@X', '!tile.frag<16x16xf32>', but got '!tile.frag<8x16xf32>'}}
  %k = tile.keep %y in @X : !tile.frag<8x16xf32> // keep C2
}

// -----

tile.kernel @k(%n: i32) target(#fa4.target<"sm_100a">) schedule(#fa4.schedule<forward, tile = 16 x 16>) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.alloc @m : tmem 16 columns
  // expected-note @+1 {{the view is here}}
  tile.view @X of @m : 16x16xf32, #tile.tmem<lanes>
  %f = arith.constant 0.0 : f32
  %y = tile.splat %f : f32 -> !tile.frag<8x16xf32>
  %none = tile.no_token
  // expected-error @+1 {{expected the tile of view '@X', '!tile.frag<16x16xf32>', but got '!tile.frag<8x16xf32>'}}
  %k = tile.use %y from %none as @X : !tile.frag<8x16xf32> // use C1
}

// -----

tile.kernel @k(%n: i32) target(#fa4.target<"sm_100a">) schedule(#fa4.schedule<forward, tile = 16 x 16>) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.alloc @m : tmem 16 columns
  tile.view @X of @m : 16x16xf32, #tile.tmem<lanes>
  %f = arith.constant 0.0 : f32
  %y = tile.splat %f : f32 -> !tile.frag<16x16xf32>
  // expected-error @+1 {{expected the element of a kept value to be a number}}
  %k = tile.keep %y in @X[%n] : !tile.frag<16x16xf32>
}

// -----

tile.kernel @k(%n: i32) target(#fa4.target<"sm_100a">) schedule(#fa4.schedule<forward, tile = 16 x 16>) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.alloc @m : tmem 16 columns
  tile.view @X of @m : 16x16xf32, #tile.tmem<lanes>
  tile.alloc @v : smem 32768 bytes
  // expected-error @+1 {{expected panel of a mn_major layout to be a multiple of its swizzle, but got 100}}
  tile.view @P of @v : 64x128xbf16, #tile.smem<mn_major, 128, panel = 100> // smem C2
}

// -----

tile.kernel @k(%n: i32) target(#fa4.target<"sm_100a">) schedule(#fa4.schedule<forward, tile = 16 x 16>) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.alloc @m : tmem 16 columns
  tile.view @X of @m : 16x16xf32, #tile.tmem<lanes>
  tile.alloc @v : smem 32768 bytes
  // expected-error @+1 {{expected a view with a panel pitch to be of whole panels of 8192 bytes, but got 12288 bytes}}
  tile.view @P of @v : 64x96xbf16, #tile.smem<mn_major, 128, panel = 16384> // view C5
}

// -----

tile.kernel @k(%n: i32) target(#fa4.target<"sm_100a">) schedule(#fa4.schedule<forward, tile = 16 x 16>) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.alloc @m : tmem 16 columns
  tile.view @X of @m : 16x16xf32, #tile.tmem<lanes>
  tile.alloc @v : smem 32768 bytes
  // expected-error @+1 {{expected the panel pitch to be at least the 8192 bytes of a panel, but got 4096}}
  tile.view @P of @v : 64x128xbf16, #tile.smem<mn_major, 128, panel = 4096> // view C5
}
