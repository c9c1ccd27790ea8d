"""The names of the rows of a tagger's weights."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from widemargin.data.encode.templates import Templates
from widemargin.data.encode.tokens import Tokens
from widemargin.errors import ModelFileError
from widemargin.loops.sequences.templates import note_first
from widemargin.modelfile.checks import check_ends, check_shape
from widemargin.modelfile.packing import pack_strings, unpack_strings

#: Compression level of the names; 1 is the fastest.
_LEVEL = 1
#: Returns the names of some rows, given their positions.
Make = Callable[[np.ndarray], list[str]]


class FeatureNames:
    """The names of rows, computed on demand.

    A row shared by several features (because their hashes collide) has the name of the first one
    seen. A name is a template with the values found there: word[-1]=the|pos[0]=NN.

    Parameters
    ----------
    prepare : callable
        Returns the rows that have names, in ascending order, and a function that returns the
        names of some of them, given their positions among these rows.
    """

    def __init__(self, prepare: Callable[[], tuple[np.ndarray, Make]]) -> None:
        self._prepare = prepare

    @cached_property
    def _prepared(self) -> tuple[np.ndarray, Make]:
        return self._prepare()

    @cached_property
    def _found(self) -> dict[str, int]:
        rows, make = self._prepared
        return dict(zip(make(np.arange(len(rows))), rows.tolist(), strict=True))

    def of(self, rows: np.ndarray) -> list[str | None]:
        """The names of rows; None for a row without a name."""
        named, make = self._prepared
        places = np.minimum(np.searchsorted(named, rows), max(0, len(named) - 1))
        known = named[places] == rows if len(named) else np.zeros(len(rows), bool)
        names = iter(make(places[known]))
        return [next(names) if one else None for one in known.tolist()]

    def find(self, name: str) -> int | None:
        """The row with a name, or None."""
        return self._found.get(name)

    def pack(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """The names of rows as arrays for a file, compressed because templates and words repeat."""
        packed = pack_strings("names", [name or "" for name in self.of(rows)])
        packed["names.sizes"] = np.diff(packed.pop("names.ends"), prepend=0).astype(np.uint32)
        pieces = {name: zlib.compress(part.tobytes(), _LEVEL) for name, part in packed.items()}
        lengths = [part.nbytes for part in packed.values()]
        return {name: np.frombuffer(piece, np.uint8) for name, piece in pieces.items()} | {
            "names.lengths": np.array(lengths, np.int64)
        }

    def renumbered(self, kept: np.ndarray) -> FeatureNames:
        """The names of the kept rows, renumbered 1, 2, ..."""

        def prepare() -> tuple[np.ndarray, Make]:
            names = [name or "" for name in self.of(kept)]
            return np.arange(1, len(kept) + 1, dtype=np.uint32), _chooser(names)

        return FeatureNames(prepare)

    @classmethod
    def of_training(
        cls,
        templates: Templates,
        tokens: Tokens,
        starts: np.ndarray,
        ids: Callable[[], np.ndarray],
        size: int,
        numbers: Mapping[str, int],
    ) -> FeatureNames:
        """Names made from the training sentences; `ids()` returns the rows of their features.

        `numbers` are the names of the last rows, which do not come from templates.
        """

        def prepare() -> tuple[np.ndarray, Make]:
            first = np.zeros(size, np.int64)
            note_first(ids(), first)
            rows = np.flatnonzero(first).astype(np.uint32)
            places, others = first[rows] - 1, list(numbers)

            def make(which: np.ndarray) -> list[str]:
                made = which < len(places)
                found = iter(of_templates(which[made]))
                return [
                    next(found) if k < len(places) else others[k - len(places)]
                    for k in which.tolist()
                ]

            def of_templates(which: np.ndarray) -> list[str]:
                at, template = np.divmod(places[which], len(templates))
                sentence = np.searchsorted(starts, at.astype(starts.dtype), "right")
                ends = zip(starts[sentence - 1].tolist(), starts[sentence].tolist(), strict=True)
                return [
                    templates.name(k, tokens, token, a, b)
                    for k, token, (a, b) in zip(template.tolist(), at.tolist(), ends, strict=True)
                ]

            return np.append(rows, np.array(list(numbers.values()), np.uint32)), make

        return cls(prepare)

    @classmethod
    def stored(cls, rows: np.ndarray, arrays: dict[str, np.ndarray]) -> FeatureNames:
        """Names from a file, which are unpacked when they are needed; that takes a while."""
        _check_packed(arrays, len(rows))
        return cls(lambda: (rows, _chooser(_unpack_names(arrays, len(rows)))))

    def __getstate__(self) -> dict[str, Any]:
        rows, make = self._prepared
        return {"rows": rows, "names": make(np.arange(len(rows)))}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._prepare = lambda: (state["rows"], _chooser(state["names"]))


def _check_packed(arrays: dict[str, np.ndarray], count: int) -> None:
    """Raise a ValueError unless arrays can be the names of this many rows, without unpacking."""
    sizes = "names.sizes" if "names.sizes" in arrays else "names.bytes"
    for name in ("names.bytes", sizes):
        check_shape(name, arrays[name], (arrays[name].size,), kinds="u")
    if sizes == "names.bytes":  # before format 4
        check_shape("names.ends", arrays["names.ends"], (count,), kinds="i")
        check_ends("names.ends", arrays["names.ends"], len(arrays["names.bytes"]))
        return
    lengths = arrays["names.lengths"]
    check_shape("names.lengths", lengths, (2,), kinds="i")
    if lengths[0] < 0 or lengths[1] != 4 * count:
        raise ValueError(f"names.lengths is {lengths.tolist()} for {count} names")


def _unpack_names(arrays: dict[str, np.ndarray], count: int) -> list[str]:
    """Undo `FeatureNames.pack`, for this many names."""
    try:
        names = unpack_strings("names", _decompressed(arrays))
        if len(names) != count:
            raise ValueError(f"found {len(names)}, expected {count}")
        return names
    except (zlib.error, ValueError) as error:
        raise ModelFileError(f"the names of the features are damaged: {error}") from None


def _decompressed(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The names as `pack_strings` makes them; before format 4, they were not compressed."""
    if "names.sizes" not in arrays:
        return arrays
    packed = zip(("names.bytes", "names.sizes"), arrays["names.lengths"].tolist(), strict=True)
    content, sizes = (
        # A limit of 0 would be none: a forged file must not fill the memory.
        zlib.decompressobj().decompress(arrays[name].tobytes(), length) if length else b""
        for name, length in packed
    )
    ends = np.cumsum(np.frombuffer(sizes, np.uint32), dtype=np.int64)
    return {"names.bytes": np.frombuffer(content, np.uint8), "names.ends": ends}


def _chooser(names: list[str]) -> Make:
    return lambda which: [names[k] for k in which.tolist()]
