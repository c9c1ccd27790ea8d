"""`widemargin train` without files: the embedded set."""

from __future__ import annotations

import time

import numpy as np

from widemargin.cli.digits import read_digits
from widemargin.cli.learners import Learner
from widemargin.cli.report import Job, Report, say_if_cold, watch_of
from widemargin.data.encode.labels import encode_labels
from widemargin.data.rows import Rows
from widemargin.online.fit import fit_linear, split

#: The part of the embedded set that is only used to measure.
MEASURED = 0.2


def train_digits(learner: Learner, job: Job) -> int:
    """Train on the embedded set; returns the exit code."""
    say_if_cold(job)
    began = time.monotonic()
    X, y = read_digits()
    classes, codes = encode_labels(y)
    rng = learner.generator()
    learned, measured = (part.astype(np.int64) for part in split(codes, MEASURED, rng))
    rows = learner.settings.extend(Rows.of(X[learned]))
    with watch_of(learner, job) as watch:
        state, history = fit_linear(
            rows, classes, codes[learned], learner.settings, rng, watch=watch
        )
    model = learner.model(classes, state, rows.bias, history, rng)
    model.save(job.model)
    right = int(np.sum(model.predict(X[measured]) == y[measured]))
    report = Report("digits", rows.n, learner, model, job, began)
    report.tell((right, len(measured)))
    return 130 if watch.interrupted else 0
