"""Raw text to trees, compared with UDPipe 1, on one core."""

from __future__ import annotations

import io
import os
import pathlib
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.harness import Comparison, Outcome, Outcomes, Side, Target
from benchmarks.tokenizing import TREEBANKS, compared, parts_of
from benchmarks.udpipe import TAGGER, Options, UDPipe, udpipe_side
from widemargin.structured import Annotator, Corpus, read_conll
from widemargin.structured.annotator.document import Document
from widemargin.structured.annotator.measures import MEASURES, compare_document
from widemargin.structured.tokenizer.measures import measure_text
from widemargin.structured.tokenizer.treebank import read_paragraphs

#: UDPipe's settings where its defaults (20 iterations of the tagger, 10 of the parser) take too
#: long: more than ten minutes of processor time for one stage. Its Turkish tagger was best on the
#: dev part after six of the twelve iterations tried.
OPTIONS = {
    "English": Options(tagger=f"{TAGGER};iterations=3", parser="iterations=2"),
    "Turkish": Options(tagger=f"{TAGGER};iterations=6", parser="iterations=6"),
    "Greek": Options(parser="iterations=6"),
    "Chinese": Options(),
}
#: The measures that need a parser.
_OF_TREES = ("UAS", "LAS", "CLAS", "MLAS", "BLEX")
#: The measures that must be better than UDPipe's on three of four treebanks.
_BETTER = ("Tokens", "Sentences", "UPOS", "Lemmas", "LAS")


def compare(toy: bool, scratch: pathlib.Path) -> Comparison:
    """Train on the training part, stop early on the dev part, and measure on the test part."""
    sides: list[Side] = []
    languages = list(TREEBANKS)[:1] if toy else list(TREEBANKS)
    for language in languages:
        train, dev, test = (_made(60), _made(12), _made(12)) if toy else parts_of(language)
        sides += [
            *_our_sides(language, train, dev, test),
            *_udpipe_sides(language, train, dev, test, toy),
        ]
    least = len(languages) - 1 if not toy else 0
    targets = [_better_on(figure, languages, least) for figure in _BETTER]
    targets += [
        _times_as_fast(language, what, times)
        for language in languages
        for what, times in (("annotating", 10.0), ("training", 1.0))
    ]
    return compared("raw text to trees", toy, sides, targets, appendix=_table)


def _made(sentences: int) -> Corpus:
    """Sentences with trees for toy runs."""
    nouns, verbs = ("dogs", "cats", "birds"), ("bark", "sleep", "sing")
    lines = []
    for k in range(sentences):
        lines += [
            f"1\t{nouns[k % 3]}\t{nouns[k % 3][:-1]}\tNOUN\tNNS\tNumber=Plur\t2\tnsubj\t_\t_",
            f"2\t{verbs[k % 2]}\t{verbs[k % 2]}\tVERB\tVB\t_\t0\troot\t_\tSpaceAfter=No",
            "3\t.\t.\tPUNCT\t.\t_\t2\tpunct\t_\t_",
            "",
        ]
    return read_conll(io.StringIO("\n".join([*lines, ""])), format="conllu")


def _text(corpus: Corpus) -> str:
    return "\n\n".join(paragraph.text for paragraph in read_paragraphs(corpus))


def _figures(test: Corpus, document: Document) -> dict[str, float]:
    """F1 on the test part, in percent."""
    found = compare_document(test, read_paragraphs(test), document)
    return {name: 100.0 * one.f1 for name, one in found.items()}


def _our_sides(language: str, train: Corpus, dev: Corpus, test: Corpus) -> Iterator[Side]:
    """Ours: greedy and fast, and with a beam."""
    kept: dict[int, Annotator] = {}
    seconds: dict[int, float] = {}
    text = _text(train) + "\n\n" + _text(test)
    words = train.tokens + test.tokens

    for beam, called in ((1, "ours"), (8, "ours, beam 8")):

        def learn(seed: int, beam: int = beam) -> Annotator:
            began = time.process_time()
            kept[beam] = Annotator(beam, random_state=seed).fit(train, valid=dev)
            seconds[beam] = time.process_time() - began
            return kept[beam]

        def judge(annotator: Annotator) -> dict[str, float]:
            with tempfile.NamedTemporaryFile(suffix=".wm") as file:
                annotator.save(file.name)
                size = os.path.getsize(file.name) / 1e6
            figures = _figures(test, annotator(_text(test)))
            return {**figures, "seconds": seconds[annotator.beam], "MB": size}

        yield Side(
            f"{called}, training {language}",
            f"Annotator({beam}, random_state=repeat).fit(train, valid=dev)",
            work=learn,
            figures=judge,
        )
        yield Side(
            f"{called}, annotating {language}",
            "annotator(training and test text).conllu()",
            work=lambda annotator: annotator(text).conllu(),
            prepare=lambda _, beam=beam: kept[beam],
            figures=lambda _: {"words": float(words)},
        )


