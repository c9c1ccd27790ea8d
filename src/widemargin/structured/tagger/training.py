"""Training of a tagger: from a corpus to weights."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from widemargin.certificates.certificate import RunCertificate
from widemargin.data.encode.templates import Templates
from widemargin.data.encode.tokens import Tokens
from widemargin.data.readers.corpus import Corpus
from widemargin.data.readers.token_values import TokenValues
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
from widemargin.markup.reprs import brief_repr
from widemargin.modelfile.checks import check_kinds
from widemargin.structured.sentence_training import Averaged, SentenceTraining, Spread
from widemargin.structured.sentences import word_columns
from widemargin.structured.tagger.weights import (
    numbers_of,
    row_width,
    transition_rows,
    transition_table,
)
from widemargin.threads import run_all
from widemargin.training.checkpoints import Checkpoints
from widemargin.training.history import History
from widemargin.training.run import Counts, Moment, Run, Stops, Watch, seconds_left

#: Tokens between two checks of the clock; takes less than a tenth of a second.
_PIECE = 1 << 16
_NOTHING, _NO_ROWS = frozen(np.empty(0, np.uint64)), frozen(np.empty(0, np.uint32))


@dataclass(frozen=True)
class TaggerSettings:
    """How to learn, apart from the data."""

    rule: Rule
    search: Search
    stops: Stops
    keep: str = "average"
    shuffle: bool = True


class EncodedCorpus(NamedTuple):
    """A corpus as features."""

    tokens: Tokens
    starts: np.ndarray
    ids: np.ndarray
    where: Index
    size: int  # number of feature rows
    values: TokenValues | None = None  # numeric features of tokens, which have the last rows


def encode_corpus(corpus: Corpus, templates: Templates, bits: int | None) -> EncodedCorpus:
    """Compute all features once; rows are the first bits of their hashes, or from a dictionary."""
    tokens = templates.columns.read(word_columns(corpus))
    more = 0 if corpus.values is None else len(corpus.values.names)
    starts = frozen(corpus.starts.astype(np.uint64))
    ids = np.empty(tokens.n * len(templates), np.uint32)
    if bits is not None:
        index = Index(np.uint64(64 - bits), _NOTHING, _NO_ROWS)
        read_ids(*tokens, _reader(templates, index), starts, ids)
        return EncodedCorpus(tokens, starts, frozen(ids), index, (1 << bits) + more, corpus.values)
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
    return EncodedCorpus(tokens, starts, frozen(ids), index, used + more, corpus.values)


def rows_of_numbers(encoded: EncodedCorpus) -> dict[str, int]:
    """The names of the numeric features, and their rows of weights."""
    names = () if encoded.values is None else encoded.values.names
    return {name: encoded.size - len(names) + k for k, name in enumerate(names)}


def _reader(templates: Templates, index: Index, lexicon: Lexicon | None = None) -> Reader:
    if lexicon is None:
        lexicon = Lexicon(_NOTHING, _NO_ROWS, frozen(np.zeros((1, 8), np.float32)))
    return Reader(templates.columns.made, templates.table, index, lexicon)


def read_again(encoded: EncodedCorpus, templates: Templates) -> np.ndarray:
    """Recompute the features of a corpus, so that they need not stay in memory."""
    ids = np.empty(encoded.tokens.n * len(templates), np.uint32)
    read_ids(*encoded.tokens, _reader(templates, encoded.where), encoded.starts, ids)
    return frozen(ids)


class TaggerTraining(SentenceTraining):
    """A tagger in training: weights that learn from an encoded corpus.

    Parameters
    ----------
    encoded : EncodedCorpus
        What to learn from.
    labels : array of uint16
        The right label of every token.
    allowed : array of bool, (n + 1, n + 1)
        Which label may follow which.
    lexicon : Lexicon
        Which labels words may have. During training, the right one is always allowed.
    settings : TaggerSettings
        How to learn.
    templates : int
        The number of features per token.
    rng : numpy Generator
        Random generator.
    score : callable, optional
        The held-out score of weights.
    rows : array, optional
        The rows of the lexicon that the tokens have, if they are known.
    """

    def __init__(
        self,
        encoded: EncodedCorpus,
        labels: np.ndarray,
        allowed: np.ndarray,
        lexicon: Lexicon,
        settings: TaggerSettings,
        templates: int,
        rng: np.random.Generator,
        score: Callable[[np.ndarray], float] | None = None,
        rows: np.ndarray | None = None,
    ) -> None:
        super().__init__(len(encoded.starts) - 1, settings.shuffle, rng, score)
        self.allowed, self.lexicon, self.templates = allowed, lexicon, templates
        n, order = settings.search.n, settings.search.order
        width = row_width(n, order)
        self.settings, self.encoded = settings, encoded
        self.W = aligned((encoded.size + transition_rows(n, order), width), np.float32)
        self.U = aligned(self.W.shape if settings.keep == "average" else (0, width), np.float32)
        self.D = transition_table(self.W, allowed, n, order)
        self.clock = np.ones(1)
        masks = lexicon.masks
        if rows is None:
            rows = _lexicon_rows(encoded.tokens, lexicon, labels)
        V = self.W[encoded.size - len(rows_of_numbers(encoded)) : encoded.size]
        numbers = numbers_of(encoded.values, V)
        self.given = Sentences(
            encoded.ids, encoded.starts, frozen(labels), frozen(rows), frozen(masks), numbers
        )
        longest = int(np.diff(encoded.starts.astype(np.int64)).max(initial=1)) * (templates + 3)
        if encoded.values is not None:
            longest += int(np.diff(encoded.values.starts[encoded.starts.astype(np.int64)]).max())
        most = 1 << (4 * longest).bit_length()
        self._room = np.full(most, ~np.uint64(0)), np.empty(most), np.empty(most, np.uint64)

    @property
    def sizes(self) -> np.ndarray:
        """How many tokens each sentence has."""
        return np.diff(self.encoded.starts.astype(np.int64))

    @property
    def averaged(self) -> Averaged:
        """The weights as they are."""
        return Averaged(self.W, self.U, self.clock)

    def part(self, first: int, end: int) -> Callable[[np.random.Generator], TaggerTraining]:
        """A function that makes a training on some of the sentences."""
        encoded, given, lexicon = self.encoded, self.given, self.lexicon
        a, b = (int(encoded.starts[place]) for place in (first, end))
        # The features and the lexicon rows are known: nothing is looked up again.
        own = encoded._replace(
            tokens=Tokens(*(array[..., :0] for array in encoded.tokens)),
            starts=frozen(encoded.starts[first : end + 1] - encoded.starts[first]),
            ids=frozen(encoded.ids[a * self.templates : b * self.templates]),
            where=Index(encoded.where.shift, _NOTHING, _NO_ROWS),
            values=None if encoded.values is None else encoded.values.stretch(a, b),
        )
        return partial(
            TaggerTraining,
            own,
            given.y[a:b],
            self.allowed,
            Lexicon(_NOTHING, _NO_ROWS, lexicon.masks),
            self.settings,
            self.templates,
            rows=given.allowed[a:b],
        )

    def start_from(self, W: np.ndarray) -> None:
        """Start from given weights instead of zero."""
        self.W[:] = W
        search = self.settings.search
        self.D = transition_table(self.W, self.allowed, search.n, search.order)

    def cut(self, order: np.ndarray) -> list[np.ndarray]:
        """Cut the order of an epoch into pieces with about the same number of tokens."""
        return np.split(order, _cuts(self.sizes[order.astype(np.int64)]))

    def learn_piece(self, piece: np.ndarray, epoch: int, counts: Counts) -> None:
        """Learn from some sentences."""
        tally = self.run(piece)
        counts.add(len(piece), int(tally.mistakes), int(tally.updates), float(tally.loss))

    def run(self, order: np.ndarray) -> Tally:
        """Learn from sentences in this order."""
        tally = tagging_pass(
            self.given,
            order,
            self.settings.rule,
            self.settings.search,
            self.W,
            self.D,
            self.U,
            self.clock,
            *self._room,
        )
        if tally.bad >= 0:
            raise DataError(
                f"sentence {tally.bad + 1}: no sequence of tags has a finite score; the weights"
                " became too large for a float, or no tags are allowed there"
            )
        self.longest = max(self.longest, tally.longest)
        return tally

    def deployed(self, in_place: bool = False) -> np.ndarray:
        """The weights to predict with: the last, or the average W - U / c."""
        return self.averaged.mean(self.W if in_place else None)

    def answer(self) -> np.ndarray:
        """The weights to deploy after training; overwrites the training weights."""
        return self.deployed(in_place=True) if self._best is None else self._best

    def carried(self) -> dict[str, np.ndarray]:
        """The weights, the transition table, and the sums for the average."""
        return {"W": self.W, "D": self.D, "U": self.U, "clock": self.clock}

    def contents(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The contents of any such training, and the length of the longest feature difference."""
        arrays, about = super().contents()
        return arrays, {**about, "longest": float(self.longest)}

    def resume(self, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> None:
        """Undo `contents`."""
        check_kinds(about, longest=float)
        super().resume(arrays, about)
        self.longest = about["longest"]


def _lexicon_rows(tokens: Tokens, lexicon: Lexicon, labels: np.ndarray) -> np.ndarray:
    """The lexicon row of every token; the right label is always allowed."""
    if not len(lexicon.keys):
        return np.empty(0, np.uint32)
    rows = np.empty(tokens.n, np.uint32)
    look_up(tokens.codes, tokens.edges, lexicon, 0, tokens.n, rows)
    rows[lexicon.masks[rows, labels] != 0.0] = 0
    return rows


class Learned(NamedTuple):
    """The result of learning."""

    weights: np.ndarray  # to deploy
    history: History
    longest: float  # the squared norm of the longest feature difference

    def __repr__(self) -> str:
        return brief_repr(self)


def learn_committee(
    make: Callable[[np.random.Generator], TaggerTraining],
    rngs: Sequence[np.random.Generator],
    threads: int,
    *,
    held_out: bool = False,
    watch: Watch | None = None,
    checkpoints: Checkpoints | None = None,
    spread: Spread | None = None,
) -> Learned:
    """Train several taggers, one after another or in parallel, and average their weights.

    Parameters
    ----------
    make : callable
        Makes a new training from a random generator.
    rngs : sequence of numpy Generators
        One random generator per member of the committee.
    threads : int
        How many members are trained in parallel.
    held_out, watch, checkpoints
        See `widemargin.training.run.Run`. The watch is called for one of the members trained in
        parallel, and stops all of them by returning True.
    spread : callable, optional
        Runs the training on the sentences elsewhere.
    """
    stopped, began = threading.Event(), time.monotonic()

    def learn(member: int) -> Learned:
        def tell(moment: Moment) -> bool:
            if len(rngs) > 1:
                moment = moment.within(f"member {member + 1} of {len(rngs)}")
            if watch is not None and member % threads == 0 and watch(moment):
                stopped.set()
            return stopped.is_set()

        training = make(rngs[member])
        mine = checkpoints
        if checkpoints is not None and len(rngs) > 1:
            mine = checkpoints.part(f"member{member}")
        stops = training.settings.stops
        stops = replace(stops, max_seconds=seconds_left(stops.max_seconds, began))
        learner = training if spread is None else spread(training)
        run = Run(learner, stops, held_out=held_out, watch=tell, checkpoints=mine)
        history = run.finish()
        return Learned(training.answer(), history, training.longest)

    mean, history, longest = np.empty(0, np.float32), History(), 0.0
    for first in range(0, len(rngs), threads):
        members = range(first, min(first + threads, len(rngs)))
        for member, its in zip(members, run_all(learn, members, threads, stopped.set), strict=True):
            mean = (
                its.weights if member == 0 else mean + (its.weights - mean) / np.float32(member + 1)
            )
            if member == 0:
                history.extend(its.history)
            else:
                history.add_member(its.history)
            longest = max(longest, its.longest)
        if history.stopped in ("interrupted", "deadline"):
            break
    if checkpoints is not None:
        checkpoints.interrupted = history.stopped == "interrupted"
    return Learned(mean, history, longest)


def _cuts(lengths: np.ndarray) -> np.ndarray:
    """Where to cut an order into pieces of about `_PIECE` tokens."""
    pieces = np.cumsum(lengths) // _PIECE
    return np.flatnonzero(np.diff(pieces)) + 1


def certify_tagger_run(
    settings: TaggerSettings, learned: Learned, sentences: int, committee: int = 1
) -> RunCertificate:
    """The number of mistakes, and R, the norm of the longest f(x, y) - f(x, y*) in an update."""
    why = ""
    if settings.search.beam:
        why = "a beam may miss the best tags"
    elif committee > 1:
        why = "the mistakes are those of several runs"
    elif settings.search.cost:
        why = "it also learned from right answers whose lead was small"
    elif settings.rule.form != ERROR:
        why = "steps have different sizes"
    return RunCertificate(
        mistakes=learned.history.mistakes,
        epochs=learned.history.epochs_run,
        no_bound=why,
        n=sentences,
        R=math.sqrt(learned.longest),
    )
