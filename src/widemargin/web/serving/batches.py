"""Batching: the questions of several requests are answered together, in one call of compiled code.

No question waits for a block to fill: a block is what arrived while the last one was answered, or
within one iteration of the event loop. On a busy server that is many questions; on an idle one a
question is answered at once. Longer work is done on a thread, so that the event loop can continue
to read, refuse and answer questions to other models.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from widemargin.errors import DataError
from widemargin.web.serving.bodies import Examples, unreadable
from widemargin.web.serving.metrics import Counters
from widemargin.web.serving.predictor import AnswerOptions
from widemargin.web.serving.served import Served

#: Seconds of answering after which the event loop serves its connections again. A question that is
#: expected to take longer goes to the thread, which costs about 0.1 ms.
MOMENT = 0.002
#: The largest size of a block in bytes of bodies, to keep blocks short: a linear model reads 100 MB
#: of text per second.
BLOCK = 1 << 18
#: The weight of a block that took longer than expected in the expectation for the next; one that
#: took less counts fully. So one delay does not send fast questions to the thread.
_RECENT = 0.2


class Question:
    """Examples to predict, and what to return for them.

    Parameters
    ----------
    served : Served
        The model.
    examples : Examples
        The examples.
    want : AnswerOptions
        What to return.
    size : int
        The size of the request body in bytes.
    done : callable
        Called in the event loop with a prediction per example, or with an exception.
    """

    __slots__ = ("done", "dropped", "examples", "served", "size", "want")

    def __init__(
        self,
        served: Served,
        examples: Examples,
        want: AnswerOptions,
        size: int,
        done: Callable[[list[str] | BaseException], None],
    ) -> None:
        self.served, self.examples, self.want, self.size = served, examples, want, size
        self.done = done
        self.dropped = False

    @property
    def block(self) -> Any:
        """A key: questions with equal keys can be answered together."""
        if not self.examples.form or not self.served.predictor.joins:
            return self
        return self.served.name, self.served.digest, self.examples.form, self.want


class Answering:
    """Answers questions in blocks.

    Parameters
    ----------
    loop : event loop
        The loop that asks questions and receives answers.
    counters : Counters
        Counts blocks and examples.
    wait : float
        Seconds that the first question of a block waits for others to join it.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, counters: Counters, wait: float = 0.0
    ) -> None:
        self._loop, self._counters, self._wait = loop, counters, wait
        self._waiting: list[Question] = []
        self._large: list[list[Question]] = []
        self._scheduled, self._busy = False, False
        self._pace: dict[tuple[str, str], float] = {}  # seconds per byte
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="answering")

    def ask(self, question: Question) -> None:
        """Answer a question soon."""
        self._waiting.append(question)
        self._schedule(self._wait)

    def _schedule(self, wait: float) -> None:
        if not self._scheduled:
            self._scheduled = True
            if wait:
                self._loop.call_later(wait, self._answer)
            else:
                self._loop.call_soon(self._answer)

    def apart(self, work: Callable[[], Any], done: Callable[[Any | BaseException], None]) -> None:
        """Run other work on the thread, such as reading a large body."""
        future = self._loop.run_in_executor(self._thread, _attempt, work)
        future.add_done_callback(lambda found: done(found.result()))

    def _answer(self) -> None:
        """Answer waiting questions, for at most `MOMENT` seconds or so."""
        self._scheduled = False
        blocks: dict[Any, list[Question]] = {}
        for question in self._waiting:
            if not question.dropped:
                blocks.setdefault(question.block, []).append(question)
        self._waiting.clear()
        left = MOMENT
        for some in blocks.values():
            for block in _cut(some):
                expected = self._expected(block)
                if expected > MOMENT:
                    self._large.append(block)
                elif left <= 0.0:
                    self._waiting += block
                else:
                    found, seconds = timed_answers(block)
                    self._deliver(block, found, seconds)
                    left -= seconds
        if self._waiting:
            self._schedule(0.0)
        self._begin_large()

    def _expected(self, block: list[Question]) -> float:
        pace = self._pace.get(_key(block), float("inf"))
        return pace * sum(question.size for question in block)

    def _begin_large(self) -> None:
        """Give the thread the next large block, if it is idle."""
        while self._large and not self._busy:
            block = [question for question in self._large.pop(0) if not question.dropped]
            if not block:
                continue
            self._busy = True
            future = self._loop.run_in_executor(self._thread, timed_answers, block)

            def finish(found: Any, block: list[Question] = block) -> None:
                self._busy = False
                self._deliver(block, *found.result())
                self._begin_large()

            future.add_done_callback(finish)

    def _deliver(
        self, block: list[Question], found: list[list[str] | BaseException], seconds: float
    ) -> None:
        """Deliver the answers of a block, and update the expected time of such questions."""
        pace = seconds / max(1, sum(question.size for question in block))
        before = self._pace.get(_key(block), pace)
        self._pace[_key(block)] = min(pace, before + _RECENT * (pace - before))
        self._counters.add("batches")
        for question, answer in zip(block, found, strict=True):
            if not isinstance(answer, BaseException):
                self._counters.add("batch_examples", by=question.examples.n)
                self._counters.add("examples", question.served.name, by=question.examples.n)
            if not question.dropped:
                question.done(answer)

    def close(self) -> None:
        """Shut down the thread."""
        self._thread.shutdown(wait=False, cancel_futures=True)


def _key(block: list[Question]) -> tuple[str, str]:
    return block[0].served.name, block[0].examples.form


def _cut(questions: list[Question]) -> list[list[Question]]:
    """Cut questions that can be answered together into blocks of bounded size."""
    blocks, size = list[list[Question]](), 0
    for question in questions:
        if not blocks or size + question.size > BLOCK:
            blocks.append([question])
            size = question.size
        else:
            blocks[-1].append(question)
            size += question.size
    return blocks


def _attempt(work: Callable[[], Any]) -> Any:
    """Run some work, and return its result or the exception that it raises."""
    try:
        return work()
    except BaseException as error:  # passed on to the caller
        return error


def timed_answers(block: list[Question]) -> tuple[list[list[str] | BaseException], float]:
    """The predictions for each question of a block, and the CPU seconds they took."""
    began = time.thread_time()
    return answers_of(block), time.thread_time() - began


def answers_of(block: list[Question]) -> list[list[str] | BaseException]:
    """The predictions for each question of a block.

    If one of them fails, each is answered alone, so that only the faulty one gets an error.
    """
    first = block[0]
    items = [item for question in block for item in question.examples.items]
    try:
        found = first.served.predictor.answer(first.examples.form, items, first.want)
    except Exception as error:
        if len(block) > 1:
            return [answer for question in block for answer in answers_of([question])]
        return [unreadable(error) if isinstance(error, DataError) else error]
    answers: list[list[str] | BaseException] = []
    ends = 0
    for question in block:
        answers.append(found[ends : ends + question.examples.n])
        ends += question.examples.n
    return answers
