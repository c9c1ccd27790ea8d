"""The words that a tagger has seen in training, as checksums."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np


def known_words(words: Sequence[str]) -> np.ndarray:
    """Sorted checksums of words, as a model stores them."""
    return np.unique(_checksums(list(set(words))))


def are_known(words: Sequence[str], known: np.ndarray) -> np.ndarray:
    """Which of the words are among the known ones."""
    sums = _checksums(words)
    at = np.minimum(np.searchsorted(known, sums), max(0, len(known) - 1))
    return known[at] == sums if len(known) else np.zeros(len(sums), bool)


def _checksums(words: Sequence[str]) -> np.ndarray:
    sums = (crc32(word.encode("utf-8", "surrogatepass")) for word in words)
    return np.fromiter(sums, np.uint32, len(words))
