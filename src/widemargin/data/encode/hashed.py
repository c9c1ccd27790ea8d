"""Encoder for named features that are hashed while they are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from widemargin.data.encode.interactions import ANY, pairs_of
from widemargin.data.encode.names import NAME_BYTES, NameTable
from widemargin.data.readers.chunk import Hashed
from widemargin.data.rows import Rows, frozen
from widemargin.loops.files.products import Sides, add_products, count_products, match_sides
from widemargin.loops.files.vw import name_features
from widemargin.loops.storage import Sparse
from widemargin.loops.text.names import LONGEST_NAME, Fresh
from widemargin.modelfile.checks import check_room
from widemargin.parameters.values import check_whole

#: The matches of a feature are the bits of a 64-bit number, two per pair.
_MOST_PAIRS = 32
#: Number of names recorded at a time.
_AT_ONCE = 1 << 14


class HashedEncoder:
    """Named features as rows of 2 ** bits columns.

    Parameters
    ----------
    bits : int
        There are 2 ** bits columns, 4 to 30.
    names : int
        Maximum number of feature names stored for display; 0 stores none.
    interactions : sequence of pairs of str
        Namespaces whose features are multiplied, as by VW's -q; ":" means any. Namespaces are given
        by their full names.
    """

    kind: ClassVar[str] = "vw"

    def __init__(
        self, bits: int = 20, names: int = 1 << 18, interactions: Sequence[Sequence[str]] = ()
    ) -> None:
        check_whole("bits", bits, least=4, most=30)
        self.interactions = pairs_of(interactions)
        if len(self.interactions) > _MOST_PAIRS:
            raise ValueError(f"at most {_MOST_PAIRS} interactions of namespaces are allowed")
        self.bits = bits
        self.names = NameTable(bits, names) if names else None
        self._most = names

    @property
    def width(self) -> int:
        """Number of features in a row."""
        return 1 << self.bits

    def observe(self, raw: Hashed) -> None:
        """Do nothing: hashing does not depend on the data."""

    def absorb(self, other: Self) -> None:
        """Do nothing: hashing does not depend on the data."""

    def encode(self, raw: Hashed, bias: float, threads: int = 1, *, note: bool = False) -> Rows:
        """Features as rows; features of an example that share a column are summed."""
        if self.interactions:
            raw = self._multiply(raw)
        if note and self.names is not None:
            self._note(raw)
        columns = (raw.hashes >> np.uint32(1)) & np.uint32(self.width - 1)
        stored = Sparse(raw.values, frozen(columns), raw.starts, float(bias))
        return Rows(stored, len(raw.starts) - 1, self.width)

    def _multiply(self, raw: Hashed) -> Hashed:
        """The features with their products."""
        sides = [name for pair in self.interactions for name in pair]
        packed = [b"" if name == ANY else name.encode() for name in sides]
        named = Sides(
            frozen(np.frombuffer(b"".join(packed), np.uint8)),
            frozen(np.cumsum([len(name) for name in packed], dtype=np.uint32)),
            frozen(np.array([name == ANY for name in sides], np.uint8)),
        )
        matches = np.empty(len(raw.hashes), np.uint64)
        match_sides(raw.text, raw.names, named, matches)
        starts = np.zeros(len(raw.starts), np.uint64)
        pairs = len(self.interactions)
        count_products(frozen(matches), raw.values, raw.starts, pairs, starts[1:])
        m = int(starts[-1])
        hashes, values = np.empty(m, np.uint32), np.empty(m, raw.values.dtype)
        places = np.empty((m, 8), np.uint32)
        with np.errstate(over="ignore"):  # learning rejects infinite products
            add_products(
                frozen(matches),
                *(raw.hashes, raw.values, raw.names, raw.starts, pairs),
                *(hashes, values, places),
            )
        return Hashed(frozen(values), frozen(hashes), frozen(starts), raw.text, frozen(places))

    def _note(self, raw: Hashed) -> None:
        """Record the names of new features."""
        assert self.names is not None
        fresh = Fresh(
            np.empty(_AT_ONCE, np.uint32),
            np.empty(_AT_ONCE * int(LONGEST_NAME), np.uint8),
            np.zeros(_AT_ONCE + 1, np.uint32),
            np.zeros(1, np.int64),
        )
        for start in range(0, len(raw.hashes), _AT_ONCE):
            piece = slice(start, start + _AT_ONCE)
            fresh.count[0] = 0
            name_features(
                raw.text,
                raw.hashes[piece],
                raw.names[piece],
                self.names.seen,
                np.uint32(self.width - 1),
                fresh,
            )
            self.names.note(fresh)

    def feature_name(self, column: int) -> str:
        """The name, as namespace^name; a leading "~" means that other names share the column."""
        name = None if self.names is None else self.names.get(column)
        if name is None:
            return f"#{column}"
        assert self.names is not None
        return f"~{name}" if self.names.is_shared(column) else name

    def describe(self) -> dict[str, Any]:
        """The JSON part of a model file."""
        more = {"interactions": [list(pair) for pair in self.interactions]}
        return {"bits": self.bits, "names": self._most, **(more if self.interactions else {})}

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays for a model file."""
        return {} if self.names is None else self.names.arrays()

    @classmethod
    def restore(cls, about: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        """Undo `describe` and `arrays`."""
        check_room((about["names"], NAME_BYTES), np.uint8, 0)
        encoder = cls(**about)
        if encoder.names is not None:
            encoder.names.fill(arrays)
        return encoder
