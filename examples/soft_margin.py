"""
What C does to a soft margin
============================

A small C allows many examples inside a wide margin; a large C fits them closely. Support vectors,
the examples that hold the line in place, are marked.
"""

import matplotlib.pyplot as plt
import numpy as np

from widemargin import LinearSVM, plot_boundary

rng = np.random.default_rng(0)
X = np.vstack([rng.normal([1.2, 1.0], 1.0, (40, 2)), rng.normal([-1.2, -1.0], 1.0, (40, 2))])
y = np.repeat(["x", "o"], 40)
figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
for ax, C in zip(axes, (0.01, 1.0, 100.0), strict=True):
    svm = LinearSVM(C=C, loss="hinge", random_state=0).fit(X, y)
    plot_boundary(svm, X, y, ax=ax, title=f"C = {C:g}")
    print(f"C = {C:<6g} relative gap {svm.certificate_.gap:.1e}, right {svm.score(X, y):.2f}")
