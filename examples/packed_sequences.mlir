// Sequences packed into one tensor: prefix sums say where each begins, used lengths how
// much of it holds. Head dims 192 and 128. Three sequences of 130, 7 and 263 queries
// against 200, 64 and 300 keys, of which the second uses 50:
//
//   fa4c --target=sm_100a --run --check examples/packed_sequences.mlir \
//     --input query_prefix_sums=0,130,137,400 --input key_prefix_sums=0,200,264,564 \
//     --input query_used_lengths=130,7,263 --input key_used_lengths=200,50,300

module attributes {fa4.target = #fa4.target<"sm_100a">} {
  func.func @packed_sequences(%q: tensor<400x4x192xbf16>, %k: tensor<564x4x192xbf16>, %v: tensor<564x4x128xbf16>,
                              %oi: tensor<400x4x128xbf16>, %li: tensor<4x400xf32>,
                              %queries: tensor<4xi32>, %keys: tensor<4xi32>,
                              %usedQueries: tensor<3xi32>, %usedKeys: tensor<3xi32>)
      -> (tensor<400x4x128xbf16>, tensor<4x400xf32>) {
    %o, %lse = attn.forward
        ins(%q, %k, %v : tensor<400x4x192xbf16>, tensor<564x4x192xbf16>, tensor<564x4x128xbf16>)
        outs(%oi, %li : tensor<400x4x128xbf16>, tensor<4x400xf32>)
        layout(thd) mask [#attn.causal]
        prefix_sums(%queries, %keys : tensor<4xi32>, tensor<4xi32>)
        used_lengths(%usedQueries, %usedKeys : tensor<3xi32>, tensor<3xi32>)
    return %o, %lse : tensor<400x4x128xbf16>, tensor<4x400xf32>
  }
}
