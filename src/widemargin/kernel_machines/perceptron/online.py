"""Online learning in feature space at the speed of matrix products.

A perceptron learns from one example at a time, but scores can be computed ahead, in blocks. A block
needs

    one product with the examples that corrected w since its scores were last updated,
    one product of the block with itself,

and then the compiled loop processes the examples of the block one by one, in order. The scores of
all examples are kept from epoch to epoch, so that only the latest corrections must be added: the
cost of an epoch is (examples) x (examples corrected in it), not (examples) x (all support).

If the whole matrix of kernel values fits within the memory limit, and there are enough epochs for
it to be worthwhile, it is computed once instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from widemargin.data.rows import Rows, frozen
from widemargin.errors import DataError
from widemargin.kernels.blocks import block, check_values, diagonal
from widemargin.kernels.kernel import Kernel
from widemargin.kernels.points import Points
from widemargin.loops.kernel.feature_space import feature_pass
from widemargin.loops.linear.passes import COUNT, SEEN, TURN, Log, Tally
from widemargin.loops.steps import Rule
from widemargin.modelfile.checks import check_lengths, check_places, check_shape
from widemargin.models.kernel import BLOCK_BYTES, combine
from widemargin.online.mistake_log import NO_LOG, log_buffer, read_log
from widemargin.training.checkpoints import check_alike

#: Examples per block; the second is for kernels whose every value is a call of a user's function.
_BLOCK, _ASKED = 512, 16
#: With at least this many epochs, and enough memory, the whole matrix is computed once.
_MANY = 3
#: With the whole matrix, this many examples are processed between checks for a reason to stop.
_PIECE = 4096


class KernelTask(NamedTuple):
    """What to learn, and how."""

    kernel: Kernel
    points: Points
    y: np.ndarray  # class codes
    price: np.ndarray  # the cost of an error on each example; empty: 1
    rule: Rule
    k: int  # scores per example: 1 for two classes
    joint: bool
    threads: int


class Online:
    """Learns in blocks, and keeps the scores of all examples as up to date as needed.

    Parameters
    ----------
    task : KernelTask
    epochs : float
        The number of passes over the examples.
    memory : int
        Bytes that may be used for kernel values.
    """

    def __init__(self, task: KernelTask, epochs: float, memory: int) -> None:
        self.task = task
        kernel, points = task.kernel, task.points
        points.prepare(kernel)
        self.clock = np.array([1.0, 1.0, 0.0, 0.0])
        self.S = np.zeros((task.k, points.n))
        self.q = diagonal(kernel, points)
        self.logs: list[Log] = []
        whole = points.n * points.n * points.dtype.itemsize <= memory
        asked = kernel.on_objects and not hasattr(kernel.function, "block")
        self.gram: np.ndarray | None = None
        if kernel.is_precomputed or (whole and epochs >= _MANY and not asked):
            self.gram = _whole(kernel, points, task.threads)
        self.size = min(points.n, _ASKED if asked else _BLOCK)
        # Reused buffers for the kernel values of a block with itself, and with other examples.
        self._inside = np.empty(self.size * self.size, points.dtype)
        self._outside = np.empty(
            BLOCK_BYTES // points.dtype.itemsize + 64 * self.size, points.dtype
        )
        #: The blocks of this epoch, and their corrections, which only later blocks have counted.
        self._pending: list[tuple[np.ndarray, Log]] = []

    def continue_from(self, scores: np.ndarray, count: float) -> None:
        """Start from the scores and the clock of an earlier training."""
        self.S[:] = scores
        self.clock[COUNT], self.clock[SEEN], self.clock[TURN] = count, count - 1.0, count - 1.0

    @property
    def count(self) -> float:
        """The clock c: the number of hypotheses so far."""
        return float(self.clock[COUNT])

    def run(self, order: np.ndarray, done: int = 0) -> Iterator[tuple[int, Tally]]:
        """Learn from examples in order; yield how many were seen, and a tally of what happened.

        The first `done` of them are skipped when learning resumes from a checkpoint.
        """
        if self.gram is not None:
            for begin in range(done, len(order), _PIECE):
                piece = frozen(order[begin : begin + _PIECE])
                yield len(piece), self._learn(self.gram, piece, self.task.points.index, self.S)
            return
        recent = _Changed(self.task)
        if done:
            for _, log in self._pending:
                recent.add(log)
        else:
            self._settle()
        # A correction must not be added twice to the score of an example that occurs repeatedly;
        # in that case scores are updated only at the end of the epoch.
        again = len(np.unique(order)) < len(order)
        for begin in range(done, len(order), self.size):
            which = order[begin : begin + self.size].astype(np.int64)
            part = self.task.points.take(which)
            S = self.S[:, which]
            if recent.n:
                S += recent.scores(part, self._outside)
            K = self._inside[: part.n * part.n].reshape(part.n, part.n)
            block(self.task.kernel, part, part, K, self.task.threads)
            tally = self._learn(K, frozen(np.arange(len(which), dtype=np.uint64)), which, S)
            if not again:
                self.S[:, which] = S
            recent.add(self.logs[-1])
            self._pending.append((which[:0] if again else which, self.logs[-1]))
            yield len(which), tally

    def would_correct(self, which: np.ndarray) -> bool:
        """Check examples, without learning, for mistakes."""
        self._settle()
        S, clock, logs = self.S.copy(), self.clock.copy(), len(self.logs)
        found = any(tally.updates > 0 for _, tally in self.run(which))
        self.S, self.clock, self._pending = S, clock, []
        del self.logs[logs:]
        return found

    def remember(self) -> tuple[int, float]:
        """A snapshot of the learner, for `restore`."""
        return len(self.logs), self.count

    def restore(self, moment: tuple[int, float]) -> None:
        """Return to a snapshot."""
        del self.logs[moment[0] :]
        self.clock[COUNT] = moment[1]

    def contents(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The state of the learner, as arrays and JSON."""
        arrays = {"S": self.S, "clock": self.clock}
        blocks = [which for which, _ in self._pending]
        arrays["pending"] = np.concatenate([np.empty(0, np.int64), *blocks])
        for name, columns in zip(Log._fields, zip(NO_LOG, *self.logs, strict=True), strict=True):
            arrays[f"log.{name}"] = np.concatenate(columns)
        about = {
            "logs": [len(log.example) for log in self.logs],
            "pending": [len(which) for which in blocks],
        }
        return arrays, about

    def resume(self, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> None:
        """Undo `contents`."""
        check_alike(arrays, {"S": self.S, "clock": self.clock})
        self.S, self.clock = arrays["S"], arrays["clock"]
        n, whole = self.task.points.n, read_log(arrays, self.task.points.n)
        check_places("log.label", whole.label, len(self.S))
        check_places("pending", arrays["pending"], n)
        check_lengths(about, "logs", len(whole.label))
        check_lengths(about, "pending", len(arrays["pending"]))
        if len(about["pending"]) > len(about["logs"]):
            raise ValueError(f"{len(about['pending'])} blocks have {len(about['logs'])} logs")
        edges = np.cumsum([0, *about["logs"]]).tolist()
        self.logs = [Log(*(column[a:b] for column in whole)) for a, b in pairwise(edges)]
        edges = np.cumsum([0, *about["pending"]]).tolist()
        blocks = [arrays["pending"][a:b] for a, b in pairwise(edges)]
        # Every block has one log, and the logs of this epoch come last.
        self._pending = list(zip(blocks, self.logs[len(self.logs) - len(blocks) :], strict=True))

    def pack_snapshot(self, snapshot: tuple[int, float]) -> dict[str, np.ndarray]:
        """A snapshot as arrays."""
        return {"snapshot": np.array(snapshot)}

    def unpack_snapshot(self, arrays: dict[str, np.ndarray]) -> tuple[int, float]:
        """Undo `pack_snapshot`."""
        check_shape("snapshot", arrays["snapshot"], (2,))
        logs, count = arrays["snapshot"].tolist()
        if not (0.0 <= logs <= len(self.logs) and 1.0 <= count < math.inf):
            raise ValueError(f"{count} hypotheses in {logs} logs")
        return int(logs), count

    def _learn(self, K: np.ndarray, order: np.ndarray, which: np.ndarray, S: np.ndarray) -> Tally:
        """Run the loop on the examples `which`, whose kernel values are K."""
        task = self.task
        whole = K is self.gram
        q = self.q if whole else self.q[which]
        y = task.y if whole else task.y[which]
        price = task.price if whole or not len(task.price) else task.price[which]
        changed = 2 if task.joint and task.k > 1 else task.k
        log = log_buffer(len(order) * changed)
        tally = feature_pass(
            frozen(K),
            frozen(q),
            frozen(y),
            frozen(price),
            order,
            task.rule,
            task.joint,
            S,
            self.clock,
            log,
        )
        if tally.bad >= 0:
            self._explain(K, which, int(which[tally.bad]))
        written = Log(*(column[: tally.logged].copy() for column in log))
        self.logs.append(written._replace(example=which[written.example].astype(np.uint64)))
        return tally

    def _settle(self) -> None:
        """Bring all scores up to date with the end of the last epoch.

        The score of an example last seen in block b lacks the corrections of later blocks. They
        are accumulated from the last block backwards.
        """
        if not self._pending:
            return
        n = self.task.points.n
        seen = np.full(n, -1)
        for number, (which, _) in enumerate(self._pending):
            seen[which] = number
        later = _Changed(self.task)
        for number in range(len(self._pending) - 1, -2, -1):
            rows = np.flatnonzero(seen == number)
            if later.n:
                for begin in range(0, len(rows), self.size):
                    some = rows[begin : begin + self.size]
                    part = self.task.points.take(some)
                    self.S[:, some] += later.scores(part, self._outside)
            if number >= 0:
                later.add(self._pending[number][1])
        self._pending = []

    def _explain(self, K: np.ndarray, which: np.ndarray, row: int) -> None:
        """Raise an error that says why the score of an example is not finite."""
        part = self.task.points.take(which)
        check_values(K, part, part)
        raise DataError(
            f"row {row}: its score is too large for a float, so nothing can be learned from it;"
            " scale the features or gamma down"
        )


class _Changed:
    """The examples that recently corrected w, and by how much; this list only grows."""

    def __init__(self, task: KernelTask) -> None:
        self.task = task
        self.n = 0
        self._place = np.full(task.points.n, -1)
        self._which = np.empty(1024, np.int64)
        self._coef = np.zeros((1024, task.k))
        self._dense: np.ndarray | None = None

    def add(self, log: Log) -> None:
        """Add corrections."""
        example = log.example.astype(np.int64)
        new = np.unique(example[self._place[example] < 0])
        total = self.n + len(new)
        if total > len(self._which):
            self._which = np.resize(self._which, 2 * total)
            coef = np.zeros((2 * total, self.task.k))
            coef[: self.n] = self._coef[: self.n]
            self._coef = coef
        self._which[self.n : total] = new
        self._place[new] = np.arange(self.n, total)
        self._append(new, total)
        self.n = total
        np.add.at(self._coef, (self._place[example], log.label), log.amount)

    def _append(self, new: np.ndarray, total: int) -> None:
        """Copy dense rows into one contiguous matrix, which products need."""
        points, dense = self.task.points, self.task.points.dense
        sparse = points.rows is not None and points.rows.is_sparse
        if dense is None or (sparse and self.task.kernel.name == "laplacian"):
            return
        if self._dense is None or total > len(self._dense):
            longer = np.empty((max(1024, 2 * total), dense.shape[1]), dense.dtype)
            if self._dense is not None:
                longer[: self.n] = self._dense[: self.n]
            self._dense = longer
        self._dense[self.n : total] = dense[new]

    def scores(self, part: Points, work: np.ndarray) -> np.ndarray:
        """The change of the scores of some examples by the corrections."""
        task, which = self.task, self._which[: self.n]
        if self._dense is None:
            points = task.points.take(which)
        else:
            rows = Rows.of(self._dense[: self.n], bias=0.0)
            points = Points(self.n, rows, None, which)
            if "squares" in vars(task.points):
                vars(points)["squares"] = task.points.squares[which]
        return combine(task.kernel, self._coef[: self.n], points, part, task.threads, work)


def _whole(kernel: Kernel, points: Points, threads: int) -> np.ndarray:
    """The matrix of all kernel values."""
    if kernel.is_precomputed:
        assert points.rows is not None
        matrix = points.rows.to_matrix()
        return matrix.toarray() if points.rows.is_sparse else matrix
    return block(kernel, points, points, threads=threads)
