"""Parse the values of cells and labels, or report what is wrong with them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

from widemargin.data.readers.columns import (
    BLANKS,
    ENDLESS,
    FALSE,
    NUMBER,
    ONE,
    TRUE,
    ZERO,
    CellError,
)

_NUMBER, _ENDLESS = re.compile(NUMBER), re.compile(ENDLESS)
#: The pattern of a number with a decimal comma.
_COMMA_NUMBER = re.compile(NUMBER.replace(r"\.", ","))
#: A code rather than a number: padded with zeros.
_PADDED = re.compile(r"[-+]?0\d")
#: Whole numbers up to this are exact as float64.
_EXACT = 2**53


def shown(text: Any, most: int = 40) -> str:
    """The repr of what was found, shortened for a message."""
    shown = repr(text)
    return shown if len(shown) <= most else f"{shown[: most - 4]}...{shown[-1]}"


def parse_cell(
    text: str, kind: str, missing: frozenset[str], decimal: str = ".", converts: bool = False
) -> Any:
    """The value of a cell, or None if it is missing. Raises CellError.

    If it `converts`, 0 and 1 may stand for booleans, and booleans for 0 and 1.
    """
    if kind == "text":
        return text
    text = text.strip(BLANKS)
    if text in missing:
        return None
    if kind == "number":
        if converts and text in (*TRUE, *FALSE):
            return float(text in TRUE)
        return parse_number(text, decimal)
    if kind == "boolean":
        true, false = (TRUE + ONE, FALSE + ZERO) if converts else (TRUE, FALSE)
        if text not in true + false:
            raise CellError(f"expected true or false, found {shown(text)}")
        return text in true
    return text


def parse_number(text: str, decimal: str = ".") -> float:
    """A finite number. Raises CellError."""
    if (_NUMBER if decimal == "." else _COMMA_NUMBER).fullmatch(text):
        number = float(text.replace(",", "."))
        if math.isinf(number):
            raise CellError(f"{shown(text)} is too large for a number")
        return number
    if _ENDLESS.fullmatch(text):
        raise CellError(f"{shown(text)} is not a finite number")
    other, sign = (_COMMA_NUMBER, ",") if decimal == "." else (_NUMBER, ".")
    hint = f"; give --decimal '{sign}' (decimal={sign!r})" if other.fullmatch(text) else ""
    raise CellError(f"expected a number, found {shown(text)}{hint}")


def check_value(value: Any, kind: str, missing: frozenset[str], converts: bool = False) -> Any:
    """The value of a typed cell (of JSON or Parquet) in its column's kind; None if it is missing.

    If it `converts`, values of other types become what `conversions.as_kind` makes of them. Raises
    CellError.
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, (dict, list)):
        raise CellError("nested values cannot be learned from; flatten or drop the column")
    if isinstance(value, str):
        if "\0" in value:
            raise CellError("a NUL character")
        if kind in ("text", "category"):
            return parse_cell(value, kind, missing)
        value = value.strip(BLANKS)
        if value in missing:
            return None
    elif isinstance(value, bool):
        if kind == "boolean":
            return value
        if kind == "number" and converts:
            return float(value)
    elif kind == "number":
        return _finite(value)
    elif converts and kind == "boolean" and value in (0, 1):
        return bool(value)
    elif converts and kind == "category" and value == value // 1 and abs(value) < 2**63:
        return str(int(value))
    expected = {"number": "a number", "boolean": "true or false"}.get(kind, "a string")
    found = {bool: str(value).lower(), str: shown(value)}.get(type(value), f"the number {value}")
    raise CellError(f"expected {expected}, found {found}")


def _finite(value: float) -> float:
    """A finite float64. Raises CellError."""
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise CellError(f"{shown(value)} is not a finite number")
    return number


def label_kind(values: Iterable[Any], typed: bool) -> str:
    """Whether labels are whole numbers or strings, judging by the first labels.

    In CSV, text that looks like a number is read as a number, unless it is padded with zeros: 007
    is a code. In typed formats a string stays a string, and the first label decides.
    """
    values = [value for value in values if value is not None]
    if typed:
        whole = not isinstance(values[0], (str, bool)) if values else False
    else:
        whole = bool(values) and all(
            _NUMBER.fullmatch(value) and not _PADDED.match(value) for value in values
        )
    return "whole" if whole else "string"


def parse_label(value: Any, kind: str, missing: frozenset[str], needed: bool) -> int | str | None:
    """The label in a cell or value. Raises CellError."""
    if isinstance(value, (dict, list)):
        raise CellError("a label must be a string or a whole number, found nested values")
    if isinstance(value, str):
        value = value.strip(BLANKS)
        if "\0" in value:
            raise CellError("a NUL character in the label")
    if value is None or value in missing or value != value:  # NaN is missing
        if needed:
            raise CellError("the label is missing")
        return None
    if kind == "string":
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        return str(value).lower() if isinstance(value, bool) else str(value)
    if isinstance(value, bool) or (isinstance(value, str) and not _NUMBER.fullmatch(value)):
        raise CellError(f"expected a whole number as label, found {shown(value)}")
    if isinstance(value, str) and _PADDED.match(value):
        raise CellError(f"label {value} starts with a zero, and the first labels do not")
    try:
        whole = int(value)
    except ValueError:  # a string with a point or an exponent, or a float that is not finite
        number = float(value)
        if not math.isfinite(number):
            raise CellError(f"label {value} is not a finite number") from None
        value, whole = number, int(number)
    except OverflowError:
        raise CellError(f"label {value} is not a finite number") from None
    if whole != value and isinstance(value, float):
        raise CellError(f"label {value:g}: labels must be classes, not measurements")
    if abs(whole) > (_EXACT if isinstance(value, float) else 2**63 - 1):
        raise CellError(f"label {value} is too large for a whole number")
    return whole
