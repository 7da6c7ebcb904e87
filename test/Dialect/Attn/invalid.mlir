// RUN: fa4-opt %s --split-input-file --verify-diagnostics

// One located error for each rule of the contract that an op can break.

func.func @f(%q: tensor<64x4x64xbf16>, %k: tensor<1x64x4x64xbf16>, %v: tensor<1x64x4x64xbf16>, %o: tensor<1x64x4x64xbf16>) {
  // expected-error @+1 {{expected q to be of rank 4, but got 'tensor<64x4x64xbf16>'}}
  %r = attn.forward ins(%q, %k, %v : tensor<64x4x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>) outs(%o : tensor<1x64x4x64xbf16>) // S1
  return
}

// -----

func.func @f(%q: tensor<64x4x64xbf16>, %k: tensor<64x4x64xbf16>, %v: tensor<1x64x4x64xbf16>, %o: tensor<64x4x64xbf16>, %c: tensor<2xi32>) {
  // expected-error @+1 {{expected v to be of rank 3, but got 'tensor<1x64x4x64xbf16>'}}
  %r = attn.forward ins(%q, %k, %v : tensor<64x4x64xbf16>, tensor<64x4x64xbf16>, tensor<1x64x4x64xbf16>) outs(%o : tensor<64x4x64xbf16>) layout(thd) prefix_sums(%c, %c : tensor<2xi32>, tensor<2xi32>) // S1
  return
}

// -----

func.func @f(%q: tensor<1x64x4x64xbf16>, %k: tensor<1x64x4x64xf16>, %v: tensor<1x64x4x64xbf16>, %o: tensor<1x64x4x64xbf16>) {
  // expected-error @+1 {{expected elements of k to be 'bf16', but got 'f16'}}
  %r = attn.forward ins(%q, %k, %v : tensor<1x64x4x64xbf16>, tensor<1x64x4x64xf16>, tensor<1x64x4x64xbf16>) outs(%o : tensor<1x64x4x64xbf16>) // S7
  return
}

// -----

func.func @f(%q: tensor<1x64x4x64xbf16>, %k: tensor<1x64x4x64xbf16>, %v: tensor<1x64x4x64xbf16>, %o: tensor<1x64x4x64xf32>) {
  // expected-error @+1 {{expected elements of o to be 'bf16', but got 'f32'}}
  %r = attn.forward ins(%q, %k, %v : tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>) outs(%o : tensor<1x64x4x64xf32>) // S7
  return
}

// -----

func.func @f(%q: tensor<1x64x4x64xf32>, %k: tensor<1x64x4x64xf32>, %v: tensor<1x64x4x64xf32>, %o: tensor<1x64x4x64xf32>) {
  // expected-error @+1 {{expected elements of q to be bf16 or f16, but got 'f32'}}
  %r = attn.forward ins(%q, %k, %v : tensor<1x64x4x64xf32>, tensor<1x64x4x64xf32>, tensor<1x64x4x64xf32>) outs(%o : tensor<1x64x4x64xf32>) // S7
  return
}

// -----

func.func @f(%q: tensor<1x64x4x64xbf16>, %k: tensor<2x64x4x64xbf16>, %v: tensor<1x64x4x64xbf16>, %o: tensor<1x64x4x64xbf16>) {
  // expected-error @+1 {{expected the batch extent of k to be 1 as in q, but got 2}}
  %r = attn.forward ins(%q, %k, %v : tensor<1x64x4x64xbf16>, tensor<2x64x4x64xbf16>, tensor<1x64x4x64xbf16>) outs(%o : tensor<1x64x4x64xbf16>) // S1
  return
}

// -----

func.func @f(%q: tensor<1x64x4x64xbf16>, %k: tensor<1x64x4x64xbf16>, %v: tensor<1x65x4x64xbf16>, %o: tensor<1x64x4x64xbf16>) {
  // expected-error @+1 {{expected the number of keys of v to be 64 as in k, but got 65}}
  %r = attn.forward ins(%q, %k, %v : tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x65x4x64xbf16>) outs(%o : tensor<1x64x4x64xbf16>) // S1
  return
}

