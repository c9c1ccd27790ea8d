"""How to learn, apart from the data."""

from __future__ import annotations

import math
from dataclasses import dataclass

from widemargin.loops.steps import Rule
from widemargin.online.orders import Shuffle


@dataclass(frozen=True)
class Plan:
    """How to learn, apart from the data.

    Attributes
    ----------
    rule : Rule
        How far to step on one example.
    keep : {"last", "average", "vote"}
        What will be deployed, and so what is scored on held-out examples.
    epochs : int
        Passes over the examples at the most.
    shuffle : bool or str
        The order of an epoch, see `widemargin.online.orders`.
    batch : int
        Examples that correct the same weights at once; 1 is the online perceptron, 0 means all.
    tol : float
        Stop when the weights move less than this in an epoch.
    patience : int
        Stop when the held-out score has not improved for so many epochs.
    max_seconds : float
        Stop when this much time has passed.
    threads : int
        Threads for problems that are independent.
    every : int
        In a stream that is read once: a row of the history after so many examples. 0: one an epoch.
    """

    rule: Rule
    keep: str = "average"
    epochs: int = 10
    shuffle: Shuffle = True
    batch: int = 1
    tol: float = 0.0
    patience: int = 5
    max_seconds: float = math.inf
    threads: int = 1
    every: int = 0
