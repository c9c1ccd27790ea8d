"""Kernel perceptrons: online in blocks, or within a budget."""
