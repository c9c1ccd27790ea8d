"""Sentences for the tagger benchmarks, from files or generated; and the peers' features."""

from __future__ import annotations

import gzip
import pathlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.harness import Outcome, Target


def made_conll(path: pathlib.Path, sentences: int, seed: int) -> pathlib.Path:
    """Write generated sentences in the columns of CoNLL-2000, for toy runs."""
    rng = np.random.default_rng(seed)
    lines: list[str] = []
    for _ in range(sentences):
        inside = False
        for word in rng.integers(200, size=rng.integers(3, 20)).tolist():
            inside = inside and word % 3 != 0
            kind = ("NP", "VP", "PP")[word % 3]
            lines.append(f"w{word} P{word % 7} {'I' if inside else 'B'}-{kind}")
            inside = word % 3 == 0
        lines.append("")
    # I follows B of the same type only
    path.write_text("\n".join(lines) + "\n")
    return path


def made_conllu(path: pathlib.Path, sentences: int, seed: int) -> pathlib.Path:
    """Write generated sentences in CoNLL-U, for toy runs."""
    rng = np.random.default_rng(seed)
    lines: list[str] = []
    for _ in range(sentences):
        for k, word in enumerate(rng.integers(200, size=rng.integers(3, 20)).tolist()):
            tag = ("NOUN", "VERB", "ADJ")[word % 3]
            lines.append(f"{k + 1}\tw{word}\t_\t{tag}\t{tag}{word % 2}\t_\t{k}\tdep\t_\t_")
        lines.append("")
    path.write_text("\n".join(lines) + "\n")
    return path


def read_columns(path: pathlib.Path) -> list[list[list[str]]]:
    """Sentences of a column file in plain Python, as users of the peers read them."""
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    blocks = text.split("\n\n")
    return [[line.split() for line in block.split("\n") if line] for block in blocks if block]


def crf_features(words: Sequence[str], tags: Sequence[str]) -> Iterator[list[str]]:
    """The features of every token, as in CRF++'s templates for chunking."""
    w = ["__B2__", "__B1__", *words, "__E1__", "__E2__"]
    p = ["__B2__", "__B1__", *tags, "__E1__", "__E2__"]
    for i in range(2, len(w) - 2):
        yield [
            f"w[-2]={w[i - 2]}",
            f"w[-1]={w[i - 1]}",
            f"w[0]={w[i]}",
            f"w[1]={w[i + 1]}",
            f"w[2]={w[i + 2]}",
            f"w[-1]|w[0]={w[i - 1]}|{w[i]}",
            f"w[0]|w[1]={w[i]}|{w[i + 1]}",
            f"p[-2]={p[i - 2]}",
            f"p[-1]={p[i - 1]}",
            f"p[0]={p[i]}",
            f"p[1]={p[i + 1]}",
            f"p[2]={p[i + 2]}",
            f"p[-2]|p[-1]={p[i - 2]}|{p[i - 1]}",
            f"p[-1]|p[0]={p[i - 1]}|{p[i]}",
            f"p[0]|p[1]={p[i]}|{p[i + 1]}",
            f"p[1]|p[2]={p[i + 1]}|{p[i + 2]}",
            f"p[-2]|p[-1]|p[0]={p[i - 2]}|{p[i - 1]}|{p[i]}",
            f"p[-1]|p[0]|p[1]={p[i - 1]}|{p[i]}|{p[i + 1]}",
            f"p[0]|p[1]|p[2]={p[i]}|{p[i + 1]}|{p[i + 2]}",
        ]


def train_crf(path: pathlib.Path, model: pathlib.Path, epochs: int) -> Any:
    """Train CRFsuite's averaged perceptron on a column file, and return the opened model."""
    import pycrfsuite

    trainer = pycrfsuite.Trainer(algorithm="ap", verbose=False)
    trainer.set_params({"max_iterations": epochs})
    for sentence in read_columns(path):
        words, tags, chunks = zip(*sentence, strict=True)
        trainer.append(list(crf_features(words, tags)), list(chunks))
    trainer.train(str(model))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(model))
    return tagger


def tokens_a_second(side: str, tokens: int, floor: float) -> Target:
    """Require a side to reach this number of tokens per second."""

    def found(mine: Outcome) -> tuple[str, bool]:
        speed = tokens / mine.best
        return f"{speed:,.0f} tokens/s", speed >= floor

    return Target(f"{side}: >= {floor:,.0f} tokens/s", (side,), found)
