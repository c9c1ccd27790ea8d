"""The defaults for texts, compared with sublinear tf-idf bigrams and LinearSVC."""

from __future__ import annotations

import gzip
import json
import lzma
import pathlib
import random
import time
from collections.abc import Callable, Iterable
from typing import Any

from benchmarks.data import folder
from benchmarks.harness import Comparison, Outcome, Outcomes, Side, Target

#: A document and its label.
Example = tuple[str, str]
#: The training and test parts of sets, by name.
Sets = dict[str, tuple[list[Example], list[Example]]]
_RELIGION = ("alt.atheism", "soc.religion.christian", "talk.religion.misc")
#: How many points of accuracy the defaults may be below the peer, and how much faster they must be.
_POINTS, _TIMES = 0.3, 2.0
_PEER = "TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2)), LinearSVC()"


def compare(toy: bool, scratch: pathlib.Path) -> Comparison:
    """Train on the training part of each set, and measure on the test part.

    The defaults were chosen on held-out training documents (`choose` shows how); the test parts
    were used only for the figures here.
    """
    sets = text_sets()
    if toy:
        sets = {name: (_some(train, 120), _some(test, 60)) for name, (train, test) in sets.items()}

    def all_of(make: Callable[[int], Any]) -> Callable[[int], dict[str, float]]:
        return lambda repeat: _learn_all(sets, lambda: make(repeat))

    return Comparison(
        title="the defaults for texts",
        data="IMDB; the 20 newsgroups as they are, and some or all groups without the headers;"
        " Rotten Tomatoes, SMS spam and ATIS intents; sizes see below",
        sides=(
            Side("ours", "TextClassifier().fit, score", all_of(_ours), dict),
            Side("peer", f"{_PEER}: fit, score", all_of(_peer), dict, package="scikit-learn"),
        ),
        targets=[target for name in sets for target in _targets(name)],
        appendix=lambda outcomes: _set_by_set(sets, outcomes),
    )


def _ours(repeat: int) -> Any:
    from widemargin import TextClassifier

    return TextClassifier(random_state=repeat)


def _peer(repeat: int) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    vectorizer = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2))
    return make_pipeline(vectorizer, LinearSVC(random_state=repeat))


def _learn_all(sets: Sets, make: Callable[[], Any]) -> dict[str, float]:
    """The accuracy on every set, and the training time in seconds."""
    figures = {}
    for name, (train, test) in sets.items():
        model, columns = make(), _columns(train)
        began = time.perf_counter()
        model.fit(*columns)
        figures[f"{name}: s"] = time.perf_counter() - began
        figures[f"{name}: accuracy"] = float(model.score(*_columns(test)))
    return figures


def _targets(name: str) -> list[Target]:
    def close(mine: Outcome, other: Outcome) -> tuple[str, bool]:
        gain = 100.0 * (_accuracy(mine, name) - _accuracy(other, name))
        return f"{gain:+.2f} points", gain >= -_POINTS

    def fast(mine: Outcome, other: Outcome) -> tuple[str, bool]:
        ratio = _seconds(other, name) / _seconds(mine, name)
        return f"{ratio:.2f}x", ratio >= _TIMES

    sides = ("ours", "peer")
    return [
        Target(f"{name}: at most {_POINTS} points below the peer", sides, close),
        Target(f"{name}: learns >= {_TIMES:g}x as fast as the peer", sides, fast),
    ]


def _accuracy(outcome: Outcome, name: str) -> float:
    return outcome.mean(f"{name}: accuracy") or 0.0


def _seconds(outcome: Outcome, name: str) -> float:
    return min(figures[f"{name}: s"] for figures in outcome.figures)


