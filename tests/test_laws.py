"""Laws that every learner obeys, whatever the data.

First the linear learners, which obey most of them, then kernel machines and SVMs. Structured
learners (taggers, parsers) take other data: their laws on files, seeds and threads are in
tests/structured.
"""

import contextlib
import copy
import math
import warnings

import naive
import numpy as np
import pandas
import polars
import pyarrow
import pytest
import scipy.sparse
from hypothesis import assume, given
from hypothesis import strategies as st
from profiles import tries
from sklearn.datasets import dump_svmlight_file
from strategies import (
    EXACT,
    KEEPS,
    KINDS,
    LEARNERS,
    MACHINES,
    SCALE_FREE,
    keeps,
    real_numbers,
    settings_for,
    whole_numbers,
)

from widemargin import (
    DataError,
    KernelPerceptron,
    OnlineLogistic,
    PassiveAggressive,
    Perceptron,
    certify,
    load,
)
from widemargin.data.datasets import Classes, EncodeOptions, make_encoder
from widemargin.data.readers.files import Files
from widemargin.data.rows import Rows
from widemargin.models.linear import LinearModel
from widemargin.online.examples import InMemory
from widemargin.online.from_files import FromFiles
from widemargin.online.held_out import HeldOut
from widemargin.online.learn import learn
from widemargin.online.scores import best_class
from widemargin.online.settings import Settings
from widemargin.online.state import State
from widemargin.training.history import History

pytestmark = pytest.mark.filterwarnings("ignore::widemargin.NotSeparableWarning")

every_learner = pytest.mark.parametrize("name", LEARNERS)
#: For slow laws: one learner of each kind in the plain run, and the others in CI.
every_kind = pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in KINDS else pytest.mark.exhaustive)
        for name in LEARNERS
    ],
)
exact_learners = pytest.mark.parametrize("name", EXACT)
csr = scipy.sparse.csr_matrix


def assert_same(one, other, X, other_X=None):
    """Assert the same bits: weights, mistakes in every epoch, scores and predictions."""
    other_X = X if other_X is None else other_X
    assert one.classes_.tolist() == other.classes_.tolist()
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.intercept_, other.intercept_)
    np.testing.assert_array_equal(one.history_["mistakes"], other.history_["mistakes"])
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(other_X))
    np.testing.assert_array_equal(one.predict(X), other.predict(other_X))


def assert_close_scores(one, other, X, other_X, tolerance=1e-10):
    """Assert that scores agree, relative to the largest that these weights could give."""
    found, expected = one.decision_function(X), other.decision_function(other_X)
    size = np.max(np.abs(expected), initial=1.0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * size)


def int64(X):
    X = csr(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


# Storage does not matter


@exact_learners
@given(data=st.data())
def test_sparse_is_dense_to_the_bit_on_whole_numbers(name, data):
    X, y = data.draw(whole_numbers())
    how = data.draw(settings_for(name))
    dense, sparse = LEARNERS[name](**how).fit(X, y), LEARNERS[name](**how).fit(csr(X), y)
    assert_same(dense, sparse, X, csr(X))


@every_learner
@given(data=st.data())
def test_sparse_is_dense_up_to_rounding(name, data):
    X, y = data.draw(real_numbers())
    how = data.draw(settings_for(name))
    dense, sparse = LEARNERS[name](**how).fit(X, y), LEARNERS[name](**how).fit(csr(X), y)
    assert_close_scores(dense, sparse, X, csr(X))


@every_learner
@tries(5)
@given(data=st.data())
def test_sparse_is_dense_in_single_precision(name, data):
    X, y = data.draw(real_numbers())
    X = X.astype(np.float32)
    how = data.draw(settings_for(name))
    dense, sparse = LEARNERS[name](**how).fit(X, y), LEARNERS[name](**how).fit(csr(X), y)
    assert dense.coef_.dtype == sparse.coef_.dtype == np.float32
    assert_close_scores(dense, sparse, X, csr(X), tolerance=1e-4)


@exact_learners
@tries(5)
@given(data=st.data())
def test_what_is_learned_from_dense_rows_answers_on_sparse_ones(name, data):
    X, y = data.draw(whole_numbers())
    learner = LEARNERS[name](**data.draw(settings_for(name))).fit(X, y)
    np.testing.assert_array_equal(learner.decision_function(X), learner.decision_function(csr(X)))


@every_learner
@tries(5)
@given(data=st.data())
def test_wide_indices_are_narrow_ones(name, data):
    X, y = data.draw(real_numbers())
    how = data.draw(settings_for(name))
    narrow, wide = LEARNERS[name](**how).fit(csr(X), y), LEARNERS[name](**how).fit(int64(X), y)
    assert_same(narrow, wide, csr(X), int64(X))


@every_learner
@tries(5)
@given(data=st.data())
def test_columns_are_rows_and_arrays_are_matrices(name, data):
    X, y = data.draw(real_numbers())
    how = data.draw(settings_for(name))
    expected = LEARNERS[name](**how).fit(csr(X), y)
    for other in (scipy.sparse.csc_matrix(X), scipy.sparse.coo_array(X), scipy.sparse.csr_array(X)):
        assert_same(expected, LEARNERS[name](**how).fit(other, y), csr(X), other)


@every_kind
@tries(5)
@given(data=st.data())
def test_lists_frames_and_any_memory_order_are_arrays(name, data):
    X, y = data.draw(real_numbers())
    how = data.draw(settings_for(name))
    expected = LEARNERS[name](**how).fit(X, y)
    columns = [f"column {j}" for j in range(X.shape[1])]
    twice = np.repeat(X, 2, axis=1)
    for same_X, same_y in (
        (X.tolist(), y.tolist()),
        (pandas.DataFrame(X, columns=columns), pandas.Series(y)),
        (polars.DataFrame(X, schema=columns), polars.Series(y)),
        (pyarrow.table(dict(zip(columns, X.T, strict=True))), y),
        (np.asfortranarray(X), y.astype(np.int8)),
        (twice[:, ::2], y),
    ):
        assert_same(expected, LEARNERS[name](**how).fit(same_X, same_y), X, same_X)


def scrambled(X, rng):
    """The same sparse matrix, badly stored: entries in parts, out of order, with explicit zeros."""
    values, columns, starts = [], [], [0]
    for row in csr(X):
        parts = [(j, v - 1) for j, v in zip(row.indices, row.data, strict=True)]
        parts += [(j, 1.0) for j in row.indices] + [(0, 0.0)]
        for at in rng.permutation(len(parts)):
            columns.append(parts[at][0])
            values.append(parts[at][1])
        starts.append(len(values))
    return csr((np.array(values), np.array(columns), np.array(starts)), shape=X.shape)


@every_kind
@given(data=st.data())
def test_unsorted_and_repeated_indices_are_their_sum(name, data):
    X, y = data.draw(whole_numbers())
    how = data.draw(settings_for(name))
    assume(name in EXACT or len(set(y)) == 2)  # rounding may decide between rivals that tie
    bad = scrambled(X, np.random.default_rng(0))
    untouched = bad.copy()
    canonical, repeated = LEARNERS[name](**how).fit(csr(X), y), LEARNERS[name](**how).fit(bad, y)
    if name in EXACT:
        assert_same(canonical, repeated, csr(X), bad)
    elif how["keep"] != "vote":
        assert_close_scores(canonical, repeated, csr(X), bad)
    np.testing.assert_array_equal(bad.data, untouched.data)
    np.testing.assert_array_equal(bad.indices, untouched.indices)


# Pieces, threads, seeds and files do not matter


@every_learner
@given(data=st.data())
def test_chunks_are_the_whole(name, data):
    X, y = data.draw(real_numbers())
    how = data.draw(settings_for(name, epochs=1))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(y) - 1), max_size=3)))
    form = data.draw(st.sampled_from((np.asarray, csr)))
    whole, pieces = LEARNERS[name](**how).fit(form(X), y), LEARNERS[name](**how)
    for a, b in zip([0, *cuts], [*cuts, len(y)], strict=True):
        pieces.partial_fit(form(X[a:b]), y[a:b], classes=np.unique(y))
    np.testing.assert_array_equal(whole.coef_, pieces.coef_)
    np.testing.assert_array_equal(whole.intercept_, pieces.intercept_)
    np.testing.assert_array_equal(
        whole.decision_function(form(X)), pieces.decision_function(form(X))
    )
    assert whole.mistakes_ == pieces.mistakes_


