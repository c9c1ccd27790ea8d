"""The worked example of the lectures: three mistakes, and a line that separates six points.

Writes worked_example.png and worked_example.gif.
"""

import numpy as np

from widemargin import Perceptron, animate, certify, plot_path

X = np.array([[-1, 2], [1, 0], [1, 1], [-1, 0], [-1, -2], [1, -1]])
y = np.array([-1, 1, 1, -1, -1, 1])

p = Perceptron(keep="vote", shuffle=False, fit_intercept=False).fit(X, y)
for step in p.log_:
    print(f"row {step.row} was mistaken: w {'+' if step.amount > 0 else '-'}= {X[step.row]}")
print("the line:", p.using("last").equation())

found = certify(p, X, y)
print(found)
plot_path(p, X, y, panels=3).figure_.savefig("worked_example.png", dpi=150)
animate(p, X, y, "worked_example.gif", certificate=found)
