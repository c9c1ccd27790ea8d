"""The base class of displays, which hold what a plot shows and where it was drawn."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from widemargin.markup.reprs import brief_repr


@dataclass(repr=False)
class Display:
    """Base of displays; `ax_` and `figure_` are set once it is drawn, as in scikit-learn."""

    ax_: Any = field(default=None, init=False)
    figure_: Any = field(default=None, init=False)

    __repr__ = brief_repr
