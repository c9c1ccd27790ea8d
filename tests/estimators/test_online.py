"""Learning and asking one example at a time: copies, threads, files, and every refusal."""

import copy
import io
import pickle
import threading
import warnings

import joblib
import numpy as np
import pandas
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from widemargin import DataError, OnlineLogistic, PassiveAggressive, Perceptron, load

NAMES = [f"x{j}" for j in range(12)]
LEARNERS = {
    "two classes": (lambda: Perceptron(), 2),
    "jointly": (lambda: PassiveAggressive(C=0.5), 4),
    "one against the rest": (lambda: Perceptron(multiclass="ovr", keep="last"), 4),
    "penalty": (lambda: OnlineLogistic(eta=0.1, l2=1e-3), 3),
    "vote": (lambda: Perceptron(keep="vote"), 3),
}
every_learner = pytest.mark.parametrize(("make", "classes"), LEARNERS.values(), ids=LEARNERS)


def examples(n, classes, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, len(NAMES)))
    y = np.argmax(X @ rng.normal(size=(len(NAMES), classes)) + rng.normal(size=classes), axis=1)
    return [dict(zip(NAMES, row, strict=True)) for row in X.tolist()], y.tolist(), X, y


def learned(learner, dicts, labels):
    for x, y in zip(dicts, labels, strict=True):
        learner.learn_one(x, y)
    return learner


def assert_same(one, other):
    for kept in ("W", "U", "clock"):
        np.testing.assert_array_equal(
            getattr(one.model_.state, kept), getattr(other.model_.state, kept)
        )
    assert one.history_.epochs == other.history_.epochs
    assert one.classes_.tolist() == other.classes_.tolist()
    assert one.n_features_in_ == other.n_features_in_


def through_joblib(learner):
    file = io.BytesIO()
    joblib.dump(learner, file)
    file.seek(0)
    return joblib.load(file)


def through_a_file(learner, folder):
    learner.save(folder / "model.wm")
    return load(folder / "model.wm")


COPIES = {
    "pickle": lambda learner, folder: pickle.loads(pickle.dumps(learner)),
    "joblib": lambda learner, folder: through_joblib(learner),
    "deepcopy": lambda learner, folder: copy.deepcopy(learner),
    "file": through_a_file,
}


@every_learner
@pytest.mark.parametrize("way", COPIES)
def test_a_copy_goes_on_to_the_same_bits_and_leaves_the_original_alone(
    make, classes, way, tmp_path
):
    dicts, labels, _, _ = examples(120, classes)
    whole = learned(make(), dicts, labels)
    half = learned(make(), dicts[:60], labels[:60])
    before = half.coef_.copy()
    other = COPIES[way](half, tmp_path)
    learned(other, dicts[60:], labels[60:])
    assert_same(other, whole)
    np.testing.assert_array_equal(half.coef_, before)
    assert_same(learned(half, dicts[60:], labels[60:]), whole)


@every_learner
def test_a_clone_starts_from_nothing(make, classes):
    dicts, labels, _, _ = examples(60, classes)
    learner = learned(make(), dicts, labels)
    assert_same(learned(clone(learner), dicts, labels), learner)


@every_learner
def test_what_is_learned_shows_at_once(make, classes):
    dicts, labels, _, _ = examples(80, classes)
    watched, alone = make(), make()
    for i, (x, y) in enumerate(zip(dicts, labels, strict=True)):
        watched.learn_one(x, y)
        _ = watched.coef_, watched.history_, watched.mistakes_, watched.predict_one(x)
        alone.learn_one(x, y)
        if i == 40:
            assert_same(watched, alone)
    assert_same(watched, alone)


