#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs every GoogleTest program of a folder and counts their tests.

A program that crashes counts as one failure, so that its silence is not taken
for success.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path


def run(program):
    """(passed, failed) of one program; its output is shown where it failed."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        result = subprocess.run(
            [program, "--gtest_brief=1", f"--gtest_output=json:{report}"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        )
        tests, failed = 0, 0
        if report.is_file():
            counts = json.loads(report.read_text())
            tests = counts["tests"] - counts.get("disabled", 0)
            failed = counts["failures"] + counts.get("errors", 0)
        if result.returncode != 0:
            failed = max(failed, 1)
            print(result.stdout)
        print(f"{program.name}: {tests} tests, {failed} failed, exit code {result.returncode}", flush=True)
        return max(tests - failed, 0), failed


def main():
    if len(sys.argv) != 2:
        print("usage: run_unit_tests.py FOLDER", file=sys.stderr)
        return 2
    folder = Path(sys.argv[1])
    programs = [p for p in sorted(folder.glob("*")) if p.is_file() and os.access(p, os.X_OK)]
    counts = [run(program) for program in programs]
    passed, failed = sum(c[0] for c in counts), sum(c[1] for c in counts)
    print(f"unit: {passed} passed, {failed} failed")
    return 0 if failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