// -----

func.func @f(%q: tensor<1x64x4x64xbf16>, %k: tensor<1x64x4x64xbf16>, %v: tensor<1x64x4x64xbf16>, %o: tensor<1x63x4x64xbf16>) {
  // expected-error @+1 {{expected the number of queries of o to be 64 as in q, but got 63}}
  %r = attn.forward ins(%q, %k, %v : tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>) outs(%o : tensor<1x63x4x64xbf16>) // S1
  return
}

// -----

func.func @f(%q: tensor<1x64x4x64xbf16>, %k: tensor<1x64x4x64xbf16>, %v: tensor<1x64x4x64xbf16>, %o: tensor<1x64x2x64xbf16>) {
  // expected-error @+1 {{expected the number of query heads of o to be 4 as in q, but got 2}}
  %r = attn.forward ins(%q, %k, %v : tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>) outs(%o : tensor<1x64x2x64xbf16>) // S1
  return
}

// -----

func.func @f(%q: tensor<1x64x4x64xbf16>, %k: tensor<1x64x4x128xbf16>, %v: tensor<1x64x4x64xbf16>, %o: tensor<1x64x4x64xbf16>) {
  // expected-error @+1 {{expected the head dim of k to be 64 as in q, but got 128}}
  %r = attn.forward ins(%q, %k, %v : tensor<1x64x4x64xbf16>, tensor<1x64x4x128xbf16>, tensor<1x64x4x64xbf16>) outs(%o : tensor<1x64x4x64xbf16>) // S1
  return
}

// -----

func.func @f(%q: tensor<1x64x4x64xbf16>, %k: tensor<1x64x4x64xbf16>, %v: tensor<1x64x4x64xbf16>, %o: tensor<1x64x4x128xbf16>) {
  // expected-error @+1 {{expected the head dim of o to be 64 as in v, but got 128}}
  %r = attn.forward ins(%q, %k, %v : tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>) outs(%o : tensor<1x64x4x128xbf16>) // S1
  return
}

// -----

func.func @f(%q: tensor<1x64x4x64xbf16>, %k: tensor<1x64x4x64xbf16>, %v: tensor<1x64x4x64xbf16>, %o: tensor<1x64x4x64xbf16>, %l: tensor<1x4x64xbf16>) {
  // expected-error @+1 {{expected elements of lse to be 'f32', but got 'bf16'}}
  %r, %rl = attn.forward ins(%q, %k, %v : tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>) outs(%o, %l : tensor<1x64x4x64xbf16>, tensor<1x4x64xbf16>) // S1
  return
}

// -----

func.func @f(%q: tensor<1x64x4x64xbf16>, %k: tensor<1x64x4x64xbf16>, %v: tensor<1x64x4x64xbf16>, %o: tensor<1x64x4x64xbf16>, %l: tensor<4x64xf32>) {
  // expected-error @+1 {{expected lse to be of rank 3, but got 'tensor<4x64xf32>'}}
  %r, %rl = attn.forward ins(%q, %k, %v : tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>) outs(%o, %l : tensor<1x64x4x64xbf16>, tensor<4x64xf32>) // S1
  return
}

// -----

func.func @f(%q: tensor<1x64x4x64xbf16>, %k: tensor<1x64x4x64xbf16>, %v: tensor<1x64x4x64xbf16>, %o: tensor<1x64x4x64xbf16>, %l: tensor<1x64x4xf32>) {
  // expected-error @+1 {{expected the number of query heads of lse to be 4 as in q, but got 64}}
  %r, %rl = attn.forward ins(%q, %k, %v : tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>) outs(%o, %l : tensor<1x64x4x64xbf16>, tensor<1x64x4xf32>) // S1
  return
}

// -----

