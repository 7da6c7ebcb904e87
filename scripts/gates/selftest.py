#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shows that every gate can fail: each is fed one offence and one clean file."""

import importlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import common
import linkage
from run import BUILD_GATES, SOURCE_GATES

HEADER = (
    "//===- {name} - sample ---===//\n//\n"
    "// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n//\n"
)


def source(name, body):
    return HEADER.format(name=name) + body


# gate: (path, clean text, [offending texts])
SAMPLES = {
    "clang_format": ("lib/A.cpp", source("A.cpp", "int a;\n"), [source("A.cpp", "int   a ;\n")]),
    "run_lines": (
        "test/a.mlir",
        "// RUN: fa4-opt %s -o %t\n// RUN: FileCheck %s \\\n// RUN:   --input-file=%t\n// CHECK: x\n",
        ["// RUN: fa4-opt %s\n", "// RUN: fa4-opt %s -o %t\n",
         "// RUN: fa4-opt %s | FileCheck %s | cat\n", "module {}\n"],
    ),
    "file_length": ("lib/A.cpp", "//\n" * 1000, ["//\n" * 1001]),
    "hardware_numbers": (
        "lib/A.cpp", "// sm_100a has 227 KiB\nint columns = readFromTarget();\n",
        ["int bytes = 232448;\n", 'bool old = chip == "sm_90a";\n'],
    ),
    "licence_header": (
        "lib/A.cpp", source("A.cpp", ""), ["int a;\n", source("B.cpp", "")],
    ),
    "house_words": (
        "lib/A.cpp", 'auto words = "getenv(";\n',
        ["auto *home = getenv(name);\n", "// TO" "DO: later\n", "throw 1;\n",
         "// see /ho" "me/someone/file\n", "static llvm::cl::opt<int> x;\n"],
    ),
    "doc_links": (
        "docs/A.md", "[self](A.md), [top](../docs/A.md#x)\n", ["[gone](B.md)\n"],
    ),
    "layering": (
        "lib/Reference/A.cpp", '#include "fa4/Numerics/Exp2.h"\n',
        ['#include "mlir/IR/Value.h"\n', '#include "fa4/Conversion/AttnToTile.h"\n',
         '#include "mlir/Conversion/Passes.h"\n'],
    ),
    "clang_tidy": (
        "lib/A.cpp", source("A.cpp", "int localCount(int n) {\n  return n;\n}\n"),
        [source("A.cpp", "int Local_Count(int n) {\n  return n;\n}\n"),
         source("A.cpp", "int mutableGlobal = 0;\n"), source("A.cpp", "int broken(\n")],
    ),
}


def gate_findings(gate, path, text):
    """What the gate says about a repository that holds one file."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        file = root / path
        file.parent.mkdir(parents=True)
        file.write_text(text)
        (root / ".clang-format").write_text("BasedOnStyle: LLVM\n")
        here = Path(__file__).resolve().parents[2]
        (root / ".clang-tidy").write_text((here / ".clang-tidy").read_text())
        (root / ".gitignore").write_text("/build/\n")
        (root / "build").mkdir()
        entry = {"directory": folder, "file": str(file), "command": f"clang++-22 -std=c++17 -c {file}"}
        (root / "build/compile_commands.json").write_text(json.dumps([entry]))
        subprocess.run(["git", "init", "-q", folder], check=True)
        return list(importlib.import_module(gate).findings(root))


def check_changed_lines(expect):
    """A clone whose history is older than a submission yields changed lines only."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)

        def commit(text, when):
            (root / "a.cpp").write_text(text)
            identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
            subprocess.run(["git", "add", "-A"], cwd=root, check=True)
            subprocess.run(
                ["git", *identity, "commit", "-q", "-m", "x"], cwd=root, check=True,
                env={"PATH": "/usr/bin:/bin", "GIT_COMMITTER_DATE": when, "GIT_AUTHOR_DATE": when},
            )

        subprocess.run(["git", "init", "-q", "-b", "trunk", folder], check=True)
        commit("one\ntwo\n", "2020-01-01T00:00:00Z")
        expect("no base: whole files", common.changed_lines(root, (".cpp",)) == {"a.cpp": []})
        commit("one\ntwo\nthree\n", "2020-01-03T00:00:00Z")
        expect("old base: changed lines", common.changed_lines(root, (".cpp",)) == {"a.cpp": [(3, 3)]})


def main():
    failures = []

    def expect(what, holds):
        if not holds:
            failures.append(what)

    for gate in SOURCE_GATES + BUILD_GATES:
        if gate == "linkage":
            continue
        path, clean, offences = SAMPLES[gate]
        found = gate_findings(gate, path, clean)
        expect(f"{gate}: passes a clean file, said {found}", not found)
        for offence in offences:
            expect(f"{gate}: objects to {offence!r}", gate_findings(gate, path, offence))

    needs = "NEEDED libFA4.so\nNEEDED libMLIR.so.22.1\n"
    own = "0000 T _ZN4mlir11MLIRContextC2ENS0_9ThreadingE\n"
    expect("linkage: passes a shared build", not list(linkage.judge("libFA4.so", needs, "")))
    expect("linkage: objects to a second MLIR", list(linkage.judge("fa4-opt", needs, own)))
    expect("linkage: objects to a static libFA4", list(linkage.judge("libFA4.so", "", "")))
    check_changed_lines(expect)

    for failure in failures:
        print(f"selftest: expected: {failure}")
    print(f"gate selftest: {'ok' if not failures else f'{len(failures)} failures'}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
