//===- MachineTest.cpp - schedules and residency ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a run must not depend on (seed, policy, worker threads) and what it must
// notice (a wait for a cluster that cannot start).
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Simulator.h"

#include "gtest/gtest.h"

#include <cstring>

using namespace fa4::sim;

namespace {
struct Outcome {
  bool clean = false;
  std::vector<uint8_t> bytes;
  std::vector<Fault> faults;
};

/// Runs entry `k(out)` with `bytes` zero bytes of output.
Outcome run(const std::string &body, Launch launch, Options options, size_t bytes) {
  std::string text = ".version 8.0\n.target sm_90a\n.address_size 64\n" + body;
  Outcome outcome;
  auto program = Program::load(text);
  if (!program) {
    ADD_FAILURE() << llvm::toString(program.takeError());
    return outcome;
  }
  auto kernel = (*program)->kernel("k");
  if (!kernel) {
    ADD_FAILURE() << llvm::toString(kernel.takeError());
    return outcome;
  }
  GlobalMemory memory(options.seed);
  uint64_t out = memory.allocate("out", bytes);
  memory.write(out, std::vector<uint8_t>(bytes));
  launch.params.resize(8);
  std::memcpy(launch.params.data(), &out, 8);
  FaultLog log;
  outcome.clean = runGrid(**kernel, launch, memory, options, log);
  outcome.bytes.resize(bytes);
  memory.read(out, outcome.bytes);
  outcome.faults = log.take();
  return outcome;
}

/// Every CTA waits until the one after it has raised its flag.
const char chain[] = R"(
  .visible .entry k(.param .u64 out) {
    .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %nctaid.x;
    mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
    add.u32 %r3, %r1, 1; setp.eq.u32 %p1, %r3, %r2;
    @%p1 bra RAISE;
  WAIT:
    ld.acquire.gpu.global.u32 %r4, [%rd3+4];
    setp.eq.u32 %p2, %r4, 0;
    @%p2 bra WAIT;
  RAISE:
    st.release.gpu.global.u32 [%rd3], 1;
    ret;
  })";
} // namespace

TEST(Machine, WaitsForLaterClustersWithinResidency) {
  Launch launch;
  launch.grid = {6, 1, 1};
  for (unsigned threads : {1u, 2u}) {
    Options options;
    options.threads = threads;
    options.resident = 6;
    Outcome o = run(chain, launch, options, 24);
    EXPECT_TRUE(o.clean);
    for (unsigned i = 0; i < 24; i += 4) {
      EXPECT_EQ(o.bytes[i], 1) << i;
    }
  }
}

TEST(Machine, AWaitForAClusterThatCannotStartIsADeadlock) {
  Launch launch;
  launch.grid = {6, 1, 1};
  Options options;
  options.threads = 1;
  options.resident = 3;
  Outcome o = run(chain, launch, options, 24);
  EXPECT_FALSE(o.clean);
  ASSERT_FALSE(o.faults.empty());
  EXPECT_EQ(o.faults.front().id, FaultId::Deadlock);
}

/// Each warp adds its number to a word under a lock in shared memory, and lanes
/// of a warp diverge while they do other work.
const char locked[] = R"(
  .shared .align 8 .b8 cell[8];
  .visible .entry k(.param .u64 out) {
    .reg .pred %p<6>; .reg .b32 %r<16>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 31; shr.u32 %r3, %r1, 5;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 st.shared.b32 [cell], 0;
    @%p1 st.shared.b32 [cell+4], 0;
    bar.sync 0;
    setp.ne.u32 %p2, %r2, 0;
    @%p2 bra DONE;
  LOCK:
    atom.shared.cas.b32 %r4, [cell], 0, 1;
    setp.ne.u32 %p3, %r4, 0;
    @%p3 bra LOCK;
    ld.shared.b32 %r5, [cell+4];
    mad.lo.u32 %r5, %r5, 1, %r3;
    st.shared.b32 [cell+4], %r5;
    atom.shared.exch.b32 %r6, [cell], 0;
  DONE:
    bar.sync 0;
    @!%p1 bra END;
    ld.shared.b32 %r7, [cell+4];
    st.global.b32 [%rd1], %r7;
  END:
    ret;
  })";

TEST(Machine, SchedulesAgree) {
  Launch launch;
  launch.block = {256, 1, 1};
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Options options;
    options.seed = seed;
    options.policy = seed % 2 ? Policy::Random : Policy::RunToBlock;
    Outcome o = run(locked, launch, options, 4);
    EXPECT_TRUE(o.clean) << seed;
    EXPECT_EQ(o.bytes[0], 28) << seed; // 0 + 1 + … + 7
  }
}

TEST(Machine, FaultsCarryTheSourceLine) {
  Outcome o = run(R"(.file 1 "kernel.py"
    .visible .entry k(.param .u64 out) {
      .reg .b64 %rd<2>;
      .loc 1 77 3
      ld.param.u64 %rd1, [out];
      st.global.b32 [%rd1+4], 1;
      ret; })",
                  Launch(), Options(), 4);
  ASSERT_EQ(o.faults.size(), 1u);
  EXPECT_EQ(o.faults[0].site.sourceFile, "kernel.py");
  EXPECT_EQ(o.faults[0].site.sourceLine, 77u);
  EXPECT_EQ(o.faults[0].site.line, 9u);
}
