"""Fingerprints of structured perceptrons."""

from __future__ import annotations

import pathlib
import random
from collections.abc import Sequence
from typing import Any

from benchmarks.fingerprints.data import made_chunks
from benchmarks.fingerprints.notes import Notes, Put, put_certificate, put_history, put_saved


def _sentences(text: str) -> tuple[list[list[str]], list[tuple[str, ...]]]:
    """Words and parts of speech of generated chunks."""
    blocks = [[line.split() for line in block.split("\n")] for block in text.strip().split("\n\n")]
    words = [[cells[0] for cells in block] for block in blocks]
    return words, [tuple(cells[1] for cells in block) for block in blocks]


def structured_tasks() -> dict[str, tuple[Any, list[Any], list[Any]]]:
    """A task of every kind with examples and gold answers."""
    from widemargin.structured.tasks import Alignment, Constituents, Matching, Reranking, Tagging

    rng = random.Random(0)
    words, tags = _sentences(made_chunks(40, 0))
    lists = [
        [{"model": rng.gauss(0, 1), "length": float(rng.randint(1, 9))} for _ in range(5)]
        for _ in range(40)
    ]
    best = [max(range(5), key=lambda j: x[j]["model"] + 0.3 * x[j]["length"]) for x in lists]
    tables = [
        [[{"near": rng.random(), "odd": float((i + j) % 2)} for j in range(4)] for i in range(3)]
        for _ in range(25)
    ]
    matched = [tuple(rng.sample(range(4), 3)) for _ in tables]
    pairs = [("kitten", "sitten"), ("gray", "grey"), ("colour", "color"), ("anchor", "ankor")] * 3
    aligned = [tuple((i, i) for i in range(min(len(a), len(b)))) for a, b in pairs]
    rules = ["S NP VP", "VP V NP", "VP VP PP", "NP NP PP", "PP P NP", "NP Det N", "NP *", "Det the"]
    grammar = Constituents([*rules, "N *", "V *", "P with", "P near"])
    said = ["Papa ate the caviar with spoons", "Mama saw the boat near the house"]
    trees = [_tree(sentence.split(), high=k == 0) for k, sentence in enumerate(said)]
    return {
        "Tagging": (Tagging(["ADJ", "DET", "NOUN", "VERB"]), words, tags),
        "Reranking": (Reranking(), lists, best),
        "Matching": (Matching(), tables, matched),
        "Alignment": (Alignment(), [(list(a), list(b)) for a, b in pairs], aligned),
        "Constituents": (grammar, [sentence.split() for sentence in said], trees),
    }


def _tree(words: list[str], high: bool) -> Any:
    """Subject, verb, object and a prepositional phrase, which is attached high or low."""
    subject, verb, *rest = words
    noun = ("NP", ("Det", rest[0]), ("N", rest[1]))
    end = ("NP", rest[3]) if len(rest) == 4 else ("NP", ("Det", rest[3]), ("N", rest[4]))
    phrase = ("PP", ("P", rest[2]), end)
    if high:
        predicate: Any = ("VP", ("VP", ("V", verb), noun), phrase)
    else:
        predicate = ("VP", ("V", verb), ("NP", noun, phrase))
    return ("S", ("NP", subject), predicate)


STRUCTURED: dict[str, dict[str, Any]] = {
    "as shipped": {},
    "last": {"keep": "last", "shuffle": False},
    "vote": {"keep": "vote", "epochs": 3},
    "pa": {"rule": "pa"},
    **{rule: {"rule": rule, "C": 0.5} for rule in ("pa1", "pa2")},
    "once, decays": {"shuffle": "once", "eta": (1.0, 0.5)},
    "validation": {"validation": 0.3, "patience": 2},
    "logged": {"log": True, "keep": "last"},
}
#: Options that only some tasks have: cost-augmented search and a beam.
STRUCTURED_MORE: dict[str, dict[str, Any]] = {
    "augmented": {"cost_augmented": True, "rule": "pa1", "C": 0.1},
    **{
        f"beam {update}": {"beam": 2, "update": update}
        for update in ("max-violation", "early", "whole")
    },
}


def structured(notes: Notes, data: pathlib.Path) -> None:
    """StructuredPerceptron on several tasks."""
    import widemargin as wm

    for what, (task, X, Y) in structured_tasks().items():
        more = STRUCTURED_MORE if what == "Tagging" else {}
        if what == "Matching":
            more = {"augmented": STRUCTURED_MORE["augmented"]}
        for name, how in {**STRUCTURED, **more}.items():
            if name == "validation" and len(X) < 4:
                continue
            with notes.case(f"StructuredPerceptron/{what}/{name}") as put:
                model = wm.StructuredPerceptron(
                    task, **{"epochs": 5, "random_state": 0, **how}
                ).fit(X, Y)
                put_structured(put, model, X)
                put_saved(put, model)
                if name == "logged":
                    put_certificate(put, model.certificate())
        with notes.case(f"StructuredPerceptron/{what}/going on") as put:
            model = wm.StructuredPerceptron(task, random_state=0)
            half = len(X) // 2
            put_structured(put, model.partial_fit(X[:half], Y[:half]).partial_fit(X, Y), X)


def put_structured(put: Put, model: Any, X: Sequence[Any]) -> None:
    """What a model of a task has learned, and its predictions."""
    weights = sorted(model.weights_.items())
    put("names", [name for name, _ in weights])
    put("weights", [weight for _, weight in weights])
    put("answers", [repr(found) for found in model.predict(X[:20])])
    put_history(put, model.history_)
