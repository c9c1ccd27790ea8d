"""Raw text to sentences and words, compared with UDPipe 1, on one core."""

from __future__ import annotations

import io
import pathlib
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.data import folder
from benchmarks.harness import Comparison, Side, Target, faster, no_worse
from benchmarks.udpipe import Options, UDPipe, udpipe_side
from widemargin.structured import Corpus, Tokenizer, read_conll
from widemargin.structured.tokenizer.measures import measure_text
from widemargin.structured.tokenizer.treebank import Paragraph, paragraphs_of

#: The treebanks of `../shared/data`; the last one has no training part.
TREEBANKS = {
    "English": "ud-english-ewt/en_ewt",
    "Turkish": "ud-turkish-imst/tr_imst",
    "Greek": "ud-greek-gdt/el_gdt",
    "Chinese": "ud-chinese-gsdsimp/zh_gsdsimp",
}
#: For a treebank without a training part, this many sentences of the dev part are used to train.
LEARNED = 400
#: UDPipe 1 is trained with its defaults: up to 100 epochs, with early stopping on the dev part.


def compare(toy: bool, scratch: pathlib.Path) -> Comparison:
    """Train on the training part, stop early on the dev part, and measure on the test part."""
    sides: list[Side] = []
    targets: list[Target] = []
    for language in TREEBANKS:
        train, dev, test = _toy_parts() if toy else parts_of(language)
        right = paragraphs_of(test)
        text = "\n\n".join(paragraph.text for paragraph in paragraphs_of(train) + right)
        sides += [*_our_sides(language, train, dev, text, right)]
        sides += [*_udpipe_sides(language, train, dev, text, right, toy)]
        ours, peer = f"ours, {language}", f"UDPipe, {language}"
        targets += [
            no_worse(ours, peer, figure, 0.0) for figure in ("tokens", "sentences", "words")
        ]
        targets += [faster(ours, peer, 1.0)]
        targets += [faster(f"ours, cutting {language}", f"UDPipe, cutting {language}", 10.0)]
        if toy:
            break
    return compared("raw text to sentences and words", toy, sides, targets)


def compared(
    title: str, toy: bool, sides: Sequence[Side], targets: Sequence[Target], **more: Any
) -> Comparison:
    """A comparison on the treebanks; `more` holds further arguments of `Comparison`."""
    data = "made sentences (toy size)" if toy else "the four treebanks, see the README of the data"
    return Comparison(title, data, tuple(sides), tuple(targets), once=True, ratios=False, **more)


def _toy_parts() -> tuple[Corpus, Corpus, Corpus]:
    """Generated sentences for toy runs."""
    return _made(60), _made(12), _made(12)


def parts_of(language: str) -> tuple[Corpus, Corpus, Corpus]:
    """The training, dev and test parts."""
    where, start = TREEBANKS[language].split("/")
    folder_of = folder(where)

    def read(part: str) -> Corpus:
        return read_conll(folder_of / f"{start}-ud-{part}.conllu.gz")

    if not (folder_of / f"{start}-ud-train.conllu.gz").exists():
        dev = read("dev")
        return dev[:LEARNED], dev[LEARNED:], read("test")
    return read("train"), read("dev"), read("test")


def _made(sentences: int) -> Corpus:
    """Sentences for toy runs."""
    words = ("dogs", "bark", "cats", "sleep", "birds", "sing")
    lines = []
    for k in range(sentences):
        chosen = [words[(k + j) % len(words)] for j in range(2 + k % 3)]
        lines += [f"{j + 1}\t{word}" + 7 * "\t_" + "\t_" for j, word in enumerate(chosen)]
        lines[-1] = lines[-1][:-1] + "SpaceAfter=No"
        lines += [f"{len(chosen) + 1}\t." + 8 * "\t_", ""]
    return read_conll(io.StringIO("\n".join([*lines, ""])), format="conllu")


def _figures(right: list[Paragraph], find: Any) -> dict[str, float]:
    """F1 on the test part, in percent."""
    return {name: 100.0 * one.f1 for name, one in measure_text(right, find)._asdict().items()}


def _our_sides(
    language: str, train: Corpus, dev: Corpus, text: str, right: list[Paragraph]
) -> Iterator[Side]:
    yield Side(
        f"ours, {language}",
        "Tokenizer(validation=dev, random_state=repeat).fit(train)",
        work=lambda seed: Tokenizer(validation=dev, random_state=seed).fit(train),
        figures=lambda tokenizer: _figures(right, tokenizer.model_.paragraphs),
    )
    yield Side(
        f"ours, cutting {language}",
        "paragraphs(training and test text)",
        work=lambda tokenizer: tokenizer.model_.paragraphs(text),
        prepare=lambda seed: Tokenizer(epochs=2, random_state=seed).fit(train),
    )


def _udpipe_sides(
    language: str, train: Corpus, dev: Corpus, text: str, right: list[Paragraph], toy: bool
) -> Iterator[Side]:
    """UDPipe 1, its tokenizer only."""
    kept: list[UDPipe] = []
    options = Options("epochs=1" if toy else "", tagger=None, parser=None)

    def learn(_: Any) -> UDPipe:
        with tempfile.TemporaryDirectory() as empty:  # time training, not reading the cache
            kept[:] = [UDPipe(train, dev, options, pathlib.Path(empty))]
        return kept[0]

    how = "Trainer.train, default tokenizer, early stopping"
    yield udpipe_side(
        language, how, learn, figures=lambda udpipe: _figures(right, udpipe.paragraphs)
    )
    how = "newTokenizer, nextSentence"
    yield udpipe_side(
        f"cutting {language}", how, lambda udpipe: udpipe.cut(text), prepare=lambda _: kept[0]
    )
