"""`widemargin tag` and `widemargin parse`: sentences in, the same with tags or trees out."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from widemargin.cli.sentences import load_sentence_model, read_questions
from widemargin.data.readers.conllout import conll_text
from widemargin.data.readers.corpus import Corpus
from widemargin.threads import thread_count


def tag(path: str, files: Sequence[str], given: Mapping[str, Any]) -> None:
    """Print sentences with tags."""
    model = load_sentence_model(path, "Tagger")
    corpus = read_questions(files, given, plain=not model.templates.columns.inputs)
    tags = model.flat_tags(corpus, thread_count(given["threads"] or -1))
    column = given["column"] or model.column
    if corpus.format == "conll" and column not in corpus.names:
        column = "predicted"  # one more column
    _write(conll_text(corpus, {column: tags}, given["write"]))


def parse(path: str, files: Sequence[str], given: Mapping[str, Any]) -> None:
    """Print sentences with trees, as CoNLL-U."""
    model = load_sentence_model(path, "Parser")
    corpus = read_questions(files, given, plain=bool(model.taggers))
    trees = model.predict(corpus, thread_count(given["threads"] or -1))
    cells = {"head": list(map(str, trees.heads.tolist())), "deprel": trees.labels}
    if model.taggers:
        cells = {**trees.tags, **cells}
    if corpus.format == "conll":  # whose other columns have no place in CoNLL-U
        words = {corpus.names[0]: corpus.sentences()}
        corpus = Corpus.of(words)
    _write(conll_text(corpus, cells, "conllu"))


def _write(text: str) -> None:
    # What was in the file goes out as it was, line ends too.
    sys.stdout.buffer.write(text.encode("utf-8", "surrogatepass"))
    sys.stdout.flush()
