"""The best mixture of dual values: where the dual is largest in the hull of what was proposed.

    maximise over lambda >= 0, sum_j lambda_j <= 1:
        dual(alpha + sum_j lambda_j (proposal_j - alpha))

Dual values within their bounds stay there when they are mixed, and the dual never falls. Proposals
that have a part in the mixture are kept for the next rounds: B. von Hohenbalken (1977), Simplicial
decomposition in nonlinear programming algorithms, Mathematical Programming 13.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

#: The small problem is solved by steps along pairs of proposals, at most this many: with ten
#: proposals some hundreds are usual.
_STEPS = 5_000
#: It is solved when no pair gains more than this fraction of the steepest slope at the start.
_SOLVED = 1e-10
#: So many proposals are kept, ...
_KEPT = 8
#: ... or fewer, so that they take at most this many numbers in all (1 GB).
_NUMBERS = 1 << 27


class Proposal(NamedTuple):
    """Dual values of all examples, and the weights that they make."""

    w: np.ndarray
    alpha: np.ndarray


def kept_proposals(problems: int, columns: int, examples: int) -> int:
    """How many proposals to keep for each problem."""
    return min(_KEPT, _NUMBERS // (problems * (columns + examples)))


def best_mixture(slopes: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Maximise slopes.x - x.Qx / 2 for x >= 0 with a sum of at most 1.

    Examples
    --------
    >>> best_mixture(np.array([1.0, 1.0, -1.0]), np.diag([2.0, 4.0, 1.0])).tolist()
    [0.5, 0.25, 0.0]
    >>> best_mixture(np.array([3.0, 1.0]), np.eye(2)).tolist()
    [1.0, 0.0]
    """
    n = len(slopes)
    # The last one, whose slope is 0, is what there is: x sums up to 1 with it.
    x, g = np.zeros(n + 1), np.append(slopes, 0.0)
    x[n] = 1.0
    curvature = np.zeros((n + 1, n + 1))
    curvature[:n, :n] = Q
    enough = _SOLVED * float(np.max(np.abs(g), initial=0.0))
    for _ in range(_STEPS):
        up = int(np.argmax(g))
        down = int(np.argmin(np.where(x > 0.0, g, np.inf)))
        gain = g[up] - g[down]
        if gain <= enough:
            break
        bend = curvature[up, up] + curvature[down, down] - 2.0 * curvature[up, down]
        whole = bend * x[down] <= gain
        step = x[down] if whole else gain / bend
        x[up] += step
        x[down] = 0.0 if whole else x[down] - step
        g -= step * (curvature[:, up] - curvature[:, down])
    return x[:n]


class Mixture(NamedTuple):
    """The best mixture, and what it is made of.

    Attributes
    ----------
    now : Proposal
        The mixture.
    kept : list of Proposal
        Those with the largest parts in it, what there was before among them.
    slope, curvature : float
        Of the dual along the first proposal.
    """

    now: Proposal
    kept: list[Proposal]
    slope: float
    curvature: float


def mix(
    now: Proposal, proposals: Sequence[Proposal], soft: np.ndarray | None, most: int
) -> Mixture:
    """Mix proposals with what there is.

    Parameters
    ----------
    now : Proposal
        What there is.
    proposals : sequence of Proposal
        The first is the one whose slope and curvature are told.
    soft : array or None
        What the squared hinge adds to the curvature of each dual value; None for the hinge.
    most : int
        How many to keep.
    """
    ways = [Proposal(one.w - now.w, one.alpha - now.alpha) for one in proposals]
    weighted = [way.alpha if soft is None else soft * way.alpha for way in ways]
    slopes, Q = np.empty(len(ways)), np.empty((len(ways), len(ways)))
    for i, way in enumerate(ways):
        slopes[i] = np.sum(way.alpha) - _product(now.w, way.w)
        if soft is not None:
            slopes[i] -= _product(now.alpha, weighted[i])
        for j in range(i + 1):
            Q[i, j] = _product(way.w, ways[j].w)
            if soft is not None:
                Q[i, j] += _product(way.alpha, weighted[j])
            Q[j, i] = Q[i, j]
    parts = best_mixture(slopes, Q)
    w, alpha = now.w.copy(), now.alpha.copy()
    for part, way in zip(parts.tolist(), ways, strict=True):
        if part:
            w += part * way.w
            alpha += part * way.alpha
    every = [*proposals, now]
    shares = np.append(parts, 1.0 - np.sum(parts))
    order = np.argsort(-shares, kind="stable")[:most]
    kept = [every[i] for i in order if shares[i] > 0.0]
    return Mixture(Proposal(w, alpha), kept, float(slopes[0]), float(Q[0, 0]))


def _product(a: np.ndarray, b: np.ndarray) -> float:
    """The product a . b, always added up in the same order, however many threads there are."""
    return float(np.einsum("i,i->", a, b))
