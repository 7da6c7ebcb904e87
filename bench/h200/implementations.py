# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Who is measured: ours, PyTorch's and JAX's attention, and a hand-written kernel.

Each is a class with `create(case, ...)`, which raises `Unavailable` where it cannot do
the case. An object launches on the current stream, writes `o` (and `lse` if it gives
one), and says how to wait for it.
"""

import ctypes
import functools
import json
import math
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
# JAX shares the GPU with torch.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import torch  # noqa: E402
import torch.nn.functional as functional  # noqa: E402
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402

import fa4  # noqa: E402


class Unavailable(Exception):
    """Why an implementation has no number for a case."""


TYPES = {"bf16": torch.bfloat16, "f16": torch.float16}


@dataclass(frozen=True)
class Case:
    """Forward, 32k tokens and hidden 2048 as the FlashAttention papers have it."""

    head_dim: int
    seqlen: int
    causal: bool
    dtype: str = "bf16"
    tokens: int = 32768
    hidden: int = 2048

    @property
    def heads(self):
        return self.hidden // self.head_dim

    @property
    def batch(self):
        return max(1, self.tokens // self.seqlen)

    @property
    def flop(self):
        """2 b h s s (d + d_v); causal counts half."""
        return 4 * self.batch * self.heads * self.seqlen**2 * self.head_dim * (0.5 if self.causal else 1)

    def __str__(self):
        return f"{self.dtype} d{self.head_dim} s{self.seqlen} {'causal' if self.causal else 'full'}"


class Tensors:
    """Inputs normal(0, 1), never zeros; [b, h, s, d] in memory."""

    def __init__(self, case):
        shape = (case.batch, case.heads, case.seqlen, case.head_dim)
        self.q, self.k, self.v = (torch.randn(shape, device="cuda", dtype=TYPES[case.dtype]) for _ in range(3))
        self.o = torch.empty_like(self.q)
        self.lse = torch.empty(shape[:3], device="cuda")

    def poison(self):
        self.o.fill_(math.nan)
        self.lse.fill_(math.nan)


class Ours:
    """A kernel that fa4c made: a bundle in a folder."""

    has_lse = True

    def __init__(self, name, folder, entry, case, tensors):
        self.name = name
        files = {p.name: p.read_bytes() for p in (folder / entry["folder"]).iterdir()}
        kernel = fa4.Kernel(files, "attention")
        self.prepared = kernel.prepare(q=tensors.q, k=tensors.k, v=tensors.v, o=tensors.o, lse=tensors.lse)
        self.stream = torch.cuda.current_stream().cuda_stream

    def launch(self):
        self.prepared.launch(self.stream)

    @staticmethod
    def create_all(folder, case, tensors, failures):
        """One per schedule that was compiled for the case."""
        if folder is None:
            return
        for entry in json.loads((folder / "index.json").read_text()):
            wanted = (entry["dtype"], entry["head_dim"], entry["causal"])
            if wanted != (case.dtype, case.head_dim, case.causal):
                continue
            name = "fa4" if entry["schedule"] == "default" else f"fa4-{entry['schedule']}"
            try:
                yield Ours(name, folder, entry, case, tensors)
            except fa4.FA4Error as error:
                failures.append(f"{case} {name}: {error}")


class Sdpa:
    """PyTorch's scaled_dot_product_attention with one back end."""

    has_lse = False

    def __init__(self, name, backend, case, tensors):
        self.name, self.backend, self.case, self.tensors = name, backend, case, tensors
        try:
            self.launch()
            torch.cuda.synchronize()
        except RuntimeError as error:
            raise Unavailable(str(error).splitlines()[0]) from error

    def launch(self):
        t = self.tensors
        with torch.no_grad(), sdpa_kernel(self.backend):
            self.result = functional.scaled_dot_product_attention(t.q, t.k, t.v, is_causal=self.case.causal)

    def output(self):
        return self.result


def cudnn(case, tensors):
    return Sdpa("cudnn", SDPBackend.CUDNN_ATTENTION, case, tensors)


