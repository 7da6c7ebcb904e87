# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""clang-tidy 22 has nothing to say about the lines that changed.

Runs over the translation units of build/compile_commands.json; a header is
judged through the units that include it.
"""

import concurrent.futures
import json
import os
import re
import subprocess
from pathlib import Path

import common

DIAGNOSTIC = re.compile(r"^.+?:\d+:\d+: (?:error|warning): .+$")


def units_with_headers(root, build, headers):
    """Translation units that, by ninja's dependency log, include a header."""
    wanted = {str((root / name).resolve()) for name in headers}
    log = subprocess.run(
        ["ninja", "-C", str(build), "-t", "deps"], capture_output=True, text=True
    ).stdout
    found, source, covered = set(), None, set()
    for line in log.splitlines():
        if not line.startswith(" "):
            source = None
            continue
        path = str((build / line.strip()).resolve())
        if source is None:
            source = path
        elif path in wanted and path not in covered:
            # One unit per header is enough: the header reads the same in all.
            covered.add(path)
            found.add(source)
    return found


def tidy(root, build, unit, line_filter):
    result = subprocess.run(
        ["clang-tidy-22", "--quiet", "-p", str(build), f"--line-filter={line_filter}", unit],
        cwd=root, capture_output=True, text=True,
    )
    output = [l for l in result.stdout.splitlines() if DIAGNOSTIC.match(l)]
    if result.returncode != 0 and not output:
        output = [f"{unit}: clang-tidy-22 failed: {(result.stderr or result.stdout).strip()}"]
    return [line.replace(str(root) + os.sep, "") for line in output]


def findings(root):
    root = Path(root).resolve()
    build = root / "build"
    database = build / "compile_commands.json"
    if not database.is_file():
        yield "build/compile_commands.json: expected to exist, configure first"
        return
    changed = common.changed_lines(root, (".cpp", ".h", ".c"))
    units = {str(Path(e["directory"], e["file"]).resolve()) for e in json.loads(database.read_text())}
    selected = {str(root / name) for name in changed if str(root / name) in units}
    headers = [name for name in changed if name.endswith(".h")]
    selected |= units_with_headers(root, build, headers) & units
    line_filter = json.dumps(
        [{"name": name, "lines": [list(r) for r in ranges]} if ranges else {"name": name}
         for name, ranges in sorted(changed.items())]
    )
    seen = set()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for output in pool.map(lambda u: tidy(root, build, u, line_filter), sorted(selected)):
            for line in output:
                if line not in seen:
                    seen.add(line)
                    yield line
