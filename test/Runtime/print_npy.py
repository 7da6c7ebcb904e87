# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the f32 elements of a .npy file (format version 1.0) without NumPy."""

import struct
import sys

data = open(sys.argv[1], "rb").read()
start = 10 + struct.unpack_from("<H", data, 8)[0]
print(*(f"{x:g}" for (x,) in struct.iter_unpack("<f", data[start:])))
