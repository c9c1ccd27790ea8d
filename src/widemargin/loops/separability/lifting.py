"""Arithmetic modulo a prime, and long-number arithmetic for p-adic lifting."""

from __future__ import annotations

import numpy as np

from widemargin.loops.arrays import product
from widemargin.loops.jit import jit


@jit()
def invert_modulo(A, p, inverse):
    """Gauss-Jordan elimination modulo a prime p < 2^26, in floats that hold whole numbers exactly.

    Changes A (whose entries lie in 0 ... p - 1) and fills `inverse`; False if A has none.
    """
    n = len(A)
    for i in range(n):
        for j in range(n):
            inverse[i, j] = 1.0 if i == j else 0.0
    for j in range(n):
        pivot = j
        while pivot < n and A[pivot, j] == 0.0:
            pivot += 1
        if pivot == n:
            return False
        if pivot != j:
            for q in range(n):
                A[j, q], A[pivot, q] = A[pivot, q], A[j, q]
                inverse[j, q], inverse[pivot, q] = inverse[pivot, q], inverse[j, q]
        factor = reciprocal(A[j, j], p)
        multiply_modulo(A[j], factor, p)
        multiply_modulo(inverse[j], factor, p)
        for i in range(n):
            if i != j and A[i, j] != 0.0:
                factor = p - A[i, j]
                add_modulo(A[i, j:], factor, A[j, j:], p)
                add_modulo(inverse[i], factor, inverse[j], p)
    return True


@jit(inner=True)
def reciprocal(x, p):
    """1 / x modulo p, by Euclid's algorithm."""
    a, b, u, v = np.int64(x), np.int64(p), np.int64(1), np.int64(0)
    while a != 0:
        quotient = b // a
        a, b = b - quotient * a, a
        u, v = v - quotient * u, u
    return np.float64(v % np.int64(p))


@jit(inner=True)
def multiply_modulo(x, factor, p):
    """X = factor x modulo p."""
    for q in range(len(x)):
        value = x[q] * factor
        value -= np.floor(value / p) * p
        x[q] = value


@jit(inner=True)
def add_modulo(x, factor, y, p):
    """X += factor y modulo p."""
    turn = 1.0 / p
    for q in range(len(x)):
        value = x[q] + factor * y[q]
        value -= np.floor(value * turn) * p
        # The quotient may be off by one.
        value += p if value < 0.0 else 0.0
        value -= p if value >= p else 0.0
        x[q] = value


@jit()
def lift_pass(inverse, limbs, r, p, bits, digits):
    """Dixon's lifting: digits of x = A^-1 b to base p, as many as there are rows in `digits`.

        for t = 0, 1, ...:  x_t = A^-1 r mod p;  r = (r - A x_t) / p

    `inverse` is A^-1 mod p. A is the sum of limbs[l] 2^(bits l), and row i of r likewise, in
    whole numbers of 64 bits; `bits` is so small that every product of a limb with x_t is exact
    in a float. Changes r and fills digits. Costs k^2 (1 + the number of limbs) a digit.
    """
    k, base = len(r), np.int64(1) << np.int64(bits)
    rest, x = np.empty(k), np.empty(k)
    prime = np.int64(p)
    for t in range(len(digits)):
        for i in range(k):
            v = np.int64(0)
            for level in range(r.shape[1] - 1, -1, -1):
                v = (v * base + r[i, level]) % prime
            rest[i] = v
        for i in range(k):
            v = product(inverse[i], rest)
            x[i] = v - np.floor(v / p) * p
            digits[t, i] = x[i]
        for i in range(k):
            for level in range(len(limbs)):
                r[i, level] -= np.int64(product(limbs[level, i], x))
            v = np.int64(0)
            for level in range(r.shape[1] - 1, -1, -1):
                v = v * base + r[i, level]
                r[i, level] = v // prime
                v -= r[i, level] * prime


#: Leading bits of two numbers that `euclid_steps` looks at: as many as leave its sums, a + A and
#: the like, in 64 bits with a sign.
LEADING_BITS = 61


@jit()
def euclid_steps(a, b):
    """The steps of Euclid's algorithm that two long numbers a > b share if they begin like this.

    Returns A, B, C, D: after these steps the numbers are A a + B b and C a + D b. No step is
    certain if B is 0. See Knuth, The Art of Computer Programming, 4.5.2, algorithm L.
    """
    A, B, C, D = 1, 0, 0, 1
    while b + C != 0 and b + D != 0:
        q = (a + A) // (b + C)
        if q != (a + B) // (b + D):
            break
        A, B, C, D = C, D, A - q * C, B - q * D
        a, b = b, a - q * b
    return A, B, C, D
