//===- TileAttrs.td - attributes of the tile dialect -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_IR_TILEATTRS_TD
#define FA4_DIALECT_TILE_IR_TILEATTRS_TD

include "fa4/Dialect/Tile/IR/TileDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/EnumAttr.td"

class Tile_Attr<string name, string attrMnemonic> : AttrDef<Tile_Dialect, name> {
  let mnemonic = attrMnemonic;
}

/// A number of a kernel's plan: warps, bytes, columns, elements, arrivals. The bounds
/// leave room above what any target has (an mbarrier counts to 2^20 - 1, PTX ISA), whose
/// own checks name it, and whoever multiplies three of them stays within 64 bits.
def Tile_NumberAttr : ConfinedAttr<I64Attr, [IntMinValue<-2097151>, IntMaxValue<2097151>]>;

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

//===----------------------------------------------------------------------===//
// Memory and channels
//===----------------------------------------------------------------------===//

def Tile_Space : I32EnumAttr<"Space", "a memory of the CTA",
    [I32EnumAttrCase<"Smem", 0, "smem">, I32EnumAttrCase<"Tmem", 1, "tmem">]> {
  let cppNamespace = "::fa4::tile";
  let genSpecializedAttr = 0;
}
def Tile_SpaceAttr : EnumAttr<Tile_Dialect, Tile_Space, "space"> {
  let assemblyFormat = "$value";
}

def Tile_Major : I32EnumAttr<"Major", "order of a tile in shared memory", [
    I32EnumAttrCase<"KMajor", 0, "k_major">, I32EnumAttrCase<"MnMajor", 1, "mn_major">,
    I32EnumAttrCase<"Linear", 2, "linear">]> {
  let cppNamespace = "::fa4::tile";
  let genSpecializedAttr = 0;
}
def Tile_SmemLayoutAttr : Tile_Attr<"SmemLayout", "smem"> {
  let summary = "layout of a view of shared memory";
  let description = [{
    `<k_major, 128>` and `<mn_major, 128>` are the operand layouts of matrix
    instructions with their swizzle in bytes: rows are cut in panels as wide as
    the swizzle, as a box of TMA brings them, and panel stands after panel. A part
    of the rows of a larger tile has gaps between its panels: `panel = 16384` is
    the distance from one panel to the next. `<linear>` is row after row.

    Constraints:
    * (C1) the swizzle is 32, 64 or 128 bytes, and none for `linear`;
    * (C2) `panel` is a multiple of the swizzle, and absent for `linear`.
  }];
  let parameters = (ins EnumParameter<Tile_Major>:$major, DefaultValuedParameter<"int64_t", "0">:$swizzle,
                        DefaultValuedParameter<"int64_t", "0">:$panel);
  let assemblyFormat = "`<` $major (`,` $swizzle^)? (`,` `panel` `=` $panel^)? `>`";
  let builders = [AttrBuilder<(ins "::fa4::tile::Major":$major, "int64_t":$swizzle), [{
    return $_get($_ctxt, major, swizzle, int64_t(0));
  }]>];
  let genVerifyDecl = 1;
}

def Tile_TmemForm : I32EnumAttr<"TmemForm", "how rows lie on lanes",
    [I32EnumAttrCase<"Lanes", 0, "lanes">, I32EnumAttrCase<"Fold", 1, "fold">]> {
  let cppNamespace = "::fa4::tile";
  let genSpecializedAttr = 0;
}
def Tile_TmemLayoutAttr : Tile_Attr<"TmemLayout", "tmem"> {
  let summary = "layout of a view of tensor memory";
  let description = [{
    `<lanes>`: row r on lane r. `<fold>`: of 128 rows of a pair each CTA holds 64,
    and folds their columns: the upper half of the columns on lanes 64 to 127.
  }];
  let parameters = (ins EnumParameter<Tile_TmemForm>:$form);
  let assemblyFormat = "`<` $form `>`";
}

