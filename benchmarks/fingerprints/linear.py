"""Fingerprints of linear learners."""

from __future__ import annotations

import itertools
import math
import pathlib
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.fingerprints.data import a9a, cancer, digits, separable, wordy
from benchmarks.fingerprints.notes import Notes, put_certificate, put_history, put_linear

STORED: dict[str, Callable[[np.ndarray], Any]] = {
    "dense64": lambda X: X,
    "dense32": lambda X: X.astype(np.float32),
    "sparse64": sp.csr_matrix,
    "sparse32": lambda X: sp.csr_matrix(X.astype(np.float32)),
}
#: Settings of a Perceptron for two or more classes.
PERCEPTRONS: dict[str, dict[str, Any]] = {
    "as shipped": {},
    **{f"rule {rule}": {"rule": rule} for rule in ("margin", "pa", "pa1", "pa2", "logistic")},
    "keep last": {"keep": "last"},
    "keep vote": {"keep": "vote"},
    "vote pa1 ovr": {"keep": "vote", "rule": "pa1", "multiclass": "ovr"},
    "margin last": {"rule": "margin", "target": 0.3, "keep": "last"},
    "pa1 C": {"rule": "pa1", "C": 0.01, "keep": "last"},
    "pa2 C": {"rule": "pa2", "C": 0.01},
    "batch 7": {"batch": 7},
    "batch 7 last": {"batch": 7, "keep": "last", "rule": "margin"},
    "batch 7 vote": {"batch": 7, "keep": "vote"},
    "batch full": {"batch": "full", "epochs": 8},
    "batch logistic": {"batch": 5, "rule": "logistic", "eta": 0.1},
    "shuffle no": {"shuffle": False},
    "shuffle once": {"shuffle": "once"},
    "shuffle rows": {"shuffle": "rows"},
    "shuffle draw": {"shuffle": "draw"},
    "ties predict": {"ties": "predict", "shuffle": False},
    "eta": {"eta": 0.125},
    "eta decays": {"eta": (0.5, 0.5), "rule": "logistic"},
    "eta decays, last": {"eta": (2.0, 0.25), "keep": "last"},
    "start random": {"start": "random", "keep": "last"},
    "balanced": {"class_weight": "balanced"},
    "validation": {"validation": 0.2, "patience": 2, "epochs": 12},
    "validation vote": {"validation": 0.2, "patience": 1, "epochs": 6, "keep": "vote"},
    "validation last": {"validation": 0.3, "patience": 3, "epochs": 12, "keep": "last"},
    "no intercept": {"fit_intercept": False},
    "intercept 0.25": {"fit_intercept": 0.25},
    "intercept auto": {"fit_intercept": "auto"},
    "ovr": {"multiclass": "ovr"},
    "ovr, two threads": {"multiclass": "ovr", "n_jobs": 2},
    "ovr margin, batches": {"multiclass": "ovr", "rule": "margin", "batch": 4, "keep": "last"},
    "two threads": {"n_jobs": 2},
    "tol": {"tol": 0.5, "epochs": 20, "keep": "last"},
}
LOGISTIC: dict[str, dict[str, Any]] = {
    "as shipped": {},
    "l2": {"l2": 0.001, "eta": 0.1},
    "l2 last": {"l2": 0.01, "eta": (0.5, 0.5), "keep": "last"},
    "l2 ovr": {"l2": 0.001, "multiclass": "ovr", "eta": 0.1},
    "l2 batch": {"l2": 0.001, "batch": 8, "eta": 0.1},
    "vote": {"keep": "vote", "eta": 0.1},
    "validation": {"validation": 0.2, "patience": 2, "epochs": 10, "eta": 0.05},
}
PASSIVE: dict[str, dict[str, Any]] = {
    f"{rule} C={C:g} {keep}": {"rule": rule, "keep": keep} | ({} if rule == "pa" else {"C": C})
    for rule, C, keep in itertools.product(
        ("pa", "pa1", "pa2"), (0.01, 1.0), ("average", "last", "vote")
    )
}


