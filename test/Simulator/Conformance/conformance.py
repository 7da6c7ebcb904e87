# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All cases of the conformance set in one list.

The scalar variants of a family share a kernel; `variant_case` makes the kernel
of any subset, so that one missing opcode does not hide the others.
"""

import directed
import further  # noqa: F401  (adds its cases, and those of copies, to directed.CASES)
import memory  # noqa: F401  (adds its variants to scalar.VARIANTS)
import pools
import remaining  # noqa: F401  (likewise)
import scalar

SCRATCH_BYTES = 64
_cache = {}


def pool_words(name):
    """The pool as 32-bit words, low half first."""
    if name not in _cache:
        _cache[name] = [half for word in pools.pool_words(name)
                        for half in (word & 0xFFFFFFFF, word >> 32)]
    return _cache[name]


def variant_case(family, variants):
    ptx, used = scalar.module(variants, pools.COUNT)
    return dict(name=family, ptx=ptx, grid=pools.COUNT // 256, block=256,
                input=[word for name in used for word in pool_words(name)],
                output=pools.COUNT * (len(variants) * 16 + SCRATCH_BYTES) // 4, shared=0, maps=[],
                exact=all(variant[3] for variant in variants),
                part="scalar-" + ("a" if family in ("convert", "half", "f32") else "b"))


def not_recorded(family, recorded):
    """The family's variants without a result, in the order of their kernel's output."""
    return [v for v in scalar.VARIANTS[family] if f"{family}: {v[0]}" not in recorded]


def all_cases(variants=False, recorded=()):
    """Families as one kernel each, or every variant as its own; none that is recorded."""
    cases = []
    for family in scalar.VARIANTS:
        members = not_recorded(family, recorded)
        if not variants:
            cases += [variant_case(family, members)] if members else []
            continue
        for variant in members:
            case = variant_case(family, [variant])
            cases.append(dict(case, name=f"{family}: {variant[0]}", pool=variant[1]))
    return cases + [dict(case, part="directed") for case in directed.CASES if case["name"] not in recorded]
