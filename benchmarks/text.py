"""From texts to a model with words and bigrams, in five epochs."""

from __future__ import annotations

import json
import lzma
import math
import pathlib
import random

import numpy as np

from benchmarks.commands import run_command, vw_texts, vw_train
from benchmarks.data import folder
from benchmarks.harness import Comparison, Outcome, Side, Target, faster, no_worse
from widemargin.data.encode.text import TextEncoder
from widemargin.data.readers.files import Files

_POSITIVE = "pos"


def compare(toy: bool, scratch: pathlib.Path) -> Comparison:
    """Read labelled texts from a file, train, and save the model; the test part measures accuracy.

    All hash into 2^20 columns. What each side leaves open was chosen on the same 2,500 held-out
    training reviews: our learner and its C; for Vowpal Wabbit the loss (hinge or logistic) and the
    learning rate (0.1, 0.5, 1 or 2); for scikit-learn alpha (1e-4 to 1e-7).
    """
    imdb = folder("imdb")
    most = 500 if toy else None
    learned, unseen = (read_reviews(imdb / f"{part}.jsonl.xz", most) for part in ("train", "test"))
    text, vw, test = scratch / "imdb.txt", scratch / "imdb.vw", scratch / "test.vw"
    text.write_text("".join(f"{label}\t{words}\n" for label, words in learned))
    vw_texts(learned, _POSITIVE, vw)
    vw_texts(unseen, _POSITIVE, test)
    answers = np.array([label for label, _ in unseen])
    documents = [words for _, words in unseen]
    noise = math.sqrt(0.9 * 0.1 / len(unseen))

    def ours(name: str, options: str = "", threads: int = 2) -> Side:
        model = scratch / f"{name}.wm"
        fixed = ["--ngrams", "2", "--epochs", "5", "--bits", "20"]
        chosen = [*fixed, *options.split()]
        arguments = ["train", str(text), *chosen, "--quiet", "--model", str(model)]

        def accuracy(_: object) -> dict[str, float]:
            import widemargin

            return {"accuracy": widemargin.load(model).score(documents, answers)}

        return Side(
            name,
            f"widemargin train FILE {' '.join(chosen)} --model MODEL",
            lambda repeat: run_command(arguments),
            accuracy,
            threads=threads,
        )

    def scikit_learn(repeat: int) -> object:
        from sklearn.feature_extraction.text import HashingVectorizer
        from sklearn.linear_model import SGDClassifier
        from sklearn.pipeline import make_pipeline

        model = SGDClassifier(alpha=3e-6, average=True, max_iter=5, tol=None, random_state=repeat)
        lines = [line.split("\t", 1) for line in text.read_text().splitlines()]
        pipeline = make_pipeline(HashingVectorizer(ngram_range=(1, 2)), model)
        return pipeline.fit([words for _, words in lines], [label for label, _ in lines])

    model, found = scratch / "vw.model", scratch / "vw.found"
    options = "--ngram 2 -b 20 --loss_function logistic -l 1 --passes 5 --holdout_off"

    def vw_accuracy(_: object) -> dict[str, float]:
        vw_train(f"-d {test} -t -i {model} -p {found}")
        positive = np.loadtxt(found) >= 0.0
        return {"accuracy": float(np.mean(positive == (answers == _POSITIVE)))}

    best = "--learner pa --rule pa2 --C 0.5 --idf"
    chunks = [chunk.raw for chunk in Files(str(text)).chunks()]
    hashed = sum(int(np.sum(raw.ends - raw.starts)) for raw in chunks) / 1e6

    def hash_words(repeat: int) -> None:
        encoder = TextEncoder(weighting="count")
        for raw in chunks:
            encoder.encode(raw, 0.0)

    return Comparison(
        title="from texts to a model, words and bigrams, five epochs",
        data=f"{len(learned)} IMDB reviews, {text.stat().st_size / 1e6:.0f} MB, in random order;"
        f" {len(unseen)} others to test",
        sides=(
            ours("ours", best),
            ours("ours, one thread", f"{best} --threads 1", threads=1),
            ours("ours, perceptron", "--learner perceptron"),
            Side("hashing words", "TextEncoder(weighting='count').encode, one core", hash_words),
            Side(
                "Vowpal Wabbit",
                f"-d FILE.vw {options} -c -k -f MODEL (the file holds the words in lower case)",
                lambda repeat: vw_train(
                    f"-d {vw} {options} -c -k --cache_file {scratch / 'vw.cache'} -f {model}"
                ),
                vw_accuracy,
                package="vowpalwabbit",
                threads=None,
            ),
            Side(
                "scikit-learn",
                "HashingVectorizer(ngram_range=(1, 2)), SGDClassifier(alpha=3e-6, average=True,"
                " max_iter=5, tol=None)",
                scikit_learn,
                lambda pipeline: {"accuracy": pipeline.score(documents, answers)},
                package="scikit-learn",
            ),
        ),
        targets=(
            faster("ours", "Vowpal Wabbit", 2.0),
            faster("ours, one thread", "scikit-learn", 14.0),
            no_worse("ours", "Vowpal Wabbit", "accuracy", noise),
            no_worse("ours", "scikit-learn", "accuracy", noise),
            _speed("hashing words", hashed, 150.0),
        ),
    )


def _speed(side: str, megabytes: float, least: float) -> Target:
    """Require this many megabytes per second."""

    def found(mine: Outcome) -> tuple[str, bool]:
        return f"{megabytes / mine.best:.0f} MB/s", megabytes / mine.best >= least

    return Target(f"{side}: >= {least:g} MB/s", (side,), found)


def read_reviews(path: pathlib.Path, most: int | None) -> list[tuple[str, str]]:
    """The label and text of every review, in random order, without line breaks."""
    with lzma.open(path, "rt") as lines:
        found = [json.loads(line) for line in lines]
    random.Random(0).shuffle(found)
    return [(one["label"], " ".join(one["text"].split())) for one in found[:most]]
