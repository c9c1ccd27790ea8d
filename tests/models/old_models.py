"""Model files of older formats, with the answers that the version gave that wrote them.

`old/` holds those of widemargin 0.1 (format 1), `old/2` and `old/3` those of formats 2 and 3. Run
by a Python that has such a version installed, this file makes them anew:

    python tests/models/old_models.py [FOLDER]
"""

import contextlib
import json
import pathlib
import sys
import tempfile

import numpy as np
from click.testing import CliRunner

import widemargin
from widemargin.cli.main import main
from widemargin.structured import StructuredPerceptron, Tagger
from widemargin.structured.tasks import Tagging

OLD = pathlib.Path(__file__).parent / "old"
#: Where the files of each format are.
FOLDERS = {1: OLD, 2: OLD / "2", 3: OLD / "3"}
X = np.random.default_rng(0).integers(-3, 4, (12, 3)).astype(float)
COLOURS = np.array(["red", "green", "blue"])[np.arange(12) % 3]
TEXTS = ["good film", "bad film", "a good good day", "a bad bad day", "day of the film"]
MOODS = ["+", "-", "+", "-", "+"]
SENTENCES = [["the", "dog", "barks"], ["dogs", "bark"], ["the", "cat", "sleeps"]]
TAGS = [["Det", "Noun", "Verb"], ["Noun", "Verb"], ["Det", "Noun", "Verb"]]
TREES = {
    "word": SENTENCES,
    "upos": TAGS,
    "head": [["2", "3", "0"], ["2", "0"], ["2", "3", "0"]],
    "deprel": [["det", "nsubj", "root"], ["nsubj", "root"], ["det", "nsubj", "root"]],
}
KERNEL = {"kernel": "poly", "degree": 2, "gamma": 1.0, "coef0": 1.0}
TABLE = "mood,colour,size\n+,red,1\n-,green,2\n+,red,3\n-,blue,9\n+,blue,2\n"
ROWS = "+1 1:2 3:1\n-1 2:1\n+1 1:1\n-1 2:2 3:1\n"
FILES = {"table.csv": TABLE, "rows.svm": ROWS}


def ask_rows(path):
    return widemargin.load(path).decision_function(X).tolist()


def ask_table(path):
    return [words[0] for words in map(str.split, run("predict", path, "table.csv").splitlines())]


#: By the name of the file: what trains the model, and the question to put to it.
LEARNERS = {
    "perceptron": (lambda: widemargin.Perceptron(random_state=0).fit(X, COLOURS), ask_rows),
    "voted": (
        lambda: widemargin.Perceptron(keep="vote", epochs=2, random_state=0).fit(X, COLOURS),
        ask_rows,
    ),
    "passive_aggressive": (
        lambda: widemargin.PassiveAggressive(random_state=0).fit(X, COLOURS),
        ask_rows,
    ),
    "logistic": (
        lambda: widemargin.OnlineLogistic(random_state=0).fit(X, COLOURS == "red"),
        ask_rows,
    ),
    "svm": (lambda: widemargin.LinearSVM(random_state=0).fit(X, COLOURS), ask_rows),
    "kernel_perceptron": (
        lambda: widemargin.KernelPerceptron(**KERNEL, epochs=3, random_state=0).fit(X, COLOURS),
        ask_rows,
    ),
    "kernel_svm": (lambda: widemargin.KernelSVM(**KERNEL).fit(X, COLOURS), ask_rows),
    "text": (
        lambda: widemargin.TextClassifier(bits=4, random_state=0).fit(TEXTS, MOODS),
        lambda path: widemargin.load(path).decision_function(TEXTS).tolist(),
    ),
    "network": (
        lambda: widemargin.boolean_network([0, 1, 1, 0]),
        lambda path: (
            type(widemargin.boolean_network([0, 1]))
            .load(path)
            .predict([[0, 0], [0, 1], [1, 0], [1, 1]])
            .tolist()
        ),
    ),
    "tagger": (
        lambda: Tagger(bits=6, epochs=2, random_state=0).fit(SENTENCES, TAGS),
        lambda path: widemargin.load(path).predict(SENTENCES),
    ),
    "parser": (
        lambda: widemargin.Parser(bits=8, epochs=2, tags="upos", random_state=0).fit(TREES),
        lambda path: widemargin.load(path).predict(TREES).heads.tolist(),
    ),
    "task": (
        lambda: StructuredPerceptron(Tagging(["Det", "Noun", "Verb"]), epochs=2, shuffle=False).fit(
            SENTENCES, list(map(tuple, TAGS))
        ),
        lambda path: [list(tags) for tags in widemargin.load(path).predict(SENTENCES)],
    ),
    "table": (None, ask_table),
}


def run(*words):
    """What the program prints, run where the files are that it reads."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in FILES.items():
            pathlib.Path(folder, name).write_text(content)
        with contextlib.chdir(folder):
            done = CliRunner().invoke(main, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def make(folder):
    """Train and save one model of every kind, and note what it answers."""
    folder.mkdir(exist_ok=True)
    answers = {}
    for name, (train, ask) in LEARNERS.items():
        path = folder / f"{name}.wm"
        if train is None:
            run("train", "table.csv", "--label", "mood", "--model", path, "--quiet")
        else:
            train().save(path)
        answers[name] = ask(path)
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(told)}" for name, told in answers.items())
    (folder / "answers.json").write_text(f"{{\n{lines}\n}}\n")
    run("convert", "rows.svm", folder / "rows.wmc")


if __name__ == "__main__":
    make(pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else OLD)
