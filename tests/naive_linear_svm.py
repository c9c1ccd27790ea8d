"""Textbook versions of the linear SVM in plain numpy, importing nothing from the package."""

import numpy as np


def naive_pass(X, y, price, order, C, squared, b, alpha):
    """One pass of dual coordinate descent (Hsieh et al. 2008, algorithm 1), and the gap it sees."""
    w, gap = (alpha * y) @ X, 0.0
    for i in order:
        cap, soft = (np.inf, 0.5 / (C * price[i])) if squared else (C * price[i], 0.0)
        m = y[i] * (w @ X[i] + b)
        s = max(0.0, 1.0 - m)
        loss = C * price[i] * (s**2 if squared else s)
        gap += loss + soft * alpha[i] ** 2 / 2 - alpha[i] * (1.0 - m)
        q = X[i] @ X[i] + soft
        if q > 0:
            a = min(max(alpha[i] + (1.0 - m - soft * alpha[i]) / q, 0.0), cap)
        else:
            a = cap if m < 1.0 else 0.0
        w = w + (a - alpha[i]) * y[i] * X[i]
        alpha[i] = a
    return w, gap


def objectives(X, y, costs, squared, alpha, b=0.0):
    """The primal (at the weights of the dual) and the dual."""
    w = (alpha * y) @ X
    short = np.maximum(0.0, 1.0 - y * (X @ w + b))
    primal = w @ w / 2 + costs @ (short**2 if squared else short)
    dual = alpha.sum() - w @ w / 2 - (np.sum(alpha**2 / costs) / 4 if squared else 0.0)
    return primal, dual
