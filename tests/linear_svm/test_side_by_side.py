"""SVMs of many classes side by side: the passes against a textbook twin, and what is fitted."""

import numpy as np
import pytest
import scipy.sparse
from interpreted import assert_both_tell_the_same
from naive_linear_svm import naive_pass, objectives
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from widemargin import DataError, LinearSVM
from widemargin.data.rows import Rows, frozen
from widemargin.linear_svm import fit, side_by_side
from widemargin.linear_svm.classes import OneVsRest
from widemargin.linear_svm.problem import BinarySVM, StopSignal
from widemargin.linear_svm.side_by_side import (
    TOGETHER,
    SideBySide,
    in_groups,
    shared_rows,
    without_lone_columns,
)

both_losses = pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
WIDE = 5000


@pytest.fixture(autouse=True)
def no_small_problems(monkeypatch):
    """These tests are about the solvers of larger problems."""
    monkeypatch.setattr(fit, "is_small", lambda problem: False)


def documents(n=120, k=5, seed=0, words=8, dtype=np.float32):
    """Rows like those of texts: few of many columns, some of them of one row only."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.arange(n) % k)
    rows = np.repeat(np.arange(n), words)
    columns = np.minimum(rng.geometric(0.01, n * words), WIDE - 1)
    columns[::words] = 1000 + 3 * codes + rng.integers(0, 3, n)  # they tell the class, mostly
    columns[1::words] = 2000 + rng.permutation(n)
    X = scipy.sparse.csr_matrix(
        (rng.uniform(0.1, 0.6, n * words), (rows, columns)), (n, WIDE)
    ).astype(dtype)
    return X, codes


def problems(X, codes, k, **how):
    """One for every class, as a fit makes them."""
    price = frozen(how.pop("price", np.empty(0)))
    rows = Rows.of(X)
    signs = [np.where(codes == c, 1, -1).astype(np.int8) for c in range(k)]
    return OneVsRest(tuple(BinarySVM(rows, y, price, **how) for y in signs), codes)


def test_columns_of_one_row_become_a_part_of_its_own_product():
    X, _ = documents()
    X.data[3] = 0.0
    fewer, q, d = without_lone_columns(Rows.of(X, bias=2.0))
    found, gram = fewer.to_matrix().toarray(), (X @ X.T).toarray()
    assert fewer.width < np.count_nonzero(X.getnnz(axis=0))
    np.testing.assert_allclose(found @ found.T + np.diag(d), gram, rtol=1e-5)
    np.testing.assert_allclose(q, np.diag(gram) + 4.0, rtol=1e-5)


@both_losses
@pytest.mark.parametrize("k", [3, 11])
def test_a_pass_is_the_textbooks_for_every_class(loss, k):
    X, codes = documents(n=60, k=k)
    X.data[X.indptr[7] : X.indptr[8]] = 0.0
    price = np.random.default_rng(1).choice([0.5, 1.0, 2.0], 60)
    squared, C = loss == "squared_hinge", 0.7
    all_classes = problems(X, codes, k, price=price, C=C, squared=squared)
    rows = without_lone_columns(all_classes.problems[0].rows)
    beside = SideBySide(all_classes, rows, np.random.default_rng(2))
    orders = []
    order = beside.shrinking.order
    beside.shrinking.order = lambda rng: orders.append(order(rng)) or orders[-1]
    for _ in range(3):
        report = list(beside.run_pass(StopSignal()))[-1]
    Z, primal = np.column_stack([X.toarray(), np.ones(60)]).astype(np.float64), 0.0
    for c, found in enumerate(beside.dual_values()):
        y, alpha = np.where(codes == c, 1.0, -1.0), np.zeros(60)
        for each in orders:
            before = objectives(Z, y, C * price, squared, alpha)[1]
            _, gap = naive_pass(Z, y, price, each, C, squared, 0.0, alpha)
        np.testing.assert_allclose(found, alpha, rtol=1e-3, atol=1e-4)
        dual = objectives(Z, y, C * price, squared, alpha)[1]
        assert beside.dual[c] == pytest.approx(dual, rel=1e-4)
        assert dual >= before
        assert beside.primal[c] - beside.dual[c] == pytest.approx(gap, rel=1e-3, abs=1e-4)
        primal += beside.primal[c]
    assert report.primal == pytest.approx(primal)


def relative_gaps(model, X, codes, C, squared, weight=1.0):
    """The gap of every class, recomputed in plain numpy from the dual values."""
    Z = np.column_stack([X.toarray(), np.ones(len(codes))]).astype(np.float64)
    costs = np.full(len(codes), C) * weight
    for c, alpha in enumerate(model.certificate_.alpha.T):
        y = np.where(codes == c, 1.0, -1.0)
        assert np.all(alpha >= 0.0)
        assert squared or np.all(alpha <= costs)
        assert not np.any(alpha[costs == 0.0])
        w = (alpha * y) @ Z
        np.testing.assert_allclose(model.coef_[c], w[:-1], rtol=1e-6, atol=1e-9)
        some = costs > 0.0
        primal, dual = objectives(Z[some], y[some], costs[some], squared, alpha[some])
        yield (primal - dual) / primal


@both_losses
@pytest.mark.parametrize(("k", "C"), [(3, 1.0), (12, 30.0), (40, 0.05)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_class_has_the_gap_asked_for(loss, k, C, dtype):
    X, codes = documents(n=200, k=k, dtype=dtype)
    weight = np.random.default_rng(3).choice([0.0, 1.0, 2.0], 200)
    squared = loss == "squared_hinge"
    assert shared_rows(problems(X, codes, k).problems[0], k) is not None
    for tol in (1e-2, 1e-3, 1e-6):
        svm = LinearSVM(C=C, loss=loss, tol=tol, random_state=0).fit(X, codes, weight)
        assert max(relative_gaps(svm, X, codes, C, squared, weight)) <= tol * (1 + 1e-9)
        assert svm.history_.stopped == "gap reached"
        assert len(svm.certificate_.parts) == k


def test_the_objective_is_liblinears():
    X, codes = documents(n=300, k=6)
    ours = LinearSVM(C=2.0, loss="squared_hinge", tol=1e-6, random_state=0).fit(X, codes)
    peer = LinearSVC(C=2.0, tol=1e-8, random_state=0, max_iter=100_000).fit(X, codes)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=2e-3)


def test_threads_and_repetition_change_nothing():
    X, codes = documents(n=200, k=2 * TOGETHER + 5)
    one, two, again = (
        LinearSVM(random_state=4, n_jobs=jobs).fit(X, codes).coef_ for jobs in (1, 2, 1)
    )
    assert np.array_equal(one, two)
    assert np.array_equal(one, again)


@pytest.mark.parametrize("k", [3, TOGETHER, TOGETHER + 1, 100])
def test_groups_hold_every_class_once(k):
    codes = np.arange(3 * k) % k
    X = scipy.sparse.csr_matrix((3 * k, 2))
    groups = in_groups(problems(X, codes, k))
    sizes = [len(group.problems) for group in groups]
    assert sum(sizes) == k
    assert max(sizes) <= TOGETHER
    assert max(sizes) - min(sizes) <= 1
    for group in groups:
        for c, problem in enumerate(group.problems):
            assert np.array_equal(problem.y, np.where(group.codes == c, 1, -1))


def test_classes_that_look_solved_leave_and_lose_nothing():
    X, codes = documents(n=200, k=20)
    all_classes = problems(X, codes, 20, C=3.0, squared=True)
    beside = SideBySide(
        all_classes, without_lone_columns(all_classes.problems[0].rows), np.random.default_rng(0)
    )
    widths = []
    for _ in range(40):
        list(beside.run_pass(StopSignal()))
        widths.append(beside.V.shape[1])
        if not np.any(beside.likely[beside.left] > 1e-4):
            break
        beside.move_together(1e-4)
    assert (widths[0], widths[-1]) == (24, 8)
    assert len(beside.left) < 20
    Z = np.column_stack([X.toarray(), np.ones(200)]).astype(np.float64)
    for c, alpha in enumerate(beside.dual_values()):
        y = np.where(codes == c, 1.0, -1.0)
        primal, dual = objectives(Z, y, np.full(200, 3.0), True, alpha)
        assert (primal - dual) / primal <= 1e-3
        assert beside.dual[c] == pytest.approx(dual, rel=1e-4)


def test_few_epochs_leave_a_true_gap_and_a_warning():
    X, codes = documents(k=4)
    with pytest.warns(ConvergenceWarning, match="relative gap"):
        svm = LinearSVM(C=50.0, epochs=1, random_state=0).fit(X, codes)
    assert len(svm.history_) == 1
    assert max(relative_gaps(svm, X, codes, 50.0, False)) > 1e-3


def test_what_float32_cannot_hold_is_solved_class_by_class(monkeypatch):
    X, codes = documents(n=80, k=3, dtype=np.float64)
    usual = LinearSVM(loss="hinge", tol=1e-4, random_state=0).fit(X, codes)
    scale = 1e12
    assert shared_rows(problems(X * scale, codes, 3).problems[0], 3) is None
    how = {"C": scale**-2.0, "loss": "hinge", "tol": 1e-4, "fit_intercept": scale}
    large = LinearSVM(**how, random_state=0).fit(X * scale, codes)
    np.testing.assert_allclose(large.coef_ * scale, usual.coef_, atol=5e-3)
    monkeypatch.setattr(
        SideBySide, "finite", property(lambda self: False, lambda *_: None), raising=False
    )
    svm = LinearSVM(loss="hinge", tol=1e-4, random_state=0).fit(X, codes)
    assert max(relative_gaps(svm, X, codes, 1.0, False)) <= 1e-4


def test_bad_values_are_named():
    X, codes = documents(k=3)
    X = X.tolil()
    X[5, 77] = np.nan
    with pytest.raises(DataError, match=r"row 5.*77"):
        LinearSVM().fit(X.tocsr(), codes)


def test_only_wide_rows_of_several_classes_are_solved_side_by_side():
    X, codes = documents(k=4)
    assert side_by_side.shared_rows(problems(X, codes, 2).problems[0], 2) is None
    narrow = X[:, :50]
    assert side_by_side.shared_rows(problems(narrow, codes, 4, C=1e3).problems[0], 4) is None
    assert side_by_side.shared_rows(problems(narrow, codes, 4, C=0.1).problems[0], 4) is not None
    assert side_by_side.shared_rows(problems(X, codes, 4, C=np.inf).problems[0], 4) is None
    assert side_by_side.shared_rows(problems(X, codes, 4, C=1e6).problems[0], 4) is None


def test_few_lone_columns_stay_where_they_are():
    X = scipy.sparse.random(60, 40, density=0.5, format="csr", random_state=0)
    X = scipy.sparse.hstack([X, scipy.sparse.csr_matrix(np.eye(60, 3))]).tocsr()
    X.data[X.indptr[7] : X.indptr[8]] = 0.0
    X.eliminate_zeros()  # leaves an empty row
    rows, q, d = without_lone_columns(Rows.of(X))
    assert rows.width == 43
    assert not np.any(d)
    np.testing.assert_allclose(q, np.asarray(X.multiply(X).sum(axis=1)).ravel() + 1.0, rtol=1e-6)


@both_losses
def test_a_matrix_of_mostly_zeros_with_a_small_cost_is_solved_as_its_sparse_form(loss, monkeypatch):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((600, 100)) < 0.1, rng.random((600, 100)), 0.0)
    codes = np.argmax(X @ rng.standard_normal((100, 5)), axis=1)
    passes = []
    plain = SideBySide.run_pass
    monkeypatch.setattr(
        SideBySide, "run_pass", lambda self, signal: passes.append(1) or plain(self, signal)
    )
    dense, sparse = (
        LinearSVM(C=0.1, loss=loss, random_state=0).fit(rows, codes)
        for rows in (X, scipy.sparse.csr_matrix(X))
    )
    assert 0 < len(passes) <= len(dense.history_) + len(sparse.history_)
    assert np.array_equal(dense.coef_, sparse.coef_)
    X = scipy.sparse.csr_matrix(X)
    assert max(relative_gaps(dense, X, codes, 0.1, loss == "squared_hinge")) <= 1e-3 * (1 + 1e-9)


SCRIPT = """
from test_side_by_side import documents
from widemargin import LinearSVM
X, codes = documents(n=40, k=3)
for loss in ("hinge", "squared_hinge"):
    svm = LinearSVM(loss=loss, tol=1e-4, random_state=0).fit(X, codes)
    print(svm.coef_[:, X.indices[:60]].tolist())
"""


def test_interpreted_is_compiled():
    assert_both_tell_the_same(SCRIPT, rtol=1e-3, atol=1e-3)
