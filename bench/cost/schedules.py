# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The text of schedules: what the compiler chose, and edits of it."""

import re
import subprocess


def chosen(fa4c, target, file):
    """The clauses of the schedule that the compiler gives the kernel in `file`."""
    text = subprocess.run([fa4c, f"--target={target}", "--emit=tile-t0", file], capture_output=True, text=True, check=True).stdout
    return re.search(r"#fa4\.schedule<(.*)>\n", text)[1]


def clause(text, name, value=None):
    """`text` without the clause `name = […]`, or with another value."""
    pattern = rf", {name} = (\[.*?\]|<.*?>|[^,>]+)(?=, \w+ = |$)"
    assert re.search(pattern, text), f"expected a clause {name} in {text}"
    return re.sub(pattern, f", {name} = {value}" if value else "", text)


def drop(text, *names):
    for name in names:
        text = clause(text, name)
    return text


def paired(text):
    """The same plan on pairs of CTAs; roles and homes follow from that."""
    return clause(drop(text, "roles", "homes"), "ctas", "2")