def test_a_hypothesis_that_is_shared_does_not_change_when_the_learner_goes_on():
    dicts, labels, _, _ = examples(90, 3)
    learner = learned(Perceptron(), dicts[:60], labels[:60])
    other = learner.using("last")
    weights, mistakes = other.coef_.copy(), other.mistakes_
    assert other.predict_one(dicts[0]) in labels
    learned(learner, dicts[60:], labels[60:])
    np.testing.assert_array_equal(other.coef_, weights)
    assert other.mistakes_ == mistakes
    assert_same(learner, learned(Perceptron(), dicts, labels))


@pytest.mark.parametrize("keep", ["last", "average", "vote"])
def test_learners_that_share_what_was_learned_have_their_own_names_and_weights(keep):
    dicts, labels, _, _ = examples(90, 2)
    learner = learned(Perceptron(keep=keep), dicts[:60], labels[:60])
    both = learner.using("last"), learner.with_threshold(0.5)
    before = [other.model_.state.copy() for other in both]
    names = list(learner.model_.feature_names)
    learned(learner, [{**x, "later": 1.0} for x in dicts[60:]], labels[60:])
    for other, state in zip(both, before, strict=True):
        for name, array in state.arrays().items():
            np.testing.assert_array_equal(other.model_.state.arrays()[name], array)
        assert other.model_.feature_names == names
        assert other.predict_one({**dicts[0], "later": 100.0}) == other.predict_one(dicts[0])


def test_a_prediction_between_a_change_of_parameters_and_learning_changes_nothing():
    dicts, labels, _, _ = examples(60, 2)
    asked, alone = (learned(Perceptron(eta=1.0), dicts[:30], labels[:30]) for _ in range(2))
    for learner in (asked, alone):
        learner.set_params(eta=0.5)
    assert asked.predict_one(dicts[0]) in labels
    for learner in (asked, alone):
        learned(learner, dicts[30:], labels[30:])
        assert learner.model_.params["eta"] == 0.5
        assert learner.history_.no_bound == "the step size changed"
    assert_same(asked, alone)


