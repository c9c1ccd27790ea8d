"""Hashed text: against a twin in plain Python, and against scikit-learn."""

import re
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st
from interpreted import told_by_both
from sklearn.base import clone
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils import murmurhash3_32

import widemargin
from widemargin import (
    DataError,
    HashedText,
    OnlineLogistic,
    PassiveAggressive,
    Perceptron,
    TextClassifier,
)
from widemargin.data.encode import pieces
from widemargin.data.encode.characters import character_table
from widemargin.data.encode.names import NameTable
from widemargin.data.encode.text import TextEncoder, texts_of
from widemargin.data.readers.chunk import Texts
from widemargin.loops.text.gather import SPACE, SPECIAL, WORD
from widemargin.loops.text.names import Fresh

# The twin


def naive_words(text, lowercase, min_length):
    text = text.lower() if lowercase else text
    return [word for word in re.findall(r"\w+", text) if len(word) >= min_length]


def naive_features(text, analyzer, low, high, lowercase=True, min_length=2):
    if analyzer == "word":
        words = naive_words(text, lowercase, min_length)
        return [
            " ".join(words[i : i + n])
            for n in range(low, high + 1)
            for i in range(len(words) - n + 1)
        ]
    text = text.lower() if lowercase else text
    text = re.sub(r"\s\s+", " ", text)
    if analyzer == "char":
        return [text[i : i + n] for n in range(low, high + 1) for i in range(len(text) - n + 1)]
    grams = []
    for word in text.split():
        word = f" {word} "
        if len(word) < low:
            grams.append(word)
        for n in range(low, high + 1):
            grams += [word[i : i + n] for i in range(len(word) - n + 1)]
    return grams


def naive_row(features, bits, signed):
    """Column -> sum, and column -> names."""
    sums, names = {}, {}
    for feature in features:
        h = murmurhash3_32(feature.encode(), seed=0, positive=False)
        column = abs(int(h)) % 2**bits
        sums[column] = sums.get(column, 0) + (-1 if signed and h < 0 else 1)
        names.setdefault(column, set()).add(feature)
    return sums, names


def rows_of(rows):
    """Every row as a dict from column to value; a column twice in a row is an error."""
    starts, stored = rows.stored.starts.tolist(), rows.stored
    found = []
    for a, b in pairwise(starts):
        row = dict(zip(stored.indices[a:b].tolist(), stored.values[a:b].tolist(), strict=True))
        assert len(row) == b - a
        found.append(row)
    return found


# What is hard about text: case that changes the number of characters or depends on neighbours,
# marks that combine, letters of every length in UTF-8, white space and digits of all kinds.
ODD = "aAzZ09_ .,'-\t\n\r\x00\x1c\x85\xa0éÉßİıΣσςΑǅⱥȺK"
ODD += "\u0301\u0345\u2028\u3000語〇٣²½ªⅧ𝒳𐐀🙂\u200d\ufeff"
CHARACTERS = st.one_of(st.sampled_from(ODD), st.characters(exclude_categories=("Cs",)))
TEXTS = st.one_of(
    st.text(CHARACTERS, max_size=30),
    st.text(st.sampled_from(ODD[:20]), max_size=200),
    st.text(st.sampled_from("ab "), max_size=100),
)
ANALYZERS = st.sampled_from(["word", "char", "char_wb"])
RANGES = st.tuples(st.integers(1, 5), st.integers(1, 5)).map(lambda pair: tuple(sorted(pair)))


@given(
    st.lists(TEXTS, max_size=5),
    ANALYZERS,
    RANGES,
    st.booleans(),
    st.booleans(),
    st.sampled_from([1, 2, 4]),
    st.sampled_from([4, 8, 20, 30]),
)
@example(["ΑΣ ΑΣΑ Σ", "İstanbul", "", "x" * 10_000, "ab\x00cd"], "word", (1, 2), True, True, 2, 20)
@example(["ΑΣ ΑΣΑ Σ", "İ", "", " \t\n x \n", "é" * 500], "char", (1, 5), True, False, 2, 20)
@example(["ΑΣ ΑΣΑ Σ", "İ", "", " \t\n x \n", "a bc d"], "char_wb", (3, 5), True, False, 2, 20)
def test_rows_are_those_of_the_twin(texts, analyzer, ngrams, lower, signed, min_length, bits):
    encoder = TextEncoder(
        analyzer=analyzer,
        ngrams=ngrams,
        lowercase=lower,
        min_length=min_length,
        bits=bits,
        signed=signed,
        weighting="count",
        norm=None,
        names=1000,
    )
    rows = encoder.encode(texts_of(texts), bias=0.5)
    assert (rows.n, rows.width, rows.bias, rows.distinct) == (len(texts), 2**bits, 0.5, True)
    features = [naive_features(text, analyzer, *ngrams, lower, min_length) for text in texts]
    assert rows_of(rows) == [naive_row(row, bits, signed)[0] for row in features]


