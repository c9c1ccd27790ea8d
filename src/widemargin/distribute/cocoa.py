"""Linear SVMs on partitions: each partition proposes dual values for its own examples.

    w, alpha = 0
    for each round:
        for each partition k, at the same time:
            raised_k = its own alphas after passes of dual coordinate ascent on
                  sum_i alpha_i - w.(A d) - sigma/2 |A d|^2 - 1/2 sum_i soft_i alpha_i^2,
                  d = raised_k - alpha_k, A d = sum_i d_i y_i x_i
            pulled_k = the slopes of its losses: C [m_i < 1], or 2 C max(0, 1 - m_i)
        alpha = the best mixture of alpha, raised, pulled and some earlier ones; w = A alpha

The slopes are taken at a point between w and the best weights so far: at w itself, far from the
optimum, they would oscillate (V. Franc and S. Sonnenburg (2008), Optimized cutting plane algorithm
for support vector machines, ICML).

With sigma = K partitions, raised is better than alpha for any data (C. Ma, V. Smith,
M. Jaggi, M. I. Jordan, P. Richtarik and M. Takac (2015), Adding vs. averaging in distributed
primal-dual optimization, ICML). Partitions whose changes hardly overlap can take larger steps:
sigma follows the overlap measured in the last round, |sum_k A d_k|^2 / sum_k |A d_k|^2. Whatever
all examples share, such as the bias, a partition on its own could change only in small steps;
pulled, the vertex towards which the Frank-Wolfe method moves, changes it for all partitions
together. See `distribute.hull`.

The local problem is an SVM with sigma times the cost: with a' = sigma alpha, a step of the usual
pass for the cost sigma C moves w by sigma times what alpha moves it, as the problem above requires.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin.certificates.gap import scores_of, weights_of
from widemargin.data.rows import Rows, frozen
from widemargin.distribute.first_pass import Loaded, order_generator
from widemargin.distribute.mixing import DENSE, MERGED, Weights, merged
from widemargin.linear_svm.problem import BinarySVM
from widemargin.linear_svm.shrinking import stirred
from widemargin.loops.svm.dual import dual_pass
from widemargin.online.passes import explain_bad_score

#: Passes over a partition in a round, besides those that measure and pull. More passes save
#: messages, but each one gains less; see docs/scale.md.
PASSES = 3
#: The figures that are summed over partitions; of the last, the maximum is taken.
SUMS = (
    *("loss", "loss_between", "alpha", "squares", "support"),
    *("moved", "mistakes", "updates", "violation"),
)


class Round(NamedTuple):
    """What every partition needs to know in a round.

    Attributes
    ----------
    C : float
        The cost of an error.
    squared : bool
        Whether the loss is the squared hinge.
    bias : float
        The constant feature of all rows.
    sigma : array
        For each problem, how much the partitions' changes may overlap; empty to only measure.
    seed, number : int
        The seed of the orders, and the number of the round, from 0.
    """

    C: float
    squared: bool
    bias: float
    sigma: np.ndarray
    seed: int
    number: int


class Step(NamedTuple):
    """The result of one or several partitions in a round.

    Attributes
    ----------
    sums : array (problems, len(SUMS))
        Figures of the weights and dual values at the start of the round, and of the changes.
    columns : array
        Which columns of the weights change: their numbers, ascending, or a mask of all columns.
    moved : array (problems or 2 problems, columns)
        The changes of the weights if alpha is raised, and the weights if it is pulled; of all
        columns if there is a mask.
    width : int
        The number of columns of all weights, including the bias.
    """

    sums: np.ndarray
    columns: np.ndarray
    moved: np.ndarray
    width: int

    @property
    def dense(self) -> bool:
        """Whether there is a mask."""
        return self.columns.dtype == bool

    def spread(self) -> Step:
        """The same with a mask."""
        if self.dense:
            return self
        mask, moved = np.zeros(self.width, bool), np.zeros((len(self.moved), self.width))
        mask[self.columns], moved[:, self.columns] = True, self.moved
        return self._replace(columns=mask, moved=moved)

    def packed(self) -> Step:
        """The same with column numbers."""
        if not self.dense:
            return self
        columns = np.flatnonzero(self.columns)
        return self._replace(columns=columns, moved=self.moved[:, columns])


class Proposals(NamedTuple):
    """Dual values that a partition proposes.

    Attributes
    ----------
    raised : array (problems, rows)
        After dual ascent.
    pulled : array (problems, rows)
        The slopes of the losses, divided by the costs: bool, or float64 for the squared hinge.
    """

    raised: np.ndarray
    pulled: np.ndarray


class Ascent(NamedTuple):
    """The result of a partition in a round: the part for itself, and the part for the sums."""

    proposals: Proposals
    step: Step


def _problem(loaded: Loaded, rows: Rows, how: Round, problem: int, problems: int) -> BinarySVM:
    """The SVM of a class against the rest, or of two classes, on the rows of a partition."""
    positive = 1 if problems == 1 else problem
    y = frozen(np.where(loaded.codes == positive, 1, -1).astype(np.int8))
    price = np.empty(0) if loaded.price is None else loaded.price
    return BinarySVM(rows, y, frozen(price), C=how.C, squared=how.squared)


def ascend(loaded: Loaded, start: Weights, alpha: np.ndarray, how: Round) -> Ascent:
    """Measure weights and dual values, and raise the dual with the examples of a partition."""
    sent, problems = loaded.pick(start.whole), len(alpha)
    W, between = sent[:problems], sent[problems:]
    rows, raises = loaded.ready_rows(how.bias), len(how.sigma) > 0
    sums, raised = np.zeros((problems, len(SUMS))), alpha.copy()
    pulled = np.zeros(alpha.shape, float if how.squared else bool)
    moved = np.zeros((problems * (1 + raises), W.shape[1]))
    for c in range(problems if rows.n else 0):
        problem = _problem(loaded, rows, how, c, problems)
        _measure(problem, loaded.learned, W[c], alpha[c], sums[c])
        if raises:
            rng = order_generator(how.seed, loaded.number, how.number * problems + c)
            given = (loaded.learned, W[c], alpha[c], float(how.sigma[c]))
            raised[c], moved[c] = _raise(problem, *given, rng, sums[c])
            sums[c, SUMS.index("moved")] = moved[c] @ moved[c]
            short = _shortfall(problem, loaded.learned, between[c])
            sums[c, SUMS.index("loss_between")] = _loss(problem, loaded.learned, short)
            pulled[c, loaded.learned.astype(np.int64)] = 2.0 * short if how.squared else short > 0.0
            moved[problems + c] = weights_of(rows, problem.costs * pulled[c] * problem.y)
    return Ascent(Proposals(raised, pulled), _step(loaded, sums, moved))


def costs_of(loaded: Loaded, how: Round) -> np.ndarray:
    """C times the weight of every example."""
    rows = loaded.ready_rows(how.bias)
    return _problem(loaded, rows, how, 0, 1).costs


def _soft(problem: BinarySVM) -> np.ndarray:
    soft = np.zeros(problem.rows.n)
    if problem.squared:
        np.divide(0.5, problem.costs, out=soft, where=problem.costs > 0.0)
    return soft


def _measure(
    problem: BinarySVM, learned: np.ndarray, w: np.ndarray, alpha: np.ndarray, sums: np.ndarray
) -> None:
    """The parts of the objectives that are sums over examples."""
    which = learned.astype(np.int64)
    costs, own, soft = problem.costs[which], alpha[which], _soft(problem)[which]
    lead = _lead(problem, learned, w)
    slope = -lead - soft * own
    grows = own < (np.inf if problem.squared else costs)
    sums[SUMS.index("loss")] = _loss(problem, learned, np.maximum(0.0, -lead))
    sums[SUMS.index("alpha")] = own.sum()
    sums[SUMS.index("squares")] = soft @ own**2
    sums[SUMS.index("support")] = np.count_nonzero(own)
    sums[SUMS.index("violation")] = max(
        np.max(slope[grows], initial=0.0), np.max(-slope[own > 0.0], initial=0.0)
    )


def _lead(problem: BinarySVM, learned: np.ndarray, w: np.ndarray) -> np.ndarray:
    """By how much the margin of each example exceeds 1."""
    which = learned.astype(np.int64)
    margins = (problem.y * scores_of(problem.rows, w))[which]
    bad = np.flatnonzero(~np.isfinite(margins))
    if len(bad):
        explain_bad_score(problem.rows, int(which[bad[0]]))
    return margins - 1.0


def _shortfall(problem: BinarySVM, learned: np.ndarray, w: np.ndarray) -> np.ndarray:
    """By how much the margin of each example is short of 1."""
    return np.maximum(0.0, -_lead(problem, learned, w))


def _loss(problem: BinarySVM, learned: np.ndarray, short: np.ndarray) -> float:
    """The summed loss of examples."""
    costs = problem.costs[learned.astype(np.int64)]
    return float(costs @ (short**2 if problem.squared else short))


def _raise(
    problem: BinarySVM,
    learned: np.ndarray,
    w: np.ndarray,
    alpha: np.ndarray,
    sigma: float,
    rng: np.random.Generator,
    sums: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Passes of dual coordinate ascent; the dual values, and the change of the weights."""
    local = BinarySVM(
        problem.rows, problem.y, problem.price, C=sigma * problem.C, squared=problem.squared
    )
    own, scaled = w.copy(), sigma * alpha
    squared_norms, shrunk = np.full(len(alpha), -1.0), np.zeros(len(alpha), np.uint8)
    endless = (np.inf, np.inf)
    for _ in range(PASSES):
        order = frozen(stirred(learned, rng)) if len(learned) else learned
        found = dual_pass(
            problem.rows.stored,
            *(problem.y, problem.price, order, local.rule, 0.0, endless),
            *(own, scaled, squared_norms, shrunk),
        )
        if found.bad >= 0:
            explain_bad_score(problem.rows, int(found.bad))
        sums[SUMS.index("mistakes")] = found.mistakes
        sums[SUMS.index("updates")] += found.updates
    most = np.inf if problem.squared else problem.costs
    return np.clip(scaled / sigma, 0.0, most), (own - w) / sigma


