"""Scores of rows under given weights, votes of a log, and the rule for ties."""

from __future__ import annotations

import numpy as np

from widemargin.data.rows import Rows, frozen
from widemargin.loops.linear.passes import COUNT, SCALE, SEEN
from widemargin.loops.linear.scores import binary_scores, multiclass_scores
from widemargin.online.mistake_log import Votes
from widemargin.online.state import State
from widemargin.threads import run_all, split


def scores(rows: Rows, which: np.ndarray, W: np.ndarray, threads: int = 1) -> np.ndarray:
    """W . x for some rows: one number per row if W is one vector, else one per row and class.

    Examples
    --------
    >>> import numpy as np
    >>> rows = Rows.of(np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> scores(rows, rows.everything, np.array([[10.0, 1.0, 0.5]]))
    array([12.5, 34.5])
    """
    if rows.width >= W.shape[1]:  # the loops do not check, and would read out of bounds
        raise ValueError(f"rows have {rows.width} columns, but weights have {W.shape[1] - 1}")
    if len(W) > 1:  # one layout per storage, so that a loaded model gives identical bits
        W = np.asfortranarray(W) if rows.is_sparse else np.ascontiguousarray(W)
    if len(W) == 1:
        loop, weights, out = binary_scores, np.ascontiguousarray(W[0]), np.empty(len(which))
    else:
        loop, weights, out = multiclass_scores, W, np.empty((len(which), len(W)))
    which = frozen(which)
    run_all(
        lambda piece: loop(rows.stored, which[piece], weights, out[piece]),
        split(len(which), threads),
        threads,
    )
    return out


def votes_on(state: State, rows: Rows, which: np.ndarray, threads: int = 1) -> Votes:
    """The votes of all hypotheses in the log of a state, on some rows."""
    if state.log is None:
        raise ValueError("the mistake log was not kept: train with keep='vote'")
    numbered, start = state.matching(rows, state.start, threads)
    votes = Votes(rows, which, scores(numbered, which, start, threads), state.joint)
    for part in state.log.parts:
        votes.update(part, threads)
    return votes


def deployed_scores(
    W: np.ndarray, divisor: np.ndarray, rows: Rows, which: np.ndarray, threads: int = 1
) -> np.ndarray:
    """The scores of deployed weights, see `State.deployed`."""
    return scores(rows, which, W.astype(rows.dtype, copy=False), threads) / divisor


def state_scores(state: State, keep: str, rows: Rows) -> np.ndarray:
    """The scores of all rows under a state, without computing the deployed weights first.

    This pays off for few rows: the cost of averaging the weights is proportional to all features.
    """
    if keep == "vote":
        return votes_on(state, rows, rows.everything).result(state.count)
    numbered, W = state.matching(rows, state.W)
    found = scores(numbered, rows.everything, W)
    if keep == "last":
        return found * state.clock[:, SCALE]
    numbered, U = state.matching(rows, state.U)
    mean = scores(numbered, rows.everything, U)
    return (found * state.clock[:, COUNT] - mean) / (state.clock[:, SEEN] + 1.0)


def state_answers(state: State, keep: str, rows: Rows, threads: int = 1) -> np.ndarray:
    """The predicted class codes of all rows under a state."""
    if keep == "vote":
        return best_class(votes_on(state, rows, rows.everything, threads).result(state.count))
    W, divisor = state.deployed(keep)
    numbered, W = state.matching(rows, W, threads)
    return best_class(deployed_scores(W, divisor, numbered, rows.everything, threads))


def best_class(found: np.ndarray) -> np.ndarray:
    """Return the predicted class codes.

    With two classes, a score of 0 or more means the second; with more, the first of the best wins.

    Examples
    --------
    >>> import numpy as np
    >>> best_class(np.array([-1.0, 0.0])).tolist()
    [0, 1]
    >>> best_class(np.array([[2.0, 2.0, 1.0]])).tolist()
    [0]
    """
    if found.ndim == 1:
        return (found >= 0).astype(np.int64)
    return np.argmax(found, axis=1)
