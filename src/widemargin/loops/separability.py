"""Loops that decide whether a hyperplane separates two classes.

Letters: z_i = y_i x_i is an example turned to the positive side, so that w separates if
w . z_i > 0 for all i. G holds the products z_i . z_j of a few examples, the working set.
"""

from __future__ import annotations

import numpy as np
from numba.extending import overload

from widemargin.loops.jit import INLINE, OPTIONS, SUMS, jit
from widemargin.loops.storage import _pick, add, dot, look_ahead, norm2

_ONE = np.uint64(1)


@jit()
def correct_pass(rows, y, order, step, w, a):
    """One epoch of the perceptron with a step for every example; returns its mistakes.

        for i in order:
            if y_i w . x_i <= 0:
                w += step_i y_i x_i
                a_i += step_i

    So w is the sum of a_i z_i, and |w| / sum a is no less than the margin. Changes w and a.
    """
    mistakes = 0
    for j in range(len(order)):
        look_ahead(rows, order, j)
        i = order[j]
        if y[i] * dot(rows, i, w) <= 0.0:
            add(w, y[i] * step[i], rows, i)
            a[i] += step[i]
            mistakes += 1
    return mistakes


@jit()
def reach_pass(rows, y, order, q, w, a):
    """One epoch of dual coordinate descent for the hard-margin SVM; returns its mistakes.

        for i in order:
            move a_i so that y_i w . x_i = 1, but not below 0;  w = sum of a_i z_i

    q holds the squared norms. Changes w and a.
    """
    mistakes = 0
    for j in range(len(order)):
        look_ahead(rows, order, j)
        i = order[j]
        m = y[i] * dot(rows, i, w)
        mistakes += m <= 0.0
        tau = max((1.0 - m) / q[i], -a[i])
        if tau != 0.0:
            add(w, y[i] * tau, rows, i)
            a[i] += tau
    return mistakes


@jit()
def square_rows(rows, out):
    """out[i] = x_i . x_i, with the constant feature."""
    for i in range(np.uint64(len(out))):
        out[i] = norm2(rows, i)


def mark(rows, i, bits, r):
    """A fingerprint of row i that does not depend on how it is stored."""
    return _pick(rows, _mark_dense, _mark_sparse)(rows, i, bits, r)


def _mark_dense(rows, i, bits, r):
    h = np.uint64(0)
    x = bits[i]
    for j in range(len(x)):
        h += _mix(x[j], r[j])
    return h


def _mark_sparse(rows, i, bits, r):
    h = np.uint64(0)
    for k in range(rows.starts[i], rows.starts[i + _ONE]):
        h += _mix(bits[k], r[rows.indices[k]])
    return h


@jit(inline=True)
def _mix(bits, r):
    """Scatter the bits of one value; zero, of either sign, gives zero."""
    v = np.uint64(bits) * r
    v ^= v >> np.uint64(31)
    v *= np.uint64(0x9E3779B97F4A7C15)
    v ^= v >> np.uint64(29)
    return v


@overload(mark, jit_options=OPTIONS | INLINE)
def _mark(rows, i, bits, r):
    return _pick(rows, _mark_dense, _mark_sparse)


@jit()
def mark_rows(rows, bits, r, out):
    """out[i] = the fingerprint of row i; `bits` are the values as unsigned numbers."""
    for i in range(np.uint64(len(out))):
        out[i] = mark(rows, i, bits, r)


def near_dot(rows, i, w):
    """The product w . x for row i, as if computed with twice the digits and then rounded."""
    return _pick(rows, _near_dot_dense, _near_dot_sparse)(rows, i, w)


def _near_dot_dense(rows, i, w):
    x = rows.values[i]
    s, t = two_product(np.float64(rows.bias), w[len(w) - 1])
    for j in range(len(x)):
        s, t = add_product(s, t, np.float64(x[j]), w[j])
    return s + t


