//===- LayoutsTest.cpp ----------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Layouts.h"
#include "gtest/gtest.h"
#include <set>
#include <tuple>

using namespace fa4::sim;

namespace {

TEST(Swizzle, IsAPermutationOfEveryPeriod) {
  for (Swizzle swizzle : {Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128,
                          Swizzle::B128Atom32, Swizzle::B128Atom32Flip8, Swizzle::B128Atom64}) {
    unsigned period = swizzlePeriod(swizzle);
    std::set<uint32_t> seen;
    for (uint32_t offset = 0; offset < period; ++offset) {
      uint32_t to = swizzleAddress(swizzle, 7 * period + offset);
      EXPECT_EQ(to / period, 7u);
      seen.insert(to);
      // Aligned 16-byte pieces (8-byte ones with the flip) stay whole.
      unsigned piece = swizzle == Swizzle::B128Atom32Flip8 ? 8 : 16;
      EXPECT_EQ(to % piece, offset % piece);
    }
    EXPECT_EQ(seen.size(), period);
  }
}

TEST(Swizzle, ChunkOfRow) {
  // 128B: chunk c of row r lands at chunk c ^ (r & 7).
  for (unsigned row = 0; row < 16; ++row) {
    for (unsigned chunk = 0; chunk < 8; ++chunk) {
      EXPECT_EQ(swizzleAddress(Swizzle::B128, 2048 + row * 128 + chunk * 16),
                2048 + row * 128 + ((chunk ^ (row & 7)) * 16));
    }
  }
  EXPECT_EQ(swizzleAddress(Swizzle::B32, 0x90), 0x80u);
  EXPECT_EQ(swizzleAddress(Swizzle::B64, 0x190), 0x1A0u);
}

TEST(MatrixDescriptor, DecodesTheKnownConstants) {
  llvm::Expected<MatrixDescriptor> hopper = decodeWgmmaDescriptor(0x4000004000010000 | 0x40);
  ASSERT_TRUE(bool(hopper));
  EXPECT_EQ(hopper->start, 0x400u);
  EXPECT_EQ(hopper->leading, 16u);
  EXPECT_EQ(hopper->stride, 1024u);
  EXPECT_EQ(hopper->swizzle, Swizzle::B128);
  llvm::Expected<MatrixDescriptor> blackwell = decodeTcgen05Descriptor(0x4000404000010000 | 0x3FFF);
  ASSERT_TRUE(bool(blackwell));
  EXPECT_EQ(blackwell->start, 0x3FFF0u);
  EXPECT_EQ(blackwell->swizzle, Swizzle::B128);
}

TEST(MatrixDescriptor, RefusesWhatIsIllegalOrNotModelled) {
  auto message = [](llvm::Expected<MatrixDescriptor> result) {
    EXPECT_FALSE(bool(result));
    return result ? std::string() : llvm::toString(result.takeError());
  };
  EXPECT_EQ(message(decodeWgmmaDescriptor(uint64_t(1) << 46)),
            "expected the reserved bits of a wgmma descriptor to be 0, but got 1");
  EXPECT_EQ(message(decodeTcgen05Descriptor(0)),
            "expected bits 46 to 48 of a tcgen05 descriptor to be 1, but got 0");
  EXPECT_EQ(message(decodeTcgen05Descriptor(uint64_t(1) << 46 | uint64_t(3) << 61)),
            "expected the swizzle code of a tcgen05 descriptor to be 0, 1, 2, 4 or 6, but got 3");
}

TEST(MatrixDescriptor, ElementAddresses) {
  // K-major, 128B: rows of 128 bytes in groups of 8; k walks inside the line.
  MatrixDescriptor kMajor{0x400 + 32, 16, 1024, Swizzle::B128};
  EXPECT_EQ(kMajor.elementAddress(false, 2, 0, 0), 0x420u);
  EXPECT_EQ(kMajor.elementAddress(false, 2, 1, 0), 0x420u + (128 ^ 16));
  EXPECT_EQ(kMajor.elementAddress(false, 2, 9, 3), (0x420u + 1024 + 128 + 6) ^ 16);
  // K-major without swizzle: core matrices of 8 rows x 16 bytes.
  MatrixDescriptor plain{0x400, 128, 256, Swizzle::None};
  EXPECT_EQ(plain.elementAddress(false, 2, 9, 11), 0x400u + 16 + 256 + 128 + 6);
  // MN-major, 128B: 64 rows of N a line, 8 lines of K a group.
  MatrixDescriptor mnMajor{0x400, 8192, 1024, Swizzle::B128};
  EXPECT_EQ(mnMajor.elementAddress(true, 2, 65, 9), (0x400u + 2 + 8192 + 128 + 1024) ^ 16);
  // MN-major without swizzle: the strides change their roles.
  MatrixDescriptor mnPlain{0x400, 512, 128, Swizzle::None};
  EXPECT_EQ(mnPlain.elementAddress(true, 2, 9, 9), 0x400u + 2 + 128 + 16 + 512);
}

TEST(MatrixDescriptor, BaseOffsetMovesThePattern) {
  // A tile that starts two lines into a pattern, with the base offset saying so.
  llvm::Expected<MatrixDescriptor> tile =
      decodeWgmmaDescriptor(0x4000004000010000 | 0x50 | uint64_t(2) << 49);
  ASSERT_TRUE(bool(tile));
  EXPECT_EQ(tile->elementAddress(false, 2, 0, 0), 0x500u);
  EXPECT_EQ(tile->elementAddress(false, 2, 1, 0), 0x580u + 16);
}

TEST(InstructionDescriptor, DecodesTheKnownConstants) {
  auto decode = [](uint32_t bits, unsigned ctas) {
    llvm::Expected<InstructionDescriptor> result =
        decodeInstructionDescriptor(MmaKind::F16, ctas, bits);
    EXPECT_TRUE(bool(result));
    return result ? *result : InstructionDescriptor{};
  };
  InstructionDescriptor qk = decode(0x08200490, 1);
  EXPECT_EQ(std::tuple(qk.m, qk.n, qk.k, qk.aMnMajor, qk.bMnMajor),
            std::tuple(128u, 128u, 16u, false, false));
  EXPECT_EQ(std::tuple(qk.a, qk.b, qk.d),
            std::tuple(ElementType::BF16, ElementType::BF16, ElementType::F32));
  InstructionDescriptor pv = decode(0x08110490, 1);
  EXPECT_EQ(std::tuple(pv.m, pv.n, pv.bMnMajor), std::tuple(128u, 64u, true));
  InstructionDescriptor pair = decode(0x10200490, 2);
  EXPECT_EQ(std::tuple(pair.m, pair.n), std::tuple(256u, 128u));
}

TEST(InstructionDescriptor, Refusals) {
  auto message = [](MmaKind kind, unsigned ctas, uint32_t bits) {
    llvm::Expected<InstructionDescriptor> result = decodeInstructionDescriptor(kind, ctas, bits);
    EXPECT_FALSE(bool(result));
    return result ? std::string() : llvm::toString(result.takeError());
  };
  EXPECT_EQ(message(MmaKind::F16, 1, 0x10200490),
            "expected M of an instruction descriptor to be 64 or 128 for one CTA, but got 256");
  EXPECT_EQ(message(MmaKind::F16, 1, 0x08000490), "expected N of an instruction descriptor to be a "
                                                  "multiple of 8 from 8 to 256, but got 0");
  EXPECT_EQ(message(MmaKind::F16, 1, 0x08200491), "expected the sparse, reserved and shift bits of "
                                                  "an instruction descriptor to be 0, but got 1");
  EXPECT_EQ(message(MmaKind::F16, 1, 0x08200480),
            "expected the result type of bf16 operands to be f32, but got f16");
  EXPECT_EQ(message(MmaKind::F8F6F4, 1, 0x08200010 | 5 << 7),
            "expected the operand type of kind::f8f6f4 to be 0 (e4m3) or 1 (e5m2), since 4- and "
            "6-bit types are not modelled, but got 5");
}

TEST(Tmem, EveryShapeIsABijection) {
  for (TmemShape shape : {TmemShape::S32x32b, TmemShape::S16x64b, TmemShape::S16x128b,
                          TmemShape::S16x256b, TmemShape::S16x32bx2}) {
    for (unsigned repeat = 1; repeat <= tmemLargestRepeat(shape); repeat *= 2) {
      unsigned registers = repeat * tmemRegistersPerRepeat(shape);
      unsigned rows = shape == TmemShape::S32x32b ? 32 : 16;
      unsigned columns = tmemColumns(shape, repeat);
      unsigned split = 3 + columns;
      std::set<std::pair<unsigned, unsigned>> seen;
      for (unsigned lane = 0; lane < 32; ++lane) {
        for (unsigned index = 0; index < registers; ++index) {
          TmemCell cell = tmemCell(shape, lane, index, split);
          EXPECT_LT(cell.row, rows);
          EXPECT_LT(cell.column, shape == TmemShape::S16x32bx2 ? split + columns : columns);
          seen.insert({cell.row, cell.column});
        }
      }
      EXPECT_EQ(seen.size(), 32u * registers);
    }
  }
}

TEST(Tmem, AccumulatorsOfEveryShapeAreInjective) {
  for (auto [ctas, m] : {std::pair(1u, 64u), {1u, 128u}, {2u, 128u}, {2u, 256u}}) {
    std::set<std::tuple<unsigned, unsigned, unsigned>> seen;
    constexpr unsigned kColumns = 64;
    for (unsigned row = 0; row < m; ++row) {
      for (unsigned column = 0; column < kColumns; ++column) {
        AccumulatorPlace place = accumulatorPlace(ctas, m, kColumns, row, column);
        EXPECT_LT(place.cta, ctas);
        EXPECT_LT(place.lane, kTmemLanes);
        EXPECT_LT(place.column, kColumns);
        seen.insert({place.cta, place.lane, place.column});
      }
    }
    EXPECT_EQ(seen.size(), m * kColumns);
  }
  AccumulatorPlace half = accumulatorPlace(1, 64, 8, 17, 3);
  EXPECT_EQ(half.lane, 33u);
  AccumulatorPlace folded = accumulatorPlace(2, 128, 64, 65, 40);
  EXPECT_EQ(std::tuple(folded.cta, folded.lane, folded.column), std::tuple(1u, 65u, 8u));
}

TEST(Fragments, CoverTheirMatrices) {
  // Accumulators of 64 x 16, left operands of one instruction, right operands.
  for (ElementType type : {ElementType::F32, ElementType::F16}) {
    std::set<std::pair<unsigned, unsigned>> seen;
    unsigned parts = type == ElementType::F16 ? 2 : 1;
    for (unsigned warp = 0; warp < 4; ++warp) {
      for (unsigned lane = 0; lane < 32; ++lane) {
        for (unsigned index = 0; index < 8 / parts; ++index) {
          for (unsigned part = 0; part < parts; ++part) {
            FragmentElement at = accumulatorElement(type, warp, lane, index, part);
            EXPECT_TRUE(at.row < 64 && at.column < 16);
            seen.insert({at.row, at.column});
          }
        }
      }
    }
    EXPECT_EQ(seen.size(), 64u * 16);
  }
  for (unsigned perRegister : {1u, 2u, 4u}) {
    std::set<std::pair<unsigned, unsigned>> left, right;
    for (unsigned lane = 0; lane < 32; ++lane) {
      for (unsigned part = 0; part < perRegister; ++part) {
        for (unsigned index = 0; index < 4; ++index) {
          FragmentElement at = leftElement(perRegister, 0, lane, index, part);
          left.insert({at.row, at.column});
        }
        for (unsigned index = 0; index < 2; ++index) {
          FragmentElement at = rightElement(perRegister, lane, index, part);
          right.insert({at.row, at.column});
        }
      }
    }
    EXPECT_EQ(left.size(), 16u * 8 * perRegister);
    EXPECT_EQ(right.size(), 8u * 8 * perRegister);
  }
  EXPECT_EQ(leftElement(2, 1, 5, 3, 1).column, 2u + 1 + 8);
  EXPECT_EQ(leftElement(2, 1, 5, 3, 1).row, 16u + 1 + 8);
  EXPECT_EQ(matrixElement(true, 5, 1).row, 3u);
  EXPECT_EQ(matrixElement(true, 5, 1).column, 1u);
}

} // namespace
