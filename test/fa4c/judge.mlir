// RUN: fa4c --run --repeat=1 --random seed=3 --output q=%t.q.npy --output k=%t.k.npy --output v=%t.v.npy --output o=%t.o.npy --output lse=%t.l.npy %s | FileCheck %s --check-prefix=RAN
// RUN: fa4c --check --input q=%t.q.npy --input k=%t.k.npy --input v=%t.v.npy --input o=%t.o.npy --input lse=%t.l.npy %s | FileCheck %s
// RUN: fa4c --target=sm_100a --check --input q=%t.q.npy --input k=%t.k.npy --input v=%t.v.npy --input o=%t.o.npy --input lse=%t.l.npy %s | FileCheck %s
// RUN: not fa4c --check --input q=%t.q.npy --input k=%t.k.npy --input v=%t.k.npy --input o=%t.o.npy --input lse=%t.l.npy %s 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: not fa4c --check --input q=%t.q.npy %s 2>&1 | FileCheck %s --check-prefix=NONE

// Results from files are judged without a run: what a GPU computed.

// RAN: compiled in
// CHECK-NOT: compiled
// CHECK: check passed
// WRONG: error: {{.*}}R7
// NONE: error: expected the result to check as --input o=file.npy, but got none; compute it with --run

module attributes {fa4.target = #fa4.target<"sm_100a">} {
  func.func @attention(%q: tensor<1x70x2x64xbf16>, %k: tensor<1x90x1x64xbf16>, %v: tensor<1x90x1x64xbf16>,
                       %oi: tensor<1x70x2x64xbf16>, %li: tensor<1x2x70xf32>)
      -> (tensor<1x70x2x64xbf16>, tensor<1x2x70xf32>) {
    %o, %lse = attn.forward
        ins(%q, %k, %v : tensor<1x70x2x64xbf16>, tensor<1x90x1x64xbf16>, tensor<1x90x1x64xbf16>)
        outs(%oi, %li : tensor<1x70x2x64xbf16>, tensor<1x2x70xf32>) mask [#attn.causal]
    return %o, %lse : tensor<1x70x2x64xbf16>, tensor<1x2x70xf32>
  }
}
