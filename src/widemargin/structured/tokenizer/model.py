"""A trained tokenizer: from text to sentences of words, and saving to a file."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from widemargin.certificates.certificate import RunCertificate
from widemargin.data.readers.conll import read_conll
from widemargin.data.readers.corpus import Corpus
from widemargin.errors import DataError
from widemargin.modelfile.packing import pack_params, unpack_params
from widemargin.structured.saved import SentenceModel, join_parts, read_model
from widemargin.structured.sparse_rows import SMALL_BITS, SMALL_SHARE
from widemargin.structured.tagger.model import TaggerModel
from widemargin.structured.tokenizer.boundaries import ENDS, GOES_ON, end_sentences, forms_of
from widemargin.structured.tokenizer.cuts import (
    LABELS,
    Characters,
    Cuts,
    cut,
    number_labels,
    read_characters,
    relabel,
)
from widemargin.structured.tokenizer.measures import TextMeasures, measure_text
from widemargin.structured.tokenizer.splits import WHOLE, split
from widemargin.structured.tokenizer.treebank import Paragraph, Token, paragraphs_of
from widemargin.training.checkpoints import without_prefix
from widemargin.training.history import History

#: The columns of CoNLL-U between the form and MISC, which a tokenizer leaves empty.
_EMPTY = "\t_" * 7


class Labelled(NamedTuple):
    """The characters of a text, and the numbers of their labels, see `cuts.LABELS`."""

    characters: Characters
    labels: np.ndarray


class FoundWords(NamedTuple):
    """Where the tokens of a text are, the words of all of them, and how many each one has."""

    cuts: Cuts
    words: list[str]
    sizes: np.ndarray


@dataclass(frozen=True, eq=False)
class TokenizerModel(SentenceModel):
    """A trained tokenizer.

    Attributes
    ----------
    cutter : TaggerModel
        Labels characters: where tokens and sentences end.
    splitter : TaggerModel or None
        Chooses the rule for splitting a token into words; None if no token has several.
    boundaries : TaggerModel or None
        Labels tokens: where sentences end. If None, the labels of characters decide. Its weights
        are those of a linear SVM, or, in files of older versions, of a structured perceptron.
    params : dict
        The parameters of the training.
    """

    learner: ClassVar[str] = "Tokenizer"

    cutter: TaggerModel
    splitter: TaggerModel | None = None
    boundaries: TaggerModel | None = None
    params: dict[str, Any] = field(default_factory=dict)

    @property
    def history(self) -> History:
        """The history of learning to split text."""
        return self.cutter.history

    def facts(self) -> list[tuple[str, Any]]:
        """More lines for the table that describes the model."""
        rules = 0 if self.splitter is None else len(self.splitter.tags) - 1
        return [
            (
                "characters",
                f"{self.cutter.features:,} features, {len(self.cutter.templates)} templates",
            ),
            (
                "sentences",
                f"{self.boundaries.features:,} features of tokens"
                if self.boundaries
                else "those of characters",
            ),
            ("multiword tokens", f"{rules} rules" if rules else "none"),
        ]

    @property
    def certificate(self) -> RunCertificate | None:
        """The certificate of learning to split text."""
        return self.cutter.certificate

    def labels(self, text: str, n_jobs: int | None = None) -> Labelled:
        """The characters of a text, and their labels."""
        found = self._labels(text, n_jobs)
        if self.boundaries is None:
            return found
        return Labelled(found.characters, relabel(*found, self._cut(text, found, n_jobs)[0]))

    def _labels(self, text: str, n_jobs: int | None, lines: bool = False) -> Labelled:
        """The characters of a text, and the labels that the cutter gives them."""
        if not isinstance(text, str):
            raise DataError(f"a text must be a string, not {text!r:.40} ({type(text).__name__})")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise DataError(
                f"the text has a lone surrogate, half a character, at {error.start}: decode its"
                " bytes again"
            ) from None
        characters = read_characters(text, lines)
        around = bool(self.cutter.templates.columns.inputs)  # older models use characters only
        codes = self.cutter.codes(characters.corpus(around), n_jobs)
        return Labelled(characters, number_labels(self.cutter.tags)[codes])

    def cuts(self, text: str, n_jobs: int | None = None, lines: bool = False) -> Cuts:
        """Where the tokens and sentences of a text are; with `lines`, a line is a sentence."""
        return self._cut(text, self._labels(text, n_jobs, lines), n_jobs, lines)[0]

    def _cut(
        self, text: str, labelled: Labelled, n_jobs: int | None, lines: bool = False
    ) -> tuple[Cuts, list[str]]:
        """Where the tokens and sentences of a text are, and the tokens."""
        found = cut(*labelled, lines or self.boundaries is not None)
        forms = forms_of(text, found)
        if not lines and self.boundaries is not None:
            found = end_sentences(self.boundaries, found, forms, n_jobs)
        return found, forms

    def find_words(self, text: str, n_jobs: int | None = None, lines: bool = False) -> FoundWords:
        """The words of a text by token; with `lines`, a line is a sentence."""
        found, forms = self._cut(text, self._labels(text, n_jobs, lines), n_jobs, lines)
        return FoundWords(found, *self._words(forms, found.starts, n_jobs))

    def paragraphs(self, text: str, n_jobs: int | None = None) -> list[Paragraph]:
        """A text as paragraphs of sentences of tokens, with positions in the whole text."""
        found, words, sizes = self.find_words(text, n_jobs)
        places = zip(found.begins.tolist(), found.ends.tolist(), strict=True)
        edges = pairwise([0, *np.cumsum(sizes).tolist()])
        tokens = [
            Token(start, end, tuple(words[a:b]))
            for (start, end), (a, b) in zip(places, edges, strict=True)
        ]
        paragraphs = [Paragraph(text)]
        for (a, b), last in zip(
            pairwise(found.starts.tolist()), found.paragraphs.tolist(), strict=True
        ):
            paragraphs[-1].sentences.append(tokens[a:b])
            if last:
                paragraphs.append(Paragraph(text))
        return paragraphs[:-1]

    def _words(
        self, forms: list[str], starts: np.ndarray, n_jobs: int | None
    ) -> tuple[list[str], np.ndarray]:
        """The words of all tokens, and how many each one has. Few tokens have several."""
        sizes = np.ones(len(forms), np.int64)
        if self.splitter is None:
            return forms, sizes
        rules = self.splitter.codes(Corpus({"word": forms}, starts), n_jobs)
        names = self.splitter.tags
        several = np.flatnonzero(np.array([name != WHOLE for name in names])[rules])
        words: list[str] = []
        done = 0
        for token, rule in zip(several.tolist(), rules[several].tolist(), strict=True):
            found = split(forms[token], names[rule])
            words += forms[done:token]
            words += found
            sizes[token] = len(found)
            done = token + 1
        return words + forms[done:], sizes

    def __call__(self, text: str, n_jobs: int | None = None) -> Corpus:
        """The sentences of a text.

        Parameters
        ----------
        text : str
            Paragraphs end with an empty line; any other white space counts as a space.
        n_jobs : int or None
            Number of threads; -1 for one per core. The sentences do not depend on it.

        Returns
        -------
        Corpus
            With the columns of CoNLL-U. The column misc records where each token is in the text
            (TokenRange=0:4), and whether no space follows it (SpaceAfter=No).
        """
        written = io.StringIO(self.conllu(text, n_jobs))
        written.name = "text"
        return read_conll(written, format="conllu")

    def conllu(self, text: str, n_jobs: int | None = None) -> str:
        """The sentences of a text as CoNLL-U."""
        lines: list[str] = []
        number = 0
        for paragraph in self.paragraphs(text, n_jobs):
            lines.append("# newpar")
            for sentence in paragraph.sentences:
                number += 1
                shown = " ".join(text[sentence[0].start : sentence[-1].end].split())
                lines += [f"# sent_id = {number}", f"# text = {shown}"]
                lines += _token_lines(text, sentence)
                lines.append("")
        return "\n".join([*lines, ""]) if lines else ""

    def measure(self, treebank: Any, n_jobs: int | None = None) -> TextMeasures:
        """F1 of tokens, sentences and words on the raw text of a treebank.

        Parameters
        ----------
        treebank : path or Corpus
            CoNLL-U with the right sentences.
        """
        return measure_text(paragraphs_of(treebank), partial(self.paragraphs, n_jobs=n_jobs))

    def smaller(self, bits: int = SMALL_BITS, share: float = SMALL_SHARE) -> TokenizerModel:
        """A model whose file is smaller, see `TaggerModel.smaller`."""
        parts = {name: part and part.smaller(bits, share) for name, part in self._parts().items()}
        return replace(self, **parts)

    def _parts(self) -> dict[str, Any]:
        """The taggers by name."""
        return {"cutter": self.cutter, "splitter": self.splitter, "boundaries": self.boundaries}

    def contents(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The model as arrays and a description."""
        found = {name: part for name, part in self._parts().items() if part is not None}
        arrays, parts = join_parts(
            {name: part.contents(names=False) for name, part in found.items()}
        )
        params = pack_params(self.params)
        return arrays, {"learner": self.learner, "parts": parts, "params": params}

    @classmethod
    def of(cls, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> Self:
        """Undo `contents`."""
        parts = {
            name: TaggerModel.of(without_prefix(name, arrays), described)
            for name, described in about["parts"].items()
        }
        params = unpack_params(about["params"])
        unknown = set(parts["cutter"].tags) - set(LABELS)
        if unknown:
            raise ValueError(f"{min(unknown)!r:.40} is not a character label")
        boundaries = parts.get("boundaries")
        if boundaries is not None and not {ENDS, GOES_ON}.issuperset(boundaries.tags):
            raise ValueError(f"{boundaries.tags!r:.60} are not the labels of tokens")
        return cls(parts["cutter"], parts.get("splitter"), boundaries, params)

    def __repr__(self) -> str:
        rules = 0 if self.splitter is None else len(self.splitter.tags) - 1
        return f"TokenizerModel({self.cutter.features} rows, {rules} rules of multiword tokens)"


def _token_lines(text: str, sentence: Sequence[Token]) -> list[str]:
    """The lines of the tokens of a sentence in CoNLL-U."""
    lines, number = [], 0
    for start, end, words in sentence:
        follows = text[end : end + 1]
        glued = "" if not follows or follows.isspace() else "SpaceAfter=No|"
        misc = f"{glued}TokenRange={start}:{end}"
        if len(words) == 1:
            number += 1
            lines.append(f"{number}\t{words[0]}{_EMPTY}\t{misc}")
            continue
        form = " ".join(text[start:end].split())
        lines.append(f"{number + 1}-{number + len(words)}\t{form}{_EMPTY}\t{misc}")
        for word in words:
            number += 1
            lines.append(f"{number}\t{word}{_EMPTY}\t_")
    return lines


def load_tokenizer(path: str | os.PathLike[str]) -> TokenizerModel:
    """Read a tokenizer from its file.

    This is the plain model, to be called with raw text.

    Examples
    --------
    >>> import io
    >>> from widemargin.structured import Tokenizer, load_tokenizer, read_conll
    >>> lines = "1\\tIt" + 8 * "\\t_" + "\\n2\\tbarks" + 8 * "\\t_" + "\\n\\n"
    >>> treebank = read_conll(io.StringIO(lines * 3), format="conllu")
    >>> Tokenizer(epochs=3, random_state=0).fit(treebank).save("words.wm")
    >>> load_tokenizer("words.wm")("It barks").sentences()
    [['It', 'barks']]
    """
    return read_model(path, TokenizerModel)