def linear_variants(notes: Notes, data: pathlib.Path) -> None:
    """Every option of the Perceptron, in all four kinds of storage."""
    import widemargin as wm

    sets = {"cancer": cancer(), "digits": digits()}
    for (what, (X, y)), (kind, stored) in itertools.product(sets.items(), STORED.items()):
        rows, asked = stored(X[:450]), stored(X[450:])
        for name, how in PERCEPTRONS.items():
            with notes.case(f"Perceptron/{what}/{kind}/{name}") as put:
                model = wm.Perceptron(**{"epochs": 4, "random_state": 3, **how})
                put_linear(put, model.fit(rows, y[:450]), asked)
                if how.get("keep") == "vote":
                    put("log", [tuple(one) for one in model.log_])
                    for keep in ("last", "average"):
                        put(f"using {keep}", model.using(keep).decision_function(asked))


def linear_others(notes: Notes, data: pathlib.Path) -> None:
    """PassiveAggressive and OnlineLogistic."""
    import widemargin as wm

    sets = {"cancer": cancer(), "digits": digits()}
    learners = {"PassiveAggressive": PASSIVE, "OnlineLogistic": LOGISTIC}
    for (learner, ways), (what, (X, y)), kind in itertools.product(
        learners.items(), sets.items(), ("dense64", "sparse32")
    ):
        rows, asked = STORED[kind](X[:450]), STORED[kind](X[450:])
        for name, how in ways.items():
            with notes.case(f"{learner}/{what}/{kind}/{name}") as put:
                model = getattr(wm, learner)(**{"epochs": 4, "random_state": 3, **how})
                model.fit(rows, y[:450])
                gives = learner == "OnlineLogistic" and how.get("keep") != "vote"
                put_linear(put, model, asked, probabilities=gives)


def linear_special(notes: Notes, data: pathlib.Path) -> None:
    """Sample weights, held-out examples, initial weights, large sparse sets, explanations."""
    import widemargin as wm

    X, y = cancer()
    rng = np.random.default_rng(5)
    cost = rng.integers(0, 3, len(y)) / 2.0
    for name, how in {"average": {}, "vote": {"keep": "vote"}, "pa1": {"rule": "pa1"}}.items():
        with notes.case(f"Perceptron/sample_weight/{name}") as put:
            model = wm.Perceptron(epochs=4, random_state=0, **how).fit(X, y, sample_weight=cost)
            put_linear(put, model, X)
        with notes.case(f"Perceptron/class_weight/{name}") as put:
            weights = {"benign": 1.0, "malignant": 2.5}
            model = wm.Perceptron(epochs=4, random_state=0, class_weight=weights, **how)
            put_linear(put, model.fit(X, y), X)
        with notes.case(f"Perceptron/held out/{name}") as put:
            model = wm.Perceptron(epochs=15, patience=3, random_state=0, **how)
            put_linear(put, model.fit(X[:400], y[:400], X_val=X[400:], y_val=y[400:]), X)
        with notes.case(f"Perceptron/warm_start/{name}") as put:
            model = wm.Perceptron(epochs=3, warm_start=True, random_state=0, **how)
            put_linear(put, model.fit(X[:300], y[:300]).fit(X[200:], y[200:]), X)
    for name, start in {
        "weights": rng.standard_normal(30),
        "weights and bias": (rng.standard_normal((1, 30)), np.array([0.5])),
    }.items():
        with notes.case(f"Perceptron/start/{name}") as put:
            model = wm.Perceptron(epochs=3, keep="last", start=start, random_state=0)
            put_linear(put, model.fit(X, y), X)
    with notes.case("Perceptron/start/weights of classes") as put:
        D, c = digits(300)
        start = rng.standard_normal((10, 64))
        put_linear(put, wm.Perceptron(epochs=3, start=start, random_state=0).fit(D, c), D)
    with notes.case("Perceptron/cycle") as put:
        XOR = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], float)
        model = wm.Perceptron(epochs=50, shuffle=False, keep="vote")
        put_linear(put, model.fit(XOR, [0, 1, 1, 0]), XOR)
    _large_sparse(notes)
    _explanations(notes)


