// The hand-written forward kernel for Hopper, executed by the simulator, against the
// same attention on the CPU, which is checked against the reference. The simulator
// refuses registers of an unfinished product that are touched, and products
// without a fence.

// RUN: rm -rf %t && mkdir %t
// RUN: cat %S/../../Dialect/Tile/by-hand/forward-sm90-t2.mlir %S/Inputs/launch-sm90.mlir > %t/kernel.mlir
// RUN: %python %S/Inputs/arrays.py make %t q=1x200x2x128 k=1x300x1x128 v=1x300x1x128
// RUN: fa4c --target=sm_90a --run %t/kernel.mlir --input arg0=%t/q.npy --input arg1=%t/k.npy --input arg2=%t/v.npy --shape arg3=1x200x2x128 --shape arg4=1x2x200 --scalar arg5=0.127517431 --processors=3 --output arg3=%t/o.npy --output arg4=%t/l.npy | FileCheck %s --check-prefix=RAN
// RUN: fa4c --target=cpu --run --check %S/Inputs/attention.mlir --input q=%t/q.npy --input k=%t/k.npy --input v=%t/v.npy --shape o=1x200x2x128 --shape lse=1x2x200 --output o=%t/oc.npy --output lse=%t/lc.npy | FileCheck %s --check-prefix=CHECKED
// RUN: %python %S/Inputs/arrays.py compare %t/o.npy %t/oc.npy 0.008 | FileCheck %s
// RUN: %python %S/Inputs/arrays.py compare %t/l.npy %t/lc.npy 0.0001 | FileCheck %s

// RAN: simulated 3 clusters
// CHECKED: check passed
// CHECK: within
