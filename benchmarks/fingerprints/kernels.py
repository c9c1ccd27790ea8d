"""Fingerprints of kernel learners."""

from __future__ import annotations

import itertools
import math
import pathlib
import random
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.fingerprints.data import a9a, digits, moons
from benchmarks.fingerprints.linear import STORED
from benchmarks.fingerprints.notes import Notes, put_certificate, put_kernel


def shared_letters(a: str, b: str) -> float:
    """A kernel on strings: the number of letters two words share, with multiplicity."""
    return float(sum(a.count(letter) * b.count(letter) for letter in "aeioulst"))


def product_of(a: np.ndarray, b: np.ndarray) -> float:
    """A kernel on vectors, in Python."""
    return float((np.dot(a, b) + 1.0) ** 2)


KERNELS: dict[str, dict[str, Any]] = {
    "rbf": {"gamma": 0.5},
    "rbf scale": {"gamma": "scale"},
    "rbf sigma": {"sigma": 1.5},
    "poly": {"kernel": "poly", "degree": 3, "coef0": 1.0, "gamma": 0.5},
    "linear": {"kernel": "linear"},
    "laplace": {"kernel": "laplace", "gamma": 0.7},
    "laplacian": {"kernel": "laplacian", "gamma": "auto"},
}


def two_sets() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Examples of two classes, and of ten."""
    X, y = moons(400)
    D, c = digits(500)
    return {"moons": (X, y), "digits": (D / 16.0, c)}


def words_and_kinds(n: int) -> tuple[list[str], list[str]]:
    """Short strings of two kinds."""
    rng = random.Random(3)
    kinds = [rng.choice(("latin", "greek")) for _ in range(n)]
    parts = {"latin": ("us", "um", "a", "is", "ter", "vol"), "greek": ("os", "on", "log", "ph")}
    return ["".join(rng.choice(parts[kind]) for _ in range(5)) for kind in kinds], kinds


def kernel_perceptron(notes: Notes, data: pathlib.Path) -> None:
    """KernelPerceptron: kernels, rules, keeps, budgets, continued training."""
    sets = two_sets()
    (X, y), (D, c) = sets.values()
    ways: dict[str, dict[str, Any]] = {
        **KERNELS,
        **{f"rule {rule}": {"rule": rule} for rule in ("margin", "pa", "pa1", "pa2")},
        "last": {"keep": "last"},
        "vote": {"keep": "vote"},
        "ovr": {"multiclass": "ovr"},
        "ovr vote": {"multiclass": "ovr", "keep": "vote"},
        "no shuffle, ties": {"shuffle": False, "ties": "predict"},
        "once": {"shuffle": "once"},
        "draw": {"shuffle": "draw"},
        "part of an epoch": {"epochs": 0.3},
        "eta decays": {"eta": (1.0, 0.5)},
        "validation": {"validation": 0.2, "patience": 2, "epochs": 10},
        "balanced": {"class_weight": "balanced"},
        "little memory": {"max_memory": "1MB"},
        "two threads": {"n_jobs": 2},
        **{
            f"budget {forget}": {"budget": 40, "forget": forget, "keep": "last"}
            for forget in ("projectron", "forgetron", "random")
        },
        "budget projectron average": {"budget": 40},
    }
    for (what, (A, b)), (name, how) in itertools.product(sets.items(), ways.items()):
        kinds = ("dense64", "sparse32") if name in KERNELS else ("dense64",)
        for kind in kinds:
            _kernel_case(notes, f"{what}/{kind}/{name}", STORED[kind](A), b, **how)
    _kernel_objects(notes)
    _kernel_going_on(notes, D, c)
    _kernel_costs(notes, X, y)


def _kernel_case(notes: Notes, name: str, X: Any, y: Any, **how: Any) -> None:
    import widemargin as wm

    with notes.case(f"KernelPerceptron/{name}") as put:
        settings = {"gamma": 0.5, "epochs": 3, "random_state": 1, **how}
        if "sigma" in settings or settings.get("kernel") == "linear":
            del settings["gamma"]
        model = wm.KernelPerceptron(**settings).fit(X[:300], y[:300])
        put_kernel(put, model, X[300:])
        if settings.get("keep") == "vote":
            put("log", [tuple(one) for one in model.log_])
            for keep in ("last", "average"):
                put(f"using {keep}", model.using(keep).decision_function(X[300:]))


def _kernel_objects(notes: Notes) -> None:
    """Strings, functions and matrices of kernel values."""
    import widemargin as wm

    words, kinds = words_and_kinds(150)
    X, y = moons(150)
    K = wm.gram_matrix(X, "rbf", gamma=0.8)
    for learner in ("KernelPerceptron", "KernelSVM"):
        more = {"epochs": 3, "random_state": 0} if learner == "KernelPerceptron" else {}
        for name, kernel, examples, labels in (
            ("ngrams", "ngrams", words, kinds),
            ("function of strings", shared_letters, words, kinds),
            ("function of vectors", product_of, X, y),
        ):
            with notes.case(f"{learner}/{name}") as put:
                model = getattr(wm, learner)(kernel=kernel, **more)
                put_kernel(put, model.fit(examples[:100], labels[:100]), examples[100:])
        with notes.case(f"{learner}/precomputed") as put:
            model = getattr(wm, learner)(kernel="precomputed", **more)
            put_kernel(put, model.fit(K[:100, :100], y[:100]), K[100:, :100])


def _kernel_going_on(notes: Notes, X: np.ndarray, y: np.ndarray) -> None:
    import widemargin as wm

    for keep, rule in itertools.product(("average", "last", "vote"), ("perceptron", "pa1")):
        with notes.case(f"KernelPerceptron/partial_fit/{keep}/{rule}") as put:
            model = wm.KernelPerceptron(gamma=0.5, keep=keep, rule=rule, random_state=0)
            for most in (5, 8, 10):
                known = np.flatnonzero(y < most)[20 * most - 100 : 20 * most]
                model.partial_fit(X[known], y[known])
            put_kernel(put, model, X[400:])


def _kernel_costs(notes: Notes, X: np.ndarray, y: np.ndarray) -> None:
    import widemargin as wm

    cost = np.random.default_rng(0).integers(0, 3, 300) / 2.0
    with notes.case("KernelPerceptron/sample_weight") as put:
        model = wm.KernelPerceptron(gamma=0.5, epochs=3, random_state=0)
        put_kernel(put, model.fit(X[:300], y[:300], sample_weight=cost), X[300:])
    with notes.case("KernelPerceptron/held out") as put:
        model = wm.KernelPerceptron(gamma=0.5, epochs=9, patience=2, random_state=0)
        put_kernel(put, model.fit(X[:200], y[:200], X_val=X[200:300], y_val=y[200:300]), X[300:])
    with notes.case("KernelSVM/sample_weight") as put:
        model = wm.KernelSVM(gamma=0.5).fit(X[:300], y[:300], sample_weight=cost)
        put_kernel(put, model, X[300:])
        put_certificate(put, model.certificate_)


def kernel_svm(notes: Notes, data: pathlib.Path) -> None:
    """KernelSVM: kernels, several classes, hard margins, landmarks."""
    import widemargin as wm

    sets = two_sets()
    (X, _), (D, _) = sets.values()
    ways: dict[str, dict[str, Any]] = {
        **KERNELS,
        **{f"C={C:g}": {"C": C} for C in (0.01, 0.1, 10.0, 100.0)},
        "tight": {"tol": 1e-6},
        "hard": {"C": math.inf, "gamma": 20.0},
        "hard, in vain": {"C": math.inf, "kernel": "linear"},
        "ovr": {"multiclass": "ovr"},
        "scores of pairs": {"decision_function_shape": "ovo"},
        "balanced": {"class_weight": "balanced"},
        "little memory": {"max_memory": "400KB"},
        "low rank 30": {"low_rank": 30},
        "low rank 30 ovr": {"low_rank": 30, "multiclass": "ovr"},
        "two threads": {"n_jobs": 2},
        "probability": {"probability": True, "random_state": 0},
    }
    for (what, (A, b)), (name, how) in itertools.product(sets.items(), ways.items()):
        kinds = tuple(STORED) if name in KERNELS else ("dense64", "dense32")
        for kind in kinds:
            rows = STORED[kind](A)
            with notes.case(f"KernelSVM/{what}/{kind}/{name}") as put:
                settings = {"gamma": 0.5, **how}
                if "sigma" in settings or settings.get("kernel") == "linear":
                    del settings["gamma"]
                model = wm.KernelSVM(**settings).fit(rows[:300], b[:300])
                put_kernel(put, model, rows[300:])
                put("intercept", model.intercept_)
                put("n_support", model.n_support_)
                put_certificate(put, model.certificate_)
                if "probability" in how:
                    put("probabilities", model.predict_proba(rows[300:]))
    for what, (A, b) in sets.items():
        with notes.case(f"KernelSVM/{what}/warm start") as put:
            model = wm.KernelSVM(gamma=0.5, warm_start=True).fit(A, b)
            put_kernel(put, model.set_params(C=20.0).fit(A, b), A[:50])
    if data.is_dir():
        A, b = a9a(data, 3_000)
        with notes.case("KernelSVM/real a9a") as put:
            model = wm.KernelSVM(gamma=0.05, n_jobs=2).fit(A, b)
            put_kernel(put, model, A[:300])
            put_certificate(put, model.certificate_)
    _kernel_functions(notes, X, D)


def _kernel_functions(notes: Notes, X: np.ndarray, D: np.ndarray) -> None:
    """Gram matrices, and the checks of kernels."""
    import widemargin as wm

    for what, A in {"moons": X[:60], "digits": D[:60], "sparse": sp.csr_matrix(D[:60])}.items():
        for name, how in KERNELS.items():
            with notes.case(f"gram_matrix/{what}/{name}") as put:
                settings = {"kernel": "rbf", **how}
                put("values", wm.gram_matrix(A, settings.pop("kernel"), **settings))
    for name, kernel in {
        "product": product_of,
        "no kernel": lambda a, b: -abs(a[0] - b[0]),
    }.items():
        with notes.case(f"check_kernel/{name}") as put:
            found = wm.check_kernel(kernel, X[:50])
            put("figures", [found.legal, found.smallest, found.largest, found.asymmetry])
