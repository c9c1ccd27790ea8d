"""Textbook versions of the kernel machines in slow, obvious, plain Python."""

import math

import numpy as np


def kernel_perceptron(K, y, order, k, joint, when, how_far):
    """The online perceptron in dual form: every correction as (example, class, amount, clock).

    when(m) returns whether margin m is corrected, how_far(m, q) by how much.
    """
    log = []

    def score(c, j):
        return sum(amount * K[e][j] for e, label, amount, _ in log if label == c)

    for clock, j in enumerate(order, start=1):
        scores = [score(c, j) for c in range(k)]
        q = K[j][j]
        if joint and k > 1:
            rival = max((c for c in range(k) if c != y[j]), key=lambda c: (scores[c], -c))
            m = (scores[y[j]] - scores[rival]) / 2
            if when(m):
                tau = how_far(m, q)
                changes = sorted([(y[j], tau), (rival, -tau)])
                log += [(j, c, tau, clock) for c, tau in changes]
        else:
            for c in range(k):
                sign = 1.0 if y[j] == (c if k > 1 else 1) else -1.0
                m = sign * scores[c]
                if when(m):
                    log.append((j, c, sign * how_far(m, q), clock))
    return log


def mean_vote(K, log, count):
    """The mean vote and score of all hypotheses of two classes, on the columns of K."""
    votes, total = [], []
    for i in range(K.shape[1]):
        vote = mean = 0.0
        for clock in range(int(count)):  # the hypothesis that example number `clock` meets
            s = sum(amount * K[e, i] for e, _, amount, made in log if made <= clock)
            vote += 1.0 if s >= 0 else -1.0
            mean += s
        votes.append(vote / count)
        total.append(mean / count)
    return np.array(votes), np.array(total)


def forgetron(K, y, order, B):
    """The self-tuned Forgetron for signs y and K(x, x) <= 1: what is stored, and mistakes."""
    stored, Q, M = [], 0.0, 0  # pairs (example, coefficient), the oldest first

    def f(j):
        return sum(a * K[e][j] for e, a in stored)

    for j in order:
        if y[j] * f(j) > 0:
            continue
        M += 1
        stored.append((j, y[j]))
        if len(stored) <= B:
            continue
        oldest, a = stored[0]
        sigma, mu = abs(a), math.copysign(1.0, a) * f(oldest)

        def psi(phi, sigma=sigma, mu=mu):
            return (phi * sigma) ** 2 + 2 * phi * sigma * (1 - phi * mu)

        phi = 1.0
        if psi(1.0) + Q > 15 / 32 * M:
            low, high = 0.0, 1.0  # psi increases from 0 to where it is too large
            for _ in range(200):
                middle = (low + high) / 2
                low, high = (middle, high) if psi(middle) + Q <= 15 / 32 * M else (low, middle)
            phi = low
        Q += psi(phi)
        stored = [(e, phi * a) for e, a in stored[1:]]
    return stored, M


def projectron(K, y, order, B, eta):
    """Projectron++ for signs y: the stored examples, their coefficients, and the gain per step.

    A gain is (tau, loss, distance to the span, |P x|^2, example); K(x, x) <= 1.
    """
    stored, coef, gains = [], np.zeros(0), []
    for j in order:
        k = np.array([K[e][j] for e in stored])
        m = y[j] * float(coef @ k)
        if m >= 1:
            continue
        d = np.linalg.lstsq(K[np.ix_(stored, stored)], k, rcond=None)[0] if stored else k
        inside = float(k @ d)
        delta2 = max(0.0, K[j][j] - inside)
        if m <= 0 and len(stored) < B and delta2 > 1e-6 * K[j][j]:
            stored.append(j)
            coef = np.append(coef, y[j])
            gains.append((1.0, 1 - m, 0.0, K[j][j], j))
            continue
        tau, far = 1.0, math.sqrt(delta2) / eta
        if m > 0:
            if not 1 - m > far:
                continue
            tau = min(1.0, (1 - m) / inside, 2 * (1 - m - far) / inside)
        coef = coef + tau * y[j] * d
        gains.append((tau, 1 - m, math.sqrt(delta2), inside, j))
    return stored, coef, gains
