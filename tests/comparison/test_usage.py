"""What a comparison measures with: seconds, memory, and garbage set aside."""

import gc

import pytest

from widemargin.comparison import usage
from widemargin.comparison.usage import cheap_collections, measured


@pytest.fixture
def nothing_frozen():
    """No object is set aside, as in a program of a user; the tests set some aside."""
    gc.unfreeze()
    yield
    gc.freeze()


@pytest.mark.usefixtures("nothing_frozen")
def test_objects_are_set_aside_for_a_while():
    with cheap_collections():
        assert gc.get_freeze_count() > 0
    assert gc.get_freeze_count() == 0
    with pytest.raises(KeyError), cheap_collections():
        raise KeyError
    assert gc.get_freeze_count() == 0


@pytest.mark.usefixtures("nothing_frozen")
def test_what_somebody_else_has_set_aside_stays_there():
    gc.freeze()
    with cheap_collections():
        pass
    assert gc.get_freeze_count() > 0


def test_a_system_that_does_not_tell_its_memory_is_measured_in_seconds(monkeypatch):
    def refuse(*_):
        raise OSError

    monkeypatch.setattr(usage, "open", refuse, raising=False)
    with measured() as used:
        pass
    assert used.memory is None
    assert used.seconds > 0