def run_in_threads(work, threads=4):
    found = [None] * threads

    def run(number):
        found[number] = work()

    workers = [threading.Thread(target=run, args=[number]) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return found


@every_learner
def test_several_threads_are_answered_as_one(make, classes):
    dicts, labels, X, y = examples(80, classes)
    stream = learned(make(), dicts, labels)
    stream = pickle.loads(pickle.dumps(stream))  # which is not ready for questions yet
    shuffled = [dict(sorted(x.items(), key=lambda item: hash(item))) for x in dicts]
    expected = [stream.predict_one(x) for x in dicts + shuffled]
    stream = pickle.loads(pickle.dumps(stream))
    for found in run_in_threads(lambda: [stream.predict_one(x) for x in dicts + shuffled]):
        assert found == expected
    array = make().partial_fit(X, y)
    expected = array.predict(X).tolist()
    array = pickle.loads(pickle.dumps(array))
    for found in run_in_threads(lambda: [array.predict(X[i : i + 1])[0] for i in range(len(X))]):
        assert found == expected


# What is not the same twenty numbers


def test_strings_new_names_and_other_orders_are_learned_from_as_before():
    stream, expected = Perceptron(), Perceptron()
    odd = [
        {"a": 1.0, "b": 2},
        {"b": 1.0, "a": True},
        {"colour": "red", "a": np.float32(0.5)},
        {"a": "b=c", "a=b": "c"},  # the same name twice
        {},
        {"new": 1.0},
    ]
    for x in odd * 5:
        stream.learn_one(x, len(x) % 2)
        expected.learn_one(copy.deepcopy(x), len(x) % 2)
        expected = pickle.loads(pickle.dumps(expected))  # makes ready again at every step
    assert_same(stream, expected)
    assert stream.n_features_in_ == len(stream.model_.feature_names) == 5
    assert [stream.predict_one(x) for x in odd] == [expected.predict_one(x) for x in odd]


@pytest.mark.parametrize("known", [False, True])
def test_what_is_not_an_example_is_refused_and_says_what_is(known):
    learner = Perceptron()
    if known:
        learner.learn_one({"a": 1.0}, "x").learn_one({"b": 1.0}, "y").learn_one({"a": 2.0}, "x")
    else:
        with pytest.raises(NotFittedError, match="call fit, partial_fit or learn_one first"):
            learner.predict_one({"a": 1.0})
    for bad in ([1, 2], "text"):
        with pytest.raises(
            DataError, match=f"a dict of names and values, found {type(bad).__name__}"
        ):
            learner.learn_one(bad, "x")
        if known:
            with pytest.raises(DataError, match="a dict of names and values"):
                learner.predict_one(bad)
    if known:
        assert learner.predict_one({"a": 1.0}) == "x"


def test_a_name_that_comes_twice_counts_once_in_the_norm():
    one, other = PassiveAggressive(rule="pa"), PassiveAggressive(rule="pa")
    for learner, second in ((one, {"a": "b", "a=b": 1.0}), (other, {"a=b": 2.0})):
        learner.learn_one({"c": 1.0}, 0).learn_one({"c": -1.0}, 1)
        learner.learn_one(second, 0).learn_one({"a=b": 1.0}, 1)
    np.testing.assert_allclose(one.coef_[:, :2], other.coef_[:, :2], rtol=1e-12)


def test_labels_of_other_types_are_those_of_the_classes():
    stream = Perceptron().learn_one({"a": 1.0}, 0).learn_one({"a": -1.0}, 1)
    for label in (True, np.int32(1), np.int64(0), 1):
        stream.learn_one({"a": 1.0}, label).learn_one({"a": 0.5}, label)
    assert stream.classes_.tolist() == [0, 1]
    assert stream.classes_.dtype.kind == "i"
    assert type(stream.predict_one({"a": 1.0})) is int
    words = Perceptron().learn_one({"a": 1.0}, np.str_("no")).learn_one({"a": -1.0}, "yes")
    assert words.predict_one({"a": -9.0}) == "yes"


def test_class_weights_count_in_streams_as_in_partial_fit():
    dicts, labels, X, _ = examples(60, 3)
    weights = {0: 3.0, 1: 0.5}
    stream = learned(PassiveAggressive(C=0.1, class_weight=weights), dicts, labels)
    rows = PassiveAggressive(C=0.1)
    for x, y in zip(X, labels, strict=True):
        rows.partial_fit(scipy.sparse.csr_matrix(x[None]), [y], sample_weight=[weights.get(y, 1.0)])
    np.testing.assert_array_equal(stream.coef_, rows.coef_)
    without = [(x, y) for x, y in zip(dicts, labels, strict=True) if y != 1]
    skipped = Perceptron(class_weight={1: 0.0}).learn_one(*without[0])
    kept = Perceptron().learn_one(*without[0])
    skipped.learn_one(dicts[labels.index(1)], 1)
    assert skipped.mistakes_ == 0
    assert skipped.model_.state.seen == kept.model_.state.seen
    with pytest.raises(ValueError, match="class_weight='balanced' needs all examples at once"):
        Perceptron(class_weight="balanced").learn_one({"a": 1.0}, 0)
    stream.set_params(class_weight="balanced")
    assert stream.predict_one(dicts[0]) in (0, 1, 2)
    with pytest.raises(ValueError, match="finite, nonnegative"):
        learned(Perceptron(class_weight={0: -1.0}), *examples(9, 2)[:2])


@pytest.mark.parametrize("max_seconds", [None, 1e9])  # without the epoch driver, and with it
def test_class_weights_may_name_classes_that_come_later(max_seconds):
    X, y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], ["ham", "eggs", "ham"]
    weights = {"spam": 5.0, "ham": 2.0}
    learner = Perceptron(class_weight=weights, max_seconds=max_seconds, shuffle=False)
    learner.partial_fit(X, y).partial_fit(X, ["spam", "ham", "eggs"])
    priced = Perceptron(shuffle=False)
    for labels in (y, ["spam", "ham", "eggs"]):
        priced.partial_fit(X, labels, sample_weight=[weights.get(label, 1.0) for label in labels])
    np.testing.assert_array_equal(learner.coef_, priced.coef_)
    with pytest.raises(ValueError, match="'spam', which is not a class"):
        Perceptron(class_weight=weights).fit(X, y)


