"""Grids of parameters: a selection in the plain run, all of them in CI."""

import itertools

import pytest


def covering(first, *others):
    """All combinations of values; those outside a covering selection are marked exhaustive.

    The selection covers every value of the first axis and every combination of the others.
    """
    values = [list(axis) for axis in (first, *others)]
    rest = list(itertools.product(*map(range, map(len, values[1:]))))
    count = max(len(values[0]), len(rest))
    selected = {(i % len(values[0]), *rest[i % len(rest)]) for i in range(count)}
    return [
        pytest.param(
            *(axis[i] for axis, i in zip(values, places, strict=True)),
            marks=() if places in selected else pytest.mark.exhaustive,
        )
        for places in itertools.product(*map(range, map(len, values)))
    ]
