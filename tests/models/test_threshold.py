"""A decision threshold: one rule for every learner, in both faces, in files and after more data."""

import json
import warnings

import numpy as np
import pytest
from scipy import sparse
from shell import run
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV

import widemargin as wm
from widemargin.models.liblinear import read_liblinear, write_liblinear
from widemargin.online.fit import split


def rare(n=300, share=0.15, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < share, "yes", "no")
    X = rng.normal(size=(n, 4)) + 1.2 * (y == "yes")[:, None]
    return X, y


X, Y = rare()
X2, Y2 = rare(seed=1)
LEARNERS = [
    wm.Perceptron(random_state=0),
    wm.Perceptron(random_state=0, keep="last"),
    wm.Perceptron(random_state=0, keep="vote"),
    wm.Perceptron(random_state=0, fit_intercept=False),
    wm.PassiveAggressive(random_state=0),
    wm.OnlineLogistic(random_state=0),
    wm.LinearSVM(random_state=0),
    wm.KernelPerceptron(random_state=0),
    wm.KernelPerceptron(random_state=0, keep="vote"),
    wm.KernelSVM(),
]
each_learner = pytest.mark.parametrize("learner", LEARNERS, ids=str)


@each_learner
def test_the_second_class_is_predicted_where_the_score_is_at_least_the_threshold(learner, tmp_path):
    plain = learner.fit(X, Y)
    raw = plain.decision_function(X2)
    for threshold in (*np.quantile(raw, [0.2, 0.9]), raw[7], 0.0, 1e-320, -1e300):
        set_so = plain.with_threshold(threshold)
        wanted = np.where(raw >= threshold, "yes", "no")
        assert set_so.predict(X2).tolist() == wanted.tolist()
        scores = set_so.decision_function(X2)
        np.testing.assert_array_equal(scores, raw - threshold)
        np.testing.assert_array_equal(scores >= 0, wanted == "yes")
        assert set_so.threshold_ == threshold
        path = tmp_path / "m.wm"
        set_so.save(path)
        again = wm.load(path)
        assert again.threshold_ == threshold
        np.testing.assert_array_equal(again.decision_function(X2), scores)
    np.testing.assert_array_equal(plain.decision_function(X2), raw)  # the first one is as it was


@each_learner
def test_a_threshold_is_chosen_on_the_raw_scores(learner):
    plain = learner.fit(X, Y)
    for aim in ("f1", "precision=0.5", "recall=0.8"):
        found = plain.with_threshold(5.0).with_threshold(aim, X2, Y2)
        choice = wm.curves(Y2, plain.decision_function(X2)).choose(aim)
        assert found.threshold_ == choice.threshold == found.threshold_choice_.threshold
        measured = wm.curves(Y2, found.decision_function(X2)).deployed()
        np.testing.assert_array_equal(measured.confusion, choice.chosen.confusion)


def test_the_rarer_class_may_be_the_first():
    y = np.where(Y2 == "yes", "a rare one", "usual")
    plain = wm.Perceptron(random_state=0).fit(X, np.where(Y == "yes", "a rare one", "usual"))
    found = plain.with_threshold("recall=0.9", X2, y)
    choice = found.threshold_choice_
    assert choice.chosen.labels == ["usual", "a rare one"]
    recall = np.mean(found.predict(X2)[y == "a rare one"] == "a rare one")
    assert recall == choice.chosen.recall[1] >= 0.9
    other = plain.with_threshold("recall=0.9", X2, y, positive="usual")
    assert np.mean(other.predict(X2)[y == "usual"] == "usual") >= 0.9


def test_weights_and_explanations_add_up_to_the_score():
    for learner in (wm.Perceptron(random_state=0), wm.LinearSVM(random_state=0)):
        found = learner.fit(X, Y).with_threshold(1.25)
        by_hand = X2 @ found.coef_[0] + found.intercept_[0]
        np.testing.assert_allclose(found.decision_function(X2), by_hand, rtol=1e-9, atol=1e-9)
        told = found.explain(X2[0])
        assert told.score == pytest.approx(sum(reason.share for reason in told.reasons))
        assert "(threshold)" in str(told)
        assert abs(found.decision_function(X2[:1])[0]) == pytest.approx(told.score)
    machine = wm.KernelSVM(kernel="linear").fit(X, Y)
    moved = machine.with_threshold(0.5)
    np.testing.assert_allclose(moved.intercept_, machine.intercept_ - 0.5)


