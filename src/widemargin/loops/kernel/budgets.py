"""Perceptrons in feature space that may store at most B examples.

The stored examples sit in slots; slot s adds A[s] K(x_s, x) to the scores of x. When all slots are
taken and there is a mistake,

    RANDOM       the new example replaces one drawn at random
    FORGETRON    all of A shrinks by phi, and the oldest example is replaced; phi is the largest
                 factor for which the damage so far, Q + psi(phi), is at most 15/32 of the mistakes
    PROJECTRON   the new example is replaced by its projection on the span of the stored ones

Projectron++ also steps, by projection, on examples inside the margin. Lengths are measured in units
of R, the longest example, so that |x| <= 1 as in the papers.

References: G. Cavallanti, N. Cesa-Bianchi, C. Gentile (2007), Machine Learning 69 (random);
O. Dekel, S. Shalev-Shwartz, Y. Singer (2008), SIAM J. Computing 37 (self-tuned Forgetron);
F. Orabona, J. Keshet, B. Caputo (2009), JMLR 10 (Projectron++).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin.loops.arrays import add_scaled
from widemargin.loops.jit import jit
from widemargin.loops.kernel.feature_space import find_kernel_amounts, is_finite
from widemargin.loops.linear.passes import COUNT, SEEN, TURN, Tally
from widemargin.loops.margins import multiclass_margin
from widemargin.loops.steps import eta_at

RANDOM, FORGETRON, PROJECTRON = range(3)
#: Where `Slots.facts` keeps how many slots are taken, which is the oldest, the damage Q that the
#: Forgetron has done, the corrections M, and how many random numbers were used.
TAKEN, OLDEST, DAMAGE, CORRECTIONS, DRAWN = range(5)
#: An example whose distance to the span is below this fraction of its length (both squared) is
#: taken to lie in it: the inverse of the kernel matrix, maintained by updates, would lose as many
#: digits.
_INSIDE = 1e-6


class Slots(NamedTuple):
    """Stored examples."""

    row: np.ndarray  # where each came from
    A: np.ndarray  # (B, k): what it adds
    U: np.ndarray  # (B, k): A summed with the clock, for the average
    G: np.ndarray  # (B, B): their kernels (Forgetron), or the inverse of that (Projectron)
    facts: np.ndarray


class BudgetRule(NamedTuple):
    """How to forget."""

    form: int
    R2: float  # K(x, x) is at most this
    reach: float  # the Projectron's eta: competitors up to the norm 1/eta are competed with


@jit()
def budget_pass(budget, KT, K, q, y, price, which, rule, joint, S, slots, draws, clock):
    """Learn from a block of examples in order.

    KT[s, i] is the kernel of slot s and example i of the block, K that of the block with itself,
    S[c, i] the score of example i at the start. Rows of the block are `which` in the data.

    Changes KT, S, slots and clock in place. The cost of a correction is proportional to the values
    in a row of KT and slots (Projectron: in all of KT and G).
    """
    facts, B = slots.facts, len(slots.row)
    c, t = clock[COUNT], clock[TURN]
    mistakes, updates, bad, total = 0, 0, -1, 0.0
    amounts, d = np.empty(len(S)), np.empty(B)
    for j in range(len(q)):
        weight = price[j] if len(price) else 1.0
        if not is_finite(S, q, j):
            bad = j
            break
        eta = eta_at(rule, t + 1.0)
        wrong, changed, cost = find_kernel_amounts(rule, S, q, y, j, joint, eta, weight, amounts)
        mistakes += wrong
        total += cost
        if budget.form == PROJECTRON:
            changed = project_example(
                budget, KT, K, q, y, which[j], joint, S, slots, j, eta, amounts, d, c
            )
        elif changed:
            facts[CORRECTIONS] += changed
            s = np.int64(facts[TAKEN])
            if s < B:
                facts[TAKEN] += 1.0
            elif budget.form == RANDOM:
                s = np.int64(draws[np.int64(facts[DRAWN])])
                facts[DRAWN] += 1.0
            else:
                s = np.int64(facts[OLDEST])
                facts[OLDEST] = (s + 1) % B
                shrink_all(budget, KT, S, slots, s, j, eta, amounts)
            replace_slot(budget, KT, K, S, slots, s, j, which[j], amounts)
        updates += changed
        c += 1.0
        t += 1.0
    clock[SEEN] += t - clock[TURN]
    clock[COUNT], clock[TURN] = c, t
    return Tally(mistakes, updates, total, 0, bad)


@jit(inner=True)
def replace_slot(budget, KT, K, S, slots, s, j, row, amounts):
    """Put example j of the block into slot s, with its amounts, replacing what was there."""
    for k in range(len(S)):
        later = S[k, j + 1 :]
        if slots.A[s, k] != 0.0:
            add_scaled(later, -slots.A[s, k], KT[s, j + 1 :])
        slots.A[s, k] = amounts[k]
        add_scaled(later, amounts[k], K[j, j + 1 :])
    if budget.form == FORGETRON:
        for r in range(len(slots.row)):
            slots.G[s, r] = slots.G[r, s] = KT[r, j]
        slots.G[s, s] = K[j, j]
    for i in range(S.shape[1]):
        KT[s, i] = K[j, i]
    slots.row[s] = row


@jit(inner=True)
def shrink_all(budget, KT, S, slots, r, j, eta, amounts):
    """Shrink everything, amounts too, by the factor that makes it safe to forget slot r.

    psi(phi) = (phi sigma)^2 + 2 phi sigma - 2 phi^2 sigma mu, where sigma is the size of what
    slot r adds and mu = y f(x_r), after the correction by x_j.
    """
    facts, A = slots.facts, slots.A
    sigma, square, product = 0.0, 0.0, 0.0
    for k in range(len(S)):
        a = A[r, k] / eta
        if a != 0.0:
            f = amounts[k] * KT[r, j]
            for s in range(len(slots.row)):
                f += A[s, k] * slots.G[r, s]
            sigma += abs(a)
            square += a * a
            product += a * f / (eta * budget.R2)
    room = 15.0 / 32.0 * facts[CORRECTIONS] - facts[DAMAGE]
    a, b = square - 2.0 * product, 2.0 * sigma
    phi = 1.0
    if a + b > room:
        root = np.sqrt(max(0.0, b * b + 4.0 * a * room))
        phi = room / b if a == 0.0 else (root - b) / (2.0 * a)
        phi = min(1.0, max(0.0, phi))
    facts[DAMAGE] += phi * phi * a + phi * b
    for s in range(len(slots.row)):
        for k in range(len(S)):
            A[s, k] *= phi
    for k in range(len(S)):
        amounts[k] *= phi
        for i in range(j + 1, S.shape[1]):
            S[k, i] *= phi


@jit(inner=True)
def project_example(budget, KT, K, q, y, row, joint, S, slots, j, eta, amounts, d, c):
    """One step of Projectron++ on example j; returns how many classes it changed.

    k = K(x_s, x_j) for all s;   d = G k;   delta^2 = K(x_j, x_j) - k.d
    mistake:        store x_j if there is room, else w += y P x_j, P x_j = sum_s d_s x_s
    margin error:   w += tau y P x_j,
                    tau = min(l, 2 (l - delta / eta)) / |P x_j|^2, at most 1, if positive
    """
    facts, G, n = slots.facts, slots.G, np.int64(slots.facts[TAKEN])
    unit, needed = eta * budget.R2, False
    together = joint and len(S) > 1
    right = y[j]
    lead, rival, _ = multiclass_margin(S[:, j], right) if together else (0.0, 0, False)
    for k in range(len(S)):
        needed |= (lead if together else margin_at(S, right, j, k)) < unit
    if not needed:
        return 0
    for s in range(n):
        d[s] = 0.0
    for r in range(n):
        add_scaled(d[:n], KT[r, j], G[r, :n])
    inside = 0.0
    for s in range(n):
        inside += d[s] * KT[s, j]
    delta2 = max(0.0, q[j] - inside)
    stored = False
    for k in range(len(S)):
        stored |= amounts[k] != 0.0
    if stored and n < len(slots.row) and delta2 > _INSIDE * q[j]:
        extend_inverse(G, d, n, delta2)
        for i in range(S.shape[1]):
            KT[n, i] = K[j, i]
        slots.row[n] = row
        facts[TAKEN] += 1.0
        for s in range(n):
            d[s] = 0.0
        d[n] = 1.0
        n, inside, delta2 = n + 1, q[j], 0.0
    far = np.sqrt(delta2 / budget.R2) / budget.reach
    changed = 0
    for k in range(len(S)):
        amount = amounts[k]
        if amount == 0.0 and (not together or k == right or k == rival):
            short = 1.0 - (lead if together else margin_at(S, right, j, k)) / unit
            if short > 0.0 and short > far and inside > 0.0:
                tau = min(short, 2.0 * (short - far)) / (inside / budget.R2)
                positive = k == right if len(S) > 1 else right == 1
                amount = (eta if positive else -eta) * min(tau, 1.0)
        amounts[k] = amount
    for k in range(len(S)):
        if amounts[k] != 0.0:
            changed += 1
            for s in range(n):
                a = amounts[k] * d[s]
                if a != 0.0:
                    slots.A[s, k] += a
                    slots.U[s, k] += a * c
                    add_scaled(S[k, j + 1 :], a, KT[s, j + 1 :])
    return np.int64(changed > 0) if together else changed


@jit(inner=True)
def margin_at(S, right, j, k):
    """The margin of example j of class `right` in the problem of class k against the rest."""
    positive = right == k if len(S) > 1 else right == 1
    return S[k, j] if positive else -S[k, j]


@jit(inner=True)
def extend_inverse(G, d, n, delta2):
    """Add a row to the inverse G of a kernel matrix, given d = G k and delta^2."""
    for r in range(n):
        f = d[r] / delta2
        add_scaled(G[r, :n], f, d[:n])
        G[r, n] = G[n, r] = -f
    G[n, n] = 1.0 / delta2
