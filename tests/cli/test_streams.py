"""Standard streams that are closed, full, or in another encoding than UTF-8."""

import os
import subprocess
import sys

import pytest
from noisy_files import write_noisy_files
from shell import run

#: Closes files by their numbers, and becomes the program.
CLOSE = (
    "import os, sys\n"
    "for number in sys.argv[1]: os.close(int(number))\n"
    "os.execv(sys.executable, [sys.executable, '-m', 'widemargin', *sys.argv[2:]])\n"
)


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory):
    folder, before = tmp_path_factory.mktemp("files"), os.getcwd()
    os.chdir(folder)
    write_noisy_files(folder, rows=60, sentences=12)
    (folder / "f.csv").write_text("a,label\n1,x\n2,ö\n", encoding="utf-8")
    run("train", "f.svm", "--model", "m.wm", "--quiet")
    run("train", "f.csv", "--model", "c.wm", "--quiet")
    run("train", "f.conllu", "--learner", "tagger", "--epochs", "1", "--model", "t.wm", "--quiet")
    yield folder
    os.chdir(before)


def program(*words, closed="", **options):
    """The program with these streams closed, and its output buffered as usual."""
    environment = {**os.environ, **options.pop("env", {})}
    environment.pop("PYTHONUNBUFFERED", None)
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, **options}
    return subprocess.run(
        [sys.executable, "-c", CLOSE, closed, *words],
        stderr=subprocess.PIPE,
        env=environment,
        **options,
    )


PRINTING = (["test", "m.wm", "f.svm"], ["predict", "m.wm", "f.svm"], ["tag", "t.wm", "f.conllu"])


@pytest.mark.parametrize("words", PRINTING)
def test_output_that_cannot_be_written_is_one_line(words):
    with open("/dev/full", "wb") as full:
        done = program(*words, stdout=full)
    told = b"widemargin: <stdout>: No space left on device\n"
    assert (done.returncode, done.stderr) == (1, told)
    done = program(*words, closed="1")
    assert (done.returncode, done.stderr) == (1, b"widemargin: <stdout>: Bad file descriptor\n")


@pytest.mark.parametrize("words", [["predict", "m.wm"], ["tag", "t.wm"], ["train", "-"]])
def test_a_closed_input_is_one_line(words):
    done = program(*words, closed="0")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == b"widemargin: <stdin>: Bad file descriptor\n"


def test_a_training_needs_no_streams():
    for i, closed in enumerate(("2", "012")):
        done = program("train", "f.svm", "--quiet", "--model", f"{i}.wm", closed=closed)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert program("train", "f.svm", "--model", "3.wm", closed="2").returncode == 0
    models = [run("predict", f"{name}.wm", "f.svm").stdout for name in ("0", "1", "3", "m")]
    assert len(set(models)) == 1


def test_what_an_encoding_lacks_is_escaped():
    for encoding, line in (("ascii", rb"\xf6"), ("latin-1", b"\xf6"), ("utf-8", "ö".encode())):
        done = program("predict", "c.wm", "f.csv", env={"PYTHONIOENCODING": encoding})
        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout.splitlines() == [b"x", line]
    done = program("inspect", "m.wm", env={"PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, b"")
