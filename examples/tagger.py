"""
A tagger on a toy treebank
==========================

Words and their tags, a few hundred sentences made by a little grammar. The tagger learns from
suffixes and neighbours, so that it also tags words it has never seen.
"""

import random

from widemargin import Tagger, plot_tags

rng = random.Random(0)
WORDS = {
    "DET": ["the", "a", "every", "this"],
    "ADJ": ["old", "small", "green", "clever", "wooden"],
    "NOUN": ["dog", "cat", "house", "painter", "teacher", "singer"],
    "VERB": ["sees", "likes", "paints", "visits"],
    "ADV": ["slowly", "happily", "often", "rarely"],
}


def sentence() -> tuple[list[str], list[str]]:
    """Words and tags: a subject, a verb, an object and perhaps an adverb."""

    def phrase() -> list[str]:
        return ["DET", *["ADJ"] * rng.randrange(3), "NOUN"]

    tags = [*phrase(), "VERB", *phrase(), *["ADV"] * rng.randrange(2)]
    return [rng.choice(WORDS[tag]) for tag in tags], tags


words, tags = zip(*[sentence() for _ in range(300)], strict=True)
tagger = Tagger(epochs=5, bits=14, random_state=0).fit(list(words), list(tags))
new = ["this", "broken", "baker", "admires", "the", "dog", "bravely"]
print(list(zip(new, tagger.tag(new), strict=True)))
print(tagger.explain(new, 6, top=3))

# %%
# How certain is each tag? By how much it leads the best tagging that has another one there:

plot_tags(new, tagger.tag(new), tagger.margins(new))
