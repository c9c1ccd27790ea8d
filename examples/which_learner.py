"""
Which learner suits these data?
===============================

Compare several learners on the same folds: which differences are real, and what each one costs.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from widemargin import compare

X, y = load_breast_cancer(return_X_y=True)
found = compare(scale(X), y, folds=5, repeats=2)
print(found)

# %%
# Each dot is a fold, and each bar the mean. Where the dots of two learners overlap, the difference
# may well be chance.

figure, ax = plt.subplots(figsize=(7.0, 3.6), layout="constrained")
for place, entry in enumerate(reversed(found.entries)):
    ax.scatter(entry.scores, [place] * len(entry.scores), alpha=0.5)
    ax.plot([entry.accuracy] * 2, [place - 0.3, place + 0.3], color="black")
ax.set_yticks(range(len(found.entries)), [entry.name for entry in reversed(found.entries)])
ax.set_xlabel("accuracy on test folds")
