# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The scalar part of the conformance set: one variant per opcode and modifier.

A variant is (name, pool, code, exact). Its code reads a*, b*, c*, e* (64-, 32-
and 16-bit views of four words and a predicate from bit 0) and writes one of
d16, d32, d64, dp; a second predicate dq is stored beside it.
`exact` is False where PTX leaves the last bits to the chip.
"""

VARIANTS = {}
NEWER = set()  # code that needs PTX 9.0
_LAST_OPERANDS = {}


def add(family, pool, opcode, operands, exact=True, name=None):
    name = name or opcode
    assert (family, name) not in _LAST_OPERANDS, (family, name)
    _LAST_OPERANDS[family, name] = True
    code = f"{opcode} {operands}".strip()
    code += "" if code.endswith("; }") else ";"
    VARIANTS.setdefault(family, []).append((name, pool, code, exact))


def combine(*options):
    """All concatenations of one choice of each option list."""
    results = [""]
    for option in options:
        results = [left + right for left in results for right in option]
    return results


def regs(bits, count):
    return ", ".join(f"{letter}{bits}" for letter in "dabce"[:count + 1])


def _integers():
    for t in ["s16", "u16", "s32", "u32", "s64", "u64"]:
        bits = t[1:]
        pool = "i" + bits
        for op in ["add", "sub", "mul.lo", "mul.hi", "min", "max"]:
            add("integer", pool, f"{op}.{t}", regs(bits, 2))
        for op in ["mad.lo", "mad.hi"]:
            add("integer", pool, f"{op}.{t}", regs(bits, 3))
        for op in ["div", "rem"]:
            add("integer", "divide", f"{op}.{t}", regs(bits, 2))
        add("integer", pool, f"sad.{t}", regs(bits, 3))
        if bits != "64":
            wide = str(2 * int(bits))
            add("integer", pool, f"mul.wide.{t}", f"d{wide}, a{bits}, b{bits}")
            add("integer", pool, f"mad.wide.{t}", f"d{wide}, a{bits}, b{bits}, c{wide}")
        if t[0] == "s":
            add("integer", pool, f"abs.{t}", regs(bits, 1))
            add("integer", pool, f"neg.{t}", regs(bits, 1))
    for op in ["add.sat.s32", "sub.sat.s32", "min.relu.s32", "max.relu.s32"]:
        add("integer", "i32", op, regs(32, 2))
    for op in ["add", "min", "max"]:
        for t in ["u16x2", "s16x2"]:
            add("integer", "i32", f"{op}.{t}", regs(32, 2))
    for op in ["min", "max"]:
        add("integer", "i32", f"{op}.relu.s16x2", regs(32, 2))
    add("integer", "i32", "mad.hi.sat.s32", regs(32, 3))
    for part in ["lo", "hi"]:
        for t in ["s32", "u32"]:
            add("integer", "i32", f"mul24.{part}.{t}", regs(32, 2))
            add("integer", "i32", f"mad24.{part}.{t}", regs(32, 3))
    add("integer", "i32", "mad24.hi.sat.s32", regs(32, 3))
    for left in ["u32", "s32"]:
        for right in ["u32", "s32"]:
            add("integer", "i32", f"dp4a.{left}.{right}", regs(32, 3))
            for half in ["lo", "hi"]:
                add("integer", "i32", f"dp2a.{half}.{left}.{right}", regs(32, 3))
    for t, bits in [("u32", 32), ("s32", 32), ("u64", 64), ("s64", 64)]:
        pool = f"i{bits}"
        hi = f"add.cc.{t} d{bits}, a{bits}, b{bits}; addc.{t} d{bits}, c{bits}, e{bits}"
        add("carry", pool, hi, "", name=f"add.cc.{t}+addc.{t}")
        lo = f"sub.cc.{t} d{bits}, a{bits}, b{bits}; subc.{t} d{bits}, c{bits}, e{bits}"
        add("carry", pool, lo, "", name=f"sub.cc.{t}+subc.{t}")
        for op in ["add", "sub"]:
            chain = (f"{op}.cc.{t} d{bits}, b{bits}, c{bits}; {op}c.cc.{t} d{bits}, a{bits}, b{bits}; "
                     f"{op}c.{t} d{bits}, d{bits}, e{bits}")
            add("carry", pool, chain, "", name=f"{op}c.cc.{t}+{op}c.{t}")
        mad = (f"mad.lo.cc.{t} d{bits}, a{bits}, b{bits}, c{bits}; "
               f"madc.hi.{t} d{bits}, a{bits}, b{bits}, e{bits}")
        add("carry", pool, mad, "", name=f"mad.lo.cc.{t}+madc.hi.{t}")
        mad = (f"mad.hi.cc.{t} d{bits}, a{bits}, b{bits}, c{bits}; "
               f"madc.lo.cc.{t} d{bits}, a{bits}, e{bits}, d{bits}; addc.{t} d{bits}, d{bits}, 0")
        add("carry", pool, mad, "", name=f"mad.hi.cc.{t}+madc.lo.cc.{t}")


def _bits():
    for bits in ["16", "32", "64"]:
        pool = "i" + bits
        for op in ["and", "or", "xor"]:
            add("logic", pool, f"{op}.b{bits}", regs(bits, 2))
        add("logic", pool, f"not.b{bits}", regs(bits, 1))
        add("logic", pool, f"cnot.b{bits}", regs(bits, 1))
        add("logic", "shift", f"shl.b{bits}", f"d{bits}, a{bits}, b32")
        for t in ["b", "u", "s"]:
            add("logic", "shift", f"shr.{t}{bits}", f"d{bits}, a{bits}, b32")
    for op in ["and", "or", "xor"]:
        add("logic", "i32", f"{op}.pred", "dp, ap, bp")
    add("logic", "i32", "not.pred", "dp, ap")
    for bits in ["32", "64"]:
        pool = "i" + bits
        add("logic", pool, f"popc.b{bits}", f"d32, a{bits}")
        add("logic", pool, f"clz.b{bits}", f"d32, a{bits}")
        add("logic", pool, f"brev.b{bits}", regs(bits, 1))
        add("logic", "shift", f"bfi.b{bits}", f"d{bits}, e{bits}, a{bits}, b32, c32")
        for t in ["u", "s"]:
            add("logic", "shift", f"bfe.{t}{bits}", f"d{bits}, a{bits}, b32, c32")
            add("logic", pool, f"bfind.{t}{bits}", f"d32, a{bits}")
            add("logic", pool, f"bfind.shiftamt.{t}{bits}", f"d32, a{bits}")
    fns = "and.b32 b32, b32, 31; sub.s32 c32, c32, 16; fns.b32 d32, a32, b32, c32"
    add("logic", "shift", "and.b32 c32, c32, 31; " + fns, "", name="fns.b32")
    for mode in ["clamp", "wrap"]:
        add("logic", "shift", f"bmsk.{mode}.b32", "d32, b32, c32")
        for t in ["u32", "s32"]:
            add("logic", "shift", f"szext.{mode}.{t}", "d32, a32, b32")
        for side in ["l", "r"]:
            add("logic", "shift", f"shf.{side}.{mode}.b32", "d32, a32, e32, b32")
    for table in [0xE2, 0x96, 0xCA, 0x01, 0x80]:
        add("logic", "i32", "lop3.b32", f"d32, a32, b32, c32, {table}", name=f"lop3.b32 {table:#x}")
    for op in ["or", "and"]:
        add("logic", "i32", f"lop3.{op}.b32", "d32|dq, a32, b32, c32, 0x6A, ep")
    add("logic", "i32", "prmt.b32", "d32, a32, b32, c32")
    for mode in ["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"]:
        add("logic", "i32", f"prmt.b32.{mode}", "d32, a32, b32, c32")
    for t, bits in [("b16", 16), ("b32", 32), ("b64", 64), ("u16", 16), ("s16", 16), ("u32", 32),
                    ("s32", 32), ("u64", 64), ("s64", 64), ("f32", 32), ("f64", 64)]:
        add("logic", "i64", f"selp.{t}", f"d{bits}, a{bits}, b{bits}, cp")
    for t, bits in [("b16", 16), ("b32", 32), ("b64", 64), ("u32", 32), ("s32", 32), ("u64", 64),
                    ("f32", 32)]:
        add("logic", "i32", f"slct.{t}.s32", f"d{bits}, a{bits}, b{bits}, c32")
        add("logic", "f32", f"slct.{t}.f32", f"d{bits}, a{bits}, b{bits}, c32")
        add("logic", "f32", f"slct.ftz.{t}.f32", f"d{bits}, a{bits}, b{bits}, c32")
    moves = {
        "mov.b32 {lo,hi}": "mov.b32 d32, {a16, b16}",
        "mov.b64 {lo,hi}": "mov.b64 d64, {a32, b32}",
        "mov.b64 {4x16}": "mov.b64 d64, {a16, b16, c16, e16}",
        "mov.b32 unpack": "mov.b32 {d16, x16}, a32; xor.b16 d16, d16, x16",
        "mov.b64 unpack": "mov.b64 {d32, x32}, a64; sub.s32 d32, d32, x32",
        "mov.b64 unpack sink": "mov.b64 {_, d32}, a64",
        "mov.b128": "{ .reg .b128 q; mov.b128 q, {a64, b64}; mov.b128 {x64, d64}, q; } "
                    "sub.s64 d64, d64, x64",
        "mov.pred": "mov.pred dp, ap",
        "mov.f32": "mov.f32 d32, a32",
        "mov.f64": "mov.f64 d64, a64",
        "mov.u16": "mov.u16 d16, a16",
    }
    for name, code in moves.items():
        add("logic", "i64", code, "", name=name)


COMPARE_INT = ["eq", "ne", "lt", "le", "gt", "ge"]
COMPARE_FLOAT = COMPARE_INT + ["equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"]


def _compares():
    for t in ["s16", "u16", "s32", "u32", "s64", "u64"]:
        names = COMPARE_INT + (["lo", "ls", "hi", "hs"] if t[0] == "u" else [])
        for name in names:
            add("compare", "i" + t[1:], f"setp.{name}.{t}", f"dp, a{t[1:]}, b{t[1:]}")
    for t in ["b16", "b32", "b64"]:
        for name in ["eq", "ne"]:
            add("compare", "i" + t[1:], f"setp.{name}.{t}", f"dp, a{t[1:]}, b{t[1:]}")
    for name in COMPARE_FLOAT:
        for ftz in ["", ".ftz"]:
            add("compare", "f32", f"setp.{name}{ftz}.f32", "dp, a32, b32")
            add("compare", "f16", f"setp.{name}{ftz}.f16", "dp, a16, b16")
            add("compare", "f16", f"setp.{name}{ftz}.f16x2", "dp|dq, a32, b32")
        add("compare", "f64", f"setp.{name}.f64", "dp, a64, b64")
        add("compare", "bf16", f"setp.{name}.bf16", "dp, a16, b16")
        add("compare", "bf16", f"setp.{name}.bf16x2", "dp|dq, a32, b32")
    for op in ["and", "or", "xor"]:
        add("compare", "i32", f"setp.lt.{op}.s32", "dp|dq, a32, b32, ep")
        add("compare", "f32", f"setp.gt.{op}.ftz.f32", "dp|dq, a32, b32, !ep")
        add("compare", "i32", f"set.le.{op}.u32.s32", "d32, a32, b32, ep")
    for to in ["u32", "s32", "f32"]:
        for source, pool in [("s32", "i32"), ("u32", "i32"), ("b32", "i32"), ("f32", "f32")]:
            add("compare", pool, f"set.{'ne' if source == 'b32' else 'lt'}.{to}.{source}",
                "d32, a32, b32")
        add("compare", "f32", f"set.geu.ftz.{to}.f32", "d32, a32, b32")
        add("compare", "i64", f"set.gt.{to}.s64", "d32, a64, b64")


def _floats():
    rounds = ["", ".rn", ".rz", ".rm", ".rp"]
    for op in ["add", "sub", "mul"]:
        for tail in combine(rounds, ["", ".ftz"], ["", ".sat"]):
            add("f32", "f32", f"{op}{tail}.f32", regs(32, 2))
    for tail in combine(rounds[1:], ["", ".ftz"], ["", ".sat"]):
        add("f32", "f32", f"fma{tail}.f32", regs(32, 3))
    for tail in combine(rounds[1:], ["", ".ftz"]):
        add("f32", "f32", f"mad{tail}.f32", regs(32, 3))
        add("f32", "f32", f"div{tail}.f32", regs(32, 2))
        add("f32", "f32", f"rcp{tail}.f32", regs(32, 1))
        add("f32", "f32", f"sqrt{tail}.f32", regs(32, 1))
    for ftz in ["", ".ftz"]:
        add("f32", "f32", f"abs{ftz}.f32", regs(32, 1))
        add("f32", "f32", f"neg{ftz}.f32", regs(32, 1))
        for op in ["min", "max"]:
            for tail in combine(["", ".NaN"], ["", ".xorsign.abs"]):
                add("f32", "f32", f"{op}{ftz}{tail}.f32", regs(32, 2))
    add("f32", "f32", "copysign.f32", regs(32, 2))
    add("f32", "f64", "copysign.f64", regs(64, 2))
    for kind in ["finite", "infinite", "number", "notanumber", "normal", "subnormal"]:
        add("f32", "f32", f"testp.{kind}.f32", "dp, a32")
        add("f32", "f64", f"testp.{kind}.f64", "dp, a64")
    for op in ["add", "sub", "mul"]:
        for rnd in rounds:
            add("f64", "f64", f"{op}{rnd}.f64", regs(64, 2))
    for rnd in rounds[1:]:
        add("f64", "f64", f"fma{rnd}.f64", regs(64, 3))
        add("f64", "f64", f"div{rnd}.f64", regs(64, 2))
        add("f64", "f64", f"rcp{rnd}.f64", regs(64, 1))
        add("f64", "f64", f"sqrt{rnd}.f64", regs(64, 1))
    for op in ["abs", "neg"]:
        add("f64", "f64", f"{op}.f64", regs(64, 1))
    for op in ["min", "max"]:
        add("f64", "f64", f"{op}.f64", regs(64, 2))


def _approximate():
    for ftz in ["", ".ftz"]:
        add("approx", "ex2", f"ex2.approx{ftz}.f32", regs(32, 1), False)
        add("approx", "wide", f"lg2.approx{ftz}.f32", regs(32, 1), False)
        add("approx", "wide", f"rcp.approx{ftz}.f32", regs(32, 1), False)
        add("approx", "wide", f"rsqrt.approx{ftz}.f32", regs(32, 1), False)
        add("approx", "wide", f"sqrt.approx{ftz}.f32", regs(32, 1), False)
        add("approx", "angle", f"sin.approx{ftz}.f32", regs(32, 1), False)
        add("approx", "angle", f"cos.approx{ftz}.f32", regs(32, 1), False)
        add("approx", "wide", f"div.approx{ftz}.f32", regs(32, 2), False)
        add("approx", "wide", f"div.full{ftz}.f32", regs(32, 2), False)
    add("approx", "ex2", "tanh.approx.f32", regs(32, 1), False)
    for t, bits, pool in [("f16", 16, "f16"), ("f16x2", 32, "f16")]:
        add("approx", pool, f"ex2.approx.{t}", regs(bits, 1), False)
        add("approx", pool, f"tanh.approx.{t}", regs(bits, 1), False)
    for t, bits in [("bf16", 16), ("bf16x2", 32)]:
        add("approx", "bf16", f"ex2.approx.ftz.{t}", regs(bits, 1), False)
        add("approx", "bf16", f"tanh.approx.{t}", regs(bits, 1), False)


def _halves():
    for t, bits in [("f16", 16), ("f16x2", 32)]:
        for op in ["add", "sub", "mul"]:
            for tail in combine(["", ".rn"], ["", ".ftz"], ["", ".sat"]):
                add("half", "f16", f"{op}{tail}.{t}", regs(bits, 2))
        for tail in combine(["", ".ftz"], ["", ".sat", ".relu"]):
            add("half", "f16", f"fma.rn{tail}.{t}", regs(bits, 3))
        for op in ["abs", "neg"]:
            for ftz in ["", ".ftz"]:
                add("half", "f16", f"{op}{ftz}.{t}", regs(bits, 1))
        for op in ["min", "max"]:
            for tail in combine(["", ".ftz"], ["", ".NaN"], ["", ".xorsign.abs"]):
                add("half", "f16", f"{op}{tail}.{t}", regs(bits, 2))
    for t, bits in [("bf16", 16), ("bf16x2", 32)]:
        for op in ["add", "sub", "mul"]:
            for rnd in ["", ".rn"]:
                add("half", "bf16", f"{op}{rnd}.{t}", regs(bits, 2))
        for relu in ["", ".relu"]:
            add("half", "bf16", f"fma.rn{relu}.{t}", regs(bits, 3))
        for op in ["abs", "neg"]:
            add("half", "bf16", f"{op}.{t}", regs(bits, 1))
        for op in ["min", "max"]:
            for tail in combine(["", ".NaN"], ["", ".xorsign.abs"]):
                add("half", "bf16", f"{op}{tail}.{t}", regs(bits, 2))


def _converts():
    ints = ["s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"]
    view = lambda t: {"8": "32"}.get(t.lstrip("suf"), t.lstrip("suf"))
    for source in ints:
        for to in ints:
            if source == to:
                continue
            narrow = int(to[1:]) < int(source[1:]) or (to[1:] == source[1:]) or (
                to[0] == "u" and source[0] == "s")
            for sat in ["", ".sat"] if narrow else [""]:
                add("convert", "i64", f"cvt{sat}.{to}.{source}", f"d{view(to)}, a{view(source)}")
    for t in ints:
        for rnd in ["rni", "rzi", "rmi", "rpi"]:
            for ftz in ["", ".ftz"]:
                add("convert", "f32", f"cvt.{rnd}{ftz}.{t}.f32", f"d{view(t)}, a32")
            add("convert", "f64", f"cvt.{rnd}.{t}.f64", f"d{view(t)}, a64")
            add("convert", "f16", f"cvt.{rnd}.{t}.f16", f"d{view(t)}, a16")
        add("convert", "f32", f"cvt.rzi.sat.{t}.f32", f"d{view(t)}, a32")
        for rnd in ["rn", "rz", "rm", "rp"]:
            add("convert", "i64", f"cvt.{rnd}.f32.{t}", f"d32, a{view(t)}")
            add("convert", "i64", f"cvt.{rnd}.f64.{t}", f"d64, a{view(t)}")
            add("convert", "i64", f"cvt.{rnd}.f16.{t}", f"d16, a{view(t)}")
        if t[1:] != "8":
            add("convert", "i64", f"cvt.rn.bf16.{t}", f"d16, a{view(t)}")
    for rnd in ["rni", "rzi", "rmi", "rpi"]:
        for tail in combine(["", ".ftz"], ["", ".sat"]):
            add("convert", "f32", f"cvt.{rnd}{tail}.f32.f32", "d32, a32")
        add("convert", "f64", f"cvt.{rnd}.f64.f64", "d64, a64")
        add("convert", "f16", f"cvt.{rnd}.f16.f16", "d16, a16")
    for ftz in ["", ".ftz"]:
        add("convert", "f32", f"cvt{ftz}.sat.f32.f32", "d32, a32")
        add("convert", "f32", f"cvt{ftz}.f64.f32", "d64, a32")
        add("convert", "f16", f"cvt{ftz}.f32.f16", "d32, a16")
        for rnd in ["rn", "rz", "rm", "rp"]:
            add("convert", "f64", f"cvt.{rnd}{ftz}.f32.f64", "d32, a64")
            add("convert", "f32", f"cvt.{rnd}{ftz}.f16.f32", "d16, a32")
    add("convert", "f32", "cvt.rn.sat.f16.f32", "d16, a32")
    add("convert", "bf16", "cvt.f32.bf16", "d32, a16")
    add("convert", "f16", "cvt.f64.f16", "d64, a16")
    for rnd in ["rn", "rz"]:
        for relu in ["", ".relu"]:
            add("convert", "f32", f"cvt.{rnd}{relu}.bf16.f32", "d16, a32")
            add("convert", "f32", f"cvt.{rnd}{relu}.bf16x2.f32", "d32, a32, b32")
            add("convert", "f32", f"cvt.{rnd}{relu}.f16x2.f32", "d32, a32, b32")
            add("convert", "f32", f"cvt.{rnd}{relu}.tf32.f32", "d32, a32")
    for relu in ["", ".relu"]:
        add("convert", "f32", f"cvt.rn{relu}.f16.f32", "d16, a32", name=f"cvt.rn{relu}.f16.f32 s")
    add("convert", "f32", "cvt.rna.tf32.f32", "d32, a32")
    for t in ["e4m3x2", "e5m2x2"]:
        for relu in ["", ".relu"]:
            add("convert", "f32", f"cvt.rn.satfinite{relu}.{t}.f32", "d16, a32, b32")
            add("convert", "f16", f"cvt.rn.satfinite{relu}.{t}.f16x2", "d16, a32")
            add("convert", "bytes", f"cvt.rn{relu}.f16x2.{t}", "d32, a16")


_integers()
_bits()
_compares()
_floats()
_approximate()
_halves()
_converts()

def module(variants, count):
    """One kernel that runs `variants`; variant i writes out[i * count + thread]
    as pairs of u64: the result and the second predicate. Every pool has its own
    input, numbered in the order of first use."""
    pools = []
    for _, pool, _, _ in variants:
        if pool not in pools:
            pools.append(pool)
    version = "9.0" if any(code.rstrip(";") in NEWER for _, _, code, _ in variants) else "8.5"
    text = [f".version {version}", ".target sm_90a", ".address_size 64", "",
            "// Read by the memory variants; initialisers are checked too.",
            ".const .align 8 .b8 constants[16] = {1, 2, 3, 4, 0xF5, 0xF6, 0xF7, 0xF8, 9, 10, 11, 12, "
            "13, 14, 15, 255};",
            ".global .align 8 .u32 globals[4] = {0x11223344, 0x55667788, 0x99AABBCC, 0xDDEEFF00};",
            "",
            ".visible .entry conformance(.param .u64 input, .param .u64 output)", ".reqntid 256", "{",
            "  .shared .align 16 .b8 scratch[16384];", "  .local .align 16 .b8 local[64];",
            "  .reg .b64 in, out, row, a64, b64, c64, e64, d64, x64, o64, q64;",
            "  .reg .b64 gl, gs, policy, y64;",
            "  .reg .b32 thread, cta, sh, a32, b32, c32, e32, d32, x32, y32, z32, q32;",
            "  .reg .b16 a16, b16, c16, e16, d16, x16;",
            "  .reg .pred ap, bp, cp, ep, dp, dq;",
            "  mov.u32 thread, %tid.x;", "  mov.u32 cta, %ctaid.x;",
            "  mov.u32 sh, scratch; mad.lo.u32 sh, thread, 64, sh;",
            "  cvt.u64.u32 gs, sh; cvta.shared.u64 gs, gs;",
            "  mad.lo.s32 thread, cta, 256, thread;",
            "  ld.param.u64 in, [input];", "  ld.param.u64 out, [output];",
            # Behind the results every thread has 64 bytes of its own.
            "  mad.wide.u32 in, thread, 32, in;",
            f"  mad.wide.u32 gl, thread, 64, out; add.u64 gl, gl, {len(variants) * count * 16};",
            "  mad.wide.u32 out, thread, 16, out;"]
    for index, (name, pool, code, _) in enumerate(variants):
        offset = pools.index(pool) * count * 32
        text.append(f"  // {name}")
        text.append(f"  ld.global.v2.u64 {{a64, b64}}, [in+{offset}];")
        text.append(f"  ld.global.v2.u64 {{c64, e64}}, [in+{offset + 16}];")
        for letter in "abce":
            text.append(f"  cvt.u32.u64 {letter}32, {letter}64; "
                        f"cvt.u16.u64 {letter}16, {letter}64; "
                        f"and.b32 q32, {letter}32, 1; setp.ne.u32 {letter}p, q32, 0;")
        text.append("  mov.pred dq, 0;")
        text.append(f"  {code}")
        target = _result_register(code)
        text.append({"d16": "  cvt.u64.u16 o64, d16;", "d32": "  cvt.u64.u32 o64, d32;",
                     "d64": "  mov.b64 o64, d64;",
                     "dp": "  selp.b64 o64, 1, 0, dp;"}[target])
        text.append("  selp.b64 q64, 1, 0, dq;")
        text.append(f"  st.global.v2.u64 [out+{index * count * 16}], {{o64, q64}};")
    text += ["  ret;", "}", ""]
    return "\n".join(text), pools


def _result_register(code):
    """The result register that the last writing instruction of `code` names first."""
    for part in reversed(code.split(";")):
        words = part.translate(str.maketrans("{}|,", "    ")).split()
        if words and not words[0].startswith(("st.", "red.", "bra", "@")):
            for word in words[1:]:
                if word in ("d16", "d32", "d64", "dp"):
                    return word
    raise ValueError(code)
