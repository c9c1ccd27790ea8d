"""The driver of the tagger: from a corpus to weights, epoch by epoch."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from widemargin.certificates.certificate import RunCertificate
from widemargin.data.encode.templates import Templates
from widemargin.data.encode.tokens import Tokens
from widemargin.data.readers.corpus import Corpus
from widemargin.data.rows import frozen
from widemargin.errors import DataError
from widemargin.loops.lowlevel.vectors import aligned
from widemargin.loops.sequences.tagging import (
    Lexicon,
    Reader,
    Search,
    Sentences,
    Tally,
    grow_ids,
    look_up,
    read_ids,
    tagging_pass,
)
from widemargin.loops.sequences.templates import Index, enter_keys
from widemargin.loops.steps import ERROR, Rule
from widemargin.structured.sentences import word_columns
from widemargin.structured.tagger.weights import row_width, transition_rows, transition_table
from widemargin.threads import run_all
from widemargin.training.history import Epoch, History

#: Tokens between two looks at the clock: less than a tenth of a second.
_PIECE = 1 << 16
#: Rows of weights that are averaged at once.
_BLOCK = 1 << 12
_NOTHING, _NO_ROWS = frozen(np.empty(0, np.uint64)), frozen(np.empty(0, np.uint32))


@dataclass(frozen=True)
class TaggerPlan:
    """How to learn, apart from the data."""

    rule: Rule
    search: Search
    keep: str = "average"
    epochs: int = 10
    shuffle: bool = True
    patience: int = 5
    max_seconds: float = math.inf


class Moment(NamedTuple):
    """Where learning stands, as told to whoever watches it."""

    epoch: int  # from 1
    part: float  # of the epoch that is done
    mistakes: int  # sentences in this epoch so far
    history: History  # the epochs before
    seconds: float


#: Told every tenth of a second or so; learning stops when it answers True.
Watch = Callable[[Moment], bool]


class Encoded(NamedTuple):
    """A corpus as features."""

    tokens: Tokens
    starts: np.ndarray
    ids: np.ndarray
    where: Index
    size: int  # rows of weights that features have


def encode_corpus(corpus: Corpus, templates: Templates, bits: int | None) -> Encoded:
    """Compute all features once: rows by the first bits of their hashes, or by a dictionary."""
    tokens = templates.columns.read(word_columns(corpus))
    starts = frozen(corpus.starts.astype(np.uint64))
    ids = np.empty(tokens.n * len(templates), np.uint32)
    if bits is not None:
        index = Index(np.uint64(64 - bits), _NOTHING, _NO_ROWS)
        read_ids(*tokens, _reader(templates, index), starts, ids)
        return Encoded(tokens, starts, frozen(ids), index, 1 << bits)
    index = Index(np.uint64(0), _NOTHING, _NO_ROWS)
    reader = _reader(templates, index)
    longest = int(corpus.lengths.max(initial=1)) * len(templates)
    keys = np.zeros(1 << (4 * longest + (1 << 16)).bit_length(), np.uint64)
    rows = np.zeros(len(keys), np.uint32)
    done, used = grow_ids(*tokens, reader, starts, 0, 1, keys, rows, ids)
    while done < len(corpus):
        wider = np.zeros(4 * len(keys), np.uint64), np.zeros(4 * len(keys), np.uint32)
        enter_keys(frozen(keys), frozen(rows), *wider)
        keys, rows = wider
        done, used = grow_ids(*tokens, reader, starts, done, used, keys, rows, ids)
    index = Index(np.uint64(0), frozen(keys), frozen(rows))
    return Encoded(tokens, starts, frozen(ids), index, used)


def _reader(templates: Templates, index: Index, lexicon: Lexicon | None = None) -> Reader:
    if lexicon is None:
        lexicon = Lexicon(_NOTHING, _NO_ROWS, frozen(np.zeros((1, 8), np.float32)))
    return Reader(templates.columns.made, templates.table, index, lexicon)


def read_again(encoded: Encoded, templates: Templates) -> np.ndarray:
    """The features of a corpus once more, which need not be kept meanwhile."""
    ids = np.empty(encoded.tokens.n * len(templates), np.uint32)
    read_ids(*encoded.tokens, _reader(templates, encoded.where), encoded.starts, ids)
    return frozen(ids)


class Course:
    """Weights that learn from an encoded corpus.

    Parameters
    ----------
    encoded : Encoded
        What to learn from.
    labels : array of uint16
        The right label of every token.
    allowed : array of bool, (n + 1, n + 1)
        Which label may follow which.
    lexicon : Lexicon
        Which labels words may have. While learning, the right one always is allowed.
    plan : TaggerPlan
        How to learn.
    templates : int
        How many features a token has.
    """

    def __init__(
        self,
        encoded: Encoded,
        labels: np.ndarray,
        allowed: np.ndarray,
        lexicon: Lexicon,
        plan: TaggerPlan,
        templates: int,
    ) -> None:
        n, order = plan.search.n, plan.search.order
        width = row_width(n, order)
        self.plan, self.allowed, self.encoded = plan, allowed, encoded
        self.W = aligned((encoded.size + transition_rows(n, order), width), np.float32)
        self.U = aligned(self.W.shape if plan.keep == "average" else (0, width), np.float32)
        self.D = transition_table(self.W, allowed, n, order)
        self.clock = np.ones(1)
        self.longest = 0.0  # the squared length of the longest step's direction
        tokens = encoded.tokens
        rows, masks = np.empty(0, np.uint32), lexicon.masks
        if len(lexicon.keys):
            rows = np.empty(tokens.n, np.uint32)
            look_up(tokens.codes, tokens.edges, lexicon, 0, tokens.n, rows)
            rows[masks[rows, labels] != 0.0] = 0
        self.given = Sentences(
            encoded.ids, encoded.starts, frozen(labels), frozen(rows), frozen(masks)
        )
        longest = int(np.diff(encoded.starts.astype(np.int64)).max(initial=1))
        most = 1 << (4 * longest * (templates + 3)).bit_length()
        self._room = np.full(most, ~np.uint64(0)), np.empty(most), np.empty(most, np.uint64)

    def run(self, order: np.ndarray) -> Tally:
        """Learn from sentences in an order."""
        tally = tagging_pass(
            self.given,
            frozen(order),
            self.plan.rule,
            self.plan.search,
            self.W,
            self.D,
            self.U,
            self.clock,
            *self._room,
        )
        if tally.bad >= 0:
            raise DataError(
                f"sentence {tally.bad + 1}: no sequence of tags has a finite score; the weights"
                " grew beyond what a float can hold, or no tags are allowed there"
            )
        self.longest = max(self.longest, tally.longest)
        return tally

    def deployed(self, in_place: bool = False) -> np.ndarray:
        """The weights that would answer: the last, or the average W - U / c."""
        if not len(self.U):
            return self.W if in_place else self.W.copy()
        out = self.W if in_place else np.empty_like(self.W)
        share = 1.0 / self.clock[0]
        for a in range(0, len(out), _BLOCK):
            block = self.U[a : a + _BLOCK] * share
            np.subtract(self.W[a : a + _BLOCK], block, out=out[a : a + _BLOCK], casting="same_kind")
        return out


class Learned(NamedTuple):
    """What came of learning."""

    weights: np.ndarray  # to deploy
    history: History
    longest: float  # the squared length of the longest step's direction


def learn_committee(
    make: Callable[[], Course],
    sentences: int,
    rngs: Sequence[np.random.Generator],
    threads: int = 1,
    score: Callable[[np.ndarray], float] | None = None,
    watch: Watch | None = None,
) -> Learned:
    """Learn several times, in different orders, and take the mean of the weights.

    Parameters
    ----------
    make : callable
        Makes a new course for each member.
    sentences : int
        How many there are.
    rngs : sequence of numpy Generators
        Where chance comes from, for each member.
    threads : int
        How many members learn side by side, which changes nothing in what they learn.
    score : callable, optional
        The score of weights on sentences not learned from; then the best weights are given back.
    watch : callable, optional
        Told where learning stands, that of the first of those that learn side by side; stops all
        by answering True.
    """
    stopped, began = threading.Event(), time.monotonic()

    def learn(member: int) -> Learned:
        def tell(moment: Moment) -> bool:
            if watch is not None and member % threads == 0 and watch(moment):
                stopped.set()
            return stopped.is_set()

        return learn_tags(make(), sentences, rngs[member], began, score, tell)

    mean, history, longest = np.empty(0, np.float32), History(), 0.0
    for first in range(0, len(rngs), threads):
        members = range(first, min(first + threads, len(rngs)))
        for member, its in zip(members, run_all(learn, members, threads, stopped.set), strict=True):
            mean = (
                its.weights if member == 0 else mean + (its.weights - mean) / np.float32(member + 1)
            )
            history.extend(its.history, later=False)
            longest = max(longest, its.longest)
        if history.stopped in ("interrupted", "deadline"):
            break
    return Learned(mean, history, longest)


def learn_tags(
    course: Course,
    sentences: int,
    rng: np.random.Generator,
    began: float,
    score: Callable[[np.ndarray], float] | None,
    watch: Watch,
) -> Learned:
    """Learn epoch after epoch; the parameters are those of `learn_committee`."""
    plan, history = course.plan, History()
    best: tuple[float, np.ndarray] = (-math.inf, course.W)
    lengths = np.diff(course.encoded.starts.astype(np.int64))
    everything = np.arange(sentences, dtype=np.uint64)
    for epoch in range(1, plan.epochs + 1):
        order = rng.permutation(everything) if plan.shuffle else everything
        tallies, done = [], 0
        for piece in np.split(order, _cuts(lengths[order.astype(np.int64)])):
            tallies.append(course.run(piece))
            done += len(piece)
            seconds = time.monotonic() - began
            mistakes = sum(int(tally.mistakes) for tally in tallies)
            if watch(Moment(epoch, done / sentences, mistakes, history, seconds)):
                history.stopped = "interrupted"
            elif seconds > plan.max_seconds:
                history.stopped = "deadline"
            if history.stopped:
                break
        held_out = None
        if score is not None:
            weights = course.deployed()
            held_out = score(weights)
            if held_out > best[0]:
                best, history.best = (held_out, weights), epoch
        history.add(_row(epoch, tallies, held_out, time.monotonic() - began, done))
        if not history.stopped:
            history.stopped = _reason_to_stop(plan, history, epoch)
        if history.stopped:
            break
    weights = course.deployed(in_place=True) if score is None else best[1]
    return Learned(weights, history, course.longest)


def _cuts(lengths: np.ndarray) -> np.ndarray:
    """Where to cut an order into pieces of at most about so many tokens."""
    pieces = np.cumsum(lengths) // _PIECE
    return np.flatnonzero(np.diff(pieces)) + 1


def _row(
    epoch: int, tallies: list[Tally], held_out: float | None, seconds: float, done: int
) -> Epoch:
    loss = sum(float(tally.loss) for tally in tallies) / max(1, done)
    mistakes = sum(int(tally.mistakes) for tally in tallies)
    updates = sum(int(tally.updates) for tally in tallies)
    return Epoch(epoch, mistakes, updates, loss, None, held_out, seconds, done)


def _reason_to_stop(plan: TaggerPlan, history: History, epoch: int) -> str:
    if history.epochs[-1].updates == 0:
        return "no mistakes"
    if history.best is not None and epoch - history.best >= plan.patience:
        return "no improvement"
    return "epochs" if epoch == plan.epochs else ""


def certify_run(
    plan: TaggerPlan, learned: Learned, sentences: int, committee: int = 1
) -> RunCertificate:
    """Mistakes beside R, the length of the longest f(x, y) - f(x, y*) that was stepped along."""
    why = ""
    if plan.search.beam:
        why = "a beam may miss the best tags"
    elif committee > 1:
        why = "they are those of several runs"
    elif plan.search.cost:
        why = "it learned more than its mistakes"
    elif plan.rule.form != ERROR:
        why = "steps have different sizes"
    return RunCertificate(
        mistakes=learned.history.mistakes,
        epochs=len(learned.history),
        no_bound=why,
        n=sentences,
        R=math.sqrt(learned.longest),
    )
