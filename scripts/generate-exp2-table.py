#!/usr/bin/env python3
# ===- generate-exp2-table.py - coefficients of the exp2 polynomials --------===//
#
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===//
"""Writes include/fa4/Numerics/Exp2Table.inc.

Each row is the polynomial 1 + c1 f + ... + cd f^d with f32 coefficients that
minimises the largest relative error against 2^f on the row's domain. c0 stays
exactly 1, because the floor form needs 2^-127 * p(0) to be the bit pattern 0
(a masked score must give an exact zero).

Method: a Remez exchange solves for the free coefficients. They are then rounded
one at a time from c1 upwards, each time trying both neighbouring f32 values and
solving again for the coefficients above, so that a later coefficient absorbs the
rounding of an earlier one. The best full assignment wins.

The powers 2^f come from decimal arithmetic of fixed precision and everything
else is IEEE addition, multiplication and division, so the output does not depend
on the machine's libm and can be compared byte for byte by a test.

Usage: generate-exp2-table.py [--output FILE]   (standard output by default)
"""

import argparse
import sys
from decimal import Decimal, getcontext
from fractions import Fraction

# Twice the 17 digits of a double, so that both the powers given to the search
# and the errors printed are right to the last digit shown.
getcontext().prec = 34

# (degree, low end, high end): degrees 3 to 5 serve the floor form on [0, 1];
# degree 6 on [-1/2, 1/2] is the lowest whose error there (1.1e-8, most of it the
# rounding of c1) is small beside an f32 rounding step (6e-8).
ROWS = [(3, 0.0, 1.0), (4, 0.0, 1.0), (5, 0.0, 1.0), (6, -0.5, 0.5)]
# Sample intervals. The peak between two samples is missed by at most the factor
# in peak_margin(): below 0.3 % for these degrees.
GRID = 512


def binade(value):
    """The exponent e with 2^e <= |value| < 2^(e + 1); value is not 0."""
    two = type(value)(2)
    exponent = 0
    while abs(value) >= two ** (exponent + 1):
        exponent += 1
    while abs(value) < two**exponent:
        exponent -= 1
    return exponent


def to_f32_neighbours(value):
    """The two f32 values around a number (one if it is in f32 already)."""
    exact = Fraction(value)
    step = Fraction(2) ** (binade(exact) - 23)
    low = (exact / step).__floor__() * step
    return [low] if low == exact else [low, low + step]


def f32_bits(value):
    """Bit pattern of a positive normal f32 given as a fraction."""
    exponent = binade(value)
    mantissa = value / Fraction(2) ** (exponent - 23)
    assert mantissa.denominator == 1 and 2**23 <= mantissa < 2**24
    return ((exponent + 127) << 23) | (int(mantissa) - 2**23)


def solve(matrix, right):
    """Gaussian elimination with partial pivoting."""
    size = len(right)
    rows = [list(r) + [b] for r, b in zip(matrix, right)]
    for col in range(size):
        pivot = max(range(col, size), key=lambda r: abs(rows[r][col]))
        rows[col], rows[pivot] = rows[pivot], rows[col]
        for r in range(size):
            if r != col:
                factor = rows[r][col] / rows[col][col]
                rows[r] = [x - factor * y for x, y in zip(rows[r], rows[col])]
    return [rows[r][size] / rows[r][r] for r in range(size)]


def evaluate(coefficients, f):
    """Horner scheme in whatever arithmetic the arguments have."""
    value = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        value = value * f + c
    return value


def monomial(f, k):
    """f^k by multiplication: `**` on floats would ask libm."""
    value = 1.0
    for _ in range(k):
        value *= f
    return value


class Domain:
    """Sample points of one interval with 2^f at each. The points are multiples
    of 1 / GRID, hence exact doubles."""

    def __init__(self, low, high):
        self.low = low
        self.points = [low + (high - low) * i / GRID for i in range(GRID + 1)]
        self.exact_powers = [Decimal(2) ** Decimal(f) for f in self.points]
        self.powers = [float(p) for p in self.exact_powers]

    def errors(self, coefficients):
        """Relative error of the polynomial at every sample."""
        return [
            (evaluate(coefficients, f) - p) / p
            for f, p in zip(self.points, self.powers)
        ]

    def largest_error(self, coefficients):
        return max(abs(e) for e in self.errors(coefficients))


def alternation(points, errors, count):
    """`count` sample indices where error / f alternates in sign with the largest
    magnitudes: one peak per sign change, the smaller end dropped while too many.
    Dividing by f removes the sign change at 0 that the fixed c0 forces."""
    peaks = []
    for i, (f, e) in enumerate(zip(points, errors)):
        if e == 0 or f == 0:
            continue
        if peaks and (errors[peaks[-1]] * points[peaks[-1]] > 0) == (e * f > 0):
            if abs(e) > abs(errors[peaks[-1]]):
                peaks[-1] = i
        else:
            peaks.append(i)
    while len(peaks) > count:
        peaks.pop(0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1)
    return peaks


