"""`widemargin train --threshold`: the score from which the second of two classes is predicted."""

from __future__ import annotations

from typing import Any

import click

from widemargin.cli.trainer import NOTHING, Section, Trainer
from widemargin.cli.training_data import rows_for
from widemargin.errors import DataError
from widemargin.evaluate.measures import Measures
from widemargin.evaluate.ranking import Choice, choose_threshold, label_code
from widemargin.evaluate.thresholds import Aim, read_aim
from widemargin.models.threshold import describe_threshold, with_threshold


def wanted_threshold(trainer: Trainer) -> Aim | float | None:
    """The requested threshold, measure to choose one by, or None."""
    given, positive = trainer.given.get("threshold"), trainer.given.get("positive")
    if given is None:
        if positive is not None:
            raise click.UsageError("--positive has no effect without --threshold")
        return None
    try:
        wanted = read_aim(given)
    except ValueError as error:
        raise click.UsageError(f"--{error}".replace("=", " ", 1)) from None
    if positive is not None and not isinstance(wanted, Aim):
        raise click.UsageError("--positive has no effect with a threshold that is a number")
    return wanted


def check_threshold(trainer: Any, wanted: Aim | float | None) -> None:
    """Refuse, before anything is learned, a threshold that cannot be chosen.

    The classes of a stream are not known before it has been read.
    """
    if wanted is None:
        return
    examples = vars(trainer).get("examples")
    if examples is not None:
        labels = examples.classes.values.tolist()
        if len(labels) != 2:
            raise DataError(f"--threshold decides between two classes, and there are {len(labels)}")
        if trainer.given.get("positive") is not None:
            label_code(labels, trainer.given["positive"])
    job = trainer.job
    held_out = job.valid or job.validation or (examples is not None and trainer.measured)
    if isinstance(wanted, Aim) and (trainer.given.get("folds") or trainer.given.get("tune")):
        raise click.UsageError(
            f"--threshold {wanted} is chosen on held-out examples, but --folds and --tune hold"
            " none out: train again with the parameters they found"
        )
    if isinstance(wanted, Aim) and not held_out:
        raise click.UsageError(
            f"--threshold {wanted} is chosen on held-out examples: give --valid a file or a"
            " fraction such as 0.1"
        )


def set_threshold(trainer: Any, model: Any, wanted: Aim | float | None) -> tuple[Any, Section]:
    """Give a model its threshold; return the model and what to report."""
    if wanted is None:
        return model, NOTHING
    if not isinstance(wanted, Aim):
        model = with_threshold(model, wanted)
        return model, Section({"threshold": wanted}, [f"threshold: {describe_threshold(model)}"])
    rows, codes = trainer.measured.rows, trainer.measured.codes
    known = codes >= 0
    scores = model.decision_function(rows_for(model, rows))[known]
    choice = choose_threshold(
        model.classes, model.classes[codes[known]], scores, wanted, trainer.given.get("positive")
    )
    model = with_threshold(model, choice.threshold)
    return model, _describe(choice, describe_threshold(model))


def _describe(choice: Choice, rule: str) -> Section:
    """What to report about a chosen threshold."""
    label = choice.chosen.labels[1]
    figures = {
        "threshold": choice.threshold,
        "threshold_for": str(choice.aim),
        "threshold_class": label,
        "threshold_chosen": _figures(choice.chosen),
        "threshold_expected": None if choice.expected is None else _figures(choice.expected),
    }
    lines = [
        f"threshold: {rule}, chosen for {choice.aim} of {label}"
        f" on {choice.chosen.n:,} held-out rows"
    ]
    if choice.expected is not None:
        told = [
            f"{name} {value:.4f} ({interval[0]:.4f} to {interval[1]:.4f})"
            for name, value, interval in _each(choice.expected)
        ]
        lines.append(f"to be expected on other rows, for {label}: {', '.join(told)}")
    return Section(figures, lines)


def _each(found: Measures) -> list[tuple[str, float, tuple[float, float]]]:
    """Name, value and interval of the measures of the second label."""
    return [
        ("precision", found.precision[1], found.precision_intervals[1]),
        ("recall", found.recall[1], found.recall_intervals[1]),
        ("F1", found.f1[1], found.f1_intervals()[1][1]),
    ]


def _figures(found: Measures) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    for name, value, interval in _each(found):
        figures |= {name.lower(): value, f"{name.lower()}_interval": interval}
    return figures
