"""Sparse rows that look like text: a few words per row, and most words in almost no row."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

#: The number of most frequent features to which the hidden model gives weights.
_TELLING = 20_000
#: Noise on the hidden model's scores, in units of their deviation.
_NOISE = 0.05


def zipf_text(rows: int, width: int, per_row: float, seed: int) -> tuple[sp.csr_matrix, np.ndarray]:
    """Make rows of word counts, and balanced labels -1/+1 from a hidden linear model.

    A word's rank is the integer part of width ** u, u uniform, so rank r has probability
    ln(1 + 1/r) / ln(width). A word drawn c times counts 1 + log(c); rows have norm 1.

    Parameters
    ----------
    rows, width : int
        The shape.
    per_row : float
        The mean number of different words per row.
    seed : int
        The same seed makes the same data.

    Returns
    -------
    X : CSR matrix of float32 with int32 indices, sorted in every row
    y : array of -1 and +1

    Examples
    --------
    >>> X, y = zipf_text(1000, 5000, 20, seed=0)
    >>> X.shape, abs(X.nnz / 1000 - 20) < 0.4
    ((1000, 5000), True)
    """
    rng = np.random.default_rng(seed)
    id_of = rng.permutation(width).astype(np.int32)
    w = _hidden_model(id_of, rng)
    words = _draw(rows, width, per_row, id_of, rng)
    words.sort(axis=1)
    first = np.ones(words.shape, bool)
    np.not_equal(words[:, 1:], words[:, :-1], out=first[:, 1:])
    at = np.flatnonzero(first)
    counts = np.diff(at, append=words.size)
    indices = words.ravel()[at]
    real = indices < width
    values = (1.0 + np.log(counts[real])).astype(np.float32)
    indptr = np.zeros(rows + 1, np.int32)
    np.cumsum(np.count_nonzero(first & (words < width), axis=1), out=indptr[1:])
    norms = np.sqrt(np.add.reduceat(np.square(values), indptr[:-1]))
    values /= np.repeat(norms, np.diff(indptr))
    X = sp.csr_matrix((values, indices[real], indptr), shape=(rows, width))
    return X, _label(X, w, rng)


def write_svmlight(path: str | os.PathLike[str], X: sp.csr_matrix, y: np.ndarray, digits: int = 4):
    """Write rows as svmlight text: label, then index:value from index 1, to this many digits."""
    with open(path, "wb") as file:
        for start in range(0, X.shape[0], 20_000):
            part = slice(start, start + 20_000)
            file.write(_lines(X[part], y[part], digits))


def _draw(
    rows: int, width: int, per_row: float, id_of: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """The words of each row, with repeats; the id `width` stands for no word."""
    draws = _draws_for(per_row, width)
    most = int(np.ceil(draws))
    rank = np.exp(rng.random((rows, most)) * np.log(width)).astype(np.int32) - 1
    words = id_of[np.minimum(rank, width - 1)]
    words[rng.random(rows) < most - draws, -1] = width
    return words


def _draws_for(per_row: float, width: int) -> float:
    """How many draws give `per_row` different words: sum over r of 1 - (1 - p_r) ** draws."""
    rank = np.arange(1, width)
    miss = np.log1p(-np.log1p(1.0 / rank) / np.log(width))

    def different(draws: int) -> float:
        return -float(np.sum(np.expm1(draws * miss)))

    draws = 1
    while different(draws) < per_row:
        draws += 1
        if draws > 100 * per_row:
            raise ValueError(f"width={width} is too narrow for {per_row} different words per row")
    low, high = different(draws - 1), different(draws)
    return draws - 1 + (per_row - low) / (high - low)


def _hidden_model(id_of: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Random weights for the most frequent features, and zero for the rest."""
    telling = id_of[:_TELLING]
    w = np.zeros(len(id_of))
    w[telling] = rng.standard_normal(len(telling))
    return w


def _label(X: sp.csr_matrix, w: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Label each row by its side of the hidden plane, half on each side, with a few errors."""
    score = X @ w
    score += _NOISE * score.std() * rng.standard_normal(len(score))
    return np.where(score > np.median(score), 1, -1)


def _lines(X: sp.csr_matrix, y: np.ndarray, digits: int) -> bytes:
    """Some rows as text, built by Arrow because Python would need a second per million values."""
    values = X.data.astype(np.float64)
    size = np.floor(np.log10(np.abs(values), where=values != 0.0, out=np.zeros(len(values))))
    scale = 10.0 ** (digits - 1 - size)
    text = pc.cast(pa.array(np.rint(values * scale) / scale), pa.string())
    index = pc.cast(pa.array(X.indices + 1), pa.string())
    pairs = pc.binary_join_element_wise(index, text, ":")
    features = pc.binary_join(pa.ListArray.from_arrays(pa.array(X.indptr), pairs), " ")
    lines = pc.binary_join_element_wise(pc.cast(pa.array(y), pa.string()), features, " ")
    return ("\n".join(lines.to_pylist()) + "\n").encode()
