"""The measures of the CoNLL 2018 shared task, from raw text to trees.

All are F1. Tokens and sentences are right if they start and end at the same characters; words are
aligned as in `structured.tokenizer.measures`. For aligned words, UPOS, XPOS, UFeats (universal
features only), AllTags (all three) and Lemmas compare columns; UAS compares heads, and LAS also the
relations (without subtypes). CLAS is LAS on content words; MLAS also requires the tags and features
of these and of their function words, BLEX their lemmas. A lemma "_" in the treebank matches any.

Zeman et al. (2018), CoNLL 2018 shared task: multilingual parsing from raw text to universal
dependencies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from widemargin.data.readers.corpus import Corpus
from widemargin.structured.annotator.document import Document
from widemargin.structured.parser.trees import check_trees, heads_of
from widemargin.structured.resample import Ratio
from widemargin.structured.tokenizer.measures import BETWEEN, Word, align_words
from widemargin.structured.tokenizer.treebank import Paragraph, read_paragraphs

#: Relations of content words and of function words; others (punct) are neither.
_CONTENT = {
    *("nsubj", "obj", "iobj", "csubj", "ccomp", "xcomp", "obl", "vocative", "expl", "dislocated"),
    *("advcl", "advmod", "discourse", "nmod", "appos", "nummod", "acl", "amod", "conj", "fixed"),
    *("flat", "compound", "list", "parataxis", "orphan", "goeswith", "reparandum", "root", "dep"),
}
_FUNCTION = {"aux", "cop", "mark", "det", "clf", "case", "cc"}
#: The features that UFeats, AllTags and MLAS compare.
_UNIVERSAL = {
    *("PronType", "NumType", "Poss", "Reflex", "Foreign", "Abbr", "Gender", "Animacy", "Number"),
    *("Case", "Definite", "Degree", "VerbForm", "Mood", "Tense", "Aspect", "Voice", "Evident"),
    *("Polarity", "Person", "Polite"),
}
#: The measures, in the order in which the shared task lists them.
MEASURES = (
    *("Tokens", "Sentences", "Words", "UPOS", "XPOS", "UFeats", "AllTags", "Lemmas"),
    *("UAS", "LAS", "CLAS", "MLAS", "BLEX"),
)
AnnotationMeasures = dict[str, Ratio]
#: The columns whose cells are compared as they are.
_STAGES = ("upos", "xpos", "lemma")
#: The head of a word attached to the root.
_ROOT = -1
#: The right and the found answer where a sentence end was missed; reversed for a false end.
_ENDS = ("ends", "goes on")


class Words(NamedTuple):
    """The words of one side, with everything that is compared."""

    spans: list[Word]
    columns: Mapping[str, list[str]]
    heads: list[int]  # numbers of words, or _ROOT
    relations: list[str]
    features: list[str]
    helpers: list[list[int]]  # the function words below each word


def measure_annotation(model: Any, treebank: Corpus, n_jobs: int | None = None) -> dict[str, Ratio]:
    """Annotate the raw text of a treebank, and compare.

    Parameters
    ----------
    model : callable
        Turns a text into a `Document`.
    treebank : Corpus
        CoNLL-U with the right sentences.
    """
    right = read_answers(treebank)
    return compare_document(treebank, right, annotate_text(model, right, n_jobs))


def read_answers(treebank: Corpus) -> list[Paragraph]:
    """The paragraphs of a treebank to compare with; an error names a word without a right tree."""
    paragraphs = read_paragraphs(treebank)
    check_trees(treebank, heads_of(treebank))
    return paragraphs


def annotate_text(model: Any, right: Sequence[Paragraph], n_jobs: int | None = None) -> Document:
    """Annotate the text of a treebank's paragraphs."""
    found: Document = model(BETWEEN.join(paragraph.text for paragraph in right), n_jobs)
    return found


class Mistaken(NamedTuple):
    """A wrong answer: the stage, the right answer, the one given, and the word's place."""

    stage: str
    right: str
    found: str
    start: int
    end: int


