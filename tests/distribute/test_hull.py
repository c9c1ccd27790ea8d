"""The best mixture of proposals: optimal by its own conditions, and the dual never falls."""

import numpy as np
import pytest

from widemargin.distribute.hull import Hull, Proposal, best_mixture


@pytest.mark.parametrize("seed", range(20))
def test_no_other_mixture_is_better(seed):
    """Optimal on the simplex: no slope exceeds those of the proposals in use, which are equal."""
    rng = np.random.default_rng(seed)
    n, rank = int(rng.integers(2, 12)), int(rng.integers(1, 12))
    A = rng.standard_normal((n, rank))
    A[n // 2] = A[0]  # proposals may be the same
    slopes, Q = rng.standard_normal(n) * 3.0, A @ A.T
    x = best_mixture(slopes, Q)
    assert np.all(x >= 0.0)
    assert np.sum(x) == pytest.approx(1.0, abs=1e-12)
    g = slopes - Q @ x
    assert np.max(g) - np.min(g[x > 1e-9]) <= 1e-7 * np.max(np.abs(slopes))


@pytest.mark.parametrize("soft", [None, 0.5])
@pytest.mark.parametrize("most", [0, 3, 50])
def test_the_dual_never_falls(soft, most):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((30, 8))  # rows times labels
    soft = None if soft is None else np.full(30, soft)

    def dual(one):
        more = 0.0 if soft is None else float(soft @ one.alpha**2)
        return float(np.sum(one.alpha) - 0.5 * (one.w @ one.w + more))

    def proposal(alpha):
        return Proposal(alpha @ A, alpha)

    hull = Hull(proposal(np.zeros(30)), most)
    last = dual(hull.now)
    for _ in range(12):
        new = [proposal(rng.random(30) * (rng.random(30) < 0.3)) for _ in range(2)]
        hull.mix(new, soft)
        now = dual(hull.now)
        assert now >= last - 1e-12
        assert now >= max(map(dual, new)) - 1e-9
        np.testing.assert_allclose(hull.now.w, hull.now.alpha @ A, atol=1e-12)
        assert len(hull.kept) <= most
        assert np.all((hull.now.alpha >= 0.0) & (hull.now.alpha <= 1.0 + 1e-12))
        last = now
    again = Hull(hull.now, most)
    again.resume(hull.now, hull.arrays())
    new = [proposal(rng.random(30))]
    hull.mix(new, soft)
    again.mix(new, soft)
    assert np.array_equal(hull.now.alpha, again.now.alpha)
