"""
The mistake bound, on real numbers
==================================

If some line separates the examples with margin gamma, and none is longer than R, a perceptron
makes at most (R / gamma)^2 mistakes, whatever the order of the examples. The picture shows both
inequalities of the proof after each mistake.
"""

import numpy as np

from widemargin import Perceptron, certify, plot_bound

rng = np.random.default_rng(0)
X = np.vstack([rng.normal([2.6, 2.2], 0.6, (100, 2)), rng.normal([0.2, -0.1], 0.6, (100, 2))])
y = np.repeat(["x", "o"], 100)
p = Perceptron(keep="vote", epochs=100, random_state=0).fit(X, y)
found = certify(p, X, y)
print(found)
plot_bound(found)