func.func @f(%q: tensor<1x64x4x64xbf16>, %k: tensor<1x64x4x64xbf16>, %v: tensor<1x64x4x64xbf16>, %o: memref<1x64x4x64xbf16>) {
  // expected-error @+1 {{expected operands to be all tensors or all memrefs, but got 'tensor<1x64x4x64xbf16>' and 'memref<1x64x4x64xbf16>'}}
  attn.forward ins(%q, %k, %v : tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>) outs(%o : memref<1x64x4x64xbf16>) // S1
  return
}

// -----

func.func @f(%q: tensor<64x4x64xbf16>, %k: tensor<64x4x64xbf16>, %v: tensor<64x4x64xbf16>, %o: tensor<64x4x64xbf16>) {
  // expected-error @+1 {{expected prefix_sums to be given exactly with layout thd, but got none with layout thd}}
  %r = attn.forward ins(%q, %k, %v : tensor<64x4x64xbf16>, tensor<64x4x64xbf16>, tensor<64x4x64xbf16>) outs(%o : tensor<64x4x64xbf16>) layout(thd) // S1
  return
}

// -----

func.func @f(%q: tensor<1x64x4x64xbf16>, %k: tensor<1x64x4x64xbf16>, %v: tensor<1x64x4x64xbf16>, %o: tensor<1x64x4x64xbf16>, %c: tensor<2xi32>) {
  // expected-error @+1 {{expected prefix_sums to be given exactly with layout thd, but got them with layout bshd}}
  %r = attn.forward ins(%q, %k, %v : tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>) outs(%o : tensor<1x64x4x64xbf16>) prefix_sums(%c, %c : tensor<2xi32>, tensor<2xi32>) // S1
  return
}

// -----

func.func @f(%q: tensor<1x64x4x64xbf16>, %k: tensor<1x64x4x64xbf16>, %v: tensor<1x64x4x64xbf16>, %o: tensor<1x64x4x64xbf16>, %c: tensor<1xi32>) {
  // expected-error @+1 {{expected used_lengths to be given only with layout thd, but got them with layout bhsd}}
  %r = attn.forward ins(%q, %k, %v : tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>) outs(%o : tensor<1x64x4x64xbf16>) layout(bhsd) used_lengths(%c, %c : tensor<1xi32>, tensor<1xi32>) // S1
  return
}

// -----

func.func @f(%q: tensor<64x4x64xbf16>, %k: tensor<64x4x64xbf16>, %v: tensor<64x4x64xbf16>, %o: tensor<64x4x64xbf16>, %c: tensor<0xi32>) {
  // expected-error @+1 {{expected the number of prefix sums to be positive, but got 0}}
  %r = attn.forward ins(%q, %k, %v : tensor<64x4x64xbf16>, tensor<64x4x64xbf16>, tensor<64x4x64xbf16>) outs(%o : tensor<64x4x64xbf16>) layout(thd) prefix_sums(%c, %c : tensor<0xi32>, tensor<0xi32>) // S1
  return
}

// -----

func.func @f(%q: tensor<64x4x64xbf16>, %k: tensor<64x4x64xbf16>, %v: tensor<64x4x64xbf16>, %o: tensor<64x4x64xbf16>, %c: tensor<2xi32>) {
  // expected-error @+1 {{expected the number of sequences of used_lengths of q to be 1 as in prefix_sums, but got 2}}
  %r = attn.forward ins(%q, %k, %v : tensor<64x4x64xbf16>, tensor<64x4x64xbf16>, tensor<64x4x64xbf16>) outs(%o : tensor<64x4x64xbf16>) layout(thd) prefix_sums(%c, %c : tensor<2xi32>, tensor<2xi32>) used_lengths(%c, %c : tensor<2xi32>, tensor<2xi32>) // S1
  return
}

// -----

