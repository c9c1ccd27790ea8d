"""Sentences with tags: a few written by hand, and many random ones."""

import numpy as np

SENTENCES = [
    ["the", "dog", "barks"],
    ["dogs", "bark"],
    ["the", "bark", "is", "old"],
    ["is"],
    ["old", "dogs", "sleep"],
]
TAGS = [["D", "N", "V"], ["N", "V"], ["D", "N", "V", "A"], ["V"], ["A", "N", "V"]]


def made_sentences(seed, count=40, words=30, tags="ABC", longest=9):
    """Sentences whose tags mostly depend on the words and on the previous tag."""
    rng = np.random.default_rng(seed)
    sentences, answers = [], []
    for _ in range(count):
        ids = rng.integers(words, size=rng.integers(1, longest))
        codes = (ids + np.r_[0, ids[:-1]] // 7 + (rng.random(len(ids)) < 0.1)) % len(tags)
        sentences.append([f"w{k}" for k in ids.tolist()])
        answers.append([tags[code] for code in codes.tolist()])
    return sentences, answers
