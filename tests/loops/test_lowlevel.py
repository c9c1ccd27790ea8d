"""What is written by hand in LLVM = the plain functions, compiled = the same, interpreted.

`pytest -m plain_loops` runs only what compiles loops again without the LLVM written by hand; the
whole suite runs that way with the environment variable WIDEMARGIN_PLAIN_LOOPS=1.
"""

import hashlib

import numpy as np
import pytest
import scipy.sparse
from forked import run_forked
from interpreted import environment, told_interpreted

import widemargin
from widemargin.loops.jit import jit
from widemargin.loops.lowlevel.avalanche import avalanche
from widemargin.loops.lowlevel.bit_counts import count_bits
from widemargin.loops.lowlevel.byte_blocks import (
    copy_block,
    count_in_block,
    lowest_bit,
    word_bits,
)
from widemargin.loops.lowlevel.hash_chains import TOGETHER, chain_hashes
from widemargin.loops.lowlevel.lanes import add_to_rows, weigh_rows
from widemargin.loops.lowlevel.panel_products import PANEL, ROWS, multiply_panel
from widemargin.loops.lowlevel.prefetch import prefetch
from widemargin.loops.lowlevel.vectors import (
    HEAD,
    add_rows,
    add_split_rows,
    aligned,
    fetch_rows,
    max_plus,
)

u = np.uint64
#: Widths of rows: every way in which they are divided into vectors, and two blocks.
WIDTHS = (8, 16, 32, 48, 64, 80, 128)
#: Prints what is to be compared.
PROGRAM = """
import test_lowlevel
print(test_lowlevel.piece_bits())
print(test_lowlevel.learned_bits())
"""


@jit()
def _hash_all(hashes, out):
    for k in range(len(hashes)):
        out[k] = avalanche(hashes[k])


@jit()
def _chain_all(columns, which, places, ends, n, hashes):
    first = np.uint64(0)
    for t in range(np.uint64(len(ends))):
        end = ends[t]
        chain_hashes(columns, which, places, first, end, end + end, np.uint64(2), n, hashes, t)
        first = end


@jit()
def _read_bytes(text, bits, lowest, counts, copied):
    zero, size, step = np.uint64(0), np.uint64(len(text)), np.uint64(16)
    for p in range(zero, size, step):
        copy_block(text, p, copied, p)
    for p in range(np.uint64(len(bits))):
        prefetch(text, p)
        bits[p] = word_bits(text, p)
        counts[p] = count_in_block(text, p, np.uint64(text[p]))
        lowest[p] = lowest_bit(bits[p] | np.uint64(1) << (p % np.uint64(64)))


@jit()
def _sum_rows(W, ids, ahead, s):
    fetch_rows(W, ids, np.uint64(1), np.uint64(5))
    add_rows(W, ids, np.uint64(1), np.uint64(5), ahead, s, np.uint64(1))


@jit()
def _sum_split_rows(heads, tails, ids, s):
    one = np.uint64(1)
    add_split_rows(heads, tails, ids, one, np.uint64(5), np.uint64(6), s, one)


@jit()
def _best_plus(v, A, s, out):
    one = np.uint64(1)
    max_plus(v, one, np.uint64(len(A)) - one, A, one, s, one, out, one)


@jit()
def _weigh_and_add(V, x, ids, s):
    weigh_rows(V, x, ids, np.uint64(1), np.uint64(7), s)
    add_to_rows(V, x, ids, np.uint64(2), np.uint64(9), s)


@jit()
def _count_all(words, out):
    for k in range(len(words)):
        out[k] = count_bits(words[k])


@jit()
def _multiply(X, i, P, T):
    for t in range(np.uint64(len(P))):
        multiply_panel(X, i, P, t, T, t, np.uint64(0), np.uint64(0), np.uint64(1))


