"""The search scores what it says, goes beyond an end that is the best, and is honest about it."""

from dataclasses import replace

import numpy as np
import pytest

from widemargin.data.datasets import Encoded
from widemargin.data.pool import Pool
from widemargin.data.rows import Rows
from widemargin.evaluate.folds import stratified_folds
from widemargin.kernel_machines.perceptron.settings import KernelSettings
from widemargin.kernel_machines.svm.fit import KernelSVMSettings
from widemargin.linear_svm.fit import SVMSettings
from widemargin.online.settings import Settings
from widemargin.tuning.cross_validation import cross_validate
from widemargin.tuning.estimation import tune_pool
from widemargin.tuning.learning import learn_and_test
from widemargin.tuning.search import Search, SearchSpace, Trial, search


def make_generator():
    return np.random.default_rng(0)


def make_pool(n=240, classes=2, noise=1.0, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, classes, n)
    centres = rng.normal(size=(classes, 6))
    X = (centres[codes] + noise * rng.normal(size=(n, 6))) * scale
    data = Encoded(Rows.of(X), codes, None, np.arange(n), [])
    return Pool(data, np.arange(classes))


def everything(pool):
    return np.arange(len(pool.codes))


@pytest.mark.parametrize(
    "settings",
    [
        Settings(keep="average"),
        Settings(keep="last", rule="pa1", C=0.1),
        Settings(keep="vote"),
        Settings(rule="logistic", multiclass="ovr", class_weight={0: 2.0}),
        KernelSettings(),
        KernelSettings(keep="last", budget=40),
    ],
)
@pytest.mark.parametrize("classes", [2, 3])
def test_one_training_tells_about_every_number_of_epochs(settings, classes):
    pool = make_pool(classes=classes)
    split = pool.split(*stratified_folds(pool.codes, 4, 0)[1])
    longest = replace(settings, epochs=6)
    by_epoch = learn_and_test(split, longest, make_generator(), each_epoch=True).right
    assert len(by_epoch) == 6
    for epochs in (1, 3, 6):
        one = replace(settings, epochs=epochs)
        assert learn_and_test(split, one, make_generator()).right == [by_epoch[epochs - 1]]


def test_a_training_that_ends_early_stays_as_it_is():
    pool = make_pool(noise=0.01)
    split = pool.split(*stratified_folds(pool.codes, 4, 0)[0])
    found = learn_and_test(split, Settings(epochs=9), make_generator(), each_epoch=True).right
    assert found.tolist()[1:] == [len(split.tested.codes)] * 8


@pytest.mark.parametrize("settings", [SVMSettings(), Settings(rule="pa2", epochs=3)])
def test_a_candidate_has_the_scores_of_its_cross_validation(settings):
    pool = make_pool(noise=2.0)
    space = SearchSpace(C=(0.01, 0.1, 1.0), epochs=None)
    for trial in search(pool, everything(pool), settings, space, make_generator).trials:
        alone = cross_validate(pool, replace(settings, C=trial.C), make_generator)
        assert np.array_equal(trial.scores, alone.scores)


def test_kernel_svms_start_from_the_smaller_c_and_are_as_good():
    pool = make_pool(noise=1.5, classes=3)
    found = search(
        pool, everything(pool), KernelSVMSettings(), SearchSpace(C=(0.1, 1.0, 10.0)), make_generator
    )
    alone = cross_validate(pool, KernelSVMSettings(C=10.0), make_generator)
    assert found.trials[-1].mean == pytest.approx(alone.accuracy, abs=0.02)


def test_threads_change_nothing():
    pool = make_pool(noise=2.0, classes=3)
    for settings in (SVMSettings(), Settings(rule="pa1")):
        one, two = (
            search(pool, everything(pool), settings, SearchSpace(), make_generator, threads=threads)
            for threads in (1, 2)
        )
        assert [trial.chosen for trial in one.trials] == [trial.chosen for trial in two.trials]
        assert all(np.array_equal(*pair) for pair in zip(*scores(one, two), strict=True))


def scores(*found):
    return [[trial.scores for trial in one.trials] for one in found]


def test_the_search_goes_beyond_its_ends_and_refines():
    """Values a thousand times smaller need a C a million times larger."""
    pool = make_pool(noise=1.0, scale=1e-2)
    found = search(pool, everything(pool), SVMSettings(), SearchSpace(), make_generator)
    tried = [trial.C for trial in found.trials]
    assert max(tried) > 10.0
    best = found.best.C
    assert min(tried) < best < max(tried)
    decade = 10.0 ** round(np.log10(best))
    assert {float(f"{decade * f:.0e}") for f in (0.316, 3.16)} & set(tried)
    assert tried == sorted(tried)


