"""Taggers on other sequences: names, parts of speech in Turkish and Greek, letters from pixels.

There are no targets here; the figures show what to expect. Parts of speech are learned with the
settings for English, names and letters with settings that were not tuned at all; letters use early
stopping on a tenth of the training words.
"""

from __future__ import annotations

import gzip
import pathlib
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.data import folder
from benchmarks.harness import Comparison, LeftOut, Side
from benchmarks.pos import SETTINGS as POS
from benchmarks.sentences import crf_features, made_conll, made_conllu
from widemargin import Tagger
from widemargin.data.readers.conll import read_conll
from widemargin.data.readers.corpus import Corpus
from widemargin.structured.spans import measure_spans
from widemargin.structured.tagger.model import share_right

NAMES: dict[str, Any] = {"C": 0.02, "epochs": 12, "bits": 20}
LETTERS: dict[str, Any] = {"C": 0.02, "epochs": 30, "validation": 0.1, "patience": 5}
_HEIGHT, _BYTE = 16, 8


def compare(toy: bool, scratch: pathlib.Path) -> Comparison:
    """Train and test on every set that is available."""
    sides: list[Side] = []
    absent = []
    for add in (_names, _turkish, _greek, _letters):
        try:
            sides += add(toy, scratch)
        except LeftOut as reason:
            absent.append(str(reason))
    if not sides:
        raise LeftOut(absent[0])
    return Comparison("sequences", "; ".join(["public sets", *absent]), tuple(sides))


def _side(
    name: str,
    settings: dict[str, Any],
    train: Corpus,
    test: Corpus,
    column: str,
    figures: Callable[[list[str]], dict[str, float]],
) -> Side:
    told = ", ".join(f"{key}={value!r}" for key, value in settings.items())
    return Side(
        f"ours, {name}",
        f"Tagger({told}, random_state=repeat)",
        work=lambda seed: Tagger(**settings, random_state=seed).fit(train, column=column),
        figures=lambda tagger: figures(tagger.model_.flat_tags(test)),
    )


def _names(toy: bool, scratch: pathlib.Path) -> list[Side]:
    """CoNLL-2003, compared with CRFsuite's averaged perceptron."""
    if toy:
        train, test = (read_conll(made_conll(scratch / f"n{k}.txt", 60, k)) for k in range(2))
        column = "chunk"
    else:
        where = folder("conll2003")
        train, test = (read_conll(where / f"eng.{part}.gz") for part in ("train", "testb"))
        column = "ner"

    def f1(found: list[str]) -> dict[str, float]:
        overall = measure_spans(test.column(column), found, test.starts).overall
        return {"F1": 100.0 * float(overall.f1)}

    def learn(_: int) -> Any:
        import pycrfsuite

        trainer = pycrfsuite.Trainer(algorithm="ap", verbose=False)
        trainer.set_params({"max_iterations": 2 if toy else 15})
        columns = (train.sentences(name) for name in ("word", "pos", column))
        for words, tags, names in zip(*columns, strict=True):
            trainer.append(list(crf_features(words, tags)), names)
        trainer.train(str(scratch / "names"))
        tagger = pycrfsuite.Tagger()
        tagger.open(str(scratch / "names"))
        return tagger

    def tag(tagger: Any) -> list[str]:
        pairs = zip(test.sentences("word"), test.sentences("pos"), strict=True)
        return [y for w, p in pairs for y in tagger.tag(list(crf_features(w, p)))]

    return [
        _side("names (CoNLL-2003)", NAMES, train, test, column, f1),
        Side(
            "CRFsuite, names (CoNLL-2003)",
            "ap, 15 epochs, words and parts of speech",
            work=learn,
            figures=lambda tagger: f1(tag(tagger)),
            package="python-crfsuite",
        ),
    ]


def _turkish(toy: bool, scratch: pathlib.Path) -> list[Side]:
    return _parts_of_speech("Turkish IMST", "ud-turkish-imst", "tr_imst", toy, scratch)


