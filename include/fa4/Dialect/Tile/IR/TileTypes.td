//===- TileTypes.td - types of the tile dialect -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_IR_TILETYPES_TD
#define FA4_DIALECT_TILE_IR_TILETYPES_TD

include "fa4/Dialect/Tile/IR/TileDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class Tile_Type<string name, string typeMnemonic> : TypeDef<Tile_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Tile_FragType : Tile_Type<"Frag", "frag"> {
  let summary = "a tile value";
  let description = [{
    A tile held as a value: `!tile.frag<128x96xbf16>`. Rank 1 (`128xf32`) is one
    number per row; `1x96` is one number per column. From T1 on the second
    parameter says how the tile is spread over the threads of its role:
    `!tile.frag<128x96xbf16, #tile.spread<rows>>`.

    Constraints:
    * (C1) rank 1 or 2, all extents static and positive;
    * (C2) the element type is a float, `i1` or `i32`;
    * (C3) the layout, if present, is a `#tile.spread`.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
                        OptionalParameter<"::mlir::Attribute">:$layout);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let builders = [TypeBuilder<(ins "::llvm::ArrayRef<int64_t>":$shape, "::mlir::Type":$elementType), [{
    return $_get($_ctxt, shape, elementType, ::mlir::Attribute());
  }]>];
  let extraClassDeclaration = [{
    int64_t getRank() const { return getShape().size(); }
    int64_t getRows() const { return getShape().front(); }
    /// Columns of a rank-2 tile; 1 for a column of row values.
    int64_t getColumns() const { return getRank() == 2 ? getShape()[1] : 1; }
    bool isRow() const { return getRank() == 1; }
    FragType clone(::llvm::ArrayRef<int64_t> shape) const {
      return FragType::get(getContext(), shape, getElementType(), getLayout());
    }
    FragType clone(::mlir::Type elementType) const {
      return FragType::get(getContext(), getShape(), elementType, getLayout());
    }
  }];
}

def Tile_GlobalType : Tile_Type<"Global", "global"> {
  let summary = "a bounded global tensor, seen as a grid of boxes";
  let description = [{
    A strided tensor in global memory, cut in a grid of boxes. The parameter is
    the box in the tensor's own dimension order, so its rank is the tensor's:
    a bshd Q with tiles of 128 rows is `!tile.global<1x128x1x128xbf16>`. The tile
    is the box without its unit extents. Coordinates `%Q[%b, %i, %h]` are i32,
    one per dimension, in units of boxes; trailing ones that are left out are 0.
    Outside the tensor, also at negative coordinates, loads read zero and stores
    vanish. A box of unit extents only is a grid of scalars, for `tile.fetch`.

    Constraints:
    * (C1) rank at least 1, all box extents static and positive;
    * (C2) at most two extents differ from 1;
    * (C3) the element type is a float or a signless integer.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$box, "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRank() const { return getBox().size(); }
    /// The box without its unit extents.
    ::llvm::SmallVector<int64_t> getTileShape() const;
    /// The tensor dimension of each tile dimension.
    ::llvm::SmallVector<int64_t> getTileDims() const;
    /// The tile as a value without a layout. Null for a grid of scalars.
    FragType getTileType() const;
  }];
}

def Tile_TokenKind : I32EnumAttr<"TokenKind", "the side of a channel a token belongs to",
    [I32EnumAttrCase<"Write", 0, "write">, I32EnumAttrCase<"Read", 1, "read">]> {
  let cppNamespace = "::fa4::tile";
  let genSpecializedAttr = 0;
}

def Tile_TokenType : Tile_Type<"Token", "token"> {
  let summary = "the right to one slot of a channel";
  let description = [{
    From acquire to commit (`!tile.token<write>`) or from wait to release
    (`!tile.token<read>`). Linear: it ends exactly once on every path, and there is
    no other handle to the channel's memory.
  }];
  let parameters = (ins EnumParameter<Tile_TokenKind>:$kind);
  let assemblyFormat = "`<` $kind `>`";
}

