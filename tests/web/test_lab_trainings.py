"""What the lab tells its page is what the library computes."""

import base64
import math
import threading
import warnings

import numpy as np
import pytest

pytest.importorskip("starlette", reason="the lab needs starlette")

import widemargin
from widemargin.errors import DataError
from widemargin.web.lab.learners import LEARNERS, choose
from widemargin.web.lab.points import Placed, read_points
from widemargin.web.lab.presets import presets
from widemargin.web.lab.samples import make_table, sample
from widemargin.web.lab.script import program
from widemargin.web.lab.trainings import MOST_STEPS, StoppedError, Watch, train
from widemargin.web.lab.verdicts import certified, verdict_of

pytestmark = pytest.mark.filterwarnings("ignore::widemargin.NotSeparableWarning")
FRAME = (-4.0, 4.0, -4.0, 4.0)
PRESETS = {preset.name: preset for preset in presets()}


def placed_of(name):
    preset = PRESETS[name]
    return read_points({"points": preset.points, "classes": preset.classes})


def unpacked(told):
    raw = np.frombuffer(base64.b64decode(told["base64"]), told["type"])
    return raw.reshape(told["shape"])


def trained(learner, placed, **settings):
    choice = choose({"learner": learner, "settings": settings})
    return train(choice, placed, FRAME, Watch(threading.Event()))