@given(st.lists(TEXTS, min_size=1, max_size=5), ANALYZERS, RANGES, st.sampled_from([8, 20]))
def test_names_are_those_of_the_twin(texts, analyzer, ngrams, bits):
    encoder = TextEncoder(analyzer=analyzer, ngrams=ngrams, bits=bits, names=10_000)
    for text in texts:
        names = naive_row(naive_features(text, analyzer, *ngrams), bits, False)[1]
        found = encoder.names_in(texts_of([text]))
        assert found.keys() == names.keys()
        for column, name in found.items():
            assert name in {shown(one) for one in names[column]}


def shown(name):
    """How a feature is printed."""
    cut = len(name.encode()) >= 64
    name = name.encode()[:64].decode("utf-8", "ignore")
    plain = name.isprintable() and name == name.strip() and '"' not in name
    return (name if plain and name else repr(name)) + ("..." if cut else "")


@pytest.mark.parametrize("analyzer", ["word", "char", "char_wb"])
@pytest.mark.parametrize("ngrams", [(1, 1), (1, 3), (2, 5)])
@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("norm", ["l2", None])
def test_hashed_text_is_a_hashing_vectorizer(analyzer, ngrams, signed, binary, norm):
    texts = [*SOME_TEXTS, "", ODD, "a  b\tc", "x" * 3000]
    same = {"analyzer": analyzer, "norm": norm}
    how = {"ngram_range": ngrams, "alternate_sign": signed, "binary": binary}
    theirs = HashingVectorizer(**same, **how, n_features=2**12, dtype=np.float32).transform(texts)
    how = {"ngrams": ngrams, "signed": signed, "weighting": "binary" if binary else "count"}
    ours = HashedText(**same, **how, bits=12).transform(texts)
    assert ours.shape == theirs.shape
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(ours, part), getattr(theirs, part))


SOME_TEXTS = [
    "The quick brown fox jumps over the lazy dog. The DOG sleeps.",
    "It wasn't 'the' fox; it was __a__ fox_2 at 10:30, i.e. late!",
    "Ça alors ! L'été où j'ai vu la mer à Nice, naïve et sûre.",
    "ΟΔΟΣ ΣΟΦΙΑΣ και σοφός",
    "東京は日本の首都です。 Straße STRASSE ǆ",
]


@pytest.mark.parametrize("sublinear", [True, False])
@pytest.mark.parametrize("norm", ["l2", None])
def test_tf_idf_is_that_of_scikit_learn(sublinear, norm):
    texts = SOME_TEXTS * 2 + ["the the the fox"]
    theirs = make_pipeline(
        HashingVectorizer(alternate_sign=False, norm=None, ngram_range=(1, 2), n_features=2**14),
        TfidfTransformer(sublinear_tf=sublinear, norm=norm),
    )
    ours = HashedText(
        ngrams=2, bits=14, idf=True, weighting="sublinear" if sublinear else "count", norm=norm
    )
    expected = theirs.fit_transform(texts)
    found = ours.fit_transform(texts)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_allclose(found.data, expected.data, rtol=3e-7)
    again = ours.fit(texts).transform(["the fox at dawn"])
    np.testing.assert_allclose(
        again.toarray(), theirs.transform(["the fox at dawn"]).toarray(), rtol=3e-7
    )


def test_idf_before_any_document_is_an_error():
    with pytest.raises(DataError, match="observe"):
        TextEncoder(idf=True).encode(texts_of(["a"]), 0.0)
    with pytest.raises(ValueError, match="call fit first"):
        TextClassifier(idf=True).partial_fit(["one", "two"], [0, 1])


