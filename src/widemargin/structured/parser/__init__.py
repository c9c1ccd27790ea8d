"""Dependency parsers: transitions and trees, training and the trained model."""
