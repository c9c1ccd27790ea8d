"""Fingerprints of the shell program's models and predictions."""

from __future__ import annotations

import json
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from typing import Any

import scipy.sparse as sp

from benchmarks.fingerprints.data import made_chunks, made_texts, made_treebank, wordy
from benchmarks.fingerprints.differences import is_same
from benchmarks.fingerprints.notes import PROGRAM, Notes, Put, put_file, put_history


class Shell:
    """The program in its own folder, with files to learn from."""

    def __init__(self, folder: pathlib.Path, data: pathlib.Path) -> None:
        self.folder, self.data = folder, data

    def run(self, *words: Any, given: bytes | None = None) -> str:
        """Run a command and return its output."""
        done = subprocess.run(
            self.command(*words), input=given, cwd=self.folder, capture_output=True
        )
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip()
            raise RuntimeError(f"widemargin {' '.join(map(str, words))}: {said}")
        return done.stdout.decode()

    def command(self, *words: Any) -> list[str]:
        """The command line of a process; `train` learns from all rows of its files."""
        files = [word for word in words if word == "-" or self.path(str(word)).is_file()]
        whole = words[0] == "train" and files and "--valid" not in words and _holds_out()
        return [*PROGRAM, *map(str, words), *(["--no-holdout"] if whole else [])]

    def path(self, name: str) -> pathlib.Path:
        """The path of a file in the folder."""
        return self.folder / name


@cache
def _holds_out() -> bool:
    """Whether this version holds out a part of the files by default."""
    told = subprocess.run([*PROGRAM, "train", "--help"], capture_output=True, text=True)
    return "--no-holdout" in told.stdout


def write_examples(folder: pathlib.Path, n: int = 1_500) -> None:
    """Write files of all formats: train.* to learn from, new.* to predict."""
    X, y = wordy(n + 300, 2_000, 2, seed=21)
    Z, z = wordy(n + 300, 2_000, 4, seed=22)
    docs, kinds = made_texts(500, 5)
    rng = random.Random(9)
    table = []
    for i in range(500):
        colour, size = rng.choice(["red", "green", "blue"]), rng.gauss(0, 10)
        good = (colour == "red") ^ (size + rng.gauss(0, 3) > 0)
        missing = "" if i % 17 == 0 else f"{size:.3f}"
        table.append(f"{colour},{missing},{rng.randint(0, 5)},{'yes' if good else 'no'}")
    parts = {
        "svm": [_svmlight(X, i, 2 * y[i] - 1) for i in range(n + 300)],
        "many.svm": [_svmlight(Z, i, z[i]) for i in range(n + 300)],
        "vw": [_vw(Z, i, z[i] + 1) for i in range(n + 300)],
        "csv": table,
        "jsonl": [
            json.dumps({"text": text, "label": kind, "id": i})
            for i, (text, kind) in enumerate(zip(docs, kinds, strict=True))
        ],
        "tsv": [f"{kind}\t{text}" for text, kind in zip(docs, kinds, strict=True)],
    }
    for ending, lines in parts.items():
        cut = n if len(lines) > 1_000 else 400
        head = ["colour,size,count,good"] if ending == "csv" else []
        for name, some in (("train", lines[:cut]), ("new", lines[cut:])):
            text = "\n".join([*head, *some]) + "\n"
            (folder / f"{name}.{ending}").write_text(text, encoding="utf-8")
    for name, seed in (("train", 0), ("new", 1)):
        (folder / f"{name}.conllu").write_text(made_treebank(50, seed), encoding="utf-8")
        (folder / f"{name}.conll").write_text(made_chunks(50, seed), encoding="utf-8")


def _cells(X: sp.csr_matrix, i: int) -> Iterator[tuple[int, float]]:
    part = slice(X.indptr[i], X.indptr[i + 1])
    return zip(X.indices[part].tolist(), X.data[part].tolist(), strict=True)


def _svmlight(X: sp.csr_matrix, i: int, label: int) -> str:
    return " ".join([str(label), *(f"{j + 1}:{value:g}" for j, value in _cells(X, i))])


def _vw(X: sp.csr_matrix, i: int, label: int) -> str:
    cells = list(_cells(X, i))
    words = " ".join(f"w{j}:{value:g}" for j, value in cells[:10])
    return f"{label} |a {words} |b {' '.join(f'x{j}' for j, _ in cells[10:])}"


