"""The shell program on files, used as a person uses it."""

import gzip
import itertools
import json
import lzma
import os
import pathlib
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from click.testing import CliRunner
from forked import Forked, run_forked
from shell import run
from sklearn.metrics import accuracy_score, f1_score
from small_language import treebank

import widemargin
from widemargin.cli.main import main
from widemargin.modelfile.files import read_model_file
from widemargin.training.history import Epoch

PROGRAM = [sys.executable, "-m", "widemargin"]


def start(*words, **options):
    """A command as a process of its own, with pipes."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return Forked("-m", "widemargin", *words, text=True, **{**pipes, **options})


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Every test works in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


# Files -------------------------------------------------------------------------------------------

WORDS = {
    "ham": ["meeting", "monday", "report", "team", "lunch"],
    "spam": ["win", "prize", "money", "free", "offer"],
}


def documents(n=60, seed=0, labels=WORDS):
    """Labels and texts, some words of which tell the label."""
    chance = random.Random(seed)
    found = []
    for i in range(n):
        label = list(labels)[i % 2] if i < 2 else chance.choice(list(labels))
        words = [chance.choice(labels[label]) for _ in range(2)]
        words += [chance.choice(["the", "and", "with", "of", "some"]) for _ in range(4)]
        chance.shuffle(words)
        found.append((label, " ".join(words)))
    return found


def vectors(n=60, classes=(-1, 1), seed=0, first=1):
    """Lines of svmlight with noise: some examples are on the wrong side."""
    rng = np.random.default_rng(seed)
    lines = []
    for i in range(n):
        label = classes[i % len(classes)]
        values = rng.normal(size=6) + np.resize([label, 0.0, -label], 6)
        cells = [f"{j + first}:{value:.3f}" for j, value in enumerate(values)]
        lines.append(f"{label} {' '.join(cells)}\n")
    return "".join(lines)


def table(n=60, seed=0):
    """The columns of a table: an identifier, a number, a category, a text and the label."""
    chance = random.Random(seed)
    kinds, sizes = {"ham": "pq", "spam": "qr"}, {"ham": -1.0, "spam": 1.0}
    return [
        {
            "id": f"id{i}",
            "size": round(chance.gauss(sizes[label], 1.0), 3),
            "kind": chance.choice(kinds[label]),
            "text": text,
            "label": label,
        }
        for i, (label, text) in enumerate(documents(n, seed))
    ]


def delimited(rows, between):
    return "".join(
        between.join(map(str, row)) + "\n" for row in [rows[0], *(r.values() for r in rows)]
    )


def content(name, n=60, seed=0):
    """What a file of this name holds."""
    kind = name.removesuffix(".gz").rpartition(".")[2]
    if kind == "svm":
        return vectors(n, seed=seed)
    if kind == "vw":
        rng = np.random.default_rng(seed)
        labels = [(-1, 1)[i % 2] for i in range(n)]
        return "".join(
            f"{label} |n a{rng.integers(9)} b:{rng.normal() + label:.2f}\n" for label in labels
        )
    if kind == "csv":
        return delimited(table(n, seed), ",")
    if kind == "tsv":
        return delimited(table(n, seed), "\t")
    if kind == "jsonl":
        return "".join(json.dumps(row) + "\n" for row in table(n, seed))
    if kind == "ft":
        return "".join(f"__label__{label} {text}\n" for label, text in documents(n, seed))
    assert kind == "txt"
    return "".join(f"{label}\t{text}\n" for label, text in documents(n, seed))


def write(name, n=60, seed=0):
    """Write such a file into the folder of the test."""
    path = pathlib.Path(name)
    if ".parquet" in name:
        import pyarrow as pa
        import pyarrow.parquet

        pyarrow.parquet.write_table(pa.Table.from_pylist(table(n, seed)), path)
    elif name.endswith(".gz"):
        path.write_bytes(gzip.compress(content(name, n, seed).encode()))
    else:
        path.write_text(content(name, n, seed))
    return path


def told(name):
    """What must be told of a file of this kind, and what keeps its model small."""
    if any(kind in name for kind in ("csv", "tsv", "parquet", "jsonl")):
        return ["--drop", "id", "--drop", "text"]
    return [] if ".svm" in name else ["--bits", "10"]


def labels_of(name, n, seed):
    if ".svm" in name or ".vw" in name:
        return [line.split(" ")[0] for line in content(name, n, seed).splitlines()]
    return [label for label, _ in documents(n, seed)]


# Every format ------------------------------------------------------------------------------------

NAMES = ["f.svm", "f.vw", "f.csv", "f.tsv", "f.jsonl", "f.ft", "f.txt"]


@pytest.mark.parametrize("name", [*NAMES, *(f"{name}.gz" for name in NAMES), "f.parquet"])
def test_what_test_says_is_what_scikit_learn_says_of_the_predictions(name):
    write(name)
    new = write(f"new{name[1:]}", n=40, seed=1)
    figures = json.loads(run("train", name, *told(name), "--model", "m.wm", "--json").stdout)
    assert figures["rows"] == 60
    assert figures["classes"] == 2
    measured = json.loads(run("test", "m.wm", new, "--json").stdout)
    found, right = run("predict", "m.wm", new).stdout.split(), labels_of(name, 40, 1)
    assert measured["rows"] == len(found) == 40
    assert measured["accuracy"] == accuracy_score(right, found)
    assert measured["f1"] == pytest.approx(f1_score(right, found, average="macro"), abs=1e-12)
    for figure in ("accuracy", "f1"):
        low, high = measured[f"{figure}_interval"]
        assert 0.0 <= low <= measured[figure] <= high <= 1.0
    assert all(not isinstance(value, dict) for value in measured.values())
    assert measured["accuracy"] > 0.6  # it has learned something


def test_predictions_of_vectors_are_those_of_python():
    write("f.svm", 100)
    run("train", "f.svm", "--model", "m.wm", "--quiet")
    X, _ = widemargin.read("f.svm", dtype=np.float32)
    loaded = widemargin.load("m.wm")
    lines = run("predict", "m.wm", "f.svm").stdout.split()
    assert lines == [str(label) for label in loaded.predict(X)]
    scored = [
        line.split("\t")
        for line in run("predict", "m.wm", "f.svm", "--scores").stdout.split("\n")[:-1]
    ]
    assert [label for label, _ in scored] == lines
    scores = [float(score) for _, score in scored]
    np.testing.assert_allclose(scores, loaded.decision_function(X), rtol=1e-5)


def test_predictions_of_texts_are_those_of_python():
    write("f.txt")
    run("train", "f.txt", "--learner", "logistic", "--bits", "10", "--model", "m.wm", "--quiet")
    texts = [text for _, text in documents()]
    loaded = widemargin.load("m.wm")
    lines = run("predict", "m.wm", "f.txt", "--proba").stdout.splitlines()
    assert [line.split("\t")[0] for line in lines] == loaded.predict(texts).tolist()
    shown = [[float(p) for p in line.split("\t")[1:]] for line in lines]
    np.testing.assert_allclose(shown, loaded.predict_proba(texts), rtol=1e-5)
    np.testing.assert_allclose(np.sum(shown, axis=1), 1.0, rtol=1e-5)
    pathlib.Path("plain.txt").write_text("\n".join(texts) + "\n")
    assert run("predict", "m.wm", "plain.txt").stdout.split() == loaded.predict(texts).tolist()


def test_several_classes_have_a_score_each():
    pathlib.Path("f.svm").write_text(vectors(90, classes=(1, 2, 5)))
    run("train", "f.svm", "--model", "m.wm", "--quiet", "--learner", "logistic")
    for option in ("--scores", "--proba"):
        for line in run("predict", "m.wm", "f.svm", option).stdout.splitlines():
            label, *scores = line.split("\t")
            assert label == ["1", "2", "5"][np.argmax([float(score) for score in scores])]


def test_probabilities_are_refused_where_there_are_none():
    write("f.svm")
    for words in (["--learner", "perceptron"], ["--learner", "logistic", "--keep", "vote"]):
        run("train", "f.svm", *words, "--model", "m.wm", "--quiet")
        done = run("predict", "m.wm", "f.svm", "--proba", code=2)
        assert done.stderr.startswith("widemargin: --proba: m.wm has no probabilities")
        assert done.stdout == ""


@pytest.mark.parametrize("name", ["f.txt", "f.jsonl"])
def test_a_pipe_is_answered_line_by_line(name):
    write(name)
    column = ["--text", "text"] if name == "f.jsonl" else []
    run("train", name, *column, "--bits", "10", "--model", "m.wm", "--quiet")
    process = start("predict", "m.wm")
    for line, answer in [("free prize money, win", "spam"), ("monday, lunch", "ham")]:
        process.stdin.write(f"{line}\n")
        process.stdin.flush()
        assert process.stdout.readline() == f"{answer}\n"  # before the pipe is closed
    assert process.communicate() == ("", "")
    assert process.returncode == 0


def test_who_reads_only_the_first_answers_is_no_error():
    write("f.svm", 1000)
    run("train", "f.svm", "--model", "m.wm", "--quiet")
    pathlib.Path("long.svm").write_text(vectors(1000) * 40)
    process = start("predict", "m.wm", "long.svm")
    assert process.stdout.readline() in ("1\n", "-1\n")
    process.stdout.close()
    assert process.stderr.read() == ""
    process.wait()


# Training ----------------------------------------------------------------------------------------


def weights(model="m.wm"):
    return widemargin.load_model(model).weights


def test_held_out_examples_stop_training_and_measure_the_model():
    write("f.svm", 200)
    write("new.svm", 80, seed=1)
    words = ["--model", "m.wm", "--json", "--epochs", "200"]
    figures = json.loads(run("train", "f.svm", "--valid", "new.svm", *words).stdout)
    assert figures["held_out_rows"] == 80
    assert figures["stopped"] == "no improvement"
    assert figures["epochs"] < 200
    measured = json.loads(run("test", "m.wm", "new.svm", "--json").stdout)
    assert measured["accuracy"] == figures["accuracy"]
    history = widemargin.load_model("m.wm").history
    assert figures["accuracy"] == max(history["held_out"])
    run("train", "f.svm", "--valid", "0.1", *words)
    history = widemargin.load_model("m.wm").history
    scores = history["held_out"] * 20  # a tenth of 200 examples
    np.testing.assert_allclose(scores, np.rint(scores))
    assert history["examples"][0] == 180


def test_columns_are_called_by_name_or_number():
    write("f.csv")
    run("train", "f.csv", "--text", "text", "--ngrams", "2", "--bits", "10", "--model", "a.wm")
    run(
        "train",
        "f.csv",
        "--text",
        "4",
        "--label",
        "-1",
        "--ngrams",
        "2",
        "--bits",
        "10",
        "--model",
        "b.wm",
    )
    np.testing.assert_array_equal(weights("a.wm"), weights("b.wm"))
    reasons = run("explain", "a.wm", "f.csv", "--row", "7", "--top", "99").stdout
    words = table()[6]["text"].split()
    pairs = {f"{first} {second}" for first, second in itertools.pairwise(words)}
    # A ~ marks a name that shares its column with others.
    named = {line.rsplit(maxsplit=3)[0].lstrip("~") for line in reasons.splitlines()[4:]}
    assert named <= {*words, *pairs, "(bias)"}
    assert named & pairs
    assert reasons.startswith("f.csv:8\nlabel: ")
    run("train", "f.csv", "--drop", "id", "--drop", "4", "--label", "5", "--model", "a.wm")
    run(
        "train", "f.csv", "--column", "size", "--column", "3", "--label", "label", "--model", "b.wm"
    )
    np.testing.assert_array_equal(weights("a.wm"), weights("b.wm"))
    names = {"size", "kind=p", "kind=q", "kind=r"}
    model = widemargin.load_model("a.wm")
    assert {model.feature_name(j) for j in range(model.state.width)} == names


def test_a_table_without_names_of_columns():
    lines = [f"{row['size']}\t{row['text']}\t{row['label']}\n" for row in table()]
    pathlib.Path("f.tsv").write_text("".join(lines))
    run("train", "f.tsv", "--text", "2", "--bits", "10", "--model", "m.wm", "--quiet")
    assert json.loads(run("test", "m.wm", "f.tsv", "--json").stdout)["accuracy"] == 1.0


def test_a_tsv_file_of_labels_and_documents_is_labelled_text():
    write("f.txt")
    os.rename("f.txt", "f.tsv")
    run("train", "f.tsv", "--bits", "10", "--model", "m.wm", "--quiet")
    model = widemargin.load_model("m.wm")
    assert model.classes.tolist() == ["ham", "spam"]
    assert model.encoder.kind == "text"
    measured = json.loads(run("test", "m.wm", "f.tsv", "--json").stdout)
    assert measured["accuracy"] == 1.0
    # With names of columns, or when one is asked for, it is a table.
    pathlib.Path("g.tsv").write_text("label\ttext\n" + pathlib.Path("f.tsv").read_text())
    for words in (["g.tsv", "--text", "text"], ["f.tsv", "--text", "2", "--label", "1"]):
        run("train", *words, "--bits", "10", "--model", "m.wm", "--quiet")
        assert widemargin.load_model("m.wm").encoder.kind == "table"
        assert json.loads(run("test", "m.wm", words[0], "--json").stdout)["accuracy"] == 1.0


def test_numbers_are_scaled_as_asked():
    write("f.csv")
    sizes = np.array([row["size"] for row in table()])
    expected = {
        "none": sizes[0],
        "maxabs": sizes[0] / np.abs(sizes).max(),
        "standard": (sizes[0] - sizes.mean()) / sizes.std(),
    }
    for scale, value in expected.items():
        run("train", "f.csv", "--column", "size", "--scale", scale, "--model", "m.wm", "--quiet")
        reasons = run("explain", "m.wm", "f.csv").stdout
        shown = re.search(r"^size +(\S+)", reasons, re.M)[1]
        assert float(shown) == pytest.approx(value, rel=1e-3)


def test_bad_lines_are_skipped_if_asked_and_counted():
    lines = vectors().splitlines(keepends=True)
    pathlib.Path("bad.svm").write_text("".join([*lines[:10], "1 x:y\n", *lines[10:], "1 3:\n"]))
    pathlib.Path("good.svm").write_text("".join(lines))
    run("train", "good.svm", "--model", "good.wm", "--quiet")
    assert "bad.svm:11:" in run("train", "bad.svm", code=1).stderr
    assert run("train", "bad.svm", "--skip-bad", "1", code=1).stderr.count("\n") == 1
    done = run("train", "bad.svm", "--skip-bad", "2", "--model", "bad.wm", "--json")
    assert json.loads(done.stdout)["skipped_lines"] == 2
    np.testing.assert_array_equal(weights("good.wm"), weights("bad.wm"))


def test_the_first_index_is_as_told_or_as_found():
    pathlib.Path("zero.svm").write_text(vectors(first=0))
    pathlib.Path("one.svm").write_text(vectors())
    run("train", "zero.svm", "--model", "zero.wm", "--quiet")
    run("train", "one.svm", "--model", "one.wm", "--quiet")
    np.testing.assert_array_equal(weights("zero.wm"), weights("one.wm"))
    run("train", "one.svm", "--zero-based", "--model", "wide.wm", "--quiet")
    np.testing.assert_array_equal(weights("wide.wm")[:, 1:], weights("one.wm"))
    assert "found index 0" in run("train", "zero.svm", "--one-based", code=1).stderr


def test_several_files_and_patterns_are_one_set():
    lines = vectors(90).splitlines(keepends=True)
    for i in range(3):
        pathlib.Path(f"part{i}.svm").write_text("".join(lines[30 * i : 30 * i + 30]))
    pathlib.Path("whole.svm").write_text("".join(lines))
    found = []
    for files in (["whole.svm"], ["part0.svm", "part1.svm", "part2.svm"], ["part?.svm"]):
        run("train", *files, "--model", "m.wm", "--quiet")
        found.append(weights())
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_a_pipe_is_learned_from_once():
    write("f.svm", 200)
    text = pathlib.Path("f.svm").read_text()
    process = start("train", "-", "--model", "pipe.wm", "--json", "--shuffle", "no")
    figures = json.loads(process.communicate(text)[0])
    assert (figures["rows"], figures["epochs"]) == (200, 1)
    run("train", "f.svm", "--epochs", "1", "--shuffle", "no", "--model", "file.wm", "--quiet")
    np.testing.assert_array_equal(weights("pipe.wm"), weights("file.wm"))
    process = start("train", "-", "--epochs", "3")
    out, err = process.communicate(text)
    assert (process.returncode, out) == (2, "")
    assert err.startswith("widemargin: a pipe can be read only once")


def test_files_can_be_read_anew_in_every_epoch():
    write("f.svm", 300)
    figures = []
    for i, words in enumerate((["--memory", "1B"], ["--stream", "--memory", "1KB"], [])):
        words = ["--epochs", "4", "--shuffle", "no", "--no-holdout", *words]
        done = run("train", "f.svm", *words, "--model", f"{i}.wm", "--json")
        figures.append(json.loads(done.stdout)["mistakes"])
        np.testing.assert_array_equal(weights("0.wm"), weights(f"{i}.wm"))
    assert len(set(figures)) == 1


def test_a_cache_is_used_until_its_file_changes():
    write("f.svm", 100)
    run("train", "f.svm", "--model", "a.wm", "--quiet")
    run("train", "f.svm", "--cache", "--model", "b.wm", "--quiet")
    made = os.stat("f.svm.wmc").st_mtime_ns
    run("train", "f.svm", "--cache", "--model", "c.wm", "--quiet")
    assert os.stat("f.svm.wmc").st_mtime_ns == made
    np.testing.assert_array_equal(weights("a.wm"), weights("b.wm"))
    np.testing.assert_array_equal(weights("a.wm"), weights("c.wm"))
    # What is in the file does not count while its size and time are the same: the cache is read.
    before = os.stat("f.svm")
    pathlib.Path("f.svm").write_text("#" * (before.st_size - 1) + "\n")
    os.utime("f.svm", ns=(before.st_atime_ns, before.st_mtime_ns))
    run("train", "f.svm", "--cache", "--model", "d.wm", "--quiet")
    np.testing.assert_array_equal(weights("a.wm"), weights("d.wm"))
    write("f.svm", 100, seed=7)
    run("train", "f.svm", "--cache", "--model", "e.wm", "--quiet")
    run("train", "f.svm", "--model", "f.wm", "--quiet")
    np.testing.assert_array_equal(weights("e.wm"), weights("f.wm"))
    assert not np.array_equal(weights("a.wm"), weights("e.wm"))
    # Nor is a cache used that was made in another way.
    run("train", "f.svm", "--cache", "--zero-based", "--model", "g.wm", "--quiet")
    assert weights("g.wm").shape[1] == weights("f.wm").shape[1] + 1


# Converting, going on, looking inside ------------------------------------------------------------


def test_convert_in_its_three_directions():
    write("f.svm", 100)
    run("train", "f.svm", "--model", "m.wm", "--quiet")
    assert run("convert", "m.wm", "m.liblinear").stdout == "m.liblinear: a LIBLINEAR model\n"
    assert pathlib.Path("m.liblinear").read_text().startswith("solver_type ")
    assert run("convert", "m.liblinear", "back.wm").stdout == "back.wm: a widemargin model\n"
    predicted = run("predict", "m.wm", "f.svm").stdout
    assert run("predict", "back.wm", "f.svm").stdout == predicted
    assert "100 examples, 6 features" in run("convert", "f.svm", "f.wmc").stdout
    os.unlink("f.svm")
    run("train", "f.wmc", "--model", "cached.wm", "--quiet")
    np.testing.assert_array_equal(weights("cached.wm"), weights("m.wm"))


@pytest.mark.parametrize("learner", ["perceptron", "pa", "logistic"])
def test_update_goes_on_as_python_does(learner):
    write("f.svm", 100)
    write("new.svm", 50, seed=1)
    words = ["--learner", learner, "--double", "--shuffle", "no", "--epochs", "3"]
    run("train", "f.svm", *words, "--model", "m.wm", "--quiet")
    done = run("update", "m.wm", "new.svm", "--model", "more.wm", "--json")
    assert json.loads(done.stdout)["rows"] == 50
    ours = widemargin.load("m.wm")
    ours.partial_fit(*widemargin.read("new.svm"))
    np.testing.assert_array_equal(weights("more.wm"), ours.model_.weights)
    before = pathlib.Path("m.wm").read_bytes()
    run("update", "m.wm", "new.svm", "--quiet")  # in its place
    assert pathlib.Path("m.wm").read_bytes() != before
    np.testing.assert_array_equal(weights("m.wm"), weights("more.wm"))


def test_update_learns_new_labels_and_features():
    write("f.svm", 100)
    run("train", "f.svm", "--keep", "last", "--model", "m.wm", "--quiet")
    pathlib.Path("new.svm").write_text("7 40:1 41:1\n" * 20 + vectors(20))
    done = run("update", "m.wm", "new.svm", "--epochs", "3")
    assert "learned from 40 more rows" in done.stdout
    assert done.stdout.endswith("\n1 new class: 7\n")
    assert run("predict", "m.wm", "new.svm").stdout.split()[:20] == ["7"] * 20
    assert widemargin.load_model("m.wm").classes.tolist() == [-1, 1, 7]
    pathlib.Path("new.svm").write_text("0 40:1 41:1\n-8 40:1\n")  # not the last of all in order
    assert run("update", "m.wm", "new.svm").stdout.endswith("\n2 new classes: -8, 0\n")
    write("f.ft")
    run("train", "f.ft", "--keep", "last", "--bits", "10", "--model", "t.wm", "--quiet")
    pathlib.Path("new.ft").write_text("__label__news the election results\n" * 5)
    run("update", "t.wm", "new.ft", "--epochs", "5", "--quiet")
    assert run("predict", "t.wm", "new.ft").stdout.split() == ["news"] * 5


def test_inspect_says_what_a_model_is():
    write("f.txt")
    run("train", "f.txt", "--ngrams", "1-2", "--model", "m.wm", "--bits", "12", "--quiet")
    said = run("inspect", "m.wm", "--top", "5").stdout
    assert said.startswith("m.wm: LinearSVM, squared_hinge rule, last kept\n2 classes: ham, spam\n")
    assert "4,096 features, hashed from texts (word, 1- to 2-grams)" in said
    assert "nan" not in said
    best = re.search(r"^spam +(.*)$", said, re.M)[1]
    assert len(best.split(", ")) == 5
    assert any(word in best for word in WORDS["spam"])
    run("train", "f.txt", "--valid", "0.2", "--model", "v.wm", "--bits", "12", "--quiet")
    said, history = run("inspect", "v.wm").stdout, widemargin.load_model("v.wm").history
    assert f"\nheld-out score after epoch {len(history)}: {history['held_out'][-1]:.4f}\n" in said
    assert "nan" not in said
    figures = json.loads(run("inspect", "m.wm", "--top", "5", "--json").stdout)
    assert figures["classes"] == ["ham", "spam"]
    assert figures["features"] == 4096
    assert figures["encoder"]["kind"] == "text"
    model = widemargin.load_model("m.wm")
    assert figures["intercept"] == model.intercept.tolist()
    expected = {label: [list(pair) for pair in top] for label, top in model.top_features(5).items()}
    assert figures["top_features"] == expected
    assert len(figures["history"]["epochs"]) == len(model.history)


@pytest.mark.parametrize("name", ["f.txt", "f.vw", "f.svm", "f.csv"])
def test_explain_names_what_decided_for_one_row(name):
    write(name)
    words = ["--ngrams", "1"] if name == "f.txt" else []
    run("train", name, *told(name), *words, "--model", "m.wm", "--quiet")
    said = run("explain", "m.wm", name, "--row", "17", "--top", "99").stdout
    line = 18 if name == "f.csv" else 17
    assert said.startswith(f"{name}:{line}\n")
    _, label, decision, _, *reasons = said.splitlines()
    assert label == f"label: {labels_of(name, 60, 0)[16]}"
    assert decision.split(" ")[0] == run("predict", "m.wm", name).stdout.split()[16]
    score = float(decision.rpartition(" ")[2])
    rows = [reason.rsplit(maxsplit=3) for reason in reasons]
    assert sum(float(share) for *_, share in rows) == pytest.approx(score, abs=2e-3)
    known = {
        "f.txt": set(documents()[16][1].split()),
        "f.vw": {
            "n^b",
            *(f"n^{word}" for word in re.findall(r"a\d", content(name).splitlines()[16])),
        },
        "f.svm": {"1", "2", "3", "4", "5", "6"},
        "f.csv": {"size", f"kind={table()[16]['kind']}"},
    }[name]
    assert {feature for feature, *_ in rows} <= known | {"(bias)"}


def test_completion_for_each_shell():
    for shell in ("bash", "zsh", "fish"):
        assert "_WIDEMARGIN_COMPLETE" in run("completion", shell).stdout


# What goes wrong ---------------------------------------------------------------------------------

BAD = [
    (["train", "missing.svm"], 1, "missing.svm: No such file or directory"),
    (["train", "m.wm"], 1, "m.wm: is a model, not examples"),
    (["train", "missing*.svm"], 1, "missing*.svm: no file matches"),
    (["train", "."], 1, ".: is a folder, not a file"),
    (["train", "empty.svm"], 1, "empty.svm: there are no examples"),
    (["train", "one.svm"], 1, "only one class (1) is present"),
    (["train", "one.svm", "--stream"], 1, "only one class (1) is present"),
    (["train", "nan.svm"], 1, "nan.svm:2:"),
    (["train", "nan.csv"], 1, "nan.csv:"),
    (["train", "words"], 1, "words: cannot tell its format"),
    (["train", "f.svm", "f.txt"], 1, "files of different formats"),
    (["train", "f.csv", "--text", "no"], 1, "f.csv: no column 'no'"),
    (["train", "f.csv", "--label", "no"], 1, "f.csv: no column 'no'"),
    (["train", "f.csv", "--label", "lable"], 1, "f.csv: no column 'lable'; did you mean 'label'?"),
    (["train", "f.csv", "--label", "0"], 1, "f.csv: no column 0, counted from 1 (columns found:"),
    (["train", "f.csv", "--label", "6"], 1, "f.csv: no column 6, counted from 1 (columns found:"),
    (
        ["train", "f.csv", "--delimiter", "::"],
        2,
        "--delimiter '::' must be a tab, a single",
    ),
    (
        ["train", "f.csv", "--delimiter", ";"],
        1,
        "(columns found: 'c1'); is there another delimiter?",
    ),
    (["train", "f.svm", "--delimiter", ";"], 2, "--delimiter ';' has no effect for svmlight files"),
    (["train", "f.csv", "--drop", "9"], 1, "f.csv: no column"),
    (["train", "f.svm", "--format", "jsonl"], 1, "f.svm:1"),
    (["train", "f.svm", "--valid", "missing.svm"], 1, "missing.svm: No such file"),
    (["train", "f.svm", "--model", "no/m.wm"], 1, "no/m.wm: the folder no does not exist"),
    (["train", "f.svm", "--model", "."], 1, "not a regular file"),
    (["train", "f.svm", "--checkpoint", "f.svm"], 1, "f.svm: File exists"),
    (["train", "f.svm", "--checkpoint", "other", "--resume"], 1, "is a model, not a checkpoint"),
    (["train", "f.svm", "--resume"], 2, "--resume needs --checkpoint"),
    (["train", "f.svm", "--memory", "lots"], 2, "--memory lots must be a positive size"),
    (["train", "f.svm", "--valid", "1.5"], 2, "--valid 1.5: expected a file, or a fraction"),
    (["train", "f.svm", "--valid", "0.1", "--stream"], 2, "cannot be split"),
    (["train", "f.svm", "--shuffle", "rows", "--stream"], 2, "shuffled in blocks"),
    (["train", "f.svm", "--epochs", "many"], 2, "'many' is not a number"),
    (["train", "f.svm", "--threads", "0"], 2, "--threads"),
    (["train", "f.svm", "--seed", "-1"], 2, "--seed"),
    (["train", "f.svm", "--checkpoint-every", "-1"], 2, "--checkpoint-every"),
    (["train", "f.svm", "--skip-bad", "-1"], 2, "--skip-bad"),
    (["train", "f.svm", "--text", "x"], 2, "--text has no effect for svmlight files"),
    (["train", "f.svm", "--ngrams", "2"], 2, "--ngrams has no effect for svmlight files"),
    (["train", "f.csv", "--ngrams", "2"], 2, "--ngrams has no effect for csv files without --text"),
    (["train", "f.txt", "--zero-based"], 2, "--zero-based has no effect for labelled-text files"),
    (["train", "f.txt", "--ngrams", "two"], 2, "--ngrams two: expected a number"),
    (["train", "f.txt", "--ngrams", "0"], 2, "--ngrams 0 must be"),
    (["train", "f.txt", "--ngrams", "3-1"], 2, "ngrams=(3, 1) must be"),
    (["train", "f.txt", "--bits", "99"], 2, "--bits"),
    (["train", "f.svm", "--no-such-option"], 2, "No such option"),
    (["predict", "m.wm", "f.svm", "--proba"], 2, "--proba: m.wm has no probabilities"),
    (["predict", "missing.wm", "f.svm"], 1, "missing.wm: No such file or directory"),
    (["predict", "f.txt", "f.svm"], 1, "f.txt: not a widemargin model"),
    (["predict", "cut.wm", "f.svm"], 1, "cut.wm: not a widemargin model, or cut short"),
    (["predict", "altered.wm", "f.svm"], 1, "altered.wm: "),
    (["predict", "m.wm", "f.txt"], 1, "f.txt: is labelled-text, where svmlight is needed"),
    (["predict", "t.wm", "f.csv"], 1, "f.csv: is csv, where"),
    (["test", "m.wm", "empty.svm"], 1, "empty.svm: there are no examples"),
    (["test", "m.wm"], 2, "Missing argument 'FILES...'"),
    (["test", "t.wm", "words"], 1, "words: has no labels to test against"),
    (["test", "w.wm", "bare.vw"], 1, "bare.vw:2: has no label to test against"),
    (["test", "c.wm", "less.csv"], 1, "less.csv: no column"),
    (["update", "m.wm", "f.txt"], 1, "f.txt: is labelled-text, where svmlight is needed"),
    (["update", "m.wm", "strings.svm"], 1, "strings.svm:1"),
    (["explain", "m.wm", "f.svm", "--row", "61"], 1, "has 60 rows, so there is no row 61"),
    (["explain", "m.wm", "f.svm", "--row", "0"], 2, "--row"),
    (["inspect", "m.wm", "--top", "-1"], 2, "--top"),
    (["convert", "t.wm", "t.liblinear"], 1, "LIBLINEAR"),
    (["convert", "cut.wm", "new.wm"], 1, "cut.wm: not a widemargin model"),
    (["completion", "csh"], 2, "'csh' is not one of"),
    (["fly"], 2, "No such command 'fly'"),
]


def test_bad_commands_end_with_one_line_and_leave_models_alone():
    for name in ("f.svm", "f.csv", "f.txt", "f.vw"):
        write(name)
    files = {
        "empty.svm": "",
        "one.svm": "1 1:2\n1 1:3\n",
        "nan.svm": "1 1:1\n-1 1:nan\n",
        "nan.csv": "a,label\n" + "1,x\n2,y\n" * 20 + "inf,x\n",
        "words": "only words\nmore of them\n",
        "bare.vw": "1 |n a\n|n b\n",
        "less.csv": "size,label\n1,ham\n",
        "strings.svm": "x 1:1\n",
    }
    for name, text in files.items():
        pathlib.Path(name).write_text(text)
    models = {"m.wm": "f.svm", "t.wm": "f.txt", "w.wm": "f.vw", "c.wm": "f.csv"}
    for model, name in models.items():
        run("train", name, *told(name), "--model", model, "--quiet")
    whole = pathlib.Path("m.wm").read_bytes()
    pathlib.Path("cut.wm").write_bytes(whole[:100])
    pathlib.Path("altered.wm").write_bytes(whole[:-40] + b"?" + whole[-39:])
    os.mkdir("other")
    pathlib.Path("other/checkpoint.wm").write_bytes(whole)
    before = {path: path.read_bytes() for path in pathlib.Path().rglob("*") if path.is_file()}
    wrong = []
    for words, code, message in BAD:
        done = CliRunner().invoke(main, words)
        fits = done.stderr.startswith("widemargin: ") and message in done.stderr
        if (done.exit_code, done.stdout, done.stderr.count("\n"), fits) != (code, "", 1, True):
            wrong.append((words, done.exit_code, done.output, done.exception))
    assert not wrong
    assert {path: path.read_bytes() for path in before} == before
    assert set(pathlib.Path().rglob("*.wm")) == {path for path in before if path.suffix == ".wm"}


def test_labels_that_are_unknown_are_mistakes_and_features_that_are_do_not_count():
    write("f.svm")
    run("train", "f.svm", "--model", "m.wm", "--quiet")
    pathlib.Path("new.svm").write_text(vectors(20) + "7 1:1\n" * 5)
    measured = json.loads(run("test", "m.wm", "new.svm", "--json").stdout)
    assert (measured["rows"], measured["unknown_labels"]) == (25, 5)
    known = pathlib.Path("known.svm")
    known.write_text(vectors(20))
    right = json.loads(run("test", "m.wm", known, "--json").stdout)["accuracy"] * 20
    assert measured["accuracy"] == pytest.approx(right / 25)
    assert measured["unknown_label_rows"] == {"7": 5}
    told = run("test", "m.wm", "new.svm").stdout
    assert "does not know, counted as mistakes: 5\nthese labels: 7 (5)\n" in told
    wide = pathlib.Path("wide.svm")
    wide.write_text("".join(line + " 999:5\n" for line in vectors(20).splitlines()))
    assert run("predict", "m.wm", wide).stdout == run("predict", "m.wm", known).stdout


@pytest.mark.parametrize("command", [["test"], ["test", "--json"], ["report", "-o", "r.html"]])
def test_a_file_in_which_the_model_knows_no_label_is_an_error(command):
    pathlib.Path("f.csv").write_text("x,y\n" + "1,<=50K\n2,>50K\n" * 5)
    pathlib.Path("dots.csv").write_text("x,y\n" + "1,<=50K.\n2,<=50K.\n3,>50K.\n")
    run("train", "f.csv", "--model", "m.wm", "--quiet")
    told = run(command[0], "m.wm", "dots.csv", *command[1:], code=1)
    assert (told.stdout, told.stderr) == (
        "",
        "widemargin: dots.csv: the model knows none of the labels: found '<=50K.', '>50K.', but its"
        " classes are '<=50K', '>50K'\n",
    )
    many = "".join(f"1,c{i}\n" for i in range(7))
    pathlib.Path("many.csv").write_text("x,y\n" + many)
    told = run(command[0], "m.wm", "many.csv", *command[1:], code=1).stderr
    assert "found 'c0', 'c1', 'c2', 'c3', 'c4', ... (7 in all), but its" in told


def test_counts_that_people_read_have_thousands_separators():
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 2, 4000), rng.normal(size=4000)
    lines = [f"{y},{x:.3f}\n" for y, x in zip(*cells, strict=True)]
    pathlib.Path("many.csv").write_text("label,x\n" + "".join(lines))
    sentences = "1\ta\tX\n2\tb\tY\n\n" * 1500
    pathlib.Path("many.conll").write_text(sentences)
    tagger = ["--learner", "tagger", "--column", "3", "--epochs", "1", "--model", "t.wm"]
    for words in (
        ["train", "many.csv", "--model", "m.wm", "--epochs", "3"],
        ["train", "many.csv", "--model", "s.wm", "--learner", "svm"],
        ["train", "many.csv", "--model", "r.wm", "--epochs", "2", "--stream"],
        ["train", "many.csv", "--model", "v.wm", "--valid", "0.4", "--threshold", "f1"],
        ["test", "m.wm", "many.csv"],
        ["inspect", "m.wm"],
        ["train", "many.conll", *tagger],
        ["test", "t.wm", "many.conll"],
    ):
        said = run(*words)
        told = re.sub(r"seed \d+|[\d.,]+ s\b", "", said.stdout + said.stderr)
        assert re.findall(r"(?<![\d.,e+-])[0-9]{4,}(?![\d.])", told) == []
        assert re.search(r"[0-9],[0-9]{3}\b", told)


# Interruptions -----------------------------------------------------------------------------------


def crowd(name, rows, seed=0):
    """A larger file that no hyperplane separates, so that training goes on to its last epoch."""
    rng = np.random.default_rng(seed)
    columns = np.sort(rng.integers(1, 2000, (rows, 24)), axis=1)
    labels = np.where(rng.random(rows) < 0.2, -1, 1) * np.where(columns[:, 0] % 2, 1, -1)
    values = rng.integers(1, 99, columns.shape)
    with open(name, "w") as file:
        for label, js, xs in zip(labels, columns, values, strict=True):
            cells = dict(zip(js.tolist(), xs.tolist(), strict=True))
            file.write(f"{label} " + " ".join(f"{j}:0.{x:02}" for j, x in cells.items()) + "\n")
        file.write("1 1:1\n-1 1:1\n" * 20)  # for few rows in many columns, noise is not enough


def wait_for(path, process):
    """Wait until a file is there; its process must not end before."""
    while not os.path.exists(path):
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)


def everything(model):
    """All that a model file says, except for seconds."""
    arrays, about = read_model_file(model)
    for epoch in about["history"]["epochs"]:
        epoch[Epoch._fields.index("seconds")] = None
    return {name: (a.dtype, a.shape, a.tobytes()) for name, a in arrays.items()}, about


def test_ctrl_c_saves_what_was_learned_so_far():
    crowd("f.svm", 1960)
    words = ["--epochs", "100000000", "--checkpoint", "points", "--checkpoint-every", "0.01"]
    process = start("train", "f.svm", "--model", "m.wm", *words)
    wait_for("points/checkpoint.wm", process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "stopped: interrupted" in out
    assert err == ""
    assert len(run("predict", "m.wm", "f.svm").stdout.split()) == 2000


WAYS = {
    "in memory": ["--epochs", "20"],
    "from files": ["--stream", "--memory", "3MB", "--epochs", "2"],
    "vote": ["--keep", "vote", "--epochs", "12"],
}


def test_a_training_that_was_killed_goes_on_as_if_it_had_not_been():
    crowd("f.svm", 30_000)
    assert os.stat("f.svm").st_size > 1 << 22  # more than one window
    chance, kills = random.Random(0), 0
    for number, way in enumerate(WAYS.values()):
        way = (*way, "--no-holdout")  # thousands of hypotheses would vote on what is held out
        alone, killed, points = f"alone{number}.wm", f"killed{number}.wm", f"points{number}"
        run("train", "f.svm", "--model", alone, "--quiet", *way)
        command = ["train", "f.svm", "--model", killed, "--quiet", *way]
        command += ["--checkpoint", points, "--checkpoint-every", "0.01", "--resume"]
        reached = []
        for _ in range(2):
            process = start(*command)
            while not os.path.exists(f"{points}/checkpoint.wm") and process.poll() is None:
                time.sleep(0.002)
            time.sleep(chance.uniform(0.0, 0.1 if reached else 0.02))
            process.kill()
            process.communicate()
            if os.path.exists(killed):
                break  # it was done before
            point = widemargin.load_model(f"{points}/checkpoint.wm")  # a model like any other
            assert set(point.predict(np.ones((5, point.state.width)))) <= {-1, 1}
            reached.append(point.state.seen)
        assert reached == sorted(reached)
        kills += len(reached)
        run(*command)
        assert everything(alone) == everything(killed)
        assert not os.path.exists(f"{points}/checkpoint.wm")
    assert kills > 0


def test_a_full_disk_leaves_the_old_model_whole():
    write("f.svm")
    write("f.txt")
    run("train", "f.svm", "--model", "m.wm", "--quiet")
    before = pathlib.Path("m.wm").read_bytes()

    def small():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 9, 1 << 9))

    process = start(
        "train", "f.txt", "--model", "m.wm", "--quiet", "--bits", "18", preexec_fn=small
    )
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (1, "")
    assert err == "widemargin: m.wm: File too large\n"
    assert pathlib.Path("m.wm").read_bytes() == before
    assert {path.name for path in pathlib.Path().iterdir()} == {"f.svm", "f.txt", "m.wm"}


# The help ----------------------------------------------------------------------------------------


def examples():
    """The examples of all help texts, as they stand."""
    found = []
    for name in ("", *main.commands):
        told = run(*name.split(), "--help").stdout
        block = re.search(r"Examples?:\n(.*?)(\n\n|$)", told, re.S)
        for line in block[1].splitlines() if block else ():
            found.append(re.split(r" {3,}", line.strip())[0])
    return found


def run_line(line):
    """Run a line of a shell: commands joined by &&, a pipe into each, and a file behind it."""
    for command in line.split(" && "):
        line = r"(?:(.+) \| )?widemargin (.+?)(?: < (\S+))?(?: (>>?) (\S+))?"
        before, words, source, sign, target = re.fullmatch(line, command).groups()
        before = f"cat {source}" if source else before
        text = before and subprocess.run(["bash", "-c", before], capture_output=True, text=True)
        text = text and text.stdout
        done = run_forked("-m", "widemargin", *shlex.split(words), input=text)
        assert (done.returncode, done.stderr) == (0, ""), command
        if target:
            with open(os.path.expanduser(target), "a" if sign == ">>" else "w") as file:
                file.write(done.stdout)


def test_every_example_of_the_help_runs(folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder))
    for name in ("a9a.svm", "new.svm", "today.svm", "train.svm", "logs.svm.gz"):
        write(name)
    os.rename(write("t.svm"), "a9a.t")
    for name in ("spam.txt", "new.txt"):
        os.rename(write(name), name.replace("txt", "tsv"))
    reviews = content("reviews.jsonl").encode()
    for name in ("reviews", "test"):
        pathlib.Path(f"{name}.jsonl").write_bytes(reviews)
        pathlib.Path(f"{name}.jsonl.xz").write_bytes(lzma.compress(reviews))
    rows = "".join(f"{i % 7},{'yes' if i % 7 > 4 else 'no'}\n" for i in range(100))
    pathlib.Path("clicks.vw").write_text("1 | price:2 red\n-1 | price:1 blue\n" * 5)
    run("train", "clicks.vw", "--model", "clicks.wm", "--quiet")
    pathlib.Path("fraud.csv").write_text(f"amount,fraud\n{rows}")
    for name in ("train", "dev", "test", "new"):
        pathlib.Path(f"{name}.conllu").write_text(treebank(), encoding="utf-8")
    found = examples()
    assert len(found) >= 15
    # Of the commands that ask a model, each needs one of its own kind.
    run("train", "a9a.svm", "--model", "vectors.wm", "--quiet")
    run("train", "reviews.jsonl", "--text", "text", "--bits", "12", "--model", "texts.wm")
    pathlib.Path("letters.txt").write_text("The dog sees a cat. A cat sleeps.\n")
    run("train", "train.conllu", "--learner", "tokenizer", "--epochs", "1", "--model", "words.wm")
    small = widemargin.Annotator(jackknife=0, tagger=widemargin.Tagger(bits=10), random_state=0)
    small.fit("train.conllu").save("annotator.wm")
    for learner in ("tagger", "parser"):
        told = ["--learner", learner, "--epochs", "2", "--bits", "12", "--model", f"{learner}.wm"]
        run("train", "train.conllu", *told, *(["--column", "upos"] if learner == "tagger" else []))
    in_pipes = []
    for example in found:
        program, command, *words = shlex.split(example)
        if command in ("lab", "serve") or program == "curl":
            # They run until Ctrl-C: here they are only parsed, and tests/web has the rest.
            assert program == "curl" or main.commands[command].make_context(command, words)
            continue
        if " train" not in example or "train.svm" in example:
            kind = "vectors" if ".svm" in example or "liblinear" in example else "texts"
            shutil.copy(f"{kind}.wm", "m.wm")
            shutil.copy("annotator.wm" if " parse " in example else "tagger.wm", "en.wm")
            shutil.copy("parser.wm", "trees.wm")
        if re.search("[|&>]", example):
            run_line(example)
            in_pipes.append(example)
        else:
            run(*shlex.split(example)[1:])
    # The last of them also in a real shell.
    program = f'widemargin() {{ {shlex.join(PROGRAM)} "$@"; }}; set -e; {in_pipes[-1]}'
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), in_pipes[-1]


# Files that must not be lost, files that are sorted ----------------------------------------------


def test_a_file_that_is_no_model_is_not_overwritten(folder):
    write("f.svm")
    notes = folder / "notes.txt"
    for target in (notes, folder / "f.svm"):
        before = target.read_bytes() if target.exists() else notes.write_text("mine") and b"mine"
        told = run("train", "f.svm", "--model", target, code=2).stderr
        assert "is not a widemargin model and would be overwritten" in told
        assert target.read_bytes() == before
    run("train", "f.svm", "--model", notes, "--force", "--quiet")
    run("train", "f.svm", "--model", notes, "--quiet")  # a model may be replaced
    (folder / "other.txt").write_text("mine")
    assert "--force" in run("update", notes, "f.svm", "--model", "other.txt", code=2).stderr
    run("update", notes, "f.svm", "--model", "other.txt", "--force", "--quiet")
    (folder / "empty.wm").touch()  # as made by mktemp
    run("train", "f.svm", "--model", "empty.wm", "--quiet")


def sorted_vectors(n, different=2000):
    """Lines of svmlight, all of one class before all of the other; few of them differ."""
    rng = np.random.default_rng(0)
    found = ""
    for label in (-1, 1):
        X = rng.normal(size=(different // 2, 3)) + label * np.array([0.5, 0.25, 0.0])
        lines = "".join(f"{label} 1:{a:.3f} 2:{b:.3f} 3:{c:.3f}\n" for a, b, c in X)
        found += lines * (n // different)
    return found


def test_a_sorted_file_that_does_not_fit_in_memory_is_learned_as_well_as_one_that_does(folder):
    (folder / "f.svm").write_text(sorted_vectors(20_000))
    scores = {}
    for memory in ("100MB", "600kB"):
        run("train", "f.svm", "--epochs", "2", "--memory", memory, "--model", "m.wm", "--quiet")
        scores[memory] = json.loads(run("test", "m.wm", "f.svm", "--json").stdout)["accuracy"]
    assert scores["600kB"] > scores["100MB"] - 0.02


def test_rows_of_a_sorted_pipe_are_all_counted_and_warned_of(folder):
    process = start("train", "-", "--memory", "200kB", "--model", "m.wm")
    out, err = process.communicate(sorted_vectors(300_000), timeout=120)
    assert process.returncode == 0, err
    assert re.search(r"warning: [\d,]+ consecutive rows had the label -?1", err)
    assert "<stdin>: 300,000 rows" in out
    assert "accuracy before learning" not in out  # it would be that of a guess


def test_a_pipe_is_tested_before_it_is_learned_from(folder):
    process = start("train", "-", "--json", "--model", "m.wm")
    out, err = process.communicate(content("f.svm"), timeout=60)
    assert process.returncode == 0, err
    figures = json.loads(out)
    expected = 1 - figures["mistakes"] / figures["rows"]
    assert figures["progressive_accuracy"] == pytest.approx(expected)
    low, high = figures["progressive_accuracy_interval"]
    assert low < expected < high
