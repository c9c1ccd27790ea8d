"""A kernel perceptron that may store at most B examples.

Each way of forgetting has a guarantee. Norms are in units of R, the norm of the longest example in
feature space; u is any competitor, L its total hinge loss at margin 1, M the number of mistakes.

"random"      (Cavallanti, Cesa-Bianchi, Gentile 2007) On average over the draws it competes
              with |u| up to a constant times sqrt(B): the mistakes are at most a constant times
              L plus a term that depends on B and |u|.
"forgetron"   (Dekel, Shalev-Shwartz, Singer 2008) For |u| <= sqrt((B + 1) / ln(B + 1)) / 4,
              M <= 2 |u|^2 + 4 L. (The self-tuned Forgetron, for two classes.)
"projectron"  (Orabona, Keshet, Caputo 2009) With delta_t the distance of example t to the span of
              the stored ones, every correction tau_t brings w closer to u by at least
              tau_t (2 (l_t - l_t(u) - |u| delta_t) - tau_t |P x_t|^2), so that their sum is at most
              |u|^2. Inside the margin it steps only if that is positive for l_t(u) = 0 and
              |u| <= 1/eta. Until the budget is used up, delta_t is 0 and it is a perceptron with
              a margin.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from widemargin.data.rows import frozen
from widemargin.errors import DataError
from widemargin.kernel_machines.perceptron.online import KernelTask
from widemargin.kernel_machines.perceptron.settings import KernelSettings
from widemargin.kernels.blocks import block, check_values, diagonal
from widemargin.kernels.points import Points
from widemargin.loops.kernel.budgets import (
    DRAWN,
    FORGETRON,
    OLDEST,
    PROJECTRON,
    RANDOM,
    TAKEN,
    BudgetRule,
    Slots,
    budget_pass,
)
from widemargin.loops.linear.passes import COUNT, Log, Tally
from widemargin.modelfile.checks import check_places
from widemargin.models.kernel import combine
from widemargin.training.checkpoints import check_alike

_FORMS = {"random": RANDOM, "forgetron": FORGETRON, "projectron": PROJECTRON}
#: Examples per block.
_BLOCK = 256
#: The Projectron's eta: it competes with |u| up to 1/eta, in units of R.
REACH = 1.0
#: There is room for this many examples from the start, and for more when there are more.
_ROOM = 1024
#: A budget is at most the largest number of places that numpy can draw from.
_MOST = np.iinfo(np.int64).max


class Budget:
    """Learns within a budget; see the top of this module.

    Parameters
    ----------
    task : KernelTask
    settings : KernelSettings
        Only `budget` and `forget` are used.
    rng : numpy Generator
        Draws the examples to forget.
    """

    def __init__(
        self, task: KernelTask, settings: KernelSettings, rng: np.random.Generator
    ) -> None:
        assert settings.budget is not None
        self.task, self.rng = task, rng
        kernel, points = task.kernel, task.points
        self.budget = min(int(settings.budget), _MOST)
        points.prepare(kernel)
        self.clock = np.array([1.0, 1.0, 0.0, 0.0])
        self.q = diagonal(kernel, points)
        R2 = float(np.max(self.q, initial=0.0))
        self.way = BudgetRule(_FORMS[settings.forget], R2 if R2 > 0.0 else 1.0, REACH)
        #: Room for the examples stored so far, and more as needed, up to the budget.
        self.slots = self._make_slots(min(self.budget, _ROOM))

    def _make_slots(self, places: int) -> Slots:
        """Empty places for examples."""
        pairs, k = 0 if self.way.form == RANDOM else places, self.task.k
        return Slots(
            np.zeros(places, np.int64),
            np.zeros((places, k)),
            np.zeros((places, k)),
            np.zeros((pairs, pairs)),
            np.zeros(5),
        )

    def _make_room(self, more: int) -> None:
        """Make room for this many more examples, or for as many as the budget allows."""
        old, needed = self.slots, min(self.budget, self.stored + more)
        places = len(old.row)
        if needed <= places:
            return
        self.slots = new = self._make_slots(min(self.budget, max(needed, 3 * places // 2)))
        new.row[:places], new.A[:places], new.U[:places] = old.row, old.A, old.U
        new.G[: len(old.G), : len(old.G)] = old.G
        new.facts[:] = old.facts

    @property
    def count(self) -> float:
        """The clock c: the number of hypotheses so far."""
        return float(self.clock[COUNT])

    @property
    def stored(self) -> int:
        """The number of stored examples."""
        return int(self.slots.facts[TAKEN])

    def run(self, order: np.ndarray, done: int = 0) -> Iterator[tuple[int, Tally]]:
        """Learn from examples in order; yield how many were seen, and a tally of what happened.

        The first `done` of them are skipped when learning resumes from a checkpoint.
        """
        task = self.task
        for begin in range(done, len(order), _BLOCK):
            which = order[begin : begin + _BLOCK].astype(np.int64)
            part, stored = task.points.take(which), self.stored
            self._make_room(part.n)
            slots = self.slots
            KT = np.zeros((len(slots.row), part.n))
            if stored:
                taken = task.points.take(slots.row[:stored])
                KT[:stored] = block(task.kernel, taken, part, threads=task.threads)
            K = block(task.kernel, part, part, threads=task.threads).astype(np.float64)
            with np.errstate(over="ignore", invalid="ignore"):  # the loop checks the scores
                S = slots.A.T @ KT
            slots.facts[DRAWN] = 0.0
            draws = self.rng.integers(self.budget, size=part.n)
            price = task.price[which] if len(task.price) else task.price
            tally = budget_pass(
                self.way,
                KT,
                frozen(K),
                frozen(self.q[which]),
                frozen(task.y[which]),
                frozen(price),
                frozen(which),
                task.rule,
                task.joint,
                S,
                slots,
                draws,
                self.clock,
            )
            if tally.bad >= 0:
                check_values(K, part, part)
                raise DataError(
                    f"row {int(which[tally.bad])}: its score is too large for a float; scale the"
                    " features or gamma down"
                )
            yield len(which), tally

    def would_correct(self, which: np.ndarray) -> bool:
        """Check examples, without learning, for mistakes."""
        moment, generator = self.remember(), self.rng.bit_generator.state
        found = any(tally.updates > 0 for _, tally in self.run(which))
        self.restore(moment)
        self.rng.bit_generator.state = generator
        return found

    def scores(self, points: Points, keep: str) -> np.ndarray:
        """The scores (points, k) of the model that would be deployed."""
        support, coef, summed, _ = self.result()
        weights = summed / self.count if keep == "average" else coef
        return combine(self.task.kernel, weights, support, points, self.task.threads).T

    def remember(self) -> Any:
        """A snapshot of the learner, for `restore`."""
        return Slots(*(part.copy() for part in self.slots)), self.clock.copy()

    def restore(self, moment: Any) -> None:
        """Return to a snapshot."""
        self.slots, self.clock = moment

    def contents(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The state of the learner, as arrays and JSON."""
        return self.pack_snapshot((self.slots, self.clock)), {}

    def resume(self, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> None:
        """Undo `contents`."""
        self.restore(self.unpack_snapshot(arrays))

    def pack_snapshot(self, snapshot: tuple[Slots, np.ndarray]) -> dict[str, np.ndarray]:
        """A snapshot as arrays."""
        slots, clock = snapshot
        return {**slots._asdict(), "clock": clock}

    def unpack_snapshot(self, arrays: dict[str, np.ndarray]) -> tuple[Slots, np.ndarray]:
        """Undo `pack_snapshot`."""
        places = min(arrays["row"].size, self.budget)
        if self.way.form != RANDOM:
            places = min(places, math.isqrt(arrays["G"].size))
        check_alike(arrays, self.pack_snapshot((self._make_slots(places), self.clock)))
        slots = Slots(*(arrays[name] for name in Slots._fields))
        check_places("row", slots.row, self.task.points.n)
        taken, oldest = slots.facts[[TAKEN, OLDEST]].tolist()
        if not (0.0 <= taken <= len(slots.row) and 0.0 <= oldest < max(1, len(slots.row))):
            raise ValueError(f"{taken} examples in {len(slots.row)} places")
        return slots, arrays["clock"]

    def result(self) -> tuple[Points, np.ndarray, np.ndarray, Log | None]:
        """The stored examples, their coefficients, the summed coefficients, and no log."""
        n = self.stored
        coef = self.slots.A[:n].copy()
        support = self.task.points.take(self.slots.row[:n])
        return support, coef, self.count * coef - self.slots.U[:n], None
