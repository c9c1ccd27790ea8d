"""Separability decided with a proof, compared with a linear program without one."""

from __future__ import annotations

import csv
import json
import lzma
import math
import pathlib
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from scipy.optimize import linprog
from sklearn.datasets import load_svmlight_file
from sklearn.feature_extraction.text import CountVectorizer

from benchmarks.data import folder, read_idx
from benchmarks.harness import Comparison, Outcome, Side, Target
from benchmarks.svm_objectives import spam, tomatoes
from widemargin import certify

#: A linear program is stopped after this many seconds, which then count as its time.
LIMIT = 20.0
#: Seconds that measuring the margins of one set may take.
SECONDS = 5.0
#: The sets with a fivefold speed target; on the others the target is to be no slower.
FIVEFOLD = ("a9a", "w8a", "mushrooms", "MNIST 0-1", "MNIST 4-9")


class Answer(NamedTuple):
    """A side's verdict on one set, and its best time."""

    separable: bool | None
    seconds: float
    proved: bool = False


Answers = dict[str, Answer]


def compare(toy: bool, scratch: pathlib.Path) -> Comparison:
    """Go from examples in memory to verdicts: proved by ours, unproved by HiGHS."""
    sets = toy_sets() if toy else {name: read() for name, read in SETS.items()}
    systems = {name: turned(X, y) for name, (X, y) in sets.items()}

    def ours(name: str, **how: Any) -> Side:
        settings = ", ".join(f"{key}={value}" for key, value in how.items())
        return Side(
            name,
            f"certify(X, y, {settings}), then result.verify(X, y), which is not timed again",
            work=lambda repeat: {
                name: answer_of(lambda: certify(X, y, **how), X, y)  # noqa: B023
                for name, (X, y) in sets.items()
            },
            figures=figures,
        )

    def program(name: str, settings: str, solve: Callable[[Any], bool | None]) -> Side:
        return Side(
            name,
            settings,
            work=lambda repeat: {
                name: Answer(*timed(lambda: solve(Z)))  # noqa: B023
                for name, Z in systems.items()
            },
            figures=figures,
            package="scipy",
        )

    return Comparison(
        title="is it separable?",
        data="; ".join(f"{name} {X.shape[0]} x {X.shape[1]}" for name, (X, y) in sets.items())
        + f". The columns hold seconds, the best of each run. HiGHS stops after {LIMIT:g} s",
        sides=(
            ours("verdict", tol=None),
            ours("verdict and margins", tol=1e-6, max_seconds=SECONDS),
            program("HiGHS primal", "linprog: z.w >= 1 for all z = y (x, 1)", primal),
            program("HiGHS dual", "linprog: sum of a z = 0, sum of a = 1, a >= 0", dual),
        ),
        targets=[
            target
            for name in sets
            for target in (faster_than_both(name, 5.0 if name in FIVEFOLD else 1.0), proved(name))
        ],
    )


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What the work returns, and its best time; short work is repeated."""
    best, total = math.inf, 0.0
    while total < 0.2:
        began = time.perf_counter()
        result = work()
        seconds = time.perf_counter() - began
        best, total = min(best, seconds), total + seconds
    return result, best


def answer_of(work: Callable[[], Any], X: Any, y: np.ndarray) -> Answer:
    found, seconds = timed(work)
    decided = found.verdict != "undecided"
    separable = found.verdict == "separable" if decided else None
    return Answer(separable, seconds, decided and found.verify(X, y))


def figures(answers: Answers) -> dict[str, float]:
    """The seconds for every set, and how many have a proof, with the answers that targets need."""
    named = {name: answer.seconds for name, answer in answers.items()}
    return Figures(named | {"proved": float(sum(a.proved for a in answers.values()))}, answers)


class Figures(dict[str, float]):
    """Figures that keep the answers they were computed from."""

    def __init__(self, named: dict[str, float], answers: Answers) -> None:
        super().__init__(named)
        self.answers = answers


def turned(X: Any, y: np.ndarray) -> Any:
    """The rows z = y (x, 1), as used by both linear programs."""
    signs = np.where(y == np.unique(y)[-1], 1.0, -1.0)
    extended = scipy.sparse.hstack([scipy.sparse.csr_matrix(X), np.ones((X.shape[0], 1))])
    return scipy.sparse.csr_matrix(scipy.sparse.diags(signs) @ extended)


def primal(Z: Any) -> bool | None:
    n, width = Z.shape
    found = linprog(
        np.zeros(width),
        A_ub=-Z,
        b_ub=-np.ones(n),
        bounds=(None, None),
        method="highs",
        options={"time_limit": LIMIT},
    )
    return {0: True, 2: False}.get(found.status)


def dual(Z: Any) -> bool | None:
    n, width = Z.shape
    found = linprog(
        np.zeros(n),
        A_eq=scipy.sparse.vstack([Z.T, np.ones((1, n))]).tocsc(),
        b_eq=np.append(np.zeros(width), 1.0),
        bounds=(0, None),
        method="highs",
        options={"time_limit": LIMIT},
    )
    return {0: False, 2: True}.get(found.status)


def best(outcome: Outcome, name: str) -> float:
    return min(figures[name] for figures in outcome.figures)


def faster_than_both(name: str, times: float) -> Target:
    """Require this many times the speed of the faster form of the linear program."""

    def found(mine: Outcome, primal: Outcome, dual: Outcome) -> tuple[str, bool]:
        ratio = min(best(primal, name), best(dual, name)) / best(mine, name)
        return f"{ratio:.2f}x", ratio >= times

    sides = ("verdict", "HiGHS primal", "HiGHS dual")
    return Target(f"{name}: >= {times:g}x the faster form of HiGHS", sides, found)


def proved(name: str) -> Target:
    """Require a verdict with a proof that was rechecked."""

    def found(mine: Outcome) -> tuple[str, bool]:
        answers = [figures.answers[name] for figures in mine.figures]  # type: ignore[attr-defined]
        words = {True: "separable", False: "not separable", None: "undecided"}
        return words[answers[0].separable], all(answer.proved for answer in answers)

    return Target(f"{name}: a proven verdict", ("verdict",), found)


def toy_sets() -> dict[str, tuple[Any, np.ndarray]]:
    """One set that is separable and one that is not."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    return {
        "apart": (X, (X[:, 0] > 0).astype(int)),
        "mixed": (X, rng.integers(0, 2, 60)),
    }