def results():
    """What every piece makes of random input; of whole numbers where sums could be rounded."""
    rng = np.random.default_rng(0)
    hashes = rng.integers(0, 1 << 32, 1000).astype(np.uint32)
    hashed = np.empty_like(hashes)
    _hash_all(hashes, hashed)
    yield hashed

    counts = np.empty_like(hashes)
    _count_all(hashes, counts)
    yield counts

    columns = rng.integers(0, 1 << 63, (3, 40), dtype=u)
    which, places = rng.integers(0, 3, 6, dtype=u), rng.integers(-2, 3, 6)
    for n in (1, 7, 8, 9, 24):
        chains = np.zeros((4, 3 * TOGETHER), u)
        _chain_all(columns, which, places, np.array([0, 1, 3, 6], u), u(n), chains)
        yield chains[:, :n]

    text = np.append(np.arange(256), rng.integers(0, 256, 256)).astype(np.uint8)
    found = [np.zeros(400, u) for _ in range(3)]
    _read_bytes(text, *found, copied := np.zeros_like(text))
    yield from (*found, copied)

    ids = rng.integers(0, 20, 12).astype(np.uint32)
    for width in WIDTHS:
        for kind, sums in ((np.float32, np.float32), (np.int16, np.float32), (np.int16, np.int32)):
            W, s = aligned((20, width), kind), aligned((3, width), sums)
            W[:] = rng.integers(-3000, 3000, W.shape)
            for ahead in (None, u(6)):
                _sum_rows(W, ids, ahead, s)
                yield s.copy()
        if width in (HEAD + 16, 2 * HEAD):
            heads, tails = aligned((20, HEAD), np.int16), aligned((4, width - HEAD), np.int16)
            heads[:] = rng.integers(-3000, 3000, heads.shape)
            tails[1:] = rng.integers(-3000, 3000, tails[1:].shape)
            heads[:, -1] = rng.integers(0, 4, 20)
            s = aligned((3, width), np.float32)
            _sum_split_rows(heads, tails, ids, s)
            yield s
        A, v, s, out = (aligned((5, width), np.float32) for _ in range(4))
        for array in (A, v, s):
            array[:] = rng.normal(size=array.shape)
        A[2, 1] = v[1, 0] = -np.inf
        A[3, 2] = np.nan
        A[:, 3] = -np.inf
        _best_plus(v, A, s, out)
        yield out

    x = rng.integers(-9, 10, 12).astype(np.float32)
    for lanes in (8, 16, 24, 32, 40):
        V, s = aligned((20, lanes), np.float32), aligned(lanes, np.float32)
        V[:] = rng.normal(size=V.shape)
        _weigh_and_add(V, x, ids, s)
        yield from (V, s)

    for features in (1, 4, 7):
        X = rng.integers(-9, 10, (10, features)).astype(np.float32)
        P = rng.integers(-9, 10, (3, features, PANEL)).astype(np.float32)
        T = np.zeros((ROWS, 3 * PANEL), np.float32)
        _multiply(X, rng.integers(0, 10, ROWS).astype(u), P, T)
        yield T


def piece_bits():
    """A digest of all results."""
    digest = hashlib.sha256()
    for array in results():
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def learned_bits():
    """A digest of what a perceptron learns: its loop fetches rows ahead."""
    digest = hashlib.sha256()
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, (40, 7)) * 1.0
    y = rng.integers(0, 2, 40)
    for rows in (X, scipy.sparse.csr_matrix(X)):
        model = widemargin.Perceptron(epochs=3, random_state=0).fit(rows, y)
        digest.update(np.ascontiguousarray(model.coef_).tobytes())
    return digest.hexdigest()


@pytest.fixture(scope="module")
def bits():
    return [piece_bits(), learned_bits()]


def test_plain_versions_give_the_same_bits_interpreted(bits):
    assert told_interpreted(PROGRAM).split() == bits


@pytest.mark.plain_loops
def test_plain_versions_give_the_same_bits_compiled(bits):
    plain = {**environment(interpreted=False), "WIDEMARGIN_PLAIN_LOOPS": "1"}
    done = run_forked("-c", PROGRAM, env=plain)
    assert done.stdout.split() == bits, done.stderr
