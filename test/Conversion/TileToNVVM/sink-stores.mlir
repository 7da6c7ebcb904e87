// A store of a thread to memory that the kernel only writes stands behind the bulk copy
// whose proxy fence would wait for it.

// RUN: fa4c --target=sm_90a --emit=ptx %s | FileCheck %s

// CHECK: fence.proxy.async
// CHECK: cp.async.bulk.tensor.4d.global.shared
// CHECK: cp.async.bulk.commit_group
// CHECK: st.global.b32
// CHECK: cp.async.bulk.wait_group.read

module attributes {fa4.target = #fa4.target<"sm_90a">} {
  func.func @main(%q: memref<1x64x1x64xf16>, %k: memref<1x64x1x64xf16>, %v: memref<1x64x1x64xf16>,
                  %o: memref<1x64x1x64xf16>, %l: memref<1x1x64xf32>) {
    attn.forward ins(%q, %k, %v : memref<1x64x1x64xf16>, memref<1x64x1x64xf16>, memref<1x64x1x64xf16>)
        outs(%o, %l : memref<1x64x1x64xf16>, memref<1x1x64xf32>)
    return
  }
}
