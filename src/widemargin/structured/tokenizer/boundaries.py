"""Where sentences end, decided token by token.

The tagger of characters sees a few characters around a place; what decides whether a sentence ends
there is often further away: whether the next word is a capitalised one that begins sentences, or
which word a full stop follows. So a linear classifier looks at the tokens that were found, and
labels each one: it ends a sentence, or it does not (see `boundary_svm` for how it learns). It has
the form of a tagger whose labels do not depend on each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from widemargin.data.encode.templates import each
from widemargin.data.readers.cells import Columns
from widemargin.data.readers.corpus import Corpus
from widemargin.structured.tagger.model import TaggerModel
from widemargin.structured.tokenizer.cuts import Cuts
from widemargin.structured.tokenizer.treebank import Paragraph

#: The labels of tokens.
ENDS, GOES_ON = "ends", "goes on"
#: Whether white space follows a token.
_SPACE, _GLUED = "space", "glued"
#: The largest number of tokens searched together, which bounds the memory of the search.
_LONGEST = 1 << 12


#: The last character of a token. This template counts more than others: in text without spaces, a
#: final mark may stay part of an unknown word, and then this character alone says that a sentence
#: ends.
LAST = "suffix1[0]"
#: Feature templates for a token that may end a sentence: the words around it, how they are written,
#: how the word before ends and the word after begins, where spaces are, and its last character.
BOUNDARIES = [
    "bias",
    "word[0]",
    *each("lower", range(-3, 4)),
    *each("runs flags", range(-2, 3)),
    *each("suffix2 suffix3 suffix4", (-1, 0)),
    *each("prefix1 prefix2 prefix3 prefix4", (1,)),
    "lower[-1]|lower[0]",
    "lower[0]|lower[1]",
    "lower[-1]|lower[0]|lower[1]",
    "lower[0]|lower[1]|lower[2]",
    "lower[0]|runs[1]",
    "lower[-1]|lower[0]|runs[1]",
    "runs[-1]|lower[0]|runs[1]",
    "lower[0]|lower[1]|runs[2]",
    "runs[-1]|runs[0]|runs[1]",
    "runs[0]|runs[1]|runs[2]",
    "runs[-1]|runs[0]|runs[1]|runs[2]",
    "suffix2[-1]|lower[0]|runs[1]",
    "suffix3[-1]|lower[0]",
    "lower[0]|prefix3[1]",
    "gap[0]",
    "gap[0]|lower[0]",
    "gap[-1]|lower[0]|gap[0]|runs[1]",
    "gap[0]|lower[0]|gap[1]|lower[1]",
    LAST,
    f"{LAST}|runs[1]",
    f"{LAST}|prefix1[1]",
    f"{LAST}|gap[0]",
]


def _gaps(begins: np.ndarray, ends: np.ndarray) -> list[str]:
    """Whether white space follows each token of a text; it follows the last one."""
    follows = np.append(begins[1:] > ends[:-1], True)[: len(begins)]
    return [_SPACE if one else _GLUED for one in follows.tolist()]


def training_tokens(paragraphs: Sequence[Paragraph]) -> Corpus | None:
    """Labelled tokens to learn from, by paragraph; None if no sentence ends inside a paragraph."""
    if all(len(paragraph.sentences) == 1 for paragraph in paragraphs):
        return None
    columns: dict[str, list[str]] = {"word": [], "gap": [], "label": []}
    starts = [0]
    for paragraph in paragraphs:
        tokens = [token for sentence in paragraph.sentences for token in sentence]
        columns["word"] += [_form(paragraph.text[a:b]) for a, b, _ in tokens]
        places = np.array([token[:2] for token in tokens], np.int64)
        columns["gap"] += _gaps(*places.T)
        for sentence in paragraph.sentences:
            columns["label"] += [GOES_ON] * (len(sentence) - 1) + [ENDS]
        starts.append(len(columns["word"]))
    return Corpus(Columns(columns), np.array(starts, np.int64))


def _form(token: str) -> str:
    """A token, with any white space in it as single spaces."""
    return token if token.isalnum() else " ".join(token.split())


def forms_of(text: str, cuts: Cuts) -> list[str]:
    """The tokens of a text."""
    places = zip(cuts.begins.tolist(), cuts.ends.tolist(), strict=True)
    return [_form(text[a:b]) for a, b in places]


def end_sentences(
    boundaries: TaggerModel, cuts: Cuts, forms: list[str], n_jobs: int | None = None
) -> Cuts:
    """Divide paragraphs into sentences.

    Parameters
    ----------
    boundaries : TaggerModel
        Labels tokens.
    cuts : Cuts
        The tokens of a text, with each paragraph as one sentence.
    forms : list of str
        These tokens, see `forms_of`.
    n_jobs : int or None
        Number of threads.
    """
    columns = {"word": forms, "gap": _gaps(cuts.begins, cuts.ends)}
    found = boundaries.codes(Corpus(Columns(columns), _pieces(cuts.starts)), n_jobs)
    stops = np.array([tag == ENDS for tag in boundaries.tags])[found]
    closes = np.zeros(len(forms), bool)
    closes[cuts.starts[1:] - 1] = True
    last = np.flatnonzero(stops | closes)
    return cuts._replace(
        starts=np.concatenate([[0], last + 1]).astype(np.int64), paragraphs=closes[last]
    )


def _pieces(starts: np.ndarray) -> np.ndarray:
    """Starts of sequences, where long ones are divided."""
    if not np.any(np.diff(starts) > _LONGEST):
        return starts
    pieces = [np.arange(a, b, _LONGEST) for a, b in pairwise(starts.tolist())]
    return np.append(np.concatenate(pieces), starts[-1])
