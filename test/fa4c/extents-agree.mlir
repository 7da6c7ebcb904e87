// Extents that a module leaves open and S1 or S3 ties together: a kernel reads one of
// each, so a bundle asks for the others before it is launched.

// RUN: fa4c --target=sm_100a --run --check --shape q=2x33x4x8 --shape k=2x40x2x8 --shape v=2x40x2x8 --shape o=2x33x4x8 %s | FileCheck %s
// RUN: not fa4c --target=sm_100a --run --shape q=2x33x4x8 --shape k=2x40x2x8 --shape v=2x39x2x8 --shape o=2x33x4x8 %s 2>&1 | FileCheck %s --check-prefix=KEYS
// RUN: not fa4c --target=sm_100a --run --shape q=2x33x4x8 --shape k=1x40x2x8 --shape v=1x40x2x8 --shape o=2x33x4x8 %s 2>&1 | FileCheck %s --check-prefix=BATCH
// RUN: not fa4c --target=sm_100a --run --shape q=2x33x3x8 --shape k=2x40x2x8 --shape v=2x40x2x8 --shape o=2x33x3x8 %s 2>&1 | FileCheck %s --check-prefix=RATIO
// RUN: not fa4c --run --shape q=2x33x4x8 --shape k=2x40x2x8 --shape v=2x39x2x8 --shape o=2x33x4x8 %s 2>&1 | FileCheck %s --check-prefix=HOST-KEYS
// RUN: not fa4c --run --shape q=2x33x3x8 --shape k=2x40x2x8 --shape v=2x40x2x8 --shape o=2x33x3x8 %s 2>&1 | FileCheck %s --check-prefix=HOST-RATIO
// RUN: fa4c --target=sm_100a --emit=tile-t0 %s | FileCheck %s --check-prefix=RULES

// CHECK: check passed
// KEYS: error: expected extent 1 of 'v' to be extent 1 of 'k', but got 39
// BATCH: error: expected extent 0 of 'k' to be extent 0 of 'q', but got 1
// RATIO: error: expected extent 2 of 'q' to be a multiple of extent 2 of 'k', but got 3
// HOST-KEYS: error: expected extent 1 of 'v' to be extent 1 of 'k', but got 39
// HOST-RATIO: error: expected extent 2 of 'q' to be a multiple of extent 2 of 'k', but got 3

// The head dim is known: nothing is asked of dimension 3.
// RULES: tile.launch @main_attn0
// RULES-SAME: extents [
// RULES-SAME: #fa4.extent_rule<operand = 2, dim = 1, other_operand = 1, other_dim = 1>
// RULES-SAME: #fa4.extent_rule<operand = 0, dim = 2, other_operand = 1, other_dim = 2, multiple = true>]
// RULES-NOT: dim = 3

module attributes {fa4.target = #fa4.target<"sm_100a">} {
  func.func @main(%q: memref<?x?x?x8xf16>, %k: memref<?x?x?x8xf16>, %v: memref<?x?x?x8xf16>, %o: memref<?x?x?x8xf16>) {
    attn.forward ins(%q, %k, %v : memref<?x?x?x8xf16>, memref<?x?x?x8xf16>, memref<?x?x?x8xf16>)
        outs(%o : memref<?x?x?x8xf16>)
    return
  }
}
