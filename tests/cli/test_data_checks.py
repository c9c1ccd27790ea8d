"""What `train` warns of: features on different scales, columns that give the answer away."""

import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from shell import run
from sklearn.datasets import load_svmlight_file

from widemargin import (
    DataWarning,
    KernelPerceptron,
    LinearSVM,
    OnlineLogistic,
    Perceptron,
    load_model,
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_vectors(scales, n=400, often=None):
    """Vectors whose features have these scales; the last one only in every `often`-th row."""
    rng = np.random.default_rng(0)
    with open("f.svm", "w") as file:
        for i, row in enumerate(rng.normal(size=(n, len(scales))) * scales):
            used = row if often is None or i % often == 0 else row[:-1]
            cells = " ".join(f"{j}:{x:.6g}" for j, x in enumerate(used, 1))
            file.write(f"{'+1' if row[0] > 0 else '-1'} {cells}\n")


def warned(*words):
    return run("train", *words).stderr


@pytest.mark.parametrize("learner", ["perceptron", "svm", "kernel-svm"])
def test_features_on_different_scales(learner):
    write_vectors([1.0, 1e5, 10.0])
    told = warned("f.svm", "--learner", learner)
    assert told.startswith("warning: values of feature '2' are about ")
    end = "differ by orders of magnitude; scale them first, or give --learner svm --scale maxabs\n"
    assert told.endswith(end)
    assert told.count("\n") == 1
    assert warned("f.svm", "--quiet") == ""


def test_vectors_are_scaled_for_an_svm_that_answers_about_vectors_as_they_are():
    write_vectors([1.0, 1e5, 10.0])
    done = run(
        "train", "f.svm", "--learner", "svm", "--scale", "maxabs", "--no-holdout", "--double"
    )
    assert done.stderr == ""
    X, y = load_svmlight_file("f.svm")
    X = X.toarray()
    model = load_model("model.wm")
    other = LinearSVM(**model.params).fit(X / np.abs(X).max(axis=0), y)
    np.testing.assert_allclose(
        model.decision_function(X), other.decision_function(X / np.abs(X).max(axis=0)), rtol=1e-6
    )
    assert model.certificate.primal == pytest.approx(other.certificate_.primal)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--learner svm --scale standard", "would fill in the zeros of vectors; give --scale max"),
        ("--learner perceptron --scale maxabs", "--scale has no effect for svmlight files"),
        ("--learner svm --scale maxabs --folds 3", "cannot be combined with --folds"),
    ],
)
def test_vectors_are_scaled_in_no_other_way(words, told):
    write_vectors([1.0, 2.0])
    assert told in run("train", "f.svm", *words.split(), code=2).stderr


@pytest.mark.parametrize(("scales", "often"), [([1.0, 100.0], None), ([1.0, 1.0, 1e6], 150)])
def test_features_on_similar_scales_and_rare_ones_are_fine(scales, often):
    write_vectors(scales, often=often)
    assert warned("f.svm") == ""


def test_numbers_of_tables_are_scaled_unless_that_is_switched_off():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(size=300), "pay": 1e5 * rng.normal(size=300)})
    frame["kind"] = np.where(frame["age"] + rng.normal(size=300) > 0, "a", "b")
    frame.to_csv("f.csv", index=False)
    assert warned("f.csv") == ""
    assert warned("f.csv", "--scale", "none").endswith("magnitude; add --scale standard\n")


def table(n=1000):
    """A table whose columns tell something about the label, but none of them all."""
    rng = np.random.default_rng(0)
    label = rng.choice(["yes", "no", "maybe"], n, p=[0.2, 0.7, 0.1])
    wrong = rng.random(n) < 0.1
    hint = np.where(wrong, rng.choice(["yes", "no", "maybe"], n), label)
    return pd.DataFrame(
        {
            "hint": hint,
            "number": np.where(label == "no", 1.0, 0.0) + 0.5 * rng.normal(size=n),
            "flag": label == "yes",
            "city": rng.choice([f"city {i}" for i in range(300)], n),
            "label": label,
        }
    )


def test_columns_that_only_help_are_fine():
    table().to_csv("f.csv", index=False)
    assert warned("f.csv") == ""


