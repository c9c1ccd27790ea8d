"""Checks of what was read from a file, before compiled code follows the indices in it.

A digest detects damage, not malice: anybody can write a file with a correct digest. So arrays are
compared with each other, and the values of a description must have the types and ranges that are
written. All of these raise a ValueError, which `restore` turns into an error that names the file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, get_args

import numpy as np

#: Arrays with more dimensions than this are rejected.
MOST_DIMENSIONS = 8
#: An array stored without its zeros may unpack to at most this many bytes, or to this many times
#: its size in the file, whichever is more. (The widest text encoder has 2^30 columns, with a count
#: of 4 bytes for each, and a small collection of texts uses few of them.)
_MOST_UNPACKED, _MOST_TIMES = 1 << 32, 1 << 10


def check_ends(name: str, ends: np.ndarray, size: int) -> None:
    """Raise a ValueError unless these are the ends of parts that fill this size, in order."""
    if ends.ndim != 1 or ends.dtype.kind not in "iu":
        raise ValueError(f"{name} is not a list of whole numbers")
    rise = not len(ends) or (int(ends[0]) >= 0 and int(ends[-1]) == size)
    if not rise or np.any(ends[1:] < ends[:-1]):
        raise ValueError(f"{name} does not cut {size} entries into parts")


def check_places(name: str, places: np.ndarray, below: int, least: int = 0) -> None:
    """Raise a ValueError unless this lists integers of at least `least` and less than `below`.

    Compiled loops do not check bounds, so this must be checked beforehand.
    """
    if places.ndim != 1 or places.dtype.kind not in "iu":
        raise ValueError(f"{name} is not a list of whole numbers")
    if places.size and (int(places.max()) >= below or int(places.min()) < least):
        raise ValueError(f"{name} has an entry outside {least} ... {below - 1}")


def check_shape(name: str, array: np.ndarray, *shapes: tuple[int, ...], kinds: str = "f") -> None:
    """Raise a ValueError unless an array has one of these shapes, and a type of these kinds."""
    if array.shape not in shapes or array.dtype.kind not in kinds:
        raise ValueError(f"{name} has the shape {array.shape} and the type {array.dtype}")


def check_room(shape: Sequence[int], kind: Any, stored: int) -> None:
    """Raise a ValueError if `stored` bytes in a file cannot plausibly unpack to this shape."""
    sizes = [*shape] if len(shape) <= MOST_DIMENSIONS else [-1]
    if not all(isinstance(size, (int, np.integer)) and size >= 0 for size in sizes):
        raise ValueError(f"an array cannot have the shape {list(shape)[:9]}")
    needed = math.prod(map(int, sizes)) * np.dtype(kind).itemsize
    if needed > max(_MOST_UNPACKED, _MOST_TIMES * stored):
        raise ValueError(f"{stored} bytes claim to hold an array of {needed} bytes")


def check_kinds(about: Mapping[str, Any], **kinds: Any) -> None:
    """Raise a ValueError unless values of a description are of these types.

    JSON does not distinguish 1.0 from 1, so a whole number that a float represents exactly also is
    a float. A kind may be a union.

    Examples
    --------
    >>> check_kinds({"epoch": 7, "best": None}, epoch=int, best=int | None)
    >>> check_kinds({"epoch": "7"}, epoch=int)
    Traceback (most recent call last):
        ...
    ValueError: epoch is '7'
    """
    for name, kind in kinds.items():
        allowed = get_args(kind) or (kind,)
        value = about[name]
        if type(value) not in allowed and not (float in allowed and _is_count(_size(value))):
            raise ValueError(f"{name} is {value!r:.40}")


def check_counts(about: Mapping[str, Any], *names: str) -> None:
    """Raise a ValueError unless values of a description count something.

    Examples
    --------
    >>> check_counts({"done": -1}, "done")
    Traceback (most recent call last):
        ...
    ValueError: done is -1
    """
    for name in names:
        if not _is_count(about[name]):
            raise ValueError(f"{name} is {about[name]!r:.40}")


def check_lengths(about: Mapping[str, Any], name: str, total: int) -> None:
    """Raise a ValueError unless a value of a description lists the lengths of parts of a whole."""
    lengths = about[name]
    if not (isinstance(lengths, list) and all(map(_is_count, lengths)) and sum(lengths) == total):
        raise ValueError(f"{name} does not cut {total} entries into parts")


def _size(value: Any) -> Any:
    """The absolute value of a whole number; anything else as it is."""
    return abs(value) if type(value) is int else value


def _is_count(value: Any) -> bool:
    """Whether a value of a description is a whole number that a float represents exactly."""
    return type(value) is int and 0 <= value <= 1 << 53
