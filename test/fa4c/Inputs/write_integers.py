# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes i32 arrays as .npy files: write_integers.py NAME=1,2,3 ..."""

import struct
import sys

for argument in sys.argv[1:]:
    name, text = argument.split("=")
    numbers = [int(number) for number in text.split(",")]
    head = "{'descr': '<i4', 'fortran_order': False, 'shape': (%d,), }" % len(numbers)
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    with open(name, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        file.write(struct.pack("<%di" % len(numbers), *numbers))
