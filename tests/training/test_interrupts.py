"""Ctrl-C during a fit: the first ends it cleanly, the second at once."""

import signal
import time

import pytest

from widemargin.training.interrupts import Interrupts
from widemargin.training.progress import watched


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still unless it is moved."""
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


@pytest.mark.parametrize("before", [signal.default_int_handler, Interrupts()])
def test_signals_close_together_are_one_interrupt(clock, monkeypatch, before):
    outer = signal.signal(signal.SIGINT, before)
    try:
        with watched(False, 1) as watch:
            for clock[0] in (10.0, 10.5, 11.0):  # each less than a second after the last
                signal.raise_signal(signal.SIGINT)
            assert watch.interrupted
            clock[0] = 12.5
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is before
        if isinstance(before, Interrupts):
            signal.raise_signal(signal.SIGINT)  # still the same Ctrl-C
    finally:
        signal.signal(signal.SIGINT, outer)


def test_ctrl_c_need_not_wait_once_the_model_is_kept(clock):
    with watched(False, 1) as watch:
        watch.kept = True
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
