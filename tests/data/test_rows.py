"""Rows that are taken, and rows that store a column twice, as scipy sees them."""

import itertools

import numpy as np
import pytest
import scipy.sparse

from widemargin.data.rows import Rows, stacked


@pytest.mark.parametrize("index", [np.int64, np.uint64, np.uint32])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_taken_rows_are_those_of_scipy(index, dtype):
    matrix = scipy.sparse.random(20, 9, density=0.3, format="csr", dtype=dtype, random_state=0)
    which = np.array([3, 0, 19, 3, 7], index)
    taken = Rows.of(matrix, bias=0.5).take(which)
    expected = Rows.of(matrix[which.astype(np.int64)], bias=0.5)
    assert (taken.n, taken.width, taken.bias) == (5, 9, 0.5)
    for found, wanted in zip(taken.stored[:3], expected.stored[:3], strict=True):
        assert np.array_equal(found, wanted)
    assert np.array_equal(taken.to_matrix().toarray(), matrix[which.astype(np.int64)].toarray())
    assert Rows.of(matrix).take(which[:0]).n == 0


@pytest.mark.parametrize(
    ("starts", "columns", "is_sorted"),
    [
        ([0, 2, 4], [0, 3, 0, 1], True),
        ([0, 2, 4], [0, 3, 3, 4], True),
        ([0, 0, 4, 4], [0, 1, 2, 3], True),
        ([0, 2, 4], [3, 0, 0, 1], False),
        ([0, 2, 4], [0, 1, 2, 2], False),
        ([0, 0], [], True),
        ([0], [], True),
    ],
)
def test_sorted_columns_are_told_as_scipy_tells_them(starts, columns, is_sorted):
    parts = (np.ones(len(columns)), np.array(columns, np.int32), np.array(starts))
    matrix = scipy.sparse.csr_matrix(parts, shape=(len(starts) - 1, 5))
    assert bool(matrix.has_canonical_format) is is_sorted
    rows = Rows.of(matrix)
    assert rows._is_sorted() is is_sorted
    assert np.array_equal(rows.without_duplicates().to_matrix().toarray(), matrix.toarray())
    for kind in (np.int32, np.int64):  # scipy would narrow them
        matrix.indices = matrix.indices.astype(kind)
        rows = Rows.of(matrix)
        kept = rows.without_duplicates(in_order=False)
        repeated = any(
            len(set(columns[begin:end])) < end - begin for begin, end in itertools.pairwise(starts)
        )
        assert (kept.stored.indices is rows.stored.indices) is not repeated
        assert np.array_equal(kept.to_matrix().toarray(), matrix.toarray())


@pytest.mark.parametrize("count", [1, 2, 5, 6])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_typical_value_is_nearest_to_the_median(count, dtype):
    values = np.random.default_rng(count).normal(size=(1, count)).astype(dtype) * 30
    median = float(np.median(np.abs(values)))
    assert Rows.of(values).typical_value() == 2.0 ** round(np.log2(median))
    values[0, 0] = np.nan
    assert Rows.of(values).typical_value() == 1.0
    assert Rows.of(np.zeros((3, 2))).typical_value() == 1.0


def test_unused_room_at_the_end_of_a_matrix_belongs_to_no_row():
    matrix = scipy.sparse.csr_matrix(np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]))
    roomy = matrix.copy()
    roomy.data = np.append(roomy.data, [1e300, np.nan])
    roomy.indices = np.append(roomy.indices, [7, -1]).astype(np.int32)
    rows = Rows.of(roomy)
    assert rows.stored_values == 3
    rows.check_finite()
    rows.check_scale()
    twice = stacked([rows, rows])
    assert np.array_equal(twice.to_matrix().toarray(), scipy.sparse.vstack([matrix] * 2).toarray())


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_arrays_that_are_not_aligned_are_copied(kind):
    memory = np.arange(6, dtype=kind).tobytes()
    shifted = np.frombuffer(b"?" + memory, np.uint8)[1:].view(kind).reshape(2, 3)
    assert not shifted.flags.aligned
    rows = Rows.of(shifted)
    assert rows.stored.values.flags.aligned
    assert np.array_equal(rows.stored.values, shifted)
    matrix = scipy.sparse.csr_matrix((2, 3), dtype=kind)
    matrix.indptr = np.array([0, 3, 6], np.int32)
    matrix.data, matrix.indices = shifted.ravel(), np.array([0, 1, 2] * 2, np.int32)
    assert not matrix.data.flags.aligned
    assert all(part.flags.aligned for part in Rows.of(matrix).stored[:3])
