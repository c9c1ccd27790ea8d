"""
Which learner suits these data?
===============================

Several learners on the same folds: which differences are real, and what each one costs.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from widemargin import compare

X, y = load_breast_cancer(return_X_y=True)
found = compare(scale(X), y, folds=5, repeats=2)
print(found)
