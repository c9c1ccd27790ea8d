"""
Every learner on the same points
================================

Two half moons, which no line separates: linear learners draw the best line they can, kernels bend
it.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from widemargin import (
    KernelPerceptron,
    KernelSVM,
    LinearSVM,
    OnlineLogistic,
    PassiveAggressive,
    Perceptron,
    plot_kernel,
)

X, y = make_moons(200, noise=0.2, random_state=0)
learners = {
    "Perceptron, averaged": Perceptron(random_state=0),
    "Perceptron, voted": Perceptron(keep="vote", random_state=0),
    "PassiveAggressive, C = 0.1": PassiveAggressive(C=0.1, random_state=0),
    "OnlineLogistic": OnlineLogistic(eta=0.1, random_state=0),
    "LinearSVM": LinearSVM(random_state=0),
    "KernelPerceptron, cubic": KernelPerceptron(kernel="poly", degree=3, random_state=0),
    "KernelPerceptron, Gaussian": KernelPerceptron(gamma=2.0, random_state=0),
    "KernelSVM, Gaussian": KernelSVM(gamma=2.0),
}
figure, axes = plt.subplots(2, 4, figsize=(14, 7), layout="constrained")
for ax, (name, learner) in zip(axes.flat, learners.items(), strict=True):
    learner.fit(X, y)
    plot_kernel(learner, X, y, ax=ax, title=f"{name}: {learner.score(X, y):.2f}")
    print(f"{name:<28}{learner.score(X, y):.3f}")
