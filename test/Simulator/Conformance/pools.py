# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operand vectors of the conformance set: directed values, then random ones.

Every pool gives COUNT tuples of four 64-bit words, the same on every machine:
only integer arithmetic is used to draw them.
"""

COUNT = 1024
MASK64 = (1 << 64) - 1


class Random:
    """SplitMix64 (Steele, Lea, Flood 2014)."""

    def __init__(self, seed):
        self.state = seed & MASK64

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK64
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK64
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK64
        return z ^ (z >> 31)

    def below(self, bound):
        return self.next() % bound

    def pick(self, values):
        return values[self.below(len(values))]


INT16 = [0, 1, 2, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000, 0x8001, 0xFFFE, 0xFFFF]
INT32 = [0, 1, 2, 3, 7, 31, 32, 33, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x55555555,
         0x7FFFFFFE, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xAAAAAAAA, 0xFFFF0000, 0xFFFFFF80,
         0xFFFFFFFE, 0xFFFFFFFF]
INT64 = INT32[:8] + [0xFFFFFFFF, 0x100000000, 0x7FFFFFFF00000000, 0x7FFFFFFFFFFFFFFF, 1 << 63,
                     (1 << 63) | 1, MASK64 - 1, MASK64]
F32 = [0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x807FFFFF, 0x00800000,
       0x80800000, 0x00FFFFFF, 0x3F000000, 0x3F7FFFFF, 0x3F800000, 0xBF800000, 0x3F800001,
       0x40200000, 0xC0200000, 0x4B000001, 0x4F000000, 0xCF000000, 0x5F000000, 0x7E800000,
       0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0xFFC12345]
F64 = [0, 1 << 63, 1, 0x000FFFFFFFFFFFFF, 0x0010000000000000, 0x3FF0000000000000,
       0xBFF0000000000000, 0x3FE0000000000000, 0x4004000000000000, 0x36A0000000000000,
       0x3690000000000000, 0x3800000000000000, 0x380FFFFFFFFFFFFF, 0x47EFFFFFE0000000,
       0x47EFFFFFF0000000, 0x41DFFFFFFFC00000, 0x41E0000000000000, 0x43E0000000000000,
       0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000,
       0x7FF0000000000001, 0x3FF0000010000000]
F16 = [0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x0400, 0x8400, 0x3800, 0x3BFF, 0x3C00, 0xBC00,
       0x3C01, 0x4248, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0x7C01, 0xFE55]
BF16 = [0x0000, 0x8000, 0x0001, 0x8001, 0x007F, 0x0080, 0x8080, 0x3F00, 0x3F7F, 0x3F80, 0xBF80,
        0x3F81, 0x4049, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80, 0x7FC0, 0x7F81, 0xFFD5]


def _cross(special, draw, seed):
    """All pairs of `special` in the first two words, then `draw`n values."""
    random = Random(seed)
    rows = []
    for i in range(COUNT):
        if i < len(special) ** 2 and i < COUNT * 3 // 4:
            a, b = special[i % len(special)], special[i // len(special)]
        else:
            a, b = draw(random), draw(random)
        c = random.pick(special) if random.below(2) else draw(random)
        d = random.pick(special) if random.below(2) else draw(random)
        rows.append((a, b, c, d))
    return rows


def _int32(random):
    value = random.next() & 0xFFFFFFFF
    return value >> random.below(32) if random.below(2) else value


def _int64(random):
    return random.next() >> random.below(64)


def _f32(random):
    """Any bits, or magnitudes near one so that sums round in the middle."""
    bits = random.next()
    if bits >> 63:
        return bits & 0xFFFFFFFF
    return (bits & 0x807FFFFF) | ((112 + (bits >> 32) % 30) << 23)


def _f64(random):
    bits = random.next()
    if random.below(4) == 0:
        return bits
    return (bits & 0x800FFFFFFFFFFFFF) | ((870 + random.below(300)) << 52)


def _ranged(random, low, high):
    """f32 with a random sign whose biased exponent is in [low, high)."""
    bits = random.next()
    return (bits & 0x807FFFFF) | ((low + (bits >> 32) % (high - low)) << 23)


def _pair(values, wild):
    def draw(random):
        def one():
            return random.pick(values) if random.below(4) == 0 else wild(random)
        return one() | one() << 16
    return draw


def _f16(random):
    bits = random.next()
    return bits & 0xFFFF if bits >> 62 == 0 else (bits & 0x83FF) | ((8 + (bits >> 32) % 14) << 10)


def _bf16(random):
    bits = random.next()
    return bits & 0xFFFF if bits >> 62 == 0 else (bits & 0x807F) | ((118 + (bits >> 32) % 20) << 7)


def _shift_row(random, i):
    """a any, b an amount or position, c a count or position."""
    amounts = [0, 1, 4, 8, 15, 16, 17, 28, 31, 32, 33, 40, 63, 64, 65, 100, 255, 256, 0x7FFFFFFF,
               0xFFFFFFFF]
    pick = lambda: amounts[random.below(len(amounts))] if random.below(2) else random.below(70)
    a = INT64[i % len(INT64)] if i < 200 else random.next()
    return (a, pick(), pick(), random.next())


def _divide_row(random, i):
    def draw():
        return random.pick(INT64) if random.below(3) == 0 else _int64(random)
    b = draw()
    while b & 0xFFFF == 0 or b & 0xFFFF == 0xFFFF:
        b = draw() ^ random.below(0xFFFF)
    return (draw(), b, draw(), draw())


def _bytes_row(random, i):
    """Every byte and byte pair neighbourhoods, for the 8-bit formats."""
    return ((i & 0xFF) | ((i * 7 + (i >> 8)) & 0xFF) << 8, random.next() & 0xFFFF,
            random.next(), random.next())


def _approx_row(low, high):
    def row(random, i):
        if i < len(F32):
            return (F32[i], random.next(), random.next(), random.next())
        return (_ranged(random, low, high), _ranged(random, low, high), random.next(),
                random.next())
    return row


def _rows(row, seed):
    random = Random(seed)
    return [row(random, i) for i in range(COUNT)]


POOLS = {
    "i16": lambda: _cross(INT16, lambda r: r.next() & 0xFFFF, 11),
    "i32": lambda: _cross(INT32, _int32, 12),
    "i64": lambda: _cross(INT64, _int64, 13),
    "f32": lambda: _cross(F32, _f32, 14),
    "f64": lambda: _cross(F64, _f64, 15),
    "f16": lambda: _cross([a | F16[-1 - i] << 16 for i, a in enumerate(F16)], _pair(F16, _f16), 16),
    "bf16": lambda: _cross([a | BF16[-1 - i] << 16 for i, a in enumerate(BF16)],
                           _pair(BF16, _bf16), 17),
    "shift": lambda: _rows(_shift_row, 18),
    "divide": lambda: _rows(_divide_row, 19),
    "bytes": lambda: _rows(_bytes_row, 20),
    "ex2": lambda: _rows(_approx_row(110, 135), 21),
    "wide": lambda: _rows(_approx_row(1, 255), 22),
    "angle": lambda: _rows(_approx_row(110, 130), 23),
}


def pool_words(name):
    return [word & MASK64 for row in POOLS[name]() for word in row]
