"""Curves, areas and thresholds: against scikit-learn, against definitions, and by simulation."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import tries
from sklearn.metrics import (
    average_precision_score,
    f1_score,
    precision_recall_curve,
    precision_score,
    recall_score,
    roc_auc_score,
    roc_curve,
)

from widemargin import DataError, curves
from widemargin.evaluate.ranking import curves_of_model
from widemargin.evaluate.thresholds import between, read_aim

labelled_scores = st.lists(
    st.tuples(st.booleans(), st.integers(-4, 4) | st.floats(-1e6, 1e6)), min_size=2, max_size=40
).filter(lambda pairs: len({label for label, _ in pairs}) == 2)


def arrays(pairs):
    return np.array([label for label, _ in pairs]), np.array([score for _, score in pairs], float)


def noisy_scores(n, share, seed=0, apart=1.5):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < share
    y[:2] = [False, True]
    return y.astype(int), rng.normal(size=n) + apart * y


@given(labelled_scores)
def test_curves_and_areas_are_those_of_scikit_learn(pairs):
    y, scores = arrays(pairs)
    found = curves(y, scores)
    fpr, tpr, thresholds = roc_curve(y, scores, drop_intermediate=False)
    np.testing.assert_array_equal(found.thresholds, thresholds[1:])
    np.testing.assert_allclose(found.false_positive_rate, fpr[1:], rtol=1e-15)
    np.testing.assert_allclose(found.recall, tpr[1:], rtol=1e-15)
    precision, recall, thresholds = precision_recall_curve(y, scores)
    np.testing.assert_array_equal(found.thresholds[::-1], thresholds)
    np.testing.assert_allclose(found.precision[::-1], precision[:-1], rtol=1e-15)
    np.testing.assert_allclose(found.recall[::-1], recall[:-1], rtol=1e-15)
    assert found.auc == pytest.approx(roc_auc_score(y, scores), rel=1e-12)
    assert found.average_precision == pytest.approx(average_precision_score(y, scores), rel=1e-12)


@given(labelled_scores)
def test_the_auc_is_the_share_of_pairs_in_the_right_order(pairs):
    y, scores = arrays(pairs)
    won = [1.0 if a > b else 0.5 if a == b else 0.0 for a in scores[y] for b in scores[~y]]
    assert curves(y, scores).auc == pytest.approx(np.mean(won), rel=1e-12)


def test_the_variance_of_the_auc_is_delongs():
    """Written out with the matrix of all pairs, as in the paper."""
    y, scores = noisy_scores(60, 0.4)
    won = (scores[y == 1][:, None] > scores[y == 0]) + 0.5 * (
        scores[y == 1][:, None] == scores[y == 0]
    )
    m, n = won.shape
    variance = np.var(won.mean(axis=1), ddof=1) / m + np.var(won.mean(axis=0), ddof=1) / n
    area = won.mean()
    reach = 1.959964 * math.sqrt(variance) / (area * (1 - area))
    odds = math.log(area / (1 - area))
    wanted = [1 / (1 + math.exp(-(odds - reach))), 1 / (1 + math.exp(-(odds + reach)))]
    assert curves(y, scores).auc_interval == pytest.approx(wanted, rel=1e-12)


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    """400 samples of 300 rows, 10 % positive; the truth is that of a million rows."""
    found = curves(*noisy_scores(1_000_000, 0.1, seed=1))
    truth = (found.auc, found.average_precision)
    held = np.zeros(2)
    for seed in range(400):
        found = curves(*noisy_scores(300, 0.1, seed=100 + seed))
        intervals = (found.auc_interval, found.average_precision_interval)
        held += [low <= true <= high for true, (low, high) in zip(truth, intervals, strict=True)]
    assert np.all(held >= 0.92 * 400), held
    assert held[0] <= 0.985 * 400  # and are not wider than they need to be


@pytest.mark.parametrize("flip", [1, -1])
def test_a_perfect_ranking_is_not_certain(flip):
    found = curves([0, 0, 0, 1, 1], flip * np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    assert found.auc == (1.0 if flip == 1 else 0.0)
    low, high = found.auc_interval
    assert high - low > 0.5
    low, high = found.average_precision_interval
    assert high - low > 0.2


@given(labelled_scores, st.sampled_from(["f1", "precision=0.6", "recall=0.7", "recall=1"]))
def test_a_chosen_threshold_is_the_best_of_all(pairs, aim):
    y, scores = arrays(pairs)
    found = curves(y, scores)
    every = [(t, scores >= t) for t in np.unique(scores)]
    figures = [
        (precision_score(y, yes), recall_score(y, yes), f1_score(y, yes)) for _, yes in every
    ]
    kind, _, wanted = aim.partition("=")
    if kind == "f1":
        best = max(f1 for _, _, f1 in figures)
        reached = [f1 for _, _, f1 in figures]
    else:
        here, other = (0, 1) if kind == "precision" else (1, 0)
        enough = [figure for figure in figures if figure[here] >= float(wanted)]
        if not enough:
            with pytest.raises(DataError, match=f"no threshold reaches {aim}"):
                found.choose(aim)
            return
        best = max(figure[other] for figure in enough)
    choice = found.choose(aim)
    yes = scores >= choice.threshold
    chosen = {
        "f1": f1_score(y, yes),
        "precision": precision_score(y, yes),
        "recall": recall_score(y, yes),
    }
    if kind == "f1":
        assert chosen["f1"] == pytest.approx(best)
        assert best == max(reached)
    else:
        assert chosen[kind] >= float(wanted)
        assert chosen["recall" if kind == "precision" else "precision"] == pytest.approx(best)
    assert choice.chosen.f1[1] == pytest.approx(chosen["f1"])


@given(labelled_scores)
def test_mirrored_scores_choose_the_same_examples(pairs):
    """A model whose rare class is its first: the threshold must cut between the same examples."""
    y, scores = arrays(pairs)
    codes = y.astype(int)
    first = curves_of_model(np.array(["a", "b"]), codes, scores, "a")
    choice = first.choose("f1")
    says_first = ~(scores >= choice.threshold)  # how a model with this threshold answers
    assert first.measured(says_first).f1 == choice.chosen.f1
    np.testing.assert_array_equal(first.deployed().confusion, first.measured(scores < 0).confusion)


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_a_threshold_lies_between_its_scores(a, b):
    low, high = min(a, b), max(a, b)
    if low < high and not (low == -math.inf and high == math.inf):
        assert low < between(low, high) <= high


def test_what_to_expect_is_less_than_what_was_chosen_on():
    """Scores that mean nothing have a precision of 0.25 here; the chosen ones flatter."""
    flattery, honest = [], []
    for seed in range(60):
        y = np.arange(40) % 4 == 0
        scores = np.random.default_rng(seed).normal(size=40)
        choice = curves(y, scores).choose("recall=0.3")
        flattery.append(choice.chosen.precision[1])
        honest.append(choice.expected.precision[1])
    assert np.mean(flattery) > 0.35
    assert np.mean(honest) == pytest.approx(0.25, abs=0.03)


def test_expectations_hold_on_new_examples():
    """Of 50 thresholds, about 95 % keep what their intervals say."""
    fresh = curves(*noisy_scores(200_000, 0.1, seed=4))
    held = np.zeros(2)
    for seed in range(50):
        choice = curves(*noisy_scores(1000, 0.1, seed=100 + seed)).choose("recall=0.9")
        truth, expected = fresh.at(choice.threshold), choice.expected
        for i, (value, (low, high)) in enumerate(
            [
                (truth.recall[1], expected.recall_intervals[1]),
                (truth.precision[1], expected.precision_intervals[1]),
            ]
        ):
            held[i] += low <= value <= high
    assert np.all(held >= 40), held


def test_one_class_against_the_rest_and_the_rarer_of_two():
    y, scores = np.array(["a", "b", "c", "a"]), np.array([0.3, 0.1, 0.9, 0.2])
    found = curves(y, scores, positive="c")
    assert (found.auc, found.positives, found.negative) == (1.0, 1, "the rest")
    classes = np.array(["fraud", "ok"])
    codes = np.array([1, 1, 1, 0, 1, -1])
    rare = curves_of_model(classes, codes, np.array([2.0, 1.0, 0.5, -1.0, -0.5, 9.0]))
    assert (rare.positive, rare.positives, len(rare.truth), rare.mirrored) == ("fraud", 1, 5, True)
    assert rare.auc == 1.0
    assert curves_of_model(classes, codes, np.arange(6.0), "ok").positive == "ok"
    even = curves_of_model(classes, np.array([0, 1]), np.array([0.0, 1.0]))
    assert even.positive == "ok"
    assert curves_of_model(classes, np.array([1, 1]), np.array([0.0, 1.0])) is None


@pytest.mark.parametrize(
    ("y", "scores", "more", "words"),
    [
        ([0, 1], [0.0, math.nan], {}, "scores must be finite"),
        ([0, 1], [0.0], {}, "1 score but 2 labels"),
        ([0, 0], [0.0, 1.0], {}, "only one class"),
        ([0, 1, 2], [0.0, 1.0, 2.0], {}, "say which one is positive"),
        ([0, 1], [0.0, 1.0], {"positive": 7}, "positive=7 is not a label"),
        ([0, 1], [[0.0, 1.0], [1.0, 0.0]], {}, "one score per row"),
    ],
)
def test_what_is_not_understood_is_refused(y, scores, more, words):
    with pytest.raises(DataError, match=words):
        curves(y, scores, **more)


@pytest.mark.parametrize(
    "bad", ["f2", "precision", "precision=2", "recall=0", "recall=x", "f1=0.5", "nan", None]
)
def test_aims_that_are_none_are_refused(bad):
    with pytest.raises(ValueError, match="expected a number, 'f1', 'precision=P' or 'recall=R'"):
        read_aim(bad)


@tries(3)
@given(st.integers(0, 100))
def test_the_same_examples_give_the_same_figures(seed):
    y, scores = noisy_scores(200, 0.2, seed)
    one, two = (curves(y, scores).choose("f1") for _ in range(2))
    assert one.threshold == two.threshold
    np.testing.assert_array_equal(one.expected.confusion, two.expected.confusion)
