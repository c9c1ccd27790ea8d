"""Choices among a few candidates out of many labels, the common base of lemmas and morphology."""