def test_probabilities_do_not_depend_on_the_threshold():
    plain = wm.OnlineLogistic(random_state=0).fit(X, Y)
    found = plain.with_threshold(1.0)
    np.testing.assert_array_equal(found.predict_proba(X2), plain.predict_proba(X2))
    # A score of 1 is a probability of 1 / (1 + exp(-1)).
    over = plain.predict_proba(X2)[:, 1] >= 1 / (1 + np.exp(-1))
    assert (found.predict(X2) == "yes").tolist() == over.tolist()


def test_more_training_keeps_the_threshold_and_more_classes_end_it():
    plain = wm.Perceptron(random_state=0).fit(X, Y)
    found = plain.with_threshold(2.0)
    before = plain.decision_function(X2)
    found.partial_fit(X2, Y2)
    assert found.threshold_ == 2.0
    np.testing.assert_array_equal(plain.decision_function(X2), before)  # not trained along
    with pytest.warns(wm.DataWarning, match="the threshold 2 is dropped: with 3 classes"):
        found.partial_fit(X2[:3], ["maybe", "yes", "no"])
    assert found.threshold_ == 0.0
    assert found.fit(X, Y).threshold_ == 0.0
    kernel = wm.KernelPerceptron(random_state=0).fit(X, Y).with_threshold(2.0)
    assert kernel.partial_fit(X2, Y2).threshold_ == 2.0
    with pytest.warns(wm.DataWarning, match="dropped"):
        assert kernel.partial_fit(X2[:3], ["maybe", "yes", "no"]).threshold_ == 0.0


def test_another_hypothesis_has_no_threshold_yet():
    for learner in (wm.Perceptron(keep="vote"), wm.KernelPerceptron(keep="vote")):
        found = learner.set_params(random_state=0).fit(X, Y).with_threshold(0.2)
        assert found.using("vote").threshold_ == 0.2
        assert found.using("average").threshold_ == 0.0


def test_dicts_are_judged_by_the_threshold_too():
    found = wm.Perceptron(random_state=0)
    for x, y in [({"a": 1.0}, "no"), ({"b": 1.0}, "yes"), ({"a": 2.0}, "no")]:
        found.learn_one(x, y)
    assert found.predict_one({"b": 1.0}) == "yes"
    strict = found.with_threshold(100.0)
    assert strict.predict_one({"b": 1.0}) == "no"
    assert strict.learn_one({"b": 1.0}, "yes").threshold_ == 100.0


def test_texts_and_tables_carry_it(tmp_path):
    texts = ["cheap pills", "win money now", "see you at lunch", "how is the family"] * 5
    labels = ["spam", "spam", "ham", "ham"] * 5
    classifiers = [
        (wm.TextClassifier(random_state=0), texts, labels),
        (wm.TableClassifier(random_state=0), {"a": X[:, 0], "b": Y, "c": X[:, 1]}, Y),
    ]
    for classifier, examples, y in classifiers:
        plain = classifier.fit(examples, y)
        found = plain.with_threshold("f1", examples, y).with_threshold(0.4)
        np.testing.assert_array_equal(
            found.decision_function(examples), plain.decision_function(examples) - 0.4
        )
        found.save(tmp_path / "m.wm")
        again = wm.load(tmp_path / "m.wm")
        assert again.threshold_ == 0.4
        assert again.predict(examples).tolist() == found.predict(examples).tolist()


def test_liblinear_gets_the_threshold_in_its_bias(tmp_path):
    y = (Y == "yes").astype(int)
    for learner in (wm.LinearSVM(fit_intercept=False), wm.OnlineLogistic(random_state=0)):
        found = learner.fit(X, y).with_threshold(0.75)
        write_liblinear(found.model_, tmp_path / "m")
        again = read_liblinear(tmp_path / "m")
        assert not again.has_probabilities  # they would be those of other scores
        np.testing.assert_allclose(again.decision_function(X2), found.decision_function(X2))


def test_certificates_are_of_what_was_learned():
    for learner in (wm.Perceptron(random_state=0), wm.KernelPerceptron(random_state=0)):
        plain = learner.fit(X, Y)
        assert str(wm.certify(plain.with_threshold(3.0), X, Y)) == str(wm.certify(plain, X, Y))


