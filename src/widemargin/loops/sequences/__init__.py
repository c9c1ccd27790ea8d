"""Taggers: tokens, templates, Viterbi, the pass over sentences."""
