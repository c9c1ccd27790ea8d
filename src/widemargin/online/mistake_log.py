"""The mistake log: which examples corrected the weights, by how much, and how long each hypothesis
lasted.

All perceptrons follow from it: the last weights are the sum of the corrections, their average
weighs each hypothesis by how long it lasted, and the voted perceptron takes the votes of all
hypotheses. None of those hypotheses is stored; their scores on x are the running sum of the
corrections times the similarity x_e . x.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from widemargin.data.rows import Rows, frozen
from widemargin.errors import DataError
from widemargin.loops.linear.passes import Log
from widemargin.loops.linear.scores import Postings, binary_votes, multiclass_votes, post
from widemargin.markup.reprs import brief_repr
from widemargin.markup.words import several
from widemargin.modelfile.checks import check_places, check_shape
from widemargin.online.columns import Columns
from widemargin.threads import run_all, split

#: The empty log of a learner that keeps none.
NO_LOG = Log(np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0), np.empty(0))


def log_buffer(entries: int) -> Log:
    """Allocate a log of this many entries."""
    return Log(
        np.empty(entries, np.uint64),
        np.empty(entries, np.int64),
        np.empty(entries),
        np.empty(entries),
    )


class Correction(NamedTuple):
    """One entry of the log: the weights of class `label` gained `amount` times a row."""

    row: int
    label: int  # the class code; 0 for the single vector of two classes
    amount: float
    clock: float  # number of examples seen before it, plus one


class SupportIndex(NamedTuple):
    """Sparse rows indexed by column; only columns that occur are numbered."""

    columns: Columns
    postings: Postings


@dataclass(frozen=True, repr=False)
class Part:
    """The corrections of one part of the training, and the examples they came from."""

    support: Rows  # only rows that caused a correction
    origin: np.ndarray  # their row numbers in the training data
    entries: Log  # `example` is an index into `support`

    def __repr__(self) -> str:
        return brief_repr(self)

    @property
    def size(self) -> int:
        """Number of corrections."""
        return len(self.entries.example)

    @cached_property
    def index(self) -> SupportIndex:
        """The support by column, if it is sparse; made when first needed, because it takes a while.

        Scoring a row of few columns then reads only the rows that share a column with it.
        """
        columns = Columns(self.support.width)
        rows = columns.number(self.support).stored
        sizes = np.bincount(rows.indices, minlength=columns.count)
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.uint64)
        values = np.empty(int(starts[-1]), rows.values.dtype)
        examples = np.empty(len(values), np.uint32)
        post(rows, starts[:-1].copy(), values, examples)
        return SupportIndex(
            columns, Postings(frozen(values), frozen(examples), frozen(starts), rows.bias)
        )

    def __getstate__(self) -> dict[str, Any]:
        """The state to pickle and copy: without the index, which is rebuilt when needed."""
        return {name: value for name, value in vars(self).items() if name != "index"}

    @classmethod
    def of(cls, rows: Rows, logs: list[Log], first_row: int = 0) -> Part:
        """Collect corrections on `rows`; the log numbers these rows from `first_row`."""
        entries = Log(*(np.concatenate(column) for column in zip(NO_LOG, *logs, strict=True)))
        # The corrections of independent classes come class by class: sort them by time.
        in_time = np.argsort(entries.count, kind="stable")
        entries = Log(*(column[in_time] for column in entries))
        origin, example = np.unique(entries.example, return_inverse=True)
        if len(origin) and int(origin[-1]) >= rows.n:  # a checkpoint may be corrupt
            raise DataError(
                f"the log has a correction of row {origin[-1]} of {several(rows.n, 'row')}"
            )
        support = rows.take(origin).without_duplicates()
        numbers = origin.astype(np.int64) + first_row
        return cls(support, numbers, entries._replace(example=example.astype(np.uint64)))


def read_log(arrays: dict[str, np.ndarray], examples: int) -> Log:
    """The entries of a log in a file; they must belong to the first `examples` examples."""
    log = Log(*(arrays[f"log.{name}"] for name in Log._fields))
    for name, column in log._asdict().items():
        whole = name in ("example", "label")
        check_shape(f"log.{name}", column, (len(log.example),), kinds="iu" if whole else "f")
    check_places("log.example", log.example, examples)
    return Log(*(column.astype(empty.dtype) for column, empty in zip(log, NO_LOG, strict=True)))


@dataclass
class MistakeLog:
    """Corrections in order, in parts that each hold their own examples."""

    parts: list[Part] = field(default_factory=list)

    def copy(self) -> MistakeLog:
        """A log that can grow independently; the parts, which never change, are shared."""
        return MistakeLog(list(self.parts))

    def append(self, part: Part) -> None:
        """Append later corrections.

        Short parts are joined, so that a long stream of single examples has few parts.
        """
        if not len(part.entries.example):
            return
        self.parts.append(part)
        while len(self.parts) > 1 and self.parts[-1].size >= self.parts[-2].size:
            self.parts[-2:] = [_join(self.parts[-2:])]

    def __repr__(self) -> str:
        return f"MistakeLog({several(len(self), 'correction')})"

    def __len__(self) -> int:
        return sum(len(part.entries.example) for part in self.parts)

    def __iter__(self) -> Iterator[Correction]:
        for part in self.parts:
            for e, label, amount, count in zip(*part.entries, strict=True):
                yield Correction(int(part.origin[e]), int(label), float(amount), float(count))

    def joined(self) -> Part | None:
        """The whole log as one part, for a file."""
        return _join(self.parts) if self.parts else None

    def arrays(self) -> dict[str, np.ndarray]:
        """The log as arrays for a file."""
        whole = self.joined()
        if whole is None:
            return {}
        arrays = {f"log.{name}": column for name, column in whole.entries._asdict().items()}
        arrays["log.origin"] = whole.origin
        stored = whole.support.stored._asdict()
        del stored["bias"]
        arrays |= {f"support.{name}": array for name, array in stored.items()}
        arrays["support.width"] = np.array([whole.support.width])
        return arrays

    @classmethod
    def of(cls, arrays: dict[str, np.ndarray], bias: float) -> MistakeLog:
        """Undo `arrays`."""
        if "log.origin" not in arrays:
            return cls()
        values = arrays["support.values"]
        if "support.indices" in arrays:
            import scipy.sparse

            kind = f"i{arrays['support.indices'].itemsize}"
            indices = arrays["support.indices"].view(kind)
            starts = arrays["support.starts"].view("i8")
            shape = (len(starts) - 1, int(arrays["support.width"][0]))
            values = scipy.sparse.csr_matrix((values, indices, starts), shape=shape)
        support = Rows.of(values, bias=bias)
        check_shape("log.origin", arrays["log.origin"], (support.n,), kinds="i")
        return cls([Part(support, arrays["log.origin"], read_log(arrays, support.n))])

    def relabelled(self, places: np.ndarray, spread: float | None) -> MistakeLog:
        """Return the log after classes have moved to `places`.

        With `spread`, the log is that of two classes, whose single vector w becomes the rows
        -spread w and +spread w: every correction becomes two.
        """

        def moved(entries: Log) -> Log:
            if spread is None:
                return entries._replace(label=places[entries.label])
            example, _, amount, count = (np.repeat(column, 2) for column in entries)
            label = np.tile(places[:2], len(entries.label))
            amount[0::2] *= -spread
            amount[1::2] *= spread
            return Log(example, label, amount, count)

        return MistakeLog([replace(part, entries=moved(part.entries)) for part in self.parts])

    def behind(self, feature: int, signs: dict[int, float]) -> list[tuple[int, float]]:
        """The corrections that make up one weight: (row, amount added), in order.

        Parameters
        ----------
        feature : int
            The column; -1 is the bias.
        signs : dict
            The classes to include, each with its sign.
        """
        found = []
        for part in self.parts:
            if feature >= part.support.width:
                continue
            if feature < 0:
                values = np.full(part.support.n, part.support.bias)
            else:
                column = part.support.to_matrix()[:, [feature]]
                values = (column.toarray() if part.support.is_sparse else column).ravel()
            example, label, amount, _ = part.entries
            mine = np.isin(label, list(signs)) & (values[example] != 0)
            found += [
                (
                    int(part.origin[example[e]]),
                    signs[int(label[e])] * amount[e] * values[example[e]],
                )
                for e in np.flatnonzero(mine)
            ]
        return found


def _join(parts: list[Part]) -> Part:
    """Join several parts; a row that is in two of them is stored twice."""
    if len(parts) == 1:
        return parts[0]
    width = max(part.support.width for part in parts)
    dtype = np.result_type(*(part.support.dtype for part in parts))
    matrices = [part.support.widened(width).to_matrix() for part in parts]
    if any(part.support.is_sparse for part in parts):
        import scipy.sparse

        matrix = scipy.sparse.vstack(matrices, format="csr")
    else:
        matrix = np.vstack(matrices)
    before = np.cumsum([0] + [part.support.n for part in parts[:-1]]).astype(np.uint64)
    shifted = [
        part.entries._replace(example=part.entries.example + first)
        for part, first in zip(parts, before, strict=True)
    ]
    return Part(
        Rows.of(matrix, bias=parts[0].support.bias, dtype=dtype),
        np.concatenate([part.origin for part in parts]),
        Log(*(np.concatenate(column) for column in zip(*shifted, strict=True))),
    )


class Votes:
    """The votes of all hypotheses so far on some rows, updated during training.

    Parameters
    ----------
    rows, which
        The rows to vote on.
    scores : array
        Scores of the first hypothesis (the start): one per row, or one per row and class.
    shared : bool
        Whether all classes change together (joint learning): then a vote goes to the best class.
        Otherwise every class is a separate binary problem with its own votes.
    """

    def __init__(self, rows: Rows, which: np.ndarray, scores: np.ndarray, shared: bool) -> None:
        rows.check_finite()  # a row that is not finite would corrupt the votes on later rows
        self.rows, self.which, self.shared = rows.without_duplicates(), which, shared
        self.scores = np.array(scores, dtype=np.float64)
        self.votes = np.zeros_like(self.scores)
        self.last = np.zeros(1 if shared or scores.ndim == 1 else scores.shape[1])

    def update(self, part: Part, threads: int = 1) -> None:
        """Add the votes of the hypotheses in this part of the log."""
        rows, support, room = self._alike(part, threads)
        together = self.scores.ndim == 1 or self.shared
        for c in range(len(self.last)):
            log = part.entries
            if not together:
                log = Log(*(entry[part.entries.label == c] for entry in log))
            if not len(log.example):
                continue

            def vote(piece: slice, log: Log = log, c: int = c) -> None:
                # Each thread has its own rows, so the sums do not depend on the number of threads.
                at: Any = piece if together else (piece, c)
                s, votes = self.scores[at].copy(), self.votes[at].copy()
                loop = multiclass_votes if s.ndim == 2 else binary_votes
                which = self.which[piece]
                loop(rows.stored, which, support, log, room, self.last[c], s, votes)
                self.scores[at], self.votes[at] = s, votes

            run_all(vote, split(len(self.which), threads, least=16), threads)
            self.last[c] = log.count[-1]

    def _alike(self, part: Part, threads: int) -> tuple[Rows, Any, tuple[int, int]]:
        """The rows and a part's support in the form that the loops take, and their sizes."""
        if part.support.is_sparse:
            rows = self.rows
            if not rows.is_sparse:
                import scipy.sparse

                rows = Rows.of(scipy.sparse.csr_matrix(rows.to_matrix()), bias=rows.bias)
            columns, postings = part.index
            return columns.look_up(rows, columns.count, threads), postings, (part.support.n, 0)
        width = max(self.rows.width, part.support.width)
        support = part.support.widened(width).stored
        return self.rows.widened(width), support, (part.support.n, width + 1)

    def result(self, count: float) -> np.ndarray:
        """The mean vote if the last hypothesis has lasted until clock time `count`."""
        if not np.all(np.isfinite(self.scores)):
            raise DataError("a score is too large for a float; scale the features down")
        survival = count - self.last
        if self.scores.ndim == 2 and self.shared:
            final = self.votes.copy()
            final[np.arange(len(final)), np.argmax(self.scores, axis=1)] += survival[0]
        else:
            final = self.votes + survival * np.where(self.scores >= 0, 1.0, -1.0)
        return final / count