def _step(loaded: Loaded, sums: np.ndarray, moved: np.ndarray) -> Step:
    """A step to be sent: only the columns that changed, unless most of them did."""
    moved, places = loaded.unpicked(moved), loaded.places
    changed = np.any(moved != 0.0, axis=0)
    dense = np.count_nonzero(changed) > DENSE * (loaded.width + 1)
    if dense and loaded.whole:
        return Step(sums, changed, moved, loaded.width + 1)
    order = loaded.ascending
    chosen = order[changed[order]]
    packed = np.ascontiguousarray(moved[:, chosen])
    found = Step(sums, places[chosen], packed, loaded.width + 1)
    return found.spread() if dense else found


def step_of(ascent: Ascent) -> Step:
    """The part of an ascent that is summed over partitions."""
    return ascent.step


def proposals_of(ascent: Ascent) -> Proposals:
    """The part of an ascent that stays with its partition."""
    return ascent.proposals


def add_steps(one: Step, other: Step) -> Step:
    """Add the results of two groups of partitions."""
    sums = one.sums + other.sums
    worst = SUMS.index("violation")
    sums[:, worst] = np.maximum(one.sums[:, worst], other.sums[:, worst])
    known = sum(len(step.columns) for step in (one, other))
    if one.dense or other.dense or known > MERGED * one.width:
        one, other = one.spread(), other.spread()
        return Step(sums, one.columns | other.columns, one.moved + other.moved, one.width)
    columns, mine, theirs = merged(one.columns, other.columns)
    moved = np.zeros((len(one.moved), len(columns)))
    moved[:, mine] = one.moved
    moved[:, theirs] += other.moved
    return Step(sums, columns, moved, one.width)


def weights_from(loaded: Loaded, alpha: np.ndarray, bias: float) -> Step:
    """The weights that result from the dual values of a partition, computed from scratch."""
    rows, problems = loaded.ready_rows(bias), len(alpha)
    how = Round(1.0, False, bias, np.empty(0), 0, 0)
    made = np.zeros((problems, rows.width + 1))
    for c in range(problems if rows.n else 0):
        problem = _problem(loaded, rows, how, c, problems)
        made[c] = weights_of(rows, alpha[c] * problem.y)
    return _step(loaded, np.zeros((problems, len(SUMS))), made)
