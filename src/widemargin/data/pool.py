"""A pool of labelled examples, parts of which are encoded as if the others did not exist."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from widemargin.data.datasets import Encoded, must_observe
from widemargin.data.encode.labels import codes_of
from widemargin.data.rows import Rows, frozen
from widemargin.errors import DataError


class Part(NamedTuple):
    """Some examples: rows without a bias, the codes of their labels, and their weights."""

    rows: Rows
    codes: np.ndarray
    weights: np.ndarray | None


class Split(NamedTuple):
    """Training examples, test examples, and the classes of the former.

    A test label that is not one of these classes has the code -1.
    """

    classes: np.ndarray
    learned: Part
    tested: Part


@dataclass(frozen=True)
class Pool:
    """Examples in memory that can be split without leakage.

    In each split, the encoder is fitted (means and deviations of columns, categories, document
    frequencies) to the training examples only. The rows are bit-identical to those of an encoder
    that never saw any other examples.

    Attributes
    ----------
    data : Encoded
        All examples. If their encoder depends on them, `kept` must hold what it was fitted to.
    classes : array
        The labels that the codes stand for, sorted.
    encoder : Encoder or None
        What made the rows; None if they were given as a matrix.
    threads : int
        Threads to encode with.
    """

    data: Encoded
    classes: np.ndarray
    encoder: Any = None
    threads: int = 1

    def __post_init__(self) -> None:
        learns = self.encoder is not None and self.encoder.kind != "numbers"
        if learns and must_observe(self.encoder) and self.data.kept is None:
            raise DataError(
                "the examples in a cache were encoded together, but each fold must be encoded"
                " separately: give the original files"
            )

    @property
    def codes(self) -> np.ndarray:
        """The codes of all labels."""
        return self.data.codes

    def split(self, train: np.ndarray, test: np.ndarray) -> Split:
        """Encode the rows in `train` and `test` with an encoder fitted to `train`."""
        present = np.unique(self.codes[train])
        if len(present) < 2:
            raise DataError(
                "a training fold has examples of only one class: another class has too few"
                " examples to split; add examples, or remove the class"
            )
        classes, weights = self.classes[present], self.data.weights
        codes = codes_of(self.classes, classes)[self.codes]
        learned, tested = self._encode(train, test)
        return Split(
            classes,
            Part(learned, codes[train], None if weights is None else weights[train]),
            Part(tested, codes[test], None if weights is None else weights[test]),
        )

    def _encode(self, train: np.ndarray, test: np.ndarray) -> tuple[Rows, Rows]:
        rows, kept = self.data.rows, self.data.kept
        if kept is None:
            return rows.take(train), rows.take(test)
        encoder = self.encoder.fresh()
        if isinstance(kept, np.ndarray):  # texts before their inverse document frequencies
            stored = rows.stored._replace(values=frozen(kept))
            plain = Rows(stored, rows.n, rows.width, rows.distinct)
            learned, tested = plain.take(train), plain.take(test)
            encoder.count(learned)
            for part in (learned, tested):
                encoder.finish(part, self.threads)
            return learned, tested
        table = kept.take(train)
        encoder.observe(table)
        learned = encoder.encode(table, 0.0, self.threads)
        return learned, encoder.encode(kept.take(test), 0.0, self.threads)