def test_a_signed_sublinear_value_keeps_its_sign():
    words = [f"w{i}" for i in range(40)]
    text = " ".join(word for i, word in enumerate(words) for _ in range(i + 1))
    rows = TextEncoder(signed=True, weighting="sublinear", norm=None).encode(texts_of([text]), 0.0)
    for i, word in enumerate(words):
        h = murmurhash3_32(word.encode(), seed=0, positive=False)
        value = rows_of(rows)[0][abs(int(h)) % 2**22]
        assert value == pytest.approx((1 + np.log(i + 1)) * (-1 if h < 0 else 1))


def test_counts_beyond_the_table_of_logarithms():
    rows = TextEncoder(weighting="sublinear", norm=None).encode(texts_of(["ab " * 5000]), 0.0)
    assert rows.stored.values.tolist() == pytest.approx([1 + np.log(5000)])


def test_every_character_is_known_as_python_knows_it():
    table = character_table(True, True)
    for point in [*range(0x3000), *range(0xFF00, 0x11000), 0x1D7CE, 0xE0100, 0x10FFFF]:
        character = chr(point)
        if 0xD800 <= point < 0xE000:
            continue
        lower = character.lower()
        if character in "\u0130\u03a3":
            assert table[point] & SPECIAL
            continue
        assert table[point] & 0x1FFFFF == ord(lower)
        assert bool(table[point] & WORD) == bool(re.match(r"\w", lower))
        assert bool(table[point] & SPACE) == bool(re.match(r"\s", lower))


def test_lower_case_stays_lower_case():
    """A document that Python has lower-cased is lower-cased again by the loops."""
    points = np.arange(0x110000, dtype=np.uint32)
    table = character_table(True, True)
    lower = table & 0x1FFFFF
    special = (table & SPECIAL) != 0
    np.testing.assert_array_equal(lower[lower[~special]], lower[~special])
    assert not set(np.flatnonzero(special).tolist()) & set(lower[~special].tolist())
    assert points[special].tolist() == [0x130, 0x3A3]


# Threads, pieces, names


def documents(n=600, seed=0):
    rng = np.random.default_rng(seed)
    words = np.array([f"w{i}" for i in range(3000)] + ["été", "ΣΑΣ", "語"])
    sizes = rng.integers(0, 60, n)
    ranks = (rng.pareto(0.7, sizes.sum())).astype(int) % len(words)
    return [" ".join(part) for part in np.split(words[ranks], np.cumsum(sizes)[:-1])]


@pytest.mark.parametrize("analyzer", ["word", "char"])
def test_threads_and_pieces_change_nothing(analyzer, monkeypatch):
    texts = texts_of(documents())
    found = []
    for size, threads in ((1 << 18, 1), (3000, 1), (1000, 4), (2, 3)):
        monkeypatch.setattr(pieces, "PIECE", size)
        encoder = TextEncoder(analyzer=analyzer, ngrams=2, bits=12, names=1500)
        rows = encoder.encode(texts, 1.0, threads, note=True)
        kept = {name: part.tobytes() for name, part in encoder.arrays().items()}
        found.append((kept, *(part.tobytes() for part in rows.stored[:3])))
    assert all(other == found[0] for other in found)


def test_chunks_are_the_whole():
    whole, chunks = (TextEncoder(bits=10, names=500, idf=True) for _ in range(2))
    texts = documents(100)
    whole.observe(texts_of(texts))
    for text in texts:
        chunks.observe(texts_of([text]))
    rows = whole.encode(texts_of(texts), 1.0, note=True)
    single = [chunks.encode(texts_of([text]), 1.0, note=True) for text in texts]
    assert rows_of(rows) == [row for one in single for row in rows_of(one)]
    for name, part in whole.arrays().items():
        np.testing.assert_array_equal(part, chunks.arrays()[name])


def test_rows_once_in_use_are_not_written_to_again():
    encoder = TextEncoder()
    first = encoder.encode(texts_of(["one two three"]), 0.0)
    before = rows_of(first)
    encoder.encode(texts_of(["other words"]), 0.0)
    assert rows_of(first) == before


