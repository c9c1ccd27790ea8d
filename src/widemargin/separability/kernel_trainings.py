"""Certificates for the training of a kernel perceptron: mistakes and their bounds (L20, L25)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from widemargin.certificates.certificate import (
    Certificate,
    RunCertificate,
    mistake_bound,
)
from widemargin.certificates.theorem import BRANCHED, departure
from widemargin.data.encode.labels import check_label_count, codes_of
from widemargin.errors import DataError
from widemargin.kernels.points import points_of
from widemargin.markup.reprs import brief
from widemargin.models.kernel import KernelModel, combine
from widemargin.separability.linear_trainings import (
    hinge_bound,
    learned_from,
    trials_of,
    withdraw_refuted,
)

#: Examples per block when |w| is computed, so that the block of kernel values stays small.
_BLOCK = 512


def begin_kernel_run(model: KernelModel) -> RunCertificate:
    """Return what is known without any examples."""
    history = model.history
    return RunCertificate(
        history.mistakes, history.epochs_run, no_bound=_why_no_bound(model), R=model.R
    )


def inspect_kernel_run(
    model: KernelModel, X: Any, y: Any, data: Certificate | None
) -> RunCertificate:
    """Return what is known about a training on these examples, measured in feature space.

    Parameters
    ----------
    model : KernelModel
    X, y, data
        As for `inspect_run` of a linear model, but with a certificate in feature space.
    """
    known = begin_kernel_run(model)
    if len(model.classes) > 2:
        return known
    codes = codes_of(y, model.classes)
    if np.any(codes < 0):
        raise DataError(f"label {brief(np.asarray(y)[np.argmin(codes)])} is unknown to the model")
    # A vote has no single weight vector, so use the average. Training uses no threshold.
    answering = replace(model.using("average") if model.keep == "vote" else model, threshold=0.0)
    scores = answering.decision_function(X)
    check_label_count(len(scores), len(codes))
    leads = np.where(codes == 1, scores, -scores)
    length = length_of(answering, X)
    margin = float(np.min(leads)) / length if length else 0.0
    rows, drawn = None, model.params.get("shuffle") == "draw"
    if model.log is not None:
        rows = model.support.index[model.log.example.astype(np.int64)]
    trials = trials_of(rows, len(codes), model.history, drawn)
    gamma = bound = None
    if data is not None and data.extended is not None and data.extended.low > 0.0:
        gamma, bound = data.extended, mistake_bound(model.R, data.extended.low)
    found = RunCertificate(
        known.mistakes,
        known.epochs,
        known.no_bound,
        n=learned_from(len(codes), model.history, model.params),
        R=model.R,
        margin=margin,
        extended_margin=margin,
        gamma=gamma,
        bound=None if known.no_bound else bound,
        hinge_bound=None if known.no_bound else hinge_bound(leads, trials, length, model.R),
    )
    return withdraw_refuted(found)


def length_of(model: KernelModel, X: Any) -> float:
    """Return |w| in feature space, the root of a' K a; X are the training examples."""
    average = model.keep == "average"
    coef = model.summed / model.count if average else model.coef
    support = model.support
    if model.kernel.is_precomputed:  # the model stores only the row numbers of its support
        support = points_of(model.kernel, X).take(support.index)
    total = 0.0
    for begin in range(0, support.n, _BLOCK):
        part = support.take(slice(begin, begin + _BLOCK))
        scores = combine(model.kernel, coef, support, part)
        total += float(np.sum(scores * coef[begin : begin + part.n].T))
    return math.sqrt(max(0.0, total))


def _why_no_bound(model: KernelModel) -> str:
    """Return why the mistake bound does not apply to this training; empty if it does."""
    if reason := departure(model.rule, model.params) or model.history.no_bound:
        return reason
    if len(model.classes) > 2:
        return "it is known only for two classes"
    return BRANCHED if model.history.branched(int(model.count) - 1) else ""
