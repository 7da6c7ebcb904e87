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

#include <algorithm>
#include <vector>

namespace fa4::tile {

/// The kinds of knowledge, after the memory model of the PTX ISA (memory
/// consistency; async proxy; tcgen05 fences).
enum class Known : uint8_t {
  Time,     // has happened
  Generic,  // is visible to ordinary accesses
  Async,    // is visible to the async proxy: copies and operands of products
  Imported, // passed on by arrivals, of use after the next `after`
  Tmem,     // orders the next access to tensor memory
  Exported  // what later arrivals pass on of tensor memory
};
constexpr unsigned kNumKnown = 6;
/// Those that messages carry come first.
constexpr unsigned kNumCarried = 4;

using Clock = std::vector<uint32_t>;
using ClockRef = llvm::ArrayRef<uint32_t>;
using MutableClock = llvm::MutableArrayRef<uint32_t>;

inline void join(MutableClock into, ClockRef from) {
  for (size_t k = 0; k < into.size(); ++k) {
    into[k] = into[k] < from[k] ? from[k] : into[k];
  }
}

inline void raise(uint32_t &entry, uint32_t to) { entry = entry < to ? to : entry; }

/// A clock of each of the first kinds, one behind the other.
class Knowledge {
public:
  Knowledge(unsigned kinds, size_t size) : size(size), numbers(kinds * size, 0) {}
  MutableClock operator[](Known kind) {
    return MutableClock(numbers).slice(static_cast<unsigned>(kind) * size, size);
  }
  ClockRef operator[](Known kind) const {
    return ClockRef(numbers).slice(static_cast<unsigned>(kind) * size, size);
  }
  void clear() { std::fill(numbers.begin(), numbers.end(), 0); }
  /// Of the first `kinds`.
  void join(const Knowledge &other, unsigned kinds) {
    tile::join(MutableClock(numbers).take_front(kinds * size),
               ClockRef(other.numbers).take_front(kinds * size));
  }

private:
  size_t size;
  Clock numbers;
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
