"""Run the solvers of all problems to completion, and make one history of their reports."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from widemargin.certificates.gap import relative
from widemargin.linear_svm.binary import Solution, Solver
from widemargin.linear_svm.classes import Solutions
from widemargin.linear_svm.problem import Reports, SolverReport, StopSignal
from widemargin.linear_svm.small import SmallSolver
from widemargin.threads import run_all
from widemargin.training.history import Epoch, History
from widemargin.training.run import Moment, Watch

AnySolver = Solver | SmallSolver | Solutions


def drive(
    solvers: Sequence[AnySolver],
    W: np.ndarray,
    signal: StopSignal,
    deadline: float,
    threads: int,
    at_once: int,
    watch: Watch | None,
) -> tuple[list[Solution], History]:
    """Run all solvers to completion, a group at a time; their weights go into W.

    Each group gets its share of the remaining time.
    """
    began, reports, stopped = time.monotonic(), [], ""
    solutions: list[Solution] = []
    for first in range(0, len(solvers), at_once):
        group = solvers[first : first + at_once]
        now = time.monotonic()
        until = now + (deadline - now) * len(group) / (len(solvers) - first)
        found, theirs, why = _drive_group(group, signal, began, until, threads, watch)
        stopped = stopped or why
        signal.stop = stopped == "interrupted"
        for number, solution in enumerate(found, len(solutions)):
            mine = W[number : number + len(np.atleast_2d(solution.w))]
            mine[:] = solution.w
            solution.w = mine
        solutions += found
        reports += theirs
    return solutions, _history(reports, stopped)


def _drive_group(
    solvers: Sequence[AnySolver],
    signal: StopSignal,
    began: float,
    deadline: float,
    threads: int,
    watch: Watch | None,
) -> tuple[list[Solution], list[list[tuple[SolverReport, float]]], str]:
    """Run solvers to completion, one slice of work each in turn; also return why they stopped."""
    reports: list[list[tuple[SolverReport, float]]] = [[] for _ in solvers]
    solutions: dict[int, list[Solution]] = {}
    running = list(range(len(solvers)))
    stopped, no_rows = "", History()  # the same in all calls of `watch`: one stage

    def go_on(c: int) -> SolverReport | Reports | list[Solution]:
        try:
            # An objective that is too large for a float is infinite, and no improvement.
            with np.errstate(over="ignore", invalid="ignore"):
                return next(solvers[c])
        except StopIteration as end:
            return [end.value] if isinstance(end.value, Solution) else end.value

    while running:
        current: list[SolverReport] = []
        for c, found in zip(running, run_all(go_on, running, threads), strict=True):
            if isinstance(found, list):
                solutions[c] = found
                continue
            several = found.each if isinstance(found, Reports) else (found,)
            current.append(several[-1])
            now = time.monotonic() - began
            reports[c].extend((report, now) for report in several if report.done == 1.0)
        running = [c for c in running if c not in solutions]
        if not running or signal.stop:
            continue
        slowest = min(current, default=None, key=lambda report: report.epoch + report.done)
        if watch is not None and slowest is not None:
            mistakes = sum(report.mistakes for report in current)
            moment = Moment(slowest.epoch, slowest.done, mistakes, slowest.primal, no_rows)
            stopped = "interrupted" if watch(moment) else stopped
        if time.monotonic() > deadline:
            stopped = stopped or "deadline"
        signal.stop = bool(stopped)
    return [each for c in range(len(solvers)) for each in solutions[c]], reports, stopped


def _history(reports: list[list[tuple[SolverReport, float]]], stopped: str) -> History:
    """Make one table for all problems; a solved problem keeps its last figures."""
    history, passed = History(stopped=stopped), 0.0
    for e in range(max(map(len, reports))):
        mistakes, updates, primal, dual = 0, 0, 0.0, 0.0
        for own in reports:
            report, seconds = own[min(e, len(own) - 1)]
            primal, dual = primal + report.primal, dual + report.dual
            if e < len(own):
                mistakes, updates = mistakes + report.mistakes, updates + report.updates
                passed = max(passed, seconds)
        gap = relative(primal, dual)
        history.add(Epoch(e + 1, mistakes, updates, primal, None, None, passed, gap=gap))
    return history