func.func @f(%q: tensor<64x4x64xbf16>, %k: tensor<64x4x64xbf16>, %v: tensor<64x4x64xbf16>, %o: tensor<64x4x64xbf16>, %c: tensor<2xi32>, %d: tensor<3xi32>) {
  // expected-error @+1 {{expected the number of prefix sums of prefix_sums of k to be 2 as in prefix_sums of q, but got 3}}
  %r = attn.forward ins(%q, %k, %v : tensor<64x4x64xbf16>, tensor<64x4x64xbf16>, tensor<64x4x64xbf16>) outs(%o : tensor<64x4x64xbf16>) layout(thd) prefix_sums(%c, %d : tensor<2xi32>, tensor<3xi32>) // S1
  return
}

// -----

func.func @f(%q: memref<1x64x4x64xbf16, strided<[32768, 512, 128, 2]>>, %k: memref<1x64x4x64xbf16>, %v: memref<1x64x4x64xbf16>, %o: memref<1x64x4x64xbf16>) {
  // expected-error @+1 {{expected the innermost stride of q to be 1, but got 2}}
  attn.forward ins(%q, %k, %v : memref<1x64x4x64xbf16, strided<[32768, 512, 128, 2]>>, memref<1x64x4x64xbf16>, memref<1x64x4x64xbf16>) outs(%o : memref<1x64x4x64xbf16>) // S2
  return
}

// -----

func.func @f(%q: memref<1x64x4x64xbf16>, %k: memref<1x64x4x64xbf16, strided<[16384, -256, 64, 1]>>, %v: memref<1x64x4x64xbf16>, %o: memref<1x64x4x64xbf16>) {
  // expected-error @+1 {{expected stride 1 of k to be a non-negative multiple of 16 bytes, but got -512}}
  attn.forward ins(%q, %k, %v : memref<1x64x4x64xbf16>, memref<1x64x4x64xbf16, strided<[16384, -256, 64, 1]>>, memref<1x64x4x64xbf16>) outs(%o : memref<1x64x4x64xbf16>) // S2
  return
}

// -----

func.func @f(%q: memref<1x64x4x64xbf16>, %k: memref<1x64x4x64xbf16>, %v: memref<1x64x4x64xbf16, strided<[16384, 256, 68, 1]>>, %o: memref<1x64x4x64xbf16>) {
  // expected-error @+1 {{expected stride 2 of v to be a non-negative multiple of 16 bytes, but got 136}}
  attn.forward ins(%q, %k, %v : memref<1x64x4x64xbf16>, memref<1x64x4x64xbf16>, memref<1x64x4x64xbf16, strided<[16384, 256, 68, 1]>>) outs(%o : memref<1x64x4x64xbf16>) // S2
  return
}

// -----

func.func @f(%q: memref<1x64x4x64xbf16, strided<[16384, 256, 64, 1], offset: 1>>, %k: memref<1x64x4x64xbf16>, %v: memref<1x64x4x64xbf16>, %o: memref<1x64x4x64xbf16>) {
  // expected-error @+1 {{expected the offset of q to be a multiple of 16 bytes, but got 2}}
  attn.forward ins(%q, %k, %v : memref<1x64x4x64xbf16, strided<[16384, 256, 64, 1], offset: 1>>, memref<1x64x4x64xbf16>, memref<1x64x4x64xbf16>) outs(%o : memref<1x64x4x64xbf16>) // S2
  return
}

// -----

func.func @f(%q: memref<1x64x4x64xbf16>, %k: memref<1x64x4x64xbf16>, %v: memref<1x64x4x64xbf16>, %o: memref<1x64x4x64xbf16, strided<[16384, 256, 0, 1]>>) {
  // expected-error @+1 {{expected stride 2 of o to be positive, since it is written, but got 0}}
  attn.forward ins(%q, %k, %v : memref<1x64x4x64xbf16>, memref<1x64x4x64xbf16>, memref<1x64x4x64xbf16>) outs(%o : memref<1x64x4x64xbf16, strided<[16384, 256, 0, 1]>>) // S2
  return
}

// -----

