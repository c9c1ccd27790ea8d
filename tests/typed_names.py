"""What a type checker must see of an installed widemargin; `.ci/run` gives this file to mypy."""

from typing import assert_type

import widemargin
from widemargin import Perceptron, structured
from widemargin.estimators.perceptron import Perceptron as SamePerceptron
from widemargin.plots.path import PathDisplay
from widemargin.structured.tagger.tagger import Tagger as SameTagger

assert_type(Perceptron(keep="vote"), SamePerceptron)
assert_type(structured.Tagger(), SameTagger)


def draw(path: tuple[list[list[float]], list[int]]) -> None:
    """Functions, too, have their types."""
    assert_type(widemargin.show.plot_path(Perceptron(), *path), PathDisplay)


def misspell() -> None:
    """A name that does not exist is an error, not something of any type."""
    widemargin.Perceptrn()  # type: ignore[attr-defined]
