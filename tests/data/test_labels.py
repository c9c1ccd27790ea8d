"""Labels of every type become codes, and come back."""

import numpy as np
import pytest

from widemargin import KernelPerceptron, Perceptron
from widemargin.data.encode.labels import encode_labels

EDGES = [
    np.array([2**63, 2**63 + 2, 2**63], np.uint64),
    np.array([2**64 - 1, 2**64 - 3, 2**64 - 1], np.uint64),
    np.array([0, 2**64 - 1], np.uint64),
    np.array([-(2**63), -(2**63) + 1], np.int64),
    np.array([-(2**63), 2**63 - 1], np.int64),
    np.array([-128, 127, 0], np.int8),
    np.array([0, 255, 7], np.uint8),
]


@pytest.mark.parametrize("labels", EDGES, ids=str)
def test_labels_at_the_edges_of_their_type(labels):
    classes, codes = encode_labels(labels)
    assert classes.dtype == labels.dtype
    assert classes.tolist() == sorted(set(labels.tolist()))
    assert classes[codes].tolist() == labels.tolist()


def test_a_learner_of_large_labels():
    y = np.array([2**63 + 1, 2**63 + 5] * 5, np.uint64)
    X = np.array([[1.0], [-1.0]] * 5)
    assert Perceptron(random_state=0).fit(X, y).predict(X).tolist() == y.tolist()


@pytest.mark.parametrize("learner", [Perceptron, KernelPerceptron])
def test_labels_with_and_without_sign_do_not_become_floats(learner):
    X = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    large = np.array([2**63, 2**63 + 1, 2**63 + 2], np.uint64)
    signed = np.array([-1, 2**60, 2**60 + 1])
    found = learner(random_state=0).partial_fit(X, large).partial_fit(-X, signed)
    assert found.classes_.tolist() == [*signed.tolist(), *large.tolist()]
    found.partial_fit(X, large).partial_fit(-X, signed)
    assert len(found.classes_) == 6


@pytest.mark.parametrize("kind", [int, bool])
def test_objects_that_are_numbers_are_numbers(kind):
    X, y = np.array([[1.0], [-1.0]] * 5), np.array([kind(1), kind(0)] * 5, object)
    found = Perceptron(random_state=0).fit(X, y)
    assert found.classes_.dtype == kind
    assert found.score(X, y) == 1.0
    assert found.partial_fit(X, y).classes_.tolist() == [0, 1]
    assert encode_labels(np.array([10**30, 7], object))[0].tolist() == [7, 10**30]
