"""Linear SVMs: dual coordinate descent, and faster methods where it is slow."""
