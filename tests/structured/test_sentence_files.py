"""Files of taggers and parsers, and what cannot be learned or measured."""

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from small_language import made_corpus
from tagged_sentences import made_sentences

from widemargin import DataError, Parser, Tagger
from widemargin.data.readers.corpus import Corpus
from widemargin.structured.parser.trees import measure_trees
from widemargin.structured.sparse_rows import pack_rows, unpack_rows
from widemargin.structured.tagger.model import load_tagger

# Messages


def test_sentences_too_long_for_a_chart_are_named():
    long = {"word": [["a"], ["b"] * 4001], "upos": [["X"], ["X"] * 4001]}
    learned = made_corpus(5)
    parser = Parser("cle", bits=8, epochs=1, tags="upos", random_state=0).fit(learned)
    with pytest.raises(DataError, match="sentence 2, token 1: the sentence has 4001 words"):
        parser.predict(long)
    long |= {"head": [["0"], ["0"] * 4001], "deprel": [["root"], ["root"] * 4001]}
    with pytest.raises(DataError, match="at most 4000"):
        Parser("eisner", tags="upos").fit(long)


def test_right_trees_must_be_trees_when_tested():
    columns = {
        "word": [["a", "b"]],
        "head": [["2", "1"]],
        "deprel": [["x", "y"]],
    }
    with pytest.raises(DataError, match="the heads form a cycle: 1 -> 2 -> 1"):
        measure_trees(Corpus.of(columns), [2, 0], ["x", "y"])


def test_an_empty_column_cannot_be_learned():
    given = {"word": [["a", "b"]], "pos": [["X", "Y"]], "tag": [["_", "_"]]}
    with pytest.raises(DataError, match=r"'tag' is '_' everywhere.*choose another"):
        Tagger().fit(given)


# Files


@given(
    arrays.arrays(
        st.sampled_from([np.float32, np.float16, np.int16]),
        st.tuples(st.integers(0, 40), st.sampled_from([1, 8, 48])),
        elements=st.sampled_from([0, 0, 0, -0.0, 1, -3]),
    )
)
def test_tables_come_back_from_their_bits(table):
    for given_table in (table, table[:, 0]):
        found = unpack_rows("W", pack_rows("W", given_table), given_table.shape)
        assert found.dtype == given_table.dtype
        assert found.tobytes() == np.ascontiguousarray(given_table).tobytes()


@pytest.mark.parametrize("bits", [10, 18, None])
def test_pruning_never_makes_a_file_larger(bits, tmp_path):
    sentences, tags = made_sentences(16)
    model = Tagger(bits=bits, epochs=3, random_state=0).fit(sentences, tags).model_
    unseen = made_sentences(17, words=60)[0]
    models = [model, model.prune(0.01), model.prune(0.05), model.prune(0.05).prune(0.1)]
    sizes = []
    for k, one in enumerate(models):
        for names in (True, False):
            one.save(tmp_path / f"{k}.wm", names=names)
            sizes.append(os.path.getsize(tmp_path / f"{k}.wm"))
            loaded = load_tagger(tmp_path / f"{k}.wm")
            assert loaded.predict(unseen) == one.predict(unseen)
            assert np.array_equal(loaded.W, one.W)
        assert loaded.prune(0.2).predict(unseen) == one.prune(0.2).predict(unseen)
    for part in (sizes[::2], sizes[1::2]):  # with and without names
        assert sorted(part, reverse=True) == part