def test_the_first_name_is_kept_and_others_are_counted():
    encoder = TextEncoder(bits=4)
    texts = [f"word{i}" for i in range(100)]
    encoder.encode(texts_of(texts), 0.0, note=True)
    first, several = {}, set()
    for text in texts:
        (column,) = naive_row([text], 4, False)[0]
        if first.setdefault(column, text) != text:
            several.add(column)
    assert encoder.names.collisions == len(several)
    assert len(encoder.names) == len(first)
    for column in range(16):
        name = encoder.feature_name(column)
        assert encoder.feature_name(np.uint32(column)) == name
        expected = first.get(column)
        if expected is None:
            assert name == f"#{column}"
        else:
            assert name == ("~" if column in several else "") + expected


def test_the_table_of_names_is_bounded_and_prefers_what_comes_again():
    encoder = TextEncoder(names=20)
    encoder.encode(texts_of([f"early{i}" for i in range(15)]), 0.0, note=True)
    assert len(encoder.names) == 10  # half of the room goes to whatever comes first
    encoder.encode(texts_of(["common"] * 2), 0.0, note=True)
    (column,) = naive_row(["common"], 22, False)[0]
    assert encoder.feature_name(column) == "common"
    for _ in range(3):
        encoder.encode(texts_of([f"late{i}" for i in range(100)]), 0.0, note=True)
    assert len(encoder.names) == 20


def test_names_with_more_columns_than_places():
    """Columns that share a place in the table are not taken for a collision."""
    table = NameTable(24, 100)
    fresh = Fresh(
        hashes=np.array([2 * 5, 2 * (5 + (1 << 22)), 2 * 5 + (1 << 31)], np.uint32),
        names=np.frombuffer(b"abc" + bytes(16), np.uint8).copy(),  # copied in blocks of 16
        ends=np.arange(4, dtype=np.uint32),
        count=np.array([2]),
    )
    table.note(fresh)
    assert (len(table), table.collisions, table.get(5), table.get(5 + (1 << 22))) == (
        1,
        0,
        "a",
        None,
    )
    assert not table.is_shared(5 + (1 << 22))
    fresh.count[0] = 3
    table.note(fresh)
    assert (table.collisions, table.is_shared(5), table.is_shared(5 + (1 << 22))) == (
        1,
        True,
        False,
    )


def test_encoding_alone_changes_nothing():
    encoder = TextEncoder()
    encoder.encode(texts_of(["one two"]), 0.0)
    assert len(encoder.names) == 0


def test_an_encoder_comes_back_from_its_description(tmp_path):
    encoder = TextEncoder(ngrams=2, bits=10, idf=True, signed=True, names=300)
    texts = texts_of(documents(50))
    encoder.observe(texts)
    encoder.encode(texts, 0.0, note=True)
    back = TextEncoder.restore(encoder.describe(), encoder.arrays())
    assert rows_of(back.encode(texts, 0.0)) == rows_of(encoder.encode(texts, 0.0))
    assert [back.feature_name(j) for j in range(1024)] == [
        encoder.feature_name(j) for j in range(1024)
    ]
    more = texts_of(documents(50, seed=1))
    for one in (encoder, back):
        one.encode(more, 0.0, note=True)
    for name, part in encoder.arrays().items():
        np.testing.assert_array_equal(part, back.arrays()[name])


# What is refused


INVALID = [
    b"\xff",
    b"\x80",
    b"\xc0\xaf",
    b"\xc3",
    b"\xe2\x82",
    b"\xe0\x80\xaf",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xf0\x9f\x99",
    b"\xe2(\xa1",
]


def raw(*texts):
    ends = np.cumsum([len(text) for text in texts], dtype=np.uint64)
    starts = np.concatenate([[0], ends[:-1]]).astype(np.uint64)
    return Texts(np.frombuffer(b"".join(texts), np.uint8), starts, ends)


@pytest.mark.parametrize("bad", INVALID, ids=repr)
@pytest.mark.parametrize("analyzer", ["word", "char", "char_wb"])
def test_bytes_that_are_not_utf_8(bad, analyzer):
    texts = raw(b"fine", "İs fine".encode(), b"ab cd " + bad + b" ef", b"fine")
    with pytest.raises(DataError, match="document 2: byte 6 is not UTF-8"):
        TextEncoder(analyzer=analyzer).encode(texts, 0.0)
    options = {"analyzer": analyzer, "ngrams": (1, 2), "norm": None}
    rows = TextEncoder(errors="replace", **options).encode(texts, 0.0)
    replaced = ["fine", "İs fine", (b"ab cd " + bad + b" ef").decode("utf-8", "replace"), "fine"]
    assert rows_of(rows) == rows_of(TextEncoder(**options).encode(texts_of(replaced), 0.0))


