//===- TileDialect.td - the tile dialect -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The dialect and the classes its ops share. Phases are different ops: value
// ops (T0 and up), role and channel ops (T1), placed ops (T2).
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_IR_TILEDIALECT_TD
#define FA4_DIALECT_TILE_IR_TILEDIALECT_TD

include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::fa4::tile";
  let summary = "how one CTA computes it: values, roles, placement";
  let description = [{
    One dialect, three phases that differ by their ops:

    * T0: pure tile values, one logical thread. A program is a list of steps.
    * T1: isolated roles, allocations, views and channels; tokens are linear.
    * T2: every byte, column, barrier, count and phase is written down.

    The passes `tile-verify-t0`, `tile-verify-t1` and `tile-verify-t2` decide
    whether a kernel is at its phase. An op's own verifier is local to it.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{
    void registerTypes();
    void registerAttributes();
  }];
}

def Tile_GmemResource : Resource<"::fa4::tile::GmemResource">;
def Tile_SmemResource : Resource<"::fa4::tile::SmemResource">;
def Tile_TmemResource : Resource<"::fa4::tile::TmemResource">;

// The phases an op may stand in; the phase verifiers ask for these.
def Tile_AtT0 : NativeOpTrait<"AtT0"> { let cppNamespace = "::fa4::tile"; }
def Tile_AtT1 : NativeOpTrait<"AtT1"> { let cppNamespace = "::fa4::tile"; }
def Tile_AtT2 : NativeOpTrait<"AtT2"> { let cppNamespace = "::fa4::tile"; }
defvar T0 = [Tile_AtT0];
defvar T1 = [Tile_AtT1];
defvar T2 = [Tile_AtT2];
defvar T1T2 = [Tile_AtT1, Tile_AtT2];
defvar T0T1T2 = [Tile_AtT0, Tile_AtT1, Tile_AtT2];

class Tile_Op<string mnemonic, list<Trait> phases, list<Trait> traits = []>
    : Op<Tile_Dialect, mnemonic, !listconcat(phases, traits)>;

// An op whose results are called `resultName` in dumps.
class Tile_NamedOp<string mnemonic, string resultName, list<Trait> phases, list<Trait> traits = []>
    : Tile_Op<mnemonic, phases, !listconcat(traits,
          [DeclareOpInterfaceMethods<OpAsmOpInterface>])> {
  code nameResults = [{
    void getAsmResultNames(::mlir::OpAsmSetValueNameFn setNameFn) {
      for (::mlir::Value result : getOperation()->getResults()) {
        setNameFn(result, "}] # resultName # [{");
      }
    }
  }];
  let extraClassDeclaration = nameResults;
}

#endif // FA4_DIALECT_TILE_IR_TILEDIALECT_TD
