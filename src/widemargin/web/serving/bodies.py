"""Reading request bodies by their content type, and errors for those that cannot be read."""

from __future__ import annotations

import codecs
import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from widemargin.data.readers.formats import TABLES
from widemargin.errors import DataError

#: The name of a body in error messages, in place of a file name.
SOURCE = "body"
#: Formats by content type.
CONTENT_TYPES = {
    "application/json": "json",
    "application/x-ndjson": "jsonl",
    "application/jsonl": "jsonl",
    "application/x-jsonlines": "jsonl",
    "text/plain": "text",
    "text/csv": "csv",
    "text/tab-separated-values": "tsv",
    "text/x-svmlight": "svmlight",
    "application/x-svmlight": "svmlight",
    "text/x-vw": "vw",
    "text/x-conll": "conll",
    "text/x-conllu": "conllu",
}
_PLACE = re.compile(rf"{SOURCE}:(\d+)(?::(\d+))?: ")


class Refused(Exception):  # noqa: N818 - the client's error, or the server's state; not a fault
    """A refused request, with a status and a one-line reason.

    Attributes
    ----------
    status : int
        The HTTP status.
    allow : str
        The methods that the route has, if the method was wrong.
    more : dict
        Further members of the answer.
    """

    def __init__(self, status: int, message: str, *, allow: str = "", **more: Any) -> None:
        super().__init__(message)
        self.status, self.allow, self.more = status, allow, more


def unreadable(error: DataError) -> Refused:
    """The refusal of a body that a reader could not read, with its line and column."""
    message = " ".join(str(error).split())
    place = _PLACE.match(message)
    more: dict[str, Any] = {}
    if place is not None:
        more = {k: int(v) for k, v in zip(("line", "column"), place.groups(), strict=True) if v}
    return Refused(422, message, **more)


class Examples(NamedTuple):
    """The examples of one request.

    Attributes
    ----------
    form : str
        How they are given; requests of the same form can be answered together. Empty if they
        cannot be joined with others.
    items : list
        One item per example; or, if they cannot be joined, all of them as one item.
    n : int
        The number of examples.
    one : bool
        Whether a single example was given, not a list.
    """

    form: str
    items: list[Any]
    n: int
    one: bool


def format_of_type(content_type: str) -> str:
    """The format of a body with this Content-Type header.

    >>> format_of_type("application/json; charset=utf-8")
    'json'
    """
    kind, _, rest = content_type.partition(";")
    found = CONTENT_TYPES.get(kind.strip().lower())
    if found is None:
        given = (
            f"the Content-Type {kind.strip()[:80]!r} is not understood"
            if kind.strip()
            else "the Content-Type is missing"
        )
        raise Refused(415, f"{given}; give one of {', '.join(dict.fromkeys(CONTENT_TYPES))}")
    charset = re.search(r"charset\s*=\s*\"?([^\s;\"]+)", rest, re.IGNORECASE)
    if charset is not None and charset[1].lower() not in ("utf-8", "utf8", "us-ascii"):
        raise Refused(415, f"the charset {charset[1][:40]!r} is not UTF-8; convert the body")
    return found


def _refuse_constant(word: str) -> Any:
    raise DataError(f"{SOURCE}: {word} is not a finite number")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        twice = next(key for key, count in counts.items() if count > 1)
        raise DataError(f"{SOURCE}: the key {twice[:40]!r} occurs twice in one object")
    return found


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=_distinct)


def read_json(body: bytes, depth: int, line: int = 1) -> Any:
    """Read a JSON value; errors name line and column.

    Parameters
    ----------
    body : bytes
        The text.
    depth : int
        The deepest allowed nesting of lists and objects.
    line : int
        The line number of its first line.
    """
    if line == 1:
        body = body.removeprefix(codecs.BOM_UTF8)  # as files may begin
    text = decoded(body, line)
    if body.count(b"[") + body.count(b"{") > depth:
        _check_depth(text, depth, line)
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        place = f"{SOURCE}:{line + error.lineno - 1}:{error.colno}"
        raise DataError(f"{place}: not JSON: {error.msg[0].lower()}{error.msg[1:]}") from None
    except DataError:
        raise
    except (ValueError, RecursionError):  # more digits than Python converts
        raise DataError(f"{SOURCE}:{line}: a number has too many digits") from None


def decoded(body: bytes, line: int = 1) -> str:
    """Decode a body."""
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        before = body[: error.start]
        column = len(before[before.rfind(b"\n") + 1 :].decode()) + 1
        place = f"{SOURCE}:{line + before.count(bytes([10]))}:{column}"
        raise DataError(f"{place}: the byte 0x{body[error.start]:02x} is not UTF-8") from None


_STRUCTURE = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{}]', re.DOTALL)


def _check_depth(text: str, depth: int, line: int) -> None:
    """Refuse lists and objects that are nested too deeply, before they are decoded."""
    level = 0
    for mark in _STRUCTURE.finditer(text):
        letter = mark[0]
        if letter in "[{":
            level += 1
            if level > depth:
                at = mark.start()
                column = at - text.rfind("\n", 0, at)
                place = f"{SOURCE}:{line + text.count(chr(10), 0, at)}:{column}"
                raise DataError(f"{place}: nested deeper than {depth} levels")
        elif letter in "]}":
            level -= 1


def json_lines(body: bytes, depth: int) -> Iterator[Any]:
    """Yield the values of a body with one JSON value per line; blank lines are skipped."""
    for number, line in enumerate(body.split(b"\n"), 1):
        if line.strip():
            yield read_json(line, depth, number)


def accepted_types(formats: tuple[str, ...]) -> list[str]:
    """The content types of some formats."""
    return [name for name, format in CONTENT_TYPES.items() if format in formats]


def is_table(format: str) -> bool:
    """Whether a format is a table with named columns."""
    return format in TABLES
