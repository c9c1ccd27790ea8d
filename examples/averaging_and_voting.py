"""
Last, averaged, voted
=====================

One training run on the digits can predict in three ways. The last weights fluctuate from epoch to
epoch; the average and the vote are better from the start and hardly change.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from widemargin import Perceptron

X, X_test, y, y_test = train_test_split(*load_digits(return_X_y=True), random_state=0)
epochs = range(1, 11)
found: dict[str, list[float]] = {"last": [], "average": [], "vote": []}
for n in epochs:
    p = Perceptron(keep="vote", epochs=n, random_state=0).fit(X, y)
    for keep, scores in found.items():
        scores.append(p.using(keep).score(X_test, y_test))

figure, ax = plt.subplots(layout="constrained")
for (keep, scores), marker in zip(found.items(), "xo^", strict=True):
    ax.plot(epochs, scores, marker=marker, label=keep)
    print(f"{keep:<8}" + " ".join(f"{score:.3f}" for score in scores))
ax.set(xlabel="epochs", ylabel="accuracy on held-out digits")
ax.legend()
