"""Checks that the parts of a saved parser fit together: compiled loops do not check indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from widemargin.loops.trees.labels import ARC_COUNTS, ARC_NODES
from widemargin.modelfile.checks import check_places, check_shape
from widemargin.parameters.values import check_choice
from widemargin.structured.parser.buffers import padded
from widemargin.structured.parser.features import compile_templates
from widemargin.structured.parser.search import SYSTEMS, TRANSITIONS
from widemargin.structured.parser.treebank import COLUMNS, MOST_COLUMNS
from widemargin.structured.saved import column_names

#: Files with wider beams are rejected: their states would fill the memory.
_WIDEST = 1 << 16


def check_tables(
    arrays: dict[str, np.ndarray], tables: Sequence[np.ndarray], about: dict[str, Any]
) -> None:
    """Raise a ValueError unless the tables of a parser fit together."""
    kind, of, allowed = arrays["kind"], arrays["of"], arrays["allowed"]
    labels, scored = len(arrays["labels.ends"]), about["system"] in TRANSITIONS
    check_choice("system", about["system"], SYSTEMS)
    check_shape("kind", kind, (len(kind),), kinds="u")
    check_places("kind", kind, 3)
    check_shape("of", of, (3, labels), kinds="u")
    check_places("of", of.ravel(), len(kind) + 1)
    check_shape("allowed", allowed, (3, labels), kinds="u")
    if scored and set(kind.tolist()) != {0, 1, 2}:
        raise ValueError("a kind of transition is missing")
    if not labels or not allowed.any(axis=1).all():
        raise ValueError("there are arcs that may have no label")
    if type(about["beam"]) is not int or not 0 < about["beam"] <= _WIDEST:
        raise ValueError(f"a beam of {about['beam']!r:.20}")
    for table, lanes in zip(tables, (len(kind) if scored else 0, labels), strict=True):
        if len(table) < 2 or len(table) & (len(table) - 1) or table.ndim != (2 if lanes else 1):
            raise ValueError(f"a table of weights of the shape {table.shape}")
        if lanes and table.shape[1] != padded(lanes):
            raise ValueError(f"{table.shape[1]} weights in a row for {lanes} choices")


def check_features(about: dict[str, Any]) -> tuple[str, ...]:
    """The columns of a parser; a ValueError if its features use anything but them and words."""
    names = column_names(about["columns"])
    if len(names) > MOST_COLUMNS:
        raise ValueError(f"a parser cannot read the columns {names!r:.60}")
    # A word has a third tag only if there are three columns.
    letters = COLUMNS if len(names) == MOST_COLUMNS else COLUMNS[:-1]
    arcs = (ARC_NODES, ARC_COUNTS)
    compile_templates(about["label_features"], letters, 1, *arcs)
    compile_templates(
        about["features"], letters, 1, *(() if about["system"] in TRANSITIONS else arcs)
    )
    return names
