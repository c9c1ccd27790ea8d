"""Linear SVMs on partitions, as the one epoch driver runs them: an epoch is a round."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, NamedTuple

import numpy as np

from widemargin.certificates.gap import GapCertificate, relative, together
from widemargin.distribute.cocoa import (
    SUMS,
    Round,
    Step,
    add_steps,
    alpha_of,
    ascend,
    step_of,
    weights_from,
)
from widemargin.distribute.engine import Engine, gather, tree
from widemargin.distribute.mixing import Weights
from widemargin.distribute.rounds import Rounds
from widemargin.linear_svm.fit import SVMSettings
from widemargin.modelfile import check_shape
from widemargin.online.state import State
from widemargin.training.run import Counts

#: Sigma is what the last round measured, and a little more: measured with 4 to 32 partitions of
#: text and of dense rows, where more slows every round down and less lets theta fall below 1.
_CAUTION = 1.1


class Objectives(NamedTuple):
    """Primal and dual of every problem."""

    primal: np.ndarray
    dual: np.ndarray

    @property
    def gap(self) -> float:
        """The largest relative gap of any problem."""
        pairs = zip(self.primal.tolist(), self.dual.tolist(), strict=True)
        return max(relative(primal, dual) for primal, dual in pairs)


def objectives(W: np.ndarray, sums: np.ndarray) -> Objectives:
    """The objectives of weights, and of dual values that make them, from sums over partitions."""
    loss, alpha, squares = (sums[:, SUMS.index(name)] for name in ("loss", "alpha", "squares"))
    length = np.sum(W * W, axis=1)
    return Objectives(0.5 * length + loss, alpha - 0.5 * (length + squares))


class SVMTraining(Rounds):
    """The SVMs of all classes in training on partitions.

    Weights and dual values are here, with the driver: a worker that is lost takes nothing along.

    Parameters
    ----------
    engine : Engine
        What learns.
    loaded : sequence of handles
        The partitions that are ready.
    rows : sequence of int
        How many rows each partition has.
    state : State
        The weights, in float64, which are changed in place.
    settings : SVMSettings
        What to solve.
    seed : int
        The seed of the orders.
    """

    def __init__(
        self,
        engine: Engine,
        loaded: Sequence[Any],
        rows: Sequence[int],
        state: State,
        settings: SVMSettings,
        seed: int,
    ) -> None:
        self.engine, self.loaded, self.state = engine, loaded, state
        self.settings, self.seed = settings, seed
        problems = len(state.W)
        self.alphas = [np.zeros((problems, n)) for n in rows]
        self.most = float(max(1, sum(n > 0 for n in rows)))
        self.sigma = np.full(problems, self.most)
        self.gap = 1.0

    def do_round(self, counts: Counts) -> Generator[float, None, None]:
        """Measure what there is and, unless it is good enough, raise the dual."""
        engine, count = self.engine, len(self.loaded)
        how = self._round(self.sigma)
        start, ascents = self._ascend(how)
        alphas = [engine.submit("dual values", alpha_of, one) for one in ascents]
        total, rest = self._add_up([engine.submit("steps", step_of, one) for one in ascents])
        found: dict[int, Any] = {}
        try:
            for told in engine.finished([*alphas, total]):
                if told is not None:
                    found[told[0]] = told[1]
                yield len(found) / (count + 2)
        finally:
            engine.release([*alphas, total, *rest, *ascents, start])
        self._take(found[count], [found[i] for i in range(count)], counts)

    def _round(self, sigma: np.ndarray) -> Round:
        settings = self.settings
        squared = settings.loss == "squared_hinge"
        number = self.epoch - 1
        return Round(float(settings.C), squared, settings.constant, sigma, self.seed, number)

    def _ascend(self, how: Round) -> tuple[Any, list[Any]]:
        engine, e = self.engine, self.epoch
        start = engine.share(f"weights of round {e}", Weights.of(self.state.W))
        return start, [
            engine.submit(f"ascend, round {e}, partition {i + 1}", ascend, one, start, alpha, how)
            for i, (one, alpha) in enumerate(zip(self.loaded, self.alphas, strict=True))
        ]

    def _add_up(self, steps: list[Any]) -> tuple[Any, list[Any]]:
        total, joints = tree(self.engine, "add up", add_steps, steps)
        return total, [*joints, *steps]

    def _take(self, step: Step, raised: list[np.ndarray], counts: Counts) -> None:
        """Take a step along the changes of all partitions, to where the dual is largest."""
        W, sums = self.state.W, step.sums
        known = objectives(W, sums)
        self.gap = known.gap
        examples = sum(alpha.shape[1] for alpha in raised)
        mistakes, updates = (int(sums[:, SUMS.index(n)].sum()) for n in ("mistakes", "updates"))
        counts.add(examples, mistakes, updates, float(known.primal.sum()) * examples)
        if self.gap <= self.settings.tol:
            return  # what was measured is good enough: it is what is kept
        more, cross, squares, alone = (
            sums[:, SUMS.index(name)] for name in ("more_alpha", "cross", "more_squares", "moved")
        )
        length = np.sum(step.moved * step.moved, axis=1)
        along = np.sum(W[:, step.places] * step.moved, axis=1)
        slope, curvature = more - along - cross, length + squares
        best = np.divide(slope, curvature, out=np.ones(len(W)), where=curvature > 0.0)
        theta = np.clip(best, 0.0, 1.0)
        W[:, step.places] += theta[:, None] * step.moved
        for alpha, new in zip(self.alphas, raised, strict=True):
            # With theta = 1 exactly the new values, which are within their bounds.
            alpha += np.where(theta[:, None] == 1.0, new - alpha, theta[:, None] * (new - alpha))
        overlap = np.divide(length, alone, out=np.ones(len(W)), where=alone > 0.0)
        wider = np.where(best < 1.0, 2.0 * self.sigma, _CAUTION * overlap)
        self.sigma = np.clip(wider, 1.0, self.most)

    def end_epoch(self) -> float | None:
        """Return the relative gap at the start of the round, by which the driver stops."""
        return self.gap if self.finished == self.epoch else None

    def certify(self) -> GapCertificate:
        """Compute the weights from the dual values, and the certificate of both, from scratch."""
        engine, W = self.engine, self.state.W
        bias = self.settings.constant
        parts = [
            engine.submit(f"rebuild, partition {i + 1}", weights_from, one, alpha, bias)
            for i, (one, alpha) in enumerate(zip(self.loaded, self.alphas, strict=True))
        ]
        total, rest = self._add_up(parts)
        (made,) = gather(engine, [total])
        engine.release([total, *rest])
        W[:] = 0.0
        W[:, made.places] = made.moved
        start, ascents = self._ascend(self._round(np.empty(0)))
        total, rest = self._add_up([engine.submit("sums", step_of, one) for one in ascents])
        (found,) = gather(engine, [total])
        engine.release([total, *rest, *ascents, start])
        known = objectives(W, found.sums)
        return together(
            [
                GapCertificate(
                    float(known.primal[c]),
                    float(known.dual[c]),
                    relative(float(known.primal[c]), float(known.dual[c])),
                    int(found.sums[c, SUMS.index("support")]),
                    float(found.sums[c, SUMS.index("violation")]),
                    alpha=np.concatenate([alpha[c] for alpha in self.alphas]),
                )
                for c in range(len(W))
            ]
        )

    # Checkpoints. The weights themselves are in the model that is stored with them.

    def contents(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The dual values, and how far the training has come."""
        arrays = {f"alpha.{i}": alpha for i, alpha in enumerate(self.alphas)}
        about = {"finished": self.finished, "gap": self.gap}
        return {**arrays, "sigma": self.sigma}, about

    def resume(self, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> None:
        """Undo `contents`."""
        for name, mine in self.contents()[0].items():
            check_shape(name, arrays[name], mine.shape)
        self.alphas = [np.array(arrays[f"alpha.{i}"]) for i in range(len(self.alphas))]
        self.sigma = np.array(arrays["sigma"])
        self.finished, self.gap = about["finished"], about["gap"]