def svmlight(name: str, file: str) -> tuple[Any, np.ndarray]:
    X, y = load_svmlight_file(str(folder(name) / file))
    return X, y.astype(int)


def table(file: str) -> tuple[np.ndarray, np.ndarray]:
    with open(folder("uci-small") / file, encoding="utf-8") as lines:
        rows = [row for row in csv.reader(lines) if row and row[0][0] in "-0123456789"]
    return np.array([row[:-1] for row in rows], float), np.array([row[-1] for row in rows])


def mnist(first: int, second: int) -> tuple[np.ndarray, np.ndarray]:
    images = read_idx(folder("mnist") / "train-images-idx3-ubyte.gz").reshape(-1, 784)
    labels = read_idx(folder("mnist") / "train-labels-idx1-ubyte.gz")
    chosen = (labels == first) | (labels == second)
    return images[chosen].astype(float), labels[chosen].astype(int)


def newsgroups(first: str, second: str) -> tuple[Any, np.ndarray]:
    with lzma.open(folder("20newsgroups") / "train.jsonl.xz") as lines:
        posts = [post for post in map(json.loads, lines) if post["label"] in (first, second)]
    X = CountVectorizer().fit_transform(post["text"] for post in posts)
    return X.astype(float), np.array([post["label"] for post in posts])


SETS: dict[str, Callable[[], tuple[Any, np.ndarray]]] = {
    "a9a": lambda: svmlight("a9a", "a9a.gz"),
    "w8a": lambda: svmlight("w8a", "w8a.gz"),
    "mushrooms": lambda: svmlight("mushrooms", "agaricus.txt.train.gz"),
    "MNIST 0-1": lambda: mnist(0, 1),
    "MNIST 4-9": lambda: mnist(4, 9),
    "sonar": lambda: table("sonar.all-data"),
    "ionosphere": lambda: table("ionosphere.data"),
    "banknote": lambda: table("banknote.csv"),
    "heart": lambda: svmlight("libsvm-small", "heart_scale"),
    "australian": lambda: svmlight("libsvm-small", "australian"),
    "german": lambda: svmlight("libsvm-small", "german.numer_scale"),
    "diabetes": lambda: svmlight("libsvm-small", "diabetes_scale"),
    "splice": lambda: svmlight("libsvm-small", "splice_scale"),
    "breast cancer": lambda: svmlight("libsvm-small", "breast-cancer_scale"),
    "svmguide1": lambda: svmlight("svmguide1", "svmguide1.gz"),
    "ijcnn1": lambda: svmlight("ijcnn1", "ijcnn1.trn.bz2"),
    "reuters": lambda: svmlight("reuters-money-fx", "reuters.trn.bz2"),
    "rcv1 sample": lambda: svmlight("rcv1-sample", "rcv1-sample.train.gz"),
    "20 newsgroups, space / med": lambda: newsgroups("sci.space", "sci.med"),
    "sms spam": spam,
    "rotten tomatoes": tomatoes,
}
