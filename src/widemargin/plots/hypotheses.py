"""The sequence of hypotheses of a training run, reconstructed from its mistake log."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from widemargin.errors import DataError
from widemargin.markup.reprs import brief_repr
from widemargin.plots.style import need_log


class Hypothesis(NamedTuple):
    """The weights between two corrections.

    Attributes
    ----------
    w, b : array (d,), float
        The hyperplane w.x + b = 0.
    row : int
        The example whose mistake produced it, -1 for the start.
    amount : float
        The multiple of that example that was added; its sign is the side of the example.
    born : float
        The number of examples seen when it was produced.
    """

    w: np.ndarray
    b: float
    row: int
    amount: float
    born: float

    def __repr__(self) -> str:
        return brief_repr(self)


def hypotheses(model: Any, most: int | None = None) -> list[Hypothesis]:
    """All hypotheses of a training run on two classes, the start first.

    Parameters
    ----------
    model : LinearModel
        Trained with keep="vote", which stores the log.
    most : int, optional
        Raise an error if there are more corrections than this.
    """
    log = need_log(model)
    if len(model.state.start) != 1:
        raise DataError(
            f"the model has {len(model.classes)} classes, whose weights are not a single line;"
            " train it on two"
        )
    if most is not None and len(log) > most:
        raise DataError(
            f"training made {len(log)} corrections, more than the {most} that can be drawn"
        )
    start = np.asarray(model.state.spread(model.state.start)[0], np.float64)
    w, v = start[:-1].copy(), float(start[-1])
    found = [Hypothesis(w.copy(), v * model.bias, -1, 0.0, 0.0)]
    for part in log.parts:
        matrix = part.support.to_matrix()
        for e, _, amount, count in zip(*part.entries, strict=True):
            row = matrix[int(e)]
            x = row.toarray()[0] if hasattr(row, "toarray") else row
            w[: len(x)] += amount * x
            v += amount * part.support.bias
            origin = int(part.origin[e])
            found.append(Hypothesis(w.copy(), v * model.bias, origin, float(amount), float(count)))
    return found


def scores_along(model: Any, x: Any) -> tuple[np.ndarray, np.ndarray]:
    """The score of every hypothesis on one example, and its number of votes.

    No weights are computed: the scores are the running sum of the corrections times x_e . x.

    Returns
    -------
    scores : array (hypotheses, 1 or classes)
    votes : array (hypotheses,)
        The number of examples for which each was current; the initial one counts one more.
    """
    log = need_log(model)
    state = model.state
    rows = model.rows(x)
    if rows.n != 1:
        raise DataError(f"the plot shows the votes on one example, found {rows.n}")
    if not state.joint and len(state.start) > 1:
        raise DataError(
            "each class was learned in its own run, so there is no single sequence of hypotheses;"
            " train with multiclass='joint'"
        )
    matrix = rows.to_matrix()
    row = np.asarray(matrix.toarray()[0] if rows.is_sparse else matrix[0], np.float64)
    start = np.asarray(state.spread(state.start), np.float64)
    current = start[:, : len(row)] @ row + start[:, -1] * rows.bias
    clocks, scores = [0.0], [current.copy()]
    for part in log.parts:
        width = min(part.support.width, len(row))
        support = part.support.to_matrix()[:, :width]
        alike = np.asarray(support @ row[:width]).ravel() + part.support.bias * rows.bias
        for e, label, amount, count in zip(*part.entries, strict=True):
            current[label] += amount * alike[e]
            if count == clocks[-1]:  # several classes are corrected at the same time
                scores[-1] = current.copy()
            else:
                clocks.append(float(count))
                scores.append(current.copy())
    ends = np.append(clocks[1:], state.count)
    return np.array(scores), ends - np.array(clocks)
