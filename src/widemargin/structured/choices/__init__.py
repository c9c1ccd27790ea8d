"""Choices among few candidates out of many labels: what lemmas and morphology have in common."""
