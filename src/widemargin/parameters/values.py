"""Validation of values. An error names the parameter and the value in one line.

Booleans do not count as numbers here, numpy's numbers do, and NaN is rejected wherever a number is
expected. Every error is a ValueError, which the shell program prints with exit code 2.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def is_number(value: Any) -> bool:
    """Whether a value is a real number; infinity is one, booleans, NaN and 10**400 are not.

    Examples
    --------
    >>> is_number(2.5), is_number(True), is_number("2"), is_number(float("nan"))
    (True, False, False, False)
    """
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        return not math.isnan(value)
    except OverflowError:  # an integer that no float can hold
        return False


def is_whole(value: Any) -> bool:
    """Whether a value is of an integer type: 3 is, 3.0 and True are not.

    Examples
    --------
    >>> is_whole(3), is_whole(3.0), is_whole(True)
    (True, False, False)
    """
    return isinstance(value, Integral) and not isinstance(value, bool)


def check_choice(name: str, value: Any, choices: Iterable[Any], other: str = "") -> None:
    """Reject a value that is not one of the choices; the error suggests the nearest one.

    Parameters
    ----------
    name : str
        The name of the parameter, as the user knows it.
    choices : iterable of str, bool, int or None
        The allowed values.
    other : str
        What else is allowed, in words.

    Examples
    --------
    >>> check_choice("rule", "perceptron", ("perceptron", "margin"))
    >>> check_choice("rule", "perceptrn", ("perceptron", "margin"))
    Traceback (most recent call last):
    ValueError: rule='perceptrn' is unknown; did you mean 'perceptron'? Choose one of \
