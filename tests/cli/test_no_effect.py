"""An option without effect is an error of usage, in every command but `train` (see there)."""

import os
import pathlib

import pytest
from forked import run_forked
from noisy_files import write_noisy_files
from shell import run

TABLE = "age,kind,text,label\n" + "1.5,u,a word,x\n2.5,v,b word,y\n" * 20
OBJECTS = '{"a": 1, "label": "x"}\n{"a": 2, "label": "y"}\n' * 10


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory):
    """A folder with files of every kind, and models."""
    folder, before = tmp_path_factory.mktemp("files"), os.getcwd()
    os.chdir(folder)
    write_noisy_files(folder, rows=60, sentences=12)
    (folder / "f.csv").write_text(TABLE)
    (folder / "f.jsonl").write_text(OBJECTS)
    (folder / "odd.csv").write_text("a,label\n" + '1,"x\ny"\n2,z\n' * 10)
    os.mkfifo("pipe")
    run("train", "f.svm", "--model", "m.wm", "--quiet")
    run("train", "f.svm", "--learner", "logistic", "--model", "logistic.wm", "--quiet")
    run("train", "odd.csv", "--model", "odd.wm", "--quiet")
    for name in ("tagger", "tokenizer"):
        words = ["--learner", name, "--epochs", "1", "--model", f"{name}.wm", "--quiet"]
        run("train", "f.conllu", *words)
    yield folder
    os.chdir(before)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("train f.svm --checkpoint-every 3", "--checkpoint-every has no effect without --check"),
        ("train f.jsonl --header", "--header has no effect for jsonl files"),
        ("train f.jsonl --no-header", "--no-header has no effect for jsonl files"),
        ("train f.svm --cache --stream", "--cache needs all examples in memory"),
        ("train f.svm --batch full --stream", "--batch full needs all examples in memory"),
        ("compare f.svm --learners fast", "--learners fast is unknown; choose one of"),
        (
            "compare f.svm --learners svm --epochs 3",
            "--epochs has no effect on these learners, only",
        ),
        (
            "compare f.svm --learners perceptron --C 1",
            "--C has no effect on these learners, only on",
        ),
        ("compare f.svm --learners svm,svm", "--learners svm is given twice"),
        ("train f.svm --cache --memory 1B", "--cache needs all examples in memory"),
        ("train f.csv --encoding=", "--encoding '' is unknown"),
        ("train f.csv --interactions=", "'' is not a pair of names"),
        ("predict logistic.wm f.svm --scores --proba", "--scores and --proba: give one of them"),
        ("test m.wm f.svm --column 2", "--column has no effect: this model does not read sent"),
        ("test m.wm f.svm --words 2", "--words has no effect: this model does not read sent"),
        ("certify f.svm --kernel rbf --no-bias", "--no-bias has no effect with --kernel"),
        ("report m.wm -o r.html --label 2", "--label has no effect without FILES"),
        ("report tagger.wm -o r.html --column upos", "--column has no effect without FILES"),
        ("lab --no-browser --label 2", "--label has no effect without FILES"),
        ("inspect tokenizer.wm --top 3", "--top has no effect for a tokenizer"),
    ],
)
def test_it_is_refused_in_one_line(words, message):
    before = sorted(os.listdir())
    done = run(*words.split(), code=2)
    assert message in done.stderr
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--category age --drop age", "column 'age' cannot be both a category and dropped"),
        ("--category label", "column 'label' cannot be both the label and a category"),
        ("--category kind --text text", "column 'kind' is declared a category, but is not a"),
        ("--category text --text text", "column 'text' cannot be both a text and a category"),
    ],
)
def test_a_category_must_be_used_as_one(words, message):
    assert message in run("train", "f.csv", *words.split(), "--quiet", code=1).stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("train f.svm --max-seconds nan", "--max-seconds nan must be a positive number\n"),
        (
            "train f.svm --learner kernel-perceptron --sigma 2 --gamma 2",
            "--gamma 2.0 and --sigma 2.0 mean the same, as gamma is 1 / (2 sigma^2): give one of",
        ),
        ("train f.csv --interactions age", "--interactions age is not a pair of names such as"),
        ("train f.csv --interactions age*x,age*x", "--interactions age*x is given twice"),
        ("train f.svm --batch ¹", "--batch ¹ must be a whole number of at least 1, or 'full'\n"),
        ("train f.csv --text text --ngrams 1-¹", "--ngrams 1-¹: expected a number, or two such"),
        ("train f.svm --patience 0", "--patience 0 must be a whole number of at least 1\n"),
        ("train f.svm --power -1", "widemargin: --power -1.0 must be a number of at least 0\n"),
        ("certify f.svm --max-seconds nan", "--max-seconds nan must be a number of at least 0\n"),
        ("certify f.svm --margin=-1", "--margin -1.0 must be a number of at least 0\n"),
        (
            "train f.svm --checkpoint-every nan --checkpoint points",
            "'--checkpoint-every': 'nan' is not a number (see widemargin train --help)\n",
        ),
        (
            "certify f.svm --kernel linear --gamma 2",
            "only with --kernel poly, rbf, laplace or laplacian (see",
        ),
        ("train f.svm --epochs", "requires an argument (see widemargin train --help)\n"),
        ("parse tagger.wm --port", "(see widemargin parse --help)\n"),
        ("tokenize tokenizer.wm f.conllu --encoding no", "--encoding no is unknown; give a name"),
        ("tag tagger.wm f.conllu --encoding no", "--encoding no is unknown; give a name"),
    ],
)
def test_bad_values_are_named_in_the_words_of_the_shell(words, message):
    assert message in run(*words.split(), code=2).stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["train", "-", "-"], "<stdin>: is given twice, but can be read only once\n"),
        (["certify", "-", "f.svm", "-"], "<stdin>: is given twice, but can be read only once\n"),
        (["tag", "tagger.wm", "-", "-"], "<stdin>: is given twice, but can be read only once\n"),
        (["tokenize", "tokenizer.wm", "-", "-"], "<stdin>: is given twice, but can be read only"),
        (["train", "pipe", "pipe"], "pipe: is given twice, but can be read only once\n"),
        (["train", ""], "widemargin: '': No such file or directory\n"),
        (["train", "f.svm", "--checkpoint", ""], "widemargin: '': No such file or directory\n"),
    ],
)
def test_sources_that_cannot_be_read(words, told):
    assert told in run(*words, code=1).stderr


def test_a_pipe_has_no_cache():
    words = ["train", "-", "--learner", "svm", "--cache"]
    done = run_forked("-m", "widemargin", *words, input="1 1:1\n0 2:1\n")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--cache needs files: a pipe has no place for a cache" in done.stderr
    assert not os.path.exists("-.wmc")


@pytest.mark.parametrize("command", ["update", "test"])
def test_an_empty_standard_input_is_called_so(command):
    done = run_forked("-m", "widemargin", command, "m.wm", "-", input="")
    assert (done.returncode, done.stderr) == (1, "widemargin: <stdin>: there are no examples\n")


def test_a_prediction_is_one_line_whatever_the_label():
    lines = run("predict", "odd.wm", "odd.csv").stdout.splitlines()
    assert len(lines) == 20
    assert set(lines) <= {"x\\ny", "z"}
    assert "x\\ny" in lines
    pathlib.Path("copy.wm").write_bytes(pathlib.Path("odd.wm").read_bytes())
    told = run("update", "copy.wm", "odd.csv", "--predictions", "--quiet").stdout
    assert set(told.splitlines()) <= {"x\\ny", "z"}
