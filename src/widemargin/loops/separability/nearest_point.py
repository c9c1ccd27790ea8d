"""The point of a convex hull nearest to the origin, by an active set (Wolfe).

Letters: G holds the products of a few examples, the working set; S is the active set, of size k,
a the weights of its members, R the triangular factor of their products.
"""

from __future__ import annotations

import numpy as np

from widemargin.loops.arrays import add_scaled, product
from widemargin.loops.jit import jit

#: A point whose square is a smaller part of the others' is known to half of its digits at best, as
#: doubles have 16: its weights are refined with the coordinates.
_SHORT = 1e-8
#: How many additions may fail to make the point shorter, by this fraction of its square, before
#: this is attributed to rounding. In exact arithmetic every addition makes it shorter; not tuned.
_PATIENCE, _SHORTER = 8, 1e-12
#: A new point whose distance from the others' span is a smaller part (squared) of its length has
#: lost most of its digits: the distance is then computed from the coordinates, if there are any.
_NEAR_SPAN = 1e-6
#: A smaller squared distance may be rounding alone: products are known to 2^-53, and so are the
#: differences of coordinates, whose squares enter.
_IN_SPAN, _IN_SPAN_BY_COORDINATES = 1e-13, 1e-26
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
        combine_points(C, S, k, a, x)
        for j in range(m):
            t[j] = product(C[j], x) if len(x) else product(G[j], alpha)
            mu[g[j]] += alpha[j] * t[j]
        for c in range(groups):
            square += mu[c]
        if square <= zero * scale:
            return k, ZERO
        # In exact arithmetic every addition makes x shorter.
        idle = idle + 1 if square >= least * (1.0 - _SHORTER) else 0
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
        if not append_point(G, C, g, groups, S, k, R, Y, chosen, x):
            banned[chosen] = True
            continue
        a[k] = 0.0
        k += 1
        while True:
            affine_minimiser(g, groups, S, k, R, Y, u, t)
            if square < _SHORT * scale and len(x):
                refine_weights(C, g, groups, S, k, R, u, t, h, x)
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
            remove_point(groups, S, k, a, R, Y, out)
            k -= 1
            if k == 0:
                return k, STUCK
        # A whole step was made: the points that were refused may be of use again.
        if not banned[chosen]:
            for j in range(m):
                banned[j] = False
    return k, UNFINISHED


@jit(inner=True)
def combine_points(C, S, k, a, x):
    """X = the sum of a_p C[S_p]."""
    for j in range(len(x)):
        x[j] = 0.0
    for p in range(k):
        add_scaled(x, a[p], C[S[p]])


@jit(inner=True)
def refine_weights(C, g, groups, S, k, R, u, t, h, x):
    """Correct t once, by what its combination's products with the points lack of being equal."""
    if len(x) == 0:
        return
    combine_points(C, S, k, t, x)
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
    balance_groups(g, groups, S, k, u, h, 0.0)
    for p in range(k):
        t[p] += h[p]


@jit(inner=True)
def balance_groups(g, groups, S, k, u, t, total):
    """Add solutions u of each group to t so that it adds up to `total` in every group."""
    if groups == 1:
        have = each = 0.0
        for p in range(k):
            have += t[p]
            each += u[0, p]
        add_scaled(t[:k], (total - have) / each, u[0, :k])
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
    add_scaled(t[:k], (r0 * m11 - r1 * m01) / determinant, u[0, :k])
    add_scaled(t[:k], (r1 * m00 - r0 * m10) / determinant, u[1, :k])


@jit(inner=True)
def append_point(G, C, g, groups, S, k, R, Y, j, r):
    """Add point j to the factor; False if it appears to depend on the others."""
    # The new column v solves R'v = Q[S, j].
    v = np.empty(k)
    for p in range(k):
        v[p] = G[j, S[p]] + (1.0 if g[S[p]] == g[j] else 0.0)
    forward(R, k, v)
    whole = G[j, j] + 1.0
    rest = whole - product(v, v)
    smallest = _IN_SPAN
    if rest < _NEAR_SPAN * whole and len(r):
        rest = squared_distance_to_span(C, g, groups, S, k, R, j, v, r)
        smallest = _IN_SPAN_BY_COORDINATES
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


@jit(inner=True)
def squared_distance_to_span(C, g, groups, S, k, R, j, v, r):
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
            add_scaled(r, -beta[p], C[S[p]])
            e[g[S[p]]] -= beta[p]
        rest = product(r, r) + product(e, e)
        for p in range(k):
            beta[p] = product(C[S[p]], r) + e[g[S[p]]]
        forward(R, k, beta)
        for p in range(k):
            v[p] += beta[p]
    return rest


@jit(inner=True)
def forward(R, k, v):
    """Solve R'v = v in place."""
    for p in range(k):
        v[p] /= R[p, p]
        add_scaled(v[p + 1 : k], -v[p], R[p, p + 1 : k])


@jit(inner=True)
def backward(R, k, v):
    """Solve R v = v in place."""
    for p in range(k - 1, -1, -1):
        v[p] = (v[p] - product(R[p, p + 1 : k], v[p + 1 : k])) / R[p, p]


@jit(inner=True)
def affine_minimiser(g, groups, S, k, R, Y, u, t):
    """T = the weights of the shortest point of the affine hull; adds up to 1 in every group."""
    # Q t = sum over the groups c of lambda_c (1 in c): solve for each, then weigh them.
    for c in range(groups):
        for p in range(k):
            u[c, p] = Y[c, p]
        backward(R, k, u[c])
    for p in range(k):
        t[p] = 0.0
    balance_groups(g, groups, S, k, u, t, 1.0)


@jit(inner=True)
def remove_point(groups, S, k, a, R, Y, out):
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
