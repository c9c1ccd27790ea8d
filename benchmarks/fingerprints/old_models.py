"""Model files that other versions must be able to read."""

from __future__ import annotations

import pathlib
import tempfile

import numpy as np
import scipy.sparse as sp

from benchmarks.fingerprints.data import cancer, digits, made_texts
from benchmarks.fingerprints.kernels import words_and_kinds
from benchmarks.fingerprints.linear import dicts
from benchmarks.fingerprints.notes import DATA, Arrays, Notes, put_history, put_saved
from benchmarks.fingerprints.sentences import flat, put_parser, put_tagger
from benchmarks.fingerprints.shell import NEW_FILES, TRAININGS, Shell, put_answers, write_examples
from benchmarks.fingerprints.structured import put_structured, structured_tasks


def write_models(folder: pathlib.Path) -> None:
    """Write one model file of every kind, and examples to predict."""
    import widemargin as wm

    folder.mkdir(parents=True, exist_ok=True)
    write_examples(folder)
    X, y = cancer()
    D, c = digits(300)
    np.savez(folder / "rows.npz", cancer=X, cancer_labels=y, digits=D / 16.0, digits_labels=c)
    docs, kinds = made_texts(200, 0)
    words, languages = words_and_kinds(100)
    fitted = {
        "linear": wm.Perceptron(epochs=3, random_state=0).fit(X, y),
        "vote": wm.Perceptron(epochs=3, keep="vote", random_state=0).fit(X, y),
        "classes": wm.PassiveAggressive(epochs=3, random_state=0).fit(sp.csr_matrix(D / 16.0), c),
        "logistic": wm.OnlineLogistic(epochs=3, random_state=0).fit(D / 16.0, c),
        "svm": wm.LinearSVM(loss="hinge", random_state=0).fit(X.astype(np.float32), y),
        "text": wm.TextClassifier(
            wm.Perceptron(epochs=5, fit_intercept=0.1, random_state=0), bits=14, idf=True
        ).fit(docs, kinds),
        "kernel": wm.KernelPerceptron(gamma=0.5, keep="vote", random_state=0).fit(D / 16.0, c),
        "strings": wm.KernelPerceptron(kernel="ngrams", random_state=0).fit(words, languages),
        "kernel-svm": wm.KernelSVM(gamma=0.5).fit(D / 16.0, c),
        "low-rank": wm.KernelSVM(gamma=0.5, low_rank=30).fit(D / 16.0, c),
        "tagger": wm.Tagger(epochs=3, bits=13, random_state=0).fit(folder / "train.conll"),
        "tagger-2": wm.Tagger(2, epochs=3, bits=None, random_state=0).fit(folder / "train.conll"),
        "parser": wm.Parser(bits=13, epochs=3, tagger=wm.Tagger(bits=13), random_state=0).fit(
            folder / "train.conllu"
        ),
        "parser-beam": wm.Parser(bits=13, epochs=3, beam=3, tags="gold", random_state=0).fit(
            folder / "train.conllu"
        ),
        "parser-cle": wm.Parser("cle", bits=13, epochs=3, tags="gold", random_state=0).fit(
            folder / "train.conllu"
        ),
    }
    for name, model in fitted.items():
        model.save(folder / f"{name}.wm")
    for what, (task, examples, answers) in structured_tasks().items():
        model = wm.StructuredPerceptron(task, epochs=5, random_state=0).fit(examples, answers)
        model.save(folder / f"structured-{what}.wm")
    stream = wm.Perceptron(random_state=0)
    for x, label in dicts(150):
        stream.learn_one(x, label)
    stream.save(folder / "dicts.wm")
    shell = Shell(folder, DATA)
    for name, (file, options, _) in TRAININGS.items():
        if "--cache" not in options:
            model = f"shell {name}.wm".replace(", ", "-").replace(" ", "-")
            shell.run("train", file, *options, "--model", model, "--quiet")
    shell.run("convert", "train.svm", "train.wmc")
    arrays = ask_models(folder)
    np.savez_compressed(folder / "answers.npz", **arrays)


def ask_models(folder: pathlib.Path) -> Arrays:
    """The predictions of all models in a folder, from Python and from the shell."""
    notes = Notes()
    for ask in (_ask_vectors, _ask_sentences, _ask_structured, _ask_shell):
        ask(notes, folder)
    return notes.arrays