@exact_learners
@tries(5)
@given(data=st.data())
def test_a_chunk_that_is_stored_otherwise_is_still_a_chunk(name, data):
    X, y = data.draw(whole_numbers())
    how = data.draw(settings_for(name, epochs=1))
    whole = LEARNERS[name](**how).fit(X, y)
    half = len(y) // 2
    mixed = LEARNERS[name](**how).partial_fit(X[:half], y[:half], classes=np.unique(y))
    mixed.partial_fit(csr(X[half:]), y[half:])
    np.testing.assert_array_equal(whole.coef_, mixed.coef_)
    np.testing.assert_array_equal(whole.decision_function(X), mixed.decision_function(X))


@every_learner
@tries(5)
@given(data=st.data())
def test_many_threads_are_one_thread(name, data):
    X, y = data.draw(real_numbers(least=40, most=60))
    form = data.draw(st.sampled_from((np.asarray, csr)))
    how = data.draw(settings_for(name, shuffle=True, random_state=1))
    one, four = (LEARNERS[name](**how, n_jobs=jobs).fit(form(X), y) for jobs in (None, 4))
    assert_same(one, four, form(X))


@pytest.mark.parametrize("classes", [2, 3])
def test_many_threads_predict_as_one_thread(classes):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4321, 7)), rng.integers(0, classes, 4321)
    one, four = (Perceptron(epochs=1, random_state=0, n_jobs=jobs).fit(X, y) for jobs in (1, 4))
    assert_same(one, four, X)


@every_learner
@tries(5)
@given(data=st.data())
def test_the_same_seed_gives_the_same_model(name, data):
    X, y = data.draw(real_numbers())
    shuffle = data.draw(st.sampled_from((True, "once", "rows", "draw")))
    how = data.draw(settings_for(name, shuffle=shuffle, random_state=7, start="random"))
    assert_same(LEARNERS[name](**how).fit(X, y), LEARNERS[name](**how).fit(X, y), X)


def test_another_seed_gives_another_model():
    X, y = np.random.default_rng(0).normal(size=(50, 3)), np.arange(50) % 2
    one, other = (Perceptron(random_state=seed).fit(X, y) for seed in (0, 1))
    assert not np.array_equal(one.coef_, other.coef_)


LABELS = {
    "int": np.array([-3, 7, 40, 41]),
    "str": np.array(["a", "ü", "long name", ""]),
    "bool": np.array([False, True]),
    "object": np.array(["x", "yy", "zzz", "w"], dtype=object),
    "uint8": np.array([0, 3, 200, 255], dtype=np.uint8),
    "float": np.array([-1.0, 1.0, 2.0, 3.0]),
}


@every_learner
@given(data=st.data())
def test_a_loaded_model_predicts_identically(name, data, tmp_path):
    kind = data.draw(st.sampled_from(sorted(LABELS)))
    X, y = data.draw(real_numbers(classes=2 if kind == "bool" else None))
    form = data.draw(st.sampled_from((np.asarray, csr)))
    how = data.draw(settings_for(name))
    saved = LEARNERS[name](**how).fit(form(X), LABELS[kind][y])
    saved.save(tmp_path / "model.wm")
    loaded = load(tmp_path / "model.wm")
    assert type(loaded) is type(saved)
    assert loaded.classes_.dtype == saved.classes_.dtype
    assert_same(saved, loaded, form(X))


@pytest.mark.parametrize("shuffle", [False, True, "rows"])
@every_learner
@tries(5)
@given(data=st.data())
def test_a_loaded_learner_goes_on_as_if_it_had_not_stopped(name, shuffle, data, tmp_path):
    X, y = data.draw(real_numbers())
    how = data.draw(settings_for(name, shuffle=shuffle, random_state=3))
    on = LEARNERS[name](**how).partial_fit(X, y)
    on.save(tmp_path / "model.wm")
    resumed = load(tmp_path / "model.wm").partial_fit(X, y)
    on.partial_fit(X, y)
    assert_same(on, resumed, X)


@pytest.mark.parametrize(
    "given_start",
    [
        np.array([[1.0, -2.0]]),
        np.array([1.0, -2.0]),
        (np.array([[1.0, -2.0]]), np.array([0.5])),
        ([1.0, -2.0], 0.5),
    ],
)
def test_a_loaded_learner_learns_afresh_from_the_same_start(given_start, tmp_path):
    X, y = np.array([[1.0, 2.0], [-1.0, 1.0], [2.0, -1.0]]), [0, 1, 1]
    saved = Perceptron(start=given_start, shuffle=False, epochs=2).fit(X, y)
    saved.save(tmp_path / "model.wm")
    assert_same(saved, load(tmp_path / "model.wm").fit(X, y), X)


@pytest.mark.parametrize("weights", [{0: 2.0, 1: 0.5}, {"a": 2.0, "b": 0.5}])
def test_a_loaded_learner_learns_afresh_with_the_same_class_weights(weights, tmp_path):
    X, y = np.array([[1.0, 2.0], [-1.0, 1.0], [2.0, -1.0]]), np.array([*weights, *weights])[:3]
    saved = Perceptron(class_weight=weights, eta=(1.0, 0.5), shuffle=False).fit(X, y)
    saved.save(tmp_path / "model.wm")
    assert_same(saved, load(tmp_path / "model.wm").fit(X, y), X)


# One rule for what is predicted


@every_learner
@given(data=st.data())
def test_the_prediction_is_the_best_score(name, data):
    X, y = data.draw(whole_numbers())
    learner = LEARNERS[name](**data.draw(settings_for(name))).fit(X, y)
    found = learner.decision_function(X)
    best = (found >= 0).astype(int) if found.ndim == 1 else np.argmax(found, axis=1)
    np.testing.assert_array_equal(learner.predict(X), learner.classes_[best])