# Refusals, also when everything was made ready before


@pytest.fixture
def stream():
    return learned(Perceptron(), *examples(30, 2)[:2])


@pytest.mark.parametrize("value", [float("nan"), float("inf"), np.float32("nan")])
@pytest.mark.parametrize("name", ["x3", "never seen"])
def test_values_that_are_not_finite_are_refused_by_name(stream, value, name):
    before = stream.coef_.copy()
    for ask in (lambda x: stream.learn_one(x, 1), stream.predict_one):
        with pytest.raises(DataError, match=f"feature '{name}' is (nan|inf): only finite"):
            ask({"x0": 1.0, name: value})
    np.testing.assert_array_equal(stream.coef_[:, : before.shape[1]], before)


def test_values_too_large_for_their_score_are_refused(stream):
    with pytest.raises(DataError, match="row 0: its score or norm is too large for a float"):
        stream.learn_one({"x0": 1e308, "x1": 1e308, "x2": 1e308, "x3": -1e308}, 1)


def test_labels_that_are_none_are_refused(stream):
    for label in (None, float("nan"), 0.5, [1], "word"):
        with pytest.raises(DataError):
            stream.learn_one({"x0": 1.0}, label)
    assert stream.classes_.tolist() == [0, 1]


def test_values_that_are_no_numbers_are_refused(stream):
    for value in (None, 1j, [1.0]):
        with pytest.raises(DataError, match=r"feature 'x0' is .*: expected a number or a string"):
            stream.learn_one({"x0": value}, 1)
        with pytest.raises(DataError, match="expected a number or a string"):
            stream.predict_one({"x0": value})


def test_parameters_are_validated_again_when_they_change(stream):
    with pytest.raises(ValueError, match="eta"):
        stream.set_params(eta=-1.0).learn_one({"x0": 1.0}, 1)
    stream.eta = 1.0
    stream.learn_one({"x0": 1.0}, 1)
    with pytest.raises(ValueError, match="keep='vote' cannot continue"):
        stream.set_params(keep="vote").learn_one({"x0": 1.0}, 1)
    dicts, labels, X, y = examples(40, 2)
    slow, changed = Perceptron(eta=0.5), Perceptron(eta=1.0)
    learned(slow, dicts[:20], labels[:20])
    learned(changed, dicts[:20], labels[:20]).set_params(eta=0.5)
    weights = changed.coef_.copy()
    assert not np.array_equal(weights, slow.coef_)
    assert learned(changed, dicts[20:], labels[20:]).model_.params["eta"] == 0.5
    rows = Perceptron().partial_fit(X, y)
    with pytest.raises(ValueError, match="tol"):
        rows.set_params(tol=-1.0).partial_fit(X[:1], y[:1])


@pytest.fixture
def rows():
    _, _, X, y = examples(30, 2)
    return Perceptron().partial_fit(X, y).partial_fit(X, y), X, y


