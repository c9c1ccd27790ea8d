"""Certificates for linear training: mistakes, their bounds, and the proof's inequalities."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from widemargin.certificates.certificate import (
    Bracket,
    Certificate,
    RunCertificate,
    mistake_bound,
)
from widemargin.certificates.theorem import BRANCHED, OTHERS, departure, foresees
from widemargin.data.encode.labels import check_label_count, codes_of
from widemargin.data.rows import Rows
from widemargin.errors import DataError
from widemargin.markup.reprs import brief
from widemargin.models.linear import LinearModel
from widemargin.training.history import History

#: A training with more mistakes than this is not replayed, because each mistake takes some
#: microseconds in Python. Chosen by hand.
_MOST_FOLLOWED = 100_000
#: The margins tried in the hinge-loss bound, as fractions of R: any margin gives a valid bound.
_GAMMAS = (1e-4, 1.0, 200)


#: Why mixing partitions by the features they changed gives no mistake bound.
NO_THEOREM = (
    "the weights of partitions were mixed by the features that each changed, for which there is no"
    " theorem; there is one for mix='uniform'"
)


def why_no_bound(model: LinearModel) -> str:
    """Return why the mistake bound does not apply to this training; empty if it does."""
    if reason := departure(model.rule, model.params) or model.history.no_bound:
        return reason
    conditions = (
        (
            len(model.classes) <= 2 or model.state.joint,
            "each class was learned against the rest, in a separate run",
        ),
        (
            model.mixture is None or model.mixture[0] == "uniform",
            NO_THEOREM,
        ),
        (model.mixture is not None or not model.history.branched(model.state.seen), BRANCHED),
    )
    return next((reason for held, reason in conditions if not held), "")


def begin_run(model: LinearModel) -> RunCertificate:
    """Return what is known without any examples."""
    history, why = model.history, why_no_bound(model)
    weighted = None
    if model.mixture is not None and not why:
        weighted = history.mistakes / model.mixture[1]
    return RunCertificate(
        history.mistakes, history.epochs_run, no_bound=why, weighted_mistakes=weighted
    )


def inspect_run(model: LinearModel, X: Any, y: Any, data: Certificate | None) -> RunCertificate:
    """Return what is known about a training on these examples.

    Parameters
    ----------
    model : LinearModel
    X, y
        The examples that it was trained on, in the order in which they were given.
    data : Certificate or None
        The certificate of the examples, for two classes.
    """
    known = begin_run(model)
    rows = Rows.of(X, bias=model.bias, dtype=np.float64)
    codes = codes_of(y, model.classes)
    check_label_count(rows.n, len(codes))
    if rows.width != model.state.width:
        raise DataError(f"X has {rows.width} features, but the model has {model.state.width}")
    if np.any(codes < 0):
        raise DataError(f"label {brief(np.asarray(y)[np.argmin(codes)])} is unknown to the model")
    matrix = rows.to_matrix()
    squares = matrix.multiply(matrix).sum(axis=1) if rows.is_sparse else (matrix**2).sum(axis=1)
    R = math.sqrt(float(np.max(squares)) + rows.bias**2)
    numbered, W = model.state.matching(rows, np.asarray(model.stored_weights, np.float64))
    leads = _leads(numbered.to_matrix(), rows.bias, W, codes)
    margin, extended = _margins(W, leads)
    gamma, bound = None, None
    if len(W) == 1 and data is not None and data.extended is not None and data.extended.low > 0:
        gamma, R = data.extended, data.R
        bound = mistake_bound(R, gamma.low)
    elif len(W) > 1 and extended > 0.0:
        gamma = Bracket(extended, math.inf)
        bound = 2.0 * mistake_bound(R, extended)
    progress = None
    if not known.no_bound and len(W) == 1 and data is not None and gamma is not None:
        progress = _follow(model, matrix, rows.bias, data, R)
    drawn = model.params.get("shuffle") == "draw"
    trials = trials_of(_corrected_rows(model), rows.n, model.history, drawn)
    length = math.sqrt(float(np.sum(W**2)))
    one = not known.no_bound and len(W) == 1 and model.mixture is None
    hinge = hinge_bound(leads, trials, length, R) if one else None
    found = RunCertificate(
        known.mistakes,
        known.epochs,
        known.no_bound,
        n=learned_from(rows.n, model.history, model.params),
        R=R,
        margin=margin,
        extended_margin=extended,
        gamma=gamma,
        bound=None if known.no_bound else bound,
        hinge_bound=hinge,
        progress=progress,
        weighted_mistakes=known.weighted_mistakes,
    )
    return found if model.mixture is not None else withdraw_refuted(found)


def withdraw_refuted(run: RunCertificate) -> RunCertificate:
    """Return the certificate without its bounds if there were more mistakes than they allow."""
    bounds = [bound for bound in (run.bound, run.hinge_bound) if bound is not None]
    if all(run.mistakes <= bound * (1.0 + 1e-9) for bound in bounds):
        return run
    return replace(run, no_bound=OTHERS, bound=None, hinge_bound=None, progress=None)


def _leads(matrix: Any, constant: float, W: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return by how much every example's right class outscores the best wrong one."""
    scores = np.asarray(matrix @ W[:, :-1].T) + constant * W[:, -1]
    if len(W) == 1:
        return np.where(codes == 1, scores[:, 0], -scores[:, 0])
    each = np.arange(len(codes))
    right = scores[each, codes].copy()
    scores[each, codes] = -np.inf
    return right - scores.max(axis=1)


