// A channel that does not exist is an error of the proof, too, not a crash.
// RUN: not fa4-opt %s --tile-verify-protocol --mlir-print-op-on-diagnostic=false 2>&1 | FileCheck %s
// RUN: not fa4-opt %s --tile-simplify-barriers --mlir-print-op-on-diagnostic=false 2>&1 | FileCheck %s

// CHECK: error: 'tile.acquire' op expected @out to be a channel of the kernel, but got none

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 64>
tile.kernel @k(%nt: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%nt : i32) -> (%n) { tile.yield %t : i32 }
  tile.role @store warps(1) {
    %s = tile.acquire @out
    tile.commit %s
  }
}
