"""The point of a convex hull that is nearest to the origin, by an active set.

An example turned to the positive side is z = y x. Its hull's nearest point x is, if it is not
zero, the normal of a hyperplane that separates the classes; if it is zero, its weights show that
no hyperplane does. Where x is too short for the digits of a float, space is stretched along it:
z -> T z with an invertible T changes nothing about which weights add up to zero, or whether a
hyperplane separates, and everything about how well a float can tell.
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

#: Candidates that are priced together: a look at all examples finds so many new ones.
_BATCH = 64
#: How much of a product is rounding.
_EPS = 1e-15
#: Examples with more features than this are only known by their products.
_WIDE = 2000


class Stretch(NamedTuple):
    """Space is `by` longer along `direction`, on which the examples lie at `places`."""

    by: float
    direction: np.ndarray
    places: np.ndarray


class Point(NamedTuple):
    """A combination of examples: its coordinates, the constant feature's last."""

    vector: np.ndarray
    along: np.ndarray  # its place on each stretched direction
    square: float  # its squared length


class Points:
    """Examples as points z = y x, times a factor each, in a space that may be stretched.

    Parameters
    ----------
    rows : Rows
        The examples in float64, or a Gram matrix; with its bias the points have a last coordinate.
    signs : array of +1 and -1
    gram : bool
        Whether the rows are those of a Gram matrix.
    factors : array, optional
        What every point is multiplied by; 1 by default.
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
        """Some rows of the matrix as a dense array."""
        part = self.matrix[which]
        return part.toarray() if self.rows.is_sparse else part

    def combine(self, which: np.ndarray, weights: np.ndarray) -> Point:
        """The sum of weighted points."""
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
        return Point(np.append(vector, last), along, max(0.0, square + last * last))

    def scores(self, point: Point) -> np.ndarray:
        """The product of every point with this one."""
        found = self.matrix @ point.vector[:-1] + self.constant * point.vector[-1]
        found *= self.signs
        for stretch, place in zip(self.stretches, point.along, strict=True):
            found += stretch.by * place * stretch.places
        return found * self.factors

    def separator(self, point: Point) -> np.ndarray:
        """The direction, in the space that is not stretched, with the same scores."""
        w = point.vector.copy()
        for stretch, place in zip(self.stretches, point.along, strict=True):
            w += stretch.by * place * stretch.direction
        return w

    def products(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """The products of some points with some others."""
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
        """Some points as the rows of an array; none if that would be much wider than long."""
        if self.gram or self.rows.width > _WIDE:
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
        """The squared length of every point."""
        if self.gram:
            found = self.matrix.diagonal() + self.constant * self.constant
        else:
            found = np.empty(self.rows.n)
            squared_norms(self.rows.stored, found)
        for stretch in self.stretches:
            found += stretch.by * stretch.places**2
        return found * self.factors**2

    def stretch(self, direction: np.ndarray) -> None:
        """Make space ten million times as long along a direction, or some more if it is already.

        Rescales the points to about unit length, so that those far out do not hide the others.
        """
        direction = direction / np.max(np.abs(direction))
        direction = direction / np.sqrt(direction @ direction)
        places = np.empty(self.rows.n)
        accurate_dots(self.rows.stored, frozen(self.signs), direction, places)
        now = 1.0 + sum(old.by * float(old.direction @ direction) ** 2 for old in self.stretches)
        self.stretches.append(Stretch(max(1e14, 1e3 * now), direction, places))
        self.factors = np.ones(self.rows.n)
        self.factors = 1.0 / np.sqrt(np.maximum(self.squares(), 1e-300))

    def sharp(self, which: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The sum of weighted points as if computed with twice the digits, not stretched."""
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
    """The rounded products and their errors (Dekker)."""
    product = a * b
    c = 134217729.0 * a
    a_high = c - (c - a)
    big = 134217729.0 * b
    b_high = big - (big - b)
    a_low, b_low = a - a_high, b - b_high
    return product, (a_high * b_high - product) + a_high * b_low + a_low * b_high + a_low * b_low