def _margins(W: np.ndarray, leads: np.ndarray) -> tuple[float, float]:
    """Return the smallest lead as a distance, without and with the constant feature's weight."""
    least = float(np.min(leads))
    lengths = [math.sqrt(float(np.sum(part**2))) for part in (W[:, :-1], W)]
    return (
        least / lengths[0] if lengths[0] else math.copysign(math.inf, least) if least else 0.0,
        least / lengths[1] if lengths[1] else 0.0,
    )


def _corrected_rows(model: LinearModel) -> np.ndarray | None:
    """Return the row of every correction; None without a log."""
    if model.state.log is None:
        return None
    return np.array([correction.row for correction in model.state.log], dtype=np.int64)


def trials_of(rows: np.ndarray | None, n: int, history: History, drawn: bool) -> np.ndarray:
    """Return how many mistakes each example caused or, if unknown, the most it can have caused.

    Parameters
    ----------
    rows : array or None
        The row of every correction, if there is a log.
    n : int
        The number of examples.
    history : History
        The log ends at the epoch whose weights were returned, but mistakes are counted to the end.
    drawn : bool
        Whether examples were drawn with replacement, so that an epoch may repeat one.
    """
    # In a call of its own, the same example has another row number.
    if rows is not None and not history.went_back and np.all(rows < n):
        return np.bincount(rows, minlength=n).astype(np.float64)
    often = drawn or history.may_repeat(n)
    return np.full(n, float(history.mistakes if often else history.epochs_run))


def learned_from(n: int, history: History, params: Mapping[str, Any]) -> int | None:
    """Return how many of n examples the first epoch learned from: not those held out.

    None if it was not from each as a new one, or if others were left out, such as those of weight
    0, which may all have the same label.
    """
    learned = history.examples_per_epoch or n
    left_out = learned < n and not params.get("validation")
    if left_out or foresees(params, history.no_bound) or history.may_repeat(n):
        return None
    return learned


def hinge_bound(leads: np.ndarray, trials: np.ndarray, length: float, R: float) -> float | None:
    """Return the smallest (R / gamma)^2 + 2 L / gamma over some gammas, with L the hinge loss."""
    if not length:
        return None
    distances = leads / length
    candidates = R * np.geomspace(*_GAMMAS)
    bounds = [
        mistake_bound(R, gamma) + 2.0 * float(trials @ np.maximum(0.0, gamma - distances)) / gamma
        for gamma in candidates.tolist()
    ]
    return min(bounds)


def _follow(
    model: LinearModel, matrix: Any, constant: float, data: Certificate, R: float
) -> np.ndarray | None:
    """Return both sides of both inequalities after every mistake, for steps of length 1."""
    log, evidence, gamma = model.state.log, data.extended_evidence, data.extended
    if log is None or evidence is None or gamma is None or model.history.mistakes > _MOST_FOLLOWED:
        return None
    if model.state.start.size and np.any(model.state.start):
        return None
    if any(correction.row >= matrix.shape[0] for correction in log):  # the examples are repeated
        return None
    best = np.append(np.asarray(evidence.w, np.float64), 0.0)
    if constant:
        best[-1] = float(evidence.b) / constant
    best /= math.sqrt(float(best @ best))
    eta = float(model.params.get("eta", 1.0))
    w = np.zeros(len(best))
    lines = []
    for k, correction in enumerate(log, start=1):
        row = matrix[correction.row]
        x = np.append(row.toarray()[0] if hasattr(row, "toarray") else row, constant)
        w += correction.amount / eta * x
        lines.append((float(w @ best), k * gamma.low, float(w @ w), k * R * R))
    return np.array(lines) if lines else None