def fitted(learner, placed, keep="vote", **settings):
    """The same training by the estimator that the user has."""
    choice = choose({"learner": learner, "settings": settings})
    estimator = getattr(widemargin, choice.learner.estimator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        params = {**choice.params, "keep": keep} if "keep" in choice.values else choice.params
        return estimator(**params).fit(placed.X, placed.y)


def test_the_worked_example_of_the_lecture():
    run = trained("perceptron", placed_of("six"), fit_intercept=False)
    weights = unpacked(run["weights"])[:, 0, :2].tolist()
    assert weights == [[0, 0], [1, -2], [2, -1], [3, 1]]
    assert run["mistakes"] == [0, 2, 4]
    assert run["order"] == [0, 1, 2, 3, 4, 5] * 2
    assert run["known"]["held"] is True
    assert run["known"]["bound"] >= 3


LINEAR = [
    ("perceptron", {}),
    ("perceptron", {"fit_intercept": False, "ties": "predict"}),
    ("perceptron", {"shuffle": "rows", "random_state": 3, "start": "random"}),
    ("perceptron", {"shuffle": "draw", "batch": 4, "eta": 0.5}),
    ("perceptron", {"batch": "full", "epochs": 9}),
    ("perceptron", {"shuffle": "once", "start": "given", "start_w1": 1.0, "start_b": -2.0}),
    ("pa", {"rule": "pa2", "C": 0.5, "shuffle": "rows"}),
    ("pa", {"rule": "pa", "batch": 2}),
    ("logistic", {"eta": 0.3, "epochs": 5}),
]


@pytest.mark.parametrize("name", ["six", "narrow", "xor"])
@pytest.mark.parametrize(("learner", "settings"), LINEAR)
def test_replays_are_what_the_estimators_learn(name, learner, settings):
    placed = placed_of(name)
    run = trained(learner, placed, **settings)
    model = fitted(learner, placed, **settings)
    told = list(zip(run["rows"], run["labels"], run["amounts"], clocks_of(run), strict=True))
    assert told == [tuple(entry) for entry in model.log_]
    assert len(run["mistakes"]) == model.mistakes_ == sum(run["epochs"])
    assert len(run["epochs"]) == model.n_iter_
    W, sums = unpacked(run["weights"]), unpacked(run["sums"])
    last = model.using("last")
    both = np.column_stack([last.coef_, last.intercept_])
    assert np.allclose(W[-1], both, rtol=1e-12, atol=1e-12)
    steps = len(run["order"])
    average = (sums[-1] + (steps + 1 - run["born"][-1]) * W[-1]) / (steps + 1)
    mean = model.using("average")
    both = np.column_stack([mean.coef_, mean.intercept_])
    assert np.allclose(average, both, rtol=1e-9, atol=1e-9)


def clocks_of(run):
    groups = np.diff([0, *run["ends"]])
    return np.repeat(run["born"][1:], groups).tolist()


@pytest.mark.parametrize("shuffle", [False, "once", "rows", "draw"])
def test_the_example_of_a_correction_is_the_one_that_was_looked_at(shuffle):
    run = trained("perceptron", placed_of("narrow"), shuffle=shuffle, epochs=30)
    looked = [run["order"][int(clock) - 1] for clock in run["born"][1:]]
    assert looked == run["rows"]


def test_three_classes():
    placed = placed_of("three")
    run, model = trained("perceptron", placed), fitted("perceptron", placed)
    last = model.using("last")
    weights = np.column_stack([last.coef_, last.intercept_])
    assert np.allclose(unpacked(run["weights"])[-1], weights)
    assert len(run["mistakes"]) == model.mistakes_
    assert len(run["certificate"]["parts"]) == 3


@pytest.mark.parametrize("name", ["xor", "rings", "three"])
@pytest.mark.parametrize("settings", [{"kernel": "poly"}, {"shuffle": "rows", "gamma": 0.5}])
def test_kernel_perceptron(name, settings):
    placed = placed_of(name)
    run = trained("kernel-perceptron", placed, **settings)
    model = fitted("kernel-perceptron", placed, **settings)
    told = list(zip(run["rows"], run["labels"], run["amounts"], clocks_of(run), strict=True))
    assert told == [tuple(entry) for entry in model.log_]
    assert len(run["mistakes"]) == model.mistakes_
    looked = [run["order"][int(clock) - 1] for clock in clocks_of(run)]
    assert looked == run["rows"]
    values, place = unpacked(run["on_points"]), {row: s for s, row in enumerate(run["support"])}
    scores = np.zeros((run["vectors"], len(placed.X)))
    for row, label, amount, _ in told:
        scores[label] += amount * values[place[row]]
    wanted = np.atleast_2d(model.using("last").decision_function(placed.X).T)
    assert np.allclose(scores, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["outlier", "three", "narrow"])
@pytest.mark.parametrize(("learner", "settings"), [("soft-svm", {"C": 0.5}), ("hard-svm", {})])
def test_svm(name, learner, settings):
    placed = placed_of(name)
    run = trained(learner, placed, **settings)
    choice = choose({"learner": learner, "settings": settings})
    model = widemargin.LinearSVM(**choice.params, tol=1e-6, random_state=0).fit(placed.X, placed.y)
    weights = np.column_stack([model.coef_, model.intercept_])
    assert np.array_equal(run["passes"][-1]["weights"], weights)
    assert run["passes"][-1]["gap"] == model.certificate_.gap
    assert [one["passes"] for one in run["passes"]] == sorted(
        {one["passes"] for one in run["passes"]}
    )


def test_hard_margin_where_there_is_none():
    assert trained("hard-svm", placed_of("xor"))["separates"] is False


def test_kernel_svm():
    placed = placed_of("rings")
    run, model = trained("kernel-svm", placed, gamma=0.5), fitted("kernel-svm", placed, gamma=0.5)
    assert sorted(run["support"]) == sorted(model.support_.tolist())
    assert np.allclose(unpacked(run["on_points"])[0], model.decision_function(placed.X))


def test_the_verdict_beside_a_kernel_svm_has_a_bias_like_it():
    placed = read_points({"points": [[1, 1, 0], [2, 2, 1]], "classes": ["a", "b"]})
    settings = {"kernel": "poly", "degree": 1, "coef0": 0.0}
    assert trained("kernel-svm", placed, **settings)["certificate"]["verdict"] == "separable"
    assert "bias=True" in program([choose({"learner": "kernel-svm", "settings": {}})], placed)
    alike = trained("kernel-perceptron", placed, **settings)
    assert alike["certificate"]["verdict"] == "not separable"


def test_cycles_are_told():
    run = trained("perceptron", placed_of("xor"), epochs=30)
    first, last, proof = run["cycle"]
    assert first < last <= 30
    assert proof


def test_verdicts():
    six = placed_of("six")
    told = verdict_of(certified(six, bias=False), six)
    assert told["verdict"] == "separable"
    assert math.isclose(told["margin"][0], 1.0, rel_tol=1e-6)
    xor = placed_of("xor")
    told = verdict_of(certified(xor, bias=True), xor)
    assert told["verdict"] == "not separable"
    signs = np.where(xor.codes[told["examples"]] == 1, 1.0, -1.0)
    meeting = (signs * told["shares"]) @ np.column_stack([xor.X, np.ones(len(xor.X))])[
        told["examples"]
    ]
    assert np.allclose(meeting, 0.0)
    assert math.isclose(sum(told["shares"]), 1.0)
    one_class = read_points({"points": [[0, 0, 1]]})
    assert verdict_of(certified(one_class, bias=True), one_class) is None
    assert trained("perceptron", one_class) is None


def test_a_pair_of_three_classes_names_the_points_of_the_page():
    placed = read_points(
        {
            "points": [[0, 0, 2], [5, 5, 0], [0, 0, 1], [9, 9, 0]],
            "classes": [0, 1, 2],
        }
    )
    parts = verdict_of(certified(placed, bias=True), placed)["parts"]
    (bad,) = [part for part in parts if part["verdict"] == "not separable"]
    assert sorted(bad["examples"]) == [0, 2]
    assert bad["classes"] == [1, 2]


@pytest.mark.parametrize("name", PRESETS)
def test_presets_can_be_learned_and_exported(name, capsys):
    preset, placed = PRESETS[name], placed_of(name)
    choices = [choose(one) for one in preset.learners]
    for choice in choices:
        assert train(choice, placed, FRAME, Watch(threading.Event()))
    run_program(program(choices, placed), capsys)


def run_program(text, capsys):
    """Run an exported program; returns its names and what it printed."""
    names = {"__name__": "__main__"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(text, "lab.py", "exec"), names)
    return names, capsys.readouterr().out


@pytest.mark.parametrize("learner", [learner.name for learner in LEARNERS])
def test_the_program_repeats_what_is_shown(learner, capsys):
    placed = placed_of("narrow")
    names, printed = run_program(program([choose({"learner": learner})], placed), capsys)
    assert np.array_equal(names["X"], placed.X)
    assert np.array_equal(names["y"], placed.y)
    run = trained(learner, placed)
    if "mistakes" in run:
        assert f"{len(run['mistakes'])} mistakes in {len(run['epochs'])} epochs" in printed
    weights = {
        "online": lambda: unpacked(run["weights"])[-1],
        "svm": lambda: run["passes"][-1]["weights"],
    }
    if run["kind"] in weights:
        fit = names["learner"]
        both = np.column_stack([fit.coef_, fit.intercept_])
        assert np.allclose(weights[run["kind"]](), both, rtol=1e-12)
    assert "separable" in printed


def test_a_page_that_is_gone_stops_the_work():
    stop = threading.Event()
    stop.set()
    with pytest.raises(StoppedError):
        train(choose({"learner": "perceptron"}), placed_of("xor"), FRAME, Watch(stop))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"learner": "forest"}, "must be one of perceptron"),
        ({"learner": "perceptron", "settings": {"eta": 0}}, "eta=0 must be a number from 0.01"),
        ({"learner": "perceptron", "settings": {"eta": True}}, "eta=True must be a number"),
        ({"learner": "perceptron", "settings": {"batch": True}}, "batch=True must be one of 1"),
        ({"learner": "perceptron", "settings": {"epochs": 1.5}}, "must be a whole number"),
        ({"learner": "perceptron", "settings": {"n_jobs": 1}}, "the settings of perceptron are"),
        ({"learner": "perceptron", "settings": {"start": "x"}}, "start='x' must be one of"),
        (["perceptron"], "a learner is given as"),
    ],
)
def test_wrong_settings_are_refused(given, message):
    with pytest.raises(DataError, match=message):
        choose(given)


