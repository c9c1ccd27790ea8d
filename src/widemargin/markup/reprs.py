"""Short representations, which describe an object without printing its arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from widemargin.markup.words import short

#: A collection with more items than this is shown only by its size.
_MOST_ITEMS = 6
#: The longest text that is shown in full.
_LONGEST = 60


def brief_repr(self: Any) -> str:
    """A `__repr__` for dataclasses and named tuples that shows fields in short form.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> class Found(NamedTuple):
    ...     weights: np.ndarray
    ...     name: str
    ...
    ...     def __repr__(self) -> str:
    ...         return brief_repr(self)
    >>> Found(np.zeros((3, 5)), "w")
    Found(weights=<3 x 5 float64>, name='w')
    """
    names = [field.name for field in fields(self)] if is_dataclass(self) else self._fields
    told = ", ".join(f"{name}={brief(getattr(self, name))}" for name in names)
    return f"{type(self).__name__}({told})"


def brief(value: Any) -> str:
    """Represent a value in one short line; arrays by their shape and type.

    Examples
    --------
    >>> brief(np.arange(10)), brief(list(range(100))), brief(("a", np.ones(2))), brief((1,))
    ('<10 int64>', '<list of 100>', "('a', <2 float64>)", '(1,)')
    """
    if hasattr(value, "shape") and hasattr(value, "dtype") and np.ndim(value):
        return f"<{' x '.join(map(str, value.shape))} {value.dtype}>"
    if isinstance(value, np.generic):
        return repr(value.item())
    if hasattr(value, "_fields"):
        return brief_repr(value)
    if isinstance(value, (list, tuple, set, frozenset, Mapping)):
        return _collection(value)
    text = repr(value)
    return f"<{type(value).__name__}>" if "\n" in text else short(text, _LONGEST)


def _collection(value: Any) -> str:
    if len(value) > _MOST_ITEMS:
        return f"<{type(value).__name__} of {len(value)}>"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{brief(key)}: {brief(value[key])}" for key in value) + "}"
    items = ", ".join(map(brief, value))
    if isinstance(value, list):
        return f"[{items}]"
    return f"({items},)" if len(value) == 1 and isinstance(value, tuple) else f"({items})"