#: Options that name the text and label columns, and the learner of texts, whatever the default is.
TEXTS, WORDS = ("--text", "text", "--label", "label"), ("--learner", "perceptron")
#: Trainings by name: the file, the options, and what to predict besides labels.
TRAININGS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "svmlight": ("train.svm", (), "--scores"),
    "svmlight, double": ("train.svm", ("--double", "--shuffle", "rows"), "--scores"),
    "svmlight, classes": ("train.many.svm", ("--multiclass", "ovr", "--batch", "8"), "--scores"),
    "svmlight, vote": ("train.svm", ("--keep", "vote", "--epochs", "3"), "--scores"),
    "svmlight, pa": ("train.svm", ("--learner", "pa", "--C", "0.1"), "--scores"),
    "svmlight, logistic": ("train.many.svm", ("--learner", "logistic", "--l2", "1e-5"), "--proba"),
    "svmlight, svm": ("train.svm", ("--learner", "svm", "--C", "0.5"), "--scores"),
    "svmlight, valid": ("train.svm", ("--valid", "new.svm", "--patience", "2"), "--scores"),
    "svmlight, part": ("train.svm", ("--valid", "0.2", "--epochs", "6"), "--scores"),
    "svmlight, reads again": ("train.svm", ("--stream", "--epochs", "3"), "--scores"),
    "svmlight, small memory": (
        "train.many.svm",
        ("--memory", "100KB", "--epochs", "3"),
        "--scores",
    ),
    "svmlight, one pass": ("train.svm", ("--epochs", "1", "--shuffle", "no"), "--scores"),
    "svmlight, cache": ("train.svm", ("--cache",), "--scores"),
    "kernel-perceptron": (
        "train.csv",
        ("--learner", "kernel-perceptron", "--kernel", "rbf", "--gamma", "scale", "--budget", "50"),
        "--scores",
    ),
    "kernel-svm": ("train.csv", ("--learner", "kernel-svm", "--C", "3"), "--scores"),
    "csv": ("train.csv", (), "--scores"),
    "csv, columns": ("train.csv", ("--drop", "count", "--scale", "maxabs"), "--scores"),
    "csv, small memory": ("train.csv", ("--memory", "4KB", "--epochs", "3"), "--scores"),
    "jsonl": ("train.jsonl", (*TEXTS, *WORDS, "--ngrams", "2"), "--scores"),
    "jsonl, idf": (
        "train.jsonl",
        (*TEXTS, *WORDS, "--ngrams", "1", "--idf", "--bits", "14"),
        "--scores",
    ),
    "jsonl, small memory": (
        "train.jsonl",
        (*TEXTS, *WORDS, "--ngrams", "1", "--memory", "20KB", "--epochs", "3"),
        "--scores",
    ),
    "labelled text": (
        "train.tsv",
        (*WORDS, "--analyzer", "char_wb", "--ngrams", "2-4"),
        "--scores",
    ),
    "vw": ("train.vw", ("--bits", "14"), "--scores"),
    "vw, small memory": ("train.vw", ("--bits", "14", "--memory", "100KB"), "--scores"),
}
#: The file to predict, by training file.
NEW_FILES = {
    **{"train.svm": "new.svm", "train.many.svm": "new.many.svm", "train.vw": "new.vw"},
    **{"train.csv": "new.csv", "train.jsonl": "new.jsonl", "train.tsv": "new.tsv"},
}


def shell_trainings(notes: Notes, data: pathlib.Path) -> None:
    """Train from files of all formats, in memory and streaming; predict, test, load in Python."""
    with tempfile.TemporaryDirectory() as folder:
        shell = Shell(pathlib.Path(folder), data)
        write_examples(shell.folder)
        for name, (file, options, asked) in TRAININGS.items():
            with notes.case(f"shell/{name}") as put:
                told = shell.run("train", file, *options, "--model", "m.wm", "--json")
                put_json(put, "train", told)
                put_answers(put, shell, "m.wm", NEW_FILES[file], asked)
        with notes.case("shell/svmlight, cache again") as put:
            shell.run("train", "train.svm", "--cache", "--model", "m.wm", "--quiet")
            put_answers(put, shell, "m.wm", "new.svm", "--scores")


