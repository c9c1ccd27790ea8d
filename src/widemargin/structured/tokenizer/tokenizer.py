"""Tokenizer: learns from a treebank where tokens and sentences end in raw text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from widemargin.data.readers.corpus import Corpus
from widemargin.errors import DataError
from widemargin.parameters.values import check_whole, make_generator
from widemargin.structured.estimator import CertifiedEstimator
from widemargin.structured.sentences import choose_share, holds_out, is_share
from widemargin.structured.stage_clock import StageClock
from widemargin.structured.table_size import bits_for
from widemargin.structured.tagger.tagger import Tagger
from widemargin.structured.tokenizer.boundary_svm import learn_boundaries
from widemargin.structured.tokenizer.cuts import training_corpus
from widemargin.structured.tokenizer.measures import TextMeasures
from widemargin.structured.tokenizer.model import TokenizerModel
from widemargin.structured.tokenizer.splits import WHOLE, rules_of
from widemargin.structured.tokenizer.treebank import Paragraph, paragraphs_of
from widemargin.training.run import Watch

#: Characters per training piece: a few sentences.
_PIECE = 300
#: Features are hashed into 2^20 rows, or fewer if the treebank is small.
_BITS = 20


def _run(column: str, first: int, last: int) -> str:
    """A template that joins a column over several positions into one feature."""
    return "|".join(f"{column}[{place}]" for place in range(first, last + 1))


#: Feature templates for a character: its neighbours, alone and in n-grams, the shapes of longer
#: n-grams, and its surroundings (see `surroundings`). Chosen on the dev sets of English EWT,
#: Turkish IMST, Greek GDT and Chinese GSDSimp, among nine lists without surroundings and eleven
#: with them. Longer n-grams of characters overfitted. Surroundings and a committee of four gained
#: 0.24, 0.03, 0.09 and 4.05 points of tokens, and 0.8, 0, 2.3 and 0 of sentences.
CHARACTERS = [
    "bias",
    *(f"word[{place}]" for place in range(-3, 4)),
    *(_run("lower", first, first + 1) for first in range(-3, 3)),
    "lower[-1]|lower[1]",
    *(_run("lower", first, first + 2) for first in range(-2, 1)),
    *(_run("shape", *places) for places in ((-2, 3), (-4, 4), (0, 5), (-5, 0))),
    "before[0]|word[0]",
    "word[0]|after[0]",
    "left[0]|word[0]|right[0]",
    "class[0]",
    *(_run("class", *places) for places in ((-1, 1), (-2, 2), (0, 3))),
    "class[-1]|word[0]|class[1]",
    "chunk[0]|word[0]",
    "chunk[0]|word[0]|class[1]",
    "chunk[0]|class[-1]|word[0]",
]


@dataclass(eq=False, repr=False)
class Tokenizer(CertifiedEstimator[TokenizerModel]):
    """Split raw text into sentences and words, following the conventions of a treebank.

    A structured perceptron tags every character: it is inside a token, ends a token, ends a
    sentence, or is a space. A linear SVM then decides which tokens end a sentence. There are no
    language-specific rules, so scripts without spaces are learned like any other. Multiword tokens
    (French du, "de le"; English don't, "do n't") are split by rules that are read off the treebank
    and chosen by a second tagger.

    Parameters
    ----------
    epochs : int
        Maximum number of passes over the text.
    C : float
        The largest step after a mistake, see `Tagger`.
    committee : int
        Train this many times, with the text in different orders, and average the weights.
    validation : float, path or Corpus
        The share of the text to hold out, in sections of ten sentences, or a held-out treebank.
        The labels of its characters are scored after every epoch, and the best weights are kept.
    patience : int or None
        Stop when the held-out score has not improved for this many epochs; with None it is only
        measured.
    max_seconds : float or None
        Stop after this many seconds.
    random_state : int, Generator or None
        Seed of the random generator, or the generator itself.

    Attributes
    ----------
    model_ : TokenizerModel
        The trained model, which can be saved.
    history_ : History
    certificate_ : RunCertificate
        The mistakes made while learning to split text, counted in pieces of text.

    Examples
    --------
    >>> from widemargin.structured import read_conll
    >>> import io
    >>> lines = "# text = It barks.\\n1\\tIt" + 8 * "\\t_" + "\\n2\\tbarks" + 7 * "\\t_"
    >>> lines += "\\tSpaceAfter=No\\n3\\t." + 8 * "\\t_" + "\\n\\n"
    >>> treebank = read_conll(io.StringIO(lines * 3), format="conllu")
    >>> tokenizer = Tokenizer(epochs=3, random_state=0).fit(treebank)
    >>> tokenizer("He barks. It barks.").sentences()
    [['He', 'barks', '.'], ['It', 'barks', '.']]
    """

    epochs: int = 8
    _: KW_ONLY
    C: float = 0.03
    committee: int = 4
    validation: Any = 0.0
    patience: int | None = 3
    max_seconds: float | None = None
    random_state: Any = None

    def fit(self, treebank: Any, y: None = None, *, watch: Watch | None = None) -> Tokenizer:
        """Learn from the raw text of a treebank.

        Parameters
        ----------
        treebank : path, list of paths, or Corpus
            CoNLL-U. MISC marks tokens without a space after them (SpaceAfter=No), comments mark
            where paragraphs begin (newpar, newdoc), and ranges such as 3-4 mark multiword tokens.
        y : None
            Not used: the answers are in the treebank.
        watch : callable
            Called with the progress so far; return True to stop.
        """
        if y is not None:
            raise DataError("a tokenizer takes no y: the answers are in the treebank")
        check_whole("epochs", self.epochs, least=1)
        rng = make_generator(self.random_state)
        paragraphs = paragraphs_of(treebank)
        paragraphs, held_out = self._hold_out(paragraphs, rng)
        clock = StageClock(self.max_seconds, watch)

        def given() -> dict[str, Any]:
            """Parameters of the next tagger, with the time that is left."""
            left = None if self.max_seconds is None else clock.left
            return {"C": self.C, "max_seconds": left, "random_state": rng}

        learned = training_corpus(paragraphs, _PIECE, rng)
        stops: dict[str, Any] = {}
        if held_out:
            stops = {
                "validation": training_corpus(held_out, _PIECE, rng),
                "patience": self.patience,
            }
        cutter = Tagger(
            templates=CHARACTERS,
            epochs=self.epochs,
            bits=bits_for(learned.tokens, len(CHARACTERS), _BITS),
            scheme=None,
            constraints="seen",
            committee=self.committee,
            **stops,
            **given(),
        ).fit(learned, column="cut", watch=clock.watch("characters"))
        splitter = _splitter(paragraphs, given(), clock.watch("multiword tokens"))
        seconds = given()["max_seconds"]
        boundaries = learn_boundaries(paragraphs, rng, seconds, clock.watch("sentences"))
        self.model_ = TokenizerModel(cutter.model_, splitter, boundaries, self._plain_params())
        return self

    def _hold_out(
        self, paragraphs: list[Paragraph], rng: np.random.Generator
    ) -> tuple[list[Paragraph], list[Paragraph]]:
        """The text to learn from, and the held-out text."""
        asked = self.validation
        if not holds_out(asked):
            return paragraphs, []
        if not is_share(asked):
            return paragraphs, paragraphs_of(asked)
        return split_paragraphs(paragraphs, asked, rng)

    def __call__(self, text: str, n_jobs: int | None = None) -> Corpus:
        """The sentences of a text, see `TokenizerModel`."""
        return self._fitted(text, n_jobs)

    def predict(self, texts: Sequence[str], n_jobs: int | None = None) -> list[Corpus]:
        """The sentences of each text."""
        if isinstance(texts, str):
            raise DataError("texts is a single string: give a list, or call the tokenizer with it")
        return [self._fitted(text, n_jobs) for text in texts]

    def measure(self, treebank: Any) -> TextMeasures:
        """F1 of tokens, sentences and words on the raw text of a treebank."""
        return self._fitted.measure(treebank)

    def score(self, treebank: Any, y: None = None) -> float:
        """F1 of words on the raw text of a treebank."""
        return self.measure(treebank).words.f1


def split_paragraphs(
    paragraphs: Sequence[Paragraph], share: float, rng: np.random.Generator
) -> tuple[list[Paragraph], list[Paragraph]]:
    """Split the sections of a text into a training part and a held-out share."""
    sections = [section for paragraph in paragraphs for section in paragraph.sections()]
    part = choose_share(len(sections), share, rng, "sections of ten sentences")
    return [sections[k] for k in part.train], [sections[k] for k in part.test]


def _splitter(paragraphs: list[Paragraph], given: dict[str, Any], watch: Watch) -> Any:
    """A tagger that chooses the rule for splitting a token; None if no token is split."""
    rules = rules_of(paragraphs)
    if all(rule == WHOLE for sentence in rules for rule in sentence):
        return None
    forms = [
        [paragraph.text[token.start : token.end] for token in sentence]
        for paragraph in paragraphs
        for sentence in paragraph.sentences
    ]
    return Tagger(scheme=None, constraints=None, **given).fit(forms, rules, watch=watch).model_
