//===- RacesTest.cpp ------------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each kernel is clean as it stands. A line that ends in `//! ID` is an edge: without
// it the detector must report that id; `//! ID: text` puts the text in its place.
//
//===----------------------------------------------------------------------===//

#include "PtxRun.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace fa4::sim;
using namespace fa4::sim::test;
using llvm::StringRef;

namespace {

struct Kernel {
  const char *name, *target;
  unsigned grid, block, cluster;
  const char *body;
};

constexpr const char *kHopper = "sm_90a", *kBlackwell = "sm_100a";
constexpr uint32_t kSharedBytes = 16384;

/// Line by line, because a line is what can be taken out.
std::string wrap(const Kernel &k, StringRef body) {
  return llvm::formatv(R"(
.version 8.8
.target {0}
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry test(.param .u64 input, .param .u64 output) .reqnctapercluster {1}, 1, 1
{{
  .reg .pred p, q, first, never;
  .reg .b32 tid, warp, lane, rank, base, a, b, c, tmem, f<4>;
  .reg .b64 in, out, x, y, zero;
  mov.u32 tid, %tid.x; shr.u32 warp, tid, 5; and.b32 lane, tid, 31;
  mov.u32 rank, %ctaid.x; mov.u32 base, smem; mov.b64 zero, 0;
  ld.param.u64 in, [input]; ld.param.u64 out, [output];
  setp.eq.u32 first, tid, 0; setp.eq.u32 p, warp, 0; setp.ne.u32 never, tid, tid;
{2}
  ret;
}
)",
                       k.target, k.cluster, body)
      .str();
}

std::string run(const Kernel &k, StringRef body, bool randomly, uint64_t seed, bool isa = false,
                bool strictScope = true) {
  PtxRun ptx;
  ptx.grid = k.grid;
  ptx.block = k.block;
  ptx.sharedBytes = kSharedBytes;
  ptx.options.races = true;
  ptx.options.pipeIsa = isa;
  ptx.options.strictScope = strictScope;
  ptx.options.policy = randomly ? Policy::Random : Policy::RunToBlock;
  ptx.options.seed = seed;
  ptx.options.instructionBudget = 1 << 20;
  std::vector<uint32_t> input(1024), output(1024);
  return ptx(wrap(k, body), input, output);
}

const Kernel kKernels[] = {
    {"HandOver", kHopper, 1, 64, 1, R"(
  mad.lo.u32 a, lane, 4, base;
  @p st.shared.b32 [a], lane;
  bar.sync 0; //! RACE-RW
  @!p ld.shared.b32 b, [a];
)"},
    {"Reuse", kHopper, 1, 64, 1, R"(
  mad.lo.u32 a, lane, 4, base;
  @p st.shared.b32 [a], lane;
  @p ld.shared.b32 b, [a];
  bar.sync 0; //! RACE-WR RACE-WW
  @!p st.shared.b32 [a], lane;
)"},
    {"NeighboursShareACell", kHopper, 1, 64, 1, R"(
  mad.lo.u32 a, tid, 1, base; //! RACE-WW: mov.u32 a, base;
  st.shared.b8 [a], lane;
)"},
    {"BulkStore", kHopper, 1, 64, 1, R"(
  mad.lo.u32 a, tid, 4, base;
  st.shared.b32 [a], lane;
  fence.proxy.async.shared::cta; //! RACE-PROXY
  bar.sync 0; //! RACE-RW
  @!first bra END;
  cp.async.bulk.global.shared::cta.bulk_group [out], [base], 256;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group.read 0;
END:
)"},
    {"FenceOfTheIssuer", kHopper, 1, 64, 1, R"(
  mad.lo.u32 a, tid, 4, base;
  st.shared.b32 [a], lane;
  bar.sync 0;
  @!first bra END;
  fence.proxy.async; //! RACE-PROXY: fence.proxy.async.global;
  cp.async.bulk.global.shared::cta.bulk_group [out], [base], 256;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group.read 0;
END:
)"},
    {"SourceReuse", kHopper, 1, 32, 1, R"(
  @!first bra END;
  st.shared.v2.b64 [base], {zero, zero};
  fence.proxy.async.shared::cta;
  cp.async.bulk.global.shared::cta.bulk_group [out], [base], 16;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group.read 0; //! RACE-RW
  st.shared.b64 [base], zero;
  cp.async.bulk.wait_group 0;
END:
)"},
    {"ReadWaitIsNoFullWait", kHopper, 1, 32, 1, R"(
  @!first bra END;
  st.shared.v2.b64 [base], {zero, zero};
  fence.proxy.async.shared::cta;
  cp.async.bulk.global.shared::cta.bulk_group [out], [base], 16;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0; //! RACE-RW: cp.async.bulk.wait_group.read 0;
  ld.global.b64 x, [out];
END:
)"},
    {"GroupsAllowed", kHopper, 1, 32, 1, R"(
  @!first bra END;
  st.shared.v2.b64 [base], {zero, zero};
  st.shared.v2.b64 [base+16], {zero, zero};
  fence.proxy.async.shared::cta;
  cp.async.bulk.global.shared::cta.bulk_group [out], [base], 16;
  cp.async.bulk.commit_group;
  cp.async.bulk.global.shared::cta.bulk_group [out+16], [base+16], 16;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group.read 1; //! RACE-RW: cp.async.bulk.wait_group.read 2;
  st.shared.b64 [base], zero;
  cp.async.bulk.wait_group 0;
END:
)"},
    {"BulkLoad", kHopper, 1, 64, 1, R"(
  @first mbarrier.init.shared.b64 [base+4096], 1;
  @first fence.mbarrier_init.release.cluster; //! MB-VISIBLE
  bar.sync 0; //! MB-VISIBLE MB-UNINIT
  @!first bra WAIT;
  mbarrier.arrive.expect_tx.shared.b64 _, [base+4096], 16;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [base], [in], 16, [base+4096];
  WAIT: mbarrier.try_wait.parity.shared.b64 q, [base+4096], 0; @!q bra WAIT; //! RACE-WR: WAIT:
  ld.shared.b32 b, [base];
LAST:
  mbarrier.try_wait.parity.shared.b64 q, [base+4096], 0; @!q bra LAST;
)"},
    {"LoadOverAPlainWrite", kHopper, 1, 32, 1, R"(
  @!first bra END;
  mbarrier.init.shared.b64 [base+4096], 1;
  fence.mbarrier_init.release.cluster;
  st.shared.v2.b64 [base], {zero, zero};
  fence.proxy.async; //! RACE-PROXY
  mbarrier.arrive.expect_tx.shared.b64 _, [base+4096], 16;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [base], [in], 16, [base+4096];
WAIT:
  mbarrier.try_wait.parity.shared.b64 q, [base+4096], 0; @!q bra WAIT;
END:
)"},
    {"RingOneShort", kHopper, 1, 32, 1, R"(
  @!first bra END;
  mbarrier.init.shared.b64 [base+4096], 1;
  mbarrier.init.shared.b64 [base+4104], 1;
  fence.mbarrier_init.release.cluster;
  mov.u32 a, base;
  mbarrier.arrive.expect_tx.shared.b64 _, [base+4096], 16;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [a], [in], 16, [base+4096];
  add.u32 a, a, 16; //! RACE-WW
  mbarrier.arrive.expect_tx.shared.b64 _, [base+4104], 16;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [a], [in+16], 16, [base+4104];
WAIT0:
  mbarrier.try_wait.parity.shared.b64 q, [base+4096], 0; @!q bra WAIT0;
WAIT1:
  mbarrier.try_wait.parity.shared.b64 q, [base+4104], 0; @!q bra WAIT1;
END:
)"},
    // Slot reuse: the second load waits for the reader's arrival.
    {"SlotRelease", kHopper, 1, 64, 1, R"(
  @first mbarrier.init.shared.b64 [base+4096], 1;
  @first mbarrier.init.shared.b64 [base+4104], 32;
  @first fence.mbarrier_init.release.cluster;
  bar.sync 0;
  @!p bra READER;
  @!first bra END;
  mbarrier.arrive.expect_tx.shared.b64 _, [base+4096], 16;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [base], [in], 16, [base+4096];
  FREE: mbarrier.try_wait.parity.shared.b64 q, [base+4104], 0; @!q bra FREE; //! RACE-WW RACE-WR MB-COUNT
  mbarrier.arrive.expect_tx.shared.b64 _, [base+4096], 16;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [base], [in], 16, [base+4096];
LAST:
  mbarrier.try_wait.parity.shared.b64 q, [base+4096], 1; @!q bra LAST;
  bra END;
READER:
  mbarrier.try_wait.parity.shared.b64 q, [base+4096], 0; @!q bra READER;
  ld.shared.b32 b, [base];
  mbarrier.arrive.shared.b64 _, [base+4104]; //! RACE-WR: mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [base+4104];
END:
)"},
    // The last lane's arrival comes after the phase that its own write belongs to.
    {"LaneArrivals", kHopper, 1, 64, 1, R"(
  mov.u32 c, 32; //! RACE-RW: mov.u32 c, 31;
  @first mbarrier.init.shared.b64 [base+4096], c;
  bar.sync 0;
  mad.lo.u32 a, lane, 4, base;
  @!p bra READER;
  st.shared.b32 [a], lane;
  mbarrier.arrive.shared.b64 _, [base+4096];
  bra END;
READER:
  mbarrier.try_wait.parity.shared.b64 q, [base+4096], 0; @!q bra READER;
  ld.shared.b32 b, [a];
END:
)"},
    // PTX ISA 8.9.1.1: the end of a copy does not publish the issuer's writes.
    {"CompletionPublishesNothing", kHopper, 1, 64, 1, R"(
  @first mbarrier.init.shared.b64 [base+4096], 1;
  @first fence.mbarrier_init.release.cluster;
  bar.sync 0;
  @first st.shared.b32 [base+64], lane;
  @!first bra WAIT;
  mbarrier.arrive.expect_tx.shared.b64 _, [base+4096], 16;
   //! RACE-RW RACE-WR: st.shared.b32 [base+64], lane;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [base], [in], 16, [base+4096];
WAIT:
  mbarrier.try_wait.parity.shared.b64 q, [base+4096], 0; @!q bra WAIT;
  ld.shared.b32 b, [base+64];
)"},
    {"CpAsync", kHopper, 1, 64, 1, R"(
  mad.lo.u32 a, lane, 4, base;
  mad.wide.u32 x, lane, 4, in;
  @p cp.async.ca.shared.global [a], [x], 4;
  cp.async.commit_group;
  cp.async.wait_group 0; //! RACE-WR RACE-RW
  bar.sync 0; //! RACE-RW RACE-WR
  ld.shared.b32 b, [a];
  cp.async.wait_all;
)"},
    {"ReleaseAcquire", kHopper, 2, 32, 1, R"(
  setp.ne.u32 q, rank, 0; @q bra READER;
  @!first bra END;
  st.global.b32 [in], lane;
  st.release.gpu.global.b32 [in+64], 1; //! RACE-RW: st.relaxed.gpu.global.b32 [in+64], 1;
  bra END;
READER:
  ld.acquire.gpu.global.b32 b, [in+64]; //! RACE-RW: ld.relaxed.gpu.global.b32 b, [in+64];
  setp.ne.u32 q, b, 1; @q bra READER;
  ld.global.b32 c, [in];
END:
)"},
    {"Scope", kHopper, 2, 32, 1, R"(
  setp.ne.u32 q, rank, 0; @q bra READER;
  @!first bra END;
  st.global.b32 [in], lane;
  red.release.gpu.global.add.u32 [in+64], 1; //! RACE-RW: red.release.cta.global.add.u32 [in+64], 1;
  bra END;
READER:
  ld.acquire.gpu.global.b32 b, [in+64]; //! RACE-RW: ld.acquire.cta.global.b32 b, [in+64];
  setp.ne.u32 q, b, 1; @q bra READER;
  ld.global.b32 c, [in];
END:
)"},
    {"Fences", kHopper, 2, 32, 1, R"(
  setp.ne.u32 q, rank, 0; @q bra READER;
  @!first bra END;
  st.global.b32 [in], lane;
  fence.acq_rel.gpu; //! RACE-RW
  st.relaxed.gpu.global.b32 [in+64], 1;
  bra END;
READER:
  ld.volatile.global.b32 b, [in+64]; //! RACE-RW: ld.global.b32 b, [in+64];
  setp.ne.u32 q, b, 1; @q bra READER;
  membar.gl; //! RACE-RW
  ld.global.b32 c, [in];
END:
)"},
    {"Cluster", kHopper, 2, 32, 2, R"(
  xor.b32 a, rank, 1; mapa.shared::cluster.u32 c, base, a;
  @first st.shared::cluster.b32 [c], lane;
  barrier.cluster.arrive.aligned; //! RACE-RW: barrier.cluster.arrive.relaxed.aligned;
  barrier.cluster.wait.aligned;
  ld.shared.b32 b, [base];
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
)"},
    {"ClusterInit", kHopper, 2, 32, 2, R"(
  @first mbarrier.init.shared.b64 [base+4096], 1;
  fence.mbarrier_init.release.cluster; //! MB-VISIBLE
  barrier.cluster.arrive.relaxed.aligned;
  barrier.cluster.wait.aligned;
  xor.b32 a, rank, 1; mapa.shared::cluster.u32 c, base, a;
  @first mbarrier.arrive.shared::cluster.b64 _, [c+4096];
WAIT:
  mbarrier.try_wait.parity.shared.b64 q, [base+4096], 0; @!q bra WAIT;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
)"},
    {"RemoteArrival", kHopper, 2, 32, 2, R"(
  @first mbarrier.init.shared.b64 [base+4096], 1;
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  xor.b32 a, rank, 1; mapa.shared::cluster.u32 c, base, a;
  @first st.shared::cluster.b32 [c], lane;
  @first mbarrier.arrive.release.cluster.shared::cluster.b64 _, [c+4096]; //! RACE-RW: @first mbarrier.arrive.release.cta.shared::cluster.b64 _, [c+4096];
WAIT:
  mbarrier.try_wait.parity.acquire.cluster.shared.b64 q, [base+4096], 0; @!q bra WAIT; //! RACE-RW: mbarrier.try_wait.parity.acquire.cta.shared.b64 q, [base+4096], 0; @!q bra WAIT;
  ld.shared.b32 b, [base];
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
)"},
    {"RemoteRelaxed", kHopper, 2, 32, 2, R"(
  @first mbarrier.init.shared.b64 [base+4096], 1;
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  xor.b32 a, rank, 1; mapa.shared::cluster.u32 c, base, a;
  @first st.shared::cluster.b32 [c], lane;
  fence.acq_rel.cluster; //! RACE-RW
  @first mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [c+4096]; //! RACE-RW: @first mbarrier.arrive.relaxed.cta.shared::cluster.b64 _, [c+4096];
WAIT:
  mbarrier.try_wait.parity.relaxed.cluster.shared.b64 q, [base+4096], 0; @!q bra WAIT; //! RACE-RW: mbarrier.try_wait.parity.relaxed.cta.shared.b64 q, [base+4096], 0; @!q bra WAIT;
  fence.acq_rel.cluster; //! RACE-RW
  ld.shared.b32 b, [base];
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
)"},
    {"NearScope", kHopper, 2, 64, 2, R"(
  @first mbarrier.init.shared.b64 [base+4096], 32;
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  @p st.shared.b32 [base], warp;
  mapa.shared::cluster.u32 c, base, rank;
  @p mbarrier.arrive.release.cta.shared::cluster.b64 _, [c+4096]; //! RACE-RW: @p mbarrier.arrive.relaxed.cta.shared::cluster.b64 _, [c+4096];
WAIT:
  mbarrier.try_wait.parity.acquire.cta.shared.b64 q, [base+4096], 0; @!q bra WAIT;
  ld.shared.b32 b, [base];
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
)"},
    {"RemoteStore", kHopper, 2, 32, 2, R"(
  @first mbarrier.init.shared.b64 [base+4096], 1;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  @first mbarrier.arrive.expect_tx.shared.b64 _, [base+4096], 4;
  xor.b32 a, rank, 1; mapa.shared::cluster.u32 c, base, a;
  @first st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [c], lane, [c+4096];
  WAIT: mbarrier.try_wait.parity.shared.b64 q, [base+4096], 0; @!q bra WAIT; //! RACE-WR RACE-RW
  ld.shared.b32 b, [base];
LAST:
  mbarrier.try_wait.parity.shared.b64 q, [base+4096], 0; @!q bra LAST;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
)"},
    {"Wgmma", kHopper, 1, 128, 1, R"(
  mad.lo.u32 a, tid, 16, base;
  st.shared.v2.b64 [a], {zero, zero};
  setp.lt.u32 q, tid, 16; @q st.shared.v2.b64 [a+2048], {zero, zero};
  fence.proxy.async.shared::cta; //! RACE-PROXY
  bar.sync 0; //! RACE-RW UNINIT-SMEM
  shr.u32 b, base, 4; cvt.u64.u32 x, b; add.u64 y, x, 128;
  or.b64 x, x, 0x800400000; or.b64 y, y, 0x800080000;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {f0, f1, f2, f3}, x, y, never, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0; //! RACE-RW
  st.shared.v2.b64 [a], {zero, zero};
  wgmma.wait_group.sync.aligned 0;
)"},
    {"WgmmaRegisters", kHopper, 1, 128, 1, R"(
  mad.lo.u32 a, tid, 16, base;
  st.shared.v2.b64 [a], {zero, zero};
  setp.lt.u32 q, tid, 16; @q st.shared.v2.b64 [a+2048], {zero, zero};
  fence.proxy.async.shared::cta;
  bar.sync 0;
  shr.u32 b, base, 4; cvt.u64.u32 x, b; add.u64 y, x, 128;
  or.b64 x, x, 0x800400000; or.b64 y, y, 0x800080000;
  setp.eq.u32 q, tid, tid;
  wgmma.fence.sync.aligned; //! RACE-REG
  wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {f0, f1, f2, f3}, x, y, never, 1, 1, 0, 0;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {f0, f1, f2, f3}, x, y, q, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  add.f32 f1, f1, f1;
  wgmma.fence.sync.aligned; //! RACE-REG
  wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {f0, f1, f2, f3}, x, y, never, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
)"},
    {"TensorRegisters", kBlackwell, 1, 32, 1, R"(
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base], 32;
  ld.shared.b32 tmem, [base];
  tcgen05.st.sync.aligned.32x32b.x1.b32 [tmem], {lane};
  tcgen05.wait::st.sync.aligned;
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {b}, [tmem];
  tcgen05.wait::ld.sync.aligned; //! RACE-REG
  add.u32 c, b, 1;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 tmem, 32;
)"},
    // Who only passes an order on does so between its two fences.
    {"TensorRelay", kBlackwell, 1, 288, 1, R"(
  @p tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base], 32;
  bar.sync 0;
  ld.shared.b32 tmem, [base]; setp.eq.u32 q, warp, 4; setp.eq.u32 first, warp, 8;
  @p tcgen05.st.sync.aligned.32x32b.x1.b32 [tmem], {lane};
  @p tcgen05.wait::st.sync.aligned;
  @p tcgen05.fence::before_thread_sync;
  @p bar.sync 1, 64;
  @q bar.sync 1, 64;
  @q tcgen05.fence::after_thread_sync; //! RACE-TMEM
  @q tcgen05.fence::before_thread_sync; //! RACE-TMEM
  @q bar.sync 2, 64;
  @first bar.sync 2, 64;
  @first tcgen05.fence::after_thread_sync;
  @first tcgen05.ld.sync.aligned.32x32b.x1.b32 {b}, [tmem];
  @first tcgen05.wait::ld.sync.aligned;
  bar.sync 0;
  @p tcgen05.dealloc.cta_group::1.sync.aligned.b32 tmem, 32;
)"},
    // An allocation is the first write.
    {"TensorAllocation", kBlackwell, 1, 160, 1, R"(
  @p tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base], 32;
  tcgen05.fence::before_thread_sync; //! RACE-TMEM
  bar.sync 0;
  tcgen05.fence::after_thread_sync; //! RACE-TMEM
  ld.shared.b32 tmem, [base]; setp.eq.u32 q, warp, 4;
  @q tcgen05.st.sync.aligned.32x32b.x1.b32 [tmem], {lane};
  @q tcgen05.wait::st.sync.aligned;
  bar.sync 0;
  @p tcgen05.dealloc.cta_group::1.sync.aligned.b32 tmem, 32;
)"},
    {"TensorSameWarp", kBlackwell, 1, 32, 1, R"(
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base], 32;
  ld.shared.b32 tmem, [base];
  tcgen05.st.sync.aligned.32x32b.x1.b32 [tmem], {lane};
  tcgen05.wait::st.sync.aligned; //! RACE-TMEM
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {b}, [tmem];
  tcgen05.wait::ld.sync.aligned; //! RACE-TMEM
  tcgen05.st.sync.aligned.32x32b.x1.b32 [tmem], {lane};
  tcgen05.wait::st.sync.aligned; //! RACE-TMEM
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 tmem, 32;
)"},
    {"TensorHandOver", kBlackwell, 1, 160, 1, R"(
  @p tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base], 32;
  bar.sync 0;
  ld.shared.b32 tmem, [base]; setp.eq.u32 q, warp, 4;
  @p tcgen05.st.sync.aligned.16x64b.x2.b32 [tmem], {lane, lane};
  tcgen05.wait::st.sync.aligned; //! RACE-TMEM
  tcgen05.fence::before_thread_sync; //! RACE-TMEM
  bar.sync 0; //! RACE-TMEM
  tcgen05.fence::after_thread_sync; //! RACE-TMEM
  @q tcgen05.ld.sync.aligned.16x128b.x1.b32 {b, c}, [tmem];
  tcgen05.wait::ld.sync.aligned; //! RACE-TMEM
  bar.sync 0; //! RACE-TMEM TM-UAF
  @p tcgen05.dealloc.cta_group::1.sync.aligned.b32 tmem, 32;
)"},
    {"Mma", kBlackwell, 1, 128, 1, R"(
  @p tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base+8200], 32;
  @first mbarrier.init.shared.b64 [base+8192], 1;
  mad.lo.u32 a, tid, 32, base;
  st.shared.v2.b64 [a], {zero, zero}; st.shared.v2.b64 [a+16], {zero, zero};
  mad.lo.u32 b, tid, 4, base; st.shared.b32 [b+4096], 0;
  fence.proxy.async.shared::cta; //! RACE-PROXY
  bar.sync 0;
  ld.shared.b32 tmem, [base+8200];
  shr.u32 b, base, 4; cvt.u64.u32 x, b; add.u64 y, x, 256;
  or.b64 x, x, 0x400800800000; or.b64 y, y, 0x400800100000;
  setp.eq.u32 q, tid, 1;
  @first tcgen05.mma.cta_group::1.kind::f16 [tmem], x, y, 0x8040490, never;
  @first tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [base+8192]; //! RACE-TMEM: @q tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [base+8192];
  WAIT: mbarrier.try_wait.parity.shared.b64 q, [base+8192], 0; @!q bra WAIT; //! RACE-TMEM
  tcgen05.fence::after_thread_sync; //! RACE-TMEM
  shl.b32 c, warp, 21; add.u32 c, c, tmem;
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {b}, [c];
  st.shared.b64 [a], zero;
  tcgen05.wait::ld.sync.aligned;