def put_json(put: Put, name: str, told: str) -> None:
    """The figures that a command printed as JSON, except for times, paths and reasons."""
    for key, value in json.loads(told).items():
        if key in ("seconds", "model", "stopped"):
            continue
        if isinstance(value, (list, dict)):
            value = json.dumps(value, sort_keys=True)
        put(f"{name}.{key}", value)


def put_answers(put: Put, shell: Shell, model: str, file: str, asked: str) -> None:
    """The predictions of a model of the shell, there and in Python, and its file."""
    import widemargin as wm

    put("scores", shell.run("predict", model, file, asked).splitlines())
    put_json(put, "test", shell.run("test", model, file, "--json"))
    put_file(put, shell.path(model))
    loaded = wm.load(shell.path(model))
    put_history(put, loaded.history_)
    if isinstance(loaded, wm.TextClassifier):
        docs = made_texts(500, 5)[0][400:]
        put("in Python", loaded.decision_function(docs))
    elif file.endswith(".svm"):
        found = wm.load_model(shell.path(model))
        X, _ = wm.read(shell.path(file), n_features=found.width, dtype=found.dtype)
        put("in Python", loaded.decision_function(X))
        put("of the model", found.predict(X))


def shell_going_on(notes: Notes, data: pathlib.Path) -> None:
    """Pipes, updates, checkpoints after kills, conversions, proofs, and sentences."""
    with tempfile.TemporaryDirectory() as folder:
        shell = Shell(pathlib.Path(folder), data)
        write_examples(shell.folder)
        _pipes(notes, shell)
        _updates(notes, shell)
        _kills(notes, shell)
        _conversions(notes, shell)
        _sentence_commands(notes, shell)


def _pipes(notes: Notes, shell: Shell) -> None:
    for file, options in {
        "train.svm": (),
        "train.many.svm": ("--memory", "100KB"),
        "train.vw": ("--format", "vw", "--bits", "14"),
        "train.tsv": ("--format", "labelled-text", *WORDS, "--ngrams", "1", "--bits", "14"),
    }.items():
        with notes.case(f"shell/pipe/{file}") as put:
            content = shell.path(file).read_bytes()
            shell.run("train", "-", *options, "--model", "p.wm", "--quiet", given=content)
            put_answers(put, shell, "p.wm", NEW_FILES[file], "--scores")
    with notes.case("shell/pipe/predict") as put:
        how = (*WORDS, "--ngrams", "1", "--bits", "14")
        shell.run("train", "train.tsv", *how, "--model", "p.wm", "--quiet")
        given = "\n".join(made_texts(40, 6)[0]).encode()
        put("labels", shell.run("predict", "p.wm", given=given).splitlines())


def _updates(notes: Notes, shell: Shell) -> None:
    for file, options in {
        "train.svm": (),
        "train.many.svm": ("--keep", "vote", "--epochs", "2"),
        "train.csv": (),
        "train.jsonl": (*TEXTS, *WORDS, "--ngrams", "1", "--bits", "14"),
    }.items():
        with notes.case(f"shell/update/{file}") as put:
            new = NEW_FILES[file]
            shell.run("train", file, *options, "--model", "u.wm", "--quiet")
            told = shell.run("update", "u.wm", new, "--epochs", "2", "--model", "v.wm", "--json")
            put_json(put, "update", told)
            put_answers(put, shell, "v.wm", new, "--scores")
    with notes.case("shell/update/new classes") as put:
        shell.run("train", "train.svm", "--model", "u.wm", "--quiet")
        shell.run("update", "u.wm", "new.many.svm", "--quiet")
        put_answers(put, shell, "u.wm", "new.many.svm", "--scores")


def _kills(notes: Notes, shell: Shell) -> None:
    """Trainings that are killed and resumed from their checkpoints."""
    for name, (options, how) in {
        "in memory": (("--epochs", "150"), signal.SIGKILL),
        "vote": (("--epochs", "60", "--keep", "vote"), signal.SIGKILL),
        "from files": (("--epochs", "40", "--stream", "--memory", "100KB"), signal.SIGKILL),
        "validation": (
            ("--epochs", "80", "--valid", "new.svm", "--patience", "80"),
            signal.SIGKILL,
        ),
        "Ctrl-C": (("--epochs", "150", "--learner", "pa"), signal.SIGINT),
    }.items():
        with notes.case(f"shell/kill/{name}") as put:
            points = shell.path("points")
            shutil.rmtree(points, ignore_errors=True)
            noisy = _with_noise(shell)
            command = ["train", noisy, *options, "--model", "k.wm", "--quiet"]
            shell.run(*command)
            alone = shell.path("k.wm").rename(shell.path("alone.wm"))
            command += ["--checkpoint", "points", "--checkpoint-every", "0.005", "--resume"]
            _kill_once(shell, command, points / "checkpoint.wm", how)
            shell.run(*command)
            put("same as alone", _same_file(alone, shell.path("k.wm")))
            put_answers(put, shell, "k.wm", "new.svm", "--scores")


