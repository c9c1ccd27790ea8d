"""An interior-point method for SVMs with few features: indifferent to how the features are scaled.

With A the rows y_i x_i, D the identity (0 for a free bias) and costs c,

    min  1/2 w.D.w + c.xi   where   A w - 1 + xi = s,   xi >= 0,  s >= 0

is solved by Newton steps towards a s = mu, (c - a) xi = mu, D w = A' a for ever smaller mu. For the
squared hinge xi = soft a takes the place of the second. A step needs only a matrix of the size of
the features, D + A' Theta A with Theta diagonal: see M. C. Ferris and T. S. Munson (2002),
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

#: Steps at the most, and steps that bring nothing.
_STEPS, _IN_VAIN = 100, 8
#: How close to its bound a step may come, as a part of the way.
_SHORT = 0.995
#: Features, and multiplications a step, at the most.
_WIDEST, _WORK = 1500, 2e10


class Quadratic(NamedTuple):
    """What to solve: the matrix A (without free bias), signs for the bias, costs, softness."""

    A: Any
    y: np.ndarray
    cost: np.ndarray
    soft: np.ndarray  # empty for the hinge, zeros if no errors are allowed
    free_bias: bool


def affordable(rows: Rows) -> bool:
    """Whether a step costs little enough."""
    width = rows.width + 1
    per_row = rows.stored_values / max(1, rows.n) + 1.0
    most = _WORK / 10 if rows.is_sparse else _WORK
    return width <= _WIDEST and rows.n * per_row**2 + width**3 <= most


def matrix_of(rows: Rows, which: np.ndarray, signs: np.ndarray) -> Any:
    """The rows y_i x_i, the constant feature last, in float64."""
    matrix = rows.take(which).to_matrix().astype(np.float64)
    if rows.is_sparse:
        import scipy.sparse

        constant = scipy.sparse.csr_matrix(np.full((len(which), 1), rows.bias))
        A = scipy.sparse.diags(signs) @ scipy.sparse.hstack([matrix, constant], "csr")
        A.sort_indices()  # the lower half of A' Theta A is what a factor is made from
        return A
    return signs[:, None] * np.column_stack([matrix, np.full(len(which), rows.bias)])


def interior_point(problem: Quadratic, tol: float) -> Iterator[np.ndarray]:
    """Yield dual values within their bounds, the best so far, until their gap is at most `tol`."""
    A, y, c, soft, free_bias = problem
    n, d = A.shape
    hinge = not len(soft)
    a = 0.5 * c if hinge else np.full(n, 1.0 / n)
    z = c - a if hinge else np.ones(n)  # kept apart from a: near its bound a is not precise enough
    w, b = np.zeros(d), 0.0
    xi = np.ones(n) if hinge else soft * a
    s = np.ones(n)
    best, best_gap, best_step = a, np.inf, 0
    for number in range(_STEPS):
        margins = A @ w + y * b
        rp = margins - 1.0 + xi - s
        rd = w - A.T @ a
        rb = float(-(y @ a)) if free_bias else 0.0
        mu = (a @ s + (z @ xi if hinge else 0.0)) / (2 * n if hinge else n)
        gap = _gap(A, b, a, c, soft, y)
        if gap < best_gap:
            best, best_gap, best_step = a.copy(), gap, number
        yield best
        if best_gap <= tol or number > best_step + _IN_VAIN:
            break
        theta = 1.0 / (s / a + (xi / z if hinge else soft))
        factor = _Factor(A, theta, y, free_bias)
        if not factor.good:
            break

        def direction(r1: np.ndarray, r2: np.ndarray) -> tuple[Any, ...]:
            rho = r1 / a - rp - (r2 / z if hinge else 0.0)  # noqa: B023
            dw, db = factor.solve(A.T @ (theta * rho) - rd, float(y @ (theta * rho)) - rb)  # noqa: B023
            da = theta * (rho - A @ dw - y * db)  # noqa: B023
            ds = (r1 - s * da) / a  # noqa: B023
            dxi = (r2 + xi * da) / z if hinge else soft * da  # noqa: B023
            return dw, db, da, ds, dxi

        first, second = -a * s, -z * xi
        _, _, da, ds, dxi = direction(first, second)
        t = _room(a, da, s, ds, z, xi, dxi, hinge)
        ahead = (a + t * da) @ (s + t * ds) + ((z - t * da) @ (xi + t * dxi) if hinge else 0.0)
        centre = mu * (ahead / (mu * (2 * n if hinge else n))) ** 3
        dw, db, da, ds, dxi = direction(
            first + centre - da * ds, second + centre + (da * dxi if hinge else 0.0)
        )
        t = min(1.0, _SHORT * _room(a, da, s, ds, z, xi, dxi, hinge))
        if not np.isfinite(t) or t < 1e-12:
            break
        w, b = w + t * dw, b + t * float(db)
        a, s, xi = a + t * da, s + t * ds, xi + t * dxi
        z = z - t * da if hinge else z


class _Factor:
    """The Cholesky factor of D + A' Theta A, every column scaled to length one."""

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
            ridge = 1e-14 * len(H) if ridge == 0.0 else 1e4 * ridge
        self.free_bias = free_bias
        if free_bias and self.good:
            self.column = A.T @ (theta * y)  # what couples w and b
            self.half = self._solve(self.column)
            self.rest = float(theta.sum() - self.column @ self.half)
            self.good = self.rest > 0.0

    def _solve(self, right: np.ndarray) -> np.ndarray:
        return self.scale * dpotrs(self.factor, self.scale * right, lower=1)[0]

    def solve(self, right: np.ndarray, below: float) -> tuple[np.ndarray, float]:
        """The solution for w, and for b if there is a free one."""
        dw = self._solve(right)
        if not self.free_bias:
            return dw, 0.0
        db = (below - float(self.column @ dw)) / self.rest
        return dw - db * self.half, db


def _room(
    a: np.ndarray,
    da: np.ndarray,
    s: np.ndarray,
    ds: np.ndarray,
    z: np.ndarray,
    xi: np.ndarray,
    dxi: np.ndarray,
    hinge: bool,
) -> float:
    """The longest step up to 1 that keeps everything positive."""
    pairs = [(a, da), (s, ds)] + ([(z, -da), (xi, dxi)] if hinge else [])
    longest = 1.0
    for value, change in pairs:
        falls = change < 0.0
        if np.any(falls):
            longest = min(longest, float(np.min(-value[falls] / change[falls])))
    return longest


@np.errstate(over="ignore")  # far from the optimum a square may be infinite
def _gap(A: Any, b: float, a: np.ndarray, c: np.ndarray, soft: np.ndarray, y: np.ndarray) -> float:
    """The relative gap between the primal at the dual's own weights and the dual."""
    v = A.T @ a
    margins = A @ v + y * b
    short = np.maximum(0.0, 1.0 - margins)
    if not len(soft):
        loss = float(c @ short)
    elif np.all(soft > 0.0):
        loss = float(np.sum(short**2 / (2.0 * soft)))
    else:  # no errors allowed: what counts are the weights that just meet all margins
        worst = max(float(np.min(margins)), 1e-300)
        return 1.0 - float(a.sum()) ** 2 * worst**2 / max(float(v @ v), 1e-300) ** 2
    primal = 0.5 * float(v @ v) + loss
    dual = float(a.sum()) - 0.5 * float(v @ v) - (0.5 * float(soft @ a**2) if len(soft) else 0.0)
    return (primal - dual) / primal