def flash2(case, tensors):
    return Sdpa("flash2", SDPBackend.FLASH_ATTENTION, case, tensors)


class Flex:
    """PyTorch's FlexAttention, compiled by Triton for the shape."""

    name = "flex"
    has_lse = False

    def __init__(self, case, tensors):
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention
        self.tensors = tensors
        mask = None
        if case.causal:
            mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, case.seqlen, case.seqlen, device="cuda")
        compiled = torch.compile(flex_attention, dynamic=False)
        self.call = lambda: compiled(tensors.q, tensors.k, tensors.v, block_mask=mask)
        try:
            self.launch()
            torch.cuda.synchronize()
        except Exception as error:  # Inductor and Triton have their own families
            raise Unavailable(f"{type(error).__name__}: {str(error).splitlines()[0]}") from error

    def launch(self):
        with torch.no_grad():
            self.result = self.call()

    def output(self):
        return self.result


class Jax:
    """JAX's Mosaic GPU attention; it takes f16 alone, so it computes in f16."""

    name = "jax-f16"
    has_lse = False
    # block_q, block_kv, stages that are tried; the first case of a head dimension and
    # mask decides for all lengths.
    CANDIDATES = ((64, 128, 2), (64, 64, 4), (64, 256, 2), (64, 64, 2), (128, 128, 2))
    chosen: dict[tuple[int, bool], tuple[int, int, int]] = {}

    def __init__(self, case, tensors):
        try:
            import jax
            import jax.numpy as jnp
            from jax.experimental.pallas.ops.gpu import attention_mgpu
        except ImportError as error:
            raise Unavailable(str(error)) from error
        # The kernel does not scale its scores: q is scaled before.
        arrays = [jnp.from_dlpack(t.to(torch.float16).transpose(1, 2).contiguous())
                  for t in (tensors.q * case.head_dim**-0.5, tensors.k, tensors.v)]
        torch.cuda.synchronize()
        key = (case.head_dim, case.causal)
        tried, reason = [], "no candidate"
        for sizes in (self.chosen[key],) if key in self.chosen else self.CANDIDATES:
            config = attention_mgpu.TuningConfig(block_q=sizes[0], block_kv=sizes[1], max_concurrent_steps=sizes[2],
                                                 causal=case.causal)
            call = jax.jit(functools.partial(lambda config, q, k, v: attention_mgpu.attention(q, k, v, config), config))
            self.call = functools.partial(call, *arrays)
            try:
                tried.append((self._seconds(), sizes, self.call))
            except Exception as error:  # Mosaic raises what its lowering raises
                reason = f"{type(error).__name__}: {str(error).splitlines()[0]}"
        if not tried:
            raise Unavailable(reason)
        _, self.chosen[key], self.call = min(tried, key=lambda t: t[0])

    def _seconds(self):
        """Of one run among a few; the first compiles."""
        self.launch()
        self.wait()
        begin = time.perf_counter()
        for _ in range(6):
            self.launch()
        self.wait()
        return time.perf_counter() - begin

    def launch(self):
        self.result = self.call()

    def wait(self):
        """JAX has streams of its own: its runs are timed on the host."""
        self.result.block_until_ready()

    def output(self):
        return torch.from_dlpack(self.result).transpose(1, 2)


class _YardstickParameters(ctypes.Structure):
    _fields_ = [("scale", ctypes.c_float), ("seqlen", ctypes.c_int), ("heads", ctypes.c_int),
                ("blocks", ctypes.c_int), ("tiles", ctypes.c_int), ("section", ctypes.c_int), ("order", ctypes.c_int),
                ("counter", ctypes.c_void_p), ("lse", ctypes.c_void_p), ("clocks", ctypes.c_void_p)]