@pytest.mark.parametrize("multiclass", ["joint", "ovr"])
@pytest.mark.parametrize("scale", [1e-20, 1e-3, 1.0, 30.0])
@pytest.mark.parametrize("keep", ["last", "average"])
@given(data=st.data())
def test_the_prediction_is_the_best_probability(keep, scale, multiclass, data):
    X, y = data.draw(real_numbers())
    learner = OnlineLogistic(keep=keep, multiclass=multiclass, random_state=0).fit(X * scale, y)
    P = learner.predict_proba(X * scale)
    np.testing.assert_array_equal(
        learner.classes_[np.argmax(P, axis=1)], learner.predict(X * scale)
    )
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
    assert np.all((P >= 0) & (P <= 1))


def logistic_model(W, joint):
    """A model with given weights, bias zero."""
    W = np.column_stack([W, np.zeros(len(W))])
    classes = np.arange(max(2, len(W)))
    return LinearModel(classes, State.begin(W, "last", joint), keep="last", rule="logistic")


@pytest.mark.parametrize("joint", [True, False])
@given(
    weights=st.lists(st.floats(-1000, 1000), min_size=1, max_size=4).filter(lambda w: len(w) != 2)
)
@tries(100)
def test_the_best_score_has_the_best_probability_however_close_or_large(joint, weights):
    model = logistic_model(np.array(weights)[:, None], joint)
    x = np.array([[1.0]])
    P = model.predict_proba(x)
    assert np.all(np.isfinite(P))
    assert np.argmax(P, axis=1) == best_class(model.decision_function(x)) == model.predict(x)


@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("close", [[1.0, math.nextafter(1.0, 2)], [0.0, 1e-300], [50.0, 60.0]])
def test_close_scores_keep_their_order_as_probabilities(close, joint):
    model = logistic_model(np.array([*close, -1.0])[:, None], joint)
    assert np.argmax(model.predict_proba([[1.0]])) == 1


@every_learner
def test_a_score_of_zero_is_the_second_of_two_classes(name):
    for keep in ("last", "average"):
        learner = LEARNERS[name](fit_intercept=False, keep=keep).fit([[1.0], [-1.0]], ["no", "yes"])
        assert learner.decision_function([[0.0]]) == 0
        assert learner.predict([[0.0]]) == ["yes"]


@every_learner
@pytest.mark.parametrize("multiclass", ["joint", "ovr"])
def test_a_tie_of_several_classes_is_the_first_best(name, multiclass):
    X, y = np.eye(3), ["a", "b", "c"]
    for keep in KEEPS[: 2 if name == "logistic-l2" else 3]:
        learner = LEARNERS[name](fit_intercept=False, keep=keep, multiclass=multiclass).fit(X, y)
        assert learner.predict([[0.0, 0.0, 0.0]]) == ["a"]


# Scale


@pytest.mark.parametrize("name", SCALE_FREE)
@given(data=st.data())
def test_scaling_by_a_power_of_two_leaves_the_mistakes_unchanged(name, data):
    X, y = data.draw(st.one_of(whole_numbers(), real_numbers()))
    scale = 2.0 ** data.draw(st.integers(-150, 150))
    form = data.draw(st.sampled_from((np.asarray, csr)))
    how = {"fit_intercept": False, "keep": "vote", "epochs": 3}
    how["multiclass"] = data.draw(st.sampled_from(("joint", "ovr")))
    plain = LEARNERS[name](**how).fit(form(X), y)
    scaled = LEARNERS[name](**how).fit(form(X * scale), y)
    np.testing.assert_array_equal(plain.history_["mistakes"], scaled.history_["mistakes"])
    sequences = [
        [(row, label, count) for row, label, _, count in learner.model_.state.log]
        for learner in (plain, scaled)
    ]
    assert sequences[0] == sequences[1]
    np.testing.assert_array_equal(
        plain.decision_function(form(X)), scaled.decision_function(form(X * scale))
    )


@pytest.mark.parametrize("name", SCALE_FREE)
@given(data=st.data())
def test_an_auto_bias_scales_with_the_rows(name, data):
    X, y = data.draw(whole_numbers())
    power = data.draw(st.integers(-60, 60))
    how = {"fit_intercept": "auto", "epochs": 3, "random_state": 1}
    plain = LEARNERS[name](**how).fit(X, y)
    scaled = LEARNERS[name](**how).fit(csr(X * 2.0**power), y)
    assert scaled.model_.bias in (plain.model_.bias * 2.0**power, 1.0 if not X.any() else None)
    np.testing.assert_array_equal(plain.history_["mistakes"], scaled.history_["mistakes"])
    np.testing.assert_array_equal(plain.predict(X), scaled.predict(X * 2.0**power))


def test_an_auto_bias_is_a_typical_value_and_stays_what_it_was():
    X, y = np.array([[0.0, 0.3], [0.2, 0.0], [0.26, 0.25]]), [0, 1, 1]
    learner = Perceptron(fit_intercept="auto").partial_fit(X, y)
    assert learner.model_.bias == 0.25
    assert learner.partial_fit(100.0 * X, y).model_.bias == 0.25
    stream = Perceptron(fit_intercept="auto").learn_one({"a": 4.0}, 0).learn_one({"b": 0.1}, 1)
    assert stream.model_.bias == 4.0


@given(data=st.data())
def test_scaling_the_constant_feature_too_leaves_the_mistakes_unchanged(data):
    X, y = data.draw(whole_numbers())
    X = np.column_stack([X, np.ones(len(X))])
    scale = 2.0 ** data.draw(st.integers(-150, 150))
    plain, scaled = (
        Perceptron(fit_intercept=False, shuffle=False, keep="last").fit(X * s, y)
        for s in (1.0, scale)
    )
    np.testing.assert_array_equal(plain.history_["mistakes"], scaled.history_["mistakes"])
    np.testing.assert_array_equal(plain.coef_ * scale, scaled.coef_)


@exact_learners
@given(data=st.data())
def test_a_bias_is_the_weight_of_a_constant_column(name, data):
    X, y = data.draw(whole_numbers())
    constant = data.draw(st.sampled_from((0.25, 1.0, 3.0)))
    how = data.draw(settings_for(name, fit_intercept=constant))
    extended = np.column_stack([X, np.full(len(X), constant)])
    with_bias = LEARNERS[name](**how).fit(X, y)
    with_column = LEARNERS[name](**{**how, "fit_intercept": False}).fit(extended, y)
    np.testing.assert_array_equal(with_bias.coef_, with_column.coef_[:, :-1])
    np.testing.assert_array_equal(with_bias.intercept_, with_column.coef_[:, -1] * constant)
    np.testing.assert_array_equal(
        with_bias.decision_function(X), with_column.decision_function(extended)
    )


@given(data=st.data())
def test_from_a_zero_start_eta_only_scales_the_weights(data):
    X, y = data.draw(whole_numbers())
    eta = 2.0 ** data.draw(st.integers(-20, 20))
    plain, scaled = (Perceptron(eta=e, shuffle=False).fit(X, y) for e in (1.0, eta))
    np.testing.assert_array_equal(plain.history_["mistakes"], scaled.history_["mistakes"])
    np.testing.assert_array_equal(plain.coef_ * eta, scaled.coef_)


