//===- Counterexample.h - what the proof found, as a picture ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_EXPLAIN_COUNTEREXAMPLE_H
#define FA4_EXPLAIN_COUNTEREXAMPLE_H

#include "fa4/Dialect/Tile/Analysis/ProtocolProof.h"
#include "fa4/Explain/Sequence.h"

namespace fa4::explain {

/// Roles as lanes, the events that the finding speaks of, and as few others as tell how
/// it came to them; what is missing is a bad arrow.
Sequence drawCounterexample(const tile::ProtocolGraph &graph, const tile::ProtocolFinding &finding);

} // namespace fa4::explain

#endif // FA4_EXPLAIN_COUNTEREXAMPLE_H