def _near_dot_sparse(rows, i, w):
    s, t = two_product(np.float64(rows.bias), w[len(w) - 1])
    for k in range(rows.starts[i], rows.starts[i + _ONE]):
        s, t = add_product(s, t, np.float64(rows.values[k]), w[rows.indices[k]])
    return s + t


@jit(inline=True)
def two_product(a, b):
    """A b as the rounded product and its error (Dekker)."""
    p = a * b
    c = 134217729.0 * a
    ah = c - (c - a)
    c = 134217729.0 * b
    bh = c - (c - b)
    return p, (ah * bh - p) + ah * (b - bh) + (a - ah) * bh + (a - ah) * (b - bh)


@jit(inline=True)
def add_product(s, t, a, b):
    """Add a b to the sum s, whose errors gather in t."""
    p, e = two_product(a, b)
    total = s + p
    back = total - s
    return total, t + (((s - (total - back)) + (p - back)) + e)


@overload(near_dot, jit_options=OPTIONS | INLINE)
def _near_dot(rows, i, w):
    return _pick(rows, _near_dot_dense, _near_dot_sparse)


@jit()
def near_dots(rows, y, w, out):
    """out[i] = y_i w . x_i, as if computed with twice the digits."""
    for i in range(np.uint64(len(out))):
        out[i] = y[i] * near_dot(rows, i, w)


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
def shift(v, by, u):
    """V += by u."""
    for j in range(len(v)):
        v[j] += by * u[j]


#: A point whose square is so small a part of the others' needs care.
_SHORT = 1e-8
#: So many additions may bring nothing before all is taken for rounding.
_PATIENCE = 8
#: How `nearest_pass` ends.
OPTIMAL, ZERO, STUCK, UNFINISHED = range(4)


@jit()
def nearest_pass(G, C, g, groups, S, k, a, R, Y, banned, scale, tol, zero, limit):
    """Wolfe's minimum-norm point: the shortest x = sum of a_i z_i over a working set of m points.

        a >= 0 adds up to 1 in every group (one: a hull; two: the difference of two hulls)

        repeat:
            add the point whose product with x is smallest (compared to its group's)
            until the shortest point of the affine hull has weights above zero:
                go towards it as far as no weight falls below zero; drop the point that stops us

    The Gram matrix Q = G + (1 where the groups are the same) of the k points in S is R'R, with R
    upper triangular and Y[c] = R'^-1 (1 in group c), so that the affine minimiser costs one back
    substitution. If C holds the points' coordinates (it may be empty), products with x are those
    with the coordinates of x, which tell a shorter x than G can; once x is short the affine
    minimiser is refined with them, too. With all points' squares up to `scale`, stops when
    x . x <= zero scale, when no product is smaller by tol scale (with coordinates, by tol |x|
    sqrt(scale)), or after `limit` additions. Changes S, a, R, Y and banned; returns k and how it
    ended. Costs about m^2 (or 2 m d) + 2 k^2 an addition.

    Reference: P. Wolfe, Finding the nearest point in a polytope, Math. Programming 11 (1976).
    """
    m = len(G)
    alpha = np.zeros(m)
    t, h = np.empty(m), np.empty(m)
    mu = np.empty(groups)
    u = np.empty((groups, m))
    x = np.empty(C.shape[1])
    least, idle = np.inf, 0
    for _ in range(limit):
        for j in range(m):
            alpha[j] = 0.0
        for p in range(k):
            alpha[S[p]] = a[p]
        for c in range(groups):
            mu[c] = 0.0
        square = 0.0
        combine(C, S, k, a, x)
        for j in range(m):
            t[j] = product(C[j], x) if len(x) else product(G[j], alpha)
            mu[g[j]] += alpha[j] * t[j]
        for c in range(groups):
            square += mu[c]
        if square <= zero * scale:
            return k, ZERO
        # In exact arithmetic every addition makes x shorter.
        idle = idle + 1 if square >= least * (1.0 - 1e-12) else 0
        least = min(least, square)
        if idle > _PATIENCE:
            return k, STUCK
        best = -tol * (np.sqrt(square * scale) if len(x) else scale)
        chosen, refused = -1, False
        for j in range(m):
            if t[j] - mu[g[j]] < best and alpha[j] == 0.0:
                if banned[j]:
                    refused = True
                else:
                    best, chosen = t[j] - mu[g[j]], j
        if chosen < 0:
            return k, STUCK if refused else OPTIMAL
        if not append(G, C, g, groups, S, k, R, Y, chosen, x):
            banned[chosen] = True
            continue
        a[k] = 0.0
        k += 1
        while True:
            affine_minimiser(g, groups, S, k, R, Y, u, t)
            if square < _SHORT * scale and len(x):
                refine(C, g, groups, S, k, R, u, t, h, x)
            theta, out = 1.0, -1
            for p in range(k):
                if t[p] <= 0.0:
                    ratio = a[p] / (a[p] - t[p]) if a[p] > 0.0 else 0.0
                    if ratio < theta or out < 0:
                        theta, out = min(ratio, theta), p
            for p in range(k):
                a[p] += theta * (t[p] - a[p])
            if out < 0:
                break
            if S[out] == chosen and theta == 0.0:
                banned[chosen] = True
            remove(groups, S, k, a, R, Y, out)
            k -= 1
            if k == 0:
                return k, STUCK
        # A whole step was made: the points that were refused may be of use again.
        if not banned[chosen]:
            for j in range(m):
                banned[j] = False
    return k, UNFINISHED