@given(st.binary(max_size=20))
def test_exactly_what_python_decodes_is_accepted(content):
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        with pytest.raises(DataError, match=f"document 0: byte {error.start} is not UTF-8"):
            TextEncoder(analyzer="char").encode(raw(content), 0.0)
    else:
        found = TextEncoder(analyzer="char", weighting="count", norm=None).encode(raw(content), 0.0)
        assert rows_of(found) == [naive_row(naive_features(text, "char", 1, 1), 22, False)[0]]


def test_the_first_bad_document_is_named_whatever_the_threads(monkeypatch):
    monkeypatch.setattr(pieces, "PIECE", 64)
    texts = [b"some words here"] * 200
    texts[50] = texts[51] = texts[150] = b"\xff"
    for _ in range(5):
        with pytest.raises(DataError, match="document 50: byte 0"):
            TextEncoder().encode(raw(*texts), 0.0, 4)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("one string", "put it into a list"),
        (["a", None], r"document 1: expected a string, found None"),
        (["a", 3.5], "document 1: expected a string, found a float"),
        (["a", "b\ud800"], "document 1: character 1 is a lone surrogate"),
    ],
)
def test_what_is_no_text_is_refused(texts, message):
    with pytest.raises(DataError, match=message):
        texts_of(texts)


@pytest.mark.parametrize(
    "options",
    [
        {"analyzer": "words"},
        {"ngrams": 0},
        {"ngrams": 6},
        {"ngrams": (2, 1)},
        {"ngrams": (1, 2, 3)},
        {"bits": 3},
        {"bits": 31},
        {"bits": 10.0},
        {"min_length": 0},
        {"weighting": "tf"},
        {"norm": "l1"},
        {"errors": "ignore"},
        {"names": -1},
    ],
    ids=str,
)
def test_options_that_make_no_sense_are_named(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        TextEncoder(**options)


# The classifier

SPAM = ["win money now", "cheap pills, cheap", "free money", "click here to win", "cheap loans now"]
HAM = ["see you at lunch", "how is the family", "the meeting is at ten", "lunch at ten?", "thanks"]
MAIL, KIND = SPAM + HAM, np.array(["spam"] * 5 + ["ham"] * 5)


@pytest.mark.parametrize(
    "learner",
    [
        None,
        Perceptron(keep="vote", random_state=0),
        PassiveAggressive(random_state=0),
        OnlineLogistic(random_state=0),
    ],
    ids=str,
)
@pytest.mark.parametrize("options", [{}, {"signed": True, "idf": True, "bits": 10}], ids=str)
@pytest.mark.filterwarnings("ignore:an SVM needs all documents")
def test_a_text_classifier_learns_explains_and_comes_back(learner, options, tmp_path):
    seed = {"random_state": 0} if learner is None else {}
    mail = TextClassifier(learner, **options, **seed).fit(MAIL, KIND)
    assert mail.score(MAIL, KIND) == 1.0
    tops = mail.top_features(3)
    assert tops.keys() == {"ham", "spam"}
    for label, features in tops.items():
        weights = [weight for _, weight in features]
        assert weights == sorted(weights, reverse=True)
        for name, _ in features:
            assert any(name.lstrip("~") in text for text in (SPAM if label == "spam" else HAM))
    reason = mail.explain("cheap lunch? unheard_of", top=9)
    assert {"cheap", "lunch"} & {reason.feature.lstrip("~") for reason in reason.reasons}

    mail.save(tmp_path / "mail.wm")
    back = widemargin.load(tmp_path / "mail.wm")
    assert isinstance(back, TextClassifier)
    assert type(back.learner_) is type(mail.learner_)
    assert back.top_features() == mail.top_features()
    assert repr(back.explain(MAIL[0])) == repr(mail.explain(MAIL[0]))
    np.testing.assert_array_equal(back.decision_function(MAIL), mail.decision_function(MAIL))
    for one in (mail, back):
        one.partial_fit(["a new one", "money"], ["ham", "spam"])
    np.testing.assert_array_equal(back.decision_function(MAIL), mail.decision_function(MAIL))
    raw_model = widemargin.load_model(tmp_path / "mail.wm")
    assert raw_model.encoder.kind == "text"
    assert raw_model.predict(texts_of(SPAM)).tolist() == ["spam"] * 5


def test_the_classifier_is_the_learner_on_hashed_text():
    X = HashedText(ngrams=2, weighting="count").fit_transform(MAIL)
    mail = TextClassifier(Perceptron(random_state=0), weighting="count").fit(MAIL, KIND)
    plain = Perceptron(random_state=0).fit(X, KIND)
    np.testing.assert_allclose(
        mail.decision_function(MAIL), plain.decision_function(X), rtol=1e-5, atol=1e-6
    )


def test_three_classes_by_and_by():
    texts = ["red apple", "green apple", "blue sky", "grey sky", "old house", "new house"]
    y = ["fruit", "fruit", "sky", "sky", "house", "house"]
    learner = TextClassifier(Perceptron(shuffle=False, fit_intercept=0.1))
    for _ in range(5):
        for start in (0, 2, 4):
            learner.partial_fit(texts[start : start + 2], y[start : start + 2])
    assert learner.predict(texts).tolist() == y
    tops = {label: dict(top) for label, top in learner.top_features(5).items()}
    assert "apple" in tops["fruit"]
    assert "sky" in tops["sky"]
    assert "house" in tops["house"]


def test_explaining_names_what_the_table_had_no_room_for():
    mail = TextClassifier(names=0, random_state=0).fit(MAIL, KIND)
    names = {reason.feature for reason in mail.explain("cheap lunch").reasons}
    assert {"cheap", "lunch"} <= names
    assert mail.top_features(1)["spam"][0][0].startswith("#")


def test_probabilities_only_where_the_learner_has_them():
    mail = TextClassifier(OnlineLogistic(random_state=0)).fit(MAIL, KIND)
    assert np.allclose(mail.predict_proba(MAIL).sum(axis=1), 1.0)
    assert not hasattr(TextClassifier().fit(MAIL, KIND), "predict_proba")


def test_works_in_searches_and_clones():
    search = GridSearchCV(
        TextClassifier(Perceptron(random_state=0)),
        {"ngrams": [1, 2], "learner__epochs": [1, 5]},
        cv=2,
    ).fit(MAIL, KIND)
    assert search.best_params_.keys() == {"ngrams", "learner__epochs"}
    assert clone(TextClassifier(bits=10)).get_params()["bits"] == 10
    pipeline = make_pipeline(HashedText(signed=True), Perceptron(random_state=0)).fit(MAIL, KIND)
    assert pipeline.predict(SPAM).tolist() == ["spam"] * 5


def test_labels_and_documents_must_be_as_many():
    with pytest.raises(DataError, match="10 examples but 9 labels"):
        TextClassifier().fit(MAIL, KIND[:9])


def test_distinct_rows_are_left_alone():
    rows = TextEncoder().encode(texts_of(MAIL), 1.0)
    assert rows.without_duplicates() is rows
    assert rows.take(np.array([3, 1])).distinct
    assert rows.widened(1 << 21).distinct
    twice = widemargin.data.rows.Rows.of(sp.csr_matrix(([1.0, 1.0], [0, 0], [0, 2]), shape=(1, 1)))
    assert not twice.distinct
    assert twice.without_duplicates().stored_values == 1


PROGRAM = """
from widemargin.data.encode.text import TextEncoder, texts_of
texts = texts_of(["The caf\\u00e9 at_9 is the \\u0130st longer_than_sixteen_letters", "", "A B"])
for analyzer in ("word", "char", "char_wb"):
    options = {"analyzer": analyzer, "ngrams": (2, 3)}
    encoder = TextEncoder(weighting="sublinear", idf=True, bits=10, **options)
    encoder.observe(texts)
    rows = encoder.encode(texts, 0.0, note=True)
    print([part.tolist() for part in rows.stored[:3]])
    print([encoder.feature_name(column) for column in range(1024)])
"""


def test_compiled_and_interpreted_are_the_same():
    compiled, interpreted = told_by_both(PROGRAM)
    assert compiled == interpreted
    assert "longer" in compiled
