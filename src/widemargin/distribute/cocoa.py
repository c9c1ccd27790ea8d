"""Linear SVMs on partitions: each raises the dual by its own examples, and the changes add up.

    w, alpha = 0
    for each round:
        for each partition k, at the same time:
            d_k = a change of its own alphas that raises
                  sum_i alpha_i - w.(A d) - sigma/2 |A d|^2 - 1/2 sum_i soft_i alpha_i^2,
                  A d = sum_i d_i y_i x_i, by passes of dual coordinate ascent
        alpha += theta d;  w += theta sum_k A d_k,  theta at most 1: where the dual is largest

With sigma = K partitions the dual rises for theta = 1 whatever the data are (C. Ma, V. Smith,
M. Jaggi, M. I. Jordan, P. Richtarik and M. Takac (2015), Adding vs. averaging in distributed
primal-dual optimization, ICML). Partitions whose changes hardly overlap can take larger steps:
sigma follows what the last round measured, |sum_k A d_k|^2 / sum_k |A d_k|^2, and theta keeps the
dual from falling.

The local problem is an SVM with sigma times the cost: with a' = sigma alpha, a step of the usual
pass for the cost sigma C moves w by sigma times what alpha moves it, as the problem above asks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin.certificates.gap import scores_of, weights_of
from widemargin.data.rows import Rows, frozen
from widemargin.distribute.first_pass import Loaded, order_generator
from widemargin.distribute.mixing import Weights
from widemargin.linear_svm.problem import BinarySVM
from widemargin.loops.svm.dual import dual_pass
from widemargin.online.orders import stirred
from widemargin.online.passes import explain_bad_score

#: Passes over a partition in a round, besides the one that measures. See docs/scale.md: more spare
#: messages, and gain less each.
PASSES = 2
#: The figures of a partition that are added up; the last is a maximum.
SUMS = (
    *("loss", "alpha", "squares", "support"),
    *("more_alpha", "cross", "more_squares", "moved", "mistakes", "updates", "violation"),
)


class Round(NamedTuple):
    """What every partition must know in a round.

    Attributes
    ----------
    C : float
        The cost of an error.
    squared : bool
        Whether the loss is the squared hinge.
    bias : float
        The constant feature of all rows.
    sigma : array
        For each problem, how far the partitions' changes may overlap; empty if they only measure.
    seed, number : int
        The seed of the orders, and which round it is, from 0.
    """

    C: float
    squared: bool
    bias: float
    sigma: np.ndarray
    seed: int
    number: int


class Step(NamedTuple):
    """What a partition, or several, found in a round.

    Attributes
    ----------
    sums : array (problems, len(SUMS))
        Figures of the weights and dual values at the start of the round, and of the changes.
    places : array
        The columns of the weights that change, ascending.
    moved : array (problems, columns)
        The change of the weights.
    """

    sums: np.ndarray
    places: np.ndarray
    moved: np.ndarray


class Ascent(NamedTuple):
    """What a partition keeps for itself: the dual values after a round, were theta 1."""

    alpha: np.ndarray
    step: Step


def _problem(loaded: Loaded, rows: Rows, how: Round, problem: int, problems: int) -> BinarySVM:
    """The SVM of a class against the rest, or of two classes, on the rows of a partition."""
    positive = 1 if problems == 1 else problem
    y = frozen(np.where(loaded.codes == positive, 1, -1).astype(np.int8))
    price = np.empty(0) if loaded.price is None else loaded.price
    return BinarySVM(rows, y, frozen(price), C=how.C, squared=how.squared)


def ascend(loaded: Loaded, start: Weights, alpha: np.ndarray, how: Round) -> Ascent:
    """Measure weights and dual values, and raise the dual by the examples of a partition."""
    W = loaded.pick(start.whole)
    rows, problems = loaded.ready_rows(how.bias), len(W)
    sums, raised, moved = np.zeros((problems, len(SUMS))), alpha.copy(), np.zeros_like(W)
    for c in range(problems):
        problem = _problem(loaded, rows, how, c, problems)
        if not rows.n:
            continue
        _measure(problem, loaded.learned, W[c], alpha[c], sums[c])
        if len(how.sigma):
            rng = order_generator(how.seed, loaded.number, how.number * problems + c)
            given = (loaded.learned, W[c], alpha[c], float(how.sigma[c]))
            raised[c], moved[c] = _raise(problem, *given, rng, sums[c])
            _count_change(problem, alpha[c], raised[c], moved[c], sums[c])
    return Ascent(raised, _step(loaded, sums, moved))


def _soft(problem: BinarySVM) -> np.ndarray:
    soft = np.zeros(problem.rows.n)
    if problem.squared:
        np.divide(0.5, problem.costs, out=soft, where=problem.costs > 0.0)
    return soft


def _measure(
    problem: BinarySVM, learned: np.ndarray, w: np.ndarray, alpha: np.ndarray, sums: np.ndarray
) -> None:
    """The parts of the primal and of the dual that are sums over examples."""
    which = learned.astype(np.int64)
    margins = (problem.y * scores_of(problem.rows, w))[which]
    bad = np.flatnonzero(~np.isfinite(margins))
    if len(bad):
        explain_bad_score(problem.rows, int(which[bad[0]]))
    costs, own, soft = problem.costs[which], alpha[which], _soft(problem)[which]
    short = np.maximum(0.0, 1.0 - margins)
    slope = 1.0 - margins - soft * own
    grows = own < (np.inf if problem.squared else costs)
    sums[SUMS.index("loss")] = costs @ (short**2 if problem.squared else short)
    sums[SUMS.index("alpha")] = own.sum()
    sums[SUMS.index("squares")] = soft @ own**2
    sums[SUMS.index("support")] = np.count_nonzero(own)
    sums[SUMS.index("violation")] = max(
        np.max(slope[grows], initial=0.0), np.max(-slope[own > 0.0], initial=0.0)
    )


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


def _count_change(
    problem: BinarySVM, alpha: np.ndarray, raised: np.ndarray, moved: np.ndarray, sums: np.ndarray
) -> None:
    """The parts of the dual along the change that are sums over examples."""
    change, soft = raised - alpha, _soft(problem)
    sums[SUMS.index("more_alpha")] = change.sum()
    sums[SUMS.index("cross")] = soft @ (alpha * change)
    sums[SUMS.index("more_squares")] = soft @ change**2
    sums[SUMS.index("moved")] = moved @ moved


def _step(loaded: Loaded, sums: np.ndarray, moved: np.ndarray) -> Step:
    """A step as it travels: the columns that changed."""
    moved, places = loaded.unpicked(moved), loaded.places
    order = loaded.ascending
    chosen = order[np.any(moved[:, order] != 0.0, axis=0)]
    return Step(sums, places[chosen], np.ascontiguousarray(moved[:, chosen]))


def step_of(ascent: Ascent) -> Step:
    """The part of an ascent that is added up."""
    return ascent.step


def alpha_of(ascent: Ascent) -> np.ndarray:
    """The part of an ascent that stays with its partition."""
    return ascent.alpha


def add_steps(one: Step, other: Step) -> Step:
    """Add up what two groups of partitions found."""
    sums = one.sums + other.sums
    worst = SUMS.index("violation")
    sums[:, worst] = np.maximum(one.sums[:, worst], other.sums[:, worst])
    places = np.union1d(one.places, other.places)
    moved = np.zeros((len(one.moved), len(places)))
    moved[:, np.searchsorted(places, one.places)] = one.moved
    moved[:, np.searchsorted(places, other.places)] += other.moved
    return Step(sums, places, moved)


def weights_from(loaded: Loaded, alpha: np.ndarray, bias: float) -> Step:
    """The weights that the dual values of a partition make, from scratch."""
    rows, problems = loaded.ready_rows(bias), len(alpha)
    how = Round(1.0, False, bias, np.empty(0), 0, 0)
    made = np.zeros((problems, rows.width + 1))
    for c in range(problems if rows.n else 0):
        problem = _problem(loaded, rows, how, c, problems)
        made[c] = weights_of(rows, alpha[c] * problem.y)
    return _step(loaded, np.zeros((problems, len(SUMS))), made)
