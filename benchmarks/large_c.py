"""Linear SVMs with C from 1e-3 to 1e6 on every set with two classes, scaled and unscaled."""

from __future__ import annotations

import itertools
import math
import pathlib
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from sklearn.svm import LinearSVC

from benchmarks.harness import (
    Comparison,
    KeptFigures,
    Outcome,
    Outcomes,
    Side,
    Target,
    findings_of,
)
from benchmarks.limits import within
from benchmarks.svm_objectives import objective, sets
from widemargin import LinearSVM

COSTS = (1e-3, 1.0, 1e2, 1e4, 1e6)
#: LinearSVC's solvers and tolerances; the fastest one that is close enough counts.
SETTINGS = {
    "hinge": [(True, tol) for tol in (1.0, 0.1, 0.01)],
    "squared_hinge": [(False, 0.1), (False, 1e-2), (False, 1e-4), (True, 0.1), (True, 0.01)],
}
#: How far a side may be from the lowest objective.
CLOSE = 1e-3
#: The time limit for our fits.
SECONDS = 250.0
#: A fit of LinearSVC is stopped after this many times our time, plus this many seconds: how much
#: slower it is does not matter.
TIMES, MORE = 1.2, 0.02
#: Fits are repeated for ENOUGH seconds. If ours takes longer than LONG, only one setting of
#: LinearSVC is tried, the second.
ENOUGH, LONG = 0.05, 5.0


class Fit(NamedTuple):
    """One fit: its data and settings, its time, and the relative gap."""

    name: str
    loss: str
    C: float
    seconds: float
    gap: float
    bound: float = 0.0  # no objective is lower


class Task(NamedTuple):
    """A set with two classes."""

    name: str
    X: Any
    y: np.ndarray


def cases(toy: bool) -> Sequence[str]:
    """Name the sets."""
    return ["toy"] if toy else [name for name, _ in sets()]


def compare(case: str, toy: bool, scratch: pathlib.Path) -> Comparison:
    """Fit a set with both losses and every C, on one thread."""
    warnings.simplefilter("ignore")
    tasks = list(_toy()) if toy else [Task(case, *dict(sets())[case]())]
    for X, y in ((task.X, task.y) for task in _toy()):  # compiles
        for form, loss in itertools.product((np.asarray, scipy.sparse.csr_matrix), SETTINGS):
            LinearSVM(C=100.0, loss=loss, random_state=0).fit(form(X), y)
    for task, loss in itertools.product(tasks, SETTINGS):  # compiles what larger sets need
        LinearSVM(C=COSTS[0], loss=loss, random_state=0).fit(task.X, task.y)
    names = "; ".join(f"{task.name} {task.X.shape[0]} x {task.X.shape[1]}" for task in tasks)
    fits: list[Fit] = []

    def ours(_: int) -> list[Fit]:
        fits[:] = [_ours(task, loss, C) for task in tasks for loss in SETTINGS for C in COSTS]
        return fits

    def theirs(_: int) -> list[Fit]:
        by_name = {task.name: task for task in tasks}
        return [_theirs(by_name[fit.name], fit) for fit in fits]

    return Comparison(
        title="linear SVM, C from 1e-3 to 1e6, gap 1e-3",
        data=f"{names}. LinearSVC's fits are stopped after {TIMES:g} times the time of ours; where"
        f" that is more than {LONG:g} s it has one setting, else all",
        sides=(
            Side(
                "LinearSVM",
                f"LinearSVM(C=C, loss=loss, max_seconds={SECONDS:g}, random_state=0)",
                work=ours,
                figures=_figures,
            ),
            Side(
                "LinearSVC",
                "LinearSVC(C=C, loss=loss, dual=dual, tol=tol, max_iter=100_000, random_state=0),"
                " at its fastest setting that comes within 1e-3 of the least objective:"
                f" (dual, tol) of {SETTINGS}",
                work=theirs,
                figures=_figures,
                package="scikit-learn",
            ),
        ),
        targets=(_all_reached(), _faster_everywhere()),
        once=True,
        processor=True,
        appendix=_table,
    )


