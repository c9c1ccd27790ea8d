"""Compare the speed of two installed versions, interleaved so that noise affects both alike.

    python -m benchmarks.before_after --before OLD/bin/python --after NEW/bin/python --repeats 7

Each version has one process that stays warm; only one of them works at a time, in the order before,
after, after, before. The memory layout of a process makes it a few percent faster or slower for its
whole lifetime, so both are restarted in every round. The best time of each counts. The last column
shows whether both gave the same result, bit for bit. Only public names of widemargin are used.
"""

from __future__ import annotations

import argparse
import gc
import gzip
import hashlib
import pathlib
import runpy
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

HERE = pathlib.Path(__file__).resolve().parent
#: The public data sets beside the repository.
DATA = HERE.parents[1] / "shared" / "data"
#: Settings for the chunker (`chunking`) and the parsers (`parsing`).
CHUNKER: dict[str, Any] = {"epochs": 5, "committee": 2}
PARSER: dict[str, Any] = {"epochs": 3, "tags": "gold", "random_state": 0}


# Data, made once by the parent and read by both workers


def prepare_data(folder: pathlib.Path, data: pathlib.Path) -> None:
    """Write the arrays and paths that the tasks need into a folder."""
    zipf_text = runpy.run_path(str(HERE / "zipf.py"))["zipf_text"]
    for rows in (200_000, 100_000):
        X, y = zipf_text(rows, 262_144, 66, seed=0)
        sp.save_npz(folder / f"text{rows}.npz", X, compressed=False)
        np.save(folder / f"text{rows}-labels.npy", y)
    (folder / "data.txt").write_text(str(data))


@cache
def text_rows(folder: pathlib.Path, rows: int) -> tuple[sp.csr_matrix, np.ndarray]:
    """Sparse rows that look like text."""
    return sp.load_npz(folder / f"text{rows}.npz"), np.load(folder / f"text{rows}-labels.npy")


@cache
def a9a(folder: pathlib.Path) -> tuple[sp.csr_matrix, np.ndarray]:
    """All training rows of a9a in float32."""
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(str(public(folder, "a9a") / "a9a.gz"), dtype=np.float32)
    return X, y.astype(np.int64)


