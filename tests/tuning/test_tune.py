"""Folds and tuning in both faces: the same choice, the same model, and plain refusals."""

import json

import numpy as np
import pandas as pd
import pytest
from shell import run_shell
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score

import widemargin as wm

CV = StratifiedKFold(4, shuffle=True, random_state=0)
SEEDED = {"random_state": 0, "progress": False}


def write_vectors(folder, n=200, classes=2):
    rng = np.random.default_rng(1)
    codes = rng.integers(0, classes, n)
    X = rng.normal(size=(n, 5)) + 1.2 * np.eye(5)[codes]
    X = np.round(X, 3).astype(np.float32).astype(float)
    lines = (
        f"{label} " + " ".join(f"{j + 1}:{value:.3f}" for j, value in enumerate(row)) + "\n"
        for label, row in zip(codes, X, strict=True)
    )
    (folder / "v.svm").write_text("".join(lines))
    return wm.read(folder / "v.svm")


def write_table(folder, n=200):
    rng = np.random.default_rng(2)
    size, kind = rng.normal(3.0, 2.0, n).round(3), rng.choice(["red", "blue", "green"], n)
    noise = rng.normal(size=n)
    label = np.where(size + 2.0 * (kind == "red") + 1.5 * noise > 3.5, "yes", "no")
    frame = pd.DataFrame({"size": size, "kind": kind, "other": noise.round(2) > 0})
    frame.loc[rng.choice(n, 9, replace=False), "size"] = None
    frame.assign(label=label).to_csv(folder / "t.csv", index=False)
    return frame, label


def write_texts(folder, n=160):
    rng = np.random.default_rng(3)
    words = [f"w{i}" for i in range(60)]
    labels = rng.choice(["spam", "ham"], n, p=[0.3, 0.7])
    texts = [
        " ".join([*rng.choice(words, 6), *rng.choice(words[:9] if label == "spam" else words, 3)])
        for label in labels
    ]
    lines = (f"{label}\t{text}\n" for label, text in zip(labels, texts, strict=True))
    (folder / "d.tsv").write_text("".join(lines))
    return texts, labels


def shell(folder, *words):
    return json.loads(run_shell(folder, "train", *words, "--json", "--model", "m.wm").stdout)


