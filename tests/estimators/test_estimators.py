"""scikit-learn's own checks, and the estimators in scikit-learn's company."""

import signal
import threading
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scikit_learn_checks import NEARLY, ORDER, scikit_learn_checks, unequal
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import widemargin
from widemargin import (
    HashedText,
    KernelSVM,
    LinearSVM,
    OnlineLogistic,
    Parser,
    PassiveAggressive,
    Perceptron,
    StructuredPerceptron,
    TableClassifier,
    Tagger,
    TextClassifier,
)
from widemargin.structured.tasks import Tagging

LEARNERS = [
    Perceptron(random_state=0),
    Perceptron(keep="last", multiclass="ovr", random_state=0),
    Perceptron(keep="vote", random_state=0),
    Perceptron(batch=8, shuffle="rows", random_state=0),
    PassiveAggressive(random_state=0),
    OnlineLogistic(random_state=0),
    OnlineLogistic(l2=1e-4, eta=(1.0, 0.5), multiclass="ovr", random_state=0),
]
SVMS = [
    LinearSVM(random_state=0),
    LinearSVM(loss="squared_hinge", bias="free", random_state=0),
    LinearSVM(multiclass="joint", random_state=0),
]
#: One of each class for the plain run; CI takes the others, too.
FIRST = {type(learner): learner for learner in reversed([*LEARNERS, *SVMS])}.values()
each_class = pytest.mark.parametrize(
    "learner",
    [
        pytest.param(learner, marks=() if learner in FIRST else pytest.mark.exhaustive)
        for learner in [*LEARNERS, *SVMS]
    ],
    ids=str,
)
ONLINE = unequal(ORDER)


