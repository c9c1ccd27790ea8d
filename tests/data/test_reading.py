"""`read` and `stream`: files as matrices and labels."""

import threading

import numpy as np
import pytest
import scipy.sparse as sp
from file_samples import FILES, loaded, prepared, vectors

import widemargin
from widemargin import DataError, OnlineLogistic, PassiveAggressive, Perceptron
from widemargin.data.rows import Rows


def test_read_gives_a_matrix_and_labels(tmp_path):
    path = tmp_path / "f.svm"
    path.write_text("+1 1:0.5 3:2\n-1 2:1\n")
    X, y = widemargin.read(path)
    assert sp.issparse(X)
    assert X.format == "csr"
    assert X.indices.dtype == X.indptr.dtype == np.int32
    assert X.toarray().tolist() == [[0.5, 0, 2], [0, 1, 0]]
    assert y.tolist() == [1, -1]
    assert y.dtype == np.int64
    assert widemargin.read(path, n_features=5)[0].shape == (2, 5)
    with pytest.raises(DataError, match="found 3 features, more than n_features=2"):
        widemargin.read(path, n_features=2)
    assert widemargin.read(path, dtype=np.float32, n_jobs=None)[0].dtype == np.float32
    (tmp_path / "g.svm").write_text("2 1:1\nbad\n")
    X, y = widemargin.read([path, tmp_path / "g.svm"], skip_bad=1)
    assert y.tolist() == [1, -1, 2]
    assert widemargin.read(str(tmp_path / "*.svm"), skip_bad=1)[0].shape == (3, 3)


def test_read_of_other_formats(tmp_path):
    expected = {
        "f.svm": ((60, 8), int),
        "f.vw": ((40, 256), int),
        "f.ft": ((40, 512), str),
    }
    for name, (shape, kind) in expected.items():
        files, encoding = prepared(tmp_path, name)
        X, y = widemargin.read(files.paths, **encoding.text)
        assert X.shape == shape
        assert {type(label) for label in y.tolist()} == {kind}
    files, _ = prepared(tmp_path, "f.csv")
    X, y = widemargin.read(files.paths, text="c", bits=6)
    assert len(X.toarray() if sp.issparse(X) else X) == 40
    assert set(y) == {"yes", "no"}
    copied = tmp_path / "data"
    copied.write_text(FILES["f.svm"][0])
    assert widemargin.read(copied, format="svmlight")[0].shape == (60, 8)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("f.svm", {"label": "y"}, "'label' is not an option for svmlight files"),
        ("f.svm", {"bits": 5}, "'bits' is not an option for svmlight files"),
        ("f.svm", {"scale": "standard"}, "'scale' is not an option for svmlight files"),
        ("f.vw", {"ngrams": 2}, "'ngrams' is not an option for vw files"),
        ("f.ft", {"nonsense": 2}, "nonsense"),
    ],
)
def test_options_that_mean_nothing_are_refused(name, options, message, tmp_path):
    prepared(tmp_path, name)
    for reader in (widemargin.read, lambda *given, **how: list(widemargin.stream(*given, **how))):
        with pytest.raises(TypeError, match=message):
            reader(tmp_path / name, **options)


@pytest.mark.parametrize("name", ["f.svm", "f.vw", "f.ft"])
def test_the_chunks_of_a_stream_are_what_read_gives(name, tmp_path):
    files, encoding = prepared(tmp_path, name)
    how = {k: v for k, v in encoding.text.items() if k != "idf"}
    X, y = widemargin.read(files.paths, **how)
    for block in (1, 100, 1 << 20):
        chunks = list(widemargin.stream(files.paths, n_features=X.shape[1], block=block, **how))
        assert len(chunks) > 1 or block > 100
        np.testing.assert_array_equal(
            sp.vstack([part for part, _ in chunks]).toarray(), X.toarray()
        )
        assert np.concatenate([labels for _, labels in chunks]).tolist() == y.tolist()


