"""
A parser on a toy treebank
==========================

The same little language with trees: who does what to whom. The parser learns from gold tags here;
on a real treebank it trains taggers of its own first.
"""

import random
import tempfile
from pathlib import Path

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
    """A sentence in the columns of CoNLL-U."""
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
