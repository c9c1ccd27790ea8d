"""
Separable, or provably not
==========================

``certify`` answers with a proof: either a separating line with its margin, or a point that lies in
the hulls of both classes, so that no line can have the classes on its two sides (Gordan's theorem).
"""

import matplotlib.pyplot as plt
import numpy as np

from widemargin import certify

rng = np.random.default_rng(2)
apart = np.vstack([rng.normal([2, 2], 0.6, (20, 2)), rng.normal([-0.5, -0.5], 0.6, (20, 2))])
mixed = np.vstack([rng.normal([1, 1], 0.9, (20, 2)), rng.normal([0, 0], 0.9, (20, 2))])
y = np.repeat([1, -1], 20)

figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
for ax, X in zip(axes, (apart, mixed), strict=True):
    found = certify(X, y)
    print(found, end="\n\n")
    for label, marker in ((1, "x"), (-1, "o")):
        ax.scatter(*X[y == label].T, marker=marker)
    if found.verdict == "separable":
        w, b = found.w, found.b
        across = np.array(ax.get_xlim())
        ax.plot(across, -(w[0] * across + b) / w[1], color="black")
        ax.set_title(f"separable: margin {found.margin.low:.3f}")
    else:
        rows, shares = np.array(found.examples), np.array(found.shares, float)
        for label in (1, -1):
            mine = y[rows] == label
            ax.fill(*X[rows[mine]].T, alpha=0.25, linewidth=2.0, edgecolor="grey")
            meeting = 2.0 * shares[mine] @ X[rows[mine]]  # the shares of a class add up to 1/2
        ax.scatter(*meeting, marker="*", s=180, color="black", zorder=3)
        ax.set_title("not separable: the hulls meet at the star")
