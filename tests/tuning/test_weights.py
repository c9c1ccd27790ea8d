"""Class weights and sample weights: what they mean, and that both faces mean the same."""

import json

import numpy as np
import pandas as pd
import pytest
from shell import run_shell

import widemargin as wm

SEEDED = {"random_state": 0, "progress": False}
AUTO = {"fit_intercept": "auto", **SEEDED}
LEARNERS = {
    "perceptron": wm.Perceptron(**AUTO),
    "pa": wm.PassiveAggressive(**AUTO),
    "logistic": wm.OnlineLogistic(**AUTO),
    "svm": wm.LinearSVM(**SEEDED),
    "kernel-perceptron": wm.KernelPerceptron(**SEEDED),
    "kernel-svm": wm.KernelSVM(progress=False),
}


def examples(n=120, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.25).astype(int)
    return rng.normal(size=(n, 4)) + 0.8 * y[:, None], y


def write_svmlight(path, X, y):
    lines = (
        f"{label} " + " ".join(f"{j + 1}:{value!r}" for j, value in enumerate(row)) + "\n"
        for label, row in zip(y.tolist(), X.tolist(), strict=True)
    )
    path.write_text("".join(lines))


def write_csv(path, n=90):
    rng = np.random.default_rng(4)
    size = rng.normal(size=n).round(3)
    label = np.where(size + rng.normal(size=n) > 0.8, "spam", "ham")
    weight = rng.choice([0.0, 0.5, 1.0, 4.0], n)
    frame = pd.DataFrame({"size": size, "kind": rng.choice(["a", "b"], n), "cost": weight})
    frame.assign(label=label).to_csv(path, index=False)
    return frame, label


def same_model(ours, theirs):
    names = ("weights",) if hasattr(ours, "weights") else ("coef", "summed", "intercept")
    for name in names:
        assert np.array_equal(getattr(ours, name), getattr(theirs, name))


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("given", ["balanced", "0=0.01,1=5"])
def test_class_weights_are_the_same_in_both_faces(learner, given, tmp_path):
    X, y = examples()
    write_svmlight(tmp_path / "f.svm", X, y)
    words = ["f.svm", "--double", "--learner", learner, "--class-weight", given]
    run_shell(tmp_path, "train", *words, "--no-holdout", "--model", "m.wm")
    estimator = LEARNERS[learner].__class__(**LEARNERS[learner].get_params())
    estimator.set_params(class_weight=given if given == "balanced" else {0: 0.01, 1: 5.0})
    plain = LEARNERS[learner].fit(X, y).predict(X)
    fitted = estimator.fit(*wm.read(tmp_path / "f.svm"))
    same_model(wm.load(tmp_path / "m.wm").model_, fitted.model_)
    assert not np.array_equal(fitted.predict(X), plain)
    assert wm.load(tmp_path / "m.wm").class_weight == estimator.class_weight


@pytest.mark.parametrize("svm", [wm.LinearSVM, wm.KernelSVM])
def test_an_svm_takes_a_weight_for_so_many_copies(svm):
    X, y = examples(60)
    weight = np.arange(60) % 4
    copied, again = np.repeat(X, weight, axis=0), np.repeat(y, weight)
    weighted = svm(tol=1e-7, progress=False).fit(X, y, weight)
    copies = svm(tol=1e-7, progress=False).fit(copied, again)
    if svm is wm.KernelSVM:
        copies.set_params(gamma=weighted.model_.kernel.gamma).fit(copied, again)
    assert weighted.certificate_.primal == pytest.approx(copies.certificate_.primal, rel=1e-5)
    asked = np.random.default_rng(1).normal(size=(50, 4))
    expected = copies.decision_function(asked)
    assert weighted.decision_function(asked) == pytest.approx(expected, abs=1e-3)


def test_learning_from_mistakes_a_weight_lengthens_the_step():
    """A weight of 2 is a step twice as long, which is not the same as two copies."""
    X, y = examples(40)
    weight = np.where(np.arange(40) % 3 == 0, 2.0, 0.5)
    signs, w = np.where(y == 1, 1.0, -1.0), np.zeros(5)
    for x, sign, cost in zip(np.c_[X, np.ones(40)], signs, weight, strict=True):
        if sign * (w @ x) <= 0.0:
            w += cost * sign * x
    fitted = wm.Perceptron(keep="last", epochs=1, shuffle=False).fit(X, y, weight)
    assert np.r_[fitted.coef_[0], fitted.intercept_] == pytest.approx(w, rel=1e-12)


