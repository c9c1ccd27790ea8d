"""The best mixture of dual values: the maximum of the dual in the convex hull of the proposals.

    maximise over x >= 0, sum_j x_j = 1:  dual(sum_j x_j alpha_j)

Mixing keeps dual values within their bounds, and the dual never falls. Proposals with a positive
share in the mixture are kept for the next rounds: B. von Hohenbalken (1977), Simplicial
decomposition in nonlinear programming algorithms, Mathematical Programming 13.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from widemargin.modelfile.checks import check_shape

#: Maximum number of active-set steps; each adds or drops a proposal, and a few dozen are usual.
_STEPS = 500
#: Solved when no slope exceeds those in the active set by more than this fraction of the largest.
_SOLVED = 1e-10
#: Maximum number of proposals to keep. With 8 instead, sparse text takes as many rounds, but dense
#: rows (a9a in 8 partitions) several times as many.
_KEPT = 50
#: Fewer are kept if they would take more numbers than this in total (1 GB).
_NUMBERS = 1 << 27


class Proposal(NamedTuple):
    """Dual values of all examples, and the weights that result from them."""

    w: np.ndarray
    alpha: np.ndarray


def kept_proposals(problems: int, columns: int, examples: int) -> int:
    """How many proposals to keep for each problem."""
    return min(_KEPT, _NUMBERS // (problems * (columns + examples)))


def best_mixture(slopes: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Maximise slopes.x - x.Qx / 2 for x >= 0 with sum 1, by P. Wolfe's active-set method (1976).

    Examples
    --------
    >>> bends = np.diag([2.0, 4.0, 1.0, 0.0])
    >>> best_mixture(np.array([1.0, 1.0, -1.0, 0.0]), bends).round(9).tolist()
    [0.5, 0.25, 0.0, 0.25]
    >>> best_mixture(np.array([3.0, 1.0]), np.eye(2)).tolist()
    [1.0, 0.0]
    """
    x = np.zeros(len(slopes))
    x[int(np.argmax(slopes - 0.5 * np.diag(Q)))] = 1.0
    enough = _SOLVED * float(np.max(np.abs(slopes), initial=0.0))
    for _ in range(_STEPS):
        used = np.flatnonzero(x > 0.0)
        g = slopes - Q[:, used] @ x[used]
        level = float(np.max(g[used]))
        new = int(np.argmax(g))
        if g[new] <= level + enough and new not in used:
            return x
        free = used if new in used else np.append(used, new)
        if not _improve(x, free, slopes, Q) and new in used:
            return x
    return x


def _improve(x: np.ndarray, free: np.ndarray, slopes: np.ndarray, Q: np.ndarray) -> bool:
    """Move to the best mixture of some proposals; those whose share falls to zero are dropped."""
    n, moved = len(free), False
    while n > 1:
        KKT = np.ones((n + 1, n + 1))
        KKT[:n, :n] = Q[np.ix_(free, free)]
        KKT[n, n] = 0.0
        best = np.linalg.lstsq(KKT, np.append(slopes[free], 1.0), rcond=1e-14)[0][:n]
        way = best - x[free]
        falls = (best <= 0.0) & (way < 0.0)
        if not np.any(falls):
            moved |= bool(np.any(np.abs(way) > 1e-12))
            x[free] = np.maximum(best, 0.0)
            x[free] /= np.sum(x[free])
            return moved
        room = np.where(falls, x[free] / np.where(falls, -way, 1.0), np.inf)
        first = int(np.argmin(room))
        moved |= room[first] > 0.0
        x[free] = np.maximum(x[free] + room[first] * way, 0.0)
        x[free[first]] = 0.0
        free = np.delete(free, first)
        n -= 1
    x[free] = 1.0
    return moved


