"""A trained tagger: predictions, margins, weights, and saving to a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from widemargin.certificates.certificate import RunCertificate
from widemargin.data.encode.templates import Templates
from widemargin.data.encode.tokens import Tokens
from widemargin.data.readers.corpus import Corpus, Sentence
from widemargin.data.rows import frozen
from widemargin.errors import DataError, ModelFileError
from widemargin.loops.sequences.tagging import (
    WHOLE,
    Lexicon,
    Reader,
    Search,
    read_ids,
    score_all_labels,
    score_sentence,
    tag_sentences,
)
from widemargin.loops.sequences.templates import Index
from widemargin.loops.sequences.viterbi import n_best, path_score, score_through
from widemargin.modelfile import (
    read_model_file,
    restore,
    write_model_file,
)
from widemargin.models.explanation import Explanation
from widemargin.parameters import check_not_negative, check_whole
from widemargin.structured.sentences import (
    corpus_of,
    feature_columns,
    is_one_sentence,
    word_columns,
)
from widemargin.structured.spans import convert_tags
from widemargin.structured.tagger.certainty import best_temperature, marginals_of, margins_of
from widemargin.structured.tagger.constraints import plain_tag
from widemargin.structured.tagger.explanations import Lattice, explain_tag
from widemargin.structured.tagger.feature_names import FeatureNames
from widemargin.structured.tagger.file import pack_tagger, unpack_tagger
from widemargin.structured.tagger.weights import Answering, answering, transition_rows
from widemargin.threads import run_all, thread_count
from widemargin.training.history import History

#: The largest weight in half precision.
_LARGEST_HALF = 65504.0
#: Tokens per piece of work for one thread.
_PIECE = 1 << 14


class Answer(NamedTuple):
    """One way to tag a sentence."""

    tags: list[str]
    score: float


class Weight(NamedTuple):
    """One weight by name."""

    feature: str
    tag: str
    weight: float


@dataclass(frozen=True, eq=False)
class TaggerModel:
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
    """

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

    @property
    def learner(self) -> str:
        """The class that trains such models."""
        return "Tagger"

    @property
    def called(self) -> str:
        """A short name for what it is."""
        return f"tagger of {self.column!r}"

    def facts(self) -> list[tuple[str, Any]]:
        """More lines for the table of what was trained."""
        scheme = self.scheme or "no spans"
        if self.given_scheme:
            scheme = f"{self.given_scheme}, learned as {self.scheme}"
        return [
            ("column", self.column),
            ("order", f"{self.order} (tags before that a tag depends on)"),
            ("search", f"beam of {self.beam}" if self.beam else "exact (Viterbi)"),
            ("scheme", scheme),
            ("templates", f"{len(self.templates)}: {', '.join(self.templates.written)}"),
            ("weights", f"{self.features:,} features x {len(self.tags)} tags"),
        ]

    def __post_init__(self) -> None:
        # The prediction weights are computed from W once, so W must not change.
        object.__setattr__(self, "W", frozen(self.W))

    def is_known(self, words: Sequence[str]) -> np.ndarray:
        """Which of the words were seen in training."""
        sums = _checksums(words)
        at = np.minimum(np.searchsorted(self.known, sums), max(0, len(self.known) - 1))
        return self.known[at] == sums if len(self.known) else np.zeros(len(sums), bool)

    @property
    def features(self) -> int:
        """How many rows of weights belong to features."""
        return len(self.W) - transition_rows(len(self.tags), self.order)

    @cached_property
    def _weights(self) -> Answering:
        return answering(self.W, self.allowed, len(self.tags), self.order)

    @property
    def norm(self) -> float:
        """The norm of the weights used to predict."""
        W, _, unit = self._weights
        return unit * float(np.linalg.norm(W.astype(np.float64)))

    @cached_property
    def _reader(self) -> Reader:
        return Reader(self.templates.columns.made, self.templates.table, self.index, self.lexicon)

    @cached_property
    def _search(self) -> Search:
        return Search(len(self.tags), self.order, self.beam, WHOLE, 0.0)

    def __getstate__(self) -> dict[str, Any]:
        # Cached values are computed again.
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    # Tagging

    def tag(self, words: Sequence[Any], **columns: Sequence[str]) -> list[str]:
        """The tags of one sentence.

        Parameters
        ----------
        words : list of str
            Or tuples of a word and the other columns that the templates use; or dicts of features,
            if the tagger was trained on such; or a sentence of a corpus.
        **columns
            Other columns of the sentence by name, such as pos=["DT", "NN"].
        """
        tokens, starts = self._read_one(words, columns)
        labels = np.empty(tokens.n, np.uint32)
        W, D, _ = self._weights
        tag_sentences(*tokens, self._reader, starts, 0, 1, W, D, self._search, labels)
        return self.shown(labels)

    def _read_one(
        self, words: Sequence[Any], columns: dict[str, Sequence[str]]
    ) -> tuple[Tokens, np.ndarray]:
        """One sentence as the loops read it."""
        found = self._columns_of(words, columns)
        return self.templates.columns.read(found), np.array([0, len(words)], np.uint64)

    def _columns_of(
        self, words: Sequence[Any], columns: dict[str, Sequence[str]]
    ) -> dict[str, Sequence[str]]:
        """One sentence as columns by name."""
        if isinstance(words, str):
            raise DataError(
                f"{words[:20]!r} is a string; give a list of words, as split() makes it"
            )
        wanted = self.templates.columns
        names = ("word", *wanted.inputs)
        if not len(words):
            return dict.fromkeys(names, words)
        if isinstance(words[0], tuple):
            return {
                name: [token[k] for token in words] for k, name in enumerate(names[: len(words[0])])
            }
        if isinstance(words[0], Mapping):
            found = feature_columns([words], wanted.inputs)
            return {name: cells for name, (cells,) in found.items()}
        if isinstance(words, Sentence):
            beside = [name for name in wanted.inputs if name in words.corpus.names]
            return {"word": words, **{name: words.column(name) for name in beside}, **columns}
        return {"word": words, **columns}

    def codes(self, corpus: Corpus, n_jobs: int | None = None) -> np.ndarray:
        """The tags of all tokens of a corpus, as indices into `tags`."""
        tokens = self.templates.columns.read(word_columns(corpus))
        starts = frozen(corpus.starts.astype(np.uint64))
        labels = np.empty(tokens.n, np.uint32)
        W, D, _ = self._weights

        def work(part: tuple[int, int]) -> None:
            a, b = part
            out = labels[int(corpus.starts[a]) : int(corpus.starts[b])]
            tag_sentences(*tokens, self._reader, starts, a, b, W, D, self._search, out)

        threads = thread_count(n_jobs)
        run_all(work, _pieces(corpus.starts) if threads > 1 else [(0, len(corpus))], threads)
        return labels

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
        corpus = corpus_of(sentences, beside=self.templates.columns.inputs)
        flat = self.flat_tags(corpus, n_jobs)
        return [flat[a:b] for a, b in pairwise(corpus.starts.tolist())]

    def score(self, sentences: Any, tags: Any = None, column: str | int | None = None) -> float:
        """The share of tokens whose tag is right; tags as in `Tagger.fit`."""
        corpus, right = self._with_tags(sentences, tags, column)
        return share_right(self.flat_tags(corpus), right)

    def _with_tags(
        self, sentences: Any, tags: Any, column: str | int | None
    ) -> tuple[Corpus, list[str]]:
        """Sentences and their right tags."""
        corpus = corpus_of(sentences, tags, self.templates.columns.inputs)
        named = "tag" if tags is not None else self.column if column is None else column
        if not corpus.tokens:
            raise DataError(f"{corpus.source}: there is no token to score")
        return corpus, corpus.column(named)

    def n_best(self, words: Sequence[Any], n: int = 5, **columns: Sequence[str]) -> list[Answer]:
        """The n best ways to tag a sentence, best first, with their scores; exact."""
        check_whole("n", n, least=1)
        s, m = self._scores(words, columns)
        if m == 0:
            return [Answer([], 0.0)]
        _, D, unit = self._weights
        paths, scores = np.zeros((n, m), np.int64), np.zeros(n)
        found = n_best(s, m, len(self.tags), D, self.order, n, paths, scores)
        return [Answer(self.shown(paths[k]), unit * float(scores[k])) for k in range(found)]

    def margins(self, sentences: Any, n_jobs: int | None = None, **columns: Sequence[str]) -> Any:
        """How certain each tag is.

        The margin of a token is the lead of the best tags over the best ones with another tag at
        this token; infinite if no other tag is allowed there. (Tags are told apart as `predict`
        gives them.) It is exact, also for a tagger that searches with a beam.

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
        corpus, one = self._one_or_many(sentences, columns)
        flat = self.flat_margins(corpus, n_jobs)
        return flat if one else [flat[a:b] for a, b in pairwise(corpus.starts.tolist())]

    def flat_margins(self, corpus: Corpus, n_jobs: int | None = None) -> np.ndarray:
        """The margins of all tokens of a corpus, in one array."""
        return margins_of(self, corpus, n_jobs)

    def flat_marginals(
        self, corpus: Corpus, temperature: float = 1.0, n_jobs: int | None = None
    ) -> np.ndarray:
        """The probabilities of the tags of all tokens of a corpus, in one array."""
        return marginals_of(self, corpus, temperature, n_jobs)

    def marginals(
        self,
        sentences: Any,
        temperature: float = 1.0,
        n_jobs: int | None = None,
        **columns: Sequence[str],
    ) -> Any:
        """The probability of every tag at every token.

            P(y | x) = exp(score(x, y) / T) / sum over all y' of exp(score(x, y') / T)

        summed over all ways y to tag the sentence x that have the tag at this token (by the
        forward-backward algorithm). A perceptron's scores are no log-probabilities: what it learns
        does not depend on their scale. `calibrate` finds the temperature T at which held-out tags
        are most probable.

        Parameters
        ----------
        sentences : one sentence as in `tag`, or many as in `predict`
            What to tag.
        temperature : float
            Larger than 0; the lower, the more certain.
        n_jobs : int or None
            Number of threads; -1 for one per core.
        **columns
            Other columns of one sentence by name.

        Returns
        -------
        array (tokens, tags), or a list of such if there are many sentences
            The columns are those of `shown_tags`.
        """
        corpus, one = self._one_or_many(sentences, columns)
        flat = self.flat_marginals(corpus, temperature, n_jobs)
        return flat if one else [flat[a:b] for a, b in pairwise(corpus.starts.tolist())]

    def calibrate(self, sentences: Any, tags: Any = None, column: str | int | None = None) -> float:
        """The temperature at which the marginals of the right tags are largest (least log loss).

        Parameters
        ----------
        sentences, tags, column
            Tagged sentences as in `score`, which must not be those that it learned from.
        """
        corpus, right = self._with_tags(sentences, tags, column)
        return best_temperature(self, corpus, right)

    def explain(
        self, words: Sequence[Any], token: int, top: int | None = 10, **columns: Sequence[str]
    ) -> Explanation:
        """Which features made the tag of one token win over the best other one.

        The best tags of the sentence are compared with the best ones that have another tag at this
        token. Their shares, those of all features, add up to the score, which is the token's
        margin. Features are named as the templates are; tag[-1] is the tag before. If the rival
        changes other tags as well, their features tell at which word.

        Parameters
        ----------
        words : as in `tag`
            The sentence.
        token : int
            Its place in the sentence, counted from 0; negative from the end.
        top : int or None
            Maximum number of features to return, the most influential first; None for all.
        **columns
            Other columns of the sentence by name.
        """
        return explain_tag(self, *self._lattice(words, columns), token, top)

    def _lattice(
        self, words: Sequence[Any], columns: dict[str, Sequence[str]]
    ) -> tuple[Lattice, np.ndarray]:
        """All ways to tag a sentence, and the one that `tag` gives."""
        tokens, starts = self._read_one(words, columns)
        s, m = self._scores(words, columns)
        W, D, unit = self._weights
        path, ids = np.empty(m, np.uint32), np.empty(m * len(self.templates), np.uint32)
        tag_sentences(*tokens, self._reader, starts, 0, 1, W, D, self._search, path)
        read_ids(*tokens, self._reader, starts, ids)
        rows = ids.reshape(m, len(self.templates))
        found = Lattice(tokens, self.templates, rows, s, W, D, unit, self.tags, self.order)
        return found, path.astype(np.int64)

    def _one_or_many(
        self, sentences: Any, columns: dict[str, Sequence[str]]
    ) -> tuple[Corpus, bool]:
        """Sentences as a corpus, and whether it was a single one."""
        if columns or is_one_sentence(sentences):
            found = self._columns_of(sentences, columns)
            return Corpus.of({name: [list(cells)] for name, cells in found.items()}), True
        return corpus_of(sentences, beside=self.templates.columns.inputs), False

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
            0 for the best way to tag the sentence with the label there, else for the sum over all.
        n_jobs : int or None
            Number of threads.
        keep : callable
            Called with the places of some tokens and the scores (tokens, labels) there.
        """
        tokens = self.templates.columns.read(word_columns(corpus))
        starts = frozen(corpus.starts.astype(np.uint64))
        W, D, unit = self._weights

        def work(part: tuple[int, int]) -> None:
            a, b = part
            which = slice(int(corpus.starts[a]), int(corpus.starts[b]))
            through = np.empty((which.stop - which.start, len(self.tags)))
            heat = float(temperature) / unit
            score_all_labels(*tokens, self._reader, starts, a, b, W, D, self._search, heat, through)
            keep(which, unit * through)

        run_all(work, _pieces(corpus.starts), thread_count(n_jobs))

    @cached_property
    def shown_tags(self) -> list[str]:
        """The tags as `predict` gives them, sorted (of an IOB1 tagger as in IOB2).

        `tags` are those that it learned, which may be of another scheme.
        """
        return sorted(set(self._plain.tolist()))

    @cached_property
    def shown_places(self) -> np.ndarray:
        """Of every label its place among `shown_tags`."""
        return np.searchsorted(self.shown_tags, self._plain.tolist())

    def lead(self, words: Sequence[Any], labels: np.ndarray, **columns: Sequence[str]) -> float:
        """The lead of the given labels over all others; negative if others are better."""
        s, m = self._scores(words, columns)
        if m == 0:
            return np.inf
        _, D, unit = self._weights
        n, paths, scores = len(self.tags), np.zeros((2, m), np.int64), np.zeros(2)
        found = n_best(s, m, n, D, self.order, 2, paths, scores)
        own = path_score(s, np.uint64(m), np.uint64(n), D, self.order, labels, True)
        rivals = [k for k in range(found) if not np.array_equal(paths[k], labels)]
        return unit * float(own - scores[rivals[0]]) if rivals else np.inf

    def _scores(
        self, words: Sequence[Any], columns: dict[str, Sequence[str]]
    ) -> tuple[np.ndarray, int]:
        """The scores of all tags for each word, in units, without the transitions."""
        tokens, starts = self._read_one(words, columns)
        W, D, _ = self._weights
        s = np.empty((tokens.n, W.shape[1]), np.float32)
        reader = self._reader
        score_sentence(*tokens, reader, starts, 0, W, len(self.tags), s)
        if tokens.n and len(self.lexicon.keys):
            through = np.empty((tokens.n, len(self.tags)))
            score_through(s, tokens.n, len(self.tags), D, self.order, 0.0, through)
            if not np.isfinite(through.max()):  # as in tagging: the transitions alone decide
                reader = reader._replace(lexicon=_NO_LEXICON)
                score_sentence(*tokens, reader, starts, 0, W, len(self.tags), s)
        return s, tokens.n

    # Weights

    def weight(self, feature: str, tag: str) -> float:
        """The weight of a feature, such as "word[0]=the", for a tag; 0 if it was never seen."""
        row = self._names.find(feature)
        return 0.0 if row is None else float(self.W[row, self._code(tag)])

    def transitions(self) -> dict[tuple[str | None, str | None], float]:
        """The weights of transitions by (tag, next tag); None is the start or the end.

        Minus infinity where a transition is not allowed. (Order 2 also has weights for the two
        previous tags, which are not included.)
        """
        n = len(self.tags)
        T = self.W[self.features :]
        names = [*self.tags, None]
        found: dict[tuple[str | None, str | None], float] = {}
        for i, before in enumerate(names):
            for j, tag in enumerate(names):
                if i == n and j == n:
                    continue
                weight = float(T[i, j] if j < n else T[n + 1, i])
                found[before, tag] = weight if self.allowed[i, j] else -np.inf
        return found

    def top_features(self, n: int = 20, tag: str | None = None) -> list[Weight]:
        """The features with the largest absolute weights for a tag, or for any tag."""
        W = self.W[: self.features]
        if tag is None:
            flat = np.abs(W[:, : len(self.tags)]).ravel()
            width = len(self.tags)
        else:
            flat, width = np.abs(W[:, self._code(tag)]), 1
        n = min(n, len(flat))
        top = np.argpartition(-flat, n - 1)[:n] if n else np.empty(0, np.int64)
        top = top[np.lexsort([top, -flat[top]])]
        rows, labels = np.divmod(top, width)
        labels = labels if tag is None else np.full(len(rows), self._code(tag))
        names = self._names.of(rows.astype(np.uint32))
        return [
            Weight(name or f"row {row}", self.tags[y], float(W[row, y]))
            for name, row, y in zip(names, rows.tolist(), labels.tolist(), strict=True)
            if W[row, y] != 0.0
        ]

    @property
    def _names(self) -> FeatureNames:
        if self.names is None:
            raise DataError("the names of the features were not saved; save with names=True")
        return self.names

    def _code(self, tag: str) -> int:
        if tag not in self.tags:
            raise DataError(f"there is no tag {tag!r}; there are {', '.join(self.tags)}")
        return self.tags.index(tag)

    # Smaller models

    def prune(self, threshold: float = 0.0) -> TaggerModel:
        """Remove every feature whose weights are all at most `threshold` in absolute value.

        With threshold 0 no prediction changes; compare `score` before and after to see what a
        higher one costs.
        """
        check_not_negative("threshold", threshold, infinite=True)
        R = self.features
        large = np.abs(self.W[:R]).max(axis=1) > threshold
        return self._compact(np.flatnonzero(large).astype(np.uint32))

    def _compact(self, kept: np.ndarray) -> TaggerModel:
        """Keep only some rows of features; all others share row 0, which is empty."""
        R, index = self.features, self.index
        place = np.zeros(R, np.uint32)
        place[kept] = np.arange(1, len(kept) + 1, dtype=np.uint32)
        W = np.concatenate([np.zeros((1, self.W.shape[1]), np.float32), self.W[kept], self.W[R:]])
        rows = place[index.rows] if len(index.rows) else place
        names = self.names
        if names is not None:
            names = names.renumbered(kept)
        return replace(self, W=W, index=index._replace(rows=frozen(rows)), names=names)

    def rounded(self) -> TaggerModel:
        """The same model with all weights rounded to 16 bits, which halves the file.

        Compare `score` before and after; on texts, hardly one tag in ten thousand changes.
        """
        largest = float(np.abs(self.W).max(initial=0.0))
        if largest > _LARGEST_HALF:
            raise DataError(
                f"the largest weight is {largest:.6g}, more than 16 bits can hold"
                f" ({_LARGEST_HALF:.0f}); keep 32 bits, or learn with a smaller C or eta"
            )
        return replace(self, W=self.W.astype(np.float16).astype(np.float32), half=True)

    # Files

    def save(self, path: str | os.PathLike[str], names: bool = True) -> None:
        """Save the model to a file, which is smaller without the names of its features."""
        write_model_file(path, *self.contents(names))

    def contents(self, names: bool = True) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The arrays and the description for a file. Empty rows are left out."""
        return pack_tagger(self, names)

    @classmethod
    def of(cls, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> TaggerModel:
        """Undo `contents`."""
        return cls(**unpack_tagger(arrays, about))

    def __repr__(self) -> str:
        return (
            f"TaggerModel({len(self.tags)} tags of {self.column!r}, order {self.order},"
            f" {len(self.templates)} templates, {self.features} rows)"
        )


_NO_LEXICON = Lexicon(
    frozen(np.empty(0, np.uint64)),
    frozen(np.empty(0, np.uint32)),
    frozen(np.zeros((1, 8), np.float32)),
)


def known_words(words: Sequence[str]) -> np.ndarray:
    """Checksums of words, as a model keeps them."""
    return np.unique(_checksums(list(set(words))))


def _checksums(words: Sequence[str]) -> np.ndarray:
    sums = (crc32(word.encode("utf-8", "surrogatepass")) for word in words)
    return np.fromiter(sums, np.uint32, len(words))


def share_right(found: Sequence[str], right: Sequence[str]) -> float:
    """The share of tags that are right."""
    return sum(map(str.__eq__, found, right)) / len(right)


def load_tagger(path: str | os.PathLike[str]) -> TaggerModel:
    """Read a tagger from its file."""
    arrays, about = read_model_file(path)
    if about.get("learner") != "Tagger":
        raise ModelFileError(f"{path}: is not a tagger but a {about.get('learner')}")
    return restore(path, arrays, about, TaggerModel.of)


def _pieces(starts: np.ndarray) -> Iterator[tuple[int, int]]:
    """Runs of sentences with about the same number of tokens, for threads."""
    n, a = len(starts) - 1, 0
    while a < n:
        b = int(np.searchsorted(starts, starts[a] + _PIECE, "left"))
        b = min(max(b, a + 1), n)
        yield a, b
        a = b