def test_class_weights_multiply_sample_weights():
    X, y = examples()
    weight = np.random.default_rng(2).random(120)
    both = wm.LinearSVM(class_weight={1: 3.0}, **SEEDED).fit(X, y, weight)
    alone = wm.LinearSVM(**SEEDED).fit(X, y, weight * np.where(y == 1, 3.0, 1.0))
    same_model(both.model_, alone.model_)


def test_a_column_of_weights_in_both_faces(tmp_path):
    frame, label = write_csv(tmp_path / "t.csv")
    run_shell(tmp_path, "train", "t.csv", "--weight", "cost", "--model", "m.wm")
    shell = wm.load(tmp_path / "m.wm").model_
    rest = frame.drop(columns="cost")
    seeded = {"random_state": 0}
    given = wm.TableClassifier(**seeded).fit(rest, label, frame["cost"].to_numpy())
    named = wm.TableClassifier(weight="cost", **seeded).fit(frame, label)
    of_file = wm.TableClassifier(weight="cost", **seeded).fit(str(tmp_path / "t.csv"))
    for ours in (given, named, of_file):
        same_model(shell, ours.model_)
        assert ours.feature_names_in_.tolist() == ["size", "kind"]
    assert named.predict(rest).tolist() == named.predict(frame).tolist()  # not asked for again
    plain = wm.TableClassifier(**seeded).fit(rest, label)
    assert not np.array_equal(plain.model_.weights, shell.weights)
    run_shell(tmp_path, "train", "t.csv", "--weight", "3", "--model", "m.wm")
    same_model(wm.load(tmp_path / "m.wm").model_, shell)


@pytest.mark.parametrize("suffix", ["jsonl", "parquet", "tsv"])
def test_a_column_of_weights_in_every_format(suffix, tmp_path):
    frame, label = write_csv(tmp_path / "t.csv")
    frame = frame.assign(label=label)
    path = tmp_path / f"t.{suffix}"
    if suffix == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    elif suffix == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, sep="\t", index=False)
    X, y, weight = wm.read(path, weight="cost", return_weight=True)
    assert weight.tolist() == frame["cost"].tolist()
    assert y.tolist() == label.tolist()
    assert X.shape == (90, 3)


def test_several_files_have_weights_in_the_same_column(tmp_path):
    frame, _ = write_csv(tmp_path / "a.csv")
    write_csv(tmp_path / "b.csv")
    _, _, weight = wm.read(
        [tmp_path / "a.csv", tmp_path / "b.csv"], weight="cost", return_weight=True
    )
    assert weight.tolist() == 2 * frame["cost"].tolist()
    parts = list(wm.stream(tmp_path / "a.csv", weight="cost", return_weight=True))
    assert np.concatenate([part[2] for part in parts]).tolist() == frame["cost"].tolist()


def test_the_importance_of_vw_is_a_sample_weight(tmp_path):
    X, y = examples()
    weight = np.random.default_rng(3).choice([0.0, 0.5, 2.0], 120)
    lines = (
        f"{2 * label - 1} {cost} | " + " ".join(f"f{j}:{v!r}" for j, v in enumerate(row)) + "\n"
        for label, cost, row in zip(y.tolist(), weight.tolist(), X.tolist(), strict=True)
    )
    (tmp_path / "f.vw").write_text("".join(lines))
    words = ["train", "f.vw", "--double", "--learner", "svm", "--no-holdout"]
    run_shell(tmp_path, *words, "--model", "m.wm")
    X_read, y_read, found = wm.read(tmp_path / "f.vw", return_weight=True)
    assert found.tolist() == weight.tolist()
    fitted = wm.LinearSVM(**SEEDED).fit(X_read, y_read, found)
    assert np.array_equal(wm.load(tmp_path / "m.wm").coef_, fitted.coef_)


def test_texts_have_class_weights(tmp_path):
    texts = ["win a prize", "see you", "lunch today", "call me", "win money", "so tired"] * 5
    labels = ["spam", "ham", "ham", "ham", "spam", "ham"] * 5
    lines = (f"{label}\t{text}\n" for label, text in zip(labels, texts, strict=True))
    (tmp_path / "d.tsv").write_text("".join(lines))
    run_shell(tmp_path, "train", "d.tsv", "--class-weight", "spam=5,ham=1", "--model", "m.wm")
    weights = {"spam": 5.0, "ham": 1.0}
    fitted = wm.TextClassifier(class_weight=weights, random_state=0).fit(texts, labels)
    same_model(wm.load(tmp_path / "m.wm").model_, fitted.model_)
    tuned = wm.tune(wm.TextClassifier(class_weight=weights, random_state=0), texts, labels, C=[1.0])
    assert tuned.estimator_.learner.class_weight == weights


