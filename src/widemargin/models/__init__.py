"""Trained models: linear models, kernel models, kernel SVMs, and their explanations."""
