"""
Four losses
===========

What one example costs, by its margin: the 0/1 loss that one would like to minimise, and the three
that can be.
"""

import numpy as np

from widemargin import losses, plot_losses

margins = np.array([-1.0, 0.0, 0.5, 2.0])
print("margin     ", margins)
print("perceptron ", losses.perceptron(margins))
print("hinge      ", losses.hinge(margins))
plot_losses()
