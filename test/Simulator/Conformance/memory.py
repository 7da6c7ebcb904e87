# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory, warp and barrier variants of the conformance set.

They use the harness of scalar.py. `sh` is the address of 64 bytes of shared
memory of the thread's own, `gl` of 64 bytes of global memory, `gs` the generic
address of `sh`.
"""

from scalar import add

FILL = {
    "shared": "st.shared.v2.b64 [sh], {a64, b64}; st.shared.v2.b64 [sh+16], {c64, e64}; ",
    "global": "st.global.v2.b64 [gl], {a64, b64}; st.global.v2.b64 [gl+16], {c64, e64}; ",
    "local": "st.local.v2.b64 [local], {a64, b64}; st.local.v2.b64 [local+16], {c64, e64}; ",
    "": "st.v2.b64 [gs], {a64, b64}; st.v2.b64 [gs+16], {c64, e64}; ",
}
BASE = {"shared": "sh", "global": "gl", "local": "local", "": "gs"}
TYPES = [("b8", 16), ("u8", 32), ("s8", 32), ("b16", 16), ("u16", 16), ("s16", 32), ("b32", 32),
         ("u32", 32), ("s32", 64), ("f32", 32), ("b64", 64), ("u64", 64), ("s64", 64),
         ("f64", 64)]


def case(name, code, pool="i64", family="memory", exact=True):
    add(family, pool, code, "", exact, name=name)


def _loads_and_stores():
    for space, base in BASE.items():
        dot = f".{space}" if space else ""
        for t, bits in TYPES:
            size = int(t[1:]) // 8
            case(f"ld{dot}.{t}", FILL[space] + f"ld{dot}.{t} d{bits}, [{base}+{8 + size % 8}]")
            wide = {8: "32", 16: "32", 32: "32", 64: "64"}[int(t[1:])]
            case(f"st{dot}.{t}",
                 FILL[space] + f"st{dot}.{t} [{base}+{8 + size % 8}], c{wide}; "
                 f"ld{dot}.b64 d64, [{base}+8]")
        for t in ["u8", "b16", "u32", "f32"]:
            full = "16" if t == "b16" else "32"
            case(f"ld{dot}.v2.{t}", FILL[space] + f"ld{dot}.v2.{t} {{x{full}, d{full}}}, [{base}+8]; "
                 f"xor.b{full} d{full}, d{full}, x{full}")
            case(f"ld{dot}.v4.{t}", FILL[space] + (
                f"{{ .reg .b{full} t0, t1; ld{dot}.v4.{t} {{x{full}, d{full}, t0, t1}}, [{base}+16]; "
                f"sub.s{full} t0, t0, t1; add.s{full} x{full}, x{full}, t0; }} "
                f"xor.b{full} d{full}, d{full}, x{full}"))
            case(f"st{dot}.v4.{t}", FILL[space] + (
                f"st{dot}.v4.{t} [{base}], {{a{full}, e{full}, c{full}, b{full}}}; "
                f"ld{dot}.b64 x64, [{base}]; ld{dot}.b64 d64, [{base}+8]; "
                "mad.lo.u64 d64, d64, 31, x64"))
        case(f"ld{dot}.v2.b64", FILL[space] + f"ld{dot}.v2.b64 {{x64, d64}}, [{base}+16]; "
             "xor.b64 d64, d64, x64")
    for tail in [".ca", ".cg", ".cs", ".lu", ".cv", ".nc", ".volatile", ".weak", ".relaxed.cta",
                 ".relaxed.cluster", ".relaxed.gpu", ".relaxed.sys", ".acquire.cta",
                 ".acquire.cluster", ".acquire.gpu", ".acquire.sys", ".L1::evict_first",
                 ".L1::no_allocate", ".L2::128B"]:
        before = ["", tail] if tail in (".ca", ".cg", ".cs", ".lu", ".cv", ".nc") or "::" in tail \
            else [tail, ""]
        case(f"ld{tail} global", FILL["global"] + f"ld{before[0]}.global{before[1]}.b32 d32, [gl+4]")
    for tail in [".wb", ".cg", ".cs", ".wt", ".volatile", ".weak", ".relaxed.cta",
                 ".relaxed.cluster", ".relaxed.gpu", ".relaxed.sys", ".release.cta",
                 ".release.cluster", ".release.gpu", ".release.sys", ".L1::no_allocate"]:
        before = ["", tail] if tail in (".wb", ".cg", ".cs", ".wt") or "::" in tail else [tail, ""]
        case(f"st{tail} global", FILL["global"] + (
            f"st{before[0]}.global{before[1]}.b32 [gl+4], e32; ld.global.b64 d64, [gl]"))
    for tail in [".volatile", ".relaxed.cta", ".acquire.cta", ".acquire.cluster"]:
        case(f"ld{tail} shared", FILL["shared"] + f"ld{tail}.shared.b32 d32, [sh+4]")
    for tail in [".volatile", ".relaxed.cta", ".release.cta", ".release.cluster"]:
        case(f"st{tail} shared", FILL["shared"] + (
            f"st{tail}.shared.b32 [sh+4], e32; ld.shared.b64 d64, [sh]"))
    case("ld.b128", FILL["global"] + "{ .reg .b128 q; ld.global.b128 q, [gl+16]; "
         "st.shared.b128 [sh], q; } ld.shared.b64 d64, [sh+8]")
    case("createpolicy, cache hint", FILL["global"] + (
        "createpolicy.fractional.L2::evict_last.b64 policy, 1.0; "
        "ld.global.L2::cache_hint.b32 x32, [gl+4], policy; "
        "st.global.L2::cache_hint.b32 [gl], x32, policy; ld.global.b64 d64, [gl]"))
    case("prefetch", "prefetch.global.L1 [gl]; prefetch.global.L2 [gl]; prefetchu.L1 [gs]; "
         "prefetch.global.L2::evict_last [gl]; mov.b64 d64, a64")
    case("isspacep", "isspacep.shared dp, gs; isspacep.global dq, gl; and.pred dp, dp, dq; "
         "isspacep.global dq, gs; isspacep.local ap, gl; or.pred dq, dq, ap; mov.pred dp, dp")
    case("cvta", "cvta.to.shared.u64 x64, gs; cvt.u64.u32 d64, sh; sub.s64 d64, d64, x64; "
         "cvta.to.global.u64 x64, gl; sub.s64 x64, x64, gl; or.b64 d64, d64, x64")
    case("ld.const", "and.b32 x32, a32, 7; { .reg .b64 t; mov.u64 t, constants; "
         "cvt.u64.u32 x64, x32; add.u64 t, t, x64; ld.const.s8 d32, [t]; }")
    case("global initialiser", "and.b32 x32, a32, 3; { .reg .b64 t; mov.u64 t, globals; "
         "mad.wide.u32 t, x32, 4, t; ld.global.u32 d32, [t]; }")


INT_ATOMS = [("add", ["u32", "s32", "u64"]), ("min", ["u32", "s32", "u64", "s64"]),
             ("max", ["u32", "s32", "u64", "s64"]), ("exch", ["b32", "b64"]),
             ("and", ["b32", "b64"]), ("or", ["b32", "b64"]), ("xor", ["b32", "b64"]),
             ("inc", ["u32"]), ("dec", ["u32"])]


def _atom(space, tail, t, pool, operand=None, scope=""):
    bits = 64 if t in ("u64", "s64", "b64", "f64") else 16 if t in ("f16", "bf16", "b16") else 32
    base = BASE[space]
    op = tail.split(".")[0]
    value = operand or f"b{bits}"
    name = f"{scope}.{space}.{tail}.{t}"
    fill = f"st.{space}.b64 [{base}], a64; "
    after = f"ld.{space}.b64 x64, [{base}]; "
    old = {16: "cvt.u64.u16 d64, d16; ", 32: "cvt.u64.u32 d64, d32; ", 64: ""}[bits]
    case(f"atom{name}", fill + f"atom{scope}.{space}.{tail}.{t} d{bits}, [{base}], {value}; " + after +
         old + "mad.lo.u64 d64, d64, 31, x64", pool, "atomic")
    if op not in ("exch", "cas"):
        case(f"red{name}", fill + f"red{scope}.{space}.{tail}.{t} [{base}], {value}; " + after +
             "mov.b64 d64, x64", pool, "atomic")


def _atomics():
    for space in ["shared", "global"]:
        for op, types in INT_ATOMS:
            for t in types:
                _atom(space, op, t, "i" + t[1:])
        for t in ["b16", "b32", "b64"]:
            bits = t[1:]
            _atom(space, "cas", t, "i" + bits, f"a{bits}, c{bits}")
            case(f"atom.{space}.cas.{t} failing", f"st.{space}.b64 [{BASE[space]}], a64; "
                 f"atom.{space}.cas.{t} d{bits}, [{BASE[space]}], b{bits}, c{bits}; "
                 f"ld.{space}.b64 d64, [{BASE[space]}]", "i" + bits, "atomic")
        _atom(space, "add", "f32", "f32")
        _atom(space, "add", "f64", "f64")
        for t, pool in [("f16", "f16"), ("f16x2", "f16"), ("bf16", "bf16"), ("bf16x2", "bf16")]:
            # ptxas 13.0 adds only the low half of packed numbers in shared
            # memory, against the ISA: nothing to compare with.
            if space == "global" or not t.endswith("x2"):
                _atom(space, "add.noftz", t, pool)
        for scope in [".relaxed.cta", ".acquire.gpu", ".release.gpu", ".acq_rel.cluster",
                      ".acq_rel.sys"]:
            bare = scope.startswith((".acquire", ".acq_rel"))
            case(f"atom{scope}.{space}.add.u32",
                 f"st.{space}.b64 [{BASE[space]}], a64; "
                 f"atom{scope}.{space}.add.u32 d32, [{BASE[space]}], b32", "i32", "atomic")
            if not bare:
                case(f"red{scope}.{space}.add.u32",
                     f"st.{space}.b64 [{BASE[space]}], a64; "
                     f"red{scope}.{space}.add.u32 [{BASE[space]}], b32; "
                     f"ld.{space}.b64 d64, [{BASE[space]}]", "i32", "atomic")
    for op in ["min", "max"]:
        for t in ["f16", "f16x2", "bf16", "bf16x2"]:
            vector = "v2" if t.endswith("x2") else "v4"
            pool = t.replace("x2", "")
            bits = 32 if t.endswith("x2") else 16
            values = f"{{b{bits}, e{bits}}}" if vector == "v2" else "{b16, c16, e16, b16}"
            case(f"red.global.{vector}.{t}.{op}", "st.global.b64 [gl], a64; "
                 f"red.global.{vector}.{t}.{op}.noftz [gl], {values}; ld.global.b64 d64, [gl]",
                 pool, "atomic")
    case("red.global.v2.f32.add", "mov.b64 x64, {a32, c32}; st.global.b64 [gl], x64; "
         "red.global.v2.f32.add [gl], {b32, e32}; ld.global.b64 d64, [gl]", "f32", "atomic")
    case("red.global.v4.f32.add", "mov.b64 x64, {a32, c32}; st.global.v2.b64 [gl], {x64, x64}; "
         "red.global.v4.f32.add [gl], {b32, e32, a32, c32}; ld.global.b64 x64, [gl]; "
         "ld.global.b64 d64, [gl+8]; mad.lo.u64 d64, d64, 31, x64", "f32", "atomic")


def _warp():
    shuffle = lambda name, code, pool="i32": case(name, code, pool, "warp")
    for mode in ["up", "down", "bfly", "idx"]:
        for by in [0, 1, 5, 16, 31]:
            for c in ([0, 0x1800, 0x0707] if mode == "up" else [0x1F, 0x181F, 0x0717]):
                shuffle(f"shfl.sync.{mode}.b32 {by} {c:#x}",
                        f"shfl.sync.{mode}.b32 d32|dq, a32, {by}, {c}, -1")
        shuffle(f"shfl.sync.{mode}.b32 per lane",
                f"and.b32 x32, b32, 31; shfl.sync.{mode}.b32 d32|dq, a32, x32, "
                f"{0 if mode == 'up' else 31}, -1")
    for mode in ["all", "any", "uni"]:
        shuffle(f"vote.sync.{mode}.pred", f"vote.sync.{mode}.pred dp, ap, -1")
        shuffle(f"vote.sync.{mode}.pred const", f"setp.ne.b32 ap, sh, 0; vote.sync.{mode}.pred dp, ap, -1")
    shuffle("vote.sync.ballot.b32", "vote.sync.ballot.b32 d32, ap, -1")
    shuffle("vote.sync.ballot.b32 !p", "vote.sync.ballot.b32 d32, !bp, -1")
    for bits in ["32", "64"]:
        shuffle(f"match.any.sync.b{bits}",
                f"and.b{bits} x{bits}, a{bits}, 3; match.any.sync.b{bits} d32, x{bits}, -1")
        shuffle(f"match.all.sync.b{bits}",
                f"and.b{bits} x{bits}, a{bits}, 3; match.all.sync.b{bits} d32|dq, x{bits}, -1")
        shuffle(f"match.all.sync.b{bits} equal",
                f"and.b{bits} x{bits}, a{bits}, 0; match.all.sync.b{bits} d32|dq, x{bits}, -1")
    for op in ["add", "min", "max"]:
        for t in ["u32", "s32"]:
            shuffle(f"redux.sync.{op}.{t}", f"redux.sync.{op}.{t} d32, a32, -1")
    for op in ["and", "or", "xor"]:
        shuffle(f"redux.sync.{op}.b32", f"redux.sync.{op}.b32 d32, b32, -1")
    shuffle("activemask", "activemask.b32 d32")
    shuffle("elect.sync", "elect.sync x32|dp, -1; vote.sync.ballot.b32 x32, dp, -1; "
            "popc.b32 d32, x32")
    shuffle("half masks", "and.b32 x32, thread, 16; setp.ne.u32 ap, x32, 0; @ap bra HIGH; "
            "redux.sync.add.s32 d32, a32, 0x0000FFFF; bra JOIN; HIGH: "
            "redux.sync.max.u32 d32, a32, 0xFFFF0000; JOIN: bar.warp.sync -1; mov.b32 d32, d32")
    for name in ["laneid", "lanemask_eq", "lanemask_lt", "lanemask_le", "lanemask_gt",
                 "lanemask_ge", "tid.x", "tid.y", "ntid.x", "ntid.z", "ctaid.x", "ctaid.y",
                 "nctaid.x", "cluster_ctaid.x", "cluster_nctaid.x", "cluster_ctarank",
                 "cluster_nctarank", "clusterid.x", "nclusterid.x"]:
        shuffle(f"mov.u32 %{name}", f"mov.u32 d32, %{name}")
    shuffle("bar.sync", "st.shared.b32 [sh], a32; bar.sync 0; xor.b32 x32, sh, 64; "
            "ld.shared.b32 d32, [x32]; bar.sync 1, 256; mov.b32 d32, d32")
    shuffle("barrier.cta.red.popc", "barrier.cta.red.popc.aligned.u32 d32, 2, ap")
    shuffle("barrier.red.popc", "barrier.red.popc.u32 d32, 3, 256, !ap")
    for op in ["and", "or"]:
        shuffle(f"bar.red.{op}.pred", f"bar.red.{op}.pred dp, 0, ap")
    # Warps 4 to 7 signal, warps 0 to 3 wait and read what they wrote.
    shuffle("bar.arrive", "mov.u32 x32, %tid.x; setp.lt.u32 cp, x32, 128; @cp bra WAITS; "
            "st.shared.b32 [sh], b32; bar.arrive 4, 256; mov.b32 d32, b32; bra MEETS; WAITS: "
            "bar.sync 4, 256; ld.shared.b32 d32, [sh+8192]; MEETS: bar.sync 0; mov.b32 d32, d32")
    for scope in ["cta", "cluster", "gpu", "sys"]:
        shuffle(f"fence {scope}", f"fence.sc.{scope}; fence.acq_rel.{scope}; mov.b32 d32, a32")
    shuffle("membar", "membar.cta; membar.gl; membar.sys; mov.b32 d32, a32")
    shuffle("fence.proxy", "fence.proxy.alias; fence.proxy.async; fence.proxy.async.global; "
            "fence.proxy.async.shared::cta; mov.b32 d32, a32")


def _async():
    barrier = lambda name, code: case(name, "mbarrier.init.shared.b64 [sh+32], 3; " + code +
                                      "; mbarrier.inval.shared.b64 [sh+32]; mov.b64 d64, d64",
                                      "i32", "async")
    wait = lambda parity: (f"mbarrier.test_wait.parity.shared::cta.b64 dp, [sh+32], {parity}; "
                           "selp.b32 x32, 1, 0, dp; shl.b32 y32, y32, 1; or.b32 y32, y32, x32; ")
    start = "mov.b32 y32, 0; "
    end = "cvt.u64.u32 d64, y32"
    arrive = "mbarrier.arrive.shared.b64 _, [sh+32]; ".replace("_", "x64")
    barrier("mbarrier fresh", start + wait(0) + wait(1) + end)
    barrier("mbarrier one phase", start + arrive + wait(0) + arrive + wait(0) + arrive + wait(0) +
            wait(1) + end)
    barrier("mbarrier two phases", start + arrive * 3 + wait(0) + arrive * 3 + wait(0) + wait(1) + end)
    barrier("mbarrier.arrive count", start + "mbarrier.arrive.release.cta.shared.b64 x64, [sh+32], 2; " +
            wait(0) + arrive + wait(0) + end)
    barrier("mbarrier.arrive_drop", start + "mbarrier.arrive_drop.shared.b64 x64, [sh+32]; " +
            arrive * 2 + wait(0) + arrive * 2 + wait(1) + end)
    barrier("mbarrier tx", start + "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [sh+32], 48; " +
            arrive * 3 + wait(0) +
            "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [sh+32], 32; " + wait(0) +
            "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [sh+32], 16; " + wait(0) + end)
    barrier("mbarrier tx before expect", start +
            "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [sh+32], 32; " + arrive * 2 +
            "mbarrier.arrive.expect_tx.shared.b64 x64, [sh+32], 32; " + wait(0) + end)
    barrier("mbarrier.arrive.noComplete", start +
            "mbarrier.arrive.noComplete.shared.b64 x64, [sh+32], 2; "
            "mbarrier.pending_count.b64 y32, x64; " + arrive + wait(0) + end)
    barrier("mbarrier.test_wait state", start + arrive * 2 +
            "mbarrier.test_wait.shared.b64 dp, [sh+32], x64; selp.b32 y32, 1, 0, dp; "
            "mov.b64 y64, x64; " + arrive + "mbarrier.test_wait.shared.b64 dp, [sh+32], y64; "
            "selp.b32 x32, 2, 0, dp; or.b32 y32, y32, x32; " + end)
    barrier("mbarrier.try_wait", start + arrive * 3 +
            "mbarrier.try_wait.parity.shared.b64 dp, [sh+32], 0; selp.b32 y32, 1, 0, dp; "
            "mbarrier.try_wait.parity.shared.b64 dp, [sh+32], 0, 100; selp.b32 x32, 2, 0, dp; "
            "or.b32 y32, y32, x32; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 dp, "
            "[sh+32], 0; selp.b32 x32, 4, 0, dp; or.b32 y32, y32, x32; " + end)
    done = "cp.async.wait_all; ld.shared.b64 x64, [sh]; ld.shared.b64 d64, [sh+8]; " \
           "mad.lo.u64 d64, d64, 31, x64"
    clear = FILL["global"] + "st.shared.v2.b64 [sh], {e64, e64}; "
    copy = lambda name, code: case(name, clear + code, "i64", "async")
    for size in [4, 8, 16]:
        copy(f"cp.async.ca {size}", f"cp.async.ca.shared.global [sh], [gl], {size}; " + done)
        copy(f"cp.async.ca {size} short",
             f"cp.async.ca.shared.global [sh], [gl], {size}, {size - 3}; " + done)
    copy("cp.async.cg 16", "cp.async.cg.shared.global [sh], [gl], 16; " + done)
    copy("cp.async.cg 16 zero", "cp.async.cg.shared.global.L2::128B [sh], [gl], 16, 0; " + done)
    copy("cp.async groups", "cp.async.ca.shared.global [sh], [gl], 8; cp.async.commit_group; "
         "cp.async.ca.shared.global [sh+8], [gl], 8; cp.async.commit_group; "
         "cp.async.wait_group 1; ld.shared.b64 y64, [sh]; cp.async.wait_group 0; " + done)
    copy("cp.async.mbarrier.arrive.noinc", "mbarrier.init.shared.b64 [sh+32], 1; "
         "cp.async.ca.shared.global [sh], [gl], 8; cp.async.mbarrier.arrive.noinc.shared.b64 [sh+32]; "
         "TRY: mbarrier.try_wait.parity.shared.b64 dp, [sh+32], 0; @!dp bra TRY; "
         "mbarrier.inval.shared.b64 [sh+32]; " + done)
    copy("cp.async.mbarrier.arrive", "mbarrier.init.shared.b64 [sh+32], 1; "
         "cp.async.ca.shared.global [sh], [gl], 8; cp.async.mbarrier.arrive.shared.b64 [sh+32]; "
         "mbarrier.arrive.shared.b64 x64, [sh+32]; "
         "TRY2: mbarrier.try_wait.parity.shared.b64 dp, [sh+32], 0; @!dp bra TRY2; "
         "mbarrier.inval.shared.b64 [sh+32]; " + done)
    bulk = ("fence.proxy.async; mbarrier.init.shared.b64 [sh+32], 1; "
            "fence.mbarrier_init.release.cluster; "
            "mbarrier.arrive.expect_tx.shared.b64 x64, [sh+32], 16; ")
    poll = ("{} mbarrier.try_wait.parity.shared.b64 dp, [sh+32], 0; @!dp bra {}; "
            "mbarrier.inval.shared.b64 [sh+32]; ")
    copy("cp.async.bulk load", bulk +
         "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [sh], [gl], 16, [sh+32]; "
         + poll.format("TRY3:", "TRY3") + done)
    copy("cp.async.bulk store", "fence.proxy.async; "
         "cp.async.bulk.global.shared::cta.bulk_group [gl+16], [sh], 16; cp.async.bulk.commit_group; "
         "cp.async.bulk.wait_group.read 0; cp.async.bulk.wait_group 0; ld.global.b64 d64, [gl+24]")
    for t, pool in [("u32", "i32"), ("s32", "i32"), ("u64", "i64")]:
        for op in ["add", "min", "max"]:
            _bulk_reduce(op, t, pool)
    for op in ["inc", "dec"]:
        _bulk_reduce(op, "u32", "i32")
    for op in ["and", "or", "xor"]:
        _bulk_reduce(op, "b32", "i32")
    _bulk_reduce("add", "f32", "f32")
    _bulk_reduce("add", "f64", "f64")
    for t in ["f16", "bf16"]:
        _bulk_reduce("add.noftz", t, t)
        for op in ["min", "max"]:
            _bulk_reduce(op, t, t)


def _bulk_reduce(op, t, pool):
    bits = t.lstrip("usbf")
    pack = "mov.b64 x64, {a32, c32}; mov.b64 y64, {b32, e32}; " if bits != "64" else \
        "mov.b64 x64, a64; mov.b64 y64, b64; "
    case(f"cp.reduce.async.bulk.{op}.{t}", pack + "st.global.v2.b64 [gl], {x64, x64}; "
         "st.shared.v2.b64 [sh], {y64, x64}; fence.proxy.async; "
         f"cp.reduce.async.bulk.global.shared::cta.bulk_group.{op}.{t} [gl], [sh], 16; "
         "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ld.global.b64 x64, [gl]; "
         "ld.global.b64 d64, [gl+8]; mad.lo.u64 d64, d64, 31, x64", pool, "async")


_loads_and_stores()
_atomics()
_warp()
_async()
