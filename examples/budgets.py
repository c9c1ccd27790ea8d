"""
A kernel perceptron within a budget
===================================

A kernel perceptron stores every example that it gets wrong, so on noisy classes it keeps growing. A
budget limits how many are stored, and there are three ways to make room for new ones.
"""

import matplotlib.pyplot as plt
import numpy as np

from widemargin import KernelPerceptron

rng = np.random.default_rng(0)
X = rng.standard_normal((3000, 2))
y = ((X**2).sum(axis=1) + 0.5 * rng.standard_normal(3000) > 1.4).astype(int)
X, X_test, y, y_test = X[:2000], X[2000:], y[:2000], y[2000:]
full = KernelPerceptron(gamma=1.0, keep="last", epochs=1, random_state=0).fit(X, y)
print(f"without a budget: {len(full.support_)} stored, accuracy {full.score(X_test, y_test):.3f}")

budgets = [5, 10, 20, 50, 100]
figure, ax = plt.subplots(layout="constrained")
for forget, marker in (("projectron", "o"), ("forgetron", "x"), ("random", "^")):
    scores = [
        KernelPerceptron(
            gamma=1.0, budget=budget, forget=forget, keep="last", epochs=1, random_state=0
        )
        .fit(X, y)
        .score(X_test, y_test)
        for budget in budgets
    ]
    ax.plot(budgets, scores, marker=marker, label=forget)
    print(f"{forget:<12}" + " ".join(f"{score:.3f}" for score in scores))
ax.axhline(full.score(X_test, y_test), color="grey", linestyle="dashed", label="no budget")
ax.set(xlabel="budget of stored examples", ylabel="accuracy", xscale="log")
ax.legend()