func.func @f(%q: memref<1x64x4x64xbf16, affine_map<(a, b, c, d) -> (a, b, c + d, d floordiv 2)>>, %k: memref<1x64x4x64xbf16>, %v: memref<1x64x4x64xbf16>, %o: memref<1x64x4x64xbf16>) {
  // expected-error @+1 {{expected q to be strided, but got 'memref<1x64x4x64xbf16, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2 + d3, d3 floordiv 2)>>'}}
  attn.forward ins(%q, %k, %v : memref<1x64x4x64xbf16, affine_map<(a, b, c, d) -> (a, b, c + d, d floordiv 2)>>, memref<1x64x4x64xbf16>, memref<1x64x4x64xbf16>) outs(%o : memref<1x64x4x64xbf16>) // S2
  return
}

// -----

func.func @f(%q: tensor<1x64x6x64xbf16>, %k: tensor<1x64x4x64xbf16>, %v: tensor<1x64x4x64xbf16>, %o: tensor<1x64x6x64xbf16>) {
  // expected-error @+1 {{expected the number of query heads to be a multiple of the number of key heads, 4, but got 6}}
  %r = attn.forward ins(%q, %k, %v : tensor<1x64x6x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>) outs(%o : tensor<1x64x6x64xbf16>) // S3
  return
}

// -----

func.func @f(%q: tensor<1x64x0x64xbf16>, %k: tensor<1x64x4x64xbf16>, %v: tensor<1x64x4x64xbf16>, %o: tensor<1x64x0x64xbf16>) {
  // expected-error @+1 {{expected the number of heads to be positive, but got 0 query and 4 key heads}}
  %r = attn.forward ins(%q, %k, %v : tensor<1x64x0x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>) outs(%o : tensor<1x64x0x64xbf16>) // S3
  return
}

// -----

func.func @f(%q: tensor<1x64x4x100xbf16>, %k: tensor<1x64x4x100xbf16>, %v: tensor<1x64x4x64xbf16>, %o: tensor<1x64x4x64xbf16>) {
  // expected-error @+1 {{expected the head dim of q and k to be a multiple of 8 from 8 to 256, but got 100}}
  %r = attn.forward ins(%q, %k, %v : tensor<1x64x4x100xbf16>, tensor<1x64x4x100xbf16>, tensor<1x64x4x64xbf16>) outs(%o : tensor<1x64x4x64xbf16>) // S6
  return
}

// -----

func.func @f(%q: tensor<1x64x4x64xbf16>, %k: tensor<1x64x4x64xbf16>, %v: tensor<1x64x4x264xbf16>, %o: tensor<1x64x4x264xbf16>) {
  // expected-error @+1 {{expected the head dim of v to be a multiple of 8 from 8 to 256, but got 264}}
  %r = attn.forward ins(%q, %k, %v : tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64x4x264xbf16>) outs(%o : tensor<1x64x4x264xbf16>) // S6
  return
}

// -----

func.func @f(%q: tensor<1x64x4x?xbf16>, %k: tensor<1x64x4x?xbf16>, %v: tensor<1x64x4x64xbf16>, %o: tensor<1x64x4x64xbf16>) {
  // expected-error @+1 {{expected the head dim of q and k to be static, but got a dynamic extent}}
  %r = attn.forward ins(%q, %k, %v : tensor<1x64x4x?xbf16>, tensor<1x64x4x?xbf16>, tensor<1x64x4x64xbf16>) outs(%o : tensor<1x64x4x64xbf16>) // S6
  return
}

// -----

func.func @f(%q: tensor<1x64x4x64xbf16>, %k: tensor<1x64x4x64xbf16>, %v: tensor<1x64x4x64xbf16>, %o: tensor<1x64x4x64xbf16>) {
  // expected-error @+1 {{expected scale to be finite, but got +Inf}}
  %r = attn.forward ins(%q, %k, %v : tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>) outs(%o : tensor<1x64x4x64xbf16>) scale(0x7F800000) // M1
  return
}

// -----

