"""`widemargin train --learner tagger` and `--learner parser`."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

import click

from widemargin.cli.report import Job, say_if_cold
from widemargin.cli.sentences import read_sentences
from widemargin.cli.structured_test import figures_of, print_figures
from widemargin.data.readers.corpus import Corpus
from widemargin.parameters import refuse_unused
from widemargin.structured.spans import find_illegal, scheme_of
from widemargin.training.progress import Watcher, watched

#: Illegal tags that are told one by one.
_TOLD = 10
#: Parameters of the learners by the names of their options.
_TAGGER = {
    **{name: name for name in ("rule", "keep", "epochs", "C", "bits", "patience", "order")},
    "max_seconds": "max_seconds",
    "seed": "random_state",
    "shuffle": "shuffle",
    "templates": "templates",
    "dictionary": "tag_dictionary",
    "committee": "committee",
}
_PARSER = {
    **{name: name for name in ("epochs", "C", "bits", "system", "beam", "tags", "patience")},
    "max_seconds": "max_seconds",
    "seed": "random_state",
}


def train_sentences(
    files: Sequence[str], learner: str, given: Mapping[str, Any], valid: Any, job: Job
) -> int:
    """Train a tagger or a parser; returns the exit code.

    Parameters
    ----------
    valid : str, float or None
        A file of held-out sentences, or a part of those to learn from.
    """
    if not files:
        raise click.UsageError(f"--learner {learner} needs FILES of sentences to learn from")
    began = time.monotonic()
    say_if_cold(job)
    corpus = read_sentences(files, given)
    held_out = read_sentences([valid], given) if isinstance(valid, str) else valid
    train = _train_tagger if learner == "tagger" else _train_parser
    whole, told, watch = train(corpus, held_out, given, job)
    model = whole if given["prune"] is None else whole.prune(given["prune"])
    model = model.rounded() if given["half"] else model
    model.save(job.model)
    history = model.history
    figures: dict[str, Any] = {
        "learner": learner,
        **told,
        "sentences": len(corpus),
        "tokens": corpus.tokens,
        "epochs": len(history),
        "mistakes": history.mistakes,
        "stopped": history.stopped,
    }
    report = _measure(model, held_out) if isinstance(held_out, Corpus) else None
    if report is not None:
        figures |= {"held_out_sentences": report.sentences, **figures_of(report)}
    if model is not whole:
        figures |= _cost(whole, model, corpus if report is None else held_out, report is None)
    figures["seconds"] = time.monotonic() - began
    figures["bytes"] = os.stat(job.model).st_size
    figures["model"] = os.path.abspath(job.model)
    if job.as_json:
        click.echo(json.dumps(figures))
    elif not job.quiet:
        _print(corpus, model, figures, report)
    return 130 if watch.interrupted else 0


def _params(given: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """What was given, by the names of the parameters."""
    return {
        param: given[option]
        for option, param in names.items()
        if given.get(option) not in (None, ())
    }


def _train_tagger(
    corpus: Corpus, held_out: Any, given: Mapping[str, Any], job: Job
) -> tuple[Any, dict[str, Any], Watcher]:
    from widemargin.structured.tagger.tagger import Tagger, uses_of_tagger

    columns = given["columns"]
    if len(columns) > 1:
        raise click.UsageError("--column: a tagger learns one column")
    column = corpus.name_of(columns[0] if columns else None)
    illegal = _lint(corpus, column, job)
    params = _params(given, _TAGGER)
    if "shuffle" in params:
        params["shuffle"] = params["shuffle"] != "no"
    if "templates" in params:
        params["templates"] = list(params["templates"])
    if given["beam"] is not None:
        params |= {"search": "beam", "beam": given["beam"]}
    tagger = Tagger(
        **params,
        n_jobs=given["threads"] or -1,
        validation=0.0 if held_out is None else held_out,
    )
    refuse_unused(params, uses_of_tagger(tagger))
    with watched(_shown(job), tagger.epochs, table=True) as watch:
        tagger.fit(corpus, column=column, watch=watch)
    told = {"column": column, "tags": len(set(corpus.column(column)))}
    scheme = tagger.model_.given_scheme or tagger.model_.scheme
    if scheme is not None:
        told |= {"scheme": scheme, "illegal_tags": illegal}
    return tagger.model_, told, watch


def _train_parser(
    corpus: Corpus, held_out: Any, given: Mapping[str, Any], job: Job
) -> tuple[Any, dict[str, Any], Watcher]:
    from widemargin.structured.parser.parser import Parser, uses_of_parser

    if isinstance(held_out, float):
        raise click.UsageError("--valid of the learner parser must be a file")
    if "head" not in corpus.names:
        raise click.UsageError(f"{corpus.source}: is {corpus.format}; parsers learn from CoNLL-U")
    params = _params(given, _PARSER)
    parser = Parser(**params, validation=held_out)
    refuse_unused(params, uses_of_parser(parser))
    with watched(_shown(job), parser.epochs or 10, table=True) as watch:
        parser.fit(corpus, watch=watch)
    model = parser.model_
    told = {"system": model.system, "beam": model.beam, "labels": len(model.labels)}
    return model, told, watch


def _shown(job: Job) -> bool | None:
    return False if job.quiet or job.as_json else None


def _lint(corpus: Corpus, column: str, job: Job) -> int:
    """Tell of tags that break the rules of their scheme; returns how many there are."""
    tags = corpus.column(column)
    scheme = scheme_of(tags, corpus.starts)
    if scheme is None:
        return 0
    illegal = find_illegal(tags, corpus.starts, scheme)
    if illegal and not job.quiet:
        for token, what in illegal[:_TOLD]:
            click.echo(f"{corpus.where(token)}: {what}, which {scheme} does not allow", err=True)
        if len(illegal) > _TOLD:
            click.echo(f"... {len(illegal) - _TOLD} more such tags", err=True)
    return len(illegal)


def _measure(model: Any, held_out: Corpus) -> Any:
    from widemargin.structured.report import measure_parser, measure_tagger
    from widemargin.structured.tagger.model import TaggerModel

    if isinstance(model, TaggerModel):
        return measure_tagger(model, held_out)
    return measure_parser(model, held_out)


def _cost(whole: Any, model: Any, corpus: Corpus, learned: bool) -> dict[str, Any]:
    """What a smaller model loses, on held-out sentences or else on those that it learned from."""
    before, after = (figures_of(_measure(one, corpus)) for one in (whole, model))
    name = next(name for name in ("f1", "las", "accuracy") if name in before)
    return {
        "smaller_figure": name,
        "smaller_on": "training" if learned else "held-out",
        "before_smaller": before[name],
        "after_smaller": after[name],
    }


def _print(corpus: Corpus, model: Any, figures: dict[str, Any], report: Any) -> None:
    click.echo(f"{corpus.source}: {len(corpus)} sentences, {corpus.tokens} tokens")
    if "tags" in figures:
        scheme = f", {figures['scheme']}" if "scheme" in figures else ""
        click.echo(f"tagger of {figures['column']!r}: {figures['tags']} tags{scheme}")
    else:
        click.echo(f"parser, {figures['system']}: {figures['labels']} labels")
    click.echo(f"\n{model.history!r}\n")
    if report is not None:
        click.echo(f"on {report.sentences} held-out sentences:")
        print_figures(report)
    if "smaller_on" in figures:
        click.echo(
            f"what the smaller model costs: {figures['smaller_figure']}"
            f" {figures['before_smaller']:.4f} -> {figures['after_smaller']:.4f}"
            f" on the {figures['smaller_on']} sentences"
        )
    click.echo(f"model saved to {figures['model']} ({figures['bytes']:,} bytes)")
