"""What text estimators take as documents, and what they say of anything else."""

import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest
import scipy.sparse
import sklearn
from sklearn.compose import make_column_transformer
from sklearn.model_selection import cross_val_score

from widemargin import DataError, HashedText, TextClassifier

TEXTS = ["cheap pills", "win money now", "see you at lunch", "how is the family"]
LABELS = ["spam", "spam", "ham", "ham"]
COLUMNS = {"text": TEXTS, "label": LABELS}

#: One column of strings, in every container that a user may have it in.
ACCEPTED = {
    "list": TEXTS,
    "tuple": tuple(TEXTS),
    "array": np.array(TEXTS),
    "array of objects": np.array(TEXTS, object),
    "column of an array": np.array(TEXTS)[:, None],
    "pandas Series": pandas.Series(TEXTS, index=[7, 8, 9, 9]),
    "pandas categories": pandas.Series(TEXTS, dtype="category"),
    "pandas index": pandas.Index(TEXTS),
    "pandas frame": pandas.DataFrame({"text": TEXTS}, index=[7, 8, 9, 9]),
    "Polars Series": polars.Series(TEXTS),
    "Polars frame": polars.DataFrame({"text": TEXTS}),
    "Arrow array": pa.array(TEXTS),
    "Arrow dictionary": pa.array(TEXTS).dictionary_encode(),
    "Arrow chunks": pa.chunked_array([TEXTS[:1], TEXTS[1:]]),
    "Arrow table": pa.table({"text": TEXTS}),
    "Arrow batch": pa.record_batch({"text": TEXTS}),
}
REFUSED = {
    "two columns, pandas": (pandas.DataFrame(COLUMNS), "found 2 columns (text, label): pass one"),
    "two columns, Polars": (polars.DataFrame(COLUMNS), "found 2 columns (text, label): pass one"),
    "two columns, Arrow": (pa.table(COLUMNS), "found 2 columns (text, label): pass one"),
    "no column": (pandas.DataFrame(index=[0, 1]), "found 0 columns ()"),
    "many columns": (pandas.DataFrame([["x"] * 9]), "found 9 columns (0, 1, 2, ...)"),
    "lazy frame": (polars.LazyFrame(COLUMNS), "found a LazyFrame"),
    "dict": (COLUMNS, "found a dict: pass one of its columns"),
    "set": (set(TEXTS), "found a set, which has no order"),
    "string": ("cheap pills", "found a single string: put it into a list"),
    "bytes": (b"cheap pills", "found a single string: put it into a list"),
    "number": (3, "found an int"),
    "nothing": (None, "found None"),
    "numbers": (np.zeros(4), "found an array of float64"),
    "matrix of strings": (np.array([TEXTS, TEXTS]), "found an array of shape (2, 4)"),
    "one string as an array": (np.array("x"), "found an array of shape ()"),
    "sparse matrix": (scipy.sparse.csr_matrix((4, 3)), "found a csr_matrix"),
    "column of numbers": (pandas.DataFrame({"n": [1, 2]}), "document 0: expected a string, found"),
    "missing, pandas": (pandas.Series(["a", None]), "document 1: expected a string, found"),
    "missing, Polars": (polars.Series(["a", None]), "document 1: expected a string, found None"),
    "missing, Arrow": (pa.array(["a", None]), "document 1: expected a string, found None"),
    "rows": ([["a"], ["b"]], "document 0: expected a string, found a list"),
}


@pytest.mark.parametrize("X", ACCEPTED.values(), ids=list(ACCEPTED))
def test_one_column_of_strings_is_taken_whatever_holds_it(X):
    expected = HashedText().fit_transform(TEXTS)
    hashed = HashedText(idf=True).fit(X)
    assert hashed.encoder_.documents == 4
    for found in (HashedText().fit_transform(X), HashedText().transform(X)):
        assert (found != expected).nnz == 0
        assert found.shape == expected.shape
    model = TextClassifier(random_state=0).fit(X, LABELS)
    assert model.predict(X).tolist() == LABELS
    assert model.decision_function(X).tolist() == model.decision_function(TEXTS).tolist()
    assert model.score(X, LABELS) == 1.0


@pytest.fixture(scope="module")
def fitted():
    """A model that no refusal changes."""
    return TextClassifier(bits=10, random_state=0).fit(TEXTS, LABELS)


@pytest.mark.parametrize(("X", "message"), REFUSED.values(), ids=list(REFUSED))
def test_anything_else_is_an_error_that_says_what_to_pass(X, message, fitted):
    calls = (
        HashedText().transform,
        HashedText().fit,
        HashedText().fit_transform,
        fitted.predict,
        lambda X: fitted.partial_fit(X, LABELS),
        lambda X: TextClassifier().fit(X, LABELS),
    )
    for call in calls:
        with pytest.raises(DataError) as error:
            call(X)
        assert message in str(error.value)
        assert "\n" not in str(error.value)


def test_frames_work_where_scikit_learn_cuts_them():
    frame = pandas.DataFrame({"text": TEXTS * 5, "n": 1})
    scores = cross_val_score(TextClassifier(random_state=0), frame[["text"]], LABELS * 5, cv=2)
    assert scores.tolist() == [1.0, 1.0]
    chosen = make_column_transformer((HashedText(bits=6), "text"), (HashedText(bits=5), ["text"]))
    assert chosen.fit_transform(frame).shape == (20, 96)


def test_the_names_of_all_columns():
    hashed = HashedText(bits=6).fit(["to be or not to be"])
    names = hashed.get_feature_names_out()
    assert names.shape == (64,)
    assert set(names[hashed.transform(["to be or not"]).indices]) == {"to", "be", "or", "not"}
    assert sum(name.startswith("#") for name in names) == 60
    assert HashedText(bits=4).get_feature_names_out().tolist() == [f"#{j}" for j in range(16)]


def test_sparse_rows_stay_sparse_and_say_so():
    hashed = HashedText(bits=6)
    assert hashed.set_output(transform="default") is hashed
    assert hashed.set_output() is hashed
    for container in ("pandas", "polars"):
        with pytest.raises(ValueError, match=r"sparse matrix of 64 columns.*cannot hold"):
            hashed.set_output(transform=container)
    with sklearn.config_context(transform_output="pandas"):
        assert scipy.sparse.issparse(hashed.fit_transform(TEXTS))
