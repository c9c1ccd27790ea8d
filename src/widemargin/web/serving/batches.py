"""Questions of several requests answered together, so that compiled code sees blocks.

Nobody waits for a block to fill: a block is what arrived while the last one was answered, or within
one round of the event loop. On a busy server that is many questions; on an idle one a question is
answered at once. What takes longer than a moment is answered on a thread, so that the event loop
goes on reading, refusing and answering other models' questions.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from widemargin.errors import DataError
from widemargin.web.serving.askable import Want
from widemargin.web.serving.bodies import Examples, unreadable
from widemargin.web.serving.metrics import Counters
from widemargin.web.serving.served import Served

#: Seconds of answering after which the event loop looks at its connections again. A question that
#: is expected to take longer goes to the thread, whose start and end cost about 0.1 ms.
MOMENT = 0.002
#: Most bytes of bodies in one block, so that a block ends soon: a linear model reads 100 MB of text
#: a second.
BLOCK = 1 << 18
#: How much a block that took longer than expected adds to what is expected of the next; one that
#: took less is believed at once. So what is fast is not sent to the thread because of one delay.
_RECENT = 0.2


class Question:
    """Examples and what is to be told of them.

    Parameters
    ----------
    served : Served
        The model.
    examples : Examples
        The examples.
    want : Want
        What to tell.
    size : int
        Bytes of the body they came from.
    done : callable
        Called in the event loop with a prediction per example, or with what was wrong.
    """

    __slots__ = ("done", "dropped", "examples", "served", "size", "want")

    def __init__(
        self,
        served: Served,
        examples: Examples,
        want: Want,
        size: int,
        done: Callable[[list[str] | BaseException], None],
    ) -> None:
        self.served, self.examples, self.want, self.size = served, examples, want, size
        self.done = done
        self.dropped = False

    @property
    def block(self) -> Any:
        """Questions with equal blocks can be answered together."""
        if not self.examples.form or not self.served.asked.joins:
            return self
        return self.served.name, self.served.digest, self.examples.form, self.want


class Answering:
    """Answers questions in blocks.

    Parameters
    ----------
    loop : event loop
        Where questions come from and answers go.
    counters : Counters
        Counts blocks and examples.
    wait : float
        Seconds that the first question of a block waits for others.
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
        """Do other work on the thread, such as reading a large body."""
        future = self._loop.run_in_executor(self._thread, _attempt, work)
        future.add_done_callback(lambda found: done(found.result()))

    def _answer(self) -> None:
        """Answer what is waiting, for a moment."""
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
        """Give the thread the next block that takes longer, if it is idle."""
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
        """Hand out the answers of a block, and learn how long such questions take."""
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
        """End the thread."""
        self._thread.shutdown(wait=False, cancel_futures=True)


def _key(block: list[Question]) -> tuple[str, str]:
    return block[0].served.name, block[0].examples.form


def _cut(questions: list[Question]) -> list[list[Question]]:
    """Questions that can be answered together, in blocks of bounded size."""
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
    """What some work returns, or raises."""
    try:
        return work()
    except BaseException as error:  # told to whoever asked
        return error


def timed_answers(block: list[Question]) -> tuple[list[list[str] | BaseException], float]:
    """The predictions for each question of a block, and the seconds of work that they took."""
    began = time.thread_time()
    return answers_of(block), time.thread_time() - began


def answers_of(block: list[Question]) -> list[list[str] | BaseException]:
    """The predictions for each question of a block.

    If one of them cannot be answered, each is asked alone, so that it is told what is wrong with it
    and the others are answered.
    """
    first = block[0]
    items = [item for question in block for item in question.examples.items]
    try:
        found = first.served.asked.answer(first.examples.form, items, first.want)
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
