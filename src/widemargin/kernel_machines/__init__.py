"""Kernel perceptrons and kernel SVMs."""
