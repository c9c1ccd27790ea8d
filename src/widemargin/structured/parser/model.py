"""A trained parser: predictions, scores, and saving to a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from widemargin.certificates.certificate import RunCertificate
from widemargin.data.readers.corpus import Corpus
from widemargin.data.rows import frozen
from widemargin.errors import DataError
from widemargin.loops.trees.greedy import Actions, Sentences
from widemargin.markup.trees import draw_tree_text, draw_trees
from widemargin.modelfile.checks import check_room
from widemargin.modelfile.packing import pack_params, pack_strings, unpack_params, unpack_strings
from widemargin.models.explanation import Explanation
from widemargin.parameters.values import check_not_negative
from widemargin.structured.parser.buffers import LARGEST_WHOLE, packed_weights
from widemargin.structured.parser.checks import check_features, check_tables
from widemargin.structured.parser.crossing import lower_trees
from widemargin.structured.parser.explanations import NamedSentence, margins_of_heads
from widemargin.structured.parser.features import features_of
from widemargin.structured.parser.search import (
    TRANSITIONS,
    TreeSearch,
    largest_of,
    refuse_too_long,
)
from widemargin.structured.parser.tag_columns import ReadTags, tag_column, taggers_of
from widemargin.structured.parser.treebank import Places, hash_tags, lay_out, read_forms
from widemargin.structured.parser.trees import Attachment, measure_trees
from widemargin.structured.saved import (
    SentenceModel,
    certificate_of,
    join_parts,
    pack_certificate,
    read_model,
)
from widemargin.structured.sentences import corpus_with_words, is_one_sentence, place_in_sentence
from widemargin.structured.sparse_rows import (
    SMALL_BITS,
    SMALL_SHARE,
    check_rounding,
    pack_rows,
    round_rows,
    unpack_rows,
)
from widemargin.structured.tagger.model import TaggerModel
from widemargin.threads import run_all, split, thread_count
from widemargin.training.checkpoints import without_prefix
from widemargin.training.history import History

#: The fields of a certificate that are saved.
_CERTIFIED = ("mistakes", "epochs", "no_bound", "n")


class Tree(NamedTuple):
    """The dependency tree of one sentence.

    `heads` are word numbers from 1, or 0 for the root.
    """

    words: list[str]
    tags: list[str]
    heads: list[int]
    labels: list[str]

    def draw(self) -> str:
        """The tree as lines of text for a terminal."""
        return draw_tree_text(self.words, self.heads, self.labels)

    def svg(self) -> str:
        """The tree as an SVG document."""
        return draw_trees([(self.words, self.heads, self.labels)])

    def _repr_svg_(self) -> str:
        return self.svg()


class Trees(NamedTuple):
    """The trees of many sentences, all tokens concatenated: heads, labels, and tags by column."""

    heads: np.ndarray
    labels: list[str]
    tags: dict[str, list[str]]


@dataclass(frozen=True, eq=False)
class ParserModel(SentenceModel):
    """A trained parser.

    Attributes
    ----------
    system : {"arc-hybrid", "pseudo-projective", "eisner", "cle"}
        How trees are found: by transitions, without or with crossing arcs, or by scoring all arcs
        and finding the best projective tree or the best tree.
    labels : list of str
        The labels of arcs, sorted.
    actions : Actions
        The transitions; the rarer labels of a direction share one.
    W : array of float32
        A row of action scores for each feature; for arcs, one score.
    V : array of float32
        A row of label scores for each feature of an arc in its tree.
    allowed : array of uint8, (3, labels)
        The labels seen in training on arcs from the root, to the left and to the right.
    features, label_features : str
        The lists of features.
    columns : tuple of str
        The columns of a corpus that the tags come from.
    taggers : tuple of TaggerModel
        One for each column, except that feats may have several, each for some attributes; empty
        if the corpus must have the tags.
    beam, params, history, certificate
        The width of the beam; the parameters, history and certificate of the training.
    """

    learner: ClassVar[str] = "Parser"

    system: str
    labels: list[str]
    actions: Actions
    W: np.ndarray
    V: np.ndarray
    allowed: np.ndarray
    features: str
    label_features: str
    columns: tuple[str, ...]
    taggers: tuple[TaggerModel, ...] = ()
    beam: int = 1
    params: dict[str, Any] = field(default_factory=dict)
    history: History = field(default_factory=History)
    certificate: RunCertificate | None = None

    @property
    def called(self) -> str:
        """A short name for this kind of model."""
        return f"parser ({self.system})"

    def facts(self) -> list[tuple[str, Any]]:
        """More lines for the table that describes the model."""
        transitions = f"transitions, beam of {self.beam}" if self.beam > 1 else "transitions"
        ways = {
            "arc-hybrid": transitions,
            "pseudo-projective": f"{transitions}; marked labels say which arcs cross",
            "eisner": "the best projective tree of scored arcs",
            "cle": "the best tree of scored arcs, which may cross",
        }
        tags = "its own taggers" if self.taggers else "the input"
        features = len(features_of(self.features)), len(features_of(self.label_features))
        return [
            ("search", ways[self.system]),
            ("tags", f"{', '.join(self.columns)}, from {tags}"),
            ("templates", f"{features[0]}, and {features[1]} for labels"),
            ("weights", f"{len(self.W):,} and {len(self.V):,} rows"),
        ]

    @cached_property
    def search(self) -> TreeSearch:
        """The search for trees with these weights."""
        return TreeSearch(
            self.system,
            self.actions,
            self.W,
            self.V,
            self.allowed,
            self.features,
            self.label_features,
            self.beam,
        )

    def tag(self, corpus: Corpus, n_jobs: int | None = None) -> dict[str, list[str]]:
        """The tags of a corpus by column: the parser's own, or those in the corpus."""
        return self._read(corpus, n_jobs)[0]

    def lay_out(self, corpus: Corpus, n_jobs: int | None = None) -> Sentences:
        """Sentences with tags in the form that the loops read."""
        return self._read(corpus, n_jobs)[1]

    def _read(self, corpus: Corpus, n_jobs: int | None) -> tuple[dict[str, list[str]], Sentences]:
        """The tags of a corpus by column, and its sentences as the loops read them.

        Words are read once for all taggers and for the parser.
        """
        refuse_too_long(corpus, self.system)
        tokens = read_forms(corpus)
        tags, hashed = {}, []
        for name in self.columns:
            if self.taggers:
                found = tag_column(taggers_of(self.taggers, name), corpus, n_jobs, tokens)
            elif name not in corpus.names:
                raise DataError(
                    f"{corpus.source}: has no column {name!r}, and this parser has no taggers of"
                    f" its own; give the tags, or train with tags='own,{','.join(self.columns)}'"
                )
            else:
                cells = corpus.column(name)
                found = ReadTags(cells, hash_tags(cells))
            tags[name] = found.tags
            hashed.append(found.hashed)
        return tags, lay_out(corpus, hashed, tokens)

    def find_trees(self, sentences: Sentences, threads: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Heads and labels (their codes) for the rows of sentences."""
        size = len(sentences.columns)
        heads, labels = np.zeros(size, np.uint32), np.zeros(size, np.uint32)

        def find(part: slice) -> None:
            chosen = frozen(np.arange(part.start, part.stop, dtype=np.uint64))
            self.search.find(sentences, chosen, heads, labels)

        run_all(find, split(len(sentences.starts) - 1, threads, 50), threads)
        return heads, labels

    def margins(self, sentences: Any, n_jobs: int | None = None, **tags: Sequence[str]) -> Any:
        """How certain the head of each word is.

        For the systems "eisner" and "cle" the margin is exact: how much the score of the tree drops
        if the word must have another head. For transitions it is the smallest lead among the
        decisions about the word: to shift it, and, while it was on top of the stack, whether to
        attach it now, to which head, or later. After a beam search it may be negative, because the
        beam also counts later transitions. It is infinite if there was no choice.

        Parameters
        ----------
        sentences : one sentence as in `parse`, or many as in `predict`
            What to parse.
        n_jobs : int or None
            Number of threads of the parser's own taggers.
        **tags
            Columns of tags of one sentence by name, if the parser has no taggers.

        Returns
        -------
        array, or a list of arrays if there are many sentences
        """
        one = bool(tags) or is_one_sentence(sentences)
        corpus = self._corpus_of_one(sentences, tags) if one else self._corpus_of(sentences)
        flat = self.flat_margins(corpus, n_jobs)
        return flat if one else corpus.by_sentence(flat)

    def flat_margins(self, corpus: Corpus, n_jobs: int | None = None) -> np.ndarray:
        """The margins of all words of a corpus, in one array."""
        return margins_of_heads(self.search, self.lay_out(corpus, n_jobs))

    def explain(
        self, words: Sequence[str], token: int, top: int | None = 10, **tags: Sequence[str]
    ) -> Explanation:
        """Which features gave one word its head.

        For transitions, the closest decision about the word is explained (see `margins`): the
        transition that was taken is compared with the best one of another kind. s0 and s1 are the
        top words of the stack, b0 the next word of the sentence, s0l the leftmost child of s0, and
        so on. For "eisner" and "cle", the best tree is compared with the best one in which the word
        has another head: d is the word, h its head. After the dot, w is the word, t, x and m its
        tags, e its ending and a the label of its arc; <none> is no word. The shares of all features
        add up to the score, which is the word's margin.

        Parameters
        ----------
        words : list of str
            The sentence.
        token : int
            The position of the word, counted from 0; negative positions count from the end.
        top : int or None
            Maximum number of features to return, the most influential first; None for all.
        **tags
            Columns of tags by name, if the parser has no taggers.
        """
        named = self._named(words, tags)
        return named.explain_head(place_in_sentence(token, len(named.words)), top)

    def explain_label(
        self, words: Sequence[str], token: int, top: int | None = 10, **tags: Sequence[str]
    ) -> Explanation:
        """Which features gave the arc of one word its label.

        With transitions, common labels are chosen together with the head, from the features of the
        state; all others are chosen once the tree is known, from those of the arc. Parameters as in
        `explain`.
        """
        named = self._named(words, tags)
        return named.explain_label(place_in_sentence(token, len(named.words)), top)

    def _named(self, words: Sequence[str], tags: dict[str, Sequence[str]]) -> NamedSentence:
        corpus = self._corpus_of_one(words, tags)
        found, rows = self._read(corpus, None)
        columns = [found[name] for name in self.columns]
        return NamedSentence(self.search, self.labels, corpus.words, columns, rows)

    def predict(self, sentences: Any, n_jobs: int | None = None) -> Trees:
        """The trees of many sentences.

        Parameters
        ----------
        sentences : Corpus, path, or list of lists of words
            With the columns of the tags, if the parser has no taggers.
        n_jobs : int or None
            Number of threads; -1 for one per core. The trees do not depend on it.
        """
        corpus = self._corpus_of(sentences)
        tags, read = self._read(corpus, n_jobs)
        heads, codes = self.find_trees(read, thread_count(n_jobs))
        rows = Places.of(corpus.starts).rows
        found = heads[rows].astype(np.int64)
        labels = np.array(self.labels, object)[codes[rows]].tolist()
        if self.system == "pseudo-projective":
            found, labels = lower_trees(found, labels, corpus.starts)
        return Trees(found, labels, tags)

    def parse(self, words: Sequence[str], **tags: Sequence[str]) -> Tree:
        """The tree of one sentence.

        Parameters
        ----------
        words : list of str
            The sentence.
        **tags
            Columns of tags by name, if the parser has no taggers.
        """
        corpus = self._corpus_of_one(words, tags)
        trees = self.predict(corpus)
        return Tree(corpus.words, trees.tags[self.columns[0]], trees.heads.tolist(), trees.labels)

    def _corpus_of(self, sentences: Any) -> Corpus:
        return corpus_with_words(sentences, () if self.taggers else self.columns)

    def _corpus_of_one(self, words: Sequence[Any], tags: dict[str, Sequence[str]]) -> Corpus:
        """One sentence as a corpus."""
        if isinstance(words, str):
            raise DataError(f"{words[:20]!r} is a string; give a list of words, as from split()")
        if not tags:
            return self._corpus_of([words])
        given = {"word": [list(words)], **{name: [list(column)] for name, column in tags.items()}}
        return Corpus.of(given)

    def annotate(self, sentences: Any, n_jobs: int | None = None) -> Corpus:
        """A corpus with the columns head and deprel, and the parser's own tags."""
        corpus = self._corpus_of(sentences)
        trees = self.predict(corpus, n_jobs)
        found = {"head": list(map(str, trees.heads.tolist())), "deprel": trees.labels}
        return corpus.with_columns({**(trees.tags if self.taggers else {}), **found})

    def attachment(self, sentences: Any, subtypes: bool = False) -> Attachment:
        """UAS and LAS on sentences with trees, see `measure_trees`."""
        corpus = self._corpus_of(sentences)
        trees = self.predict(corpus)
        return measure_trees(corpus, trees.heads, trees.labels, subtypes)

    def prune(self, threshold: float = 0.0) -> ParserModel:
        """Remove every feature whose weights are all at most `threshold` in absolute value.

        With threshold 0 no prediction changes; compare `score` before and after to see what a
        higher threshold costs.
        """
        check_not_negative("threshold", threshold, infinite=True)
        kept = [
            np.where(largest_of(table)[:, None] > threshold, table, np.float32(0))
            for table in (self.W, self.V)
        ]
        return replace(self, W=kept[0], V=kept[1])

    def smaller(self, bits: int = SMALL_BITS, share: float = SMALL_SHARE) -> ParserModel:
        """A model whose file is at most about a quarter as large.

        Features whose weights are all at most `share` of the largest weight are removed, and every
        feature keeps only the upper `bits` bits of its weights, sign included; the same is done to
        the parser's own taggers. The defaults were chosen on the dev sets of treebanks; see
        `docs/guide/sentences.md` for what they cost. Compare `score` before and after.
        """
        check_rounding(bits, share)
        tables = []
        for table in (self.W, self.V):
            largest = largest_of(table)
            whole = packed_weights(table)
            whole[largest <= share * largest.max(initial=0.0)] = 0
            unit = np.float32(float(largest.max(initial=0.0)) / LARGEST_WHOLE)
            tables.append(round_rows(whole, bits) * unit)
        taggers = tuple(tagger.smaller(bits, share) for tagger in self.taggers)
        return replace(self, W=tables[0], V=tables[1], taggers=taggers)

    def contents(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The model as arrays and a description. Weights of zero are left out."""
        arrays = {
            "kind": self.actions.kind,
            "of": self.actions.of,
            "allowed": self.allowed,
            **pack_strings("labels", self.labels),
        }
        # Weights that are used as integers are saved as integers, without loss.
        scored = self.system in TRANSITIONS
        used = {"W": self.search.packed if scored else self.W, "V": self.search.packed_labels}
        for name, table in used.items():
            arrays |= pack_rows(name, table)
        own, taggers = join_parts(
            {f"tagger{k}": one.contents(names=False) for k, one in enumerate(self.taggers)}
        )
        about = {
            "model": "parser",
            "learner": self.learner,
            "system": self.system,
            "beam": self.beam,
            "rows": [len(self.W), len(self.V)],
            "shapes": [list(self.W.shape), list(self.V.shape)],
            "largest": [float(largest_of(table).max()) for table in (self.W, self.V)],
            "features": self.features,
            "label_features": self.label_features,
            "columns": list(self.columns),
            "taggers": list(taggers.values()),
            "params": pack_params(self.params),
            "history": self.history.to_dict(),
            "certificate": pack_certificate(self.certificate, _CERTIFIED),
        }
        return {**arrays, **own}, about

    @classmethod
    def of(cls, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> Self:
        """Undo `contents`."""
        tables = []
        for k, (name, largest) in enumerate(zip("WV", about["largest"], strict=True)):
            if name in arrays:  # before format 4
                shape = (about["rows"][k], *arrays[name].shape[1:])
                check_room(shape, arrays[name].dtype, arrays[name].nbytes)
                saved = np.zeros(shape, arrays[name].dtype)
                saved[arrays[f"{name}.rows"]] = arrays[name]
            else:
                saved = unpack_rows(name, arrays, about["shapes"][k])
            unit = largest / LARGEST_WHOLE if saved.dtype == np.int16 else 1.0
            tables.append(saved * np.float32(unit))
        taggers = [
            TaggerModel.of(without_prefix(f"tagger{k}", arrays), described)
            for k, described in enumerate(about["taggers"])
        ]
        check_tables(arrays, tables, about)
        return cls(
            system=about["system"],
            labels=unpack_strings("labels", arrays),
            actions=Actions(frozen(arrays["kind"]), frozen(arrays["of"])),
            W=tables[0],
            V=tables[1],
            allowed=arrays["allowed"],
            features=about["features"],
            label_features=about["label_features"],
            columns=check_features(about),
            taggers=tuple(taggers),
            beam=about["beam"],
            params=unpack_params(about["params"]),
            history=History.from_dict(about["history"]),
            certificate=certificate_of(about["certificate"]),
        )

    def __repr__(self) -> str:
        return (
            f"ParserModel({self.system}, beam {self.beam}, {len(self.labels)} labels,"
            f" tags {', '.join(self.columns)} {'own' if self.taggers else 'given'})"
        )


def load_parser(path: str | os.PathLike[str]) -> ParserModel:
    """Read a parser from its file.

    This is the plain model; `widemargin.load` returns the `Parser` around it.

    Examples
    --------
    >>> from widemargin.structured import Corpus, Parser, load_parser
    >>> columns = {"word": [["dogs", "bark"]], "head": [["2", "0"]], "deprel": [["nsubj", "root"]]}
    >>> corpus = Corpus.of({**columns, "upos": [["NOUN", "VERB"]]})
    >>> Parser(tags="upos", bits=10, random_state=0).fit(corpus).save("tiny.wm")
    >>> load_parser("tiny.wm").parse(["dogs", "bark"], upos=["NOUN", "VERB"]).heads
    [2, 0]
    """
    return read_model(path, ParserModel)
