"""The mistake bound of structured training: no false claim after early stopping."""

import numpy as np
import pytest

from widemargin import StructuredPerceptron
from widemargin.structured.task import Task


class Signs(Task):
    """Classify vectors by the sign of an unknown function."""

    def features(self, x, y):
        return {f"{j} {y}": value for j, value in enumerate(x)}

    def candidates(self, x):
        return [0, 1]


@pytest.fixture(scope="module")
def stopped():
    """A separable training whose best held-out score came before its last mistakes."""
    for seed in range(50):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(30, 3))
        Y = (X @ [1.0, -0.5, 0.2] > 0).astype(int).tolist()
        model = StructuredPerceptron(Signs(), epochs=40, patience=3, log=True)
        model.fit(X.tolist(), Y, X[:6].tolist(), [1 - y for y in Y[:6]])
        if model.history_.went_back and model.history_.mistakes > len(model.log_) > 0:
            return model, X.tolist(), Y
    raise AssertionError("no training went back")


def test_a_shortened_log_gives_no_bound_without_the_examples(stopped):
    model, X, Y = stopped
    truth = StructuredPerceptron(Signs(), epochs=1000).fit(X, Y).last_weights_
    for found in (model.certificate_, model.certificate(truth)):
        assert "give the training examples" in found.no_bound
        assert found.bound is None
    found = model.certificate(truth, X, Y)
    assert not found.no_bound
    assert found.mistakes <= found.bound


def test_no_bound_after_continuing_from_an_earlier_epoch(stopped):
    model, X, Y = stopped
    model.partial_fit(X, Y)
    assert "undone" in model.certificate(X=X, Y=Y).no_bound


@pytest.mark.parametrize("how", [{"eta": 100.0}, {"rule": "pa"}])
def test_no_bound_if_parameters_changed_between_calls(how, tmp_path):
    X, Y = [[1.0], [-1.0]], [1, 0]
    model = StructuredPerceptron(Signs(), log=True, **how).partial_fit(X, [0, 1])
    assert bool(model.certificate_.no_bound) == ("rule" in how)
    plain = StructuredPerceptron(Signs())
    model.set_params(**{name: getattr(plain, name) for name in how})
    model.save(tmp_path / "m.wm")
    for one in (model, StructuredPerceptron.load(tmp_path / "m.wm")):
        for _ in range(150):
            one.partial_fit(X, Y)
        found = one.certificate({"0 1": 1.0, "0 0": -1.0}, X, Y)
        assert found.no_bound
        assert found.bound is None
