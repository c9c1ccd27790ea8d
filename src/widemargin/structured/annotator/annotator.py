"""Annotator: learns every step from raw text to trees from a treebank."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

from widemargin.data.encode.templates import WORDS
from widemargin.data.readers.conll import read_conll
from widemargin.data.readers.corpus import Corpus
from widemargin.errors import DataError
from widemargin.evaluate.folds import consecutive_folds
from widemargin.parameters.values import check_seconds, check_whole, is_number, make_generator
from widemargin.structured.annotator.document import Document
from widemargin.structured.annotator.measures import (
    AnnotationMeasures,
    measure_annotation,
    read_answers,
)
from widemargin.structured.annotator.model import AnnotatorModel
from widemargin.structured.estimator import CertifiedEstimator
from widemargin.structured.lemmas.lemmatizer import Lemmatizer
from widemargin.structured.morphology.morphologizer import Morphologizer
from widemargin.structured.parser.parser import Parser
from widemargin.structured.parser.treebank import check_treebank
from widemargin.structured.stage_clock import StageClock, StagePlan
from widemargin.structured.tagger.tagger import Tagger
from widemargin.structured.tokenizer.tokenizer import Tokenizer
from widemargin.structured.tokenizer.treebank import read_paragraphs
from widemargin.training.run import Watch

_NEIGHBOURS = [f"suffix{n}[{place}]" for n in (1, 4) for place in (-1, 1)]
#: Parameters of the tagger unless one is given. A committee of four, and suffixes of up to seven
#: letters, are worth 0.5 points of UPOS on the dev set of Turkish IMST, 0.2 on that of Greek GDT.
_TAGGER: dict[str, Any] = {
    "C": 0.02,
    "epochs": 10,
    "committee": 4,
    "templates": [*WORDS, *(f"suffix{n}[0]" for n in (6, 7)), *_NEIGHBOURS],
}
#: Rough relative durations of the stages.
_SHARES = {"tokens": 3.0, "tags": 2.0, "morphology": 2.0, "lemmas": 1.0, "trees": 6.0}
#: The columns besides UPOS that the parser may use.
_FINER = ("xpos", "feats")


@dataclass(eq=False, repr=False)
class Annotator(CertifiedEstimator[AnnotatorModel]):
    """Annotate raw text with sentences, words, tags, morphology, lemmas and trees.

    The annotator is a chain of learners: a `Tokenizer`, a `Tagger` for UPOS, a `Morphologizer` for
    XPOS and FEATS, a `Lemmatizer` and a `Parser`. The parser is trained on tags and features
    predicted by learners that were trained on other sentences (jackknifing), so that it sees the
    kinds of mistakes it will meet later.

    Parameters
    ----------
    beam : int
        Beam width of the parser; 1 is greedy, and fastest.
    jackknife : int
        Split the training sentences into this many parts, and annotate each part with learners
        trained on the others. With 0 or 1, use learners trained on all sentences.
    tokenizer, tagger, morphologizer, lemmatizer, parser : estimators or None
        Estimators whose parameters are used for the parts; they are not modified.
    validation : path, Corpus or None
        A held-out treebank that decides when to stop training the tokenizer and the parser.
    max_seconds : float or None
        Stop after this many seconds, and keep what was learned so far.
    random_state : int, Generator or None
        Seed of the random generator, or the generator itself.

    Attributes
    ----------
    model_ : AnnotatorModel
        The trained model, which can be saved.
    history_ : History
        History of the last stage, the parser.
    certificate_ : RunCertificate

    Examples
    --------
    >>> import io
    >>> from widemargin.structured import read_conll
    >>> rows = ["1 Dogs dog NOUN _ Number=Plur 2 nsubj _ _", "2 bark bark VERB _ _ 0 root _ _"]
    >>> lines = "\\n".join(rows).replace(" ", "\\t") + "\\n\\n"
    >>> treebank = read_conll(io.StringIO(lines * 6), format="conllu")
    >>> annotator = Annotator(jackknife=2, random_state=0).fit(treebank)
    >>> document = annotator("Dogs bark")
    >>> [word["lemma"] for word in next(iter(document))]
    ['dog', 'bark']
    """

    beam: int = 1
    _: KW_ONLY
    jackknife: int = 5
    tokenizer: Tokenizer | None = None
    tagger: Tagger | None = None
    morphologizer: Morphologizer | None = None
    lemmatizer: Lemmatizer | None = None
    parser: Parser | None = None
    validation: Any = None
    max_seconds: float | None = None
    random_state: Any = None

    def fit(
        self, treebank: Any, y: None = None, *, valid: Any = None, watch: Watch | None = None
    ) -> Annotator:
        """Learn from a treebank.

        Parameters
        ----------
        treebank : path, list of paths, or Corpus
            CoNLL-U, with trees.
        y : None
            Not used: the answers are in the treebank.
        valid : path or Corpus
            A held-out treebank; overrides the parameter `validation`.
        watch : callable
            Called with the progress so far; return True to stop.
        """
        check_whole("beam", self.beam, 1, 1024)
        check_whole("jackknife", self.jackknife, least=0)
        check_seconds("max_seconds", self.max_seconds)
        corpus = _treebank_of(treebank)
        check_annotated(corpus)  # now, and not after the stages before the parser
        valid = self.validation if valid is None else valid
        held_out = None if valid is None else _treebank_of(valid)
        if held_out is not None:
            read_answers(held_out)
        parts = min(int(self.jackknife), len(corpus))
        parts = parts if parts > 1 else 0
        times = {"tags": 1 + parts, "morphology": 1 + parts}
        stages = [stage for stage in _SHARES.items() for _ in range(times.get(stage[0], 1))]
        clock = StageClock(self.max_seconds, watch)
        self.model_ = self._learn(corpus, held_out, parts, StagePlan(stages, clock))
        return self

    def _learn(
        self, corpus: Corpus, held_out: Corpus | None, parts: int, plan: StagePlan
    ) -> AnnotatorModel:
        """Train the stages one after another."""
        rng = make_generator(self.random_state)
        seeds = dict(zip(_SHARES, rng.integers(1 << 31, size=len(_SHARES)).tolist(), strict=True))
        tokenizer = self._part(self.tokenizer or Tokenizer(), "tokens", seeds, plan)
        if held_out is not None:
            tokenizer[0].set_params(validation=held_out)
        tokens = tokenizer[0].fit(corpus, watch=tokenizer[1]).model_

        def fit_tagger(given: Corpus) -> Any:
            tagger, watch = self._part(self.tagger or Tagger(**_TAGGER), "tags", seeds, plan)
            return tagger.fit(given, column="upos", watch=watch).model_

        tagger = fit_tagger(corpus)
        tagged = _jackknifed(
            (corpus, corpus),
            parts,
            fit_tagger,
            tagger,
            lambda model, part: {"upos": model.flat_tags(part)},
        )
        morphology, tagged = self._learn_morphology((corpus, tagged), parts, seeds, plan)
        lemmas = self._learn_lemmas(corpus, seeds, plan)
        partial = AnnotatorModel(tokens, tagger, morphology, lemmas, None)  # type: ignore[arg-type]
        if held_out is not None:
            held_out = held_out.with_columns(partial.tag(held_out)[0])
        trees = self._learn_trees(tagged, held_out, seeds, plan)
        return replace(partial, parser=trees, params=self._plain_params())

    def _part(
        self, usual: Any, stage: str, seeds: dict[str, int], plan: StagePlan
    ) -> tuple[Any, Watch]:
        """A copy of a part's estimator for a stage, and its watch."""
        seconds, watch = plan.begin(stage)
        params = usual.get_params(deep=False)
        if params["random_state"] is None:
            params["random_state"] = seeds[stage]
        if params["max_seconds"] is None:
            params["max_seconds"] = seconds
        return type(usual)(**params), watch

    def _learn_morphology(
        self, corpora: tuple[Corpus, Corpus], parts: int, seeds: dict[str, int], plan: StagePlan
    ) -> tuple[Any, Corpus]:
        """The morphology model, if the treebank has morphology, and the tagged sentences with it.

        It is trained with gold UPOS, which gives the best candidate values for each tag. With
        predicted tags, XPOS and FEATS were 0.2 to 0.6 points worse on the dev sets of Turkish
        IMST and Greek GDT.
        """
        corpus, tagged = corpora
        told = [name for name in _FINER if set(corpus.column(name)) != {"_"}]
        usual = self.morphologizer or Morphologizer(columns=tuple(told))
        if not told:
            return None, tagged

        def fit(given: Corpus) -> Any:
            morphologizer, watch = self._part(usual, "morphology", seeds, plan)
            return morphologizer.fit(given, watch=watch).model_

        whole = fit(corpus)
        return whole, _jackknifed(
            corpora, parts, fit, whole, lambda model, part: model.flat_columns(part)
        )

    def _learn_lemmas(self, corpus: Corpus, seeds: dict[str, int], plan: StagePlan) -> Any:
        """The lemma model, if the treebank has lemmas."""
        usual = self.lemmatizer
        if usual is None:
            tags = [name for name in ("upos", "feats") if set(corpus.column(name)) != {"_"}]
            usual = Lemmatizer(tags=tuple(tags))
        if set(corpus.column("lemma")) == {"_"}:
            return None
        lemmatizer, watch = self._part(usual, "lemmas", seeds, plan)
        return lemmatizer.fit(corpus, watch=watch).model_

    def _learn_trees(
        self, corpus: Corpus, held_out: Corpus | None, seeds: dict[str, int], plan: StagePlan
    ) -> Any:
        """The parser model."""
        usual = self.parser
        if usual is None:
            usual = Parser(beam=self.beam, tags=_tags_of_trees(corpus))
        parser, watch = self._part(usual, "trees", seeds, plan)
        if held_out is not None:
            parser.set_params(validation=held_out)
        return parser.fit(corpus, watch=watch).model_

    def __call__(self, text: str, n_jobs: int | None = None) -> Document:
        """Annotate a text, see `AnnotatorModel`."""
        return self._fitted(text, n_jobs)

    def predict(self, texts: Any, n_jobs: int | None = None) -> list[Document]:
        """Annotate many texts."""
        if isinstance(texts, str):
            raise DataError("texts is a single string: give a list, or call the annotator with it")
        return [self._fitted(text, n_jobs) for text in texts]

    def annotate(self, sentences: Any, n_jobs: int | None = None) -> Corpus:
        """Annotate sentences that are already tokenized, see `AnnotatorModel.annotate`."""
        return self._fitted.annotate(sentences, n_jobs)

    def measure(self, treebank: Any, n_jobs: int | None = None) -> AnnotationMeasures:
        """Annotate the raw text of a treebank, and compare with the treebank."""
        return measure_annotation(self._fitted, _treebank_of(treebank), n_jobs)

    def score(self, treebank: Any, y: None = None) -> float:
        """F1 of labelled heads (LAS) on the raw text of a treebank."""
        return self.measure(treebank)["LAS"].f1


