"""From labels of any kind to class codes 0, 1, 2, ... in sorted order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from widemargin.errors import DataError
from widemargin.markup.reprs import brief
from widemargin.markup.words import several
from widemargin.modelfile.checks import check_room

#: Integer labels within a range of at most this size are counted rather than sorted.
_COUNTABLE = 1_000_000


def encode_labels(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Find the classes and code every label by its class.

    Parameters
    ----------
    y : 1-D array of whole numbers, booleans or strings
        The labels.

    Returns
    -------
    classes : array
        The distinct labels, sorted, in their own type.
    codes : array of int64
        `classes[codes]` is y.

    Examples
    --------
    >>> encode_labels(["spam", "ham", "spam"])
    (array(['ham', 'spam'], dtype='<U4'), array([1, 0, 1]))
    """
    y = check_labels(y)
    if y.dtype.kind in "iu" and len(y):
        low, high = int(y.min()), int(y.max())
        if high - low < _COUNTABLE:
            if y.dtype == np.uint64:  # labels may be too large for int64; differences are not
                shifted = (y - np.uint64(low)).astype(np.int64)
            else:
                shifted = np.subtract(y, low, dtype=np.int64, casting="unsafe")
            present = np.bincount(shifted, minlength=high - low + 1) > 0
            classes = np.flatnonzero(present).astype(y.dtype) + y.dtype.type(low)
            return classes, (np.cumsum(present) - 1)[shifted]
    classes, codes = np.unique(y, return_inverse=True)
    return classes, codes.astype(np.int64)


def check_labels(y: Any) -> np.ndarray:
    """The labels as an array, or an error that says what is wrong with them."""
    y = np.asarray(y)
    if y.ndim != 1:
        raise DataError(f"labels must be one column, found an array with {y.ndim} dimensions")
    if y.dtype.kind == "f":
        if not np.all(np.isfinite(y)):
            raise DataError("Input y contains NaN or infinity: every example needs a label")
        if np.any(y != np.rint(y)):
            raise DataError(
                "Unknown label type: continuous. Labels must be classes, not measurements"
            )
    elif y.dtype.kind == "O":
        kinds = {type(label) for label in y.tolist()}
        if kinds <= {str}:
            return y
        if kinds <= {int, np.int64} or kinds <= {bool, np.bool_}:
            typed = np.array(y.tolist())
            return typed if typed.dtype.kind in "iub" else y  # some do not fit into 64 bits
        if any(label is None or label != label for label in y.tolist()):
            raise DataError("Input y contains NaN or None: every example needs a label")
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise DataError(f"Unknown label type: a mixture ({names}). Labels must be of one kind")
    elif y.dtype.kind not in "iubUS":
        raise DataError(f"Unknown label type: {y.dtype}")
    return y


def codes_of(y: Any, classes: np.ndarray) -> np.ndarray:
    """The codes of labels among known classes; -1 marks an unknown label."""
    y = check_labels(y)
    if y.dtype.kind != classes.dtype.kind and {y.dtype.kind, classes.dtype.kind} & set("OUS"):
        y = y.astype(classes.dtype) if classes.dtype.kind == "U" else y.astype(object)
    elif _would_be_floats(y, classes):
        y = y.astype(object)
    at = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    return np.where(classes[at] == y, at, -1)


def check_label_count(examples: int, labels: int, what: str = "example") -> None:
    """Refuse labels that are not one for each example.

    Examples
    --------
    >>> check_label_count(1, 2)
    Traceback (most recent call last):
    widemargin.errors.DataError: there is 1 example but 2 labels
    """
    if examples != labels:
        verb = "is" if examples == 1 else "are"
        raise DataError(f"there {verb} {several(examples, what)} but {several(labels, 'label')}")


def classes_and_codes(y: Any, classes: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """The classes (those given, or those that occur in y) and the codes of the labels."""
    return encode_labels(y) if classes is None else (classes, codes_of(y, classes))


def check_covers(classes: Any, known: np.ndarray) -> None:
    """Refuse a list of all classes that lacks some of the known ones; None is no list.

    Examples
    --------
    >>> check_covers(["a", "b"], np.array(["a", "c"]))
    Traceback (most recent call last):
    ValueError: classes=['a', 'b'] lacks classes that were already learned
    """
    if classes is not None and not set(known.tolist()) <= set(np.asarray(classes).tolist()):
        raise ValueError(f"classes={classes!r} lacks classes that were already learned")


def join_classes(known: np.ndarray, *more: Any) -> np.ndarray:
    """The known classes joined with those of more labels; None stands for no labels."""
    for labels in more:
        if labels is not None:
            found = encode_labels(labels)[0]
            if _are_text(found) != _are_text(known):
                raise DataError(
                    f"labels such as {brief(found[0])} do not mix with classes such as"
                    f" {brief(known[0])}"
                )
            if _would_be_floats(found, known):
                found, known = found.astype(object), known.astype(object)
            known = check_labels(np.union1d(known, found))
    return known


def _would_be_floats(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether numpy compares these integers as floats, of which neighbours may be equal."""
    whole = one.dtype.kind in "iu" and other.dtype.kind in "iu"
    return whole and np.result_type(one, other).kind == "f"


def _are_text(labels: np.ndarray) -> bool:
    """Whether labels are strings or bytes."""
    return labels.dtype.kind in "US" or (labels.dtype.kind == "O" and isinstance(labels[0], str))


def plain_labels(classes: np.ndarray) -> tuple[list[str], str]:
    """Labels as strings, and their original type."""
    kind = classes.dtype.str if classes.dtype.kind != "O" else f"O:{type(classes[0]).__name__}"
    plain = (
        label.decode("latin-1") if isinstance(label, bytes) else str(label)
        for label in classes.tolist()
    )
    return list(plain), kind


def typed_labels(labels: list[str], kind: str) -> np.ndarray:
    """Undo `plain_labels`; a ValueError unless the labels are distinct and in ascending order."""
    if kind.startswith("O:"):
        dtype, letter = np.dtype(object), kind[2]
    else:
        dtype = np.dtype(kind)
        letter = dtype.kind
        if letter not in "iufbUS" or dtype.itemsize < 0:  # older numpy overflows at 32 bits
            raise ValueError(f"labels cannot be of the type {kind!r:.50}")
        check_room((len(labels),), dtype, sum(map(len, labels)))
    convert: dict[str, Callable[[str], Any]] = {
        "i": int,
        "u": int,
        "f": float,
        "b": "True".__eq__,
        "S": lambda label: label.encode("latin-1"),
    }
    typed = np.empty(len(labels), dtype)
    typed[:] = [convert.get(letter, str)(label) for label in labels]
    if np.any(typed[1:] <= typed[:-1]):
        raise ValueError("labels are not in ascending order")
    return typed
