"""Kernel SVMs on MNIST and on large two-class sets, to a violation of 1e-3."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file, make_classification
from sklearn.svm import SVC

from benchmarks.data import folder
from benchmarks.harness import Comparison, Outcome, Side, Target, faster, no_worse
from benchmarks.mnist import Digits, read_mnist
from widemargin import KernelSVM

INTELEX = "scikit-learn-intelex"
#: Two-class sets: file, C, gamma.
BINARY = {
    "a9a": ("a9a.gz", 1.0, 0.05),
    "w8a": ("w8a.gz", 10.0, 0.05),
    "ijcnn1": ("ijcnn1.trn.bz2", 10.0, 1.0),
}
#: The numbers of rows at which growth is measured.
ROWS = (5_000, 10_000, 20_000, 40_000)
#: The number of rows at which LIBSVM is measured.
LIBSVM_ROWS = 10_000
_THREADS = 2


_TITLE = "RBF SVM, violation 1e-3"
_DIGITS = "MNIST"


def cases(toy: bool) -> Sequence[str]:
    """Name MNIST, and every two-class set."""
    return [_DIGITS, *BINARY]


def compare(case: str, toy: bool, scratch: pathlib.Path) -> Comparison:
    """Fit float32 rows with two threads."""
    if case == _DIGITS:
        return _compare_digits(toy)
    sides, told = _binary_sides(case, toy)
    targets = (faster(sides[0].name, sides[1].name, 2.5),)
    return Comparison(_TITLE, told, tuple(sides), targets)


def _compare_digits(toy: bool) -> Comparison:
    """Fit with C = 10, gamma = 0.02 and predict all test images."""
    digits = read_mnist(toy)
    few, all_rows = (500, len(digits.X)) if toy else (20_000, 60_000)
    libsvm, grown = (300, (250, 500)) if toy else (LIBSVM_ROWS, ROWS)
    sides: list[Side] = []
    targets: list[Target] = []
    for rows, fit_target, predict_target in ((few, 5.0, 3.5), (all_rows, 3.0, 1.5)):
        made = _digit_sides(digits, rows, {"ours": _ours, "intelex": _intelex})
        sides += made
        fit, predict, their_fit, their_predict = (side.name for side in made)
        targets += [
            faster(fit, their_fit, fit_target),
            faster(predict, their_predict, predict_target),
            no_worse(predict, their_predict, "accuracy", 1e-3),
        ]
    sides += _digit_sides(digits, libsvm, {"LIBSVM": _libsvm})
    known = {side.name for side in sides}
    growth = _digit_sides(digits, grown, {"ours": _ours})
    sides += [side for side in growth if side.name not in known]
    targets.append(_growth([f"ours, fit {rows}" for rows in grown], 2.0))
    told = f"{digits.name}, first {few} and {all_rows} rows"
    return Comparison(_TITLE, told, tuple(sides), tuple(targets))


def _ours(**how: Any) -> Any:
    return KernelSVM(n_jobs=_THREADS, **how)


def _intelex(**how: Any) -> Any:
    from sklearnex.svm import SVC as Theirs  # noqa: N811 - another class of the same name

    return Theirs(cache_size=2000, **how)


def _libsvm(**how: Any) -> Any:
    return SVC(cache_size=2000, **how)


_PACKAGES = {"ours": "widemargin", "intelex": INTELEX, "LIBSVM": "scikit-learn"}
_SETTINGS = {
    "ours": "KernelSVM(C={C:g}, gamma={gamma:g}, n_jobs=2)",
    "intelex": "sklearnex.svm.SVC(C={C:g}, gamma={gamma:g}, cache_size=2000), 2 threads",
    "LIBSVM": "SVC(C={C:g}, gamma={gamma:g}, cache_size=2000)",
}


def _digit_sides(
    digits: Digits, rows: int | Sequence[int], makers: dict[str, Callable[..., Any]]
) -> list[Side]:
    """Sides that fit and predict, or only fit if there are several numbers of rows."""
    how = {"C": 10.0, "gamma": 0.02}
    sides = []
    for who, make in makers.items():
        for n in (rows,) if isinstance(rows, int) else rows:
            X, y = digits.X[:n], digits.y[:n]
            fitted: dict[str, Any] = {}
            shared = {
                "settings": _SETTINGS[who].format(**how),
                "package": _PACKAGES[who],
                "threads": _THREADS,
            }

            def fit(_: Any, make: Any = make, X: Any = X, y: Any = y, fitted: Any = fitted) -> Any:
                fitted["model"] = make(**how).fit(X, y)
                return fitted["model"]

            def figures(model: Any) -> dict[str, float]:
                return {"support vectors": float(len(model.support_))}

            sides.append(Side(f"{who}, fit {n}", work=fit, figures=figures, **shared))
            if not isinstance(rows, int):
                continue

            def predict(model: Any) -> np.ndarray:
                return model.predict(digits.test)

            def right(answers: np.ndarray) -> dict[str, float]:
                return {"accuracy": float(np.mean(answers == digits.test_y))}

            sides.append(
                Side(
                    f"{who}, predict {len(digits.test)} of {n}",
                    work=predict,
                    figures=right,
                    prepare=lambda _, fit=fit, fitted=fitted: fitted.get("model") or fit(None),
                    **shared,
                )
            )
    return sides


def _binary_sides(name: str, toy: bool) -> tuple[list[Side], str]:
    """Fits of a large two-class set, and a description of the data."""
    file, C, gamma = BINARY[name]
    if toy:
        X, y = make_classification(400, 20, random_state=0)
        X, told = X.astype(np.float32), f"made data for {name}"
    else:
        rows, y = load_svmlight_file(str(folder(name) / file), dtype=np.float32)
        X, told = rows.toarray(), f"{name}, {rows.shape[0]} x {rows.shape[1]} (dense)"
    how = {"C": C, "gamma": gamma}
    sides = [
        Side(
            f"{who}, fit {name}",
            settings=_SETTINGS[who].format(**how),
            work=lambda _, make=make: make(**how).fit(X, y),
            figures=lambda model: {"support vectors": float(len(model.support_))},
            package=_PACKAGES[who],
            threads=_THREADS,
        )
        for who, make in (("ours", _ours), ("intelex", _intelex))
    ]
    return sides, told


def _growth(sides: Sequence[str], most: float) -> Target:
    """Require that time grows at most with this power of the rows, from the first to the last."""

    def found(*outcomes: Outcome) -> tuple[str, bool]:
        rows = [int(one.side.name.split()[-1]) for one in outcomes]
        power = np.log(outcomes[-1].best / outcomes[0].best) / np.log(rows[-1] / rows[0])
        times = ", ".join(f"{one.best:.2f}" for one in outcomes)
        return f"power {power:.2f} ({times} s)", bool(power <= most)

    return Target(f"time grows at most with rows^{most:g}", tuple(sides), found)
