"""Texts without --learner: the defaults of TextClassifier, and what takes their place in pieces."""

import os
import threading
import warnings
from dataclasses import replace

import numpy as np
import pytest
from shell import run_shell

from widemargin import (
    DataError,
    DataWarning,
    HashedText,
    LinearSVM,
    PassiveAggressive,
    Perceptron,
    TableClassifier,
    TextClassifier,
    load,
    load_model,
)

TOPICS = {
    "farm": "cow barn hay milk field",
    "sea": "ship wave sail harbour fish",
    "sky": "cloud star moon wind bird",
}


def documents(n=120, seed=0, topics=tuple(TOPICS)):
    rng = np.random.default_rng(seed)
    labels = [topics[i % len(topics)] for i in range(n)]
    every = " ".join(TOPICS.values()).split()
    texts = [
        " ".join([*rng.choice(TOPICS[label].split(), 3), *rng.choice(every, 2), f"x{i % 17}"])
        for i, label in enumerate(labels)
    ]
    return texts, labels


def write(folder, n=120, topics=tuple(TOPICS), name="f.txt", seed=0):
    texts, labels = documents(n, seed, topics)
    lines = (f"{label}\t{text}\n" for text, label in zip(texts, labels, strict=True))
    (folder / name).write_text("".join(lines))
    return texts, labels


def same_bits(mine, theirs):
    assert mine.dtype == theirs.dtype
    bits = f"u{mine.itemsize}"
    np.testing.assert_array_equal(mine.view(bits), theirs.view(bits))


def same(a, b):
    assert a.classes.tolist() == b.classes.tolist()
    same_bits(a.weights, b.weights)
    assert a.encoder.options == b.encoder.options
    assert a.bias == b.bias


@pytest.mark.parametrize("topics", [("farm", "sea"), tuple(TOPICS)])
def test_the_shell_learns_what_python_learns(topics, tmp_path):
    texts, labels = write(tmp_path, topics=topics)
    ran = run_shell(tmp_path, "train", "f.txt", "--model", "m.wm")
    assert ran.stderr == ""
    model = load_model(tmp_path / "m.wm")
    python = TextClassifier(validation=0.1, random_state=0).fit(texts, labels)
    same(model, python.model_)
    parameters = {"C": 2.0, "loss": "squared_hinge", "validation": 0.1, "random_state": 0}
    named = TextClassifier(LinearSVM(**parameters), ngrams=2, idf="seen")
    same(model, named.fit(texts, labels).model_)
    assert model.params == parameters
    assert load(tmp_path / "m.wm").predict(texts).tolist() == python.predict(texts).tolist()
    table = TableClassifier(text="text", validation=0.1, random_state=0)
    same(model, replace(table.fit({"text": texts}, labels).model_, encoder=model.encoder))
    assert table.encoder_.text.options == model.encoder.options
    run_shell(tmp_path, "train", "f.txt", "--no-holdout", "--model", "m.wm")
    same(load_model(tmp_path / "m.wm"), TextClassifier(random_state=0).fit(texts, labels).model_)


def test_texts_in_a_table_or_a_cache_are_texts(tmp_path):
    texts, labels = write(tmp_path)
    rows = zip(texts, labels, strict=True)
    (tmp_path / "f.csv").write_text(
        "id,text,label\n" + "".join(f"{i},{text},{label}\n" for i, (text, label) in enumerate(rows))
    )
    python = TextClassifier(validation=0.1, random_state=0).fit(texts, labels).model_
    run_shell(tmp_path, "train", "f.csv", "--text", "text", "--model", "a.wm")
    run_shell(tmp_path, "convert", "f.txt", "f.wmc")
    run_shell(tmp_path, "train", "f.wmc", "--model", "b.wm")
    for name in ("a.wm", "b.wm"):
        model = load_model(tmp_path / name)
        same_bits(model.weights, python.weights)
    run_shell(tmp_path, "train", "f.csv", "--text", "text", "--column", "id", "--model", "c.wm")
    assert load_model(tmp_path / "c.wm").learner == "Perceptron"


