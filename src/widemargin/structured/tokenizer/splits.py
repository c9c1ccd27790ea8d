"""Rules for splitting multiword tokens into words, which also work for unseen tokens.

A rule says what the end of a token becomes: "-3" cuts off three characters (don't -> do n't),
"1:e le" replaces one character by others (du -> de le).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, pairwise

from widemargin.structured.tokenizer.treebank import Paragraph

#: The rule of a token that is one word.
WHOLE = "="
#: A rule seen less often than this is too specific to its token, and is not used.
_OFTEN = 2


def rule_of(token: str, words: Sequence[str]) -> str:
    """The rule that splits a token into these words."""
    if len(words) == 1:
        return WHOLE
    if "".join(words) == token:
        after = list(accumulate(map(len, reversed(words))))[:-1]
        return "-" + "-".join(map(str, reversed(after)))
    becomes, low = " ".join(words).lower(), token.lower()
    if len(low) != len(token):  # as for some Turkish capitals
        low = token
    pairs = zip(low, becomes, strict=False)
    same = next((k for k, (a, b) in enumerate(pairs) if a != b), min(len(low), len(becomes)))
    return f"{len(low) - same}:{becomes[same:]}"


def split(token: str, rule: str) -> list[str]:
    """The words of a token by a rule; the token itself if the rule does not fit."""
    if rule == WHOLE:
        return [token]
    if rule.startswith("-"):
        cuts = [len(token) - int(back) for back in rule[1:].split("-")]
        if cuts[0] <= 0:
            return [token]
        return [token[a:b] for a, b in pairwise([0, *cuts, len(token)])]
    taken, _, added = rule.partition(":")
    kept = len(token) - int(taken)
    if kept < 0:
        return [token]
    words = (token[:kept] + added).split(" ")
    if kept == 0 and token[:1].isupper():
        words[0] = words[0][:1].upper() + words[0][1:]
    if len(token) > 1 and token.isupper():
        words = [word.upper() for word in words]
    return words if len(words) > 1 and all(words) else [token]


def rules_of(paragraphs: Sequence[Paragraph]) -> list[list[str]]:
    """The rule of every token, a list per sentence; rules seen only once are replaced by WHOLE."""
    texts = [
        (paragraph.text, sentence) for paragraph in paragraphs for sentence in paragraph.sentences
    ]
    found = [
        [rule_of(text[start:end], words) for start, end, words in sentence]
        for text, sentence in texts
    ]
    times = Counter(rule for rules in found for rule in rules)
    return [[rule if times[rule] >= _OFTEN else WHOLE for rule in rules] for rules in found]
