"""
The order of the examples matters
=================================

If all examples of one class come first, then all of the other, the last weights suffer, but the
average does not. Shuffling before every epoch is the better remedy.
"""

import numpy as np

from widemargin import Perceptron, plot_orders

rng = np.random.default_rng(0)
X = np.vstack([rng.normal([1.5, 1.0], 1.0, (100, 2)), rng.normal([-1.0, -0.8], 1.0, (100, 2))])
y = np.repeat(["x", "o"], 100)

ways = {"as given": False, "permuted once": "once", "every epoch anew": True}
runs = {
    name: Perceptron(keep="vote", epochs=2, shuffle=shuffle, random_state=0).fit(X, y)
    for name, shuffle in ways.items()
}
shown = plot_orders(runs, X, y)
for name, scores in shown.accuracy.items():
    print(f"{name:<18}" + "  ".join(f"{how} {score:.3f}" for how, score in scores.items()))