def _treebank_of(given: Any) -> Corpus:
    """A treebank in CoNLL-U."""
    if is_number(given):
        raise DataError(f"validation={given!r}: an annotator needs a treebank here, not a share")
    return given if isinstance(given, Corpus) else read_conll(given, format="conllu")


def check_annotated(corpus: Corpus) -> None:
    """Raise an error if an annotator can neither learn from nor be compared with a corpus."""
    read_paragraphs(corpus)
    check_treebank(corpus)


def _jackknifed(
    corpora: tuple[Corpus, Corpus],
    parts: int,
    fit: Callable[[Corpus], Any],
    whole: Any,
    answer: Callable[[Any, Corpus], dict[str, list[str]]],
) -> Corpus:
    """Sentences annotated by learners that were not trained on them.

    The corpora have the same sentences: learners are trained on the first and annotate the second.
    """
    learned, asked = corpora
    if not parts:
        return asked.with_columns(answer(whole, asked))
    found: dict[str, list[str]] = {}
    for fold in consecutive_folds(len(learned), parts):
        model = fit(learned[fold.train])
        for name, cells in answer(model, asked[fold.test]).items():
            found.setdefault(name, []).extend(cells)
    return asked.with_columns(found)


def _tags_of_trees(corpus: Corpus) -> tuple[str, ...]:
    """The tag columns that the parser reads: UPOS, and those that UPOS does not determine."""
    upos = corpus.column("upos")
    kinds = len(set(upos))
    finer = [
        name for name in _FINER if len(set(zip(upos, corpus.column(name), strict=True))) > kinds
    ]
    return ("upos", *finer)
