"""A trained chooser: weights of features and parts of labels, and the candidates of words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from widemargin.data.encode.templates import Templates
from widemargin.data.readers.corpus import Corpus
from widemargin.data.rows import frozen
from widemargin.loops.sequences.choices import EARLIER, Candidates, Words, choose_labels
from widemargin.modelfile.checks import check_kinds, check_shape
from widemargin.modelfile.packing import pack_strings, unpack_strings
from widemargin.structured.choices.candidates import CandidateLists
from widemargin.structured.saved import Cacheless
from widemargin.structured.sparse_rows import (
    SMALL_BITS,
    SMALL_SHARE,
    check_rounding,
    pack_rows,
    unpack_rows,
)
from widemargin.structured.tagger.training import encode_corpus
from widemargin.structured.tagger.weights import half_precision
from widemargin.training.history import History

#: The number of bits in the hash of a feature.
_FEATURE_BITS = 32
#: In a file, weights are stored in rows of this size, most of which are empty.
_ROW = 16


@dataclass(frozen=True, eq=False)
class Chooser(Cacheless):
    """Chooses a label for every word among its candidates.

    Attributes
    ----------
    labels : list of str
        All labels.
    parts : list of list of str
        The parts of each label.
    templates : Templates
        The features of words.
    candidates : CandidateLists
        The candidate labels of words.
    tag : str
        The column of the tags by which candidates are looked up.
    W : array of float32
        The weights, rounded to 16 bits; their number is a power of two.
    earlier : bool
        Whether the labels of earlier words are features.
    history : History
        How it was learned.
    """

    labels: list[str]
    parts: list[list[str]]
    templates: Templates
    candidates: CandidateLists
    tag: str
    W: np.ndarray = field(default_factory=lambda: np.zeros(2, np.float32))
    earlier: bool = False
    history: History = field(default_factory=History)

    @property
    def shift(self) -> np.uint64:
        """64 minus the base-2 logarithm of the number of weights."""
        return shift_of(len(self.W))

    @property
    def weights(self) -> int:
        """How many weights are not zero."""
        return int(np.count_nonzero(self.W))

    @cached_property
    def among(self) -> Candidates:
        """The lists of candidates as the loops read them."""
        names = sorted({part for parts in self.parts for part in parts})
        code = {name: k for k, name in enumerate(names)}
        coded = [sorted(code[part] for part in parts) for parts in self.parts]
        ends = np.cumsum([0, *map(len, coded)]).astype(np.uint64)
        flat = np.array([part for parts in coded for part in parts], np.uint32)
        # Any well-spread numbers will do, as long as they are the same whenever a file is read.
        mixed = np.random.default_rng(len(names)).integers(1 << 63, size=len(names))
        return Candidates(
            self.candidates.starts,
            self.candidates.labels,
            frozen(ends),
            frozen(flat),
            frozen(mixed.astype(np.uint64) << np.uint64(1)),
        )

    def read(self, corpus: Corpus, lists: np.ndarray | None = None) -> Words:
        """Words of a corpus as the loops read them."""
        encoded = encode_corpus(corpus, self.templates, _FEATURE_BITS)
        if lists is None:
            words = [word.lower() for word in corpus.words]
            lists = self.candidates.of_words(words, corpus.column(self.tag))
        return Words(encoded.ids, encoded.starts, frozen(lists))

    def room(self) -> np.ndarray:
        """A buffer for the features of earlier labels."""
        return np.zeros(EARLIER if self.earlier else 0, np.uint64)

    def choose(self, corpus: Corpus) -> np.ndarray:
        """The label of every word, as numbers."""
        words = self.read(corpus)
        labels = np.zeros(corpus.tokens, np.uint32)
        choose_labels(words, self.among, frozen(self.W), self.shift, self.room(), labels)
        return labels

    def smaller(self, bits: int = SMALL_BITS, share: float = SMALL_SHARE) -> Chooser:
        """A copy without weights of at most `share` of the largest; the others keep `bits` bits."""
        check_rounding(bits, share)
        sizes = np.abs(self.W)
        kept = np.where(sizes > share * sizes.max(initial=0.0), self.W, np.float32(0.0))
        fraction, power = np.frexp(kept)
        # One bit is the sign; the others are for a fraction from a half up to one.
        steps = np.float32(1 << (bits - 1))
        return replace(self, W=np.ldexp(np.rint(fraction * steps) / steps, power))

    def contents(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The arrays and the description for a file."""
        W = self.W.astype(np.float16).reshape(-1, min(_ROW, len(self.W)))
        arrays = {
            **pack_rows("W", W),
            **pack_strings("labels", self.labels),
            **pack_strings("parts", [part for parts in self.parts for part in parts]),
            "sizes": np.array([len(parts) for parts in self.parts], np.uint32),
            **self.candidates.pack("candidates"),
        }
        about = {
            "templates": list(self.templates.written),
            "tag": self.tag,
            "earlier": self.earlier,
            "shape": list(W.shape),
            "history": self.history.to_dict(),
        }
        return arrays, about

    @classmethod
    def of(cls, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> Chooser:
        """Undo `contents`."""
        labels = unpack_strings("labels", arrays)
        W = unpack_rows("W", arrays, about["shape"]).astype(np.float32).ravel()
        if len(W) < 2 or len(W) & (len(W) - 1):
            raise ValueError(f"{len(W)} weights, which is not a power of two of at least 2")
        check_kinds(about, tag=str, earlier=bool)
        return cls(
            labels=labels,
            parts=_unpack_parts(arrays, len(labels)),
            templates=Templates(about["templates"]),
            candidates=CandidateLists.unpack("candidates", arrays, len(labels)),
            tag=about["tag"],
            W=W,
            earlier=about["earlier"],
            history=History.from_dict(about["history"]),
        )


def _unpack_parts(arrays: dict[str, np.ndarray], labels: int) -> list[list[str]]:
    """The parts of every label, which the loops look up by the number of the label."""
    flat, sizes = unpack_strings("parts", arrays), arrays["sizes"]
    check_shape("sizes", sizes, (labels,), kinds="u")
    ends = [0, *np.cumsum(sizes, dtype=np.uint64).tolist()]
    if ends[-1] != len(flat):
        raise ValueError(f"labels have {ends[-1]} parts, and {len(flat)} are there")
    return [flat[a:b] for a, b in pairwise(ends)]


def shift_of(weights: int) -> np.uint64:
    """How far to shift a hash to get an index into the weights."""
    return np.uint64(65 - weights.bit_length())


def rounded(W: np.ndarray, least: float) -> np.ndarray:
    """Weights as a file stores them: in 16 bits, and zero if below `least`."""
    return half_precision(np.where(np.abs(W) < least, np.float32(0.0), W))


def code_labels(labels: Sequence[str]) -> tuple[list[str], np.ndarray]:
    """The distinct labels, sorted, and the index of each label given."""
    names = sorted(set(labels))
    code = {name: k for k, name in enumerate(names)}
    return names, np.array([code[label] for label in labels], np.uint32)
