"""Find the point of a convex hull nearest to the origin, with an active set.

An example times its sign is z = y x. If the point of the hull of the z nearest to the origin is not
zero, it is the normal of a hyperplane that separates the classes; if it is zero, its weights prove
that no hyperplane does. Where it is too short for float precision, space is stretched along it:
z -> T z with an invertible T changes neither which weights give a zero sum nor whether a hyperplane
separates, but it changes how precisely floats can tell.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dtrtrs

from widemargin.data.rows import Rows, frozen
from widemargin.loops.separability.nearest_point import UNFINISHED, nearest_pass
from widemargin.loops.separability.search import accurate_dots
from widemargin.loops.storage import squared_norms

# Chosen by hand, except where rounding determines them. What the search finds is proved, and a
# search that ends early is followed by another step, so these constants affect only the time.

#: How many points may join the working set after all points have been scored.
_BATCH = 64
#: The largest number of exchanges in one working set before all points are scored again.
_EXCHANGES = 2000
#: The relative rounding error of a product: a few units in the last place of a float64.
_EPS = 1e-15
#: A point joins only if its score is lower by more than this fraction of the square; smaller
#: differences are rounding errors.
_RELATIVE_PRICE = 1e-13
#: The search has stalled when a round gains less than this fraction of the square.
_STALLED = 1e-9
#: With more features than this, only the products of points are used, not their coordinates.
_MOST_COORDINATES = 2000
#: The square of the factor by which space is stretched along a direction: ten million, about half
#: the digits of a float. Where space is already long, the second multiplies its squared length.
_STRETCH, _STRETCH_MORE = 1e14, 1e3


class Stretch(NamedTuple):
    """A stretched direction, and the places of the examples along it."""

    by: float
    direction: np.ndarray
    places: np.ndarray


class HullPoint(NamedTuple):
    """A combination of examples: its coordinates, with the constant feature last."""

    vector: np.ndarray
    along: np.ndarray  # its place on every stretched direction
    square: float  # its squared length


class HullPoints:
    """Examples as points z = y x, each multiplied by a factor, in a possibly stretched space.

    Parameters
    ----------
    rows : Rows
        The examples in float64, or a Gram matrix. The constant feature is the last coordinate.
    signs : array of +1 and -1
    gram : bool
        Whether the rows are those of a Gram matrix.
    factors : array, optional
        The factor of every point; 1 by default.
    """

    def __init__(
        self, rows: Rows, signs: np.ndarray, gram: bool = False, factors: np.ndarray | None = None
    ) -> None:
        self.rows, self.matrix, self.constant = rows, rows.to_matrix(), rows.bias
        self.signs = signs.astype(np.float64)
        self.gram = gram
        self.factors = np.ones(rows.n) if factors is None else factors
        self.stretches: list[Stretch] = []

    def dense(self, which: np.ndarray) -> np.ndarray:
        """Return some rows of the matrix as a dense array."""
        part = self.matrix[which]
        return part.toarray() if self.rows.is_sparse else part

    def combine(self, which: np.ndarray, weights: np.ndarray) -> HullPoint:
        """Return the weighted sum of some points."""
        signed = weights * self.factors[which] * self.signs[which]
        if self.gram:
            vector = np.zeros(self.rows.n)
            vector[which] = signed
            inside = self.matrix[which][:, which]
            square = float(signed @ (inside @ signed))
        else:
            part = self.matrix[which]
            vector = part.T @ signed if self.rows.is_sparse else signed @ part
            square = float(vector @ vector)
        last = self.constant * float(np.sum(signed))
        scaled = weights * self.factors[which]
        along = np.array([scaled @ stretch.places[which] for stretch in self.stretches])
        for stretch, place in zip(self.stretches, along, strict=True):
            square += stretch.by * place * place
        return HullPoint(np.append(vector, last), along, max(0.0, square + last * last))

    def scores(self, point: HullPoint) -> np.ndarray:
        """Return the dot product of every point with this one."""
        found = self.matrix @ point.vector[:-1] + self.constant * point.vector[-1]
        found *= self.signs
        for stretch, place in zip(self.stretches, point.along, strict=True):
            found += stretch.by * place * stretch.places
        return found * self.factors

    def separator(self, point: HullPoint) -> np.ndarray:
        """Return the direction in the original space that gives the same scores."""
        w = point.vector.copy()
        for stretch, place in zip(self.stretches, point.along, strict=True):
            w += stretch.by * place * stretch.direction
        return w

    def products(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the products of some points with some others."""
        if self.gram:
            found = self.matrix[left][:, right]
        else:
            found = self.matrix[left] @ self.matrix[right].T
        found = found.toarray() if self.rows.is_sparse else np.array(found)
        found += self.constant * self.constant
        found *= np.outer(self.signs[left], self.signs[right])
        for stretch in self.stretches:
            found += stretch.by * np.outer(stretch.places[left], stretch.places[right])
        return found * np.outer(self.factors[left], self.factors[right])

    def coordinates(self, which: np.ndarray) -> np.ndarray:
        """Return some points as rows of an array, with no columns if there would be too many."""
        if self.gram or self.rows.width > _MOST_COORDINATES:
            return np.empty((len(which), 0))
        weights = self.signs[which] * self.factors[which]
        columns = [np.full(len(which), self.constant)] if self.constant else []
        part = np.column_stack([self.dense(which), *columns]) * weights[:, None]
        along = [
            math.sqrt(stretch.by) * stretch.places[which] * self.factors[which]
            for stretch in self.stretches
        ]
        return np.column_stack([part, *along])

    def squares(self) -> np.ndarray:
        """Return the squared length of every point."""
        if self.gram:
            found = self.matrix.diagonal() + self.constant * self.constant
        else:
            found = np.empty(self.rows.n)
            squared_norms(self.rows.stored, found)
        for stretch in self.stretches:
            found += stretch.by * stretch.places**2
        return found * self.factors**2

    def stretch(self, direction: np.ndarray) -> None:
        """Stretch space along a direction, and rescale the points to about unit length.

        Without rescaling, distant points would swamp the others.
        """
        direction = direction / np.max(np.abs(direction))
        direction = direction / np.sqrt(direction @ direction)
        places = np.empty(self.rows.n)
        accurate_dots(self.rows.stored, frozen(self.signs), direction, places)
        now = 1.0 + sum(old.by * float(old.direction @ direction) ** 2 for old in self.stretches)
        self.stretches.append(Stretch(max(_STRETCH, _STRETCH_MORE * now), direction, places))
        self.factors = np.ones(self.rows.n)
        self.factors = 1.0 / np.sqrt(np.maximum(self.squares(), 1e-300))

    def sharp(self, which: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the weighted sum of points in the original space, with nearly twice the digits."""
        signed = weights * self.factors[which] * self.signs[which]
        total = np.zeros(self.rows.width + 1)
        errors = np.zeros(self.rows.width + 1)
        part = np.column_stack([self.dense(which), np.full(len(which), self.constant)])
        for weight, row in zip(signed, part, strict=True):
            high, low = _two_products(weight, row)
            new = total + high
            back = new - total
            errors += ((total - (new - back)) + (high - back)) + low
            total = new
        return total + errors


def _two_products(a: float, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rounded products and their errors (Dekker)."""
    product = a * b
    c = 134217729.0 * a
    a_high = c - (c - a)
    big = 134217729.0 * b
    b_high = big - (big - b)
    a_low, b_low = a - a_high, b - b_high
    return product, (a_high * b_high - product) + a_high * b_low + a_low * b_high + a_low * b_low


class HullStep(NamedTuple):
    """The state of the search after all points have been scored."""

    which: np.ndarray  # the points that make up the combination
    weights: np.ndarray  # and their weights, which add up to 1 (in each group)
    point: HullPoint
    scores: np.ndarray  # of all points
    optimal: bool  # whether no point scores less than these, up to rounding


def approach(
    points: HullPoints,
    start: np.ndarray,
    weights: np.ndarray | None = None,
    candidates: np.ndarray | None = None,
    groups: np.ndarray | None = None,
    zero: float = 1e-26,
) -> Iterator[HullStep]:
    """Approach the nearest point of the hull; yield each time all points have been scored.

        repeat:
            solve the working set: the support, and the points found last (`nearest_pass`)
            price all points; those that score less than the support form the next working set

    Parameters
    ----------
    points : HullPoints
    start, weights : arrays
        The points to start from; by default one, or one of each group.
    candidates : array, optional
        Points to try first.
    groups : array of 0 and 1, optional
        Approach the nearest point of the difference of two hulls instead of one hull.
    zero : float
        Stop when the square is smaller than this fraction of the squares of the points.
    """
    count = 1 if groups is None else 2
    group = np.zeros(points.rows.n, np.int64) if groups is None else groups
    weights = np.ones(len(start)) if weights is None else weights
    inner = points.products(start, start)
    support = _Support(start, weights, inner, *_factor(inner, group[start], count))
    if not np.all(np.isfinite(support.R)):
        return
    fresh = np.empty(0, np.int64) if candidates is None else np.setdiff1d(candidates, start)
    scale = float(np.max(points.squares()[np.concatenate([start, fresh])]))
    last = np.inf
    while True:
        solved = _solve_working_set(points, support, fresh, group, count, scale, zero)
        if solved is None:
            return
        support, scale, ended, by_coordinates = solved
        point = points.combine(support.which, support.weights)
        scores = points.scores(point)
        unsure = _EPS * (math.sqrt(point.square * scale) if by_coordinates else scale)
        least = max(unsure, _RELATIVE_PRICE * point.square)
        fresh = _price(support, scores, group, count, least)
        stalled = ended != UNFINISHED and point.square >= last * (1.0 - _STALLED)
        optimal = not len(fresh) or stalled
        last = min(last, point.square)
        used = support.weights > 0.0
        yield HullStep(support.which[used], support.weights[used], point, scores, optimal)
        if optimal or point.square <= zero * scale:
            return


class _Support(NamedTuple):
    """The points with weights, their products, and the triangular factor of the products."""

    which: np.ndarray
    weights: np.ndarray
    products: np.ndarray
    R: np.ndarray
    Y: np.ndarray


def _solve_working_set(
    points: HullPoints,
    support: _Support,
    fresh: np.ndarray,
    group: np.ndarray,
    count: int,
    scale: float,
    zero: float,
) -> tuple[_Support, float, int, bool] | None:
    """Find the nearest point of the hull of the support and the new points.

    Returns the new support, the largest square seen, how the pass ended, and whether it had
    coordinates; None if floats cannot tell the points apart.
    """
    k, working = len(support.which), np.concatenate([support.which, fresh])
    m = len(working)
    G = np.empty((m, m))
    G[:k, :k] = support.products
    if len(fresh):
        G[k:] = points.products(fresh, working)
        G[:k, k:] = G[k:, :k].T
        scale = max(scale, float(np.max(np.diagonal(G))))
    R = np.zeros((m, m))
    R[:k, :k] = support.R
    Y = np.zeros((count, m))
    Y[:, :k] = support.Y
    S, a = np.arange(m), np.zeros(m)
    a[:k] = support.weights
    banned = np.zeros(m, np.bool_)
    C = points.coordinates(working)
    k, ended = nearest_pass(
        G, C, group[working], count, S, k, a, R, Y, banned, scale, _EPS, zero, _EXCHANGES
    )
    if k == 0:
        return None
    which = working[S[:k]]
    weights = np.maximum(a[:k], 0.0)  # rounding may leave some just below zero
    totals = np.bincount(group[which], weights, minlength=count)
    if not np.all((totals > 0.0) & (totals < np.inf)):
        return None
    weights /= totals[group[which]]
    found = _Support(which, weights, G[np.ix_(S[:k], S[:k])], R[:k, :k], Y[:, :k])
    return found, scale, ended, bool(C.shape[1])


def _price(
    support: _Support, scores: np.ndarray, group: np.ndarray, count: int, least: float
) -> np.ndarray:
    """Return the points whose scores are below the support's by more than `least`."""
    which = support.which
    means = np.bincount(group[which], support.weights * scores[which], minlength=count)
    reduced = scores - means[group]
    reduced[which] = 0.0
    fresh = np.flatnonzero(reduced < -least)
    if len(fresh) > _BATCH:
        fresh = fresh[np.argpartition(reduced[fresh], _BATCH)[:_BATCH]]
    return fresh


def _factor(inner: np.ndarray, group: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the triangular factor of the products, and what `nearest_pass` stores beside it."""
    try:
        R = np.linalg.cholesky(inner + (group[:, None] == group)).T
    except np.linalg.LinAlgError:
        return np.full_like(inner, np.nan), inner[:0]
    ones = np.array([group == c for c in range(count)], dtype=np.float64)
    return R, dtrtrs(R, ones.T, trans=1)[0].T


def two_groups(signs: Any) -> np.ndarray:
    """Return 0 for examples of the positive class and 1 for the others."""
    return np.where(np.asarray(signs) > 0, 0, 1)
