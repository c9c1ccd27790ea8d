"""Linear SVMs on partitions, as a training for the common epoch driver: an epoch is a round."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from widemargin.certificates.gap import GapCertificate, relative, together
from widemargin.distribute.cocoa import (
    SUMS,
    Proposals,
    Round,
    Step,
    add_steps,
    ascend,
    costs_of,
    proposals_of,
    step_of,
    weights_from,
)
from widemargin.distribute.engine import Engine, gather, tree
from widemargin.distribute.hull import Hull, Proposal, kept_proposals
from widemargin.distribute.mixing import Weights
from widemargin.distribute.rounds import Rounds
from widemargin.linear_svm.fit import SVMSettings
from widemargin.modelfile.checks import check_counts, check_kinds
from widemargin.online.state import State
from widemargin.training.checkpoints import check_alike, without_prefix
from widemargin.training.run import Counts

#: How far from the best weights towards the current ones the slopes are taken.
_TOWARDS = 0.3
#: Sigma is the overlap measured in the last round times this factor. Chosen with 4 to 32 partitions
#: of text and of dense rows: more slows down every round, and less makes raised overshoot.
_CAUTION = 1.1


class Objectives(NamedTuple):
    """Primal and dual of every problem."""

    primal: np.ndarray
    dual: np.ndarray

    @property
    def gap(self) -> float:
        """The largest relative duality gap of any problem."""
        pairs = zip(self.primal.tolist(), self.dual.tolist(), strict=True)
        return max(relative(primal, dual) for primal, dual in pairs)


def objectives(W: np.ndarray, sums: np.ndarray) -> Objectives:
    """The objectives of weights and their dual values, from sums over partitions."""
    loss, alpha, squares = (sums[:, SUMS.index(name)] for name in ("loss", "alpha", "squares"))
    length = np.sum(W * W, axis=1)
    return Objectives(0.5 * length + loss, alpha - 0.5 * (length + squares))


class SVMTraining(Rounds):
    """The SVMs of all classes in training on partitions.

    Weights and dual values are held by the driver, so nothing is lost with a worker.

    Parameters
    ----------
    engine : Engine
        Runs the training.
    loaded, rows : sequences of handles and of int
        The partitions that are ready, and how many rows each has.
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
        self.ends = np.cumsum([0, *rows])
        self.alpha = np.zeros((problems, int(self.ends[-1])))
        self.costs: np.ndarray | None = None  # fetched from the partitions once
        most = kept_proposals(problems, state.W.shape[1], self.alpha.shape[1])
        pairs = zip(state.W, self.alpha, strict=True)
        self.hulls = [Hull(Proposal(w.copy(), alpha.copy()), most) for w, alpha in pairs]
        self.most = float(max(1, sum(n > 0 for n in rows)))
        self.sigma = np.full(problems, self.most)
        self.gap = 1.0
        # The primal does not fall in every round, so the best weights so far are deployed.
        self.best, self.lowest = state.W.copy(), np.full(problems, np.inf)

    def do_round(self, counts: Counts) -> Generator[float, None, None]:
        """Measure the current solution and, unless it is good enough, raise the dual."""
        engine, count = self.engine, len(self.loaded)
        how = self._round(self.sigma)
        if self.costs is None:
            asked = [engine.submit("costs", costs_of, one, how) for one in self.loaded]
            self.costs = np.concatenate(gather(engine, asked))
            engine.release(asked)
        between = self._between()
        start, ascents = self._ascend(how, np.concatenate([self.state.W, between]))
        own = [engine.submit("proposals", proposals_of, one) for one in ascents]
        total, rest = self._add_up([engine.submit("steps", step_of, one) for one in ascents])
        found: dict[int, Any] = {}
        try:
            for report in engine.finished([*own, total]):
                if not isinstance(report, int):
                    found[report[0]] = report[1]
                yield len(found) / (count + 2)
        finally:
            engine.release([*own, total, *rest, *ascents, start])
        self._note_best(between, found[count].sums)
        self._take(found[count].packed(), [found[i] for i in range(count)], counts)

    def _between(self) -> np.ndarray:
        """Where the slopes are taken: between the best weights so far and the current ones."""
        return self.best + _TOWARDS * (self.state.W - self.best)

    def _note_best(self, between: np.ndarray, sums: np.ndarray) -> None:
        """Record the weights in between if their primal is the lowest so far."""
        loss = sums[:, SUMS.index("loss_between")]
        primal = 0.5 * np.sum(between * between, axis=1) + loss
        better = primal < self.lowest
        self.best[better], self.lowest[better] = between[better], primal[better]

    def _round(self, sigma: np.ndarray) -> Round:
        settings = self.settings
        squared = settings.squared
        number = self.epoch - 1
        return Round(float(settings.C), squared, settings.constant, sigma, self.seed, number)

    def _ascend(self, how: Round, W: np.ndarray) -> tuple[Any, list[Any]]:
        engine, e = self.engine, self.epoch
        start = engine.share(f"weights of round {e}", Weights.of(W))
        return start, [
            engine.submit(f"ascend, round {e}, partition {i + 1}", ascend, one, start, alpha, how)
            for i, (one, alpha) in enumerate(zip(self.loaded, self._alphas(), strict=True))
        ]

    def _alphas(self) -> list[np.ndarray]:
        """The dual values of each partition."""
        pairs = pairwise(self.ends.tolist())
        return [np.ascontiguousarray(self.alpha[:, a:b]) for a, b in pairs]

    def _add_up(self, steps: list[Any]) -> tuple[Any, list[Any]]:
        total, joints = tree(self.engine, "add up", add_steps, steps)
        return total, [*joints, *steps]

    def _take(self, step: Step, proposals: list[Proposals], counts: Counts) -> None:
        """Adopt the best mixture of the partitions' proposals and of earlier ones."""
        W, sums = self.state.W, step.sums
        known = objectives(W, sums)
        better = known.primal < self.lowest
        self.best[better], self.lowest[better] = W[better], known.primal[better]
        self.gap = Objectives(self.lowest, known.dual).gap
        examples = self.alpha.shape[1]
        mistakes, updates = (int(sums[:, SUMS.index(n)].sum()) for n in ("mistakes", "updates"))
        counts.add(examples, mistakes, updates, float(self.lowest.sum()) * examples)
        if self.gap <= self.settings.tol:
            return  # the measured solution is good enough, and is kept
        raised = np.concatenate([one.raised for one in proposals], axis=1)
        pulled = np.concatenate([one.pulled for one in proposals], axis=1)
        for c in range(len(W)):
            alone = float(sums[c, SUMS.index("moved")])
            self._mix(c, step, raised[c], pulled[c], alone)

    def _mix(
        self, c: int, step: Step, raised: np.ndarray, pulled: np.ndarray, alone: float
    ) -> None:
        """Mix the proposals for one problem, and measure how much the changes overlap."""
        assert self.costs is not None
        W, problems = self.state.W, len(self.state.W)
        squared = self.settings.squared
        hull = self.hulls[c]
        up, away = hull.now.w.copy(), np.zeros_like(W[c])
        up[step.columns] += step.moved[c]
        away[step.columns] = step.moved[problems + c]
        soft = None
        if squared:
            soft = np.divide(0.5, self.costs, out=np.zeros_like(self.costs), where=self.costs > 0.0)
        change = raised - hull.now.alpha
        slope = float(np.sum(change) - np.sum(W[c, step.columns] * step.moved[c]))
        length = float(np.sum(step.moved[c] ** 2))
        bend = length
        if soft is not None:
            slope -= float(np.sum(soft * hull.now.alpha * change))
            bend += float(np.sum(soft * change * change))
        hull.mix([Proposal(up, raised), Proposal(away, self.costs * pulled)], soft)
        W[c] = hull.now.w
        # Rounding may have moved some slightly out of bounds.
        self.alpha[c] = np.clip(hull.now.alpha, 0.0, np.inf if squared else self.costs)
        hull.now = Proposal(hull.now.w, self.alpha[c].copy())
        wider = 2.0 * self.sigma[c]  # if raised went too far
        if slope >= bend:
            wider = _CAUTION * (length / alone if alone > 0.0 else 1.0)
        self.sigma[c] = min(max(wider, 1.0), self.most)

    def end_epoch(self) -> float | None:
        """Return the relative gap at the start of the round, the driver's stopping criterion."""
        return self.gap if self.finished == self.epoch else None

    def certify(self, classes: np.ndarray) -> GapCertificate:
        """Choose the weights to deploy, and compute the certificate, all from scratch.

        The dual is that of the dual values and the weights that result from them. The primal is
        that of these weights, or of the best weights of any round, which are then deployed.
        """
        engine, W = self.engine, self.state.W
        bias = self.settings.constant
        parts = [
            engine.submit(f"rebuild, partition {i + 1}", weights_from, one, alpha, bias)
            for i, (one, alpha) in enumerate(zip(self.loaded, self._alphas(), strict=True))
        ]
        total, rest = self._add_up(parts)
        (made,) = gather(engine, [total])
        engine.release([total, *rest])
        W[:] = 0.0
        made = made.packed()
        W[:, made.columns] = made.moved
        found, others = self._measure(W), self._measure(self.best)
        known, other = objectives(W, found), objectives(self.best, others)
        better = other.primal < known.primal
        W[better] = self.best[better]
        known.primal[better] = other.primal[better]
        return together(
            [
                GapCertificate(
                    float(known.primal[c]),
                    float(known.dual[c]),
                    relative(float(known.primal[c]), float(known.dual[c])),
                    int(found[c, SUMS.index("support")]),
                    float(found[c, SUMS.index("violation")]),
                    alpha=self.alpha[c].copy(),
                )
                for c in range(len(W))
            ],
            classes,
        )

    def _measure(self, W: np.ndarray) -> np.ndarray:
        """The sums over all partitions for some weights."""
        engine = self.engine
        start, ascents = self._ascend(self._round(np.empty(0)), W)
        total, rest = self._add_up([engine.submit("sums", step_of, one) for one in ascents])
        (found,) = gather(engine, [total])
        engine.release([total, *rest, *ascents, start])
        sums: np.ndarray = found.sums
        return sums

    # Checkpoints. The weights themselves are in the model that is stored with them.

    def contents(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The dual values, the kept proposals, and the progress of the training."""
        arrays = {"alpha": self.alpha, "sigma": self.sigma}
        arrays |= {"best": self.best, "lowest": self.lowest}
        for c, hull in enumerate(self.hulls):
            arrays |= {f"hull{c}.{name}": array for name, array in hull.arrays().items()}
        return arrays, {"finished": self.finished, "gap": self.gap}

    def resume(self, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> None:
        """Undo `contents`."""
        mine = {name: vars(self)[name] for name in ("alpha", "sigma", "best", "lowest")}
        check_alike(arrays, mine)
        check_counts(about, "finished")
        check_kinds(about, gap=float)
        self.alpha, self.sigma = np.array(arrays["alpha"]), np.array(arrays["sigma"])
        self.best, self.lowest = np.array(arrays["best"]), np.array(arrays["lowest"])
        for c, hull in enumerate(self.hulls):
            now = Proposal(self.state.W[c].copy(), self.alpha[c].copy())
            hull.resume(now, without_prefix(f"hull{c}", arrays))
        self.finished, self.gap = about["finished"], about["gap"]