@cache
def mnist(folder: pathlib.Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The first 20,000 training images with their labels, and all test images."""
    where = public(folder, "mnist")
    images = _idx(where / "train-images-idx3-ubyte.gz")[:20_000].reshape(20_000, -1)
    labels = _idx(where / "train-labels-idx1-ubyte.gz")[:20_000].astype(np.int64)
    test = _idx(where / "t10k-images-idx3-ubyte.gz")
    return _grey(images), labels, _grey(test.reshape(len(test), -1))


def _idx(path: pathlib.Path) -> np.ndarray:
    """An array of bytes from a gzipped IDX file: 0, 0, 8, rank, then the shape, big-endian."""
    with gzip.open(path) as file:
        content = file.read()
    rank = content[3]
    shape = np.frombuffer(content, ">i4", rank, offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * rank).reshape(shape)


def _grey(images: np.ndarray) -> np.ndarray:
    return (images / 255).astype(np.float32)


def public(folder: pathlib.Path, name: str) -> pathlib.Path:
    """The folder of a public data set."""
    return pathlib.Path((folder / "data.txt").read_text()) / name


# The work. Each function prepares the data and returns the function to time.

Work = Callable[[], Any]


def epoch(folder: pathlib.Path, shuffle: Any) -> Work:
    """One averaged epoch over sparse rows in memory."""
    from widemargin import Perceptron

    X, y = text_rows(folder, 200_000)
    how = {"epochs": 1, "shuffle": shuffle, "fit_intercept": "auto", "random_state": 0}
    return lambda: Perceptron(**how).fit(X, y).coef_


def svm_text(folder: pathlib.Path, loss: str) -> Work:
    """A linear SVM on text-like rows."""
    from widemargin import LinearSVM

    X, y = text_rows(folder, 100_000)
    return lambda: LinearSVM(loss=loss, fit_intercept=False, random_state=0).fit(X, y).coef_


def svm_a9a(folder: pathlib.Path) -> Work:
    """A linear SVM on few features."""
    from widemargin import LinearSVM

    X, y = a9a(folder)
    return lambda: LinearSVM(loss="hinge", fit_intercept=False, random_state=0).fit(X, y).coef_


@cache
def _fitted_digits(folder: pathlib.Path) -> Any:
    from widemargin import KernelSVM

    X, y, _ = mnist(folder)
    return KernelSVM(C=10.0, gamma=0.02, n_jobs=2).fit(X, y)


def rbf_fit(folder: pathlib.Path) -> Work:
    """An RBF SVM on 20,000 images."""
    from widemargin import KernelSVM

    X, y, _ = mnist(folder)
    return lambda: KernelSVM(C=10.0, gamma=0.02, n_jobs=2).fit(X, y).dual_coef_


def rbf_predict(folder: pathlib.Path) -> Work:
    """The predictions of that RBF SVM for the test images."""
    model, test = _fitted_digits(folder), mnist(folder)[2]
    return lambda: model.predict(test)


def rbf_a9a(folder: pathlib.Path) -> Work:
    """An RBF SVM of two classes, dense."""
    from widemargin import KernelSVM

    X, y = a9a(folder)
    dense = X.toarray()
    return lambda: KernelSVM(C=1.0, gamma=0.05, n_jobs=2).fit(dense, y).dual_coef_


def chunker_fit(folder: pathlib.Path, jobs: int) -> Work:
    """From the file of CoNLL-2000 to a model."""
    from widemargin import Tagger

    train = public(folder, "conll2000") / "train.txt.gz"

    def work() -> list[float]:
        tagger = Tagger(**CHUNKER, n_jobs=jobs, random_state=0).fit(train)
        return [one.weight for one in tagger.top_features(100)]

    return work


@cache
def _chunker(folder: pathlib.Path) -> Any:
    from widemargin import Tagger

    train = public(folder, "conll2000") / "train.txt.gz"
    return Tagger(**CHUNKER, n_jobs=2, random_state=0).fit(train)


@cache
def _chunk_columns(folder: pathlib.Path) -> dict[str, list[list[str]]]:
    """Words and parts of speech of both files."""
    from widemargin.structured import read_conll

    where = public(folder, "conll2000")
    both = [read_conll(where / name) for name in ("train.txt.gz", "test.txt.gz")]
    return {
        name: [sentence for corpus in both for sentence in corpus.sentences(name)]
        for name in ("word", "pos")
    }


def _flat(sentences: Iterable[list[str]]) -> list[str]:
    return [tag for sentence in sentences for tag in sentence]


def chunker_bulk(folder: pathlib.Path, jobs: int) -> Work:
    """Tag all sentences from lists of strings."""
    tagger, columns = _chunker(folder), _chunk_columns(folder)
    return lambda: _flat(tagger.predict(columns, n_jobs=jobs))


def chunker_single(folder: pathlib.Path) -> Work:
    """One sentence per call."""
    tagger, columns = _chunker(folder), _chunk_columns(folder)
    pairs = list(zip(columns["word"][-2012:], columns["pos"][-2012:], strict=True))
    return lambda: _flat(tagger.tag(words, pos=tags) for words, tags in pairs)


@cache
def _treebank(folder: pathlib.Path, part: str) -> Any:
    from widemargin.structured import read_conll

    return read_conll(public(folder, "ud-english-ewt") / f"en_ewt-ud-{part}.conllu.gz")


@cache
def _parser(folder: pathlib.Path, beam: int) -> Any:
    from widemargin import Parser

    return Parser(beam=beam, **PARSER).fit(_treebank(folder, "train"))


def parser_fit(folder: pathlib.Path, beam: int) -> Work:
    """A few epochs on EWT with given tags."""
    from widemargin import Parser

    train = _treebank(folder, "train")
    return lambda: Parser(beam=beam, **PARSER).fit(train).history_["loss"]


def parser_parse(folder: pathlib.Path, beam: int) -> Work:
    """The trees of the test sentences."""
    parser, test = _parser(folder, beam), _treebank(folder, "test")
    return lambda: parser.predict(test).heads


#: Tasks by name: the function that prepares each, and its BLAS threads.
TASKS: dict[str, tuple[Callable[[pathlib.Path], Work], int]] = {
    "epoch, rows": (lambda folder: epoch(folder, "rows"), 1),
    "epoch, as shipped": (lambda folder: epoch(folder, True), 1),
    "linear SVM, text, hinge": (lambda folder: svm_text(folder, "hinge"), 1),
    "linear SVM, text, squared": (lambda folder: svm_text(folder, "squared_hinge"), 1),
    "linear SVM, a9a": (svm_a9a, 1),
    "RBF SVM, MNIST 20,000, fit": (rbf_fit, 2),
    "RBF SVM, MNIST, predict": (rbf_predict, 2),
    "RBF SVM, a9a, fit": (rbf_a9a, 2),
    "chunker, from the file": (lambda folder: chunker_fit(folder, 2), 2),
    "chunker, one thread": (lambda folder: chunker_fit(folder, 1), 1),
    "tagging in bulk": (lambda folder: chunker_bulk(folder, 1), 1),
    "tagging, two threads": (lambda folder: chunker_bulk(folder, 2), 2),
    "tagging, one sentence per call": (chunker_single, 1),
    "greedy parser, 3 epochs": (lambda folder: parser_fit(folder, 1), 1),
    "greedy parser, parse": (lambda folder: parser_parse(folder, 1), 1),
    "beam 8, 3 epochs": (lambda folder: parser_fit(folder, 8), 1),
    "beam 8, parse": (lambda folder: parser_parse(folder, 8), 1),
}


# The worker: task names come in, seconds and digests go out


def work(folder: pathlib.Path) -> None:
    """Run the tasks named on standard input; the first run of each is not timed."""
    import warnings

    from threadpoolctl import threadpool_limits

    warnings.simplefilter("ignore")
    answers, sys.stdout = sys.stdout, sys.stderr  # so that other output is not taken for an answer
    ready: dict[str, Work] = {}
    for line in sys.stdin:
        name = line.rstrip("\n")
        make, threads = TASKS[name]
        with threadpool_limits(threads):
            if name not in ready:
                ready[name] = make(folder)
                ready[name]()
            gc.collect()
            began = time.perf_counter()
            result = ready[name]()
            seconds = time.perf_counter() - began
        answers.write(f"{seconds!r} {_digest(result)}\n")
        answers.flush()


def _digest(result: Any) -> str:
    """A short digest of a result."""
    found = np.ascontiguousarray(result)
    return hashlib.sha256(found.tobytes()).hexdigest()[:12]


class Worker:
    """One version's process."""

    def __init__(self, python: str, folder: pathlib.Path) -> None:
        command = [python, str(pathlib.Path(__file__).resolve()), "--work", str(folder)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder
        )

    def do(self, name: str) -> tuple[float, str]:
        """The seconds that a task takes, and the digest of its result."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        if len(answer) != 2:
            raise SystemExit(f"the worker {self.process.args[0]} failed at {name!r}")
        return float(answer[0]), answer[1]

    def end(self) -> None:
        """Let the process end."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


# The parent


def sides(repeats: int) -> Iterator[int]:
    """0 for before and 1 for after, in the order 0 1 1 0 0 1 1 0 ..."""
    for repeat in range(repeats):
        yield from (0, 1) if repeat % 2 == 0 else (1, 0)


def measure(
    pythons: Sequence[str], folder: pathlib.Path, name: str, rounds: int, repeats: int
) -> tuple[list[float], bool]:
    """The best seconds of each side, and whether both had the same result every time."""
    best, digests = [float("inf")] * 2, set()
    for _ in range(rounds):
        workers = [Worker(python, folder) for python in pythons]
        for side in sides(repeats):
            seconds, digest = workers[side].do(name)
            best[side] = min(best[side], seconds)
            digests.add(digest)
        for worker in workers:
            worker.end()
    return best, len(digests) == 1


def compare(given: argparse.Namespace) -> None:
    """Print one line for each task."""
    chosen = [name for name in TASKS if not given.only or any(o in name for o in given.only)]
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        prepare_data(folder, given.data.resolve())
        print(f"{'work':<32}{'before s':>10}{'after s':>10}{'after/before':>14}  result")
        for name in chosen:
            (before, after), same = measure(
                (given.before, given.after), folder, name, given.rounds, given.repeats
            )
            result = "same" if same else "DIFFERENT"
            print(
                f"{name:<32}{before:>10.4f}{after:>10.4f}{after / before:>14.3f}  {result}",
                flush=True,
            )


def main() -> None:
    """Compare two versions, or run as the worker of one."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--before", default=sys.executable, help="Python of the old version.")
    parser.add_argument("--after", default=sys.executable, help="Python of the new version.")
    parser.add_argument("--repeats", type=int, default=7, help="Runs per side and round (7).")
    parser.add_argument("--rounds", type=int, default=3, help="Rounds of fresh processes (3).")
    parser.add_argument("--only", action="append", help="Only tasks whose names contain this.")
    parser.add_argument("--data", type=pathlib.Path, default=DATA, help="Public data sets.")
    parser.add_argument("--work", type=pathlib.Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work is not None:
        work(given.work)
    else:
        compare(given)


if __name__ == "__main__":
    main()
