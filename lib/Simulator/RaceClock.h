//===- RaceClock.h - vector clocks of the race detector ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A channel is a sequence of accesses that become known in order: those of a
// warp, the copies of one mbarrier (by phase), the groups of one thread, the
// operations of one tensor pipe. A clock says, per channel, up to where its owner
// knows. Channels are numbered per cluster; what comes from other clusters, by way
// of global memory, is kept apart because it is rare.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_RACECLOCK_H
#define FA4_LIB_SIMULATOR_RACECLOCK_H

#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>

namespace fa4::sim {

using Channel = uint32_t;

/// A point of one channel.
struct Epoch {
  Channel channel = 0;
  uint32_t clock = 0;
};

/// Per cluster, what is known of its channels.
using ForeignClocks = std::map<uint32_t, llvm::SmallVector<uint32_t, 0>>;

inline void joinClocks(llvm::SmallVectorImpl<uint32_t> &to, llvm::ArrayRef<uint32_t> from) {
  if (to.size() < from.size()) {
    to.resize(from.size());
  }
  uint32_t *out = to.data();
  const uint32_t *in = from.data();
  for (size_t i = 0, n = from.size(); i < n; ++i) {
    out[i] = std::max(out[i], in[i]);
  }
}

class Clock {
public:
  uint32_t get(Channel channel) const { return channel < own.size() ? own[channel] : 0; }
  void raise(Channel channel, uint32_t clock) {
    if (channel >= own.size()) {
      own.resize(channel + 1);
    }
    own[channel] = std::max(own[channel], clock);
  }
  void lower(Channel channel, uint32_t clock) {
    if (channel < own.size()) {
      own[channel] = std::min(own[channel], clock);
    }
  }
  uint32_t getForeign(uint32_t cluster, Channel channel) const {
    if (!foreign) {
      return 0;
    }
    auto found = foreign->find(cluster);
    bool known = found != foreign->end() && channel < found->second.size();
    return known ? found->second[channel] : 0;
  }

  void join(const Clock &other) {
    joinClocks(own, other.own);
    joinForeign(other.foreign);
  }
  /// Keeps what the other knows as well; of other clusters nothing.
  void meet(const Clock &other) {
    own.resize(std::min(own.size(), other.own.size()));
    for (size_t i = 0; i < own.size(); ++i) {
      own[i] = std::min(own[i], other.own[i]);
    }
    foreign.reset();
  }

  /// Adds what is known here, in the form that other clusters understand.
  void exportTo(ForeignClocks &to, uint32_t cluster) const {
    joinClocks(to[cluster], own);
    if (foreign) {
      for (const auto &[number, clocks] : *foreign) {
        joinClocks(to[number], clocks);
      }
    }
  }
  void importFrom(const ForeignClocks &from, uint32_t cluster) {
    auto others = std::make_shared<ForeignClocks>();
    for (const auto &[number, clocks] : from) {
      if (number == cluster) {
        joinClocks(own, clocks);
      } else {
        (*others)[number] = clocks;
      }
    }
    if (!others->empty()) {
      joinForeign(others);
    }
  }

private:
  void joinForeign(const std::shared_ptr<const ForeignClocks> &other) {
    if (!other || other == foreign) {
      return;
    }
    if (!foreign) {
      foreign = other;
      return;
    }
    auto merged = std::make_shared<ForeignClocks>(*foreign);
    for (const auto &[number, clocks] : *other) {
      joinClocks((*merged)[number], clocks);
    }
    foreign = std::move(merged);
  }

  llvm::SmallVector<uint32_t, 0> own;
  std::shared_ptr<const ForeignClocks> foreign; ///< never changed once shared
};

/// Everything that one synchronisation hands over.
struct Views {
  Clock generic; ///< ordered for ordinary accesses
  Clock shared;  ///< visible to asynchronous accesses of shared memory
  Clock global;  ///< the same of global memory
  Clock tensor;  ///< exported tcgen05 operations
  Clock inits;   ///< initialised mbarriers, by fence.mbarrier_init

  void join(const Views &other) {
    generic.join(other.generic);
    shared.join(other.shared);
    global.join(other.global);
    tensor.join(other.tensor);
    inits.join(other.inits);
  }
  void clear() { *this = Views(); }
};

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_RACECLOCK_H
