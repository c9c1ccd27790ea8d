"""Which learner suits these data? Say which differences are real, and what each one costs.

Writes which_learner.html.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from widemargin import compare

X, y = load_breast_cancer(return_X_y=True)
found = compare(scale(X), y, folds=5, repeats=2)
print(found)
found.report("which_learner.html", data="breast cancer, Wisconsin")
