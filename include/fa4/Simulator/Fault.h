//===- Fault.h - what the simulator reports ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A fault has a stable id, a rule that was broken in the wording `expected …,
// but got …`, and the place: kernel, CTA, warp, lanes, PTX line and, where the
// PTX has `.loc`, the source line. Equal id and place are merged with a count.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SIMULATOR_FAULT_H
#define FA4_SIMULATOR_FAULT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace fa4::sim {

enum class FaultId : uint8_t {
#define FAULT(Name, Id, Severity) Name,
#include "fa4/Simulator/FaultIds.def"
};

enum class Severity : uint8_t { Warning, Error };

llvm::StringRef faultName(FaultId id);
Severity faultSeverity(FaultId id);
/// Found by the race detector: what happened next is as good as before.
bool isRace(FaultId id);

/// Where something happened. Lines are 0 when there is none.
struct Site {
  std::string kernel;
  uint32_t cta[3] = {0, 0, 0};
  unsigned warp = 0;
  uint32_t lanes = 0;
  unsigned line = 0;
  std::string text;
  std::string sourceFile;
  unsigned sourceLine = 0;
};

struct Fault {
  FaultId id = FaultId::Incomplete;
  std::string message;
  Site site;
  std::vector<std::string> notes;
  unsigned count = 1;
};

void printFault(llvm::raw_ostream &os, const Fault &fault);

/// Collects faults of all worker threads.
class FaultLog {
public:
  /// Returns true if the run must stop (severity Error).
  bool report(Fault fault);

  bool hasErrors() const;
  /// Errors other than races.
  bool hasBroken() const;
  bool has(FaultId id) const;
  std::vector<Fault> take() const;

private:
  mutable std::mutex mutex;
  std::vector<Fault> faults;
};

} // namespace fa4::sim

#endif // FA4_SIMULATOR_FAULT_H
