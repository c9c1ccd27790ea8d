"""Startup time of whole commands, from launch to first result."""

from __future__ import annotations

import compileall
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import Any
from unittest import mock

import widemargin
from benchmarks.harness import OURS, Comparison, Outcome, Side, Target, within

_PACKAGE = pathlib.Path(widemargin.__file__).parent
_ROWS = (
    "import numpy as np\n"
    "rng = np.random.default_rng(0)\n"
    "X = rng.normal(size=(200, 5))\n"
    "y = (X[:, 0] + X[:, 1] > 0).astype(int)\n"
)
#: A user's first lines, by the learner or function they use.
FIRST_CALLS = {
    "Perceptron": _ROWS + "from widemargin import Perceptron\nPerceptron().fit(X, y).predict(X)",
    "LinearSVM": _ROWS + "from widemargin import LinearSVM\nLinearSVM().fit(X, y).predict(X)",
    "KernelSVM": _ROWS + "from widemargin import KernelSVM\nKernelSVM().fit(X, y).predict(X)",
    "certify": _ROWS + "from widemargin import certify\ncertify(X, y)",
    "TextClassifier": (
        "from widemargin import TextClassifier\n"
        "texts = ['good film indeed', 'bad film', 'very good', 'very bad plot'] * 5\n"
        "TextClassifier(random_state=0).fit(texts, [1, 0, 1, 0] * 5).predict(texts)"
    ),
    "Tagger": (
        "from widemargin import Tagger\n"
        "words = [['the', 'dog', 'barks'], ['a', 'cat', 'sees', 'the', 'dog']] * 5\n"
        "tags = [['D', 'N', 'V'], ['D', 'N', 'V', 'D', 'N']] * 5\n"
        "Tagger().fit(words, tags).predict(words)"
    ),
    "Parser": (
        "from widemargin import Parser\n"
        "trees = {\n"
        "    'word': [['the', 'dog', 'barks'], ['a', 'cat', 'sees', 'it']] * 5,\n"
        "    'upos': [['DET', 'NOUN', 'VERB'], ['DET', 'NOUN', 'VERB', 'PRON']] * 5,\n"
        "    'head': [['2', '3', '0'], ['2', '3', '0', '3']] * 5,\n"
        "    'deprel': [['det', 'nsubj', 'root'], ['det', 'nsubj', 'root', 'obj']] * 5,\n"
        "}\n"
        "Parser().fit(trees).predict(trees)"
    ),
}


def note_loops(program: str) -> list[tuple[str, str, str]]:
    """Run a program here; return the loops it calls, in order, and the types of their arguments."""
    from widemargin.loops.cached_loops import Loop, name_kinds

    found: dict[tuple[str, str, str], None] = {}

    def noting(method: Any) -> Any:
        def call(loop: Any, *arguments: Any) -> Any:
            function = loop.py_func
            found[function.__module__, function.__qualname__, name_kinds(arguments)] = None
            return method(loop, *arguments)

        return call

    with mock.patch.multiple(Loop, __call__=noting(Loop.__call__), code_for=noting(Loop.code_for)):
        exec(program, {})
    return list(found)


#: How long a first call may take, and how much longer than a later one if the package ships its
#: machine code.
_FROM_SOURCE, _FROM_RELEASE = 6.0, 0.3


def compare(toy: bool, scratch: pathlib.Path) -> Comparison:
    """Start a fresh Python for every run; a cold run has an empty cache of compiled loops."""
    # As pip does when it installs: without bytecode, a third of a warm start is parsing sources.
    compileall.compile_dir(_PACKAGE, quiet=1)
    model, line = str(scratch / "digits.wm"), scratch / "line.svm"
    line.write_text("3 5:7 10:16 20:9\n")
    train = ["-m", "widemargin", "train", "--quiet", "--model", model]
    predict = ["-m", "widemargin", "predict", model, str(line)]
    shown = "python -m widemargin train --quiet --model FILE"
    python(scratch, *train)  # the model that `predict` reads

    def side(name: str, settings: str, *arguments: str, package: str = OURS) -> Side:
        def work(repeat: int) -> float:
            return python(scratch, *arguments)

        return Side(name, settings, work, _busy, package=package, threads=None)

    def cold(name: str, settings: str, *arguments: str) -> Side:
        def work(cache: str) -> float:
            return python(scratch, *arguments, cache=cache)

        def empty_folder(repeat: int) -> str:
            return tempfile.mkdtemp(dir=scratch)

        shown = f"WIDEMARGIN_CACHE=EMPTY {settings}"
        return Side(name, shown, work, _busy, prepare=empty_folder, threads=None)

    firsts = list(FIRST_CALLS)[: 1 if toy else None]
    sides = (
        side("--help", "python -m widemargin --help", "-m", "widemargin", "--help"),
        side("import", "python -c 'import widemargin'", "-c", "import widemargin"),
        side("train, warm", shown, *train),
        side("predict, warm", "python -m widemargin predict MODEL LINE", *predict),
        cold("train, cold", shown, *train),
        *(side(f"{name}, warm", "first use", "-c", FIRST_CALLS[name]) for name in firsts),
        *(cold(f"{name}, cold", "first use", "-c", FIRST_CALLS[name]) for name in firsts),
        side(
            "scikit-learn import",
            "python -c 'import sklearn.linear_model'",
            "-c",
            "import sklearn.linear_model",
            package="scikit-learn",
        ),
    )
    return Comparison(
        title="from the command to the first result",
        data=f"scikit-learn's digits, 1,797 x 64, embedded in the command; {_installed()}",
        sides=sides,
        targets=(
            within("--help", 0.2),
            within("train, warm", 0.6),
            within("predict, warm", 0.5),
            *(_starts_soon(name) for name in ("train", *firsts)),
        ),
    )


def python(scratch: pathlib.Path, *arguments: str, cache: str | None = None) -> float:
    """Run a fresh Python; return the processor seconds used by it and its children."""
    where = {} if cache is None else {"WIDEMARGIN_CACHE": cache}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *arguments],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=scratch,
        env={**os.environ, **where},
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _busy(seconds: float) -> Mapping[str, float]:
    return {"processor s": seconds}


def _brings_code() -> bool:
    """Whether the installed widemargin ships machine code."""
    return (_PACKAGE / "loops" / "compiled").is_dir()


def _installed() -> str:
    kind = "a wheel with machine code" if _brings_code() else "the source, compiled on first use"
    return f"installed from {kind}"


def _starts_soon(name: str) -> Target:
    """Limit how long a first call takes, or how much more than a later one."""
    if not _brings_code():

        def waited(cold: Outcome) -> tuple[str, bool]:
            return f"{cold.best:.2f} s", cold.best <= _FROM_SOURCE

        return Target(f"{name}, cold: <= {_FROM_SOURCE:g} s", (f"{name}, cold",), waited)

    def longer(cold: Outcome, warm: Outcome) -> tuple[str, bool]:
        return f"{cold.best - warm.best:+.3f} s", cold.best - warm.best <= _FROM_RELEASE

    text = f"{name}, cold: within {_FROM_RELEASE:g} s of warm"
    return Target(text, (f"{name}, cold", f"{name}, warm"), longer)