def test_class_weights_stay_when_an_svm_of_texts_goes_on(tmp_path):
    texts, labels = ["win money", "see you", "win now", "lunch today"], ["spam", "ham"] * 2
    weights = {"spam": 5.0, "ham": 1.0}
    model = wm.TextClassifier(class_weight=weights).fit(texts, labels)
    with pytest.warns(wm.DataWarning, match="passive-aggressive"):
        model.partial_fit(texts, labels)
    assert model.learner_.class_weight == weights
    balanced = wm.TextClassifier(class_weight="balanced").fit(texts, labels)
    with (
        pytest.warns(wm.DataWarning, match="passive-aggressive"),
        pytest.raises(ValueError, match="needs all examples at once"),
    ):
        balanced.partial_fit(texts, labels)


def test_folds_learn_with_weights(tmp_path):
    write_csv(tmp_path / "t.csv")

    def folds(*words):
        return json.loads(
            run_shell(tmp_path, "train", "t.csv", "--folds", "3", "--json", *words).stdout
        )["fold_accuracies"]

    assert folds("--weight", "cost") != folds("--drop", "cost")
    assert folds("--class-weight", "balanced") != folds()


def test_a_rare_class_that_a_fold_lacks_may_have_a_weight(tmp_path):
    X, y = examples(60)
    y[0] = 2
    write_svmlight(tmp_path / "f.svm", X, y)
    ran = run_shell(tmp_path, "train", "f.svm", "--folds", "3", "--class-weight", "2=9", "--json")
    assert len(json.loads(ran.stdout)["fold_accuracies"]) == 3


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (["t.csv", "--weight", "kind"], 1, "column 'kind': expected a number"),
        (["t.csv", "--weight", "costs"], 1, "no column 'costs'; did you mean 'cost'?"),
        (["t.csv", "--weight", "label"], 1, "expected a number"),
        (["t.csv", "--weight", "label", "--label", "label"], 1, "both the label and the weight"),
        (["t.csv", "--class-weight", "x=2"], 2, "--class-weight names 'x'; the classes are ham"),
        (["t.csv", "--class-weight", "spam"], 2, "'spam' is not a label and its weight"),
        (["t.csv", "--class-weight", "spam=1,spam=2"], 2, "given twice"),
        (["t.csv", "--class-weight", "balanced", "--stream"], 2, "needs all examples in memory"),
        (["f.svm", "--weight", "1"], 2, "--weight has no effect for svmlight files"),
        (["bad.csv", "--weight", "cost"], 1, "bad.csv:3: column 'cost': the weight is missing"),
    ],
)
def test_the_shell_refuses(words, code, expected, tmp_path):
    write_csv(tmp_path / "t.csv")
    write_svmlight(tmp_path / "f.svm", *examples(20))
    (tmp_path / "bad.csv").write_text("size,cost,label\n1,2,a\n2,,b\n3,1,a\n")
    assert expected in run_shell(tmp_path, "train", *words, code=code).stderr


def test_python_refuses(tmp_path):
    frame, label = write_csv(tmp_path / "t.csv")
    with pytest.raises(ValueError, match="both set the cost of errors"):
        wm.TableClassifier(weight="cost").fit(frame, label, np.ones(90))
    with pytest.raises(wm.DataError, match="the weight column 'kind' does not hold numbers"):
        wm.TableClassifier(weight="kind").fit(frame, label)
    with pytest.raises(ValueError, match="class_weight"):
        wm.TableClassifier(wm.Perceptron(), class_weight="balanced").fit(frame, label)
    with pytest.raises(TypeError, match="only with return_weight=True"):
        wm.read(tmp_path / "t.csv", weight="cost")
    frame.loc[3, "cost"] = -1.0
    with pytest.raises(wm.DataError, match="row 3: column 'cost': the weight -1 must be"):
        wm.TableClassifier(weight="cost").fit(frame, label)


def test_a_balanced_model_is_not_updated_with_a_part(tmp_path):
    X, y = examples()
    write_svmlight(tmp_path / "f.svm", X, y)
    words = ["train", "f.svm", "--class-weight", "balanced", "--model", "m.wm"]
    run_shell(tmp_path, *words)
    assert "balanced over all" in run_shell(tmp_path, "update", "m.wm", "f.svm", code=1).stderr
