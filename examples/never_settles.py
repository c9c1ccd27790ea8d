"""
What a perceptron does when it cannot succeed
=============================================

On classes that no line separates, the perceptron never stops making mistakes. With whole numbers
its weights repeat; the library detects this, and it proves that there is no separating line.
"""

import warnings

import numpy as np

from widemargin import Perceptron, certify, plot_history

X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
y = np.array([0, 1, 1, 0])  # exclusive or
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    p = Perceptron(keep="last", shuffle=False, epochs=30).fit(X, y)
print(p.history_["mistakes"])
print(p.history_.cycle)
print(certify(X, y))
plot_history(p)
