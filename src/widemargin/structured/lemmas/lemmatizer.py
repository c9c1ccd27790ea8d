"""Lemmatizer: learns from a treebank to find the dictionary forms of words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from widemargin.data.encode.templates import Templates
from widemargin.data.readers.corpus import Corpus
from widemargin.errors import DataError
from widemargin.structured.choices.candidates import CandidateLists
from widemargin.structured.choices.chooser import Chooser, code_labels
from widemargin.structured.choices.estimator import ChoiceEstimator, find_columns
from widemargin.structured.lemmas.model import LemmatizerModel, corpus_of_types
from widemargin.structured.lemmas.scripts import script_of
from widemargin.structured.sentences import corpus_with_words
from widemargin.structured.tagger.model import share_right

#: A script seen with fewer words than this is a candidate for these words only.
_OFTEN = 2
#: A word seen this often has only the scripts it was seen with.
_KNOWN = 1


def _templates(tags: Sequence[str]) -> list[str]:
    """Feature templates for the script of a word: its affixes and case, alone and with its tags."""
    word = [*(f"suffix{n}[0]" for n in range(1, 7)), *(f"prefix{n}[0]" for n in range(1, 5))]
    word += ["flags[0]", "suffix2[0]|flags[0]", "prefix1[0]|suffix2[0]", "lower[0]"]
    both = "|".join(f"{tag}[0]" for tag in tags)
    tagged = ["bias", *(f"{part}|{both}" for part in ("suffix1[0]", "suffix2[0]", "suffix3[0]"))]
    tagged += [f"{part}|{tags[0]}[0]" for part in ("suffix4[0]", "suffix5[0]", "flags[0]")]
    return [*tagged, *word, *dict.fromkeys((both, f"{tags[0]}[0]"))]


@dataclass(eq=False, repr=False)
class Lemmatizer(ChoiceEstimator[LemmatizerModel]):
    """Find the dictionary forms of words: tries, VERB -> try.

    Every word has an edit script, which says which letters at its beginning and end to replace
    and how to change their case. Scripts are read off the words and lemmas of a treebank. A
    perceptron (with PA-I steps) chooses among the scripts of words with the same ending; a word
    seen with its tag in training has only the scripts it was seen with. A lemma "_" is unknown.

    Parameters
    ----------
    epochs : int
        Maximum number of passes over the distinct words.
    tags : str or sequence of str
        The columns besides the word that a lemma depends on. Candidates are looked up by the
        first one.
    C : float
        The largest step after a mistake.
    bits : int
        Weights are hashed into a table of 2^bits.
    validation : float, path or Corpus
        The share of the sentences to hold out, or a separate held-out set. Its lemmas are scored
        after every epoch, and the best weights are kept.
    patience, max_seconds, random_state
        As for `Tagger`.

    Attributes
    ----------
    model_ : LemmatizerModel
        The trained model, which can be saved.
    history_ : History
        Mistakes are counted in distinct words.

    Examples
    --------
    >>> words = [["dogs", "barked"], ["cats", "walked"], ["birds", "sing"]]
    >>> lemmas = [["dog", "bark"], ["cat", "walk"], ["bird", "sing"]]
    >>> columns = {"word": words, "lemma": lemmas, "upos": [["NOUN", "VERB"]] * 3}
    >>> lemmatizer = Lemmatizer(tags="upos", random_state=0).fit(columns)
    >>> lemmatizer.predict({"word": [["rats", "talked"]], "upos": [["NOUN", "VERB"]]})
    [['rat', 'talk']]
    """

    epochs: int = 8
    _: KW_ONLY
    tags: str | Sequence[str] = ("upos", "feats")
    C: float = 0.1
    bits: int = 20
    validation: Any = 0.0
    patience: int | None = 3
    max_seconds: float | None = None
    random_state: Any = None

    def _learn(
        self, corpus: Corpus, held_out: Corpus | None, learn: Callable[..., Chooser]
    ) -> LemmatizerModel:
        lemmas = corpus.column("lemma")
        (tags,) = find_columns(corpus, tags=self.tags)
        known = _types(corpus, tags, lemmas)
        scripts, right = code_labels([script_of(word, lemma) for (word, *_), lemma in known])
        types = corpus_of_types([one for one, _ in known], tags)
        chooser = Chooser(
            scripts,
            [[script] for script in scripts],
            Templates(_templates(tags)),
            _candidates(types, tags[0], right),
            tags[0],
        )
        # Every word is trained on as if it were unseen.
        lists = [
            chooser.candidates.of_ending(tag, word.lower())
            for word, tag in zip(types.words, types.column(tags[0]), strict=True)
        ]
        score = None
        if held_out is not None:
            answers = held_out.column("lemma")

            def score(trained: Chooser) -> float:
                return share_right(LemmatizerModel(trained, tags).flat_lemmas(held_out), answers)

        words = chooser.read(types, np.array(lists, np.uint32))
        chooser = learn(chooser, words, right, score=score)
        return LemmatizerModel(chooser, tags, self._plain_params())

    def predict(self, sentences: Any) -> list[list[str]]:
        """The lemmas of many sentences, see `LemmatizerModel.predict`."""
        return self._fitted.predict(sentences)

    def score(self, sentences: Any, y: None = None) -> float:
        """The share of words with the right lemma."""
        corpus = corpus_with_words(sentences)
        return share_right(self._fitted.flat_lemmas(corpus), corpus.column("lemma"))


def _types(
    corpus: Corpus, tags: Sequence[str], lemmas: Sequence[str]
) -> list[tuple[tuple[str, ...], str]]:
    """Distinct words with their tags, and the most common lemma of each."""
    counts = _count(corpus, tags, lemmas)
    if not counts:
        raise DataError(
            f"{corpus.source}: the column 'lemma' is '_' everywhere, so there is nothing to learn"
        )
    best: dict[tuple[str, ...], str] = {}
    for (one, lemma), _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        best.setdefault(one, lemma)
    return sorted(best.items())


def _count(
    corpus: Corpus, tags: Sequence[str], lemmas: Sequence[str]
) -> Counter[tuple[tuple[str, ...], str]]:
    """How often each word with its tags has each lemma; unknown lemmas do not count."""
    words = zip(corpus.words, *(corpus.column(name) for name in tags), strict=True)
    pairs = zip(words, lemmas, strict=True)
    return Counter((one, lemma) for one, lemma in pairs if lemma != "_" or one[0] == "_")


def _candidates(types: Corpus, tag: str, scripts: np.ndarray) -> CandidateLists:
    """The scripts that words may have; a script seen with one word only is limited to it."""
    words = [word.lower() for word in types.words]
    kinds = set(zip(words, scripts.tolist(), strict=True))
    times = Counter(script for _, script in kinds)
    general = {script for script, count in times.items() if count >= _OFTEN}
    return CandidateLists.of_training(words, types.column(tag), scripts.tolist(), _KNOWN, general)
