# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the elements of a .npy file (format version 1.0) without NumPy: print_npy.py FILE
[struct code], f32 unless said."""

import struct
import sys

data = open(sys.argv[1], "rb").read()
code = sys.argv[2] if len(sys.argv) > 2 else "f"
start = 10 + struct.unpack_from("<H", data, 8)[0]
print(*(f"{x:g}" for (x,) in struct.iter_unpack("<" + code, data[start:])))
