"""Exact weights by p-adic lifting (Dixon): a linear system is solved digit by digit modulo p^t.

Elimination in fractions needs numbers as long as the answer in every step. Here all numbers are
below a prime p < 2^22, so that floats hold their products exactly; only the answer is long.

Reference: J. D. Dixon, Exact solution of linear equations using p-adic expansions (1982).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.linalg.lapack import dgetrf

from widemargin.loops.separability.lifting import (
    LEADING_BITS,
    euclid_steps,
    invert_modulo,
    lift_pass,
)

#: The largest primes below 2^22, 2^21 and 2^20. If one divides the determinant, the next is tried.
_PRIMES = {22: (4194301, 4194287, 4194277), 21: (2097143, 2097133), 20: (1048573, 1048571)}


def convex_dependency(vectors: np.ndarray) -> list[Fraction] | None:
    """Return convex weights with which the rows add up to zero.

    Parameters
    ----------
    vectors : array (k, d) of floats
        Rows of which the first k - 1 are independent.

    Returns
    -------
    list of Fraction or None
        None if there are none, or if the rows are not as described. The weights must solve d
        equations, of which only k - 1 were used, so a proof still has to check them all.

    Examples
    --------
    >>> convex_dependency(np.array([[1.0, 2.0], [-3.0, 0.0], [0.0, -0.5]]))
    [Fraction(3, 16), Fraction(1, 16), Fraction(3, 4)]
    """
    k = len(vectors)
    vectors = vectors[:, np.any(vectors != 0.0, axis=0)]
    if k == 1:
        return [Fraction(1)] if vectors.shape[1] == 0 else None
    if vectors.shape[1] < k - 1:
        return None
    # The last row is a combination of the others: solve for it, in k - 1 independent columns.
    last = k - 1
    lengths = np.max(np.abs(vectors), axis=0)
    swaps = dgetrf(vectors[:last].T / lengths[:, None])[1].tolist()
    columns = list(range(vectors.shape[1]))
    for i, j in enumerate(swaps):
        columns[i], columns[j] = columns[j], columns[i]
    square = vectors[:, columns[:last]]
    whole = _whole_columns(square)
    solved = solve_exactly(whole[:last].T, -whole[last])
    if solved is None:
        return None
    weights, below = solved
    if below < 0:
        weights, below = [-weight for weight in weights], -below
    if any(weight < 0 for weight in weights):
        return None
    total = sum(weights) + below
    return [Fraction(weight, total) for weight in [*weights, below]]


def solve_exactly(A: np.ndarray, b: np.ndarray) -> tuple[list[int], int] | None:
    """Solve A x = b in integers: x = numerators / denominator, or None if A is singular.

        r = b;  for t = 0, 1, ...:  x_t = A^-1 r mod p;  r = (r - A x_t) / p

    Then x = sum of x_t p^t modulo a power of p, from which the fractions are reconstructed.

    Parameters
    ----------
    A, b : object arrays of int
        A square system.

    Examples
    --------
    >>> solve_exactly(np.array([[2, 1], [1, 3]], object), np.array([1, 1], object))
    ([2, 1], 5)
    """
    k = len(A)
    bits = min(22, (52 - max(1, k).bit_length()) // 2)
    primes, short, right = _PRIMES.get(bits, ()), _short(A), _short(b)
    for p in primes:
        inverse = np.empty((k, k))
        if invert_modulo((short % p).astype(np.float64), float(p), inverse):
            break
    else:
        return None
    limbs, rest = _limbs(short, bits), _limbs(right, bits)
    steps = math.ceil((2.0 * _hadamard_bits(short, right) + 8) / math.log2(p)) + 1
    # The remainder never exceeds this: b at first, then about k times the entries of A.
    r = np.zeros((k, max(len(limbs), len(rest)) + 2), np.int64)
    r[:, : len(rest)] = rest.T
    digits = np.empty((0, k), np.int64)
    while len(digits) < steps:
        # Only systems of small numbers have solutions much shorter than the bound.
        many = max(8, steps // 8, len(digits)) if len(limbs) == 1 else steps
        more = np.empty((min(many, steps - len(digits)), k), np.int64)
        lift_pass(inverse, limbs, r, float(p), bits, more)
        digits = np.concatenate([digits, more])
        # Checking one number is a cheap test of whether there are enough digits for all.
        if len(digits) < steps and _read_off(digits[:, :1], p, slack=64) is not None:
            found = _read_off(digits, p, slack=64)
            if found is not None and _solves(A[:1], b[:1], *found):
                return found
    return _read_off(digits, p, slack=0)


def _solves(A: np.ndarray, b: np.ndarray, above: list[int], below: int) -> bool:
    """Whether a solution solves these equations."""
    return not np.any(A @ np.array(above, object) != b * below)


def _read_off(digits: np.ndarray, p: int, slack: int) -> tuple[list[int], int] | None:
    """Return the fractions with these digits over a common denominator; None if they are too long.

    They must be `slack` bits shorter than the bound, which makes a wrong guess very unlikely.
    """
    modulus = p ** len(digits)
    limit = math.isqrt(modulus // 2) >> slack
    # The denominator of a combination of them is nearly always the common denominator.
    mixed = (digits @ np.arange(1, digits.shape[1] + 1)).astype(object)
    mixture = _horner(mixed[:, None], p)[0] % modulus
    below = _denominator(mixture, modulus, limit)
    if below:
        # Then half of the digits give the numerators, and a few more confirm them.
        first = digits[: math.ceil((limit.bit_length() + 66) / math.log2(p))]
        found = _over_one(_horner(first, p), p ** len(first), limit, below, longer=False)
        if found:
            return found
    values = _horner(digits, p)
    found = _over_one(values, modulus, limit, below) if below else None
    return found or _over_one(values, modulus, limit, 1)


def _over_one(
    values: list[int], modulus: int, limit: int, below: int, longer: bool = True
) -> tuple[list[int], int] | None:
    """Return numerators over the denominator `below`, or, if it may be `longer`, a multiple of it.

    None if they are too long.
    """
    above: list[int] = []
    for value in values:
        rest = value * below % modulus
        if min(rest, modulus - rest) > limit:
            more = _denominator(rest, modulus, limit) if longer else None
            if more is None or below * more > limit:
                return None
            below, rest = below * more, rest * more % modulus
            above = [number * more for number in above]
        above.append(rest if rest <= limit else rest - modulus)
    return (above, below) if max(map(abs, above)) <= limit else None


def _denominator(value: int, modulus: int, limit: int) -> int | None:
    """Return the smallest q > 0 with q value <= limit modulo the modulus, by Euclid's algorithm.

    The leading bits determine many steps at once (Lehmer); steps near the limit are taken singly.
    """
    a, b, u, v = modulus, value, 0, 1
    while b > limit:
        shift = max(0, a.bit_length() - LEADING_BITS)
        A, B, C, D = euclid_steps(a >> shift, b >> shift)
        after = C * a + D * b
        if B and after > limit:
            a, b, u, v = A * a + B * b, after, A * u + B * v, C * u + D * v
        else:
            quotient, rest = divmod(a, b)
            a, b, u, v = b, rest, v, u - quotient * v
    return abs(v) if 0 < abs(v) <= limit else None


def _horner(digits: np.ndarray, p: int) -> list[int]:
    """Return the sum of digits[t] p^t, halving recursively so that numbers stay short longer."""
    base = p
    while len(digits) > 1:
        if len(digits) % 2:
            digits = np.concatenate([digits, np.zeros_like(digits[:1])])
        digits = digits[::2] + digits[1::2] * base
        base *= base
        digits = digits.astype(object)
    return digits[0].tolist()


def _limbs(A: np.ndarray, bits: int) -> np.ndarray:
    """Split integers into sums of floats below 2^bits times powers of 2^bits."""
    signs: Any = np.where(A < 0, -1, 1)
    rest: Any = abs(A)
    mask = (1 << bits) - 1
    limbs: list[np.ndarray] = []
    while np.any(rest) or not limbs:
        # Long numbers are slow, so cut off two limbs at a time.
        long = rest.dtype == object
        low = (rest & (mask << bits | mask)).astype(np.int64) if long else rest
        limbs.append(signs * (low & mask))
        if long:
            limbs.append(signs * (low >> bits))
        rest = _short(rest >> 2 * bits) if long else rest >> bits
    return np.array(limbs, np.float64)


def _short(A: np.ndarray) -> np.ndarray:
    """Return the same integers, as int64 if they are small enough."""
    return A.astype(np.int64) if max(map(abs, A.flat), default=0) < 1 << 62 else A


def _hadamard_bits(A: np.ndarray, b: np.ndarray) -> float:
    """Return an upper bound on the bits of a determinant of columns of A and b (Hadamard)."""
    if A.dtype != object and b.dtype != object:
        lengths = np.linalg.norm(np.column_stack([A, b]).astype(np.float64), axis=0)
        return float(np.sum(np.log2(np.maximum(lengths, 1.0)) + 1e-6)) + 2.0
    A, b = A.astype(object), b.astype(object)
    squares = [int(np.dot(column, column)) for column in [*A.T, b]]
    return sum(square.bit_length() / 2.0 for square in squares if square) + 2.0


def _whole_columns(values: np.ndarray) -> np.ndarray:
    """Turn floats into integers by multiplying each column by its own factor."""
    fraction, power = np.frexp(values)
    mantissa = (fraction * 2.0**53).astype(np.int64)
    zeros = np.maximum(np.frexp((mantissa & -mantissa).astype(np.float64))[1] - 1, 0)
    odd, power = mantissa >> zeros, power + zeros
    used = odd != 0
    lowest = np.min(np.where(used, power, np.max(power)), axis=0)
    shift = np.where(used, power - lowest, 0)
    if np.max(53 - zeros + shift) >= 63:
        odd, shift = odd.astype(object), shift.astype(object)
    whole = odd << shift
    divisor = np.gcd.reduce(whole, axis=0)
    return (whole // np.where(divisor == 0, 1, divisor)).astype(object)