#: Powers of two near 1e-300 ... 1e300, and near where squares overflow or underflow.
SCALES = [-996, -540, -520, -510, -300, 300, 505, 511, 530, 996]
#: The plain command runs these: numbers whose squares overflow or underflow, and others.
ENDS = (-996, -510, -300, 505, 996)


@pytest.mark.parametrize(
    "power", [pytest.param(p, marks=() if p in ENDS else pytest.mark.exhaustive) for p in SCALES]
)
@pytest.mark.parametrize("keep", KEEPS)
@pytest.mark.parametrize("name", SCALE_FREE)
@tries(3)
@given(data=st.data())
def test_any_scale_gives_the_same_predictions_or_an_error(name, keep, power, data):
    X, y = data.draw(whole_numbers(least=6))
    form = data.draw(st.sampled_from((np.asarray, csr)))
    how = {"fit_intercept": False, "keep": keep}
    expected = LEARNERS[name](**how).fit(form(X), y).predict(form(X))
    huge = form(X * 2.0**power)
    try:
        found = LEARNERS[name](**how).fit(huge, y).predict(huge)
    except DataError:
        assert abs(power) > 400  # squares of numbers closer to 1 do not overflow or underflow
        return
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("power", [-100, -75, 60, 100])
@pytest.mark.parametrize("name", SCALE_FREE)
def test_any_scale_in_single_precision_gives_the_same_predictions_or_an_error(name, power):
    rng = np.random.default_rng(0)
    X, y = rng.integers(-3, 4, (20, 3)).astype(np.float32), rng.integers(0, 2, 20)
    expected = LEARNERS[name](fit_intercept=False).fit(X, y).predict(X)
    X *= np.float32(2.0**power)
    try:
        found = LEARNERS[name](fit_intercept=False).fit(X, y).predict(X)
    except DataError:
        return
    np.testing.assert_array_equal(found, expected)


@every_learner
@tries(15)
@given(data=st.data())
def test_no_scale_gives_scores_that_are_not_numbers(name, data):
    X, y = data.draw(real_numbers())
    exponent = data.draw(st.integers(-300, 300))
    X = X * 10.0**exponent
    try:
        learner = LEARNERS[name](**data.draw(settings_for(name))).fit(X, y)
        found = learner.decision_function(X)
    except DataError:
        assert abs(exponent) > 75
        return
    assert np.all(np.isfinite(found))
    assert np.all(np.isfinite(learner.coef_))


@pytest.mark.parametrize("keep", KEEPS)
def test_a_row_too_large_to_score_gets_an_error_or_the_answer_of_its_direction(keep):
    X, y = np.array([[-1, 2], [1, 0], [1, 1], [-1, 0], [-1, -2], [1, -1]]) * 1e20, [0, 1, 1] * 2
    learner = Perceptron(keep=keep, fit_intercept=False, shuffle=False).fit(X, y)
    directions = np.array([[1.0, 0.5], [-1.0, 0.5], [0.5, -1.0], [0.1, 1.0]])
    expected = learner.predict(directions)
    for direction, answer in zip(directions, expected, strict=True):
        with contextlib.suppress(DataError):
            assert learner.predict(direction[None] * 1e299) == answer


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("form", [np.asarray, csr])
@every_learner
def test_what_is_not_a_finite_number_is_an_error_that_names_its_place(name, form, bad):
    X = np.arange(1.0, 13.0).reshape(4, 3)
    good = LEARNERS[name]().fit(form(X), [0, 1, 2, 0])
    X[2, 1] = bad
    for attempt in (
        lambda: LEARNERS[name]().fit(form(X), [0, 1, 2, 0]),
        lambda: LEARNERS[name]().partial_fit(form(X), [0, 1, 2, 0]),
        lambda: good.predict(form(X)),
    ):
        with pytest.raises(DataError, match="row 2, column 1"):
            attempt()


# Early stopping


@every_kind
@given(data=st.data())
def test_early_stopping_gives_back_the_best_not_the_last(name, data):
    X, y = data.draw(real_numbers(least=12, most=24))
    half = len(y) // 2
    train, held = slice(0, half), slice(half, None)
    assume(len(set(y[train])) == len(set(y)))
    how = data.draw(settings_for(name, shuffle=True, random_state=5))
    how["epochs"], patience = 9, 3
    stopped = LEARNERS[name](**how, patience=patience).fit(
        X[train], y[train], X_val=X[held], y_val=y[held]
    )
    scores = stopped.history_["held_out"]
    best = int(np.argmax(scores)) + 1
    assert stopped.history_.best == best
    assert stopped.score(X[held], y[held]) == scores.max()
    if stopped.history_.stopped == "no improvement":
        assert len(scores) == best + patience
    assert len(scores) - best <= patience
    again = LEARNERS[name](**{**how, "epochs": best}).fit(X[train], y[train])
    np.testing.assert_array_equal(stopped.coef_, again.coef_)
    np.testing.assert_array_equal(stopped.intercept_, again.intercept_)
    np.testing.assert_array_equal(stopped.decision_function(X), again.decision_function(X))


def test_early_stopping_really_happens_and_scores_what_is_deployed():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 5))
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    for keep in KEEPS:
        learner = Perceptron(keep=keep, epochs=50, patience=2, random_state=0)
        learner.fit(X[:200], y[:200], X_val=X[200:], y_val=y[200:])
        assert learner.history_.stopped == "no improvement"
        assert learner.score(X[200:], y[200:]) == np.max(learner.history_["held_out"])
        after_each_epoch = [
            Perceptron(keep=keep, epochs=e, random_state=0).fit(X[:200], y[:200])
            for e in range(1, learner.n_iter_ + 1)
        ]
        scores = [one.score(X[200:], y[200:]) for one in after_each_epoch]
        np.testing.assert_array_equal(learner.history_["held_out"], scores)


@every_learner
def test_a_held_out_fraction_is_never_learned_from(name):
    rng = np.random.default_rng(0)
    X, y = np.eye(40), np.arange(40) % 2  # row j is the only one with feature j
    learner = LEARNERS[name](
        validation=0.25, random_state=rng, fit_intercept=False, epochs=3, keep="last"
    ).fit(X, y)
    assert np.count_nonzero(learner.coef_ == 0.0) == 10


# Histories

#: All learners that can continue with other examples.
CONTINUED = {**LEARNERS, "kernel-perceptron": MACHINES["kernel-perceptron"]}
each_continued = pytest.mark.parametrize("name", CONTINUED)


@each_continued
@tries(5)
@given(data=st.data())
def test_no_bound_is_below_the_mistakes_after_early_stopping(name, data):
    X, y = data.draw(real_numbers(classes=2, least=12, most=24))
    how = {"keep": data.draw(keeps(name)), "epochs": 12, "patience": 9, "random_state": 0}
    learner = CONTINUED[name](**how, shuffle=data.draw(st.sampled_from((True, "draw"))))
    learner.fit(X, y, X_val=X[::-2], y_val=1 - y[::-2])  # so that early weights are the best
    for _ in range(3):
        found = certify(learner, X, y)
        for bound in (found.bound, found.hinge_bound):
            assert bound is None or found.mistakes <= bound
        learner.partial_fit(X, y)