class Yardstick:
    """A hand-written kernel: cubins and their macros (v.json) in a folder. The ABI is
    that kernel's own: four tensor maps and a struct."""

    has_lse = True
    NAMES = {
        (64, False): ("q_3wg_l2_ss_np", "q_4wg_n64_l2_ss_np"),
        (64, True): ("qc_4wg_n64_l2_ss_np", "wc_4wg_n64_l2_jm_dyn"),
        (128, False): ("p_3wg_n80_l2_np_st3",),
        (128, True): ("pc_3wg_n80_l2_np_st3", "pc_3wg_n80_l2_dyn_st3"),
    }

    def __init__(self, folder, variant, case, tensors):
        self.name = f"yardstick-{variant}"
        facts = json.loads((folder / "v.json").read_text())[variant]
        self.cuda = ctypes.CDLL("libcuda.so.1")
        module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        self._call("cuModuleLoad", ctypes.byref(module), str(folder / f"{variant}.cubin").encode())
        self._call("cuModuleGetFunction", ctypes.byref(self.function), module, b"attn")
        d, groups, keys, stages = case.head_dim, facts.get("NWG", 2), facts.get("BN", 128), facts.get("ST", 2)
        if case.seqlen % keys and "BN" not in facts:
            raise Unavailable("length is no multiple of the tile")
        self.shared = groups * 64 * d * 2 + 2 * stages * keys * d * 2 + 8 * 64 + 16
        self._call("cuFuncSetAttribute", self.function, 8, self.shared)
        rows = case.batch * case.heads * case.seqlen
        self.maps = [self._map(t, rows, d, box) for t, box in
                     ((tensors.q, 64), (tensors.k, keys), (tensors.v, keys), (tensors.o, 64))]
        pairs = case.batch * case.heads
        blocks = math.ceil(case.seqlen / (groups * 64))
        section = facts.get("_hs", 0) or max(1, min(pairs, (32 << 20) // (case.seqlen * d * 4)))
        while pairs % section:
            section -= 1
        self.counter = torch.zeros(2, dtype=torch.int32, device="cuda")
        self.parameters = _YardstickParameters(
            d**-0.5 * math.log2(math.e), case.seqlen, pairs, blocks, blocks * pairs, section,
            facts.get("_order", 1 if case.causal else 0), self.counter.data_ptr(), tensors.lse.data_ptr(), None)
        self.arguments = (ctypes.c_void_p * 5)(*(address for _, address in self.maps), ctypes.addressof(self.parameters))
        processors = torch.cuda.get_device_properties(0).multi_processor_count
        self.grid = processors if facts.get("_persist", 1) else blocks * pairs
        self.threads = (groups + 1) * 128
        self.stream = torch.cuda.current_stream().cuda_stream

    def _call(self, name, *arguments):
        error = getattr(self.cuda, name)(*arguments)
        if error:
            raise Unavailable(f"{name}: error {error}")

    def _map(self, tensor, rows, d, box_rows):
        memory = (ctypes.c_byte * 256)()
        address = (ctypes.addressof(memory) + 127) & ~127
        extents, strides = (ctypes.c_uint64 * 3)(64, rows, d // 64), (ctypes.c_uint64 * 2)(d * 2, 128)
        box, steps = (ctypes.c_uint32 * 3)(64, box_rows, d // 64), (ctypes.c_uint32 * 3)(1, 1, 1)
        self._call("cuTensorMapEncodeTiled", ctypes.c_void_p(address), 9, 3, ctypes.c_void_p(tensor.data_ptr()),
                   extents, strides, box, steps, 0, 3, 3, 0)
        return memory, address

    def launch(self):
        self._call("cuLaunchKernel", self.function, self.grid, 1, 1, self.threads, 1, 1, self.shared,
                   ctypes.c_void_p(self.stream), self.arguments, None)

    @staticmethod
    def create_all(folder, case, tensors, failures):
        if folder is None or case.dtype != "bf16":
            return
        for variant in Yardstick.NAMES.get((case.head_dim, case.causal), ()):
            try:
                yield Yardstick(folder, variant, case, tensors)
            except (Unavailable, OSError, KeyError) as error:
                failures.append(f"{case} yardstick-{variant}: {error}")


PEERS = {"cudnn": cudnn, "flash2": flash2, "flex": Flex, "jax-f16": Jax}
