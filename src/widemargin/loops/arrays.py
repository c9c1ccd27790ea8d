"""Dense vectors: dot products, and adding multiples."""

from __future__ import annotations

from widemargin.loops.jit import INLINE, SUMS, jit, overload


def product(u, v):
    """The product u . v of two vectors, added up in any order."""
    s = 0.0
    for j in range(len(u)):
        s += u[j] * v[j]
    return s


@overload(product, jit_options=SUMS | INLINE)
def _product(u, v):
    return product


@jit(inline=True)
def add_scaled(v, a, u):
    """Add: v += a u."""
    for j in range(len(v)):
        v[j] += a * u[j]
