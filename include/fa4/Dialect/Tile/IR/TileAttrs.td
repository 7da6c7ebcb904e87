//===- TileAttrs.td - attributes of the tile dialect -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_IR_TILEATTRS_TD
#define FA4_DIALECT_TILE_IR_TILEATTRS_TD

include "fa4/Dialect/Tile/IR/TileDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class Tile_Attr<string name, string attrMnemonic> : AttrDef<Tile_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Tile_Axis : I32EnumAttr<"Axis", "a dimension of a tile",
    [I32EnumAttrCase<"Rows", 0, "rows">, I32EnumAttrCase<"Columns", 1, "columns">]> {
  let cppNamespace = "::fa4::tile";
  let genSpecializedAttr = 0;
}
def Tile_AxisAttr : EnumAttr<Tile_Dialect, Tile_Axis, "axis"> {
  let assemblyFormat = "$value";
}

def Tile_Spread : I32EnumAttr<"Spread", "how a tile lies in the threads of a role", [
    I32EnumAttrCase<"Rows", 0, "rows">, I32EnumAttrCase<"Rows2", 1, "rows2">,
    I32EnumAttrCase<"Columns", 2, "columns">, I32EnumAttrCase<"Columns2", 3, "columns2">,
    I32EnumAttrCase<"Acc", 4, "acc">, I32EnumAttrCase<"A16", 5, "a16">,
    I32EnumAttrCase<"Quad", 6, "quad">]> {
  let cppNamespace = "::fa4::tile";
  let genSpecializedAttr = 0;
}
def Tile_SpreadAttr : Tile_Attr<"Spread", "spread"> {
  let summary = "how a tile is spread over the threads of its role";
  let description = [{
    * `rows`: thread r has row r, or the number of row r;
    * `rows2`: two warpgroups share the rows and take alternate chunks of 32 columns;
    * `columns`, `columns2`: numbers of columns, each held by all threads that
      have an element of the column under `rows`, `rows2`;
    * `acc`, `a16`: the register fragments of wgmma's D, and of its 16-bit A;
    * `quad`: the number of a row under `acc`, held by the four threads of its quad.
  }];
  let parameters = (ins EnumParameter<Tile_Spread>:$value);
  let assemblyFormat = "`<` $value `>`";
}

def Tile_Exp2ShareAttr : Tile_Attr<"Exp2Share", "exp2_share"> {
  let summary = "which columns of a tile get the polynomial exp2";
  let description = [{
    Column q of the whole tile is computed by the polynomial of `degree` iff
    `first_chunk <= q / 32 <= last_chunk` and `q mod period >= period - last`.
    The choice depends on the position in the tile and on nothing else.

    Constraints:
    * (C1) degree is from 1 to 8;
    * (C2) period is positive and `0 <= last <= period`;
    * (C3) `0 <= first_chunk <= last_chunk`.
  }];
  let parameters = (ins "int64_t":$degree, "int64_t":$period, "int64_t":$last,
                        "int64_t":$first_chunk, "int64_t":$last_chunk);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Columns per chunk: the hardware loads accumulators in pieces of 32 columns.
    static constexpr int64_t kChunkColumns = 32;
    /// Whether column `column` of the whole tile is computed by the polynomial.
    bool isPolynomial(int64_t column) const;
  }];
}

def Tile_FactAttr : Tile_Attr<"Fact", "fact"> {
  let summary = "lower <= upper, between results of a work and constants";
  let description = [{
    `lower` and `upper` are result numbers of the work, or -1 for `constant`.

    Constraints:
    * (C1) at most one side is the constant;
    * (C2) no side is below -1.
  }];
  let parameters = (ins "int64_t":$lower, "int64_t":$upper, DefaultValuedParameter<"int64_t", "0">:$constant);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool isConstantLower() const { return getLower() < 0; }
    bool isConstantUpper() const { return getUpper() < 0; }
  }];
}
def Tile_FactArrayAttr : TypedArrayAttrBase<Tile_FactAttr, "facts of a work">;

#endif // FA4_DIALECT_TILE_IR_TILEATTRS_TD
