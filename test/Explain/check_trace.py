# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_trace.py FILE: a trace as Chrome and Perfetto read it; prints what is in it."""

import collections
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    trace = json.load(file)
kinds, ends, named = collections.Counter(), {}, set()
for event in sorted(trace["traceEvents"], key=lambda e: e.get("ts", -1)):
    kinds[event["ph"]] += 1
    thread = (event["pid"], event["tid"])
    assert all(isinstance(number, int) and number >= 0 for number in thread), event
    assert isinstance(event["name"], str) and event["name"], event
    if event["ph"] == "M":
        assert event["args"]["name"], event
        named.add(thread)
        continue
    assert isinstance(event["ts"], int) and event["ts"] >= 0, event
    assert thread in named, f"a thread without a name: {event}"
    if event["ph"] == "i":
        assert event["s"] == "t", event
        continue
    assert event["ph"] == "X" and isinstance(event["dur"], int) and event["dur"] > 0, event
    assert event["ts"] >= ends.get(thread, 0), f"overlaps the one before on its thread: {event}"
    ends[thread] = event["ts"] + event["dur"]
assert "no measure of time" in trace["otherData"]["unit"]
processes = {process for process, _ in named}
print(f"trace of {len(processes)} processes, {'spans' if kinds['X'] else 'nothing'}, "
      f"{kinds['i']} faults, {trace['otherData']['spans_left_out']} left out")
