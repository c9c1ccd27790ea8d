"""Texts of many classes: the cost of a model depends on the columns that occur."""

from __future__ import annotations

import gzip
import multiprocessing
import pathlib
import random
from collections.abc import Callable
from typing import Any

from benchmarks.data import folder
from benchmarks.harness import Comparison, Outcome, Side, Target, faster
from benchmarks.text import read_reviews

Texts = tuple[list[str], list[str]]
_PEER = "TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True), LinearSVC()"


def compare(toy: bool, scratch: pathlib.Path) -> Comparison:
    """Train models of short texts with words and bigrams; the documents are strings in memory.

    The labels of the sentences are random, which is the hardest case: every word is in every class.
    The documents of 1,000 classes are pieces of reviews, four in five with a word that names the
    class.
    """
    sentences, intents = _sentences(200 if toy else 5452, 50), _intents(200 if toy else None)
    many = _topics(*((300, 100) if toy else (100_000, 1000)))

    def ours(name: str, texts: Texts, train: Callable[[Texts, int], Any], settings: str) -> Side:
        def figures(model: Any) -> dict[str, float]:
            path = scratch / "model.wm"
            model.save(path)
            peak = _peak_megabytes(train, texts)
            return {"file (MB)": path.stat().st_size / 1e6, "memory (MB)": peak}

        return Side(name, settings, lambda repeat: train(texts, repeat), figures)

    def peer(name: str, texts: Texts) -> Side:
        return Side(
            name,
            _PEER,
            lambda repeat: _train_peer(texts, repeat),
            lambda _: {"memory (MB)": _peak_megabytes(_train_peer, texts)},
            package="scikit-learn",
        )

    thousand = f"ours, {len(set(many[1])):,} classes"
    return Comparison(
        title="texts of many classes, words and bigrams, 2^20 columns",
        data=f"{len(sentences[0])} beginnings of sentences of film reviews, 50 random labels;"
        f" {len(intents[0])} questions of ATIS, {len(set(intents[1]))} intents;"
        f" {len(many[0])} pieces of IMDB reviews, {len(set(many[1]))} classes",
        sides=(
            ours("ours, 50 labels", sentences, _train_default, "TextClassifier()"),
            peer("scikit-learn, 50 labels", sentences),
            ours("ours, intents", intents, _train_default, "TextClassifier()"),
            peer("scikit-learn, intents", intents),
            ours(thousand, many, _train_perceptron, "TextClassifier(Perceptron(epochs=1))"),
        ),
        targets=(
            faster("ours, 50 labels", "scikit-learn, 50 labels", 2.0),
            faster("ours, intents", "scikit-learn, intents", 2.0),
            _at_most("ours, 50 labels", "file (MB)", 30.0),
            _at_most(thousand, "memory (MB)", 12_000.0),
        ),
    )


def _train_default(texts: Texts, seed: int) -> Any:
    from widemargin import TextClassifier

    return TextClassifier(random_state=seed).fit(*texts)


def _train_perceptron(texts: Texts, seed: int) -> Any:
    from widemargin import Perceptron, TextClassifier

    return TextClassifier(Perceptron(epochs=1, random_state=seed)).fit(*texts)


def _train_peer(texts: Texts, seed: int) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    vectorizer = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
    return make_pipeline(vectorizer, LinearSVC(random_state=seed)).fit(*texts)


def _peak_megabytes(train: Callable[[Texts, int], Any], texts: Texts) -> float:
    """The additional peak memory of a separate process while it trains."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_measure, (train, texts))


def _measure(train: Callable[[Texts, int], Any], texts: Texts) -> float:
    train((texts[0][:200], texts[1][:200]), 0)  # imports, and machine code
    before = _peak_kilobytes()
    train(texts, 0)
    return (_peak_kilobytes() - before) / 1024


def _peak_kilobytes() -> int:
    """The peak memory of this program; `getrusage` would include that of its parent."""
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))


def _at_most(side: str, figure: str, most: float) -> Target:
    """Require a figure of at most this much."""

    def found(mine: Outcome) -> tuple[str, bool]:
        value = mine.mean(figure) or 0.0
        return f"{value:.1f}", value <= most

    return Target(f"{side}: {figure} <= {most:g}", (side,), found)


def _sentences(n: int, classes: int) -> Texts:
    """The first ten words of sentences, with random labels."""
    lines: list[str] = []
    for part in ("pos", "neg"):
        path = folder("rotten-tomatoes") / f"rt-polarity.{part}.gz"
        with gzip.open(path, "rt", encoding="utf-8") as file:
            lines += file.read().splitlines()
    chance = random.Random(0)
    chance.shuffle(lines)
    texts = [" ".join(line.split()[:10]) for line in lines[:n]]
    return texts, [f"label {chance.randrange(classes)}" for _ in texts]


def _intents(most: int | None) -> Texts:
    """The questions of ATIS and their intents."""
    found: list[list[str]] = []
    for kind in ("seq.in", "label"):
        lines: list[str] = []
        for part in ("train", "dev", "test"):
            with gzip.open(folder("atis") / f"{part}.{kind}.gz", "rt", encoding="utf-8") as file:
                lines += file.read().splitlines()
        found.append(lines[:most])
    return found[0], found[1]


def _topics(n: int, classes: int, length: int = 20) -> Texts:
    """Pieces of reviews; in most of them, a word names the class."""
    reviews = read_reviews(folder("imdb") / "train.jsonl.xz", max(10, n // 10))
    words = " ".join(text for _, text in reviews).split()
    chance, texts, labels = random.Random(0), [], []
    for start in range(0, min(n * length, len(words)), length):
        label = f"topic{chance.randrange(classes)}"
        piece = words[start : start + length]
        texts.append(" ".join(piece if chance.random() < 0.2 else [*piece, label]))
        labels.append(label)
    return texts, labels