@each_continued
def test_epochs_are_counted_however_many_calls_there_were(name, monkeypatch):
    monkeypatch.setattr("widemargin.training.history.MOST_CALLS", 8)
    X, y = few_examples(3)
    learner = CONTINUED[name](random_state=0)
    for call in range(1, 21):
        learner.partial_fit(X, y)
        assert learner.n_iter_ == learner.certificate_.epochs == call
        assert len(learner.history_) <= 8


@pytest.mark.parametrize("name", [*CONTINUED, "kernel-svm"])
def test_the_first_epoch_counts_the_rows_learned_from(name):
    X, y = few_examples(3)
    make = {**CONTINUED, "kernel-svm": MACHINES["kernel-svm"]}[name]
    assert make().fit(X, y).history_.examples_per_epoch == len(y)
    assert make(validation=0.25).fit(X, y).history_.examples_per_epoch == 18
    weights = np.arange(len(y)) % 4 > 0
    assert make().fit(X, y, sample_weight=weights).history_.examples_per_epoch == np.sum(weights)


@every_learner
@pytest.mark.parametrize("memory", [2000, 10**9])
def test_the_first_epoch_counts_the_rows_of_a_stream(name, memory, tmp_path):
    X, y = few_examples(3, n=300)
    path = tmp_path / "f.svm"
    dump_svmlight_file(X, y, str(path))
    how = LEARNERS[name](shuffle=True, epochs=8, patience=2)._settings()
    files, rng = Files([str(path)]), np.random.default_rng(0)
    stream = FromFiles(files, make_encoder(files, EncodeOptions()), Classes(), how, memory)
    stream.start(rng)
    held_out = HeldOut(Rows.of(X[:50], stream.bias), np.arange(50, dtype=np.uint64), y[:50])
    history = learn(stream, stream.state, how, rng, held_out=held_out)
    assert history.examples_per_epoch == len(y)


@each_continued
def test_every_call_has_another_order(name):
    n = 12
    # All scores are 0 when their rows are learned from, so the average shows when that was.
    X, y = np.eye(2 * n), np.arange(2 * n) % 2
    how = {"keep": "average", "shuffle": True, "random_state": 0}
    if name == "kernel-perceptron":
        learner = KernelPerceptron(kernel="linear", **how)
    else:
        learner = LEARNERS[name](fit_intercept=False, **how)
    for half in (slice(0, n), slice(n, 2 * n)):
        learner.partial_fit(X[half], y[half])
    sizes = np.abs(learner.decision_function(X))
    first, second = (np.argsort(-part).tolist() for part in (sizes[:n], sizes[n:]))
    assert first != second


# More labels, more features


