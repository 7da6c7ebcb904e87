//===- FA4LaunchAttributes.td - launches and parameters --------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the host has to give to a kernel that is in the machine's dialects already.
// Enumerations of the fa4 dialect are generated from here, so other dialects'
// TableGen files do not include this one.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_FA4_IR_FA4LAUNCHATTRIBUTES_TD
#define FA4_DIALECT_FA4_IR_FA4LAUNCHATTRIBUTES_TD

include "fa4/Dialect/FA4/IR/FA4Attributes.td"
include "mlir/IR/EnumAttr.td"

def FA4_LaunchAttr : AttrDef<FA4_Dialect, "Launch"> {
  let mnemonic = "launch";
  let summary = "what a launch of a kernel needs besides its parameters";
  let description = [{
    Stands on a kernel as `fa4.launch`. `tiles` is the number of the argument of
    `tile.launch` that counts the tiles: a persistent kernel gets one CTA per SM
    and no more than tiles, another one CTA (or cluster) per tile.

    ```mlir
    #fa4.launch<threads = 480, smem_bytes = 231612, cluster = 1, tiles = 11, persistent = true>
    ```

    Constraints: L1. threads and cluster are positive, smem_bytes and tiles not
    negative.
  }];
  let parameters = (ins "int64_t":$threads, "int64_t":$smem_bytes, "int64_t":$cluster,
                        "int64_t":$tiles, "bool":$persistent);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def FA4_ParamKind : I32EnumAttr<"ParamKind", "what a kernel parameter holds", [
    I32EnumAttrCase<"TensorMap", 0, "tensor_map">, I32EnumAttrCase<"Pointer", 1, "pointer">,
    I32EnumAttrCase<"Stride", 2, "stride">, I32EnumAttrCase<"Extent", 3, "extent">,
    I32EnumAttrCase<"Scalar", 4, "scalar">]> {
  let cppNamespace = "::fa4";
  let genSpecializedAttr = 0;
}

def FA4_ParamAttr : AttrDef<FA4_Dialect, "Param"> {
  let mnemonic = "param";
  let summary = "where a kernel parameter comes from";
  let description = [{
    Stands on a kernel's parameters as `fa4.param`. The argument is that of
    `tile.launch`, by number. Strides are in bytes. The box of a tensor map has
    one number per dimension, in the tensor's own order; the swizzle is in bytes,
    0 for none. A tensor map with a dimension is one of ranges along it: that
    dimension of extent e and box b is two of the map, with the same stride, first b
    elements and then e + 1, from an address b elements before the tensor. A copy that
    starts at (b - n, i + n) finds elements i to i + n - 1, and nothing behind.

    ```mlir
    #fa4.param<tensor_map of 0 box [1, 128, 1, 64] swizzle 128>
    #fa4.param<tensor_map of 0 dim 0 box [128, 1, 64] swizzle 128>
    #fa4.param<stride of 4 dim 1>
    #fa4.param<scalar of 5>
    ```

    Constraints: P1. A dimension stands with stride and extent, never with pointer and
    scalar, and is one of the box with tensor_map. P2. A box
    of positive numbers stands exactly with tensor_map. P3. The swizzle of a tensor
    map is 0, 32, 64 or 128, that of others 0.
  }];
  let parameters = (ins EnumParameter<FA4_ParamKind>:$kind, "int64_t":$argument,
                        DefaultValuedParameter<"int64_t", "-1">:$dim,
                        OptionalArrayRefParameter<"int64_t">:$box,
                        DefaultValuedParameter<"int64_t", "0">:$swizzle);
  let assemblyFormat = [{
    `<` $kind `of` $argument (`dim` $dim^)? (`box` ` ` `[` $box^ `]`)? (`swizzle` $swizzle^)? `>`
  }];
  let genVerifyDecl = 1;
}

#endif // FA4_DIALECT_FA4_IR_FA4LAUNCHATTRIBUTES_TD