def _ask_vectors(notes: Notes, folder: pathlib.Path) -> None:
    import widemargin as wm

    rows = np.load(folder / "rows.npz")
    X, y, D, c = (rows[name] for name in ("cancer", "cancer_labels", "digits", "digits_labels"))
    docs, kinds = made_texts(200, 0)
    words, languages = words_and_kinds(100)
    single = X.astype(np.float32)
    for name, asked, labels in (
        *(("linear", X, y), ("vote", X, y), ("svm", single, y), ("classes", sp.csr_matrix(D), c)),
        *(
            ("logistic", D, c),
            ("text", docs, kinds),
            ("kernel", D, c),
            ("strings", words, languages),
        ),
        *(("kernel-svm", D, c), ("low-rank", D, c)),
    ):
        with notes.case(name) as put:
            model = wm.load(folder / f"{name}.wm")
            put("scores", model.decision_function(asked))
            put("answers", model.predict(asked))
            put_history(put, model.history_)
            if hasattr(model, "predict_proba"):
                put("probabilities", model.predict_proba(asked))
            found = wm.load_model(folder / f"{name}.wm")
            if name != "text":
                put("of the model", found.predict(asked))
            if hasattr(model, "partial_fit"):
                half = len(labels) // 2
                some = asked[:half]
                model.partial_fit(some, labels[:half])
                put("going on", model.decision_function(asked))
            put_saved(put, wm.load(folder / f"{name}.wm"))
    with notes.case("dicts") as put:
        model = wm.load(folder / "dicts.wm")
        put("answers", [model.predict_one(x) for x, _ in dicts(250)])
        for x, label in dicts(20):
            model.learn_one(x, label)
        put("going on", [model.predict_one(x) for x, _ in dicts(250)])
        put_saved(put, wm.load(folder / "dicts.wm"))


def _ask_sentences(notes: Notes, folder: pathlib.Path) -> None:
    import widemargin as wm

    shell = Shell(folder, DATA)
    for name in ("tagger", "tagger-2"):
        with notes.case(name) as put:
            put_tagger(put, wm.load(folder / f"{name}.wm"), folder / "new.conll")
            direct = wm.structured.load_tagger(folder / f"{name}.wm")
            put("direct", flat(direct.predict(folder / "new.conll")))
            put("shell", shell.run("tag", f"{name}.wm", "new.conll").splitlines())
    for name in ("parser", "parser-beam", "parser-cle"):
        with notes.case(name) as put:
            put_parser(put, wm.load(folder / f"{name}.wm"), folder / "new.conllu")
            direct = wm.structured.load_parser(folder / f"{name}.wm")
            put("direct", direct.predict(folder / "new.conllu").heads)
            put("shell", shell.run("parse", f"{name}.wm", "new.conllu").splitlines())


def _ask_structured(notes: Notes, folder: pathlib.Path) -> None:
    import widemargin as wm

    for what, (_, X, Y) in structured_tasks().items():
        with notes.case(f"structured-{what}") as put:
            model = wm.load(folder / f"structured-{what}.wm")
            put_structured(put, model, X)
            model.partial_fit(X, Y)
            put("going on", [repr(found) for found in model.predict(X)])


def _ask_shell(notes: Notes, folder: pathlib.Path) -> None:
    shell = Shell(folder, DATA)
    for name, (file, options, asked) in TRAININGS.items():
        if "--cache" in options:
            continue
        model = f"shell {name}.wm".replace(", ", "-").replace(" ", "-")
        with notes.case(model) as put:
            put_answers(put, shell, model, NEW_FILES[file], asked)
            if "svm" not in options and "kernel-svm" not in options and "--budget" not in options:
                with tempfile.TemporaryDirectory() as scratch:
                    target = pathlib.Path(scratch, "u.wm")
                    shell.run("update", model, NEW_FILES[file], "--model", target, "--quiet")
                    told = shell.run("predict", target, NEW_FILES[file], asked)
                put("updated", told.splitlines())
    with notes.case("cache") as put, tempfile.TemporaryDirectory() as scratch:
        target = pathlib.Path(scratch, "c.wm")
        shell.run("train", "train.wmc", "--model", target, "--quiet")
        put("scores", shell.run("predict", target, "new.svm", "--scores").splitlines())
