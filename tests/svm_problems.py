"""Small problems for linear SVMs."""

import numpy as np

from widemargin.data.rows import Rows, frozen
from widemargin.linear_svm.newton_primal import SmoothedSVM


def examples(n=40, d=5, seed=0):
    """Rows with some zeros, and noisy labels -1 and 1."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    y = np.where(X @ rng.normal(size=d) + 0.5 * rng.normal(size=n) > 0.2, 1, -1)
    return X, y


def weighed_examples(n, d, seed=0, noise=1.0):
    """The same with a cost for each example, zero for some."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    y = np.where(X @ rng.normal(size=d) + noise * rng.normal(size=n) > 0.2, 1, -1)
    return X, y.astype(np.int8), rng.choice([0.0, 0.5, 1.0, 3.0], n)


def smooth(X, y, costs, squared, form=np.asarray, bias=1.0, free=False):
    """The problem in the form that the steps use, and the rows with the constant feature."""
    rows = Rows.of(form(X), bias=bias)
    caps = np.full(len(y), np.inf) if squared else costs
    Z = np.column_stack([X, np.full(len(y), bias)]).astype(np.float64)
    return SmoothedSVM(rows, frozen(y), costs, caps, squared, free), Z