'perceptron', 'margin'
    """
    choices = tuple(choices)
    if any(_is_choice(value, choice) for choice in choices):
        return
    listed = ", ".join(map(repr, choices)) + (f", or {other}" if other else "")
    likely = nearest(value, choices)
    if likely is None:
        raise ValueError(f"{as_written(name, value)} is unknown; choose one of {listed}")
    raise ValueError(
        f"{as_written(name, value)} is unknown; did you mean {likely!r}? Choose one of {listed}"
    )


def check_whole(
    name: str, value: Any, least: int, most: int | None = None, other: str = ""
) -> None:
    """Reject a value that is not a whole number from `least` to `most`.

    Examples
    --------
    >>> check_whole("epochs", 10, least=1)
    >>> check_whole("batch", 0, least=1, other="'full'")
    Traceback (most recent call last):
    ValueError: batch=0 must be a whole number of at least 1, or 'full'
    >>> check_whole("bits", 40, least=4, most=30)
    Traceback (most recent call last):
    ValueError: bits=40 must be a whole number from 4 to 30
    """
    if is_whole(value) and least <= value and (most is None or value <= most):
        return
    allowed = f"of at least {least}" if most is None else f"from {least} to {most}"
    _refuse(name, value, f"a whole number {allowed}", other)


def check_positive(name: str, value: Any, *, infinite: bool = False, other: str = "") -> None:
    """Reject a value that is not a positive number; infinity only if `infinite`.

    Examples
    --------
    >>> check_positive("C", 0.5)
    >>> check_positive("C", -1)
    Traceback (most recent call last):
    ValueError: C=-1 must be a positive number
    >>> check_positive("C", 0.0, infinite=True)
    Traceback (most recent call last):
    ValueError: C=0.0 must be a positive number, or infinity
    """
    if is_number(value) and value > 0 and (infinite or value < math.inf):
        return
    _refuse(name, value, "a positive number", "infinity" if infinite else other)


def check_not_negative(name: str, value: Any, *, infinite: bool = False, other: str = "") -> None:
    """Reject a value that is not a number of at least zero; infinity only if `infinite`.

    Examples
    --------
    >>> check_not_negative("l2", 0.0)
    >>> check_not_negative("l2", -0.1)
    Traceback (most recent call last):
    ValueError: l2=-0.1 must be a number of at least 0
    """
    if is_number(value) and value >= 0 and (infinite or value < math.inf):
        return
    _refuse(name, value, "a number of at least 0", other)


def check_fraction(name: str, value: Any) -> None:
    """Reject a value that is not a number of at least 0 and less than 1.

    Examples
    --------
    >>> check_fraction("validation", 0.1)
    >>> check_fraction("validation", 1.0)
    Traceback (most recent call last):
    ValueError: validation=1.0 must be a fraction: at least 0 and less than 1
    """
    if not (is_number(value) and 0 <= value < 1):
        _refuse(name, value, "a fraction: at least 0 and less than 1")


def check_probability(name: str, value: Any) -> None:
    """Reject a value that is not a number from 0 to 1, inclusive.

    Examples
    --------
    >>> check_probability("explore", 1.0)
    >>> check_probability("explore", 1.5)
    Traceback (most recent call last):
    ValueError: explore=1.5 must be a probability: a number from 0 to 1
    """
    if not (is_number(value) and 0 <= value <= 1):
        _refuse(name, value, "a probability: a number from 0 to 1")


def check_patience(value: Any) -> None:
    """Reject a patience that is neither None nor a positive whole number.

    Examples
    --------
    >>> check_patience(None)
    >>> check_patience(0)
    Traceback (most recent call last):
    ValueError: patience=0 must be a whole number of at least 1, or None
    """
    if value is not None:
        check_whole("patience", value, least=1, other="None")


def check_seconds(name: str, value: Any) -> None:
    """Reject a value that is neither None nor a positive number; infinity is allowed.

    Examples
    --------
    >>> check_seconds("max_seconds", None)
    >>> check_seconds("max_seconds", 0)
    Traceback (most recent call last):
    ValueError: max_seconds=0 must be a positive number, or None
    """
    if value is not None and not (is_number(value) and value > 0):
        _refuse(name, value, "a positive number", "None")


def seconds_limit(max_seconds: float | None) -> float:
    """The number of seconds after which to stop; infinity if there is no limit.

    Examples
    --------
    >>> seconds_limit(None), seconds_limit(3)
    (inf, 3.0)
    """
    return math.inf if max_seconds is None else float(max_seconds)


def make_generator(random_state: Any) -> np.random.Generator:
    """Return the random generator of a seed, of a generator or, with None, an unpredictable one.

    Raises
    ------
    ValueError
        If it is none of these.
    """
    seed = random_state
    if isinstance(seed, np.random.RandomState):
        seed = seed.randint(2**31)
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        _refuse("random_state", random_state, "an integer of at least 0, a Generator or None")
        raise


def check_constant(name: str, value: Any, *words: str) -> None:
    """Reject a value other than True (1), False (none), a number, or one of the words.

    Examples
    --------
    >>> check_constant("fit_intercept", True)
    >>> check_constant("fit_intercept", "auto", "auto")
    >>> check_constant("fit_intercept", -1.0)
    Traceback (most recent call last):
    ValueError: fit_intercept=-1.0 must be True, False or a number of at least 0
    """
    if isinstance(value, str) and value in words:
        return
    is_bool = isinstance(value, (bool, np.bool_))
    if not is_bool and not (is_number(value) and 0 <= value < math.inf):
        listed = ", ".join(["True", "False", *map(repr, words)])
        _refuse(name, value, f"{listed} or a number of at least 0")


def parse_bytes(name: str, value: int | float | str) -> int:
    """Convert a number of bytes, or a size such as "500MB", to bytes.

    Examples
    --------
    >>> parse_bytes("max_memory", "2GB") == 2 * 1024**3
    True
    >>> parse_bytes("max_memory", "plenty")
    Traceback (most recent call last):
    ValueError: max_memory='plenty' must be a positive size such as '500MB' or '2GB'
    """
    size: Any = value
    if isinstance(value, str):
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)I?B?", value.strip().upper())
        size = float(found[1]) * _UNITS[found[2]] if found else 0
    if not (is_number(size) and 1 <= size < math.inf):
        _refuse(name, value, "a positive size such as '500MB' or '2GB'")
    return int(size)


def plain(value: Any) -> Any:
    """A boolean of numpy or a number as one of Python's own types; all else as it is.

    Examples
    --------
    >>> from fractions import Fraction
    >>> plain(np.True_), plain(Fraction(1, 2)), plain(np.float32(0.5)), plain("auto")
    (True, 0.5, 0.5, 'auto')
    """
    if isinstance(value, np.bool_):
        return bool(value)
    if not isinstance(value, Real) or isinstance(value, int | float):
        return value
    with contextlib.suppress(OverflowError):  # a fraction may be too large
        return int(value) if isinstance(value, Integral) else float(value)
    return value


def _is_choice(value: Any, choice: Any) -> bool:
    """Whether the value equals the choice; 1 does not equal True."""
    if isinstance(choice, str):
        return isinstance(value, str) and value == choice
    return value is choice or (is_whole(value) and is_whole(choice) and value == choice)


def nearest(value: Any, choices: tuple[Any, ...]) -> str | None:
    """The choice that a misspelt word most likely means.

    Examples
    --------
    >>> nearest("lable", ("label", "text"))
    'label'
    >>> nearest("c", ("class_weight", "C"))
    'C'
    """
    from difflib import get_close_matches

    if not isinstance(value, str) or not value:
        return None
    words = [choice for choice in choices if isinstance(choice, str)]
    same = [word for word in words if word.lower() == value.lower()]
    shortened = [word for word in words if word.startswith(value)]
    found = same or shortened or get_close_matches(value, words, n=1)
    return found[0] if found else None


def _refuse(name: str, value: Any, allowed: str, other: str = "") -> None:
    also = f", or {other}" if other else ""
    raise ValueError(f"{as_written(name, value)} must be {allowed}{also}")


def as_written(name: str, value: Any) -> str:
    """The parameter as the user would write it; numpy numbers look like Python numbers."""
    return f"{name}={value.item() if isinstance(value, np.number) else value!r}"
