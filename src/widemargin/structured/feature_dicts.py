"""Tokens as dicts of features, in the formats that CRFsuite accepts."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from widemargin.data.readers.token_values import TokenValues
from widemargin.errors import DataError

#: Characters with a meaning in templates, and their replacements.
_NOT_IN_TEMPLATES = str.maketrans("[]|", "()/")
#: Larger numbers would overflow scores, which are float32 and grow with their squares.
_LARGEST = 1e18


def feature_columns(
    sentences: Sequence[Sequence[Any]],
    known: Sequence[str] = (),
    numbers: Collection[str] | None = None,
) -> tuple[dict[str, list[list[str]]], TokenValues | None]:
    """Columns and numbers from sentences of dicts of features, as in CRFsuite.

    A feature that is a string or True becomes a column, named after the feature with a colon
    appended; a token without the feature has an empty cell there. True and 1 become the value "1";
    False and 0 are the same as no feature. If a feature is any other number anywhere, it is a
    numeric feature, and all its numbers stay numbers. A list or set of strings becomes the number 1
    for each string, under a name made of the feature and the string; the features of a nested dict
    are named likewise.

    Parameters
    ----------
    sentences : list of lists of dict
        The features of each token by name. "word", if present, is also used as the word.
    known : sequence of str
        Columns that must exist, even if no token has their feature.
    numbers : collection of str or None
        The features that a model knows as numbers; None decides by their values.

    Examples
    --------
    >>> feature_columns([[{"lower": "the", "title": True}, {"lower": "dog"}]])[0]
    {'word': [['', '']], 'lower:': [['the', 'dog']], 'title:': [['1', '']]}
    >>> columns, values = feature_columns([[{"length": 3, "in": ["a", "b"]}, {"length": 1}]])
    >>> values.names, values.amounts.tolist()
    (('length', 'in:a', 'in:b'), [3.0, 1.0, 1.0, 1.0])
    """
    flat = [
        [list(_flattened(token, j)) for token in sentence] for j, sentence in enumerate(sentences)
    ]
    if numbers is None:
        numbers = {
            name
            for sentence in flat
            for token in sentence
            for name, value in token
            if not _is_flag(value)
        }
    split = _Split(frozenset(known), numbers)
    cells = [[split.cells_of(token, j) for token in sentence] for j, sentence in enumerate(flat)]
    columns = {
        column: [[token.get(name, "") for token in sentence] for sentence in cells]
        for name, column in split.columns.items()
    }
    empty = [[""] * len(sentence) for sentence in sentences]
    words = columns.get("word:", empty)
    absent = {name: empty for name in known if name.endswith(":") and name not in columns}
    values = TokenValues.of(split.amounts) if any(split.amounts) else None
    return {"word": words, **columns, **absent}, values


class _Listed(float):
    """The number for a string in a list, which stays a number even if it is 1 everywhere."""


def _flattened(token: Any, sentence: int, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The features of a token by full name, each a string or a finite number."""
    if not isinstance(token, Mapping):
        raise DataError(f"sentence {sentence + 1}: {token!r} is not a dict of features")
    for key, value in token.items():
        if not isinstance(key, str):
            raise DataError(f"sentence {sentence + 1}: the feature name {key!r} is not a string")
        name = prefix + key
        if isinstance(value, Mapping):
            yield from _flattened(value, sentence, f"{name}:")
        elif isinstance(value, (list, tuple, set, frozenset)):
            strings = sorted(value, key=str) if isinstance(value, (set, frozenset)) else value
            for string in strings:
                if not isinstance(string, str):
                    raise _refused(name, value, sentence)
                yield f"{name}:{string}", _Listed(1.0)
        elif isinstance(value, str):
            yield name, value
        else:
            yield name, _number(name, value, sentence)


def _number(name: str, value: Any, sentence: int) -> float:
    """The value of a feature as a number."""
    if not isinstance(value, (bool, int, float, np.bool_, np.integer, np.floating)):
        raise _refused(name, value, sentence)
    number = float(value)
    if math.isnan(number) or abs(number) > _LARGEST:
        raise DataError(
            f"sentence {sentence + 1}: the feature {name!r} is {value!r}; its numbers must be"
            f" finite and at most {_LARGEST:g} in size"
        )
    return number


def _refused(name: str, value: Any, sentence: int) -> DataError:
    return DataError(
        f"sentence {sentence + 1}: the feature {name!r} is {value!r}; give a string, a number,"
        " True, False, a list of strings or a dict of such"
    )


def _is_flag(value: Any) -> bool:
    """Whether a value is only present or absent: a string, 0 or 1."""
    return isinstance(value, str) or (value in (0.0, 1.0) and not isinstance(value, _Listed))


class _Split:
    """Divides features into columns of strings and numbers.

    Attributes
    ----------
    columns : dict of str to str
        The column of each feature that is a string, True or False.
    amounts : list of dict
        The numbers of every token that was split, by name.
    """

    def __init__(self, known: frozenset[str], numbers: Collection[str]) -> None:
        self._known, self._numbers = known, numbers
        self.columns: dict[str, str] = {}
        self.amounts: list[dict[str, float]] = []

    def cells_of(self, token: list[tuple[str, Any]], sentence: int) -> dict[str, str]:
        """The cells of a token by feature; its numbers are added to `amounts`."""
        cells: dict[str, str] = {}
        amounts: dict[str, float] = {}
        for name, value in token:
            if isinstance(value, str):
                cells[name] = value
            elif name in self._numbers:
                if value:
                    amounts[name] = amounts.get(name, 0.0) + value
                continue
            elif _is_flag(value):
                cells[name] = "1" if value else ""
            else:
                if _column_of(name) in self._known and not isinstance(value, _Listed):
                    raise DataError(
                        f"sentence {sentence + 1}: the feature {name!r} is {value!r}, but was"
                        " never a number other than 0 and 1 in training; give 0 or 1, or train"
                        " with such numbers"
                    )
                continue  # a feature that did not occur in training
            if name not in self.columns:
                self.columns[name] = self._new_column(name)
        self.amounts.append(amounts)
        return cells

    def _new_column(self, name: str) -> str:
        column = _column_of(name)
        clash = next((other for other, taken in self.columns.items() if taken == column), None)
        if clash is not None:
            raise DataError(f"the features {clash!r} and {name!r} would share a column; rename one")
        return column


def _column_of(name: str) -> str:
    """The column of a feature; the colon distinguishes it from columns such as suffix3."""
    return name.translate(_NOT_IN_TEMPLATES) + ":"
