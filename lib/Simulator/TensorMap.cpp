//===- TensorMap.cpp - boxes of a strided tensor ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/TensorMap.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"

using namespace fa4::sim;
using llvm::createStringError;

unsigned fa4::sim::mapElementBytes(MapElement type) {
  switch (type) {
  case MapElement::U8:
    return 1;
  case MapElement::U16:
  case MapElement::F16:
  case MapElement::BF16:
    return 2;
  case MapElement::U32:
  case MapElement::S32:
  case MapElement::F32:
  case MapElement::F32Ftz:
  case MapElement::TF32:
  case MapElement::TF32Ftz:
    return 4;
  case MapElement::U64:
  case MapElement::S64:
  case MapElement::F64:
    return 8;
  }
  llvm_unreachable("every type is listed");
}

static bool isInteger(MapElement type) { return type <= MapElement::S64; }

unsigned TensorMap::boxCount(unsigned d) const {
  // The innermost dimension has no element stride without interleaving.
  return d == 0 ? box[0] : unsigned(llvm::divideCeil(box[d], elementStrides[d]));
}

uint32_t TensorMap::boxBytes() const {
  uint32_t bytes = mapElementBytes(type);
  for (unsigned d = 0; d < rank; ++d) {
    bytes *= boxCount(d);
  }
  return bytes;
}

uint32_t TensorMap::linePitch() const {
  uint32_t line = box[0] * mapElementBytes(type);
  return swizzle == Swizzle::None ? line : std::max(line, swizzleSpan(swizzle));
}

uint32_t TensorMap::footprint() const {
  return boxBytes() / (box[0] * mapElementBytes(type)) * linePitch();
}

uint16_t TensorMap::fillPattern() const {
  // Measured on an H200 for f16, bf16, f32 and f64.
  return nanFill ? 0x7FF7 : 0;
}

uint32_t TensorMap::convertLoaded(uint32_t bits) const {
  if (type != MapElement::TF32 && type != MapElement::TF32Ftz) {
    return bits; // f32_ftz keeps subnormal numbers on loads (measured)
  }
  uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude >= 0x7F800000) {
    return magnitude == 0x7F800000 ? bits : 0x7FFFE000;
  }
  // tf32 keeps 10 of 23 significand bits, rounded to nearest even.
  return (bits + 0xFFF + (bits >> 13 & 1)) & ~uint32_t(0x1FFF);
}

