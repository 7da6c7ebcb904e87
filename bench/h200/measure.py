#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Forward attention on a Hopper GPU: ours beside its peers, in one process.

Protocol: every implementation of a case in turn, round after round, every other one in
reverse, so that heat and clock are shared. A turn is a third of a block to warm up,
then a block of --seconds back to back between two events; the number is the median of
the rounds, the spread (largest - smallest) / median. The chip is limited by power in all
of this, so its clock is read by a small kernel right behind each block and logged beside
the number. No number without a check: fp64 rows of two heads and cuDNN's whole output,
on poisoned results.

Cases are taken in an order of importance until --limit seconds are over. Writes
direction,dtype,head_dim,seqlen,causal,impl,tflops,spread and a log with clocks, power,
errors and what was not available.
"""

import argparse
import csv
import json
import math
import platform
import threading
import time
from pathlib import Path

import torch
from implementations import PEERS, Case, Jax, Ours, Tensors, Unavailable, Yardstick
from turns import Probe, median, spread, take_turns

import fa4

HERE = Path(__file__).resolve().parent


class Watch(threading.Thread):
    """Samples power and temperature; NVML's clock is not to be trusted under load."""

    def __init__(self):
        super().__init__(daemon=True)
        self.samples = []
        self.start()

    def run(self):
        try:
            import pynvml
            pynvml.nvmlInit()
            handle = pynvml.nvmlDeviceGetHandleByIndex(0)
            while True:
                self.samples.append((time.time(), pynvml.nvmlDeviceGetPowerUsage(handle) / 1e3,
                                     pynvml.nvmlDeviceGetTemperature(handle, 0)))
                time.sleep(0.05)
        except Exception as error:  # no NVML: the log has no watts
            self.reason = repr(error)

    def watts(self, begin, end):
        inside = [w for t, w, _ in self.samples if begin <= t <= end]
        return sum(inside) / len(inside) if inside else math.nan


class Judge:
    """What results of a case have to be."""

    def __init__(self, case, tensors):
        self.case, self.tensors = case, tensors
        s = case.seqlen
        self.rows = torch.cat([torch.arange(0, min(300, s)), torch.randint(0, s, (200,)),
                               torch.arange(max(s - 200, 0), s)]).cuda()
        self.exact = [(b, h, *self._rows(b, h)) for b, h in ((0, 0), (case.batch - 1, case.heads - 1))]
        self.whole = None

    def _rows(self, b, h):
        q, k, v = (t[b, h].double() for t in (self.tensors.q, self.tensors.k, self.tensors.v))
        scores = (q[self.rows] @ k.T) * self.case.head_dim**-0.5
        if self.case.causal:
            scores = scores.masked_fill(torch.arange(self.case.seqlen, device="cuda")[None] > self.rows[:, None], -math.inf)
        return torch.softmax(scores, -1) @ v, torch.logsumexp(scores, -1)

    def check(self, o, lse):
        """Errors by name; the first implementation's output stands for the whole."""
        errors = {"o": 0.0, "lse": math.nan, "whole": 0.0}
        if lse is not None:
            errors["lse"] = max((lse[b, h][self.rows].double() - exact).abs().max().nan_to_num(math.inf).item()
                                for b, h, _, exact in self.exact)
        for b, h, exact_o, _ in self.exact:
            got = o[b, h][self.rows].double()
            errors["o"] = max(errors["o"], ((got - exact_o).norm() / exact_o.norm()).nan_to_num(math.inf).item())
        if self.whole is None:
            self.whole = o.float()
        errors["whole"] = ((o.float() - self.whole).norm() / self.whole.norm()).nan_to_num(math.inf).item()
        # bf16 attention on normal inputs is 2 to 3 in a thousand off, f32 sums a millionth.
        return errors, errors["o"] < 1e-2 and errors["whole"] < 2e-2 and not errors["lse"] >= 1e-2


def prepare(case, options, failures):
    """The implementations that do the case and passed the check, and their errors."""
    tensors = Tensors(case)
    judge = Judge(case, tensors)
    candidates = []
    for name in options.peers:
        try:
            candidates.append(PEERS[name](case, tensors))
        except Unavailable as reason:
            failures.append(f"{case} {name}: {reason}")
    candidates += Yardstick.create_all(options.yardstick, case, tensors, failures)
    candidates += Ours.create_all(options.kernels, case, tensors, failures)
    good = []
    for implementation in candidates:
        tensors.poison()
        torch.cuda.synchronize()
        try:
            implementation.launch()
            wait(implementation)
        except (Unavailable, fa4.FA4Error) as error:
            failures.append(f"{case} {implementation.name}: {error}")
            continue
        output = implementation.output() if hasattr(implementation, "output") else tensors.o
        errors, passed = judge.check(output, tensors.lse if implementation.has_lse else None)
        if passed:
            good.append((implementation, errors))
        else:
            failures.append(f"{case} {implementation.name}: WRONG {errors}")
    return tensors, good


