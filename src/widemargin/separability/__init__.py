"""Deciding whether a hyperplane separates two classes, and proving it."""