@pytest.mark.parametrize("kind", ["copy", "code", "id", "missing"])
def test_a_column_that_gives_the_answer_away(kind):
    frame = table()
    codes = pd.Categorical(frame["label"]).codes
    if kind == "copy":
        column = [label.upper() for label in frame["label"]]
    elif kind == "code":
        column = 0.25 * codes + 3.0
    elif kind == "id":
        frame = frame.sort_values("label")
        column = range(len(frame))
    else:  # the day of the answer is known only where there was one
        frame["label"] = np.where(codes == 1, "no", "yes")
        column = np.where(codes == 1, np.nan, np.random.default_rng(1).normal(size=len(frame)))
    frame.insert(2, "teller", column)
    frame.to_csv("f.csv", index=False)
    told = warned("f.csv")
    assert told.startswith("warning: column 'teller' alone predicts ")
    assert told.endswith("add --drop 'teller'\n")
    assert told.count("\n") == 1
    assert warned("f.csv", "--drop", "teller") == ""


def test_a_frequent_label_is_not_given_away_by_every_column():
    frame = table()
    frame["label"] = np.where(np.arange(len(frame)) % 200 == 0, "rare", "usual")
    frame.to_csv("f.csv", index=False)
    assert warned("f.csv") == ""


def write_sorted(n=6000):
    """Vectors that are sorted by class."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n, 2))
    with open("f.svm", "w") as file:
        for x, y in rows[np.argsort(rows[:, 0] > 0, kind="stable")]:
            file.write(f"{'+1' if x > 0 else '-1'} 1:{x:.6g} 2:{y:.6g}\n")


@pytest.mark.parametrize("learner", ["perceptron", "pa", "logistic", "kernel-perceptron"])
def test_sorted_rows_that_are_not_shuffled(learner):
    write_sorted()
    asked = ("f.svm", "--learner", learner, "--epochs", "2")
    told = warned(*asked, "--shuffle", "no")
    assert re.match(r"warning: \d+ consecutive rows have the label -1: rows sorted", told)
    assert told.count("\n") == 1
    assert warned(*asked, "--shuffle", "no", "--quiet") == ""
    assert warned(*asked) == ""
    assert warned(*asked, "--shuffle", "no", "--folds", "2") == told


def test_sorted_rows_that_are_read_once_and_not_shuffled():
    write_sorted()
    told = warned("f.svm", "--epochs", "1", "--shuffle", "no")
    assert told.endswith("unless they are shuffled: leave out --shuffle no\n")
    write_vectors([1.0, 1.0], n=6000)
    assert warned("f.svm", "--epochs", "2", "--shuffle", "no") == ""


def test_the_order_does_not_matter_to_the_full_batch():
    write_sorted()
    assert warned("f.svm", "--epochs", "2", "--shuffle", "no", "--batch", "full") == ""


def test_sorted_rows_in_python():
    rows = np.random.default_rng(0).normal(size=(6000, 2))
    labels = np.sort(rows[:, 0] > 0)
    for learner in (Perceptron, OnlineLogistic, KernelPerceptron):
        with pytest.warns(DataWarning, match="consecutive rows have the label False"):
            learner(shuffle=False, epochs=1).fit(rows, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        Perceptron(epochs=1).fit(rows, labels)
        Perceptron(shuffle=False, epochs=1).partial_fit(rows, labels)


def test_the_column_of_the_labels_is_told_unless_it_was_given():
    table().rename(columns={"label": "outcome"}).to_csv("f.csv", index=False)
    told = "labels: column 'outcome', unless --label names another\n"
    assert told in run("train", "f.csv").stdout
    assert told not in run("train", "f.csv", "--label", "outcome").stdout
    assert json.loads(run("train", "f.csv", "--json").stdout)["label"] == "outcome"


def test_labels_that_most_rows_have_for_themselves():
    with open("f.csv", "w") as file:
        file.writelines(f"{i % 2},{500 + 7 * i}\n" for i in range(30))
    wanted = "warning: 30 different labels in 30 rows can hardly be classes; in a table, --label"
    for told in (warned("f.csv"), run("certify", "f.csv", "--multiclass", "rest").stderr):
        assert told.startswith(wanted)
    assert "can hardly be classes" not in warned("f.csv", "--label", "1")
