# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the faults of FaultIds.def with those that docs/Simulator-internals.md explains."""

import pathlib
import re

root = pathlib.Path(__file__).resolve().parents[2]
table = (root / "include/fa4/Simulator/FaultIds.def").read_text()
page = (root / "docs/Simulator-internals.md").read_text().split("## Faults")[1]
known = set(re.findall(r'^FAULT\(\w+, "([A-Z0-9-]+)"', table, re.M))
explained = set()
for row in re.findall(r"^\| ([A-Z][A-Z0-9-]+[^|]*) \|", page, re.M):
    explained |= set(re.sub(r" \(W\)", "", row).split(", "))
for name in sorted(known - explained):
    print(f"not explained: {name}")
for name in sorted(explained - known):
    print(f"not reported by anything: {name}")
print(f"{len(known)} faults, {len(explained)} explained")
