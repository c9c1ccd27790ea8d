"""Several labels per row: bit for bit one binary learner per label, in every kind of y."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from grids import covering
from hypothesis import given
from hypothesis import strategies as st
from shell import run_shell
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import accuracy_score, f1_score, hamming_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain

import widemargin as wm
from widemargin.data.encode.multilabel import read_label_sets

X, Y = make_multilabel_classification(120, 8, n_classes=4, random_state=0)
X2, Y2 = make_multilabel_classification(50, 8, n_classes=4, random_state=1)
NAMES = np.array(["art", "food", "law", "war"])
LEARNERS = [
    wm.Perceptron(random_state=0),
    wm.Perceptron(random_state=0, keep="vote", epochs=3),
    wm.Perceptron(random_state=0, fit_intercept="auto", class_weight="balanced"),
    wm.Perceptron(random_state=0, validation=0.2, patience=2),
    wm.PassiveAggressive(random_state=0, C=0.1),
    wm.OnlineLogistic(random_state=0),
    wm.LinearSVM(random_state=0),
    wm.LinearSVM(random_state=0, loss="squared_hinge", bias="free", C=0.1),
]
each_learner = pytest.mark.parametrize("learner", LEARNERS, ids=str)
ONLINE = [learner for learner in LEARNERS if hasattr(learner, "partial_fit")]


def names_of(matrix, kind=set):
    return [kind(NAMES[row.astype(bool)].tolist()) for row in np.asarray(matrix)]


@pytest.mark.parametrize(
    ("learner", "sparse", "weighted"), covering(LEARNERS, [False, True], [False, True]), ids=str
)
def test_it_is_one_binary_learner_per_label(learner, sparse, weighted):
    rows, asked = (scipy.sparse.csr_matrix(A) if sparse else A for A in (X, X2))
    weights = np.arange(len(X)) % 3.0 if weighted else None
    for jobs in (None, 2):
        found = clone(learner).set_params(n_jobs=jobs).fit(rows, Y, weights)
        scores = found.decision_function(asked)
        assert scores.shape == (50, 4)
        for j in range(4):
            one = clone(learner).fit(rows, Y[:, j], weights)
            np.testing.assert_array_equal(scores[:, j], one.decision_function(asked))
            np.testing.assert_array_equal(found.coef_[j], one.coef_[0])
            assert found.intercept_[j] == one.intercept_[0]
            np.testing.assert_array_equal(found.predict(asked)[:, j], one.predict(asked))
            np.testing.assert_array_equal(
                found.estimators_[j].decision_function(asked), one.decision_function(asked)
            )
            if hasattr(one, "predict_proba"):
                np.testing.assert_array_equal(
                    found.predict_proba(asked)[:, j], one.predict_proba(asked)[:, 1]
                )


@pytest.mark.parametrize("learner", ONLINE, ids=str)
def test_pieces_are_one_binary_learner_per_label_in_pieces(learner):
    learner = clone(learner).set_params(class_weight=None, **_plain(learner))
    found = clone(learner)
    alone = [clone(learner) for _ in range(4)]
    for piece in np.array_split(np.arange(120), 5):
        found.partial_fit(X[piece], Y[piece])
        for j, one in enumerate(alone):
            one.partial_fit(X[piece], Y[piece, j], classes=[0, 1])
    for j, one in enumerate(alone):
        np.testing.assert_array_equal(found.decision_function(X2)[:, j], one.decision_function(X2))


def _plain(learner):
    return {"validation": 0.0, "patience": 5} if "validation" in learner.get_params() else {}


@each_learner
def test_every_kind_of_y_learns_the_same_and_comes_back(learner, tmp_path):
    plain = clone(learner).fit(X, Y)
    wanted = plain.predict(X2)
    kinds = {
        "bool": (Y.astype(bool), wanted.astype(bool)),
        "int8": (Y.astype(np.int8), wanted.astype(np.int8)),
        "float": (Y.astype(float), wanted),
        "lists of 0 and 1": (Y.tolist(), wanted),
        "frame": (pd.DataFrame(Y, columns=NAMES), wanted),
        "csr": (scipy.sparse.csr_matrix(Y), scipy.sparse.csr_matrix(wanted)),
        "csc": (scipy.sparse.csc_matrix(Y), scipy.sparse.csr_matrix(wanted)),
        "csr_array": (scipy.sparse.csr_array(Y), scipy.sparse.csr_array(wanted)),
        "sets": (names_of(Y), names_of(wanted)),
        "lists": (names_of(Y, list), names_of(wanted, list)),
        "tuples": (names_of(Y, tuple), names_of(wanted, tuple)),
        "frozensets": (names_of(Y, frozenset), names_of(wanted, frozenset)),
    }
    for y, predicted in kinds.values():
        found = clone(learner).fit(X, y)
        np.testing.assert_array_equal(found.decision_function(X2), plain.decision_function(X2))
        found.save(tmp_path / "m.wm")
        for model in (found, wm.load(tmp_path / "m.wm")):
            got = model.predict(X2)
            assert type(got) is type(predicted)
            if isinstance(predicted, list):
                assert got == predicted
                assert model.classes_.tolist() == NAMES.tolist()
            else:
                dense = [a.toarray() if hasattr(a, "toarray") else a for a in (got, predicted)]
                np.testing.assert_array_equal(*dense)
                assert got.dtype == predicted.dtype
                assert model.classes_.tolist() == [0, 1, 2, 3]
        truth = names_of(Y2) if isinstance(predicted, list) else Y2
        assert found.score(X2, truth) == accuracy_score(Y2, wanted)


def test_a_loaded_model_goes_on_as_the_saved_one(tmp_path):
    found = wm.Perceptron(random_state=0).partial_fit(X[:60], Y[:60])
    found.save(tmp_path / "m.wm")
    again = wm.load(tmp_path / "m.wm")
    for learner in (found, again):
        learner.partial_fit(X[60:], Y[60:])
    np.testing.assert_array_equal(found.decision_function(X2), again.decision_function(X2))


def test_held_out_examples_and_warm_starts_are_those_of_each_label():
    learner = wm.Perceptron(random_state=0, epochs=20, patience=2)
    found = clone(learner).fit(X, Y, X_val=X2, y_val=Y2)
    warm = wm.Perceptron(random_state=0, epochs=2, warm_start=True)
    twice = clone(warm).fit(X, Y).fit(X, Y)
    for j in range(4):
        one = clone(learner).fit(X, Y[:, j], X_val=X2, y_val=Y2[:, j])
        np.testing.assert_array_equal(found.coef_[j], one.coef_[0])
        other = clone(warm).fit(X, Y[:, j]).fit(X, Y[:, j])
        np.testing.assert_array_equal(twice.coef_[j], other.coef_[0])


def test_labels_may_appear_later():
    found = wm.Perceptron(random_state=0).partial_fit(
        X[:40], [{"b"} if a else set() for a in Y[:40, 0]]
    )
    more = [{"a", "b"} if a else {"c"} for a in Y[40:80, 1]]
    found.partial_fit(X[40:80], more)
    assert found.classes_.tolist() == ["a", "b", "c"]
    late = wm.Perceptron(random_state=0).partial_fit(X[40:80], Y[40:80, 1], classes=[0, 1])
    np.testing.assert_array_equal(found.decision_function(X2)[:, 0], late.decision_function(X2))
    old = wm.Perceptron(random_state=0)
    old.partial_fit(X[:40], Y[:40, 0], classes=[0, 1]).partial_fit(X[40:80], Y[40:80, 1])
    np.testing.assert_array_equal(found.decision_function(X2)[:, 1], old.decision_function(X2))
    known = wm.Perceptron(random_state=0).partial_fit(X[:9], [set()] * 9, classes=["x", "y"])
    assert known.classes_.tolist() == ["x", "y"]
    assert known.predict(X[:9]) == [set()] * 9


def test_scores_are_those_of_scikit_learn():
    found = wm.LinearSVM(random_state=0).fit(X, Y)
    predicted = found.predict(X2)
    assert found.score(X2, Y2) == accuracy_score(Y2, predicted)
    weights = np.arange(50.0)
    assert found.score(X2, Y2, weights) == pytest.approx(
        accuracy_score(Y2, predicted, sample_weight=weights)
    )
    assert found.score(X2, scipy.sparse.csr_matrix(Y2)) == accuracy_score(Y2, predicted)
    assert 0.0 <= hamming_loss(Y2, predicted) <= f1_score(Y2, predicted, average="micro")
    strange = names_of(Y2)
    by_name = wm.LinearSVM(random_state=0).fit(X, names_of(Y))
    right = [a == b for a, b in zip(by_name.predict(X2), strange, strict=True)]
    assert by_name.score(X2, strange) == np.mean(right)
    strange[right.index(True)].add("never seen")
    assert by_name.score(X2, strange) == pytest.approx(np.mean(right) - 1 / 50)


def test_it_works_in_scikit_learns_tools():
    learner = wm.PassiveAggressive(random_state=0)
    assert len(cross_val_score(learner, X, Y, cv=3)) == 3
    search = GridSearchCV(learner, {"C": [0.01, 1.0]}, cv=3, scoring="f1_micro").fit(X, Y)
    assert search.best_score_ > 0.5
    rest = OneVsRestClassifier(learner).fit(X, Y)
    np.testing.assert_array_equal(rest.predict(X2), learner.fit(X, Y).predict(X2))
    assert ClassifierChain(learner).fit(X, Y).predict(X2).shape == (50, 4)


def test_constant_labels_are_told_and_learned_as_constant():
    constant = Y.copy()
    constant[:, 1], constant[:, 2] = 0, 1
    for learner in (wm.Perceptron(random_state=0), wm.LinearSVM(), wm.LinearSVM(bias="free")):
        with pytest.warns(wm.DataWarning) as told:
            found = clone(learner).fit(X, constant)
        words = sorted(str(one.message) for one in told if one.category is wm.DataWarning)
        assert words == [
            "label 1 is in no row: there is nothing to learn from",
            "label 2 is in every row: there is nothing to learn from",
        ]
        predicted = found.predict(X)
        assert not predicted[:, 1].any()
        assert predicted[:, 2].all()


def test_texts_have_several_labels_too(tmp_path):
    texts = ["cheap pills", "win money now", "see you at lunch", "how is the family"]
    topics = [{"shop"}, {"shop", "win"}, {"home"}, {"home"}]
    for learner in (None, wm.Perceptron(random_state=0)):
        found = wm.TextClassifier(learner).fit(texts, topics)
        assert found.predict(["cheap family"])[0] <= {"shop", "home", "win"}
        found.save(tmp_path / "m.wm")
        again = wm.load(tmp_path / "m.wm")
        np.testing.assert_array_equal(
            again.decision_function(texts), found.decision_function(texts)
        )
        assert again.predict(texts) == found.predict(texts)
        assert found.score(texts, topics) == again.score(texts, topics)


def test_votes_averages_and_copies():
    found = wm.Perceptron(random_state=0, keep="vote").fit(X, Y)
    for keep in ("last", "average"):
        other, plain = found.using(keep), wm.Perceptron(random_state=0, keep=keep).fit(X, Y)
        np.testing.assert_allclose(other.decision_function(X2), plain.decision_function(X2))
    assert found.mistakes_ == sum(one.mistakes_ for one in found.estimators_)
    assert len(found.history_) == found.n_iter_ == max(one.n_iter_ for one in found.estimators_)
    assert "weights" not in repr(found)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (np.array([[0, 2], [1, 0]]), "values such as 2"),
        (np.array([[-1, 1], [1, -1]]), "values such as -1"),
        (scipy.sparse.csr_matrix([[0, 3], [1, 0]]), "values such as 3"),
        ([{"a"}, "b"], "row 1 of y is 'b', not a set"),
        ([{"a"}, {1}], "a mixture"),
        ([set(), set()], "no row has a label"),
        ([{"a"}] * 3, "found 2 examples, but 3 rows of labels"),
        (np.array([["a", "b"], ["b", "a"]]), "pass a list of sets of labels"),
    ],
)
def test_what_is_not_understood_is_refused(y, words):
    for learner in (wm.Perceptron(), wm.LinearSVM()):
        with pytest.raises(ValueError, match=words):
            learner.fit(X[:2], y)


def test_one_label_and_several_do_not_mix():
    found = wm.Perceptron(random_state=0).fit(X, Y)
    for work, words in [
        (lambda: found.partial_fit(X, Y[:, 0]), "trained on several labels per row"),
        (lambda: found.partial_fit(X, names_of(Y)), "trained on an indicator matrix"),
        (lambda: found.partial_fit(X, Y[:, :3]), "y has 3 columns|names 4 labels"),
        (lambda: found.score(X, Y[:, 0]), "predicts several labels per row"),
        (lambda: found.with_threshold(1.0), "each label has its own threshold"),
        (lambda: found.fit(X, Y, checkpoint="x"), "checkpoints are not available"),
        (lambda: found.explain(X[0]), r"use estimators_\[j\].explain"),
        (lambda: found.certificate_, r"use estimators_\[j\].certificate_"),
        (lambda: wm.report(found, "m.html"), "several labels per row"),
        (lambda: wm.Perceptron().fit(X, Y[:, 0]).partial_fit(X, Y), "trained on one label per row"),
        (lambda: wm.Perceptron().fit(X, Y[:, 0]).estimators_, "every row has one label"),
    ]:
        with pytest.raises((ValueError, AttributeError), match=words):
            work()
    assert found.fit(X, Y[:, 0]).predict(X2).ndim == 1  # a new training may be of another kind


label_rows = st.lists(st.sets(st.sampled_from("abcd")), min_size=1, max_size=8)


@given(label_rows, st.sampled_from([set, frozenset, list, tuple]))
def test_reading_and_giving_back_are_inverse(rows, kind):
    rows = [kind(sorted(row)) for row in rows]
    found = read_label_sets(rows)
    if kind in (list, tuple) and {len(row) for row in rows} == {1}:
        assert found is None  # a column of labels, as scikit-learn reads it
        return
    if found.kind.has_columns:
        assert all(row == kind() for row in rows)
        return
    assert found.kind.give_back(found.matrix(), found.classes) == rows
    for code in range(len(found.classes)):
        np.testing.assert_array_equal(found.column(code), found.matrix()[:, code])


def test_the_shell_says_that_it_does_not_take_several_labels(tmp_path):
    (tmp_path / "m.svm").write_text("1,3 1:0.5\n2 1:1\n")
    refused = run_shell(tmp_path, "train", "m.svm", code=1)
    assert "m.svm:1:2: expected a blank after the label, found ',3' (several" in refused.output
    wm.Perceptron(random_state=0).fit(X, Y).save(tmp_path / "m.wm")
    for command in ("test m.wm m.svm", "predict m.wm m.svm", "inspect m.wm", "convert m.wm m.x"):
        refused = run_shell(tmp_path, *command.split(), code=1)
        assert "m.wm: is a model with several labels per row: load it in Python" in refused.output


def test_a_new_label_of_narrow_rows_has_all_features():
    learner = wm.Perceptron(grow=True, random_state=0)
    learner.partial_fit(X, names_of(Y * [1, 1, 1, 0])).partial_fit(
        np.hstack([X, X]), names_of(Y * [1, 1, 1, 0])
    )
    learner.partial_fit(X, names_of(Y))
    assert learner.coef_.shape == (4, 16)
    assert learner.n_features_in_ == 16
    wide = np.hstack([X, np.zeros_like(X)])
    alone = wm.Perceptron(random_state=0).partial_fit(wide, Y[:, 3])
    np.testing.assert_array_equal(
        learner.decision_function(wide)[:, 3], alone.decision_function(wide)
    )