func.func @f(%q: tensor<1x64x4x64xbf16>, %k: tensor<1x64x4x64xbf16>, %v: tensor<1x64x4x64xbf16>, %o: tensor<1x64x4x64xbf16>) {
  // expected-error @+1 {{expected scale_placement to be before_max where scale is not positive or a score region follows, but got in_exp2 with scale -1}}
  %r = attn.forward ins(%q, %k, %v : tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>) outs(%o : tensor<1x64x4x64xbf16>) scale(-1.0) scale_placement(in_exp2) // M1
  return
}

// -----

func.func @f(%q: tensor<1x64x4x64xbf16>, %k: tensor<1x64x4x64xbf16>, %v: tensor<1x64x4x64xbf16>, %o: tensor<1x64x4x64xbf16>) {
  // expected-error @+1 {{attribute 'masks' failed to satisfy constraint: array of masks}}
  %r = attn.forward ins(%q, %k, %v : tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>) outs(%o : tensor<1x64x4x64xbf16>) mask [#fa4.target<"sm_100a">] // M5
  return
}

// -----

func.func @f(%q: tensor<1x64x4x64xbf16>, %k: tensor<1x64x4x64xbf16>, %v: tensor<1x64x4x64xbf16>, %o: tensor<1x64x4x64xbf16>, %d: tensor<1x64xi32>, %e: tensor<1x63xi32>) {
  // expected-error @+1 {{expected the number of keys of document_ids of k to be 64 as in k, but got 63}}
  %r = attn.forward ins(%q, %k, %v : tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>) outs(%o : tensor<1x64x4x64xbf16>) document_ids(%d, %e : tensor<1x64xi32>, tensor<1x63xi32>) // M5
  return
}

// -----

func.func @f(%q: tensor<1x64x4x64xbf16>, %k: tensor<1x64x4x64xbf16>, %v: tensor<1x64x4x64xbf16>, %o: tensor<1x64x4x64xbf16>, %d: tensor<1xi64>) {
  // expected-error @+1 {{expected elements of position_offset to be 'i32', but got 'i64'}}
  %r = attn.forward ins(%q, %k, %v : tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>) outs(%o : tensor<1x64x4x64xbf16>) position_offset(%d : tensor<1xi64>) // M3
  return
}

// -----

func.func @f(%q: tensor<1x64x4x64xbf16>, %k: tensor<1x64x4x64xbf16>, %v: tensor<1x64x4x64xbf16>, %o: tensor<1x64x4x64xbf16>, %d: tensor<8xf32>) {
  // expected-error @+1 {{expected the number of query heads of sink to be 4 as in q, but got 8}}
  %r = attn.forward ins(%q, %k, %v : tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>) outs(%o : tensor<1x64x4x64xbf16>) sink(%d : tensor<8xf32>) // M8
  return
}

// -----

func.func @f(%q: tensor<1x64x4x64xbf16>, %k: tensor<1x64x4x64xbf16>, %v: tensor<1x64x4x64xbf16>, %o: tensor<1x64x4x64xbf16>, %d: tensor<4xbf16>) {
  // expected-error @+1 {{expected elements of sink to be 'f32', but got 'bf16'}}
  %r = attn.forward ins(%q, %k, %v : tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>) outs(%o : tensor<1x64x4x64xbf16>) sink(%d : tensor<4xbf16>) // M8
  return
}

// -----

func.func @f(%q: tensor<1x64x4x64xbf16>, %k: tensor<1x64x4x64xbf16>, %v: tensor<1x64x4x64xbf16>, %o: tensor<1x64x4x64xbf16>) {
  // expected-error @+1 {{expected the arguments of the score region to be ('f32', 'i32', 'i32', 'i32', 'i32'), but got ('f32', 'i32')}}
  %r = attn.forward ins(%q, %k, %v : tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>) outs(%o : tensor<1x64x4x64xbf16>) score {
  ^bb0(%s: f32, %b: i32):
    attn.yield %s : f32
  }
  return
}

// -----

func.func @f(%q: tensor<1x64x4x64xbf16>, %k: tensor<1x64x4x64xbf16>, %v: tensor<1x64x4x64xbf16>, %o: tensor<1x64x4x64xbf16>, %t: tensor<4xf32>) {
  // expected-error @+1 {{expected the arguments of the score region to be ('f32', 'i32', 'i32', 'i32', 'i32', 'tensor<4xf32>'), but got ('f32', 'i32', 'i32', 'i32', 'i32')}}
  %r = attn.forward ins(%q, %k, %v : tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>) outs(%o : tensor<1x64x4x64xbf16>) score captures(%t : tensor<4xf32>) {
  ^bb0(%s: f32, %b: i32, %h: i32, %i: i32, %j: i32):
    attn.yield %s : f32
  }
  return
}

// -----

func.func @f(%q: tensor<1x64x4x64xbf16>, %k: tensor<1x64x4x64xbf16>, %v: tensor<1x64x4x64xbf16>, %o: tensor<1x64x4x64xbf16>) {
  // expected-error @+1 {{expected the predicate region to yield 'i1', but got 'f32'}}
  %r = attn.forward ins(%q, %k, %v : tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>) outs(%o : tensor<1x64x4x64xbf16>) predicate {
  ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
    %x = arith.sitofp %i : i32 to f32
    attn.yield %x : f32
  }
  return
}

// -----

func.func @f(%q: tensor<1x64x4x64xbf16>, %k: tensor<1x64x4x64xbf16>, %v: tensor<1x64x4x64xbf16>, %o: tensor<1x64x4x64xbf16>) {
  // expected-error @+1 {{expected the score region to be one block, but got 2}}
  %r = attn.forward ins(%q, %k, %v : tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>) outs(%o : tensor<1x64x4x64xbf16>) score {
  ^bb0(%s: f32, %b: i32, %h: i32, %i: i32, %j: i32):
    cf.br ^bb1
  ^bb1:
    attn.yield %s : f32
  }
  return
}

// -----

func.func @f(%q: tensor<1x64x4x64xbf16>, %o: tensor<1x64x4x64xbf16>) {
  %r = attn.forward ins(%q, %q, %q : tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>) outs(%o : tensor<1x64x4x64xbf16>)
      score {
      ^bb0(%s: f32, %b: i32, %h: i32, %i: i32, %j: i32):
        %c = arith.constant 0.0 : f32
        // expected-error @+1 {{expected the divisor (of a softcap) to be nonzero, but got 0}}
        %x = arith.divf %s, %c : f32 // M1
        attn.yield %x : f32
      }
  return
}

// -----

func.func private @opaque(f32) -> f32
func.func @f(%q: tensor<1x64x4x64xbf16>, %o: tensor<1x64x4x64xbf16>) {
  // expected-note @+1 {{in the region of this operation}}
  %r = attn.forward ins(%q, %q, %q : tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>) outs(%o : tensor<1x64x4x64xbf16>)
      score {
      ^bb0(%s: f32, %b: i32, %h: i32, %i: i32, %j: i32):
        // expected-error @+1 {{expected operations of the score region to have no memory effect}}
        %x = func.call @opaque(%s) : (f32) -> f32 // M1
        attn.yield %x : f32
      }
  return
}

// -----

func.func @f(%q: tensor<1x64x4x64xbf16>, %o: tensor<1x64x4x64xbf16>, %a: tensor<4xf32>) {
  %r = attn.forward ins(%q, %q, %q : tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>) outs(%o : tensor<1x64x4x64xbf16>)
      score captures(%a : tensor<4xf32>) {
      ^bb0(%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %t: tensor<4xf32>):
        // expected-error @+1 {{expected one index per dimension of source, 1, but got 2}}
        %x = attn.fetch %t[%h, %i] : tensor<4xf32>
        attn.yield %x : f32
      }
  return
}

// -----

func.func @f(%q: tensor<1x64x4x64xbf16>, %o: tensor<1x64x4x64xbf16>, %x: f32) {
  // expected-note @+1 {{required by region isolation constraints}}
  %r = attn.forward ins(%q, %q, %q : tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>) outs(%o : tensor<1x64x4x64xbf16>)
      score {
      ^bb0(%s: f32, %b: i32, %h: i32, %i: i32, %j: i32):
        // expected-error @+1 {{using value defined outside the region}}
        %y = arith.addf %s, %x : f32 // M1
        attn.yield %y : f32
      }
  return
}

// -----

func.func @merge(%o: tensor<1x64x8x128xf32>, %l: tensor<1x8x64xf32>, %m: tensor<1x8x63xf32>) {
  // expected-error @+1 {{expected the number of queries of lse2 to be 64 as in o1, but got 63}}
  %r = attn.merge ins(%o, %l, %o, %m : tensor<1x64x8x128xf32>, tensor<1x8x64xf32>, tensor<1x64x8x128xf32>, tensor<1x8x63xf32>) outs(%o : tensor<1x64x8x128xf32>) // S1
  return
}

// -----

func.func @merge(%o: tensor<1x64x8x128xi32>, %l: tensor<1x8x64xf32>) {
  // expected-error @+1 {{expected elements of o1 to be f32, bf16 or f16, but got 'i32'}}
  %r = attn.merge ins(%o, %l, %o, %l : tensor<1x64x8x128xi32>, tensor<1x8x64xf32>, tensor<1x64x8x128xi32>, tensor<1x8x64xf32>) outs(%o : tensor<1x64x8x128xi32>) // S1
  return
}

// -----

func.func @f(%q: tensor<1x4294967296x4x64xbf16>) {
  // expected-error @+1 {{expected the number of queries of q to fit 32 bits, but got 4294967296}}
  %r = attn.forward ins(%q, %q, %q : tensor<1x4294967296x4x64xbf16>, tensor<1x4294967296x4x64xbf16>, tensor<1x4294967296x4x64xbf16>) outs(%q : tensor<1x4294967296x4x64xbf16>) // S4
  return
}

// -----

func.func @f(%x: f32, %i: i32) {
  // expected-error @+1 {{'source' must be ranked tensor or memref, but got 'f32'}}
  %r = attn.fetch %x[%i] : f32
  return
}

// -----

// What the assembly cannot say, the generic form can.
func.func @f(%q: tensor<1x64x4x64xbf16>, %d: tensor<1x64xi32>) {
  // expected-error @+1 {{expected document_ids to be given as a pair, but got one of two}}
  %r = "attn.forward"(%q, %q, %q, %q, %d) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>}> ({}, {}) : (tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64xi32>) -> tensor<1x64x4x64xbf16>
  return
}

