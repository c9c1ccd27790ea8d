"""Names that type checkers must see in an installed widemargin; `.ci/run` runs mypy on this."""

from typing import assert_type

import widemargin
from widemargin import Perceptron, structured
from widemargin.estimators.perceptron import Perceptron as SamePerceptron
from widemargin.plots.path import PathDisplay
from widemargin.structured.tagger.tagger import Tagger as SameTagger

assert_type(Perceptron(keep="vote"), SamePerceptron)
assert_type(structured.Tagger(), SameTagger)


def draw(path: tuple[list[list[float]], list[int]]) -> None:
    """Functions have types too."""
    assert_type(widemargin.show.plot_path(Perceptron(), *path), PathDisplay)


def misspell() -> None:
    """A name that does not exist is an error rather than `Any`."""
    widemargin.Perceptrn()  # type: ignore[attr-defined]
