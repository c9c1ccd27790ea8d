"""Iterative parameter mixing, computed in this process: the reference for every cluster."""

import bz2
import math
import pathlib

import numpy as np
import pytest
from partitioned import BreakingEngine, SendingEngine, assert_same_bits, fit, some_rows, write_rows

import widemargin
from widemargin import Distributed, OnlineLogistic, PassiveAggressive, Perceptron
from widemargin.distribute import mixing
from widemargin.distribute.engine import SerialEngine, gather, tree


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("multiclass", ["joint", "ovr"])
@pytest.mark.parametrize("mix", ["uniform", "touched"])
def test_one_partition_is_the_plain_fit(tmp_path, classes, multiclass, mix):
    X, y = some_rows(120, 15, classes)
    path = write_rows(tmp_path / "rows.svm", X, y)
    learner = Perceptron(shuffle=False, epochs=4, multiclass=multiclass)
    assert_same_bits(fit(learner, path, mix=mix), learner.fit(*widemargin.read(path)))


def naive_mixing(parts, epochs, mix, eta):
    """Parameter mixing as the paper has it, with the mean over all hypotheses of all partitions."""
    d = parts[0][0].shape[1]
    w, total, count, mistakes = np.zeros(d), np.zeros(d), 1, 0
    for _ in range(epochs):
        changes = []
        for X, y in parts:
            own = w.copy()
            for x, label in zip(X, y, strict=True):
                if label * (own @ x) <= 0:
                    own += eta * label * x
                    mistakes += 1
                total += own
                count += 1
            changes.append(own - w)
        changed = np.sum([change != 0 for change in changes], axis=0)
        shares = len(parts) if mix == "uniform" else np.maximum(1, changed)
        w = w + np.sum(changes, axis=0) / shares
    return w, total / count, mistakes


@pytest.mark.parametrize("mix", ["uniform", "touched"])
@pytest.mark.parametrize("partitions", [2, 3, 5])
def test_equals_the_textbook(tmp_path, mix, partitions):
    X, y = some_rows(90, 12, 2)
    paths = []
    for i, which in enumerate(np.array_split(np.arange(len(X)), partitions)):
        content = write_rows(tmp_path / f"{i}.svm", X[which], y[which])
        paths.append(content)
    parts = [
        (np.column_stack([X[which], np.ones(len(which))]), 2 * y[which] - 1)
        for which in np.array_split(np.arange(len(X)), partitions)
    ]
    for path in paths:  # compressed files are partitions of their own
        pathlib.Path(path + ".bz2").write_bytes(bz2.compress(pathlib.Path(path).read_bytes()))
    # A step that can be divided in every epoch: all weights and scores are whole numbers, and no
    # score of zero is one of a rounding error instead.
    eta = float(math.lcm(*range(1, partitions + 1)) ** 6)
    learner = Perceptron(shuffle=False, epochs=6, fit_intercept=True, eta=eta)
    packed = [path + ".bz2" for path in paths]
    found = fit(learner, packed, partitions=100, mix=mix)
    last, mean, mistakes = naive_mixing(parts, len(found.history_), mix, eta)
    assert found.model_.mixture == (mix, partitions)
    assert found.history_.mistakes == mistakes
    np.testing.assert_array_equal(found.model_.state.last()[0], last)
    np.testing.assert_allclose(found.model_.state.average()[0], mean, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    "learner",
    [
        Perceptron(random_state=1, epochs=3),
        Perceptron(random_state=1, epochs=3, keep="last", shuffle="once", batch=7),
        OnlineLogistic(random_state=1, epochs=3, l2=0.001, eta=(0.5, 0.5)),
        PassiveAggressive(random_state=2, epochs=3, class_weight="balanced"),
        OnlineLogistic(random_state=3, epochs=3, fit_intercept="auto", multiclass="ovr"),
        Perceptron(random_state=4, epochs=9, validation=0.3, patience=2, shuffle="draw"),
    ],
)
def test_calls_change_nothing_that_they_are_given(tmp_path, learner):
    X, y = some_rows(200, 20, 3)
    path = write_rows(tmp_path / "rows.svm", X, y)
    plain = fit(learner, path, partitions=4)
    assert_same_bits(plain, fit(learner, path, SendingEngine(), partitions=4))
    assert len(plain.history_) > 1


