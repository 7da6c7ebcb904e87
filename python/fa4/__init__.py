# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""FA4 from Python: compile attention, simulate it, launch it on a GPU.

    import fa4

    kernel = fa4.compile(fa4.Attention(head_dim=128, causal=True), target="sm_90a")
    kernel.launch(q=q, k=k, v=v, o=o, lse=lse)        # torch, CuPy or JAX tensors
    results = fa4.simulate(kernel, q=q, k=k, v=v,     # numpy arrays, no GPU
                           o=fa4.Empty(q.shape), lse=fa4.Empty((b, h, s)))

The compiler and the simulator are the programs fa4c and fa4-sim, run as child
processes: a fault of theirs is an exception here, never the end of this process.
Only numpy is needed; launching needs NVIDIA's `cuda-bindings` besides.
"""

from fa4._arrays import Empty, from_bf16, to_bf16
from fa4._cache import Cache, default_cache
from fa4._errors import (
    ArgumentError,
    CompileError,
    Diagnostic,
    DriverError,
    FA4Error,
    SimulationFault,
    ToolError,
)
from fa4._kernel import Kernel, PreparedLaunch, compile
from fa4._simulate import simulate
from fa4._spec import Attention

__all__ = [
    "ArgumentError",
    "Attention",
    "Cache",
    "CompileError",
    "Diagnostic",
    "DriverError",
    "Empty",
    "FA4Error",
    "Kernel",
    "PreparedLaunch",
    "SimulationFault",
    "ToolError",
    "compile",
    "default_cache",
    "from_bf16",
    "simulate",
    "to_bf16",
]
