"""Kernel models name the rows that decided: their shares add up to the score for any kernel."""

import math
import re

import numpy as np
import pytest
import scipy.sparse

from widemargin import DataError, KernelPerceptron, KernelSVM, load
from widemargin.models.support import strongest_rows

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3)) + np.repeat(np.eye(3), 30, axis=0) * 2.0
Y = np.repeat(["apple", "pear", "plum"], 30)
TEXTS, KINDS = (
    ["free money", "win money", "lunch today", "we eat today"],
    ["spam"] * 2 + ["ham"] * 2,
)

LEARNERS = [
    KernelSVM(),
    KernelSVM(multiclass="ovr"),
    KernelSVM(decision_function_shape="ovo"),
    KernelSVM(kernel="poly", degree=2),
    KernelPerceptron(random_state=0),
    KernelPerceptron(keep="last", multiclass="ovr", random_state=0),
    KernelPerceptron(keep="last", random_state=0, budget=20),
]


def rows_told(told):
    return [
        int(found[1])
        for found in (re.match(r"row (\d+) ", r.feature) for r in told.reasons)
        if found
    ]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_shares_add_up_to_the_lead(learner, classes):
    known = Y != "plum" if classes == 2 else np.ones(len(Y), bool)
    learner.fit(X[known], Y[known])
    labels = list(learner.classes_)
    for i in range(0, 60, 7):
        told = learner.explain(X[i], top=None)
        assert told.prediction == learner.predict(X[i : i + 1])[0]
        assert math.fsum(reason.share for reason in told.reasons) == told.score
        scores = learner.decision_function(X[i : i + 1])[0]
        model = learner.model_
        code, rival = labels.index(told.prediction), labels.index(told.instead_of)
        if classes == 2:
            wanted = abs(scores)
        elif getattr(model, "pairs", False):
            pair = [(0, 1), (0, 2), (1, 2)].index((min(code, rival), max(code, rival)))
            wanted = model.machine_scores(X[i : i + 1])[0, pair] * (1 if code < rival else -1)
        else:
            wanted = scores[code] - scores[rival]
            assert scores[rival] == sorted(scores)[-2]
        assert told.score == pytest.approx(wanted, rel=1e-9, abs=1e-9)
        assert set(rows_told(told)) <= set(learner.support_.tolist())
        few = learner.explain(X[i], top=2)
        assert few.reasons == told.reasons[:2]
        assert math.fsum([few.rest, *(r.share for r in few.reasons)]) == pytest.approx(told.score)


@pytest.mark.parametrize("learner", LEARNERS[:5], ids=repr)
def test_rows_have_their_own_labels_and_kernel_values(learner):
    learner.fit(X, Y)
    told = learner.explain(X[4], top=None)
    for reason in told.reasons:
        found = re.fullmatch(r"row (\d+) \((\w+)\)", reason.feature)
        if found is None:
            assert reason.feature == "(bias)"
            continue
        row = int(found[1])
        assert found[2] == Y[row]
        if learner.kernel_.name == "rbf":
            wanted = math.exp(-learner.kernel_.gamma * ((X[row] - X[4]) ** 2).sum())
            assert reason.value == pytest.approx(wanted, rel=1e-9)
        assert reason.share == reason.value * reason.weight


def test_every_kind_of_example(tmp_path):
    svm = KernelSVM().fit(X, Y)
    wanted = str(svm.explain(X[5]))
    assert str(svm.explain(X[5:6])) == wanted
    svm.save(tmp_path / "m.wm")
    assert str(load(tmp_path / "m.wm").explain(X[5])) == wanted
    sparse = KernelSVM(gamma=0.3).fit(scipy.sparse.csr_matrix(X), Y)
    dense = KernelSVM(gamma=0.3).fit(X, Y)
    told = sparse.explain(scipy.sparse.csr_matrix(X[5:6])), dense.explain(X[5])
    assert told[0].score == pytest.approx(told[1].score, rel=1e-6)
    K = X @ X.T
    given = KernelSVM(kernel="precomputed").fit(K, Y)
    linear = KernelSVM(kernel="linear").fit(X, Y)
    assert given.explain(K[5]).score == pytest.approx(linear.explain(X[5]).score, rel=1e-3)
    for kernel in ("ngrams", lambda a, b: float(len(set(a) & set(b)))):
        texts = KernelPerceptron(kernel=kernel, random_state=0).fit(TEXTS, KINDS)
        told = texts.explain("free lunch", top=None)
        assert told.score == pytest.approx(abs(texts.decision_function(["free lunch"])[0]))
    with pytest.raises(DataError, match="explain takes one row, found 3"):
        svm.explain(X[:3])


def test_a_vote_is_explained_by_the_average():
    vote = KernelPerceptron(keep="vote", random_state=0).fit(X, Y)
    told = vote.explain(X[3], top=4)
    assert told.voted
    assert "mean vote" in str(told)
    average = vote.model_.using("average").explain(X[3:4], top=4)
    assert told.reasons == average.reasons
    scores = np.sort(vote.decision_function(X[3:4])[0])
    assert told.score == pytest.approx(scores[-1] - scores[-2])


def test_the_strongest_rows_of_three_classes_are_those_of_pairs():
    names = [name for name, _ in strongest_rows(KernelSVM().fit(X, Y).model_, 3)]
    assert names == ["apple / pear", "apple / plum", "pear / plum"]
    names = [name for name, _ in strongest_rows(KernelPerceptron().fit(X, Y).model_, 3)]
    assert names == ["apple", "pear", "plum"]
