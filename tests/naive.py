"""Textbook versions of the learners in slow, obvious, plain Python, sharing no code with ours.

x is a list of numbers; a bias is one more feature, the constant 1 (`extend`). Binary labels y are
-1 and +1, class labels 0 ... k - 1. A run stores every hypothesis w_0 ... w_N: w_0 is the start,
w_t the weights after t examples. All answers are computed from those.
"""

import math
from typing import NamedTuple


class Run(NamedTuple):
    """The history of a learner."""

    hypotheses: list  # w_0 ... w_N; a class at a time, if there are several
    mistakes: list  # the index of every misclassified example, in order
    updates: int  # number of examples that changed the weights
    loss: float  # summed over examples, each before it was learned from


class How(NamedTuple):
    """The settings of a learner."""

    rule: str = "perceptron"
    eta: float = 1.0
    power: float = 0.0
    C: float = 1.0
    target: float = 1.0
    l2: float = 0.0
    ties: str = "mistake"
    batch: int = 1
    epochs: int = 1


# Vectors


def extend(X, bias=True):
    return [[*x, float(bias)] for x in X]


def dot(w, x):
    return math.fsum(wj * xj for wj, xj in zip(w, x, strict=True))


def plus(w, a, x):
    return [wj + a * xj for wj, xj in zip(w, x, strict=True)]


def times(a, w):
    return [a * wj for wj in w]


def sigmoid(z):
    return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))


# Losses of an example with margin m = y w.x


def zero_one_loss(m):
    return 1.0 if m <= 0 else 0.0


def perceptron_loss(m):
    return max(0.0, -m)


def hinge_loss(m, h=1.0):
    return max(0.0, h - m)


def logistic_loss(m):
    return math.log(1 + math.exp(-m)) if m > 0 else math.log(1 + math.exp(m)) - m


def loss_of(rule, m, target=1.0):
    if rule == "perceptron":
        return perceptron_loss(m)
    if rule == "logistic":
        return logistic_loss(m)
    return hinge_loss(m, target if rule == "margin" else 1.0)


# How far to step: w += tau y x


def step(how, m, wrong, x, eta, price):
    q = dot(x, x)
    if how.rule == "perceptron":
        return eta * price if wrong else 0.0
    if how.rule == "margin":
        return eta * price if m <= how.target else 0.0
    if how.rule == "logistic":
        return eta * price * sigmoid(-m)
    if m >= 1:
        return 0.0
    if how.rule == "pa":
        return (1 - m) / q if q > 0 else 0.0
    if how.rule == "pa1":
        return min(how.C * price, (1 - m) / q) if q > 0 else 0.0
    if how.rule == "pa2":
        return (1 - m) / (q + 1 / (2 * how.C * price))
    raise ValueError(how.rule)


def predict(w, x):
    return 1 if dot(w, x) >= 0 else -1


def predict_class(W, x):
    scores = [dot(w, x) for w in W]
    return scores.index(max(scores))


# Two classes


def online(X, y, how=How(), start=None, price=None):
    """For each example: if y w.x <= 0, then w += eta y x (or as the rule specifies)."""
    w = start or [0.0] * len(X[0])
    hypotheses, mistakes, updates, loss, t = [w], [], 0, 0.0, 0
    for _ in range(how.epochs):
        for i in range(len(X)):
            t += 1
            eta = how.eta / t**how.power
            m = y[i] * dot(w, X[i])
            wrong = m < 0 or (m == 0 and (how.ties == "mistake" or predict(w, X[i]) != y[i]))
            tau = step(how, m, wrong, X[i], eta, price[i] if price else 1.0)
            w = plus(times(1 - 2 * eta * how.l2, w), tau * y[i], X[i])
            mistakes += [i] if wrong else []
            updates += tau != 0
            loss += loss_of(how.rule, m, how.target)
            hypotheses.append(w)
    return Run(hypotheses, mistakes, updates, loss)


def batches(n, how):
    """The examples of every batch of every epoch, and the step size eta there."""
    t = 0
    for _ in range(how.epochs):
        for first in range(0, n, how.batch):
            t += 1
            yield range(first, min(first + how.batch, n)), how.eta / t**how.power


