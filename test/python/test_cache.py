# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The disk cache under failures, damage, pressure and company."""

import multiprocessing
import os
import time

import pytest

import fa4


def test_made_once(tmp_path):
    cache, made = fa4.Cache(tmp_path), []

    def make():
        made.append(1)
        return {"a": b"x", "b": b""}
    assert cache.get_or_make("k" * 64, make) == {"a": b"x", "b": b""}
    assert fa4.Cache(tmp_path).get_or_make("k" * 64, make) == {"a": b"x", "b": b""}
    assert len(made) == 1


def test_failure_leaves_nothing(tmp_path):
    cache = fa4.Cache(tmp_path)
    with pytest.raises(ZeroDivisionError):
        cache.get_or_make("k" * 64, lambda: {"a": bytes(1 // 0)})
    assert cache.get("k" * 64) is None
    assert sorted(p.name for p in tmp_path.iterdir()) == ["entries", "locks"]


@pytest.mark.parametrize("damage", ["content", "missing", "manifest"])
def test_damage_is_a_miss(tmp_path, damage):
    cache = fa4.Cache(tmp_path)
    cache.get_or_make("k" * 64, lambda: {"a": b"right"})
    entry = tmp_path / "entries" / ("k" * 64)
    if damage == "missing":
        (entry / "a").unlink()
    else:
        (entry / ("a" if damage == "content" else "manifest.json")).write_bytes(b"wrong")
    assert cache.get("k" * 64) is None
    assert cache.get_or_make("k" * 64, lambda: {"a": b"again"}) == {"a": b"again"}
    assert cache.get("k" * 64) == {"a": b"again"}


def test_bounded_by_last_use(tmp_path):
    cache = fa4.Cache(tmp_path, max_bytes=3500)
    for number, key in enumerate("abc"):
        cache.get_or_make(key * 64, lambda: {"f": bytes(1000)})
        stamp = time.time() - 100 + number
        os.utime(tmp_path / "entries" / (key * 64) / "manifest.json", (stamp, stamp))
    assert cache.get("a" * 64)  # used last
    cache.get_or_make("d" * 64, lambda: {"f": bytes(1000)})
    assert [key for key in "abcd" if cache.get(key * 64)] == ["a", "c", "d"]
    assert cache.size() <= 3500


def test_larger_than_the_bound_still_works(tmp_path):
    cache = fa4.Cache(tmp_path, max_bytes=10)
    assert cache.get_or_make("k" * 64, lambda: {"f": bytes(1000)}) == {"f": bytes(1000)}


def _work(folder, key, log):
    def make():
        with open(log, "a") as stream:
            stream.write(key[0])
        time.sleep(0.05)
        return {"f": key.encode() * 100}
    cache = fa4.Cache(folder, max_bytes=40000)
    for _ in range(5):
        assert cache.get_or_make(key, make) == {"f": key.encode() * 100}


def test_many_processes(tmp_path):
    context = multiprocessing.get_context("spawn")
    log = tmp_path / "log"
    processes = [context.Process(target=_work, args=(tmp_path / "cache", key * 64, log))
                 for key in "aabb"]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [p.exitcode for p in processes] == [0] * 4
    assert sorted(log.read_text()) == ["a", "b"]  # one process made each


def test_key_follows_every_part():
    assert fa4.Cache.key({"a": 1, "b": [2]}) == fa4.Cache.key({"b": [2], "a": 1})
    assert fa4.Cache.key({"a": 1}) != fa4.Cache.key({"a": 2})


def test_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("FA4_CACHE_DIR", str(tmp_path / "here"))
    monkeypatch.setenv("FA4_CACHE_BYTES", "123")
    cache = fa4.default_cache()
    assert cache.folder == tmp_path / "here" and cache.max_bytes == 123
    monkeypatch.setenv("FA4_CACHE_BYTES", "1G")
    with pytest.raises(fa4.ArgumentError, match="expected FA4_CACHE_BYTES to be a number from 0, but got '1G'"):
        fa4.default_cache()
