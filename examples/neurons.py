"""
Perceptrons as neurons: any boolean function
============================================

One perceptron cannot compute the exclusive or. Two layers of them can compute every boolean
function; the network is built from the truth table and checked on every input.
"""

import itertools

import matplotlib.pyplot as plt
import numpy as np

from widemargin import boolean_network


def parity(a: bool, b: bool, c: bool) -> bool:
    """Return whether an odd number of inputs is true."""
    return (a + b + c) % 2 == 1


network = boolean_network(parity, 3)
print(network)
inputs = np.array(list(itertools.product([0, 1], repeat=3)))
for row, answer in zip(inputs, network.predict(inputs), strict=True):
    print(row, int(answer))

# %%
# In the drawing of the network, a purple line is a weight of +1, an orange one -1. Each hidden unit
# recognises one of the four inputs for which the answer is yes.

figure, ax = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
white = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
heights = np.linspace(-1.5, 1.5, network.units)
for unit, height in enumerate(heights):
    for j, weight in enumerate(network.hidden[unit]):
        ax.plot([0, 1], [1 - j, height], color="#6a3d9a" if weight > 0 else "#e07b00", zorder=1)
    ax.plot([1, 2], [height, 0], color="#6a3d9a", zorder=1)
    ax.text(1, height + 0.22, network.describe(unit), ha="center", fontsize=8, bbox=white)
for j in range(3):
    ax.text(-0.12, 1 - j, f"x{j}", ha="right", va="center")
ax.scatter([0, 0, 0, *[1] * network.units, 2], [1, 0, -1, *heights, 0], s=220, color="black")
ax.text(2.12, 0, "odd", va="center")
ax.set(xlim=(-0.4, 2.5), ylim=(-2.0, 2.1))
ax.axis("off")
