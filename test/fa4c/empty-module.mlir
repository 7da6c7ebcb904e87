// A module without kernels, even without text, is answered, not crashed on.
// RUN: not fa4c --target=sm_100a --emit=ptx %s 2>&1 | FileCheck %s
// RUN: not fa4c --target=sm_90a -o %t %s 2>&1 | FileCheck %s
// RUN: not fa4c --target=sm_90a --run %s 2>&1 | FileCheck %s --check-prefix=RUN-HERE
// RUN: fa4c --emit=tile %s | FileCheck %s --check-prefix=HOST

// CHECK: error: expected the module to have {{a kernel in the llvm dialect, but got none|exactly one public function with a body, but got 0}}
// RUN-HERE: error: expected the module to have exactly one public function with a body, but got 0
// HOST: module {
