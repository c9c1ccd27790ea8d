"""Fits on partitions in this process, with engines that copy what they send or are interrupted."""

import pickle

import numpy as np

from widemargin import Distributed
from widemargin.distribute.engine import SerialEngine


class SendingEngine(SerialEngine):
    """Sends everything as a cluster would: each call gets its own read-only copies."""

    def submit(self, name, function, *arguments):
        return super().submit(name, _sent, pickle.dumps(function), *arguments)


class BreakingEngine(SerialEngine):
    """Is interrupted after a number of tasks whose names start with a prefix."""

    def __init__(self, start, left):
        self.start, self.left = start, left

    def submit(self, name, function, *arguments):
        self.left -= name.startswith(self.start)
        if self.left < 0:
            raise KeyboardInterrupt
        return super().submit(name, function, *arguments)


def _sent(function, *arguments):
    buffers = []
    packed = pickle.dumps(arguments, protocol=5, buffer_callback=buffers.append)
    given = pickle.loads(packed, buffers=[bytes(one.raw()) for one in buffers])
    return pickle.loads(function)(*given)


def write_rows(path, X, y):
    lines = []
    for row, label in zip(X, y, strict=True):
        cells = (f"{j + 1}:{value:g}" for j, value in enumerate(row) if value)
        lines.append(" ".join([str(label), *cells]))
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def some_rows(n, d, classes, seed=0):
    """Sparse rows of whole numbers, and labels that depend on them."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (n, d)) * (rng.random((n, d)) < 0.3)
    X[:, -1] = 1  # so that all files have the same width
    scores = X @ rng.standard_normal((d, classes))
    return X.astype(float), np.argmax(scores, axis=1)


def fit(estimator, source, engine=None, partitions=1, mix="touched", **more):
    distributed = Distributed(
        estimator, client=engine or SerialEngine(), partitions=partitions, mix=mix
    )
    return distributed.fit(source, **more)


def state_of(fitted):
    state = fitted.model_.state
    return {"W": state.spread(state.W), "U": state.spread(state.U), "clock": state.clock}


def assert_same_bits(one, other):
    mine, theirs = state_of(one), state_of(other)
    for name, array in mine.items():
        assert array.dtype == theirs[name].dtype
        assert np.array_equal(array, theirs[name]), name
    rows = [[epoch[:5] for epoch in fitted.model_.history] for fitted in (one, other)]
    assert rows[0] == rows[1]