def _greek(toy: bool, scratch: pathlib.Path) -> list[Side]:
    return _parts_of_speech("Greek GDT", "ud-greek-gdt", "el_gdt", toy, scratch)


def _parts_of_speech(
    name: str, place: str, stem: str, toy: bool, scratch: pathlib.Path
) -> list[Side]:
    """UPOS, compared with NLTK's tagger."""
    if toy:
        paths = [made_conllu(scratch / f"{stem}{k}.conllu", 60, k) for k in range(2)]
    else:
        where = folder(place)
        paths = [where / f"{stem}-ud-{part}.conllu.gz" for part in ("train", "test")]
    train, test = map(read_conll, paths)

    def accuracy(found: list[str]) -> dict[str, float]:
        return {"accuracy": 100.0 * share_right(found, test.column("upos"))}

    def learn(_: int) -> Any:
        from nltk.tag.perceptron import PerceptronTagger

        pairs = zip(train.sentences(), train.sentences("upos"), strict=True)
        tagger = PerceptronTagger(load=False)
        tagger.train([list(zip(w, t, strict=True)) for w, t in pairs], nr_iter=1 if toy else 5)
        return tagger

    return [
        _side(f"UPOS ({name})", POS, train, test, "upos", accuracy),
        Side(
            f"NLTK, UPOS ({name})",
            "PerceptronTagger, 5 epochs",
            work=learn,
            figures=lambda tagger: accuracy(
                [tag for words in test.sentences() for _, tag in tagger.tag(words)]
            ),
            package="nltk",
        ),
    ]


def _letters(toy: bool, scratch: pathlib.Path) -> list[Side]:
    """Words of letters from pixels: the error on each fold after training on the others."""
    if toy:
        raise LeftOut("the letters are left out at toy size")
    corpus, folds = _read_letters(folder("ocr-letters") / "letters.tsv.gz")
    pixels = [name for name in corpus.names if name.startswith("pixel")]
    settings = {**LETTERS, "templates": ["bias", *pixels], "bits": None}

    def learn(seed: int) -> list[float]:
        errors = []
        for fold in range(10):
            tagger = Tagger(**settings, random_state=seed).fit(corpus[folds != fold], column="tag")
            errors.append(100.0 - 100.0 * tagger.score(corpus[folds == fold]))
        return errors

    told = ", ".join(f"{key}={value!r}" for key, value in LETTERS.items())
    return [
        Side(
            "ours, letters (ten folds)",
            f"Tagger({told}, templates=bias and 128 pixels, bits=None, random_state=repeat)",
            work=learn,
            figures=lambda errors: {
                "error": float(np.mean(errors)),
                **{f"error, fold {k}": error for k, error in enumerate(errors)},
            },
        )
    ]


def _read_letters(path: pathlib.Path) -> tuple[Corpus, np.ndarray]:
    """Words whose letters have 128 columns of pixels, and the fold of each word."""
    with gzip.open(path, "rt") as file:
        rows = [line.rstrip("\n").split("\t") for line in file][1:]
    words, _, folds, letters, images = zip(*rows, strict=True)
    starts = [k for k, word in enumerate(words) if not k or words[k - 1] != word]
    content = np.frombuffer(bytes.fromhex("".join(images)), np.uint8).reshape(-1, _HEIGHT)
    bits = np.unpackbits(content, axis=1)
    bounds = [*starts, len(words)]

    def cut(cells: Any) -> list[list[str]]:
        return [list(cells[a:b]) for a, b in pairwise(bounds)]

    columns = {"word": cut(images)}
    for k in range(_HEIGHT * _BYTE):
        columns[f"pixel{k}"] = cut(list(map(str, bits[:, k].tolist())))
    return Corpus.of(columns, cut(letters)), np.array([int(folds[k]) for k in starts])
