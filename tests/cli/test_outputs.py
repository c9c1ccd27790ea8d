"""The files that commands write: nothing of the user's is lost, and no work is done in vain."""

import os
import pathlib

import pytest
from noisy_files import write_noisy_files
from shell import run


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Every test works in a folder with files of rows and of sentences, and models."""
    monkeypatch.chdir(tmp_path)
    write_noisy_files(tmp_path, rows=60, sentences=12)
    run("train", "f.svm", "--model", "m.wm", "--quiet")
    return tmp_path


def whole_files():
    return {path: path.read_bytes() for path in pathlib.Path().rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["convert", "m.wm", "f.conllu"], "f.conllu: is not a model or a cache and would be"),
        (["convert", "m.wm", "m.wm"], "m.wm: is the file to convert"),
        (["convert", "m.wm", "./m.wm", "--force"], "./m.wm: is the file to convert"),
        (["convert", "f.svm", "f.svm"], "f.svm: is the file to convert"),
        (["convert", "f.svm", "f.conllu"], "would be overwritten; choose another name, or add"),
        (["report", "m.wm", "f.svm", "-o", "f.svm"], "f.svm: is not an HTML page and would be"),
        (["report", "m.wm", "-o", "m.wm"], "m.wm: is not an HTML page and would be overwritten"),
        (["compare", "f.svm", "-o", "f.svm"], "f.svm: is not an HTML page and would be"),
        (["train", "f.svm", "--cache"], "f.svm.wmc: is not a cache, and --cache would overwrite"),
        (["train", "f.svm", "--model", ""], "'' is not the name of a file"),
        (["train", "f.svm", "--model", "-"], "'-' is not the name of a file"),
        (["update", "m.wm", "f.svm", "--model", ""], "'' is not the name of a file"),
        (["report", "m.wm", "-o", "-"], "'-' is not the name of a file"),
    ],
)
def test_files_that_a_command_does_not_write_are_left_alone(words, message):
    pathlib.Path("f.svm.wmc").write_text("notes")
    before = whole_files()
    done = run(*words, code=2)
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert whole_files() == before


def test_what_a_command_wrote_it_may_write_again():
    for words in (
        ["convert", "m.wm", "m.liblinear"],
        ["convert", "m.liblinear", "back.wm"],
        ["convert", "f.svm", "f.wmc"],
        ["report", "m.wm", "f.svm", "-o", "m.html"],
        ["train", "f.svm", "--cache", "--quiet"],
    ):
        run(*words)
        run(*words)
    run("convert", "m.wm", "f.conllu", "--force")
    assert pathlib.Path("f.conllu").read_text().startswith("solver_type ")


@pytest.mark.parametrize("target", [".", "no/x", "pipe"])
@pytest.mark.parametrize("command", ["train", "update", "convert"])
def test_a_target_that_cannot_be_written_is_reported_before_the_work(command, target, monkeypatch):
    os.mkfifo("pipe")
    words = {
        "train": ["train", "--learner", "svm", "f.svm", "--model", target],
        "update": ["update", "m.wm", "f.svm", "--model", target],
        "convert": ["convert", "f.svm", target],
    }
    for name in ("pieces.chunks_of", "files.Files.__init__", "sources.open_bytes"):
        monkeypatch.setattr(f"widemargin.data.readers.{name}", None)  # nothing is read
    told = run(*words[command], code=1).stderr
    reason = "the folder no does not exist" if target == "no/x" else "not a regular file"
    assert told.startswith(f"widemargin: {target}: ")
    assert reason in told


def test_a_page_goes_to_a_device_as_it_is():
    told = run("report", "m.wm", "-o", "/dev/full", code=1).stderr
    assert told == "widemargin: /dev/full: No space left on device\n"


@pytest.mark.parametrize(
    "words",
    [
        ["--label", "3"],
        ["--format", "svmlight"],
        ["--ngrams", "2"],
        ["--double"],
        ["--threads", "1"],
    ],
)
def test_options_for_examples_have_no_effect_on_a_model(words):
    run("convert", "m.wm", "m.liblinear")
    for source, target in (("m.wm", "x.liblinear"), ("m.liblinear", "x.wm")):
        told = run("convert", source, target, *words, code=2).stderr
        assert f"{words[0]} has no effect on a model, and {source} is one" in told
        assert not os.path.exists(target)


def test_a_sentence_model_is_not_for_liblinear():
    run("train", "f.conllu", "--learner", "tagger", "--epochs", "1", "--model", "t.wm", "--quiet")
    told = run("convert", "t.wm", "t.liblinear", code=1).stderr
    assert told == "widemargin: t.wm: is a tagger: use widemargin tag\n"


# Our own files as input ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ["--label", "3"],
        ["--format", "svmlight"],
        ["--encoding", "latin-1"],
        ["--skip-bad", "3"],
        ["--zero-based"],
        ["--double"],
        ["--scale", "maxabs"],
        ["--learner", "svm", "--idf"],
        ["--cache"],
        ["--stream"],
    ],
)
def test_options_for_reading_have_no_effect_on_a_cache(words):
    run("convert", "f.svm", "f.wmc")
    told = run("train", "f.wmc", *words, code=2).stderr
    assert " has no effect on a cache, which is already encoded" in told
    assert told.count("\n") == 1


def test_options_of_a_cache_that_have_an_effect():
    run("convert", "f.svm", "f.wmc")
    run("train", "f.wmc", "--learner", "svm", "--scale", "maxabs", "--model", "a.wm", "--quiet")
    run("train", "f.wmc", "--valid", "f.svm", "--format", "svmlight", "--model", "b.wm", "--quiet")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["predict", "m.wm", "f.wmc"], "f.wmc: is a cache, which only train reads"),
        (["certify", "f.wmc"], "f.wmc: is a cache, which only train reads"),
        (["train", "f.wmc", "f.wmc"], "f.wmc: is a cache, which only train reads, if it is the"),
        (["train", "f.svm", "--valid", "f.wmc"], "f.wmc: is a cache, which only train reads"),
        (["predict", "m.wm", "m.wm"], "m.wm: is a model, not examples"),
        (["certify", "m.wm"], "m.wm: is a model, not examples"),
    ],
)
def test_a_cache_or_a_model_given_as_examples_is_called_so(words, told):
    run("convert", "f.svm", "f.wmc")
    assert told in run(*words, code=1).stderr


# Checkpoints --------------------------------------------------------------------------------------


def test_a_model_called_like_a_checkpoint_is_kept():
    run("train", "f.svm", "--checkpoint", ".", "--model", "checkpoint.wm", "--quiet")
    run("inspect", "checkpoint.wm")
    before = whole_files()
    told = run("train", "f.svm", "--checkpoint", ".", "--model", "x.wm", code=1).stderr
    assert told == "widemargin: ./checkpoint.wm: is not a checkpoint; use another folder\n"
    assert whole_files() == before
    os.rename("checkpoint.wm", "checkpoint-mine.wm")
    run("train", "f.svm", "--checkpoint", ".", "--model", "x.wm", "--quiet")
    assert os.path.exists("checkpoint-mine.wm")