// -----

func.func @f(%q: tensor<1x64x4x64xbf16>, %d: tensor<1x64xi32>) {
  // expected-error @+1 {{expected captures to have a score region, but got none}}
  %r = "attn.forward"(%q, %q, %q, %q, %d) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0>}> ({}, {}) : (tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64xi32>) -> tensor<1x64x4x64xbf16>
  return
}

// -----

func.func @f(%q: tensor<1x64x4x64xbf16>, %d: tensor<1x64xi32>) {
  // expected-error @+1 {{expected captures to have a predicate region, but got none}}
  %r = "attn.forward"(%q, %q, %q, %q, %d) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1>}> ({}, {}) : (tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64xi32>) -> tensor<1x64x4x64xbf16>
  return
}

// -----

// One result per tensor destination.
func.func @f(%q: tensor<1x64x4x64xbf16>) {
  // expected-error @+1 {{expected the number of tensor results (0) to be equal to the number of output tensors (1)}}
  "attn.forward"(%q, %q, %q, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>}> ({}, {}) : (tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>) -> ()
  return
}

// -----

func.func @f(%q: tensor<1x64x4x64xbf16>) {
  // expected-error @+1 {{expected the score region to yield 'f32', but got 'ub.unreachable'}}
  %r = attn.forward ins(%q, %q, %q : tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64x4x64xbf16>) outs(%q : tensor<1x64x4x64xbf16>)
      score {
      ^bb0(%s: f32, %b: i32, %h: i32, %i: i32, %j: i32):
        ub.unreachable
      }
  return
}