@scikit_learn_checks(
    *((learner, ONLINE) for learner in LEARNERS),
    (SVMS[0], {}),
    (SVMS[1], {}),
    (SVMS[2], unequal(NEARLY)),
    (TableClassifier(random_state=0), unequal(ORDER, "dense")),
    # These take no numbers, so most checks do not apply.
    *((estimator, {}) for estimator in (TextClassifier(), HashedText(), Tagger(), Parser())),
    (StructuredPerceptron(Tagging(["A", "B"])), {}),
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def digits():
    return load_digits(return_X_y=True)


@each_class
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_works_in_pipelines_searches_and_calibration(learner, digits):
    X, y = digits[0][:600], digits[1][:600]
    pipeline = make_pipeline(StandardScaler(), clone(learner)).set_output(transform="pandas")
    names = [f"pixel{j}" for j in range(64)]
    pipeline.fit(pd.DataFrame(X, columns=names), y)
    assert pipeline[-1].feature_names_in_.tolist() == names
    assert pipeline.score(pd.DataFrame(X, columns=names), y) > 0.9
    search = GridSearchCV(clone(learner), {"epochs": [1, 5]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.8
    calibrated = CalibratedClassifierCV(clone(learner), cv=3).fit(X, y)
    assert np.allclose(calibrated.predict_proba(X).sum(axis=1), 1.0)


def test_sample_weights_are_routed_through_meta_estimators(digits):
    import sklearn

    X, y = digits[0][:300], digits[1][:300]
    weights = np.arange(300) % 2.0
    with sklearn.config_context(enable_metadata_routing=True):
        learner = Perceptron(shuffle=False).set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        routed = make_pipeline(scaler, learner).fit(X, y, sample_weight=weights)
        plain = Perceptron(shuffle=False).fit(StandardScaler().fit_transform(X), y, weights)
        np.testing.assert_array_equal(routed[-1].coef_, plain.coef_)
        learner.set_score_request(sample_weight=False)
        cross_val_score(learner, X, y, params={"sample_weight": weights})


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_pickle_and_joblib_keep_everything(learner, digits, tmp_path):
    import pickle

    import joblib

    X, y = digits[0][:300], digits[1][:300]
    learner = clone(learner).fit(X, y)
    joblib.dump(learner, tmp_path / "learner")
    for copy in (pickle.loads(pickle.dumps(learner)), joblib.load(tmp_path / "learner")):
        np.testing.assert_array_equal(copy.decision_function(X), learner.decision_function(X))
        copy.partial_fit(X, y)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_give_their_names_to_the_explanation(kind):
    X, y = load_iris(return_X_y=True)
    names = ["sepal length", "sepal width", "petal length", "petal width"]
    frame = kind(dict(zip(names, X.T, strict=True)))
    learner = Perceptron(random_state=0).fit(frame, y)
    np.testing.assert_array_equal(learner.coef_, Perceptron(random_state=0).fit(X, y).coef_)
    assert learner.feature_names_in_.tolist() == names
    explained = learner.explain(frame.iloc[:1] if kind is pd.DataFrame else frame[:1])
    assert {reason.feature for reason in explained.reasons} <= {*names, "(bias)"}


@pytest.mark.parametrize("learner", [Perceptron(random_state=0), KernelSVM()])
@pytest.mark.filterwarnings("error")
def test_a_row_of_a_frame_is_explained_by_its_names(learner):
    X, y = load_iris(return_X_y=True, as_frame=True)
    learner.fit(X, y)
    assert str(learner.explain(X.iloc[3])) == str(learner.explain(X.iloc[[3]]))
    with pytest.raises(ValueError, match="feature names"):
        learner.explain(X.iloc[3].rename({"petal width (cm)": "width"}))


def test_an_explanation_adds_up_to_the_lead_and_names_the_mistakes(digits):
    X, y = digits
    learner = Perceptron(keep="vote", random_state=0).fit(X, y).using("last")
    scores = np.sort(learner.decision_function(X[:1])[0])
    explained = learner.explain(X[0], top=65)
    total = sum(reason.share for reason in explained.reasons)
    assert total == pytest.approx(scores[-1] - scores[-2])
    for reason in explained.reasons:
        assert sum(amount for _, amount in reason.mistakes) == pytest.approx(reason.weight)


def test_a_model_that_kept_the_log_answers_as_all_three(digits):
    X, y = digits[0][:500], digits[1][:500]
    voted = Perceptron(keep="vote", random_state=0).fit(X, y)
    for keep in ("last", "average"):
        alone = Perceptron(keep=keep, random_state=0).fit(X, y)
        assert voted.using(keep).keep == keep
        np.testing.assert_array_equal(voted.using(keep).coef_, alone.coef_)
        assert voted.using(keep).using("vote").model_.state is voted.model_.state
    with pytest.raises(ValueError, match="log was not kept"):
        Perceptron(random_state=0).fit(X, y).using("vote")
    with pytest.raises(ValueError, match="average was not kept"):
        Perceptron(keep="last", random_state=0).fit(X, y).using("average")


def test_streams_of_dicts_equal_arrays(digits):
    X, y = digits[0][:200], digits[1][:200]
    stream = Perceptron()
    for x, label in zip(X, y, strict=True):
        stream.learn_one({f"p{j}": v for j, v in enumerate(x)}, int(label))
    array = Perceptron(shuffle=False)
    for x, label in zip(X, y, strict=True):
        array.partial_fit([x], [int(label)])
    assert stream.mistakes_ == array.mistakes_ > 10
    asked = [stream.predict_one({f"p{j}": v for j, v in enumerate(x)}) for x in X]
    assert asked == array.predict(X).tolist()


def test_streams_learn_names_and_strings():
    late = Perceptron()
    for _ in range(3):
        late.learn_one({"a": 1.0}, "x").learn_one({"b": 2.0, "colour": "red"}, "y")
    assert late.predict_one({"a": 1.0}) == "x"
    assert late.predict_one({"colour": "red", "never seen": 5.0}) == "y"
    assert late.n_features_in_ == 3


@pytest.mark.parametrize(
    "kind", [Perceptron, OnlineLogistic, PassiveAggressive, partial(Perceptron, keep="vote")]
)
@pytest.mark.parametrize("classes", [2, 3])
def test_learners_of_dicts_answer_lists_of_dicts(kind, classes, tmp_path):
    X, y = load_iris(return_X_y=True)
    some = y < classes
    names = ("a", "b", "c", "d")
    dicts = [dict(zip(names, x, strict=True)) for x in X[some].tolist()]
    stream = kind(random_state=0)
    for x, label in zip(dicts, y[some].tolist(), strict=True):
        stream.learn_one(x, label)
    asked = [*dicts, {"never seen": 5.0, "b": 1.0}, {}]
    predicted = stream.predict(asked)
    assert predicted.tolist() == [stream.predict_one(x) for x in asked]
    scores = stream.decision_function(asked)
    assert scores.shape == ((len(asked),) if classes == 2 else (len(asked), classes))
    if kind is OnlineLogistic:
        shares = stream.predict_proba(asked)
        np.testing.assert_array_equal(stream.classes_[shares.argmax(axis=1)], predicted)
    assert stream.score(dicts, y[some]) == np.mean(predicted[: len(dicts)] == y[some])
    stream.save(tmp_path / "m.wm")
    loaded = widemargin.load(tmp_path / "m.wm")
    np.testing.assert_array_equal(loaded.decision_function(asked), scores)
    assert stream.predict([]).shape == (0,)
    for other in (dicts[0], [dicts[0], [1.0]], "abcd"):
        with pytest.raises(ValueError, match="pass a list of them, or one to predict_one"):
            stream.predict(other)


def test_streams_and_arrays_do_not_mix():
    X, y = np.eye(4), [0, 1, 0, 1]
    stream = Perceptron().learn_one({"a": 1.0}, 0).learn_one({"b": 1.0}, 1)
    with pytest.raises(ValueError, match="dicts"):
        stream.partial_fit(X, y)
    with pytest.raises(ValueError, match="dicts"):
        stream.predict(X)
    with pytest.raises(ValueError, match="dicts"):
        stream.set_params(warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="arrays"):
        Perceptron().fit(X, y).learn_one({"a": 1.0}, 0)
    with pytest.raises(ValueError, match="arrays"):
        Perceptron().fit(X, y).predict_one({"a": 1.0})


def test_ctrl_c_leaves_what_was_learned_and_is_raised_again(digits):
    X, y = digits
    learner = OnlineLogistic(epochs=10**9, random_state=0)
    before = signal.getsignal(signal.SIGINT)
    threading.Timer(1.0, signal.raise_signal, [signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        learner.fit(X / 16, y)
    assert signal.getsignal(signal.SIGINT) is before
    assert learner.history_.stopped == "interrupted"
    assert learner.score(X / 16, y) > 0.9


def test_a_deadline_leaves_what_was_learned(digits):
    X, y = digits
    learner = OnlineLogistic(epochs=10**9, max_seconds=0.5, random_state=0).fit(X / 16, y)
    assert learner.history_.stopped == "deadline"
    assert 0.4 < learner.history_["seconds"][-1] < 5.0


def test_going_on_leaves_the_history_of_another_hypothesis_alone():
    X, y = np.eye(4), np.array([0, 1, 0, 1])
    first = Perceptron(keep="average", random_state=0).partial_fit(X, y)
    other = first.using("last")
    first.partial_fit(X, y).partial_fit(X, y)
    assert (len(first.history_), len(other.history_)) == (3, 1)
    other.partial_fit(X, y)
    assert (len(first.history_), len(other.history_)) == (3, 2)


def test_a_perceptron_with_the_logistic_rule_has_the_probabilities_of_logistic_regression(digits):
    X, y = digits[0][:300] / 16, digits[1][:300]
    for keep in ("average", "last"):
        one = Perceptron(rule="logistic", keep=keep, random_state=0).fit(X, y)
        other = OnlineLogistic(eta=1.0, keep=keep, random_state=0).fit(X, y)
        np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    voted = Perceptron(rule="logistic", keep="vote").fit(X, y)
    assert "votes are not probabilities" in why_not(voted)
    for learner in (Perceptron(), PassiveAggressive(), Perceptron(rule="margin")):
        assert "use scikit-learn's CalibratedClassifierCV" in why_not(learner.fit(X, y))


def why_not(learner):
    """Why a learner has no probabilities, which scikit-learn gives as the cause of its error."""
    with pytest.raises(AttributeError) as refused:
        _ = learner.predict_proba
    return str(refused.value.__cause__)