@pytest.mark.parametrize("multiclass", ["joint", "ovr"])
@pytest.mark.parametrize("name", ["perceptron", "margin", "pa1"])
@given(data=st.data())
def test_a_new_label_goes_on_from_minus_w_and_w(name, multiclass, data):
    X, y = data.draw(whole_numbers(classes=3, least=8))
    first = y != 1  # the new label stands between the old ones
    assume(len(set(y[first])) == 2)
    learner = LEARNERS[name](multiclass=multiclass, keep="last", fit_intercept=True)
    learner.partial_fit(X[first], y[first])
    w = np.append(learner.coef_[0], learner.intercept_[0])
    learner.partial_fit(X, y)

    how = naive.How(learner.rule, C=learner.C)
    twin_X, start = naive.extend(X.tolist()), [(-w).tolist(), [0.0] * len(w), w.tolist()]
    if multiclass == "joint":
        W = naive.joint(twin_X, y.tolist(), 3, how, start).hypotheses[-1]
    else:
        runs = naive.one_vs_rest(twin_X, y.tolist(), 3, how, start)
        W = [run.hypotheses[-1] for run in runs]
    found = np.column_stack([learner.coef_, learner.intercept_])
    assert learner.classes_.tolist() == [0, 1, 2]
    if name in EXACT:
        np.testing.assert_array_equal(found, W)
    elif multiclass == "ovr":  # jointly, rounding may decide between rivals that tie
        np.testing.assert_allclose(found, W, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("rule", ["perceptron", "margin", "pa", "pa1", "pa2"])
@pytest.mark.parametrize("form", [np.asarray, csr])
@given(data=st.data())
def test_two_classes_turned_into_rows_are_what_joint_learning_makes(rule, form, data):
    X, y = data.draw(whole_numbers(classes=2))
    rows = Rows.of(form(X))
    settings = Settings(rule, keep="vote", epochs=2, shuffle=False)
    binary = State.begin(np.zeros((1, rows.width + 1)), "vote", joint=True)
    joint = State.begin(np.zeros((2, rows.width + 1)), "vote", joint=True)
    for state in (binary, joint):
        learn(InMemory(rows, y, False), state, settings, np.random.default_rng(0))
    binary.rearrange(2, np.array([0, 1]), spread=1.0)
    np.testing.assert_allclose(binary.last(), joint.last(), rtol=0, atol=1e-10)
    np.testing.assert_allclose(binary.average(), joint.average(), rtol=0, atol=1e-10)


@pytest.mark.parametrize("keep", ["last", "average"])
@pytest.mark.parametrize("multiclass", ["joint", "ovr"])
@given(data=st.data())
def test_a_new_label_leaves_the_odds_of_the_old_ones_unchanged(multiclass, keep, data):
    X, y = data.draw(real_numbers(classes=2))
    learner = OnlineLogistic(multiclass=multiclass, keep=keep, shuffle=False).partial_fit(X, y)
    before = learner.predict_proba(X)
    # The state just after room has been made for the third label.
    spread = 0.5 if multiclass == "joint" else 1.0
    state = learner.model_.state.copy()
    state.rearrange(3, np.array([0, 2]), spread)
    bias = learner.model_.bias
    model = LinearModel(np.arange(3), state, keep=keep, rule="logistic", bias=bias)
    grown = model.predict_proba(X)
    np.testing.assert_allclose(grown[:, 2] / grown[:, 0], before[:, 1] / before[:, 0], rtol=1e-9)


@every_learner
@tries(5)
@given(data=st.data())
def test_labels_may_come_one_class_after_another(name, data):
    X, y = data.draw(real_numbers(classes=4))
    how = data.draw(settings_for(name))
    learner = LEARNERS[name](**how)
    chunks = data.draw(st.sampled_from(([[0], [1, 2], [3]], [[2], [0, 1, 3]], [[3, 0], [1], [2]])))
    for chunk in chunks:
        mine = np.isin(y, chunk)
        learner.partial_fit(X[mine], y[mine])
    assert learner.classes_.tolist() == [0, 1, 2, 3]
    assert learner.decision_function(X).shape == (len(X), 4)
    assert np.all(np.isfinite(learner.decision_function(X)))


@every_kind
@given(data=st.data())
def test_growing_features_are_features_that_were_zero(name, data):
    X, y = data.draw(real_numbers())
    form = data.draw(st.sampled_from((np.asarray, csr)))
    how = data.draw(settings_for(name))
    narrow = data.draw(st.integers(1, X.shape[1]))
    half = len(y) // 2
    X[:half, narrow:] = 0.0
    wide, growing = LEARNERS[name](**how), LEARNERS[name](**how, grow=True)
    wide.partial_fit(form(X[:half]), y[:half], classes=np.unique(y))
    growing.partial_fit(form(X[:half, :narrow]), y[:half], classes=np.unique(y))
    for part in (slice(half, None), slice(half)):  # wider rows, then narrow ones again
        wide.partial_fit(form(X[part]), y[part])
        growing.partial_fit(form(X[part, : narrow if part.start is None else None]), y[part])
        assert growing.coef_.shape == wide.coef_.shape
        if form is csr:
            assert_same(wide, growing, form(X))
        else:  # vector instructions sum shorter rows in another order
            assert_close_scores(wide, growing, form(X), form(X))


def stored(X):
    """A sparse matrix that stores zeros too, so that sums have the same terms as those of dicts."""
    n, d = X.shape
    return csr((X.ravel(), np.tile(np.arange(d), n), np.arange(0, n * d + 1, d)), shape=(n, d))


@every_learner
@given(data=st.data())
def test_dicts_one_by_one_are_rows_one_by_one_to_the_bit(name, data):
    X, y = data.draw(real_numbers())
    how = data.draw(settings_for(name))
    rows, dicts = LEARNERS[name](**how), LEARNERS[name](**how)
    for x, label in zip(X, y, strict=True):
        rows.partial_fit(stored(x[None]), [int(label)])
        dicts.learn_one({f"x{j}": value for j, value in enumerate(x)}, int(label))
    assert dicts.model_.feature_names == [f"x{j}" for j in range(X.shape[1])]
    assert dicts.classes_.tolist() == rows.classes_.tolist()
    for kept in ("W", "U", "clock"):
        one, other = getattr(dicts.model_.state, kept), getattr(rows.model_.state, kept)
        np.testing.assert_array_equal(one, other)
    losses = rows.history_["loss"].sum() / len(y)  # there is none before the second class
    np.testing.assert_allclose(dicts.history_["loss"], losses, rtol=1e-9)
    answers = [dicts.predict_one({f"x{j}": v for j, v in enumerate(x)}) for x in X]
    assert answers == rows.predict(stored(X)).tolist()


@every_learner
@given(data=st.data())
def test_rows_one_by_one_are_all_rows_to_the_bit(name, data):
    X, y = data.draw(real_numbers())
    form = data.draw(st.sampled_from((np.asarray, csr)))
    how = data.draw(settings_for(name))
    whole, single = LEARNERS[name](**how), LEARNERS[name](**how)
    whole.partial_fit(form(X), y, classes=np.unique(y))
    for i, label in enumerate(y):
        single.partial_fit(form(X[i : i + 1]), [label], classes=np.unique(y) if i == 0 else None)
    for kept in ("W", "U", "clock"):
        one, other = getattr(single.model_.state, kept), getattr(whole.model_.state, kept)
        np.testing.assert_array_equal(one, other)
    assert single.mistakes_ == whole.mistakes_
    np.testing.assert_allclose(single.history_["loss"].mean(), whole.history_["loss"], rtol=1e-9)
    np.testing.assert_array_equal(single.predict(form(X)), whole.predict(form(X)))


@every_kind
@given(data=st.data())
def test_dicts_with_new_names_are_rows_with_zeros(name, data):
    X, y = data.draw(real_numbers())
    how = data.draw(settings_for(name))
    rows, dicts = LEARNERS[name](**how), LEARNERS[name](**how)
    for x, label in zip(X, y, strict=True):
        named = {f"x{j}": value for j, value in enumerate(x) if value != 0.0}
        rows.partial_fit(csr(x[None]), [label])
        dicts.learn_one(named, int(label))
    weight_of = dict(zip(dicts.model_.feature_names, dicts.coef_.T, strict=False))
    for j, weights in enumerate(rows.coef_.T):
        found = weight_of.get(f"x{j}", np.zeros(len(rows.coef_)))
        np.testing.assert_allclose(found, weights, rtol=1e-9, atol=1e-12)
    answers = [dicts.predict_one({f"x{j}": v for j, v in enumerate(x)}) for x in X]
    assert answers == rows.predict(csr(X)).tolist()


@every_kind
@given(data=st.data())
def test_a_few_rows_without_the_driver_are_an_epoch_with_it(name, data):
    X, y = data.draw(real_numbers())
    how = data.draw(
        settings_for(
            name, shuffle=data.draw(st.sampled_from((False, True, "rows", "once"))), random_state=3
        )
    )
    batch, tol = data.draw(st.sampled_from((1, 3, "full"))), data.draw(st.sampled_from((0.0, 1.0)))
    few, driven = (
        LEARNERS[name](**how, batch=batch, tol=tol, max_seconds=seconds)
        for seconds in (None, 1e9)  # a deadline needs the driver, which checks the clock
    )
    for rows in (X, X[::-1], X):
        few.partial_fit(rows, y)
        driven.partial_fit(rows, y)
    assert_same(few, driven, X)
    assert few.history_.stopped == driven.history_.stopped
    assert few.model_.generator_state == driven.model_.generator_state
    for one, other in zip(few.history_, driven.history_, strict=True):
        assert one._replace(seconds=0.0) == other._replace(seconds=0.0)


# Keeps


@every_kind
@given(data=st.data())
def test_using_another_keep_is_training_with_it(name, data):
    X, y = data.draw(real_numbers())
    how = data.draw(settings_for(name, shuffle=True, random_state=2))
    most = "average" if name == "logistic-l2" else "vote"
    full = LEARNERS[name](**{**how, "keep": most}).fit(X, y)
    for keep in ("last", "average", most):
        assert_same(full.using(keep), LEARNERS[name](**{**how, "keep": keep}).fit(X, y), X)


@every_learner
@tries(5)
@given(data=st.data())
def test_learners_that_share_what_was_learned_go_on_separately(name, data):
    X, y = data.draw(real_numbers(classes=2))
    learner = LEARNERS[name](keep="average").fit(X, y)
    other = learner.using("last")
    before = other.decision_function(X).copy()
    learner.partial_fit(-X, y)
    np.testing.assert_array_equal(other.decision_function(X), before)
    before = learner.decision_function(X).copy()
    other.partial_fit(-X, np.arange(len(y)) % 3)
    np.testing.assert_array_equal(learner.decision_function(X), before)


@every_learner
@tries(5)
@given(data=st.data())
def test_a_learner_goes_on_as_if_no_other_had_shared_what_it_learned(name, data):
    X, y = data.draw(real_numbers(classes=2))
    how = {"keep": "average", "shuffle": "rows", "random_state": 3}
    learner, alone = (LEARNERS[name](**how).fit(X, y) for _ in range(2))
    learner.using("last").partial_fit(-X, y)
    learner.with_threshold(0.5).partial_fit(-X, y)
    assert_same(learner.partial_fit(-X, y), alone.partial_fit(-X, y), X)
    assert learner.model_.generator_state == alone.model_.generator_state


@every_learner
def test_a_call_that_fails_does_not_mix_learners_that_share(name):
    X, y = np.array([[1.0, 2.0], [-1.0, 1.0], [2.0, -1.0]]), [0, 1, 1]
    learner = LEARNERS[name](random_state=3).fit(X, y)
    other = learner.using("last")
    before = other.decision_function(X).copy()
    with pytest.raises(DataError, match="too large"):
        learner.partial_fit([[1e300, 1e300]], [0])
    learner.partial_fit(-X, y)
    np.testing.assert_array_equal(other.using("last").decision_function(X), before)


def test_using_what_was_not_kept_is_an_error():
    X, y = [[1.0], [-1.0]], [0, 1]
    for keep, wanted in (("last", "average"), ("last", "vote"), ("average", "vote")):
        with pytest.raises(ValueError, match="not kept"):
            Perceptron(keep=keep).fit(X, y).using(wanted)


# Weights of examples


@every_kind
@given(data=st.data())
def test_a_row_without_weight_is_a_row_that_is_absent(name, data):
    X, y = data.draw(real_numbers(least=8))
    how = data.draw(settings_for(name))
    absent = data.draw(st.lists(st.booleans(), min_size=len(y), max_size=len(y)).map(np.array))
    assume(set(y[~absent]) == set(y))
    form = data.draw(st.sampled_from((np.asarray, csr)))
    weighed = LEARNERS[name](**how).fit(form(X), y, sample_weight=(~absent).astype(float))
    without = LEARNERS[name](**how).fit(form(X[~absent]), y[~absent])
    assert_same(weighed, without, form(X))


@pytest.mark.parametrize("weight", [0.25, 2.0])
@every_kind
@given(data=st.data())
def test_weight_k_is_k_times_the_step_or_the_cap(name, weight, data):
    X, y = data.draw(real_numbers())
    how = data.draw(settings_for(name))
    if name == "logistic-l2":  # with a penalty a longer step also shrinks the weights more
        how["l2"] = 0.0
    learner = LEARNERS[name](**how)
    params = learner.get_params()
    rule = params.get("rule", "logistic")
    if rule != "pa":  # it steps as far as it must, whatever an error costs
        parameter = "C" if rule in ("pa1", "pa2") else "eta"
        first, *power = np.ravel(params[parameter]).tolist()  # eta may decay by a power
        how[parameter] = (first * weight, *power) if power else first * weight
    weighed = learner.fit(X, y, sample_weight=np.full(len(y), weight))
    assert_same(weighed, LEARNERS[name](**how).fit(X, y), X)


@given(data=st.data())
def test_weight_k_of_one_row_is_a_k_times_longer_step_on_it(data):
    X, y = data.draw(whole_numbers(classes=2))
    k = data.draw(st.lists(st.integers(1, 5), min_size=len(y), max_size=len(y)))
    learner = Perceptron(shuffle=False, epochs=1, keep="last", fit_intercept=True)
    learner.fit(X, y, sample_weight=k)
    signs = [2 * int(code) - 1 for code in y]
    run = naive.online(naive.extend(X.tolist()), signs, price=[float(weight) for weight in k])
    np.testing.assert_array_equal(np.append(learner.coef_, learner.intercept_), run.hypotheses[-1])


@every_learner
@tries(5)
@given(data=st.data())
def test_a_class_weight_is_the_weight_of_its_examples(name, data):
    X, y = data.draw(real_numbers())
    how = data.draw(settings_for(name))
    weight_of = {0: 2.0, 1: 0.5}
    learner = LEARNERS[name](**how, class_weight=weight_of)
    if getattr(learner, "rule", None) == "pa":  # its steps have no cost
        with pytest.raises(ValueError, match=r"class_weight=.* has no effect with rule='pa'"):
            learner.fit(X, y)
        return
    by_class = learner.fit(X, y)
    by_row = LEARNERS[name](**how).fit(X, y, sample_weight=[weight_of.get(c, 1.0) for c in y])
    assert_same(by_class, by_row, X)


# Continued training


@every_kind
@given(data=st.data())
def test_a_warm_start_goes_on_where_fit_ended(name, data):
    X, y = data.draw(real_numbers())
    how = data.draw(settings_for(name))
    once = LEARNERS[name](**{**how, "epochs": 5}).fit(X, y)
    assume(once.n_iter_ == 5)
    twice = LEARNERS[name](**{**how, "epochs": 2, "warm_start": True}).fit(X, y)
    twice.set_params(epochs=3).fit(X, y)
    np.testing.assert_array_equal(once.coef_, twice.coef_)
    np.testing.assert_array_equal(once.intercept_, twice.intercept_)
    np.testing.assert_array_equal(once.decision_function(X), twice.decision_function(X))


@every_learner
@tries(5)
@given(data=st.data())
def test_a_fit_that_fails_leaves_the_learner_as_it_was(name, data):
    X, y = data.draw(real_numbers(classes=2))
    how = data.draw(settings_for(name, warm_start=True))
    learner = LEARNERS[name](**how).fit(X, y)
    before = learner.decision_function(X).copy()
    bad = X.copy()
    bad[-1, 0] = np.nan
    with pytest.raises(DataError):
        learner.fit(bad, np.arange(len(y)) % 3)  # also with a new class
    np.testing.assert_array_equal(learner.classes_, [0, 1])
    np.testing.assert_array_equal(learner.decision_function(X), before)


def test_what_is_kept_cannot_silently_change_between_warm_starts():
    X, y = np.array([[1.0, 2.0], [-1.0, 1.0], [2.0, -1.0]]), [0, 1, 1]
    learner = Perceptron(keep="last", warm_start=True, shuffle=False).fit(X, y)
    learner.set_params(keep="average")
    with pytest.raises(ValueError, match="keep"):
        learner.fit(X, y)
    with pytest.raises(ValueError, match="keep"):
        learner.partial_fit(X, y)


CHANGES = [
    (Perceptron, {}, {"multiclass": "ovr"}),
    (Perceptron, {"fit_intercept": 1.0}, {"fit_intercept": 4.0}),
    (Perceptron, {"fit_intercept": False}, {"fit_intercept": True}),
    (OnlineLogistic, {"eta": 0.1}, {"eta": "auto"}),
    (OnlineLogistic, {"keep": "vote"}, {"keep": "average", "l2": 0.01}),
]


@pytest.mark.parametrize(("make", "before", "after"), CHANGES, ids=str)
def test_what_is_learned_from_cannot_silently_change_between_calls(make, before, after):
    X, y = np.array([[1.0, 2.0], [-1.0, 1.0], [2.0, -1.0]]), [0, 1, 1]
    learner = make(warm_start=True, random_state=0, **before).fit(X, y)
    (name, value), scores = list(after.items())[-1], learner.decision_function(X)
    learner.set_params(**after)
    for call in (learner.fit, learner.partial_fit):
        with pytest.raises(ValueError, match=f"{name}={value!r} cannot continue"):
            call(X, y)
    np.testing.assert_array_equal(learner.decision_function(X), scores)
    stream = make(random_state=0, **before)
    for x, label in zip(X.tolist(), y, strict=True):
        stream.learn_one({"a": x[0], "b": x[1]}, label)
    label = stream.predict_one({"a": 1.0})
    stream = copy.deepcopy(stream).set_params(**after)
    with pytest.raises(ValueError, match=f"{name}={value!r} cannot continue"):
        stream.learn_one({"a": 1.0}, 1)
    assert stream.predict_one({"a": 1.0}) == label


def test_an_epoch_without_an_update_is_the_last():
    X, y = [[1.0], [-1.0]], [1, 0]
    learner = Perceptron(epochs=50, fit_intercept=False).fit(X, y)
    assert learner.history_.stopped == "no mistakes"
    assert learner.history_["mistakes"].tolist()[-1] == 0
    assert learner.n_iter_ < 50


def test_a_proof_of_inseparability_is_given_only_where_it_holds():
    exclusive_or = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner = Perceptron(shuffle=False, epochs=50).fit(exclusive_or, [0, 1, 1, 0])
        inexact = Perceptron(shuffle=False, epochs=50).fit(exclusive_or * 0.1, [0, 1, 1, 0])
        thirds = Perceptron(shuffle=False, epochs=50, fit_intercept=1 / 3)
        thirds.fit(exclusive_or, [0, 1, 1, 0])
    assert learner.history_.cycle.proof
    assert inexact.history_.cycle is None or not inexact.history_.cycle.proof
    assert not thirds.history_.cycle.proof  # the constant feature was rounded


@given(data=st.data())
def test_a_history_survives_being_written_down(data):
    X, y = data.draw(real_numbers())
    history = Perceptron(epochs=3, random_state=0).fit(X, y).history_
    assert History.from_dict(history.to_dict()) == history


def test_passive_aggressive_is_the_perceptron_with_that_rule():
    X, y = np.random.default_rng(0).normal(size=(30, 4)), np.arange(30) % 3
    for how in ({"rule": "pa"}, {"rule": "pa1", "C": 0.3}, {"rule": "pa2", "C": 0.3}):
        one = PassiveAggressive(**how, random_state=0).fit(X, y)
        other = Perceptron(**how, random_state=0).fit(X, y)
        assert_same(one, other, X)


# Kernel machines and SVMs

each_machine = pytest.mark.parametrize("name", MACHINES)
two_or_three = pytest.mark.parametrize("classes", [2, 3])


def few_examples(classes, n=24):
    """Small whole numbers, some zero, and labels that no hyperplane separates."""
    rng = np.random.default_rng(classes)
    return rng.integers(-2, 3, (n, 3)).astype(float), rng.permutation(np.arange(n) % classes)


def rounding_of(name):
    """How far apart scores may be when sums are computed in another order."""
    return 1e-4 if "svm" in name else 1e-10  # SVMs stop close to the optimum, each in its own way


def assert_same_answers(one, other, X, other_X=None):
    other_X = X if other_X is None else other_X
    assert one.classes_.tolist() == other.classes_.tolist()
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(other_X))
    np.testing.assert_array_equal(one.predict(X), other.predict(other_X))


