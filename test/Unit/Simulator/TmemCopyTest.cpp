//===- TmemCopyTest.cpp - tcgen05.cp --------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every word of shared memory is its own index, so each cell of tensor memory says
// where it came from. The places are computed from PTX ISA's pictures: 8 rows of
// 16 bytes are adjacent, a chunk of 16 bytes further along the row is the leading
// offset away, 8 rows further are the stride away.
//
//===----------------------------------------------------------------------===//

#include "PtxRun.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace fa4::sim;
using namespace fa4::sim::test;
using llvm::formatv;

namespace {

constexpr unsigned kLanes = 128, kColumns = 8, kWords = 4096;
constexpr unsigned kLeading = 128, kStride = 512; ///< bytes
constexpr uint32_t kUntouched = 0xABCD0000;       ///< what the cells held before

struct Form {
  const char *name;
  unsigned rows, columns;
  /// The row that lane l gets.
  unsigned (*rowOf)(unsigned lane);
};

const Form kForms[] = {
    {"128x256b", 128, 8, [](unsigned lane) { return lane; }},
    {"128x128b", 128, 4, [](unsigned lane) { return lane; }},
    {"64x128b.warpx2::02_13", 64, 4, [](unsigned lane) { return lane % 64; }},
    {"64x128b.warpx2::01_23", 64, 4, [](unsigned lane) { return lane / 64 * 32 + lane % 32; }},
    {"32x128b.warpx4", 32, 4, [](unsigned lane) { return lane % 32; }},
};

std::string kernelText(llvm::StringRef form, llvm::StringRef issue = "setp.eq.u32 p, tid, 0;",
                       unsigned firstWord = 0) {
  uint64_t descriptor = uint64_t(kLeading / 16) << 16 | uint64_t(kStride / 16) << 32 |
                        uint64_t(1) << 46; // version bits; no swizzle
  return formatv(R"(
.version 8.8
.target sm_100a
.address_size 64
.extern .shared .align 1024 .b8 data[];
.visible .entry test(.param .u64 input, .param .u64 output)
{{
  .reg .b64 out, desc, low; .reg .b32 tid, slot, tmem, mine, at, base, bar, %d<8>; .reg .pred p, q;
  .shared .align 8 .b8 words[16];
  mov.u32 tid, %tid.x; mov.u32 slot, words; add.u32 bar, slot, 8; ld.param.u64 out, [output];
  setp.ne.u32 q, tid, 0;
  @!q mbarrier.init.shared.b64 [bar], 1;
  setp.ge.u32 p, tid, 32; @p bra ALLOCATED;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;
ALLOCATED:
  mov.u32 base, data; mad.lo.u32 at, tid, 4, base; mov.u32 %d0, tid;
FILL:
  setp.ge.u32 p, %d0, {1};
  @p st.shared.b32 [at], %d0;
  add.u32 at, at, 512; add.u32 %d0, %d0, 128; setp.lt.u32 p, %d0, {2}; @p bra FILL;
  fence.proxy.async.shared::cta;
  bar.sync 0; ld.shared.b32 tmem, [slot];
  and.b32 mine, tid, 96; shl.b32 mine, mine, 16; add.u32 mine, mine, tmem;
  mov.u32 %d1, {3};
  tcgen05.st.sync.aligned.32x32b.x8.b32 [mine], {{%d1, %d1, %d1, %d1, %d1, %d1, %d1, %d1};
  tcgen05.wait::st.sync.aligned;
  tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;
  shr.u32 %d0, base, 4; cvt.u64.u32 low, %d0; mov.u64 desc, {4}; or.b64 desc, desc, low;
  {5}
  @p tcgen05.cp.cta_group::1.{0} [tmem], desc;
  @!q tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 p, [bar], 0; @!p bra WAIT;
  tcgen05.fence::after_thread_sync;
  tcgen05.ld.sync.aligned.32x32b.x8.b32 {{%d0, %d1, %d2, %d3, %d4, %d5, %d6, %d7}, [mine];
  tcgen05.wait::ld.sync.aligned;
  mad.wide.u32 out, tid, 32, out;
  st.global.v4.b32 [out], {{%d0, %d1, %d2, %d3}; st.global.v4.b32 [out+16], {{%d4, %d5, %d6, %d7};
  bar.sync 0; setp.ge.u32 p, tid, 32; @p bra DONE;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 tmem, 32;
DONE:
  ret;
}
)",
                 form, firstWord, kWords, kUntouched, descriptor, issue)
      .str();
}

std::string run(const std::string &text, std::vector<uint32_t> &output, Policy policy) {
  PtxRun run;
  run.sharedBytes = kWords * 4;
  run.options.policy = policy;
  run.options.seed = 5;
  output.assign(kLanes * kColumns, 0);
  return run(text, {0}, output);
}

TEST(TmemCopy, EveryFormPutsRowsOnItsLanes) {
  for (const Form &form : kForms) {
    for (Policy policy : {Policy::RunToBlock, Policy::Random}) {
      std::vector<uint32_t> output;
      ASSERT_EQ(run(kernelText(form.name), output, policy), "") << form.name;
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        unsigned row = form.rowOf(lane);
        for (unsigned column = 0; column < kColumns; ++column) {
          unsigned bytes =
              row / 8 * kStride + row % 8 * 16 + column / 4 * kLeading + column % 4 * 4;
          ASSERT_EQ(output[lane * kColumns + column],
                    column < form.columns ? bytes / 4 : kUntouched)
              << form.name << " lane " << lane << " column " << column;
        }
      }
    }
  }
}

TEST(TmemCopy, RefusesWhatHasNoModel) {
  for (const char *form : {"4x256b", "64x128b", "128x256b.warpx4", "32x128b.warpx4.b8x16.b6x16_p32",
                           "64x128b.warpx2::02_13.warpx2::01_23"}) {
    std::vector<uint32_t> output;
    EXPECT_NE(run(kernelText(form), output, Policy::RunToBlock).find("expected"), std::string::npos)
        << form;
  }
}

TEST(TmemCopy, ReportsFaults) {
  std::vector<uint32_t> output;
  EXPECT_EQ(run(kernelText("128x256b", "setp.lt.u32 p, tid, 32;"), output, Policy::RunToBlock),
            "MMA-LANES");
  EXPECT_EQ(run(kernelText("128x256b", "setp.eq.u32 p, tid, 0;", 64), output, Policy::RunToBlock),
            "UNINIT-SMEM");
  EXPECT_EQ(run(kernelText("128x256b", "setp.eq.u32 p, tid, 0; add.u32 tmem, tmem, 28;"), output,
                Policy::RunToBlock),
            "TM-RANGE");
  EXPECT_EQ(run(kernelText("128x256b", "setp.eq.u32 p, tid, 0; add.u32 tmem, tmem, 0x200000;"),
                output, Policy::RunToBlock),
            "TM-LANE");
}

} // namespace
