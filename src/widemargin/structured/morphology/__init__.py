"""Morphology: the features of words and their finer tags, put together from attributes."""
