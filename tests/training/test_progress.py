"""The progress line: what it says about the current stage."""

import time

import numpy as np
import pytest

from widemargin import KernelSVM, LinearSVM
from widemargin.training import progress
from widemargin.training.history import Epoch, History
from widemargin.training.progress import Watcher
from widemargin.training.run import Moment


@pytest.fixture
def shown(monkeypatch):
    """Everything that progress lines say, in order."""
    pytest.importorskip("rich")
    lines = []

    class Bar:
        def __init__(self, *columns, console, transient):
            self.console = console

        def add_task(self, name, total, **fields):
            lines.append(fields)
            return len(lines)

        def update(self, task, **fields):
            lines.append(fields)

        def start(self):
            pass

        def stop(self):
            pass

    monkeypatch.setattr("rich.progress.Progress", Bar)
    return lines


@pytest.fixture
def clock(monkeypatch):
    """A clock that advances by a second whenever it is read."""
    now = [0.0]

    def tell():
        now[0] += 1.0
        return now[0]

    monkeypatch.setattr(time, "monotonic", tell)


def test_another_stage_has_its_own_speed(shown, clock):
    watcher = Watcher(True, 2)
    for history, passes in ((History(), 4), (History(), 3)):
        for seen in range(1, passes):
            watcher(Moment(1, 0.1, 3, 0.5, history, seen=1000 * seen))
    rates = [line["rate"] for line in shown[1:]]
    assert rates[0] == rates[3] == ""
    assert all(rate and not rate.startswith("-") for rate in (*rates[1:3], rates[4]))


def test_only_what_is_measured_is_shown(shown, clock):
    watcher, history = Watcher(True, 1), History()
    watcher(Moment(1, 0.1, 1, 0.25, history))
    watcher(Moment(1, 0.2, None, None, history, violation=0.375))
    assert [line["measured"] for line in shown[1:]] == ["1 mistake loss 0.25", "violation 0.375"]


@pytest.mark.parametrize(("compiling", "rows"), [(True, 0), (False, 4)])
def test_rows_are_printed_as_it_goes_if_learning_takes_a_while(
    compiling, rows, shown, clock, capsys, monkeypatch
):
    """The report shows all rows soon anyway; compiling the loops does not count."""
    clock_of_compiler = time.monotonic if compiling else lambda: 0.0
    monkeypatch.setattr(progress, "compile_seconds", clock_of_compiler)
    watcher, history = Watcher(True, 4, table=True), History()
    for epoch in range(1, 5):
        history.add(Epoch(epoch, 9, 9, 1.0, 1.0, None, 0.1 * epoch))
        watcher(Moment(epoch, 1.0, 9, 1.0, history, seen=100 * epoch))
    watcher.close()
    printed = capsys.readouterr().err.splitlines()
    assert len(printed) == (rows and 1 + rows)


@pytest.mark.parametrize("learner", [KernelSVM(), LinearSVM()])
def test_an_svm_in_training_is_one_stage(learner, monkeypatch):
    moments = []

    def note(watcher, moment):
        moments.append(moment)
        return False

    monkeypatch.setattr(Watcher, "__call__", note)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 3)), rng.integers(0, 3, 400)
    learner.fit(X, y)
    assert len({id(moment.history) for moment in moments}) == 1
    if isinstance(learner, KernelSVM):
        assert all(moment.mistakes is moment.loss is None for moment in moments)
        assert all(moment.violation >= 0.0 for moment in moments)
