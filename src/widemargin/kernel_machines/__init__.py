"""Learners that see examples through a kernel: perceptrons and SVMs."""
