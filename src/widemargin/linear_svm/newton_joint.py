"""Newton steps in the primal for the SVM of all classes together (Crammer and Singer).

Coordinate descent is slow where examples compete. So the dual is increased by proximal steps, from
shares P (how the cost of each example is divided among the classes) to those that maximise

    dual(Q) - h/2 sum_i C_i |q_i - p_i|^2,

which is the same as minimising, over the weights of all classes,

    1/2 |W|^2 + sum_i C_i max over q of the simplex of (q.g_i - h/2 |q - p_i|^2) - s_iy

where s are the scores and g_ik = s_ik + (k != y_i). That function is smooth and piecewise
quadratic, and is minimised by Newton steps with a line search. An example with several classes S in
its maximum is tied and adds

    C_i / h (I - 1/|S|) x x'    over the classes of S

to the Hessian. With A the rows sqrt(C_i / h) u x', for an orthonormal basis u of the differences of
tied classes, the Hessian is I + A'A, and either this matrix or I + A A' is factorised, whichever is
smaller. The proximal steps are those of R. T. Rockafellar (1976), Monotone operators and the
proximal point algorithm, SIAM J. Control 14; the Newton steps those of X. Li, D. Sun and K.-C. Toh
(2018), A highly efficient semismooth Newton augmented Lagrangian method for solving Lasso problems,
SIAM J. Optim. 28.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dposv

from widemargin.data.rows import Rows
from widemargin.linear_svm.newton_primal import solve_scaled
from widemargin.loops.svm.joint import find_joint_step, list_ties, move_joint_scores
from widemargin.loops.svm.primal import Pull

# Chosen by hand; benchmarks/joint_svm.py measures the times with them. The gap at the end is
# measured, so they affect the time but not the quality of the result.

#: The largest number of steps.
_STEPS = 120
#: The initial h, and the factor by which it shrinks after a proximal step. On digits, pendigits and
#: usps, raw and scaled, C = 1 and 100, values of h between 1 and 10 and factors between 0.35 and
#: 0.6 take about the same time.
_FIRST_WIDTH, _SHARPEN = 3.0, 0.5
#: The smallest h: far smaller values would be lost in the rounding of scores.
_SHARPEST = 1e-4
#: A proximal step ends when the gradient's part of the gap is at most this many times the rest.
_NEARLY_OPTIMAL = 1.0
#: Number of rows whose products are computed at once.
_ROWS_AT_ONCE = 4096
#: For the cost estimate: the usual number of steps, and the minimum cost of a step.
_USUAL_STEPS, _LEAST_STEP = 30, 2e5
#: Added to the diagonal of I + A A', as a fraction of its mean and per row: some fifty times the
#: rounding of float64.
_RIDGE = 1e-14


class SmoothedJoint(NamedTuple):
    """The problem: the rows (dense), each row's class, the classes, the cost of an error."""

    rows: Rows
    codes: np.ndarray
    classes: int
    costs: np.ndarray


