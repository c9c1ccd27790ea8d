"""Dependency parsing of UD English EWT and other treebanks: gold tokens, own tags, one core.

No parser of this kind can be installed for comparison: UDPipe 1.2 publishes UAS 84.5 and LAS 81.2
for EWT (UD 2.3), spaCy 0.89 about 22,000 words per second. Settings were chosen on the dev sets. A
parser is trained once; what is timed is parsing, either of words with given tags (parser alone) or
of bare words.
"""

from __future__ import annotations

import pathlib
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.data import folder
from benchmarks.harness import Comparison, LeftOut, Side, Target, at_least, shortest
from benchmarks.sentences import made_conllu, tokens_a_second
from widemargin import Parser
from widemargin.data.readers.conll import read_conll
from widemargin.data.readers.corpus import Corpus
from widemargin.structured.parser.treebank import Places
from widemargin.structured.parser.trees import measure_trees

#: The parsers for English by name: settings, minimum UAS and LAS, and minimum tokens per second, of
#: the parser alone and from words.
ENGLISH: dict[str, tuple[dict[str, Any], float, float, float, float]] = {
    "greedy": ({}, 84.7, 81.5, 250_000, 300_000),
    "beam 8": ({"beam": 8}, 85.7, 82.6, 60_000, 90_000),
    "eisner": ({"system": "eisner"}, 0.0, 0.0, 0.0, 0.0),
    "cle": ({"system": "cle"}, 0.0, 0.0, 0.0, 0.0),
}
#: Other treebanks: folders and file names.
OTHERS = {
    "Turkish IMST": ("ud-turkish-imst", "tr_imst"),
    "Greek GDT": ("ud-greek-gdt", "el_gdt"),
}


_TITLE = "dependency parsing"


def cases(toy: bool) -> Sequence[str]:
    """Name every parser for English, and the other treebanks."""
    return [*(f"EWT, {name}" for name in ENGLISH), *OTHERS]


def compare(case: str, toy: bool, scratch: pathlib.Path) -> Comparison:
    """Train every parser of a case once, then parse the test sentences."""
    if case in OTHERS:
        train, test, data = _read(*OTHERS[case], toy, scratch)
        sides = [
            _side(f"{case}, {system}", ENGLISH[system][0], train, test, toy)
            for system in ("beam 8", "cle")
        ]
        return Comparison(_TITLE, data, tuple(sides))
    train, test, data = _read("ud-english-ewt", "en_ewt", toy, scratch)
    settings, uas, las, speed, from_words = ENGLISH[case.removeprefix("EWT, ")]
    side = _side(case, settings, train, test, toy)
    targets: list[Target] = []
    if speed:
        targets = [
            at_least(side.name, "UAS", uas),
            at_least(side.name, "LAS", las),
            tokens_a_second(side.name, test.tokens, speed),
            at_least(side.name, "tokens/s from words", from_words),
        ]
    return Comparison(_TITLE, data, (side,), tuple(targets))


def _read(place: str, stem: str, toy: bool, scratch: pathlib.Path) -> tuple[Corpus, Corpus, str]:
    """Training and test sentences; generated ones if there are none."""
    try:
        if toy:
            raise LeftOut("toy size")
        where = folder(place)
        train, test = (
            read_conll(where / f"{stem}-ud-{part}.conllu.gz") for part in ("train", "test")
        )
        return train, test, f"{stem}, {len(train)} and {len(test)} sentences"
    except LeftOut as reason:
        made = (read_conll(made_conllu(scratch / f"{stem}{k}.conllu", 60, k)) for k in range(2))
        train, test = made
        return train, test, f"made sentences ({reason})"


def _side(name: str, settings: dict[str, Any], train: Corpus, test: Corpus, toy: bool) -> Side:
    """A trained parser, measured on the test sentences."""
    settings = settings | ({"epochs": 1, "bits": 12, "jackknife": 2} if toy else {})
    began = time.perf_counter()
    model = Parser(**settings, random_state=0).fit(train).model_
    learned = time.perf_counter() - began
    rows = Places.of(test.starts).rows
    labels = np.array(model.labels, object)
    laid_out = model.lay_out(test)

    def figures(found: tuple[np.ndarray, np.ndarray]) -> dict[str, float]:
        heads, given = found[0][rows], labels[found[1][rows]].tolist()
        right = measure_trees(test, heads, given)
        exact = measure_trees(test, heads, given, subtypes=True)
        return {
            "UAS": 100.0 * float(right.uas.f1),
            "LAS": 100.0 * float(right.las.f1),
            "LAS with subtypes": 100.0 * float(exact.las.f1),
            "tokens/s from words": test.tokens / shortest(lambda: model.predict(test), 3),
            "on two threads": test.tokens / shortest(lambda: model.predict(test, n_jobs=2), 3),
            "seconds of training": learned,
        }

    told = ", ".join(f"{key}={value!r}" for key, value in settings.items())
    return Side(
        f"ours, {name}",
        f"Parser({told}, random_state=0), parser alone",
        work=lambda _: model.find_trees(laid_out),
        figures=figures,
    )
