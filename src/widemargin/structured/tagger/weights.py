"""The weights of a tagger: the layout of rows, and the form used to predict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from widemargin.data.readers.token_values import TokenValues
from widemargin.data.rows import frozen
from widemargin.errors import DataError
from widemargin.loops.lowlevel.vectors import HEAD, aligned
from widemargin.loops.sequences.numbers import Numbers
from widemargin.loops.sequences.row_sums import Tails
from widemargin.loops.sequences.templates import Index, enter_keys
from widemargin.structured.sparse_rows import round_rows

#: The largest weight in half precision.
_LARGEST_HALF = 65504.0
#: The largest 16-bit integer.
_LARGEST = 32767
#: Lower bound for the largest weight when computing the unit, so that the unit is a normal float.
_LEAST = 1e-20
#: Predict with 16 bits if half of the nonzero weights are at least this many units.
_FINE = 16
#: One row in this many is looked at to choose the labels of the second part of rows.
_SAMPLE = 16
#: Rows that are rounded at once.
_BLOCK = 1 << 12
_NOTHING, _NO_ROWS = frozen(np.empty(0, np.uint64)), frozen(np.empty(0, np.uint32))
_NO_AMOUNTS = frozen(np.empty(0))


def row_width(labels: int, order: int) -> int:
    """The length of a row of weights: 8 or a multiple of 16."""
    needed = labels + (order == 2)
    return 8 if needed <= 8 else (needed + 15) // 16 * 16


def transition_rows(labels: int, order: int) -> int:
    """How many rows of weights belong to transitions; see `loops.sequences.tagging`."""
    return labels + 2 + ((labels + 1) ** 2 if order == 2 else 0)


def transition_table(W: np.ndarray, allowed: np.ndarray, labels: int, order: int) -> np.ndarray:
    """The summed transition weights for the dynamic program; minus infinity where not allowed.

    Its rows begin with a cache line if that is possible, which makes reading them faster.
    """
    n, width = labels, W.shape[1]
    T = W[len(W) - transition_rows(n, order) :]
    closed = np.zeros((n + 2, width), np.float32)
    closed[:, n:] = -np.inf
    closed[: n + 1, :n][~allowed[:, :n]] = -np.inf
    closed[n + 1, :n][~allowed[:n, n]] = -np.inf
    pairs = T[: n + 2] + closed
    if order == 1:
        return _aligned_copy(pairs)
    triples = T[n + 2 :].reshape(n + 1, n + 1, width) + pairs[: n + 1, None, :]
    return _aligned_copy(np.concatenate([triples.reshape(-1, width), pairs[n + 1 :]]))


def _aligned_copy(table: np.ndarray) -> np.ndarray:
    copy = aligned(table.shape, table.dtype)
    copy[:] = table
    return copy


class Answering(NamedTuple):
    """Weights in the form used to predict: integer multiples of a unit."""

    W: np.ndarray  # of int16; of float32 where 16 bits would be too coarse
    D: np.ndarray  # of float32: transitions for the dynamic program, see `loops.sequences.viterbi`
    unit: float  # a power of two
    V: np.ndarray  # of float32: the rows of numeric features, which are not in W
    # The rows of W that belong to features, in two parts; see `split_rows`.
    heads: np.ndarray | None = None
    tails: Tails | None = None

    @property
    def for_tagging(self) -> tuple[np.ndarray, Tails | None, np.ndarray]:
        """What `loops.sequences.tagging.tag_sentences` takes."""
        return self.W if self.heads is None else self.heads, self.tails, self.D


def answering(
    W: np.ndarray, allowed: np.ndarray, labels: int, order: int, numbers: Sequence[int] = ()
) -> Answering:
    """Round weights to 16 bits, which halves the memory traffic of every prediction.

    The unit is the smallest power of two for which no weight exceeds 32,767 units. Because it is a
    power of two, scores are bit for bit the same as with the rounded weights themselves. If one
    weight is so large that most others would be rounded away, no weight is rounded. The rows
    `numbers` are never rounded, because their weights are multiplied by numbers of any size.
    """
    V = W[list(numbers)].astype(np.float32)
    if len(V):
        W = W.copy()
        W[list(numbers)] = 0.0
    rows = range(0, len(W), _BLOCK)
    largest = max((float(np.abs(W[a : a + _BLOCK]).max()) for a in rows), default=0.0)
    unit = float(2.0 ** np.ceil(np.log2(max(largest, _LEAST) / _LARGEST)))
    fine = 0
    whole = aligned(W.shape, np.int16)
    for a in rows:
        block = W[a : a + _BLOCK]
        some = int(np.count_nonzero(block))
        np.rint(block * np.float32(1.0 / unit), out=whole[a : a + _BLOCK], casting="unsafe")
        fine += 2 * int(np.count_nonzero(np.abs(whole[a : a + _BLOCK]) >= _FINE)) - some
    if fine < 0:
        same = aligned(W.shape, np.float32)
        same[:] = W
        return Answering(same, transition_table(same, allowed, labels, order), 1.0, V)
    features = len(W) - transition_rows(labels, order)
    D = transition_table(whole[features:].astype(np.float32), allowed, labels, order)
    split = split_rows(whole[:features], labels) or ()
    return Answering(whole, D, unit, V / np.float32(unit), *split)


def split_rows(W: np.ndarray, labels: int) -> tuple[np.ndarray, Tails] | None:
    """Rows of 16 bits in two parts, if that makes tagging faster.

    A row of more than 32 labels takes two cache lines, but rare labels have weights for few
    features (chunks of CoNLL-2000: the rarest 8 of 40 labels for 0.3 % of the features). So the
    first part, a cache line, is for the other labels, and says where the second one is, which most
    rows share: see `loops.lowlevel.vectors`. Labels of the two parts change places where necessary.
    The choice of labels affects nothing but the speed.
    """
    last, width = HEAD - 1, W.shape[1]
    if not last < labels < width <= 2 * HEAD:
        return None
    used = np.count_nonzero(W[::_SAMPLE, :labels], axis=0)
    rare = np.argsort(used, kind="stable")[: labels - last]
    ours, theirs = np.sort(rare[rare < last]), np.setdiff1d(np.arange(last, labels), rare)
    heads, parts, found = aligned((len(W), HEAD), np.int16), [], [np.empty(0, np.int64)]
    rest = np.zeros((_BLOCK, width - HEAD), np.int16)
    for a in range(0, len(W), _BLOCK):
        block = W[a : a + _BLOCK]
        head, tail = heads[a : a + _BLOCK], rest[: len(block)]
        head[:, :last], tail[:, : labels - last] = block[:, :last], block[:, last:labels]
        head[:, ours], tail[:, theirs - last] = block[:, theirs], block[:, ours]
        # Four numbers at a time: `any` over short rows takes several times as long.
        some = np.flatnonzero(np.bitwise_or.reduce(tail.view(np.uint64).T, axis=0))
        parts.append(tail[some])
        found.append(a + some)
    rows = np.concatenate(found)
    if len(rows) > _LARGEST:
        return None
    tails = aligned((1 + len(rows), width - HEAD), np.int16)
    tails[1:] = np.concatenate(parts) if parts else 0
    heads[rows, last] = np.arange(1, 1 + len(rows))
    return heads, Tails(tails, frozen(np.stack([ours, theirs], axis=1).astype(np.uint64)))


def numbers_of(values: TokenValues | None, V: np.ndarray) -> Numbers:
    """The numeric features of tokens as the loops read them, with their rows of weights."""
    if values is None:
        return Numbers(_NOTHING, _NO_ROWS, _NO_AMOUNTS, V)
    starts = frozen(values.starts.astype(np.uint64))
    return Numbers(starts, frozen(values.codes), frozen(values.amounts), V)


def half_precision(W: np.ndarray) -> np.ndarray:
    """Weights rounded to 16-bit floats."""
    largest = float(np.abs(W).max(initial=0.0))
    if largest > _LARGEST_HALF:
        raise DataError(
            f"the largest weight is {largest:.6g}, more than 16 bits can hold"
            f" ({_LARGEST_HALF:.0f}); keep 32 bits, or learn with a smaller C or eta"
        )
    return W.astype(np.float16).astype(np.float32)


def rounded_weights(weights: Answering, bits: int) -> np.ndarray:
    """The weights, each row rounded to this many bits, see `round_rows`."""
    if weights.W.dtype != np.int16 or len(weights.V):
        raise DataError(
            "16-bit integers cannot represent these weights, because they differ too much in size"
            " or belong to numeric features; use prune or rounded instead"
        )
    return round_rows(weights.W, bits) * np.float32(weights.unit)


def compact_index(index: Index, kept: np.ndarray, features: int) -> Index:
    """An index of `features` rows for the rows that are kept, which follow the empty row 0."""
    place = np.zeros(features, np.uint32)
    place[kept] = np.arange(1, len(kept) + 1, dtype=np.uint32)
    keys, rows = index.keys, place[index.rows] if len(index.rows) else place
    if len(keys):  # a smaller dictionary, without the dropped features
        old_keys, old_rows = frozen(np.where(rows != 0, keys, np.uint64(0))), frozen(rows)
        keys = np.zeros(1 << (2 * len(kept) + 1).bit_length(), np.uint64)
        rows = np.zeros(len(keys), np.uint32)
        enter_keys(old_keys, old_rows, keys, rows)
    return Index(index.shift, frozen(keys), frozen(rows))
