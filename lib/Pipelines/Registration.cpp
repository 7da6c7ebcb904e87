//===- Registration.cpp - everything of FA4 in one call -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Pipelines/Registration.h"

#include "fa4/Conversion/AttnToTile.h"
#include "fa4/Conversion/TileToCPU.h"
#include "fa4/Conversion/TileToNVVM.h"
#include "fa4/Dialect/Attn/IR/AttnDialect.h"
#include "fa4/Dialect/Attn/Transforms/BufferizableOpInterfaceImpl.h"
#include "fa4/Dialect/Attn/Transforms/Passes.h"
#include "fa4/Dialect/FA4/IR/FA4Dialect.h"
#include "fa4/Dialect/Tile/IR/TileDialect.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "fa4/Pipelines/Pipelines.h"

void fa4::registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<FA4Dialect, attn::AttnDialect, tile::TileDialect>();
  attn::registerBufferizableOpInterfaceExternalModels(registry);
}

namespace fa4 {
#define GEN_PASS_REGISTRATION
#include "fa4/Conversion/Passes.h.inc"
} // namespace fa4

void fa4::registerAllPasses() {
  registerFA4ConversionPasses();
  attn::registerFA4AttnPasses();
  tile::registerTilePasses();
  registerPipelines();
}
