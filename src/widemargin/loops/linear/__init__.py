"""Linear learners: passes, orders, scores."""