class JointIterate:
    """Weights of all classes, the matching dual values, and the weights computed from these.

    The dual values of an example are its shares (see above), which add up to 1.

    Attributes
    ----------
    problem : SmoothedJoint
        The problem.
    W, V : arrays (k, d + 1)
        The weights, and those computed from the dual values; they are equal at the optimum.
    centre, shares : arrays (n, k)
        The shares at which the last proximal step ended, and those of the current weights.
    scores, shifts : arrays (n, k)
        The scores of every example, and those of the direction of the last step.
    tied : array
        The number of classes between which each example is tied.
    width : float
        h, the width of the corners.
    pull : Pull
        The sums that the loop computed over all examples.
    """

    def __init__(self, problem: SmoothedJoint, alpha: np.ndarray) -> None:
        self.problem, n = problem, problem.rows.n
        counted = problem.costs > 0.0
        self.centre = np.zeros_like(alpha)
        np.divide(-alpha, problem.costs[:, None], out=self.centre, where=counted[:, None])
        self.centre[np.arange(n), problem.codes] += 1.0
        self.shares = self.centre.copy()
        self.W = self.combine(alpha)
        self.V = self.W
        self.scores = self.score(self.W)
        self.shifts = np.zeros_like(self.scores)
        self.tied = np.zeros(n, np.int64)
        self.width = _FIRST_WIDTH
        self.move(0.0)

    @property
    def alpha(self) -> np.ndarray:
        """The dual values of the current weights."""
        alpha = -self.shares
        alpha[np.arange(len(alpha)), self.problem.codes] += 1.0
        alpha *= self.problem.costs[:, None]
        return alpha

    def score(self, W: np.ndarray) -> np.ndarray:
        """Return the scores of every row for the weights of every class."""
        rows = self.problem.rows
        out = np.empty((rows.n, len(W)))
        for begin in range(0, rows.n, _ROWS_AT_ONCE):
            part = slice(begin, begin + _ROWS_AT_ONCE)
            X = rows.stored.values[part].astype(np.float64, copy=False)
            np.matmul(X, W[:, :-1].T, out=out[part])
        out += rows.bias * W[:, -1]
        return out

    def combine(self, amounts: np.ndarray) -> np.ndarray:
        """Return the sum of amounts (n, k) times rows, for every class."""
        rows = self.problem.rows
        V = np.zeros((self.problem.classes, rows.width + 1))
        for begin in range(0, rows.n, _ROWS_AT_ONCE):
            part = slice(begin, begin + _ROWS_AT_ONCE)
            X = rows.stored.values[part].astype(np.float64, copy=False)
            V[:, :-1] += amounts[part].T @ X
        V[:, -1] = rows.bias * amounts.sum(axis=0)
        return V

    def move(self, tau: float) -> None:
        """Move the scores by tau times the shifts, and compute the shares there."""
        _, codes, _, costs = self.problem
        self.pull: Pull = move_joint_scores(
            codes, costs, self.width, self.centre, self.shifts, tau,
            self.scores, self.shares, self.tied,
        )  # fmt: skip
        self.V = self.combine(self.alpha)

    @property
    def primal(self) -> float:
        """The primal objective."""
        return 0.5 * float(np.sum(self.W**2)) + self.pull.loss

    @property
    def residual(self) -> float:
        """The gradient's part of the duality gap."""
        return 0.5 * float(np.sum((self.W - self.V) ** 2))

    @property
    def gap(self) -> float:
        """The duality gap between the weights and the dual values."""
        return self.pull.excess + self.residual

    def gap_of_dual(self) -> float:
        """Return the duality gap between the dual values and the weights computed from them."""
        _, codes, _, costs = self.problem
        slopes = self.score(self.V) + 1.0
        each = np.arange(len(slopes))
        slopes[each, codes] -= 1.0
        primal = 0.5 * float(np.sum(self.V**2))
        primal += float(costs @ (slopes.max(axis=1) - slopes[each, codes]))
        return self.gap + primal - self.primal

    def recentre(self) -> None:
        """Begin the next proximal step from the current shares, with sharper corners."""
        self.centre[:] = self.shares
        self.width = max(_SHARPEST, self.width * _SHARPEN)
        self.move(0.0)

    def direction(self) -> np.ndarray | None:
        """Return the Newton direction, or None if the matrix cannot be factorised."""
        rows, _, k, costs = self.problem
        g, m = self.W - self.V, int(self.pull.inside)
        if m == 0:
            return -g
        U, which = np.zeros((m, k)), np.empty(m, np.int64)
        list_ties(self.shares, self.tied, U, which)
        X = np.full((m, rows.width + 1), rows.bias)
        X[:, :-1] = rows.stored.values[which]
        X *= np.sqrt(costs[which] / self.width)[:, None]
        if m <= g.size:
            K = X @ X.T
            K *= U @ U.T
            K.flat[:: m + 1] += 1.0 + _RIDGE * float(np.trace(K))
            _, z, trouble = dposv(K.T, np.sum(U * (X @ g.T), axis=1), overwrite_a=True)
            if trouble or not np.all(np.isfinite(z)):
                return None
            return U.T @ (X * z[:, None]) - g
        if k == 2:  # the weights of one class are those of the other, negated
            H = X.T @ X
            H.flat[:: len(H) + 1] += 1.0
            d = solve_scaled(H, -g[0])
            return None if d is None else np.stack([d, -d])
        d = solve_scaled(_hessian(X, U), -g.ravel())
        return None if d is None else d.reshape(g.shape)

    def step(self) -> bool:
        """Take one Newton step; return False if there is none."""
        d = self.direction()
        if d is None:
            return False
        first = float(np.sum(d * (self.W - self.V)))
        if not first < 0.0:
            return False
        _, codes, _, costs = self.problem
        self.shifts = self.score(d)
        line = (float(np.sum(self.W * d)), float(np.sum(d * d)), first)
        tau = find_joint_step(codes, costs, self.width, self.centre, self.scores, self.shifts, line)
        self.W = self.W + tau * d
        self.move(tau)
        return True


def _hessian(X: np.ndarray, U: np.ndarray) -> np.ndarray:
    """Return I + A'A for A = the rows u x', class after class."""
    k, width = U.shape[1], X.shape[1]
    H = np.zeros((k * width, k * width))
    blocks = H.reshape(k, width, k, width)
    for a in range(k):
        for b in range(a + 1):
            weights = U[:, a] * U[:, b]
            which = np.flatnonzero(weights)
            if len(which):
                some = X[which]
                blocks[a, :, b] = (some.T * weights[which]) @ some
                blocks[b, :, a] = blocks[a, :, b]
    H.flat[:: len(H) + 1] += 1.0
    return H


def iterate(point: JointIterate, tol: float) -> Iterator[float]:
    """Yield the relative gap after every step, until it is at most `tol` or no step helps.

    This is the gap between the weights and the dual values or, once that is small enough, the gap
    between the dual values and the weights computed from them. Changes `point`.
    """
    for _ in range(_STEPS):
        gap, primal = point.gap, point.primal
        if gap <= tol * primal:
            gap = point.gap_of_dual()
        yield gap / primal
        if gap <= tol * primal:
            return
        if point.residual <= _NEARLY_OPTIMAL * point.pull.excess:
            point.recentre()
        if not point.step():
            return


def newton_cost(rows: Rows, classes: int) -> float:
    """Estimate the cost of all steps, in multiplications of coordinate descent.

    In the end about half as many differences are tied as there are weights: 270 for 650 on digits,
    1,260 for 2,570 on usps. BLAS computes ten products in the time a pass takes for one.
    """
    n, weights = rows.n, classes * (rows.width + 1)
    tied = min(weights / 2.0, float(n))
    step = 0.1 * (tied**3 / 3.0 + tied**2 * rows.width + 4.0 * n * weights) + 20.0 * n * classes
    return _USUAL_STEPS * (_LEAST_STEP + step)
