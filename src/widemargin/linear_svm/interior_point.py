"""An interior-point method for SVMs with few features, whatever their scale.

With A the rows y_i x_i, D the identity (0 for a free bias) and costs c,

    min  1/2 w.D.w + c.xi   where   A w - 1 + xi = s,   xi >= 0,  s >= 0

is solved by Newton steps towards a s = mu, (c - a) xi = mu, D w = A' a for decreasing mu. For the
squared hinge, xi = soft a replaces the second equation. A step needs only a matrix with one row per
feature, D + A' Theta A with Theta diagonal: see M. C. Ferris and T. S. Munson (2002),
Interior-point methods for massive support vector machines, SIAM J. Optim. 13; the predictor and
corrector are Mehrotra's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from widemargin.data.rows import Rows, frozen
from widemargin.loops.svm.dual import weigh_outer_products

# Chosen by hand. The method's solution is kept only if its measured gap is no larger, so these
# constants affect the time but not the quality of the result.

#: The largest number of steps (25 are usual), and of consecutive steps without a smaller gap.
_STEPS, _STEPS_IN_VAIN = 100, 8
#: The fraction of the way to the nearest bound that a step may go: the usual choice.
_TO_BOUND = 0.995
#: The method is used with at most this many features, and this many multiplications per step (a
#: tenth as many for sparse rows, which are multiplied without BLAS).
_MOST_FEATURES, _MOST_WORK = 1500, 2e10
#: Added to a matrix that cannot be factorised, per column; then grown by this factor.
_RIDGE, _RIDGE_GROWTH = 1e-14, 1e4
#: The shortest step that is still worth taking.
_SHORTEST_STEP = 1e-12


class QuadraticProgram(NamedTuple):
    """The problem: the matrix A (without a free bias), the signs y, the costs, the softness."""

    A: Any
    y: np.ndarray
    cost: np.ndarray
    soft: np.ndarray  # empty for the hinge, zeros for the hard margin
    free_bias: bool

    @property
    def hinge(self) -> bool:
        """Whether the loss is the hinge."""
        return not len(self.soft)


class _Point(NamedTuple):
    """A point inside all bounds, or a direction in which to move one."""

    w: np.ndarray
    b: float
    a: np.ndarray
    s: np.ndarray
    xi: np.ndarray
    z: np.ndarray  # cost - a, stored separately because a is not precise enough near its bound


def affordable(rows: Rows, features: int) -> bool:
    """Whether one step is cheap enough."""
    width = features + 1
    per_row = rows.values_per_row
    most = _MOST_WORK / 10 if rows.is_sparse else _MOST_WORK
    return width <= _MOST_FEATURES and rows.n * per_row**2 + width**3 <= most


def matrix_of(rows: Rows, which: np.ndarray, signs: np.ndarray) -> Any:
    """Return the rows y_i x_i in float64, with the constant feature last."""
    matrix = rows.take(which).to_matrix().astype(np.float64)
    if rows.is_sparse:
        import scipy.sparse

        constant = scipy.sparse.csr_matrix(np.full((len(which), 1), rows.bias))
        A = scipy.sparse.diags(signs) @ scipy.sparse.hstack([matrix, constant], "csr")
        A.sort_indices()  # the factorisation reads the lower half of A' Theta A
        return A
    return signs[:, None] * np.column_stack([matrix, np.full(len(which), rows.bias)])


class Inside(NamedTuple):
    """Dual values within their bounds, and the weights at the same point."""

    alpha: np.ndarray
    w: np.ndarray


def solve_qp(problem: QuadraticProgram, tol: float) -> Iterator[Inside]:
    """Yield the best point so far, until the gap of its dual values is at most `tol`."""
    point = _start(problem)
    best, best_gap, best_step = Inside(point.a, point.w), np.inf, 0
    for number in range(_STEPS):
        newton = _NewtonSystem(problem, point)
        gap = _relative_gap(problem, point)
        if gap < best_gap:
            best, best_gap, best_step = Inside(point.a.copy(), point.w.copy()), gap, number
        yield best
        if best_gap <= tol or number > best_step + _STEPS_IN_VAIN or not newton.factorise():
            break
        after = newton.step()
        if after is None:
            break
        point = after


def _start(problem: QuadraticProgram) -> _Point:
    """Return a point well inside all bounds."""
    n, d = problem.A.shape
    if problem.hinge:
        a = 0.5 * problem.cost
        return _Point(np.zeros(d), 0.0, a, np.ones(n), np.ones(n), problem.cost - a)
    a = np.full(n, 1.0 / n)
    return _Point(np.zeros(d), 0.0, a, np.ones(n), problem.soft * a, np.ones(n))


class _NewtonSystem:
    """The linear system of one step: the residuals of the equations, and the factorised matrix."""

    def __init__(self, problem: QuadraticProgram, point: _Point) -> None:
        A, y, _, _, free_bias = problem
        w, b, a, s, xi, z = point
        self.problem, self.point = problem, point
        self.primal_rest = A @ w + y * b - 1.0 + xi - s
        self.dual_rest = w - A.T @ a
        self.bias_rest = float(-(y @ a)) if free_bias else 0.0
        self.pairs = 2 * len(a) if problem.hinge else len(a)
        self.mu = (a @ s + (z @ xi if problem.hinge else 0.0)) / self.pairs

    def factorise(self) -> bool:
        """Factorise the matrix; return whether that was possible."""
        _, _, a, s, xi, z = self.point
        A, y, _, soft, free_bias = self.problem
        self.theta = 1.0 / (s / a + (xi / z if self.problem.hinge else soft))
        self.factor = _Factor(A, self.theta, y, free_bias)
        return self.factor.good

    def direction(self, first: np.ndarray, second: np.ndarray) -> _Point:
        """Solve for the change that makes a s and z xi grow by these amounts."""
        _, _, a, s, xi, z = self.point
        A, y, _, soft, _ = self.problem
        hinge, theta = self.problem.hinge, self.theta
        rho = first / a - self.primal_rest - (second / z if hinge else 0.0)
        dw, db = self.factor.solve(
            A.T @ (theta * rho) - self.dual_rest, float(y @ (theta * rho)) - self.bias_rest
        )
        da = theta * (rho - A @ dw - y * db)
        ds = (first - s * da) / a
        dxi = (second + xi * da) / z if hinge else soft * da
        return _Point(dw, db, da, ds, dxi, -da)

    def step(self) -> _Point | None:
        """Return the point after a predictor and a corrector step (Mehrotra), or None."""
        w, b, a, s, xi, z = self.point
        hinge, mu = self.problem.hinge, self.mu
        first, second = -a * s, -z * xi
        _, _, da, ds, dxi, dz = predicted = self.direction(first, second)
        t = self.longest_step(predicted)
        ahead = (a + t * da) @ (s + t * ds) + ((z + t * dz) @ (xi + t * dxi) if hinge else 0.0)
        centre = mu * (ahead / (mu * self.pairs)) ** 3
        change = self.direction(
            first + centre - da * ds, second + centre + (da * dxi if hinge else 0.0)
        )
        t = min(1.0, _TO_BOUND * self.longest_step(change))
        if not np.isfinite(t) or t < _SHORTEST_STEP:
            return None
        dw, db, da, ds, dxi, dz = change
        return _Point(
            w + t * dw,
            b + t * float(db),
            a + t * da,
            s + t * ds,
            xi + t * dxi,
            z + t * dz if hinge else z,
        )

    def longest_step(self, change: _Point) -> float:
        """Return the longest step, at most 1, that keeps everything positive."""
        _, _, a, s, xi, z = self.point
        _, _, da, ds, dxi, dz = change
        pairs = [(a, da), (s, ds)] + ([(z, dz), (xi, dxi)] if self.problem.hinge else [])
        longest = 1.0
        for value, by in pairs:
            falls = by < 0.0
            if np.any(falls):
                longest = min(longest, float(np.min(-value[falls] / by[falls])))
        return longest


class _Factor:
    """The Cholesky factor of D + A' Theta A, with every column scaled to unit length."""

    def __init__(self, A: Any, theta: np.ndarray, y: np.ndarray, free_bias: bool) -> None:
        if hasattr(A, "indptr"):
            H = np.zeros((A.shape[1], A.shape[1]))
            weigh_outer_products(frozen(A.data), frozen(A.indices), frozen(A.indptr), theta, H)
        else:
            H = A.T @ (A * theta[:, None])
        H.flat[:: len(H) + 1] += 1.0
        self.scale = 1.0 / np.sqrt(np.diag(H))
        H *= self.scale[:, None]
        H *= self.scale
        ridge = 0.0
        for _ in range(3):
            self.factor, trouble = dpotrf(H + ridge * np.eye(len(H)), lower=1, clean=0)
            self.good = trouble == 0 and bool(np.all(np.isfinite(self.scale)))
            if self.good:
                break
            ridge = _RIDGE * len(H) if ridge == 0.0 else _RIDGE_GROWTH * ridge
        self.free_bias = free_bias
        if free_bias and self.good:
            self.column = A.T @ (theta * y)  # couples w and b
            self.half = self._solve(self.column)
            self.rest = float(theta.sum() - self.column @ self.half)
            self.good = self.rest > 0.0

    def _solve(self, right: np.ndarray) -> np.ndarray:
        return self.scale * dpotrs(self.factor, self.scale * right, lower=1)[0]

    def solve(self, right: np.ndarray, below: float) -> tuple[np.ndarray, float]:
        """Return the solution for w, and for b if the bias is free."""
        dw = self._solve(right)
        if not self.free_bias:
            return dw, 0.0
        db = (below - float(self.column @ dw)) / self.rest
        return dw - db * self.half, db


