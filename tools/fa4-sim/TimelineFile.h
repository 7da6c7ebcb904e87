//===- TimelineFile.h - timelines and the names in them ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TOOLS_FA4_SIM_TIMELINEFILE_H
#define FA4_TOOLS_FA4_SIM_TIMELINEFILE_H

#include "fa4/Simulator/Timeline.h"
#include "llvm/Support/Error.h"

namespace fa4::tool {

/// The roles and barriers of a report that fa4c wrote.
std::vector<sim::TimelineNames> parseReport(llvm::StringRef text);

/// The names that the report beside a bundle gives; none without a report.
std::vector<sim::TimelineNames> readNames(llvm::StringRef bundleFile);

llvm::Error writeTimeline(llvm::StringRef file, const sim::Timeline &timeline);

} // namespace fa4::tool

#endif // FA4_TOOLS_FA4_SIM_TIMELINEFILE_H