def find_mistakes(treebank: Corpus, right: Sequence[Paragraph], found: Document) -> list[Mistaken]:
    """The wrong answers of each stage; for unaligned words, only that they are not aligned.

    For sentences, the ends found on one side only, each by the last character of the sentence.
    """
    (wanted, places), (guessed, ours) = _right_words(treebank, right), _found_words(found)
    aligned = dict(align_words(wanted.spans, guessed.spans))
    back = {j: i for i, j in aligned.items()}
    ends, given = ({end for _, end in sentences} for _, sentences in (places, ours))
    mistakes = [
        Mistaken("sentence", *(_ENDS if end in ends else _ENDS[::-1]), end - 1, end)
        for end in sorted(ends ^ given)
    ]
    for i, (start, end, form, _) in enumerate(wanted.spans):
        j = aligned.get(i)
        if j is None:
            mistakes.append(Mistaken("word", form, "other words", start, end))
            continue
        told = [(name, wanted.columns[name][i], guessed.columns[name][j]) for name in _STAGES]
        told.append(("feats", wanted.features[i], guessed.features[j]))
        relation = wanted.relations[i], guessed.relations[j]
        if not _same_head(wanted, i, guessed, j, back):
            relation = relation[0], f"{relation[1]} of another head"
        told.append(("deprel", *relation))
        mistakes += [Mistaken(*one, start, end) for one in told if one[1] != one[2]]
    return mistakes


def compare_document(
    treebank: Corpus, right: Sequence[Paragraph], found: Document
) -> dict[str, Ratio]:
    """Compare a document with a treebank whose joined paragraphs are its text."""
    wanted, places = _right_words(treebank, right)
    guessed, ours = _found_words(found)
    counts = np.zeros((len(right), len(MEASURES), 3), np.int64)
    edges = np.cumsum([0, *(len(one.text) + len(BETWEEN) for one in right)])
    for k, (a, b) in enumerate(zip(places, ours, strict=True)):
        for side, spans in ((2, a), (1, b), (0, a & b)):
            counts[:, k, side] = _count_by_paragraph(edges, [start for start, _ in spans])
    _count_words(counts, edges, wanted, guessed)
    return {name: Ratio.of(*counts[:, k].T) for k, name in enumerate(MEASURES)}


def _count_by_paragraph(edges: np.ndarray, places: Sequence[int]) -> np.ndarray:
    """How many places are in each paragraph, where paragraphs begin at edges."""
    found = np.searchsorted(edges, np.array(places, np.int64), "right") - 1
    return np.bincount(found, minlength=len(edges) - 1)


def _count_words(counts: np.ndarray, edges: np.ndarray, wanted: Words, guessed: Words) -> None:
    """Add the counts of all measures that compare words."""
    pairs = list(align_words(wanted.spans, guessed.spans))
    aligned = {j: i for i, j in pairs}
    for k, name in enumerate(MEASURES[2:], 2):
        content, same = name in ("CLAS", "MLAS", "BLEX"), _COMPARED[name]
        for side, words in ((2, wanted), (1, guessed)):
            counted = [
                word.start
                for word, label in zip(words.spans, words.relations, strict=True)
                if not content or label in _CONTENT
            ]
            counts[:, k, side] = _count_by_paragraph(edges, counted)
        hits = [
            wanted.spans[i].start
            for i, j in pairs
            if not (content and wanted.relations[i] not in _CONTENT)
            and same(wanted, i, guessed, j, aligned)
        ]
        counts[:, k, 0] = _count_by_paragraph(edges, hits)


def _cell(name: str) -> Callable[..., bool]:
    def same(wanted: Words, i: int, guessed: Words, j: int, aligned: Any) -> bool:
        return wanted.columns[name][i] == guessed.columns[name][j]

    return same


def _same_features(wanted: Words, i: int, guessed: Words, j: int, aligned: Any) -> bool:
    return wanted.features[i] == guessed.features[j]


def _same_lemma(wanted: Words, i: int, guessed: Words, j: int, aligned: Any) -> bool:
    right = wanted.columns["lemma"][i]
    return right in ("_", guessed.columns["lemma"][j])


def _same_head(wanted: Words, i: int, guessed: Words, j: int, aligned: Any) -> bool:
    head = guessed.heads[j]
    return wanted.heads[i] == (_ROOT if head == _ROOT else aligned.get(head))


def _same_arc(wanted: Words, i: int, guessed: Words, j: int, aligned: Any) -> bool:
    same = wanted.relations[i] == guessed.relations[j]
    return same and _same_head(wanted, i, guessed, j, aligned)


