# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Forms that few kernels use: rare modifiers, scopes and qualifiers."""

from copies import BARRIER, MEET, PULL, cluster, recipe, store, words
from directed import case as directed_case, kernel
from memory import FILL, case
from scalar import COMPARE_FLOAT, COMPARE_INT, add, regs


def _scalar():
    for name in COMPARE_FLOAT:
        add("compare", "f32", f"set.{name}.u32.f32", regs(32, 2), name=f"set.{name}.u32.f32 all")
    for name in COMPARE_INT + ["lo", "ls", "hi", "hs"]:
        add("compare", "i32", f"set.{name}.u32.u32", regs(32, 2), name=f"set.{name}.u32.u32 all")
    for t, pool in [("u16", "i16"), ("s16", "i16"), ("b16", "i16")]:
        add("compare", pool, f"set.{'eq' if t == 'b16' else 'ge'}.u32.{t}", "d32, a16, b16")
    for t in ["b64", "u64"]:
        add("compare", "i64", f"set.{'ne' if t == 'b64' else 'le'}.s32.{t}", "d32, a64, b64")
    add("compare", "f64", "set.ltu.u32.f64", "d32, a64, b64")
    for to in ["u32", "s32", "u16", "s16", "f16"]:
        bits = "16" if to[1:] == "16" else "32"
        add("compare", "f16", f"set.leu.ftz.{to}.f16", f"d{bits}, a16, b16")
    add("compare", "f16", "set.gt.f16x2.f16x2", "d32, a32, b32")
    for t, bits in [("u16", 16), ("s16", 16), ("s64", 64), ("f64", 64)]:
        add("logic", "i32", f"slct.{t}.s32", f"d{bits}, a{bits}, b{bits}, c32")
    for t, bits in [("s16", 16), ("s32", 32), ("s64", 64)]:
        add("logic", "i64", f"mov.{t}", f"d{bits}, a{bits}")
    for op in ["cvt.pack.sat.s8.s32.b32", "cvt.pack.sat.u8.s32.b32"]:
        add("convert", "i32", op, "d32, a32, b32, c32")
    for op in ["cvt.pack.sat.s16.s32", "cvt.pack.sat.u16.s32"]:
        add("convert", "i32", op, "d32, a32, b32")
    add("f64", "f64", "mad.rn.f64", regs(64, 3))
    case("brx.idx", "and.b32 x32, a32, 3; TABLE: .branchtargets L0, L1, L2, L3; brx.idx x32, TABLE; "
         "L0: mov.b32 d32, 10; bra.uni OUT; L1: mov.b32 d32, 11; bra OUT; L2: mov.b32 d32, 12; bra OUT; "
         "L3: mov.b32 d32, 13; OUT: add.s32 d32, d32, 1", "i32", "control")
    case("selective exit of a loop", "mov.b32 d32, 0; and.b32 x32, a32, 15; LOOP: add.s32 d32, d32, b32; "
         "sub.s32 x32, x32, 1; setp.ge.s32 ap, x32, 0; @ap bra LOOP; xor.b32 d32, d32, 5", "i32", "control")
    case("nested divergence", "mov.b32 d32, 1; @ap bra X1; @bp bra X2; add.s32 d32, d32, 2; bra X3; X2: "
         "add.s32 d32, d32, 4; X3: add.s32 d32, d32, 8; bra X4; X1: @cp bra X5; add.s32 d32, d32, 16; X5: "
         "add.s32 d32, d32, 32; X4: add.s32 d32, d32, 64", "i32", "control")
    case("pmevent", "pmevent 1; mov.b32 d32, a32", "i32", "control")


