"""Newton steps in the primal for all one-against-rest problems together.

Every class is a separate problem, but all have the same examples:

    min over w_c of  1/2 w_c.w_c + sum_i C_i smoothed loss(1 - y_ic w_c.x_i),    y_ic = +1 or -1

So the scores of a step are one matrix product for all classes, and so are the weights computed from
the dual values. Each class stores the sum of x x' over its examples on the corner, and a step adds
and subtracts only the examples that entered or left it. While many more examples are on the corner
than there are features, the sum is taken over every m-th of them. How the corner is smoothed and
sharpened is described in `widemargin.linear_svm.newton_primal`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from widemargin.data.rows import Rows
from widemargin.linear_svm.newton_primal import solve_scaled
from widemargin.loops.svm.classes import find_step, move_scores
from widemargin.loops.svm.primal import Corner, Pull
from widemargin.threads import run_all

# The constants below were chosen by hand; benchmarks/dense_svm.py measures the times with them.
# The gap at the end is measured, so they affect the time but not the quality of the result. Those
# of the corner are much the same as for one class: see `newton_primal`.

#: The largest number of steps.
_STEPS = 80
#: The fraction of the allowed gap to stop at, as the gap is measured again with other rounding.
_WITHIN = 0.999
#: Half the initial width of the smoothed corner, in units of the margin.
_FIRST_WIDTH = 1.0
_SHARPEN, _SHARPEST, _SMOOTHING_SHARE, _DETERMINED, _NEARLY_OPTIMAL = 0.35, 0.01, 0.8, 5, 10.0
#: Number of examples multiplied with the weights at once. It fixes the order of the sums, so that
#: they do not depend on the number of threads; 4096 rows of 784 features are 26 MB.
_ROWS_AT_ONCE = 4096
#: All examples on the corner are summed if there are at most this many times as many as features,
#: or if that takes at most this many multiplications (a few hundredths of a second); otherwise as
#: many as that allows.
_ENOUGH_ROWS, _CHEAP_SUM = 8, 5e8
#: All are also summed once at most one in this many entered or left: from then on a step adds and
#: subtracts only a few.
_SETTLED = 8
#: With at least this many features the sums use float32 products, which take half the time and
#: affect only the direction of a step. This is not done if the sum can be this many times the
#: identity that is added to it, as the rounding of float32 would then exceed the identity.
_FLOAT32_FROM, _FLOAT32_UP_TO = 200, 4e6


class ClassesSVM(NamedTuple):
    """The problem: the rows (dense), each row's class, the cost and bound of its dual value."""

    rows: Rows
    codes: np.ndarray
    classes: int
    costs: np.ndarray
    caps: np.ndarray
    squared: bool


