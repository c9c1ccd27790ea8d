"""Exact sums and products of floats, for the verifier.

A float is an integer times a power of two, so sums and products of floats are computed in integers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np


def to_integers(values: np.ndarray) -> tuple[np.ndarray, int]:
    """Return floats as integers times a common power of two, exactly."""
    fraction, power = np.frexp(values)
    mantissa = (fraction * 2.0**53).astype(np.int64)
    used = mantissa != 0
    if not np.any(used):
        return np.zeros(values.shape, object), 0
    # Trailing zeros of the mantissas would only make the integers long.
    zeros = np.where(used, np.log2((mantissa & -mantissa) + ~used).astype(np.int64), 0)
    lowest = int((power + zeros)[used].min())
    if int(power[used].max()) - lowest + 53 < 63:
        return np.ldexp(values, 53 - lowest).astype(np.int64).astype(object), lowest - 53
    shift = np.where(used, power - lowest, 0)
    whole = np.empty(values.shape, object)
    flat = whole.reshape(-1)
    for k, (number, by) in enumerate(
        zip(mantissa.ravel().tolist(), shift.ravel().tolist(), strict=True)
    ):
        flat[k] = number << by if by >= 0 else number >> -by
    return whole, lowest - 53


def exact_dot(u: np.ndarray, v: np.ndarray) -> Fraction:
    """Return the dot product of two vectors of floats, or of fractions, exactly."""
    used = np.flatnonzero((u != 0.0) & (v != 0.0))
    if not len(used):
        return Fraction(0)
    if u.dtype == object or v.dtype == object:
        pairs = zip(u[used].tolist(), v[used].tolist(), strict=True)
        return sum((Fraction(x) * Fraction(y) for x, y in pairs), Fraction(0))
    (a, i), (b, j) = to_integers(u[used]), to_integers(v[used])
    return Fraction(int(np.dot(a, b))) * Fraction(2) ** (i + j)


def exact_sum(weights: Sequence[int], rows: Any) -> tuple[list[int], int]:
    """Return the sum of integer weights times rows, as integers times a power of two."""
    if hasattr(rows, "indptr"):
        whole, exponent = to_integers(rows.data)
        total = [0] * rows.shape[1]
        owners = np.repeat(np.arange(len(weights)), np.diff(rows.indptr)).tolist()
        for i, j, value in zip(owners, rows.indices.tolist(), whole.tolist(), strict=True):
            total[j] += weights[i] * value
        return total, exponent
    rows = rows[:, np.any(rows != 0.0, axis=0)]
    whole, exponent = to_integers(rows)
    return (np.array(weights, object) @ whole).tolist(), exponent


def root_above(square: Fraction) -> float:
    """Return a float that is at least the square root."""
    if square <= 0:
        return 0.0
    shift = 160 + 2 * max(0, (square.denominator.bit_length() - square.numerator.bit_length()) // 2)
    whole = math.isqrt((square.numerator << shift) // square.denominator) + 1
    try:
        found = float(Fraction(whole, 1 << (shift // 2)))
    except OverflowError:
        return math.inf
    return math.nextafter(found, math.inf)
