"""Time per value as files grow, from file to model, streaming."""

from __future__ import annotations

import pathlib
import shutil
from collections.abc import Sequence

from benchmarks.commands import run_command
from benchmarks.harness import Comparison, Outcome, Side, Target
from benchmarks.zipf import write_svmlight, zipf_text


def compare(toy: bool, scratch: pathlib.Path) -> Comparison:
    """Train for one epoch on files of 1, 10 and 100 million values, in a warm process.

    The longer files repeat the rows of the shortest, which makes no difference to a reader.
    """
    rows, width, times = (500, 4_096, (1, 2)) if toy else (15_200, 262_144, (1, 10, 100))
    X, y = zipf_text(rows, width, 66, seed=0)
    first = scratch / "rows.svm"
    write_svmlight(first, X, y, digits=5)
    paths = {}
    for n in times:
        paths[n] = scratch / f"rows{n}.svm"
        with open(paths[n], "wb") as out:
            for _ in range(n):
                with open(first, "rb") as source:
                    shutil.copyfileobj(source, out, 1 << 20)

    def side(n: int) -> Side:
        arguments = ["train", str(paths[n]), "--epochs", "1", "--shuffle", "no", "--quiet"]
        arguments += ["--model", str(scratch / "ours.wm")]
        return Side(
            f"{n * X.nnz / 1e6:.1f} M values",
            "widemargin train FILE --epochs 1 --shuffle no --model MODEL",
            lambda repeat: run_command(arguments),
            lambda _: {"million values": n * X.nnz / 1e6},
            threads=2,
        )

    sides = [side(n) for n in times]
    return Comparison(
        title="time for each value, from file to model, as files grow",
        data=f"Zipf-like rows of 66 values, {times[0]} to {times[-1]} times {X.nnz} values",
        sides=sides,
        targets=(_steady([one.name for one in sides], 0.2),),
    )


def _steady(sides: Sequence[str], most: float) -> Target:
    """Require the same cost per value on all sides, after subtracting the fixed cost of a run.

    The fixed cost is computed from the two smallest sides.
    """

    def found(*outcomes: Outcome) -> tuple[str, bool]:
        points = [(one.mean("million values") or 0.0, one.best) for one in outcomes]
        (n0, t0), (n1, t1) = points[:2]
        start = max(0.0, t0 - (t1 - t0) / (n1 - n0) * n0)
        each = [(seconds - start) / n for n, seconds in points]
        grown = each[-1] / min(each) - 1.0
        shown = ", ".join(f"{1e3 * cost:.1f}" for cost in each)
        return f"{grown:+.1%} ({shown} ns a value; a run {start:.3f} s)", grown <= most

    return Target(f"a value costs at most {most:.0%} more in the longest", tuple(sides), found)