@np.errstate(over="ignore")  # far from the optimum a square may be infinite
def _relative_gap(problem: QuadraticProgram, point: _Point) -> float:
    """Return the relative gap between the dual and the primal.

    The primal is that of the weights computed from the dual values or, if a large cost makes it
    lower, that of the weights of the point.
    """
    A, y, c, soft, free_bias = problem
    a = point.a
    v = A.T @ a
    margins = A @ v + y * point.b
    if not problem.hinge and np.all(soft == 0.0):
        # A hard margin: compare weights that are scaled so that all margins hold.
        worst = max(float(np.min(margins)), 1e-300)
        # Where the classes overlap v may be 0; its fourth power must not be.
        return 1.0 - float(a.sum()) ** 2 * worst**2 / max(float(v @ v), 1e-150) ** 2

    def primal(w: np.ndarray, margins: np.ndarray) -> float:
        short = np.maximum(0.0, 1.0 - margins)
        loss = float(c @ short) if problem.hinge else float(np.sum(short**2 / (2.0 * soft)))
        return 0.5 * float(w @ w) + loss

    lowest = primal(v, margins)
    if not free_bias:
        lowest = min(lowest, primal(point.w, A @ point.w))
    dual = float(a.sum()) - 0.5 * float(v @ v) - (0.5 * float(soft @ a**2) if len(soft) else 0.0)
    return (lowest - dual) / lowest
