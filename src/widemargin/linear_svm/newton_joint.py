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

import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dposv

from widemargin.certificates.gap import scores_of_classes, weights_of_classes
from widemargin.data.rows import Rows
from widemargin.linear_svm.newton_primal import solve_scaled
from widemargin.loops.svm.joint import add_ties, find_joint_step, list_ties, move_joint_scores
from widemargin.loops.svm.primal import Pull

# Chosen by hand; benchmarks/joint_svm.py measures the times with them. The gap at the end is
# measured, so they affect the time but not the quality of the result.

#: The largest number of steps.
_STEPS = 120
#: The initial h. On digits, pendigits and usps, raw and scaled, C = 1 and 100, values between 1 and
#: 10 take about the same time.
FIRST_WIDTH = 3.0
#: After a proximal step, h shrinks by a factor between these, such that the corners' part of the
#: gap, which shrinks with its square, would be this fraction of the gap allowed.
_MOST_SHARPENED, _LEAST_SHARPENED, _AIM = 0.35, 0.8, 0.8
#: The smallest h: far smaller values would be lost in the rounding of scores.
_SHARPEST = 1e-4
#: A proximal step ends when the gradient's part of the gap is at most this many times the rest.
_NEARLY_OPTIMAL = 3.0
#: Up to this many columns, a loop adds up the Hessian row by row; beyond it, BLAS in blocks.
_NARROW = 40
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
    W, gradient : arrays (k, d + 1)
        The weights, and by how much they exceed those computed from the dual values.
    primal, residual : float
        The primal objective, and the gradient's part of the duality gap.
    centre, shares : arrays (k, n)
        The shares at which the last proximal step ended, and those of the current weights.
    costly : array (k, n)
        The shares times what an error costs.
    right : array (k, d + 1)
        The weights of dual values without shares; each share pulls at its class the other way.
    scores, shifts : arrays (k, n)
        The scores of every example, and those of the direction of the last step.
    tied : array
        The number of classes between which each example is tied.
    width : float
        h, the width of the corners.
    pull : Pull
        The sums that the loop computed over all examples.
    """

    def __init__(
        self, problem: SmoothedJoint, W: np.ndarray, centre: np.ndarray, width: float
    ) -> None:
        self.problem, self.W, self.centre, self.width = problem, W, centre, width
        self.shares, self.costly = centre.copy(), np.empty_like(centre)
        self.costly[:] = 0.0
        self.costly[problem.codes, np.arange(problem.rows.n)] = problem.costs
        self.right = weights_of_classes(problem.rows, self.costly)
        self.scores = scores_of_classes(problem.rows, W)
        self.shifts = np.zeros_like(self.scores)
        self.tied = np.zeros(problem.rows.n, np.int64)
        self.move(0.0)

    @classmethod
    def at(cls, problem: SmoothedJoint, alpha: np.ndarray) -> JointIterate:
        """Begin with dual values (n, k) and the weights computed from them."""
        centre = np.zeros((problem.classes, problem.rows.n))
        np.divide(-alpha.T, problem.costs, out=centre, where=problem.costs > 0.0)
        centre[problem.codes, np.arange(problem.rows.n)] += 1.0
        return cls(problem, weights_of_classes(problem.rows, alpha.T), centre, FIRST_WIDTH)

    @property
    def alpha(self) -> np.ndarray:
        """The dual values of the current weights (n, k)."""
        alpha = -self.shares.T
        alpha[np.arange(len(alpha)), self.problem.codes] += 1.0
        alpha *= self.problem.costs[:, None]
        return alpha

    def move(self, tau: float) -> None:
        """Move the scores by tau times the shifts, and compute the shares there."""
        _, codes, _, costs = self.problem
        self.pull: Pull = move_joint_scores(
            codes, costs, self.width, self.centre, self.shifts, tau,
            self.scores, self.shares, self.tied,
        )  # fmt: skip
        np.multiply(self.shares, costs, out=self.costly)
        made = self.right - weights_of_classes(self.problem.rows, self.costly)
        self.gradient = self.W - made
        self.primal = 0.5 * float(np.vdot(self.W, self.W)) + self.pull.loss
        self.residual = 0.5 * float(np.vdot(self.gradient, self.gradient))

    @property
    def gap(self) -> float:
        """The duality gap between the weights and the dual values."""
        return self.pull.excess + self.residual

    @property
    def settled(self) -> bool:
        """Whether the current proximal step is solved well enough."""
        return self.residual <= _NEARLY_OPTIMAL * self.pull.excess

    def next_width(self, tol: float) -> float:
        """Return h for the next proximal step, on the way to a relative gap of `tol`."""
        wanted = _AIM * tol * self.primal / max(self.pull.excess, np.finfo(np.float64).tiny)
        part = min(max(math.sqrt(wanted), _MOST_SHARPENED), _LEAST_SHARPENED)
        return max(_SHARPEST, self.width * part)

    def recentre(self, tol: float) -> None:
        """Begin the next proximal step from the current shares, with sharper corners."""
        self.width = self.next_width(tol)
        self.centre[:] = self.shares
        self.move(0.0)

    def direction(self) -> np.ndarray | None:
        """Return the Newton direction, or None if the matrix cannot be factorised."""
        k = self.problem.classes
        g, m = self.gradient, int(self.pull.inside)
        if m == 0:
            return -g
        if m > g.size:
            return self._direct(g)
        U, which = np.zeros((m, k)), np.empty(m, np.int64)
        m = list_ties(self.shares, self.tied, U, which)
        U, X = U[:m], self._scaled_rows(which[:m])
        K = X @ X.T
        K *= U @ U.T
        K.flat[:: m + 1] += 1.0 + _RIDGE * float(np.trace(K))
        _, z, trouble = dposv(K.T, np.sum(U * (X @ g.T), axis=1), overwrite_a=True)
        if trouble or not np.all(np.isfinite(z)):
            return None
        return U.T @ (X * z[:, None]) - g

    def _direct(self, g: np.ndarray) -> np.ndarray | None:
        """Solve for the direction with the Hessian itself: there are more ties than weights."""
        k, which = self.problem.classes, np.flatnonzero(self.tied > 1)
        X = self._scaled_rows(which)
        if int(self.pull.inside) == len(X) * (k - 1):
            # All classes are tied in all these examples: every class has the same Hessian.
            H = X.T @ X
            H.flat[:: len(H) + 1] += 1.0
            return solve_scaled(H, -g)
        d = solve_scaled(_hessian(X, self.shares.take(which, axis=1)), -g.ravel())
        return None if d is None else d.reshape(g.shape)

    def _scaled_rows(self, which: np.ndarray) -> np.ndarray:
        """Return sqrt(C_i / h) (x_i, bias) of some rows."""
        rows = self.problem.rows
        X = np.full((len(which), rows.width + 1), rows.bias)
        X[:, :-1] = rows.stored.values[which]
        X *= np.sqrt(self.problem.costs[which] / self.width)[:, None]
        return X

    def step(self) -> bool:
        """Take one Newton step; return False if there is none."""
        d = self.direction()
        if d is None:
            return False
        first = float(np.vdot(d, self.gradient))
        if not first < 0.0:
            return False
        _, codes, _, costs = self.problem
        self.shifts = scores_of_classes(self.problem.rows, d)
        line = (float(np.vdot(self.W, d)), float(np.vdot(d, d)), first)
        tau = find_joint_step(codes, costs, self.width, self.centre, self.scores, self.shifts, line)
        self.W = self.W + tau * d
        self.move(tau)
        return True


def _hessian(X: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return I + sum_i (I - 1/|S_i|) x_i x_i', over the tied classes S_i, class after class."""
    k, width = len(shares), X.shape[1]
    H = np.empty((k * width, k * width))
    if width <= _NARROW:
        add_ties(X, shares, H)
    else:
        blocks, tied = H.reshape(k, width, k, width), shares > 0.0
        part = 1.0 / tied.sum(axis=0)
        for a, b in itertools.combinations_with_replacement(range(k), 2):
            which = np.flatnonzero(tied[a] & tied[b])
            some = X[which]
            weights = (1.0 if a == b else 0.0) - part[which]
            blocks[a, :, b] = (some.T * weights) @ some
            blocks[b, :, a] = blocks[a, :, b]  # it is symmetric
    H.flat[:: len(H) + 1] += 1.0
    return H


