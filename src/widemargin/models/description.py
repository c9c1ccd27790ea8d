"""The part of a file's description that all models of vectors share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from widemargin.modelfile.checks import check_kinds
from widemargin.modelfile.packing import unpack_strings
from widemargin.online.state import State


def check_description(about: Mapping[str, Any], classes: int) -> None:
    """Raise a ValueError unless the values are such as the models write.

    Files from version 0.1 have no threshold.
    """
    known = {"threshold": 0.0, **about}
    check_kinds(known, learner=str, keep=str, rule=str, threshold=float)
    check_kinds(about, joint=bool, logged=bool, names=bool, params=dict)
    if known["threshold"] and classes != 2:
        raise ValueError(f"a threshold for {classes} classes")


def read_names(
    arrays: dict[str, np.ndarray], about: Mapping[str, Any], state: State
) -> list[str] | None:
    """The names of the columns of a linear model, if it has any.

    Version 0.1 kept the names of examples that `learn_one` had refused: they get weights of zero.
    """
    if not about["names"]:
        return None
    names = list(unpack_strings("names", arrays))
    if len(names) > state.width:
        if not about["by_name"]:
            raise ValueError(f"{len(names)} names for {state.width} columns")
        state.widen(len(names))
    return names