def bad_rows(X, y):
    """What `partial_fit` refuses, and a part of what it says."""
    nan, infinite = X[:2].copy(), X[:2].copy()
    nan[1, 3], infinite[0, 0] = np.nan, np.inf
    sparse = scipy.sparse.csr_matrix(nan)
    return {
        "NaN": (nan, y[:2], r"contains NaN \(row 1, column 3\)"),
        "infinity": (infinite, y[:2], r"contains infinity \(row 0, column 0\)"),
        "sparse NaN": (sparse, y[:2], r"contains NaN \(row 1, column 3\)"),
        "narrow": (X[:1, :5].copy(), y[:1], "5 features.*expecting 12"),
        "wide": (np.ones((1, 13)), y[:1], "13 features.*expecting 12"),
        "sparse, wide": (scipy.sparse.csr_matrix((1, 13)), y[:1], "13 features.*expecting 12"),
        "one dimension": (X[0], y[:1], "Expected 2D array"),
        "nothing": (X[:0], y[:0], "minimum of 1"),
        "too few labels": (X[:2], y[:1], "inconsistent numbers of samples"),
        "too few labels in a list": (X[:2], [1], "inconsistent numbers of samples"),
        "measurements": (X[:2], np.array([0.5, 1.5]), "continuous"),
        "label missing": (X[:2], np.array([0.0, np.nan]), "NaN"),
        "labels of two kinds": (X[:2], np.array(["a", "b"]), "do not mix"),
    }


@pytest.mark.parametrize("what", bad_rows(*examples(3, 2)[2:]))
def test_rows_are_refused_as_before(rows, what):
    learner, X, y = rows
    bad, labels, told = bad_rows(X, y)[what]
    with pytest.raises(ValueError, match=told):
        learner.partial_fit(bad, labels)


def test_questions_are_refused_as_before(rows):
    learner, X, _ = rows
    nan = X[:1].copy()
    nan[0, 2] = np.nan
    for bad, told in (
        (nan, r"contains NaN \(row 0, column 2\)"),
        (X[:1, :3].copy(), "3 features.*expecting 12"),
        (X[0], "Expected 2D array"),
        (X[:0], "minimum of 1"),
    ):
        with pytest.raises(ValueError, match=told):
            learner.predict(bad)
    wrong = scipy.sparse.csr_matrix(X[:1])
    wrong.indices[0] = 99
    with pytest.raises(DataError, match="column index lies outside"):
        learner.predict(wrong)


