//===- Timeline.cpp - what happened in a run, step by step ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Spans of one thread of a trace must not overlap, so engines get as many threads as
// they have operations in flight at once.
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Timeline.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

#include <algorithm>
#include <map>

using namespace llvm;
using namespace fa4::sim;

using Track = TimelineSpan::Track;

std::string TimelineNames::roleOf(unsigned warp) const {
  for (const Role &role : roles) {
    unsigned first = role.firstWarp;
    if (warp >= first && warp - first < role.warps * role.replicas) {
      std::string index = role.replicas > 1 ? "[" + utostr((warp - first) / role.warps) + "]" : "";
      return role.name + index;
    }
  }
  return "";
}

std::string TimelineNames::barrierAt(uint64_t offset) const {
  constexpr uint64_t kBytes = 8; // of an mbarrier (PTX ISA 9.7.13.15.1)
  for (const Barrier &barrier : barriers) {
    uint64_t slot = (offset - barrier.start) / kBytes;
    if (offset >= barrier.start && slot < barrier.slots) {
      return "@" + barrier.name + (barrier.slots > 1 ? "[" + utostr(slot) + "]" : "");
    }
  }
  return "";
}

void Timeline::startLaunch(StringRef kernel, unsigned warps) {
  TimelineLaunch launch;
  launch.kernel = kernel.str();
  launch.warps = warps;
  launches.push_back(std::move(launch));
}

const TimelineNames *Timeline::namesOf(StringRef kernel) const {
  auto found = find_if(names, [&](const TimelineNames &n) { return n.kernel == kernel; });
  return found == names.end() ? nullptr : &*found;
}

void Timeline::add(TimelineSpan span) {
  if (span.end <= span.start) {
    return;
  }
  if (count == limit) {
    ++leftOut;
    return;
  }
  ++count;
  launches.back().spans.push_back(std::move(span));
}

void Timeline::add(TimelineFault fault) {
  std::vector<TimelineFault> &faults = launches.back().faults;
  bool known = any_of(faults, [&](const TimelineFault &other) {
    return other.cta == fault.cta && other.warp == fault.warp && other.text == fault.text;
  });
  if (!known) {
    faults.push_back(std::move(fault));
  }
}

namespace {
/// Chooses threads for the spans of one launch.
class Threads {
public:
  explicit Threads(const TimelineLaunch &launch) : launch(launch) {}
  /// Spans come in the order of their starts.
  unsigned of(const TimelineSpan &span);
  /// Calls `name` with the process, thread and name of each that was used.
  void forEach(const TimelineNames *names,
               function_ref<void(uint32_t, unsigned, const std::string &)> name) const;

private:
  const TimelineLaunch &launch;
  /// Per CTA and track: when each of its threads is free again.
  std::map<std::pair<uint32_t, Track>, std::vector<uint64_t>> free;
};
} // namespace

/// More than any engine has in flight; threads of one track stand together.
static constexpr unsigned kThreadsPerTrack = 1000;

unsigned Threads::of(const TimelineSpan &span) {
  if (span.track == Track::Warp) {
    return span.warp;
  }
  std::vector<uint64_t> &ends = free[{span.cta, span.track}];
  auto found = find_if(ends, [&](uint64_t end) { return end <= span.start; });
  if (found == ends.end()) {
    found = ends.insert(ends.end(), 0);
  }
  *found = span.end;
  return static_cast<unsigned>(span.track) * kThreadsPerTrack + (found - ends.begin());
}

