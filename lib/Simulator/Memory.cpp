//===- Memory.cpp - global memory -------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Regions never overlap and are sorted, so look-up is a binary search.
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Memory.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemAlloc.h"

#include <algorithm>
#include <cstring>

using namespace llvm;
using namespace fa4::sim;

/// Distance between buffers; an index error of a whole tile still hits nothing.
static constexpr uint64_t redZone = 64 * 1024;
static constexpr uint64_t bufferAlignment = 512;
/// Above 2^32, so that an address truncated to 32 bits is caught.
static constexpr uint64_t firstAddress = uint64_t(0x10) << 32;

Storage::Storage(uint64_t size)
    : bytes(static_cast<uint8_t *>(safe_calloc(std::max<uint64_t>(size, 1), 2))), length(size) {}
Storage::Storage(Storage &&other) noexcept { *this = std::move(other); }
Storage &Storage::operator=(Storage &&other) noexcept {
  std::swap(bytes, other.bytes);
  std::swap(length, other.length);
  return *this;
}
Storage::~Storage() { free(bytes); }

GlobalMemory::GlobalMemory(uint64_t seed) : random(seed), next(firstAddress) {
  next += (random() & 0xfff) * bufferAlignment;
}

uint64_t GlobalMemory::allocate(StringRef name, uint64_t bytes, bool readOnly) {
  auto region = std::make_unique<Region>();
  region->name = name.str();
  region->base = next;
  region->readOnly = readOnly;
  region->storage = Storage(std::max<uint64_t>(bytes, 1));
  next = alignTo(next + bytes + redZone + (random() & 0x7f) * bufferAlignment, bufferAlignment);
  regions.push_back(std::move(region));
  return regions.back()->base;
}

Region *GlobalMemory::find(uint64_t address) const {
  auto after =
      llvm::upper_bound(regions, address, [](uint64_t a, const auto &r) { return a < r->base; });
  if (after == regions.begin()) {
    return nullptr;
  }
  Region *r = std::prev(after)->get();
  return address - r->base < r->storage.size() ? r : nullptr;
}

void GlobalMemory::write(uint64_t address, ArrayRef<uint8_t> bytes) {
  Region *r = find(address);
  // An empty buffer has no pointer to copy from.
  if (!r || bytes.empty() || bytes.size() > r->storage.size() - (address - r->base)) {
    return;
  }
  uint64_t at = address - r->base;
  std::memcpy(r->storage.data() + at, bytes.data(), bytes.size());
  std::memset(r->storage.shadow() + at, shadowValid, bytes.size());
}

void GlobalMemory::read(uint64_t address, MutableArrayRef<uint8_t> bytes) const {
  Region *r = find(address);
  if (r && !bytes.empty() && bytes.size() <= r->storage.size() - (address - r->base)) {
    std::memcpy(bytes.data(), r->storage.data() + (address - r->base), bytes.size());
  }
}

std::string GlobalMemory::describe(uint64_t address) const {
  const Region *nearest = nullptr;
  uint64_t best = UINT64_MAX;
  bool before = false;
  for (const auto &r : regions) {
    uint64_t end = r->base + r->storage.size();
    uint64_t distance = address < r->base ? r->base - address
                        : address >= end  ? address - end + 1
                                          : 0;
    if (distance < best) {
      best = distance;
      nearest = r.get();
      before = address < r->base;
    }
  }
  if (!nearest) {
    return formatv("{0:x}, with no buffer allocated", address);
  }
  if (best == 0) {
    return formatv("'{0}' + {1}", nearest->name, address - nearest->base);
  }
  return formatv("{0:x}, {1} bytes {2} '{3}' ({4} bytes)", address, best,
                 before ? "before the start of" : "past the end of", nearest->name,
                 nearest->storage.size());
}