@pytest.mark.parametrize(
    ("words", "learner", "parameters"),
    [
        (["--C", "0.5"], "LinearSVM", {"C": 0.5, "loss": "squared_hinge"}),
        (["--loss", "hinge"], "LinearSVM", {"C": 2.0, "loss": "hinge"}),
        (["--learner", "svm"], "LinearSVM", {}),
        (["--learner", "perceptron"], "Perceptron", {}),
        (["--learner", "pa", "--C", "0.1"], "PassiveAggressive", {"C": 0.1}),
    ],
)
def test_what_is_given_wins(words, learner, parameters, tmp_path):
    texts, labels = write(tmp_path)
    run_shell(tmp_path, "train", "f.txt", *words, "--model", "m.wm")
    model = load_model(tmp_path / "m.wm")
    assert model.learner == learner
    assert parameters.items() <= model.params.items()
    assert model.encoder.options["ngrams"] == (1, 2)
    assert model.encoder.options["idf"] == (False if "--learner" in words else "seen")
    if learner == "Perceptron":
        explicit = Perceptron(fit_intercept="auto", validation=0.1, patience=None, random_state=0)
        same(model, TextClassifier(explicit).fit(texts, labels).model_)
        table = TableClassifier(explicit, text="text").fit({"text": texts}, labels)
        same(model, replace(table.model_, encoder=model.encoder))


def test_options_of_texts_win_too(tmp_path):
    write(tmp_path)
    words = ("--ngrams", "1", "--weighting", "binary", "--no-idf")
    run_shell(tmp_path, "train", "f.txt", *words, "--model", "m.wm")
    found = load_model(tmp_path / "m.wm").encoder.options
    assert (found["ngrams"], found["weighting"], found["idf"]) == ((1, 1), "binary", False)
    run_shell(tmp_path, "train", "f.txt", "--idf", "--model", "m.wm")
    assert load_model(tmp_path / "m.wm").encoder.options["idf"] is True


@pytest.mark.parametrize(
    "words", [["--epochs", "3"], ["--rule", "margin"], ["--patience", "2"], ["--keep", "last"]]
)
def test_an_option_that_an_svm_does_not_have_brings_the_perceptron_and_says_so(words, tmp_path):
    write(tmp_path)
    told = run_shell(tmp_path, "train", "f.txt", *words, "--model", "m.wm").stderr
    assert told.startswith(f"widemargin: {words[0]} selects a perceptron; without it, texts are")
    assert load_model(tmp_path / "m.wm").learner == "Perceptron"


def test_what_is_not_all_in_memory_is_learned_in_pieces_and_says_so(tmp_path):
    texts, labels = write(tmp_path)
    told = (
        "widemargin: the examples are not all in memory: a passive-aggressive learner without idf"
        " is used instead of an SVM (choose with --learner and --idf)\n"
    )
    for words in (["--stream"], ["--memory", "1KB"]):
        assert run_shell(tmp_path, "train", "f.txt", *words, "--model", "m.wm").stderr == told
        model = load_model(tmp_path / "m.wm")
        assert (model.learner, model.rule, model.params["C"]) == ("PassiveAggressive", "pa2", 0.5)
        assert (model.params["epochs"], model.encoder.options["idf"]) == (5, False)
        assert np.mean(load(tmp_path / "m.wm").predict(texts) == labels) > 0.9
    os.mkfifo(tmp_path / "pipe")
    content = (tmp_path / "f.txt").read_bytes()
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=[content])
    writer.start()
    assert run_shell(tmp_path, "train", "pipe", "--model", "p.wm").stderr == told
    writer.join()
    assert load_model(tmp_path / "p.wm").params["epochs"] == 1
    ran = run_shell(tmp_path, "train", "f.txt", "--stream", "--learner", "pa", "--quiet")
    assert ran.stderr == ""


def test_an_svm_of_texts_goes_on_with_passive_aggressive_steps(tmp_path):
    texts, labels = write(tmp_path)
    more, their = write(tmp_path, 60, name="g.txt", seed=1)
    run_shell(tmp_path, "train", "f.txt", "--no-holdout", "--model", "m.wm")
    before = load_model(tmp_path / "m.wm")
    told = run_shell(tmp_path, "update", "m.wm", "g.txt", "--model", "n.wm").stderr
    assert told == (
        "widemargin: m.wm: an SVM needs all documents at once: it continues with passive-aggressive"
        " steps; train it again on all documents for the best model\n"
    )
    after = load_model(tmp_path / "n.wm")
    assert (after.learner, after.certificate) == ("PassiveAggressive", None)
    assert not np.array_equal(after.weights, before.weights)
    python = TextClassifier(random_state=0).fit(texts, labels)
    with pytest.warns(DataWarning, match="an SVM needs all documents at once"):
        python.partial_fit(more, their)
    same(after, python.model_)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        python.partial_fit(more, their)
    told = run_shell(tmp_path, "update", "n.wm", "g.txt", "--model", "o.wm").stderr
    assert told == ""
    same(load_model(tmp_path / "o.wm"), python.model_)


