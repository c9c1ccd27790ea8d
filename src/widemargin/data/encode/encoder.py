"""What every encoder can do: turn raw examples into rows, and go into a model file and back."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol, Self

import numpy as np

from widemargin.data.rows import Rows


class Encoder(Protocol):
    """From raw examples, as a reader gives them, to rows.

    An encoder that must look at the data first (the mean of a column, how rare a word is) learns it
    with `observe`; one that need not does nothing there.
    """

    #: Its name in a model file.
    kind: ClassVar[str]

    @property
    def width(self) -> int:
        """How many features a row has."""

    def observe(self, raw: Any) -> None:
        """Take note of what training examples look like, before any of them is encoded."""

    def encode(self, raw: Any, bias: float, threads: int = 1, *, note: bool = False) -> Rows:
        """Raw examples as rows, extended by a constant feature `bias`.

        With `note`, when training, an encoder that hashes writes down the names of new features.
        """

    def feature_name(self, column: int) -> str:
        """What a feature is called, as far as it is known."""

    def describe(self) -> dict[str, Any]:
        """All that JSON can hold of it, for a model file."""

    def arrays(self) -> dict[str, np.ndarray]:
        """The rest of it, for a model file."""

    @classmethod
    def restore(cls, about: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        """Undo `describe` and `arrays`."""
