//===- TensorMapTest.cpp --------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/TensorMap.h"
#include "gtest/gtest.h"
#include <optional>
#include <vector>

using namespace fa4::sim;

namespace {

TensorMap smallMap() {
  TensorMap map;
  map.type = MapElement::BF16;
  map.rank = 3;
  map.base = 0x10000;
  map.sizes = {20, 7, 3};
  map.strides = {2, 64, 1024};
  map.box = {16, 5, 2};
  map.elementStrides = {1, 2, 1};
  return map;
}

TEST(TensorMap, EncodingRoundTripsAndDetectsChanges) {
  TensorMap map = smallMap();
  map.swizzle = Swizzle::B32;
  map.sizes[1] = uint64_t(1) << 32;
  map.strides[2] = (uint64_t(1) << 40) - 16;
  map.nanFill = true;
  std::vector<uint8_t> bytes(kMapBytes);
  map.encode(bytes);
  llvm::Expected<TensorMap> again = TensorMap::decode(bytes);
  ASSERT_TRUE(bool(again));
  std::vector<uint8_t> copy(kMapBytes);
  again->encode(copy);
  EXPECT_EQ(copy, bytes);
  EXPECT_EQ(again->strides[2], map.strides[2]);
  EXPECT_EQ(again->sizes[1], map.sizes[1]);
  bytes[20] ^= 1;
  llvm::Expected<TensorMap> changed = TensorMap::decode(bytes);
  ASSERT_FALSE(bool(changed));
  EXPECT_EQ(llvm::toString(changed.takeError()),
            "expected the tensor map to be unchanged, but got a wrong checksum");
}

TEST(TensorMap, VerifyNamesTheRule) {
  auto message = [](const TensorMap &map) { return llvm::toString(map.verify()); };
  EXPECT_EQ(message(smallMap()), "");
  TensorMap map = smallMap();
  map.strides[1] = 40;
  EXPECT_EQ(message(map), "expected the stride of dimension 1 of a tensor map to be a multiple of "
                          "16 below 2^40, but got 40");
  map = smallMap();
  map.swizzle = Swizzle::B32;
  map.box[0] = 32;
  EXPECT_EQ(message(map), "expected the bytes of the box of dimension 0 of a tensor map to be at "
                          "most the swizzle's span, but got 64");
  map = smallMap();
  map.box[2] = 257;
  EXPECT_EQ(message(map),
            "expected the box of dimension 2 of a tensor map to be 1 to 256, but got 257");
}

/// Every byte of the box, by the formula of the tensor copy, one element at a time.
TEST(TensorMap, WalkAgreesWithTheFormula) {
  TensorMap map = smallMap();
  ASSERT_EQ(map.boxBytes(), 16u * 3 * 2 * 2);
  for (int32_t x : {-3, 0, 8, 19, 40, -40}) {
    for (int32_t y : {-2, 0, 1, 6}) {
      int32_t coordinates[] = {x, y, 2};
      std::vector<std::optional<uint64_t>> got(map.boxBytes());
      unsigned covered = 0;
      walkBox(map, coordinates, [&](const BoxRun &run) {
        for (uint32_t i = 0; i < run.bytes; ++i) {
          ++covered;
          if (run.inside) {
            got[run.offset + i] = run.global + i;
          }
        }
      });
      ASSERT_EQ(covered, map.boxBytes());
      uint32_t offset = 0;
      for (int iz = 0; iz < 2; ++iz) {
        for (int iy = 0; iy < 3; ++iy) {
          for (int ix = 0; ix < 16; ++ix) {
            int64_t cx = x + ix, cy = y + 2 * iy, cz = 2 + iz;
            bool inside = cx >= 0 && cx < 20 && cy >= 0 && cy < 7 && cz < 3;
            for (int byte = 0; byte < 2; ++byte, ++offset) {
              ASSERT_EQ(got[offset].has_value(), inside) << x << " " << y << " " << offset;
              if (inside) {
                ASSERT_EQ(*got[offset], 0x10000 + uint64_t(cx * 2 + cy * 64 + cz * 1024 + byte));
              }
            }
          }
        }
      }
    }
  }
}

TEST(TensorMap, SwizzledLinesTakeTheWholeSpan) {
  TensorMap map = smallMap();
  map.swizzle = Swizzle::B64;
  EXPECT_EQ(map.linePitch(), 64u);
  EXPECT_EQ(map.boxBytes(), 32u * 3 * 2);
  EXPECT_EQ(map.footprint(), 64u * 3 * 2);
  int32_t origin[] = {0, 0, 0};
  std::vector<uint32_t> offsets;
  walkBox(map, origin, [&](const BoxRun &run) { offsets.push_back(run.offset); });
  EXPECT_EQ(offsets, (std::vector<uint32_t>{0, 64, 128, 192, 256, 320}));
}

TEST(TensorMap, LoadedElements) {
  TensorMap map = smallMap();
  EXPECT_EQ(map.convertLoaded(0x3F801FFF), 0x3F801FFFu);
  map.type = MapElement::TF32;
  EXPECT_EQ(map.convertLoaded(0x054113D7), 0x05412000u);
  EXPECT_EQ(map.convertLoaded(0x7A06ED87), 0x7A06E000u);
  // The rest as measured: ties to even, subnormal numbers kept, one NaN.
  EXPECT_EQ(map.convertLoaded(0x3F801000), 0x3F800000u);
  EXPECT_EQ(map.convertLoaded(0x3F803000), 0x3F804000u);
  EXPECT_EQ(map.convertLoaded(0x00003000), 0x00004000u);
  EXPECT_EQ(map.convertLoaded(0x7F7FF000), 0x7F800000u);
  EXPECT_EQ(map.convertLoaded(0x7F800001), 0x7FFFE000u);
  map.type = MapElement::F32Ftz;
  EXPECT_EQ(map.convertLoaded(0x807FFFFF), 0x807FFFFFu);
  map.nanFill = true;
  EXPECT_EQ(map.fillPattern(), 0x7FF7u);
}

} // namespace
