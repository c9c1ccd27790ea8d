"""Comparisons are fair, their intervals are the published ones, and their words are true."""

import json
import math
import re
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from shell import run_shell
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

import widemargin
from widemargin import DataError, HashedText, Perceptron, compare
from widemargin.cli.learners import LEARNERS
from widemargin.comparison import Comparison, Entry
from widemargin.comparison.contenders import choose, kernel_seconds
from widemargin.comparison.paired import compare_pairs, holm
from widemargin.comparison.usage import measured
from widemargin.evaluate.intervals import corrected_t

NAMES = [
    "last perceptron",
    "averaged perceptron",
    "voted perceptron",
    "passive-aggressive",
    "linear SVM",
    "logistic regression",
    "kernel SVM",
]


def naive_interval(differences, n_test, n_train):
    """Nadeau and Bengio (2003), word by word, with scipy's distribution."""
    from scipy.stats import t

    J = len(differences)
    mean = sum(differences) / J
    variance = sum((d - mean) ** 2 for d in differences) / (J - 1)
    error = math.sqrt((1 / J + n_test / n_train) * variance)
    low, high = t.interval(0.95, J - 1, loc=mean, scale=error)
    return mean, low, high, 2 * t.sf(abs(mean) / error, J - 1)


@given(st.lists(st.integers(-50, 50), min_size=3, max_size=20), st.integers(2, 20))
def test_intervals_are_the_corrected_resampled_t(counts, folds):
    differences = np.array(counts) / 100 + np.arange(len(counts)) / 1000
    expected = naive_interval(differences.tolist(), 1, folds - 1)
    assert corrected_t(differences, 1 / (folds - 1)) == pytest.approx(expected, abs=1e-12)


def test_intervals_without_spread():
    assert corrected_t(np.zeros(5), 0.25) == (0.0, 0.0, 0.0, 1.0)
    mean, low, high, p = corrected_t(np.full(4, 0.5), 0.25)
    assert (mean, low, high, p) == (0.5, 0.5, 0.5, 0.0)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_by_its_definition(p):
    found = holm(p)
    order = sorted(range(len(p)), key=lambda i: p[i])
    for rank, i in enumerate(order):
        expected = min(1.0, max((len(p) - r) * p[order[r]] for r in range(rank + 1)))
        assert found[i] == pytest.approx(expected)


def test_intervals_cover_the_truth():
    """Learners that differ by nothing: a false claim is rare."""
    rng = np.random.default_rng(0)
    claims = 0
    for _ in range(200):
        scores = {name: 0.8 + 0.02 * rng.normal(size=10) for name in "abcd"}
        claims += any(pair.real for pair in compare_pairs(scores, 0.25))
    assert claims <= 20


def test_pairs_are_sorted_by_certainty():
    rng = np.random.default_rng(0)
    scores = {"good": 0.9 + 0.001 * rng.normal(size=10), "bad": 0.5 + 0.001 * rng.normal(size=10)}
    scores["also good"] = scores["good"] + 0.003 * rng.normal(size=10)
    pairs = compare_pairs(scores, 0.25)
    assert [pair.real for pair in pairs] == [True, True, False]
    assert {pair.worse for pair in pairs[:2]} == {"bad"}
    for pair in pairs:
        assert pair.low <= pair.difference <= pair.high
        assert pair.difference >= 0
        assert pair.p <= pair.adjusted


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    y = np.where(X[:, 0] + X[:, 1] + 0.7 * rng.normal(size=150) > 0, "yes", "no")
    return X, y


@pytest.fixture(scope="module")
def found(data):
    return compare(*data, folds=3, repeats=1, epochs=3)


def test_every_learner_is_in_the_table(found):
    assert sorted(entry.name for entry in found.entries) == sorted(NAMES)
    for entry in found.entries:
        if len(entry.scores):
            assert len(entry.scores) == 3
            assert entry.fit_seconds > 0
            assert entry.memory is None or entry.memory >= 0
        else:
            assert entry.note
    assert found.commonest == pytest.approx(max(0.5, found.commonest))
    text = str(found)
    assert all(name in text for name in NAMES)
    assert "3 folds x 1" in text
    assert "Nadeau and Bengio" in text


