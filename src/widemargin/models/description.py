"""The part of a file's description that all models of vectors share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from widemargin.parameters import check_kinds


def check_description(about: Mapping[str, Any], classes: int) -> None:
    """Raise a ValueError unless the values are such as the models write.

    Files from version 0.1 have no threshold.
    """
    known = {"threshold": 0.0, **about}
    check_kinds(known, learner=str, keep=str, rule=str, threshold=float)
    check_kinds(about, joint=bool, logged=bool, names=bool, params=dict)
    if known["threshold"] and classes != 2:
        raise ValueError(f"a threshold for {classes} classes")