@pytest.mark.parametrize(
    ("words", "estimator"),
    [
        ([], wm.Perceptron(fit_intercept="auto", **SEEDED)),
        (["--learner", "pa", "--C", "0.1"],
         wm.PassiveAggressive(C=0.1, fit_intercept="auto", **SEEDED)),
        (["--learner", "logistic", "--epochs", "3"],
         wm.OnlineLogistic(epochs=3, fit_intercept="auto", **SEEDED)),
        (["--learner", "svm", "--bias", "free"], wm.LinearSVM(bias="free", **SEEDED)),
        (["--learner", "kernel-svm"], wm.KernelSVM(progress=False)),
        (["--learner", "kernel-perceptron"], wm.KernelPerceptron(**SEEDED)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("classes", [2, 3])
def test_folds_of_vectors_are_those_of_cross_val_score(words, estimator, classes, tmp_path):
    X, y = write_vectors(tmp_path, classes=classes)
    found = shell(tmp_path, "v.svm", *words, "--double", "--folds", "4")
    assert found["fold_accuracies"] == cross_val_score(estimator, X, y, cv=CV).tolist()
    assert found["cross_validated_accuracy"] == pytest.approx(np.mean(found["fold_accuracies"]))
    low, high = found["cross_validated_accuracy_interval"]
    assert low < found["cross_validated_accuracy"] < high
    plain = shell(tmp_path, "v.svm", *words, "--double", "--no-holdout")
    assert plain["mistakes"] == found["mistakes"] if "mistakes" in plain else True
    assert "fold_accuracies" not in plain


def test_folds_of_tables_and_texts_are_those_of_cross_val_score(tmp_path):
    frame, label = write_table(tmp_path)
    found = shell(tmp_path, "t.csv", "--folds", "4")
    scores = cross_val_score(wm.TableClassifier(random_state=0), frame, label, cv=CV)
    assert found["fold_accuracies"] == scores.tolist()
    texts, labels = write_texts(tmp_path)
    found = shell(tmp_path, "d.tsv", "--folds", "4")
    scores = cross_val_score(wm.TextClassifier(random_state=0), texts, labels, cv=CV)
    assert found["fold_accuracies"] == scores.tolist()


def test_the_model_after_folds_is_that_of_all_rows(tmp_path):
    write_table(tmp_path)
    shell(tmp_path, "t.csv", "--folds", "3")
    measured = wm.load(tmp_path / "m.wm").model_.weights
    shell(tmp_path, "t.csv", "--no-holdout")
    assert np.array_equal(wm.load(tmp_path / "m.wm").model_.weights, measured)


def check_same(found, told, folder):
    """The shell's report and its model are those of a Tuning."""
    assert told["tuned"] == found.best_
    assert [(t.chosen, t.mean) for t in found.trials_] == [
        ({k: v for k, v in t.items() if k in ("C", "epochs")}, t["accuracy"]) for t in told["tried"]
    ]
    assert told["estimate"]["accuracy"] == found.estimate_.accuracy
    assert told["estimate"]["interval"] == list(found.estimate_.interval)
    theirs, ours = wm.load(folder / "m.wm").model_, found.estimator_.model_
    if hasattr(theirs, "weights"):
        assert theirs.weights.tobytes() == ours.weights.tobytes()
    else:
        assert np.array_equal(theirs.coef, ours.coef)


@pytest.mark.parametrize(
    ("words", "estimator"),
    [
        (["--learner", "svm"], wm.LinearSVM(**SEEDED)),
        (["--learner", "svm", "--nested", "--folds", "3"], wm.LinearSVM(**SEEDED)),
        (["--learner", "perceptron"], wm.Perceptron(fit_intercept="auto", **SEEDED)),
        (["--learner", "pa"], wm.PassiveAggressive(fit_intercept="auto", **SEEDED)),
        (["--learner", "kernel-svm"], wm.KernelSVM(progress=False)),
    ],
)
def test_both_faces_choose_and_learn_the_same(words, estimator, tmp_path):
    X, y = write_vectors(tmp_path)
    told = shell(tmp_path, "v.svm", *words, "--double", "--tune")
    nested = "--nested" in words
    found = wm.tune(estimator, X, y, folds=3 if nested else 5, nested=nested)
    check_same(found, told, tmp_path)
    assert found.estimate_.nested == nested


def test_texts_and_tables_in_both_faces(tmp_path):
    texts, labels = write_texts(tmp_path)
    told = shell(tmp_path, "d.tsv", "--tune")
    found = wm.tune(wm.TextClassifier(random_state=0), texts, labels)
    check_same(found, told, tmp_path)
    assert found.best_["C"] == found.estimator_.learner.C
    frame, label = write_table(tmp_path)
    told = shell(tmp_path, "t.csv", "--tune")
    check_same(wm.tune(wm.TableClassifier(random_state=0), frame, label), told, tmp_path)
    again = wm.tune(wm.TableClassifier(random_state=0), str(tmp_path / "t.csv"))
    check_same(again, told, tmp_path)


def test_what_is_given_in_the_shell_is_not_searched(tmp_path):
    write_vectors(tmp_path)
    told = shell(tmp_path, "v.svm", "--learner", "pa", "--C", "0.2", "--tune")
    assert set(told["tuned"]) == {"epochs"}
    told = shell(tmp_path, "v.svm", "--learner", "pa", "--epochs", "2", "--tune")
    assert set(told["tuned"]) == {"C"}


def test_the_table_for_people(tmp_path):
    write_vectors(tmp_path)
    said = run_shell(tmp_path, "train", "v.svm", "--learner", "svm", "--tune").stdout
    assert "* chosen: C = " in said
    assert "held-out rows that took no part in the search" in said
    said = run_shell(tmp_path, "train", "v.svm", "--folds", "3").stdout
    assert "accuracy of 3 folds (stratified, seed 0): 0." in said
    assert "95 % interval" in said


def test_sample_weights_take_part(tmp_path):
    X, y = write_vectors(tmp_path)
    weight = np.where(y == 1, 50.0, 1.0)
    plain = wm.tune(wm.LinearSVM(**SEEDED), X, y, C=[1.0])
    heavy = wm.tune(wm.LinearSVM(**SEEDED), X, y, C=[1.0], sample_weight=weight)
    same = wm.tune(wm.LinearSVM(class_weight={0: 1.0, 1: 50.0}, **SEEDED), X, y, C=[1.0])
    assert np.mean(heavy.estimator_.predict(X) == 1) > np.mean(plain.estimator_.predict(X) == 1)
    assert np.array_equal(heavy.trials_[0].scores, same.trials_[0].scores)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["v.svm", "--folds", "1"], "--folds"),
        (["v.svm", "--folds", "4", "--valid", "0.2"], "--valid has no effect with --folds"),
        (["v.svm", "--folds", "4", "--stream"], "needs all examples in memory"),
        (["v.svm", "--nested"], "--nested has no effect without --tune"),
        (["v.svm", "--tune", "--epochs", "3"], "nothing to search"),
        (["v.svm", "--learner", "tagger", "--tune"], "not an option of the learner tagger"),
        (["v.svm", "--folds", "4000"], "200 examples cannot be split into 4,000 folds"),
    ],
)
def test_the_shell_refuses(words, expected, tmp_path):
    write_vectors(tmp_path)
    ran = run_shell(tmp_path, "train", *words, code=2)
    assert expected in ran.stderr
    assert not (tmp_path / "model.wm").exists()