def Tile_Tie : I32EnumAttr<"Tie", "which replica of a role holds an element of a channel", [
    I32EnumAttrCase<"All", 0, "all">, I32EnumAttrCase<"Each", 1, "each">,
    I32EnumAttrCase<"Previous", 2, "previous">]> {
  let cppNamespace = "::fa4::tile";
  let genSpecializedAttr = 0;
}
def Tile_EndAttr : Tile_Attr<"End", "end"> {
  let summary = "a role at one end of a channel";
  let description = [{
    With `each`, replica r has element r of the channel; with `previous`,
    element r + 1, round; with `all`, every replica has every element.
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$role, DefaultValuedParameter<"::fa4::tile::Tie",
      "::fa4::tile::Tie::All">:$tie);
  let assemblyFormat = "`<` $role (`,` $tie^)? `>`";
}
def Tile_EndArrayAttr : TypedArrayAttrBase<Tile_EndAttr, "ends of a channel">;
def Tile_ViewArrayAttr : TypedArrayAttrBase<FlatSymbolRefAttr, "views">;

def Tile_Arrival : I32EnumAttr<"Arrival", "who arrives at one half of a channel, and how", [
    I32EnumAttrCase<"Thread", 0, "thread">, I32EnumAttrCase<"Warp", 1, "warp">,
    I32EnumAttrCase<"Lane", 2, "lane">, I32EnumAttrCase<"Named", 3, "named">,
    I32EnumAttrCase<"NamedPerWarp", 4, "named_per_warp">, I32EnumAttrCase<"Peer", 5, "peer">]> {
  let cppNamespace = "::fa4::tile";
  let genSpecializedAttr = 0;
}
def Tile_ArrivalAttr : EnumAttr<Tile_Dialect, Tile_Arrival, "arrival"> {
  let assemblyFormat = "$value";
}

def Tile_Ctas : I32EnumAttr<"Ctas", "the CTAs of a pair that run a role",
    [I32EnumAttrCase<"Single", 0, "single">, I32EnumAttrCase<"Leader", 1, "leader">,
     I32EnumAttrCase<"Both", 2, "both">]> {
  let cppNamespace = "::fa4::tile";
  let genSpecializedAttr = 0;
}
def Tile_CtasAttr : EnumAttr<Tile_Dialect, Tile_Ctas, "ctas"> {
  let assemblyFormat = "$value";
}

//===----------------------------------------------------------------------===//
// Placed programs
//===----------------------------------------------------------------------===//

def Tile_Group : I32EnumAttr<"Group", "a family of asynchronous groups",
    [I32EnumAttrCase<"Wgmma", 0, "wgmma">, I32EnumAttrCase<"Bulk", 1, "bulk">]> {
  let cppNamespace = "::fa4::tile";
  let genSpecializedAttr = 0;
}
def Tile_GroupAttr : EnumAttr<Tile_Dialect, Tile_Group, "group"> {
  let assemblyFormat = "$value";
}

def Tile_FenceKind : I32BitEnumAttr<"FenceKind", "what a fence orders", [
    I32BitEnumAttrCaseBit<"TmemLoads", 0, "tmem_loads">,
    I32BitEnumAttrCaseBit<"TmemStores", 1, "tmem_stores">,
    I32BitEnumAttrCaseBit<"Before", 2, "before">, I32BitEnumAttrCaseBit<"After", 3, "after">,
    I32BitEnumAttrCaseBit<"Proxy", 4, "proxy">, I32BitEnumAttrCaseBit<"Wgmma", 5, "wgmma">,
    I32BitEnumAttrCaseBit<"Init", 6, "init">]> {
  let cppNamespace = "::fa4::tile";
  let separator = ", ";
  let genSpecializedAttr = 0;
}
def Tile_FenceKindAttr : EnumAttr<Tile_Dialect, Tile_FenceKind, "fence_kinds"> {
  let assemblyFormat = "$value";
}

#endif // FA4_DIALECT_TILE_IR_TILEATTRS_TD