LAST:
  mbarrier.try_wait.parity.shared.b64 q, [base+8192], 0; @!q bra LAST;
  bar.sync 0;
  @p tcgen05.dealloc.cta_group::1.sync.aligned.b32 tmem, 32;
)"},
};

/// One edge of a kernel: a line, what must be reported, what stands there instead.
struct Edge {
  size_t line;
  StringRef expected, instead;
};

void split(StringRef body, llvm::SmallVectorImpl<StringRef> &lines,
           llvm::SmallVectorImpl<Edge> &edges) {
  body.split(lines, '\n');
  for (size_t line = 0; line < lines.size(); ++line) {
    auto [text, mark] = lines[line].split("//!");
    if (!mark.empty()) {
      auto [expected, instead] = mark.split(": ");
      edges.push_back({line, expected.trim(), instead});
    }
  }
}

std::string without(llvm::ArrayRef<StringRef> lines, const Edge &edge) {
  std::string text;
  for (size_t line = 0; line < lines.size(); ++line) {
    text += (line == edge.line ? edge.instead : lines[line]).str() + "\n";
  }
  return text;
}

/// Some expected id is among those reported, and nothing else went wrong before.
bool isReported(const std::string &ids, StringRef expected) {
  llvm::SmallVector<StringRef, 4> names;
  expected.split(names, ' ');
  for (StringRef name : names) {
    if (StringRef(ids).contains(name)) {
      return true;
    }
  }
  return false;
}