def Tile_AsyncType : Tile_Type<"Async", "async"> {
  let summary = "the completion of an asynchronous op";
  let description = [{
    `!tile.async<T>` also brings the value of type T that it will give, when the
    result's home is registers.
  }];
  let parameters = (ins OptionalParameter<"::mlir::Type">:$value);
  let assemblyFormat = "(`<` $value^ `>`)?";
}

def Tile_CursorType : Tile_Type<"Cursor", "cursor"> {
  let summary = "a place in a ring of `depth` slots";
  let description = [{
    A slot in 0 .. depth - 1 and a parity bit that flips on each wrap.

    Constraints:
    * (C1) the depth is positive.
  }];
  let parameters = (ins "int64_t":$depth);
  let assemblyFormat = "`<` $depth `>`";
  let genVerifyDecl = 1;
}

// A tile value, spread or not.
def Tile_Frag : DialectType<Tile_Dialect, CPred<"::llvm::isa<::fa4::tile::FragType>($_self)">,
                            "a tile value">;
def Tile_FloatFrag : DialectType<Tile_Dialect,
    CPred<"::llvm::isa<::fa4::tile::FragType>($_self) && "
          "::llvm::isa<::mlir::FloatType>("
          "::llvm::cast<::fa4::tile::FragType>($_self).getElementType())">,
    "a tile value of floats">;
def Tile_F32Frag : DialectType<Tile_Dialect,
    CPred<"::llvm::isa<::fa4::tile::FragType>($_self) && "
          "::llvm::cast<::fa4::tile::FragType>($_self).getElementType().isF32()">,
    "a tile value of f32">;
def Tile_F32Row : DialectType<Tile_Dialect,
    CPred<"::llvm::isa<::fa4::tile::FragType>($_self) && "
          "::llvm::cast<::fa4::tile::FragType>($_self).isRow() && "
          "::llvm::cast<::fa4::tile::FragType>($_self).getElementType().isF32()">,
    "a rank-1 tile value of f32, one per row">;
def Tile_Global : DialectType<Tile_Dialect, CPred<"::llvm::isa<::fa4::tile::GlobalType>($_self)">,
                              "a bounded global tensor">;
class Tile_TokenOf<string kind> : DialectType<Tile_Dialect,
    CPred<"::llvm::isa<::fa4::tile::TokenType>($_self) && "
          "::llvm::cast<::fa4::tile::TokenType>($_self).getKind() == "
          "::fa4::tile::TokenKind::" # kind>,
    "a " # !tolower(kind) # " token">,
    BuildableType<"::fa4::tile::TokenType::get($_builder.getContext(), "
                  "::fa4::tile::TokenKind::" # kind # ")">;
def Tile_WriteToken : Tile_TokenOf<"Write">;
def Tile_ReadToken : Tile_TokenOf<"Read">;
def Tile_Token : DialectType<Tile_Dialect, CPred<"::llvm::isa<::fa4::tile::TokenType>($_self)">,
                             "a token">;
def Tile_Async : DialectType<Tile_Dialect, CPred<"::llvm::isa<::fa4::tile::AsyncType>($_self)">,
                             "an async">;
def Tile_PlainAsync : DialectType<Tile_Dialect,
    CPred<"::llvm::isa<::fa4::tile::AsyncType>($_self) && "
          "!::llvm::cast<::fa4::tile::AsyncType>($_self).getValue()">, "an async without a value">,
    BuildableType<"::fa4::tile::AsyncType::get($_builder.getContext(), ::mlir::Type())">;
def Tile_Cursor : DialectType<Tile_Dialect, CPred<"::llvm::isa<::fa4::tile::CursorType>($_self)">,
                              "a cursor">;
def Tile_TokenOrCursor : AnyTypeOf<[Tile_Token, Tile_Cursor], "a token or a cursor">;
def Tile_CursorOrFrag : AnyTypeOf<[Tile_Cursor, Tile_Frag], "a cursor or a tile value">;
def Tile_TokenOrFrag : AnyTypeOf<[Tile_Token, Tile_Frag], "a token or a tile value">;
def Tile_Scalar : AnyTypeOf<[AnyFloat, AnySignlessInteger, Index], "a scalar">;

#endif // FA4_DIALECT_TILE_IR_TILETYPES_TD
