"""Fingerprints of taggers and parsers."""

from __future__ import annotations

import math
import pathlib
import tempfile
from collections.abc import Sequence
from typing import Any

from benchmarks.fingerprints.data import first_sentences, made_chunks, made_treebank
from benchmarks.fingerprints.notes import Notes, Put, put_certificate, put_history, put_saved


def corpora(data: pathlib.Path, folder: pathlib.Path) -> dict[str, tuple[Any, Any]]:
    """Training and test corpora of chunks, as files."""
    made = {"made": (made_chunks(60, 0), made_chunks(30, 1))}
    if data.is_dir():
        where = data / "conll2000"
        learned = first_sentences(where / "train.txt.gz", 400)
        made["real chunks"] = (learned, first_sentences(where / "test.txt.gz", 120))
    return _as_files(made, folder, "txt")


def treebanks(data: pathlib.Path, folder: pathlib.Path) -> dict[str, tuple[Any, Any]]:
    """Training and test treebanks, as files."""
    made = {"made": (made_treebank(60, 0), made_treebank(30, 1))}
    if data.is_dir():
        where = data / "ud-english-ewt"
        learned = first_sentences(where / "en_ewt-ud-train.conllu.gz", 300, skip=4_000)
        made["real EWT"] = (learned, first_sentences(where / "en_ewt-ud-test.conllu.gz", 120, 500))
    return _as_files(made, folder, "conllu")


def _as_files(
    made: dict[str, tuple[str, str]], folder: pathlib.Path, ending: str
) -> dict[str, tuple[Any, Any]]:
    found = {}
    for name, both in made.items():
        paths = [folder / f"{name.split()[0]}{k}.{ending}" for k in range(2)]
        for path, text in zip(paths, both, strict=True):
            path.write_text(text, encoding="utf-8")
        found[name] = (paths[0], paths[1])
    return found


TAGGERS: dict[str, dict[str, Any]] = {
    "as shipped": {},
    **{f"rule {rule}": {"rule": rule} for rule in ("perceptron", "pa", "pa2")},
    "last": {"keep": "last"},
    "second order": {"order": 2},
    "second order, perceptron": {"order": 2, "rule": "perceptron", "keep": "last"},
    "committee": {"committee": 3},
    "committee, two threads": {"committee": 3, "n_jobs": 2},
    **{
        f"beam {update}": {"search": "beam", "beam": 3, "update": update}
        for update in ("max-violation", "early", "whole")
    },
    "beam, second order": {"search": "beam", "beam": 4, "order": 2},
    "costs": {"cost_augmented": True},
    "dictionary": {"bits": None},
    "no shuffle": {"shuffle": False},
    "IOB2": {"scheme": "IOB2"},
    "BILOU, seen": {"scheme": "BILOU", "constraints": "seen"},
    "as given, free": {"scheme": None, "constraints": None},
    "tag dictionary": {"tag_dictionary": 3},
    "templates": {"templates": ["word[0]", "suffix3[0]", "pos[-1]|pos[0]", "word[-1]|word[1]"]},
    "validation": {"validation": 0.2, "patience": 2, "epochs": 6},
}


def taggers(notes: Notes, data: pathlib.Path) -> None:
    """Tagger with all its options."""
    import widemargin as wm

    with tempfile.TemporaryDirectory() as folder:
        for what, (learned, asked) in corpora(data, pathlib.Path(folder)).items():
            for name, how in TAGGERS.items():
                with notes.case(f"Tagger/{what}/{name}") as put:
                    settings = {"epochs": 3, "bits": 14, "random_state": 0, **how}
                    tagger = wm.Tagger(**settings).fit(learned)
                    put_tagger(put, tagger, asked)
            with notes.case(f"Tagger/{what}/held-out file") as put:
                tagger = wm.Tagger(epochs=6, bits=14, validation=asked, patience=2, random_state=0)
                put_tagger(put, tagger.fit(learned), asked)
            with notes.case(f"Tagger/{what}/certified") as put:
                tagger = wm.Tagger(rule="perceptron", epochs=12, bits=14, random_state=0)
                put_certificate(put, tagger.fit(learned).certify(learned))
            with notes.case(f"Tagger/{what}/smaller") as put:
                model = wm.Tagger(epochs=3, bits=14, random_state=0).fit(learned).model_
                put("pruned", flat(model.prune(0.01).predict(asked)))
                put("rounded", flat(model.rounded().predict(asked)))
        for what, (learned, asked) in treebanks(data, pathlib.Path(folder)).items():
            for column in ("upos", "xpos"):
                with notes.case(f"Tagger/{what}/{column}") as put:
                    tagger = wm.Tagger(epochs=3, bits=14, random_state=0)
                    put_tagger(put, tagger.fit(learned, column=column), asked)


