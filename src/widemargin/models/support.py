"""The support vectors of a kernel model: which are strongest, and which decided a prediction."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from widemargin.errors import DataError
from widemargin.kernels.blocks import block
from widemargin.models.explanation import Explanation, Reason, explanation_of
from widemargin.online.scores import best_class


def deployed_coefficients(model: Any) -> np.ndarray:
    """The coefficients that predict, one column per score; for a vote, those of the average."""
    if model.keep != "last" and len(model.summed):
        return model.summed / model.count
    return model.coef


def score_names(model: Any) -> list[str]:
    """The name of each column of coefficients: a class, or a pair of classes."""
    labels = [str(label) for label in model.classes.tolist()]
    if _has_pairs(model):
        return [f"{a} / {b}" for a, b in combinations(labels, 2)]
    return labels[-1:] if model.coef.shape[1] == 1 else labels


def _has_pairs(model: Any) -> bool:
    """Whether there is one machine per pair of classes (three classes also have three pairs)."""
    return getattr(model, "pairs", False)


def strongest_rows(
    model: Any, top: int, first: int = 0
) -> list[tuple[str, list[tuple[int, float]]]]:
    """For each score, the training rows with the largest coefficients, and these coefficients.

    Parameters
    ----------
    model : KernelModel
    top : int
        Maximum number of rows per score.
    first : int
        The number of the first row.
    """
    found = []
    for name, coef in zip(score_names(model), deployed_coefficients(model).T, strict=True):
        order = np.argsort(-np.abs(coef), kind="stable")[:top]
        rows = [(int(model.support.index[i]) + first, float(coef[i])) for i in order if coef[i]]
        found.append((name, rows))
    return found


def explain_by_support(model: Any, x: Any, top: int | None, first: int) -> Explanation:
    """Which support vectors decided one prediction, see `KernelModel.explain`."""
    points = model.points(x)
    if points.n != 1:
        raise DataError(f"explain takes one row, found {points.n}")
    scores = model.class_scores(x)
    code, rival, direction, bias = _compared(model, scores)
    support, columns = model.support_for(points)
    asked = points if columns is None else points.keep(columns, slice(0, 1))
    values = block(model.kernel, support, asked)[:, 0].astype(np.float64)
    own = _own_labels(model)
    reasons = [
        Reason(f"row {row + first} ({label})", value, weight, value * weight, None)
        for row, label, value, weight in zip(
            model.support.index.tolist(), own, values.tolist(), direction.tolist(), strict=True
        )
        if value * weight
    ]
    if bias:
        reasons.append(Reason("(bias)", 1.0, bias, bias, None))
    told = explanation_of(model.classes[code], model.classes[rival], reasons, top)
    if model.keep != "vote":
        return told
    lead = scores[0, code] - scores[0, rival] if scores.ndim == 2 else abs(scores[0])
    return replace(told, score=float(lead), voted=True, rest=None)


def _compared(model: Any, scores: np.ndarray) -> tuple[int, int, np.ndarray, float]:
    """The class that won, the runner-up, and the coefficients and bias in favour of the winner."""
    coef, intercept = deployed_coefficients(model), model.intercept
    code = int(best_class(scores)[0])
    if coef.shape[1] == 1:
        sign = 1.0 if code else -1.0
        return code, 1 - code, sign * coef[:, 0], sign * float(intercept[0])
    others = scores[0].copy()
    others[code] = -np.inf
    rival = int(np.argmax(others))
    if not _has_pairs(model):
        bias = float(intercept[code] - intercept[rival])
        return code, rival, coef[:, code] - coef[:, rival], bias
    pairs = list(combinations(range(len(model.classes)), 2))
    column = pairs.index((min(code, rival), max(code, rival)))
    sign = 1.0 if code < rival else -1.0
    return code, rival, sign * coef[:, column], sign * float(intercept[column])


def _own_labels(model: Any) -> list[Any]:
    """The label of every support vector, read off its coefficients."""
    sizes = getattr(model, "support_sizes", None)
    if sizes is not None and sizes.sum() == model.support.n:
        codes = np.repeat(np.arange(len(sizes)), sizes)
    elif model.coef.shape[1] == 1:
        codes = (deployed_coefficients(model)[:, 0] > 0.0).astype(np.int64)
    else:
        codes = np.argmax(deployed_coefficients(model), axis=1)
    return model.classes[codes].tolist()