class ClassesIterate:
    """Weights of every class, dual values (the slopes of the losses), and the weights from these.

    Attributes
    ----------
    problem : ClassesSVM
        The problem.
    W, V : arrays (k, d + 1)
        The weights, and those computed from the dual values. At the optimum they are the same.
    scores, pulls : arrays (k, n)
        The score of every example, and its dual value times its sign.
    pull : list of Pull
        The sums that the loop computed over the examples, for every class.
    best, best_dual : arrays (k, n) and (k,)
        The pulls whose dual is the largest so far, and that dual.
    lowest, lowest_primal : arrays (k, d + 1) and (k,)
        The weights whose primal is the lowest so far, and that primal.
    half_width, sharpen_by : arrays (k,)
        Half the width of each corner, and the factor by which its next bold step shrinks it.
    """

    def __init__(self, problem: ClassesSVM, start: np.ndarray, threads: int) -> None:
        self.problem, self.threads = problem, threads
        k, n, width = problem.classes, problem.rows.n, problem.rows.width + 1
        self.W = np.zeros((k, width))
        self.scores, self.shifts = np.zeros((k, n)), np.zeros((k, n))
        self.pulls, self.inside = np.zeros((k, n)), np.zeros((k, n), np.uint8)
        self.flipped, self.flips = np.empty((k, n), np.uint64), [0] * k
        self.half_width, self.sharpen_by = np.full(k, _FIRST_WIDTH), np.full(k, _SHARPEN)
        self.pull: list[Pull] = [Pull(0, 0, 0, 0.0, 0.0)] * k
        self.sums: list[_CornerSum | None] = [None] * k
        self.live = list(range(k))
        self.pulls[:] = start
        self.W[:] = self.combine(self.live)
        self.scores[:] = self.score(self.W)
        self.V = self.W.copy()
        self.best = self.pulls.copy()
        self.best_dual = np.array([self._dual_of_start(c) for c in self.live])
        self.lowest, self.lowest_primal = self.W.copy(), np.full(k, np.inf)
        self.move([0.0] * k)

    def _dual_of_start(self, c: int) -> float:
        """The dual of the initial values, and the weights computed from them."""
        costs, alpha = self.problem.costs, np.abs(self.pulls[c])
        soft = np.zeros(len(alpha))
        if self.problem.squared:
            np.divide(0.25 * alpha**2, costs, out=soft, where=costs > 0.0)
        return float(np.sum(alpha - soft)) - 0.5 * float(self.W[c] @ self.W[c])

    def score(self, W: np.ndarray) -> np.ndarray:
        """Return w.x of every row, for every row w of W."""
        rows = self.problem.rows
        out = np.empty((len(W), rows.n))

        def fill(part: slice) -> None:
            X = rows.stored.values[part].astype(np.float64, copy=False)
            np.matmul(W[:, :-1], X.T, out=out[:, part])

        run_all(fill, self._parts(), self.threads)
        out += rows.bias * W[:, -1:]
        return out

    def combine(self, which: list[int]) -> np.ndarray:
        """Return the sum of pulls times rows, for some classes."""
        rows, pulls = self.problem.rows, self.pulls[which]

        def add_up(part: slice) -> np.ndarray:
            return pulls[:, part] @ rows.stored.values[part].astype(np.float64, copy=False)

        V = np.empty((len(pulls), rows.width + 1))
        V[:, :-1] = sum(run_all(add_up, self._parts(), self.threads))
        V[:, -1] = rows.bias * pulls.sum(axis=1)
        return V

    def _parts(self) -> list[slice]:
        return [
            slice(begin, begin + _ROWS_AT_ONCE)
            for begin in range(0, self.problem.rows.n, _ROWS_AT_ONCE)
        ]

    def corner(self, c: int) -> Corner:
        """The smoothed corner of a class, in the form that the loops use."""
        if self.problem.squared:
            return Corner(1.0, 2.0, True)
        half = float(self.half_width[c])
        return Corner(1.0 + half, 0.5 / half, False)

    def move(self, taus: list[float]) -> None:
        """Move the scores of the live classes along their shifts, and compute all slopes."""
        _, codes, _, costs, caps, _ = self.problem

        def go(place: int) -> None:
            c = self.live[place]
            self.pull[c], self.flips[c] = move_scores(
                self.corner(c), codes, c, self.shifts[place], taus[place], costs, caps,
                self.scores[c], self.pulls[c], self.inside[c], self.flipped[c],
            )  # fmt: skip

        run_all(go, range(len(self.live)), self.threads)
        self.V[self.live] = self.combine(self.live)
        for c in self.live:
            dual = self.primal(c) - self.gap(c)
            if dual > self.best_dual[c]:
                self.best[c], self.best_dual[c] = self.pulls[c], dual
            if self.primal(c) < self.lowest_primal[c]:
                self.lowest[c], self.lowest_primal[c] = self.W[c], self.primal(c)

    def primal(self, c: int) -> float:
        """The primal objective of a class, with the loss not smoothed."""
        return 0.5 * float(self.W[c] @ self.W[c]) + self.pull[c].loss

    def gap(self, c: int) -> float:
        """The duality gap between the weights of a class and its dual values."""
        g = self.W[c] - self.V[c]
        return self.pull[c].excess + 0.5 * float(g @ g)

    def is_solved(self, c: int, tol: float) -> bool:
        """Whether the best dual values prove the best weights of a class to be good enough."""
        return bool(self.lowest_primal[c] - self.best_dual[c] <= tol * self.lowest_primal[c])

    def hessian(self, c: int) -> np.ndarray:
        """Return the Hessian of a class: the identity, plus theta x x' on the corner."""
        _, _, _, costs, _, _ = self.problem
        known = self.sums[c]
        if known is None:
            known = self.sums[c] = _CornerSum(self.problem.rows, costs)
        flipped, rate = self.flipped[c, : self.flips[c]], self.corner(c).rate
        H = rate * known.update(self.inside[c], flipped)
        if known.kind is np.float32 and float(np.trace(H)) > _FLOAT32_UP_TO:
            known.be_precise()
            H = rate * known.update(self.inside[c], flipped)
        H.flat[:: len(H) + 1] += 1.0
        return H

    def direction(self, c: int, allowed: float) -> tuple[np.ndarray | None, float, bool]:
        """Return a class's direction, the factor for the corner's width, and whether to be bold.

        See `newton_primal.PrimalIterate.step`: a bold step goes all the way.
        """
        g, H, pull = self.W[c] - self.V[c], self.hessian(c), self.pull[c]
        wanted = min(1.0, _SMOOTHING_SHARE * allowed / pull.excess) if pull.excess > 0.0 else 1.0
        if wanted < 1.0 and float(g @ (H @ g)) < _NEARLY_OPTIMAL * pull.excess:
            part = max(float(self.sharpen_by[c]), 0.1 * wanted)
            self.sharpen_by[c] = max(_SHARPEST, float(self.sharpen_by[c]) ** 2)
            return self._sharpened(c, H, part, -g), part, True
        self.sharpen_by[c] = _SHARPEN
        determined = pull.inside > _DETERMINED * len(g)
        part = max(_SHARPEN, math.sqrt(wanted)) if determined else 1.0
        return solve_scaled(H, -g), part, False

    def _sharpened(
        self, c: int, H: np.ndarray, part: float, right: np.ndarray
    ) -> np.ndarray | None:
        """Return the step that keeps the same examples on a narrower corner. Changes H."""
        rows, codes, _, costs, _, _ = self.problem
        which = np.flatnonzero(self.inside[c])
        signs = np.where(codes[which] == c, 1.0, -1.0)
        steeper = 0.5 / self.half_width[c] * (1.0 / part - 1.0)
        amounts = steeper * costs[which] * (signs - self.scores[c, which])
        right[:-1] += amounts @ rows.stored.values[which]
        right[-1] += rows.bias * float(amounts.sum())
        H /= part
        H.flat[:: len(H) + 1] += 1.0 - 1.0 / part
        return solve_scaled(H, right)

    def step(self, allowed: list[float]) -> Iterator[None]:
        """Take one Newton step with every live class; those that cannot move are no longer live.

        Yields while it works.
        """
        live, found = self.live, []
        for begin in range(0, len(live), self.threads):
            found += run_all(
                lambda place: self.direction(live[place], allowed[place]),
                range(begin, min(len(live), begin + self.threads)),
                self.threads,
            )
            yield
        kept = [place for place, (d, _, _) in enumerate(found) if d is not None]
        self.live = live = [live[place] for place in kept]
        if not live:
            return
        directions = np.stack([found[place][0] for place in kept])
        bold = [found[place][2] for place in kept]
        parts = [found[place][1] for place in kept]
        self.shifts[: len(live)] = self.score(directions)
        yield
        taus = run_all(
            lambda place: self._length(place, directions[place], bold[place]),
            range(len(live)),
            self.threads,
        )
        for place, c in enumerate(live):
            if taus[place] > 0.0:
                self.W[c] += taus[place] * directions[place]
                self.half_width[c] *= parts[place]
        self.move(taus)

    def _length(self, place: int, d: np.ndarray, bold: bool) -> float:
        """How far a class moves along d: 0 if the objective never falls."""
        if bold:
            return 1.0
        c = self.live[place]
        first = float(d @ (self.W[c] - self.V[c]))
        if not first < 0.0:
            return 0.0
        _, codes, _, costs, caps, _ = self.problem
        line = (float(self.W[c] @ d), float(d @ d), first)
        return float(
            find_step(
                self.corner(c), codes, c, self.scores[c], self.shifts[place],
                costs, caps, line,
            )
        )  # fmt: skip


