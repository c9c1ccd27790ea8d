"""Annotators: from raw text to sentences, tokens, tags, morphology, lemmas and trees."""
