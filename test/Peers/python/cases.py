# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The peers: for each, its launch description, inputs, float64 results, bounds."""

import copy
import json
from dataclasses import dataclass

import numpy as np
from arrays import attention, gradients, product, rounded, yardstick
from bundles import address, box_map, bundle, ceildiv, extent, f32, i32, i64, launch, stride, tensor
from flash_attention_parameters import backward, causal, pairs

# Half a unit in the last place of the output's type, relative to the largest significand.
ROUNDING = {"bf16": 2.0**-9, "f16": 2.0**-12}
# Exponentials of FlashAttention-4 on Blackwell are partly a cubic polynomial, wrong
# by at most 8.8e-5 (its paper); a row's sum inherits that.
POLYNOMIAL = 8.8e-5


# A product over one tile less.
LESS_DEPTH = i32(["-", extent("a", 1), 64])


@dataclass
class Result:
    """What an output has to be: |got - want| <= bound, everywhere."""

    want: np.ndarray
    bound: np.ndarray
    kind: str


@dataclass
class Case:
    name: str
    producer: str
    bundle: dict
    inputs: dict  # name -> (array, kind)
    results: dict  # name -> Result
    # Number and replacement of one parameter that has to make the results wrong.
    spoiler: tuple
    spoiled_launch: int = 0

    def shapes(self):
        return {name: result.want.shape for name, result in self.results.items()}

    def spoiled(self):
        description = copy.deepcopy(self.bundle)
        index, parameter = self.spoiler
        description["launches"][self.spoiled_launch]["parameters"][index] = parameter
        return description


def random(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape)


def kernel(entry, threads, shared):
    return {"entry": entry, "threads": threads, "shared": shared}


def meta_of(folder, name):
    return json.loads((folder / f"{name}.meta.json").read_text(encoding="utf-8"))


def matmul_inputs(m, n, k, kind, transposed=False):
    """a[m, k], and b[n, k] or b[k, n]; with the product and its bound."""
    a, b = rounded(random(1, m, k), kind), rounded(random(2, n, k), kind)
    want, bound = product(a, b)
    return {"a": (a, kind), "b": (b.T if transposed else b, kind)}, want, bound


def cuda_wgmma(folder):
    inputs, want, bound = matmul_inputs(200, 250, 320, "bf16")
    name = "cuda_wgmma_gemm_sm90a"
    grid = [["align", ceildiv(extent("a", 0), 128), 2], ceildiv(extent("b", 0), 128), 1]
    maps = [box_map("a", "bf16", (1, 0), (64, 128)), box_map("b", "bf16", (1, 0), (64, 64))]
    arguments = [tensor("a", "bf16", 2), tensor("b", "bf16", 2), tensor("c", "f32", 2, "write")]
    dims = [i32(extent("a", 0)), i32(extent("b", 0)), i32(extent("a", 1))]
    # Four stages of 128x64 and 128x64 in bf16.
    description = bundle("sm_90a", f"{name}.ptx", arguments,
                         [launch(kernel("wgmma_gemm", 384, 4 * 2 * 128 * 64 * 2), grid, [*maps, address("c"), *dims], [2, 1, 1])])
    return Case(name, "nvcc", description, inputs, {"c": Result(want, bound, "f32")},
                (5, LESS_DEPTH))


def cuda_tcgen05(folder):
    inputs, want, bound = matmul_inputs(256, 200, 192, "f16")
    name = "cuda_tcgen05_gemm_sm100a"
    grid = [ceildiv(extent("b", 0), 128), ceildiv(extent("a", 0), 128), 1]
    maps = [box_map("a", "f16", (1, 0), (64, 128)), box_map("b", "f16", (1, 0), (64, 128)),
            box_map("c", "f32", (1, 0), (32, 128))]
    arguments = [tensor("a", "f16", 2), tensor("b", "f16", 2), tensor("c", "f32", 2, "write")]
    # Three stages of two 128x64 tiles in f16 and a 128x32 tile in f32.
    shared = 3 * 2 * 128 * 64 * 2 + 128 * 32 * 4
    description = bundle("sm_100a", f"{name}.ptx", arguments,
                         [launch(kernel("tcgen05_gemm", 256, shared), grid, [*maps, i32(extent("a", 1))])])
    return Case(name, "nvcc", description, inputs, {"c": Result(want, bound, "f32")},
                (3, LESS_DEPTH))