def _udpipe_sides(
    language: str, train: Corpus, dev: Corpus, test: Corpus, toy: bool
) -> Iterator[Side]:
    """UDPipe 1; its models are cached between runs, with the processor time of their training."""
    kept: list[UDPipe] = []
    text, words = _text(test), test.tokens
    toys = Options("epochs=1", "iterations=1", "iterations=1")
    options = toys if toy else OPTIONS[language]

    def learn(_: Any) -> UDPipe:
        kept[:] = [UDPipe(train, dev, options)]
        return kept[0]

    yield udpipe_side(
        f"training {language}",
        f"Trainer.train, tagger {options.tagger!r}, parser {options.parser!r}, tokenizer as it is;"
        " early stopping on dev",
        learn,
        figures=lambda udpipe: {
            **_figures_of(udpipe, test),
            "seconds": udpipe.seconds,
            "MB": udpipe.size / 1e6,
        },
    )
    yield udpipe_side(
        f"annotating {language}",
        "newTokenizer, tag, parse, writeSentence (test text)",
        lambda udpipe: udpipe.conllu(text),
        prepare=lambda _: kept[0],
        figures=lambda _: {"words": float(words)},
    )


def _figures_of(udpipe: UDPipe, test: Corpus) -> dict[str, float]:
    """The figures that UDPipe's stages allow; without a tagger, only tokens and sentences."""
    if "tagger" not in udpipe.stages:
        found = measure_text(read_paragraphs(test), udpipe.paragraphs)
        return {name.capitalize(): 100.0 * one.f1 for name, one in found._asdict().items()}
    figures = _figures(test, _document(udpipe, _text(test)))
    return {
        name: value
        for name, value in figures.items()
        if "parser" in udpipe.stages or name not in _OF_TREES
    }


def _document(udpipe: UDPipe, text: str) -> Document:
    """UDPipe's annotation of a text, in our form."""
    corpus = read_conll(io.StringIO(udpipe.conllu(text)), format="conllu")
    tokens = [
        one for paragraph in udpipe.paragraphs(text) for s in paragraph.sentences for one in s
    ]
    sizes = [len(token.words) for token in tokens]
    columns = {name: corpus.column(name) for name in corpus.names}
    if "parser" not in udpipe.stages:
        columns["head"] = ["0"] * corpus.tokens
    return Document(
        text,
        columns,
        corpus.starts,
        np.repeat(np.arange(len(tokens)), sizes),
        np.array([token.start for token in tokens]),
        np.array([token.end for token in tokens]),
    )


def _pace(outcome: Outcome) -> float:
    """Words per second."""
    return (outcome.mean("words") or 0.0) / outcome.best


def _seconds(outcome: Outcome) -> float:
    """The processor time of a training, possibly from an earlier run."""
    return outcome.mean("seconds") or outcome.best


def _better_on(figure: str, languages: list[str], least: int) -> Target:
    """Require a figure above UDPipe's on this many treebanks."""
    names = [f"{who}, training {language}" for language in languages for who in ("ours", "UDPipe")]

    def found(*outcomes: Outcome) -> tuple[str, bool]:
        gains = []
        for mine, other in zip(outcomes[::2], outcomes[1::2], strict=True):
            ours, theirs = mine.mean(figure), other.mean(figure)
            known = ours is not None and theirs is not None
            gains.append(ours - theirs if known else None)  # type: ignore[operator]
        told = ", ".join("untrained" if gain is None else f"{gain:+.2f}" for gain in gains)
        return told, sum(gain is not None and gain > 0.0 for gain in gains) >= least

    return Target(f"{figure}: above UDPipe on {least} of {len(languages)}", names, found)


def _times_as_fast(language: str, what: str, times: float) -> Target:
    names = [f"{who}, {what} {language}" for who in ("ours", "UDPipe")]

    def found(mine: Outcome, other: Outcome) -> tuple[str, bool]:
        if what == "training":
            ratio = _seconds(other) / _seconds(mine)
        else:
            ratio = _pace(mine) / _pace(other)
        return f"{ratio:.1f}x", ratio >= times

    return Target(f"ours, {what} {language}: >= {times:g}x UDPipe", names, found)


def _table(outcomes: Outcomes) -> str:
    """F1 of every column, speeds, training times and sizes."""
    lines = ["| treebank | who | " + " | ".join(MEASURES) + " | words/s | training s | MB |"]
    lines.append("|" + "---|" * (len(MEASURES) + 5))
    for language in TREEBANKS:
        for who in ("ours", "ours, beam 8", "UDPipe"):
            trained = outcomes.get(f"{who}, training {language}")
            asked = outcomes.get(f"{who}, annotating {language}")
            if trained is None or asked is None or not (trained.present and asked.present):
                continue
            known = [trained.mean(name) for name in MEASURES]
            cells = ["-" if value is None else f"{value:.2f}" for value in known]
            cells += [
                f"{_pace(asked):,.0f}",
                f"{_seconds(trained):.0f}",
                f"{trained.mean('MB'):.1f}",
            ]
            lines.append(f"| {language} | {who} | " + " | ".join(cells) + " |")
    return "\n".join(lines)
