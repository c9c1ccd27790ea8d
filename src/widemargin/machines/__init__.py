"""Learners that see examples only through a kernel: perceptrons, budgets, kernel SVMs."""
