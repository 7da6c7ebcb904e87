//===- TilePhases.h - phases of the tile dialect as op traits -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which phases an op may stand in. Phases are different ops: an op states its
// phases here, and the phase verifiers ask.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_IR_TILEPHASES_H
#define FA4_DIALECT_TILE_IR_TILEPHASES_H

#include "mlir/IR/OpDefinition.h"

namespace fa4::tile {

/// The op may stand in a single-threaded program of tile values.
// NOLINTNEXTLINE(bugprone-crtp-constructor-accessibility): MLIR's Op constructs its traits.
template <typename ConcreteType>
class AtT0 : public mlir::OpTrait::TraitBase<ConcreteType, AtT0> {};

/// The op may stand in a program of roles and channels.
// NOLINTNEXTLINE(bugprone-crtp-constructor-accessibility): MLIR's Op constructs its traits.
template <typename ConcreteType>
class AtT1 : public mlir::OpTrait::TraitBase<ConcreteType, AtT1> {};

/// The op may stand in a placed program.
// NOLINTNEXTLINE(bugprone-crtp-constructor-accessibility): MLIR's Op constructs its traits.
template <typename ConcreteType>
class AtT2 : public mlir::OpTrait::TraitBase<ConcreteType, AtT2> {};

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_IR_TILEPHASES_H