def _large_sparse(notes: Notes) -> None:
    """Enough rows that they are ordered in blocks and the work is split into pieces."""
    import widemargin as wm

    ways = {
        "as shipped": {},
        "rows": {"shuffle": "rows"},
        "draw": {"shuffle": "draw"},
        "auto, pa1": {"fit_intercept": "auto", "rule": "pa1", "C": 0.1},
        "ovr, two threads": {"multiclass": "ovr", "n_jobs": 2},
        "batch": {"batch": 64},
    }
    for classes, dtype in itertools.product((2, 5), (np.float32, np.float64)):
        X, y = wordy(30_000, 20_000, classes, seed=classes)
        X = X.astype(dtype)
        for name, how in ways.items():
            with notes.case(f"Perceptron/wordy {classes}/{np.dtype(dtype)}/{name}") as put:
                model = wm.Perceptron(epochs=2, random_state=1, **how)
                put_linear(put, model.fit(X, y), X[:300])
        wide = X.copy()
        wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
        with notes.case(f"Perceptron/wordy {classes}/{np.dtype(dtype)}/int64 indices") as put:
            put_linear(put, wm.Perceptron(epochs=2, random_state=1).fit(wide, y), wide[:300])
        with notes.case(f"OnlineLogistic/wordy {classes}/{np.dtype(dtype)}/l2") as put:
            model = wm.OnlineLogistic(epochs=2, l2=1e-5, eta=0.5, random_state=1)
            put_linear(put, model.fit(X, y), X[:300], probabilities=True)


def _explanations(notes: Notes) -> None:
    """Explanations of predictions."""
    import widemargin as wm

    for what, (X, y) in {"cancer": cancer(), "digits": digits(300)}.items():
        for keep in ("average", "vote"):
            with notes.case(f"explain/{what}/{keep}") as put:
                model = wm.Perceptron(epochs=2, keep=keep, random_state=0).fit(X, y)
                found = model.explain(X[0], top=5)
                put("score", found.score)
                put("labels", [str(found.prediction), str(found.instead_of)])
                put("features", [reason.feature for reason in found.reasons])
                put("shares", [[r.value, r.weight, r.share] for r in found.reasons])
                if keep == "vote":
                    put("from", [pair for r in found.reasons for pair in r.mistakes or []])


def linear_going_on(notes: Notes, data: pathlib.Path) -> None:
    """partial_fit, also with new classes and features, and learn_one."""
    import widemargin as wm

    X, y = digits(600)
    pieces = [slice(a, a + 60) for a in range(0, 540, 60)]
    learners = {
        "Perceptron": {"shuffle": False},
        "Perceptron vote": {"keep": "vote"},
        "Perceptron ovr": {"multiclass": "ovr", "rule": "margin"},
        "PassiveAggressive": {"C": 0.1},
        "OnlineLogistic": {"eta": 0.1, "l2": 1e-4},
    }
    for name, how in learners.items():
        learner = name.split()[0]
        for kind in ("dense64", "sparse32"):
            with notes.case(f"partial_fit/{name}/{kind}") as put:
                model = getattr(wm, learner)(random_state=2, **how)
                for piece in pieces:
                    classes = range(10) if piece.start == 0 else None
                    model.partial_fit(STORED[kind](X[piece]), y[piece], classes=classes)
                put_linear(put, model, STORED[kind](X[540:]))
        with notes.case(f"partial_fit/{name}/new classes") as put:
            model = getattr(wm, learner)(random_state=2, **how)
            for most in (2, 5, 10):
                known = np.flatnonzero(y < most)[:200]
                model.partial_fit(X[known], y[known], sample_weight=np.full(len(known), 1.5))
            put_linear(put, model, X[540:])
        with notes.case(f"partial_fit/{name}/new features") as put:
            model = getattr(wm, learner)(random_state=2, grow=True, **how)
            for width, piece in zip((20, 41, 64), pieces[:3], strict=True):
                rows = sp.csr_matrix(X[piece][:, :width])
                model.partial_fit(rows, y[piece], classes=range(10))
            put_linear(put, model, sp.csr_matrix(X[540:]))
        with notes.case(f"learn_one/{name}") as put:
            model = getattr(wm, learner)(random_state=2, **how)
            for x, label in dicts(200):
                model.learn_one(x, label)
            put("answers", [model.predict_one(x) for x, _ in dicts(260)])
            put("coef", model.coef_)
            put("intercept", model.intercept_)
            put_history(put, model.history_)


