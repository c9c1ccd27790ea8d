"""Tagger: assigns tags to words by Viterbi search, and learns from mistakes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from widemargin.certificates.certificate import RunCertificate, mistake_bound
from widemargin.data.encode.templates import Templates, default_templates
from widemargin.data.readers.corpus import Corpus
from widemargin.errors import DataError
from widemargin.loops.background_compiling import compile_ahead
from widemargin.loops.sequences.tagging import EARLY, VIOLATION, WHOLE, Search
from widemargin.models.explanation import Explanation
from widemargin.online.rules import make_rule, uses_of_rule
from widemargin.parameters.effects import Use, changed, refuse_unused, used_with
from widemargin.parameters.values import (
    check_choice,
    check_patience,
    check_seconds,
    check_whole,
    make_generator,
    seconds_limit,
)
from widemargin.structured.estimator import CertifiedEstimator
from widemargin.structured.sentences import BESIDE, corpus_of, hold_out, holds_out
from widemargin.structured.table_size import bits_for
from widemargin.structured.tagger.certainty import leads_of_sentences
from widemargin.structured.tagger.constraints import (
    allowed_transitions,
    count_transitions,
    make_lexicon,
    plain_tag,
    recode,
    scheme_of_transitions,
)
from widemargin.structured.tagger.feature_names import FeatureNames
from widemargin.structured.tagger.held_out import HeldOutTags
from widemargin.structured.tagger.known_words import known_words
from widemargin.structured.tagger.model import (
    Answer,
    TaggerModel,
    Weight,
)
from widemargin.structured.tagger.training import (
    EncodedCorpus,
    TaggerSettings,
    TaggerTraining,
    certify_tagger_run,
    encode_corpus,
    learn_committee,
    read_again,
    rows_of_numbers,
)
from widemargin.structured.tagger.weights import row_width
from widemargin.threads import thread_count
from widemargin.training.checkpoints import Checkpoints, digest_of, open_checkpoints
from widemargin.training.run import Stops, Watch

_UPDATES = {"whole": WHOLE, "early": EARLY, "max-violation": VIOLATION}
#: Schemes whose tags can be converted to IOB2 one at a time.
_LEARNED_AS = ("IOBES", "BILOU", "IOB2")
_RULES = ("perceptron", "pa", "pa1", "pa2")
#: More tags than this are almost certainly a mistake, and would need very wide rows.
_MOST_TAGS = 4096
#: Bits of hashed features, unless the corpus is so small that fewer will do.
_BITS = 18


@dataclass(eq=False, repr=False)
class Tagger(CertifiedEstimator[TaggerModel]):
    """Tag sequences with a structured perceptron or its large-margin variant.

        score(x, y) = sum over tokens of w . f(x, i, y_i) + transitions
        y* = argmax over y of score(x, y)                      (Viterbi)
        if y* != y:  w += tau (f(x, y) - f(x, y*))

    Parameters
    ----------
    order : {1, 2}
        How many previous tags the score of a tag depends on.
    templates : "auto" or list of str
        Feature templates such as "word[0]", "suffix3[-1]" or "pos[-1]|pos[0]"; see
        `widemargin.data.encode.templates`. "auto" chooses them from the tags and the input
        columns.
    rule : {"perceptron", "pa", "pa1", "pa2"}
        How far to step after a mistake. The pa rules (MIRA) step just far enough for the right
        tags to lead by the number of wrong tags; pa1 caps the step at C.
    C : float
        The largest step of pa1; the softness of pa2.
    epochs : int
        Maximum number of passes over the sentences.
    keep : {"average", "last"}
        Which weights to predict with: their average over the training, or the last ones.
    committee : int
        Train this many times, with the sentences in different orders, and average the weights. A
        committee of 4 halves the random variation of the weights.
    bits : int, "auto" or None
        Features are hashed into 2^bits rows of weights; None uses an exact dictionary instead.
        "auto": 18 bits, or fewer if the corpus is so small that its features fit into fewer rows.
    scheme : {"IOBES", "BILOU", "IOB2", None}
        Span tags in IOB1 or IOB2 are converted to this scheme for training, and predictions are
        converted back; None trains on the tags as they are.
    constraints : {"auto", "seen", None}
        Which tags may follow which. "auto" never breaks the scheme of span tags (but allows
        whatever was seen in training); "seen" allows only what was seen.
    tag_dictionary : None, True, int or dict
        The tags that a word may have. A dict maps words to tags (span tags in IOB2). With a
        number, a word seen at least that often in training may only have the tags it was seen
        with; True means 20.
    search : {"exact", "beam"}
        Viterbi search or beam search.
    beam : int
        How many tags (for order 2: pairs of tags) the beam keeps per token.
    update : {"max-violation", "early", "whole"}
        What to update when the right tags fall off the beam: the prefix of the sentence where
        they are furthest behind, the prefix up to where they fell off, or the whole sentence.
    cost_augmented : bool
        During training, search with a bonus of 1 for each wrong tag.
    shuffle : bool
        Whether to visit the sentences in a new order in every epoch.
    validation : float, path, Corpus or (sentences, tags)
        The share of the sentences to hold out, or a separate held-out set. It is scored after
        every epoch, and the best weights are kept.
    patience : int or None
        Stop when the held-out score has not improved for this many epochs. With None the score
        is only measured, and the last weights are kept.
    max_seconds : float or None
        Stop after this many seconds.
    n_jobs : int or None
        How many members of a committee to train in parallel; -1 for one per core. The result
        does not depend on it.
    random_state : int, Generator or None
        Seed of the random generator, or the generator itself.

    Attributes
    ----------
    model_ : TaggerModel
        The trained model; it can be saved, pruned and rounded.
    tags_ : list of str
    history_ : History
    certificate_ : RunCertificate
        The number of mistakes (sentences), and R, the norm of the longest feature difference
        used in an update.

    References
    ----------
    Collins (2002), Discriminative training methods for hidden Markov models; Crammer et al. (2006),
    Online passive-aggressive algorithms; Huang, Fayong and Guo (2012), Structured perceptron with
    inexact search.

    Examples
    --------
    >>> sentences = [["the", "dog", "barks"], ["a", "cat", "sleeps"]]
    >>> tags = [["DET", "NOUN", "VERB"]] * 2
    >>> tagger = Tagger(epochs=5, bits=12, random_state=0).fit(sentences, tags)
    >>> tagger.tag(["the", "cat", "barks"])
    ['DET', 'NOUN', 'VERB']
    """

    order: int = 1
    _: KW_ONLY
    templates: str | Sequence[str] = "auto"
    rule: str = "pa1"
    C: float = 0.03
    epochs: int = 10
    keep: str = "average"
    committee: int = 1
    bits: int | Literal["auto"] | None = "auto"
    scheme: str | None = "IOBES"
    constraints: str | None = "auto"
    tag_dictionary: Any = None
    search: str = "exact"
    beam: int = 8
    update: str = "max-violation"
    cost_augmented: bool = False
    shuffle: bool = True
    validation: Any = 0.0
    patience: int | None = 5
    max_seconds: float | None = None
    n_jobs: int | None = None
    random_state: Any = None

    def fit(
        self,
        sentences: Any,
        tags: Any = None,
        *,
        column: str | int | None = None,
        watch: Watch | None = None,
        checkpoint: str | os.PathLike[str] | Checkpoints | None = None,
    ) -> Tagger:
        """Learn from tagged sentences.

        Parameters
        ----------
        sentences : list of sentences, Corpus, path or dict of columns
            Sentences are lists of words; of tuples of a word and its other columns (pos, chunk); or
            of dicts of features, as in CRFsuite ({"lower": "the", "size": 3.0}), which replace the
            templates (numeric features can also be combined with explicit templates); see
            `docs/guide/sentences.md`. A dict holds columns by name, the words first; a path is a
            file that `read_conll` can read.
        tags : list of lists of str
            A tag for each word; not needed if a column of the corpus holds the tags.
        column : str or int
            The corpus column that holds the tags; by default upos in CoNLL-U, else the last one.
        watch : callable
            Called with the progress so far; return True to stop.
        checkpoint : path
            A folder where the training is saved regularly. An interrupted run of the same training
            is resumed from there, with bit-for-bit the same result.
        """
        corpus = corpus_of(sentences, tags)
        name = "tag" if tags is not None else corpus.name_of(column)
        names = self._check(corpus, name)
        refuse_unused(changed(self), uses_of_tagger(self))
        compile_ahead("Tagger")
        rng = make_generator(self.random_state)
        corpus, held_out = self._hold_out(corpus, name, rng)
        with open_checkpoints(checkpoint, lambda: self._task(corpus, name)) as checkpoints:
            self.model_ = self._learn(corpus, held_out, name, names, rng, watch, checkpoints)
        return self

    def _task(self, corpus: Corpus, column: str) -> dict[str, Any]:
        """Identify the training, so that only its own checkpoints are resumed."""
        cells: list[Any] = [corpus.column(name) for name in corpus.names]
        values = corpus.values
        if values is not None:
            cells += [values.names, values.starts, values.codes, values.amounts]
        return {
            "learner": ["Tagger", self._written()],
            "column": column,
            "sentences": digest_of(corpus.starts, *cells),
        }

    def _check(self, corpus: Corpus, column: str) -> list[str]:
        """Check the corpus, and return the columns besides the words that templates may use."""
        if not corpus.tokens:
            raise DataError(f"{corpus.source}: there are no tokens to learn from")
        if column == corpus.names[0]:
            only = "there is only one column, and " if len(corpus.names) == 1 else ""
            raise DataError(
                f"{corpus.source}: {only}{column!r} holds the words; the tags must be in another"
                " column, separated by spaces or tabs"
            )
        if set(corpus.column(column)) == {"_"}:
            others = ", ".join(name for name in corpus.names[1:] if name != column)
            raise DataError(
                f"{corpus.source}: the column {column!r} is '_' everywhere, so there is nothing to"
                f" learn; choose another ({others})"
            )
        if corpus.format == "conllu":
            return []
        names = corpus.names[1:]
        return names[: names.index(column)] if column in names else names

    def _hold_out(
        self, corpus: Corpus, column: str, rng: np.random.Generator
    ) -> tuple[Corpus, tuple[Corpus, list[str]] | None]:
        """The sentences to learn from, and the held-out ones with their tags, if any."""
        asked = self.validation
        given, tags = asked if isinstance(asked, tuple) else (asked, None)
        inputs = [name for name in corpus.names if name.endswith(":")]
        numbers = () if corpus.values is None else corpus.values.names

        def read(sentences: Any) -> Corpus:
            return corpus_of(sentences, tags, inputs or BESIDE, numbers)

        corpus, other = hold_out(given, corpus, rng, read)
        if other is None:
            return corpus, None
        return corpus, (other, other.column(column if tags is None else "tag"))

    def _learn(
        self,
        corpus: Corpus,
        held_out: tuple[Corpus, list[str]] | None,
        column: str,
        inputs: list[str],
        rng: np.random.Generator,
        watch: Watch | None,
        checkpoints: Checkpoints | None,
    ) -> TaggerModel:
        labels, tags, given_scheme = self._labels(corpus.column(column), corpus)
        if len(tags) > _MOST_TAGS:
            raise DataError(
                f"{corpus.source}: {column!r} has {len(tags)} different tags; is it text?"
            )
        templates = self._templates(tags, inputs, corpus.format)
        settings = self._settings(len(tags))
        bits = self.bits
        if bits == "auto":
            bits = bits_for(corpus.tokens, len(templates), _BITS)
        encoded = encode_corpus(corpus, templates, bits)
        model = self._begin(corpus, labels, tags, given_scheme, templates, encoded)
        model = replace(model, column=column, beam=settings.search.beam or 0)
        score = None if held_out is None else HeldOutTags(model, *held_out).score
        given = encoded, labels, model.allowed, model.lexicon, settings, len(templates)
        learned = learn_committee(
            lambda rng: TaggerTraining(*given, rng, score),
            [rng] if self.committee == 1 else rng.spawn(self.committee),
            min(self.committee, thread_count(self.n_jobs)),
            held_out=score is not None,
            watch=watch,
            checkpoints=checkpoints,
            spread=self._spread,
        )
        names = FeatureNames.of_training(
            templates,
            encoded.tokens,
            encoded.starts,
            partial(read_again, encoded._replace(ids=np.empty(0, np.uint32)), templates),
            encoded.size,
            model.numbers,
        )
        return replace(
            model,
            W=learned.weights,
            history=learned.history,
            certificate=certify_tagger_run(settings, learned, len(corpus), self.committee),
            names=names,
            known=known_words(corpus.words),
        )

    def _templates(self, tags: list[str], inputs: list[str], format: str) -> Templates:
        """The given templates, or defaults that suit the tags and the input."""
        if not isinstance(self.templates, str):
            return Templates(self.templates)
        if format == "dicts":  # every token brings its own features
            return Templates(["bias", *(f"{name}[0]" for name in inputs)])
        return Templates(default_templates(tags, inputs))

    def _begin(
        self,
        corpus: Corpus,
        labels: np.ndarray,
        tags: list[str],
        given_scheme: str | None,
        templates: Templates,
        encoded: EncodedCorpus,
    ) -> TaggerModel:
        """A model with its tags and allowed transitions, but without weights."""
        counts = count_transitions(labels, corpus.starts, len(tags))
        allowed, scheme = allowed_transitions(tags, counts, self.constraints)
        width = row_width(len(tags), self.order)
        called = tags
        if given_scheme is not None and self.scheme is not None:
            called = [plain_tag(tag, self.scheme) for tag in tags]
        return TaggerModel(
            tags=tags,
            templates=templates,
            W=np.empty((0, width), np.float32),
            index=encoded.where,
            lexicon=make_lexicon(self.tag_dictionary, corpus.words, labels, tags, called, width),
            allowed=allowed,
            order=self.order,
            scheme=scheme,
            given_scheme=given_scheme,
            params=self._plain_params(),
            numbers=rows_of_numbers(encoded),
        )

    def _labels(self, cells: list[str], corpus: Corpus) -> tuple[np.ndarray, list[str], str | None]:
        """Codes of the tags, the tags they stand for, and the original scheme if converted."""
        tags = sorted(set(cells))
        codes = {tag: code for code, tag in enumerate(tags)}
        labels = np.fromiter(map(codes.__getitem__, cells), np.uint32, len(cells))
        check_choice("scheme", self.scheme, (*_LEARNED_AS, None))
        if self.scheme is None or len(tags) > _MOST_TAGS:
            return labels.astype(np.uint16), tags, None
        counts = count_transitions(labels, corpus.starts, len(tags))
        given = scheme_of_transitions(tags, counts)
        if given not in ("IOB1", "IOB2") or given == self.scheme:
            return labels.astype(np.uint16), tags, None
        return *recode(cells, corpus.starts, self.scheme), given

    def _settings(self, tags: int) -> TaggerSettings:
        """The parameters in the form that training takes, after checking them."""
        if self.bits not in (None, "auto"):
            check_whole("bits", self.bits, least=1, most=30, other="'auto' or None")
        check_choice("order", self.order, (1, 2))
        check_choice("rule", self.rule, _RULES)
        check_choice("keep", self.keep, ("average", "last"))
        check_choice("search", self.search, ("exact", "beam"))
        check_choice("update", self.update, _UPDATES)
        for name in ("epochs", "committee", "beam"):
            check_whole(name, getattr(self, name), least=1)
        check_patience(self.patience)
        if isinstance(self.templates, str) and self.templates != "auto":
            raise ValueError(f"templates={self.templates!r} must be 'auto' or a list of templates")
        check_seconds("max_seconds", self.max_seconds)
        beam = self.beam if self.search == "beam" else None
        cost = 1.0 if self.cost_augmented else 0.0
        limit = seconds_limit(self.max_seconds)
        return TaggerSettings(
            rule=make_rule(self.rule, C=self.C),
            search=Search(tags, self.order, beam, _UPDATES[self.update], cost),
            stops=Stops(int(self.epochs), self.patience, max_seconds=limit),
            keep=self.keep,
            shuffle=bool(self.shuffle),
        )

    @property
    def tags_(self) -> list[str]:
        """The tags that were learned, sorted."""
        return self._fitted.tags

    @property
    def classes_(self) -> np.ndarray:
        """The tags that `predict` returns, sorted; scikit-learn's name for them."""
        return np.array(self._fitted.shown_tags)

    def tag(self, words: Sequence[Any], **columns: Sequence[str]) -> list[str]:
        """The tags of one sentence; see `TaggerModel.tag`."""
        return self._fitted.tag(words, **columns)

    def predict(self, sentences: Any, n_jobs: int | None = None) -> list[list[str]]:
        """The tags of many sentences; see `TaggerModel.predict`."""
        return self._fitted.predict(sentences, n_jobs)

    def score(self, sentences: Any, tags: Any = None, column: str | int | None = None) -> float:
        """The share of tokens tagged correctly."""
        return self._fitted.score(sentences, tags, column)

    def n_best(self, words: Sequence[Any], n: int = 5, **columns: Sequence[str]) -> list[Answer]:
        """The n best ways to tag a sentence, with their scores."""
        return self._fitted.n_best(words, n, **columns)

    def margins(self, sentences: Any, n_jobs: int | None = None, **columns: Sequence[str]) -> Any:
        """How certain each tag of one or many sentences is; see `TaggerModel.margins`."""
        return self._fitted.margins(sentences, n_jobs, **columns)

    def marginals(
        self,
        sentences: Any,
        temperature: float | None = None,
        n_jobs: int | None = None,
        **columns: Sequence[str],
    ) -> Any:
        """The probability of each tag (column, as in `classes_`); see `TaggerModel.marginals`."""
        return self._fitted.marginals(sentences, temperature, n_jobs, **columns)

    def calibrate(self, sentences: Any, tags: Any = None, column: str | int | None = None) -> float:
        """Set the temperature of `marginals` to the one that fits held-out sentences best.

        The temperature is saved with the model, and `widemargin tag --proba` uses it. See
        `TaggerModel.calibrate`.

        Returns
        -------
        float
            The temperature.
        """
        found = self._fitted.calibrate(sentences, tags, column)
        self.model_ = self.model_.with_temperature(found)
        return found

    def explain(
        self, words: Sequence[Any], token: int, top: int | None = 10, **columns: Sequence[str]
    ) -> Explanation:
        """Which features made the tag of one token win; see `TaggerModel.explain`."""
        return self._fitted.explain(words, token, top, **columns)

    def certify(
        self, sentences: Any, tags: Any = None, *, column: str | int | None = None
    ) -> RunCertificate:
        """Bound the number of mistakes, given the training sentences (L35 of the lectures).

        If the weights rank the right tags of every sentence above all others by a margin gamma
        (the smallest lead divided by the norm of the weights), the perceptron can have made at
        most (R / gamma)^2 mistakes.

        Returns
        -------
        RunCertificate
            The margin on these sentences (negative if some tags are wrong) and the bound.
        """
        model = self._fitted
        corpus = corpus_of(sentences, tags, numbers=model.numbers)
        name = "tag" if tags is not None else corpus.name_of(column)
        labels, names, _ = self._labels(corpus.column(name), corpus)
        unknown = set(names) - set(model.tags)
        if unknown:
            raise DataError(f"{corpus.source}: the tag {min(unknown)!r} was not seen in training")
        labels = np.array([model.tags.index(tag) for tag in names], np.uint32)[labels]
        margin = min(leads_of_sentences(model, corpus, labels)) / model.norm
        run = model.certificate
        assert run is not None
        if run.no_bound or run.R is None:
            return replace(run, margin=margin)
        if margin <= 0.0:
            return replace(run, margin=margin, no_bound="some tags are wrong")
        return replace(run, margin=margin, bound=mistake_bound(run.R, margin))

    def top_features(self, n: int = 20, tag: str | None = None) -> list[Weight]:
        """The features with the largest weights."""
        return self._fitted.top_features(n, tag)

    def save(self, path: str | os.PathLike[str], names: bool = True) -> None:
        """Save the model to a file; load it with `widemargin.load`."""
        self._fitted.save(path, names)


def uses_of_tagger(tagger: Tagger) -> dict[str, Use]:
    """Which parameters of a tagger have an effect."""
    beam = used_with("search", tagger.search, "beam")
    waiting = Use(holds_out(tagger.validation), "if nothing is held out", "with held-out sentences")
    uses = uses_of_rule(tagger.rule, _RULES)
    return {**uses, "beam": beam, "update": beam, "patience": waiting}
