//===- ProveProtocol.h - the proof, for those who show it -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `tile-verify-protocol` runs. The first run that breaks a rule is handed over
// with its events, while they exist.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_TRANSFORMS_PROVEPROTOCOL_H
#define FA4_DIALECT_TILE_TRANSFORMS_PROVEPROTOCOL_H

#include "fa4/Dialect/Tile/Analysis/ProtocolProof.h"

namespace fa4::tile {

using CounterexampleFn =
    llvm::function_ref<void(const ProtocolGraph &graph, const ProtocolFinding &finding)>;

/// Proves the protocol of a kernel at T1 or T2. Fails after a call of `onFinding`, or
/// after an error that says why nothing can be proved.
mlir::LogicalResult proveProtocol(KernelOp kernel, int64_t maxRuns, CounterexampleFn onFinding);

/// "with tiles of 1 + 3 trips" of the run.
std::string describeRun(const ProtocolGraph &graph);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_TRANSFORMS_PROVEPROTOCOL_H
