"""Kernel values, and perceptrons in feature space."""
