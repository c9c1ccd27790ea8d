"""The reservoir of a pipe: a uniform sample that is learned from last, and no row is lost."""

import numpy as np
import pytest
import scipy.sparse

from widemargin.data.rows import Rows
from widemargin.online.reservoir import Reservoir, RowBatch

CLASSES = np.array(["a", "b"])


def batch(first, n, weights=None):
    """Rows that tell their numbers, from `first` on."""
    numbers = np.arange(first, first + n)
    matrix = scipy.sparse.csr_matrix(numbers[:, None] + 1.0)
    return RowBatch(Rows.of(matrix), (numbers % 2).astype(np.int64), weights)


def numbers(found):
    return (found.rows.to_matrix().toarray()[:, 0] - 1.0).astype(int).tolist()


def through(sizes, budget, seed=0):
    """What comes out of a reservoir, window by window, and the sample at the end."""
    reservoir, out, first = Reservoir(budget), [], 0
    rng = np.random.default_rng(seed)
    for n in sizes:
        found = reservoir.add(batch(first, n), CLASSES, rng)
        out += [] if found is None else [numbers(found)]
        first += n
    return out, numbers(reservoir.rest())


def test_what_fits_is_kept_in_order_and_draws_nothing():
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    reservoir = Reservoir(1 << 20)
    assert reservoir.add(batch(0, 5), CLASSES, rng) is None
    assert reservoir.add(batch(5, 4), CLASSES, rng) is None
    assert rng.bit_generator.state == before
    assert numbers(reservoir.rest()) == list(range(9))
    assert reservoir.rest() is None


@pytest.mark.parametrize("sizes", [[50, 50], [10] * 20, [100], [1] * 60, [30, 1, 70]])
def test_every_row_comes_out_once(sizes):
    out, rest = through(sizes, budget=500)
    assert 0 < len(rest) < sum(sizes)
    assert sorted([*(number for some in out for number in some), *rest]) == [*range(sum(sizes))]
    assert through(sizes, budget=500) == (out, rest)


def test_the_sample_is_uniform():
    held, draws = np.zeros(60), 150
    for seed in range(draws):
        held[through([20, 20, 20], budget=300, seed=seed)[1]] += 1
    size = held.sum() / draws
    expected = draws * size / 60
    # Four standard deviations of a count of draws, each held with the same probability.
    assert np.all(np.abs(held - expected) < 4.0 * np.sqrt(expected * (1.0 - size / 60)))


def test_codes_follow_classes_that_appear_later():
    rng, reservoir = np.random.default_rng(0), Reservoir(1 << 20)
    reservoir.add(batch(0, 4), np.array(["a", "c"]), rng)
    reservoir.add(
        batch(4, 4)._replace(codes=np.array([1, 1, 1, 1])), np.array(["a", "b", "c"]), rng
    )
    assert reservoir.rest().codes.tolist() == [0, 2, 0, 2, 1, 1, 1, 1]


def test_weights_are_kept_with_their_rows():
    rng, reservoir = np.random.default_rng(0), Reservoir(1 << 20)
    reservoir.add(batch(0, 2), CLASSES, rng)
    reservoir.add(batch(2, 2, np.array([3.0, 4.0])), CLASSES, rng)
    assert reservoir.rest().weights.tolist() == [1.0, 1.0, 3.0, 4.0]


def test_rows_that_are_joined_take_no_more_room_than_they_need():
    rng, reservoir = np.random.default_rng(0), Reservoir(1 << 20)
    for first, n in ((0, 5), (5, 40), (45, 3)):
        reservoir.add(batch(first, n), CLASSES, rng)
    rest = reservoir.rest()
    assert numbers(rest) == list(range(48))
    for array in rest.rows.stored:
        if isinstance(array, np.ndarray):
            base = array if array.base is None else array.base
            assert base.size == array.size


def test_no_batch_holds_nearly_all_rows():
    """Else joining and copying would take the room of all rows twice."""
    rng, reservoir = np.random.default_rng(0), Reservoir(40_000)
    for first in range(0, 40_000, 40):
        reservoir.add(batch(first, 40), CLASSES, rng)
        held = [kept.batch.rows.n for kept in reservoir._kept]
        assert len(held) <= 32 or reservoir._capacity is None
    assert max(held) <= 0.4 * sum(held)
