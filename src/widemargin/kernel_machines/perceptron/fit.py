"""The kernel perceptron: from what a user asks for to a model."""

from __future__ import annotations

import math
import time
from typing import Any, NamedTuple

import numpy as np

from widemargin.data.rows import Rows, frozen
from widemargin.errors import DataError
from widemargin.kernel_machines.perceptron.budget import Budget
from widemargin.kernel_machines.perceptron.continued import joined, scores_so_far, with_classes
from widemargin.kernel_machines.perceptron.online import Lesson, Online
from widemargin.kernel_machines.perceptron.settings import KernelSettings
from widemargin.kernels.check import check_gram
from widemargin.kernels.kernel import Kernel, make_kernel
from widemargin.kernels.points import Points, points_of
from widemargin.loops.linear.passes import Log
from widemargin.models.kernel import KernelModel, RunningScores
from widemargin.online.fit import prices, split
from widemargin.online.learn import Moment, Watch
from widemargin.online.mistake_log import NO_LOG
from widemargin.online.orders import orders
from widemargin.online.scores import best_class
from widemargin.parameters import parse_bytes
from widemargin.threads import thread_count
from widemargin.training.history import Epoch, History


class HeldOutPoints(NamedTuple):
    """Examples that are scored after every epoch and never learned from."""

    X: Any
    y: np.ndarray  # their class codes; -1 for a label that is no class


def kernel_for(X: Any, settings: KernelSettings) -> tuple[Kernel, Points]:
    """The kernel that is meant, and the examples as it reads them, checked."""
    vectors = settings.kernel != "ngrams" and not callable(settings.kernel)
    rows = Rows.of(X, bias=0.0) if vectors else None
    kernel = make_kernel(**settings.kernel_params, rows=rows)
    points = points_of(kernel, X if rows is None else rows)
    if kernel.is_precomputed:
        check_gram(points)
    return kernel, points


def fit_kernel_perceptron(
    X: Any,
    classes: np.ndarray,
    codes: np.ndarray,
    settings: KernelSettings,
    rng: np.random.Generator,
    *,
    sample_weight: np.ndarray | None = None,
    held_out: HeldOutPoints | None = None,
    before: KernelModel | None = None,
    watch: Watch | None = None,
) -> KernelModel:
    """Learn from examples whose labels are classes[codes].

        w = 0
        for each example (x, y):
            if y w.phi(x) <= 0:
                w += eta y phi(x)

    where w.phi(x) = sum_j a_j K(x_j, x), the sum over the mistakes so far (L26).

    Parameters
    ----------
    X : array, sparse matrix, Rows, or a list of objects
        The examples, or their Gram matrix.
    classes, codes
        The labels.
    settings : KernelSettings
    rng : numpy Generator
        Where chance comes from.
    sample_weight : array, optional
        What an error on each example costs.
    held_out : HeldOutPoints, optional
        Scored after each epoch; then the best hypothesis is given back, not the last.
    before : KernelModel, optional
        What was learned from other examples, to go on from: its kernel, its clock and its scores.
    watch : callable, optional
        Told where learning stands; stops it by answering True.
    """
    settings.check()
    if before is None:
        kernel, points = kernel_for(X, settings)
    else:
        before = with_classes(before, classes)
        kernel, points = before.kernel, before.points(X)
    if len(codes) != points.n:
        raise DataError(f"there are {points.n} examples but {len(codes)} labels")
    price = prices(classes, codes, settings.class_weight, sample_weight)
    which = np.arange(points.n, dtype=np.uint64)
    asked: tuple[Points, np.ndarray] | None = None
    if held_out is not None:
        asked = points_of(kernel, held_out.X), held_out.y
    elif settings.validation > 0.0:
        which, kept_back = split(codes, settings.validation, rng)
        asked = points.take(kept_back), codes[kept_back]
    if price is not None and not np.all(price[which] > 0.0):
        which = which[price[which] > 0.0]  # no weight: as if it were not there
    if not len(which):
        raise DataError("there are no examples to learn from")
    lesson = Lesson(
        kernel,
        points,
        np.asarray(codes, np.int64),
        np.empty(0) if price is None else price,
        settings.make_rule(),
        1 if len(classes) <= 2 else len(classes),
        settings.joint,
        thread_count(settings.n_jobs),
    )
    run = _Run(lesson, settings, frozen(which), rng, asked, watch)
    if before is not None:
        assert isinstance(run.learner, Online)
        run.learner.go_on(scores_so_far(before, points, lesson.threads), before.count)
    run.finish()
    model = run.model(classes)
    return model if before is None else joined(before, model)


