# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every C and C++ file is as clang-format 22 writes it."""

import subprocess

import common


def findings(root):
    names = list(common.tracked(root, (".cpp", ".h", ".c")))
    if not names:
        return
    result = subprocess.run(
        ["clang-format-22", "--dry-run", "--Werror", *names],
        cwd=root, capture_output=True, text=True,
    )
    places = {}
    for line in result.stderr.splitlines():
        if "error:" in line:
            name, number = line.split(":")[:2]
            places.setdefault(name, []).append(number)
    for name, numbers in places.items():
        yield f"{name}:{numbers[0]}: {len(numbers)} places that clang-format-22 -i would change"
    if result.returncode != 0 and not places:
        yield f"clang-format-22 failed: {result.stderr.strip()}"