@each_machine
@two_or_three
def test_machines_learn_the_same_from_sparse_and_dense_rows(name, classes):
    X, y = few_examples(classes)
    dense, sparse = MACHINES[name]().fit(X, y), MACHINES[name]().fit(csr(X), y)
    assert_close_scores(dense, sparse, X, csr(X), rounding_of(name))
    assert_close_scores(dense, dense, X, csr(X))


@each_machine
@two_or_three
def test_machines_learn_the_same_however_the_rows_are_stored(name, classes):
    X, y = few_examples(classes)
    narrow, dense = MACHINES[name]().fit(csr(X), y), MACHINES[name]().fit(X, y)
    assert_same_answers(narrow, MACHINES[name]().fit(int64(X), y), csr(X), int64(X))
    bad = scrambled(X, np.random.default_rng(0))
    assert_close_scores(narrow, MACHINES[name]().fit(bad, y), csr(X), bad, rounding_of(name))
    for other in (X.tolist(), np.asfortranarray(X), pandas.DataFrame(X, columns=list("abc"))):
        assert_same_answers(dense, MACHINES[name]().fit(other, y), X, other)


@each_machine
@two_or_three
@pytest.mark.parametrize("form", [np.asarray, csr])
def test_machines_learn_the_same_with_many_threads(name, classes, form):
    X, y = few_examples(classes, n=60)
    one, four = (MACHINES[name](n_jobs=jobs).fit(form(X), y) for jobs in (1, 4))
    assert_same_answers(one, four, form(X))


