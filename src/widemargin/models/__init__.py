"""What was trained: linear models, kernel models, kernel SVMs, and their explanations."""
