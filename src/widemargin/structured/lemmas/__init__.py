"""Lemmas: the dictionary forms of words, found by edit scripts that are read off a treebank."""