class Races : public testing::TestWithParam<Kernel> {};

TEST_P(Races, CleanWithAllEdges) {
  for (bool isa : {false, true}) {
    EXPECT_EQ(run(GetParam(), GetParam().body, false, 1, isa), "");
    for (uint64_t seed = 1; seed <= 8; ++seed) {
      EXPECT_EQ(run(GetParam(), GetParam().body, true, seed, isa), "") << "seed " << seed;
    }
  }
}

TEST_P(Races, ReportedWithoutOne) {
  llvm::SmallVector<StringRef, 32> lines;
  llvm::SmallVector<Edge, 8> edges;
  split(GetParam().body, lines, edges);
  ASSERT_FALSE(edges.empty());
  for (const Edge &edge : edges) {
    std::string ids = run(GetParam(), without(lines, edge), false, 1);
    EXPECT_TRUE(isReported(ids, edge.expected))
        << "without: " << lines[edge.line].str() << "\ngot: " << ids;
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Races, testing::ValuesIn(kKernels),
                         [](const auto &info) { return std::string(info.param.name); });

/// Two accumulators that overlap: in order on the hardware, not by PTX's words.
TEST(RacesScope, LeniencyTakesEveryScopeForCluster) {
  const Kernel k = {"", kHopper, 2, 32, 2, ""};
  std::string body = R"(
  @first mbarrier.init.shared.b64 [base+4096], 1;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  xor.b32 a, rank, 1; mapa.shared::cluster.u32 c, base, a;
  @first st.shared::cluster.b32 [c], lane;
  @first mbarrier.arrive.shared::cluster.b64 _, [c+4096];
WAIT:
  mbarrier.try_wait.parity.shared.b64 q, [base+4096], 0; @!q bra WAIT;
  ld.shared.b32 b, [base];
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
)";
  EXPECT_EQ(run(k, body, false, 1, /*isa=*/false, /*strictScope=*/true), "RACE-RW");
  EXPECT_EQ(run(k, body, false, 1, /*isa=*/false, /*strictScope=*/false), "");
}

