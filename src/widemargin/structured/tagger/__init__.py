"""Taggers: features from templates, Viterbi or beam search, training and the trained model."""
