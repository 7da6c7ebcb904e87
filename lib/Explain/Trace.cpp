//===- Trace.cpp - a simulated run, read back -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file that is no trace gets an error; events of other kinds are passed over.
//
//===----------------------------------------------------------------------===//

#include "fa4/Explain/Trace.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <algorithm>
#include <map>
#include <tuple>

using namespace llvm;
using namespace fa4::explain;

namespace {
class TraceReader {
public:
  Error read(const json::Value &root);
  Trace take();

private:
  Error readEvent(const json::Object &event, size_t number);
  std::map<std::pair<int64_t, int64_t>, Trace::Track> tracks;
  std::map<int64_t, std::string> processes;
  Trace trace;
};
} // namespace

static Error expected(const Twine &what, size_t number) {
  return createStringError("expected " + what + " in trace event " + Twine(number) +
                           ", but got none");
}

Error TraceReader::readEvent(const json::Object &event, size_t number) {
  std::optional<StringRef> kind = event.getString("ph"), name = event.getString("name");
  if (!kind || !name) {
    return expected("ph and name", number);
  }
  if (*kind != "X" && *kind != "M" && *kind != "i") {
    return Error::success();
  }
  std::optional<int64_t> process = event.getInteger("pid"), thread = event.getInteger("tid");
  if (!process || !thread) {
    return expected("pid and tid", number);
  }
  const json::Object *arguments = event.getObject("args");
  if (*kind == "M") {
    std::optional<StringRef> given = arguments ? arguments->getString("name") : std::nullopt;
    if (given && *name == "process_name") {
      processes[*process] = given->str();
    } else if (given && *name == "thread_name") {
      tracks[{*process, *thread}].name = given->str();
    }
    return Error::success();
  }
  std::optional<int64_t> start = event.getInteger("ts");
  // Times beyond this are no steps, and their sums would not fit.
  constexpr int64_t kLatest = int64_t(1) << 52;
  if (!start || *start < 0 || *start > kLatest) {
    return expected("ts from 0 to 2^52", number);
  }
  Trace::Track &track = tracks[{*process, *thread}];
  if (*kind == "i") {
    track.marks.push_back({*start, name->str()});
    trace.end = std::max(trace.end, *start + 1);
    return Error::success();
  }
  std::optional<int64_t> duration = event.getInteger("dur");
  if (!duration || *duration < 0 || *duration > kLatest) {
    return expected("dur from 0 to 2^52", number);
  }
  Trace::Span span;
  span.start = *start;
  span.end = *start + *duration;
  span.name = name->str();
  span.category = event.getString("cat").value_or("").str();
  span.line = arguments ? arguments->getInteger("line").value_or(0) : 0;
  trace.end = std::max(trace.end, span.end);
  track.spans.push_back(std::move(span));
  return Error::success();
}

Error TraceReader::read(const json::Value &root) {
  const json::Object *object = root.getAsObject();
  const json::Array *events = object ? object->getArray("traceEvents") : root.getAsArray();
  if (!events) {
    return createStringError("expected a trace with traceEvents, but got none");
  }
  if (const json::Object *other = object ? object->getObject("otherData") : nullptr) {
    trace.unit = other->getString("unit").value_or("").str();
  }
  for (auto [number, value] : enumerate(*events)) {
    const json::Object *event = value.getAsObject();
    if (!event) {
      return expected("an object", number);
    }
    if (Error error = readEvent(*event, number)) {
      return error;
    }
  }
  return Error::success();
}

Trace TraceReader::take() {
  for (auto &[key, track] : tracks) {
    track.process = key.first;
    track.thread = key.second;
    processes.insert({key.first, ""});
    llvm::sort(track.spans, [](const Trace::Span &a, const Trace::Span &b) {
      return std::tie(a.start, a.end, a.name) < std::tie(b.start, b.end, b.name);
    });
    trace.tracks.push_back(std::move(track));
  }
  for (auto &[id, name] : processes) {
    trace.processes.push_back({id, name.empty() ? "process " + itostr(id) : name});
  }
  return std::move(trace);
}

Expected<Trace> Trace::parse(StringRef text) {
  Expected<json::Value> root = json::parse(text);
  if (!root) {
    return root.takeError();
  }
  TraceReader reader;
  if (Error error = reader.read(*root)) {
    return std::move(error);
  }
  return reader.take();
}

void Trace::keep(size_t count, int64_t from, int64_t to) {
  processes.resize(std::min(processes.size(), count));
  erase_if(tracks, [&](const Track &track) {
    return none_of(processes, [&](const Process &p) { return p.id == track.process; });
  });
  end = std::min(end, to);
  from = std::min(from, end);
  for (Track &track : tracks) {
    erase_if(track.spans, [&](const Span &s) { return s.end <= from || s.start >= end; });
    erase_if(track.marks, [&](const Mark &m) { return m.time < from || m.time >= end; });
    for (Span &span : track.spans) {
      span.start = std::max(span.start, from) - from;
      span.end = std::min(span.end, end) - from;
    }
    for (Mark &mark : track.marks) {
      mark.time -= from;
    }
  }
  end -= from;
}

void Trace::printText(raw_ostream &os) const {
  for (const Process &process : processes) {
    os << process.name << ", " << end << " steps\n";
    for (const Track &track : tracks) {
      if (track.process != process.id || (track.spans.empty() && track.marks.empty())) {
        continue;
      }
      int64_t busy = 0;
      std::map<std::string, int64_t> waits;
      for (const Span &span : track.spans) {
        if (span.category == "wait") {
          // Of one barrier whatever the phase.
          waits[StringRef(span.name).split(" phase ").first.str()] += span.end - span.start;
        } else {
          busy += span.end - span.start;
        }
      }
      os << formatv("  {0,-28} busy {1,6}", track.name, busy);
      std::vector<std::pair<int64_t, std::string>> longest;
      for (const auto &[name, steps] : waits) {
        longest.emplace_back(-steps, name);
      }
      llvm::sort(longest);
      constexpr size_t kShown = 3;
      for (const auto &[steps, name] : ArrayRef(longest).take_front(kShown)) {
        os << ", " << name << ' ' << -steps;
      }
      os << '\n';
      for (const Mark &mark : track.marks) {
        os << "    at " << mark.time << ": " << mark.name << '\n';
      }
    }
  }
}