@pytest.mark.parametrize(
    "given",
    [
        {"points": "many"},
        {"points": [[0, 0]]},
        {"points": [[0, 0, 2]]},
        {"points": [[float("nan"), 0, 1]]},
        {"points": [[1e300, 0, 1]]},
        {"points": [[0, 0, 0.5]]},
        {"points": [[0, "0", 1]]},
        {"points": [[0, 0, 1]] * 1001},
        {"points": [], "classes": [1]},
        {"points": [], "classes": [2, 1]},
        {"points": [], "classes": ["a", 1]},
        {"points": [], "classes": ["a", "b" * 61]},
    ],
)
def test_wrong_points_are_refused(given):
    with pytest.raises(DataError):
        read_points(given)


def test_too_many_steps_are_refused():
    placed = placed_of("narrow")
    most = MOST_STEPS // len(placed.X)
    with pytest.raises(DataError, match=f"choose at most {most} epochs"):
        trained("perceptron", placed, epochs=most + 1)


def test_own_examples():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(5, 2, 400), rng.normal(0, 1, 400), np.zeros(400)])
    X = np.column_stack([X, X[:, 0] * 3 + 1])
    table = make_table(X, np.where(X[:, 0] > 5, "yes", "no"), ["a", "b", "c", "d"], "t.csv")
    told = sample(table, {"columns": [0, 1], "standardised": False})
    assert told["story"] == "300 of 400 rows, drawn at random: a across, b upwards."
    assert len(told["points"]) == 300
    assert told["classes"] == ["no", "yes"]
    rows = {(round(x, 6), code) for x, _, code in told["points"]}
    known = {(float(f"{x:.6g}"), int(x > 5)) for x in X[:, 0]}
    assert rows <= {(round(x, 6), code) for x, code in known}
    told = sample(table, {"columns": None})
    assert "+0.70 a +0.70 d" in told["story"]
    assert "of the variance" in told["story"]
    assert isinstance(read_points(told), Placed)
    with pytest.raises(DataError, match="two different numbers"):
        sample(table, {"columns": [0, 9]})


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[1.0], [2.0]], [0, 1], "two features or more"),
        ([[1.0, 2.0], [2.0, np.inf]], [0, 1], "row 1, column 1"),
        ([[1.0, 2.0]], [0], "2 to 8 classes, found 1"),
        ([[1.0, 2.0]], [0, 1], "there is 1 example but 2 labels"),
    ],
)
def test_examples_that_cannot_be_shown(X, y, message):
    with pytest.raises(DataError, match=message):
        make_table(X, y, None, "")
