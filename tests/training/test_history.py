"""The rows of a history."""

import numpy as np

from widemargin.training.history import MOST_CALLS, Epoch, History


def test_many_calls_take_few_rows_with_the_same_totals():
    rows = [Epoch(1, k % 3, k % 2, float(k), 1.0, None, 0.5, 1 + k % 4) for k in range(5000)]
    history = History()
    for row in rows:
        history.extend_by_call(History([row]))
    assert MOST_CALLS / 2 < len(history) <= MOST_CALLS
    for column in ("mistakes", "updates", "examples"):
        assert history[column].sum() == sum(getattr(row, column) for row in rows)
    whole = np.average([row.loss for row in rows], weights=[row.examples for row in rows])
    assert np.isclose(np.average(history["loss"], weights=history["examples"]), whole)
    assert np.all(np.diff(history["epoch"]) > 0)
    assert history.epochs[-1].epoch == 5000
    assert history.epochs[-1].seconds == 2500.0
