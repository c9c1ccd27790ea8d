"""
Perceptrons as neurons: any boolean function
============================================

One perceptron cannot compute the exclusive or. Two levels of them compute every boolean function;
the network is built from the truth table and checked on every input.
"""

import itertools

import numpy as np

from widemargin import boolean_network


def parity(a: bool, b: bool, c: bool) -> bool:
    """Whether an odd number of inputs is true."""
    return (a + b + c) % 2 == 1


network = boolean_network(parity, 3)
print(network)
inputs = np.array(list(itertools.product([0, 1], repeat=3)))
for row, answer in zip(inputs, network.predict(inputs), strict=True):
    print(row, int(answer))