def test_names_of_columns_are_checked_as_before():
    _, _, X, y = examples(30, 2)
    table = pandas.DataFrame(X, columns=NAMES)
    learner = Perceptron().partial_fit(table, y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        learner.partial_fit(X[:1], y[:1])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        learner.predict(X[:1])
    with pytest.raises(ValueError, match="feature names should match"):
        learner.predict(table[NAMES[::-1]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner.partial_fit(table[:1], y[:1]).predict(table[:1])


def test_labels_in_other_forms_are_learned_as_before(rows):
    _, X, y = rows
    learners = []
    for form in (np.asarray, list, lambda y: [int(v) for v in y], pandas.Series, np.int32):
        learner = Perceptron(shuffle=False).partial_fit(X, y)
        learners.append(learner.partial_fit(X[:3], form(y[:3])))
    for learner in learners[1:]:
        np.testing.assert_array_equal(learner.coef_, learners[0].coef_)
        assert learner.classes_.dtype == learners[0].classes_.dtype
    words = np.array(["no", "yes"])[y]
    learner = Perceptron().partial_fit(X, words).partial_fit(X[:2], ["maybe", "no"])
    assert learner.classes_.tolist() == ["maybe", "no", "yes"]


@every_learner
def test_names_that_are_not_known_are_left_out_until_they_are_learned(make, classes):
    dicts, labels, _, _ = examples(80, classes)
    asked, alone = learned(make(), dicts, labels), learned(make(), dicts, labels)
    for x, y in zip(dicts[:20], labels, strict=False):
        more = {"before": 2.0, **x, "after": -1.0}
        assert asked.predict_one({**x, "never": 3.0}) == asked.predict_one(x)
        asked.predict_one(more)  # whose names are not known the first time, and known later
        asked.learn_one(more, y)
        alone.learn_one(more, y)
        assert asked.predict_one(more) == alone.predict_one(dict(more))
    assert asked.predict_one({"never": 1.0}) == alone.predict_one({})
    assert_same(asked, alone)


def test_a_name_becomes_known_beside_a_string():
    learner = learned(Perceptron(keep="last"), [{"a": 1.0}, {"a": -1.0}] * 4, ["yes", "no"] * 4)
    assert learner.predict_one({"a": 3.0, "b": 9.0}) == "yes"
    for _ in range(5):
        learner.learn_one({"b": 1.0, "kind": "x"}, "no")
    assert learner.predict_one({"a": 3.0}) == "yes"
    assert learner.predict_one({"a": 3.0, "b": 9.0}) == "no"


def test_a_value_that_is_refused_leaves_its_new_name_out():
    learner = learned(Perceptron(), [{"a": 1.0}, {"a": -1.0}], ["yes", "no"])
    with pytest.raises(DataError, match="'b'"):
        learner.learn_one({"b": np.nan}, "yes")
    assert learner.n_features_in_ == 1
    assert learner.learn_one({"c": 1.0}, "yes").n_features_in_ == 2


@pytest.mark.parametrize("threshold", [-20.0, 0.5, 20.0])
def test_a_threshold_decides_about_dicts_as_about_rows(threshold):
    dicts, labels, X, y = examples(80, 2)
    stream = learned(Perceptron(), dicts, labels).with_threshold(threshold)
    rows = Perceptron()
    for i in range(len(X)):
        rows.partial_fit(X[i : i + 1], y[i : i + 1])
    rows = rows.with_threshold(threshold)
    assert [stream.predict_one(x) for x in dicts] == rows.predict(X).tolist()
    # Where it goes on learning, the threshold is kept.
    rows.partial_fit(X[:1], y[:1])
    learned(stream, dicts[:1], labels[:1])
    assert [stream.predict_one(x) for x in dicts] == rows.predict(X).tolist()


def test_a_refused_example_leaves_nothing_behind(tmp_path):
    p = PassiveAggressive(fit_intercept=False)
    p.learn_one({"a": 1.0}, 0).learn_one({"a": -1.0}, 1)
    many = {f"n{j}": 1.0 for j in range(50)}
    for bad, label in (
        ({"b": 1.0, "c": 2.0, "d": None}, 1),
        ({"b": 1.0, "c": "red", "d": np.nan}, 1),
        (many, 3.5),
        (many, None),
        ({**many, "big": 1e200}, 2),  # its square is infinite
    ):
        with pytest.raises(DataError):
            p.learn_one(bad, label)
        assert p.predict_one({**many, "a": 1.0}) == 0
        p.save(tmp_path / "p.wm")
        assert load(tmp_path / "p.wm").predict_one({**many, "a": 1.0}) == 0
    assert p.model_.feature_names == ["a"]
    p.learn_one({**many, "a": 1.0}, 0)
    assert p.n_features_in_ == 51


def test_files_with_the_names_of_refused_examples_load(tmp_path):
    p = Perceptron(fit_intercept=False).learn_one({"a": 1.0}, 0).learn_one({"a": -1.0}, 1)
    p.model_.feature_names.append("b")
    p.save(tmp_path / "p.wm")
    again = load(tmp_path / "p.wm")
    assert again.predict_one({"b": 1.0, "a": 1.0}) == 0
    again.learn_one({"b": 1.0}, 1)


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_matrix])
def test_wider_numbers_in_later_calls(form, tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 4))
    y = (X @ [1.0, 2.0, -1.0, 0.5] > 0).astype(int)
    p = Perceptron(keep="vote", random_state=0)
    p.partial_fit(form(X[:30].astype(np.float32)), y[:30], classes=[0, 1])
    narrow = p.model_.state.start.astype(np.float32)
    p.partial_fit(form(X[30:]), y[30:])
    p.save(tmp_path / "p.wm")
    p.model_.state.start = narrow  # as version 0.1 left it
    p.save(tmp_path / "old.wm")
    for name in ("p.wm", "old.wm"):
        again = load(tmp_path / name)
        assert again.decision_function(X).tolist() == p.decision_function(X).tolist()
        again.partial_fit(form(X), y)