def wait(implementation):
    if hasattr(implementation, "wait"):
        implementation.wait()
    torch.cuda.synchronize()


def measure(case, options, probe, watch, failures):
    """Rows of the log for one case."""
    tensors, good = prepare(case, options, failures)
    taken = take_turns([i for i, _ in good], options.rounds, options.seconds, probe)
    rows = []
    for (implementation, errors), turns in zip(good, taken):
        rows.append(dict(impl=implementation.name, errors=errors, seconds=[t.seconds for t in turns],
                         ghz=[t.ghz for t in turns], watts=[watch.watts(t.begin, t.end) for t in turns],
                         direction="forward", dtype="f16" if implementation.name == "jax-f16" else case.dtype,
                         head_dim=case.head_dim, seqlen=case.seqlen, causal=int(case.causal),
                         tflops=case.flop / median(turns).seconds * 1e-12, spread=spread(turns)))
    del tensors, good
    torch.cuda.empty_cache()
    return rows


def parse_case(text):
    head_dim, seqlen, causal = text.split(":")
    return Case(int(head_dim), int(seqlen), bool(int(causal)))


def default_cases():
    """Headline lengths first."""
    return [Case(d, s, causal) for s in (16384, 2048, 8192, 4096) for d in (128, 64, 256) for causal in (False, True)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", type=Path, help="folder that prepare.py filled")
    parser.add_argument("--yardstick", type=Path, help="folder with a hand-written kernel's cubins and v.json")
    parser.add_argument("--peers", nargs="*", default=list(PEERS), choices=list(PEERS), help="default: all")
    parser.add_argument("--cases", nargs="*", type=parse_case, metavar="DIM:LENGTH:CAUSAL")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=0.25, help="of a block")
    parser.add_argument("--limit", type=float, default=540, help="seconds after which no case is begun")
    parser.add_argument("--csv", type=Path, default=HERE.parent / "results" / "h200.csv")
    parser.add_argument("--log", type=Path, default=Path("h200.json"))
    options = parser.parse_args()
    started = time.time()
    torch.manual_seed(int(started))
    # Every shape is a compilation of FlexAttention's; the default limit is 8.
    torch._dynamo.config.cache_size_limit = 64
    probe, watch, failures, rows = Probe(), Watch(), [], []
    machine = dict(gpu=torch.cuda.get_device_name(), torch=torch.__version__, cuda=torch.version.cuda,
                   cudnn=torch.backends.cudnn.version(), python=platform.python_version(),
                   date=time.strftime("%Y-%m-%d"), seconds=options.seconds, rounds=options.rounds)
    for case in options.cases or default_cases():
        if time.time() - started > options.limit:
            failures.append(f"{case}: not begun, {options.limit:.0f} s are over")
            continue
        begun = time.time()
        rows += measure(case, options, probe, watch, failures)
        print(f"--- {case} ({time.time() - begun:.0f} s)")
        for row in sorted((r for r in rows if (r["head_dim"], r["seqlen"], r["causal"]) ==
                           (case.head_dim, case.seqlen, int(case.causal))), key=lambda r: -r["tflops"]):
            print(f"{row['impl']:32} {row['tflops']:7.1f} TFLOP/s  spread {row['spread']:.3f}  "
                  f"{sorted(row['ghz'])[len(row['ghz']) // 2]:.3f} GHz  {row['watts'][-1]:4.0f} W  "
                  f"errors o {row['errors']['o']:.1e} lse {row['errors']['lse']:.1e}", flush=True)
        save(options, machine, rows, failures)
    for failure in failures:
        print("not measured:", failure[:300])
    wrong = [f for f in failures if "WRONG" in f]
    print(f"{len(rows)} numbers, {len(wrong)} wrong results, {time.time() - started:.0f} s")
    return 1 if wrong or not rows else 0


def save(options, machine, rows, failures):
    fields = ["direction", "dtype", "head_dim", "seqlen", "causal", "impl", "tflops", "spread"]
    options.csv.parent.mkdir(parents=True, exist_ok=True)
    with options.csv.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(fields)
        for row in rows:
            writer.writerow([*(row[f] for f in fields[:-2]), f"{row['tflops']:.1f}", f"{row['spread']:.4f}"])
    jax = {f"d{dim} {'causal' if causal else 'full'}": sizes for (dim, causal), sizes in Jax.chosen.items()}
    options.log.write_text(json.dumps(dict(machine=machine, jax=jax, rows=rows, failures=failures), indent=1))


if __name__ == "__main__":
    raise SystemExit(main())
