"""Every learner has the same names and defaults, in Python and in the shell."""

import inspect
from dataclasses import fields

import numpy as np
import pytest
from shell import run_shell

import widemargin as wm
from widemargin.certificates.certificate import RunCertificate
from widemargin.cli.learners import LEARNERS
from widemargin.kernel_machines.perceptron.settings import KernelSettings
from widemargin.kernel_machines.svm.fit import KernelSVMSettings
from widemargin.linear_svm.fit import SVMSettings
from widemargin.online.settings import Settings
from widemargin.structured import StructuredPerceptron
from widemargin.structured.tasks import Tagging

X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [0.0, 3.0]])
Y = np.array(["no", "yes", "yes", "no"])
TEXTS = ["cheap pills", "see you at lunch", "cheap money", "lunch with family"]
SENTENCES, TAGS = [["the", "dog"], ["a", "cat"]], [["DET", "NOUN"]] * 2
TREES = {
    "word": SENTENCES,
    "upos": TAGS,
    "head": [["2", "0"]] * 2,
    "deprel": [["det", "root"]] * 2,
}
CLASSIFIERS = [
    wm.Perceptron(),
    wm.PassiveAggressive(),
    wm.OnlineLogistic(),
    wm.LinearSVM(),
    wm.KernelPerceptron(),
    wm.KernelSVM(),
]


def fitted():
    """One of each estimator, trained."""
    for learner in CLASSIFIERS:
        yield learner.fit(X, Y)
    yield wm.TableClassifier().fit({"a": X[:, 0], "b": TEXTS}, Y)
    yield wm.TextClassifier().fit(TEXTS, Y)
    yield wm.Tagger(epochs=1, bits=12).fit(SENTENCES, TAGS)
    yield wm.Parser(epochs=1, tags="upos").fit(TREES)
    yield StructuredPerceptron(Tagging(["DET", "NOUN"])).fit(SENTENCES, TAGS)


def test_every_estimator_has_a_certificate_and_a_history():
    for learner in fitted():
        assert str(learner.certificate_)
        assert len(learner.history_) >= 1


def test_a_run_without_examples_counts_its_mistakes():
    model = StructuredPerceptron(Tagging(["DET", "NOUN"])).fit(SENTENCES, TAGS)
    assert isinstance(model.certificate_, RunCertificate)
    assert model.certificate_.mistakes == model.history_.mistakes


def test_labels_that_are_classes_are_called_classes():
    for learner in fitted():
        if isinstance(learner, (wm.Parser, StructuredPerceptron)):
            assert not hasattr(learner, "classes_")  # trees and structures are not classes
        else:
            expected = ["DET", "NOUN"] if isinstance(learner, wm.Tagger) else ["no", "yes"]
            assert learner.classes_.tolist() == expected


SETTINGS = {
    "perceptron": Settings,
    "pa": Settings,
    "logistic": Settings,
    "svm": SVMSettings,
    "kernel-perceptron": KernelSettings,
    "kernel-svm": KernelSVMSettings,
}


@pytest.mark.parametrize("name", SETTINGS)
def test_the_shell_has_the_defaults_of_python(name):
    estimator = getattr(wm, LEARNERS[name].estimator)
    python = {p.name: p.default for p in inspect.signature(estimator).parameters.values()}
    shell = {field.name: field.default for field in fields(SETTINGS[name])}
    shared = python.keys() & shell.keys() - {"rule"}
    assert len(shared) > 8
    if name == "logistic":  # the command sets it, as the settings are those of all linear learners
        shell["eta"] = "auto"
    assert {key: shell[key] for key in shared} == {key: python[key] for key in shared}


@pytest.mark.parametrize("name", list(LEARNERS)[:6])
def test_a_model_of_the_shell_has_the_rule_and_kernel_of_python(name, tmp_path):
    codes = (Y == "yes").astype(int)
    pairs = zip(codes, X.tolist(), strict=True)
    rows = "".join(f"{code} 1:{a} 2:{b}\n" for code, (a, b) in pairs)
    (tmp_path / "rows.svm").write_text(rows)
    run_shell(tmp_path, "train", "rows.svm", "--learner", name, "--model", "m.wm", "--quiet")
    model = wm.load(tmp_path / "m.wm").model_
    python = getattr(wm, LEARNERS[name].estimator)().fit(X.astype(np.float32), codes).model_
    assert (model.rule, model.keep, model.learner) == (python.rule, python.keep, python.learner)
    if "kernel" in name:
        assert str(model.kernel) == str(python.kernel)


def test_compare_writes_its_page_where_output_says(tmp_path):
    rows = "".join(f"{i % 2} 1:{i % 2 + i / 40} 2:{i}\n" for i in range(20))
    (tmp_path / "rows.svm").write_text(rows)
    common = ("compare", "rows.svm", "--folds", 2, "--repeats", 1, "--learners", "pa,svm")
    said = run_shell(tmp_path, *common, "--output", "page.html").stdout
    assert "passive-aggressive" in said
    assert "linear SVM" in said
    assert "<html" in (tmp_path / "page.html").read_text()
