"""Learning where sentences end: a linear SVM over tokens.

Whether one token ends a sentence says little about the next, so there is no structure to learn.
What matters is to learn the rule and not the exceptions, because treebanks are not consistent: in
the training set of Turkish IMST, 12 of 22 exclamation marks before a capital letter end a sentence.
A perceptron learns exceptions by heart, and its weights depend on the order of the sentences; those
of an SVM are kept small, and are the same in any order.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse

from widemargin.data.encode.templates import Templates
from widemargin.data.readers.corpus import Corpus
from widemargin.data.rows import Rows
from widemargin.linear_svm.fit import SVMSettings, TrainedSVM, fit_svm
from widemargin.structured.table_size import bits_for
from widemargin.structured.tagger.constraints import make_lexicon
from widemargin.structured.tagger.model import TaggerModel
from widemargin.structured.tagger.training import EncodedCorpus, encode_corpus
from widemargin.structured.tagger.weights import row_width, transition_rows
from widemargin.structured.tokenizer.boundaries import (
    BOUNDARIES,
    ENDS,
    GOES_ON,
    LAST,
    training_tokens,
)
from widemargin.structured.tokenizer.treebank import Paragraph
from widemargin.training.run import Watch

#: The cost of an error (squared hinge). Chosen, like `_MORE`, by cross-validation in five parts of
#: the training sets (Chinese: of the dev set); `docs/guide/annotating.md` compares designs. F1 with
#: 0.05, 0.1 and 0.2: Turkish 97.6 three times, Greek 96.6, 96.7, 96.8, Chinese 97.7 three times,
#: English 89.0, 89.0, 88.9.
_C = 0.1
#: The value of the template `LAST` (of all others: 1): the higher it is, the less its weights cost.
#: F1 with 1, 2, 3 and 4: Turkish 97.6 four times, Greek 96.5, 96.7, 96.7, 96.8, Chinese 96.8, 96.8,
#: 97.7, 97.7, English 89.0 four times.
_MORE = 3.0
#: Features are hashed into 2^20 rows, or fewer if the treebank is small. With 2^18, F1 is 0.3 lower
#: on English.
_BITS = 20


def learn_boundaries(
    paragraphs: list[Paragraph],
    rng: np.random.Generator,
    max_seconds: float | None = None,
    watch: Watch | None = None,
) -> TaggerModel | None:
    """Learn which tokens end sentences; None if every paragraph is one sentence.

    Parameters
    ----------
    paragraphs : list of Paragraph
        The text of a treebank.
    rng : numpy Generator
        The source of the order in which tokens are looked at, which hardly affects the result.
    max_seconds : float or None
        Stop after this many seconds.
    watch : callable
        Called with the progress so far; return True to stop.
    """
    learned = training_tokens(paragraphs)
    if learned is None:
        return None
    templates = Templates(BOUNDARIES)
    bits = bits_for(learned.tokens, len(templates), _BITS)
    encoded = encode_corpus(learned, templates, bits)
    values = _values_of(encoded, templates)
    settings = SVMSettings(C=_C, fit_intercept=False, max_seconds=max_seconds)
    trained = fit_svm(
        _rows_of(encoded, values),
        np.array([GOES_ON, ENDS]),
        np.array([label == ENDS for label in learned.column("label")]).astype(np.int64),
        settings,
        rng,
        watch=watch,
    )
    return _tagger_of(learned, templates, encoded, values, trained)


def _values_of(encoded: EncodedCorpus, templates: Templates) -> np.ndarray:
    """The value of every feature row; features that share a row have the same."""
    ids = encoded.ids.reshape(-1, len(templates))
    values = np.ones(encoded.size, np.float32)
    values[ids[:, templates.written.index(LAST)]] = _MORE
    return values


def _rows_of(encoded: EncodedCorpus, values: np.ndarray) -> Rows:
    """The tokens as rows of a sparse matrix."""
    count = len(encoded.ids) // encoded.tokens.n
    starts = np.arange(0, len(encoded.ids) + 1, count)
    parts = values[encoded.ids], encoded.ids.view(np.int32), starts
    return Rows.of(scipy.sparse.csr_matrix(parts, shape=(encoded.tokens.n, encoded.size)), bias=0.0)


def _tagger_of(
    learned: Corpus,
    templates: Templates,
    encoded: EncodedCorpus,
    values: np.ndarray,
    trained: TrainedSVM,
) -> TaggerModel:
    """The SVM as a tagger: one label gets its scores, and transitions have none."""
    tags = sorted([ENDS, GOES_ON])
    width = row_width(len(tags), order=1)
    weights = trained.state.spread(trained.state.last())[0, : encoded.size]
    W = np.zeros((encoded.size + transition_rows(len(tags), order=1), width), np.float32)
    W[: encoded.size, tags.index(ENDS)] = weights * values
    return TaggerModel(
        tags=tags,
        templates=templates,
        W=W,
        index=encoded.where,
        lexicon=make_lexicon(None, learned.words, np.empty(0, np.uint16), tags, tags, width),
        allowed=np.ones((len(tags) + 1, len(tags) + 1), bool),
        column="label",
        params={"C": _C},
        history=trained.history,
    )