def _memory():
    for hint in ["L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last"]:
        case(f"ld {hint}", FILL["global"] + f"ld.global.{hint}.b32 d32, [gl+4]")
        case(f"st {hint}", FILL["global"] + f"st.global.{hint}.b32 [gl+4], e32; ld.global.b64 d64, [gl]")
    case("ld.shared::cta", FILL["shared"] + "ld.shared::cta.b32 d32, [sh+4]")
    case("st.shared::cta", FILL["shared"] + "st.shared::cta.b32 [sh+4], e32; ld.shared.b64 d64, [sh]")
    case("ld.shared::cluster own", FILL["shared"] + "ld.shared::cluster.b32 d32, [sh+4]")
    for size in ["64B", "256B"]:
        case(f"ld.L2::{size}", FILL["global"] + f"ld.global.L2::{size}.b32 d32, [gl+4]")
    case("cvta.shared::cta", "cvt.u64.u32 x64, sh; cvta.shared::cta.u64 d64, x64; sub.s64 d64, d64, gs")
    case("createpolicy.range", "createpolicy.range.L2::evict_last.L2::evict_unchanged.b64 policy, [gl], 64, 64; "
         + FILL["global"] + "ld.global.L2::cache_hint.b32 d32, [gl+4], policy")
    case("createpolicy normal", "createpolicy.fractional.L2::evict_normal.b64 policy, 0.5; " + FILL["global"]
         + "ld.global.L2::cache_hint.b32 d32, [gl+4], policy")
    for scope in ["cluster", "sys"]:
        case(f"red.relaxed.{scope}.global.add.u32", "st.global.b64 [gl], a64; "
             f"red.relaxed.{scope}.global.add.u32 [gl], b32; ld.global.b64 d64, [gl]", "i32", "atomic")
    case("atom.shared::cta.add.u32", "st.shared.b64 [sh], a64; atom.shared::cta.add.u32 d32, [sh], b32", "i32",
         "atomic")
    case("atom.global.v2.f32", "mov.b64 x64, {a32, c32}; st.global.b64 [gl], x64; "
         "atom.global.v2.f32.add {d32, x32}, [gl], {b32, e32}; ld.global.b64 d64, [gl]", "f32", "atomic")
    case("fence.acquire", "fence.acquire.cluster; fence.release.cta; mov.b32 d32, a32", "i32", "warp")
    for op in ["and", "or"]:
        case(f"barrier.red.{op}.pred", f"barrier.red.{op}.pred dp, 5, 256, !ap", "i32", "warp")
    case("barrier.sync", "st.shared.b32 [sh], a32; barrier.sync 6; xor.b32 x32, sh, 64; "
         "ld.shared.b32 d32, [x32]; barrier.cta.sync 7, 256; mov.b32 d32, d32", "i32", "warp")
    case("barrier.cta.red.popc not aligned", "barrier.cta.red.popc.u32 d32, 8, bp", "i32", "warp")


def _mbarriers():
    def barrier(name, code):
        case(name, "mbarrier.init.shared::cta.b64 [sh+32], 3; " + code +
             "; mbarrier.inval.shared::cta.b64 [sh+32]; mov.b64 d64, d64", "i32", "async")

    def wait(form):
        return (f"mbarrier.{form} dp, [sh+32], 0; selp.b32 x32, 1, 0, dp; shl.b32 y32, y32, 1; "
                "or.b32 y32, y32, x32; ")

    start, end = "mov.b32 y32, 0; ", "cvt.u64.u32 d64, y32"
    tests = ["test_wait.parity.acquire.cta.shared::cta.b64", "test_wait.parity.acquire.cluster.shared::cta.b64",
             "try_wait.parity.acquire.cta.shared::cta.b64"]
    for form in ["arrive.release.cta.shared::cta.b64 x64, [sh+32], 3",
                 "arrive.release.cluster.shared::cluster.b64 _, [sh+32], 3"]:
        barrier(f"mbarrier.{form.split(' ')[0]}", start + f"mbarrier.{form}; " + "".join(map(wait, tests)) + end)
    for form in ["arrive.expect_tx.release.cta.shared::cta.b64 x64, [sh+32], 16",
                 "arrive.expect_tx.release.cluster.shared::cluster.b64 _, [sh+32], 16"]:
        barrier(f"mbarrier.{form.split(' ')[0]}", start + f"mbarrier.{form}; "
                "mbarrier.arrive.shared.b64 x64, [sh+32], 2; " + wait(tests[0]) +
                "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [sh+32], 16; " + wait(tests[0]) + end)
    for form in ["arrive_drop.release.cta.shared::cta.b64 x64, [sh+32]",
                 "arrive_drop.release.cluster.shared::cluster.b64 _, [sh+32]",
                 "arrive_drop.expect_tx.shared.b64 x64, [sh+32], 0"]:
        barrier(f"mbarrier.{form.split(' ')[0]}", start + f"mbarrier.{form}; "
                "mbarrier.arrive.shared.b64 x64, [sh+32], 2; " + wait(tests[0]) +
                "mbarrier.arrive.shared.b64 x64, [sh+32], 2; "
                "mbarrier.test_wait.parity.shared.b64 dp, [sh+32], 1; selp.b32 x32, 8, 0, dp; "
                "or.b32 y32, y32, x32; " + end)
    barrier("mbarrier.expect_tx.relaxed.cluster", start +
            "mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [sh+32], 32; "
            "mbarrier.arrive.shared.b64 x64, [sh+32], 3; " + wait(tests[1]) +
            "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [sh+32], 32; " + wait(tests[1]) + end)


