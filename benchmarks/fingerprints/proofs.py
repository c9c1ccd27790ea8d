"""Fingerprints of proofs and of small functions."""

from __future__ import annotations

import itertools
import pathlib
import tempfile
from typing import Any

import numpy as np

from benchmarks.fingerprints.data import (
    a9a,
    cancer,
    digits,
    iris,
    made_texts,
    moons,
    separable,
    wordy,
)
from benchmarks.fingerprints.notes import (
    Notes,
    put_certificate,
    put_history,
    put_linear,
    put_matrix,
)
from benchmarks.fingerprints.shell import write_examples


def proofs(notes: Notes, data: pathlib.Path) -> None:
    """certify, verify and shattered."""
    import widemargin as wm

    corners = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    X, y = iris()
    C, b = cancer()
    W, v = separable(80, 12, seed=0)
    S, s = wordy(400, 3_000, 2, seed=2)
    many, m = separable(60, 500, seed=1)
    close = np.array([[0.0, 1.0], [1e-9, 1.0], [1.0, 1.0], [1.0 + 1e-9, 1.0]])
    cases: dict[str, tuple[Any, Any, dict[str, Any]]] = {
        "and": (corners, [0, 0, 0, 1], {}),
        "or": (corners, [0, 1, 1, 1], {}),
        "xor": (corners, [0, 1, 1, 0], {}),
        "xor in feature space": (corners, [0, 1, 1, 0], {"kernel": "poly", "degree": 2}),
        "no bias": (W, v, {"bias": False}),
        "bias 3": (W, v, {"bias": 3.0}),
        "iris, pairs": (X, y, {}),
        "iris, rest": (X, y, {"multiclass": "rest"}),
        "digits, pairs": (*digits(120), {}),
        "cancer": (C, b, {}),
        "gaussian": (W, v, {}),
        "tight": (W, v, {"tol": 1e-10}),
        "unmeasured": (W, v, {"tol": None}),
        "margin, asked": (W, v, {"margin": 0.05}),
        "margin, too wide": (W, v, {"margin": 10.0}),
        "sparse": (S, s, {}),
        "many features": (many, m, {}),
        "many features, gram": (many @ many.T, m, {"gram": True, "bias": False}),
        "close": (close, [0, 1, 0, 1], {}),
        "one class": (W, np.ones(len(v), int), {}),
        "tiny": (W * 1e-100, v, {}),
        "moons, rbf": (*moons(60), {"kernel": "rbf", "gamma": 2.0}),
    }
    if data.is_dir():
        cases["real a9a"] = (*a9a(data, 800), {})
    for name, (A, labels, how) in cases.items():
        with notes.case(f"certify/{name}") as put:
            found = wm.certify(A, labels, **how)
            put_certificate(put, found)
            kernel = {k: value for k, value in how.items() if k in ("degree", "gamma")}
            known = wm.gram_matrix(A, how["kernel"], **kernel) if "kernel" in how else A
            put("verified", found.verify(known, labels))
    triangle = [[0, 0], [1, 0], [0, 1]]
    for name, (points, how) in {
        "triangle": (triangle, {}),
        "triangle, no bias": (triangle, {"bias": False}),
        "triangle, margin": (triangle, {"margin": 0.2}),
        "square": ([*triangle, [1, 1]], {}),
        "five in four dimensions": (np.vstack([np.eye(4), np.zeros(4)]), {}),
    }.items():
        with notes.case(f"shattered/{name}") as put:
            put("answer", wm.shattered(points, **how))
    _runs(notes, W, v)


def _runs(notes: Notes, X: np.ndarray, y: np.ndarray) -> None:
    """Run certificates of trainings."""
    import widemargin as wm

    D, c = digits(150)
    for name, how in {
        "vote": {"keep": "vote"},
        "average": {},
        "one epoch": {"epochs": 1},
        "no bias": {"keep": "vote", "fit_intercept": False},
        "pa1": {"rule": "pa1"},
    }.items():
        for what, (A, b) in {"gaussian": (X, y), "digits": (D, c)}.items():
            with notes.case(f"certify run/Perceptron/{what}/{name}") as put:
                settings = {"epochs": 30, "random_state": 0, **how}
                model = wm.Perceptron(**settings).fit(A, b)
                put_certificate(put, model.certificate_, "alone")
                found = wm.certify(model, A, b)
                put_certificate(put, found)
                put("risk", found.risk())
    for keep in ("vote", "last"):
        with notes.case(f"certify run/KernelPerceptron/{keep}") as put:
            A, b = moons(60)
            model = wm.KernelPerceptron(gamma=2.0, keep=keep, epochs=30, random_state=0).fit(A, b)
            put_certificate(put, wm.certify(model, A, b))