def test_scikit_learn_can_choose_thresholds_of_our_learners():
    for learner in (wm.Perceptron(random_state=0), wm.LinearSVM(), wm.KernelSVM()):
        fixed = FixedThresholdClassifier(
            learner, threshold=0.3, response_method="decision_function", pos_label="yes"
        ).fit(X, Y)
        ours = learner.fit(X, Y).with_threshold(0.3)
        assert fixed.predict(X2).tolist() == ours.predict(X2).tolist()
        tuned = TunedThresholdClassifierCV(
            learner,
            scoring="balanced_accuracy",
            response_method="decision_function",
            thresholds=10,
            cv=2,
        ).fit(X, Y)
        # The threshold found there can be given to a model that is to be saved.
        moved = tuned.estimator_.with_threshold(tuned.best_threshold_)
        assert moved.predict(X2).tolist() == tuned.predict(X2).tolist()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("f1",), "is chosen on held-out examples: give X and y"),
        (("f1", X2), "give y, too"),
        ((1.0, X2, Y2), "is a number: X, y and positive have no effect"),
        (("best",), "expected a number"),
        (("precision=1", X2, Y2), "no threshold reaches precision=1"),
        (("f1", X2[:5], ["no"] * 5), "both classes must be held out"),
    ],
)
def test_what_cannot_be_done_is_refused(given, words):
    y = Y2.copy()
    y[np.argmax(wm.Perceptron(random_state=0).fit(X, Y).decision_function(X2))] = "no"
    given = tuple(y if thing is Y2 else thing for thing in given)
    with pytest.raises(ValueError, match=words):
        wm.Perceptron(random_state=0).fit(X, Y).with_threshold(*given)


def test_several_classes_have_no_threshold():
    learner = wm.Perceptron(random_state=0).fit(X[:3], ["a", "b", "c"])
    with pytest.raises(wm.DataError, match="decides between two classes, and the model has 3"):
        learner.with_threshold(1.0)


# The shell


def lines_of(X, y):
    return "".join(
        f"{label} " + " ".join(f"{j}:{x!r}" for j, x in enumerate(row, 1)) + "\n"
        for label, row in zip(np.where(y == "yes", 1, -1).tolist(), X.tolist(), strict=True)
    )


def as_read(X):
    """Rows as the shell reads them: sums over dense ones may differ in their last bits."""
    return sparse.csr_array(X)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, examples in (("a", (X, Y)), ("v", (X2, Y2)), ("t", rare(seed=2))):
        (tmp_path / f"{name}.svm").write_text(lines_of(*examples))
    return tmp_path


@pytest.mark.parametrize("learner", ["perceptron", "pa", "logistic", "svm", "kernel-svm"])
def test_the_shell_chooses_what_python_chooses(files, learner):
    common = ["train", "a.svm", "--learner", learner, "--double"]
    done = run(*common, "--valid", "v.svm", "--threshold", "recall=0.8", "--json")
    told, shell = json.loads(done.stdout), wm.load("model.wm")
    held_out = as_read(X2), np.where(Y2 == "yes", 1, -1)
    python = wm.load("model.wm").with_threshold("recall=0.8", *held_out)
    assert told["threshold"] == shell.threshold_ == python.threshold_
    assert told["threshold_chosen"]["recall"] >= 0.8
    predicted = run("predict", "model.wm", "t.svm").stdout.split()
    test = as_read(rare(seed=2)[0])
    assert predicted == [str(label) for label in python.predict(test).tolist()]
    printed = run("predict", "model.wm", "t.svm", "--scores").stdout.splitlines()
    scores = [line.split("\t")[1] for line in printed]
    assert scores == [f"{score:.6g}" for score in python.decision_function(test)]
    assert "threshold: 1 if the score is at least" in run("inspect", "model.wm").stdout
    assert json.loads(run("inspect", "model.wm", "--json").stdout)["threshold"] == told["threshold"]


@pytest.mark.parametrize("learner", ["perceptron", "kernel-perceptron"])
def test_a_fraction_is_the_one_that_the_learner_held_out(files, learner):
    done = run(
        *("train", "a.svm", "--learner", learner, "--valid", "0.3", "--seed", "5", "--double"),
        *("--threshold", "f1", "--json"),
    )
    told = json.loads(done.stdout)
    codes = (Y == "yes").astype(int)
    which = split(codes, 0.3, np.random.default_rng(5))[1].astype(int)
    held_out = as_read(X[which])
    plain = wm.load("model.wm").with_threshold(0.0)
    if learner == "perceptron":  # its history has the held-out accuracy: the same rows
        right = np.mean((plain.predict(held_out) == 1) == (codes[which] == 1))
        assert right == pytest.approx(np.nanmax(plain.history_["held_out"]))
    choice = wm.curves(codes[which], plain.decision_function(held_out)).choose("f1")
    assert told["threshold"] == choice.threshold
    assert told["threshold_for"] == "f1"


