"""The pause of Python's garbage collector ends when the last thread no longer needs it."""

import contextlib
import gc
import os
import threading

import pytest

from widemargin.loops.garbage_collector import uncollected


@pytest.fixture(autouse=True)
def collector():
    """Leave the collector as it was, whatever a test does."""
    assert gc.isenabled()
    yield
    gc.enable()


@pytest.mark.parametrize("old", [(False, False), (True, False), (False, True)])
def test_pauses_within_pauses(old, monkeypatch):
    frozen = []
    monkeypatch.setattr(gc, "get_freeze_count", lambda: 0)
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append(gc.isenabled()))
    monkeypatch.setattr(gc, "unfreeze", lambda: None)
    with uncollected(old[0]):
        assert not gc.isenabled()
        with contextlib.suppress(ValueError), uncollected(old[1]):
            raise ValueError
        assert not gc.isenabled()
    assert gc.isenabled()
    assert frozen == [False] * any(old)


def test_a_collector_that_is_off_stays_off():
    gc.disable()
    with uncollected():
        assert not gc.isenabled()
    assert not gc.isenabled()


def test_pauses_that_overlap_in_two_threads():
    inside, ended = threading.Event(), threading.Event()

    def pause():
        with uncollected():
            inside.set()
            ended.wait(10)

    other = threading.Thread(target=pause)
    with uncollected():
        other.start()
        inside.wait(10)
    assert not gc.isenabled()
    ended.set()
    other.join()
    assert gc.isenabled()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_new_process_does_not_inherit_a_pause():
    with uncollected():
        child = os.fork()
        if not child:
            enabled = gc.isenabled()
            with uncollected():
                enabled = enabled and not gc.isenabled()
            os._exit(0 if enabled and gc.isenabled() else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert not gc.isenabled()
