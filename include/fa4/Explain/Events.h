//===- Events.h - events of a kernel's protocol, in few words ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Labels of pictures: what, and where in the run and in the text.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_EXPLAIN_EVENTS_H
#define FA4_EXPLAIN_EVENTS_H

#include "fa4/Dialect/Tile/Analysis/ProtocolGraph.h"

namespace fa4::explain {

constexpr unsigned kNeverHappens = ~0U;

/// For each event how many others must come one after the other before it, or that it
/// never happens: it, or one before it, waits for ever.
std::vector<unsigned> eventLevels(const tile::ProtocolGraph &graph);

/// "wait @s.full", "product reads @A[0], @B[1], writes @S".
std::string describeEvent(const tile::ProtocolGraph &graph, tile::EventId id);

/// "phase 0, tile 0, trip 2, line 81" with what there is of it.
std::string describePlace(const tile::ProtocolGraph &graph, tile::EventId id);

/// The line of the op between the two texts, or nothing for an op without one.
std::string lineOf(mlir::Operation *op, llvm::StringRef before, llvm::StringRef after);

/// Whether the role has an op that arrives at the barrier, whether it runs or not.
bool arrivesAt(tile::RoleOp role, llvm::StringRef barrier);

} // namespace fa4::explain

#endif // FA4_EXPLAIN_EVENTS_H