@pytest.mark.parametrize("topics", [("farm", "sea"), tuple(TOPICS)])
def test_going_on_begins_with_the_answers_of_the_svm(topics):
    from widemargin.models.text_defaults import make_online

    texts, labels = documents(topics=topics)
    svm = TextClassifier(random_state=0).fit(texts, labels)
    rows = next(svm._rows_of(texts))
    scores = svm.model_.decision_function(rows)
    online = make_online(svm.model_)
    shift = 1.0 if len(topics) > 2 else 0.0
    np.testing.assert_allclose(online.decision_function(rows), scores + shift, atol=1e-5)
    learner = PassiveAggressive(**online.params).restore(online)
    assert learner.predict(rows).tolist() == svm.predict(texts).tolist()


def test_new_words_and_new_classes_are_learned_by_going_on():
    texts, labels = documents(topics=("farm", "sea"))
    model = TextClassifier(random_state=0).fit(texts, labels)
    with pytest.warns(DataWarning):
        model.partial_fit(["cloud star moon", "wind bird star"] * 8, ["sky"] * 16)
    assert model.predict(["star wind", "cow barn hay", "ship sail"]).tolist() == [
        "sky",
        "farm",
        "sea",
    ]


def test_pieces_in_python_say_so():
    texts, labels = documents()
    model = TextClassifier(random_state=0)
    with pytest.warns(DataWarning) as told:
        model.partial_fit(texts, labels)
    assert [str(one.message) for one in told] == [
        "partial_fit has only some of the documents: a passive-aggressive learner without idf"
        " is used instead of an SVM; fit takes all"
    ]
    assert isinstance(model.learner_, PassiveAggressive)
    assert model.encoder_.options["idf"] is False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(texts, labels)
        TextClassifier(Perceptron()).partial_fit(texts, labels)


def test_features_that_no_document_had_count_nothing():
    seen, plain = (HashedText(idf=idf).fit(["one two", "one three"]) for idf in ("seen", True))
    known = seen.transform(["one two"])
    assert (seen.transform(["one two strange words"]) != known).nnz == 0
    assert (plain.transform(["one two strange words"]) != known).nnz > 0
    assert seen.transform(["strange"]).sum() == 0.0
    assert (plain.transform(["one two"]) != known).nnz == 0
    with pytest.raises(ValueError, match="idf='sen' is unknown; did you mean 'seen'"):
        HashedText(idf="sen").fit(["a"])


def test_an_svm_of_vectors_is_still_not_updated(tmp_path):
    (tmp_path / "f.svm").write_text("1 1:1\n-1 2:1\n")
    run_shell(tmp_path, "train", "f.svm", "--learner", "svm", "--model", "m.wm")
    told = run_shell(tmp_path, "update", "m.wm", "f.svm", code=1).stderr
    assert "m.wm: an SVM cannot be updated: train it again on all examples" in told
    with pytest.raises(DataError, match="there are 2 examples but 3 labels"):
        TextClassifier().fit(["a", "b"], [0, 1, 0])


def test_texts_alone_in_a_table_are_learned_as_texts_are():
    texts, labels = documents()
    table = {"text": texts, "n": list(range(len(texts)))}
    alone = TableClassifier(text="text", random_state=0).fit(table, labels)
    assert type(alone.learner_) is LinearSVM
    assert alone.encoder_.text.options["idf"] == "seen"
    assert alone.encoder_.text.options["ngrams"] == (1, 2)
    plain = TextClassifier(random_state=0).fit(texts, labels)
    scores = plain.decision_function(texts)
    np.testing.assert_array_equal(alone.decision_function(table), scores)
    beside = TableClassifier(text="text", columns="n", random_state=0).fit(table, labels)
    assert type(beside.learner_) is Perceptron
    assert beside.encoder_.text.options["idf"] is False
    assert beside.encoder_.text.options["ngrams"] == (1, 1)


def test_texts_alone_in_a_table_are_learned_in_pieces_as_texts_are():
    texts, labels = documents()
    pieces = TableClassifier(text="text", random_state=0)
    with pytest.warns(DataWarning, match="partial_fit has only some of the documents"):
        pieces.partial_fit({"text": texts}, labels)
    plain = TextClassifier(random_state=0)
    with pytest.warns(DataWarning):
        plain.partial_fit(texts, labels)
    scores = plain.decision_function(texts)
    np.testing.assert_array_equal(pieces.decision_function({"text": texts}), scores)
    svm = TableClassifier(text="text", random_state=0).fit({"text": texts}, labels)
    with pytest.warns(DataWarning, match="an SVM needs all documents at once"):
        svm.partial_fit({"text": texts}, labels)
    assert type(svm.learner_) is PassiveAggressive
    with pytest.raises(ValueError, match=r"validation=0\.1 needs all examples at once"):
        TableClassifier(text="text", validation=0.1).partial_fit({"text": texts}, labels)
    with pytest.raises(ValueError, match="LinearSVM needs all documents at once"):
        TextClassifier(LinearSVM()).partial_fit(texts, labels)
