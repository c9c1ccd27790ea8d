"""The protocol of encoders: turn raw examples into rows, and save to and load from model files."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol, Self

import numpy as np

from widemargin.data.rows import Rows


class Encoder(Protocol):
    """Turns raw examples, as readers yield them, into rows.

    An encoder that depends on the data (the mean of a column, how rare a word is) is fitted by
    `observe`; for others `observe` does nothing.
    """

    #: Its name in a model file.
    kind: ClassVar[str]

    @property
    def width(self) -> int:
        """Number of features in a row."""

    def observe(self, raw: Any) -> None:
        """Learn from training examples, before any of them is encoded."""

    def absorb(self, other: Self) -> None:
        """Take in what another encoder observed, as if its examples had come after these."""

    def encode(self, raw: Any, bias: float, threads: int = 1, *, note: bool = False) -> Rows:
        """Raw examples as rows, extended by a constant feature `bias`.

        With `note`, in training, an encoder that hashes records the names of new features.
        """

    def feature_name(self, column: int) -> str:
        """The name of a feature, if it is known."""

    def describe(self) -> dict[str, Any]:
        """The JSON part of a model file."""

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays for a model file."""

    @classmethod
    def restore(cls, about: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        """Undo `describe` and `arrays`."""
