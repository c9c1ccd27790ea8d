"""Linear SVMs: dual coordinate descent, and what helps it where it creeps."""
