"""
Every learner on the same points
================================

No line separates two half moons: linear learners draw the best line they can, and kernels draw a
curve.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

import widemargin as wm

X, y = make_moons(200, noise=0.2, random_state=0)
learners = {
    "Perceptron, averaged": wm.Perceptron(random_state=0),
    "Perceptron, voted": wm.Perceptron(keep="vote", random_state=0),
    "PassiveAggressive, C = 0.1": wm.PassiveAggressive(C=0.1, random_state=0),
    "OnlineLogistic": wm.OnlineLogistic(eta=0.1, random_state=0),
    "LinearSVM": wm.LinearSVM(random_state=0),
    "KernelPerceptron, cubic": wm.KernelPerceptron(kernel="poly", degree=3, random_state=0),
    "KernelPerceptron, Gaussian": wm.KernelPerceptron(gamma=2.0, random_state=0),
    "KernelSVM, Gaussian": wm.KernelSVM(gamma=2.0),
}
figure, axes = plt.subplots(2, 4, figsize=(14, 7), layout="constrained")
for ax, (name, learner) in zip(axes.flat, learners.items(), strict=True):
    learner.fit(X, y)
    wm.plot_kernel(learner, X, y, ax=ax, title=f"{name}: {learner.score(X, y):.2f}")
    print(f"{name:<28}{learner.score(X, y):.3f}")
