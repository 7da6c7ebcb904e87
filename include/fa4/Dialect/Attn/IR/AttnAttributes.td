//===- AttnAttributes.td - layouts and masks -------------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_ATTN_IR_ATTNATTRIBUTES_TD
#define FA4_DIALECT_ATTN_IR_ATTNATTRIBUTES_TD

include "fa4/Dialect/Attn/IR/AttnDialect.td"
include "fa4/Dialect/Attn/IR/AttnInterfaces.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

//===----------------------------------------------------------------------===//
// Enums
//===----------------------------------------------------------------------===//

def Attn_Layout : I32EnumAttr<"Layout", "order of the dimensions of q, k, v and o (S1)", [
    I32EnumAttrCase<"BSHD", 0, "bshd">, I32EnumAttrCase<"BHSD", 1, "bhsd">,
    I32EnumAttrCase<"THD", 2, "thd">]> {
  let cppNamespace = "::fa4::attn";
  let genSpecializedAttr = 0;
}
def Attn_LayoutAttr : EnumAttr<Attn_Dialect, Attn_Layout, "layout"> {
  let assemblyFormat = "$value";
}

def Attn_MaskAlignment : I32EnumAttr<"MaskAlignment", "which corner of the scores is fixed (M3)", [
    I32EnumAttrCase<"BottomRight", 0, "bottom_right">, I32EnumAttrCase<"TopLeft", 1, "top_left">]> {
  let cppNamespace = "::fa4::attn";
  let genSpecializedAttr = 0;
}

def Attn_ScalePlacement : I32EnumAttr<"ScalePlacement", "where the scale is multiplied", [
    I32EnumAttrCase<"InExp2", 0, "in_exp2">, I32EnumAttrCase<"BeforeMax", 1, "before_max">]> {
  let cppNamespace = "::fa4::attn";
  let genSpecializedAttr = 0;
}
def Attn_ScalePlacementAttr : EnumAttr<Attn_Dialect, Attn_ScalePlacement, "scale_placement"> {
  let assemblyFormat = "$value";
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

class Attn_Mask<string name, string attrMnemonic>
    : AttrDef<Attn_Dialect, name, [DeclareAttrInterfaceMethods<Attn_MaskInterface>]> {
  let mnemonic = attrMnemonic;
}

def Attn_CausalAttr : Attn_Mask<"Causal", "causal"> {
  let summary = "keeps keys up to the aligned row (M3)";
  let description = [{
    Key j is kept for row i iff `j <= aligned(i)`: with `bottom_right`, the
    default, `aligned(i) = i + Sk - Sq`; with `top_left`, `aligned(i) = i`. A
    position offset of the op is added to either.

    ```mlir
    #attn.causal
    #attn.causal<top_left>
    ```
  }];
  let parameters = (ins DefaultValuedParameter<"::fa4::attn::MaskAlignment",
      "::fa4::attn::MaskAlignment::BottomRight">:$alignment);
  let assemblyFormat = "(`<` $alignment^ `>`)?";
}

def Attn_WindowAttr : Attn_Mask<"Window", "window"> {
  let summary = "keeps keys around the aligned row, both ends included (M4)";
  let description = [{
    Key j is kept for row i iff `aligned(i) - left <= j <= aligned(i) + right`.
    An end that is `none` does not bound; every number is that number, also -1:
    a window may be empty. Bounds fit 32 bits, as positions do.

    ```mlir
    #attn.window<left = 128, right = 0>
    #attn.window<left = none, right = -1, align = top_left>
    ```
  }];
  let parameters = (ins OptionalParameter<"std::optional<int64_t>">:$left,
      OptionalParameter<"std::optional<int64_t>">:$right,
      DefaultValuedParameter<"::fa4::attn::MaskAlignment",
          "::fa4::attn::MaskAlignment::BottomRight">:$alignment);
  let assemblyFormat = [{
    `<` `left` `=` custom<Bound>($left) `,` `right` `=` custom<Bound>($right)
    (`,` `align` `=` $alignment^)? `>`
  }];
  let genVerifyDecl = 1;
}

#endif // FA4_DIALECT_ATTN_IR_ATTNATTRIBUTES_TD
