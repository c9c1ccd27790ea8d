"""Constraints of a tagger: legal transitions, and the tags that a word may have."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from widemargin.data.encode.tokens import read_tokens
from widemargin.data.rows import frozen
from widemargin.errors import DataError
from widemargin.loops.sequences.tagging import Lexicon
from widemargin.loops.sequences.templates import enter_keys
from widemargin.loops.sequences.tokens import hash_words
from widemargin.parameters.values import check_choice, check_whole
from widemargin.structured.spans import LETTERS, SCHEMES, find_spans, is_legal

#: A learned dictionary covers words that were seen at least this often.
_OFTEN = 20


def count_transitions(labels: np.ndarray, starts: np.ndarray, n: int) -> np.ndarray:
    """How often each label follows each label; row n counts sentence starts, column n ends."""
    counts = np.zeros((n + 1, n + 1), np.int64)
    if not len(labels):
        return counts
    firsts = starts[:-1][np.diff(starts) > 0]
    lasts = starts[1:][np.diff(starts) > 0] - 1
    goes_on = np.ones(len(labels), bool)
    goes_on[firsts] = False
    y = labels.astype(np.int64)
    pairs = y[:-1][goes_on[1:]] * (n + 1) + y[1:][goes_on[1:]]
    counts += np.bincount(pairs, minlength=(n + 1) ** 2).reshape(n + 1, n + 1)
    counts[n, :n] += np.bincount(y[firsts], minlength=n)
    counts[:n, n] += np.bincount(y[lasts], minlength=n)
    return counts


def scheme_of_transitions(tags: Sequence[str], counts: np.ndarray) -> str | None:
    """The scheme with the fewest illegal transitions; None if these are not span tags."""
    inside = [tag for tag in tags if tag != "O"]
    if not inside or any(tag[1:2] != "-" or len(tag) < 3 for tag in inside):
        return None
    letters = {tag[0] for tag in inside}
    possible = [
        scheme
        for scheme, known in zip(SCHEMES, ("BI", "BI", "BIES", "BILU"), strict=True)
        if letters <= set(known) and (letters <= set("BI")) == (known == "BI")
    ]
    names = [*tags, None]
    a, b = np.nonzero(counts)

    def illegal(scheme: str) -> int:
        return sum(
            int(counts[i, j])
            for i, j in zip(a.tolist(), b.tolist(), strict=True)
            if not is_legal(names[i], names[j], scheme)
        )

    # On a tie, IOB2.
    return min(reversed(possible), key=illegal) if possible else None


def allowed_transitions(
    tags: Sequence[str], counts: np.ndarray, constraints: str | None
) -> tuple[np.ndarray, str | None]:
    """Which transitions are allowed, and the scheme of the tags, if they are span tags.

    Row n is the start of a sentence, column n its end.

    Parameters
    ----------
    tags : sequence of str
    counts : array, (n + 1, n + 1)
        How often each transition was seen.
    constraints : {"auto", "seen", None} or a scheme
        "auto" uses the rules of the scheme, if these are span tags. Transitions seen in training
        are always allowed. The scheme is that of the tags, whatever the constraints.
    """
    n = len(tags)
    check_choice("constraints", constraints, ("auto", "seen", *SCHEMES, None))
    scheme = constraints if constraints in SCHEMES else scheme_of_transitions(tags, counts)
    if constraints == "seen":
        return counts > 0, scheme
    if constraints is None or scheme is None:
        return np.ones((n + 1, n + 1), bool), scheme
    names = [*tags, None]
    legal = np.array([[is_legal(a, b, scheme) for b in names] for a in names])
    return legal | (counts > 0), scheme


def recode(tags: Sequence[str], starts: np.ndarray, scheme: str) -> tuple[np.ndarray, list[str]]:
    """Convert span tags to another scheme: their codes, and the list of tags.

    Like `convert_tags`, but vectorised.
    """
    spans = find_spans(tags, starts)
    roles = np.zeros(len(tags), np.int64)  # 0 outside, then 4 kinds of tag for every type
    lengths = spans.end - spans.first
    inside = np.repeat(spans.first - np.cumsum(lengths) + lengths, lengths)
    inside += np.arange(len(inside))
    roles[inside] = np.repeat(4 * spans.kind, lengths) + 1 + _INNER
    roles[spans.end - 1] = 4 * spans.kind + 1 + _LAST
    roles[spans.first] = 4 * spans.kind + 1 + np.where(lengths == 1, _ONLY, _FIRST)
    found = np.flatnonzero(np.bincount(roles))
    names = [_name(int(role), spans.kinds, scheme) for role in found]
    order = {name: code for code, name in enumerate(sorted(set(names)))}
    codes = np.zeros(int(found.max(initial=0)) + 1, np.uint16)
    codes[found] = [order[name] for name in names]
    return codes[roles], list(order)


#: The roles of a token in a span, in the order of `spans.LETTERS`.
_FIRST, _INNER, _LAST, _ONLY = range(4)


def _name(role: int, kinds: Sequence[str], scheme: str) -> str:
    if role == 0:
        return "O"
    kind, letter = divmod(role - 1, 4)
    return f"{LETTERS[scheme][letter]}-{kinds[kind]}"


def plain_tag(tag: str, scheme: str) -> str:
    """Convert a tag of IOBES or BILOU to IOB2; legal sequences keep their spans."""
    first, inner, last, only = LETTERS[scheme]
    letter = {first: "B", inner: "I", last: "I", only: "B"}.get(tag[:1])
    return tag if letter is None or tag == "O" else letter + tag[1:]


def seen_tags(words: Sequence[str], labels: np.ndarray, often: int) -> dict[str, set[int]]:
    """The labels of every word that was seen at least `often` times."""
    times = Counter(words)
    found: dict[str, set[int]] = defaultdict(set)
    for word, label in zip(words, labels.tolist(), strict=True):
        if times[word] >= often:
            found[word].add(label)
    return found


def make_lexicon(
    asked: Any,
    words: Sequence[str],
    labels: np.ndarray,
    tags: Sequence[str],
    called: Sequence[str],
    width: int,
) -> Lexicon:
    """The lexicon: the labels that words may have.

    Parameters
    ----------
    asked : None, True, int, or dict from words to tags
        None: every word may have every tag. A number: words seen at least this often may only
        have the tags they were seen with; True means 20.
    words, labels
        The training words and their labels.
    tags : sequence of str
        The tags that the labels stand for.
    called : sequence of str
        The tags as users see them, possibly in another scheme.
    width : int
        Numbers per row of scores.
    """
    known: Mapping[str, set[int]] = {}
    if isinstance(asked, Mapping):
        names = sorted(set(called))
        for word, its in asked.items():
            if not its or isinstance(its, str) or not set(its) <= set(names):
                raise DataError(
                    f"tag_dictionary: {word!r} has {its!r}; give a list of tags from"
                    f" {', '.join(names[:8])}{', ...' if len(names) > 8 else ''}"
                )
        known = {
            word: {code for code, name in enumerate(called) if name in its}
            for word, its in asked.items()
        }
    elif asked is not None and asked is not False:
        often = _OFTEN if asked is True else asked
        check_whole("tag_dictionary", often, least=1, other="True or a dict")
        known = seen_tags(words, labels, often)
    return pack_lexicon(known, len(tags), width)


def pack_lexicon(known: Mapping[str, set[int]], n: int, width: int) -> Lexicon:
    """A dictionary from words to labels in the form that the loops read."""
    sets = sorted({frozenset(its) for its in known.values()}, key=sorted)
    masks = np.zeros((len(sets) + 1, width), np.float32)
    for row, its in enumerate(sets):
        masks[row + 1, :n] = -np.inf
        masks[row + 1, sorted(its)] = 0.0
    if not known:
        return Lexicon(
            frozen(np.empty(0, np.uint64)), frozen(np.empty(0, np.uint32)), frozen(masks)
        )
    number = {its: row + 1 for row, its in enumerate(sets)}
    words = list(known)
    hashes = np.empty(len(words), np.uint64)
    tokens = read_tokens(words)
    hash_words(tokens.codes, tokens.edges, hashes)
    size = 1 << (2 * len(words)).bit_length()
    keys, rows = np.zeros(size, np.uint64), np.zeros(size, np.uint32)
    numbers = np.array([number[frozenset(known[word])] for word in words], np.uint32)
    enter_keys(frozen(hashes), frozen(numbers), keys, rows)
    return Lexicon(frozen(keys), frozen(rows), frozen(masks))
