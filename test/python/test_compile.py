# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fa4c and fa4-sim as child processes: results, diagnostics, faults."""

import numpy as np
import pytest

import fa4
from fa4 import _kernel, _tools


def reference(q, k, v, causal):
    """Attention in float64; [b, s, h, d] arrays of bf16 bits."""
    q, k, v = (fa4.from_bf16(x).astype(np.float64) for x in (q, k, v))
    k, v = (np.repeat(x, q.shape[2] // x.shape[2], axis=2) for x in (k, v))
    scores = np.einsum("bihd,bjhd->bhij", q, k) / np.sqrt(q.shape[3])
    if causal:
        rows, keys = scores.shape[2:]
        scores = np.where(np.arange(keys) <= np.arange(rows)[:, None] + keys - rows, scores, -np.inf)
    top = scores.max(-1, keepdims=True)
    weights = np.exp(scores - top)
    total = weights.sum(-1, keepdims=True)
    return np.einsum("bhij,bjhd->bihd", weights / total, v), (top + np.log(total))[..., 0]


def test_simulated_attention_is_right(causal):
    rng = np.random.default_rng(5)
    q = fa4.to_bf16(rng.standard_normal((2, 70, 4, 64)))
    k, v = (fa4.to_bf16(rng.standard_normal((2, 90, 2, 64))) for _ in range(2))
    results = fa4.simulate(causal, q=q, k=k, v=v, o=fa4.Empty(q.shape), lse=fa4.Empty((2, 4, 70)))
    o, lse = reference(q, k, v, causal=True)
    assert sorted(results) == ["lse", "o"]
    assert np.abs(fa4.from_bf16(results["o"]) - o).max() < 2e-2
    assert np.abs(results["lse"] - lse).max() < 1e-3
    assert causal.arguments == ["q", "k", "v", "o", "lse"] and causal.target == "sm_100a"
    assert ".target sm_100a" in causal.ptx


def test_shapes_have_to_agree(causal):
    shape, empty = (1, 8, 2, 64), fa4.Empty((1, 8, 2, 64))
    good = dict(q=empty, k=empty, v=empty, o=empty, lse=fa4.Empty((1, 2, 8)))
    for change, message in [
        (dict(o=fa4.Empty((1, 9, 2, 64))), r"expected the shape of 'o' to be \(1, 8, 2, 64\), but got \(1, 9, 2, 64\)"),
        (dict(v=fa4.Empty((1, 9, 2, 64))), r"expected the shape of 'v'"),
        (dict(lse=fa4.Empty((1, 8, 2))), r"expected the shape of 'lse' to be \(1, 2, 8\)"),
        (dict(k=fa4.Empty((1, 8, 4, 64))), r"expected the heads of 'q' to be a multiple of the 4 of 'k', but got 2"),
        (dict(q=np.zeros(shape, np.float32)), "expected the elements of 'q' to be uint16 bits of bf16"),
        (dict(q=np.zeros(shape[1:], np.uint16)), "expected the rank of 'q' to be 4, but got 3"),
    ]:
        with pytest.raises(fa4.ArgumentError, match=message):
            fa4.simulate(causal, **{**good, **change})
    with pytest.raises(fa4.ArgumentError, match="expected 'lse' to be given, but got nothing"):
        fa4.simulate(causal, **{n: t for n, t in good.items() if n != "lse"})
    with pytest.raises(fa4.ArgumentError, match="but got 'mask'"):
        fa4.simulate(causal, mask=empty, **good)


def test_affine(affine):
    results = fa4.simulate(affine, y=np.zeros(4, np.float32), n=4, factor=0.5)
    assert results["y"].tolist() == [0, 24, 25, 0]
    with pytest.raises(fa4.ArgumentError, match=r"launch of 'count': expected grid\[0\]"):
        fa4.simulate(affine, y=np.zeros(4, np.float32), n=2, factor=0.5)


def test_fault_has_a_report(affine):
    # The kernel writes y[1 ...]: of one element there is none.
    with pytest.raises(fa4.SimulationFault) as caught:
        fa4.simulate(affine, y=np.zeros(1, np.float32), n=1, factor=0.5)
    assert "affine" in caught.value.report


def test_diagnostic_has_its_place():
    with pytest.raises(fa4.CompileError) as caught:
        fa4.compile("func.func @f() {\n  %0 = nothing.here\n}\n", target="sm_100a")
    first = caught.value.diagnostics[0]
    assert (first.file, first.line, first.severity) == ("kernel.mlir", 2, "error")
    assert str(first) in str(caught.value)


def test_options_are_refused():
    text = "func.func @f() { return }"
    with pytest.raises(fa4.ArgumentError, match="expected --target to be cpu or one of"):
        fa4.compile(text, target="tpu")
    with pytest.raises(fa4.ArgumentError, match="expected target to be a chip, but got 'cpu'"):
        fa4.compile(text, target="cpu")
    with pytest.raises(fa4.ArgumentError, match=r"expected module to be MLIR text, .* but got NoneType"):
        fa4.compile(None, target="sm_90a")
    with pytest.raises(fa4.ToolError, match="expected ptxas to be a program, but got '/nowhere/ptxas'"):
        fa4.compile(text, target="sm_90a", ptxas="/nowhere/ptxas")
    for wrong in (dict(dtype="f32"), dict(layout="sbhd"), dict(head_dim=0), dict(head_dim=True),
                  dict(head_dim=None), dict(value_dim=64.0), dict(schedule="fast"), dict(scale=float("nan")),
                  dict(scale=10**400), dict(scale="1"), dict(window=7), dict(window=(1,)), dict(window=(1.5, 0)),
                  dict(window="12")):
        with pytest.raises(fa4.ArgumentError, match=f"expected {next(iter(wrong))} to be"):
            fa4.Attention(**{"head_dim": 64, **wrong})


def test_options_of_the_simulator_are_no_faults(affine):
    good = dict(y=np.zeros(4, np.float32), n=4, factor=0.5)
    for wrong in (dict(schedule="fair"), dict(mma="x"), dict(approx="x"), dict(seed=-1), dict(processors=0),
                  dict(jobs=1.5)):
        with pytest.raises(fa4.ArgumentError, match=f"expected {next(iter(wrong))} to be"):
            fa4.simulate(affine, **good, **wrong)
    with pytest.raises(fa4.ArgumentError, match="but got float32 in the other byte order"):
        fa4.simulate(affine, **{**good, "y": np.zeros(4, ">f4")})


def test_any_file_name(tmp_path):
    source = tmp_path / "-ä b.mlir"
    source.write_text(fa4.Attention(head_dim=np.int64(64), window=[np.int32(3), None]).module(), encoding="utf-8")
    kernel = fa4.compile(source, target="sm_90a")
    assert kernel.ptx.isascii()
    assert kernel.save(tmp_path / "out").name == "-ä b.json"


def test_module_text():
    text = fa4.Attention(head_dim=192, value_dim=128, dtype="f16", layout="bhsd", window=(64, None), scale=0.5,
                         lse=False).module()
    assert "memref<?x?x?x192xf16" in text and "memref<?x?x?x128xf16" in text and "%lse" not in text
    assert "layout(bhsd) scale(5.000000000e-01) mask [#attn.window<left = 64, right = none>]" in text


def test_cache_is_asked_first(monkeypatch, tmp_path):
    runs = []

    def run(fa4c, text, name, options):
        runs.append(options)
        return {f"{name}.json": (b'{"target": "sm_90a", "arguments": [], "workspaces": [], "launches": []}'),
                f"{name}.ptx": text.encode()}
    monkeypatch.setattr(_kernel, "_run_compiler", run)
    for _ in range(2):
        assert fa4.compile("one", target="sm_90a").ptx == "one"
    assert len(runs) == 1
    fa4.compile("two", target="sm_90a")
    fa4.compile("one", target="sm_100a")
    fa4.compile("one", target="sm_90a", entry="f")
    monkeypatch.setattr(_tools, "fingerprint", lambda tool: {"fa4c": "another build"})
    fa4.compile("one", target="sm_90a")
    monkeypatch.setattr(_tools, "find_ptxas", lambda: None)
    fa4.compile("one", target="sm_90a")
    fa4.compile("one", target="sm_90a", use_cache=False)
    assert len(runs) == 7


def test_missing_tools(monkeypatch, tmp_path):
    monkeypatch.setenv("FA4_TOOLS", str(tmp_path))
    with pytest.raises(fa4.ToolError, match="expected fa4c in the folder that FA4_TOOLS names, but got none"):
        fa4.compile("x", target="sm_90a")
