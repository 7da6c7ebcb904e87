// RUN: fa4c --target=sm_100a --report %s | FileCheck %s --check-prefixes=BOTH,SM100
// RUN: sed 's/sm_100a/sm_90a/' %s | fa4c --target=sm_90a --report - | FileCheck %s --check-prefixes=BOTH,SM90
// RUN: sed 's/"sm_100a"/"sm_100a", exp2_per_clock = 8/' %s | fa4c --target=sm_100a --report - | FileCheck %s --check-prefix=SLOW
// RUN: sed 's/layout(bshd)/layout(bshd) mask [#attn.causal] schedule(#fa4.schedule<forward, tile = 128 x 128, work = one_per_cluster>)/' %s | fa4c --target=sm_100a --report - | FileCheck %s --check-prefix=CAUSAL
// RUN: sed 's/layout(bshd)/layout(bshd) mask [#attn.window<left = 512, right = 0>]/' %s | fa4c --target=sm_100a --report - | FileCheck %s --check-prefix=WINDOW --implicit-check-not='cost      launch'

// What became of the schedule, and the clocks that it should take by unit. A chip
// with half the exponentials is bound by them. The launch has the op's mask whatever the
// order of its tiles; for windows there is no model of one.

// BOTH: kernel forward_attn0
// SM100: role      softmax        warps 4 x 2 at 0, registers 192
// SM100: barriers  simplified
// SM100: cost      matrix unit          2048 clocks per KV block
// SM100-NEXT: cost      shared memory        1536 clocks
// SM100-NEXT: cost      exp2                 1808 clocks
// SM100-NEXT: cost      fma
// SM100-NEXT: cost      alu
// SM100-NEXT: cost      issue
// SM100-NEXT: cost      chain of dependences 1960 clocks
// SM100-NEXT: cost      tensor memory        196608 bytes
// SM100-NEXT: cost      period               2048 clocks, set by the matrix unit: the matrix unit at 100.0 % of its peak at most
// SM100-NEXT: cost      launch               4 x 16 heads, 8192 x 8192, 148 multiprocessors, of the matrix unit's peak
// SM100-NEXT: cost      slower units         0.0 %
// SM100-NEXT: cost      hidden scores        0.0 %
// SM100-NEXT: cost      ramps of tiles       [[RAMPS:[0-9.]+]] %
// SM100-NEXT: cost      no tile              1.2 %
// SM100-NEXT: cost      left                 98.2 %
// CAUSAL: tiles     one tile to a CTA; as numbered
// CAUSAL: cost      launch               4 x 16 heads, 8192 x 8192 causal, 148 multiprocessors
// WINDOW: tiles {{.*}}; longest first
// WINDOW: cost      period
// SM90: cost      matrix unit          1920 clocks per KV block
// SM90: cost      period {{.*}}set by the issue
// SLOW: cost      exp2                 3616 clocks
// SLOW: cost      period {{.*}} clocks, set by the exp2: the matrix unit at {{[0-5].*}} % of its peak at most

module attributes {fa4.target = #fa4.target<"sm_100a">} {
  func.func @forward(%q: memref<?x?x?x128xbf16>, %k: memref<?x?x?x128xbf16>,
                     %v: memref<?x?x?x128xbf16>, %o: memref<?x?x?x128xbf16>,
                     %lse: memref<?x?x?xf32>) {
    attn.forward ins(%q, %k, %v : memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>)
      outs(%o, %lse : memref<?x?x?x128xbf16>, memref<?x?x?xf32>) layout(bshd)
    return
  }
}
