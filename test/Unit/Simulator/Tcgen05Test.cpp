//===- Tcgen05Test.cpp ----------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels made for each shape: an arbitrary integer product whose sums are exact
// in every order, so that only the places of elements decide.
//
//===----------------------------------------------------------------------===//

#include "PtxRun.h"

#include "fa4/Simulator/Layouts.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

#include <cmath>
#include <random>

using namespace fa4::sim;
using namespace fa4::sim::test;
using llvm::formatv;

namespace {

constexpr unsigned kImageA = 0, kImageB = 32768, kImageBytes = 65536;
constexpr unsigned kWords = kImageBytes / 4;
constexpr unsigned kLeftColumn = 256; ///< A in tensor memory

struct Shape {
  unsigned ctas = 1, m = 128, n = 64;
  const char *kind = "f16";
  ElementType type = ElementType::BF16, result = ElementType::F32;
  bool aInTmem = false, aMnMajor = false, bMnMajor = false, accumulate = true;
  bool negateA = false;
  unsigned scaleShift = 0;
  unsigned disabled = 0; ///< mask of the first 32 lanes
  unsigned kOffset = 0;  ///< K elements skipped by advancing the descriptors

  unsigned bits() const { return containerBits(type); }
  unsigned k() const { return 256 / bits(); }
  uint32_t typeCode() const {
    return type == ElementType::BF16 || type == ElementType::E5M2 ? 1
           : type == ElementType::TF32                            ? 2
                                                                  : 0;
  }
  uint32_t instruction() const {
    return uint32_t(result == ElementType::F32) << 4 | typeCode() << 7 | typeCode() << 10 |
           uint32_t(negateA) << 13 | uint32_t(aMnMajor) << 15 | uint32_t(bMnMajor) << 16 |
           (n / 8) << 17 | (m / 16) << 24;
  }
  unsigned columns() const { return ctas == 2 && m == 128 ? n / 2 : n; }
};

uint32_t encode(ElementType type, int value) {
  if (type == ElementType::F16 || type == ElementType::BF16) {
    return roundToElement(type, value);
  }
  if (type == ElementType::TF32 || type == ElementType::F32) {
    return roundToElement(ElementType::F32, value);
  }
  for (uint32_t bits = 0; bits < 256; ++bits) {
    if (elementToDouble(type, bits) == value) {
      return bits;
    }
  }
  return 0;
}

/// One CTA's operand rows in the 128-byte swizzle, as a producer writes them.
void store(std::vector<uint8_t> &image, unsigned base, const Shape &s, bool mnMajor, unsigned row,
           unsigned k, int value) {
  unsigned bytes = s.bits() / 8, line = mnMajor ? k : row, along = (mnMajor ? row : k) * bytes;
  // Eight lines of 128 bytes a group; groups of K follow at once, blocks of MN
  // (descriptor: leading) behind all of K.
  unsigned offset = line / 8 * 1024 + line % 8 * 128 + along % 128 + along / 128 * 8192;
  offset ^= (line % 8) << 4;
  uint32_t bits = encode(s.type, value);
  std::memcpy(&image[base + offset], &bits, bytes);
}

/// Where the ISA's layout figures put row m, column n: (CTA, lane, column).
std::tuple<unsigned, unsigned, unsigned> place(const Shape &s, unsigned row, unsigned column) {
  if (s.ctas == 1) {
    return {0, s.m == 64 ? row / 16 * 32 + row % 16 : row, column};
  }
  if (s.m == 256) {
    return {row >= 128, row % 128, column};
  }
  bool right = column >= s.n / 2;
  return {row >= 64, row % 64 + (right ? 64 : 0), column - (right ? s.n / 2 : 0)};
}

std::string kernelText(const Shape &s) {
  unsigned n = s.columns();
  uint64_t descriptor =
      uint64_t(8192 / 16) << 16 | uint64_t(1024 / 16) << 32 | uint64_t(1) << 46 | uint64_t(2) << 61;
  std::string group = formatv("cta_group::{0}", s.ctas).str();
  std::string text =
      formatv(R"(
.version 8.8
.target sm_100a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry test(.param .u64 input, .param .u64 output) {0}
{{
  .reg .b64 in, out, a, b, p64, q64;
  .reg .b32 tid, warp, cta, base, slot, tmem, mine, at, end, word, %c<256>, %l<8>;
  .reg .b16 mask;
  .reg .pred p, q, en;
  .shared .align 8 .b8 words[16];
  mov.u32 tid, %tid.x; shr.u32 warp, tid, 5; mov.u32 cta, %ctaid.x; mov.u32 base, smem;
  ld.param.u64 in, [input]; ld.param.u64 out, [output];
  mul.wide.u32 p64, cta, {1}; add.u64 in, in, p64;
  mul.wide.u32 p64, cta, {2}; add.u64 out, out, p64;
  mad.lo.u32 at, tid, 4, base; mad.wide.u32 p64, tid, 4, in; mov.u32 end, 0;
COPY:
  ld.global.b32 word, [p64]; st.shared.b32 [at], word;
  add.u32 at, at, 512; add.u64 p64, p64, 512; add.u32 end, end, 512;
  setp.lt.u32 p, end, {3}; @p bra COPY;
  mov.u32 slot, words;
  setp.ne.u32 p, tid, 0; @p bra INITED;
  mbarrier.init.shared.b64 [slot+8], 1; fence.mbarrier_init.release.cluster;
INITED:
  setp.ne.u32 p, warp, 0; @p bra ALLOCATED;
  tcgen05.alloc.{4}.sync.aligned.shared::cta.b32 [slot], 512;
  tcgen05.relinquish_alloc_permit.{4}.sync.aligned;
ALLOCATED:
  fence.proxy.async; bar.sync 0; ld.shared.b32 tmem, [slot];
  and.b32 mine, warp, 3; shl.b32 mine, mine, 21; add.u32 mine, mine, tmem;
  mad.wide.u32 p64, tid, {5}, in; add.u64 p64, p64, {3};
)",
              s.ctas == 2 ? ".reqnctapercluster 2, 1, 1" : "", kImageBytes + 128 * (n + 8) * 4,
              128 * n * 4, kImageBytes, group, (n + 8) * 4)
          .str();
  for (unsigned i = 0; i < n; ++i) {
    text += formatv("  ld.global.b32 %c{0}, [p64+{1}];\n", i, i * 4).str();
  }
  for (unsigned i = 0; i < 8; ++i) {
    text += formatv("  ld.global.b32 %l{0}, [p64+{1}];\n", i, (n + i) * 4).str();
  }
  for (unsigned i = 0; i < n; i += 8) {
    text += formatv("  tcgen05.st.sync.aligned.32x32b.x8.b32 [mine+{0}], {{%c{0}, %c{1}, %c{2}, "
                    "%c{3}, %c{4}, %c{5}, %c{6}, %c{7}};\n",
                    i, i + 1, i + 2, i + 3, i + 4, i + 5, i + 6, i + 7)
                .str();
  }
  text += formatv("  tcgen05.st.sync.aligned.32x32b.x8.b32 [mine+{0}], {1};\n", kLeftColumn,
                  registerList("%l", 8))
              .str();
  text += "  tcgen05.wait::st.sync.aligned; tcgen05.fence::before_thread_sync; bar.sync 0;\n";
  text += s.ctas == 2 ? "  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n" : "";
  text += formatv(R"(
  and.b32 word, cta, {0}; or.b32 word, word, tid; setp.ne.u32 p, word, 0; @p bra ISSUED;
  tcgen05.fence::after_thread_sync;
  shr.u32 word, base, 4; cvt.u64.u32 p64, word;
  add.u64 a, p64, {1}; add.u64 b, p64, {2}; setp.eq.u32 en, tid, {3};
  add.u32 word, tmem, {4};
  tcgen05.mma.{5}.kind::{6} [tmem], {7}, b, {8}{9}, en{10};
)",
                  s.ctas - 1, descriptor + kImageA / 16 + s.kOffset * s.bits() / 128,
                  descriptor + kImageB / 16 + s.kOffset * s.bits() / 128, s.accumulate ? 0 : 1,
                  kLeftColumn, group, s.kind, s.aInTmem ? "[word]" : "a", s.instruction(),
                  s.disabled ? formatv(", {{{0}, 0, 0, 0}", s.disabled).str() : "",
                  s.scaleShift ? formatv(", {0}", s.scaleShift).str() : "")
              .str();
  text += s.ctas == 2
              ? "  mov.b16 mask, 3; tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::"
                "cluster.multicast::cluster.b64 [slot+8], mask;\n"
              : "  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 "
                "[slot+8];\n";
  text += "ISSUED:\nWAIT: mbarrier.try_wait.parity.shared::cta.b64 q, [slot+8], 0; @!q bra WAIT;\n"
          "  tcgen05.fence::after_thread_sync;\n";
  text += formatv("  mad.wide.u32 p64, tid, {0}, out;\n", n * 4).str();
  for (unsigned i = 0; i < n; i += 8) {
    text += formatv("  tcgen05.ld.sync.aligned.32x32b.x8.b32 {1}, [mine+{0}];\n", i,
                    registerList("%c", 8))
                .str();
    text += "  tcgen05.wait::ld.sync.aligned;\n";
    for (unsigned j = 0; j < 8; ++j) {
      text += formatv("  st.global.b32 [p64+{0}], %c{1};\n", (i + j) * 4, j).str();
    }
  }
  text += "  tcgen05.fence::before_thread_sync; bar.sync 0;\n";
  text += s.ctas == 2 ? "  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n" : "";
  text += formatv("  setp.ne.u32 p, warp, 0; @p bra END;\n"
                  "  tcgen05.dealloc.{0}.sync.aligned.b32 tmem, 512;\nEND: ret;\n}\n",
                  group)
              .str();
  return text;
}

class Multiply : public testing::TestWithParam<Shape> {};

TEST_P(Multiply, PutsEveryElementInItsPlace) {
  const Shape &s = GetParam();
  std::mt19937 random(s.m * 1000 + s.n);
  auto small = [&] { return int(random() % 15) - 7; };
  std::vector<std::vector<int>> a(s.m, std::vector<int>(s.k())), b(s.n, std::vector<int>(s.k()));
  std::vector<std::vector<int>> c(s.m, std::vector<int>(s.n));
  unsigned n = s.columns(), perCta = kWords + 128 * (n + 8);
  std::vector<uint32_t> input(size_t(s.ctas) * perCta);
  for (unsigned cta = 0; cta < s.ctas; ++cta) {
    std::vector<uint8_t> image(kImageBytes);
    for (unsigned k = 0; k < s.k(); ++k) {
      for (unsigned row = 0; row < s.m / s.ctas; ++row) {
        int value = a[cta * s.m / s.ctas + row][k] = small();
        store(image, kImageA, s, s.aMnMajor, row, k + s.kOffset, value);
      }
      for (unsigned row = 0; row < s.n / s.ctas; ++row) {
        int value = b[cta * s.n / s.ctas + row][k] = small();
        store(image, kImageB, s, s.bMnMajor, row, k + s.kOffset, value);
      }
    }
    std::memcpy(&input[cta * perCta], image.data(), image.size());
  }
  for (unsigned row = 0; row < s.m; ++row) {
    for (unsigned column = 0; column < s.n; ++column) {
      c[row][column] = small() * (1 << s.scaleShift);
      auto [cta, lane, at] = place(s, row, column);
      input[cta * perCta + kWords + lane * (n + 8) + at] = encode(s.result, c[row][column]);
    }
    auto [cta, lane, at] = place(s, row, 0);
    for (unsigned k = 0; k < s.k(); ++k) {
      uint32_t &word = input[cta * perCta + kWords + lane * (n + 8) + n + k * s.bits() / 32];
      word |= encode(s.type, a[row][k]) << (k * s.bits() % 32);
    }
  }
  for (Policy policy : {Policy::RunToBlock, Policy::Random}) {
    PtxRun run;
    run.grid = s.ctas;
    run.sharedBytes = kImageBytes;
    run.options.policy = policy;
    run.options.seed = 3;
    std::vector<uint32_t> output(s.ctas * 128 * n);
    ASSERT_EQ(run(kernelText(s), input, output), "");
    for (unsigned row = 0; row < s.m; ++row) {
      for (unsigned column = 0; column < s.n; ++column) {
        auto [cta, lane, at] = place(s, row, column);
        int sum = s.accumulate ? c[row][column] / (1 << s.scaleShift) : 0;
        for (unsigned k = 0; k < s.k(); ++k) {
          sum += (s.negateA ? -1 : 1) * a[row][k] * b[column][k];
        }
        bool kept = lane < 32 && s.disabled >> lane & 1;
        ASSERT_EQ(output[(cta * 128 + lane) * n + at],
                  encode(s.result, kept ? c[row][column] : sum))
            << "row " << row << " column " << column;
      }
    }
  }
}

Shape shaped(unsigned ctas, unsigned m, unsigned n) {
  Shape s;
  s.ctas = ctas;
  s.m = m;
  s.n = n;
  return s;
}

template <typename Change>
Shape changed(Change change, unsigned ctas = 1, unsigned m = 128, unsigned n = 64) {
  Shape s = shaped(ctas, m, n);
  change(s);
  return s;
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Multiply,
    testing::Values(shaped(1, 128, 64), shaped(1, 128, 128), shaped(1, 128, 16), shaped(1, 64, 64),
                    shaped(2, 256, 64), shaped(2, 128, 64), shaped(2, 256, 128),
                    changed([](Shape &s) { s.aInTmem = true; }),
                    changed([](Shape &s) { s.aInTmem = true; }, 1, 64, 32),
                    changed([](Shape &s) { s.aInTmem = true; }, 2, 256, 64),
                    changed([](Shape &s) { s.bMnMajor = true; }, 1, 128, 128),
                    changed([](Shape &s) { s.aMnMajor = s.bMnMajor = true; }, 2, 256, 128),
                    changed([](Shape &s) { s.accumulate = false; }),
                    changed([](Shape &s) { s.negateA = true; }),
                    changed([](Shape &s) { s.scaleShift = 3; }),
                    changed([](Shape &s) { s.kOffset = 32; }),
                    changed([](Shape &s) { s.disabled = 0x00F0000F; }),
                    changed([](Shape &s) { s.type = s.result = ElementType::F16; }),
                    changed([](Shape &s) {
                      s.type = ElementType::E4M3;
                      s.kind = "f8f6f4";
                    }),
                    changed([](Shape &s) {
                      s.type = ElementType::E5M2;
                      s.kind = "f8f6f4";
                      s.aInTmem = true;
                    }),
                    changed([](Shape &s) {
                      s.type = ElementType::TF32;
                      s.kind = "tf32";
                    })));

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

/// Every shape and count reads what 32x32b wrote: cell (lane, column) holds its
/// own coordinates.
TEST(TmemLoad, EveryShapeAndCount) {
  struct Row {
    const char *name;
    TmemShape shape;
  };
  for (const Row &row : {Row{"32x32b", TmemShape::S32x32b}, Row{"16x64b", TmemShape::S16x64b},
                         Row{"16x128b", TmemShape::S16x128b}, Row{"16x256b", TmemShape::S16x256b},
                         Row{"16x32bx2", TmemShape::S16x32bx2}}) {
    for (unsigned repeat = 1; repeat <= tmemLargestRepeat(row.shape); repeat *= 2) {
      unsigned registers = repeat * tmemRegistersPerRepeat(row.shape);
      bool split = row.shape == TmemShape::S16x32bx2;
      std::string text = formatv(R"(
.version 8.8
.target sm_100a
.address_size 64
.visible .entry test(.param .u64 input, .param .u64 output)
{{
  .reg .b64 out; .reg .b32 tid, slot, tmem, mine, at, word, %d<128>; .reg .pred p;
  .shared .align 8 .b8 words[16];
  mov.u32 tid, %tid.x; mov.u32 slot, words; ld.param.u64 out, [output];
  setp.ge.u32 p, tid, 32; @p bra ALLOCATED;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 512;
ALLOCATED:
  bar.sync 0; ld.shared.b32 tmem, [slot];
  and.b32 mine, tid, 96; shl.b32 mine, mine, 16; add.u32 mine, mine, tmem;
  mov.u32 at, 0; shl.b32 word, tid, 16;
FILL:
  add.u32 %d1, mine, at; add.u32 %d0, word, at;
  tcgen05.st.sync.aligned.32x32b.x1.b32 [%d1], {{%d0};
  add.u32 at, at, 1; setp.lt.u32 p, at, 512; @p bra FILL;
  tcgen05.wait::st.sync.aligned;
  tcgen05.ld.sync.aligned.{0}.x{1}.b32 {2}, [mine+{3}]{4};
  tcgen05.wait::ld.sync.aligned;
  mad.wide.u32 out, tid, {5}, out;
)",
                                 row.name, repeat, registerList("%d", registers),
                                 row.shape == TmemShape::S32x32b ? 2 : (16 << 16) + 2,
                                 split ? ", 200" : "", registers * 4)
                             .str();
      for (unsigned i = 0; i < registers; ++i) {
        text += formatv("  st.global.b32 [out+{0}], %d{1};\n", i * 4, i).str();
      }
      text += "  bar.sync 0; setp.ge.u32 p, tid, 32; @p bra END;\n"
              "  tcgen05.dealloc.cta_group::1.sync.aligned.b32 tmem, 512;\nEND: ret;\n}\n";
      std::vector<uint32_t> output(128 * registers);
      ASSERT_EQ(PtxRun()(text, {0}, output), "") << row.name << " x" << repeat;
      for (unsigned thread = 0; thread < 128; ++thread) {
        unsigned l = thread % 32, first = thread / 32 * 32;
        for (unsigned r = 0; r < registers; ++r) {
          // The ISA's matrix fragments, one formula a shape.
          unsigned lane = l, column = r;
          switch (row.shape) {
          case TmemShape::S32x32b:
            break;
          case TmemShape::S16x64b:
            lane = 16 + l / 4 + (l % 2 ? 8 : 0);
            column = (l % 4) / 2 + 2 * r;
            break;
          case TmemShape::S16x128b:
            lane = 16 + l / 4 + (r % 2 ? 8 : 0);
            column = l % 4 + r / 2 * 4;
            break;
          case TmemShape::S16x256b:
            lane = 16 + l / 4 + (r % 4 >= 2 ? 8 : 0);
            column = l % 4 * 2 + r % 2 + r / 4 * 8;
            break;
          case TmemShape::S16x32bx2:
            lane = 16 + l % 16;
            column = r + (l >= 16 ? 200 : 0);
            break;
          }
          ASSERT_EQ(output[thread * registers + r], (first + lane) << 16 | (column + 2))
              << row.name << " x" << repeat << " thread " << thread << " register " << r;
        }
      }
    }
  }
}

} // namespace
