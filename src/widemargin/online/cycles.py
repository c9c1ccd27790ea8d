"""Weights that come back to where they were: learning in a fixed order then goes round for ever."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass

import numpy as np

from widemargin.data.rows import Rows
from widemargin.errors import NotSeparableWarning
from widemargin.loops.steps import ERROR, MARGIN
from widemargin.online.plan import Plan
from widemargin.online.state import State
from widemargin.training.history import Cycle


@dataclass
class Past:
    """What is remembered of the epochs so far."""

    epochs: dict[str, int]  # a fingerprint of the weights, and after which epoch they were so
    largest: float  # weight
    most_updates: int  # in an epoch


class CycleFinder:
    """Notices, in a fixed order, that the weights are where they were after an earlier epoch."""

    def __init__(self, rows: Rows, state: State, plan: Plan, price: np.ndarray | None) -> None:
        self.rows, self.state, self.plan, self.price = rows, state, plan, price
        largest = float(np.max(np.abs(state.W), initial=0.0))
        self.past = Past({self._fingerprint(): 0}, largest, 0)

    @staticmethod
    def can_find(plan: Plan) -> bool:
        """Whether the same weights at the end of an epoch mean the same epochs for ever."""
        fixed_order = plan.shuffle in (False, "once") or (
            plan.batch == 0 and plan.shuffle != "draw"
        )
        rule = plan.rule
        return (
            plan.epochs > 1
            and fixed_order
            and rule.form in (ERROR, MARGIN)
            and rule.power == 0.0
            and rule.l2 == 0.0
        )

    def _fingerprint(self) -> str:
        W = self.state.W + 0.0  # turns -0.0 into 0.0
        return hashlib.blake2b(np.ascontiguousarray(W).tobytes(), digest_size=16).hexdigest()

    def look(self, epoch: int, updates: int) -> Cycle | None:
        """Look at the weights after an epoch."""
        past = self.past
        past.largest = max(past.largest, float(np.max(np.abs(self.state.W), initial=0.0)))
        past.most_updates = max(past.most_updates, updates)
        first = past.epochs.setdefault(self._fingerprint(), epoch)
        if first == epoch or updates == 0:
            return None
        proof = self._was_exact()
        warnings.warn(
            f"the weights after epoch {epoch} are those after epoch {first}: "
            + (
                "the corrections between add up to zero, which proves that"
                f" {'the classes are' if self.state.joint else 'some class against the rest is'}"
                " not linearly separable; more epochs only repeat this cycle"
                if proof
                else "more epochs only repeat this cycle"
            ),
            NotSeparableWarning,
            stacklevel=5,
        )
        return Cycle(first, epoch, proof)

    def _was_exact(self) -> bool:
        """Whether every number on the way was a whole number that the weights hold exactly."""
        limit = 2.0**24 if self.state.W.dtype == np.float32 else 2.0**53
        steps = self.plan.rule.eta * (np.ones(1) if self.price is None else self.price)
        values = self.rows.stored.values
        reach = float(np.max(np.abs(steps), initial=0.0) * np.max(np.abs(values), initial=1.0))
        whole = (np.all(numbers == np.rint(numbers)) for numbers in (steps, values, self.state.W))
        return all(whole) and self.past.largest + self.past.most_updates * reach < limit