@pytest.mark.parametrize("mix", ["uniform", "touched"])
@pytest.mark.parametrize(
    "learner",
    [
        Perceptron(random_state=1, epochs=4),
        Perceptron(random_state=1, epochs=4, keep="last"),
        OnlineLogistic(random_state=1, epochs=3, l2=0.001, multiclass="ovr"),
    ],
)
def test_full_vectors_and_changed_columns_give_the_same_bits(tmp_path, monkeypatch, learner, mix):
    path = write_rows(tmp_path / "rows.svm", *some_rows(200, 20, 3))
    fitted = []
    for dense in (0.0, 2.0):
        monkeypatch.setattr(mixing, "DENSE", dense)
        monkeypatch.setattr(mixing, "MERGED", dense)
        fitted.append(fit(learner, path, partitions=5, mix=mix))
    assert_same_bits(*fitted)


@pytest.mark.parametrize("count", [1, 2, 8, 9, 20])
def test_a_tree_can_end_with_another_function(count):
    engine = SerialEngine()
    parts = [engine.submit("part", int, n) for n in range(count)]
    total, _ = tree(engine, "add", int.__add__, parts, (divmod, engine.share("seven", 7)))
    assert gather(engine, [total]) == [divmod(sum(range(count)), 7)]


@pytest.mark.parametrize("mix", ["uniform", "touched"])
def test_learns_and_says_what_the_theorem_says(tmp_path, mix):
    X, y = some_rows(300, 20, 2)
    path = write_rows(tmp_path / "rows.svm", X, y)
    learner = fit(Perceptron(random_state=0, epochs=60), path, partitions=6, mix=mix)
    local = learner.to_local()
    read, labels = widemargin.read(path)
    assert local.score(read, labels) > 0.97
    counted = widemargin.certify(local, read, labels)
    known = local.certificate_
    if mix == "touched":
        assert known.weighted_mistakes is None
        assert "no theorem" in known.no_bound
        return
    assert known.weighted_mistakes == known.mistakes / 6
    assert counted.weighted_mistakes == known.weighted_mistakes
    assert counted.bound is not None
    assert known.weighted_mistakes <= counted.bound
    assert "weighted by the mixture" in repr(counted)
    (tmp_path / "rows.vw").write_text("1 2.0 | a:1 b:1\n-1 | a:1 b:-0.2\n" * 20)
    weighted = fit(Perceptron(random_state=0), tmp_path / "rows.vw", partitions=2, mix=mix)
    assert "the examples were weighted" in weighted.to_local().certificate_.no_bound


def test_the_model_is_a_file_like_any_other(tmp_path):
    X, y = some_rows(100, 8, 3)
    path = write_rows(tmp_path / "rows.svm", X, y)
    learner = fit(Perceptron(random_state=0), path, partitions=3)
    learner.save(tmp_path / "model.wm")
    again = widemargin.load(tmp_path / "model.wm")
    read, _ = widemargin.read(path)
    assert np.array_equal(again.predict(read), learner.to_local().predict(read))
    assert again.model_.mixture == ("touched", 3)


def test_resumed_is_uninterrupted(tmp_path):
    X, y = some_rows(150, 10, 3)
    path = write_rows(tmp_path / "rows.svm", X, y)
    learner = Perceptron(random_state=0, epochs=8, validation=0.2, patience=None)
    whole = fit(learner, path, partitions=3)

    folder = tmp_path / "checkpoint"
    with pytest.raises(KeyboardInterrupt):
        fit(learner, path, BreakingEngine("learn", 11), partitions=3, checkpoint=folder)
    assert list(folder.iterdir())
    resumed = fit(learner, path, partitions=3, checkpoint=folder)
    assert_same_bits(whole, resumed)
    assert not list(folder.iterdir())


def test_what_partitions_may_hold(tmp_path):
    """Nothing, one class, or classes and columns that no other partition has."""
    paths = []
    for i, text in enumerate(["", "0 1:1\n0 2:1\n" * 9, "1 3:1\n2 4:2\n" * 9, "# nothing\n"]):
        paths.append(str(tmp_path / f"{i}.svm.bz2"))
        pathlib.Path(paths[-1]).write_bytes(bz2.compress(text.encode()))
    found = fit(Perceptron(random_state=0, epochs=20), paths, partitions=9).to_local()
    X, y = widemargin.read(paths[1:3])
    assert np.array_equal(found.predict(X), y)
    assert found.model_.mixture == ("touched", 2)


def test_is_shown_as_the_call_that_makes_it():
    learner = Distributed(Perceptron(random_state=0), client="local", partitions=3)
    assert repr(learner) == "Distributed(Perceptron(random_state=0), partitions=3)"
