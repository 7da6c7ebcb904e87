//===- TargetInfo.h - what the compiler knows of a chip -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every hardware number that a pass or planner may use is a field here and
// nowhere else. `#fa4.target` stores this struct; passes read the attribute,
// never the table of known chips.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TARGET_TARGETINFO_H
#define FA4_TARGET_TARGETINFO_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fa4 {

struct TargetInfo {
  /// The chip as ptxas spells it; names the row, decides nothing.
  std::string chip;
  /// The PTX feature level that the back end asks for, 88 for PTX 8.8.
  int64_t ptxVersion = 0;

  // Launch and warps.
  int64_t threadsPerWarp = 0;
  int64_t maxThreadsPerCta = 0;
  int64_t maxCtasPerCluster = 0;
  int64_t namedBarriers = 0;

  // Registers.
  int64_t registersPerSm = 0;
  int64_t maxRegistersPerThread = 0;
  /// setmaxnreg takes multiples of this, between the two bounds.
  int64_t registerGranule = 0;
  int64_t minRoleRegisters = 0;
  int64_t maxRoleRegisters = 0;

  // Shared memory.
  int64_t smemBytesPerCta = 0;
  int64_t smemSwizzleBytes = 0;

  // Tensor memory; all 0 where there is none.
  int64_t tmemLanes = 0;
  int64_t tmemColumns = 0;
  int64_t tmemAllocGranule = 0;

  // Matrix instructions: legal D rows for one CTA and for a pair, the D columns
  // in steps up to a limit, and the bytes of k that one instruction takes.
  std::vector<int64_t> mmaRows;
  std::vector<int64_t> pairMmaRows;
  int64_t mmaColumnStep = 0;
  int64_t mmaMaxColumns = 0;
  int64_t mmaKBytes = 0;

  // Rates per SM and clock, for cost decisions.
  int64_t mmaFlopsPerClock = 0;
  int64_t exp2PerClock = 0;
  int64_t fmaPerClock = 0;
  int64_t smemBytesPerClock = 0;

  /// K and V of the heads whose tiles run together, so that L2 keeps them.
  int64_t l2SectionBytes = 0;

  // Capabilities, by what they allow, not by version.
  bool asyncWarpgroupMma = false;
  bool ctaPairs = false;
  bool clusterLaunchControl = false;
  bool packedF32x2 = false;
  bool threeInputMaxF32 = false;
  bool tmemLoadReduce = false;
  /// Matrix instructions of one issuer run in issue order, also across
  /// accumulators. The ISA's list does not promise it; proofs that use it say so.
  bool mmaIssueOrder = false;

  bool hasTensorMemory() const { return tmemColumns != 0; }
  bool operator==(const TargetInfo &other) const;
};

llvm::hash_code hash_value(const TargetInfo &info);

/// One field: its printed name and the member behind it; exactly one pointer is
/// set. Printing, parsing, comparing, hashing and the docs test all walk this
/// list, so that a field cannot be forgotten in one of them.
struct TargetField {
  llvm::StringLiteral name;
  int64_t TargetInfo::*number;
  std::vector<int64_t> TargetInfo::*list;
  bool TargetInfo::*flag;
};
llvm::ArrayRef<TargetField> targetFields();

/// What is wrong with `info` by itself, or an empty string.
std::string checkTarget(const TargetInfo &info);

/// The row of the table for `chip`, or null.
const TargetInfo *lookupTarget(llvm::StringRef chip);

/// The names of all rows, for messages and docs.
llvm::ArrayRef<llvm::StringRef> knownTargets();

} // namespace fa4

#endif // FA4_TARGET_TARGETINFO_H