def remez(domain, fixed, degree):
    """Best coefficients above the `fixed` ones. Minimises the largest relative
    error over the samples; the reference set has one more than there are unknowns."""
    unknowns = list(range(len(fixed), degree + 1))
    if not unknowns:
        return list(fixed)
    count = len(unknowns) + 1
    # Any start converges for so smooth a function, but no reference may be 0, where
    # the error is 0 whatever the coefficients: hence steps of 1 / (count + 1/3).
    peaks = [GRID * (3 * i + 2) // (3 * count + 1) for i in range(count)]
    best = None
    # Quadratic convergence settles in about five exchanges; neighbouring samples of
    # a flat peak can then swap for ever.
    for _ in range(12):
        matrix, right = [], []
        for i, index in enumerate(peaks):
            f, power = domain.points[index], domain.powers[index]
            row = [monomial(f, k) / power for k in unknowns]
            matrix.append(row + [1.0 if (i % 2 == 1) == (f > 0) else -1.0])
            right.append((power - evaluate(fixed, f)) / power)
        coefficients = list(fixed) + solve(matrix, right)[:-1]
        errors = domain.errors(coefficients)
        size = max(abs(e) for e in errors)
        if best is None or size < best[0]:
            best = (size, coefficients)
        previous, peaks = peaks, alternation(domain.points, errors, count)
        if peaks == previous or len(peaks) < count:
            break
    return best[1]


def rounded_minimax(domain, degree):
    """Exhausts both f32 neighbours of every coefficient, low order first."""

    def search(prefix):
        if len(prefix) == degree + 1:
            return domain.largest_error([float(c) for c in prefix]), prefix
        free = remez(domain, [float(c) for c in prefix], degree)
        choices = to_f32_neighbours(free[len(prefix)])
        return min(search(prefix + [c]) for c in choices)

    return search([Fraction(1)])[1]


def half_ulp(value):
    """Half an f32 ulp of the binade that holds |value|."""
    return Decimal(2) ** (binade(value) - 24)


def peak_margin(degree):
    """A peak e between two samples h apart exceeds them by at most h^2/8 * |e''|;
    4 d^4 * |e| / width^2 exceeds Markov's bound on |e''| for a polynomial of degree
    d + 1 (which the error resembles) on that width, and h = width / GRID."""
    return 1 + Decimal(degree**4) / (2 * GRID**2)


def error_bounds(domain, coefficients):
    """Largest |approximation error|, alone and with what the roundings of an f32
    FMA Horner scheme can add: stage k rounds once and is then multiplied by f^k.
    A stage can come out a rounding step above its exact value, in the next binade,
    hence the 2^-20 before the binade is taken. The floor form adds the rounding
    of f = x - floor(x): half a step of [1/2, 1], for x in (-1/2, 0); every other
    f is exact, as are those of the other form."""
    exact = [Decimal(float(c)) for c in coefficients]
    slope = [k * c for k, c in enumerate(exact)][1:]
    floor_form = domain.low == 0
    largest, largest_rounded = Decimal(0), Decimal(0)
    for f, power in zip(map(Decimal, domain.points), domain.exact_powers):
        value, rounding = exact[-1], Decimal(0)
        for c in reversed(exact[:-1]):
            value = value * f + c
            rounding = rounding * abs(f)
            rounding += half_ulp(value * (1 + Decimal(2) ** -20))
        if floor_form and f >= Decimal("0.5"):
            rounding += Decimal(2) ** -25 * evaluate(slope, f)
        error = abs(value / power - 1)
        largest = max(largest, error)
        largest_rounded = max(largest_rounded, error + rounding / power)
    margin = peak_margin(len(coefficients) - 1)
    return largest * margin, largest_rounded * margin


def up(value):
    """Four significant digits, rounded up: a bound must not shrink in print."""
    exponent = value.adjusted()
    scaled = value.scaleb(3 - exponent)
    digits = int(scaled) + (1 if scaled != int(scaled) else 0)
    return f"{digits / 1000:.3f}e{exponent}"


HEADER = """\
//===- Exp2Table.inc - coefficients of 2^f ---------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Generated by scripts/generate-exp2-table.py; a unit test compares the two.
// Row: degree, domain, largest relative error of the polynomial in exact
// arithmetic, the same with every rounding of f and of an f32 FMA Horner scheme
// added, and the f32 bit patterns of c0, c1, ...
//
//===----------------------------------------------------------------------===//
// clang-format off

"""


def generate():
    text = HEADER
    for degree, low, high in ROWS:
        domain = Domain(low, high)
        coefficients = rounded_minimax(domain, degree)
        error, bound = error_bounds(domain, coefficients)
        bits = ", ".join(f"0x{f32_bits(c):08X}" for c in coefficients)
        text += f"{{{degree}, {low}, {high}, {up(error)}, {up(bound)},\n {{{bits}}}}},\n"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", help="file to write (default: standard output)")
    arguments = parser.parse_args()
    text = generate()
    if arguments.output:
        with open(arguments.output, "w", encoding="ascii") as file:
            file.write(text)
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