def _set_by_set(sets: Sets, outcomes: Outcomes) -> str:
    """A line for each set: sizes, accuracies in percent, seconds of training."""
    lines = [
        "| set | learned | tested | classes | ours, % | peer, % | ours, s | peer, s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, (train, test) in sets.items():
        counts = [len(train), len(test), len({label for _, label in train})]
        scores = [f"{100.0 * _accuracy(outcomes[side], name):.2f}" for side in ("ours", "peer")]
        times = [f"{_seconds(outcomes[side], name):.2f}" for side in ("ours", "peer")]
        lines.append(f"| {' | '.join(map(str, [name, *counts, *scores, *times]))} |")
    return "\n".join(lines)


def text_sets() -> Sets:
    """The training and test parts of every set of texts."""
    posts = [_json_lines(folder("20newsgroups") / f"{part}.jsonl.xz") for part in _PARTS]

    def groups(belongs: Callable[[str], bool]) -> tuple[list[Example], list[Example]]:
        chosen = [
            [(_body(text), group) for text, group in part if belongs(group)] for part in posts
        ]
        return chosen[0], chosen[1]

    imdb = [_json_lines(folder("imdb") / f"{part}.jsonl.xz") for part in _PARTS]
    return {
        "IMDB": (imdb[0], imdb[1]),
        "20 newsgroups": (posts[0], posts[1]),
        "all groups": groups(lambda group: True),
        "comp": groups(lambda group: group.startswith("comp.")),
        "sci": groups(lambda group: group.startswith("sci.")),
        "rec": groups(lambda group: group.startswith("rec.")),
        "religion": groups(lambda group: group in _RELIGION),
        "hardware": groups(lambda group: group.startswith("comp.sys.")),
        "politics": groups(lambda group: group.startswith("talk.politics.")),
        "Rotten Tomatoes": _rotten_tomatoes(),
        "SMS spam": _sms(),
        "ATIS intents": _atis(),
    }


_PARTS = ("train", "test")


def _json_lines(path: pathlib.Path) -> list[Example]:
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    return [(one["text"], one["label"]) for one in found]


def _body(post: str) -> str:
    """A post without its headers, which may name the group."""
    return post.partition("\n\n")[2]


def _rotten_tomatoes() -> tuple[list[Example], list[Example]]:
    """Rotten Tomatoes, with every tenth sentence for testing."""
    train, test = list[Example](), list[Example]()
    for label in ("pos", "neg"):
        path = folder("rotten-tomatoes") / f"rt-polarity.{label}.gz"
        for number, line in enumerate(_lines(path)):
            (train if number % 10 else test).append((line, label))
    return train, test


def _sms() -> tuple[list[Example], list[Example]]:
    """SMS spam, with the last 1000 messages for testing."""
    rows = [line.split("\t", 1) for line in _lines(folder("sms-spam") / "SMSSpamCollection.gz")]
    found = [(text, label) for label, text in rows]
    return found[:-1000], found[-1000:]


def _atis() -> tuple[list[Example], list[Example]]:
    def part(name: str) -> list[Example]:
        texts, labels = (_lines(folder("atis") / f"{name}.{kind}.gz") for kind in _ATIS)
        return list(zip(texts, labels, strict=True))

    return part("train") + part("dev"), part("test")


_ATIS = ("seq.in", "label")


def _lines(path: pathlib.Path) -> Iterable[str]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [line.strip("\n") for line in lines]


def _some(examples: list[Example], most: int) -> list[Example]:
    """A few of the examples, from several classes."""
    return random.Random(0).sample(examples, min(most, len(examples)))


def _columns(examples: list[Example]) -> tuple[list[str], list[str]]:
    return [text for text, _ in examples], [label for _, label in examples]


def choose(most: int = 6250) -> None:
    """Print the accuracy of candidates on a held-out fifth of at most `most` training documents."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    from widemargin import LinearSVM, PassiveAggressive, Perceptron, TextClassifier

    def svm(C: float, **how: Any) -> Any:
        return TextClassifier(LinearSVM(C=C, loss="squared_hinge", random_state=0), **how)

    def online(rule: str, **how: Any) -> Any:
        learner = PassiveAggressive(rule=rule, C=0.5, epochs=5, fit_intercept="auto")
        return TextClassifier(learner.set_params(random_state=0), **how)

    peer = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2))
    perceptron = Perceptron(epochs=5, fit_intercept=0.1, random_state=0)
    candidates = {
        "peer": make_pipeline(peer, LinearSVC()),
        **{f"svm, C={C:g}": svm(C, idf="seen") for C in (0.5, 1, 2, 3)},
        "svm, C=2, all columns": svm(2, idf=True),
        "svm, C=2, words alone": svm(2, idf="seen", ngrams=1),
        "svm, C=2, without idf": svm(2),
        "pa2 with idf": online("pa2", idf="seen"),
        "pa2": online("pa2"),
        "perceptron": TextClassifier(perceptron),
    }
    for name, (train, _) in text_sets().items():
        chosen = _some(train, most)
        cut = len(chosen) // 5
        (X, y), (X_held, y_held) = _columns(chosen[cut:]), _columns(chosen[:cut])
        for candidate, model in candidates.items():
            score = 100.0 * model.fit(X, y).score(X_held, y_held)
            print(f"{name:<16} {candidate:<24} {score:.2f}", flush=True)


if __name__ == "__main__":
    choose()
