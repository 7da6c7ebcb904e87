# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled kernels on disk.

An entry is a folder named by its key, made elsewhere and renamed into place, so that
no process sees half of one. Processes that want the same entry wait for one of them
to make it (a file lock per stripe of keys). What is read is checked against the
entry's own manifest: a damaged entry is a miss. The size is bounded; the entries that
were used longest ago go first.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from fa4._errors import ArgumentError

_MANIFEST = "manifest.json"
_FORMAT = 1

Files = dict[str, bytes]


class Cache:
    """`max_bytes` bounds the sum of the entries' files."""

    def __init__(self, folder: str | os.PathLike[str], max_bytes: int = 1 << 30):
        self.folder = Path(folder)
        self.max_bytes = max_bytes

    @staticmethod
    def key(parts: object) -> str:
        """A key of anything that JSON can hold: equal parts, equal key."""
        text = json.dumps([_FORMAT, parts], sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def get(self, key: str) -> Files | None:
        """The files of an entry, or None."""
        entry = self._entry(key)
        try:
            manifest = json.loads((entry / _MANIFEST).read_bytes())
            files = {name: (entry / name).read_bytes() for name in manifest}
            if any(hashlib.sha256(data).hexdigest() != manifest[name] for name, data in files.items()):
                return None
            os.utime(entry / _MANIFEST)  # used now
            return files
        except (OSError, ValueError, AttributeError, TypeError):
            return None  # not there, being evicted, or damaged

    def get_or_make(self, key: str, make: Callable[[], Files]) -> Files:
        """The entry's files; `make` runs if there is none, in one process at a time.
        What it raises is passed on and leaves no entry."""
        files = self.get(key)
        if files is not None:
            return files
        try:
            (self.folder / "entries").mkdir(parents=True, exist_ok=True)
            (self.folder / "locks").mkdir(parents=True, exist_ok=True)
        except OSError:
            return make()  # a read-only place caches nothing
        with self._lock(key[:2]):
            files = self.get(key)
            if files is None:
                files = make()
                self._put(key, files)
        self._evict(keep=key)
        return files

    def size(self) -> int:
        """Bytes of all entries."""
        return sum(size for _, size, _ in self._list())

    def _entry(self, key: str) -> Path:
        return self.folder / "entries" / key

    @contextlib.contextmanager
    def _lock(self, name: str, wait: bool = True) -> Iterator[bool]:
        with open(self.folder / "locks" / name, "ab") as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                yield False
                return
            yield True  # closing the file gives the lock back

    def _put(self, key: str, files: Files) -> None:
        manifest = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
        try:
            temporary = Path(tempfile.mkdtemp(prefix="new-", dir=self.folder))
        except OSError:
            return
        try:
            for name, data in files.items():
                (temporary / name).write_bytes(data)
            (temporary / _MANIFEST).write_text(json.dumps(manifest))
            entry = self._entry(key)
            if entry.exists():
                self._remove(entry)  # damaged, else it would have been a hit
            temporary.rename(entry)
        except OSError as error:
            # A full disk, or an entry that another host's process put there first.
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.ENOTEMPTY, errno.EEXIST):
                raise
        finally:
            shutil.rmtree(temporary, ignore_errors=True)

    def _remove(self, entry: Path) -> None:
        """Out of sight in one step, then away."""
        try:
            grave = Path(tempfile.mkdtemp(prefix="old-", dir=self.folder))
            entry.rename(grave / entry.name)
        except OSError:
            return
        shutil.rmtree(grave, ignore_errors=True)

    def _list(self) -> list[tuple[float, int, Path]]:
        entries = []
        with contextlib.suppress(OSError):
            for entry in os.scandir(self.folder / "entries"):
                with contextlib.suppress(OSError):
                    size = sum(f.stat().st_size for f in os.scandir(entry.path))
                    entries.append((os.stat(os.path.join(entry.path, _MANIFEST)).st_mtime, size, Path(entry.path)))
        return entries

    def _evict(self, keep: str) -> None:
        with self._lock("evict", wait=False) as locked:
            if not locked:
                return  # somebody else is at it
            entries = sorted(self._list())
            total = sum(size for _, size, _ in entries)
            for _, size, entry in entries:
                if total <= self.max_bytes:
                    break
                if entry.name != keep:
                    self._remove(entry)
                    total -= size


def default_cache() -> Cache:
    """In `FA4_CACHE_DIR`, else the user's cache folder; `FA4_CACHE_BYTES` bounds it
    (1 GiB unless said)."""
    folder = os.environ.get("FA4_CACHE_DIR")
    if not folder:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        folder = os.path.join(base, "fa4")
    limit = os.environ.get("FA4_CACHE_BYTES") or str(1 << 30)
    if not limit.isdecimal():
        raise ArgumentError(f"expected FA4_CACHE_BYTES to be a number from 0, but got '{limit}'")
    return Cache(folder, int(limit))
