"""An empty file has an empty answer, whatever the model; it cannot be learned from or tested on."""

import os

import pytest
from forked import run_forked
from noisy_files import write_noisy_files
from shell import run

CHUNKS = "the\tD\tB\ndog\tN\tI\n\na\tD\tB\ncat\tN\tI\n\n" * 3
TABLE = "a,b,label\n1,2,x\n2,3,y\n3,1,x\n4,4,y\n"
TEXTS = "x\tgood words\ny\tbad thing\n" * 4


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory):
    """A folder with models of every kind, and an empty file."""
    folder, before = tmp_path_factory.mktemp("files"), os.getcwd()
    os.chdir(folder)
    write_noisy_files(folder, rows=60, sentences=12)
    for name, content in (("f.csv", TABLE), ("f.tsv", TEXTS), ("f.conll", CHUNKS), ("empty", "")):
        (folder / name).write_text(content)
    for name, *words in (
        ("rows", "f.svm"),
        ("table", "f.csv", "--no-holdout", "--learner", "perceptron"),
        ("text", "f.tsv", "--no-holdout"),
        ("tagger", "f.conllu", "--learner", "tagger", "--epochs", "1"),
        ("chunker", "f.conll", "--learner", "tagger", "--epochs", "1", "--no-holdout"),
        ("lemmatizer", "f.conllu", "--learner", "lemmatizer", "--epochs", "1"),
        ("parser", "f.conllu", "--learner", "parser", "--tags", "upos", "--epochs", "1"),
        ("tokenizer", "f.conllu", "--learner", "tokenizer", "--epochs", "1"),
    ):
        run("train", *words, "--model", f"{name}.wm", "--quiet")
    yield folder
    os.chdir(before)


ANSWERS = [
    *("predict rows.wm", "predict table.wm", "predict text.wm", "tag tagger.wm", "tag chunker.wm"),
    *("tag lemmatizer.wm", "parse parser.wm", "tokenize tokenizer.wm"),
]


@pytest.mark.parametrize("words", ANSWERS)
def test_its_answer_is_empty(words):
    done = run(*words.split(), "empty", code=0)
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize("words", ["predict table.wm", "tag chunker.wm"])
def test_so_is_that_of_an_empty_pipe(words):
    done = run_forked("-m", "widemargin", *words.split(), input="")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    "words",
    [
        *("train empty", "train empty --learner tagger", "train empty --learner parser"),
        *("test rows.wm empty", "test table.wm empty", "test tagger.wm empty"),
        *("test parser.wm empty", "update rows.wm empty", "update table.wm empty"),
    ],
)
def test_it_cannot_be_learned_from_or_tested_on(words):
    assert "there are no " in run(*words.split(), code=1).stderr
