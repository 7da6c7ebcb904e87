# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The loop of turns that measure.py, tune.py and blocks.py share.

The chip is limited by power, so its clock is that of what ran before: implementations
that are compared run by turns, round after round, and a turn begins with a third of a
block that warms up.
"""

import json
import time
from dataclasses import dataclass
from pathlib import Path

import torch

import fa4

HERE = Path(__file__).resolve().parent


@dataclass
class Turn:
    seconds: float  # of one run
    ghz: float
    begin: float  # of the block, as time.time()
    end: float


class Probe:
    """Cycles per nanosecond of one multiprocessor, right behind what ran before."""

    def __init__(self):
        files = {name: (HERE / name).read_bytes() for name in ("probe.json", "probe.ptx")}
        data = json.loads(files["probe.json"])
        major, minor = torch.cuda.get_device_capability()
        assert f"{major}{minor}" == data["target"][3:], "the probe is for another chip"
        self.result = torch.zeros(2, dtype=torch.int64, device="cuda")
        self.prepared = fa4.Kernel(files, "probe").prepare(result=self.result)

    def launch(self):
        self.prepared.launch(torch.cuda.current_stream().cuda_stream)

    def read(self):
        cycles, nanoseconds = self.result.tolist()
        return cycles / nanoseconds


def block(implementation, runs, probe):
    """(seconds per run, GHz) of runs back to back."""
    on_host = hasattr(implementation, "wait")
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    started = time.perf_counter()
    begin.record()
    for _ in range(runs):
        implementation.launch()
    end.record()
    if on_host:
        implementation.wait()
    else:
        end.synchronize()
    elapsed = time.perf_counter() - started if on_host else begin.elapsed_time(end) * 1e-3
    probe.launch()
    torch.cuda.synchronize()
    return elapsed / runs, probe.read()


def take_turns(implementations, rounds, seconds, probe):
    """Of each implementation the turns of all rounds, blocks of about that many seconds.

    Every other round goes in reverse: who follows one that draws little power finds a
    cooler chip, by up to 5 % (docs/Performance.md), so nobody always follows the same one.
    An even number of rounds has as many of each.
    """
    taken = [[] for _ in implementations]
    for number in range(rounds + 1):
        order = list(zip(implementations, taken))
        for implementation, turns in reversed(order) if number % 2 else order:
            once, _ = block(implementation, 2, probe)
            runs = max(3, round(seconds / once))
            for _ in range(runs // 3):
                implementation.launch()
            begin = time.time()
            each, ghz = block(implementation, runs, probe)
            if number:  # the first round brings everybody to one temperature
                turns.append(Turn(each, ghz, begin, time.time()))
    return taken


def median(turns):
    """The turn of the median time."""
    return sorted(turns, key=lambda turn: turn.seconds)[len(turns) // 2]


def spread(turns):
    """(largest time - smallest) / median"""
    times = [turn.seconds for turn in turns]
    return (max(times) - min(times)) / median(turns).seconds
