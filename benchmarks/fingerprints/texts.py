"""Fingerprints of text learners."""

from __future__ import annotations

import itertools
import pathlib
from collections.abc import Sequence
from typing import Any

from benchmarks.fingerprints.data import made_texts, newsgroups
from benchmarks.fingerprints.notes import Notes, Put, put_history, put_matrix


def texts(notes: Notes, data: pathlib.Path) -> None:
    """HashedText and TextClassifier."""
    import widemargin as wm

    sets = {"made": made_texts(200, 0)}
    if data.is_dir():
        sets["real news"] = newsgroups(data, 600)
    hashings: dict[str, dict[str, Any]] = {
        "as shipped": {},
        "pairs, counts": {"ngrams": 2, "weighting": "count", "norm": None},
        "idf": {"idf": True, "bits": 12},
        "signed, binary": {"signed": True, "weighting": "binary", "bits": 10},
        "characters": {"analyzer": "char", "ngrams": (2, 3), "bits": 14},
        "within words": {"analyzer": "char_wb", "ngrams": 3, "lowercase": False, "bits": 14},
        "two threads": {"n_jobs": 2, "ngrams": 2, "idf": True},
    }
    for (what, (docs, _)), (name, how) in itertools.product(sets.items(), hashings.items()):
        with notes.case(f"HashedText/{what}/{name}") as put:
            hashed = wm.HashedText(**how)
            put_matrix(put, "fitted", hashed.fit_transform(docs[:150]))
            put_matrix(put, "asked", hashed.transform(docs[150:200]))
    learners: dict[str, tuple[Any, dict[str, Any]]] = {
        "perceptron": (wm.Perceptron(epochs=5, fit_intercept=0.1, random_state=0), {"bits": 16}),
        "two threads": (
            wm.Perceptron(epochs=5, fit_intercept=0.1, n_jobs=2, random_state=0),
            {"bits": 16, "n_jobs": 2},
        ),
        "idf, vote": (wm.Perceptron(keep="vote", epochs=3, random_state=1), {"idf": True}),
        "characters, pa": (
            wm.PassiveAggressive(epochs=3, random_state=1),
            {"analyzer": "char_wb", "ngrams": (2, 4), "bits": 14},
        ),
        "logistic": (wm.OnlineLogistic(epochs=3, random_state=1), {"bits": 15}),
        "svm": (wm.LinearSVM(loss="hinge", random_state=1), {"bits": 15}),
    }
    for (what, (docs, labels)), (name, (learner, how)) in itertools.product(
        sets.items(), learners.items()
    ):
        half = len(docs) * 3 // 4
        with notes.case(f"TextClassifier/{what}/{name}") as put:
            model = wm.TextClassifier(learner, **{"bits": 15, **how})
            model.fit(docs[:half], labels[:half])
            put_text(put, model, docs[half:])
            if name == "logistic":
                put("probabilities", model.predict_proba(docs[half:]))
        with notes.case(f"TextClassifier/{what}/{name}, going on") as put:
            if how.get("idf") or name == "svm":
                continue
            model = wm.TextClassifier(learner, **{"bits": 15, **how})
            for a in range(0, half, 50):
                model.partial_fit(docs[a : a + 50], labels[a : a + 50])
            put_text(put, model, docs[half:])


def put_text(put: Put, model: Any, docs: Sequence[str]) -> None:
    """What a text classifier has learned, and its predictions."""
    put("classes", model.classes_)
    put_matrix(put, "coef", model.learner_.coef_)
    put("intercept", model.learner_.intercept_)
    put("scores", model.decision_function(docs))
    put("answers", model.predict(docs))
    put_history(put, model.history_)
    put(
        "strongest",
        [f"{label} {name}" for label, top in model.top_features(5).items() for name, _ in top],
    )
    found = model.explain(docs[0], top=4)
    put("explained", [reason.feature for reason in found.reasons])
    put("shares", [reason.share for reason in found.reasons])