void Threads::forEach(const TimelineNames *names,
                      function_ref<void(uint32_t, unsigned, const std::string &)> name) const {
  for (uint32_t cta = 0; cta < launch.ctas.size(); ++cta) {
    for (unsigned warp = 0; warp < launch.warps; ++warp) {
      std::string role = names ? names->roleOf(warp) : "";
      name(cta, warp, "warp " + utostr(warp) + (role.empty() ? "" : ": @" + role));
    }
  }
  static constexpr StringLiteral kNames[] = {"",       "copies in",     "copies out",
                                             "tensor", "tensor memory", "shared memory"};
  for (const auto &[key, ends] : free) {
    for (unsigned k = 0; k < ends.size(); ++k) {
      std::string number = ends.size() > 1 ? " " + utostr(k) : "";
      name(key.first, static_cast<unsigned>(key.second) * kThreadsPerTrack + k,
           kNames[static_cast<unsigned>(key.second)].str() + number);
    }
  }
}

static void writeName(json::OStream &json, StringRef kind, uint32_t process, unsigned thread,
                      const std::string &name) {
  json.object([&] {
    json.attribute("ph", "M");
    json.attribute("name", kind);
    json.attribute("pid", process);
    json.attribute("tid", thread);
    json.attributeObject("args", [&] { json.attribute("name", name); });
  });
}

static void writeSpan(json::OStream &json, const TimelineSpan &span, uint64_t begin,
                      uint32_t process, unsigned thread) {
  bool engine = span.track != Track::Warp;
  json.object([&] {
    json.attribute("ph", "X");
    json.attribute("name", span.name);
    json.attribute("cat", engine ? "engine" : span.isWait ? "wait" : "run");
    json.attribute("pid", process);
    json.attribute("tid", thread);
    json.attribute("ts", begin + span.start);
    json.attribute("dur", span.end - span.start);
    json.attributeObject("args", [&] {
      if (span.line != 0) {
        json.attribute("line", span.line);
      }
      if (engine && span.track != Track::SharedMemory) {
        json.attribute("warp", span.warp);
      }
    });
  });
}

void Timeline::writeJson(raw_ostream &os) const {
  json::OStream json(os);
  json.objectBegin();
  json.attribute("displayTimeUnit", "ms");
  json.attributeObject("otherData", [&] {
    json.attribute("unit", "1 us stands for 1 step of the simulator's scheduler; it is no measure "
                           "of time on a GPU");
    json.attribute("spans_left_out", leftOut);
  });
  json.attributeBegin("traceEvents");
  json.arrayBegin();
  // Launches run one after the other.
  uint64_t begin = 0;
  uint32_t process = 0;
  for (size_t number = 0; number < launches.size(); ++number) {
    const TimelineLaunch &launch = launches[number];
    std::string prefix = launches.size() > 1 ? "launch " + utostr(number) + ": " : "";
    for (auto [cta, id] : enumerate(launch.ctas)) {
      writeName(json, "process_name", process + cta, 0, prefix + launch.kernel + " CTA " + id);
    }
    std::vector<const TimelineSpan *> spans;
    for (const TimelineSpan &span : launch.spans) {
      spans.push_back(&span);
    }
    llvm::sort(spans, [&](const TimelineSpan *a, const TimelineSpan *b) {
      return std::pair(a->start, a - launch.spans.data()) <
             std::pair(b->start, b - launch.spans.data());
    });
    uint64_t end = 0;
    Threads threads(launch);
    for (const TimelineSpan *span : spans) {
      writeSpan(json, *span, begin, process + span->cta, threads.of(*span));
      end = std::max(end, span->end);
    }
    threads.forEach(namesOf(launch.kernel),
                    [&](uint32_t cta, unsigned thread, const std::string &name) {
                      writeName(json, "thread_name", process + cta, thread, name);
                    });
    for (const TimelineFault &fault : launch.faults) {
      json.object([&] {
        json.attribute("ph", "i");
        json.attribute("s", "t");
        json.attribute("cat", "fault");
        json.attribute("name", fault.text);
        json.attribute("pid", process + fault.cta);
        json.attribute("tid", fault.warp);
        json.attribute("ts", begin + fault.time);
      });
    }
    begin += end;
    process += launch.ctas.size();
  }
  json.arrayEnd();
  json.attributeEnd();
  json.objectEnd();
  os << '\n';
}
