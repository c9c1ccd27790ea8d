"""Parser: a transition-based or graph-based dependency parser."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

import numpy as np

from widemargin.certificates.certificate import RunCertificate
from widemargin.data.encode.templates import WORDS
from widemargin.data.readers.corpus import Corpus
from widemargin.errors import DataError
from widemargin.loops.background_compiling import compile_ahead
from widemargin.loops.trees.contexts import Templates
from widemargin.loops.trees.greedy import Sentences
from widemargin.loops.trees.labels import ARC_COUNTS, ARC_NODES
from widemargin.models.explanation import Explanation
from widemargin.parameters.effects import Use, changed, refuse_unused, used_with
from widemargin.parameters.values import (
    check_choice,
    check_not_negative,
    check_patience,
    check_positive,
    check_probability,
    check_seconds,
    check_whole,
    make_generator,
)
from widemargin.structured.estimator import CertifiedEstimator
from widemargin.structured.parser.crossing import choose_system, lift_trees
from widemargin.structured.parser.features import (
    ARC_TEMPLATES,
    LABEL_TEMPLATES,
    PARSER_TEMPLATES,
    compile_templates,
    with_third_tag,
)
from widemargin.structured.parser.model import ParserModel, Tree, Trees
from widemargin.structured.parser.search import CHARTS, SYSTEMS, TRANSITIONS, refuse_too_long
from widemargin.structured.parser.stages import Stages
from widemargin.structured.parser.tag_columns import OwnTaggers, choose_columns, parse_tags
from widemargin.structured.parser.training import (
    ArcTraining,
    BeamTraining,
    GreedyTraining,
    LabelTraining,
    ParserTraining,
    padded,
    plan_actions,
)
from widemargin.structured.parser.treebank import (
    COLUMNS,
    Places,
    check_treebank,
    hash_tags,
    labels_of,
    lay_out,
    with_trees,
)
from widemargin.structured.parser.trees import Attachment, check_trees, heads_of
from widemargin.structured.sentences import corpus_with_words, hold_out, holds_out
from widemargin.structured.table_size import bits_for
from widemargin.structured.tagger.model import TaggerModel
from widemargin.structured.tagger.tagger import Tagger
from widemargin.training.checkpoints import Checkpoints, digest_of, open_checkpoints
from widemargin.training.run import Stops, Watch

#: Default epochs.
_EPOCHS = 10
#: Beam training starts from the weights of a greedy parser trained for this many epochs.
_GREEDY_START = 5
#: Default parameters of the parser's own taggers.
_TAGGER: dict[str, Any] = {"C": 0.02, "epochs": 10}
#: Features of a parser and of its taggers are hashed into 2^bits rows, or fewer if the treebank is
#: small.
_BITS, _TAGGER_BITS = 20, 19
#: The system that is chosen by the treebank, and all that find trees by transitions.
_AUTO = "auto"
_BY_TRANSITIONS = (_AUTO, *TRANSITIONS)
#: Labels need a smaller table because they have fewer features.
_LABEL_BITS, _LABEL_EPOCHS, _LABEL_MARGIN = 18, 8, 30.0


@dataclass(eq=False, repr=False)
class Parser(CertifiedEstimator[ParserModel]):
    """Find the dependency trees of sentences.

    Parameters
    ----------
    system : {"auto", "arc-hybrid", "pseudo-projective", "eisner", "cle"}
        "arc-hybrid" builds a tree without crossing arcs (a projective one) by transitions, each
        chosen from features of the partial tree; it is fast and accurate. "pseudo-projective"
        does the same for trees whose arcs may cross: it learns labels that say which arcs of a
        projective tree to move, and where. "auto" is "pseudo-projective" if at least 4 % of the
        training trees have crossing arcs, and otherwise "arc-hybrid". "eisner" and "cle" score
        every arc and find the best tree exactly; "cle" allows crossing arcs.
    beam : int
        Beam width of the transition systems; 1 is greedy, and fastest.
    epochs : int or None
        Maximum number of passes over the sentences; None chooses by system. Beam training starts
        from the weights that a greedy parser learns in five passes.
    margin : float
        Update at a transition unless the right one leads by at least this much.
    C : float
        The largest step of the arc weights (MIRA); infinity gives the perceptron.
    explore : float
        How often the greedy parser follows its own choices during training, from the second pass
        on.
    actions : int
        The number of distinct transitions. Rarer labels share a transition, and are chosen once
        the tree is known.
    bits : int or "auto"
        Features are hashed into 2^bits rows of weights. "auto": 20 bits, or fewer if the treebank
        is so small that its features fit into fewer rows.
    tags : "own", "gold", or a sequence of up to three columns that may begin with one of the two
        "own": the parser trains the taggers it needs, so that it can parse plain words. Which
        columns they learn depends on the corpus, unless they are listed, as in ("own", "upos",
        "feats"). "gold": the sentences already have tags, in training and in prediction. Columns
        alone, such as ("upos", "feats"), also mean "gold". A string is split at commas.
    tagger : Tagger or None
        A tagger whose parameters the parser's own taggers use; it is not modified.
    jackknife : int
        Split the training sentences into this many parts, and tag each part with taggers trained
        on the others. With 0 or 1, tag all sentences with taggers trained on all of them.
    validation : float, path or Corpus
        The share of the sentences to hold out, or a separate held-out set with trees. Its UAS is
        measured after every epoch, and the best weights are kept.
    patience : int or None
        Stop when the held-out UAS has not improved for this many epochs. With None it is only
        measured, and the last weights are kept.
    max_seconds : float or None
        Stop after this many seconds, tagger training included, and keep what was learned so far.
    random_state : int, Generator or None
        Seed of the random generator, or the generator itself.

    Attributes
    ----------
    model_ : ParserModel
        The trained model; it can be saved and pruned.
    labels_ : list of str
    history_ : History
        History of the last stage. Mistakes are wrong transitions (greedy), sentences (beam) or
        arcs.
    certificate_ : RunCertificate

    References
    ----------
    Kuhlmann, Gomez-Rodriguez and Satta (2011), Dynamic programming algorithms for transition-based
    dependency parsers; Goldberg and Nivre (2013), Training deterministic parsers with
    non-deterministic oracles; Huang, Fayong and Guo (2012), Structured perceptron with inexact
    search; Nivre and Nilsson (2005), Pseudo-projective dependency parsing; Eisner (1996);
    McDonald et al. (2005), Online large-margin training of dependency parsers.

    Examples
    --------
    >>> columns = {
    ...     "word": [["the", "dog", "barks"], ["a", "cat", "sleeps"]],
    ...     "upos": [["DET", "NOUN", "VERB"]] * 2,
    ...     "head": [["2", "3", "0"]] * 2,
    ...     "deprel": [["det", "nsubj", "root"]] * 2,
    ... }
    >>> parser = Parser(bits=12, tags="upos", random_state=0).fit(columns)
    >>> tree = parser.parse(["a", "dog", "sleeps"], upos=["DET", "NOUN", "VERB"])
    >>> tree.heads, tree.labels
    ([2, 3, 0], ['det', 'nsubj', 'root'])
    """

    system: str = "auto"
    _: KW_ONLY
    beam: int = 1
    epochs: int | None = None
    margin: float = 50.0
    C: float = 0.01
    explore: float = 0.9
    actions: int = 16
    bits: int | Literal["auto"] = "auto"
    tags: str | Sequence[str] = "own"
    tagger: Tagger | None = None
    jackknife: int = 5
    validation: Any = 0.0
    patience: int | None = 5
    max_seconds: float | None = None
    random_state: Any = None

    def fit(
        self,
        sentences: Any,
        y: Any = None,
        *,
        watch: Watch | None = None,
        checkpoint: str | os.PathLike[str] | Checkpoints | None = None,
    ) -> Parser:
        """Learn from sentences with trees.

        Parameters
        ----------
        sentences : Corpus, path or dict of columns
            The columns must include head (word numbers, 0 for the root), deprel, and the tags. A
            list of sentences of a corpus also works.
        y : None
            Not used: the trees are columns of the sentences.
        watch : callable
            Called with the progress so far; return True to stop.
        checkpoint : path
            A folder where the training is saved regularly. An interrupted run of the same training
            is resumed from there, with bit-for-bit the same result.
        """
        self._check_parameters()
        corpus = corpus_with_words(sentences)
        if not corpus.tokens:
            raise DataError(f"{corpus.source}: there are no sentences to learn from")
        refuse_too_long(corpus, self.system)
        heads_of(corpus)  # an error if there is no such column
        check_treebank(corpus)
        if self.system in _BY_TRANSITIONS:
            compile_ahead("Parser")
        columns = choose_columns(corpus, parse_tags(self.tags))
        rng = make_generator(self.random_state)
        corpus, held_out = hold_out(self.validation, corpus, rng)
        if held_out is not None:
            check_trees(held_out, heads_of(held_out))
        with open_checkpoints(checkpoint, lambda: self._task(corpus)) as checkpoints:
            stages = Stages(watch, checkpoints, self.max_seconds, self._spread)
            self.model_ = self._learn(corpus, held_out, columns, rng, stages)
            stages.end()
        return self

    def _task(self, corpus: Corpus) -> dict[str, Any]:
        """Identify the training, so that only its own checkpoints are resumed."""
        cells = [corpus.column(name) for name in corpus.names]
        return {
            "learner": ["Parser", self._written()],
            "sentences": digest_of(corpus.starts, *cells),
        }

    def _check_parameters(self) -> None:
        check_choice("system", self.system, (_AUTO, *SYSTEMS))
        for name, least, most in (("beam", 1, 1024), ("actions", 3, 4096)):
            check_whole(name, getattr(self, name), least, most)
        if self.bits != "auto":
            check_whole("bits", self.bits, least=8, most=28, other="'auto'")
        if self.epochs is not None:
            check_whole("epochs", self.epochs, least=1, other="None")
        check_not_negative("margin", self.margin, infinite=True)
        check_positive("C", self.C, infinite=True)
        check_probability("explore", self.explore)
        check_whole("jackknife", self.jackknife, least=0)
        check_patience(self.patience)
        check_seconds("max_seconds", self.max_seconds)
        refuse_unused(changed(self), uses_of_parser(self))

    def _tag(
        self, corpus: Corpus, columns: tuple[str, ...], rng: np.random.Generator, stages: Stages
    ) -> tuple[tuple[TaggerModel, ...], list[list[str]]]:
        """The parser's own taggers, and the tags of the training sentences."""
        if not parse_tags(self.tags).own:
            return (), [corpus.column(name) for name in columns]
        bits = bits_for(corpus.tokens, len(WORDS), _TAGGER_BITS)
        usual = (self.tagger or Tagger(**_TAGGER, bits=bits)).get_params()
        if usual["random_state"] is None:
            usual["random_state"] = int(rng.integers(1 << 31))
        own = OwnTaggers(usual, self.jackknife, stages)
        learned = [own.learn(corpus, name) for name in columns]
        taggers = tuple(tagger for found, _ in learned for tagger in found)
        return taggers, [tags for _, tags in learned]

    def _begin(
        self,
        corpus: Corpus,
        given: Sentences,
        labels: list[str],
        columns: tuple[str, ...],
        taggers: tuple[TaggerModel, ...],
        system: str,
    ) -> ParserModel:
        """A model with its labels and actions, but without weights."""
        places = Places.of(corpus.starts)
        heads, codes = given.heads[places.rows], given.labels[places.rows]
        number = places.rows - np.repeat(places.starts[:-1].astype(np.int64), corpus.lengths)
        allowed = np.zeros((3, len(labels)), np.uint8)
        allowed[np.where(heads == 0, 0, np.where(heads > number, 1, 2)), codes] = 1
        several = allowed.any(axis=1)
        allowed[~several] = 1  # a direction never seen in training may have any label
        features = PARSER_TEMPLATES if system in TRANSITIONS else ARC_TEMPLATES
        lists = [features, LABEL_TEMPLATES]
        if len(columns) > 2:
            lists = [with_third_tag(one) for one in lists]
        bits = self.bits
        if bits == "auto":
            # A transition parser is in two states per word; other words may all be its head.
            seen = 2 if system in TRANSITIONS else int(corpus.lengths.max(initial=1))
            bits = bits_for(seen * corpus.tokens, len(lists[0].splitlines()), _BITS)
        return ParserModel(
            system=system,
            labels=labels,
            actions=plan_actions(
                heads.tolist(), number.tolist(), codes.tolist(), len(labels), self.actions
            ),
            W=np.zeros((1 << bits, 1), np.float32),
            V=np.zeros((1 << min(_LABEL_BITS, bits), padded(len(labels))), np.float32),
            allowed=allowed,
            features=lists[0],
            label_features=lists[1],
            columns=columns,
            taggers=taggers,
            beam=int(self.beam),
            params=self._plain_params(),
        )

    def _learn(
        self,
        corpus: Corpus,
        held_out: Corpus | None,
        columns: tuple[str, ...],
        rng: np.random.Generator,
        stages: Stages,
    ) -> ParserModel:
        """Learn tags, then labels, then arcs."""
        taggers, tags = self._tag(corpus, columns, rng, stages)
        labels = labels_of(corpus)
        system = choose_system(corpus) if self.system == _AUTO else self.system
        if system == "pseudo-projective":
            corpus = lift_trees(corpus)
            labels = labels_of(corpus)
        codes = {label: code for code, label in enumerate(labels)}
        hashed = [hash_tags(column) for column in tags]
        given = with_trees(lay_out(corpus, hashed), corpus, codes)
        model = self._begin(corpus, given, labels, columns, taggers, system)
        label_templates = compile_templates(
            model.label_features, COLUMNS, len(model.V).bit_length() - 1, ARC_NODES, ARC_COUNTS
        )
        labelling = LabelTraining(given, label_templates, model.allowed, _LABEL_MARGIN, rng)
        stages.run("labels", labelling, Stops(_LABEL_EPOCHS))
        model = replace(model, V=labelling.answer())
        score = None
        if held_out is not None:

            def score(weights: np.ndarray) -> float:
                return replace(model, W=weights).attachment(held_out).uas.f1

        training, epochs, why = self._arcs(model, given, rng, score, stages)
        stops = Stops(epochs, self.patience)
        history = stages.run("arcs", training, stops, held_out=score is not None)
        certificate = RunCertificate(
            mistakes=history.mistakes,
            epochs=len(history),
            no_bound=why,
            n=len(given.starts) - 1,
        )
        return replace(model, W=training.answer(), history=history, certificate=certificate)

    def _arcs(
        self,
        model: ParserModel,
        given: Sentences,
        rng: np.random.Generator,
        score: Callable[[np.ndarray], float] | None,
        stages: Stages,
    ) -> tuple[ParserTraining, int, str]:
        """The training of the arcs, its epochs, and why no mistake bound applies."""
        bits = len(model.W).bit_length() - 1
        if model.system not in TRANSITIONS:
            arc_templates = compile_templates(model.features, COLUMNS, bits, ARC_NODES, ARC_COUNTS)
            crossing = model.system == "cle"
            arcs = ArcTraining(given, arc_templates, crossing, float(self.C), rng, score)
            why = (
                "steps have different sizes" if math.inf > self.C else "trees may not be separable"
            )
            return arcs, self.epochs or _EPOCHS, why
        templates: Templates = compile_templates(model.features, COLUMNS, bits)
        margin = float(self.margin)
        first = score if self.beam == 1 else None
        greedy = GreedyTraining(
            given, templates, model.actions, margin, float(self.explore), rng, first
        )
        if self.beam == 1:
            why = "the training examples depend on the parser's own choices"
            return greedy, self.epochs or _EPOCHS, why
        stages.run("greedy start", greedy, Stops(_GREEDY_START))
        beam = BeamTraining(given, templates, model.actions, margin, int(self.beam), rng, score)
        beam.start_from(greedy.answer())
        return beam, self.epochs or _EPOCHS, "a beam may miss the best tree"

    @property
    def labels_(self) -> list[str]:
        """The labels of arcs."""
        return self._fitted.labels

    def parse(self, words: Sequence[str], **tags: Sequence[str]) -> Tree:
        """The tree of one sentence, see `ParserModel.parse`."""
        return self._fitted.parse(words, **tags)

    def predict(self, sentences: Any, n_jobs: int | None = None) -> Trees:
        """The trees of many sentences, see `ParserModel.predict`."""
        return self._fitted.predict(sentences, n_jobs)

    def margins(self, sentences: Any, n_jobs: int | None = None, **tags: Sequence[str]) -> Any:
        """How certain the head of each word is, see `ParserModel.margins`."""
        return self._fitted.margins(sentences, n_jobs, **tags)

    def explain(
        self, words: Sequence[str], token: int, top: int | None = 10, **tags: Sequence[str]
    ) -> Explanation:
        """Which features gave one word its head, see `ParserModel.explain`."""
        return self._fitted.explain(words, token, top, **tags)

    def explain_label(
        self, words: Sequence[str], token: int, top: int | None = 10, **tags: Sequence[str]
    ) -> Explanation:
        """Which features gave the arc of one word its label, see `ParserModel.explain_label`."""
        return self._fitted.explain_label(words, token, top, **tags)

    def annotate(self, sentences: Any, n_jobs: int | None = None) -> Corpus:
        """A corpus with trees added, see `ParserModel.annotate`."""
        return self._fitted.annotate(sentences, n_jobs)

    def score(self, sentences: Any, y: Any = None) -> float:
        """The LAS, from 0 to 1; `y` exists for scikit-learn and is not used."""
        return self._fitted.attachment(sentences).las.f1

    def attachment(self, sentences: Any, subtypes: bool = False) -> Attachment:
        """UAS and LAS with their counts and intervals, see `ParserModel.attachment`."""
        return self._fitted.attachment(sentences, subtypes)


def uses_of_parser(parser: Parser) -> dict[str, Use]:
    """Which parameters of a parser have an effect."""
    transitions = used_with("system", parser.system, *_BY_TRANSITIONS)
    own = Use(
        parse_tags(parser.tags).own,
        f"with tags={parser.tags!r}",
        "with tags='own', or 'own' and columns",
    )
    return {
        **dict.fromkeys(("beam", "margin", "explore", "actions"), transitions),
        "C": used_with("system", parser.system, *CHARTS),
        **dict.fromkeys(("tagger", "jackknife"), own),
        "patience": Use(
            holds_out(parser.validation), "without validation", "with sentences to score"
        ),
    }
