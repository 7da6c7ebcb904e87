# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""arrays.py make FOLDER NAME=AxBx...: bf16 arrays of noise, as their bits.
arrays.py compare A.npy B.npy BOUND: the largest difference against a bound."""

import ast
import random
import struct
import sys

PREFIX = b"\x93NUMPY\x01\x00"


def write(path, shape, descr, data):
    text = repr({"descr": descr, "fortran_order": False, "shape": shape})
    text += " " * (-(len(PREFIX) + 3 + len(text)) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(PREFIX + struct.pack("<H", len(text)) + text.encode() + data)


def read(path):
    with open(path, "rb") as file:
        content = file.read()
    length = struct.unpack_from("<H", content, len(PREFIX))[0]
    header = ast.literal_eval(content[len(PREFIX) + 2 : len(PREFIX) + 2 + length].decode())
    body = content[len(PREFIX) + 2 + length :]
    if header["descr"] == "<u2":
        words = struct.unpack(f"<{len(body) // 2}H", body)
        body = struct.pack(f"<{len(words)}I", *(word << 16 for word in words))
    return header["shape"], struct.unpack(f"<{len(body) // 4}f", body)


def make(folder, name, shape):
    count = 1
    for extent in shape:
        count *= extent
    noise = random.Random(name)
    words = (struct.unpack("<I", struct.pack("<f", noise.gauss(0, 1)))[0] >> 16 for _ in range(count))
    write(f"{folder}/{name}.npy", shape, "<u2", struct.pack(f"<{count}H", *words))


if sys.argv[1] == "make":
    for spec in sys.argv[3:]:
        name, extents = spec.split("=")
        make(sys.argv[2], name, tuple(int(extent) for extent in extents.split("x")))
else:
    (shape_a, a), (shape_b, b) = read(sys.argv[2]), read(sys.argv[3])
    assert shape_a == shape_b and any(a)
    worst = max(0.0 if x == y else abs(x - y) for x, y in zip(a, b))
    print("within" if worst <= float(sys.argv[4]) else "beyond", worst)
