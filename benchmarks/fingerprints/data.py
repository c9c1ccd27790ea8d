"""Data sets: generated, shipped with scikit-learn, or from the folder beside the repository."""

from __future__ import annotations

import gzip
import json
import lzma
import pathlib
import random

import numpy as np
import scipy.sparse as sp


def standardised(X: np.ndarray) -> np.ndarray:
    """Columns with mean 0 and deviation 1."""
    return np.ascontiguousarray((X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12))


def cancer() -> tuple[np.ndarray, np.ndarray]:
    """Two classes, 569 rows, 30 features; in a random order."""
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return standardised(X)[order], np.where(y == 1, "benign", "malignant")[order]


def digits(n: int = 700) -> tuple[np.ndarray, np.ndarray]:
    """Ten classes of small images with integer values from 0 to 16, so that all sums are exact."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return np.ascontiguousarray(X[:n]), y[:n]


def iris() -> tuple[np.ndarray, np.ndarray]:
    """Three classes, 150 rows, in a random order."""
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(1).permutation(len(y))
    return X[order], np.array(["setosa", "versicolor", "virginica"])[y[order]]


def moons(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two half circles that no line separates."""
    from sklearn.datasets import make_moons

    return make_moons(n, noise=0.2, random_state=seed)


def wordy(rows: int, width: int, classes: int, seed: int) -> tuple[sp.csr_matrix, np.ndarray]:
    """Sparse rows of about 20 words, few of them frequent, and labels that are mostly linear."""
    rng = np.random.default_rng(seed)
    columns = np.minimum(np.exp(rng.random((rows, 20)) * np.log(width)).astype(int), width - 1)
    values = rng.integers(1, 4, columns.shape) / 4.0
    place = np.repeat(np.arange(rows), 20)
    X = sp.csr_matrix((values.ravel(), (place, columns.ravel())), shape=(rows, width))
    X.sum_duplicates()
    w = rng.standard_normal((width, classes))
    scores = X @ w + 0.3 * rng.standard_normal((rows, classes))
    return X, np.argmax(scores, axis=1)


def separable(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian rows with a gap between the classes."""
    rng = np.random.default_rng(seed)
    X, w = rng.standard_normal((n, d)), rng.standard_normal(d)
    y = np.where(X @ w > 0, 1, -1)
    return X + 0.2 * np.outer(y, w / np.linalg.norm(w)), y


_WORDS = {
    "DET": ["the", "a", "every", "no"],
    "ADJ": ["old", "green", "happy", "wooden", "flat"],
    "NOUN": ["dog", "cat", "house", "engineer", "boat", "saw", "flat"],
    "VERB": ["barks", "sees", "likes", "builds", "saw"],
}
#: Sentences as (tag, head, label).
_SHAPES = [
    [("DET", 2, "det"), ("NOUN", 3, "nsubj"), ("VERB", 0, "root")],
    [("DET", 3, "det"), ("ADJ", 3, "amod"), ("NOUN", 4, "nsubj"), ("VERB", 0, "root")],
    [
        *[("DET", 2, "det"), ("NOUN", 3, "nsubj"), ("VERB", 0, "root")],
        *[("DET", 6, "det"), ("ADJ", 6, "amod"), ("NOUN", 3, "obj:dir")],
    ],
]


def made_treebank(n: int, seed: int) -> str:
    """Short sentences with trees, as CoNLL-U."""
    rng, lines = random.Random(seed), []
    for _ in range(n):
        for i, (tag, head, label) in enumerate(rng.choice(_SHAPES), 1):
            word = rng.choice(_WORDS[tag])
            lines.append(f"{i}\t{word}\t{word}\t{tag}\t{tag[0]}\t_\t{head}\t{label}\t_\t_")
        lines.append("")
    return "\n".join(lines) + "\n"


def made_chunks(n: int, seed: int) -> str:
    """The same sentences as words, parts of speech and chunks in IOB2."""
    lines = []
    for line in made_treebank(n, seed).split("\n")[:-1]:
        cells = line.split("\t")
        if len(cells) < 4:
            lines.append("")
            continue
        inside = int(cells[0]) > 1 and cells[3] in ("ADJ", "NOUN")
        chunk = "B-VP" if cells[3] == "VERB" else "I-NP" if inside else "B-NP"
        lines.append(f"{cells[1]} {cells[3]} {chunk}")
    return "\n".join(lines) + "\n"


def made_texts(n: int, seed: int) -> tuple[list[str], list[str]]:
    """Documents of three kinds, which differ in some of their words."""
    rng = random.Random(seed)
    about = {
        "sport": ["goal", "team", "Match", "win", "keeper", "striker", "league"],
        "food": ["bread", "soup", "Salt", "oven", "über", "pepper", "cheese"],
        "ship": ["anchor", "Boat", "keel", "harbour", "win", "salt", "mast"],
    }
    common = ["the", "a", "of", "and", "to", "in", "it", "is", "was", "for", "10", "that"]
    labels = [rng.choice(sorted(about)) for _ in range(n)]
    texts = [
        " ".join(rng.choice(about[label] if rng.random() < 0.3 else common) for _ in range(12))
        for label in labels
    ]
    return texts, labels


def first_sentences(path: pathlib.Path, n: int, skip: int = 0) -> str:
    """Some sentences of a gzipped column file, as text."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        blocks = file.read().split("\n\n")
    return "\n\n".join(blocks[skip : skip + n]) + "\n\n"


def newsgroups(data: pathlib.Path, n: int) -> tuple[list[str], list[str]]:
    """Evenly spaced posts of the 20 newsgroups."""
    with lzma.open(data / "20newsgroups" / "train.jsonl.xz", "rt", encoding="utf-8") as file:
        posts = [json.loads(line) for line in file]
    chosen = posts[:: max(1, len(posts) // n)][:n]
    return [post["text"] for post in chosen], [post["label"] for post in chosen]


def a9a(data: pathlib.Path, n: int) -> tuple[sp.csr_matrix, np.ndarray]:
    """The first rows of a9a."""
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(str(data / "a9a" / "a9a.gz"), n_features=123)
    return X[:n], y[:n].astype(np.int64)
