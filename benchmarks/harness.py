"""Run the sides of one comparison in turn, and record the best time of each."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from threadpoolctl import threadpool_limits

OURS = "widemargin"


class LeftOut(Exception):  # noqa: N818 - not an error: the benchmark cannot be run here
    """Why a benchmark cannot be run here."""


@dataclass(frozen=True)
class Side:
    """One way of doing the work. Only `work` is timed.

    Parameters
    ----------
    name, settings : str
        Its name in the table, and exactly what is run.
    work : callable
        Takes what `prepare` returned and returns what `figures` measures.
    figures : callable
        Returns other figures besides the time, by name.
    package : str
        The distribution whose version is shown; the side is absent if it is not installed.
    threads : int or None
        Threads it may use, which also limits the BLAS and OpenMP pools. None means no limit, as for
        a separate command, whose pools cannot be limited.
    prepare : callable
        Takes the number of the repeat, which is also the random seed.
    """

    name: str
    settings: str
    work: Callable[[Any], Any]
    figures: Callable[[Any], Mapping[str, float]] = lambda result: {}
    package: str = OURS
    threads: int | None = 1
    prepare: Callable[[int], Any] = lambda repeat: repeat

    @property
    def ours(self) -> bool:
        """Whether this side is widemargin."""
        return self.package == OURS

    @property
    def version(self) -> str | None:
        """The version of the measured package; None if it is not installed."""
        try:
            return version(self.package)
        except PackageNotFoundError:
            return None


@dataclass
class Outcome:
    """The results of one side: a time and figures for every repeat."""

    side: Side
    seconds: list[float] = field(default_factory=list)
    figures: list[Mapping[str, float]] = field(default_factory=list)

    @property
    def present(self) -> bool:
        """Whether the side was run."""
        return bool(self.seconds)

    @property
    def best(self) -> float:
        """The shortest time."""
        return min(self.seconds)

    @property
    def spread(self) -> float:
        """How much the longest time exceeds the best, as a fraction of the best."""
        return max(self.seconds) / self.best - 1.0

    def mean(self, figure: str) -> float | None:
        """A figure's mean over the repeats; None if the side has no such figure."""
        values = [figures[figure] for figures in self.figures if figure in figures]
        return sum(values) / len(values) if values else None


Outcomes = Mapping[str, Outcome]


@dataclass(frozen=True)
class Target:
    """A benchmark target for some sides; `found` returns the figure and whether it is met."""

    text: str
    sides: Sequence[str]
    found: Callable[..., tuple[str, bool]]

    def judge(self, outcomes: Outcomes) -> tuple[str, str]:
        """The measured figure, and "met", "not met", or why it was not judged."""
        chosen = [outcomes[name] for name in self.sides]
        absent = [outcome.side.package for outcome in chosen if not outcome.present]
        if absent:
            return "-", f"not judged: {absent[0]} is absent"
        figure, met = self.found(*chosen)
        return figure, "met" if met else "not met"


@dataclass(frozen=True)
class Comparison:
    """The same work done by several sides on the same data, and its benchmark targets.

    With `once` the work is too long to be repeated. With `processor` it is so long that the machine
    cannot be kept otherwise idle, so processor time is measured. `appendix` writes what the tables
    cannot show, and the tables then show no figures. Without `ratios`, sides are not compared with
    every peer, because they do different work; the targets show which belong together.
    """

    title: str
    data: str
    sides: Sequence[Side]
    targets: Sequence[Target] = ()
    once: bool = False
    processor: bool = False
    appendix: Callable[[Outcomes], str] | None = None
    ratios: bool = True


class KeptFigures(dict[str, float]):
    """Figures that keep the findings they were computed from, for detailed tables."""

    def __init__(self, named: dict[str, float], findings: Sequence[Any]) -> None:
        super().__init__(named)
        self.findings = findings


def findings_of(outcome: Outcome) -> list[Any]:
    """The findings behind the figures of a side's first repeat."""
    return list(outcome.figures[0].findings)  # type: ignore[attr-defined]


def shortest(work: Callable[[], Any], times: int) -> float:
    """The shortest time that some work takes in this many runs."""
    found = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        found.append(time.perf_counter() - began)
    return min(found)


def faster(ours: str, peer: str, times: float) -> Target:
    """Require one side to be at least this many times as fast as another."""

    def found(mine: Outcome, other: Outcome) -> tuple[str, bool]:
        ratio = other.best / mine.best
        return f"{ratio:.2f}x", ratio >= times

    return Target(f"{ours}: >= {times:g}x {peer}", (ours, peer), found)


def within(side: str, seconds: float) -> Target:
    """Require a side to take less than this many seconds."""

    def found(mine: Outcome) -> tuple[str, bool]:
        return f"{mine.best:.3f} s", mine.best < seconds

    return Target(f"{side}: < {seconds:g} s", (side,), found)


def at_least(side: str, figure: str, floor: float) -> Target:
    """Require a figure of at least this much."""

    def found(mine: Outcome) -> tuple[str, bool]:
        value = mine.mean(figure)
        return f"{value:.4f}", value >= floor

    return Target(f"{side}: {figure} >= {floor:g}", (side,), found)


def no_worse(ours: str, peer: str, figure: str, noise: float) -> Target:
    """Require one side's figure, averaged over the repeats, to be no lower than another's.

    Differences smaller than `noise`, the standard error of one measurement, are ignored.
    """

    def found(mine: Outcome, other: Outcome) -> tuple[str, bool]:
        gain = mine.mean(figure) - other.mean(figure)
        return f"{gain:+.4f}", gain >= -noise

    promise = f"{ours}: {figure} no worse than {peer} (standard error {noise:.4f})"
    return Target(promise, (ours, peer), found)


def measure(
    sides: Sequence[Side],
    repeats: int,
    warm_up: bool,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Outcome]:
    """Run all installed sides, interleaved so that temporary noise affects all alike."""
    outcomes = {side.name: Outcome(side) for side in sides}
    here = [side for side in sides if side.version is not None]
    if warm_up:
        for side in here:
            side.work(side.prepare(repeats))
    for repeat in range(repeats):
        for side in here[repeat % len(here) :] + here[: repeat % len(here)]:
            seconds, result = _time(side, repeat, clock)
            outcomes[side.name].seconds.append(seconds)
            outcomes[side.name].figures.append(side.figures(result))
    return outcomes


def _time(side: Side, repeat: int, clock: Callable[[], float]) -> tuple[float, Any]:
    """Time one run, on a clean heap and with no more threads than it declares."""
    prepared = side.prepare(repeat)
    gc.collect()
    with threadpool_limits(side.threads):
        began = clock()
        result = side.work(prepared)
        return clock() - began, result