class _CornerSum:
    """The sum of C_i x_i x_i' over the examples on a corner, kept from step to step."""

    def __init__(self, rows: Rows, costs: np.ndarray) -> None:
        self.rows, self.costs = rows, costs
        width = rows.width + 1
        self.G, self.exact = np.zeros((width, width)), True
        self.kind: type = np.float32 if width >= _FLOAT32_FROM else np.float64

    def be_precise(self) -> None:
        """Start again, computing in float64 from now on."""
        self.kind, self.exact = np.float64, False

    def update(self, inside: np.ndarray, flipped: np.ndarray) -> np.ndarray:
        """Return the sum over the examples inside, given those that entered or left."""
        most = max(_ENOUGH_ROWS * len(self.G), int(_CHEAP_SUM / len(self.G) ** 2))
        count = int(np.count_nonzero(inside))
        if self.exact and len(flipped) <= min(count, most):
            self._add(flipped, np.where(inside[flipped] > 0, 1.0, -1.0))
            return self.G
        which = np.flatnonzero(inside)
        self.G[:] = 0.0
        self.exact = count <= most or _SETTLED * len(flipped) <= count
        if self.exact:
            self._add(which, np.ones(count))
        else:
            stride = -(-count // most)
            self._add(which[::stride], np.full(-(-count // stride), float(stride)))
        return self.G

    def _add(self, which: np.ndarray, factors: np.ndarray) -> None:
        """Add weighted products of rows."""
        width = len(self.G)
        for sign in (1.0, -1.0):
            side = factors * sign > 0.0
            mine = which[side]
            root = np.sqrt(self.costs[mine] * np.abs(factors[side])).astype(self.kind)
            for begin in range(0, len(mine), _ROWS_AT_ONCE):
                part = slice(begin, begin + _ROWS_AT_ONCE)
                X: np.ndarray = np.full((len(mine[part]), width), self.rows.bias, self.kind)
                X[:, :-1] = self.rows.stored.values[mine[part]]
                X *= root[part, None]
                self.G += sign * (X.T @ X)


def iterate(point: ClassesIterate, tol: float) -> Iterator[bool]:
    """Take steps until every relative gap is at most `tol` or no step helps. Changes `point`.

    Yields after every piece of work: True after a whole step.
    """
    for _ in range(_STEPS):
        # If no dual value changes, only rounding errors are left.
        point.live = [
            c
            for c in point.live
            if point.pull[c].updates > 0 and not point.is_solved(c, _WITHIN * tol)
        ]
        if not point.live:
            return
        for _ in point.step([tol * point.primal(c) for c in point.live]):
            yield False
        yield True
