"""Messages of learners: errors that name the place, warnings with advice, short `repr`s."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

import widemargin as wm
from widemargin.data.rows import Rows
from widemargin.linear_svm.fit import SVMSettings, fit_svm
from widemargin.markup.reprs import brief
from widemargin.separability.entry import certify

X, Y = load_iris(return_X_y=True)
SENTENCES = [["the", "dog", "barks"], ["a", "cat", "sleeps"]]
TAGS = [["DET", "NOUN", "VERB"]] * 2
TREES = {
    "word": [["the", "dog"], ["a", "cat"]],
    "upos": [["DET", "NOUN"]] * 2,
    "head": [["2", "0"]] * 2,
    "deprel": [["det", "root"]] * 2,
}


def product(x, z):
    return float(np.dot(x, z))


KERNEL_LEARNERS = {
    "svm": wm.KernelSVM(),
    "linear": wm.KernelSVM(kernel="linear"),
    "perceptron": wm.KernelPerceptron(random_state=0),
    "function": wm.KernelPerceptron(kernel=product, random_state=0),
}


@pytest.mark.parametrize("learner", KERNEL_LEARNERS.values(), ids=KERNEL_LEARNERS)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_kernel_machines_name_the_place_of_values_that_are_not_finite(learner, kind, bad):
    if kind is sp.csr_matrix and callable(learner.kernel):
        kind = np.float32  # a function sees rows of a dense matrix
    rows, labels = X[45:55], Y[45:55]
    spoiled = rows.copy()
    spoiled[3, 2] = bad
    where = rf"contains {'NaN' if bad != bad else 'infinity'} \(row 3, column 2\)"
    with pytest.raises(wm.DataError, match=where):
        learner.fit(kind(spoiled), labels)
    learner.fit(kind(rows), labels)
    with pytest.raises(wm.DataError, match=where):
        learner.predict(kind(spoiled))
    if hasattr(learner, "partial_fit"):
        with pytest.raises(wm.DataError, match=where):
            learner.partial_fit(kind(spoiled), labels)


def test_a_matrix_of_kernel_values_names_the_place():
    gram = X[45:55] @ X[45:55].T
    gram[3, 2] = np.nan
    with pytest.raises(wm.DataError, match=r"NaN \(row 3, column 2\)"):
        wm.KernelSVM(kernel="precomputed").fit(gram, Y[45:55])


def things():
    """Every kind of object that training or plotting gives to the user."""
    voted = wm.Perceptron(keep="vote", random_state=0).fit(X, Y)
    named = wm.Perceptron().learn_one({"a": 1.0}, "x").learn_one({"b": 1.0}, "y")
    svm = wm.LinearSVM(random_state=0).fit(X, Y)
    kernel_svm = wm.KernelSVM().fit(X, Y)
    kernel = wm.KernelPerceptron(keep="vote", random_state=0).fit(X, Y)
    text = wm.TextClassifier(wm.Perceptron(), names=100).fit(["good day", "bad day"], [1, 0])
    tagger = wm.Tagger(epochs=3, bits=12).fit(SENTENCES, TAGS)
    for learner in (voted, named, svm, kernel_svm, kernel, text, tagger):
        yield from (learner, learner.model_, learner.history_)
    yield from (voted.model_.state, voted.model_.state.log, voted.certificate_)
    yield from (voted.explain(X[0]), svm.certificate_, kernel_svm.certificate_)
    yield from (kernel.model_.support, Rows.of(X), Rows.of(sp.csr_matrix(X)))
    yield from (kernel_svm._last[-1], text.model_.encoder, tagger.model_.templates)
    yield fit_svm(Rows.of(X), np.unique(Y), Y, SVMSettings(), np.random.default_rng(0))
    two = Y < 2
    yield from (certify(X[two], Y[two]), certify(X, Y), certify(voted, X, Y))
    yield certify(X[two], Y[two]).margin_evidence
    yield from (wm.plot_boundary(svm, X, Y), wm.plot_confusion(svm, X, Y), wm.plot_weights(svm))
    yield from (wm.plot_history(svm), wm.plot_losses())


@pytest.mark.filterwarnings("ignore")
def test_no_repr_prints_arrays():
    for thing in things():
        said = repr(thing)
        assert "array(" not in said, said[:200]
        assert len(said) < 1200, said[:200]
        assert not re.search(r"(-?\d+\.\d*,?\s+){8}", said), said[:200]


def test_a_model_is_one_line():
    for learner in (wm.Perceptron(), wm.LinearSVM(), wm.KernelSVM(), wm.KernelPerceptron()):
        said = repr(learner.fit(X[:100], Y[:100]).model_)
        assert "\n" not in said, said
        assert len(said) < 100, said
        assert type(learner).__name__ in said, said


def test_brief_looks_into_collections():
    assert brief({"w": np.ones((2, 3))}) == "{'w': <2 x 3 float64>}"
    assert brief([np.int64(3), None, "a" * 100]) == "[3, None, '" + "a" * 58 + "…]"
    assert brief(tuple(range(7))) == "<tuple of 7>"


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"epochs": 1}, "; scale the features, allow more epochs or try a smaller C"),
        (
            {"max_seconds": 1e-9},
            "; scale the features, allow more seconds (max_seconds) or try a smaller C",
        ),
    ],
)
def test_a_linear_svm_that_did_not_arrive_says_what_to_do(params, words):
    with pytest.warns(ConvergenceWarning) as said:
        wm.LinearSVM(C=100.0, tol=1e-9, random_state=0, **params).fit(X, Y)
    message = str(said[0].message)
    assert message.endswith(words)
    assert "\n" not in message


def test_a_kernel_svm_that_did_not_arrive_says_what_to_do():
    with pytest.warns(ConvergenceWarning, match=r"more seconds \(max_seconds\) or try a smaller C"):
        wm.KernelSVM(max_seconds=1e-9).fit(X, Y)


@pytest.mark.parametrize("scale", [1e-200, 1e-150, 1e100])
def test_certificates_of_extreme_scales_can_be_printed(scale):
    two = Y < 2
    found = certify(X[two] * scale, Y[two])
    assert found.verdict == "separable"
    assert "separable (100 examples" in repr(found)
    assert found.bound == np.inf or "mistakes" in repr(found)


def test_a_training_on_separable_trees_has_a_short_repr():
    parser = wm.Parser(epochs=1, tags="upos").fit(TREES)
    for thing in (parser, parser.model_, parser.history_, parser.certificate_):
        assert "array(" not in repr(thing)
        assert len(repr(thing)) < 500


TEXTS, KINDS = ["a good film", "a bad film"], ["pos", "neg"]


@pytest.mark.parametrize("texts", [TEXTS, tuple(TEXTS), np.array(TEXTS), np.array(TEXTS, object)])
@pytest.mark.parametrize("learner", [wm.Perceptron(), wm.LinearSVM(), wm.KernelSVM()])
def test_texts_given_to_a_learner_of_numbers_are_shown_the_way(learner, texts):
    name = type(learner).__name__
    said = (
        rf"X holds strings, and {name} takes numbers only: use TextClassifier\({name}\(\.\.\.\)\)"
    )
    with pytest.raises(wm.DataError, match=said):
        learner.fit(texts, KINDS)


@pytest.mark.parametrize("kind", [list, np.array, lambda rows: np.array(rows, object)])
@pytest.mark.parametrize("learner", [wm.Perceptron(), wm.LinearSVM(), wm.KernelSVM()])
def test_a_matrix_of_strings_given_to_a_learner_of_numbers_is_shown_the_way(learner, kind):
    said = r"X holds strings, .*: use TableClassifier\(\w+\(\.\.\.\)\), which encodes columns"
    with pytest.raises(wm.DataError, match=said):
        learner.fit(kind([["red", "1"], ["blue", "2"]]), KINDS)
    wm.TableClassifier(learner).fit(kind([["red", "1"], ["blue", "2"]]), KINDS)


def test_a_label_that_is_not_a_number_is_called_missing():
    with pytest.raises(wm.DataError, match="Input y contains NaN: every example needs a label"):
        wm.Perceptron().fit([[0.0], [1.0]], [0.0, np.nan])


def test_a_classifier_needs_documents():
    with pytest.raises(wm.DataError, match="X: there are no documents to learn from"):
        wm.TextClassifier().fit([], [])


def test_why_a_classifier_of_texts_has_no_probabilities():
    with pytest.raises(AttributeError) as refused:
        wm.TextClassifier().fit(TEXTS, KINDS).predict_proba(TEXTS)
    assert "LinearSVM has no probabilities: give the learner" in str(refused.value.__cause__)
    with pytest.raises(AttributeError) as refused:
        wm.TextClassifier(wm.Perceptron()).fit(TEXTS, KINDS).predict_proba(TEXTS)
    assert "CalibratedClassifierCV" in str(refused.value.__cause__.__cause__)
    known = wm.TextClassifier(wm.OnlineLogistic(random_state=0)).fit(TEXTS, KINDS)
    assert known.predict_proba(TEXTS).shape == (2, 2)


def test_a_matrix_given_for_a_table_is_shown_the_way():
    clf = wm.TableClassifier().fit({"a": [1.0, 2.0], "kind": ["x", "y"]}, "kind")
    with pytest.raises(TypeError, match="a table is dense: pass the file or data frame itself"):
        clf.predict(sp.csr_matrix([[1.0]]))


def test_sentences_that_are_strings_are_refused_by_their_number():
    with pytest.raises(wm.DataError, match="sentence 1: its words are one string, 'the dog barks'"):
        wm.Tagger().fit(["the dog barks"], [["DET", "NOUN", "VERB"]])
    with pytest.raises(wm.DataError, match="sentence 2: its tags are one string, 'DNV'"):
        wm.Tagger().fit(SENTENCES, [TAGS[0], "DNV"])


def test_words_without_tags_are_refused(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("the\ndog\n\na\ncat\n")
    with pytest.raises(wm.DataError, match=r"there is only one column, and .* holds the words"):
        wm.Tagger().fit(path)


def unknown_labels():
    """Calls with a label that is not among the classes, as an element of an array of numpy's."""
    named, strange = np.array(["a", "b"]), np.array(["b", "q"])
    x = np.eye(2)
    linear = wm.Perceptron(keep="vote").fit(x, named)
    kernel = wm.KernelPerceptron().fit(x, named)
    yield lambda: wm.certify(linear, x, strange)
    yield lambda: wm.certify(kernel, x, strange)
    yield lambda: wm.Perceptron().partial_fit(x, strange, classes=named)
    yield lambda: wm.KernelPerceptron().partial_fit(x, strange, classes=named)
    yield lambda: wm.plot_weights(linear, classes=strange[1:])
    yield lambda: linear.with_threshold("f1", x, named, positive=strange[1])
    yield lambda: wm.Perceptron(class_weight={strange[1]: 2.0}).fit(x, named)
    yield lambda: linear.partial_fit(x, np.array([1, 2]))
    yield lambda: wm.compare(np.eye(4), np.array(["a", "a", "b", "q"]), folds=2)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", list(unknown_labels()))
def test_labels_are_shown_without_the_types_of_numpy(call):
    with pytest.raises((ValueError, wm.DataError)) as refused:
        call()
    assert "np." not in str(refused.value)
    assert re.search("'q'|'a'|'b'", str(refused.value))