class Hull:
    """The proposals for one problem, and their best mixture.

    Parameters
    ----------
    now : Proposal
        The current dual values and weights.
    most : int
        Maximum number of proposals to keep.

    Attributes
    ----------
    now : Proposal
        The best mixture so far.
    kept : list of Proposal
        Proposals and earlier mixtures with a positive share in it.
    """

    def __init__(self, now: Proposal, most: int) -> None:
        self.now, self.most = now, most
        self.kept: list[Proposal] = []
        self._sums = np.array([np.sum(now.alpha)])  # of the dual values: of `now`, then of `kept`
        self._gram = np.zeros((1, 1))  # the curvature of the dual along each pair of them

    def mix(self, proposals: Sequence[Proposal], soft: np.ndarray | None) -> None:
        """Mix new proposals with the current mixture and the kept proposals.

        Parameters
        ----------
        proposals : sequence of Proposal
            The new proposals.
        soft : array or None
            What the squared hinge adds to the curvature of each dual value; None for the hinge.
        """
        every = [self.now, *self.kept, *proposals]
        old, count = len(every) - len(proposals), len(every)
        gram = np.zeros((count, count))
        gram[:old, :old] = self._gram
        for i in range(old, count):
            soften = None if soft is None else soft * every[i].alpha
            for j in range(i + 1):
                gram[i, j] = _product(every[i].w, every[j].w)
                if soften is not None:
                    gram[i, j] += _product(soften, every[j].alpha)
                gram[j, i] = gram[i, j]
        sums = np.append(self._sums, [np.sum(one.alpha) for one in proposals])
        # Relative to the current mixture, so that small differences are not lost to rounding.
        slopes = sums - sums[0] - (gram[0] - gram[0, 0])
        bends = gram - gram[0] - gram[:, :1] + gram[0, 0]
        self._become(every, best_mixture(slopes, bends), sums, gram)

    def _become(
        self, every: list[Proposal], x: np.ndarray, sums: np.ndarray, gram: np.ndarray
    ) -> None:
        """Adopt a mixture, and keep the proposals with a positive share in it."""
        w, alpha = np.zeros_like(self.now.w), np.zeros_like(self.now.alpha)
        for part, one in zip(x.tolist(), every, strict=True):
            if part:
                w += part * one.w
                alpha += part * one.alpha
        order = np.argsort(-x, kind="stable")[: self.most]
        chosen = np.sort(order[x[order] > 0.0])
        self.now, self.kept = Proposal(w, alpha), [every[i] for i in chosen]
        self._sums = np.append(sums @ x, sums[chosen])
        across = gram @ x
        self._gram = np.empty((len(chosen) + 1,) * 2)
        self._gram[0, 0], self._gram[0, 1:] = across @ x, across[chosen]
        self._gram[1:, 0], self._gram[1:, 1:] = across[chosen], gram[np.ix_(chosen, chosen)]

    # Checkpoints. The current mixture itself is saved elsewhere.

    def arrays(self) -> dict[str, np.ndarray]:
        """The kept proposals as arrays."""
        found = {"sums": self._sums, "gram": self._gram}
        for j, one in enumerate(self.kept):
            found |= {f"{j}.{name}": part for name, part in one._asdict().items()}
        return found

    def resume(self, now: Proposal, arrays: dict[str, Any]) -> None:
        """Undo `arrays`."""
        kept = len(arrays["sums"]) - 1
        check_shape("sums", arrays["sums"], (kept + 1,))
        check_shape("gram", arrays["gram"], (kept + 1, kept + 1))
        for j in range(kept):
            for name, part in now._asdict().items():
                check_shape(f"{j}.{name}", arrays[f"{j}.{name}"], part.shape)
        self.now = now
        self._sums, self._gram = np.array(arrays["sums"]), np.array(arrays["gram"])
        self.kept = [
            Proposal(*(np.array(arrays[f"{j}.{name}"]) for name in Proposal._fields))
            for j in range(kept)
        ]


def _product(a: np.ndarray, b: np.ndarray) -> float:
    """The product a . b, always summed in the same order, whatever the number of threads."""
    return float(np.einsum("i,i->", a, b))
