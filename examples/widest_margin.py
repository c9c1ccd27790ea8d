"""
Many lines separate, one is best
================================

From different starting weights a perceptron ends with different lines, all of them right. The
hard-margin SVM finds the one farthest from the examples, and proves that none is farther.
"""

import numpy as np

from widemargin import LinearSVM, Perceptron, certify, plot_boundary

X = np.array([[1, 1], [1, 3], [2, 1], [2, 2], [-1, -1], [-1, -3], [-2, -1], [-2, -2]])
y = np.repeat(["class 1", "class 2"], 4)

for seed in range(3):
    p = Perceptron(keep="last", start="random", eta=0.3, epochs=100, random_state=seed).fit(X, y)
    print(f"perceptron, start {seed}: margin {certify(p, X, y).margin:.4f}, {p.equation()}")

svm = LinearSVM(C=np.inf, bias="free", tol=1e-9).fit(X, y)
low, high = svm.certificate_.margin
print(f"hard margin: {low:.4f}, and no line has more than {high:.4f}; {svm.equation()}")
plot_boundary(svm, X, y)
