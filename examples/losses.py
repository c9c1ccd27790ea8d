"""
Four losses
===========

The loss of one example, by its margin: the 0/1 loss, which one would like to minimise, and three
losses that are easier to minimise.
"""

import numpy as np

from widemargin import losses, plot_losses

margins = np.array([-1.0, 0.0, 0.5, 2.0])
print("margin     ", margins)
print("perceptron ", losses.perceptron(margins))
print("hinge      ", losses.hinge(margins))
plot_losses()