def cuda_cluster_reduce(folder, arch):
    rows, columns = 5, 1003
    x = rounded(np.abs(random(3, rows, columns)) + 0.1, "f32")
    total = x.sum(-1, keepdims=True)
    want = x / total
    name = f"cuda_cluster_reduce_{arch}"
    arguments = [tensor("x", "f32", 2), tensor("y", "f32", 2, "write"), tensor("counts", "i32", 1, "write")]
    description = bundle(arch.replace("sm", "sm_"), f"{name}.ptx", arguments,
                         [launch(kernel("cluster_reduce", 256, 0), [["*", extent("x", 0), 4], 1, 1],
                                 [address("x"), address("y"), address("counts"), i32(extent("x", 1))])])
    # A sum of n positive numbers in f32 is off by n roundings at most; one division.
    bound = want * (columns + 2) * 2.0**-24
    counts = np.full(rows, 4 * 32.0)  # 32 threads of each of four CTAs
    return Case(name, "nvcc", description, {"x": (x, "f32")},
                {"y": Result(want, bound, "f32"), "counts": Result(counts, counts * 0, "i32")},
                (3, i32(["-", extent("x", 1), 4])))


def cuda_softmax(folder, arch):
    rows, columns = 7, 516
    x = rounded(random(4, rows, columns) * 4, "f32")
    p = np.exp(x - x.max(-1, keepdims=True))
    want = p / p.sum(-1, keepdims=True)
    name = f"cuda_async_softmax_{arch}"
    arguments = [tensor("x", "f32", 2), tensor("y", "f16", 2, "write")]
    description = bundle(arch.replace("sm", "sm_"), f"{name}.ptx", arguments,
                         [launch(kernel("async_softmax", 128, 0), [3, 1, 1],
                                 [address("x"), address("y"), i32(extent("x", 0)), i32(extent("x", 1))])])
    # Half a unit of f16 (2^-25 below its normal range), and what f32 adds:
    # exponents up to 32 lose 5 bits of the argument.
    bound = np.maximum(want * 2.0**-11, 2.0**-25) + want * (columns * 2.0**-24 + 2.0**-18)
    return Case(name, "nvcc", description, {"x": (x, "f32")}, {"y": Result(want, bound, "f16")},
                (3, i32(["-", extent("x", 1), 4])))


def triton_pointers(folder, target):
    inputs, want, bound = matmul_inputs(150, 144, 208, "bf16", transposed=True)
    name = f"triton_matmul_pointers_sm{target}"
    meta = meta_of(folder, name)
    arguments = [tensor("a", "bf16", 2), tensor("b", "bf16", 2), tensor("c", "f32", 2, "write")]
    grid = [ceildiv(extent("a", 0), 128), ceildiv(extent("b", 1), 128), 1]
    numbers = [extent("a", 0), extent("b", 1), extent("a", 1)]
    numbers += [["floordiv", stride(t, 0), size] for t, size in (("a", 2), ("b", 2), ("c", 4))]
    no_scratch = [i64(0), i64(0)]
    description = bundle(f"sm_{target}a", f"{name}.ptx", arguments,
                         [launch(meta, grid, [*map(address, "abc"), *map(i32, numbers), *no_scratch])])
    return Case(name, "Triton", description, inputs, {"c": Result(want, bound, "f32")},
                (5, LESS_DEPTH))


