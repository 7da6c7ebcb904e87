//===- KnownTargets.cpp - the one table of hardware numbers ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One row per chip; each number names its source. Nothing else in the project
// may contain such a number: passes read `#fa4.target`, which this table fills.
//
// Sources: [G] CUDA C++ Programming Guide 13.0, "Technical Specifications per
// Compute Capability" and "Throughput of Native Arithmetic Instructions";
// [P] PTX ISA 8.8; [C] CUTLASS 4 (include/cute/arch, SM90 and SM100 MMA traits);
// [F] FlashAttention-4 paper, table of unit rates; [S] the tile schedulers of
// FlashAttention-3 and FlashAttention-4; [D] derived, as said.
//
//===----------------------------------------------------------------------===//

#include "fa4/Target/TargetInfo.h"

#include "llvm/ADT/STLExtras.h"

#include <array>

using namespace fa4;

/// What compute capabilities 9.0, 10.0 and 10.3 have in common.
static TargetInfo makeCommon() {
  TargetInfo info;
  info.threadsPerWarp = 32;         // [G] warp size
  info.maxThreadsPerCta = 1024;     // [G] maximum number of threads per block
  info.maxCtasPerCluster = 8;       // [G] portable cluster size
  info.namedBarriers = 16;          // [P] bar/barrier: resources 0 to 15
  info.registersPerSm = 65536;      // [G] 32-bit registers per SM (and per block)
  info.maxRegistersPerThread = 255; // [G] maximum number of registers per thread
  info.registerGranule = 8;         // [P] setmaxnreg: multiples of 8
  info.minRoleRegisters = 24;       // [P] setmaxnreg: 24 to 256
  info.maxRoleRegisters = 256;      // [P] same
  info.smemBytesPerCta = 232448;    // [G] 227 KB per block, 1 KB of 228 is the system's
  info.smemSwizzleBytes = 1024;     // [P] 128-byte swizzle repeats after 8 rows of 128 B
  info.mmaKBytes = 32;              // [P] K = 16 of 16-bit, 32 of 8-bit elements
  info.fmaPerClock = 128;           // [G] 32-bit multiply-add per SM and clock
  info.smemBytesPerClock = 128;     // [F] 32 banks of 4 B; measured by its authors
  info.mmaIssueOrder = true;        // [C] both rely on it; [P] promises it per accumulator only
  return info;
}

static TargetInfo makeSm90a() {
  TargetInfo info = makeCommon();
  info.chip = "sm_90a";
  info.ptxVersion = 80; // [P] wgmma and setmaxnreg since PTX ISA 8.0
  info.mmaRows = {64};  // [P] wgmma.mma_async: M is 64
  info.mmaColumnStep = 8;
  info.mmaMaxColumns = 256;     // [P] N is 8 to 256 in steps of 8
  info.mmaFlopsPerClock = 4096; // [D] 989.5 TFLOP/s dense bf16 / (132 SMs x 1.83 GHz), H100 SXM
  info.exp2PerClock = 16;       // [G] rcp, rsqrt, ex2, lg2, sin, cos per SM and clock
  info.l2SectionBytes = int64_t{32} << 20; // [S] of 50 MB; docs/Targets.md
  info.asyncWarpgroupMma = true;
  return info;
}

static TargetInfo makeSm100a() {
  TargetInfo info = makeCommon();
  info.chip = "sm_100a";
  info.ptxVersion = 88;       // [P] newest that the base tcgen05 set needs no more than
  info.tmemLanes = 128;       // [P] tensor memory: 128 lanes x 512 columns of 32 bit
  info.tmemColumns = 512;     // [P] same
  info.tmemAllocGranule = 32; // [P] tcgen05.alloc: powers of two from 32
  info.mmaRows = {64, 128};   // [P] tcgen05.mma cta_group::1, kind::f16
  info.pairMmaRows = {128, 256};
  info.mmaColumnStep = 16;      // [C] M = 128 and pairs; the ISA alone would allow 8 in places
  info.mmaMaxColumns = 256;     // [P] N up to 256
  info.mmaFlopsPerClock = 8192; // [F] bf16 dense; 2.25 PFLOP/s / (148 x 1.85 GHz)
  info.exp2PerClock = 16;       // [F] [G]
  info.l2SectionBytes = int64_t{50} << 20; // [S]
  info.ctaPairs = true;                    // [P] cta_group::2
  info.clusterLaunchControl = true;
  info.packedF32x2 = true;      // [P] add, mul, fma .f32x2 need sm_100
  info.threeInputMaxF32 = true; // [P] three-input max.f32 needs sm_100
  return info;
}

static TargetInfo makeSm103a() {
  TargetInfo info = makeSm100a();
  info.chip = "sm_103a";
  info.exp2PerClock = 32;     // [F] doubled on B300; the other rates stay
  info.tmemLoadReduce = true; // [P] tcgen05.ld.red: not on sm_100
  return info;
}

static llvm::ArrayRef<TargetInfo> rows() {
  static const std::array<TargetInfo, 3> table = {makeSm90a(), makeSm100a(), makeSm103a()};
  return table;
}

const TargetInfo *fa4::lookupTarget(llvm::StringRef chip) {
  const TargetInfo *row =
      llvm::find_if(rows(), [&](const TargetInfo &info) { return info.chip == chip; });
  return row == rows().end() ? nullptr : row;
}

llvm::ArrayRef<llvm::StringRef> fa4::knownTargets() {
  static const auto names = [] {
    std::array<llvm::StringRef, 3> result;
    llvm::transform(rows(), result.begin(),
                    [](const TargetInfo &info) { return llvm::StringRef(info.chip); });
    return result;
  }();
  return names;
}