def flat(sentences: Sequence[Sequence[str]]) -> list[str]:
    """The tags of all sentences, concatenated."""
    return [tag for sentence in sentences for tag in sentence]


def put_tagger(put: Put, tagger: Any, asked: Any) -> None:
    """What a tagger has learned, and its predictions."""
    import widemargin as wm

    corpus = wm.structured.read_conll(asked)
    put("tags", tagger.tags_)
    put("answers", flat(tagger.predict(asked)))
    put("two threads", flat(tagger.predict(asked, n_jobs=2)))
    put_history(put, tagger.history_)
    put_certificate(put, tagger.certificate_)
    top = tagger.top_features(30)
    put("strongest", [f"{one.feature} {one.tag}" for one in top])
    put("weights", [one.weight for one in top])
    beside = [name for name in corpus.names[1:-1] if corpus.names[-1] == "chunk"]
    for number in range(5):
        sentence = corpus[number]
        columns = {name: sentence.column(name) for name in beside}
        put(f"one {number}/tags", tagger.tag(sentence.words, **columns))
        put(f"one {number}/margins", tagger.margins(sentence.words, **columns))
        best = tagger.n_best(sentence.words, 4, **columns)
        put(f"one {number}/best", [" ".join(one.tags) for one in best])
        put(f"one {number}/scores", [one.score for one in best])
    put_saved(put, tagger)


PARSERS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "greedy, no exploring": {"explore": 0.0, "margin": 1.0},
    "few actions": {"actions": 4},
    "beam": {"beam": 4},
    "eisner": {"system": "eisner"},
    "cle": {"system": "cle"},
    "eisner, perceptron": {"system": "eisner", "C": math.inf},
    "one column": {"tags": "upos"},
}


def parsers(notes: Notes, data: pathlib.Path) -> None:
    """Parser with all its options."""
    import widemargin as wm

    with tempfile.TemporaryDirectory() as folder:
        for what, (learned, asked) in treebanks(data, pathlib.Path(folder)).items():
            usual = {"bits": 14, "epochs": 3, "tags": "gold", "random_state": 0}
            for name, how in PARSERS.items():
                with notes.case(f"Parser/{what}/{name}") as put:
                    put_parser(put, wm.Parser(**{**usual, **how}).fit(learned), asked)
            for name, how in {"greedy": {}, "beam": {"beam": 3}, "cle": {"system": "cle"}}.items():
                with notes.case(f"Parser/{what}/{name}, validation") as put:
                    parser = wm.Parser(**{**usual, "epochs": 5, "validation": asked, **how})
                    put_parser(put, parser.fit(learned), asked)
            with notes.case(f"Parser/{what}/own tags") as put:
                tagger = wm.Tagger(epochs=2, bits=14)
                own = {**usual, "tags": "own", "tagger": tagger, "jackknife": 3}
                put_parser(put, wm.Parser(**own).fit(learned), asked)


def put_parser(put: Put, parser: Any, asked: Any) -> None:
    """What a parser has learned, and its predictions."""
    put("labels", parser.labels_)
    for name, jobs in (("answers", None), ("two threads", 2)):
        trees = parser.predict(asked, n_jobs=jobs)
        put(f"{name}.heads", trees.heads)
        put(f"{name}.labels", trees.labels)
    for column, tags in trees.tags.items():
        put(f"tags.{column}", tags)
    # Before 0.2, `score` returned what `attachment` returns now.
    score = getattr(parser, "attachment", parser.score)(asked)
    put("score", [float(score.uas.f1), float(score.las.f1)])
    put_history(put, parser.history_)
    put_certificate(put, parser.certificate_)
    put_saved(put, parser)
