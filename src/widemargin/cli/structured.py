"""`widemargin train --learner tagger` and `--learner parser`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click
import numpy as np

from widemargin.cli.sentences import read_sentences
from widemargin.cli.structured_test import TITLES, figure_lines, figures_of
from widemargin.cli.trainer import NOTHING, Job, Section, Trainer
from widemargin.data.readers.corpus import Corpus
from widemargin.online.held_out import usual_part
from widemargin.parameters.effects import Use
from widemargin.structured.cross_validation import cross_validate_sentences
from widemargin.structured.parser.model import ParserModel
from widemargin.structured.parser.parser import Parser, uses_of_parser
from widemargin.structured.parser.treebank import check_treebank
from widemargin.structured.report import Report, measure_parser, measure_tagger
from widemargin.structured.sentences import split_sentences
from widemargin.structured.spans import find_illegal, scheme_of
from widemargin.structured.tagger.tagger import Tagger, uses_of_tagger
from widemargin.threads import thread_count
from widemargin.training.checkpoints import Checkpoints
from widemargin.training.progress import Watcher

#: The number of illegal tags to report one by one.
_SHOWN = 10


class SentenceTrainer(Trainer):
    """Trains a learner from sentences.

    Attributes
    ----------
    fitted : Tagger or Parser
        The estimator.
    corpus : Corpus
        The sentences to learn from.
    held_out : Corpus, or paragraphs for a tokenizer, or None
        Sentences that the model is measured on, and that may stop the training.
    whole : TaggerModel or ParserModel
        The model before features were dropped and weights rounded.
    """

    shows_size = True
    fitted: Any
    corpus: Corpus
    held_out: Any = None
    whole: Any

    def __init__(self, learner: str, given: Mapping[str, Any], job: Job) -> None:
        super().__init__(learner, given, job)
        if not job.files:
            raise click.UsageError(f"--learner {learner} needs FILES of sentences to learn from")
        if given.get("half") and given.get("small"):
            raise click.UsageError("--half has no effect with --small, which saves fewer bits")
        self.params["random_state"] = self.seed
        if job.valid is not None:
            self.params["validation"] = job.valid

    def without_patience(self, uses: dict[str, Use]) -> dict[str, Use]:
        """The uses, without that of `patience` if sentences will be held out to measure."""
        return {k: v for k, v in uses.items() if k != "patience" or not self.job.measures}

    #: A check for sentences that this learner cannot use although their format is valid.
    check: Any = None

    def read_files(self, files: Sequence[str], **more: Any) -> Corpus:
        """Read sentences that this learner can learn from, with the options of the command."""
        return read_sentences(files, {**self.given, **more}, check=self.check)

    def read(self) -> None:
        """Read the sentences."""
        self.corpus = self.read_files(self.job.files)
        job = self.job
        if job.valid is not None:
            self.held_out = self.fitted.validation = self.read_files([job.valid])
            return
        share = job.validation or 0.0
        if job.measures:
            share = usual_part(np.array([len(self.corpus)]))
            self.fitted.set_params(**self.hold_out(share, "sentences"))
        if share:
            rng = np.random.default_rng(self.seed)  # as in `fit`, whose first choice this is
            self.held_out = self.choose_held_out(share, rng)

    def choose_held_out(self, share: float, rng: np.random.Generator) -> Any:
        """The sentences that `fit` will hold out."""
        return split_sentences(self.corpus, share, rng)[1]

    def cross_validate(self, folds: int) -> Section:
        """Test the learner on folds of the sentences, before it learns from all of them."""
        found = cross_validate_sentences(
            self.fitted,
            self.corpus,
            self.examine,
            folds=folds,
            seed=self.seed,
            threads=thread_count(self.given.get("threads") or -1),
            **self.fitting,
        )
        lines = ["learned from all sentences", *found.lines(TITLES)]
        return Section(found.to_dict(), lines)

    @property
    def fitting(self) -> dict[str, Any]:
        """Further arguments of `fit`."""
        return {}

    @property
    def epochs(self) -> int:
        """The largest number of epochs; each stage of a parser reports its own."""
        return self.fitted.epochs or 1

    def make_smaller(self, whole: Any) -> Any:
        """The model to save: pruned and rounded, if requested."""
        self.whole = whole
        model = whole if self.given.get("prune") is None else whole.prune(self.given["prune"])
        if self.given.get("small"):
            return model.smaller()
        return model.rounded() if self.given.get("half") else model

    def examine(self, model: Any, corpus: Corpus) -> Report:
        """Score a model on sentences whose answers are known."""
        raise NotImplementedError

    def describe_data(self, model: Any) -> Section:
        """The numbers of sentences and tokens."""
        figures = {"sentences": len(self.corpus), "tokens": self.corpus.tokens}
        told = ", ".join(f"{count:,} {what}" for what, count in figures.items())
        lines = [f"{self.corpus.source}: {told}"]
        if self.corpus.skipped:
            figures["skipped_sentences"] = len(self.corpus.skipped)
            lines.append(f"bad sentences skipped: {len(self.corpus.skipped):,}")
        if self.held_out is not None and self.job.valid is None:
            held_out = self.count_sentences(self.held_out)
            lines.append(f"held out: {held_out:,} of {len(self.corpus):,} sentences")
        return Section(figures, lines)

    def count_sentences(self, held_out: Any) -> int:
        """The number of held-out sentences."""
        return len(held_out)

    def describe_result(self, model: Any) -> Section:
        """Nothing: the history says it all."""
        return NOTHING

    def measure(self, model: Any) -> Section:
        """The results on held-out sentences, and the cost of making the model smaller."""
        figures: dict[str, Any] = {}
        lines: list[str] = []
        if self.held_out is not None:
            found = self.examine(model, self.held_out)
            counted = {"sentences": found.sentences, "tokens": found.tokens}
            figures = {f"held_out_{what}": count for what, count in counted.items()}
            figures |= {k: v for k, v in figures_of(found).items() if k not in counted}
            lines = [f"on {found.sentences:,} held-out sentences:", *figure_lines(found)]
        if self._is_smaller:
            cost = self._describe_cost(model)
            figures, lines = {**figures, **cost.figures}, [*lines, *cost.lines]
        return Section(figures, lines)

    def count_weights(self, model: Any) -> int:
        """The number of nonzero weights of a model."""
        tables = (model.W, model.V) if isinstance(model, ParserModel) else (model.W,)
        return sum(int(np.count_nonzero(table)) for table in tables)

    @property
    def _is_smaller(self) -> bool:
        """Whether the saved model is smaller than the trained one."""
        options = (self.given.get(name) for name in ("half", "small"))
        return self.given.get("prune") is not None or any(options)

    def _describe_cost(self, model: Any) -> Section:
        """What a smaller model loses on held-out sentences, or else on the training sentences."""
        corpus = self.corpus if self.held_out is None else self.held_out
        before, after = (figures_of(self.examine(one, corpus)) for one in (self.whole, model))
        name = next(name for name in ("f1", "las", "LAS", "accuracy") if name in before)
        where = "training" if self.held_out is None else "held-out"
        figures = {
            "smaller_figure": name,
            "smaller_on": where,
            "before_smaller": before[name],
            "after_smaller": after[name],
        }
        line = f"what the smaller model costs: {name} {before[name]:.4f} -> {after[name]:.4f}"
        lines = [f"{line} on the {where} sentences"]
        if self.given.get("prune") is not None or self.given.get("small"):
            whole, kept = map(self.count_weights, (self.whole, model))
            figures |= {"weights_before_smaller": whole, "weights": kept}
            lines.append(f"weights left: {kept:,} of {whole:,}")
            if kept == whole and not self.given.get("small"):
                least = f"--prune {self.given['prune']:g}"
                lines[-1] += f"; {least} drops nothing, as all features have larger weights"
        return Section(figures, lines)


class TaggerTrainer(SentenceTrainer):
    """Trains a tagger.

    Attributes
    ----------
    calibration : Corpus or None
        Sentences to which the temperature of the probabilities is fitted.
    """

    fitted: Tagger
    calibration: Corpus | None = None

    def __init__(self, learner: str, given: Mapping[str, Any], job: Job) -> None:
        super().__init__(learner, given, job)
        params = self.params
        if "templates" in params:
            params["templates"] = list(params["templates"])
        if "dictionary" in params:
            params["tag_dictionary"] = params.pop("dictionary")
        if "beam" in params:
            params["search"] = "beam"
        if params.get("shuffle", True) not in (True, False):
            raise click.UsageError("--shuffle of the learner tagger must be blocks or no")
        if len(given.get("columns") or ()) > 1:
            raise click.UsageError("--column is given twice: a tagger learns one column")
        self.fitted = Tagger(**params, n_jobs=given.get("threads") or -1)

    def uses(self) -> dict[str, Use]:
        """Which parameters have an effect."""
        return self.without_patience(uses_of_tagger(self.fitted))

    def read(self) -> None:
        """Read the sentences, and report tags that violate their scheme."""
        super().read()
        self.column = self.corpus.name_of(next(iter(self.given.get("columns") or ()), None))
        self.illegal = self._check_tags()
        if self.given.get("calibrate") is not None:
            self.calibration = self.read_files([self.given["calibrate"]])

    def fit(self, watch: Watcher, checkpoints: Checkpoints | None) -> Any:
        """Learn, from the start or from a checkpoint."""
        self.fitted.fit(self.corpus, watch=watch, checkpoint=checkpoints, **self.fitting)
        model = self.make_smaller(self.fitted.model_)
        if self.calibration is None:
            return model
        return model.with_temperature(model.calibrate(self.calibration))

    @property
    def fitting(self) -> dict[str, Any]:
        """The column of the tags."""
        return {"column": self.column}

    def describe_result(self, model: Any) -> Section:
        """The temperature of the probabilities, if the model was calibrated."""
        if self.calibration is None:
            return NOTHING
        told = f"temperature {model.temperature:.4g}, chosen on {self.calibration.source}"
        return Section({"temperature": model.temperature}, [told])

    def _check_tags(self) -> int:
        """Report tags that violate their scheme, and return their number."""
        corpus, tags = self.corpus, self.corpus.column(self.column)
        scheme = scheme_of(tags, corpus.starts)
        if scheme is None:
            return 0
        illegal = find_illegal(tags, corpus.starts, scheme)
        if self.job.quiet:
            return len(illegal)
        for token, what in illegal[:_SHOWN]:
            click.echo(f"{corpus.where(token)}: {what}, which {scheme} does not allow", err=True)
        if len(illegal) > _SHOWN:
            click.echo(f"... {len(illegal) - _SHOWN:,} more such tags", err=True)
        return len(illegal)

    def examine(self, model: Any, corpus: Corpus) -> Report:
        """Score the predicted tags."""
        return measure_tagger(model, corpus)

    def describe_learner(self, model: Any) -> Section:
        """The column, number and scheme of the tags."""
        tags = len(set(self.corpus.column(self.column)))
        figures: dict[str, Any] = {"column": self.column, "tags": tags}
        scheme, line = (
            model.given_scheme or model.scheme,
            f"tagger of {self.column!r}: {tags:,} tags",
        )
        if scheme is None:
            return Section(figures, [line])
        figures |= {"scheme": scheme, "illegal_tags": self.illegal}
        return Section(figures, [f"{line}, {scheme}"])


class ParserTrainer(SentenceTrainer):
    """Trains a parser."""

    fitted: Parser
    check = staticmethod(check_treebank)

    def __init__(self, learner: str, given: Mapping[str, Any], job: Job) -> None:
        super().__init__(learner, given, job)
        if "tags" in self.params:
            self.params["tags"] = ",".join(self.params["tags"])
        self.fitted = Parser(**self.params)

    def uses(self) -> dict[str, Use]:
        """Which parameters have an effect."""
        return self.without_patience(uses_of_parser(self.fitted))

    def read(self) -> None:
        """Read the sentences, which need trees."""
        super().read()
        if "head" not in self.corpus.names:
            raise click.UsageError(
                f"{self.corpus.source}: is {self.corpus.format}; parsers learn from CoNLL-U"
            )

    def fit(self, watch: Watcher, checkpoints: Checkpoints | None) -> Any:
        """Learn, from the start or from checkpoints of the stages."""
        self.fitted.fit(self.corpus, watch=watch, checkpoint=checkpoints)
        return self.make_smaller(self.fitted.model_)

    def examine(self, model: Any, corpus: Corpus) -> Report:
        """Score the predicted trees."""
        return measure_parser(model, corpus)

    def describe_learner(self, model: Any) -> Section:
        """The parsing system, the number of labels, and the tags."""
        labels = len(model.labels)
        figures = {
            **{"system": model.system, "beam": model.beam, "labels": labels},
            **{"tags": list(model.columns), "own_tags": bool(model.taggers)},
        }
        source = "from its own taggers" if model.taggers else "from the input"
        tags = f"tags {', '.join(model.columns)} {source}"
        return Section(figures, [f"parser, {model.system}: {labels} labels, {tags}"])
