//===- Memory.h - global memory and address windows -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every byte of simulated memory has a shadow byte that says whether it holds a
// value. Global buffers stand at seeded addresses with red zones between them,
// never below 2^32, so that truncated or overrunning addresses hit nothing.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SIMULATOR_MEMORY_H
#define FA4_SIMULATOR_MEMORY_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace fa4::sim {

enum class Space : uint8_t { Generic, Global, Shared, SharedCluster, Local, Param };

/// How a thread touches memory. A hint is no access.
enum class Access : uint8_t { Read, Write, Atomic, Hint };

/// Shadow byte values.
enum Shadow : uint8_t { shadowPoison = 0, shadowValid = 1, shadowBarrier = 2 };

/// First user byte of the shared window, and the window's size per CTA rank:
/// measured on an H200 (simulator-facts 4.2).
constexpr uint64_t sharedDataStart = 0x400;
constexpr unsigned sharedRankShift = 24;
/// Generic windows. The shared base has 28 low zero bits, room for 16 ranks.
constexpr uint64_t sharedWindow = uint64_t(0x7a00) << 32;
constexpr uint64_t localWindow = uint64_t(0x7b00) << 32;
constexpr uint64_t paramWindow = uint64_t(0x7c00) << 32;
constexpr uint64_t windowSize = uint64_t(1) << 28;

/// Bytes with their shadow, zero-filled lazily by the host.
class Storage {
public:
  Storage() = default;
  explicit Storage(uint64_t size);
  Storage(Storage &&other) noexcept;
  Storage &operator=(Storage &&other) noexcept;
  ~Storage();

  uint8_t *data() const { return bytes; }
  uint8_t *shadow() const { return bytes + length; }
  uint64_t size() const { return length; }

private:
  uint8_t *bytes = nullptr;
  uint64_t length = 0;
};

struct Region {
  std::string name;
  uint64_t base = 0;
  Storage storage;
  bool readOnly = false;
};

class GlobalMemory {
public:
  explicit GlobalMemory(uint64_t seed);

  /// Gives a buffer of `bytes` (at least 1) at a 512-aligned address.
  uint64_t allocate(llvm::StringRef name, uint64_t bytes, bool readOnly = false);
  /// Copies host bytes in and marks them as holding values.
  void write(uint64_t address, llvm::ArrayRef<uint8_t> bytes);
  /// Copies out; bytes never written read as zero.
  void read(uint64_t address, llvm::MutableArrayRef<uint8_t> bytes) const;

  /// The region that contains the address, or null.
  Region *find(uint64_t address) const;
  /// "120 bytes behind 'q' (65536 bytes at 0x…)".
  std::string describe(uint64_t address) const;

private:
  std::vector<std::unique_ptr<Region>> regions; ///< sorted by base
  std::mt19937_64 random;
  uint64_t next;
};

} // namespace fa4::sim

#endif // FA4_SIMULATOR_MEMORY_H