def test_what_is_not_searched_stays():
    pool = make_pool()
    found = search(
        pool, everything(pool), Settings(rule="pa1"), SearchSpace(C=None), make_generator
    )
    assert {trial.C for trial in found.trials} == {None}
    assert "C" not in found.best.chosen
    found = search(pool, everything(pool), Settings(), SearchSpace(), make_generator)
    assert set(found.best.chosen) == {"epochs"}  # C has no effect on the perceptron
    found = search(
        pool,
        everything(pool),
        Settings(rule="pa2", epochs=3),
        SearchSpace((0.5, 2.0), None),
        make_generator,
    )
    assert [trial.chosen for trial in found.trials] == [{"C": 0.5}, {"C": 2.0}]


def test_more_epochs_are_tried_if_the_largest_is_best(monkeypatch):
    from widemargin.tuning import search as module

    pool = make_pool(n=400, noise=2.5)
    monkeypatch.setattr(module, "FIRST_EPOCHS", (1,))
    monkeypatch.setattr(module, "MORE_EPOCHS", (4, 8))
    found = search(pool, everything(pool), Settings(keep="last"), SearchSpace(), make_generator)
    assert [trial.epochs for trial in found.trials] == [1, 4, 8]


def test_ties_go_to_the_smallest():
    trials = [Trial(0.1, 2, np.array([0.5, 0.7])), Trial(1.0, 1, np.array([0.6, 0.6]))]
    assert Search(trials, 2, 10).best.chosen == {"C": 0.1, "epochs": 2}


def test_an_end_of_the_values_tried_is_told():
    pool = make_pool(noise=0.5, scale=1e-2)
    found = search(
        pool, everything(pool), SVMSettings(), SearchSpace(C=(1e-5, 1e-4)), make_generator
    )
    which = "smallest" if found.best.C == 1e-5 else "largest"
    told = f"the best C, {found.best.C:g}, is the {which} that was tried: try values beyond it"
    assert found.notes == [told]


@pytest.mark.parametrize(
    ("sets", "room"), [(6, 0.05), pytest.param(20, 0.03, marks=pytest.mark.exhaustive)]
)
def test_the_estimate_is_honest_where_there_is_nothing_to_learn(sets, room):
    """The best of many candidates looks better than chance on noise; the estimate must not."""
    chosen, estimated = [], []
    for seed in range(sets):
        rng = np.random.default_rng(seed)
        X, codes = rng.normal(size=(100, 5)), np.arange(100) % 2
        pool = Pool(Encoded(Rows.of(X), codes, None, np.arange(100), []), np.arange(2))
        found = tune_pool(pool, Settings(keep="last"), SearchSpace(), make_generator, nested=True)
        chosen.append(found.search.best.mean)
        estimated.append(found.estimate_.accuracy)
    assert np.mean(chosen) > 0.52
    assert np.mean(chosen) - np.mean(estimated) > 0.03
    assert np.mean(estimated) == pytest.approx(0.5, abs=room)


def test_held_out_rows_take_no_part_in_the_search():
    pool = make_pool(n=300, noise=1.5)
    first = tune_pool(pool, SVMSettings(), SearchSpace(C=(0.1, 1.0)), make_generator, seed=3)
    held = stratified_folds(pool.codes, 10, 3)[0].test
    X = pool.data.rows.to_matrix().copy()
    X[held] = 100.0
    other = Pool(Encoded(Rows.of(X), pool.codes, None, np.arange(300), []), pool.classes)
    second = tune_pool(other, SVMSettings(), SearchSpace(C=(0.1, 1.0)), make_generator, seed=3)
    assert all(np.array_equal(*p) for p in zip(*scores(first.search, second.search), strict=True))
    assert first.estimate_.sizes.tolist() == [len(held)] == [30]
    assert second.estimate_.accuracy < first.estimate_.accuracy


def test_the_estimate_is_of_the_settings_chosen():
    pool = make_pool(n=300, noise=1.5)
    found = tune_pool(pool, SVMSettings(), SearchSpace(), make_generator)
    cut = stratified_folds(pool.codes, 10, 0)[0]
    alone = learn_and_test(
        pool.split(*cut), replace(SVMSettings(), **found.best_), make_generator()
    )
    assert found.estimate_.right.tolist() == alone.right.tolist()
    assert found.search.rows == 270
