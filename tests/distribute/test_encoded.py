"""Classifiers of texts and of tables on partitions: encoders that saw all of them."""

import numpy as np
import pytest
from partitioned import SendingEngine

from widemargin import (
    DataError,
    Distributed,
    LinearSVM,
    Perceptron,
    TableClassifier,
    TextClassifier,
)
from widemargin.distribute.engine import SerialEngine

WORDS = ["good", "bad", "film", "actor", "plot", "dull", "bright"]


def fit(estimator, source, y=None, engine=None, partitions=3, **how):
    client = engine or SerialEngine()
    return Distributed(estimator, client=client, partitions=partitions).fit(source, y, **how)


def some_texts(n=120):
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, 6)) for _ in range(n)]
    return texts, ["yes" if "good" in text else "no" for text in texts]


@pytest.fixture
def texts(tmp_path):
    path = tmp_path / "reviews.tsv"
    lines = [f"{label}\t{text}\n" for text, label in zip(*some_texts(), strict=True)]
    path.write_text("".join(lines))
    return str(path)


def test_one_partition_is_the_plain_classifier_of_texts(texts):
    X, y = some_texts()
    learner = Perceptron(shuffle=False, epochs=4)
    plain = TextClassifier(learner, idf="seen", ngrams=2, bits=14).fit(X, y)
    found = fit(TextClassifier(learner, idf="seen", ngrams=2, bits=14), texts, partitions=1)
    local = found.to_local()
    assert isinstance(local, TextClassifier)
    scores = local.decision_function(X), plain.decision_function(X)
    np.testing.assert_allclose(*scores, rtol=1e-5)  # the average is summed in another order
    assert list(local.top_features(3)) == list(plain.top_features(3))


def test_document_frequencies_are_those_of_all_partitions(texts):
    X, y = some_texts()
    found = fit(TextClassifier(random_state=0, bits=14), texts, engine=SendingEngine())
    plain = TextClassifier(random_state=0, bits=14).fit(X, y)
    one, other = found.to_local().encoder_, plain.encoder_
    matrices = [encoder.encode(_texts(X), 0.0).to_matrix() for encoder in (one, other)]
    assert abs(matrices[0] - matrices[1]).max() == 0.0
    assert isinstance(found.to_local().learner_, LinearSVM)
    assert found.certificate_.gap <= 1e-3
    assert found.to_local().score(X, y) == 1.0


def _texts(documents):
    from widemargin.data.encode.text import texts_of

    return texts_of(documents)


def some_table(path, n=150):
    rng = np.random.default_rng(1)
    kinds = rng.choice(["cat", "dog", "cow"], n)
    sizes = rng.random(n).round(3)
    answers = np.where((sizes > 0.5) | (kinds == "cow"), "big", "small")
    rows = zip(sizes, kinds, answers, strict=True)
    path.write_text("size,kind,answer\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows))
    return str(path)


def test_tables_are_read_as_the_estimator_says(tmp_path):
    paths = [some_table(tmp_path / f"{i}.csv", 60 + i) for i in range(3)]
    table = TableClassifier(Perceptron(random_state=0), label="answer", scale="maxabs")
    found = fit(table, paths)
    assert found.model_.mixture == ("touched", 3)
    local = found.to_local()
    assert isinstance(local, TableClassifier)
    assert local.score(paths[0]) > 0.9
    shuffled = Perceptron(shuffle=False, epochs=3)
    table = TableClassifier(shuffled, label="answer", interactions=[("size", "kind")])
    one = fit(table, paths[:1], partitions=1).to_local()
    assert np.array_equal(one.learner_.coef_, table.fit(paths[0]).learner_.coef_)


def test_collections(tmp_path):
    frames, bag = pytest.importorskip("dask.dataframe"), pytest.importorskip("dask.bag")
    path = some_table(tmp_path / "a.csv")
    table = frames.read_csv(path, blocksize=600)
    found = fit(TableClassifier(random_state=0), table, "answer", partitions=None).to_local()
    assert found.score(path, "answer") > 0.9
    X, y = some_texts()
    bags = bag.from_sequence(X, npartitions=3), bag.from_sequence(y, npartitions=3)
    made = fit(TextClassifier(random_state=0), *bags, partitions=None)
    assert made.to_local().score(X, y) == 1.0
    with pytest.raises(DataError, match="learns from texts: give a Dask Bag"):
        fit(TextClassifier(), table, "answer", partitions=None)
    with pytest.raises(DataError, match="give a Dask DataFrame, or files"):
        fit(TableClassifier(), bags[0], "answer", partitions=None)


def test_what_is_in_memory_needs_no_cluster():
    X, y = np.eye(4), np.array([0, 1, 0, 1])
    columns = {"size": [1.0, 2.0], "answer": ["yes", "no"]}
    for learner, *given in (
        (Perceptron(), X, y),
        (Perceptron(), X),
        (TableClassifier(), columns, "answer"),
    ):
        with pytest.raises(DataError, match=r"in memory needs no cluster.* give files, or a Dask"):
            fit(learner, *given, partitions=None)


def test_blocks_of_labels_match_those_of_rows():
    array = pytest.importorskip("dask.array")
    X = array.from_array(np.arange(40.0).reshape(20, 2) - 20.0, chunks=(6, 2))
    y = array.from_array(np.arange(20) % 2, chunks=5)
    assert fit(Perceptron(), X, y, partitions=None).model_.mixture[1] == 4
    with pytest.raises(DataError, match="found 20 examples, but 15 labels"):
        fit(Perceptron(), X, y[:15], partitions=None)
    some = X[:, 0] > -10.0  # blocks of unknown sizes
    assert fit(Perceptron(), X[some], y.rechunk(6)[some], partitions=None).model_.width == 2
    with pytest.raises(DataError, match=r"X has 4 blocks of rows, y 1, of unknown sizes"):
        fit(Perceptron(), X[some], y[5:].rechunk(-1), partitions=None)


def test_what_does_not_fit_is_refused(texts, tmp_path):
    from widemargin import KernelSVM

    with pytest.raises(TypeError, match="KernelSVM cannot be distributed"):
        fit(TableClassifier(KernelSVM()), some_table(tmp_path / "a.csv"))
    with pytest.raises(DataError, match="these files are csv"):
        fit(TextClassifier(), some_table(tmp_path / "b.csv"))
    with pytest.raises(TypeError, match="label"):
        fit(TableClassifier(), texts, label=0)
