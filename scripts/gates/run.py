#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs gates over a work tree: run.py [--root DIR] [gate...]; all by default."""

import argparse
import importlib
import sys
from pathlib import Path

import common  # noqa: F401  (gates import it from this folder)

SOURCE_GATES = (
    "clang_format", "run_lines", "file_length", "hardware_numbers",
    "licence_header", "house_words", "doc_links", "layering",
)
# These need build/.
BUILD_GATES = ("linkage", "clang_tidy")


def run_gate(name, root):
    """Prints the findings of one gate; true if there were none."""
    gate = importlib.import_module(name)
    found = 0
    for line in gate.findings(root):
        print(line, flush=True)
        found += 1
    for line in getattr(gate, "advice", lambda _: ())(root):
        print(f"advice: {line}")
    print(f"gate {name}: {'ok' if not found else f'{found} findings'}", flush=True)
    return not found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    parser.add_argument("gates", nargs="*", metavar="gate")
    options = parser.parse_args()
    unknown = set(options.gates) - set(SOURCE_GATES + BUILD_GATES)
    if unknown:
        parser.error(f"expected gates among {', '.join(SOURCE_GATES + BUILD_GATES)}, but got {', '.join(sorted(unknown))}")
    results = [run_gate(name, options.root) for name in options.gates or SOURCE_GATES + BUILD_GATES]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
