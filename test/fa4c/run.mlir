// RUN: fa4c --target=cpu --run --check --repeat=1 --random seed=3,dist=peaked %s | FileCheck %s
// RUN: fa4c --run --repeat=1 --random seed=3 --output o=%t.a.npy --output lse=%t.al.npy %s | FileCheck %s --check-prefix=RAN
// RUN: fa4c --run --repeat=1 --random seed=3 --output o=%t.b.npy --output lse=%t.bl.npy %s | FileCheck %s --check-prefix=RAN
// RUN: diff %t.a.npy %t.b.npy
// RUN: diff %t.al.npy %t.bl.npy
// RUN: fa4c --run --repeat=1 --random seed=4 --output q=%t.q.npy --output k=%t.k.npy --output v=%t.v.npy --output o=%t.c.npy %s | FileCheck %s --check-prefix=RAN
// RUN: not diff -q %t.a.npy %t.c.npy
// RUN: fa4c --run --repeat=1 --random seed=3 --input q=%t.q.npy --input k=%t.k.npy --input v=%t.v.npy --output o=%t.d.npy %s | FileCheck %s --check-prefix=RAN
// RUN: diff %t.c.npy %t.d.npy

// The same seed gives the same bits, another seed others, and arrays that went
// through files are the same arrays.

// CHECK: compiled in {{[0-9.]+}} s, kernel {{[0-9.]+}} ms (best of 1)
// CHECK-NEXT: o    error {{[0-9.e+-]+}}  bound {{[0-9.e+-]+}} (R7)  worst at b {{[0-9]+}}, h {{[0-9]+}}, i {{[0-9]+}}
// CHECK-NEXT: lse  error {{[0-9.e+-]+}}  bound {{[0-9.e+-]+}} (R2)
// CHECK-NEXT: check passed
// RAN: compiled in

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
