"""
How many columns do hashed words need?
======================================

Words are hashed to columns; with few columns, words collide and spoil each other's weights.
Columns that never occur cost nothing, so the default number is large.
"""

import matplotlib.pyplot as plt
import numpy as np

from widemargin import TextClassifier

rng = np.random.default_rng(0)
vocabulary = np.array([f"word{i}" for i in range(5000)])
zipf = 1.0 / np.arange(1, 5001)
leaning = rng.normal(size=5000)  # what a word says about the class


def documents(n: int) -> tuple[list[str], np.ndarray]:
    """Texts of thirty words, and the classes that their words lean towards."""
    drawn = rng.choice(5000, size=(n, 30), p=zipf / zipf.sum())
    return [" ".join(vocabulary[row]) for row in drawn], np.where(
        leaning[drawn].sum(axis=1) > 0, 1, 0
    )


texts, labels = documents(3000)
new, truth = documents(1000)
bits = [6, 8, 10, 12, 14, 18, 22]
scores = []
for size in bits:
    model = TextClassifier(ngrams=1, bits=size, random_state=0).fit(texts, labels)
    scores.append(model.score(new, truth))
    print(f"2^{size:<3} columns: accuracy {scores[-1]:.3f}")
figure, ax = plt.subplots(layout="constrained")
ax.plot(bits, scores, marker="o")
ax.set(xlabel="bits: 2^bits columns", ylabel="accuracy on new documents")
