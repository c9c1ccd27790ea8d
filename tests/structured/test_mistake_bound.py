"""The mistake bound of structured training: no false claim, whatever was corrected and logged."""

import numpy as np
import pytest

from widemargin import StructuredPerceptron
from widemargin.errors import DataError
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


class Alike(Task):
    """Two of the three answers have the same features, so some mistakes cannot be corrected."""

    def features(self, x, y):
        return [f"{x[0]} {y.lower()}"]

    def candidates(self, x):
        return ["a", "A", "b"]


def test_no_bound_if_some_mistakes_were_not_corrected():
    X, Y = [("u", i) for i in range(20)] + [("v", 0)], 20 * ["A"] + ["b"]
    model = StructuredPerceptron(Alike(), log=True, shuffle=False, random_state=0).fit(X, Y)
    assert len(model.log_) == 1 < model.history_.mistakes
    for found in (model.certificate(), model.certificate(X=X, Y=Y)):
        assert found.bound is None
        assert found.no_bound
    assert "only 1 of 41 mistakes are in the log" in model.certificate().no_bound


class TwoSteps(Task):
    """The second step has the same features for every x, the first has its own."""

    def features(self, x, y):
        return [f"{x} {y[0]}", f"second {y[1]}"]

    def candidates(self, x):
        return [("no", "no"), ("yes", "yes")]

    def start(self, x):
        return ()

    def steps(self, x, state):
        if state:
            yield [f"second {state[0]}"], (*state, state[0])
            return
        for step in ("no", "yes"):
            yield [f"{x} {step}"], (step,)

    def is_done(self, x, state):
        return len(state) == 2

    def is_right(self, x, y, state):
        return state == y[: len(state)]

    def answer(self, x, state):
        return state


def test_the_bound_for_a_beam_counts_parts_of_answers():
    X, Y = list(range(30)), [("yes", "yes")] * 30
    second = {"second yes": 1.0, "second no": -1.0}  # ranks whole answers, but not first steps
    model = StructuredPerceptron(TwoSteps(), beam=1, update="early", shuffle=False, log=True)
    model.fit(X, Y)
    assert "do not rank" in model.certificate(second, X, Y).no_bound
    found = model.certificate(X=X, Y=Y)
    assert found.mistakes == 30 <= found.bound
    model.set_params(log=False).fit(X, Y)
    assert "not all of which are logged" in model.certificate(second, X, Y).no_bound


def test_examples_of_a_certificate_need_answers():
    model = StructuredPerceptron(Signs(), log=True).fit([[1.0], [-1.0]], [1, 0])
    with pytest.raises(DataError, match="2 examples, but 0 answers"):
        model.certificate(X=[[1.0], [-1.0]])


def test_a_bound_of_one_mistake_is_in_the_singular():
    model = StructuredPerceptron(Alike(), log=True, shuffle=False).fit([("v", 0)], ["b"])
    assert "at most 1 mistake, gamma" in repr(model.certificate())
