# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What every gate shares: the files under judgement and the lines that changed.

A gate is a module with `findings(root)`, which yields one line of text per
offence ("path:line: what is wrong"); no finding means that it passes.
"""

import re
import subprocess
from pathlib import Path

SOURCE_SUFFIXES = (".cpp", ".h", ".c", ".td")

# A submission is what one working session adds; without a branch to compare
# with, the commits of this many hours stand for it.
SUBMISSION_HOURS = 12


def git(root, *arguments):
    result = subprocess.run(
        ["git", "-C", str(root), *arguments], capture_output=True, text=True
    )
    return result.stdout if result.returncode == 0 else ""


def tracked(root, suffixes=None, folders=None):
    """Paths (relative) of tracked and new files that are not ignored."""
    listing = git(root, "ls-files", "--cached", "--others", "--exclude-standard")
    for name in sorted(set(listing.splitlines())):
        if suffixes and not name.endswith(tuple(suffixes)):
            continue
        if folders and not name.startswith(tuple(f + "/" for f in folders)):
            continue
        if (Path(root) / name).is_file():
            yield name


def lines(root, name):
    """(number, text) of a file's lines."""
    text = (Path(root) / name).read_text(encoding="utf-8", errors="replace")
    return enumerate(text.splitlines(), start=1)


def base_revision(root):
    """The revision that the change is judged against, or None for "everything".

    A branch is compared with origin/main. A clone of main itself, as in CI, is
    compared with its newest commit older than one submission. A shallow or
    young history has neither: then the whole of every file is judged.
    """
    head = git(root, "rev-parse", "HEAD").strip()
    for branch in ("origin/main", "main"):
        merge_base = git(root, "merge-base", "HEAD", branch).strip()
        if merge_base and merge_base != head:
            return merge_base
    stamp = git(root, "show", "-s", "--format=%ct", "HEAD").strip()
    if not stamp:
        return None
    before = int(stamp) - SUBMISSION_HOURS * 3600
    return git(root, "rev-list", "-1", f"--before={before}", "HEAD").strip() or None


def changed_lines(root, suffixes):
    """{path: [(first, last), ...]} of the lines that differ from the base;
    an empty list means the whole file."""
    base = base_revision(root)
    if base is None:
        return {name: [] for name in tracked(root, suffixes)}
    known = set(tracked(root, suffixes))
    ranges = {}
    current = None
    for line in git(root, "diff", "-U0", "--no-color", base).splitlines():
        if line.startswith("+++ "):
            current = line[6:] if line.startswith("+++ b/") else None
        elif line.startswith("@@") and current in known:
            match = re.search(r"\+(\d+)(?:,(\d+))?", line)
            first, count = int(match[1]), int(match[2] or 1)
            if count:
                ranges.setdefault(current, []).append((first, first + count - 1))
    for name in git(root, "ls-files", "--others", "--exclude-standard").splitlines():
        if name in known:
            ranges[name] = []
    return ranges


def strip_comments(text):
    """C++ or TableGen text with comments blanked out, line structure kept."""

    def blank(match):
        token = match.group(0)
        if token.startswith(("//", "/*")):
            return re.sub(r"[^\n]", " ", token)
        return token

    pattern = r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/'
    return re.sub(pattern, blank, text, flags=re.S)