def test_a_kernel_svm_takes_part_if_it_needs_a_minute_at_most():
    few, many = np.zeros((20_000, 20)), np.zeros((60_000, 20))
    names = [one.name for one in choose(None, few, 10, 1.0, 5, 0) if not one.left_out]
    assert names == NAMES
    left_out = choose(None, many, 10, 1.0, 5, 0)[-1]
    assert (left_out.name, left_out.make) == ("kernel SVM", None)
    assert re.fullmatch(r"left out: it would take about \d+ s; name it.*", left_out.left_out)
    (named,) = choose(["kernel SVM"], many, 10, 1.0, 5, 0)
    assert not named.left_out


def test_the_time_of_a_kernel_svm_is_known_for_sparse_rows_too():
    dense = np.zeros((1000, 500))
    thin, thick = scipy.sparse.eye_array(1000, 500, format="csr"), scipy.sparse.csr_array(dense + 1)
    assert kernel_seconds(thin, 10) < kernel_seconds(dense, 10) == kernel_seconds(thick, 10)
    assert kernel_seconds(dense, 10) == 10 * kernel_seconds(dense, 1)


def test_learners_have_the_names_of_train_too():
    few = np.zeros((10, 2))
    short = list(LEARNERS)[:6]
    names = [one.name for one in choose(short, few, 10, 1.0, 5, 0)]
    assert names == [
        *("averaged perceptron", "passive-aggressive", "online logistic"),
        *("linear SVM", "kernel perceptron", "kernel SVM"),
    ]
    made = [type(one.make()).__name__ for one in choose(short, few, 10, 1.0, 5, 0)]
    assert made == [LEARNERS[name].estimator for name in short]
    both = choose(["svm", "last perceptron"], few, 10, 1.0, 5, 0)
    assert [one.name for one in both] == ["linear SVM", "last perceptron"]
    with pytest.raises(ValueError, match="did you mean 'svm'"):
        choose(["svn"], few, 10, 1.0, 5, 0)


def test_scores_are_those_of_plain_cross_validation(data, found):
    from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score

    cut = RepeatedStratifiedKFold(n_splits=3, n_repeats=1, random_state=0)
    expected = cross_val_score(LogisticRegression(max_iter=1000), *data, cv=cut)
    (entry,) = (entry for entry in found.entries if entry.name == "logistic regression")
    assert entry.scores == pytest.approx(expected)
    p = Perceptron(epochs=3, fit_intercept="auto", random_state=0)
    (entry,) = (entry for entry in found.entries if entry.name == "averaged perceptron")
    assert entry.scores == pytest.approx(cross_val_score(p, *data, cv=cut))


def test_own_learners_and_words(data):
    learners = {
        "the commonest": DummyClassifier(),
        "logistic": LogisticRegression(),
        "the same": LogisticRegression(),
    }
    found = compare(*data, learners=learners, folds=5, repeats=2)
    assert found.entries[-1].name == "the commonest"
    assert found.entries[-1].accuracy == pytest.approx(found.commonest, abs=0.01)
    told = " ".join(found.words())
    assert "The commonest (by" in told
    assert "is significantly worse" in told
    assert "is not significantly worse" in told
    pair = found.pair("logistic", "the same")
    assert (pair.difference, pair.low, pair.high, pair.p) == (0.0, 0.0, 0.0, 1.0)
    with pytest.raises(KeyError, match="no comparison"):
        found.pair("logistic", "unheard of")


