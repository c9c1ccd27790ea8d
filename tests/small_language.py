"""A generated treebank: sentences of a small language with their trees."""

import random

import numpy as np

from widemargin.data.readers.corpus import Corpus

#: A small language: a sentence is a verb with a subject, perhaps an object and adverbs, and noun
#: phrases have determiners and adjectives. "saw" is a noun or a verb.
NOUNS, VERBS = ("dog", "cat", "man", "saw"), ("sees", "bites", "saw", "likes")
ADJECTIVES, ADVERBS = ("old", "big", "red"), ("today", "often")


def made_corpus(sentences, seed=0):
    """Sentences of the small language with their trees."""
    rng = np.random.default_rng(seed)
    columns = {name: [] for name in ("word", "upos", "head", "deprel")}
    for _ in range(sentences):
        words = []  # (word, tag, head, label)

        def phrase(label, head, words=words):
            start = len(words)
            size = 1 + int(rng.integers(0, 3))
            noun = start + size + 1
            words.append((rng.choice(["the", "a"]), "DET", noun, "det"))
            for _ in range(size - 1):
                words.append((rng.choice(ADJECTIVES), "ADJ", noun, "amod"))
            words.append((rng.choice(NOUNS), "NOUN", head, label))

        phrase("nsubj", None)
        verb = len(words) + 1
        words[-1] = (*words[-1][:2], verb, "nsubj")
        words.append((rng.choice(VERBS), "VERB", 0, "root"))
        if rng.random() < 0.6:
            phrase("obj", verb)
        if rng.random() < 0.5:
            words.append((rng.choice(ADVERBS), "ADV", verb, "advmod:tmod"))
        words.append((".", "PUNCT", verb, "punct"))
        for name, cells in zip(columns, zip(*words, strict=True), strict=True):
            columns[name].append([str(cell) for cell in cells])
    return Corpus.of(columns)


#: Another one, of a few sentences: words by tag, ...
_WORDS = {
    "DET": ["the", "a", "every", "no"],
    "ADJ": ["old", "green", "happy", "wooden"],
    "NOUN": ["dog", "cat", "house", "engineer", "boat"],
    "VERB": ["barks", "sees", "likes", "builds"],
}
#: ... and sentences as (tag, head, label).
_SHAPES = [
    [("DET", 2, "det"), ("NOUN", 3, "nsubj"), ("VERB", 0, "root")],
    [("DET", 3, "det"), ("ADJ", 3, "amod"), ("NOUN", 4, "nsubj"), ("VERB", 0, "root")],
    [
        *[("DET", 2, "det"), ("NOUN", 3, "nsubj"), ("VERB", 0, "root")],
        *[("DET", 5, "det"), ("NOUN", 3, "obj:dir")],
    ],
]


def treebank(n=40, seed=0):
    """Sentences of the other language as CoNLL-U."""
    rng, lines = random.Random(seed), []
    for s in range(n):
        lines.append(f"# sent_id = {s + 1}")
        for i, (tag, head, label) in enumerate(rng.choice(_SHAPES), 1):
            word = rng.choice(_WORDS[tag])
            lines.append(f"{i}\t{word}\t{word}\t{tag}\t_\t_\t{head}\t{label}\t_\tx={i}")
        lines.append("")
    return "\n".join(lines) + "\n"
