"""Votes by columns of the support: those of the naive twin, whatever way the rows are stored."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse

from widemargin import Perceptron
from widemargin.online.mistake_log import NO_LOG, Log, read_log


def examples(n, width, classes, seed=0, density=0.2):
    """Sparse rows of small whole numbers, whose products are exact, with noisy labels."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (n, width)) * (rng.random((n, width)) < density)
    return X.astype(float), rng.integers(0, classes, n)


def hypotheses_of(log, width, classes):
    """All weights that the log passes through, each with how long it lasted, but for the last."""
    W, last = np.zeros((1 if classes == 2 else classes, width + 1)), 0.0
    for correction, row in log:
        yield W.copy(), correction.clock - last
        last = correction.clock
        W[correction.label] += correction.amount * row
    yield W.copy(), None


def naive_votes(learner, X, queries, classes):
    """Build every hypothesis and let it vote."""
    bias = np.ones(len(X))
    extended = np.column_stack([X, bias])
    corrections = [(one, extended[one.row]) for one in learner.log_]
    asked = np.column_stack([queries, np.ones(len(queries))])
    count = learner.model_.state.count
    votes, seen = np.zeros((len(queries), classes)), 0.0
    for W, survival in hypotheses_of(corrections, X.shape[1], classes):
        survival = count - seen if survival is None else survival
        seen += survival
        scores = asked @ W.T
        if classes == 2:
            votes[:, 1] += survival * np.where(scores[:, 0] >= 0, 1.0, -1.0)
        else:
            votes[np.arange(len(asked)), np.argmax(scores, axis=1)] += survival
    return votes[:, 1] / count if classes == 2 else votes / count


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("trained", ["sparse", "dense"])
@pytest.mark.parametrize("asked", ["sparse", "dense"])
def test_votes_are_those_of_all_hypotheses(classes, trained, asked):
    X, y = examples(80, 40, classes)
    queries, _ = examples(30, 40, classes, seed=1)
    queries[0] = 0.0
    queries[1] = 1.0
    stored = {"sparse": scipy.sparse.csr_matrix, "dense": np.asarray}
    learner = Perceptron(keep="vote", epochs=4, random_state=0, fit_intercept=True)
    learner.fit(stored[trained](X), y)
    found = learner.decision_function(stored[asked](queries))
    np.testing.assert_array_equal(found, naive_votes(learner, X, queries, classes))
    one_by_one = [learner.decision_function(stored[asked](row[None]))[0] for row in queries]
    np.testing.assert_array_equal(one_by_one, found)


def test_parts_of_a_stream_vote_as_one_log():
    X, y = examples(120, 40, 2)
    matrix, (queries, _) = scipy.sparse.csr_matrix(X), examples(20, 40, 2, seed=1)
    whole = Perceptron(keep="vote", shuffle=False).partial_fit(matrix, y, classes=[0, 1])
    parts = Perceptron(keep="vote", shuffle=False)
    for start in range(0, 120, 7):
        piece = slice(start, start + 7)
        parts.partial_fit(matrix[piece], y[piece], classes=[0, 1])
        parts.decision_function(queries)  # an index of a part that may be joined to others later
    assert len(parts.model_.state.log.parts) > 1
    np.testing.assert_array_equal(
        parts.decision_function(queries), whole.decision_function(queries)
    )


def test_columns_that_never_came_add_nothing():
    X, y = examples(60, 30, 2)
    X[:, 20:] = 0.0
    learner = Perceptron(keep="vote", random_state=0).fit(scipy.sparse.csr_matrix(X), y)
    queries, _ = examples(10, 30, 2, seed=1)
    known = queries.copy()
    known[:, 20:] = 0.0
    np.testing.assert_array_equal(
        learner.decision_function(scipy.sparse.csr_matrix(queries)),
        learner.decision_function(scipy.sparse.csr_matrix(known)),
    )


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_a_copy_does_not_carry_the_index(duplicate):
    X, y = examples(60, 30, 2)
    matrix = scipy.sparse.csr_matrix(X)
    learner = Perceptron(keep="vote", random_state=0).fit(matrix, y)
    before = len(pickle.dumps(learner))
    expected = learner.decision_function(matrix)
    assert len(pickle.dumps(learner)) == before
    np.testing.assert_array_equal(duplicate(learner).decision_function(matrix), expected)


def test_a_log_of_other_types_in_a_file_is_read_as_ours():
    columns = (np.array([1, 0], np.int32), np.array([1, -1], np.int8), np.ones(2, "f4"), np.ones(2))
    log = read_log(
        {f"log.{name}": column for name, column in zip(Log._fields, columns, strict=True)}, 2
    )
    assert [column.dtype for column in log] == [column.dtype for column in NO_LOG]
    assert log.example.tolist() == [1, 0]
