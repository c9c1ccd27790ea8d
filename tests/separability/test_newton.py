"""Newton steps that look for a separator: what they find is proved, and they may give up."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import tries

from widemargin import certify
from widemargin.separability import newton

pytestmark = pytest.mark.usefixtures("any_size")


@pytest.fixture(scope="module")
def any_size():
    """Have the steps tried on sets of any size."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(newton, "_VALUES", 0)
        yield


def apart(seed, gap, n=80, d=5):
    """Examples on both sides of a plane, none nearer to it than the gap."""
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(n, d)), rng.normal(size=d)
    w /= np.linalg.norm(w)
    y = np.where(X @ w + 0.3 > 0, 1, -1)
    return X + gap * y[:, None] * w, y


@given(st.integers(0, 2**32 - 1), st.floats(0.01, 0.5), st.booleans(), st.floats(1e-3, 1e3))
@tries(13)
def test_a_separator_is_found_and_proved(seed, gap, bias, scale):
    X, y = apart(seed, gap)
    X = X if bias else np.column_stack([X, np.ones(len(y))])
    found = certify(scale * X, y, tol=None, bias=bias)
    assert found.verdict == "separable"
    assert found.found_by == "Newton steps" or gap < 0.1  # or so near that it gave up
    assert found.verify(scale * X, y)


def test_a_few_mistakes_need_a_larger_cost():
    X, y = apart(3, 1e-3, n=2000)
    found = certify(X, y, tol=None)
    assert (found.verdict, found.found_by) == ("separable", "Newton steps")


def test_classes_that_overlap_are_left_to_the_next_step():
    X, y = apart(0, 0.3)
    y[:20] *= -1
    found = certify(X, y, tol=None)
    assert found.verdict == "not separable"
    assert found.found_by != "Newton steps"
    assert found.verify(X, y)


def test_no_time_leaves_it_undecided():
    X, y = apart(3, 1e-3, n=2000)
    assert certify(X, y, tol=None, max_seconds=1e-9).verdict == "undecided"


def test_sets_that_do_not_suit_it_are_not_tried(monkeypatch):
    monkeypatch.setattr(newton, "_raise_cost", lambda *given: pytest.fail("tried"))
    X, y = apart(0, 0.3)
    assert certify(X[:8], y[:8], tol=None).verdict == "separable"  # few rows
    assert certify(0.0 * X, y, tol=None).verdict == "not separable"  # nothing but zeros
    monkeypatch.setattr(newton, "_VALUES", 10**6)
    assert certify(X, y, tol=None).verdict == "separable"