class Step(NamedTuple):
    """Where the search stands after a look at all points."""

    which: np.ndarray  # the points that make up the combination
    weights: np.ndarray  # and their weights, which add up to 1 (in each group)
    point: Point
    scores: np.ndarray  # of all points
    optimal: bool  # no point scores less than these, as far as rounding lets us tell


def approach(
    points: Points,
    start: np.ndarray,
    weights: np.ndarray | None = None,
    candidates: np.ndarray | None = None,
    groups: np.ndarray | None = None,
    zero: float = 1e-26,
) -> Iterator[Step]:
    """Go towards the nearest point of the hull; yields after every look at all points.

    Parameters
    ----------
    points : Points
    start, weights : arrays
        The points to start from; by default one, or one of each group.
    candidates : array, optional
        Points to try first.
    groups : array of 0 and 1, optional
        Go towards the nearest point of the difference of two hulls instead of one hull.
    zero : float
        Stop when the square is so small a part of the points' own.
    """
    count = 1 if groups is None else 2
    group = np.zeros(points.rows.n, np.int64) if groups is None else groups
    support = start
    weights = np.ones(len(start)) if weights is None else weights
    inner = points.products(support, support)
    R, Y = _factor(inner, group[support], count)
    if not np.all(np.isfinite(R)):
        return
    fresh = np.empty(0, np.int64) if candidates is None else np.setdiff1d(candidates, support)
    scale = float(np.max(points.squares()[np.concatenate([support, fresh])]))
    last = np.inf
    while True:
        k, working = len(support), np.concatenate([support, fresh])
        m = len(working)
        G = np.empty((m, m))
        G[:k, :k] = inner
        if len(fresh):
            G[k:] = points.products(fresh, working)
            G[:k, k:] = G[k:, :k].T
            scale = max(scale, float(np.max(np.diagonal(G))))
        room = np.zeros((m, m))
        room[:k, :k] = R
        right = np.zeros((count, m))
        right[:, :k] = Y
        S, a = np.arange(m), np.zeros(m)
        a[:k] = weights
        banned = np.zeros(m, np.bool_)
        C = points.coordinates(working)
        k, ended = nearest_pass(
            G, C, group[working], count, S, k, a, room, right, banned, scale, _EPS, zero, 2000
        )
        if k == 0:
            return
        support = working[S[:k]]
        weights = np.maximum(a[:k], 0.0)  # rounding may leave some just below
        totals = np.bincount(group[support], weights, minlength=count)
        if not np.all((totals > 0.0) & (totals < np.inf)):
            return  # the points are too much alike, or too different, for floats
        weights /= totals[group[support]]
        inner, R, Y = G[np.ix_(S[:k], S[:k])], room[:k, :k], right[:, :k]
        point = points.combine(support, weights)
        scores = points.scores(point)
        means = np.bincount(group[support], weights * scores[support], minlength=count)
        reduced = scores - means[group]
        reduced[support] = 0.0
        unsure = _EPS * (math.sqrt(point.square * scale) if C.shape[1] else scale)
        fresh = np.flatnonzero(reduced < -max(unsure, 1e-13 * point.square))
        if len(fresh) > _BATCH:
            fresh = fresh[np.argpartition(reduced[fresh], _BATCH)[:_BATCH]]
        stalled = ended != UNFINISHED and point.square >= last * (1.0 - 1e-9)
        optimal = not len(fresh) or stalled
        last = min(last, point.square)
        used = weights > 0.0
        yield Step(support[used], weights[used], point, scores, optimal)
        if optimal or point.square <= zero * scale:
            return


def _factor(inner: np.ndarray, group: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The triangular factor of the products, and what `nearest_pass` keeps beside it."""
    try:
        R = np.linalg.cholesky(inner + (group[:, None] == group)).T
    except np.linalg.LinAlgError:
        return np.full_like(inner, np.nan), inner[:0]
    ones = np.array([group == c for c in range(count)], dtype=np.float64)
    return R, dtrtrs(R, ones.T, trans=1)[0].T


def two_groups(signs: Any) -> np.ndarray:
    """The groups of the two classes."""
    return np.where(np.asarray(signs) > 0, 0, 1)
