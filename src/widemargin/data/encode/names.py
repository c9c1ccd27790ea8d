"""Names of hashed columns, up to a limit, and the number of columns with collisions."""

from __future__ import annotations

import numpy as np

from widemargin.loops.text.names import LONGEST_NAME, SHARED, Fresh, Names, note_names
from widemargin.modelfile.checks import check_ends, check_places, check_shape
from widemargin.modelfile.packing import pack_sparse, unpack_sparse

#: Bytes that a table reserves per name.
NAME_BYTES = 40

#: With more columns than this, columns share slots in the table of first-seen hashes.
_MOST_PLACES = 1 << 22


class NameTable:
    """The first name seen in each column, as long as there is space.

    The first half of the space goes to the names that come first, the rest to names that occur in a
    second document, so that a few million rare names do not fill the table before the common names
    of later data arrive. Names are truncated to 64 bytes.

    Parameters
    ----------
    bits : int
        There are 2 ** bits columns.
    most : int
        Maximum number of names stored, at 32 bytes each on average.

    Attributes
    ----------
    collisions : int
        Number of columns in which different names were seen. Two names that share a column and
        always occur in the same documents are not detected.
    """

    def __init__(self, bits: int, most: int = 1 << 18) -> None:
        self._mask = (1 << bits) - 1
        self._table = Names(
            seen=np.zeros(min(1 << bits, _MOST_PLACES), np.uint32),
            columns=np.zeros(most, np.uint32),
            names=np.zeros(32 * most + 2 * int(LONGEST_NAME), np.uint8),
            ends=np.zeros(most + 1, np.uint32),
            count=np.zeros(2, np.int64),
        )
        self._places: dict[int, int] = {}

    def __len__(self) -> int:
        """The number of stored names."""
        return int(self._table.count[0])

    @property
    def columns(self) -> list[int]:
        """The columns whose names are stored."""
        found: list[int] = self._table.columns[: len(self)].tolist()
        return found

    @property
    def collisions(self) -> int:
        """The number of columns in which different names were seen."""
        return int(self._table.count[1])

    @property
    def is_half_full(self) -> bool:
        """Whether from now on only names that occur again are stored."""
        return 2 * len(self) >= len(self._table.columns)

    @property
    def is_full(self) -> bool:
        """Whether no more names are stored; collisions are still counted."""
        table, n = self._table, len(self)
        return n == len(table.columns) or table.ends[n] + LONGEST_NAME > len(table.names)

    @property
    def seen(self) -> np.ndarray:
        """The table for the loop that looks for new names."""
        return self._table.seen

    def note(self, fresh: Fresh) -> None:
        """Record names that may be new, in order."""
        note_names(fresh, self._table, self._mask)

    def get(self, column: int) -> str | None:
        """The name of a column, or None if it is not known."""
        if len(self._places) != len(self):
            self._places = {c: i for i, c in enumerate(self._table.columns[: len(self)].tolist())}
        place = self._places.get(column)
        if place is None:
            return None
        start, end = self._table.ends[place : place + 2].tolist()
        return printable(self._table.names[start:end].tobytes())

    def is_shared(self, column: int) -> bool:
        """Whether different names were seen in a column."""
        places = len(self._table.seen) - 1
        known = int(self._table.seen[column & places])
        # With very many columns, the slot may belong to another column.
        here = (known >> 1 ^ column) & self._mask & ~places == 0
        return here and known & int(SHARED) == int(SHARED)

    def signs(self, width: int) -> np.ndarray:
        """For each column, 1, or -1 if the first hash seen there was negative."""
        signs = 1.0 - 2.0 * (self._table.seen & 1)
        return np.resize(signs.astype(np.float32), width)

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays for a model file."""
        table, n = self._table, len(self)
        return {
            **pack_sparse("seen", table.seen),
            "columns": table.columns[:n],
            "names": table.names[: table.ends[n]],
            "ends": table.ends[: n + 1],
            "count": table.count,
        }

    def fill(self, arrays: dict[str, np.ndarray]) -> None:
        """Undo `arrays`."""
        parts = {name: unpack_sparse(name, arrays) for name in self._table._fields}
        for name, whole in self._table._asdict().items():
            found = parts[name]
            check_shape(name, found, (found.size,), kinds="iu")
            if len(found) > len(whole):
                raise ValueError(f"{name}: more entries than the table of names has room for")
            whole[: len(found)] = found
        check_shape("count", parts["count"], (2,), kinds="i")
        n = len(parts["columns"])
        check_shape("ends", parts["ends"], (n + 1,), kinds="u")
        check_ends("ends", parts["ends"], len(parts["names"]))
        check_places("columns", parts["columns"], self._mask + 1)
        if int(parts["count"][0]) != n or int(parts["ends"][0]) != 0:
            raise ValueError(f"{parts['count'].tolist()} names and collisions for {n} columns")


def printable(name: bytes) -> str:
    """A name for printing: quoted if it would be hard to read otherwise."""
    cut = len(name) >= LONGEST_NAME
    text = name.decode("utf-8", "ignore" if cut else "replace")
    if not text.isprintable() or text != text.strip() or '"' in text or not text:
        text = repr(text)
    return text + "..." if cut else text
