"""Linear SVMs on partitions: the same objective and the same certificate as on one machine."""

import numpy as np
import pytest
from partitioned import BreakingEngine, SendingEngine, some_rows, write_rows
from sklearn.exceptions import ConvergenceWarning

import widemargin
from widemargin import Distributed, LinearSVM
from widemargin.distribute.cocoa import SUMS, Step, add_steps
from widemargin.distribute.engine import SerialEngine


def solve(learner, path, partitions, engine=None, **more):
    return Distributed(learner, client=engine or SerialEngine(), partitions=partitions).fit(
        path, **more
    )


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("partitions", [1, 4])
def test_reaches_the_local_objective(tmp_path, loss, classes, partitions):
    path = write_rows(tmp_path / "rows.svm", *some_rows(200, 15, classes))
    learner = LinearSVM(
        loss=loss, C=0.01, tol=1e-3, fit_intercept=0.1, random_state=0, class_weight="balanced"
    )
    local = learner.fit(*widemargin.read(path)).certificate_
    made = solve(learner, path, partitions)
    found = made.certificate_
    assert found.gap <= 1.01e-3
    assert found.dual <= local.primal * (1 + 1e-9)
    assert local.dual <= found.primal * (1 + 1e-9)
    assert len(found.parts) == len(local.parts)
    assert made.history_.stopped == "gap reached"
    assert made.history_.epochs[-1].gap <= 1e-3


def test_the_certificate_is_that_of_the_weights(tmp_path):
    """Recomputed here from the dual values and the rows, as the certificate's own code does."""
    from widemargin.certificates.gap import BinaryObjective, measure_binary
    from widemargin.data.rows import Rows

    path = write_rows(tmp_path / "rows.svm", *some_rows(150, 10, 2))
    X, y = widemargin.read(path)
    with pytest.warns(ConvergenceWarning, match="relative gap"):
        made = solve(LinearSVM(loss="hinge", random_state=0, epochs=5), path, 3)
    found, model = made.certificate_, made.model_
    signs = np.where(y == 1, 1, -1).astype(np.int8)
    problem = BinaryObjective(Rows.of(X), signs, np.ones(len(y)), False, False)
    _, _, known = measure_binary(problem, found.alpha)
    weights = model.state.W[0]
    short = np.maximum(0.0, 1.0 - signs * (X @ weights[:-1] + weights[-1]))
    primal = 0.5 * (weights @ weights) + np.sum(short)
    np.testing.assert_allclose([found.primal, found.dual], [primal, known.dual], rtol=1e-12)
    assert found.primal <= known.primal * (1 + 1e-12)  # of the weights that the dual values make
    assert found.support_vectors == known.support_vectors
    assert found.violation == pytest.approx(known.violation, rel=1e-9)


def test_same_bits_wherever_it_is_done_and_after_an_interruption(tmp_path):
    path = write_rows(tmp_path / "rows.svm", *some_rows(150, 12, 3))
    learner = LinearSVM(C=0.01, random_state=0, validation=0.2)
    whole = solve(learner, path, 4)
    sent = solve(learner, path, 4, SendingEngine())

    folder = tmp_path / "checkpoint"
    with pytest.raises(KeyboardInterrupt):
        solve(learner, path, 4, BreakingEngine("ascend", 10), checkpoint=folder)
    assert list(folder.iterdir())
    resumed = solve(learner, path, 4, checkpoint=folder)
    for other in (sent, resumed):
        assert np.array_equal(whole.model_.state.W, other.model_.state.W)
        assert whole.certificate_ == other.certificate_
    assert 0.5 < whole.history_.epochs[-1].held_out <= 1.0


@pytest.mark.parametrize("params", [{"bias": "free"}, {"multiclass": "joint"}, {"C": np.inf}])
def test_what_does_not_distribute_is_refused(tmp_path, params):
    path = write_rows(tmp_path / "rows.svm", *some_rows(20, 5, 2))
    with pytest.raises(ValueError, match="does not distribute"):
        solve(LinearSVM(**params), path, 2)


def step_of_some_columns(columns, width):
    """A step that changes some columns, with whole numbers."""
    rng = np.random.default_rng(columns)
    sums = rng.integers(9, size=(1, len(SUMS))).astype(float)
    return Step(sums, np.array(columns), rng.integers(1, 9, (2, len(columns))).astype(float), width)


@pytest.mark.parametrize("more", [[3, 9], [0, 3, 4, 7, 8, 9]])
def test_masks_and_column_numbers_add_up_to_the_same(more):
    """Also a column whose changes cancel out stays one that changed."""
    one, other = step_of_some_columns([2, 3, 5], 20), step_of_some_columns(more, 20)
    other.moved[:, more.index(3)] = -one.moved[:, 1]
    wanted = add_steps(one, other)
    assert not wanted.dense
    assert set(wanted.columns.tolist()) == {2, 3, 5, *more}
    for left, right in [(one.spread(), other), (one, other.spread())]:
        found = add_steps(left, right)
        assert found.dense
        for mine, theirs in zip(found.packed(), wanted, strict=True):
            np.testing.assert_array_equal(mine, theirs)
    near = [step._replace(width=10) for step in (one, other)]
    assert not any(step.dense for step in near)
    np.testing.assert_array_equal(add_steps(*near).packed().moved, wanted.moved)
