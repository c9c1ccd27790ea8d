"""Tokenizers: split raw text into sentences, tokens and words, as in a treebank."""
