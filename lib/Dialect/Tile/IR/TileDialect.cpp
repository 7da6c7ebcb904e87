//===- TileDialect.cpp - the tile dialect -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Registers all types, attributes and ops, and names layouts in printed IR.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/IR/TileDialect.h"

#include "fa4/Dialect/Tile/IR/TileOps.h"

using namespace mlir;

#include "fa4/Dialect/Tile/IR/TileDialect.cpp.inc"

namespace {
/// Layouts stand in every type of a T1 kernel: short names keep it readable.
struct TileAsmInterface : public OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Attribute attr, raw_ostream &os) const final {
    if (auto spread = dyn_cast<fa4::tile::SpreadAttr>(attr)) {
      os << stringifySpread(spread.getValue());
      return AliasResult::OverridableAlias;
    }
    if (auto smem = dyn_cast<fa4::tile::SmemLayoutAttr>(attr)) {
      os << stringifyMajor(smem.getMajor());
      return AliasResult::OverridableAlias;
    }
    if (auto tmem = dyn_cast<fa4::tile::TmemLayoutAttr>(attr)) {
      os << stringifyTmemForm(tmem.getForm());
      return AliasResult::OverridableAlias;
    }
    return AliasResult::NoAlias;
  }
};
} // namespace

void fa4::tile::TileDialect::initialize() {
  addInterfaces<TileAsmInterface>();
  registerTypes();
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "fa4/Dialect/Tile/IR/TileOps.cpp.inc"
      >();
}
