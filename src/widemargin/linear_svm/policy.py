"""Choose the next step of a dual ascent."""

from __future__ import annotations

from widemargin.linear_svm.dual_ascent import DualAscent
from widemargin.linear_svm.gap_estimate import LOOK_BACK
from widemargin.linear_svm.problem import Attempt, BinarySVM, StopSignal
from widemargin.linear_svm.steps import (
    BLOCK,
    ConjugateGradients,
    CoordinatePass,
    InteriorPoint,
    NewtonDual,
    NewtonPrimal,
    Step,
)

# Chosen by hand; docs/decisions.md gives times measured with these values (18 data sets, both
# losses, C from 0.01 to 100). Every fit ends with a measured gap, so they affect only the time.

#: The estimated number of remaining passes is capped at this many times the passes so far; the
#: larger cap is for Newton steps in the primal, where little is lost if they fail.
_PATIENCE, _PRIMAL_PATIENCE = 3, 10
#: The interior-point method is used if more dual values than this many times the features are
#: between bounds (Newton steps in the dual then cover only a small part of them), or after this
#: many attempts of Newton steps in the dual that did not end the fit.
_MANY_FREE, _MANY_ATTEMPTS = 3, 6
#: It is also used for fits that would not end: after this many passes, more seem to be needed than
#: are allowed.
_LONG = 100


class StepPolicy:
    """Chooses between more passes and the steps that may replace them.

        after every pass:
            take Newton steps in the primal          if cheaper than the passes ahead
            now and then, of the others:
                the interior-point method, once      if many dual values compete, and cheaper,
                                                     or if the passes allowed will not suffice
                conjugate gradients in the dual      if too many for Newton steps, and cheaper
                Newton steps in the dual             if cheaper

    The number of passes ahead is estimated from how fast the gap shrank in the last few.
    """

    def __init__(self, problem: BinarySVM) -> None:
        self.coordinate_pass = CoordinatePass()
        self.newton_primal = NewtonPrimal(problem)
        self.newton_dual = NewtonDual()
        self.conjugate = ConjugateGradients()
        self.interior_point = InteriorPoint(problem)
        self.next_look = 2 * LOOK_BACK

    def run_passes(self, ascent: DualAscent, signal: StopSignal) -> Attempt:
        """Run a pass of coordinate descent; if passes are short, as many as no step may replace."""
        next_step = min(self.next_look, self.newton_primal.next_epoch)
        most = int(min(next_step, ascent.problem.epochs)) - ascent.epochs
        return (yield from self.coordinate_pass.attempt(ascent, signal, most))

    def replace_passes(self, ascent: DualAscent, signal: StopSignal) -> Attempt:
        """Attempt the step that looks cheaper than more passes, if any does.

        Returns whether the gap seems to be reached.
        """
        if self._primal_pays(ascent):
            return (yield from self.newton_primal.attempt(ascent, signal))
        if ascent.epochs < self.next_look:
            return False
        step, solved = self._choose(ascent), False
        if step is not None:
            solved = yield from step.attempt(ascent, signal)
        chosen = self.conjugate if step is self.conjugate else self.newton_dual
        self.next_look = ascent.epochs + chosen.pause
        return solved

    def _primal_pays(self, ascent: DualAscent) -> bool:
        """Whether Newton steps in the primal look cheaper than more passes."""
        if ascent.epochs < self.newton_primal.next_epoch:
            return False
        passes = ascent.passes_ahead(_PRIMAL_PATIENCE) * self.coordinate_pass.cost(ascent)
        return passes > self.newton_primal.cost(ascent)

    def _choose(self, ascent: DualAscent) -> Step | None:
        """Return the step in the dual that looks cheaper than more passes."""
        passes = ascent.passes_ahead(_PATIENCE) * self.coordinate_pass.cost(ascent)
        free = len(ascent.state.between_bounds(ascent.shrinking.active))
        many = free > _MANY_FREE * (ascent.problem.width + 1)
        many = many or self.newton_dual.attempts >= _MANY_ATTEMPTS
        interior = self.interior_point
        if interior.possible and self._endless(ascent):
            return interior
        if many and interior.possible and passes > interior.cost(ascent):
            return interior
        step = self.conjugate if free > BLOCK else self.newton_dual
        return step if passes > step.cost(ascent) else None

    @staticmethod
    def _endless(ascent: DualAscent) -> bool:
        """Whether more passes seem to be needed than the limit allows."""
        most = ascent.problem.epochs
        return ascent.epochs >= _LONG and ascent.passes_ahead(most) > most - ascent.epochs