@jit()
def combine(C, S, k, a, x):
    """X = the sum of a_p C[S_p]."""
    for j in range(len(x)):
        x[j] = 0.0
    for p in range(k):
        shift(x, a[p], C[S[p]])


@jit()
def refine(C, g, groups, S, k, R, u, t, h, x):
    """Correct t once, by what its combination's products with the points lack of being equal."""
    if len(x) == 0:
        return
    combine(C, S, k, t, x)
    for p in range(k):
        h[p] = product(C[S[p]], x)
    for c in range(groups):
        mean, count = 0.0, 0
        for p in range(k):
            if g[S[p]] == c:
                mean += h[p]
                count += 1
        for p in range(k):
            if g[S[p]] == c:
                h[p] = mean / count - h[p]
    forward(R, k, h)
    backward(R, k, h)
    balance(g, groups, S, k, u, h, 0.0)
    for p in range(k):
        t[p] += h[p]


@jit()
def balance(g, groups, S, k, u, t, total):
    """Add solutions u of each group to t so that it adds up to `total` in every group."""
    if groups == 1:
        have = each = 0.0
        for p in range(k):
            have += t[p]
            each += u[0, p]
        shift(t[:k], (total - have) / each, u[0, :k])
        return
    m00 = m01 = m10 = m11 = 0.0
    r0 = r1 = total
    for p in range(k):
        if g[S[p]] == 0:
            m00 += u[0, p]
            m01 += u[1, p]
            r0 -= t[p]
        else:
            m10 += u[0, p]
            m11 += u[1, p]
            r1 -= t[p]
    determinant = m00 * m11 - m01 * m10
    shift(t[:k], (r0 * m11 - r1 * m01) / determinant, u[0, :k])
    shift(t[:k], (r1 * m00 - r0 * m10) / determinant, u[1, :k])


@jit()
def append(G, C, g, groups, S, k, R, Y, j, r):
    """Add point j to the factor; False if it depends on the others as far as can be told."""
    # The new column v solves R'v = Q[S, j].
    v = np.empty(k)
    for p in range(k):
        v[p] = G[j, S[p]] + (1.0 if g[S[p]] == g[j] else 0.0)
    forward(R, k, v)
    whole = G[j, j] + 1.0
    rest = whole - product(v, v)
    smallest = 1e-13
    if rest < 1e-6 * whole and len(r):
        rest = stand_off(C, g, groups, S, k, R, j, v, r)
        smallest = 1e-26
    if not rest > smallest * whole:
        return False
    S[k] = j
    for p in range(k):
        R[p, k] = v[p]
    R[k, k] = np.sqrt(rest)
    for c in range(groups):
        one = 1.0 if g[j] == c else 0.0
        Y[c, k] = (one - product(v, Y[c, :k])) / R[k, k]
    return True


