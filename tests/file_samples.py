"""Small files of every format, and their contents."""

from dataclasses import replace

import numpy as np
import pytest

import widemargin
from widemargin.cli.linear import LinearTrainer
from widemargin.cli.train import run
from widemargin.data.datasets import Classes, EncodeOptions, make_encoder, read_all
from widemargin.data.readers.columns import TableOptions
from widemargin.data.readers.files import Files, ReadOptions


def vectors(n=60, classes=3, seed=0, width=8):
    """Lines of svmlight, with every class among the first ones."""
    rng = np.random.default_rng(seed)
    lines = []
    for i in range(n):
        columns = np.flatnonzero(rng.random(width) < 0.5) + 1
        words = [f"{column}:{rng.normal():.3f}" for column in columns]
        lines.append(" ".join([str(i % classes if i < classes else rng.integers(classes)), *words]))
    return "\n".join(lines) + "\n"


def hashed(n=40):
    """Lines of VW, with importances, some of them 0."""
    rng = np.random.default_rng(1)
    return "".join(
        f"{i % 2} {(1, 2, 0.5, 0)[rng.integers(4) if i > 1 else 0]} |n"
        f" a{rng.integers(9)} b{rng.integers(5)}:{rng.normal():.2f}\n"
        for i in range(n)
    )


def documents(n=40):
    """Lines of fastText."""
    rng = np.random.default_rng(2)
    return "".join(
        f"__label__{'xyz'[i % 3]} " + " ".join(f"word{k}" for k in rng.integers(0, 20, 5)) + "\n"
        for i in range(n)
    )


def table(n=40):
    """A CSV file of numbers, categories and texts."""
    rng = np.random.default_rng(3)
    lines = [
        f"{rng.normal():.3f},{'pqr'[rng.integers(3)]},word{rng.integers(9)} and,{label}"
        for label in ["yes", "no"] * (n // 2)
    ]
    return "\n".join(["a,b,c,label", *lines]) + "\n"


FILES = {
    "f.svm": (vectors(), {}, {}),
    "f.vw": (hashed(), {}, {"text": {"bits": 8}}),
    "f.ft": (documents(), {}, {"text": {"bits": 9, "idf": True}}),
    "f.csv": (table(), {"text": ("c",)}, {"text": {"bits": 6}}),
}
each_file = pytest.mark.parametrize("name", FILES)


def prepared(folder, name, **reading):
    """Write one of those files; return how to read and how to encode it."""
    content, columns, encoding = FILES[name]
    path = folder / name
    path.write_text(content)
    options = ReadOptions(**reading, table=TableOptions(**columns))
    return Files(path, options), EncodeOptions(**encoding)


def loaded(files, encoding=EncodeOptions()):
    encoder, classes = make_encoder(files, encoding), Classes()
    return read_all(files, encoder, classes, learn=True), classes, encoder


def trained(files, encoding, job, learner="perceptron", **options):
    """Train as the shell does, from files that are read and encoded as given."""
    trainer = LinearTrainer(learner, options, replace(job, files=tuple(files.paths)))
    trainer.reading, trainer.encoding = files.options, encoding
    assert run(trainer) == 0
    return widemargin.load_model(job.model)
