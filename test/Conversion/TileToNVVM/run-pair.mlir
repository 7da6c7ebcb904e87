// The hand-written forward kernel for pairs of CTAs, executed by the simulator with
// races and random orders, against the same attention on the CPU, which is checked
// against the reference: a tail tile whose second CTA has no row, and a whole one.

// RUN: rm -rf %t && mkdir %t
// RUN: cat %S/../../Dialect/Tile/by-hand/forward-sm100-pair-t2.mlir %S/Inputs/launch-pair.mlir > %t/kernel.mlir
// RUN: %python %S/Inputs/arrays.py make %t q=1x600x2x128 k=1x600x1x128 v=1x600x1x128
// RUN: fa4c --target=sm_100a --run --races --schedule-seed=3 %t/kernel.mlir --input arg0=%t/q.npy --input arg1=%t/k.npy --input arg2=%t/v.npy --shape arg3=1x600x2x128 --shape arg4=1x2x600 --scalar arg5=0.127517431 --processors=7 --output arg3=%t/o.npy --output arg4=%t/l.npy 2>&1 | FileCheck %s --check-prefix=RAN --implicit-check-not=error --implicit-check-not=warning
// RUN: fa4c --target=cpu --run --check %S/Inputs/attention.mlir --input q=%t/q.npy --input k=%t/k.npy --input v=%t/v.npy --shape o=1x600x2x128 --shape lse=1x2x600 --output o=%t/oc.npy --output lse=%t/lc.npy | FileCheck %s --check-prefix=CHECKED
// RUN: %python %S/Inputs/arrays.py compare %t/o.npy %t/oc.npy 0.008 | FileCheck %s
// RUN: %python %S/Inputs/arrays.py compare %t/l.npy %t/lc.npy 0.0001 | FileCheck %s

// RAN: simulated 3 clusters
// CHECKED: check passed
// CHECK: within
