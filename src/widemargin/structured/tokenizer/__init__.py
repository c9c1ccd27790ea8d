"""Tokenizers: raw text is cut into sentences, tokens and words, as a treebank does it."""
