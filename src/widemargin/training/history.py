"""The history of a fit, as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from widemargin.markup.charts import Curve, Mark, line_chart
from widemargin.markup.html import Markup, fragment, joined, tag
from widemargin.modelfile.checks import check_counts, check_kinds

#: A table with more rows than this is shown without its middle.
_SHOWN = 60
#: The most rows of a history that grows with every call of `partial_fit` or `update`: enough for a
#: curve, and few enough for memory and files (0.3 and 0.1 kB per row).
MOST_CALLS = 2000


class Epoch(NamedTuple):
    """One row of the history."""

    epoch: int
    mistakes: int
    updates: int
    loss: float
    change: float | None
    held_out: float | None
    seconds: float
    examples: int = 0
    gap: float | None = None


class Cycle(NamedTuple):
    """The weights after epoch `last` equal those after epoch `first`, with updates in between.

    If every sum was exact, the updates in between add up to zero, which proves (Gordan) that no
    weights put all examples strictly on their correct sides. (With one-vs-rest learning: that some
    class is not linearly separable from the rest.)
    """

    first: int
    last: int
    proof: bool


@dataclass
class History:
    """A table with one row per epoch (in a stream, per block of examples), and why training ended.

    Rows of later calls of `partial_fit` follow; of thousands of calls, neighbours are joined.

    Attributes
    ----------
    epochs : list of Epoch
        `mistakes` made while learning; `updates`, the number of examples that changed the weights;
        `loss`, the mean loss of each example just before learning from it; `change`, how far the
        weights moved (not measured in streams); `held_out`, the score of the hypothesis that would
        be deployed on held-out examples: its accuracy or, for sentences, the measure of the task;
        `seconds` since the start; `examples`, the number of examples seen. For an SVM, `loss` is
        its objective and `gap` the relative duality gap, as estimated during the pass.
    stopped : str
        Why training ended: "no mistakes", "small change", "epochs", "deadline", "no improvement",
        "interrupted" or, for an SVM, "gap reached", "not separable" or "no progress" (limit of
        floating-point precision).
    best : int or None
        The epoch whose weights were returned, if held-out examples chose it.
    cycle : Cycle or None
        Set if earlier weights recurred (checked only with a fixed order).
    no_bound : str
        Why the mistake bound does not apply, if the examples or an earlier call are the reason:
        the examples were weighted, say, or the step size changed.
    rows : int
        The number of the next row. The rows of a later call are numbered from there.

    Examples
    --------
    >>> history = History()
    >>> history.add(Epoch(1, 3, 3, 0.5, 3.2, None, 0.01))
    >>> history.add(Epoch(2, 0, 0, 0.0, 0.0, None, 0.02))
    >>> history["mistakes"].tolist()
    [3, 0]
    """

    epochs: list[Epoch] = field(default_factory=list)
    stopped: str = ""
    best: int | None = None
    cycle: Cycle | None = None
    no_bound: str = ""
    rows: int = 0

    def add(self, epoch: Epoch) -> None:
        """Append a row."""
        self.epochs.append(epoch)

    def number_rows(self, count: int, seen: int) -> int:
        """Give some more rows their numbers, and return the first of them.

        Parameters
        ----------
        count : int
            How many.
        seen : int
            How many examples were seen before; files of version 0.1 have no other number.
        """
        first = max(self.rows, seen)
        self.rows = first + count
        return first

    def depart(self, reason: str) -> None:
        """Note that the mistake bound does not apply, and why, if `reason` is not empty."""
        self.no_bound = self.no_bound or reason

    def copy(self) -> History:
        """A history that can be extended without changing this one."""
        return replace(self, epochs=list(self.epochs))

    def __len__(self) -> int:
        return len(self.epochs)

    def __iter__(self) -> Iterator[Epoch]:
        return iter(self.epochs)

    def __getitem__(self, column: str) -> np.ndarray:
        """One column as an array; epochs without a held-out score hold NaN there."""
        if column not in Epoch._fields:
            raise KeyError(f"no column {column!r}; there are {', '.join(Epoch._fields)}")
        cells = [getattr(epoch, column) for epoch in self.epochs]
        return np.array([np.nan if cell is None else cell for cell in cells])

    @property
    def mistakes(self) -> int:
        """Total number of mistakes."""
        return sum(epoch.mistakes for epoch in self.epochs)

    @property
    def epochs_run(self) -> int:
        """Number of epochs; a stream has more rows than that, and joined rows are fewer."""
        return max((epoch.epoch for epoch in self.epochs), default=0)

    @property
    def examples_per_epoch(self) -> int:
        """Number of examples in the first epoch, as in all whole ones; 0 if not counted."""
        return sum(epoch.examples for epoch in self.epochs if epoch.epoch == 1)

    def may_repeat(self, n: int) -> bool:
        """Whether an epoch may have learned from one of n examples more than once."""
        sizes = Counter[int]()
        for epoch in self.epochs:
            sizes[epoch.epoch] += epoch.examples
            if epoch.mistakes > epoch.examples:  # examples were not counted
                return True
        return max(sizes.values(), default=0) > n

    @property
    def is_streamed(self) -> bool:
        """Whether an epoch has several rows, as in a stream."""
        return len({epoch.epoch for epoch in self.epochs}) < len(self.epochs)

    @property
    def went_back(self) -> bool:
        """Whether the weights returned are those of an epoch before the last."""
        return self.best is not None and self.best < self.epochs_run

    def branched(self, seen: int) -> bool:
        """Whether training went back to earlier weights and then continued from these.

        The history then also has the mistakes on the way that was abandoned.

        Parameters
        ----------
        seen : int
            Number of examples on the way to the weights returned.
        """
        kept = (e.examples for e in self.epochs if self.best is None or e.epoch <= self.best)
        return seen < sum(kept)

    def extend(self, other: History, later: bool = True) -> None:
        """Append the epochs of another fit; with `later`, its seconds continue from these."""
        done = self.epochs[-1].epoch if self.epochs else 0
        time = self.epochs[-1].seconds if self.epochs and later else 0.0
        for e in other.epochs:
            self.add(e._replace(epoch=e.epoch + done, seconds=e.seconds + time))
        self.stopped, self.best, self.cycle = other.stopped, None, None
        self.depart(other.no_bound)
        self.rows = max(self.rows, other.rows)
        if other.best is not None:
            self.best = other.best + done
        if other.cycle is not None:
            self.cycle = Cycle(other.cycle.first + done, other.cycle.last + done, other.cycle.proof)

    def extend_by_call(self, other: History) -> None:
        """Append the epochs of a later call that continues the training.

        When there are more than `MOST_CALLS` rows, each two neighbours become one, so that a
        million calls take no more room than a thousand.
        """
        self.extend(other)
        if len(self.epochs) > MOST_CALLS:
            odd = self.epochs[len(self.epochs) // 2 * 2 :]
            pairs = zip(self.epochs[::2], self.epochs[1::2], strict=False)
            self.epochs[:] = [_joined(*pair) for pair in pairs] + odd

    def add_member(self, other: History) -> None:
        """Append the epochs of another member of a committee; they keep their numbers.

        There is then no single best epoch.
        """
        for epoch in other.epochs:
            self.add(epoch)
        self.stopped, self.best, self.cycle = other.stopped, None, None

    def to_pandas(self) -> Any:
        """The table as a pandas DataFrame."""
        try:
            import pandas
        except ImportError:
            raise ImportError(
                "to_pandas needs pandas, which is not installed: pip install pandas"
            ) from None
        return pandas.DataFrame(self.epochs, columns=Epoch._fields)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain lists, numbers and strings, for JSON."""
        return {
            "epochs": [[_plain(cell) for cell in epoch] for epoch in self.epochs],
            "stopped": self.stopped,
            "best": self.best,
            "cycle": None if self.cycle is None else list(self.cycle),
            "no_bound": self.no_bound,
            "rows": self.rows,
        }

    @classmethod
    def from_dict(cls, found: dict[str, Any]) -> History:
        """Undo `to_dict`."""
        check_kinds(found, stopped=str, best=int | None)
        epochs = [Epoch(*epoch) for epoch in found["epochs"]]
        for epoch in epochs:
            row = epoch._asdict()
            check_counts(row, "epoch", "mistakes", "updates", "examples")
            check_kinds(row, loss=float, seconds=float)
            check_kinds(row, **dict.fromkeys(("change", "held_out", "gap"), float | None))
        cycle = None if found["cycle"] is None else Cycle(*found["cycle"])
        if cycle is not None:
            check_kinds(cycle._asdict(), first=int, last=int, proof=bool)
        more = {"no_bound": found.get("no_bound", ""), "rows": found.get("rows", 0)}
        check_kinds(more, no_bound=str)
        check_counts(more, "rows")
        return cls(epochs, found["stopped"], found["best"], cycle, **more)

    def charts(self) -> Markup:
        """The measurements per epoch as HTML, one chart for each."""
        if not len(self):
            return tag("p", "No epoch was recorded.", kind="soft")
        streamed = self.is_streamed
        x = (np.cumsum(self["examples"]) if streamed else self["epoch"]).tolist()
        scores = self["held_out"]
        solved = bool(np.any(np.isfinite(self["gap"])))  # an SVM's epochs have a gap
        wanted = {"objective": "loss", "relative gap": "gap"}
        if not solved:
            wanted = {"mistakes": "mistakes", "mean loss": "loss"}
        mark = None
        if np.any(np.isfinite(scores)):
            wanted["held-out score"] = "held_out"
            returned = np.flatnonzero(self["epoch"] == self.best)
            if len(returned):  # none if a file says so, or if no epoch was finished
                at = int(returned[-1])
                mark = Mark(x[at], float(scores[at]), f"returned: {scores[at]:.4f}")
        charts, once = [], []
        for name, column in wanted.items():
            values = self[column]
            measured = values[np.isfinite(values)]
            if len(measured) == 1:  # a point is no curve
                once.append(f"{name} {measured[0]:.4g}")
                continue
            chart = line_chart(
                name,
                [Curve(name, x, values.tolist())],
                x_name="examples" if streamed else "epoch",
                logarithmic=column == "gap",
                from_zero=not solved and column in ("mistakes", "loss"),
                counted=True,
                mark=mark if column == "held_out" else None,
            )
            charts.append(tag("figure", chart))
        told = [tag("p", f"Measured once: {', '.join(once)}.")] if once else []
        drawn = [tag("div", *charts, kind="row")] if charts else []
        return joined([*drawn, *told])

    def _repr_html_(self) -> str:
        return fragment(self.charts(), tag("pre", repr(self)))

    def _few(self) -> list[Epoch]:
        """The rows to show: if there are many, the first and the last."""
        if len(self.epochs) <= _SHOWN:
            return self.epochs
        return self.epochs[: _SHOWN // 2] + self.epochs[-_SHOWN // 2 :]

    def __repr__(self) -> str:
        streamed = self.is_streamed
        heads = ["epoch", "mistakes", "updates", "loss", "change", "held out", "gap", "seconds"]
        heads.append("examples")
        cells = [
            (
                e.epoch,
                f"{e.mistakes:,}",
                f"{e.updates:,}",
                *map(_short, (e.loss, e.change, e.held_out, e.gap)),
                f"{e.seconds:.2f}",
                f"{e.examples:,}" if streamed else "",
            )
            for e in self._few()
        ]
        shown = [j for j in range(len(heads)) if any(row[j] != "" for row in cells)]
        widths = [max([len(heads[j])] + [len(str(row[j])) for row in cells]) for j in shown]
        lines = [
            "  ".join(f"{row[j]:>{width}}" for j, width in zip(shown, widths, strict=True))
            for row in [heads, *cells]
        ]
        if len(cells) < len(self.epochs):
            lines.insert(1 + _SHOWN // 2, f"... {len(self.epochs) - len(cells)} more")
        if self.stopped:
            lines.append(f"stopped: {self.stopped}")
        if self.best is not None:
            lines.append(f"returned: the weights after epoch {self.best}")
        return "\n".join(lines)


def _joined(one: Epoch, other: Epoch) -> Epoch:
    """Two rows as one, with the total of what is counted and the mean loss."""
    weights = (one.examples, other.examples) if one.examples + other.examples else (1, 1)
    loss = (weights[0] * one.loss + weights[1] * other.loss) / sum(weights)
    return other._replace(
        mistakes=one.mistakes + other.mistakes,
        updates=one.updates + other.updates,
        loss=loss,
        change=None,  # the lengths of two steps do not tell that of both
        examples=one.examples + other.examples,
    )


def _short(number: float | None) -> str:
    """Format a number with four digits; empty if it was not measured."""
    return "" if number is None else f"{number:.4g}"


def _plain(number: Any) -> Any:
    """A Python number: without the compiler, loops count with numpy numbers."""
    return number.item() if isinstance(number, np.generic) else number
