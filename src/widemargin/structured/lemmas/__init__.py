"""Lemmas: the dictionary form of a word, by edit scripts that are read off a treebank."""
