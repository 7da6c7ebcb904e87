// RUN: not fa4c %s 2>&1 | FileCheck %s --check-prefix=MODE
// RUN: not fa4c --run --emit=tile %s 2>&1 | FileCheck %s --check-prefix=MODE
// RUN: not fa4c --report %s 2>&1 | FileCheck %s --check-prefix=REPORT
// RUN: not fa4c --target=sm_100a --report --emit=ptx %s 2>&1 | FileCheck %s --check-prefix=REPORT
// RUN: not fa4c --target=tpu --run --entry=f --scalar arg1=1 %s 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not fa4c --target=tpu --emit=ptx %s 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not fa4c --target=sm_90a --emit=ptx %s 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not fa4c --emit=ptx %s 2>&1 | FileCheck %s --check-prefix=STAGE
// RUN: not fa4c --run --entry=nowhere %s 2>&1 | FileCheck %s --check-prefix=ENTRY
// RUN: not fa4c --run %s 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: not fa4c --run --entry=f --check %s 2>&1 | FileCheck %s --check-prefix=CHECKED
// RUN: not fa4c --run --entry=f %s 2>&1 | FileCheck %s --check-prefix=SCALAR
// RUN: not fa4c --run --entry=f --scalar arg1=x %s 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not fa4c --run --entry=f --input q=%t.none.npy %s 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not fa4c --run --entry=f --scalar arg1=1 --input arg0=%t.none.npy %s 2>&1 | FileCheck %s --check-prefix=FILE
// RUN: not fa4c --run --entry=f --scalar arg1=1 --input arg0=1,2,3,4 %s 2>&1 | FileCheck %s --check-prefix=INTEGERS
// RUN: not fa4c --run --entry=f --random dist=flat %s 2>&1 | FileCheck %s --check-prefix=RANDOM
// RUN: not fa4c --run --entry=f --shape arg0=4x-1 %s 2>&1 | FileCheck %s --check-prefix=SHAPE
// RUN: not fa4c --run --entry=f --scalar arg1=1 --output y=%t.y.npy %s 2>&1 | FileCheck %s --check-prefix=OUTPUT

// MODE: error: expected one of --run and --emit
// REPORT: error: expected --report to be given with a GPU's --target and without --run and --emit
// TARGET: error: expected --target to be cpu or one of sm_90a, sm_100a, sm_103a, but got 'tpu'
// CHIP: error: expected --target to be cpu or one of sm_90a, sm_100a, sm_103a, but got 'tpu'
// OTHER: error: expected --target to be the chip that the module states, 'sm_100a', but got 'sm_90a'
// STAGE: error: expected a stage of the CPU (attn, tile, mlir-cpu, llvm), but got one of a GPU; state it with --target
// ENTRY: error: expected the module to have a function @nowhere with a body, but got 0
// ONE: error: expected the module to have exactly one public function with a body, but got 2
// CHECKED: error: expected an entry that is checked to have exactly one attn.forward
// SCALAR: error: expected argument 'arg1' to be given with --scalar, but got no value
// NUMBER: error: expected a scalar to be a number, but got 'x'
// NAME: error: expected the name of an argument to be one of arg0, arg1, but got q
// FILE: error: {{.*}}none.npy
// INTEGERS: error: expected argument 'arg0' to be a row of integers that hold those of --input, but got memref<4xf32>
// RANDOM: error: expected --random to be seed=<number> or dist=<gaussian, large-mean, peaked or below-minus-5e4>, but got 'dist=flat'
// SHAPE: error: expected extents to be numbers from 0, but got '-1'
// OUTPUT: error: expected an output to be an array of the entry, but got 'y'

module attributes {fa4.target = #fa4.target<"sm_100a">} {
  func.func @f(%x: memref<4xf32>, %s: f32) {
    %c0 = arith.constant 0 : index
    memref.store %s, %x[%c0] : memref<4xf32>
    return
  }
  func.func @g() {
    return
  }
}