@each_machine
@two_or_three
def test_machines_learn_the_same_with_the_same_seed(name, classes):
    X, y = few_examples(classes)
    how = {"shuffle": True} if name.startswith("kernel-perceptron") else {}
    assert_same_answers(*(MACHINES[name](**how).fit(X, y) for _ in range(2)), X)


@each_machine
@pytest.mark.parametrize("kind", LABELS)
def test_machines_come_back_from_a_file(name, kind, tmp_path):
    X, y = few_examples(2 if kind == "bool" else 3)
    saved = MACHINES[name]().fit(X, LABELS[kind][y])
    saved.save(tmp_path / "machine.wm")
    loaded = load(tmp_path / "machine.wm")
    assert type(loaded) is type(saved)
    assert loaded.get_params() == saved.get_params()
    assert loaded.classes_.dtype == saved.classes_.dtype
    assert_same_answers(saved, loaded, X)


@each_machine
@two_or_three
def test_machines_predict_the_best_score(name, classes):
    X, y = few_examples(classes)
    machine = MACHINES[name]().fit(X, y)
    found = machine.decision_function(X)
    best = (found >= 0).astype(int) if found.ndim == 1 else np.argmax(found, axis=1)
    np.testing.assert_array_equal(machine.predict(X), machine.classes_[best])


@each_machine
@two_or_three
def test_machines_weigh_a_class_by_its_examples(name, classes):
    X, y = few_examples(classes)
    weight_of = {0: 2.0, 1: 0.5}
    by_class = MACHINES[name](class_weight=weight_of).fit(X, y)
    by_row = MACHINES[name]().fit(X, y, sample_weight=[weight_of.get(c, 1.0) for c in y])
    assert_same_answers(by_class, by_row, X)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("form", [np.asarray, csr])
@each_machine
def test_machines_refuse_what_is_not_a_finite_number(name, form, bad):
    X, y = few_examples(3)
    good = MACHINES[name]().fit(form(X), y)
    before = good.decision_function(form(X))
    wrong = X.copy()
    wrong[2, 1] = bad
    # Kernel machines leave this check to scikit-learn, which does not name the place.
    told = "row 2, column 1" if name.startswith("linear") else "NaN|infinity"
    for attempt in (lambda: good.fit(form(wrong), y), lambda: good.predict(form(wrong))):
        with pytest.raises(ValueError, match=told):
            attempt()
    np.testing.assert_array_equal(good.decision_function(form(X)), before)
