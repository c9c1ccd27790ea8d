"""The steps that decide separability: cheap evidence first, and nothing said without a proof.

Two equal examples with different labels; features that settle examples on their own; a few epochs
of the perceptron; the nearest point of the hull by an active set, stretching space where floats do
not suffice; an exact simplex on a few examples; at last a linear program. Each only suggests. A
verdict is given when the verifier has proved it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from widemargin.certificates.certificate import Certificate
from widemargin.certificates.verifier import NOT_SEPARABLE, SEPARABLE, CertificateError
from widemargin.data.rows import Rows, frozen
from widemargin.loops.separability.search import fingerprint_rows, hard_margin_pass, perceptron_pass
from widemargin.separability.lifting import convex_dependency
from widemargin.separability.nearest_point import Points, approach
from widemargin.separability.peeling import peel
from widemargin.separability.rational import decide_exactly

#: Epochs of the perceptron; then, if few mistakes are left, of dual coordinate descent without
#: any fewer mistakes.
_EPOCHS, _PATIENCE = 30, 100
#: A hull's point is taken for zero when it is shorter than this part of the examples.
_NEAR_ZERO = 1e-6
_STRETCHES = 8
#: A square that is lost altogether is taken for this.
_TINY = 1e-300
#: The exact simplex is for examples of so many features and values at the most; it may go on for
#: so long.
_FEW, _FEW_VALUES, _FEW_SECONDS = 40, 4000, 10.0
#: Up to so many values are examples copied into a dense array.
_DENSE = 50_000_000


@dataclass(frozen=True)
class Problem:
    """Examples of two classes, as the steps of the search see them."""

    rows: Rows  # float64, with the constant feature as bias
    signs: np.ndarray  # float64
    blank: Certificate  # what is known before the search
    X: Any  # what was given
    y: np.ndarray
    ends: float  # when to give up

    @cached_property
    def _scaling(self) -> tuple[Rows, np.ndarray]:
        return _scaled(self.rows)

    @property
    def scaled(self) -> Rows:
        """The same rows, every column times a power of two."""
        return self._scaling[0]

    def proved(self, **claims: Any) -> Certificate | None:
        """The certificate with these claims, if they hold."""
        certificate = replace(self.blank, **claims)
        try:
            certificate.verify(self.X, self.y)
        except (CertificateError, OverflowError):  # fractions too large for a float
            return None
        return certificate

    def separated(self, w: np.ndarray, found_by: str) -> Certificate | None:
        """The proof that w separates: weights of the scaled features, the constant one's last."""
        with np.errstate(over="ignore"):
            w = w * self._scaling[1]
        size = np.max(np.abs(w))
        if not 0.0 < size < math.inf:
            return None
        w = w * 2.0 ** -math.frexp(size)[1]
        return self.proved(
            verdict=SEPARABLE, w=w[:-1], b=float(w[-1] * self.rows.bias), found_by=found_by
        )

    def separated_exactly(self, w: list[Fraction], found_by: str) -> Certificate | None:
        """The same for weights that no float holds; the bias itself last, if there is one."""
        exact = np.empty(self.rows.width, object)
        exact[:] = [
            value * Fraction(scale) for value, scale in zip(w, self._scaling[1][:-1], strict=False)
        ]
        b = w[-1] if self.rows.bias else Fraction(0)
        return self.proved(verdict=SEPARABLE, w=exact, b=b, found_by=found_by)

    def met(self, which: np.ndarray, shares: list[Fraction], found_by: str) -> Certificate | None:
        """The proof that the hulls meet with these weights."""
        used = [k for k, share in enumerate(shares) if share]
        return self.proved(
            verdict=NOT_SEPARABLE,
            examples=which[used],
            shares=tuple(shares[k] for k in used),
            found_by=found_by,
        )

    @property
    def late(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() > self.ends


def decide(problem: Problem) -> Certificate:
    """Separable or not, without a measured margin."""
    return _take_steps(problem, _look_at_sizes, _look_for_duplicates, _peel, *_SEARCH)


def _take_steps(problem: Problem, *steps: Callable[[Problem], Certificate | None]) -> Certificate:
    """What the first step finds that finds anything."""
    for step in steps:
        found = step(problem)
        if found is not None:
            return found
        if problem.late:
            break
    return problem.blank


def _look_at_sizes(problem: Problem) -> Certificate | None:
    """One class alone, or an example that is zero."""
    signs, rows = problem.signs, problem.rows
    if rows.bias:
        if np.all(signs == signs[0]):
            w = np.zeros(rows.width + 1)
            w[-1] = signs[0]
            return problem.separated(w, "one class only")
        return None
    matrix = rows.to_matrix()
    filled = abs(matrix).max(axis=1)
    filled = np.asarray(filled.todense() if rows.is_sparse else filled).ravel()
    if np.all(filled > 0.0):
        return None
    zero = np.array([np.argmin(filled)])
    return problem.met(zero, [Fraction(1)], "an example that is zero")


def _look_for_duplicates(problem: Problem) -> Certificate | None:
    """Two equal examples with different labels."""
    rows, signs = problem.rows, problem.signs
    chance = np.random.default_rng(0)
    r = chance.integers(1, 2**64, rows.width, dtype=np.uint64) | np.uint64(1)
    marks = np.empty(rows.n, np.uint64)
    # Minus zero equals zero, and must have the same bits.
    bits = (rows.stored.values + 0.0).view(np.uint64)
    with np.errstate(over="ignore"):  # interpreted, wrapping around would be told
        fingerprint_rows(rows.stored, frozen(bits), r, marks)
    order = np.argsort(marks, kind="stable")
    marks, turned = marks[order], signs[order]
    pairs = np.flatnonzero((marks[1:] == marks[:-1]) & (turned[1:] != turned[:-1]))
    if not len(pairs):
        return None
    pair = np.sort(order[pairs[0] : pairs[0] + 2])
    return problem.met(pair, [Fraction(1, 2), Fraction(1, 2)], "equal examples")


def _peel(problem: Problem) -> Certificate | None:
    """Features that settle examples on their own, which leaves fewer examples to be decided."""
    rows = problem.scaled
    peeled = peel(rows, problem.signs) if rows.is_sparse else None
    if peeled is None:
        return None
    w, left = np.zeros(rows.width + 1), peeled.left
    if not len(left):
        return problem.separated(peeled.extend(w), "peeling")
    core, used = peeled.core()
    blank = replace(problem.blank, n=core.n, width=core.width)
    part = Problem(
        core, problem.signs[left], blank, core.to_matrix(), problem.y[left], problem.ends
    )
    found = _take_steps(part, *_SEARCH)
    found_by = f"peeling, {found.found_by}"
    if found.verdict == NOT_SEPARABLE:
        return problem.met(left[found.examples], list(found.shares), found_by)
    if found.w is None or found.w.dtype == object:
        return None
    w[used] = found.w
    w[-1] = float(found.b) / rows.bias if rows.bias else 0.0
    return problem.separated(peeled.extend(w), found_by)


def _run_perceptron(problem: Problem) -> Certificate | None:
    """A few epochs; more, of a faster learner, if it is nearly done."""
    rows, signs = problem.scaled, frozen(problem.signs)
    squares = np.maximum(Points(rows, signs).squares(), _TINY)
    # A power of two: whole numbers stay whole, so that weights can come back to where they were.
    steps = 2.0 ** -np.round(np.log2(squares) / 2.0)
    order = np.random.default_rng(0).permutation(rows.n).astype(np.uint64)
    w, a = np.zeros(rows.width + 1), np.zeros(rows.n)
    seen: dict[bytes, np.ndarray] = {}
    mistakes, wide = rows.n, rows.width >= rows.n  # which usually means separable
    for epoch in range(_EPOCHS):
        mistakes = perceptron_pass(rows.stored, signs, frozen(order), frozen(steps), w, a)
        if mistakes == 0:
            found = problem.separated(w, "perceptron")
            if found is not None:
                return found
            break
        before = seen.setdefault((w + 0.0).tobytes(), a.copy())
        if np.any(before != a):
            return _within_cycle(problem, np.flatnonzero(before != a))
        hopeless = (0.05 if epoch < 9 else 0.01) * rows.n + 10
        if problem.late or (epoch >= 4 and not wide and mistakes > hopeless):
            return None
    if mistakes > 0.01 * rows.n and not wide:
        return None
    w[:], a[:] = 0.0, 0.0
    fewest, idle = rows.n, 0
    while idle < _PATIENCE:
        mistakes = hard_margin_pass(rows.stored, signs, frozen(order), frozen(squares), 0.0, w, a)
        if mistakes == 0:
            found = problem.separated(w, "dual coordinate descent")
            if found is not None:
                return found
        if problem.late or not np.all(np.isfinite(w)):
            break
        idle = idle + 1 if mistakes >= fewest else 0
        fewest = min(fewest, mistakes)
    return None


def _within_cycle(problem: Problem, which: np.ndarray) -> Certificate | None:
    """The weights came back (L22): the corrections between add up to zero, as a few of them do."""
    part = Points(problem.scaled.take(which.astype(np.uint64)), problem.signs[which])
    for step in approach(part, np.zeros(1, np.int64)):
        if step.optimal or step.point.square < _NEAR_ZERO:
            return _prove_meeting(problem, which[step.which], "repeated weights")
    return None


def _prove_meeting(problem: Problem, which: np.ndarray, found_by: str) -> Certificate | None:
    """Exact weights for examples whose hulls seem to meet."""
    part = problem.rows.take(which.astype(np.uint64)).to_matrix()
    part = part.toarray() if problem.rows.is_sparse else part
    signs = problem.signs[which]
    vectors = signs[:, None] * part
    if problem.rows.bias:
        vectors = np.column_stack([vectors, signs])
    shares = convex_dependency(vectors)
    return None if shares is None else problem.met(which, shares, found_by)


def _seek_nearest(problem: Problem) -> Certificate | None:
    """The nearest point of the hull; space is stretched where it is too near to tell."""
    found = _seek_standardised(problem)
    if found is not None or problem.late:
        return found
    points = Points(problem.scaled, problem.signs)
    points.factors = 1.0 / np.sqrt(np.maximum(points.squares(), _TINY))
    for _ in range(1 + _STRETCHES):
        step = None
        for step in approach(points, np.zeros(1, np.int64)):
            if np.min(step.scores) > 0.0:
                found = problem.separated(points.separator(step.point), "nearest point")
                if found is not None:
                    return found
            if problem.late:
                return None
        if step is None:
            return None
        found = _prove_meeting(problem, step.which, "nearest point")
        if found is not None:
            return found
        direction = points.sharp(step.which, step.weights)
        for stretch, place in zip(points.stretches, step.point.along, strict=True):
            direction = direction + stretch.by * place * stretch.direction
        if not np.any(direction):
            return None
        found = problem.separated(direction, "nearest point, stretched")
        if found is not None:
            return found
        points.stretch(direction)
    return None


def _seek_standardised(problem: Problem) -> Certificate | None:
    """The nearest point after every feature was given mean 0 and deviation 1, if that is cheap.

    With a bias this is a change of coordinates, in which far fewer steps are needed. It rounds
    the examples; what it finds is proved for those that were given.
    """
    rows = problem.scaled
    if not rows.bias or rows.n * rows.width > _DENSE or rows.width > rows.n:
        return None
    matrix = rows.to_matrix()
    dense = matrix.toarray() if rows.is_sparse else matrix
    means, deviations = np.mean(dense, axis=0), np.std(dense, axis=0)
    deviations[deviations == 0.0] = 1.0
    points = Points(Rows.of((dense - means) / deviations, bias=rows.bias), problem.signs)
    points.factors = 1.0 / np.sqrt(np.maximum(points.squares(), _TINY))
    step = None
    for step in approach(points, np.zeros(1, np.int64)):
        if np.min(step.scores) > 0.0:
            w = points.separator(step.point)
            w[:-1] /= deviations
            w[-1] -= w[:-1] @ means / rows.bias
            found = problem.separated(w, "nearest point")
            if found is not None:
                return found
        if problem.late:
            return None
    return None if step is None else _prove_meeting(problem, step.which, "nearest point")


def _scaled(rows: Rows) -> tuple[Rows, np.ndarray]:
    """Every column times a power of two, to values of about 1; and these powers."""
    matrix = rows.to_matrix()
    largest = abs(matrix).max(axis=0)
    largest = np.asarray(largest.todense() if rows.is_sparse else largest).ravel()
    powers = np.clip(np.where(largest > 0.0, -np.frexp(largest)[1], 0), -1000, 1000)
    scales = np.append(np.ldexp(1.0, powers), 1.0)
    if np.all(np.abs(powers) <= 3):
        return rows, np.ones(rows.width + 1)
    if rows.is_sparse:
        matrix = matrix.copy()
        matrix.data *= scales[matrix.indices]
    else:
        matrix = matrix * scales[:-1]
    return Rows.of(matrix, bias=rows.bias), scales


def _decide_exactly(problem: Problem) -> Certificate | None:
    """An exact simplex on a few examples, joined by those on the wrong side of its separator."""
    rows, signs = problem.scaled, problem.signs
    if rows.width > _FEW:
        return None
    matrix = rows.to_matrix()
    chosen = np.unique(np.array([np.argmax(signs > 0), np.argmax(signs < 0)]))
    while len(chosen) * (rows.width + 1) <= _FEW_VALUES and not problem.late:
        part = matrix[chosen]
        turned = signs[chosen, None] * (part.toarray() if rows.is_sparse else part)
        if rows.bias:
            turned = np.column_stack([turned, signs[chosen]])
        weights, exact = decide_exactly(turned, min(problem.ends, time.monotonic() + _FEW_SECONDS))
        if exact is None:
            return None if weights is None else problem.met(chosen, weights, "exact simplex")
        w = np.array([float(value) for value in exact])
        last = w[-1] if rows.bias else 0.0
        found = problem.separated(
            np.append(w[: rows.width], last / (rows.bias or 1.0)), "exact simplex"
        )
        found = found or problem.separated_exactly(exact, "exact simplex")
        if found is not None:
            return found
        scores = signs * (matrix @ w[: rows.width] + last)
        scores[chosen] = np.inf
        if not np.min(scores) < np.inf:
            return None
        worst = np.argsort(scores, kind="stable")[: 2 * rows.width + 4]
        chosen = np.union1d(chosen, worst[np.isfinite(scores[worst])])
    return None


def _solve_program(problem: Problem) -> Certificate | None:
    """The last resort: a linear program, whose basis is then proved."""
    import scipy.optimize
    import scipy.sparse

    rows, signs = problem.scaled, problem.signs
    matrix = scipy.sparse.csr_matrix(rows.to_matrix())
    if rows.bias:
        matrix = scipy.sparse.hstack([matrix, np.full((rows.n, 1), rows.bias)], format="csr")
    turned = scipy.sparse.diags(signs) @ matrix
    # minimise -t  so that  t - z_i . w <= 0  and  |w_j| <= 1
    system = scipy.sparse.hstack([-turned, np.ones((rows.n, 1))], format="csc")
    width = matrix.shape[1]
    limit = min(problem.ends - time.monotonic(), 1e6)
    result = scipy.optimize.linprog(
        np.append(np.zeros(width), -1.0),
        A_ub=system,
        b_ub=np.zeros(rows.n),
        bounds=[(-1.0, 1.0)] * width + [(None, 1.0)],
        method="highs",
        options={"time_limit": max(limit, 1e-3)},
    )
    if result.x is None:
        return None
    w = np.append(result.x[:width], [] if rows.bias else [0.0])
    found = problem.separated(w, "linear program")
    if found is None:
        which = np.flatnonzero(np.asarray(result.ineqlin.marginals) != 0.0)
        found = _prove_meeting(problem, which, "linear program") if len(which) else None
    return found


#: The steps that decide what peeling leaves.
_SEARCH = (_run_perceptron, _seek_nearest, _decide_exactly, _solve_program)