def _same_tags(wanted: Words, i: int, guessed: Words, j: int, aligned: Any) -> bool:
    return _cell("upos")(wanted, i, guessed, j, aligned) and _same_features(
        wanted, i, guessed, j, aligned
    )


def _same_with_helpers(wanted: Words, i: int, guessed: Words, j: int, aligned: Any) -> bool:
    """The head and tags of a content word, and its function words with their tags."""
    if not (
        _same_arc(wanted, i, guessed, j, aligned) and _same_tags(wanted, i, guessed, j, aligned)
    ):
        return False
    right = [(k, wanted.relations[k], *_tags(wanted, k)) for k in wanted.helpers[i]]
    found = [(aligned.get(k), guessed.relations[k], *_tags(guessed, k)) for k in guessed.helpers[j]]
    return right == found


def _tags(words: Words, k: int) -> tuple[str, str]:
    return words.columns["upos"][k], words.features[k]


_COMPARED: dict[str, Callable[..., bool]] = {
    "Words": lambda *_: True,
    "UPOS": _cell("upos"),
    "XPOS": _cell("xpos"),
    "UFeats": _same_features,
    "AllTags": lambda *given: _same_tags(*given) and _cell("xpos")(*given),
    "Lemmas": _same_lemma,
    "UAS": _same_head,
    "LAS": _same_arc,
    "CLAS": _same_arc,
    "MLAS": _same_with_helpers,
    "BLEX": lambda *given: _same_arc(*given) and _same_lemma(*given),
}


@lru_cache(maxsize=1 << 14)
def _universal(feats: str) -> str:
    """The universal features, in order."""
    kept = [one for one in feats.split("|") if one.partition("=")[0] in _UNIVERSAL]
    return "|".join(sorted(kept))


def _words_of(spans: list[Word], columns: Mapping[str, list[str]], starts: np.ndarray) -> Words:
    """Words of one side, from their columns."""
    relations = [label.partition(":")[0] for label in columns["deprel"]]
    heads: list[int] = []
    helpers: list[list[int]] = [[] for _ in spans]
    for a, b in pairwise(starts.tolist()):
        heads += [a + int(head) - 1 if int(head) else _ROOT for head in columns["head"][a:b]]
    for word, (head, label) in enumerate(zip(heads, relations, strict=True)):
        if head != _ROOT and label in _FUNCTION:
            helpers[head].append(word)
    nothing = ["_"] * len(spans)
    features = [_universal(cell) for cell in columns.get("feats", nothing)]
    full = {name: columns.get(name, nothing) for name in ("lemma", "upos", "xpos")}
    return Words(spans, full, heads, relations, features, helpers)


Spans = set[tuple[int, int]]


def _right_words(treebank: Corpus, right: Sequence[Paragraph]) -> tuple[Words, tuple[Spans, Spans]]:
    """The words of a treebank, and the places of its tokens and sentences in the joined text."""
    spans: list[Word] = []
    tokens, sentences, begin = set(), set(), 0
    for paragraph in right:
        for sentence in paragraph.sentences:
            sentences.add((begin + sentence[0].start, begin + sentence[-1].end))
            for start, end, words in sentence:
                a, b = begin + start, begin + end
                tokens.add((a, b))
                spans += [Word(a, b, word, len(words) > 1) for word in words]
        begin += len(paragraph.text) + len(BETWEEN)
    columns = {name: treebank.column(name) for name in treebank.names}
    return _words_of(spans, columns, treebank.starts), (tokens, sentences)


def _found_words(found: Document) -> tuple[Words, tuple[Spans, Spans]]:
    """The words of a document, and the places of its tokens and sentences."""
    places = list(zip(found.begins.tolist(), found.ends.tolist(), strict=True))
    of_words = found.tokens.tolist()
    sizes = np.bincount(found.tokens, minlength=len(places)).tolist()
    forms = found.columns["form"]
    spans = [
        Word(places[token][0], places[token][1], form, sizes[token] > 1)
        for token, form in zip(of_words, forms, strict=True)
    ]
    sentences = {
        (places[of_words[a]][0], places[of_words[b - 1]][1])
        for a, b in pairwise(found.starts.tolist())
    }
    return _words_of(spans, found.columns, found.starts), (set(places), sentences)