def test_words_for_a_pair_that_only_its_own_interval_tells_apart():
    """Holm's bar is higher: such a pair is called neither equal nor significantly worse."""
    rng = np.random.default_rng(1)
    scores = {name: 0.9 + rng.normal(0, 0.01, 8) for name in "abcdefg"}
    scores["best"] = np.full(8, 0.95)
    scores["near"] = scores["best"] - 0.02 + np.array([1, -1, 1, -1, 1, -1, 1, -1]) * 0.0155
    pairs = compare_pairs(scores, 0.1)
    (pair,) = (pair for pair in pairs if {pair.better, pair.worse} == {"best", "near"})
    assert pair.low > 0.0
    assert not pair.real
    entries = sorted((Entry(n, s) for n, s in scores.items()), key=lambda e: -e.accuracy)
    told = Comparison(entries, pairs, 80, 2, ["x", "y"], 8, 1).words()
    said = next(line for line in told if "probably" in line)
    assert said.startswith(f"Near (by {pair.low:.4f} to {pair.high:.4f}) is probably worse")
    assert f"among {len(pairs)} pairs" in said


def test_one_learner_is_no_comparison(data):
    alone = compare(*data, learners=["linear SVM"], folds=2, repeats=1)
    assert "nothing to compare" in alone.words()[0]
    assert alone._repr_html_()


def test_sparse_rows_texts_and_several_classes():
    texts = [f"{word} number {i}" for i in range(12) for word in ("good", "bad", "middling")]
    labels = [word for _ in range(12) for word in ("+", "-", "0")]
    found = compare(texts, labels, learners=["linear SVM", "averaged perceptron"], folds=3)
    assert found.features == 2**22
    assert found.best.accuracy == 1.0
    assert found.classes == ["+", "-", "0"]


