#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cuts the lit tests into seeds: make_corpus.py ROOT FOLDER."""

import hashlib
import sys
from pathlib import Path


def pieces(text):
    """The parts of a --split-input-file test, without comment lines."""
    for part in text.split("// -----"):
        code = [line for line in part.splitlines() if not line.lstrip().startswith("//")]
        piece = "\n".join(code).strip()
        if piece:
            yield piece + "\n"


def main():
    root, folder = Path(sys.argv[1]), Path(sys.argv[2])
    files = [*(root / "test").rglob("*.mlir"), *(root / "examples").rglob("*.mlir")]
    seeds = {piece for file in files for piece in pieces(file.read_text())}
    for seed in seeds:
        (folder / hashlib.sha1(seed.encode()).hexdigest()).write_text(seed)
    print(f"{len(seeds)} seeds")


if __name__ == "__main__":
    main()
