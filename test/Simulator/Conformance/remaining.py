# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the other files leave of the opcode table: calls, ends, hints, relaxed
forms, and every shape of wgmma."""

from copies import BARRIER, MEET, PULL, INIT, OUT_WORDS, PAINT, DUMP, WAIT, box_bytes, cluster, coordinates, recipe, words
from directed import IMAGE_A, SPAN, case as directed_case, descriptor, image, kernel, regs, width
from memory import FILL, case
from scalar import COMPARE_FLOAT, NEWER, add

POLICY = "createpolicy.fractional.L2::evict_first.b64 policy, 1.0; "


def newer(name, code, *rest):
    """A variant of a later version of PTX than the others need."""
    NEWER.add(code)
    case(name, code, *rest)


def _scalar():
    for op in COMPARE_FLOAT:
        add("compare", "bf16", f"set.{op}.bf16.bf16", "d16, a16, b16")
        add("compare", "bf16", f"set.{op}.bf16x2.bf16x2", "d32, a32, b32")
    for to in ["u32", "s32", "u16", "s16"]:
        add("compare", "bf16", f"set.geu.{to}.bf16", f"d{to[1:]}, a16, b16")
        add("compare", "bf16", f"set.lt.and.{to}.bf16", f"d{to[1:]}, a16, b16, ep")
    for source, pool in [("f16", "f16"), ("f32", "f32"), ("s32", "i32"), ("u16", "i16"), ("b64", "i64"), ("f64", "f64")]:
        add("compare", pool, f"set.ne.bf16.{source}", f"d16, a{source[1:]}, b{source[1:]}")
    case("brx.idx.uni", "mov.u32 x32, %ctaid.x; and.b32 x32, x32, 1; TABLE2: .branchtargets U0, U1; "
         "brx.idx.uni x32, TABLE2; U0: add.s32 d32, a32, 7; bra.uni UOUT; U1: sub.s32 d32, a32, b32; UOUT: "
         "xor.b32 d32, d32, 5", "i32", "control")
    case("pmevent.mask", "pmevent.mask 6; mov.b32 d32, a32", "i32", "control")


def _spaces():
    """Generic addresses of all spaces and what isspacep says of each."""
    ask = "; ".join(f"isspacep.{kind} dp, x64; selp.b32 y32, {1 << i}, 0, dp; or.b32 z32, z32, y32"
                    for i, kind in enumerate(["const", "param", "param::entry", "global", "local", "shared::cta",
                                              "shared::cluster"]))
    places = {"const": "mov.u64 x64, constants; cvta.const.u64 x64, x64",
              "param": "mov.b64 x64, input; cvta.param::entry.u64 x64, x64",
              "local": "mov.u64 x64, local; cvta.local.u64 x64, x64", "global": "mov.b64 x64, gl",
              "shared": "mov.b64 x64, gs"}
    for name, code in places.items():
        case(f"isspacep at {name}", f"mov.b32 z32, 0; {code}; {ask}; mov.b32 d32, z32")
    case("cvta.shared::cluster", "cvt.u64.u32 x64, sh; cvta.shared::cluster.u64 d64, x64; sub.s64 d64, d64, gs; "
         "cvta.to.shared::cluster.u64 y64, gs; sub.s64 y64, y64, x64; or.b64 d64, d64, y64")
    case("cvta.local", FILL["local"] + "mov.u64 x64, local; cvta.local.u64 y64, x64; cvta.to.local.u64 y64, y64; "
         "sub.s64 y64, y64, x64; cvta.local.u64 x64, x64; ld.b64 d64, [x64+8]; add.u64 d64, d64, y64")
    case("cvta.const", "mov.u64 x64, constants; cvta.const.u64 y64, x64; ld.u32 d32, [y64+4]; "
         "cvta.to.const.u64 y64, y64; ld.const.u32 x32, [y64+8]; xor.b32 d32, d32, x32")
    case("cvta.param::entry", "mov.b64 x64, input; cvta.param::entry.u64 x64, x64; ld.b64 d64, [x64]; "
         "ld.param::entry.u64 y64, [input]; sub.s64 d64, d64, y64")


def _memory():
    case("ld.mmio", FILL["global"] + "ld.mmio.relaxed.sys.global.b32 d32, [gl+4]")
    case("st.mmio", FILL["global"] + "st.mmio.relaxed.sys.global.b32 [gl+4], e32; ld.global.b64 d64, [gl]")
    case("prefetch rare", FILL["local"] + "prefetch.local.L1 [local]; prefetch.global.L2::evict_normal [gl]; "
         "ld.local.b64 d64, [local+8]")
    load = FILL["global"] + "ld.global.L2::cache_hint.b32 d32, [gl+4], policy"
    for first in ["normal", "first", "last", "unchanged"]:
        case(f"createpolicy.fractional {first} alone", f"createpolicy.fractional.L2::evict_{first}.b64 policy; " + load)
        for second in ["first", "unchanged"]:
            both = f"L2::evict_{first}.L2::evict_{second}"
            case(f"createpolicy.fractional {first} {second}", f"createpolicy.fractional.{both}.b64 policy, 0.5; " + load)
            case(f"createpolicy.range {first} {second}", f"createpolicy.range.global.{both}.b64 policy, [gl], 32, 64; " + load)
    case("createpolicy.cvt", "createpolicy.cvt.L2.b64 policy, 0x12F0000000000000; " + load)
    case("red.shared::cta.add.u32", "st.shared.b64 [sh], a64; red.shared::cta.add.u32 [sh+4], b32; ld.shared.b64 d64, [sh]",
         "i32", "atomic")
    read = "; ld.global.b64 x64, [gl]; ld.global.b64 d64, [gl+8]; mad.lo.u64 d64, d64, 31, x64"
    four = "mov.b64 x64, {a32, c32}; mov.b64 y64, {b32, e32}; st.global.v2.b64 [gl], {x64, y64}; "
    case("atom.global.v4.f32", four + "atom.global.v4.f32.add {d32, x32, y32, z32}, [gl], {b32, e32, a32, c32}" + read,
         "f32", "atomic")
    for t in ["f16x2", "bf16x2"]:
        case(f"atom.global.v4.{t}", four + f"atom.global.v4.{t}.add.noftz {{d32, x32, y32, z32}}, [gl], {{b32, e32, a32, c32}}"
             + read, t[:-2], "atomic")
    for t in ["f16", "bf16"]:
        eight = "[gl], {b16, e16, a16, c16, e16, a16, b16, b16}"
        old = "{d16, x16, h0, h1, h2, h3, h4, h5}"
        for op in ["add", "min", "max"]:
            case(f"red.global.v8.{t}.{op}", four + f"red.global.v8.{t}.{op}.noftz {eight}" + read, t, "atomic")
            case(f"atom.global.v8.{t}.{op}", four + f"{{ .reg .b16 h<6>; atom.global.v8.{t}.{op}.noftz {old}, {eight}; "
                 "xor.b16 d16, d16, h5; } cvt.u64.u16 x64, d16; ld.global.b64 d64, [gl+8]; mad.lo.u64 d64, d64, 31, x64",
                 t, "atomic")
    for op in ["atom.global.L2::cache_hint.add.u32 d32,", "red.global.L2::cache_hint.add.u32"]:
        case(op.split()[0], POLICY + f"st.global.b64 [gl], a64; {op} [gl], b32, policy; ld.global.b64 d64, [gl]", "i32",
             "atomic")


def _barriers():
    swap = "; xor.b32 x32, sh, 64; ld.shared.b32 d32, [x32]; "
    case("bar.cta.sync", "st.shared.b32 [sh], a32; bar.cta.sync 0" + swap + "barrier.sync.aligned 1; mov.b32 d32, d32",
         "i32", "warp")
    case("bar.cta.red.popc", "bar.cta.red.popc.u32 d32, 3, 256, bp", "i32", "warp")
    for op in ["and", "or"]:
        case(f"bar.cta.red.{op}", f"bar.cta.red.{op}.pred dp, 2, !ap", "i32", "warp")
    # As the bar.arrive of memory.py; each pair of warps meets, too.
    for form in ["bar.cta.arrive", "barrier.arrive", "barrier.cta.arrive.aligned", "barrier.cta.arrive"]:
        label = form.replace(".", "").upper()
        case(form, f"mov.u32 x32, %tid.x; setp.lt.u32 cp, x32, 128; @cp bra W{label}; "
             f"st.shared.b32 [sh], b32; {form} 4, 256; mov.b32 d32, b32; bra M{label}; W{label}: "
             f"bar.sync 4, 256; ld.shared.b32 d32, [sh+8192]; M{label}: bar.sync 0; mov.b32 d32, d32", "i32", "warp")
    newer("membar and fence rare", "membar.proxy.alias; fence.proxy.async.shared::cluster; "
          "fence.acquire.sync_restrict::shared::cluster.cluster; fence.release.sync_restrict::shared::cta.cluster; "
          "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster; "
          "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster; mov.b32 d32, a32", "i32", "warp")


def _mbarriers():
    def barrier(name, code):
        newer(name, "mbarrier.init.shared::cta.b64 [sh+32], 3; mov.b32 y32, 0; " + code +
              "mbarrier.inval.shared::cta.b64 [sh+32]; cvt.u64.u32 d64, y32", "i32", "async")

    def wait(form, against="0"):
        return (f"mbarrier.{form} dp, [sh+32], {against}; selp.b32 x32, 1, 0, dp; shl.b32 y32, y32, 1; "
                "or.b32 y32, y32, x32; ")

    forms = [f"{kind}_wait.parity.relaxed.{scope}.shared::cta.b64" for kind in ("test", "try") for scope in ("cta", "cluster")]
    asked = "".join(map(wait, forms))
    finish = "mbarrier.arrive.shared.b64 x64, [sh+32], {}; "
    for scope, space, to in [("cta", "shared::cta", "x64"), ("cluster", "shared::cta", "x64"),
                             ("cluster", "shared::cluster", "_")]:
        form = f"relaxed.{scope}.{space}.b64 {to}, [sh+32]"
        name = f"relaxed.{scope}.{space}"
        barrier(f"mbarrier.arrive.{name}", f"mbarrier.arrive.{form}, 2; " + finish.format(1) + asked)
        barrier(f"mbarrier.arrive.expect_tx.{name}", f"mbarrier.arrive.expect_tx.{form}, 16; " + finish.format(2)
                + wait(forms[0]) + "mbarrier.complete_tx.relaxed.cta.shared.b64 [sh+32], 16; " + asked)
        barrier(f"mbarrier.arrive_drop.{name}", f"mbarrier.arrive_drop.{form}, 1; " + finish.format(2) + asked
                + finish.format(2) + wait(forms[0], "1"))
        for order in ["relaxed", "release"]:
            barrier(f"mbarrier.arrive_drop.expect_tx.{order}.{scope}.{space}",
                    f"mbarrier.arrive_drop.expect_tx.{order}{form[7:]}, 32; " + finish.format(2) + wait(forms[0])
                    + "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [sh+32], 32; " + asked
                    + finish.format(2) + wait(forms[0], "1"))
    barrier("mbarrier.arrive_drop.noComplete", "mbarrier.arrive_drop.noComplete.shared.b64 x64, [sh+32], 1; "
            "mbarrier.pending_count.b64 y32, x64; " + wait(forms[0]) + finish.format(2) + wait(forms[0]))
    barrier("mbarrier.test_wait.relaxed of a state", finish.format(2) +
            wait("test_wait.relaxed.cta.shared::cta.b64", "x64") + "mov.b64 y64, x64; " + finish.format(1)
            + wait("test_wait.relaxed.cluster.shared::cta.b64", "y64") + wait("try_wait.relaxed.cta.shared::cta.b64", "y64"))
    barrier("mbarrier.expect_tx.shared", "mbarrier.expect_tx.relaxed.cta.shared.b64 [sh+32], 64; " + finish.format(3)
            + wait(forms[0]) + "mbarrier.complete_tx.relaxed.cta.shared.b64 [sh+32], 64; " + asked)


def _copies():
    clear = FILL["global"] + "st.shared.v2.b64 [sh], {e64, e64}; "
    done = "ld.shared.b64 x64, [sh]; ld.shared.b64 d64, [sh+8]; mad.lo.u64 d64, d64, 31, x64"
    poll = ("{0}: mbarrier.try_wait.parity.shared.b64 dp, [sh+32], 0; @!dp bra {0}; mbarrier.inval.shared.b64 [sh+32]; ")
    for tail, extra in [("noinc.", ""), ("", "mbarrier.arrive.shared.b64 x64, [sh+32]; ")]:
        label = "NOINC" if tail else "INC"
        case(f"cp.async.mbarrier.arrive.{tail}shared::cta", clear + "mbarrier.init.shared.b64 [sh+32], 1; "
             f"cp.async.ca.shared.global [sh], [gl], 8; cp.async.mbarrier.arrive.{tail}shared::cta.b64 [sh+32]; "
             + extra + poll.format("C" + label) + "cp.async.wait_all; " + done, "i64", "async")
    newer("cp.async.bulk.shared::cta", clear + "fence.proxy.async; mbarrier.init.shared.b64 [sh+32], 1; "
          "mbarrier.arrive.expect_tx.shared.b64 x64, [sh+32], 16; "
          "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [sh], [gl], 16, [sh+32]; "
          + poll.format("COWN") + done, "i64", "async")
    case("cp.reduce.async.bulk cache hint", POLICY + "st.global.v2.b64 [gl], {a64, b64}; "
         "st.shared.v2.b64 [sh], {c64, e64}; fence.proxy.async; "
         "cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.add.u64 [gl], [sh], 16, policy; "
         "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ld.global.b64 x64, [gl]; "
         "ld.global.b64 d64, [gl+8]; mad.lo.u64 d64, d64, 31, x64", "i64", "async")
    case("cp.async.bulk.prefetch cache hint", POLICY + "cp.async.bulk.prefetch.L2.global.L2::cache_hint [gl], 16, policy; "
         "mov.b64 d64, a64", "i64", "async")
    hint = "  createpolicy.fractional.L2::evict_first.b64 %rd4, 1.0;\n"
    for rank in [1, 3, 4, 5]:
        for tail, operand in [("", ""), (".tile.L2::cache_hint", ", %rd4")]:
            body = (hint + "  mov.b64 %rd1, map0; cvta.param.u64 %rd1, %rd1;\n"
                    f"  cp.async.bulk.prefetch.tensor.{rank}d.L2.global{tail} [%rd1, {coordinates([0] * rank)}]{operand};\n"
                    "  mad.wide.u32 out, thread, 4, out; st.global.b32 [out], thread;\n")
            directed_case(f"tma prefetch {rank}d{tail}", kernel(body, ".reqntid 32", 1), 32, words(7100 + rank, 16384), 32,
                          maps=[recipe("input", "f32", (16, 4, 4, 4, 4)[:rank], (8, 2, 2, 2, 2)[:rank])])
    m = recipe("output", "u32", (32, 24), (16, 8))
    body = (hint + "  mad.lo.u32 %r5, thread, 4, base; mad.wide.u32 %rd2, thread, 4, in; ld.global.b32 %r6, [%rd2];\n"
            "  st.shared.b32 [%r5], %r6; fence.proxy.async; bar.sync 0;\n  setp.ne.u32 q, thread, 0; @q bra DONE;\n"
            "  mov.b64 %rd1, map0; cvta.param.u64 %rd1, %rd1;\n"
            "  cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group.L2::cache_hint "
            "[%rd1, {8, 3}], [base], %rd4;\n"
            "  cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\nDONE:\n")
    directed_case("tma store reduce cache hint", kernel(body, ".reqntid 128", 1), 128, words(7200, 128), 1024, shared=512,
                  maps=[m])
    own = recipe("input", "bf16", (100, 40), (64, 16), "128")
    _through_map("tma load shared::cta", own, "shared::cta", "")
    for scope in ["cta", "cluster", "gpu", "sys"]:
        _through_map(f"tma load copied map {scope}", own, "shared::cluster", scope)


def _through_map(name, m, space, scope):
    """A tensor load; with a scope, through a copy of the map that the kernel makes
    in global memory and clears afterwards (an encoded map is the driver's own)."""
    at = OUT_WORDS * 4
    copy = fence = clear = ""
    if scope:
        move = lambda what: "".join(f"  {what.format(8 * i)};\n" for i in range(16))
        copy = (move("ld.b64 %rd2, [%rd1+{0}]; st.global.b64 [out+{1}]".format("{0}", "OFFSET{0}") + ", %rd2")
                .replace("OFFSET", f"{at}+"))
        copy += f"  add.u64 %rd1, out, {at};\n"
        fence = (f"  fence.proxy.tensormap::generic.release.{scope};\n"
                 f"  fence.proxy.tensormap::generic.acquire.{scope} [%rd1], 128;\n")
        clear = "  @q bra CLEAR;\n  mov.b64 %rd2, 0;\n" + move(f"st.global.b64 [out+{at}+{{0}}], %rd2") + "CLEAR:\n"
    body = PAINT + INIT + (
        f"  @q bra WAIT;\n  mbarrier.arrive.expect_tx.shared.b64 %rd0, [%r1], {box_bytes(m)};\n"
        "  mov.b64 %rd1, map0; cvta.param.u64 %rd1, %rd1;\n" + copy + fence +
        f"  cp.async.bulk.tensor.2d.{space}.global.tile.mbarrier::complete_tx::bytes [base], [%rd1, {{8, 3}}], [%r1];\n"
    ) + WAIT.format("WAIT", 0) + clear + DUMP
    text = kernel(body, ".reqntid 128", 1)
    directed_case(name, text.replace(".version 8.5", ".version 9.0"), 128, words(7300, 16384), OUT_WORDS + 32,
                  shared=OUT_WORDS * 4 + 16, maps=[m])


ELEMENTS = ["u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f32_ftz", "f64", "bf16", "tf32", "tf32_ftz"]


def _edited(name, start, edits, at, place, scope="gpu", **changes):
    """A tensor load through a map that the kernel edits: in global memory, or in
    shared memory and then copied. Without a start it fills cleared memory."""
    m = dict(start or changes, **changes)
    where, memory = OUT_WORDS * 4 + 128, "[%rd10" if place == "global" else "[%r20"
    clear = "".join(f"  st.global.b64 [%rd10+{8 * i}], %rd2;\n" for i in range(16))
    fill = "".join(("  ld.b64 %rd2, [%rd1+{0}]; " if start else "  mov.b64 %rd2, 0; ").format(8 * i) +
                   f"st.{place}.b64 {memory}+{8 * i}], %rd2;\n" for i in range(16))
    for field, kind, operands in edits:
        fill += f"  tensormap.replace.tile.{field}.{place}.b1024.{kind} {memory}], {operands};\n"
    if place == "global":
        publish = f"PUBLISH: bar.warp.sync -1; fence.proxy.tensormap::generic.release.{scope};\n"
    else:
        publish = ("PUBLISH: bar.warp.sync -1;\n  tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic."
                   f"release.{scope}.sync.aligned [%rd10], [%r20], 128;\n")
    body = PAINT + INIT + (
        f"  mov.b64 %rd1, map0; cvta.param.u64 %rd1, %rd1; add.u64 %rd10, out, {OUT_WORDS * 4};\n"
        f"  add.u32 %r20, base, {where}; add.u64 %rd11, in, 4096; add.u64 %rd12, in, 0;\n"
        "  setp.ge.u32 p, thread, 32; @p bra WAIT;\n  @q bra PUBLISH;\n" + fill + publish +
        "  @q bra WAIT;\n  fence.proxy.tensormap::generic.acquire.gpu [%rd10], 128;\n"
        f"  mbarrier.arrive.expect_tx.shared.b64 %rd0, [%r1], {box_bytes(m)};\n"
        f"  cp.async.bulk.tensor.{len(at)}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        f"[base], [%rd10, {coordinates(at)}], [%r1];\n"
    ) + WAIT.format("WAIT", 0) + "  @q bra CLEAR;\n  mov.b64 %rd2, 0;\n" + clear + "CLEAR:\n" + DUMP
    directed_case("tma map " + name, kernel(body, ".reqntid 128", 1), 128, words(7600, 16384), OUT_WORDS + 32,
                  shared=OUT_WORDS * 4 + 256, maps=[start or recipe("input", "u8", (64,), (64,))])


def _maps():
    start = recipe("input", "bf16", (100, 40), (16, 16))
    stride = start["strides"][0]
    edits = [
        ("global_address", "b64", "%rd11", {}), ("interleave_layout", "b32", "0", {}), ("fill_mode", "b32", "1", {}),
        ("box_dim", "b32", "0, 32", dict(box=[32, 16])), ("box_dim", "b32", "1, 9", dict(box=[16, 9])),
        ("global_dim", "b32", "0, 90", {}), ("global_dim", "b32", "1, 35", {}),
        ("global_stride", "b64", f"0, {2 * stride}", {}), ("element_stride", "b32", "1, 3", dict(elementStrides=[1, 3])),
    ] + [("swizzle_mode", "b32", str(k), {}) for k in range(4)]
    for field, kind, operands, changes in edits:
        for place in ["global", "shared::cta"]:
            _edited(f"{field} {operands} {place}", start, [(field, kind, operands)], (88, 30), place,
                    "cta" if place[0] == "s" else "gpu", **changes)
    for scope in ["cluster", "sys"]:
        _edited(f"published to {scope}", start, [("fill_mode", "b32", "1")], (88, 30), "shared::cta", scope)
    deep = recipe("input", "bf16", (100, 20, 4), (16, 8, 1))
    _edited("rank", deep, [("rank", "b32", "1")], (88, 14), "shared::cta", "cta", sizes=[100, 20], box=[16, 8], elementStrides=[1, 1])
    for code, t in enumerate(ELEMENTS):
        source = recipe("input", "u32", (48, 20), (16, 5))
        _edited(f"elemtype {t}", source, [("elemtype", "b32", str(code))], (32, 17), ["global", "shared::cta"][code % 2],
                ["gpu", "cta"][code % 2], type=t)
    whole = recipe("input", "f32", (40, 12, 9), (8, 7, 3), "32", (1, 2, 1))
    edits = [("global_address", "b64", "%rd12"), ("rank", "b32", "2"), ("elemtype", "b32", "7"), ("interleave_layout", "b32", "0"),
             ("swizzle_mode", "b32", "1"), ("fill_mode", "b32", "1")]
    for d in range(3):
        edits += [("box_dim", "b32", f"{d}, {whole['box'][d]}"), ("global_dim", "b32", f"{d}, {whole['sizes'][d]}"),
                  ("element_stride", "b32", f"{d}, {whole['elementStrides'][d]}")]
        edits += [("global_stride", "b64", f"{d}, {whole['strides'][d]}")] if d < 2 else []
    _edited("from nothing", None, edits, (36, 4, 7), "shared::cta", **whole)


def _clusters():
    for op, t in [("add", "u32"), ("add", "u64"), ("min", "s32"), ("max", "u32"), ("inc", "u32"), ("dec", "u32"),
                  ("and", "b32"), ("or", "b32"), ("xor", "b32")]:
        cluster(f"bulk reduce to peer {op} {t}", BARRIER.format(1) + "  @q bra ARMED;\n"
                "  mbarrier.arrive.expect_tx.shared.b64 %rd0, [%r1], 1024;\nARMED:\n" + PULL +
                "  fence.proxy.async;\n" + MEET + "  xor.b32 %r2, rank, 1;\n"
                "  @q bra WAIT;\n  mapa.shared::cluster.u32 %r3, base, %r2; mapa.shared::cluster.u32 %r4, %r1, %r2;\n"
                "  add.u32 %r5, base, 1024;\n"
                f"  cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.{op}.{t} "
                "[%r3], [%r5], 1024, [%r4];\n"
                "WAIT: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%r1], 0; @!p bra WAIT;\n"
                "  ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [%r30];\n" + MEET)


# ---------------------------------------------------------------------------
# Calls, ends, and what needs addresses that a whole kernel lays out

THREADS = 64
ROW = ("  mad.wide.u32 %rd8, thread, 16, in; ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd8];\n"
       "  mad.wide.u32 %rd9, thread, 16, out;\n")
PUT = "  st.global.v4.b32 [%rd9], {%r10, %r11, %r12, %r13};\n"


def _whole(name, body, functions="", exact=True, output=THREADS * 4, source=None):
    text = kernel(ROW + body, f".reqntid {THREADS}").replace(".visible .entry", functions + ".visible .entry")
    directed_case(name, text, THREADS, source or words(7400, THREADS * 4), output, shared=1024, exact=exact)


def _control():
    poly = (".func (.param .b32 result) poly(.param .b32 x, .param .b32 y)\n{\n  .reg .b32 %a<4>; .reg .pred %q;\n"
            "  ld.param::func.b32 %a0, [x]; ld.param.b32 %a1, [y]; setp.lt.s32 %q, %a0, %a1; @%q bra LESS;\n"
            "  mad.lo.s32 %a2, %a0, %a1, 3; st.param::func.b32 [result], %a2; ret;\n"
            "LESS: sub.s32 %a2, %a1, %a0; st.param.b32 [result], %a2; ret.uni;\n}\n"
            ".func (.param .b32 result) twice(.param .b32 x)\n{\n  .reg .b32 %a<4>;\n  ld.param.b32 %a0, [x];\n"
            "  { .param .b32 p; .param .b32 q; .param .b32 r; st.param.b32 [p], %a0; st.param.b32 [q], 11;\n"
            "  call (r), poly, (p, q); ld.param.b32 %a1, [r]; }\n  add.s32 %a1, %a1, %a0;\n"
            "  st.param.b32 [result], %a1; ret;\n}\n"
            ".func leaf()\n{\n  ret;\n}\n")
    pass_two = ("  {{ .param .b32 p0; .param .b32 p1; .param .b32 r0; st.param.b32 [p0], {0}; st.param.b32 [p1], {1};\n"
                "  call{2} (r0), poly, (p0, p1); ld.param.b32 {0}, [r0]; }}\n")
    pass_one = ("  { .param .b32 p0; .param .b32 r0; st.param.b32 [p0], %r13;\n"
                "  call.uni (r0), twice, (p0); ld.param.b32 %r13, [r0]; }\n")
    _whole("flow call", pass_two.format("%r10", "%r11", ".uni") + pass_one + "  call.uni leaf;\n" +
           "  setp.lt.s32 p, %r11, %r12; @p bra SKIP;\n" + pass_two.format("%r12", "%r11", "") + "SKIP:\n" + PUT, poly)
    _whole("flow exit", "  setp.lt.s32 p, %r10, %r11; @p exit;\n" + PUT + "  setp.lt.s32 p, %r12, 0; @p bra ENDS;\n"
           "  add.s32 %r11, %r11, 1;\n" + PUT + "  exit;\nENDS: st.global.b32 [%rd9+12], thread; @p ret.uni;\n")
    # No value to compare: both machines have to end the kernel with an error.
    for op in ["trap", "brkpt"]:
        _whole(f"flow {op}", PUT + f"  setp.eq.u32 p, thread, 37; @p {op};\n", exact=None)
    line = "  mad.wide.u32 %rd5, thread, 128, out;\n"
    fill = "".join(f"  st.global.v4.b32 [%rd5+{16 * i}], {{%r10, %r11, %r12, %r13}}; add.u32 %r1{i % 4}, %r1{i % 4}, {i};\n"
                   for i in range(8))
    for form in ["discard.global.L2 [%rd5], 128", "discard.L2 [%rd5], 128", "applypriority.global.L2::evict_normal [%rd5], 128",
                 "applypriority.L2::evict_normal [%rd5], 128"]:
        check = "  ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd5+64];\n  st.global.v4.b32 [%rd5], {%r13, %r12, %r11, %r10};\n"
        _whole(f"hints {form.split()[0]}", line + fill + f"  {form};\n" + (fill if "discard" in form else "") + check,
               output=THREADS * 32)
    body = "  add.u64 %rd7, in, 16; mov.b32 %r20, thread;\n"
    for t in ["b8", "u8", "s8", "b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64"]:
        bits = {"8": "32", "16": "16", "32": "32", "64": "64"}[t[1:]]
        for count in [1, 2, 4]:
            if count * int(t[1:]) > 128:
                continue
            names = [f"%l{bits}_{i}" for i in range(count)]
            listed = names[0] if count == 1 else "{" + ", ".join(names) + "}"
            vector = "" if count == 1 else f".v{count}"
            space = ".global" if count != 2 else ""
            body += f"  {{ .reg .b{bits} {', '.join(names)}; ldu{space}{vector}.{t} {listed}, [%rd7];\n"
            for name in names:
                wide = name if bits == "32" else "%r21"
                convert = "" if bits == "32" else f"cvt.u32.u{bits} %r21, {name}; "
                body += f"  {convert}mad.lo.u32 %r20, %r20, 31, {wide};\n"
            body += "  }\n"
    _whole("hints ldu", body + "  mad.lo.u32 %r10, %r20, 7, %r11;\n" + PUT)
    zero = ".const .align 128 .b8 descriptor[128];\n"
    _whole("hints prefetch.const.tensormap", "  mov.u64 %rd6, descriptor; prefetch.const.tensormap [%rd6];\n" + PUT, zero)


def _matrices():
    random = words(7500, 256)
    body = ("  mad.lo.u32 %r1, thread, 16, base; mad.wide.u32 %rd8, thread, 16, in; mad.wide.u32 %rd9, thread, 16, out;\n"
            "  ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd8]; st.shared::cta.v4.b32 [%r1], {%r10, %r11, %r12, %r13};\n"
            "  bar.warp.sync -1;\n  ldmatrix.sync.aligned.m8n8.x4.shared::cta.b16 {%r10, %r11, %r12, %r13}, [%r1];\n"
            "  bar.warp.sync -1;\n  stmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 [%r1], {%r11, %r10, %r13, %r12};\n"
            "  bar.warp.sync -1;\n  ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [%r1];\n" + PUT)
    directed_case("matrix moves shared::cta", kernel(body), 32, random, 128, shared=1024)


def _shapes(t, first, last):
    """wgmma of all N from first to last, each over two steps of K, the first
    without and the second with the sum so far."""
    k = 256 // width(t)
    size = IMAGE_A + 32768
    source, ctas = [], 2
    for kind in range(ctas):
        source += image(t, kind, IMAGE_A // 4, "A") + image(t, kind, 32768 // 4, "B")
    per_thread = sum(n // 2 for n in range(first, last + 1, 8))
    body = (f"  mul.wide.u32 %rd0, cta, {size}; add.u64 in, in, %rd0;\n"
            "  mad.wide.u32 %rd1, thread, 16, in; mad.lo.u32 %r1, thread, 16, base; mov.u32 %r2, 0;\n"
            "COPY: ld.global.v4.b32 {%r3, %r4, %r5, %r6}, [%rd1]; st.shared.v4.b32 [%r1], {%r3, %r4, %r5, %r6};\n"
            "  add.u64 %rd1, %rd1, 2048; add.u32 %r1, %r1, 2048; add.u32 %r2, %r2, 2048;\n"
            f"  setp.lt.u32 p, %r2, {size}; @p bra COPY;\n  fence.proxy.async; bar.sync 0;\n"
            "  shr.u32 %r7, base, 4; cvt.u64.u32 %rd4, %r7;\n"
            f"  add.u64 %rd5, %rd4, {descriptor(16, 8 * SPAN['128'], '128')};\n"
            f"  add.u64 %rd6, %rd4, {descriptor(16, 8 * SPAN['128'], '128') + (IMAGE_A >> 4)};\n"
            "  add.u64 %rd10, %rd5, 2; add.u64 %rd11, %rd6, 2;\n"
            f"  mad.lo.u32 %r8, cta, 128, thread; mad.wide.u32 out, %r8, {per_thread * 4}, out;\n")
    at = 0
    trans = ", 0, 0" if width(t) == 16 else ""
    for n in range(first, last + 1, 8):
        name = f"wgmma.mma_async.sync.aligned.m64n{n}k{k}.f32.{t}.{t} {regs(20, n // 2)}"
        body += "".join(f"  mov.b32 %r{20 + i}, 0;\n" for i in range(n // 2))
        body += (f"  wgmma.fence.sync.aligned;\n  {name}, %rd5, %rd6, 0, 1, 1{trans};\n"
                 f"  {name}, %rd10, %rd11, 1, 1, 1{trans};\n"
                 "  wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n")
        body += "".join(f"  st.global.b32 [out+{4 * (at + i)}], %r{20 + i};\n" for i in range(n // 2))
        at += n // 2
    directed_case(f"wgmma {t} n{first} to n{last}", kernel(body), 128, source, ctas * 128 * per_thread, ctas, shared=size)


_scalar()
_spaces()
_memory()
_barriers()
_mbarriers()
_copies()
_clusters()
_control()
_matrices()
for element in ["tf32", "bf16", "e4m3"]:
    for lowest in [8, 72, 136, 200]:
        _shapes(element, lowest, min(lowest + 56, 256))
_maps()