def test_logistic_regression_has_no_weights_for_empty_columns():
    texts = [f"{word} number {i}" for i in range(12) for word in ("good", "bad", "middling")]
    X, y = HashedText().fit_transform(texts), ["+", "-", "0"] * 12
    tracemalloc.start()
    found = compare(X, y, learners=["logistic regression"], folds=3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6  # the weights of three classes in 2^22 columns alone take 100 MB
    assert (found.features, found.best.accuracy) == (2**22, 1.0)


def test_errors_say_what_is_wrong(data):
    X, y = data
    with pytest.raises(DataError, match="150 examples but 149 labels"):
        compare(X, y[:-1])
    with pytest.raises(DataError, match="only one class"):
        compare(X, np.zeros(150, int))
    with pytest.raises(DataError, match="'rare' has 3 examples, fewer than 5 folds"):
        compare(X, np.where(np.arange(150) < 3, "rare", "common"))
    with pytest.raises(ValueError, match="choose one of 'last perceptron'"):
        compare(X, y, learners=["forest"])
    with pytest.raises(ValueError, match="learner='linear SVM' is given twice"):
        compare(X, y, learners=["svm", "linear SVM"])
    with pytest.raises(ValueError, match="epochs=3 has no effect on these learners, only on last"):
        compare(X, y, learners=["svm"], epochs=3)
    with pytest.raises(ValueError, match=r"C=2\.0 has no effect on estimators"):
        compare(X, y, learners={"mine": Perceptron()}, C=2.0)
    with pytest.raises(ValueError, match="folds=1"):
        compare(X, y, folds=1)
    with pytest.raises(ValueError, match="there are no learners to compare"):
        compare(X, y, learners={})
    with pytest.raises(DataError, match="a matrix with 2 dimensions, found 3"):
        compare(np.zeros((2, 2, 2)), [0, 1])


def test_texts_have_the_defaults_of_the_text_classifier(tmp_path):
    texts = ["good day", "bad day", "good film", "bad film", "a good bad day"] * 6
    labels = ["+", "-", "+", "-", "-"] * 6
    given = {"learners": ["linear SVM"], "folds": 3, "repeats": 1}
    X = HashedText(ngrams=2, idf="seen").fit_transform(texts)
    found = compare(texts, labels, **given)
    wanted = compare(X, labels, C=2.0, **given)
    assert found.settings == wanted.settings
    np.testing.assert_array_equal(found.entries[0].scores, wanted.entries[0].scores)
    assert found.features == wanted.features
    assert compare(X, labels, **given).settings["C"] == 1.0
    lines = [f"{label}\t{text}\n" for label, text in zip(labels, texts, strict=True)]
    (tmp_path / "t.tsv").write_text("".join(lines))
    words = ["compare", "t.tsv", "--learners", "svm", "--json"]
    for more, C in (([], 2.0), (["--C", "3"], 3.0)):
        assert json.loads(run_shell(tmp_path, *words, *more).stdout)["settings"]["C"] == C


def test_progress_is_told_and_texts_may_be_an_array():
    texts, labels = ["good day", "bad day", "good film", "bad film"] * 3, [1, 0, 1, 0] * 3
    told = []
    given = {"learners": ["last perceptron"], "folds": 2, "repeats": 1}
    one = compare(texts, labels, **given, watch=lambda *progress: told.append(progress))
    assert told == [(0, 2, "last perceptron"), (1, 2, "last perceptron"), (2, 2, "done")]
    other = compare(np.array(texts), labels, **given)
    assert one.best.scores.tolist() == other.best.scores.tolist()


def test_memory_is_that_of_the_work():
    with measured() as used:
        block = np.ones(40_000_000 // 8)
        del block
    assert used.seconds > 0
    if used.memory is None:
        pytest.skip("this system does not tell the peak of the memory")
    assert 35_000_000 < used.memory < 80_000_000
    with measured() as less:
        pass
    assert less.memory < 20_000_000


def test_results_as_json_and_page(found, tmp_path):
    told = json.loads(json.dumps(found.to_dict()))
    assert [entry["name"] for entry in told["learners"]] == [e.name for e in found.entries]
    assert len(told["pairs"]) == 6 * 5 // 2 or "KernelSVM" in widemargin.__all__
    found.report(tmp_path / "c.html", data="<evil>")
    page = (tmp_path / "c.html").read_text(encoding="utf-8")
    assert "Learners compared on &lt;evil&gt;" in page
    assert "<evil>" not in page
    assert page.count('id="') == 5
    assert "<script" not in page
    assert "logistic regression" in page


def test_words_of_a_made_up_table():
    entries = [
        Entry("a", np.array([0.9, 0.91, 0.9]), 1.0),
        Entry("b", np.array([0.5, 0.52, 0.5]), 0.1),
        Entry("c", note="left out"),
    ]
    pairs = compare_pairs({"a": entries[0].scores, "b": entries[1].scores}, 0.5)
    made = Comparison(entries, pairs, 30, 2, [0, 1], 3, 1)
    told = made.words()
    assert told[0] == "The highest accuracy is that of a, 0.9033."
    assert told[1].startswith("B (by ")
    assert told[-1] == (
        "The fastest to train is b (0.1 s per fold), the slowest a (1 s, 10 times as long)."
    )
    assert "left out" in str(made)


def test_shell_compare(data, tmp_path):
    X, y = data
    lines = [",".join([label, *(f"{v:.5f}" for v in row)]) for row, label in zip(X, y, strict=True)]
    (tmp_path / "d.csv").write_text("label,a,b,c,d\n" + "\n".join(lines) + "\n")
    words = ["compare", "d.csv", "--label", "label", "--folds", "3", "--repeats", "1"]
    words += ["--learners", "linear SVM; logistic regression", "--report", "out.html"]
    ran = run_shell(tmp_path, *words)
    assert "150 rows, 4 features" in ran.stdout
    assert "linear SVM" in ran.stdout
    assert (tmp_path / "out.html").stat().st_size < 100_000
    told = json.loads(run_shell(tmp_path, *words, "--json").stdout)
    assert {entry["name"] for entry in told["learners"]} == {"linear SVM", "logistic regression"}
    ran = run_shell(tmp_path, "compare", "d.csv", "--label", "label", "--learners", "x", code=2)
    assert "unknown" in ran.stderr


def test_shell_trains_without_scikit_learn_still():
    code = (
        "import sys, widemargin.cli.train, widemargin.cli.report, widemargin.cli.compare;"
        " assert 'sklearn' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