def triton_descriptors(folder, target, suffix=""):
    inputs, want, bound = matmul_inputs(200, 264, 320, "bf16")
    name = f"triton_matmul_descriptors{suffix}_sm{target}"
    meta = meta_of(folder, name)
    arguments = [tensor("a", "bf16", 2), tensor("b", "bf16", 2), tensor("c", "bf16", 2, "write")]
    grid = [ceildiv(extent("a", 0), 128), ceildiv(extent("b", 0), 128), 1]
    params = []
    for t, box in zip("abc", meta["boxes"]):
        params += [box_map(t, "bf16", (1, 0), box[::-1]), i32(extent(t, 0)), i32(extent(t, 1)),
                   i64(["floordiv", stride(t, 0), 2]), i64(1)]
    params += [i32(extent("a", 0)), i32(extent("b", 0)), i32(extent("a", 1)), i64(0), i64(0)]
    description = bundle(f"sm_{target}a", f"{name}.ptx", arguments, [launch(meta, grid, params)])
    return Case(name, "Triton", description, inputs, {"c": Result(want, bound + np.abs(want) * 2.0**-8, "bf16")},
                (17, LESS_DEPTH))


def attention_inputs(heads, queries, keys, head_dim, kind, seeds=(5, 6, 7)):
    rows = (queries, keys, keys, queries)
    return [rounded(random(seed, heads, n, head_dim), kind) for seed, n in zip(seeds, rows)]


def attention_results(q, k, v, scale, kind, masked=True):
    """Outputs and bounds, row by row: a row far down has small values.

    For the output the rule of semantics.md R7, twice the yardstick's error plus a
    rounding; for lse what sums in f32 cost."""
    want, lse = attention(q, k, v, scale, masked)
    error = np.abs(yardstick(q, k, v, scale, kind, masked) - want).max(-1, keepdims=True)
    bound = 2 * error + ROUNDING[kind] * np.abs(want).max(-1, keepdims=True)
    return Result(want, np.broadcast_to(bound, want.shape), kind), Result(lse, 2.0**-20 + 2.0**-21 * np.abs(lse), "f32")


def triton_attention(folder, target, head_dim):
    heads, sequence, kind = 2, 200, "f16"
    q, k, v = attention_inputs(heads, sequence, sequence, head_dim, kind)
    scale = head_dim**-0.5
    o, lse = attention_results(q, k, v, scale, kind)
    name = f"triton_attention_d{head_dim}_sm{target}"
    meta = meta_of(folder, name)
    arguments = [*(tensor(t, kind, 3) for t in "qkv"), tensor("o", kind, 3, "write"), tensor("lse", "f32", 2, "write")]
    params = [*map(address, ("q", "k", "v", "o", "lse")), f32(scale * np.log2(np.e)), i32(extent("q", 1)),
              i32(["floordiv", stride("q", 0), 2]), i32(["floordiv", stride("q", 1), 2]), i64(0), i64(0)]
    grid = [ceildiv(extent("q", 1), 128), extent("q", 0), 1]
    description = bundle(f"sm_{target}a", f"{name}.ptx", arguments, [launch(meta, grid, params)])
    return Case(name, "Triton", description, {"q": (q, kind), "k": (k, kind), "v": (v, kind)},
                {"o": o, "lse": lse}, (5, f32(1.02 * scale * np.log2(np.e))))


def by_row(x):
    """[head, row, depth] to [batch, row, head, depth]."""
    return x.transpose(1, 0, 2)[None]


def flash_attention(folder, arch, variant, queries, keys):
    """The causal mask is aligned to the last query and the last key."""
    heads, kind = 2, "bf16"
    q, k, v = attention_inputs(heads, queries, keys, 128, kind)
    scale = 128**-0.5
    o, lse = attention_results(q, k, v, scale, kind, variant != "pairs")
    if arch == "sm_100a":
        lse.bound = lse.bound + POLYNOMIAL
    kernel = f"flash_attention_{arch}_{variant}_s{queries}"
    name = kernel if keys == queries else f"{kernel}_keys{keys}"
    (meta,) = meta_of(folder, kernel)
    if variant == "pairs":
        # So few multiprocessors that each pair of CTAs works on several tiles.
        params, grid, cluster = pairs(queries, heads, 1, scale, 4)
    else:
        params, grid, cluster = causal(arch, variant, queries, keys, heads, 1, scale)
    arguments = [*(tensor(t, kind, 4) for t in "qkv"), tensor("o", kind, 4, "write"), tensor("lse", "f32", 3, "write")]
    description = bundle(arch, f"{kernel}.ptx", arguments, [launch(meta, grid, params, cluster)])

    results = {"o": Result(by_row(o.want), by_row(o.bound), kind), "lse": Result(lse.want[None], lse.bound[None], "f32")}
    inputs = {"q": (by_row(q), kind), "k": (by_row(k), kind), "v": (by_row(v), kind)}
    return Case(name, "FlashAttention-4", description, inputs, results, (9, f32(1.02 * scale * np.log2(np.e))))


