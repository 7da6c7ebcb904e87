//===- Fault.cpp - what the simulator reports -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names and severities come from FaultIds.def alone.
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Fault.h"

#include "llvm/Support/Format.h"

using namespace fa4::sim;

namespace {
struct FaultRow {
  const char *id;
  Severity severity;
};
} // namespace

static const FaultRow faultRows[] = {
#define FAULT(Name, Id, Level) {Id, Severity::Level},
#include "fa4/Simulator/FaultIds.def"
};

llvm::StringRef fa4::sim::faultName(FaultId id) { return faultRows[unsigned(id)].id; }
Severity fa4::sim::faultSeverity(FaultId id) { return faultRows[unsigned(id)].severity; }

bool fa4::sim::isRace(FaultId id) { return faultName(id).starts_with("RACE-"); }
void fa4::sim::printFault(llvm::raw_ostream &os, const Fault &f) {
  os << (faultSeverity(f.id) == Severity::Error ? "error[" : "warning[") << faultName(f.id)
     << "]: " << f.message << '\n';
  const Site &s = f.site;
  if (!s.kernel.empty()) {
    os << "  in " << s.kernel << ", cta (" << s.cta[0] << "," << s.cta[1] << "," << s.cta[2]
       << "), warp " << s.warp << ", lanes " << llvm::format_hex(s.lanes, 10) << '\n';
  }
  if (s.line != 0) {
    os << "  at PTX line " << s.line << ": " << s.text << '\n';
  }
  if (s.sourceLine != 0) {
    os << "  from " << s.sourceFile << ':' << s.sourceLine << '\n';
  }
  for (const std::string &note : f.notes) {
    os << "  note: " << note << '\n';
  }
  if (f.count > 1) {
    os << "  (" << f.count << " times)\n";
  }
}

bool FaultLog::report(Fault fault) {
  std::lock_guard<std::mutex> lock(mutex);
  bool stop = faultSeverity(fault.id) == Severity::Error;
  for (Fault &f : faults) {
    if (f.id == fault.id && f.site.line == fault.site.line && f.site.kernel == fault.site.kernel) {
      ++f.count;
      return stop;
    }
  }
  faults.push_back(std::move(fault));
  return stop;
}

bool FaultLog::hasErrors() const {
  std::lock_guard<std::mutex> lock(mutex);
  for (const Fault &f : faults) {
    if (faultSeverity(f.id) == Severity::Error) {
      return true;
    }
  }
  return false;
}

bool FaultLog::hasBroken() const {
  std::lock_guard<std::mutex> lock(mutex);
  for (const Fault &f : faults) {
    if (faultSeverity(f.id) == Severity::Error && !isRace(f.id)) {
      return true;
    }
  }
  return false;
}

bool FaultLog::has(FaultId id) const {
  std::lock_guard<std::mutex> lock(mutex);
  for (const Fault &f : faults) {
    if (f.id == id) {
      return true;
    }
  }
  return false;
}

std::vector<Fault> FaultLog::take() const {
  std::lock_guard<std::mutex> lock(mutex);
  return faults;
}