TEST(RacesPipe, OnlyTheHardwareOrders) {
  const Kernel k = {"", kBlackwell, 1, 128, 1, ""};
  std::string body = R"(
  @p tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base+8200], 32;
  @first mbarrier.init.shared.b64 [base+8192], 1;
  mad.lo.u32 a, tid, 32, base;
  st.shared.v2.b64 [a], {zero, zero}; st.shared.v2.b64 [a+16], {zero, zero};
  mad.lo.u32 b, tid, 4, base; st.shared.b32 [b+4096], 0;
  fence.proxy.async.shared::cta; bar.sync 0;
  ld.shared.b32 tmem, [base+8200];
  shr.u32 b, base, 4; cvt.u64.u32 x, b; add.u64 y, x, 256;
  or.b64 x, x, 0x400800800000; or.b64 y, y, 0x400800100000;
  @first tcgen05.mma.cta_group::1.kind::f16 [tmem], x, y, 0x8040490, never;
  @first tcgen05.mma.cta_group::1.kind::f16 [tmem], x, y, 0x8040490, first;
  add.u32 c, tmem, 8;
  @first tcgen05.mma.cta_group::1.kind::f16 [c], x, y, 0x8040490, never;
  @first tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [base+8192];
WAIT:
  mbarrier.try_wait.parity.shared.b64 q, [base+8192], 0; @!q bra WAIT;
  bar.sync 0;
  @p tcgen05.dealloc.cta_group::1.sync.aligned.b32 tmem, 32;
)";
  EXPECT_EQ(run(k, body, false, 1, /*isa=*/false), "");
  EXPECT_EQ(run(k, body, false, 1, /*isa=*/true), "RACE-PIPE");
}

} // namespace
