"""
The worked example of the lectures
==================================

Six points, three mistakes, and a line that separates them all. Each mistake turns the line
towards the example that was wrong.
"""

import numpy as np

from widemargin import Perceptron, certify, plot_path

X = np.array([[-1, 2], [1, 0], [1, 1], [-1, 0], [-1, -2], [1, -1]])
y = np.array([-1, 1, 1, -1, -1, 1])

p = Perceptron(keep="vote", shuffle=False, fit_intercept=False).fit(X, y)
for step in p.log_:
    print(f"row {step.row} was a mistake: w {'+' if step.amount > 0 else '-'}= {X[step.row]}")
print("the line:", p.using("last").equation())

# %%
# Before each mistake (dashed) and after it:

plot_path(p, X, y, panels=3)

# %%
# The certificate compares the three mistakes with the bound, which holds for any order of these
# points.

print(certify(p, X, y))