def test_a_cache_is_refused_where_encoders_learn(tmp_path):
    write_table(tmp_path)
    run_shell(tmp_path, "train", "t.csv", "--cache")
    ran = run_shell(tmp_path, "train", "t.csv.wmc", "--folds", "3", code=1)
    assert "give the original files" in ran.stderr
    write_vectors(tmp_path)
    run_shell(tmp_path, "train", "v.svm", "--cache")
    a, b = (shell(tmp_path, name, "--folds", "3") for name in ("v.svm.wmc", "v.svm"))
    assert a["fold_accuracies"] == b["fold_accuracies"]


def test_python_refuses(tmp_path):
    X, y = write_vectors(tmp_path)
    with pytest.raises(ValueError, match="C='all' must be 'auto', a list"):
        wm.tune(wm.LinearSVM(), X, y, C="all")
    with pytest.raises(ValueError, match="C=-1"):
        wm.tune(wm.LinearSVM(), X, y, C=[-1])
    with pytest.raises(ValueError, match="epochs cannot be tuned for this LinearSVM"):
        wm.tune(wm.LinearSVM(), X, y, epochs=[1, 2])
    with pytest.raises(ValueError, match="nothing to tune"):
        wm.tune(wm.LinearSVM(), X, y, C=None)
    with pytest.raises(ValueError, match="already chooses the epochs"):
        wm.tune(wm.Perceptron(validation=0.1), X, y)
    with pytest.raises(TypeError, match="GridSearchCV"):
        wm.tune(LogisticRegression(), X, y)
    with pytest.raises(ValueError, match="tune needs vectors"):
        wm.tune(wm.KernelSVM(kernel="precomputed"), X @ X.T, y)
    with pytest.raises(ValueError, match="folds=1"):
        wm.tune(wm.LinearSVM(), X, y, folds=1)


@pytest.mark.parametrize("svm", [wm.LinearSVM, wm.KernelSVM])
def test_the_same_seed_holds_out_the_same_rows_in_every_search(svm):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = (X[:, 0] + rng.normal(size=120) > 0).astype(int)
    one, other = (
        wm.tune(svm(validation=0.3, random_state=0), X, y, C=(0.5, 2.0), folds=3) for _ in range(2)
    )
    for first, second in zip(one.search.trials, other.search.trials, strict=True):
        np.testing.assert_array_equal(first.scores, second.scores)
