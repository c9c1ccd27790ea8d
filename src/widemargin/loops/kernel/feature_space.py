"""The perceptron in feature space: loops over kernel values instead of features.

Nothing here uses features. K[j, i] is the kernel of examples j and i, and a correction of w by
a x_j changes the score of every example i by a K[j, i]. So a pass keeps the scores S of its
examples up to date and never forms w.
"""

from __future__ import annotations

import numpy as np

from widemargin.loops.arrays import add_scaled
from widemargin.loops.jit import jit
from widemargin.loops.linear.passes import COUNT, SEEN, TURN, Tally, append_to_log
from widemargin.loops.margins import multiclass_margin
from widemargin.loops.steps import eta_at, loss, mistaken, step


@jit()
def feature_pass(K, q, y, price, order, rule, joint, S, clock, log):
    """The online perceptron on examples whose kernel values are all in memory.

        for j in order:
            s = S[:, j], the scores of x_j
            if y[j] s <= 0:                 (the rule says when, and how far)
                for every i:  S[i] += eta y[j] K[j, i]

    S has one row per class (one row for two classes, y in {0, 1}), and q holds K[j, j]. Classes are
    learned together (`joint`), or each against the rest. The clock is that of
    `widemargin.loops.linear.passes`.

    Changes S, clock and log in place. Costs one pass over a row of K per correction.
    """
    c, t = clock[COUNT], clock[TURN]
    mistakes, updates, logged, bad, total = 0, 0, 0, -1, 0.0
    amounts = np.empty(len(S))
    for at in range(len(order)):
        j = order[at]
        weight = price[j] if len(price) else 1.0
        if not is_finite(S, q, j):
            bad = np.int64(j)
            break
        eta = eta_at(rule, t + 1.0)
        wrong, changed, cost = find_kernel_amounts(rule, S, q, y, j, joint, eta, weight, amounts)
        mistakes += wrong
        updates += changed
        total += cost
        if changed:
            for k in range(len(S)):
                if amounts[k] != 0.0:
                    add_scaled(S[k], amounts[k], K[j])
                    logged = append_to_log(log, logged, j, k, amounts[k], c)
        c += 1.0
        t += 1.0
    clock[SEEN] += t - clock[TURN]
    clock[COUNT], clock[TURN] = c, t
    return Tally(mistakes, updates, total, logged, bad)


@jit(inline=True)
def is_finite(S, q, j):
    """Whether all scores of example j, and K(x_j, x_j), are finite numbers."""
    finite = np.isfinite(q[j])
    for k in range(len(S)):
        finite &= np.isfinite(S[k, j])
    return finite


@jit(inline=True)
def find_kernel_amounts(rule, S, q, y, j, joint, eta, weight, amounts):
    """Find the amount of example j to add to every class; returns mistakes, changes and loss."""
    if joint and len(S) > 1:
        return _against_rival(rule, S, q, y, j, eta, weight, amounts)
    return _against_rest(rule, S, q, y, j, eta, weight, amounts)


@jit(inner=True)
def _against_rest(rule, S, q, y, j, eta, weight, amounts):
    """Find the amounts of example j to add, one-vs-rest; returns mistakes, changes and loss."""
    wrongs, changed, cost = 0, 0, 0.0
    for k in range(len(S)):
        positive = y[j] == k if len(S) > 1 else y[j] == 1
        sign = 1.0 if positive else -1.0
        m = sign * S[k, j]
        wrong = mistaken(m, rule.ties or not positive)
        amounts[k] = sign * step(rule, m, wrong, q[j], 0.0, eta, weight)
        wrongs += wrong
        changed += amounts[k] != 0.0
        cost += loss(rule, m) / len(S)
    return wrongs, changed, cost


@jit(inner=True)
def _against_rival(rule, S, q, y, j, eta, weight, amounts):
    """Find the amounts of the right class and its rival; returns mistake, change and loss."""
    right = y[j]
    m, rival, tie_is_wrong = multiclass_margin(S[:, j], right)
    for k in range(len(S)):
        amounts[k] = 0.0
    wrong = mistaken(m, rule.ties or tie_is_wrong)
    tau = step(rule, m, wrong, q[j], 0.0, eta, weight)
    amounts[right], amounts[rival] = tau, -tau
    return np.int64(wrong), np.int64(tau != 0.0), loss(rule, m)


@jit()
def vote_each(K, log, last, S, U, votes):
    """Let every hypothesis that the log passes through vote, each class against the rest.

        votes += survival_e sign(s)         (before each correction e)
        s += a_e K[e],   u += c_e a_e K[e]

    A column of K, S, U and votes is an example; a row of K is one that was learned from, a row of
    the others a class. At clock c the sum of all hypotheses' scores is c s - u. Continues from the
    counts `last`, one per class. Costs one pass over a row of K per entry.
    """
    for e in range(len(log.example)):
        k, a, c = log.label[e], log.amount[e], log.count[e]
        survival = c - last[k]
        last[k] = c
        s, u, v, x = S[k], U[k], votes[k], K[log.example[e]]
        b = a * c
        for i in range(len(s)):
            v[i] += survival if s[i] >= 0.0 else -survival
            s[i] += a * x[i]
            u[i] += b * x[i]


@jit()
def vote_together(K, log, last, S, U, votes):
    """As `vote_each`, for classes that were learned together: a vote goes to the first best.

    Stores the best class of each example, its score, and since when: a correction of another class
    changes that only by overtaking it. So most entries need not look at the other classes.
    """
    n = S.shape[1]
    best, top, since = np.empty(n, np.int64), np.empty(n), np.full(n, last[0])
    for i in range(n):
        best[i] = _first_best(S, i)
        top[i] = S[best[i], i]
    for e in range(len(log.example)):
        k, a, c = np.int64(log.label[e]), log.amount[e], log.count[e]
        last[0] = c
        s, u, x = S[k], U[k], K[log.example[e]]
        b = a * c
        for i in range(n):
            s[i] += a * x[i]
            u[i] += b * x[i]
        for i in range(n):
            before = best[i]
            if before == k:
                if s[i] < top[i]:
                    best[i] = _first_best(S, i)
                top[i] = S[best[i], i]
            elif s[i] > top[i] or (s[i] == top[i] and k < before):
                best[i], top[i] = k, s[i]
            if best[i] != before:
                votes[before, i] += c - since[i]
                since[i] = c
    for i in range(n):
        votes[best[i], i] += last[0] - since[i]


@jit(inline=True)
def _first_best(S, i):
    """The class with the largest score for example i; the first, if there are several."""
    best = 0
    for r in range(1, len(S)):
        if S[r, i] > S[best, i]:
            best = r
    return best
