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
    for line in result.stderr.splitlines():
        if "error:" in line:
            yield line
    if result.returncode != 0 and "error:" not in result.stderr:
        yield f"clang-format-22 failed: {result.stderr.strip()}"