@jit()
def stand_off(C, g, groups, S, k, R, j, v, r):
    """Square of the distance of point j from the others' span, from coordinates; corrects v."""
    beta, e = np.empty(k), np.empty(groups)
    rest = 0.0
    for _ in range(2):
        for p in range(k):
            beta[p] = v[p]
        backward(R, k, beta)
        # r and e: what is left of the point, in the coordinates and in the groups' own.
        for q in range(len(r)):
            r[q] = C[j, q]
        for c in range(groups):
            e[c] = 1.0 if g[j] == c else 0.0
        for p in range(k):
            shift(r, -beta[p], C[S[p]])
            e[g[S[p]]] -= beta[p]
        rest = product(r, r) + product(e, e)
        for p in range(k):
            beta[p] = product(C[S[p]], r) + e[g[S[p]]]
        forward(R, k, beta)
        for p in range(k):
            v[p] += beta[p]
    return rest


@jit()
def forward(R, k, v):
    """Solve R'v = v in place."""
    for p in range(k):
        v[p] /= R[p, p]
        shift(v[p + 1 : k], -v[p], R[p, p + 1 : k])


@jit()
def backward(R, k, v):
    """Solve R v = v in place."""
    for p in range(k - 1, -1, -1):
        v[p] = (v[p] - product(R[p, p + 1 : k], v[p + 1 : k])) / R[p, p]


@jit()
def affine_minimiser(g, groups, S, k, R, Y, u, t):
    """T = the weights of the shortest point of the affine hull; adds up to 1 in every group."""
    # Q t = sum over the groups c of lambda_c (1 in c): solve for each, then weigh them.
    for c in range(groups):
        for p in range(k):
            u[c, p] = Y[c, p]
        backward(R, k, u[c])
    for p in range(k):
        t[p] = 0.0
    balance(g, groups, S, k, u, t, 1.0)


@jit()
def remove(groups, S, k, a, R, Y, out):
    """Drop position `out` from S, a and the factor; rotations make R triangular again."""
    for p in range(out, k - 1):
        S[p] = S[p + 1]
        a[p] = a[p + 1]
    for p in range(k):
        for q in range(max(out, p - 1), k - 1):
            R[p, q] = R[p, q + 1]
    for p in range(out, k - 1):
        x, y = R[p, p], R[p + 1, p]
        r = np.hypot(x, y)
        cos, sin = x / r, y / r
        R[p, p] = r
        R[p + 1, p] = 0.0
        for q in range(p + 1, k - 1):
            x, y = R[p, q], R[p + 1, q]
            R[p, q] = cos * x + sin * y
            R[p + 1, q] = cos * y - sin * x
        for c in range(groups):
            x, y = Y[c, p], Y[c, p + 1]
            Y[c, p] = cos * x + sin * y
            Y[c, p + 1] = cos * y - sin * x


@jit()
def invert_modulo(A, p, inverse):
    """Gauss and Jordan modulo a prime p < 2^26, in floats that hold whole numbers exactly.

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


@jit()
def reciprocal(x, p):
    """1 / x modulo p, by Euclid's algorithm."""
    a, b, u, v = np.int64(x), np.int64(p), np.int64(1), np.int64(0)
    while a != 0:
        quotient = b // a
        a, b = b - quotient * a, a
        u, v = v - quotient * u, u
    return np.float64(v % np.int64(p))


@jit()
def multiply_modulo(x, factor, p):
    """X = factor x modulo p."""
    for q in range(len(x)):
        value = x[q] * factor
        value -= np.floor(value / p) * p
        x[q] = value


@jit()
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


#: So many leading bits of two numbers are looked at by `euclid_steps`.
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
