"""
A task of your own
==================

Split a text that has lost its spaces into words. A task defines the features of an answer and how
to find the best one; the structured perceptron learns the weights from the answers it gets wrong.
"""

import matplotlib.pyplot as plt

from widemargin.structured import StructuredPerceptron, Task


class Segmentation(Task):
    """Words from text without spaces: x is a string, y a tuple of words."""

    longest = 8

    def features(self, x, y):
        """The words themselves, and how long they are."""
        return [name for word in y for name in (word, f"length {len(word)}")]

    def argmax(self, x, score):
        """Find the best words, letter by letter: a dynamic program."""
        best = [(0.0, ())]  # for the first 0, 1, ... letters: the score and the words
        for end in range(1, len(x) + 1):
            ways = []
            for start in range(max(0, end - self.longest), end):
                before, words = best[start]
                word = x[start:end]
                ways.append((before + score(self.features(x, [word])), (*words, word)))
            best.append(max(ways, key=lambda way: way[0]))
        return best[-1][1]


sentences = [
    "the dog sees a cat",
    "a cat sees the house",
    "the house is old",
    "a dog is a friend",
    "the old friend has a dog",
    "a house has a cat",
]
Y = [tuple(sentence.split()) for sentence in sentences]
X = ["".join(words) for words in Y]
model = StructuredPerceptron(Segmentation(), epochs=30, log=True, random_state=0).fit(X, Y)
print(model.history_)
print(" ".join(model.predict(["theoldcatseesadog"])[0]))
print(model.certificate())

# %%
# The strongest weights: words that occur, and pieces that were mistaken for words at first.

names, weights = zip(*reversed(model.top_features(12)), strict=True)
figure, ax = plt.subplots(figsize=(6.0, 4.0), layout="constrained")
ax.barh(names, weights, color=["#6a3d9a" if weight > 0 else "#e07b00" for weight in weights])
ax.axvline(0, color="black", linewidth=0.8)
ax.set_xlabel("weight: is this a word?")