/// The limits are those of cuTensorMapEncodeTiled in the CUDA driver API.
llvm::Error TensorMap::verify() const {
  auto wrong = [](const char *what, unsigned d, const char *rule, uint64_t value) {
    return createStringError("expected %s of dimension %u of a tensor map to be %s, but got %llu",
                             what, d, rule, static_cast<unsigned long long>(value));
  };
  if (rank < 1 || rank > kMaxMapRank) {
    return createStringError("expected the rank of a tensor map to be 1 to 5, but got %u", rank);
  }
  if (base % 16) {
    return createStringError("expected the base of a tensor map to be a multiple of 16, but got "
                             "0x%llx",
                             static_cast<unsigned long long>(base));
  }
  if (nanFill && isInteger(type)) {
    return createStringError("expected the fill of an integer tensor map to be zero, but got nan");
  }
  for (unsigned d = 0; d < rank; ++d) {
    if (sizes[d] == 0 || sizes[d] > (uint64_t(1) << 32)) {
      return wrong("the size", d, "1 to 2^32", sizes[d]);
    }
    if (box[d] == 0 || box[d] > 256) {
      return wrong("the box", d, "1 to 256", box[d]);
    }
    if (elementStrides[d] == 0 || elementStrides[d] > 8) {
      return wrong("the element stride", d, "1 to 8", elementStrides[d]);
    }
    if (d > 0 && (strides[d] % 16 || strides[d] >= (uint64_t(1) << 40))) {
      return wrong("the stride", d, "a multiple of 16 below 2^40", strides[d]);
    }
  }
  uint64_t inner = uint64_t(box[0]) * mapElementBytes(type);
  if (inner % 16) {
    return wrong("the bytes of the box", 0, "a multiple of 16", inner);
  }
  if (swizzle != Swizzle::None && inner > swizzleSpan(swizzle)) {
    return wrong("the bytes of the box", 0, "at most the swizzle's span", inner);
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Encoding
//===----------------------------------------------------------------------===//

namespace {

// "FA4M": recognises maps that this simulator made.
constexpr uint32_t kMagic = 0x4D344146;
constexpr size_t kChecksumAt = kMapBytes - sizeof(uint32_t);

/// FNV-1a (the usual 32-bit parameters) over everything before the checksum.
uint32_t checksum(llvm::ArrayRef<uint8_t> bytes) {
  uint32_t hash = 2166136261u;
  for (uint8_t byte : bytes.take_front(kChecksumAt)) {
    hash = (hash ^ byte) * 16777619u;
  }
  return hash;
}

/// Walks the fields in one order for writing and reading.
template <typename Map, typename Field>
void eachField(Map &map, Field &&visit) {
  visit(map.base, 8);
  for (unsigned d = 0; d < kMaxMapRank; ++d) {
    visit(map.sizes[d], 5);
    visit(map.box[d], 2);
    visit(map.elementStrides[d], 1);
  }
  for (unsigned d = 1; d < kMaxMapRank; ++d) {
    visit(map.strides[d], 5);
  }
}

} // namespace

void TensorMap::encode(llvm::MutableArrayRef<uint8_t> bytes) const {
  assert(bytes.size() == kMapBytes && "a tensor map has 128 bytes");
  std::fill(bytes.begin(), bytes.end(), 0);
  llvm::support::endian::write32le(bytes.data(), kMagic);
  bytes[4] = uint8_t(type);
  bytes[5] = uint8_t(rank);
  bytes[6] = uint8_t(swizzle);
  bytes[7] = nanFill;
  size_t at = 8;
  eachField(*this, [&](uint64_t value, unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      bytes[at++] = uint8_t(value >> (8 * i));
    }
  });
  assert(at <= kChecksumAt && "fields and checksum do not overlap");
  llvm::support::endian::write32le(&bytes[kChecksumAt], checksum(bytes));
}

llvm::Expected<TensorMap> TensorMap::decode(llvm::ArrayRef<uint8_t> bytes) {
  assert(bytes.size() == kMapBytes && "a tensor map has 128 bytes");
  if (llvm::support::endian::read32le(bytes.data()) != kMagic) {
    return createStringError("expected the 128 bytes to be a tensor map, but got other data");
  }
  if (llvm::support::endian::read32le(&bytes[kChecksumAt]) != checksum(bytes)) {
    return createStringError("expected the tensor map to be unchanged, but got a wrong checksum");
  }
  TensorMap map;
  map.type = MapElement(bytes[4]);
  map.rank = bytes[5];
  map.swizzle = Swizzle(bytes[6]);
  map.nanFill = bytes[7];
  size_t at = 8;
  eachField(map, [&](auto &value, unsigned count) {
    uint64_t read = 0;
    for (unsigned i = 0; i < count; ++i) {
      read |= uint64_t(bytes[at++]) << (8 * i);
    }
    value = std::remove_reference_t<decltype(value)>(read);
  });
  map.strides[0] = mapElementBytes(map.type);
  return map;
}

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

void fa4::sim::walkBox(const TensorMap &map, llvm::ArrayRef<int32_t> coordinates,
                       llvm::function_ref<void(const BoxRun &)> visit) {
  assert(coordinates.size() == map.rank && "one coordinate a dimension");
  const uint32_t element = mapElementBytes(map.type);
  const int64_t first = coordinates[0], count = map.box[0];
  // Elements of a line before, in and behind the tensor.
  int64_t before = std::clamp<int64_t>(-first, 0, count);
  int64_t end = std::clamp<int64_t>(int64_t(map.sizes[0]) - first, before, count);

  unsigned lines = 1;
  for (unsigned d = 1; d < map.rank; ++d) {
    lines *= map.boxCount(d);
  }
  uint32_t offset = 0;
  for (unsigned line = 0; line < lines; ++line) {
    bool inside = true;
    uint64_t address = map.base;
    unsigned rest = line;
    for (unsigned d = 1; d < map.rank; ++d) {
      int64_t at =
          int64_t(coordinates[d]) + int64_t(rest % map.boxCount(d)) * map.elementStrides[d];
      rest /= map.boxCount(d);
      inside &= at >= 0 && uint64_t(at) < map.sizes[d];
      address += uint64_t(at) * map.strides[d];
    }
    auto emit = [&](int64_t from, int64_t to, bool isInside) {
      if (from < to) {
        visit({uint32_t(offset + from * element), address + uint64_t(first + from) * element,
               uint32_t((to - from) * element), isInside});
      }
    };
    if (inside) {
      emit(0, before, false);
      emit(before, end, true);
      emit(end, count, false);
    } else {
      emit(0, count, false);
    }
    offset += map.linePitch();
  }
}
