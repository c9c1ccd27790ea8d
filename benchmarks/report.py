"""Format outcomes as tables, and write the tables to the results file."""

from __future__ import annotations

import datetime
import os
import pathlib
import platform
import re
from collections.abc import Iterable, Sequence
from importlib.metadata import version

from benchmarks.harness import Comparison, Outcome, Outcomes

RESULTS = pathlib.Path(__file__).with_name("RESULTS.md")

_HEAD = """\
# Results

Written by `python -m benchmarks`; a section is replaced when its benchmark is run again. The sides
of a comparison run in turn, in one process (or one command each), on the same data. `best` is the
shortest time of all repeats, `spread` how much longer the longest was, a figure its mean over the
repeats, and `/ ours` the peer's best time divided by the row's.
"""


def tables(comparison: Comparison, outcomes: Outcomes) -> str:
    """The tables of measurements and targets."""
    shown = comparison.appendix is None
    parts = [_outcome_table(list(outcomes.values()), shown, comparison.ratios)]
    if comparison.targets:
        rows = [[target.text, *target.judge(outcomes)] for target in comparison.targets]
        parts.append(_table(["target", "found", "verdict"], rows))
    if comparison.appendix is not None:
        parts.append(comparison.appendix(outcomes))
    return "\n\n".join(parts)


def section(
    name: str,
    comparison: Comparison,
    outcomes: Outcomes,
    repeats: int,
    case: str | None = None,
) -> str:
    """The section of the results file for a benchmark, or for one of its cases."""
    head = f"## {name}: {comparison.title}" if case is None else f"### {case}"
    how = "once" if comparison.once else f"{repeats} repeats after a warm-up"
    clock = ", processor seconds" if comparison.processor else ""
    settings = "\n".join(
        f"- {side.name} ({side.package}): `{side.settings}`" for side in comparison.sides
    )
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return (
        f"{head}\n\n"
        f"{today}, {how}{clock}. {machine()}.\n"
        f"{_versions(outcomes)}.\n\n"
        f"Data: {comparison.data}.\n\n"
        f"{settings}\n\n"
        f"{tables(comparison, outcomes)}\n"
    )


def update(name: str, text: str, order: Sequence[str], path: pathlib.Path = RESULTS) -> None:
    """Replace one section of the results file and leave the others unchanged."""
    sections = _sections(path)
    sections[name] = text
    ordered = sorted(sections, key=lambda one: (one not in order, _place(one, order)))
    path.write_text("\n".join([_HEAD, *(sections[one] for one in ordered)]), encoding="utf-8")


def update_case(
    name: str,
    title: str,
    case: str,
    text: str,
    order: Sequence[str],
    path: pathlib.Path = RESULTS,
) -> None:
    """Replace one case in a section of the results file, or append it."""
    old = re.split(r"^(?=### )", _sections(path).get(name, ""), flags=re.MULTILINE)[1:]
    cases = {part.split("\n")[0][4:]: part.rstrip() + "\n" for part in old}
    cases[case] = text
    update(name, "\n".join([f"## {name}: {title}\n", *cases.values()]), order, path)


def _sections(path: pathlib.Path) -> dict[str, str]:
    """The sections of the results file by the names of their benchmarks."""
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    return {
        part[3:].split(":")[0]: part.rstrip() + "\n"
        for part in re.split(r"^(?=## )", old, flags=re.MULTILINE)
        if part.startswith("## ")
    }


def machine() -> str:
    """The processor, with its family, as one name may stand for several; how many cores."""
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            facts = dict(line.strip().split("\t: ", 1) for line in file if "\t: " in line)
        facts = {name.strip(): fact for name, fact in facts.items()}
        model = f"{facts['model name']} (family {facts['cpu family']}, model {facts['model']})"
    except (OSError, KeyError):
        pass
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count()
    return f"{model}, {cores} cores, {platform.system()}"


def _versions(outcomes: Outcomes) -> str:
    """The versions of everything that affects the times."""
    packages = {outcome.side.package: outcome.side.version for outcome in outcomes.values()}
    packages |= {name: version(name) for name in ("numpy", "scipy", "numba")}
    named = [f"{name} {number}" for name, number in packages.items() if number is not None]
    return ", ".join([f"Python {platform.python_version()}", *named])


def _outcome_table(
    outcomes: Sequence[Outcome], with_figures: bool = True, with_ratios: bool = True
) -> str:
    figures = list(dict.fromkeys(name for one in outcomes for row in one.figures for name in row))
    figures = figures if with_figures else []
    peers = [one for one in outcomes if with_ratios and not one.side.ours]
    head = ["side", "version", "threads", "best s", "spread", *figures]
    head += [f"{peer.side.name} / ours" for peer in peers]
    return _table(head, [_outcome_row(one, figures, peers) for one in outcomes])


def _outcome_row(one: Outcome, figures: Iterable[str], peers: Iterable[Outcome]) -> list[str]:
    side = one.side
    if not one.present:
        return [side.name, "absent", *["-"] * (3 + len([*figures, *peers]))]
    means = [one.mean(figure) for figure in figures]
    ratios = [
        f"{peer.best / one.best:.2f}x" if side.ours and peer.present else "-" for peer in peers
    ]
    return [
        side.name,
        side.version or "-",
        "default" if side.threads is None else str(side.threads),
        f"{one.best:.4f}",
        f"+{one.spread:.0%}",
        *("-" if mean is None else f"{mean:.4f}" for mean in means),
        *ratios,
    ]


def _table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table whose columns line up."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = [head, ["-" * width for width in widths], *rows]
    return "\n".join("| " + " | ".join(map(str.ljust, cells, widths)) + " |" for cells in lines)


def _place(name: str, order: Sequence[str]) -> int:
    return order.index(name) if name in order else 0