def _toy() -> Iterator[Task]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    yield Task("toy", X, X[:, 0] + 0.5 * rng.normal(size=60) > 0)


def _ours(task: Task, loss: str, C: float) -> Fit:
    how = {"C": C, "loss": loss, "max_seconds": SECONDS, "random_state": 0}
    svm = LinearSVM(**how)
    seconds = _best(lambda: svm.fit(task.X, task.y))
    found = svm.certificate_
    return Fit(task.name, loss, C, seconds, found.gap, found.dual)


def _theirs(task: Task, ours: Fit) -> Fit:
    """The fastest fit that is close enough, or one without a time."""
    best = ours._replace(seconds=np.inf, gap=np.inf)
    limit = TIMES * ours.seconds + MORE
    settings = SETTINGS[ours.loss]
    for dual, tol in settings[1:2] if ours.seconds > LONG else settings:
        svm = LinearSVC(
            C=ours.C, loss=ours.loss, dual=dual, tol=tol, max_iter=100_000, random_state=0
        )
        found = within(limit + ENOUGH, lambda svm=svm: _timed(svm, task, ours))
        if found is None:
            continue
        seconds, gap = found
        if gap <= CLOSE and seconds < best.seconds:
            best = best._replace(seconds=seconds, gap=gap)
            limit = min(limit, seconds)
    return best


def _timed(svm: LinearSVC, task: Task, ours: Fit) -> tuple[float, float]:
    seconds = _best(lambda: svm.fit(task.X, task.y))
    primal = objective(svm, task.X, task.y, ours.C, ours.loss != "hinge")
    return seconds, primal / ours.bound - 1.0


def _best(work: Callable[[], Any]) -> float:
    """The shortest time of some single-threaded work, which is repeated if it is short."""
    best, total = math.inf, 0.0
    while total < ENOUGH:
        began = time.thread_time()
        work()
        seconds = time.thread_time() - began
        best, total = min(best, seconds), total + seconds
    return best


def _figures(fits: list[Fit]) -> dict[str, float]:
    return KeptFigures({"within 1e-3": float(sum(fit.gap <= CLOSE for fit in fits))}, fits)


def _fits(outcome: Outcome) -> list[Fit]:
    return findings_of(outcome)


def _all_reached() -> Target:
    def found(mine: Outcome) -> tuple[str, bool]:
        fits = _fits(mine)
        reached = sum(fit.gap <= CLOSE for fit in fits)
        return f"{reached} of {len(fits)}", reached == len(fits)

    return Target("LinearSVM: a gap of 1e-3 in every fit", ("LinearSVM",), found)


def _faster_everywhere() -> Target:
    def found(mine: Outcome, other: Outcome) -> tuple[str, bool]:
        pairs = list(zip(_fits(mine), _fits(other), strict=True))
        slower = sum(ours.seconds > theirs.seconds for ours, theirs in pairs)
        return f"{len(pairs) - slower} of {len(pairs)}", slower == 0

    sides = ("LinearSVM", "LinearSVC")
    return Target("LinearSVM: faster in every fit", sides, found)


def _table(outcomes: Outcomes) -> str:
    """A table of seconds, with a row per set and loss and a column per C; also gaps too large."""
    fits = _fits(outcomes["LinearSVM"])
    peers = _fits(outcomes["LinearSVC"]) if outcomes["LinearSVC"].present else fits
    head = ["set, loss", *(f"C = {C:g}" for C in COSTS)]
    lines = ["Seconds of ours / LinearSVC (-: slower than that or not close).", ""]
    lines += ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    per_row = len(COSTS)
    for at in range(0, len(fits), per_row):
        cells = [
            f"{ours.seconds:.3g}"
            + (f" (gap {ours.gap:.1g})" if ours.gap > CLOSE else "")
            + " / "
            + (f"{theirs.seconds:.3g}" if np.isfinite(theirs.seconds) else "-")
            for ours, theirs in zip(fits[at : at + per_row], peers[at : at + per_row], strict=True)
        ]
        name = f"{fits[at].name}, {fits[at].loss.replace('_', ' ')}"
        lines.append("| " + " | ".join([name, *cells]) + " |")
    return "\n".join(lines)
