# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/h200's loop of turns: who runs when, and which times count."""

import importlib.util
import sys
import types
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "bench/h200/turns.py"


@pytest.fixture
def turns(monkeypatch):
    """The module, without a GPU: what is timed is fake, so nothing of torch's is asked."""
    monkeypatch.setitem(sys.modules, "torch", types.ModuleType("torch"))
    spec = importlib.util.spec_from_file_location("turns", SOURCE)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "turns", module)
    spec.loader.exec_module(module)
    return module


class Fake:
    def __init__(self, name, seconds):
        self.name, self.seconds, self.launched = name, seconds, 0

    def launch(self):
        self.launched += 1


def test_order_and_first_round(turns, monkeypatch):
    a, b = Fake("a", 0.010), Fake("b", 0.002)
    blocks = []

    def block(implementation, runs, probe):
        blocks.append((implementation.name, runs))
        return implementation.seconds * len(blocks), float(len(blocks))

    monkeypatch.setattr(turns, "block", block)
    taken = turns.take_turns([a, b], 2, 0.5, None)
    # Nobody always follows the same one; two runs say how many make a block of the time asked for; nobody has less than three.
    assert [name for name, _ in blocks[1::2]] == list("abbaab")
    assert all(runs == 2 for _, runs in blocks[::2])
    for number, (name, runs) in list(enumerate(blocks))[1::2]:
        assert runs == max(3, round(0.5 / ({"a": a, "b": b}[name].seconds * number)))
    for fake in (a, b):
        assert fake.launched == sum(runs // 3 for name, runs in blocks[1::2] if name == fake.name)
    # The first round (blocks 1 to 4) is nobody's result.
    assert [len(t) for t in taken] == [2, 2]
    assert [turn.ghz for turn in taken[0]] == [8.0, 10.0]


def test_median_and_spread(turns):
    rounds = [turns.Turn(seconds, ghz, 0.0, 0.0) for seconds, ghz in ((3.0, 1.3), (2.0, 1.2), (4.0, 1.4))]
    assert (turns.median(rounds).seconds, turns.median(rounds).ghz) == (3.0, 1.3)
    assert turns.spread(rounds) == pytest.approx(2 / 3)
