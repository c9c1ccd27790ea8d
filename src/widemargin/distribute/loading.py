"""Load partitions from their recipes, wherever an engine keeps them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from widemargin.data.encode.numbers import NumbersEncoder
from widemargin.distribute.engine import Engine, tree
from widemargin.distribute.first_pass import (
    Facts,
    Preparation,
    Survey,
    facts_of,
    join_surveys,
    name_features,
    prepare,
    survey,
)
from widemargin.distribute.partitions import Partition, read_partition
from widemargin.errors import DataError
from widemargin.online.fit import check_classes

#: Called about every tenth of a second while partitions are read; raises an exception to stop.
Tick = Callable[[], None]


class Demands(NamedTuple):
    """What a learner requires of the partitions.

    Attributes
    ----------
    class_weight : dict, "balanced" or None
        Cost of an error on each class.
    validation : float
        The fraction of the examples to hold out.
    distinct : bool
        Whether each column may be stored at most once per row.
    seed : int
        The seed of all random choices.
    skip_bad : int
        How many bad lines may be skipped in all partitions together.
    """

    class_weight: Mapping[Any, float] | str | None
    validation: float
    distinct: bool
    seed: int
    skip_bad: int = 0


class Ready(NamedTuple):
    """Partitions that are ready for training.

    Attributes
    ----------
    loaded : list of handles
        The partitions.
    facts : list of Facts
        What is known about each of them.
    survey : Survey
        What is known about all of them together; the encoder also has feature names.
    width : int
        The number of features.
    """

    loaded: list[Any]
    facts: list[Facts]
    survey: Survey
    width: int

    @property
    def dtype(self) -> Any:
        """The type of the values."""
        return self._first.dtype

    @property
    def typical(self) -> float:
        """The typical size of the values, measured on the first examples."""
        return self._first.typical

    @property
    def log2_squared_length(self) -> float:
        """The logarithm of the mean squared length of the first examples."""
        return self._first.log2_squared_length

    @property
    def _first(self) -> Facts:
        return next(fact for fact in self.facts if fact.learned)

    @property
    def learned(self) -> int:
        """The number of training examples."""
        return sum(fact.learned for fact in self.facts)

    @property
    def held_out(self) -> int:
        """The number of held-out examples."""
        return sum(fact.held_out for fact in self.facts)


def load_partitions(
    engine: Engine, partitions: Sequence[Partition], encoder: Any, demands: Demands, tick: Tick
) -> Ready:
    """Read and encode all partitions.

    Parameters
    ----------
    engine : Engine
        Where they are read, and kept.
    partitions : sequence of Partition
        The recipes.
    encoder : Encoder or None
        An encoder that has not seen any data yet; None for numeric rows.
    demands : Demands
        What the learner requires.
    tick : callable
        Called while waiting.
    """
    read = [
        engine.submit(f"read, {one.name}", read_partition, one, *one.delayed) for one in partitions
    ]
    found = _survey(engine, read, partitions, encoder, tick)
    _check(found, demands)
    named = found.encoder
    if named is not None and not isinstance(named, NumbersEncoder):  # vectors have no names
        handle = engine.submit("name features", name_features, read[0], named)
        (named,) = _wait(engine, [handle], tick)
    width = found.width if found.encoder is None else found.encoder.width
    how = Preparation(
        found.classes,
        found.encoder,
        width,
        found.dtype,
        _class_weight(found, demands.class_weight),
        demands.validation,
        demands.distinct,
        demands.seed,
    )
    shared = engine.share("what was learned in the first pass", how)
    loaded = [
        engine.submit(f"encode, {one.name}", prepare, raw, one, shared)
        for raw, one in zip(read, partitions, strict=True)
    ]
    counted = [engine.submit("count rows", facts_of, one) for one in loaded]
    facts = _wait(engine, counted, tick, kept=loaded)
    engine.release([*read, shared, *counted])
    ready = Ready(loaded, facts, replace(found, encoder=named), width)
    if not ready.learned:
        raise DataError("there are no examples to learn from")
    if demands.validation and not ready.held_out:
        raise DataError(
            f"validation={demands.validation:g} of {found.examples} examples leaves nothing to"
            " hold out"
        )
    return ready


def _survey(
    engine: Engine, read: list[Any], partitions: Sequence[Partition], encoder: Any, tick: Tick
) -> Survey:
    """Join the summaries of the partitions, in order."""
    surveys = [
        engine.submit(f"look at, {one.name}", survey, raw, one, encoder)
        for raw, one in zip(read, partitions, strict=True)
    ]
    total, joints = tree(engine, "join", join_surveys, surveys)
    found: Survey = _wait(engine, [total], tick, kept=read)[0]
    engine.release([*surveys, *joints, total])
    return found


def _wait(
    engine: Engine, handles: Sequence[Any], tick: Tick, kept: Sequence[Any] = ()
) -> list[Any]:
    found = {}
    for report in engine.finished(handles, kept):
        tick()
        if not isinstance(report, int):
            found[report[0]] = report[1]
    return [found[number] for number in range(len(handles))]


def _check(found: Survey, demands: Demands) -> None:
    if not found.examples:
        raise DataError("there are no examples to learn from")
    check_classes(found.classes)
    if len(found.skipped) > demands.skip_bad:
        raise DataError(
            f"{len(found.skipped)} bad lines in all partitions, but only {demands.skip_bad} may be"
            f" skipped; the first is in {min(source for source, _ in found.skipped)}"
        )


def _class_weight(
    found: Survey, class_weight: Mapping[Any, float] | str | None
) -> Mapping[Any, float] | None:
    """The weight of each class; "balanced" is computed from all examples."""
    if not isinstance(class_weight, str):
        return class_weight
    present = np.count_nonzero(found.sizes)
    weights = np.divide(
        found.sizes.sum(),
        present * found.sizes,
        out=np.zeros(len(found.sizes)),
        where=found.sizes > 0.0,
    )
    return dict(zip(found.classes.tolist(), weights.tolist(), strict=True))