def small_things(notes: Notes, data: pathlib.Path) -> None:
    """compare, losses, networks and spans, which are neither learners nor proofs."""
    import widemargin as wm

    X, y = iris()
    some = {
        "ours": wm.Perceptron(epochs=3, random_state=0),
        "other": wm.LinearSVM(loss="hinge", random_state=0),
    }
    for name, (A, b, how) in {
        "iris": (X, y, {"folds": 2, "repeats": 1}),
        "cancer": (*cancer(), {"folds": 3, "repeats": 2, "learners": some}),
        "texts": (*made_texts(90, 0), {"folds": 3, "repeats": 1, "learners": some}),
    }.items():
        with notes.case(f"compare/{name}") as put:
            found = wm.compare(A, b, **how)
            for entry in sorted(found.entries, key=lambda entry: entry.name):
                put(f"scores/{entry.name}", entry.scores)
            pairs = sorted(found.pairs, key=lambda pair: (pair.better, pair.worse))
            put("pairs", [f"{pair.better} > {pair.worse}" for pair in pairs])
            put("differences", [[p.difference, p.low, p.high, p.p, p.adjusted] for p in pairs])
            put("commonest", found.commonest)
    _readings(notes)
    with notes.case("losses") as put:
        m = np.linspace(-3, 3, 25)
        for name in ("zero_one", "perceptron", "hinge", "logistic"):
            put(name, getattr(wm.losses, name)(m))
    with notes.case("boolean_network") as put:
        network = wm.boolean_network(lambda a, b, c: (a ^ b) & c, 3)
        inputs = np.array(list(itertools.product((0, 1), repeat=3)))
        put("answers", network.predict(inputs))
        put("hidden", network.hidden)
        put("thresholds", network.thresholds)
    with notes.case("spans") as put:
        tags = ["B-NP", "I-NP", "O", "I-NP", "B-VP", "B-VP", "I-VP", "O", "I-PP"]
        found = wm.structured.measure_spans(tags, ["B-NP", *tags[1:4], "O", *tags[5:]])
        put("f1", [float(found.overall.f1)])
        put("spans", [f"{one}" for one in wm.structured.find_spans(tags)])
        for scheme in ("IOB1", "IOB2", "IOBES", "BILOU"):
            put(scheme, wm.structured.convert_tags(tags, scheme))


def _readings(notes: Notes) -> None:
    """Files read as matrices, at once and in chunks, and data frames as input."""
    import pandas as pd

    import widemargin as wm

    ways: dict[str, dict[str, Any]] = {
        "train.svm": {},
        "train.many.svm": {"dtype": np.float32, "n_features": 2_500},
        "train.vw": {"bits": 14},
        "train.csv": {"label": "good"},
        "train.jsonl": {"text": "text", "label": "label", "bits": 14},
        "train.tsv": {"ngrams": 2, "bits": 14},
    }
    with tempfile.TemporaryDirectory() as folder:
        write_examples(pathlib.Path(folder))
        for file, how in ways.items():
            path = pathlib.Path(folder, file)
            with notes.case(f"read/{file}") as put:
                X, y = wm.read(path, **how)
                put_matrix(put, "rows", X)
                put("labels", y)
            with notes.case(f"stream/{file}") as put:
                model = wm.Perceptron(grow=True, random_state=0)
                for X, y in wm.stream(path, block=20_000, **how):
                    model.partial_fit(X, y)
                put_matrix(put, "coef", model.coef_)
                put_history(put, model.history_)
    with notes.case("Perceptron/data frame") as put:
        X, y = cancer()
        frame = pd.DataFrame(X, columns=[f"size {j}" for j in range(30)])
        model = wm.Perceptron(epochs=2, random_state=0).fit(frame, pd.Series(y))
        put_linear(put, model, frame)
        put("names", model.feature_names_in_)