def test_what_the_shell_says_of_the_rarer_class(files):
    run("train", "a.svm", "--valid", "v.svm", "--threshold", "f1")
    told = json.loads(run("test", "model.wm", "t.svm", "--json").stdout)
    test, y = rare(seed=2)
    found = wm.curves(y, wm.load("model.wm").decision_function(test))
    assert told["rarer_class"] == 1
    assert told["auc"] == pytest.approx(found.auc)
    assert told["auc_interval"] == pytest.approx(found.auc_interval)
    assert told["average_precision"] == pytest.approx(found.average_precision)
    low, high = told["precision_1_interval"]
    assert low < told["precision_1"] < high
    words = run("test", "model.wm", "t.svm").stdout
    for line in ("class 1, the rarer one:", "AUC", "average precision", "threshold: 1 if"):
        assert line in words
    run("report", "model.wm", "t.svm", "-o", "m.html")
    page = (files / "m.html").read_text()
    assert "How well class 1 is found" in page
    assert f"ROC, area {found.auc:.4f}" in page
    assert page.count("as it decides") == 2


def test_a_threshold_is_suggested_for_rare_classes_only(files):
    """One that is far off for a rare class; the same scores for balanced classes."""
    rng = np.random.default_rng(0)
    for share, suggests in ((0.05, True), (0.5, False)):
        y = np.where(rng.random(2000) < share, "yes", "no")
        examples = rng.normal(size=(2000, 4)) + 1.5 * (y == "yes")[:, None]
        (files / "b.svm").write_text(lines_of(examples, y))
        run("train", "b.svm", "--threshold", "-1000000")
        words = run("test", "model.wm", "b.svm").stdout
        assert ("would give an F1 of about" in words) is suggests
    one = "".join(line for line in lines_of(X, Y).splitlines(True) if line.startswith("-1"))
    (files / "one.svm").write_text(one)
    assert json.loads(run("test", "model.wm", "one.svm", "--json").stdout)["auc"] is None


def test_update_keeps_it_and_says_so(files):
    run("train", "a.svm", "--threshold", "2.5")
    done = run("update", "model.wm", "v.svm")
    assert "threshold: 1 if the score is at least 2.5" in done.stdout
    assert wm.load("model.wm").threshold_ == 2.5
    (files / "more.svm").write_text("7 1:1\n")
    assert "the threshold 2.5 is dropped" in run("update", "model.wm", "more.svm").stderr
    assert wm.load("model.wm").threshold_ == 0.0


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--threshold", "f1", "--no-holdout"], 2, "is chosen on held-out examples: give --valid"),
        (["--threshold", "f3"], 2, "--threshold 'f3': expected a number, 'f1'"),
        (["--positive", "1"], 2, "--positive has no effect without --threshold"),
        (["--threshold", "1", "--positive", "1"], 2, "--positive has no effect with a threshold"),
        (
            ["--threshold", "f1", "--valid", "v.svm", "--positive", "spam"],
            1,
            "'spam' is not a class of the model, which has -1 or 1",
        ),
        (["--threshold", "f1", "--learner", "tagger"], 2, "not an option of the learner tagger"),
    ],
)
def test_options_that_make_no_sense_are_refused_before_anything_is_learned(
    files, options, code, words
):
    assert words in run("train", "a.svm", *options, code=code).output
    assert not (files / "model.wm").exists()


def test_three_classes_are_refused_and_a_threshold_out_of_reach_loses_no_model(files):
    refused = run("train", "--threshold", "1", code=1)
    assert "decides between two classes, and there are 10" in refused.output
    y = Y2.copy()
    y[:] = np.where(np.arange(len(y)) % 3 == 0, "yes", "no")
    (files / "odd.svm").write_text(lines_of(X2, y))
    how = ("--valid", "odd.svm", "--threshold", "precision=1", "--quiet")
    done = run("train", "a.svm", *how, code=1)
    assert "no threshold reaches precision=1 for 1" in done.output
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert wm.load("model.wm").threshold_ == 0.0
