"""What all displays have in common: what they show, and where it was drawn."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from widemargin.markup.brief import brief_repr


@dataclass(repr=False)
class Display:
    """Something to draw; `ax_` and `figure_` are set once it was drawn, as in scikit-learn."""

    ax_: Any = field(default=None, init=False)
    figure_: Any = field(default=None, init=False)

    __repr__ = brief_repr