def test_a_stream_judges_the_first_index_by_its_first_chunk(tmp_path):
    path = tmp_path / "f.svm"
    path.write_text("1 1:1\n1 0:1\n")
    with pytest.raises(DataError, match="found index 0, but indices seemed to start at 1"):
        list(widemargin.stream(path, block=5))
    shapes = [X.shape for X, _ in widemargin.stream(path, block=5, zero_based=True)]
    assert shapes == [(1, 2), (1, 2)]


@pytest.mark.parametrize("kind", [Perceptron, PassiveAggressive, OnlineLogistic])
def test_learning_from_a_stream_is_one_unshuffled_epoch(kind, tmp_path):
    path = tmp_path / "f.svm"
    path.write_text(vectors(width=6, n=30) + vectors(seed=5, width=12))
    X, y = widemargin.read(path)
    # Otherwise the first examples of the stream would choose the step size.
    fixed = {"eta": 1.0} if kind is OnlineLogistic else {}
    expected = kind(epochs=1, shuffle=False, **fixed).fit(X, y)
    learner = kind(shuffle=False, grow=True, **fixed)
    widths = set()
    for part, labels in widemargin.stream(path, block=200):
        widths.add(part.shape[1])
        learner.partial_fit(part, labels)
    assert len(widths) > 1
    np.testing.assert_array_equal(learner.coef_, expected.coef_)
    np.testing.assert_array_equal(learner.intercept_, expected.intercept_)


def test_rows_of_what_was_read_are_rows_of_the_matrix(tmp_path):
    files, encoding = prepared(tmp_path, "f.svm")
    data, *_ = loaded(files, encoding)
    X, _ = widemargin.read(files.paths)
    np.testing.assert_array_equal(Rows.of(X).to_matrix().toarray(), data.rows.to_matrix().toarray())


@pytest.mark.parametrize("function", [widemargin.read, widemargin.stream])
def test_unknown_keywords_are_refused_with_the_nearest(function, tmp_path):
    path = tmp_path / "f.csv"
    path.write_text("a,b,y\n1,x,0\n2,y,1\n")

    def refusal(**options):
        with pytest.raises((TypeError, ValueError)) as caught:
            list(function(path, **options))
        return str(caught.value)

    name = function.__name__
    assert refusal(lable="y") == f"{name} has no parameter 'lable'; did you mean 'label'?"
    assert refusal(ngram=2) == f"{name} has no parameter 'ngram'; did you mean 'ngrams'?"
    assert refusal(fromat="csv") == f"{name} has no parameter 'fromat'; did you mean 'format'?"
    assert refusal(schema=None).startswith(f"{name} has no parameter 'schema'; ")
    assert refusal(need_label=False).startswith(f"{name} has no parameter 'need_label'; ")
    assert refusal(ngrams=2) == "'ngrams' is not an option for csv files without text"
    assert refusal(delimiter=", ").startswith("delimiter=', ' must be a tab, a single blank or")
    path.write_text('{"a": 1}\n')
    jsonl = refusal(format="jsonl", delimiter=";")
    assert jsonl == "delimiter=';' has no effect for jsonl files"
    path.write_text("+1 1:1\n")
    assert refusal(format="svmlight", label="y") == "'label' is not an option for svmlight files"


def test_stream_has_one_keyword_more():
    with pytest.raises(TypeError, match="has no parameter 'blok'; did you mean 'block'"):
        next(widemargin.stream("f.csv", blok=1))


def test_a_stream_of_many_windows_starts_its_threads_once(tmp_path, monkeypatch):
    started = []
    start = threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", lambda self: (started.append(self), start(self)))
    (tmp_path / "f.svm").write_text("1 1:1\n2 2:1\n" * 2000)
    for _ in range(5):
        assert (
            sum(len(y) for _, y in widemargin.stream(tmp_path / "f.svm", block=512, n_jobs=3))
            == 4000
        )
    assert len(started) <= 3
