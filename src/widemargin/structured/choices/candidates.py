"""The candidate labels of a word: those of the word itself, or of its ending."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from widemargin.data.rows import frozen
from widemargin.modelfile.checks import check_ends, check_places
from widemargin.modelfile.packing import pack_strings, unpack_strings

#: The longest ending considered.
_ENDING = 6
#: An ending seen with fewer words than this is ignored.
_WORDS = 5
#: Maximum number of labels per ending, the most common ones.
_MOST = 32
#: Maximum number of cached lookups.
_REMEMBERED = 1 << 18


class CandidateLists:
    """Lists of labels by word and tag.

    A word seen with its tag has the labels it was seen with; if it was seen fewer than `often`
    times, also those of its ending. A word seen only with other tags has the labels it was seen
    with there. Any other word has the labels of its longest ending that enough words with its tag
    share.

    Parameters
    ----------
    words, endings : dict of str to int
        The number of the list of each word and of each ending, with keys of the form tag, tab,
        word; without the tag, the list of all labels that a word was seen with.
    starts, labels : arrays
        List k has labels[starts[k]] up to labels[starts[k + 1]], the most common first.
    """

    def __init__(
        self,
        words: Mapping[str, int],
        endings: Mapping[str, int],
        starts: np.ndarray,
        labels: np.ndarray,
    ) -> None:
        self.words, self.endings = words, endings
        self.starts, self.labels = frozen(starts), frozen(labels)
        self._memory: dict[str, int] = {}

    @classmethod
    def of_training(
        cls,
        words: Sequence[str],
        tags: Sequence[str],
        labels: Sequence[int],
        often: int,
        general: Collection[int] | None = None,
    ) -> CandidateLists:
        """Lists from words with their tags and right labels.

        Parameters
        ----------
        words, tags, labels : sequences
            The words in lower case.
        often : int
            A word seen at least this often has only the labels it was seen with.
        general : collection of int, optional
            The labels that other words may also have; by default all.
        """
        own: dict[str, Counter[int]] = defaultdict(Counter)
        for word, tag, label in zip(words, tags, labels, strict=True):
            own[f"{tag}\t{word}"][label] += 1
        made = _Lists()
        endings = _endings_of(own, made, general)
        found = cls({}, endings, np.zeros(1, np.uint64), np.zeros(0, np.uint32))
        numbers = {}
        for key, counts in own.items():
            chosen = [label for label, _ in _ranked(counts)]
            if counts.total() < often:
                ending = found.of_ending(*key.split("\t", 1))
                chosen += [label for label in made.lists[ending] if label not in counts]
            numbers[key] = made.number(tuple(chosen))
        for word, counts in _without_tags(own).items():
            numbers[f"\t{word}"] = made.number(tuple(label for label, _ in _ranked(counts)))
        return cls(numbers, endings, *made.arrays())

    def of_words(self, words: Iterable[str], tags: Iterable[str]) -> np.ndarray:
        """The number of the list of every word; words in lower case."""
        memory = self._memory
        if len(memory) > _REMEMBERED:  # replaced, not cleared: another thread may be reading it
            memory = self._memory = {}
        keys = list(map("\t".join, zip(tags, words, strict=True)))
        for key in set(keys).difference(memory):
            tag, word = key.split("\t", 1)
            number = self.words.get(key, self.words.get(f"\t{word}"))
            memory[key] = self.of_ending(tag, word) if number is None else number
        return np.array([memory[key] for key in keys], np.uint32)

    def of_ending(self, tag: str, word: str) -> int:
        """The number of the list for an unseen word."""
        for size in range(min(_ENDING, len(word)), -1, -1):
            number = self.endings.get(f"{tag}\t{word[len(word) - size :]}")
            if number is not None:
                return number
        return 0  # an unseen tag: the most common labels of all

    def pack(self, name: str) -> dict[str, np.ndarray]:
        """The arrays for a file."""
        arrays = {f"{name}.starts": self.starts, f"{name}.labels": self.labels}
        for part, table in (("words", self.words), ("endings", self.endings)):
            arrays[f"{name}.{part}"] = np.array(list(table.values()), np.uint32)
            arrays |= pack_strings(f"{name}.{part}.keys", list(table))
        return arrays

    @classmethod
    def unpack(cls, name: str, arrays: dict[str, np.ndarray], labels: int) -> CandidateLists:
        """Undo `pack`; a ValueError if a list is empty or has unknown labels, or a word no list."""
        starts = arrays[f"{name}.starts"]
        check_ends(f"{name}.starts", starts, len(arrays[f"{name}.labels"]))
        if len(starts) < 2 or np.any(starts[1:] == starts[:-1]):
            raise ValueError(f"{name} has an empty list")
        check_places(f"{name}.labels", arrays[f"{name}.labels"], labels)
        for part in ("words", "endings"):
            check_places(f"{name}.{part}", arrays[f"{name}.{part}"], len(starts) - 1)
        words, endings = (
            dict(
                zip(
                    unpack_strings(f"{name}.{part}.keys", arrays),
                    arrays[f"{name}.{part}"].tolist(),
                    strict=True,
                )
            )
            for part in ("words", "endings")
        )
        # The types that the loops were compiled for, whatever whole numbers the file has.
        labels_of = arrays[f"{name}.labels"].astype(np.uint32)
        return cls(words, endings, starts.astype(np.uint64), labels_of)


class _Lists:
    """Builds lists one after another; equal lists are stored once."""

    def __init__(self) -> None:
        self.lists: list[tuple[int, ...]] = []
        self._numbers: dict[tuple[int, ...], int] = {}

    def number(self, labels: tuple[int, ...]) -> int:
        if labels not in self._numbers:
            self._numbers[labels] = len(self.lists)
            self.lists.append(labels)
        return self._numbers[labels]

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        ends = np.cumsum([0, *map(len, self.lists)]).astype(np.uint64)
        return ends, np.array([label for labels in self.lists for label in labels], np.uint32)


def _ranked(counts: Counter[Any]) -> list[tuple[Any, int]]:
    """Most common first; ties in the order of the labels."""
    return sorted(counts.items(), key=lambda one: (-one[1], one[0]))


def _without_tags(own: Mapping[str, Counter[int]]) -> dict[str, Counter[int]]:
    """The labels of each word with any tag."""
    found: dict[str, Counter[int]] = defaultdict(Counter)
    for key, counts in own.items():
        found[key.split("\t", 1)[1]].update(counts)
    return found


def _endings_of(
    own: Mapping[str, Counter[int]], made: _Lists, general: Collection[int] | None
) -> dict[str, int]:
    """The lists of endings, by tag and ending. A longer ending that adds nothing is left out."""
    seen: dict[str, Counter[int]] = defaultdict(Counter)
    sizes: Counter[str] = Counter()
    everything: Counter[int] = Counter()
    for key, counts in own.items():
        tag, word = key.split("\t", 1)
        kept = [label for label in counts if general is None or label in general]
        everything.update(kept)
        for size in range(min(_ENDING, len(word)) + 1):
            ending = f"{tag}\t{word[len(word) - size :]}"
            seen[ending].update(kept)
            sizes[ending] += 1
    made.number(_best(everything) or tuple(sorted({0, *everything})))
    endings: dict[str, int] = {}
    for ending in sorted(seen, key=lambda key: (len(key), key)):
        tag, text = ending.split("\t", 1)
        chosen = _best(seen[ending])
        if not chosen or (text and sizes[ending] < _WORDS):
            continue
        number = made.number(chosen)
        if number != _shorter(endings, tag, text):
            endings[ending] = number
    return endings


def _shorter(endings: Mapping[str, int], tag: str, text: str) -> int | None:
    """The list that a word would have without its longest ending."""
    for size in range(len(text) - 1, -1, -1):
        number = endings.get(f"{tag}\t{text[len(text) - size :]}")
        if number is not None:
            return number
    return None


def _best(counts: Counter[int]) -> tuple[int, ...]:
    return tuple(label for label, _ in _ranked(counts)[:_MOST])
