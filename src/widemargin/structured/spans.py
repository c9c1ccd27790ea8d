"""Spans written as tags (B-NP I-NP O): find, convert, check and count them.

Spans are defined as in conlleval, for every scheme: a token continues the span before it if its tag
begins with I (or E, L), the previous tag begins with B or I, and both name the same type. Any other
tag except O starts a span.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from widemargin.errors import DataError
from widemargin.parameters.values import check_choice
from widemargin.structured.resample import Ratio

#: The schemes, with the letters for the first, inner, last and only tag of a span.
LETTERS = {
    "IOB1": ("I", "I", "I", "I"),
    "IOB2": ("B", "I", "I", "B"),
    "IOBES": ("B", "I", "E", "S"),
    "BILOU": ("B", "I", "L", "U"),
}
SCHEMES = tuple(LETTERS)
_GO_ON, _MAY_GO_ON = "IEL", "BI"
_OUTSIDE = "O"


@dataclass(frozen=True, eq=False)
class Spans:
    """Spans in order: first tokens, the tokens after the last (exclusive ends), and types."""

    first: np.ndarray
    end: np.ndarray
    kind: np.ndarray  # codes into `kinds`
    kinds: list[str]

    def __len__(self) -> int:
        return len(self.first)

    def __iter__(self) -> Iterator[tuple[int, int, str]]:
        """(first token, token after the last, type) of each span."""
        kinds = [self.kinds[code] for code in self.kind.tolist()]
        return iter(list(zip(self.first.tolist(), self.end.tolist(), kinds, strict=True)))


class _Tags(NamedTuple):
    """Tags as codes, and the prefix and type of every tag."""

    code: np.ndarray
    names: list[str]
    letter: np.ndarray
    kind: np.ndarray  # of every tag; "O" has -1
    kinds: list[str]

    @classmethod
    def of(cls, tags: Sequence[str]) -> _Tags:
        names = sorted(set(tags))
        codes = {name: i for i, name in enumerate(names)}
        parts = [name.partition("-") for name in names]
        kinds = sorted({kind for _, _, kind in parts})
        return cls(
            np.fromiter(map(codes.__getitem__, tags), np.int64, len(tags)),
            names,
            np.array([letter for letter, _, _ in parts], dtype=object),
            np.array(
                [
                    -1 if name == _OUTSIDE else kinds.index(p[2])
                    for name, p in zip(names, parts, strict=True)
                ],
                np.int64,
            ),
            kinds,
        )


def _starts(tags: Sequence[str], starts: Sequence[int] | np.ndarray | None) -> np.ndarray:
    return np.array([0, len(tags)]) if starts is None else np.asarray(starts)


def find_spans(tags: Sequence[str], starts: Sequence[int] | np.ndarray | None = None) -> Spans:
    """The spans in tags of any scheme, as conlleval reads them.

    Parameters
    ----------
    tags : list of str
        One tag per token, all sentences concatenated.
    starts : array of int
        Where each sentence starts, and the end; None if there is one sentence.

    Examples
    --------
    >>> list(find_spans(["B-NP", "I-NP", "B-NP", "O", "I-VP"]))
    [(0, 2, 'NP'), (2, 3, 'NP'), (4, 5, 'VP')]
    """
    found = _Tags.of(tags)
    if not len(tags):
        return Spans(found.code, found.code, found.code, found.kinds)
    kind = found.kind[found.code]
    goes_on = _goes_on(found, _starts(tags, starts))
    inside = kind >= 0
    first = np.flatnonzero(inside & ~goes_on)
    end = np.flatnonzero(inside & ~np.append(goes_on[1:], False)) + 1
    return Spans(first, end, kind[first], found.kinds)


def _goes_on(tags: _Tags, starts: np.ndarray) -> np.ndarray:
    """Which tokens continue the span of the previous token."""
    goes_on = np.isin(tags.letter.astype(str), list(_GO_ON))[tags.code]
    may = np.isin(tags.letter.astype(str), list(_MAY_GO_ON))[tags.code]
    kind = tags.kind[tags.code]
    goes_on[1:] &= may[:-1] & (kind[1:] == kind[:-1])
    goes_on[starts[starts < len(goes_on)]] = False
    return goes_on & (kind >= 0)


def scheme_of(tags: Sequence[str], starts: Sequence[int] | np.ndarray | None = None) -> str | None:
    """The scheme of some tags: one of `SCHEMES`, or None if they do not name spans.

    Of IOB1 and IOB2, the one with fewer illegal transitions is chosen.

    Examples
    --------
    >>> scheme_of(["I-NP", "I-NP", "O"]), scheme_of(["B-NP", "I-NP"]), scheme_of(["NOUN", "O"])
    ('IOB1', 'IOB2', None)
    """
    names = set(tags)
    letters = {name.partition("-")[0] for name in names}
    if not names - {_OUTSIDE} or any(
        name != _OUTSIDE and (name[1:2] != "-" or len(name) < 3) for name in names
    ):
        return None
    for scheme in ("IOBES", "BILOU"):
        known = set(LETTERS[scheme]) | {_OUTSIDE}
        if letters <= known and letters & (known - set("BIO")):
            return scheme
    if not letters <= set("BIO"):
        return None
    first, second = (len(find_illegal(tags, starts, scheme)) for scheme in ("IOB1", "IOB2"))
    return "IOB1" if first < second else "IOB2"


def convert_tags(
    tags: Sequence[str],
    scheme: str,
    starts: Sequence[int] | np.ndarray | None = None,
) -> list[str]:
    """Convert tags of any scheme to another.

    Examples
    --------
    >>> convert_tags(["I-NP", "I-NP", "B-NP", "O"], "IOBES")
    ['B-NP', 'E-NP', 'S-NP', 'O']
    """
    _check_scheme(scheme)
    spans, bounds = find_spans(tags, starts), set(_starts(tags, starts).tolist())
    first, inner, last, only = LETTERS[scheme]
    made, before = [_OUTSIDE] * len(tags), (-1, "")
    for a, b, kind in spans:
        made[a:b] = [f"{inner}-{kind}"] * (b - a)
        made[b - 1] = f"{last}-{kind}"
        made[a] = f"{only if b == a + 1 else first}-{kind}"
        if scheme == "IOB1" and before == (a, kind) and a not in bounds:
            made[a] = f"B-{kind}"
        before = (b, kind)
    return made


def is_legal(before: str | None, tag: str | None, scheme: str) -> bool:
    """Whether a tag may follow another; None as `before` is the start, as `tag` the end.

    Examples
    --------
    >>> is_legal("O", "I-NP", "IOB2"), is_legal("B-X", None, "IOBES")
    (False, False)
    """
    _check_scheme(scheme)
    letter, _, kind = (before or _OUTSIDE).partition("-")
    following, _, new = (tag or _OUTSIDE).partition("-")
    same = letter != _OUTSIDE and kind == new
    if scheme == "IOB1":
        return following != "B" or same
    if scheme == "IOB2":
        return following != "I" or same
    _, inner, last, _ = LETTERS[scheme]
    if letter in _MAY_GO_ON:
        return same and following in (inner, last)
    return following not in (inner, last)


def find_illegal(
    tags: Sequence[str], starts: Sequence[int] | np.ndarray | None, scheme: str
) -> list[tuple[int, str]]:
    """Where tags break the rules of their scheme: (token, what is wrong), in order.

    A span that is never closed is reported at the last token of its sentence.

    Examples
    --------
    >>> find_illegal(["O", "I-NP"], None, "IOB2")
    [(1, 'I-NP follows O')]
    """
    bounds = _starts(tags, starts).tolist()
    known: dict[tuple[str | None, str | None], bool] = {}
    found = []
    for a, b in pairwise(bounds):
        if a == b:
            continue
        before: str | None = None
        for token in range(a, b):
            tag = tags[token]
            if (before, tag) not in known:
                known[before, tag] = is_legal(before, tag, scheme)
            if not known[before, tag]:
                after = "begins a sentence" if before is None else f"follows {before}"
                found.append((token, f"{tag} {after}"))
            before = tag
        if not is_legal(before, None, scheme):
            found.append((b - 1, f"{before} ends a sentence"))
    return found


def _check_scheme(scheme: str) -> None:
    if scheme not in LETTERS:  # called for every tag: this test is much faster than check_choice
        check_choice("scheme", scheme, SCHEMES)


class SpanMeasures(NamedTuple):
    """Predicted spans compared with the right ones, overall and by type.

    Attributes
    ----------
    overall : Ratio
        Scores of all spans.
    by_kind : dict of str to Ratio
        Scores of each type.
    """

    overall: Ratio
    by_kind: dict[str, Ratio]


def measure_spans(
    answers: Sequence[str],
    found: Sequence[str],
    starts: Sequence[int] | np.ndarray | None = None,
) -> SpanMeasures:
    """Precision, recall and F1 of spans: a span is right if both ends and its type are right.

    Parameters
    ----------
    answers, found : list of str
        The right tags and the predicted ones, which may use different schemes.
    starts : array of int
        Where sentences start, and the end.

    Examples
    --------
    >>> measures = measure_spans(["B-NP", "I-NP", "B-VP"], ["B-NP", "I-NP", "B-NP"])
    >>> measures.overall.right, round(measures.overall.f1, 2)
    (1, 0.5)
    """
    if len(answers) != len(found):
        raise DataError(f"{len(answers)} right tags, but {len(found)} predicted ones")
    bounds = _starts(answers, starts)
    wanted, given = find_spans(answers, bounds), find_spans(found, bounds)
    kinds = sorted(set(wanted.kinds) | set(given.kinds))
    wanted, given = _in_terms_of(kinds, wanted), _in_terms_of(kinds, given)
    end, kind = np.full(len(answers) + 1, -1), np.full(len(answers) + 1, -1)
    end[wanted.first], kind[wanted.first] = wanted.end, wanted.kind
    hit = (end[given.first] == given.end) & (kind[given.first] == given.kind)

    def ratio(code: int | None) -> Ratio:
        """The ratio of one type, or of all."""
        asked = np.ones(len(wanted), bool) if code is None else wanted.kind == code
        told = np.ones(len(given), bool) if code is None else given.kind == code
        return Ratio.of(
            _by_sentence(bounds, given.first[hit & told]),
            _by_sentence(bounds, given.first[told]),
            _by_sentence(bounds, wanted.first[asked]),
        )

    occur = set(wanted.kind.tolist()) | set(given.kind.tolist())
    return SpanMeasures(ratio(None), {kinds[code]: ratio(code) for code in sorted(occur)})


def _in_terms_of(kinds: list[str], spans: Spans) -> Spans:
    codes = np.array([kinds.index(kind) for kind in spans.kinds], np.int64)
    return replace(spans, kind=codes[spans.kind] if len(spans) else spans.kind, kinds=kinds)


def _by_sentence(bounds: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """How many of the tokens are in each sentence."""
    return np.diff(np.searchsorted(tokens, bounds))