def dicts(n: int) -> Iterator[tuple[dict[str, Any], str]]:
    """Examples as dicts of numbers, strings and booleans; new names and classes appear later."""
    rng = random.Random(7)
    for i in range(n):
        label = rng.choice(("red", "blue", "green")[: 2 + (i > 50)])
        x: dict[str, Any] = {"size": rng.gauss(len(label), 1.0), "kind": rng.choice("abc") + label}
        x[f"word{rng.randint(0, 3 + i // 10)}"] = True
        yield x, label


def linear_svm(notes: Notes, data: pathlib.Path) -> None:
    """LinearSVM with all its options."""
    import widemargin as wm

    X, y = cancer()
    W, v = separable(120, 900, seed=3)
    S, s = wordy(3_000, 4_000, 2, seed=8)
    sets = {"few": (X, y), "many": (W, v), "sparse": (S, s)}
    losses, biases = ("hinge", "squared_hinge"), ("regularised", "free")
    for (what, (A, b)), loss, bias in itertools.product(sets.items(), losses, biases):
        for C in (0.01, 0.1, 1.0, 10.0, 100.0):
            _svm_case(notes, f"{what}/{loss}/{bias}/C={C:g}", A, b, C=C, loss=loss, bias=bias)
    special = {
        "float32": (X.astype(np.float32), y, {}),
        "sparse": (sp.csr_matrix(X), y, {"C": 5.0}),
        "sparse float32": (S.astype(np.float32), s, {"loss": "squared_hinge"}),
        "no intercept": (X, y, {"fit_intercept": False}),
        "intercept 4": (X, y, {"fit_intercept": 4.0}),
        "tight": (X, y, {"tol": 1e-8}),
        "balanced": (X, y, {"class_weight": "balanced"}),
        "few epochs": (S, s, {"epochs": 2}),
        **{
            f"hard {what}, {bias}": (A, b, {"C": math.inf, "bias": bias})
            for what, (A, b) in sets.items()
            for bias in biases
        },
        "hard, no intercept": (W, v, {"C": math.inf, "fit_intercept": False}),
    }
    for name, (A, b, how) in special.items():
        _svm_case(notes, name, A, b, **how)
    D, c = digits(500)
    D = D / 16.0
    T, t = wordy(2_000, 1_500, 6, seed=9)
    for (what, (A, b)), loss in itertools.product({"digits": (D, c), "6": (T, t)}.items(), losses):
        ways = [("ovr", 1), ("ovr", 2), *([("joint", 1)] if loss == "hinge" else [])]
        for multiclass, jobs in ways:
            how = {"loss": loss, "multiclass": multiclass, "n_jobs": jobs}
            _svm_case(notes, f"classes {what}/{loss}/{multiclass}/{jobs}", A, b, **how)
    _svm_case(notes, "classes/joint, C=0.01", D, c, multiclass="joint", C=0.01)
    _svm_case(notes, "classes/hard", D[:150], c[:150], C=math.inf)
    with notes.case("LinearSVM/sample_weight") as put:
        cost = np.random.default_rng(0).integers(0, 4, len(y)) / 2.0
        model = wm.LinearSVM(loss="hinge", random_state=0).fit(X, y, sample_weight=cost)
        put_linear(put, model, X)
        put_certificate(put, model.certificate_)
    for what, (A, b) in {"few": (X, y), "digits": (D, c)}.items():
        with notes.case(f"LinearSVM/path/{what}") as put:
            path = wm.LinearSVM(loss="hinge", random_state=0).path(A, b, [0.01, 0.1, 1.0, 10.0])
            for model in path:
                put(f"C={model.C}/coef", model.coef_)
                put_certificate(put, model.certificate_, f"C={model.C}/certificate")
    if data.is_dir():
        A, b = a9a(data, 6_000)
        for C, loss in itertools.product((0.01, 1.0, 100.0), losses):
            _svm_case(notes, f"real a9a/{loss}/C={C:g}", A, b, C=C, loss=loss)


def _svm_case(notes: Notes, name: str, X: Any, y: np.ndarray, **how: Any) -> None:
    import widemargin as wm

    with notes.case(f"LinearSVM/{name}") as put:
        model = wm.LinearSVM(random_state=4, **how).fit(X, y)
        put_linear(put, model, X[:100])
        put_certificate(put, model.certificate_)
