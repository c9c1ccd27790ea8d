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


def test_epochs_are_counted_however_many_rows_they_have():
    streamed = History([Epoch(1, 2, 2, 0.1, None, None, 0.1, 100) for _ in range(30)])
    assert streamed.is_streamed
    assert (streamed.epochs_run, streamed.examples_per_epoch) == (1, 3000)
    streamed.extend_by_call(History([Epoch(1, 1, 1, 0.1, None, None, 0.1, 5)]))
    assert streamed.epochs_run == 2
    assert streamed.epochs[-1].epoch == 2
    calls = History()
    for call in range(1, MOST_CALLS + 6):
        calls.extend_by_call(History([Epoch(1, 1, 1, 0.1, None, None, 0.1, 5)]))
        assert calls.epochs_run == call
    assert not calls.is_streamed
    assert (History().epochs_run, History().examples_per_epoch, History().is_streamed) == (
        0,
        0,
        False,
    )


def test_a_history_knows_when_training_went_back():
    history = History([Epoch(e, 1, 1, 0.1, None, 0.5, 0.1, 10) for e in range(1, 6)], best=2)
    assert history.went_back
    assert not history.branched(20)
    history.extend_by_call(History([Epoch(1, 1, 1, 0.1, None, None, 0.1, 10)]))
    assert not history.went_back
    assert history.branched(30)
    assert not History(history.epochs).branched(60)
