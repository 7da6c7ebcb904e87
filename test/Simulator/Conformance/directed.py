# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of the conformance set that need a whole warp, warpgroup or cluster.

A case is a dict: name, ptx, grid, block, input (32-bit words), output (number
of words), shared (dynamic bytes), maps (tensor-map recipes, in parameter
order) and exact. Parameters are input, output, then the maps.
"""

from pools import Random

CASES = []

HEADER = ".version 8.5\n.target sm_90a\n.address_size 64\n\n"


def kernel(body, attributes="", maps=0, shared="  .extern .shared .align 1024 .b8 smem[];\n"):
    parameters = [".param .u64 input", ".param .u64 output"]
    parameters += [f".param .align 64 .b8 map{i}[128]" for i in range(maps)]
    return (HEADER + shared.strip() + "\n" +
            f".visible .entry conformance({', '.join(parameters)})\n{attributes}\n{{\n"
            "  .reg .b64 in, out, %rd<16>;\n  .reg .b32 thread, cta, base, %r<300>;\n"
            "  .reg .f32 %f<8>;\n  .reg .b16 %h<8>;\n  .reg .pred p, q;\n"
            "  mov.u32 thread, %tid.x;\n  mov.u32 cta, %ctaid.x;\n  mov.u32 base, smem;\n"
            "  ld.param.u64 in, [input];\n  ld.param.u64 out, [output];\n" + body + "  ret;\n}\n")


def case(name, ptx, block, words, output, grid=1, shared=0, maps=(), exact=True):
    """`exact` is False where the chip may choose bits, None for what it refuses."""
    CASES.append(dict(name=name, ptx=ptx, grid=grid, block=block, input=words, output=output,
                      shared=shared, maps=list(maps), exact=exact))


# ---------------------------------------------------------------------------
# Elements with a choice of distributions

FORMATS = {"f16": (5, 10), "bf16": (8, 7), "tf32": (8, 23), "e4m3": (4, 3), "e5m2": (5, 2),
           "f32": (8, 23)}


def width(t):
    return {"f16": 16, "bf16": 16, "e4m3": 8, "e5m2": 8}.get(t, 32)


def element(random, t, kind):
    """kind 0: near one; 1: wide finite; 2: any bits; 3: subnormal and tiny."""
    exponent_bits, mantissa_bits = FORMATS[t]
    bits = random.next()
    bias = (1 << (exponent_bits - 1)) - 1
    sign = (bits >> 63) << (exponent_bits + mantissa_bits)
    mantissa = bits & ((1 << mantissa_bits) - 1)
    if kind == 2:
        return (bits >> 8) & ((1 << (1 + exponent_bits + mantissa_bits)) - 1)
    if kind == 3:
        exponent = random.below(3)
    elif kind == 1:
        span = min(bias - 1, 20)
        exponent = bias - span + random.below(2 * span)
    else:
        exponent = bias - 3 + random.below(5)
    return sign | exponent << mantissa_bits | mantissa


def words_of(random, t, kind, count):
    """`count` 32-bit words full of elements."""
    per = 32 // width(t)
    return [sum(element(random, t, kind) << (width(t) * i) for i in range(per))
            for _ in range(count)]


_images = {}


def image(t, kind, count, which):
    """Operand words that cases share, because drawing them takes most of the time."""
    key = (t, kind, which)
    if len(_images.get(key, ())) < count:
        _images[key] = words_of(Random(sum(map(ord, t + which)) * 8 + kind), t, kind, count)
    return _images[key][:count]


# ---------------------------------------------------------------------------
# mma.sync

MMA = [("m16n8k16", "f32", "f16", "f16", "f32", 4, 2), ("m16n8k16", "f16", "f16", "f16", "f16", 4, 2),
       ("m16n8k16", "f32", "bf16", "bf16", "f32", 4, 2), ("m16n8k8", "f32", "f16", "f16", "f32", 2, 1),
       ("m16n8k8", "f16", "f16", "f16", "f16", 2, 1), ("m16n8k8", "f32", "bf16", "bf16", "f32", 2, 1),
       ("m16n8k8", "f32", "tf32", "tf32", "f32", 4, 2), ("m16n8k4", "f32", "tf32", "tf32", "f32", 2, 1),
       ("m16n8k32", "f32", "e4m3", "e4m3", "f32", 4, 2), ("m16n8k32", "f32", "e5m2", "e5m2", "f32", 4, 2),
       ("m16n8k32", "f32", "e4m3", "e5m2", "f32", 4, 2), ("m16n8k32", "f32", "e5m2", "e4m3", "f32", 4, 2)]


def regs(first, count):
    return "{" + ", ".join(f"%r{first + i}" for i in range(count)) + "}"


def _mma():
    warps = 64
    for shape, d, a, b, c, na, nb in MMA:
        nc = 4 if c == "f32" else 2
        random = Random(len(CASES) + 1000)
        words = []
        for warp in range(warps):
            kind = warp % 4
            for lane in range(32):
                words += words_of(random, a, kind, 4) + words_of(random, b, kind, 4)
                if warp % 8 < 4 or kind == 2:
                    words += words_of(random, c, kind, 4)
                else:
                    words += [0] * 4
        body = ("  mad.lo.u32 %r0, cta, 128, thread;\n  mad.wide.u32 in, %r0, 48, in;\n"
                "  mad.wide.u32 out, %r0, 16, out;\n")
        for i in range(12):
            body += f"  ld.global.b32 %r{10 + i}, [in+{4 * i}];\n"
        body += (f"  mov.b32 %r32, 0; mov.b32 %r33, 0;\n"
                 f"  mma.sync.aligned.{shape}.row.col.{d}.{a}.{b}.{c} {regs(30, nc)}, {regs(10, na)}, "
                 f"{regs(14, nb)}, {regs(18, nc)};\n")
        for i in range(4):
            body += f"  st.global.b32 [out+{4 * i}], %r{30 + i};\n"
        case(f"mma.sync {shape} {d}.{a}.{b}.{c}", kernel(body), 128, words, warps * 32 * 4, warps // 4)


# ---------------------------------------------------------------------------
# ldmatrix, stmatrix, movmatrix

def _matrix():
    for count, suffix in [(1, "x1"), (2, "x2"), (4, "x4")]:
        for trans in ["", ".trans"]:
            random = Random(len(CASES) + 2000)
            words = [random.next() & 0xFFFFFFFF for _ in range(32 * 8)]
            # 32 rows of 16 bytes at a pitch of 32, permuted so that rows matter.
            head = ("  mad.wide.u32 %rd0, thread, 32, in;\n  mad.lo.u32 %r0, thread, 32, base;\n"
                    "  ld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%rd0];\n"
                    "  st.shared.v4.b32 [%r0], {%r2, %r3, %r4, %r5};\n"
                    "  ld.global.v4.b32 {%r6, %r7, %r8, %r9}, [%rd0+16];\n"
                    "  st.shared.v4.b32 [%r0+16], {%r6, %r7, %r8, %r9};\n  bar.warp.sync -1;\n"
                    "  mul.lo.u32 %r1, thread, 13; and.b32 %r1, %r1, 31; mad.lo.u32 %r1, %r1, 32, base;\n"
                    "  mad.wide.u32 out, thread, 32, out;\n"
                    "  mov.b32 %r11, 0; mov.b32 %r12, 0; mov.b32 %r13, 0;\n")
            load = head + (f"  ldmatrix.sync.aligned.m8n8.{suffix}{trans}.shared.b16 {regs(10, count)}, [%r1];\n"
                           "  st.global.v4.b32 [out], {%r10, %r11, %r12, %r13};\n"
                           "  st.global.v4.b32 [out+16], {%r10, %r11, %r12, %r13};\n")
            case(f"ldmatrix.{suffix}{trans}", kernel(load), 32, words, 256, shared=1024)
            store = head + (f"  stmatrix.sync.aligned.m8n8.{suffix}{trans}.shared.b16 [%r1], {regs(6, count)};\n"
                            "  bar.warp.sync -1;\n  ld.shared.v4.b32 {%r2, %r3, %r4, %r5}, [%r0];\n"
                            "  ld.shared.v4.b32 {%r6, %r7, %r8, %r9}, [%r0+16];\n"
                            "  st.global.v4.b32 [out], {%r2, %r3, %r4, %r5};\n"
                            "  st.global.v4.b32 [out+16], {%r6, %r7, %r8, %r9};\n")
            case(f"stmatrix.{suffix}{trans}", kernel(store), 32, words, 256, shared=1024)
    random = Random(2999)
    body = ("  mad.wide.u32 in, thread, 4, in; mad.wide.u32 out, thread, 4, out;\n"
            "  ld.global.b32 %r0, [in];\n  movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r0;\n"
            "  st.global.b32 [out], %r1;\n")
    case("movmatrix", kernel(body), 32, [random.next() & 0xFFFFFFFF for _ in range(32)], 32)


# ---------------------------------------------------------------------------
# wgmma: the shared image is arbitrary elements, so every address rule shows.

IMAGE_A = 16384  # bytes
SWIZZLE_CODE = {"none": 0, "128": 1, "64": 2, "32": 3}
SPAN = {"none": 16, "128": 128, "64": 64, "32": 32}


def descriptor(lbo, sbo, swizzle, base_offset=0):
    return (lbo >> 4) << 16 | (sbo >> 4) << 32 | base_offset << 49 | SWIZZLE_CODE[swizzle] << 62


def wgmma(name, d, a, b, n, a_desc, b_desc, a_start=0, b_start=0, rs=False, scale_d="p",
          scales=(1, 1), trans=(0, 0), steps=1):
    ctas = 4
    registers = n // 2 if d == "f32" else n // 4
    image_b = 32768 if n > 128 else 16384
    random = Random(len(CASES) + 3000)
    words = []
    for cta in range(ctas):
        kind = [0, 1, 2, 3][cta]
        words += image(a, kind, IMAGE_A // 4, "A")
        words += image(b, kind, image_b // 4, "B")
        words += words_of(random, d if d == "f32" else "f16", kind if cta else 0, 128 * (registers + 4))
        if rs:
            at = len(words)
            for thread in range(128):
                words[at - 128 * 4 + thread * 4:at - 128 * 4 + thread * 4 + 4] = words_of(random, a, kind, 4)
    per_cta = (IMAGE_A + image_b) // 4 + 128 * (registers + 4)
    k = 256 // width(a)
    size = IMAGE_A + image_b
    body = (f"  mul.wide.u32 %rd0, cta, {per_cta * 4}; add.u64 in, in, %rd0;\n"
            f"  mul.lo.u32 %r0, thread, 16; mad.wide.u32 %rd1, thread, 16, in; add.u32 %r1, base, %r0;\n"
            "  mov.u32 %r2, 0;\n"
            "COPY:\n  ld.global.v4.b32 {%r3, %r4, %r5, %r6}, [%rd1];\n"
            "  st.shared.v4.b32 [%r1], {%r3, %r4, %r5, %r6};\n"
            "  add.u64 %rd1, %rd1, 2048; add.u32 %r1, %r1, 2048; add.u32 %r2, %r2, 2048;\n"
            f"  setp.lt.u32 p, %r2, {size}; @p bra COPY;\n"
            f"  mad.wide.u32 %rd2, thread, {registers * 4}, in; add.u64 %rd2, %rd2, {size};\n"
            f"  mad.wide.u32 %rd3, thread, 16, in; add.u64 %rd3, %rd3, {size + 128 * registers * 4};\n")
    for i in range(registers):
        body += f"  ld.global.b32 %r{20 + i}, [%rd2+{4 * i}];\n"
    for i in range(4):
        body += f"  ld.global.b32 %r{10 + i}, [%rd3+{4 * i}];\n"
    body += ("  fence.proxy.async; bar.sync 0;\n"
             "  shr.u32 %r7, base, 4; cvt.u64.u32 %rd4, %r7;\n"
             f"  add.u64 %rd5, %rd4, {a_desc + (a_start >> 4)};\n"
             f"  add.u64 %rd6, %rd4, {b_desc + ((IMAGE_A + b_start) >> 4)};\n"
             f"  setp.ne.u32 p, base, {0 if scale_d == 'p' else 1024};\n"
             "  wgmma.fence.sync.aligned;\n")
    source = regs(10, 4) if rs else "%rd5"
    tail = [f"{scales[0]}", f"{scales[1]}"]
    if width(a) == 16:
        tail += [str(trans[1])] if rs else [str(trans[0]), str(trans[1])]
    for step in range(steps):
        if step:
            body += "  add.u64 %rd5, %rd5, 2; add.u64 %rd6, %rd6, 2;\n"
        body += (f"  wgmma.mma_async.sync.aligned.m64n{n}k{k}.{d}.{a}.{b} {regs(20, registers)}, {source}, "
                 f"%rd6, p, {', '.join(tail)};\n")
    body += "  wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n"
    body += f"  mad.lo.u32 %r8, cta, 128, thread; mad.wide.u32 out, %r8, {registers * 4}, out;\n"
    for i in range(registers):
        body += f"  st.global.b32 [out+{4 * i}], %r{20 + i};\n"
    case("wgmma " + name, kernel(body), 128, words, ctas * 128 * registers, ctas, shared=size)


def _wgmma():
    def k_major(swizzle, wide=1):
        if swizzle == "none":
            return descriptor(128 * wide, 256 * wide, "none")
        return descriptor(16, 8 * SPAN[swizzle] * wide, swizzle)

    def mn_major(swizzle):
        if swizzle == "none":
            return descriptor(1024, 128, "none")  # LBO between k groups, SBO between mn groups
        return descriptor(2048, 8 * SPAN[swizzle], swizzle)

    for n in [8, 16, 24, 40, 64, 96, 128, 176, 256]:
        wgmma(f"bf16 n{n} 128B", "f32", "bf16", "bf16", n, k_major("128"), k_major("128"))
    for swizzle in SWIZZLE_CODE:
        for ta in [0, 1]:
            for tb in [0, 1]:
                wgmma(f"bf16 n64 {swizzle} trans {ta} {tb}", "f32", "bf16", "bf16", 64,
                      mn_major(swizzle) if ta else k_major(swizzle),
                      mn_major(swizzle) if tb else k_major(swizzle), trans=(ta, tb))
        for t in ["f16", "tf32", "e4m3"]:
            wgmma(f"{t} n32 {swizzle}", "f32", t, t, 32, k_major(swizzle), k_major(swizzle))
        wgmma(f"bf16 n32 {swizzle} spread", "f32", "bf16", "bf16", 32, k_major(swizzle, 2),
              k_major(swizzle, 3))
    wgmma("bf16 n256 128B trans 0 1", "f32", "bf16", "bf16", 256, k_major("128"), mn_major("128"),
          trans=(0, 1))
    wgmma("f16 to f16 n64", "f16", "f16", "f16", 64, k_major("128"), k_major("128"))
    wgmma("f16 to f16 n16 rs", "f16", "f16", "f16", 16, 0, k_major("128"), rs=True)
    for a in ["e4m3", "e5m2"]:
        for b in ["e4m3", "e5m2"]:
            wgmma(f"{a}.{b} n16", "f32", a, b, 16, k_major("128"), k_major("128"))
            wgmma(f"{a}.{b} to f16 n16", "f16", a, b, 16, k_major("128"), k_major("128"))
    for t in ["bf16", "f16", "tf32", "e4m3"]:
        wgmma(f"{t} n32 rs", "f32", t, t, 32, 0, k_major("128"), rs=True)
        wgmma(f"{t} n64 4 steps", "f32", t, t, 64, k_major("128"), k_major("128"), steps=4)
    wgmma("bf16 n64 rs trans", "f32", "bf16", "bf16", 64, 0, mn_major("128"), rs=True, trans=(0, 1))
    wgmma("bf16 n16 no scale-d", "f32", "bf16", "bf16", 16, k_major("128"), k_major("128"),
          scale_d="false")
    wgmma("f16 n16 no scale-d to f16", "f16", "f16", "f16", 16, k_major("128"), k_major("128"),
          scale_d="false")
    for sa, sb in [(-1, 1), (1, -1), (-1, -1)]:
        wgmma(f"bf16 n16 scale {sa} {sb}", "f32", "bf16", "bf16", 16, k_major("128"), k_major("128"),
              scales=(sa, sb))
    wgmma("bf16 n32 start +64", "f32", "bf16", "bf16", 32, k_major("128"), k_major("128"), 64, 96)
    # Start inside a swizzle pattern: the XOR follows address bits.
    wgmma("bf16 n32 start +1024+256", "f32", "bf16", "bf16", 32, k_major("128"), k_major("128"), 1280,
          256)
    # Tiles that start inside a swizzle pattern, with the base offset saying so.
    for base in [1, 2, 4]:
        wgmma(f"bf16 n16 base offset {base}", "f32", "bf16", "bf16", 16, descriptor(16, 1024, "128", base),
              k_major("128"), 128 * base, 0)


_mma()
_matrix()
_wgmma()