def iterate(point: JointIterate, tol: float) -> Iterator[float]:
    """Yield the relative gap between the weights and the dual values after every step.

    Ends when it is at most `tol`, or if no step helps. Changes `point`.
    """
    for _ in range(_STEPS):
        gap, primal = point.gap, point.primal
        yield gap / primal if primal > 0.0 else 0.0
        if gap <= tol * primal:
            return
        if point.settled:
            point.recentre(tol)
        if not point.step():
            return


def leads(scores: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return by how much the score (k, n) of every example's right class exceeds all others."""
    each = np.arange(len(codes))
    others = scores.copy()
    others[codes, each] = -np.inf
    return scores[codes, each] - others.max(axis=0)


def newton_cost(rows: Rows, classes: int) -> float:
    """Estimate the cost of all steps, in multiplications of coordinate descent.

    In the end about half as many differences are tied as there are weights: 270 for 650 on digits,
    1,260 for 2,570 on usps. BLAS computes ten products in the time a pass takes for one.
    """
    n, weights = rows.n, classes * (rows.width + 1)
    tied = min(weights / 2.0, float(n))
    step = 0.1 * (tied**3 / 3.0 + tied**2 * rows.width + 4.0 * n * weights) + 20.0 * n * classes
    return _USUAL_STEPS * (_LEAST_STEP + step)
