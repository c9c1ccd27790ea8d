"""Small random sets of examples, for tests of separability."""

import numpy as np


def random_set(rng):
    """A few points of some kind, including degenerate ones, and their labels."""
    d = int(rng.integers(1, 4))
    n = int(rng.integers(1, 9))
    whole = rng.integers(-3, 4, (n, d)).astype(float)
    real = rng.normal(size=(n, d))
    X = [
        whole,
        real,
        whole * 0.1,  # 0.3 is not 3 * 0.1: nearly, but not quite, degenerate
        np.outer(rng.integers(-3, 4, n), rng.integers(-2, 3, d)) + rng.integers(-2, 3, d) * 1.0,
        np.outer(real[:, 0], rng.normal(size=d)) + rng.normal(size=d),  # on a line, rounded
        rng.integers(0, 2, (n, d)).astype(float),
        real * 10.0 ** rng.integers(-12, 12, (n, d)),
        np.round(real, 1) * (rng.random((n, 1)) < 0.7),  # some rows are zero
    ][int(rng.integers(8))]
    y = rng.integers(0, 2, n)
    if rng.random() < 0.3:
        y = (X @ rng.normal(size=d) + rng.normal() > 0).astype(int)
    if rng.random() < 0.15:
        X[-1], y[-1] = X[0], 1 - y[0]
    if rng.random() < 0.05:
        y[:] = y[0]
    return X, y


def signs_of(y):
    """Signs of labels; the last of the sorted labels is positive."""
    return np.where(np.asarray(y) == max(y), 1, -1).tolist()


def sparse_matrix(rng, n, d, density):
    """Integers or rounded numbers, each present with probability `density`, else zero."""
    values = (
        rng.integers(-2, 3, (n, d)) if rng.integers(2) else np.round(rng.normal(size=(n, d)), 1)
    )
    return values * (rng.random((n, d)) < density).astype(float)
