"""Train a learner of the lab with the library's own driver, and describe the run as JSON."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from widemargin.certificates.certificate import Certificate
from widemargin.data.rows import Rows
from widemargin.errors import DataError
from widemargin.kernel_machines.perceptron.fit import fit_kernel_perceptron
from widemargin.kernel_machines.perceptron.settings import KernelSettings
from widemargin.kernel_machines.svm.fit import KernelSVMSettings, fit_kernel_svm
from widemargin.kernels.blocks import block
from widemargin.linear_svm.fit import SVMSettings, TrainedSVM, fit_svm
from widemargin.models.linear import LinearModel
from widemargin.online.examples import InMemory
from widemargin.online.fit import begin
from widemargin.online.label_runs import find_runs
from widemargin.online.learn import learn
from widemargin.online.mistake_log import NO_LOG
from widemargin.online.orders import EpochOrders
from widemargin.online.settings import Settings
from widemargin.parameters.settings import settings_from
from widemargin.separability.kernel_trainings import inspect_kernel_run
from widemargin.separability.linear_trainings import inspect_run
from widemargin.training.history import History
from widemargin.training.run import Moment
from widemargin.web.lab.learners import LearnerChoice
from widemargin.web.lab.points import MOST_KERNEL_POINTS, Placed, grid_of
from widemargin.web.lab.replay import (
    Corrections,
    RecordedOrders,
    before_each_step,
    corrections_of,
    joined_orders,
    mistakes_along,
    packed,
    sums_along,
    weights_along,
)
from widemargin.web.lab.script import SVM_TOL
from widemargin.web.lab.verdicts import certified, finite, run_of, verdict_of

#: Time limits in seconds of one training run and one certificate. Within the limits of the lab they
#: take far less, once the loops are compiled.
_SECONDS, PATIENCE = 3.0, 1.0
#: The largest number of steps of a replay; the hypothesis of each takes 24 bytes or more.
MOST_STEPS = 20_000
#: Points per side of the grid that is drawn for boundaries that are not lines.
GRID = 41
#: Epochs after which the weights of an SVM are shown: it converges fast at first, then slowly.
_PASSES = (1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 30, 40, 55, 75, 100, 150, 250, 500, 1000)


#: The kinds of training whose loops have been compiled or loaded.
_COMPILED: set[tuple[str, bool, bool]] = set()


class StoppedError(Exception):
    """The page that sent the request has gone."""


class Watch:
    """Stops training when the page has gone, or after some seconds."""

    def __init__(self, stop: threading.Event, limited: bool = True) -> None:
        self.stop = stop
        self.seconds = _SECONDS if limited else None
        self.patience = PATIENCE if limited else None

    def __call__(self, moment: Moment | None = None) -> bool:
        """Whether to stop; called between pieces of work."""
        return self.stop.is_set()

    def look(self) -> None:
        """Raise `StoppedError` if the page has gone."""
        if self.stop.is_set():
            raise StoppedError


def train(
    choice: LearnerChoice, placed: Placed, frame: Sequence[float], watch: Watch
) -> dict[str, Any] | None:
    """Train one learner; None with fewer than two classes.

    Parameters
    ----------
    choice : LearnerChoice
        The learner and its settings.
    placed : Placed
        The points.
    frame : left, right, bottom, top
        The part of the plane for which scores are sent, if boundaries are not lines.
    watch : Watch
        Tells when to stop.
    """
    if len(placed.present) < 2:
        return None
    work = {
        "online": _online,
        "kernel": _kernel,
        "svm": _svm,
        "kernel svm": _kernel_svm,
    }[choice.learner.kind]
    kind = (choice.learner.kind, len(placed.present) > 2, choice.values.get("batch") == 1)
    if kind not in _COMPILED:
        # Compiling takes longer than the time limit of a run, so it is done before.
        work(choice, _tiny(len(placed.present)), frame, Watch(watch.stop, limited=False))
        _COMPILED.add(kind)
    result = work(choice, placed, frame, watch)
    watch.look()
    common = {"learner": choice.learner.name, "kind": choice.learner.kind}
    return {**common, "classes": placed.present.tolist(), "values": dict(choice.values), **result}


def _online(
    choice: LearnerChoice, placed: Placed, frame: Sequence[float], watch: Watch
) -> dict[str, Any]:
    """Train a linear online learner, on one example or batch after the other."""
    params = _limited(choice, placed)
    seed = params.pop("random_state")
    if choice.learner.name == "logistic":
        params["rule"] = "logistic"
    if params["start"] not in ("zero", "random") and len(placed.present) > 2:
        raise DataError("a given start needs two classes; start at zero or at random")
    settings = Settings(**{**params, "keep": "vote", "max_seconds": watch.seconds})
    settings.check()
    rows = settings.extend(Rows.of(placed.X))
    rng = np.random.default_rng(seed)
    state = begin(rows, len(placed.present), settings, rng)
    recorded = RecordedOrders(InMemory(rows, placed.codes, settings.shuffle))
    history = learn(recorded, state, settings, rng, watch=watch)
    watch.look()
    whole = state.log.joined() if state.log is not None else None
    made = corrections_of(NO_LOG, np.empty(0, np.int64))
    if whole is not None:
        made = corrections_of(whole.entries, whole.origin)
    order = joined_orders(recorded.orders, int(state.seen))
    extended = np.column_stack([placed.X, np.full(len(placed.X), rows.bias)])
    W = weights_along(made, np.asarray(state.spread(state.start), np.float64), extended)
    scores = np.einsum("tvj,tj->tv", W[before_each_step(made, len(order))], extended[order])
    model = LinearModel(
        placed.classes, state, "vote", settings.rule, rows.bias, params=params, history=history
    )
    data = certified(placed, bool(settings.fit_intercept), seconds=watch.patience)
    known = inspect_run(model, placed.X, placed.y, data if isinstance(data, Certificate) else None)
    return {
        **_steps_json(choice, made, order, placed, history),
        "mistakes": mistakes_along(
            made, order, placed.codes, scores, settings.ties == "mistake"
        ).tolist(),
        "weights": packed(W),
        "sums": packed(sums_along(made, W)),
        "constant": rows.bias,
        "advice": find_runs(settings, placed.codes, placed.classes),
        "known": run_of(known),
        "certificate": verdict_of(data, placed),
    }


def _kernel(
    choice: LearnerChoice, placed: Placed, frame: Sequence[float], watch: Watch
) -> dict[str, Any]:
    """Train a kernel perceptron; its scores are running sums of kernel values."""
    _limit_kernel(placed)
    params = _limited(choice, placed)
    seed = params.pop("random_state")
    settings = KernelSettings(**{**params, "keep": "vote", "max_seconds": watch.seconds})
    rng = np.random.default_rng(seed)
    model = fit_kernel_perceptron(
        placed.X, placed.classes, placed.codes, settings, rng, watch=watch
    )
    watch.look()
    assert model.log is not None
    made = corrections_of(model.log, model.support.index)
    again = EpochOrders(
        np.arange(len(placed.X), dtype=np.uint64), settings.shuffle, np.random.default_rng(seed)
    )
    epochs = [again.begin(resumed=False) for _ in range(len(model.history))]
    order = joined_orders(epochs, round(model.count) - 1)
    places = np.vstack([placed.X, grid_of(frame, GRID)])
    values = block(model.kernel, model.support, model.points(places))
    data = certified(placed, False, model.kernel, seconds=watch.patience)
    known = inspect_kernel_run(
        model, placed.X, placed.y, data if isinstance(data, Certificate) else None
    )
    return {
        **_steps_json(choice, made, order, placed, model.history),
        # The rule corrects only mistakes.
        "mistakes": (made.born[1:] - 1).astype(int).tolist(),
        "support": model.support.index.tolist(),
        "on_points": packed(values[:, : len(placed.X)]),
        "on_grid": packed(values[:, len(placed.X) :], np.float32),
        "frame": list(frame),
        "grid": GRID,
        "vectors": int(model.coef.shape[1]),
        "advice": find_runs(settings, placed.codes, placed.classes),
        "known": run_of(known),
        "certificate": verdict_of(data, placed),
    }


def _svm(
    choice: LearnerChoice, placed: Placed, frame: Sequence[float], watch: Watch
) -> dict[str, Any]:
    """Train a linear SVM several times, each with more epochs, to show its progress."""
    passes: list[dict[str, Any]] = []
    trained: TrainedSVM | None = None
    for epochs in _PASSES:
        stops = {"epochs": epochs, "tol": SVM_TOL, "max_seconds": watch.seconds}
        settings = settings_from(SVMSettings, choice.params, **stops)
        rows = Rows.of(placed.X, bias=settings.constant)
        trained = fit_svm(
            rows, placed.classes, placed.codes, settings, np.random.default_rng(0), watch=watch
        )
        watch.look()
        found = trained.certificate
        W = np.asarray(trained.state.spread(trained.state.last()), np.float64)
        W[:, -1] *= settings.weighted
        passes.append(
            {
                "passes": len(trained.history),
                "weights": W.tolist(),
                "primal": finite(found.primal),
                "dual": finite(found.dual),
                "gap": finite(found.gap),
                "support": found.support.tolist() if found.alpha is not None else [],
                "margin": None if found.margin is None else [*map(finite, found.margin)],
            }
        )
        if len(trained.history) < epochs:  # it has converged
            break
    assert trained is not None
    data = certified(placed, True, seconds=watch.patience)
    return {
        "passes": passes,
        "stopped": trained.history.stopped,
        "separates": trained.certificate.separates,
        "alpha": _alpha(trained.certificate.alpha),
        "certificate": verdict_of(data, placed),
    }


def _kernel_svm(
    choice: LearnerChoice, placed: Placed, frame: Sequence[float], watch: Watch
) -> dict[str, Any]:
    """Train a kernel SVM; its solution is sent as scores on a grid."""
    _limit_kernel(placed)
    settings = KernelSVMSettings(**choice.params, max_seconds=watch.seconds)
    trained = fit_kernel_svm(
        Rows.of(placed.X, bias=0.0), placed.classes, placed.codes, settings, watch=watch
    )
    watch.look()
    model = trained.model
    places = np.vstack([placed.X, grid_of(frame, GRID)])
    scores = np.asarray(model.class_scores(places), np.float64)
    scores = scores.reshape(len(places), -1)
    found = model.certificate
    assert found is not None
    data = certified(placed, True, model.kernel, seconds=watch.patience)
    return {
        "support": model.support.index.tolist(),
        "alpha": np.abs(model.coef).max(axis=1).tolist(),
        "on_points": packed(scores[: len(placed.X)].T),
        "on_grid": packed(scores[len(placed.X) :].T, np.float32),
        "frame": list(frame),
        "grid": GRID,
        "primal": finite(found.primal),
        "dual": finite(found.dual),
        "gap": finite(found.gap),
        "stopped": model.history.stopped,
        "certificate": verdict_of(data, placed),
    }


def _tiny(classes: int) -> Placed:
    """Two points of each class, for this many classes."""
    codes = np.repeat(np.arange(classes), 2)
    X = np.stack([np.arange(2.0 * classes), codes % 2 + 0.5 * np.arange(2 * classes)], axis=1)
    return Placed(X, list(range(classes)), np.arange(classes), codes)


def _steps_json(
    choice: LearnerChoice, made: Corrections, order: np.ndarray, placed: Placed, history: History
) -> dict[str, Any]:
    """What the page needs to replay a run step by step."""
    return {
        "keep": choice.values["keep"],
        "order": order.tolist(),
        "epochs": [int(epoch.mistakes) for epoch in history],
        "stopped": history.stopped,
        "cycle": None if history.cycle is None else list(history.cycle),
        "born": made.born.tolist(),
        "ends": made.ends.tolist(),
        "rows": made.row.tolist(),
        "labels": made.label.tolist(),
        "amounts": made.amount.tolist(),
    }


def _limited(choice: LearnerChoice, placed: Placed) -> dict[str, Any]:
    """The parameters of a learner that is replayed; raises an error if it takes too many steps."""
    params = choice.params
    steps = params["epochs"] * len(placed.X)
    if steps > MOST_STEPS:
        most = MOST_STEPS // len(placed.X)
        raise DataError(
            f"{params['epochs']} epochs over {len(placed.X)} points are {steps:,} steps, and the"
            f" lab replays at most {MOST_STEPS:,}: choose at most {most} epochs"
        )
    return params


def _limit_kernel(placed: Placed) -> None:
    if len(placed.X) > MOST_KERNEL_POINTS:
        raise DataError(
            f"kernel learners take at most {MOST_KERNEL_POINTS} points in the lab, found"
            f" {len(placed.X)}: erase some, or choose a linear learner"
        )


def _alpha(alpha: np.ndarray | None) -> list[float]:
    """The dual value of every example; with several problems, the largest."""
    if alpha is None:
        return []
    return np.abs(alpha if alpha.ndim == 1 else alpha.max(axis=1)).tolist()
