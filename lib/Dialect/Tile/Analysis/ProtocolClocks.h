//===- ProtocolClocks.h - what an actor knows at a point of its program -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Components: of each actor its program, its tensor-memory loads and its stores; of
// each stream the operations done; of each object the phases whose engines arrived.
// Knowledge of a component is always a prefix, so a number stands for it.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_ANALYSIS_PROTOCOLCLOCKS_H
#define FA4_LIB_DIALECT_TILE_ANALYSIS_PROTOCOLCLOCKS_H

#include "fa4/Dialect/Tile/Analysis/ProtocolGraph.h"

#include <array>

namespace fa4::tile {

/// The kinds of knowledge, after the memory model of the PTX ISA (memory
/// consistency; async proxy; tcgen05 fences).
enum class Known : uint8_t {
  Time,     // has happened
  Generic,  // is visible to ordinary accesses
  Async,    // is visible to the async proxy: copies and operands of products
  Tmem,     // orders the next access to tensor memory
  Exported, // what later arrivals pass on of tensor memory
  Imported  // passed on by arrivals, of use after the next `after`
};
constexpr unsigned kNumKnown = 6;

using Clock = std::vector<uint32_t>;

inline void join(Clock &into, const Clock &from) {
  for (size_t k = 0; k < into.size(); ++k) {
    into[k] = into[k] < from[k] ? from[k] : into[k];
  }
}

inline void raise(uint32_t &entry, uint32_t to) { entry = entry < to ? to : entry; }

struct Knowledge {
  explicit Knowledge(size_t size) { sets.fill(Clock(size, 0)); }
  Clock &operator[](Known kind) { return sets[static_cast<unsigned>(kind)]; }
  const Clock &operator[](Known kind) const { return sets[static_cast<unsigned>(kind)]; }
  std::array<Clock, kNumKnown> sets;
};

/// When an access ends: component and number in it.
struct Stamp {
  uint32_t component = 0;
  uint32_t number = 0;
};

/// Components of a graph's clocks.
class ClockLayout {
public:
  explicit ClockLayout(const ProtocolGraph &graph)
      : firstStream(3 * graph.model->actors.size()),
        firstObject(firstStream + graph.streams.size()), count(firstObject + graph.objects.size()) {
  }
  uint32_t program(unsigned actor) const { return 3 * actor; }
  uint32_t loads(unsigned actor) const { return 3 * actor + 1; }
  uint32_t stores(unsigned actor) const { return 3 * actor + 2; }
  uint32_t stream(unsigned index) const { return firstStream + index; }
  uint32_t object(unsigned index) const { return firstObject + index; }
  uint32_t size() const { return count; }

private:
  uint32_t firstStream;
  uint32_t firstObject;
  uint32_t count;
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_ANALYSIS_PROTOCOLCLOCKS_H