class _Run:
    """One call of `fit_kernel_perceptron`."""

    def __init__(
        self,
        lesson: Lesson,
        settings: KernelSettings,
        which: np.ndarray,
        rng: np.random.Generator,
        asked: tuple[Points, np.ndarray] | None,
        watch: Watch | None,
    ) -> None:
        self.lesson, self.settings, self.which, self.rng = lesson, settings, which, rng
        self.asked, self.watch = asked, watch
        self.history = History()
        self.began = time.monotonic()
        memory = parse_bytes("max_memory", settings.max_memory)
        self.learner: Online | Budget
        if settings.budget is None:
            self.learner = Online(lesson, settings.epochs, memory)
        else:
            self.learner = Budget(lesson, settings, rng)
        self.R = math.sqrt(max(0.0, float(np.max(self.learner.q[which.astype(np.int64)]))))
        self.best: tuple[float, int, Any] = (-math.inf, 0, None)
        self.running: RunningScores | None = None
        if asked is not None and isinstance(self.learner, Online):
            self.running = RunningScores(lesson.kernel, asked[0], lesson.k, lesson.joint)
        self.heard = 0

    def finish(self) -> None:
        """Run epoch after epoch until there is a reason to stop."""
        whole, turns = self.settings.epochs, orders(self.which, self.settings.shuffle, self.rng)
        epoch = 0
        while not self.history.stopped:
            part = min(1.0, whole - epoch)
            order = next(turns)
            examples = max(1, round(part * len(order)))
            epoch += 1
            updates = self._epoch(epoch, frozen(order[:examples]))
            if not self.history.stopped:
                self.history.stopped = self._reason(updates, epoch, examples == len(order))
        if self.asked is not None:
            self.history.best = self.best[1]

    def _epoch(self, epoch: int, order: np.ndarray) -> int:
        """Learn from the examples once; returns how many corrections there were."""
        seen = mistakes = updates = 0
        loss = 0.0
        for looked_at, tally in self.learner.run(order):
            seen += looked_at
            mistakes += int(tally.mistakes)
            updates += int(tally.updates)
            loss += float(tally.loss)
            part = seen / len(order)
            if self._hears_stop(epoch, part, mistakes, loss / seen, seen):
                break
        score = None
        if self.asked is not None:
            score = self._score()
            if score > self.best[0]:
                self.best = (score, epoch, self.learner.remember())
        seconds = time.monotonic() - self.began
        self.history.add(Epoch(epoch, mistakes, updates, loss / seen, None, score, seconds, seen))
        return updates

    def _hears_stop(self, epoch: int, part: float, mistakes: int, loss: float, seen: int) -> bool:
        seconds = time.monotonic() - self.began
        moment = Moment(epoch, part, mistakes, loss, self.history, seen, seconds)
        limit = self.settings.max_seconds
        if self.watch is not None and self.watch(moment):
            self.history.stopped = "interrupted"
        elif limit is not None and seconds > limit:
            self.history.stopped = "deadline"
        return bool(self.history.stopped)

    def _reason(self, updates: int, epoch: int, complete: bool) -> str:
        """Why to stop after this epoch, or nothing."""
        if updates == 0 and complete and self.settings.shuffle != "draw":
            return "no mistakes"
        if self.asked is not None and epoch - self.best[1] >= self.settings.patience:
            return "no improvement"
        return "epochs" if epoch >= self.settings.epochs else ""

    def _score(self) -> float:
        """The accuracy, on the held-out examples, of what would be deployed now."""
        assert self.asked is not None
        points, y = self.asked
        learner, keep = self.learner, self.settings.keep
        if isinstance(learner, Online):
            assert self.running is not None
            log = _joined(learner.logs[self.heard :])
            self.heard = len(learner.logs)
            self.running.hear(*_support_of(self.lesson.points, log), self.lesson.threads)
            found = self.running.result(keep, learner.count)
        else:
            found = learner.scores(points, keep)
        return float(np.mean(best_class(found[:, 0] if found.shape[1] == 1 else found) == y))

    def model(self, classes: np.ndarray) -> KernelModel:
        """What was learned."""
        learner, settings, lesson = self.learner, self.settings, self.lesson
        if self.best[2] is not None:
            learner.restore(self.best[2])
        log: Log | None
        if isinstance(learner, Online):
            support, log = _support_of(lesson.points, _joined(learner.logs))
            coef, u = np.zeros((2, support.n, lesson.k))
            np.add.at(coef, (log.example, log.label), log.amount)
            np.add.at(u, (log.example, log.label), log.amount * log.count)
            summed = learner.count * coef - u
        else:
            support, coef, summed, log = learner.result()
        if lesson.kernel.is_precomputed:  # the row numbers say all
            empty = Rows.of(np.empty((support.n, 0), support.dtype), bias=0.0)
            support = Points(support.n, empty, None, support.index)
        rows = lesson.points.rows
        return KernelModel(
            classes=classes,
            kernel=lesson.kernel,
            support=support,
            coef=coef,
            summed=summed if settings.keep != "last" else np.empty((0, lesson.k)),
            log=log if settings.keep == "vote" else None,
            count=learner.count,
            intercept=np.zeros(lesson.k),
            joint=lesson.joint,
            keep=settings.keep,
            rule=settings.rule,
            history=self.history,
            R=self.R,
            width=0 if rows is None else rows.width,
        )


def _joined(logs: list[Log]) -> Log:
    """Logs one after the other."""
    return Log(*(np.concatenate(column) for column in zip(NO_LOG, *logs, strict=True)))


def _support_of(points: Points, log: Log) -> tuple[Points, Log]:
    """The examples in a log, and the log with `example` counting within them."""
    which, example = np.unique(log.example, return_inverse=True)
    support = points.take(which.astype(np.int64))
    return support, log._replace(example=example.astype(np.uint64))
