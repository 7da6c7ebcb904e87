# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensor copies and cluster kernels of the conformance set."""

from directed import CASES, HEADER, case, kernel, regs
from pools import Random

SIZE = {"u8": 1, "u16": 2, "f16": 2, "bf16": 2, "u32": 4, "s32": 4, "f32": 4, "u64": 8, "s64": 8, "f64": 8,
        "f32_ftz": 4, "tf32": 4, "tf32_ftz": 4}


def recipe(buffer, t, sizes, box, swizzle="none", element_strides=None, fill="zero", pitch=None):
    """Dimension 0 first. Strides are packed up to a multiple of 16 bytes."""
    strides = [SIZE[t]]
    extent = pitch or -(-sizes[0] * SIZE[t] // 16) * 16
    for size in sizes[1:]:
        strides.append(extent)
        extent *= size
    return dict(buffer=buffer, type=t, sizes=list(sizes), strides=strides[1:], box=list(box),
                elementStrides=list(element_strides or [1] * len(sizes)), swizzle=swizzle, fill=fill)


def box_bytes(m):
    total = SIZE[m["type"]]
    for d, extent in enumerate(m["box"]):
        total *= extent if d == 0 else -(-extent // m["elementStrides"][d])
    return total


def words(seed, count):
    random = Random(seed)
    return [random.next() & 0xFFFFFFFF for _ in range(count)]


def coordinates(values):
    return "{" + ", ".join(str(v) for v in values) + "}"


OUT_WORDS = 2048
WAIT = ("{0}: mbarrier.try_wait.parity.shared.b64 p, [%r1], {1}; @!p bra {0};\n")
DUMP = ("  mov.u32 %r4, 0;\nDUMP: mad.lo.u32 %r5, thread, 4, base; add.u32 %r5, %r5, %r4;\n"
        "  ld.shared.b32 %r6, [%r5]; mad.wide.u32 %rd2, thread, 4, out; cvt.u64.u32 %rd3, %r4;\n"
        "  add.u64 %rd2, %rd2, %rd3; st.global.b32 [%rd2], %r6;\n"
        f"  add.u32 %r4, %r4, 512; setp.lt.u32 p, %r4, {OUT_WORDS * 4}; @p bra DUMP;\n")
# Shared memory starts as a pattern, so that unwritten bytes are seen.
PAINT = ("  mov.u32 %r4, 0;\nPAINT: mad.lo.u32 %r5, thread, 4, base; add.u32 %r5, %r5, %r4;\n"
         "  mad.lo.u32 %r6, %r5, 40503, 77; st.shared.b32 [%r5], %r6;\n"
         f"  add.u32 %r4, %r4, 512; setp.lt.u32 p, %r4, {OUT_WORDS * 4}; @p bra PAINT;\n"
         "  fence.proxy.async; bar.sync 0;\n")
INIT = (f"  add.u32 %r1, base, {OUT_WORDS * 4};\n  setp.ne.u32 q, thread, 0; @q bra READY;\n"
        "  mbarrier.init.shared.b64 [%r1], 1; fence.mbarrier_init.release.cluster;\n"
        "READY: bar.sync 0;\n")


def load(name, m, at, offset=0, exact=True, qualifiers="", source=None):
    rank = len(m["sizes"])
    body = PAINT + INIT + (
        f"  @q bra WAIT;\n  mbarrier.arrive.expect_tx.shared.b64 %rd0, [%r1], {box_bytes(m)};\n"
        f"  mov.b64 %rd1, map0; add.u32 %r2, base, {offset}; prefetch.param.tensormap [%rd1];\n"
        "  cvta.param.u64 %rd1, %rd1;\n"
        f"  cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        f"{qualifiers} [%r2], [%rd1, {coordinates(at)}], [%r1]{', %rd4' if qualifiers else ''};\n"
    ) + WAIT.format("WAIT", 0) + DUMP
    if qualifiers:
        body = "  createpolicy.fractional.L2::evict_first.b64 %rd4, 1.0;\n" + body
    case("tma load " + name, kernel(body, ".reqntid 128", 1), 128,
         source or words(len(CASES) + 4000, 16384), OUT_WORDS, shared=OUT_WORDS * 4 + 16, maps=[m], exact=exact)


def store(name, m, at, operation="", offset=0, exact=True, source=None):
    rank = len(m["sizes"])
    prefix = "cp.reduce" if operation else "cp"
    tail = f".{operation}" if operation else ""
    body = ("  mov.u32 %r4, 0;\nFILL: mad.lo.u32 %r5, thread, 4, base; add.u32 %r5, %r5, %r4;\n"
            "  mad.wide.u32 %rd2, thread, 4, in; cvt.u64.u32 %rd3, %r4; add.u64 %rd2, %rd2, %rd3;\n"
            "  ld.global.b32 %r6, [%rd2]; st.shared.b32 [%r5], %r6;\n"
            "  ld.global.b32 %r6, [%rd2+32768]; mad.wide.u32 %rd2, thread, 4, out;\n"
            "  add.u64 %rd2, %rd2, %rd3; st.global.b32 [%rd2], %r6;\n"
            f"  add.u32 %r4, %r4, 512; setp.lt.u32 p, %r4, {OUT_WORDS * 4}; @p bra FILL;\n"
            "  fence.proxy.async; bar.sync 0;\n  setp.ne.u32 q, thread, 0; @q bra DONE;\n"
            f"  mov.b64 %rd1, map0; cvta.param.u64 %rd1, %rd1; add.u32 %r2, base, {offset};\n"
            f"  {prefix}.async.bulk.tensor.{rank}d.global.shared::cta{tail}.tile.bulk_group "
            f"[%rd1, {coordinates(at)}], [%r2];\n"
            "  cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; cp.async.bulk.wait_group 0;\nDONE:\n")
    case("tma store " + name, kernel(body, ".reqntid 128", 1), 128,
         source or words(len(CASES) + 5000, 16384), OUT_WORDS, shared=OUT_WORDS * 4, maps=[m], exact=exact)


def _loads():
    for swizzle, inner in [("none", 64), ("32", 16), ("64", 32), ("128", 64)]:
        m = recipe("input", "bf16", (100, 40), (inner, 16), swizzle)
        load(f"2d {swizzle}", m, (8, 3))
        load(f"2d {swizzle} at the borders", m, (80, 33))
        load(f"2d {swizzle} negative", m, (-16, -5))
        load(f"2d {swizzle} outside", m, (200, 3))
        load(f"2d {swizzle} base +128", m, (8, 3), 128)
        load(f"2d {swizzle} base +384", recipe("input", "bf16", (100, 40), (inner // 2, 16), swizzle),
             (8, 3), 384)
    for t in SIZE:
        load(f"2d {t}", recipe("input", t, (48, 20), (16, 5)), (16 // SIZE[t], 2))
        if t not in ("u64", "s64", "f64"):
            load(f"2d {t} 64B", recipe("input", t, (48, 20), (64 // SIZE[t] // 2, 5), "64"), (16 // SIZE[t], 2))
    load("1d", recipe("input", "f32", (1000,), (256,)), (900,))
    load("3d", recipe("input", "bf16", (40, 9, 5), (32, 4, 3), "64"), (8, 6, 3))
    load("4d", recipe("input", "bf16", (16, 7, 5, 6), (8, 3, 2, 3)), (8, -1, 3, 4))
    load("5d", recipe("input", "f16", (16, 3, 5, 4, 3), (8, 2, 3, 2, 2)), (-8, 2, 1, -1, 1))
    load("3d like a head", recipe("input", "bf16", (64, 3, 60), (64, 1, 16), "128"), (0, 2, 50))
    load("2d element strides", recipe("input", "bf16", (64, 60), (32, 17), "64", (1, 3)), (8, 5))
    load("3d element strides", recipe("input", "f32", (32, 12, 9), (8, 7, 6), "none", (1, 2, 4)), (8, -2, 3))
    load("2d inner element stride", recipe("input", "f32", (64, 20), (16, 4), "none", (2, 1)), (4, 5))
    for t in ["f16", "bf16", "f32", "tf32", "f64"]:
        load(f"nan fill {t}", recipe("input", t, (40, 20), (16, 4), fill="nan"), (32, 18))
    for x in [1, 2, 3]:
        load(f"refused inner coordinate {x}", recipe("input", "f32", (64, 20), (16, 4)), (x, 0), exact=None)
    load("cache hint", recipe("input", "bf16", (100, 40), (64, 16), "128"), (8, 3),
         qualifiers=".L2::cache_hint")
    edges = [0, 0x80000000, 1, 0x80000001, 0x007FFFFF, 0x00800000, 0x3F801000, 0x3F803000, 0x3F800FFF,
             0x3F801001, 0xBF801000, 0x7F7FFFFF, 0x7F7FF000, 0x7F7FEFFF, 0x7F800000, 0xFF800000, 0x7FC00000,
             0x7F800001, 0xFFC12345, 0x00001000, 0x00003000, 0x007FF000]
    for t in ["f32", "f32_ftz", "tf32", "tf32_ftz"]:
        load(f"conversion {t}", recipe("input", t, (64, 20), (32, 8)), (0, 0),
             source=[edges[i % len(edges)] for i in range(16384)])


def _stores():
    for swizzle, inner in [("none", 64), ("32", 16), ("64", 32), ("128", 64)]:
        m = recipe("output", "bf16", (72, 24), (inner, 8), swizzle)
        store(f"2d {swizzle}", m, (8, 3))
        store(f"2d {swizzle} at the borders", m, (56, 20))
        store(f"2d {swizzle} narrow", recipe("output", "bf16", (72, 24), (max(8, inner // 2), 8), swizzle),
              (8, 3))
    plain = recipe("output", "bf16", (72, 24), (64, 8))
    for x, y in [(0, -1), (-16, 3)]:
        store(f"refused start {x} {y}", plain, (x, y), exact=None)
    for x, y in [(72, 3), (0, 24)]:
        store(f"2d behind the end {x} {y}", plain, (x, y))
    store("1d", recipe("output", "f32", (1000,), (64,)), (960,))
    store("3d", recipe("output", "bf16", (40, 9, 5), (32, 4, 3), "64"), (8, 6, 3))
    store("4d", recipe("output", "bf16", (16, 7, 5, 3), (8, 3, 2, 2)), (8, 5, 3, 2))
    random = Random(77)
    near = lambda: (random.next() & 0x807FFFFF) | ((124 + random.below(6)) << 23)
    floats = [near() for _ in range(16384)]
    for i in range(0, 16384, 7):
        floats[i] = random.pick([0, 0x80000000, 1, 0x807FFFFF, 0x00800001, 0x7F800000, 0xFFC00000])
    halves = [random.next() & 0xFFFFFFFF for _ in range(16384)]
    for t, ops in [("f32", ["add"]), ("f16", ["add", "min", "max"]), ("bf16", ["add", "min", "max"]),
                   ("u32", ["add", "min", "max", "inc", "dec", "and", "or", "xor"]),
                   ("s32", ["add", "min", "max"]), ("u64", ["add", "min", "max", "xor"]),
                   ("f64", ["add"]), ("f32_ftz", ["add"])]:
        for op in ops:
            store(f"reduce {op} {t}", recipe("output", t, (64 // SIZE[t] * 2, 24), (64 // SIZE[t], 8)),
                  (16 // SIZE[t], 18), op, source=floats if t.startswith("f32") else halves)


# ---------------------------------------------------------------------------
# Clusters

CLUSTER = "  .reg .b32 rank;\n  mov.u32 rank, %cluster_ctarank;\n"
MEET = "  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
STORE = ("  mad.lo.u32 %r90, cta, 128, thread; mad.wide.u32 %rd9, %r90, 16, out;\n"
         "  st.global.v4.b32 [%rd9], {%r10, %r11, %r12, %r13};\n")
PULL = ("  mad.lo.u32 %r90, cta, 128, thread; mad.wide.u32 %rd8, %r90, 16, in;\n"
        "  ld.global.v4.b32 {%r20, %r21, %r22, %r23}, [%rd8];\n"
        "  mad.lo.u32 %r30, thread, 16, base; st.shared.v4.b32 [%r30], {%r20, %r21, %r22, %r23};\n")
BARRIER = ("  add.u32 %r1, base, 4096;\n  setp.ne.u32 q, thread, 0; @q bra READY;\n"
           "  mbarrier.init.shared.b64 [%r1], {0}; fence.mbarrier_init.release.cluster;\n"
           "READY:\n")


def cluster(name, body, size=2, ctas=4, attributes="", exact=True):
    head = CLUSTER + "  mov.b32 %r10, 0; mov.b32 %r11, 0; mov.b32 %r12, 0; mov.b32 %r13, 0;\n"
    case("cluster " + name,
         kernel(head + body + STORE + MEET, f".reqntid 128\n.reqnctapercluster {size}, 1, 1\n{attributes}"),
         128, words(len(CASES) + 6000, 128 * 4 * ctas), 128 * 4 * ctas, ctas, shared=8192, exact=exact)


def _clusters():
    peer = "  xor.b32 %r2, rank, 1;\n"
    cluster("special registers", "  mov.u32 %r10, %cluster_ctarank; mov.u32 %r11, %cluster_nctarank;\n"
            "  mov.u32 %r12, %clusterid.x; mov.u32 %r13, %nclusterid.x; .reg .pred e; "
            "mov.pred e, %is_explicit_cluster; @!e mov.u32 %r13, 99;\n", 4, 8)
    cluster("addresses", peer + "  mapa.shared::cluster.u32 %r10, base, %r2;\n"
            "  mov.u32 %r11, base; getctarank.shared::cluster.u32 %r12, %r10;\n"
            "  cvt.u64.u32 %rd0, base; cvta.shared.u64 %rd0, %rd0; mapa.u64 %rd1, %rd0, %r2;\n"
            "  sub.u64 %rd1, %rd1, %rd0; cvt.u32.u64 %r13, %rd1;\n")
    cluster("dsmem loads", PULL + MEET + peer + "  mapa.shared::cluster.u32 %r3, %r30, %r2;\n"
            "  ld.shared::cluster.v4.b32 {%r10, %r11, %r12, %r13}, [%r3];\n" + MEET)
    cluster("dsmem generic", PULL + MEET + peer + "  cvt.u64.u32 %rd0, %r30; cvta.shared.u64 %rd0, %rd0;\n"
            "  mapa.u64 %rd1, %rd0, %r2; ld.v2.b32 {%r10, %r11}, [%rd1+8]; isspacep.shared::cluster p, %rd1;\n"
            "  selp.b32 %r12, 1, 0, p; isspacep.shared::cta p, %rd1; selp.b32 %r13, 1, 0, p;\n" + MEET)
    cluster("dsmem stores", PULL + MEET + peer + "  mapa.shared::cluster.u32 %r3, %r30, %r2;\n"
            "  st.shared::cluster.v2.b32 [%r3+2048], {%r22, %r20};\n" + MEET +
            "  ld.shared.v2.b32 {%r10, %r11}, [%r30+2048];\n")
    cluster("dsmem atomics", PULL + MEET + "  mapa.shared::cluster.u32 %r3, base, 0;\n"
            "  atom.shared::cluster.add.u32 %r40, [%r3+4], %r20; red.shared::cluster.max.u32 [%r3], %r21;\n"
            "  red.shared::cluster.xor.b32 [%r3+12], %r22;\n" + MEET +
            "  ld.shared::cluster.v4.b32 {%r10, %r11, %r12, %r13}, [%r3];\n" + MEET, 4, 8)
    cluster("remote arrive", BARRIER.format(256) + MEET +
            "  mapa.shared::cluster.u32 %r3, %r1, 0;\n"
            "  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r3];\n"
            "  setp.ne.u32 p, rank, 0; @p bra SKIP;\n"
            "WAIT: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%r1], 0; @!p bra WAIT;\n"
            "  mov.u32 %r10, 7;\nSKIP:\n" + MEET)
    cluster("st.async", BARRIER.format(1) + "  @q bra ARMED;\n"
            "  mbarrier.arrive.expect_tx.shared.b64 %rd0, [%r1], 2048;\nARMED:\n" + PULL + MEET + peer +
            "  mapa.shared::cluster.u32 %r3, %r30, %r2; mapa.shared::cluster.u32 %r4, %r1, %r2;\n"
            "  st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r3+2048], "
            "{%r20, %r21, %r22, %r23}, [%r4];\n"
            "WAIT: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%r1], 0; @!p bra WAIT;\n"
            "  ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [%r30+2048];\n" + MEET)
    for op, t in [("add", "u32"), ("min", "s32"), ("max", "u32"), ("inc", "u32"), ("and", "b32"),
                  ("xor", "b32"), ("add", "s32")]:
        cluster(f"red.async {op} {t}", BARRIER.format(1) + "  @q bra ARMED;\n"
                "  mbarrier.arrive.expect_tx.shared.b64 %rd0, [%r1], 512;\nARMED:\n" + PULL + MEET + peer +
                "  mapa.shared::cluster.u32 %r3, %r30, %r2; mapa.shared::cluster.u32 %r4, %r1, %r2;\n"
                f"  red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.{op}.{t} [%r3], %r23, [%r4];\n"
                "WAIT: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%r1], 0; @!p bra WAIT;\n"
                "  ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [%r30];\n" + MEET)
    cluster("bulk to peer", BARRIER.format(1) + "  @q bra ARMED;\n"
            "  mbarrier.arrive.expect_tx.shared.b64 %rd0, [%r1], 2048;\nARMED:\n" + PULL +
            "  fence.proxy.async;\n" + MEET + peer +
            "  @q bra WAIT;\n  mapa.shared::cluster.u32 %r3, base, %r2; mapa.shared::cluster.u32 %r4, %r1, %r2;\n"
            "  cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r3+2048], [base], 2048, [%r4];\n"
            "WAIT: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%r1], 0; @!p bra WAIT;\n"
            "  ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [%r30+2048];\n" + MEET)
    cluster("bulk multicast", BARRIER.format(1) + "  @q bra ARMED;\n"
            "  mbarrier.arrive.expect_tx.shared.b64 %rd0, [%r1], 2048;\nARMED:\n" + MEET +
            "  or.b32 %r5, thread, rank; setp.ne.u32 p, %r5, 0; @p bra WAIT;\n"
            "  mul.wide.u32 %rd1, cta, 2048; add.u64 %rd1, in, %rd1; mov.b16 %h0, 15;\n"
            "  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
            "[base], [%rd1], 2048, [%r1], %h0;\n"
            "WAIT: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%r1], 0; @!p bra WAIT;\n"
            "  mad.lo.u32 %r30, thread, 16, base; ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [%r30];\n" + MEET,
            4, 8)
    cluster("relaxed arrive", PULL + "  barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.acquire.aligned;\n"
            "  barrier.cluster.arrive.release; barrier.cluster.wait;\n  mov.b32 %r10, %r21;\n")
    m = recipe("input", "bf16", (64, 40), (64, 16), "128")
    body = (CLUSTER + PAINT + INIT + f"  @q bra ARMED;\n  mbarrier.arrive.expect_tx.shared.b64 %rd0, [%r1], 4096;\nARMED:\n"
            + MEET + "  @q bra WAIT;\n  mov.b64 %rd1, map0; cvta.param.u64 %rd1, %rd1;\n"
            "  mad.lo.u32 %r2, rank, 2048, base; mad.lo.u32 %r3, rank, 8, 5; mov.b16 %h0, 3;\n"
            "  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
            "[%r2], [%rd1, {0, %r3}], [%r1], %h0;\n" + WAIT.format("WAIT", 0) +
            f"  mad.wide.u32 out, cta, {OUT_WORDS * 4}, out;\n" + DUMP + MEET)
    m = dict(m, box=[64, 16])
    case("cluster tma multicast", kernel(body, ".reqntid 128\n.reqnctapercluster 2, 1, 1", 1), 128,
         words(6900, 16384), OUT_WORDS * 2, 2, shared=OUT_WORDS * 4 + 16, maps=[m])


def _setmaxnreg():
    body = ("  setp.lt.u32 p, thread, 128; @p bra LOW;\n  setmaxnreg.inc.sync.aligned.u32 208;\n"
            "  mad.lo.u32 %r0, thread, 3, 5; bra END;\nLOW: setmaxnreg.dec.sync.aligned.u32 40;\n"
            "  mad.lo.u32 %r0, thread, 7, 1;\nEND: mad.wide.u32 out, thread, 4, out; st.global.b32 [out], %r0;\n")
    case("setmaxnreg", kernel(body, ".reqntid 256\n.maxnreg 128"), 256, [0] * 4, 256)
    body = ("  .reg .b64 %t0, %t1;\n  mov.u64 %t0, %globaltimer; nanosleep.u32 100; mov.u64 %t1, %globaltimer;\n"
            "  setp.ge.u64 p, %t1, %t0; mov.u64 %t0, %clock64; mov.u64 %t1, %clock64; setp.gt.and.u64 p, %t1, %t0, p;\n"
            "  griddepcontrol.launch_dependents; griddepcontrol.wait;\n"
            "  mov.u32 %r0, %dynamic_smem_size; mov.u32 %r1, %total_smem_size; selp.b32 %r2, 1, 0, p;\n"
            "  mov.u32 %r3, %nwarpid; mad.wide.u32 out, thread, 16, out; st.global.v4.b32 [out], {%r0, %r0, %r2, %r2};\n")
    case("timers", kernel(body), 64, [0] * 4, 256, shared=2048)


_loads()
_stores()
_clusters()
_setmaxnreg()