def minibatch(X, y, how, start=None, price=None):
    """For each batch: w += the sum of its examples' steps (their mean, for pa, pa1 and pa2)."""
    w = start or [0.0] * len(X[0])
    hypotheses, mistakes, updates, loss = [w], [], 0, 0.0
    for examples, eta in batches(len(X), how):
        change = [0.0] * len(w)
        for i in examples:
            m = y[i] * dot(w, X[i])
            wrong = m < 0 or (m == 0 and (how.ties == "mistake" or predict(w, X[i]) != y[i]))
            tau = step(how, m, wrong, X[i], eta, price[i] if price else 1.0)
            change = plus(change, tau * y[i], X[i])
            mistakes += [i] if wrong else []
            updates += tau != 0
            loss += loss_of(how.rule, m, how.target)
        share = 1 / len(examples) if how.rule in ("pa", "pa1", "pa2") else 1.0
        hypotheses += [w] * (len(examples) - 1)
        w = plus(times(1 - 2 * eta * how.l2 * len(examples), w), share, change)
        hypotheses.append(w)
    return Run(hypotheses, mistakes, updates, loss)


# Several classes


def joint(X, y, k, how=How(), start=None, price=None):
    """One vector per class: the right one gains x, the best other one loses it.

    The margin is half the lead over the best other class. Logistic: every class gains
    (1 if it is the right one, minus its probability) x. Batches as above.
    """
    W = start or [[0.0] * len(X[0]) for _ in range(k)]
    hypotheses, mistakes, updates, loss = [W], [], 0, 0.0
    for examples, eta in batches(len(X), how):
        change = [[0.0] * len(X[0]) for _ in range(k)]
        for i in examples:
            scores = [dot(w, X[i]) for w in W]
            others = [c for c in range(k) if c != y[i]]
            rival = max(others, key=lambda c: scores[c])
            m = (scores[y[i]] - scores[rival]) / 2
            tie_is_wrong = how.ties == "mistake" or predict_class(W, X[i]) != y[i]
            wrong = m < 0 or (m == 0 and tie_is_wrong)
            p = price[i] if price else 1.0
            if how.rule == "logistic":
                P = softmax(scores)
                taus = [eta * p * ((c == y[i]) - P[c]) for c in range(k)]
                loss -= math.log(P[y[i]])
            else:
                tau = step(how, m, wrong, X[i], eta, p)
                taus = [tau * ((c == y[i]) - (c == rival)) for c in range(k)]
                loss += loss_of(how.rule, m, how.target)
            change = [plus(change[c], taus[c], X[i]) for c in range(k)]
            mistakes += [i] if wrong else []
            updates += any(taus)
        share = 1 / len(examples) if how.rule in ("pa", "pa1", "pa2") else 1.0
        shrink = 1 - 2 * eta * how.l2 * len(examples)
        hypotheses += [W] * (len(examples) - 1)
        W = [plus(times(shrink, W[c]), share, change[c]) for c in range(k)]
        hypotheses.append(W)
    return Run(hypotheses, mistakes, updates, loss)


def softmax(scores):
    top = max(scores)
    total = math.fsum(math.exp(s - top) for s in scores)
    return [math.exp(s - top) / total for s in scores]


def one_vs_rest(X, y, k, how=How(), start=None, price=None):
    """A binary problem for every class against all others. Returns a run for each."""
    learn = online if how.batch == 1 else minibatch
    return [
        learn(X, [1 if label == c else -1 for label in y], how, start and start[c], price)
        for c in range(k)
    ]


# What is kept: the last hypothesis, the mean of all, or a vote of all


def average(hypotheses):
    """The mean of w_0 ... w_N, including the start."""
    return [math.fsum(column) / len(hypotheses) for column in zip(*hypotheses, strict=True)]


def average_classes(hypotheses):
    return [average([W[c] for W in hypotheses]) for c in range(len(hypotheses[0]))]


def vote(hypotheses, x):
    """Every hypothesis votes with its sign, once for each example after which it was current."""
    return sum(predict(w, x) for w in hypotheses) / len(hypotheses)


def vote_classes(hypotheses, x):
    """The share of the votes for each class."""
    ballots = [predict_class(W, x) for W in hypotheses]
    return [ballots.count(c) / len(ballots) for c in range(len(hypotheses[0]))]


def survivals(X, y, first=1):
    """One epoch of the perceptron as pairs (hypothesis, survival count).

    With first = 1 a new hypothesis counts as having survived the example that made it (Freund and
    Schapire); with first = 0 only right answers count, as in one lecture.
    """
    w, c = [0.0] * len(X[0]), first
    pairs = []
    for x, label in zip(X, y, strict=True):
        if label * dot(w, x) <= 0:
            pairs.append((w, c))
            w, c = plus(w, label, x), first
        else:
            c += 1
    return [*pairs, (w, c)]


def vote_by_survival(pairs, x):
    """The sum of c_k sign(w_k . x)."""
    return sum(c * predict(w, x) for w, c in pairs)
