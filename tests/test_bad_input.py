"""Bad input gives the right answer or one clear error, immediately."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from widemargin import DataError, OnlineLogistic, PassiveAggressive, Perceptron

LEARNERS = [
    Perceptron,
    lambda **p: Perceptron(keep="vote", **p),
    lambda **p: Perceptron(multiclass="ovr", batch=2, **p),
    PassiveAggressive,
    OnlineLogistic,
]
X = np.array([[1.0, 2.0], [-1.0, 0.5], [0.3, -2.0], [-2.0, -1.0]])
y = np.array([1, 0, 1, 0])


@pytest.fixture(params=LEARNERS, ids=["perceptron", "voted", "ovr-batch", "pa", "logistic"])
def learner(request):
    return request.param


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_that_are_not_finite_are_named_by_row_and_column(learner, bad, kind, dtype):
    spoiled = X.astype(dtype)
    spoiled[2, 1] = bad
    where = r"contains (NaN|infinity) \(row 2, column 1\)"
    with pytest.raises(DataError, match=where):
        learner().fit(kind(spoiled), y)
    fitted = learner().fit(kind(X.astype(dtype)), y)
    before = fitted.decision_function(X)
    with pytest.raises(DataError, match=where):
        fitted.predict(kind(spoiled))
    with pytest.raises(DataError, match=where):
        fitted.partial_fit(kind(spoiled), y)
    np.testing.assert_array_equal(fitted.decision_function(X), before)
    with pytest.raises(DataError, match=where):
        learner().fit(X, y, X_val=kind(spoiled), y_val=y)


def test_a_failed_fit_leaves_the_learner_as_it_was(learner):
    fitted = learner().fit(X, y)
    before = fitted.coef_.copy()
    spoiled = X.copy()
    spoiled[3, 0] = np.nan
    with pytest.raises(DataError):
        fitted.set_params(warm_start=True).fit(spoiled, y)
    np.testing.assert_array_equal(fitted.coef_, before)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ([1, 1, 1, 1], "only one class"),
        ([0.5, 1.0, 0.0, 1.0], "Unknown label type: continuous"),
        ([0.0, 1.0, np.nan, 1.0], "NaN"),
        (np.array([0, "a", 1, "b"], object), "mixture"),
        (np.array(["a", None, "b", "b"], object), "None"),
        ([0, 1, 0], "inconsistent numbers of samples"),
        ([[0, 2], [1, 0], [0, 1], [1, 1]], "1d array|columns|dimensions"),
        (np.array([1j, 0, 1, 0]), "[Cc]omplex"),
    ],
)
def test_labels_that_are_no_classes(learner, labels, words):
    with pytest.raises(ValueError, match=words):
        learner().fit(X, labels)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (np.empty((0, 2)), "minimum of 1 is required|0 sample"),
        (np.empty((4, 0)), "0 feature"),
        (X[0], "2D|2 dim"),
        (np.ones((4, 2), complex), "[Cc]omplex"),
        (np.array([["a", "b"]] * 4), "holds strings, and .* takes numbers only"),
    ],
)
def test_rows_that_are_no_matrix(learner, rows, words):
    with pytest.raises(ValueError, match=words):
        learner().fit(rows, y[: len(rows)] if rows.ndim == 2 else y)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1, 1, -1, 1], "negative"),
        ([1, 1, np.nan, 1], "NaN"),
        ([1, 1], "shape|inconsistent"),
        ([0, 0, 0, 0], "non-zero"),
    ],
)
def test_weights_that_make_no_sense(learner, weights, words):
    with pytest.raises(ValueError, match=words):
        learner().fit(X, y, sample_weight=weights)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"epochs": 0}, "epochs"),
        ({"epochs": 2.5}, "epochs"),
        ({"keep": "best"}, "keep"),
        ({"batch": 0}, "batch"),
        ({"batch": "some"}, "batch"),
        ({"shuffle": "maybe"}, "shuffle"),
        ({"ties": "never"}, "ties"),
        ({"start": "one"}, "start"),
        ({"start": [1.0, 2.0, 3.0]}, "start"),
        ({"tol": -1.0}, "tol"),
        ({"validation": 1.0}, "validation"),
        ({"patience": 0}, "patience"),
        ({"max_seconds": 0}, "max_seconds"),
        ({"class_weight": {7: 1.0}}, "class_weight"),
        ({"class_weight": "fair"}, "class_weight"),
        ({"class_weight": 0.5}, "class_weight=0.5 must be a dict"),
        ({"class_weight": {0: None}}, "class_weight=.* must be a dict"),
        ({"n_jobs": "2"}, "n_jobs='2' is invalid"),
        ({"n_jobs": 1.5}, "n_jobs=1.5 is invalid"),
        ({"multiclass": "ovo"}, "multiclass"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_parameters_are_checked_by_name(learner, params, words):
    with pytest.raises(ValueError, match=words):
        learner().set_params(**params).fit(X, y)


@pytest.mark.parametrize("name", ["eta", "C", "target"])
@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf, "much"])
def test_numbers_of_the_rules_are_checked(name, value):
    with pytest.raises(ValueError, match=name):
        Perceptron(rule="margin").set_params(**{name: value}).fit(X, y)


def test_arrays_in_any_shape_give_the_same_model(learner):
    wide = np.zeros((8, 4))
    wide[::2, ::2] = X
    frozen = X.copy()
    frozen.setflags(write=False)
    variants = [wide[::2, ::2], np.asfortranarray(X), frozen, X.tolist(), X.astype(">f8")]
    expected = learner(random_state=0).fit(X, y).coef_
    for variant in variants:
        np.testing.assert_array_equal(learner(random_state=0).fit(variant, y).coef_, expected)


def _matrix(indices, starts, width=2):
    """A CSR matrix that scipy has not checked."""
    matrix = sp.csr_matrix((4, width))
    matrix.data = np.ones(len(indices))
    matrix.indices = np.array(indices, np.int32)
    matrix.indptr = np.array(starts, np.int32)
    return matrix


@pytest.mark.parametrize(
    "matrix",
    [
        _matrix([0, 1, 7, 0], [0, 1, 2, 3, 4]),
        _matrix([0, 1, -1, 0], [0, 1, 2, 3, 4]),
        _matrix([0, 1, 1, 0], [0, 3, 2, 3, 4]),
        _matrix([0, 1, 1, 0], [0, 1, 2, 3, 9]),
        _matrix([0, 1, 1, 0], [1, 1, 2, 3, 4]),
    ],
    ids=["index too large", "index negative", "rows overlap", "ends outside", "starts late"],
)
def test_sparse_matrices_that_would_reach_outside_memory_are_refused(learner, matrix):
    with pytest.raises(ValueError):
        learner().fit(matrix, y)


def test_a_column_that_is_stored_twice_counts_once_as_the_sum(learner):
    twice = sp.csr_matrix(
        (np.array([1.0, 1.0, 2.0, -1.0, 0.5, 0.3, -2.0, -2.0, -1.0]),
         np.array([1, 1, 0, 0, 1, 0, 1, 0, 1]), np.array([0, 3, 5, 7, 9])),
        shape=(4, 2),
    )  # fmt: skip
    summed = twice.copy()
    summed.sum_duplicates()
    a = learner(random_state=0).fit(twice, y)
    b = learner(random_state=0).fit(summed, y)
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-12)


@pytest.mark.parametrize("power", [-140, -90, -10, 10, 90, 140])
@pytest.mark.parametrize("rule", ["perceptron", "pa"])
def test_large_and_small_scales_predict_as_before(rule, power):
    fitted = Perceptron(rule=rule, random_state=0, fit_intercept=False).fit(X * 10.0**power, y)
    expected = Perceptron(rule=rule, random_state=0, fit_intercept=False).fit(X, y)
    np.testing.assert_array_equal(fitted.predict(X * 10.0**power), expected.predict(X))
    assert fitted.mistakes_ == expected.mistakes_


@pytest.mark.parametrize("power", [-300, -160, 160, 300])
def test_extreme_scales_are_refused_by_name(learner, power):
    with pytest.raises(DataError, match=f"scale the features {'up' if power < 0 else 'down'}"):
        learner(random_state=0, fit_intercept=False).fit(X * 10.0**power, y)


def test_a_change_of_width_is_an_error_unless_growing_is_asked_for(learner):
    fitted = learner().partial_fit(X, y)
    with pytest.raises(ValueError, match="3 features"):
        fitted.partial_fit(np.ones((4, 3)), y)
    grown = learner().set_params(grow=True).partial_fit(X, y)
    grown.partial_fit(np.ones((4, 3)), y).partial_fit(X, y)
    assert grown.coef_.shape[1] == 3
    assert len(grown.predict(np.ones((2, 3)))) == 2


@pytest.mark.parametrize("labels", [y, np.column_stack([y, 1 - y])], ids=["one", "several"])
def test_a_frame_may_grow_by_new_columns_at_its_end_only(learner, labels):
    frame = pd.DataFrame(X, columns=["a", "b"])
    grown = learner().set_params(grow=True, warm_start=True).fit(frame, labels)
    for other in (frame[["b", "a"]], frame[["b"]], frame[["b", "a"]].assign(c=1.0)):
        with pytest.raises(DataError, match="column 1 is 'b', but was 'a' before"):
            grown.partial_fit(other, labels)
    wide = frame.assign(c=1.0)
    grown.partial_fit(frame, labels).partial_fit(wide, labels).partial_fit(frame, labels)
    assert (list(grown.feature_names_in_), grown.n_features_in_) == (["a", "b", "c"], 3)
    assert len(grown.predict(wide)) == len(y)
    assert len(grown.fit(wide.assign(d=2.0), labels).predict(wide.assign(d=2.0))) == len(y)
    with pytest.raises(DataError, match="before"):
        grown.fit(wide.assign(d=2.0)[["d", "a", "b", "c"]], labels)


def test_a_call_that_fails_leaves_the_names_as_they_were(learner):
    frame = pd.DataFrame(X, columns=["a", "b"])
    grown = learner().set_params(grow=True).fit(frame, y)
    with pytest.raises(DataError, match="too large"):
        grown.partial_fit(frame.assign(c=1e300), y)
    assert len(grown.predict(frame)) == len(y)


def test_labels_of_another_kind_do_not_mix(learner):
    fitted = learner().partial_fit(X, y)
    with pytest.raises(ValueError, match="do not mix"):
        fitted.partial_fit(X, ["a", "b", "a", "b"])


def test_a_stream_may_begin_with_a_single_class(learner):
    fitted = learner().partial_fit(X[:1], ["b"])
    assert fitted.predict(X).tolist() == ["b"] * 4
    fitted.partial_fit(X, ["b", "a", "b", "a"])
    assert fitted.classes_.tolist() == ["a", "b"]
    fitted.partial_fit(X, ["c", "a", "b", "a"])
    assert fitted.decision_function(X).shape == (4, 3)