def _copies():
    clear = FILL["global"] + "st.shared.v2.b64 [sh], {e64, e64}; "
    done = "cp.async.wait_all; ld.shared.b64 x64, [sh]; ld.shared.b64 d64, [sh+8]; mad.lo.u64 d64, d64, 31, x64"
    policy = "createpolicy.fractional.L2::evict_first.b64 policy, 1.0; "
    for hint in ["L2::64B", "L2::256B"]:
        case(f"cp.async {hint}", clear + f"cp.async.cg.shared::cta.global.{hint} [sh], [gl], 16; " + done, "i64",
             "async")
    case("cp.async cache hint", clear + policy + "cp.async.ca.shared.global.L2::cache_hint [sh], [gl], 8, policy; "
         + done, "i64", "async")
    case("cp.async.bulk prefetch", "cp.async.bulk.prefetch.L2.global [gl], 16; mov.b64 d64, a64", "i64", "async")
    case("cp.async.bulk store hint", policy + FILL["global"] + "st.shared.v2.b64 [sh], {a64, c64}; fence.proxy.async; "
         "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [gl+16], [sh], 16, policy; "
         "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ld.global.b64 d64, [gl+24]", "i64", "async")
    for t in ["s64", "b64"]:
        op = "min" if t == "s64" else "and"
        case(f"cp.reduce.async.bulk.{op}.{t}", "st.global.v2.b64 [gl], {a64, b64}; st.shared.v2.b64 [sh], {c64, e64}; "
             f"fence.proxy.async; cp.reduce.async.bulk.global.shared::cta.bulk_group.{op}.{t} [gl], [sh], 16; "
             "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ld.global.b64 x64, [gl]; "
             "ld.global.b64 d64, [gl+8]; mad.lo.u64 d64, d64, 31, x64", "i64", "async")
    store("reduce 1d", recipe("output", "u32", (1000,), (64,)), (960,), "add")
    store("reduce 3d", recipe("output", "u32", (20, 9, 5), (16, 4, 3)), (8, 6, 3), "max")
    store("reduce 4d", recipe("output", "u32", (8, 7, 5, 3), (4, 3, 2, 2)), (4, 5, 3, 2), "xor")
    store("reduce 5d", recipe("output", "u32", (8, 3, 5, 3, 2), (4, 2, 2, 2, 2)), (4, 2, 3, 1, 1), "or")
    body = ("  mov.b64 %rd1, map0; cvta.param.u64 %rd1, %rd1;\n"
            "  cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%rd1, {0, 0}];\n"
            "  mad.wide.u32 out, thread, 4, out; st.global.b32 [out], thread;\n")
    directed_case("tma prefetch", kernel(body, ".reqntid 32", 1), 32, words(7000, 16384), 32,
                  maps=[recipe("input", "f32", (64, 20), (16, 4))])


def _clusters():
    for form, source, size in [("b64", "%rd4", 8), ("u32", "%r21", 4), ("s32", "%r22", 4), ("f32", "%r20", 4),
                               ("u64", "%rd4", 8), ("s64", "%rd4", 8), ("f64", "%rd4", 8),
                               ("v2.b32", "{%r20, %r22}", 8)]:
        cluster(f"st.async {form}", BARRIER.format(1) + "  @q bra ARMED;\n"
                f"  mbarrier.arrive.expect_tx.shared.b64 %rd0, [%r1], {128 * size};\nARMED:\n" + PULL +
                "  st.shared.v4.b32 [%r30+2048], {%r20, %r20, %r20, %r20}; mov.b64 %rd4, {%r21, %r22};\n" + MEET +
                "  xor.b32 %r2, rank, 1; mapa.shared::cluster.u32 %r3, %r30, %r2; "
                "mapa.shared::cluster.u32 %r4, %r1, %r2;\n"
                f"  st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.{form} [%r3+2048], {source}, [%r4];\n"
                "WAIT: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%r1], 0; @!p bra WAIT;\n"
                "  ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [%r30+2048];\n" + MEET)
    for op, t, source, size in [("dec", "u32", "%r23", 4), ("or", "b32", "%r23", 4), ("add", "u64", "%rd4", 8),
                                ("min", "u32", "%r23", 4), ("max", "s32", "%r23", 4)]:
        cluster(f"red.async {op} {t} rare", BARRIER.format(1) + "  @q bra ARMED;\n"
                f"  mbarrier.arrive.expect_tx.shared.b64 %rd0, [%r1], {128 * size};\nARMED:\n" + PULL +
                "  mov.b64 %rd4, {%r21, %r22};\n" + MEET +
                "  xor.b32 %r2, rank, 1; mapa.shared::cluster.u32 %r3, %r30, %r2; "
                "mapa.shared::cluster.u32 %r4, %r1, %r2;\n"
                "  red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes."
                f"{op}.{t} [%r3], {source}, [%r4];\n"
                "WAIT: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%r1], 0; @!p bra WAIT;\n"
                "  ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [%r30];\n" + MEET)
    cluster("getctarank u64", "  xor.b32 %r2, rank, 1; cvt.u64.u32 %rd0, base; cvta.shared.u64 %rd0, %rd0;\n"
            "  mapa.u64 %rd1, %rd0, %r2; getctarank.u64 %r10, %rd1; getctarank.u64 %r11, %rd0;\n" + MEET)


_scalar()
_memory()
_mbarriers()
_copies()
_clusters()
