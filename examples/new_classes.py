"""
A stream in which new classes appear
====================================

The digits come one at a time, the high ones only later. Each is predicted before it is learned
from: the accuracy drops when a new class appears, and recovers.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from widemargin import Perceptron

X, y = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(X))
order = np.concatenate([order[y[order] < 5], order[y[order] >= 0]])  # low digits, then all
names = [f"pixel {j}" for j in range(64)]
p, right, classes = Perceptron(), [], []
for i in order:
    x = dict(zip(names, X[i].tolist(), strict=True))
    right.append(bool(classes) and p.predict_one(x) == y[i])
    p = p.learn_one(x, int(y[i]))
    classes = list(p.classes_)
share = np.convolve(right, np.ones(100) / 100, "valid")
began = int(np.argmax(y[order] >= 5))
print(f"the first high digit is number {began}; {len(classes)} classes in the end")
print(f"accuracy just before {share[began - 100]:.2f}, at the end {share[-1]:.2f}")
figure, ax = plt.subplots(layout="constrained")
ax.plot(np.arange(len(share)) + 100, share)
ax.axvline(began, color="grey", linestyle="dashed", label="digits from 5 to 9 begin")
ax.set(xlabel="examples so far", ylabel="accuracy on the last 100")
ax.legend()
