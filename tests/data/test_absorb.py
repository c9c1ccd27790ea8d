"""Encoders that observed parts of the examples, joined, are one that observed all of them."""

import copy

import numpy as np
import pyarrow as pa
import pytest

from widemargin.data.encode.numbers import NumbersEncoder
from widemargin.data.encode.table import TableEncoder
from widemargin.data.encode.text import TextEncoder, texts_of
from widemargin.data.readers.chunk import Vectors
from widemargin.data.rows import Rows


def joined(fresh, parts):
    """An encoder that absorbed one encoder per part, and one that observed all parts."""
    each, whole = [copy.deepcopy(fresh) for _ in parts], copy.deepcopy(fresh)
    for one, part in zip(each, parts, strict=True):
        one.observe(part)
        whole.observe(part)
    for one in each[1:]:
        each[0].absorb(one)
    return each[0], whole


@pytest.mark.parametrize("leasts", [(1, 1, 1), (1, 0, 1), (0, 1, 1), (3, 2, 1)])
def test_numbers(leasts):
    parts = [
        Vectors(Rows.of(np.ones((2, width)), bias=0.0), least)
        for width, least in zip((4, 9, 6), leasts, strict=True)
    ]
    one, whole = joined(NumbersEncoder(), parts)
    assert one.describe() == whole.describe()


def test_words():
    texts = [["a good film", "good"], ["bad film"], ["good bad ugly", ""]]
    one, whole = joined(TextEncoder(idf=True, bits=10), [texts_of(some) for some in texts])
    assert one.documents == whole.documents == 5
    asked = texts_of(["a good bad film"])
    assert np.array_equal(
        one.encode(asked, 1.0).stored.values, whole.encode(asked, 1.0).stored.values
    )


def test_tables():
    rng = np.random.default_rng(0)
    kinds = [["cat", "dog", None], ["cow", "dog", "ant"], ["ant", "cat", "emu"]]
    parts = [
        pa.table({"size": rng.normal(5.0, 3.0, 3), "kind": some, "old": [True, None, False]})
        for some in kinds
    ]
    one, whole = joined(TableEncoder(interactions=[("size", "kind"), ("kind", "old")]), parts)
    assert one.describe() == whole.describe()
    names = [[each.feature_name(i) for i in range(each.width)] for each in (one, whole)]
    assert names[0] == names[1]
    for part in parts:
        rows = [each.encode(part, 0.0).to_matrix().toarray() for each in (one, whole)]
        np.testing.assert_allclose(*rows, rtol=1e-12, atol=1e-12)


def test_a_table_that_nobody_has_seen():
    one, seen = TableEncoder(), TableEncoder()
    seen.observe(pa.table({"kind": ["cat", "dog"]}))
    one.absorb(seen)
    one.absorb(TableEncoder())
    assert one.describe() == seen.describe()
    one.observe(pa.table({"kind": ["cow"]}))
    assert seen.width == 2  # what was absorbed is a copy