def flash_attention_backward(folder, sequence):
    heads, kind = 2, "bf16"
    q, k, v, do = attention_inputs(heads, sequence, sequence, 128, kind, (5, 6, 7, 8))
    scale = 128**-0.5
    o, lse = attention(q, k, v, scale, True)
    name = f"flash_attention_sm_100a_backward_s{sequence}"
    kernels = meta_of(folder, name)
    launches, workspaces = backward(sequence, heads, 1, scale)
    arguments = [*(tensor(t, kind, 4) for t in ("q", "k", "v", "o", "do")), tensor("lse", "f32", 3),
                 *(tensor(t, kind, 4, "write") for t in ("dq", "dk", "dv"))]
    description = bundle("sm_100a", f"{name}.ptx", arguments,
                         [launch(meta, grid, params, cluster)
                          for meta, (params, grid, cluster) in zip(kernels, launches, strict=True)], workspaces)
    inputs = {t: (by_row(x), kind) for t, x in (("q", q), ("k", k), ("v", v), ("o", o), ("do", do))}
    inputs["lse"] = lse[None], "f32"
    # Where a row has few keys, products of f32 sums cancel.
    floor = 2.0**-19 * (np.abs(do) @ np.abs(v).transpose(0, 2, 1)).max() * scale * np.abs(k).max()
    results = {}
    pairs_of_results = zip(("dq", "dk", "dv"), gradients(q, k, v, do, scale, np.float64, kind),
                           gradients(q, k, v, do, scale, np.float32, kind))
    for t, want, plain in pairs_of_results:
        error = np.abs(rounded(plain, kind) - want).max(-1, keepdims=True)
        # One row's error is a matter of luck, that of its neighbours is not.
        for start in range(0, sequence, 32):
            error[:, start : start + 32] = error[:, start : start + 32].max(1, keepdims=True)
        bound = 2 * error + ROUNDING[kind] * np.abs(want).max(-1, keepdims=True) + floor
        results[t] = Result(by_row(want), by_row(np.broadcast_to(bound, want.shape)), kind)
    return Case(name, "FlashAttention-4", description, inputs, results, (29, f32(1.02 * scale * np.log2(np.e))), 1)


def all_cases(folder):
    for arch in ("sm90a", "sm100a"):
        yield lambda arch=arch: cuda_softmax(folder, arch)
        yield lambda arch=arch: cuda_cluster_reduce(folder, arch)
    yield lambda: cuda_wgmma(folder)
    yield lambda: cuda_tcgen05(folder)
    for target in (90, 100):
        yield lambda target=target: triton_pointers(folder, target)
        yield lambda target=target: triton_descriptors(folder, target)
        for head_dim in (64, 128):
            yield lambda target=target, head_dim=head_dim: triton_attention(folder, target, head_dim)
    yield lambda: triton_descriptors(folder, 100, "_specialized")
    for arch in ("sm_90a", "sm_100a"):
        for queries, keys in ((256, 256), (1000, 1000), (256, 4096)):
            yield lambda arch=arch, q=queries, k=keys: flash_attention(folder, arch, "causal", q, k)
    for variant in ("clc", "pairs"):
        yield lambda variant=variant: flash_attention(folder, "sm_100a", variant, 1000, 1000)
    for sequence in (256, 1000):
        yield lambda s=sequence: flash_attention_backward(folder, s)
