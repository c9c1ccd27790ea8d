"""Morphology: the features of words and their finer tags, composed of attributes."""