def _with_noise(shell: Shell) -> str:
    """Examples of which a tenth are mislabelled, so that no training ends early."""
    rng, lines = random.Random(1), []
    for line in shell.path("train.svm").read_text().splitlines():
        label, rest = line.split(" ", 1)
        lines.append(f"{-int(label) if rng.random() < 0.1 else label} {rest}")
    shell.path("noisy.svm").write_text("\n".join(lines) + "\n")
    return "noisy.svm"


def _kill_once(shell: Shell, command: list[Any], checkpoint: pathlib.Path, how: int) -> None:
    """Start a training and kill it as soon as there is a checkpoint."""
    process = subprocess.Popen(shell.command(*command), cwd=shell.folder, stderr=subprocess.DEVNULL)
    while process.poll() is None and not checkpoint.exists():
        time.sleep(0.002)
    if process.poll() is not None:
        print(f"{' '.join(map(str, command))}: ended before it was killed", file=sys.stderr)
    process.send_signal(how)
    process.wait()


def _same_file(one: pathlib.Path, other: pathlib.Path) -> bool:
    """Whether two model files hold the same tensors."""
    from safetensors.numpy import load_file

    a, b = load_file(one), load_file(other)
    names = (set(a) | set(b)) - {"sha256"}
    return all(n in a and n in b and is_same(a[n], b[n]) for n in names)


def _conversions(notes: Notes, shell: Shell) -> None:
    with notes.case("shell/convert") as put:
        shell.run("train", "train.svm", "--keep", "last", "--model", "c.wm", "--quiet")
        shell.run("convert", "c.wm", "c.liblinear")
        put("liblinear", shell.path("c.liblinear").read_text().splitlines())
        shell.run("convert", "c.liblinear", "d.wm")
        put("back", shell.run("predict", "d.wm", "new.svm", "--scores").splitlines())
        shell.run("convert", "train.svm", "train.wmc")
        shell.run("train", "train.wmc", "--model", "e.wm", "--quiet")
        put("cached", shell.run("predict", "e.wm", "new.svm", "--scores").splitlines())
    with notes.case("shell/certify") as put:
        for name, options in {
            "plain": (),
            "kernel": ("--kernel", "poly", "--degree", "2"),
        }.items():
            shell.path("small.svm").write_text("\n".join(_svm_lines(shell, 120)) + "\n")
            told = json.loads(shell.run("certify", "small.svm", *options, "--verify", "--json"))
            put(name, [f"{key}={told[key]}" for key in ("verdict", "margin", "R") if key in told])


def _svm_lines(shell: Shell, n: int) -> list[str]:
    return shell.path("train.svm").read_text().splitlines()[:n]


def _sentence_commands(notes: Notes, shell: Shell) -> None:
    small = ("--bits", "12", "--epochs", "3", "--model", "s.wm", "--quiet")
    ways = {
        "tagger": ("tag", ("--learner", "tagger", "train.conll"), "new.conll"),
        "tagger of upos": (
            "tag",
            *(("--learner", "tagger", "--column", "upos", "train.conllu"), "new.conllu"),
        ),
        "tagger, valid, committee": (
            "tag",
            *(("--learner", "tagger", "--committee", "2", "train.conll", "--valid", "0.2"),),
            "new.conll",
        ),
        "parser": (
            "parse",
            ("--learner", "parser", "--tags", "upos", "train.conllu"),
            "new.conllu",
        ),
        "parser, eisner": (
            "parse",
            *(("--learner", "parser", "--system", "eisner", "--tags", "gold", "train.conllu"),),
            "new.conllu",
        ),
    }
    for name, (command, options, new) in ways.items():
        with notes.case(f"shell/{name}") as put:
            shell.run("train", *options, *small)
            put("answers", shell.run(command, "s.wm", new).splitlines())
            put_json(put, "test", shell.run("test", "s.wm", new, "--json"))
            put_file(put, shell.path("s.wm"))
