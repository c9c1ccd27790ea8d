"""A trained tagger: predictions, margins, weights, and saving to a file."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from widemargin.certificates.certificate import RunCertificate
from widemargin.data.encode.templates import Templates
from widemargin.data.encode.tokens import Tokens
from widemargin.data.readers.corpus import Corpus
from widemargin.data.readers.token_values import TokenValues
from widemargin.data.rows import frozen
from widemargin.errors import DataError
from widemargin.loops.garbage_collector import uncollected
from widemargin.loops.sequences.numbers import Numbers
from widemargin.loops.sequences.tagging import (
    WHOLE,
    Lexicon,
    Reader,
    Search,
    score_all_labels,
    tag_sentences,
)
from widemargin.loops.sequences.templates import Index
from widemargin.modelfile.files import write_model_file
from widemargin.models.explanation import Explanation, explanation_of
from widemargin.parameters.values import check_not_negative, check_positive, check_whole
from widemargin.structured.saved import SentenceModel, read_model
from widemargin.structured.sentences import (
    TagLists,
    columns_of_sentence,
    corpus_of,
    one_or_many,
    place_in_sentence,
    stretches,
    with_inputs,
    word_columns,
)
from widemargin.structured.spans import convert_tags
from widemargin.structured.sparse_rows import SMALL_BITS, SMALL_SHARE, check_rounding
from widemargin.structured.tagger.certainty import best_temperature, marginals_of, margins_of
from widemargin.structured.tagger.constraints import plain_tag
from widemargin.structured.tagger.feature_names import FeatureNames
from widemargin.structured.tagger.file import pack_tagger, unpack_tagger
from widemargin.structured.tagger.known_words import are_known
from widemargin.structured.tagger.lattice import Lattice
from widemargin.structured.tagger.named_weights import NamedWeights, Weight, transition_weights
from widemargin.structured.tagger.weights import (
    Answering,
    answering,
    compact_index,
    half_precision,
    numbers_of,
    rounded_weights,
    transition_rows,
)
from widemargin.threads import run_all, thread_count
from widemargin.training.history import History

#: Tokens per piece of work for one thread.
_PIECE = 1 << 14


class Answer(NamedTuple):
    """One way to tag a sentence."""

    tags: list[str]
    score: float


@dataclass(frozen=True, eq=False)
class TaggerModel(SentenceModel):
    """A trained tagger.

    Attributes
    ----------
    tags : list of str
        The labels, sorted.
    templates : Templates
        The feature templates.
    W : array of float32, (rows, width)
        A row of label scores for each feature, then the rows of the transitions. Predictions use
        these weights rounded to 16 bits; see `structured.tagger.weights.answering`.
    index : Index
        Maps features to rows.
    lexicon : Lexicon
        The tags that words may have.
    allowed : array of bool, (n + 1, n + 1)
        Which tag may follow which; the last row is the start of a sentence, the last column the
        end.
    order : int
        How many previous tags the score of a tag depends on.
    beam : int
        Width of the beam; 0 for exact search.
    scheme : str or None
        The scheme of the tags, if they are span tags.
    given_scheme : str or None
        The scheme of the training data and of predictions, if it differs from `scheme`.
    column : str
        The column of a corpus that was learned.
    params, history, certificate
        The parameters, history and certificate of the training.
    names : FeatureNames or None
        The names of the features.
    known : array of uint32
        Sorted checksums of the training words, to recognise unseen words.
    half : bool
        Whether all weights are 16-bit floats, and saved as such.
    temperature : float
        The temperature of `marginals`, as found by `Tagger.calibrate`.
    numbers : dict of str to int
        The numeric features, and their rows.
    """

    learner: ClassVar[str] = "Tagger"

    tags: list[str]
    templates: Templates
    W: np.ndarray
    index: Index
    lexicon: Lexicon
    allowed: np.ndarray
    order: int = 1
    beam: int = 0
    scheme: str | None = None
    given_scheme: str | None = None
    column: str = "tag"
    params: dict[str, Any] = field(default_factory=dict)
    history: History = field(default_factory=History)
    certificate: RunCertificate | None = None
    names: FeatureNames | None = None
    half: bool = False
    known: np.ndarray = field(default_factory=lambda: np.empty(0, np.uint32))
    temperature: float = 1.0
    numbers: dict[str, int] = field(default_factory=dict)

    @property
    def called(self) -> str:
        """A short name for this kind of model."""
        return f"tagger of {self.column!r}"

    def facts(self) -> list[tuple[str, Any]]:
        """More lines for the table that describes the model."""
        scheme = self.scheme or "no spans"
        if self.given_scheme:
            scheme = f"{self.given_scheme}, learned as {self.scheme}"
        calibrated = [] if self.temperature == 1.0 else [("temperature", f"{self.temperature:.4g}")]
        return [
            ("column", self.column),
            ("order", f"{self.order} (previous tags that a tag depends on)"),
            ("search", f"beam of {self.beam}" if self.beam else "exact (Viterbi)"),
            ("scheme", scheme),
            ("templates", f"{len(self.templates)}: {', '.join(self.templates.written)}"),
            ("weights", f"{self.features:,} features x {len(self.tags)} tags"),
            *calibrated,
        ]

    def __post_init__(self) -> None:
        # The prediction weights are computed from W once, so W must not change.
        object.__setattr__(self, "W", frozen(self.W))

    def is_known(self, words: Sequence[str]) -> np.ndarray:
        """Which of the words were seen in training."""
        return are_known(words, self.known)

    @property
    def features(self) -> int:
        """How many rows of weights belong to features."""
        return len(self.W) - transition_rows(len(self.tags), self.order)

    @cached_property
    def answering_weights(self) -> Answering:
        """The weights in the form used to predict."""
        rows = list(self.numbers.values())
        return answering(self.W, self.allowed, len(self.tags), self.order, rows)

    @property
    def norm(self) -> float:
        """The norm of the weights used to predict."""
        W, _, unit, V, *_ = self.answering_weights
        parts = [float(np.linalg.norm(part.astype(np.float64))) for part in (W, V)]
        return unit * (math.hypot(*parts) if len(V) else parts[0])

    @cached_property
    def _reader(self) -> Reader:
        return Reader(self.templates.columns.made, self.templates.table, self.index, self.lexicon)

    @cached_property
    def _search(self) -> Search:
        return Search(len(self.tags), self.order, self.beam or None, WHOLE, 0.0)

    # Tagging

    def tag(self, words: Sequence[Any], **columns: Sequence[str]) -> list[str]:
        """The tags of one sentence.

        Parameters
        ----------
        words : list of str
            Also tuples of a word and the other columns that the templates use, dicts of features
            if the tagger was trained on them, or a sentence of a corpus.
        **columns
            Other columns of the sentence by name, such as pos=["DT", "NN"].
        """
        tokens, starts, numbers = self._read_one(words, columns)
        labels = np.empty(tokens.n, np.uint32)
        given = *self.answering_weights.for_tagging, numbers, self._search
        tag_sentences(*tokens, self._reader, starts, 0, 1, *given, labels)
        return self.shown(labels)

    def _read_one(
        self, words: Sequence[Any], columns: dict[str, Sequence[str]]
    ) -> tuple[Tokens, np.ndarray, Numbers | None]:
        """One sentence as the loops read it."""
        inputs = self.templates.columns
        found, values = columns_of_sentence(words, columns, inputs.inputs, self.numbers)
        starts = frozen(np.array([0, len(words)], np.uint64))
        return inputs.read(found), starts, self._numbers_of(values)

    def _numbers_of(self, values: TokenValues | None) -> Numbers | None:
        """The numeric features of tokens with their weights, if any were learned."""
        if values is None or not self.numbers:
            return None
        places = {name: place for place, name in enumerate(self.numbers)}
        return numbers_of(values.recoded(places), self.answering_weights.V)

    def read_sentences(self, sentences: Any, tags: Any = None) -> Corpus:
        """Sentences, and their tags if given, as a corpus with the columns the tagger needs."""
        return corpus_of(sentences, tags, self.templates.columns.inputs, self.numbers)

    def codes(
        self, corpus: Corpus, n_jobs: int | None = None, words: Tokens | None = None
    ) -> np.ndarray:
        """The tags of all tokens of a corpus, as indices into `tags`.

        `words`, if already read, are used by a tagger that needs no other columns. Otherwise a
        piece is read and tagged at a time, so that its text stays in the cache.
        """
        columns, given = self.templates.columns, self.answering_weights.for_tagging
        corpus = with_inputs(corpus, columns.inputs)
        labels = np.empty(corpus.tokens, np.uint32)
        whole = None
        if words is not None and not columns.inputs:
            whole = (words, *self._starts_and_numbers(corpus, 0, len(corpus)))

        def work(part: tuple[int, int]) -> None:
            a, b = part
            first, last = int(corpus.starts[a]), int(corpus.starts[b])
            out = labels[first:last]
            if whole is None:
                tokens = columns.read(word_columns(corpus), first, last)
                starts, numbers = self._starts_and_numbers(corpus, a, b)
                a, b = 0, b - a
            else:
                tokens, starts, numbers = whole
            tag_sentences(*tokens, self._reader, starts, a, b, *given, numbers, self._search, out)

        run_all(work, stretches(corpus.starts, _PIECE), thread_count(n_jobs))
        return labels

    def _starts_and_numbers(self, corpus: Corpus, a: int, b: int) -> tuple[Any, Numbers | None]:
        """Where the sentences a up to b start among their tokens, and their numeric features."""
        starts, values = corpus.starts[a : b + 1], corpus.values
        if values is not None:
            values = values.stretch(int(starts[0]), int(starts[-1]))
        return frozen((starts - starts[0]).astype(np.uint64)), self._numbers_of(values)

    def flat_tags(self, corpus: Corpus, n_jobs: int | None = None) -> list[str]:
        """The tags of all tokens of a corpus, in one list."""
        return self.shown(self.codes(corpus, n_jobs), corpus.starts)

    @cached_property
    def _plain(self) -> np.ndarray:
        """The tags as users see them, except for IOB1, where this depends on the previous tag."""
        if self.given_scheme is None or self.scheme is None:
            return np.array(self.tags, object)
        return np.array([plain_tag(tag, self.scheme) for tag in self.tags], object)

    def shown(self, labels: np.ndarray, starts: np.ndarray | None = None) -> list[str]:
        """Labels as the tags that users see."""
        tags = self._plain[labels].tolist()
        return convert_tags(tags, "IOB1", starts) if self.given_scheme == "IOB1" else tags

    def predict(self, sentences: Any, n_jobs: int | None = None) -> list[list[str]]:
        """The tags of many sentences, one list per sentence.

        Parameters
        ----------
        sentences : list of lists of str, Corpus, path or dict of columns
            As in `Tagger.fit`.
        n_jobs : int or None
            Number of threads; -1 for one per core. The tags do not depend on it.
        """
        columns = self.templates.columns.inputs
        with uncollected():
            corpus = corpus_of(sentences, None, columns, self.numbers, checked=False)
            try:
                flat = self.flat_tags(corpus, n_jobs)
            except DataError:
                corpus.check_cells()
                raise
            return TagLists(corpus.by_sentence(flat))

    def score(self, sentences: Any, tags: Any = None, column: str | int | None = None) -> float:
        """The share of tokens tagged correctly; tags as in `Tagger.fit`."""
        corpus, right = self._with_tags(sentences, tags, column)
        return share_right(self.flat_tags(corpus), right)

    def _with_tags(
        self, sentences: Any, tags: Any, column: str | int | None
    ) -> tuple[Corpus, list[str]]:
        """Sentences and their right tags."""
        corpus = self.read_sentences(sentences, tags)
        named = "tag" if tags is not None else self.column if column is None else column
        if not corpus.tokens:
            raise DataError(f"{corpus.source}: there are no tokens to score")
        return corpus, corpus.column(named)

    def n_best(self, words: Sequence[Any], n: int = 5, **columns: Sequence[str]) -> list[Answer]:
        """The n best ways to tag a sentence, best first, with their scores; exact."""
        check_whole("n", n, least=1)
        found = self._lattice(words, columns).n_best(n)
        return [Answer(self.shown(path), score) for path, score in found]

    def margins(self, sentences: Any, n_jobs: int | None = None, **columns: Sequence[str]) -> Any:
        """How certain each tag is.

        The margin of a token is the lead of the best tags over the best ones with another tag at
        this token; infinite if no other tag is allowed there. (Tags are compared as `predict`
        returns them.) It is exact, even for a tagger that uses beam search.

        Parameters
        ----------
        sentences : one sentence as in `tag`, or many as in `predict`
            What to tag.
        n_jobs : int or None
            Number of threads; -1 for one per core.
        **columns
            Other columns of one sentence by name.

        Returns
        -------
        array, or a list of arrays if there are many sentences
        """
        corpus, one = one_or_many(sentences, columns, self.templates.columns.inputs, self.numbers)
        flat = self.flat_margins(corpus, n_jobs)
        return flat if one else corpus.by_sentence(flat)

    def flat_margins(self, corpus: Corpus, n_jobs: int | None = None) -> np.ndarray:
        """The margins of all tokens of a corpus, in one array."""
        return margins_of(self, corpus, n_jobs)

    def flat_marginals(
        self, corpus: Corpus, temperature: float | None = None, n_jobs: int | None = None
    ) -> np.ndarray:
        """The probabilities of the tags of all tokens of a corpus, in one array."""
        heat = self.temperature if temperature is None else temperature
        return marginals_of(self, corpus, heat, n_jobs)

    def marginals(
        self,
        sentences: Any,
        temperature: float | None = None,
        n_jobs: int | None = None,
        **columns: Sequence[str],
    ) -> Any:
        """The probability of every tag at every token.

            P(y | x) = exp(score(x, y) / T) / sum over all y' of exp(score(x, y') / T)

        summed over all taggings y of the sentence x that have the tag at this token (by the
        forward-backward algorithm). A perceptron's scores are not log-probabilities: what it
        learns does not depend on their scale. `calibrate` finds the temperature T at which
        held-out tags are most probable.

        Parameters
        ----------
        sentences : one sentence as in `tag`, or many as in `predict`
            What to tag.
        temperature : float or None
            Larger than 0; the lower, the more certain. None for the temperature of the model,
            which is 1 unless it was calibrated.
        n_jobs : int or None
            Number of threads; -1 for one per core.
        **columns
            Other columns of one sentence by name.

        Returns
        -------
        array (tokens, tags), or a list of such if there are many sentences
            The columns are those of `shown_tags`.
        """
        corpus, one = one_or_many(sentences, columns, self.templates.columns.inputs, self.numbers)
        flat = self.flat_marginals(corpus, temperature, n_jobs)
        return flat if one else corpus.by_sentence(flat)

    def calibrate(self, sentences: Any, tags: Any = None, column: str | int | None = None) -> float:
        """The temperature at which the marginals of the right tags are largest (least log loss).

        Parameters
        ----------
        sentences, tags, column
            Tagged sentences as in `score`, which must not be the training sentences.
        """
        corpus, right = self._with_tags(sentences, tags, column)
        return best_temperature(self, corpus, right)

    def with_temperature(self, temperature: float) -> TaggerModel:
        """The same model with another temperature for `marginals`, which is saved with it."""
        check_positive("temperature", temperature)
        return replace(self, temperature=float(temperature))

    def explain(
        self, words: Sequence[Any], token: int, top: int | None = 10, **columns: Sequence[str]
    ) -> Explanation:
        """Which features made the tag of one token win over the best other one.

        The best tags of the sentence are compared with the best ones that have another tag at this
        token. The shares of all features add up to the score, which is the token's margin.
        Features are named like the templates; tag[-1] is the previous tag. If the rival differs in
        other tags as well, the names of their features say at which word.

        Parameters
        ----------
        words : as in `tag`
            The sentence.
        token : int
            Its position in the sentence, counted from 0; negative positions count from the end.
        top : int or None
            Maximum number of features to return, the most influential first; None for all.
        **columns
            Other columns of the sentence by name.
        """
        lattice = self._lattice(words, columns)
        path = lattice.path(self._search)
        token = place_in_sentence(token, len(path))
        rival = lattice.best_without(token, self.shown_places == self.shown_places[path[token]])
        tag = self.shown(path)[token]
        if rival is None:
            return Explanation(tag, None, np.inf, [])
        reasons = lattice.reasons(path, rival, token)
        return explanation_of(tag, self.shown(rival)[token], reasons, top)

    def _lattice(self, words: Sequence[Any], columns: dict[str, Sequence[str]]) -> Lattice:
        """All ways to tag a sentence."""
        tokens, starts, numbers = self._read_one(words, columns)
        given = tokens, starts, self.templates, self._reader, self.answering_weights
        return Lattice(*given, self.tags, self.order, numbers, list(self.numbers))

    def score_labels(
        self,
        corpus: Corpus,
        temperature: float,
        n_jobs: int | None,
        keep: Callable[[slice, np.ndarray], None],
    ) -> None:
        """Score every label at every token, as `loops.sequences.viterbi.score_through` does.

        Parameters
        ----------
        corpus : Corpus
            The sentences.
        temperature : float
            0 scores the best tagging with the label there; otherwise the sum over all of them.
        n_jobs : int or None
            Number of threads.
        keep : callable
            Called with the positions of some tokens and their scores (tokens, labels).
        """
        corpus = with_inputs(corpus, self.templates.columns.inputs)
        tokens = self.templates.columns.read(word_columns(corpus))
        starts = frozen(corpus.starts.astype(np.uint64))
        W, D, unit, *_ = self.answering_weights
        asked = self._numbers_of(corpus.values), self._search

        def work(part: tuple[int, int]) -> None:
            a, b = part
            which = slice(int(corpus.starts[a]), int(corpus.starts[b]))
            through = np.empty((which.stop - which.start, len(self.tags)))
            heat = float(temperature) / unit
            score_all_labels(*tokens, self._reader, starts, a, b, W, D, *asked, heat, through)
            keep(which, unit * through)

        run_all(work, stretches(corpus.starts, _PIECE), thread_count(n_jobs))

    @cached_property
    def shown_tags(self) -> list[str]:
        """The tags as `predict` returns them, sorted (for IOB1, as in IOB2).

        `tags` are those that were learned, which may be in another scheme.
        """
        return sorted(set(self._plain.tolist()))

    @cached_property
    def shown_places(self) -> np.ndarray:
        """The position of every label in `shown_tags`."""
        return np.searchsorted(self.shown_tags, self._plain.tolist())

    def lead(self, words: Sequence[Any], labels: np.ndarray, **columns: Sequence[str]) -> float:
        """The lead of the given labels over all others; negative if others are better."""
        return self._lattice(words, columns).lead(labels)

    # Weights

    def weight(self, feature: str, tag: str) -> float:
        """The weight of a feature, such as "word[0]=the", for a tag; 0 if it was never seen."""
        return self._named_weights.weight(feature, tag)

    def transitions(self) -> dict[tuple[str | None, str | None], float]:
        """The weights of transitions by (tag, next tag); None is the start or the end.

        Minus infinity where a transition is not allowed. (Order 2 also has weights for the two
        previous tags, which are not included.)
        """
        return transition_weights(self.W[self.features :], self.tags, self.allowed)

    def top_features(self, n: int = 20, tag: str | None = None) -> list[Weight]:
        """The features with the largest absolute weights for a tag, or for any tag."""
        return self._named_weights.top(n, tag)

    @property
    def _named_weights(self) -> NamedWeights:
        return NamedWeights(self.W[: self.features], self.tags, self.names)

    # Smaller models

    def prune(self, threshold: float = 0.0) -> TaggerModel:
        """Remove every feature whose weights are all at most `threshold` in absolute value.

        With threshold 0 no prediction changes; compare `score` before and after to see what a
        higher threshold costs.
        """
        check_not_negative("threshold", threshold, infinite=True)
        large = np.abs(self.W[: self.features]).max(axis=1) > threshold
        return self._compact(np.flatnonzero(large).astype(np.uint32))

    def _compact(self, kept: np.ndarray) -> TaggerModel:
        """Keep only some feature rows; all other features share row 0, which is empty."""
        R = self.features
        W = np.concatenate([np.zeros((1, self.W.shape[1]), np.float32), self.W[kept], self.W[R:]])
        names = None if self.names is None else self.names.renumbered(kept)
        places = {row: place for place, row in enumerate(kept.tolist(), 1)}
        numbers = {name: places[row] for name, row in self.numbers.items() if row in places}
        index = compact_index(self.index, kept, R)
        return replace(self, W=W, index=index, names=names, numbers=numbers)

    def rounded(self) -> TaggerModel:
        """The same model with all weights rounded to 16 bits, which halves the file.

        Compare `score` before and after; on text, hardly one tag in ten thousand changes.
        """
        return replace(self, W=half_precision(self.W), half=True)

    def smaller(self, bits: int = SMALL_BITS, share: float = SMALL_SHARE) -> TaggerModel:
        """A model whose file is a half to a third as large.

        Features whose weights are all at most `share` of the largest weight are removed, and every
        feature keeps only the upper `bits` bits of its weights, sign included. The defaults were
        chosen on the dev sets of treebanks; see `docs/guide/sentences.md` for what they cost.
        Compare `score` before and after.
        """
        check_rounding(bits, share)
        model = self if not share else self.prune(share * float(np.abs(self.W).max(initial=0.0)))
        return replace(model, W=rounded_weights(model.answering_weights, bits))

    # Files

    def save(self, path: str | os.PathLike[str], names: bool = True) -> None:
        """Save the model to a file; it is smaller without the names of its features."""
        write_model_file(path, *self.contents(names))

    def contents(self, names: bool = True) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The arrays and the description for a file. Empty rows are left out."""
        return pack_tagger(self, names)

    @classmethod
    def of(cls, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> Self:
        """Undo `contents`."""
        return cls(**unpack_tagger(arrays, about))

    def __repr__(self) -> str:
        return (
            f"TaggerModel({len(self.tags)} tags of {self.column!r}, order {self.order},"
            f" {len(self.templates)} templates, {self.features} rows)"
        )


def share_right(found: Sequence[str], right: Sequence[str]) -> float:
    """The share of tags that are right."""
    return sum(map(str.__eq__, found, right)) / len(right)


def load_tagger(path: str | os.PathLike[str]) -> TaggerModel:
    """Read a tagger from its file.

    This is the plain model; `widemargin.load` returns the `Tagger` around it.

    Examples
    --------
    >>> from widemargin.structured import Tagger, load_tagger
    >>> Tagger(bits=10).fit([["dogs", "bark"]], [["NOUN", "VERB"]]).save("tiny.wm")
    >>> model = load_tagger("tiny.wm")
    >>> [str(tag) for tag in model.tags]
    ['NOUN', 'VERB']
    """
    return read_model(path, TaggerModel)
