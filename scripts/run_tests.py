#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Everything CI runs, in order of cost; called by test.sh.

Each step writes build/test-logs/STEP.log and counts its tests. The last line
is "N passed, N failed", the exit code 0 only if nothing failed. A step that
reports no test at all counts as a failure.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts/gates"))
from run import SOURCE_GATES  # noqa: E402

BUILD = ROOT / "build"
LIT = "/usr/lib/llvm-22/bin/lit"
COUNTED = re.compile(r"^(?:\w+: )?(\d+) passed, (\d+) failed\b", re.M)
LIT_LINE = re.compile(r"^  (Passed|Expectedly Failed|Failed|Unresolved|Timed Out|Unexpectedly Passed)\s*:\s*(\d+)", re.M)


@dataclass
class Step:
    """One command; `counts` says that its output counts tests, otherwise its
    exit code is one test. `needs` is a ninja target without which the step is
    left out."""

    name: str
    command: list
    minutes: float
    counts: bool = False
    needs: str = ""
    environment: dict = field(default_factory=dict)


# LLVM's allocators poison what they have not handed out; the uninstrumented
# libMLIR.so hands out of the same slabs without telling ASan.
ASAN = {"ASAN_OPTIONS": "allow_user_poisoning=0"}


def python_with(*packages):
    """The first interpreter that has the packages: Debian's has those that
    install-deps.sh asks for, but another may come first on PATH."""
    code = "import " + ", ".join(packages)
    for candidate in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([candidate, "-c", code], capture_output=True).returncode == 0:
            return candidate
    return sys.executable


def steps(jobs):
    python = sys.executable
    gates = [python, "scripts/gates/run.py"]
    return [
        Step("gate-selftest", [python, "scripts/gates/selftest.py"], 2),
        *(Step(f"gate-{name}", [*gates, name], 2) for name in SOURCE_GATES),
        Step("build", ["bash", "-c", f". scripts/lib.sh && configure dev build && ninja -C build -j {jobs} all fa4-tests"], 25),
        Step("docs", ["ninja", "-C", "build", "-j", jobs, "fa4-doc"], 5),
        Step("gate-linkage", [*gates, "linkage"], 2),
        Step("lit", [python, LIT, "-sv", "-j", jobs, "build/test"], 10, counts=True),
        Step("unit", [python, "scripts/run_unit_tests.py", "build/unittests"], 10, counts=True),
        Step("python", [python_with("numpy", "pytest", "setuptools"), "-m", "pytest", "-q", "-p", "no:cacheprovider"], 10, counts=True),
        Step("installed-package", ["ninja", "-C", "build", "check-fa4-install"], 5),
        *(Step(name, ["ninja", "-C", "build", "-j", jobs, f"check-fa4-{name}"], 12, counts=True, needs=f"check-fa4-{name}")
          for name in ("schedules", "mutations", "sim", "matrix")),
        Step("gate-clang_tidy", [*gates, "clang_tidy"], 20),
        Step("sanitizer-build", ["bash", "-c", f". scripts/lib.sh && configure asan build-asan && ninja -C build-asan -j {jobs} fa4-tests"], 15),
        Step("sanitizer-unit", [python, "scripts/run_unit_tests.py", "build-asan/unittests"], 10, counts=True, environment=ASAN),
        Step("sanitizer-lit", [python, LIT, "-sv", "-j", jobs, "build-asan/test"], 10, counts=True, environment=ASAN),
    ]


def has_target(target):
    return subprocess.run(
        ["ninja", "-C", str(BUILD), "-t", "query", target], capture_output=True
    ).returncode == 0


def count(output, code):
    """(passed, failed) of a counting step."""
    passed = failed = 0
    kinds = dict.fromkeys(("Passed", "Expectedly Failed"), 0)
    if lit := LIT_LINE.findall(output):
        for kind, number in lit:
            if kind in kinds:
                passed += int(number)
            else:
                failed += int(number)
    elif lines := COUNTED.findall(output):
        passed, failed = map(int, lines[-1])
    if failed == 0 and (code != 0 or passed == 0):
        failed = 1
    return passed, failed


def run(step, log):
    """Runs in a process group of its own, so that a time-out ends all of it."""
    with log.open("w") as stream:
        process = subprocess.Popen(
            [str(part) for part in step.command], cwd=ROOT, stdin=subprocess.DEVNULL,
            stdout=stream, stderr=subprocess.STDOUT, env={**os.environ, **step.environment},
            start_new_session=True,
        )
        try:
            code = process.wait(step.minutes * 60)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            code = process.wait()
            stream.write(f"\nstopped after {step.minutes} minutes\n")
    output = log.read_text(errors="replace")
    return count(output, code) if step.counts else ((1, 0) if code == 0 else (0, 1))


def show_tail(log):
    lines = log.read_text(errors="replace").splitlines()[-60:]
    # Indented, so that no line of a step is taken for the closing one.
    print("\n".join("    " + line for line in lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", default=str(os.cpu_count()))
    parser.add_argument("only", nargs="*", metavar="step", help="run these steps alone")
    options = parser.parse_args()
    logs = BUILD / "test-logs"
    logs.mkdir(parents=True, exist_ok=True)
    chosen = [s for s in steps(options.jobs) if not options.only or s.name in options.only]
    total_passed = total_failed = 0
    built = True
    for step in chosen:
        if not built and not step.name.startswith("gate"):
            continue
        if step.needs and not has_target(step.needs):
            print(f"--    {step.name:22} no target {step.needs}", flush=True)
            continue
        begin = time.monotonic()
        log = logs / f"{step.name}.log"
        passed, failed = run(step, log)
        seconds = time.monotonic() - begin
        print(f"{'ok  ' if failed == 0 else 'FAIL'}  {step.name:22} {passed:6}/{passed + failed:<6} {seconds:7.1f} s", flush=True)
        if failed:
            show_tail(log)
            built = built and step.name != "build"
        total_passed += passed
        total_failed += failed
    print(f"{total_passed} passed, {total_failed} failed")
    return 0 if total_failed == 0 and total_passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
