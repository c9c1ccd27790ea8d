"""`--class-weight`: the cost of an error on each class."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    import numpy as np


class ClassWeights(click.ParamType):
    """Labels and their weights such as spam=5,ham=1, or the word balanced."""

    name = "weights"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> str | dict[str, float]:
        """Convert what was typed on the command line."""
        if not isinstance(value, str) or value == "balanced":
            return value
        found: dict[str, float] = {}
        for part in value.split(","):
            label, sign, number = part.rpartition("=")
            try:
                weight = float(number) if sign and label else math.nan
            except ValueError:
                weight = math.nan
            if not 0.0 <= weight < math.inf:
                self.fail(f"{part!r} is not a label and its weight, such as spam=5", param, ctx)
            if label in found:
                self.fail(f"the label {label!r} is given twice", param, ctx)
            found[label] = weight
        return found


def weights_by_class(given: str | dict[str, float], classes: np.ndarray) -> Any:
    """Map weights of labels, as typed, to weights of the classes with these labels."""
    if isinstance(given, str):
        return given
    typed = {str(label): label for label in classes.tolist()}
    strange = [label for label in given if label not in typed]
    if strange:
        some = ", ".join(list(typed)[:10])
        raise click.UsageError(f"--class-weight names {strange[0]!r}; the classes are {some}")
    return {typed[label]: weight for label, weight in given.items()}
