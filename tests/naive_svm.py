"""Textbook versions of the kernel SVM in plain numpy, importing nothing from the package."""

import numpy as np


def naive_gram(X, Z, kernel, gamma=1.0, coef0=0.0, degree=3):
    """K(x, z) for all x in X and z in Z, one by one."""
    formulas = {
        "linear": lambda x, z: x @ z,
        "poly": lambda x, z: (gamma * (x @ z) + coef0) ** degree,
        "rbf": lambda x, z: np.exp(-gamma * np.sum((x - z) ** 2)),
        "laplace": lambda x, z: np.exp(-gamma * np.sqrt(np.sum((x - z) ** 2))),
        "laplacian": lambda x, z: np.exp(-gamma * np.sum(np.abs(x - z))),
    }
    return np.array([[formulas[kernel](x, z) for z in Z] for x in X])


def naive_svm(K, y, cost, tol=1e-10, most=200_000):
    """Dual values by SMO on the worst pair (Keerthi et al. 2001): alpha and the bias."""
    alpha = np.zeros(len(y))
    for _ in range(most):
        error = y - K @ (alpha * y)
        up = np.where(y > 0, alpha < cost, alpha > 0)
        down = np.where(y > 0, alpha > 0, alpha < cost)
        i = int(np.argmax(np.where(up, error, -np.inf)))
        j = int(np.argmin(np.where(down, error, np.inf)))
        if error[i] - error[j] <= tol:
            break
        room_i = cost[i] - alpha[i] if y[i] > 0 else alpha[i]
        room_j = alpha[j] if y[j] > 0 else cost[j] - alpha[j]
        curve = max(K[i, i] + K[j, j] - 2 * K[i, j], 1e-12)
        step = min((error[i] - error[j]) / curve, room_i, room_j)
        alpha[i] += y[i] * step
        alpha[j] -= y[j] * step
        alpha = np.where(np.abs(alpha - cost) < 1e-14 * cost, cost, np.maximum(alpha, 0.0))
    return alpha, 0.5 * (error[i] + error[j])


def objectives(K, y, cost, alpha, b):
    """The primal (of the machine with these dual values) and the dual."""
    scores = K @ (alpha * y)
    length = (alpha * y) @ scores
    primal = length / 2 + cost @ np.maximum(0.0, 1.0 - y * (scores + b))
    return primal, alpha.sum() - length / 2
