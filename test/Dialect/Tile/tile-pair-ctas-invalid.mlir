// RUN: fa4-opt %s --pass-pipeline="builtin.module(tile.kernel(tile-pair-ctas))" --split-input-file --verify-diagnostics

!Q = !tile.frag<128x64xbf16>
!K = !tile.frag<64x128xbf16>
!S = !tile.frag<128x128xf32>
!gq = !tile.global<1x128x1x64xbf16>
!gk = !tile.global<1x64x1x128xbf16>
#b200 = #fa4.target<"sm_100a">
#plan = #fa4.schedule<forward, tile = 128 x 128, stages = 1, ctas = 2>

// The program of one CTA is none of a pair.
tile.kernel @rows(%A: !gq, %B: !gk, %nt: i32) target(#b200) schedule(#plan) {
  tile.def @load_a(%G: !gq, %i: i32) -> !Q {
    %x = tile.load %G[%i] : !gq -> !Q
    tile.yield %x : !Q
  }
  tile.def @load_b(%G: !gk, %i: i32) -> !K {
    %x = tile.load %G[%i] : !gk -> !K
    tile.yield %x : !K
  }
  tile.def @qk(%a: !Q, %b: !K) {
    // expected-error @+1 {{expected a product of a pair to have 256 rows, 2 times those of the schedule's tile, but got '!tile.frag<128x128xf32>'}}
    %s = tile.mma a(%a) b(%b) : (!Q, !K) -> !S
    tile.yield
  }
  tile.work @work(%t) tiles(%nt : i32) -> (%q0) {
    tile.yield %t : i32
  }
  tile.for_each_tile (%q0) in @work {
    %a = tile.step @load_a(%A, %q0) : (!gq, i32) -> !Q
    %b = tile.step @load_b(%B, %q0) : (!gk, i32) -> !K
    tile.step @qk(%a, %b) : (!Q, !K) -> ()
  }
}

// -----

!Q = !tile.frag<256x128xbf16>
!K = !tile.frag<128x128xbf16>
!S = !tile.frag<256x128xf32>
!gq = !tile.global<1x256x1x128xbf16>
#b200 = #fa4.target<"sm_100a">
#plan = #fa4.schedule<forward, tile = 128 x 128, stages = 1, ctas = 2>

// What each CTA has a half of must come from memory.
tile.kernel @computed(%A: !gq, %nt: i32) target(#b200) schedule(#plan) {
  tile.def @load_a(%G: !gq, %i: i32) -> !Q {
    %x = tile.load %G[%i] : !gq -> !Q
    tile.yield %x : !Q
  }
  tile.def @qk(%a: !Q) {
    %one = arith.constant 1.0 : bf16
    // expected-error @+1 {{expected what products of a pair take as second operand to be loaded, of which each CTA can load half, but got a computed tile}}
    %b = tile.splat %one : bf16 -> !K
    %s = tile.mma a(%a) b(%b) : (!Q, !K) -> !S
    tile.yield
  }
  tile.work @work(%t) tiles(%nt : i32) -> (%q0) {
    tile.yield %t : i32
  }
  tile.for_each_tile (%q0) in @work {
    %a = tile.step @load_a(%A, %q0) : (!gq, i32) -> !Q
    tile.step @qk(%a) : (!Q) -> ()
  }
}

// -----

!Q = !tile.frag<256x128xbf16>
!K = !tile.frag<128x128xbf16>
!S = !tile.frag<256x128xf32>
!gq = !tile.global<256x1x128xbf16>
!gk = !tile.global<128x1x128xbf16>
#b200 = #fa4.target<"sm_100a">
#plan = #fa4.schedule<forward, tile = 128 x 128, stages = 1, ctas = 2>

tile.kernel @packed(%A: !gq, %B: !gk, %nt: i32) target(#b200) schedule(#plan) {
  tile.def @load_a(%G: !gq, %i: i32) -> !Q {
    // expected-error @+1 {{expected a copy of a CTA pair to see a whole tensor, but got part of one: packed sequences and used lengths take ctas = 1}}
    %x = tile.load %G[%i] : !gq -> !Q
    tile.yield %x : !Q
  }
  tile.def @load_b(%G: !gk, %i: i32) -> !K {
    %x = tile.load %G[%i] : !gk -> !K
    tile.yield %x : !K
  }
  tile.def @qk(%a: !Q, %b: !K) {
    %s = tile.mma a(%a) b(%b) : (!Q, !K) -> !S
    tile.yield
  }
  tile.work @work(%t) tiles(%nt : i32) -> (%q0) {
    tile.yield %t : i32
  }
  tile.for_each_tile (%q0) in @work {
    %c0 = arith.constant 0 : i32
    %part = tile.subrange %A dim(0) from %c0 to %q0 : !gq
    %a = tile.step @load_a(%part, %q0) : (!gq, i32) -> !Q
    %b = tile.step @load_b(%B, %q0) : (!gk, i32) -> !K
    tile.step @qk(%a, %b) : (!Q, !K) -> ()
  }
}
