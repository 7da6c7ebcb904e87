//===- TargetInfo.cpp - fields and sanity of a target ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An invented chip is as good as a real one: what is checked here is only that
// the numbers fit together, never that they are somebody's numbers.
//
//===----------------------------------------------------------------------===//

#include "fa4/Target/TargetInfo.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace fa4;

static constexpr TargetField number(llvm::StringLiteral name, int64_t TargetInfo::*member) {
  return {name, member, nullptr, nullptr};
}
static constexpr TargetField list(llvm::StringLiteral name,
                                  std::vector<int64_t> TargetInfo::*member) {
  return {name, nullptr, member, nullptr};
}
static constexpr TargetField flag(llvm::StringLiteral name, bool TargetInfo::*member) {
  return {name, nullptr, nullptr, member};
}

llvm::ArrayRef<TargetField> fa4::targetFields() {
  static constexpr TargetField fields[] = {
      number("ptx", &TargetInfo::ptxVersion),
      number("threads_per_warp", &TargetInfo::threadsPerWarp),
      number("threads_per_cta", &TargetInfo::maxThreadsPerCta),
      number("ctas_per_cluster", &TargetInfo::maxCtasPerCluster),
      number("named_barriers", &TargetInfo::namedBarriers),
      number("registers_per_sm", &TargetInfo::registersPerSm),
      number("registers_per_thread", &TargetInfo::maxRegistersPerThread),
      number("register_granule", &TargetInfo::registerGranule),
      number("min_role_registers", &TargetInfo::minRoleRegisters),
      number("max_role_registers", &TargetInfo::maxRoleRegisters),
      number("smem_bytes_per_cta", &TargetInfo::smemBytesPerCta),
      number("smem_swizzle_bytes", &TargetInfo::smemSwizzleBytes),
      number("tmem_lanes", &TargetInfo::tmemLanes),
      number("tmem_columns", &TargetInfo::tmemColumns),
      number("tmem_alloc_granule", &TargetInfo::tmemAllocGranule),
      list("mma_rows", &TargetInfo::mmaRows),
      list("pair_mma_rows", &TargetInfo::pairMmaRows),
      number("mma_column_step", &TargetInfo::mmaColumnStep),
      number("mma_max_columns", &TargetInfo::mmaMaxColumns),
      number("mma_k_bytes", &TargetInfo::mmaKBytes),
      number("mma_flops_per_clock", &TargetInfo::mmaFlopsPerClock),
      number("exp2_per_clock", &TargetInfo::exp2PerClock),
      number("fma_per_clock", &TargetInfo::fmaPerClock),
      number("smem_bytes_per_clock", &TargetInfo::smemBytesPerClock),
      number("l2_section_bytes", &TargetInfo::l2SectionBytes),
      flag("async_warpgroup_mma", &TargetInfo::asyncWarpgroupMma),
      flag("cta_pairs", &TargetInfo::ctaPairs),
      flag("cluster_launch_control", &TargetInfo::clusterLaunchControl),
      flag("packed_f32x2", &TargetInfo::packedF32x2),
      flag("three_input_max_f32", &TargetInfo::threeInputMaxF32),
      flag("tmem_load_reduce", &TargetInfo::tmemLoadReduce),
      flag("mma_issue_order", &TargetInfo::mmaIssueOrder),
  };
  return fields;
}

bool TargetInfo::operator==(const TargetInfo &other) const {
  return chip == other.chip && llvm::all_of(targetFields(), [&](const TargetField &field) {
           if (field.number) {
             return this->*field.number == other.*field.number;
           }
           return field.list ? this->*field.list == other.*field.list
                             : this->*field.flag == other.*field.flag;
         });
}

llvm::hash_code fa4::hash_value(const TargetInfo &info) {
  llvm::hash_code hash = llvm::hash_value(info.chip);
  for (const TargetField &field : targetFields()) {
    if (field.number) {
      hash = llvm::hash_combine(hash, info.*field.number);
    } else if (field.list) {
      hash = llvm::hash_combine(
          hash, llvm::hash_combine_range((info.*field.list).begin(), (info.*field.list).end()));
    } else {
      hash = llvm::hash_combine(hash, info.*field.flag);
    }
  }
  return hash;
}

static std::string expected(llvm::StringRef what, const llvm::Twine &rule, int64_t value) {
  return ("expected " + what + " to be " + rule + ", but got " + llvm::Twine(value)).str();
}

std::string fa4::checkTarget(const TargetInfo &info) {
  if (info.chip.empty()) {
    return "expected the chip to be named, but got \"\"";
  }
  // Products of a target's numbers with those of a schedule stay in 64 bits.
  constexpr int64_t limit = std::numeric_limits<int32_t>::max();
  // What may be 0: tensor memory, where the chip has none.
  for (const TargetField &field : targetFields()) {
    if (field.number && info.*field.number > limit) {
      return expected(field.name, "at most " + llvm::Twine(limit), info.*field.number);
    }
    if (field.number && !field.name.starts_with("tmem_") && info.*field.number <= 0) {
      return expected(field.name, "positive", info.*field.number);
    }
    if (field.list) {
      for (int64_t value : info.*field.list) {
        if (value <= 0) {
          return expected(field.name, "positive numbers", value);
        }
      }
    }
  }
  // The extents of one instruction bound the tiles that a search goes through.
  constexpr int64_t extentLimit = 4096;
  for (int64_t extent : info.mmaRows) {
    if (extent > extentLimit) {
      return expected("mma_rows", "at most " + llvm::Twine(extentLimit), extent);
    }
  }
  if (info.mmaMaxColumns > extentLimit) {
    return expected("mma_max_columns", "at most " + llvm::Twine(extentLimit), info.mmaMaxColumns);
  }
  if (info.mmaKBytes % 16 != 0) { // at least one element of every type
    return expected("mma_k_bytes", "a multiple of 16", info.mmaKBytes);
  }
  if (info.mmaRows.empty()) {
    return "expected mma_rows to be a list of at least one number, but got []";
  }
  if (info.ctaPairs == info.pairMmaRows.empty()) {
    return "expected pair_mma_rows to be given exactly if the chip has cta_pairs, but got " +
           std::string(info.ctaPairs ? "[] with cta_pairs" : "some without cta_pairs");
  }
  const bool tmem = info.hasTensorMemory();
  for (auto [name, value] : {std::pair<llvm::StringRef, int64_t>{"tmem_columns", info.tmemColumns},
                             {"tmem_lanes", info.tmemLanes},
                             {"tmem_alloc_granule", info.tmemAllocGranule}}) {
    // Allocations are powers of two, so the size and the granule are as well.
    if (tmem && (value <= 0 || !llvm::isPowerOf2_64(static_cast<uint64_t>(value)))) {
      return expected(name, "a power of two", value);
    }
    if (!tmem && value != 0) {
      return expected(name, "0 without tensor memory", value);
    }
  }
  if (tmem && info.tmemAllocGranule > info.tmemColumns) {
    return expected("tmem_alloc_granule", "at most tmem_columns", info.tmemAllocGranule);
  }
  if (info.minRoleRegisters > info.maxRoleRegisters) {
    return expected("min_role_registers", "at most max_role_registers", info.minRoleRegisters);
  }
  if (info.maxThreadsPerCta % info.threadsPerWarp != 0) {
    return expected("threads_per_cta", "a multiple of threads_per_warp", info.maxThreadsPerCta);
  }
  return "";
}
