"""Text: words, hashes, names of features."""
