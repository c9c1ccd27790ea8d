"""Labels of every type become codes, and come back."""

import numpy as np
import pytest

from widemargin import Perceptron
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
