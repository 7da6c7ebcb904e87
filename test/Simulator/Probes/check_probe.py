# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks what a probe kernel wrote against sums in double precision.

usage: check_probe.py pair-gemm|mini-attention|hopper-products FOLDER

FOLDER holds the arrays of the run, NAME.npy, inputs included. Prints the largest
error and its bound; ends with 1 if one is exceeded.
"""

import math
import struct
import sys
from array import array


def read(folder, name):
    """The values of a bf16 (stored as 16-bit words) or f32 array, flat."""
    with open(f"{folder}/{name}.npy", "rb") as file:
        data = file.read()
    (header,) = struct.unpack_from("<H", data, 8)
    text, body = data[10:10 + header].decode(), data[10 + header:]
    if "f4" in text:
        return array("f", body)
    return array("f", b"".join(b"\0\0" + body[i:i + 2] for i in range(0, len(body), 2)))


def rows(values, width):
    return [values[i:i + width] for i in range(0, len(values), width)]


def products(left, right):
    """left times the transpose of right."""
    return [[sum(x * y for x, y in zip(a, b)) for b in right] for a in left]


def worst(actual, expected):
    return max(abs(x - y) for r, s in zip(actual, expected) for x, y in zip(r, s))


def pair_gemm(folder):
    a, b = rows(read(folder, "a"), 64), rows(read(folder, "b"), 64)
    # 64 products of magnitude ~1 in f32.
    return [("d", worst(rows(read(folder, "d"), 128), products(a, b)), 2.0**-16)]


def mini_attention(folder):
    q, k, v, o = (rows(read(folder, name), 64) for name in "qkvo")
    columns = list(zip(*v))
    expected = []
    for score in products(q, k):
        score = [s * 0.18033688 for s in score]
        top = max(score)
        p = [2.0**(s - top) for s in score]
        total = math.fsum(p)
        expected.append([sum(x * y for x, y in zip(p, c)) / total for c in columns])
    largest = max(abs(x) for row in expected for x in row)
    # P and the result are rounded to bf16, half an ulp each (2^-9 relative).
    return [("o", worst(o, expected), 2 * 2.0**-9 * max(largest, 1.0))]


def hopper_products(folder):
    a, b, v = (rows(read(folder, name), 64) for name in "abv")
    bound = 2.0**-16
    results = []
    for name, right in (("d1", b), ("d2", list(zip(*v)))):
        expected = products(a, right)
        written = rows(read(folder, name), 32)
        # PTX ISA, wgmma: thread t has rows 16 (t / 32) + t % 32 / 4 and 8 more, and
        # of every 8 columns the two at 2 (t % 4).
        actual = [[0.0] * 64 for _ in range(64)]
        for thread, values in enumerate(written):
            for i, value in enumerate(values):
                row = thread // 32 * 16 + thread % 32 // 4 + i // 2 % 2 * 8
                actual[row][i // 4 * 8 + thread % 4 * 2 + i % 2] = value
        results.append((name, worst(actual, expected), bound))
    # The image of a in shared memory: 16-byte pieces at (piece xor row mod 8).
    image = rows(read(folder, "raw"), 64)
    moved = max(abs(image[r][(p ^ r % 8) * 8 + i] - a[r][p * 8 + i])
                for r in range(64) for p in range(8) for i in range(8))
    return results + [("raw", moved, 0.0)]


def main():
    check = {"pair-gemm": pair_gemm, "mini-attention": mini_attention,
             "hopper-products": hopper_products}[sys.argv[1]]
    good = True
    for name, error, bound in check(sys.argv[2]):
        good &= error <= bound
        print(f"{name}: error {error:.2e} bound {bound:.2e}")
    print("right" if good else "wrong")
    return not good


if __name__ == "__main__":
    sys.exit(main())
