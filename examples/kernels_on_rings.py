"""
Kernels on rings
================

No line separates a ring from its middle. A kernel works in a feature space where a hyperplane
does, without ever computing the features: (1 + x.z)^2 is enough.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_circles

from widemargin import KernelPerceptron, certify, plot_kernel

X, y = make_circles(120, factor=0.5, noise=0.08, random_state=0)
print(
    certify(X, y).verdict,
    "by a line;",
    certify(X, y, kernel="poly", degree=2).verdict,
    "by degree 2",
)
chosen: dict[str, dict] = {
    "linear": {"kernel": "linear"},
    "(1 + x.z)^2": {"kernel": "poly", "degree": 2},
    "Gaussian": {"kernel": "rbf", "gamma": 2.0},
}
figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
for ax, (name, kernel) in zip(axes, chosen.items(), strict=True):
    p = KernelPerceptron(**kernel, keep="last", epochs=50, random_state=0).fit(X, y)
    plot_kernel(
        p, X, y, ax=ax, title=f"{name}: {len(p.support_)} stored, {p.score(X, y):.2f} right"
    )
