# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""compare.py A.npy B.npy FACTOR: whether A is B times FACTOR, both of f32."""

import ast
import struct
import sys


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    length = struct.unpack_from("<H", data, 8)[0]
    header = ast.literal_eval(data[10 : 10 + length].decode())
    assert header["descr"] == "<f4" and not header["fortran_order"]
    body = data[10 + length :]
    return header["shape"], struct.unpack(f"<{len(body) // 4}f", body)


(shape_a, a), (shape_b, b) = read(sys.argv[1]), read(sys.argv[2])
factor = float(sys.argv[3])
same = shape_a == shape_b and any(a) and all(x == y * factor for x, y in zip(a, b))
print("equal" if same else "different")
