"""A trained annotator: from text to documents, and saving to a file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, ClassVar, Self

import numpy as np

from widemargin.certificates.certificate import RunCertificate
from widemargin.data.readers.corpus import Corpus
from widemargin.modelfile.packing import pack_params, unpack_params
from widemargin.structured.annotator.document import Document, write_numbers
from widemargin.structured.lemmas.model import LemmatizerModel
from widemargin.structured.morphology.model import MorphologizerModel
from widemargin.structured.parser.model import ParserModel
from widemargin.structured.saved import SentenceModel, join_parts, read_model
from widemargin.structured.sentences import corpus_with_words
from widemargin.structured.sparse_rows import SMALL_BITS, SMALL_SHARE
from widemargin.structured.tagger.model import TaggerModel
from widemargin.structured.tokenizer.cuts import BLANK_LINE
from widemargin.structured.tokenizer.model import TokenizerModel
from widemargin.training.checkpoints import without_prefix
from widemargin.training.history import History

#: The parts of an annotator, in the order in which they run.
_PARTS: dict[str, Any] = {
    "tokenizer": TokenizerModel,
    "tagger": TaggerModel,
    "morphology": MorphologizerModel,
    "lemmas": LemmatizerModel,
    "parser": ParserModel,
}
#: The relation of a word without a head, and the least specific relation of a word with one.
_ROOT, _DEPENDENT = "root", "dep"
#: The formats in which a text can be given.
INPUTS = ("text", "sentences", "tokens")


@dataclass(frozen=True, eq=False)
class AnnotatorModel(SentenceModel):
    """A trained annotator.

    Attributes
    ----------
    tokenizer : TokenizerModel
        Finds sentences and words.
    tagger : TaggerModel
        Finds the tags (UPOS) of words.
    morphology : MorphologizerModel or None
        Finds their features and finer tags, given those tags; None if the treebank has none.
    lemmas : LemmatizerModel or None
        Finds their lemmas, given tags and features; None if the treebank has none.
    parser : ParserModel
        Finds their trees, given tags and features.
    params : dict
        The parameters of the training.
    """

    learner: ClassVar[str] = "Annotator"

    tokenizer: TokenizerModel
    tagger: TaggerModel
    morphology: MorphologizerModel | None
    lemmas: LemmatizerModel | None
    parser: ParserModel
    params: dict[str, Any] = field(default_factory=dict)

    @property
    def history(self) -> History:
        """The history of the last stage of the training, the parser."""
        return self.parser.history

    @property
    def certificate(self) -> RunCertificate | None:
        """The certificate of the parser's training."""
        return self.parser.certificate

    def facts(self) -> list[tuple[str, Any]]:
        """More lines for the table that describes the model."""
        found = [("tokens", f"{self.tokenizer.cutter.features:,} features of characters")]
        found.append(("tags", f"{len(self.tagger.tags)} tags"))
        for name, part in (("morphology", self.morphology), ("lemmas", self.lemmas)):
            if part is not None:
                found.append((name, ", ".join(f"{what}: {told}" for what, told in part.facts())))
        found.append(("trees", ", ".join(f"{what}: {told}" for what, told in self.parser.facts())))
        return found

    # Answers

    def __call__(self, text: str, n_jobs: int | None = None) -> Document:
        """Annotate a text with `n_jobs` threads (-1: one per core), which do not affect the result.

        Paragraphs end with an empty line; any other white space counts as a space.
        """
        return self.document(text, n_jobs=n_jobs)

    def document(
        self,
        text: str,
        input: str = "text",
        first: int = 1,
        offset: int = 0,
        n_jobs: int | None = None,
    ) -> Document:
        """Annotate a text, or a part of a longer one.

        Parameters
        ----------
        text : str
            The text.
        input : {"text", "sentences", "tokens"}
            "text": find sentences and words. "sentences": every line is a sentence; find its
            words. "tokens": every line is a sentence of words separated by spaces.
        first, offset : int
            The number of the first sentence, and where the text begins in the longer one.
        n_jobs : int or None
            Number of threads.
        """
        if input not in INPUTS:
            raise ValueError(f"input={input!r} must be one of {', '.join(INPUTS)}")
        found = _split_lines(text) if input == "tokens" else None
        if found is None:
            cuts, forms, sizes = self.tokenizer.find_words(text, n_jobs, input == "sentences")
            edges = np.concatenate([[0], np.cumsum(sizes)])[cuts.starts]
            opens = np.concatenate([[True], cuts.paragraphs[:-1]])[: len(cuts.starts) - 1]
            tokens = np.repeat(np.arange(len(sizes)), sizes)
            found = Document(text, {"form": forms}, edges, tokens, cuts.begins, cuts.ends, opens)
        corpus = Corpus({"form": found.columns["form"]}, found.starts, format="conllu")
        if input != "text":  # all lines are one paragraph
            opens = (np.arange(len(found)) == 0) & (first == 1)
            found = replace(found, paragraphs=opens)
        columns = {"form": found.columns["form"], **self.columns(corpus, n_jobs)}
        return replace(found, columns=columns, first=first, offset=offset)

    def columns(self, corpus: Corpus, n_jobs: int | None = None) -> dict[str, list[str]]:
        """The columns of all words of a corpus: tags, morphology, lemmas and trees."""
        found, given = self.tag(corpus, n_jobs)
        lemmas = {} if self.lemmas is None else {"lemma": self.lemmas.flat_lemmas(given)}
        trees = self.parser.predict(given, n_jobs)
        heads = write_numbers(trees.heads)
        return {**lemmas, **found, "head": heads, "deprel": self._with_roots(heads, trees.labels)}

    def tag(self, corpus: Corpus, n_jobs: int | None = None) -> tuple[dict[str, list[str]], Corpus]:
        """Tags and morphology of all words of a corpus, and the words with these columns."""
        bare = Corpus({"word": corpus.words}, corpus.starts)
        found = {"upos": self.tagger.flat_tags(bare, n_jobs)}
        given = replace(bare, columns={**bare.columns, **found})
        if self.morphology is not None:
            found |= self.morphology.flat_columns(given)
            given = replace(bare, columns={**bare.columns, **found})
        return found, given

    def _with_roots(self, heads: list[str], labels: list[str]) -> list[str]:
        """Labels changed so that words without a head, and only those, are labelled "root".

        A parser learns this, but may choose otherwise on words unlike any it has seen, and
        Universal Dependencies do not allow it. If the treebank has no such label, nothing changes.
        """
        if _ROOT not in self.parser.labels:
            return labels
        return [
            _ROOT if head == "0" else _DEPENDENT if label == _ROOT else label
            for head, label in zip(heads, labels, strict=True)
        ]

    def annotate(self, sentences: Any, n_jobs: int | None = None) -> Corpus:
        """Annotate sentences that are already tokenized; returns them with all columns.

        Parameters
        ----------
        sentences : Corpus, path, or list of lists of words
            Existing columns are replaced.
        """
        corpus = corpus_with_words(sentences, ())
        return corpus.with_columns(self.columns(corpus, n_jobs))

    def stream(
        self, texts: Iterable[str], input: str = "text", n_jobs: int | None = None
    ) -> Iterator[Document]:
        """Annotate a text that arrives in pieces, as soon as paragraphs are complete.

        Together the documents are the same as for the whole text.
        """
        pieces, blank, first, offset = [""], "", 1, 0
        for text in chain(texts, [None]):
            # Text searched before is not searched again, except for the white space at its end.
            fresh = blank + (text or "")
            pieces.append(text or "")
            end = _complete(fresh, input)
            if not end and text is not None:
                blank = fresh[len(fresh.rstrip()) :]
                continue
            rest = "".join(pieces)
            end = len(rest) if text is None else len(rest) - len(fresh) + end
            if end:
                document = self.document(rest[:end], input, first, offset, n_jobs)
                yield document
                first, offset, rest = first + len(document), offset + end, rest[end:]
            pieces, blank = [rest], rest[len(rest.rstrip()) :]

    # Files

    def smaller(self, bits: int = SMALL_BITS, share: float = SMALL_SHARE) -> AnnotatorModel:
        """A model whose file is about half as large.

        In every part, features whose weights are all at most `share` of the largest weight are
        removed, and weights keep only their upper `bits` bits, sign included. See
        `docs/guide/annotating.md` for what this costs; compare `measure` before and after.
        """
        parts = {name: getattr(self, name) for name in _PARTS}
        return replace(
            self, **{name: part and part.smaller(bits, share) for name, part in parts.items()}
        )

    def contents(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The model as arrays and a description."""
        found = {name: getattr(self, name) for name in _PARTS}
        arrays, parts = join_parts(
            {
                name: part.contents(**({"names": False} if name == "tagger" else {}))
                for name, part in found.items()
                if part is not None
            }
        )
        params = pack_params(self.params)
        return arrays, {"learner": self.learner, "parts": parts, "params": params}

    @classmethod
    def of(cls, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> Self:
        """Undo `contents`."""
        parts: dict[str, Any] = dict.fromkeys(_PARTS)
        for name, described in about["parts"].items():
            parts[name] = _PARTS[name].of(without_prefix(name, arrays), described)
        _check_chain(**parts)
        return cls(**parts, params=unpack_params(about["params"]))

    def __repr__(self) -> str:
        parts = [name for name in _PARTS if getattr(self, name) is not None]
        return f"AnnotatorModel({', '.join(parts)})"


def _check_chain(
    tokenizer: Any, tagger: Any, morphology: Any, lemmas: Any, parser: ParserModel | None
) -> None:
    """Raise a ValueError unless every part of an annotator gets the columns it reads."""
    if tokenizer is None or tagger is None or parser is None:
        raise ValueError("an annotator needs a tokenizer, a tagger and a parser")
    known = {"upos"}
    for name, part in (("morphology", morphology), ("lemmas", lemmas)):
        if part is not None and not known.issuperset(part.tags):
            raise ValueError(f"the part {name} reads the columns {', '.join(part.tags)!r:.60}")
        known.update(() if morphology is None else morphology.columns)
    if not parser.taggers and not known.issuperset(parser.columns):
        raise ValueError(f"the parser reads the columns {', '.join(parser.columns)!r:.60}")


def _split_lines(text: str) -> Document:
    """A document with a sentence per line and tokens separated by white space."""
    forms: list[str] = []
    begins, starts, at = [], [0], 0
    for line in text.split("\n"):
        place = at
        for form in line.split():
            place = text.index(form, place)
            begins.append(place)
            forms.append(form)
            place += len(form)
        if len(forms) > starts[-1]:
            starts.append(len(forms))
        at += len(line) + 1
    begun = np.array(begins, np.int64)
    sizes = np.fromiter(map(len, forms), np.int64, len(forms))
    edges = np.array(starts, np.int64)
    return Document(text, {"form": forms}, edges, np.arange(len(forms)), begun, begun + sizes)


def _complete(text: str, input: str) -> int:
    """How much of a text can be annotated before the rest is known."""
    if input != "text":
        return text.rfind("\n") + 1
    return max((found.end() for found in BLANK_LINE.finditer(text)), default=0)


def load_annotator(path: str | os.PathLike[str]) -> AnnotatorModel:
    """Read an annotator from its file.

    This is the plain model, to be called with raw text; `widemargin.load` returns the `Annotator`
    around it.

    Examples
    --------
    >>> import io
    >>> from widemargin.structured import Annotator, load_annotator, read_conll
    >>> rows = ["1 Dogs dog NOUN _ Number=Plur 2 nsubj _ _", "2 bark bark VERB _ _ 0 root _ _"]
    >>> lines = "\\n".join(rows).replace(" ", "\\t") + "\\n\\n"
    >>> treebank = read_conll(io.StringIO(lines * 6), format="conllu")
    >>> Annotator(jackknife=2, random_state=0).fit(treebank).save("en.wm")
    >>> [word["upos"] for word in next(iter(load_annotator("en.wm")("Dogs bark")))]
    ['NOUN', 'VERB']
    """
    return read_model(path, AnnotatorModel)
