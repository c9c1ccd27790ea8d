"""
A parser on a toy treebank
==========================

The toy language of the tagger example, now with trees: who does what to whom. The parser learns
from gold tags here; on a real treebank it trains its own taggers first.
"""

import random
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from widemargin import Parser

rng = random.Random(0)
NOUNS, VERBS = ["dog", "cat", "painter", "teacher"], ["sees", "likes", "visits"]
ADJECTIVES = ["old", "small", "green"]


def tree() -> list[tuple[str, str, int, str]]:
    """Words with their tags, heads (counted from 1; 0 is the root) and labels."""
    rows: list[tuple[str, str, int, str]] = []

    def phrase(head: int, label: str) -> None:
        adjectives = rng.randrange(3)
        noun = len(rows) + adjectives + 2
        rows.append((rng.choice(["the", "a"]), "DET", noun, "det"))
        rows.extend((rng.choice(ADJECTIVES), "ADJ", noun, "amod") for _ in range(adjectives))
        rows.append((rng.choice(NOUNS), "NOUN", head, label))

    phrase(-1, "nsubj")
    verb = len(rows) + 1
    rows[-1] = (*rows[-1][:2], verb, "nsubj")
    rows.append((rng.choice(VERBS), "VERB", 0, "root"))
    phrase(verb, "obj")
    return rows


def conllu(rows: list[tuple[str, str, int, str]]) -> str:
    """Format a sentence as CoNLL-U."""
    lines = [
        f"{i}\t{word}\t_\t{tag}\t_\t_\t{head}\t{label}\t_\t_"
        for i, (word, tag, head, label) in enumerate(rows, 1)
    ]
    return "\n".join(lines) + "\n\n"


with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "toy.conllu"
    path.write_text("".join(conllu(tree()) for _ in range(200)))
    parser = Parser(tags="upos", bits=14, epochs=5, random_state=0).fit(str(path))
words = ["a", "small", "teacher", "likes", "the", "old", "green", "cat"]
found = parser.parse(words, upos=["DET", "ADJ", "NOUN", "VERB", "DET", "ADJ", "ADJ", "NOUN"])
for i, (word, head, label) in enumerate(
    zip(found.words, found.heads, found.labels, strict=True), 1
):
    print(f"{i} {word:<8} {label:<6} of {words[head - 1] if head else 'the sentence'}")

# %%
# The tree. An arc connects each word with the word that it depends on; the label says how.

figure, ax = plt.subplots(figsize=(9.0, 3.4), layout="constrained")
turn = np.linspace(0.0, np.pi, 50)
for i, (word, head, label) in enumerate(zip(words, found.heads, found.labels, strict=True), 1):
    ax.text(i, -0.1, word, ha="center", va="top")
    if head:
        middle, radius = (head + i) / 2, abs(head - i) / 2
        ax.plot(middle + radius * np.cos(turn), radius * np.sin(turn), color="#6a3d9a")
        ax.text(middle, radius + 0.06, label, ha="center", fontsize=8)
    else:
        ax.plot([i, i], [0.0, 2.3], color="#6a3d9a")
        ax.text(i, 2.36, label, ha="center", fontsize=8)
    ax.plot(i, 0.0, marker="v", color="#6a3d9a")
ax.set(xlim=(0.4, len(words) + 0.6), ylim=(-0.5, 2.7))
ax.axis("off")
