"""Files of taggers and parsers, and what cannot be learned or measured."""

import os
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from shell import run
from small_language import made_corpus
from tagged_sentences import made_sentences

from widemargin import DataError, Lemmatizer, Parser, Tagger, load
from widemargin.data.readers.conll import read_conll
from widemargin.data.readers.corpus import Corpus
from widemargin.structured.parser.model import load_parser
from widemargin.structured.parser.trees import measure_trees
from widemargin.structured.sparse_rows import pack_rows, round_rows, unpack_rows
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


whole_tables = arrays.arrays(
    np.int16,
    st.tuples(st.integers(1, 30), st.sampled_from([1, 16])),
    elements=st.sampled_from([0, 0, 0, 1, -5, 127, -127, 128, 1000, -32512, 32767, -32767]),
)


@given(whole_tables, st.integers(2, 16))
def test_rounded_rows_keep_their_upper_bits_and_come_back(table, bits):
    made = round_rows(table, bits)
    exact, most = table.astype(int), 2 ** (bits - 1) - 1
    largest = np.abs(exact).max()
    for row, found in zip(exact, made.astype(int), strict=True):
        size = np.abs(row).max()
        if size == largest:
            assert np.array_equal(row, found)
            continue
        unit = next(2**k for k in range(16) if size <= 2**k * (most + 0.5))
        assert not np.any(found % unit)
        assert np.all(np.abs(found) <= most * unit)
        assert np.all(np.abs(found - row) <= unit / 2)
    packed = pack_rows("W", made)
    assert np.array_equal(unpack_rows("W", packed, made.shape), made)
    assert sum(map(len, packed.values())) <= sum(map(len, pack_rows("W", table).values())) + 32


@pytest.mark.parametrize("damage", [lambda part: part[:-1], lambda part: part * 0 + 7])
def test_weights_that_do_not_fit_are_refused(damage):
    packed = pack_rows("W", np.arange(-2000, 2000, dtype=np.int16).reshape(-1, 8))
    key = max(packed, key=lambda key: packed[key].nbytes)
    with pytest.raises(ValueError, match="weights"):
        unpack_rows("W", {**packed, key: damage(packed[key])}, (500, 8))


def test_a_smaller_tagger_is_the_same_from_its_file(tmp_path):
    sentences, tags = made_sentences(16, count=120)
    model = Tagger(bits=12, epochs=5, random_state=0).fit(sentences, tags).model_
    small = model.smaller()
    for name, one in (("model", model), ("small", small)):
        one.save(tmp_path / name, names=False)
    assert os.path.getsize(tmp_path / "small") < 0.6 * os.path.getsize(tmp_path / "model")
    loaded = load_tagger(tmp_path / "small")
    assert np.array_equal(loaded.W, small.W)
    assert small.score(sentences, tags) > model.score(sentences, tags) - 0.02
    with pytest.raises(ValueError, match="bits"):
        model.smaller(bits=1)
    with pytest.raises(ValueError, match="share"):
        model.smaller(share=2.0)


@pytest.mark.parametrize("system", ["arc-hybrid", "eisner"])
def test_a_smaller_parser_is_the_same_from_its_file(system, tmp_path):
    corpus = made_corpus(80)
    parser = Parser(system, bits=12, epochs=3, random_state=0, tagger=Tagger(bits=10, epochs=3))
    model = parser.fit(corpus).model_
    small = model.smaller()
    for name, one in (("model", model), ("small", small)):
        one.save(tmp_path / name)
    assert os.path.getsize(tmp_path / "small") < 0.8 * os.path.getsize(tmp_path / "model")
    loaded = load_parser(tmp_path / "small")
    for table in ("W", "V"):
        assert np.array_equal(getattr(loaded, table), getattr(small, table))
    assert np.array_equal(loaded.predict(corpus).heads, small.predict(corpus).heads)
    assert small.attachment(corpus).las.f1 > model.attachment(corpus).las.f1 - 0.02


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


def test_a_file_without_tags_has_the_other_columns_of_the_training_file(tmp_path):
    train, bare = tmp_path / "train.txt", tmp_path / "bare.txt"
    for more in ([], ["x", "y"]):
        rows = [
            ["big", "A", *more, "B-NP"],
            ["dogs", "N", *more, "I-NP"],
            ["bark", "V", *more, "O"],
        ]
        whole, words = (
            "".join(" ".join(row[:end]) + "\n" for row in rows) + "\n" for end in (None, -1)
        )
        train.write_text(whole * 3)
        bare.write_text(words)
        tagger = Tagger(bits=10, random_state=0).fit(str(train))
        assert len(tagger.model_.templates.columns.inputs) == 1 + len(more)
        tagger.save(tmp_path / "t.wm")
        assert tagger.predict(str(bare)) == [["B-NP", "I-NP", "O"]]
        sentence = read_conll(bare)[0]
        assert tagger.tag(sentence) == ["B-NP", "I-NP", "O"]
        assert tagger.margins(sentence).tolist() == tagger.margins(str(bare))[0].tolist()
        assert run("tag", tmp_path / "t.wm", bare).stdout == whole
        run("explain", tmp_path / "t.wm", bare)
    with pytest.raises(DataError, match="which the input does not have"):  # the user named them
        tagger.predict(read_conll(bare, columns=["word", "a", "b", "c"]))


def test_a_missing_sentence_or_word_is_named(tmp_path):
    (tmp_path / "t.txt").write_text("dogs N\nbark V\n\n" * 3)
    Tagger(bits=10, random_state=0).fit(str(tmp_path / "t.txt")).save(tmp_path / "t.wm")
    (tmp_path / "one.txt").write_text("bark\n")
    (tmp_path / "empty.txt").write_text("bark\n\n")
    for name, option, number, message in (
        ("one.txt", "--row", "2", "has 1 sentence, so there is no sentence 2"),
        ("one.txt", "--token", "2", "has 1 word, so there is no --token 2"),
        ("empty.txt", "--row", "2", "empty.txt: sentence 2 has no words"),
    ):
        wrong = run("explain", tmp_path / "t.wm", tmp_path / name, option, number, code=1)
        assert message in wrong.stderr


def test_files_keep_parameters_of_any_type_and_no_held_out_sentences(tmp_path):
    sentences, tags = [["the", "secret"], ["a", "cat"]] * 3, [["D", "N"]] * 6
    tagger = Tagger(epochs=np.int64(3), C=Fraction(1, 4), bits=10, random_state=np.uint8(0))
    tagger.set_params(validation=(sentences, tags)).fit([["a", "cat"]] * 6, tags)
    tagger.save(tmp_path / "t.wm")
    assert b"secret" not in (tmp_path / "t.wm").read_bytes()
    again = load(tmp_path / "t.wm")
    wanted = {"epochs": 3, "C": 0.25, "random_state": 0, "validation": None}
    assert {name: getattr(again, name) for name in wanted} == wanted
    again.fit(sentences, tags)

    columns = {"word": sentences, "lemma": sentences, "upos": tags}
    lemmatizer = Lemmatizer(tags=("upos",), epochs=np.int64(2), random_state=0).fit(columns)
    lemmatizer.save(tmp_path / "l.wm")
    assert load(tmp_path / "l.wm").get_params() == lemmatizer.get_params()
