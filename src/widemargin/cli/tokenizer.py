"""`widemargin train --learner tokenizer` and `widemargin tokenize`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from widemargin.cli.sentences import load_sentence_model, read_raw_text
from widemargin.cli.structured import SentenceTrainer
from widemargin.cli.trainer import Job, Section
from widemargin.markup.words import several
from widemargin.structured.report import Report, measure_tokenizer
from widemargin.structured.tokenizer.tokenizer import Tokenizer, split_paragraphs
from widemargin.structured.tokenizer.treebank import (
    Paragraph,
    paragraphs_of,
    read_paragraphs,
)
from widemargin.threads import thread_count
from widemargin.training.checkpoints import Checkpoints
from widemargin.training.progress import Watcher


class TokenizerTrainer(SentenceTrainer):
    """Trains a tokenizer."""

    fitted: Tokenizer
    check = staticmethod(read_paragraphs)

    def __init__(self, learner: str, given: Mapping[str, Any], job: Job) -> None:
        super().__init__(learner, given, job)
        self.fitted = Tokenizer(**self.params)

    @cached_property
    def paragraphs(self) -> list[Paragraph]:
        """The text of the treebank."""
        return paragraphs_of(self.corpus)

    def choose_held_out(self, share: float, rng: np.random.Generator) -> Any:
        """The text that `fit` will hold out."""
        return split_paragraphs(self.paragraphs, share, rng)[1]

    def fit(self, watch: Watcher, checkpoints: Checkpoints | None) -> Any:
        """Learn."""
        return self.fitted.fit(self.paragraphs, watch=watch).model_

    def count_sentences(self, held_out: Any) -> int:
        """The number of held-out sentences."""
        return sum(len(paragraph.sentences) for paragraph in held_out)

    def examine(self, model: Any, corpus: Any) -> Report:
        """Score the predicted tokens and sentences."""
        return measure_tokenizer(model, corpus)

    def describe_learner(self, model: Any) -> Section:
        """The numbers of paragraphs and of rules for multiword tokens."""
        rules = 0 if model.splitter is None else len(model.splitter.tags) - 1
        figures = {"paragraphs": len(self.paragraphs), "multiword_rules": rules}
        told = (several(len(self.paragraphs), "paragraph"), several(rules, "rule"))
        lines = [f"tokenizer: {told[0]}, {told[1]} of multiword tokens"]
        return Section(figures, lines)


def tokenize(path: str, files: Sequence[str], given: Mapping[str, Any]) -> None:
    """Print the sentences of raw text."""
    model = load_sentence_model(path, "Tokenizer")
    text = read_raw_text(files, given)
    threads = thread_count(given["threads"] or -1)
    if given["write"] == "text":
        sentences = model(text, threads).sentences()
        written = "".join(" ".join(words) + "\n" for words in sentences)
    else:
        written = model.conllu(text, threads)
    sys.stdout.buffer.write(written.encode("utf-8", "surrogatepass"))
    sys.stdout.flush()
