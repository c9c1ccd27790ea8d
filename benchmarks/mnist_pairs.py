"""Separability of all pairs of MNIST's classes, with a proof; linear programs give none."""

from __future__ import annotations

import itertools
import pathlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog

from benchmarks.data import folder, read_idx
from benchmarks.harness import Comparison, KeptFigures, Outcome, Outcomes, Side, Target, findings_of
from benchmarks.limits import processor_seconds, within
from benchmarks.separability import toy_sets, turned
from widemargin import certify

#: HiGHS is stopped after this many times our time for the same pair, plus this many seconds, which
#: then count as its time.
TIMES, MORE = 3.1, 0.2
#: Its methods, and whether they search for weights with z.w >= 1 for all z = y (x, 1), or for a
#: combination of the z that is zero.
METHODS = {
    "dual simplex for a combination": ("highs-ds", False),
    "interior point for a combination": ("highs-ipm", False),
    "dual simplex for weights": ("highs-ds", True),
}


class Verdict(NamedTuple):
    """The verdict on one pair, and its time."""

    pair: str
    separable: bool | None
    seconds: float
    proved: bool = False


def cases(toy: bool) -> Sequence[str]:
    """Name the cases: each has the pairs of one class with all larger ones."""
    return [f"class {first}" for first in range(1 if toy else 9)]


def compare(case: str, toy: bool, scratch: pathlib.Path) -> Comparison:
    """Go from examples in memory to verdicts: proved by ours, unproved by HiGHS."""
    sets = toy_sets() if toy else _pairs(int(case.split()[-1]))
    found: list[Verdict] = []

    def ours(_: int) -> list[Verdict]:
        found[:] = [_certified(name, X, y) for name, (X, y) in sets.items()]
        return found

    def theirs(_: int) -> list[Verdict]:
        return [_claimed(verdict, *sets[verdict.pair]) for verdict in found]

    rows = sum(X.shape[0] for X, _ in sets.values())
    return Comparison(
        title="all pairs of MNIST's classes: are they separable?",
        data=f"{len(sets)} pairs, {rows} rows in all. HiGHS is stopped after {TIMES:g} times the"
        f" time of ours for a pair and {MORE:g} s more",
        sides=(
            Side("certify", "certify(X, y, tol=None), then verify", ours, _figures),
            Side(
                "HiGHS",
                "linprog: sum of a z = 0, sum of a = 1, a >= 0, or z.w >= 1, for z = y (x, 1);"
                f" the fastest of {', '.join(METHODS)}",
                theirs,
                _figures,
                package="scipy",
            ),
        ),
        targets=(_all_proved(), _faster()),
        once=True,
        processor=True,
        appendix=_table,
    )


def _pairs(first: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    images = read_idx(folder("mnist") / "train-images-idx3-ubyte.gz").reshape(-1, 784)
    labels = read_idx(folder("mnist") / "train-labels-idx1-ubyte.gz")
    certify(images[:300].astype(float), labels[:300] > 4, tol=None)  # compiles
    found = {}
    for pair in ((first, second) for second in range(first + 1, 10)):
        chosen = np.isin(labels, pair)
        found[f"{pair[0]}-{pair[1]}"] = images[chosen].astype(float), labels[chosen].astype(int)
    return found


def _certified(name: str, X: np.ndarray, y: np.ndarray) -> Verdict:
    began = processor_seconds()
    found: Any = certify(X, y, tol=None)
    seconds = processor_seconds() - began
    decided = found.verdict != "undecided"
    separable = found.verdict == "separable" if decided else None
    return Verdict(name, separable, seconds, decided and found.verify(X, y))


def _claimed(ours: Verdict, X: np.ndarray, y: np.ndarray) -> Verdict:
    """The fastest of HiGHS's methods; without a verdict if none finishes in time."""
    Z = turned(X, y)
    limit = TIMES * ours.seconds + MORE
    best = Verdict(ours.pair, None, limit)
    for method, primal in METHODS.values():
        found = within(best.seconds, lambda method=method, primal=primal: _solve(Z, method, primal))
        if found is not None and found[0] is not None and found[1] < best.seconds:
            best = Verdict(ours.pair, *found)
    return best


def _solve(Z: Any, method: str, primal: bool) -> tuple[bool | None, float]:
    import scipy.sparse

    n, width = Z.shape
    began = processor_seconds()
    if primal:
        found = linprog(
            np.zeros(width), A_ub=-Z, b_ub=-np.ones(n), bounds=(None, None), method=method
        )
        verdict = {0: True, 2: False}.get(found.status)
    else:
        found = linprog(
            np.zeros(n),
            A_eq=scipy.sparse.vstack([Z.T, np.ones((1, n))]).tocsc(),
            b_eq=np.append(np.zeros(width), 1.0),
            bounds=(0, None),
            method=method,
        )
        verdict = {0: False, 2: True}.get(found.status)
    return verdict, processor_seconds() - began


def _figures(verdicts: list[Verdict]) -> dict[str, float]:
    named = {
        "seconds in all": sum(verdict.seconds for verdict in verdicts),
        "decided": float(sum(verdict.separable is not None for verdict in verdicts)),
    }
    return KeptFigures(named, verdicts)


def _verdicts(outcome: Outcome) -> list[Verdict]:
    return findings_of(outcome)


def _all_proved() -> Target:
    def found(mine: Outcome) -> tuple[str, bool]:
        verdicts = _verdicts(mine)
        proved = sum(verdict.proved and verdict.seconds < 30.0 for verdict in verdicts)
        return f"{proved} of {len(verdicts)}", proved == len(verdicts)

    return Target("certify: every pair proved in less than 30 s", ("certify",), found)


def _faster() -> Target:
    def found(mine: Outcome, other: Outcome) -> tuple[str, bool]:
        ours, theirs = (sum(each.seconds for each in _verdicts(one)) for one in (mine, other))
        return f"{theirs / ours:.2f}x", theirs >= 3.0 * ours

    return Target("certify: >= 3x HiGHS in sum", ("certify", "HiGHS"), found)


def _table(outcomes: Outcomes) -> str:
    """A row for every pair."""
    words = {True: "separable", False: "not separable", None: "stopped"}
    lines = ["| pair | verdict | seconds | HiGHS | seconds |", "|---|---|---|---|---|"]
    others = _verdicts(outcomes["HiGHS"]) if outcomes["HiGHS"].present else []
    for ours, theirs in itertools.zip_longest(_verdicts(outcomes["certify"]), others):
        told = f"{words[theirs.separable]} | {theirs.seconds:.2f}" if theirs else "- | -"
        lines.append(f"| {ours.pair} | {words[ours.separable]} | {ours.seconds:.2f} | {told} |")
    return "\n".join(lines)
