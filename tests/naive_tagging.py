"""Textbook versions of the tagger in slow, obvious, plain Python, sharing no code with ours.

A sequence is scored by named features; weights are a dict from (name, label). The best sequence is
found by trying all. Of equal ones the first wins, compared from the last token backwards.
"""

import math
from collections import defaultdict
from fractions import Fraction
from itertools import product

START = None


def words_of(sentence, i):
    """Some features of a token: the word, its neighbours, its last two letters."""

    def at(k):
        if k < 0:
            return "<start>"
        return sentence[k] if k < len(sentence) else "<end>"

    return [
        f"word[0]={at(i)}",
        f"word[-1]={at(i - 1)}|word[0]={at(i)}",
        f"suffix2[0]={at(i).lower()[-2:]}",
        "bias",
    ]


TEMPLATES = ["word[0]", "word[-1]|word[0]", "suffix2[0]", "bias"]


def features_of(sentence, i):
    """The features of a token by name, and their values."""
    token = sentence[i]
    if isinstance(token, dict):
        return {"bias": 1} | spelled_out(token)
    return dict.fromkeys(words_of(sentence, i), 1)


def spelled_out(token, prefix=""):
    """A dict of features as CRFsuite reads it: strings, numbers, lists of strings, dicts."""
    found = defaultdict(int)
    for key, x in token.items():
        name = prefix + key
        if isinstance(x, dict):
            found |= spelled_out(x, f"{name}:")
        elif isinstance(x, str):
            found[f"{name}:[0]={x}"] += 1
        elif isinstance(x, list):
            for string in x:
                found[f"{name}:{string}"] += 1
        else:
            found[name] += Fraction(x)
    return found


def sequence_features(sentence, tags, order, whole=True):
    """Counts of (feature, tag) in a tagged sentence (or in a prefix, if it is not whole)."""
    counts = defaultdict(int)
    before, earlier = START, START
    for i, tag in enumerate(tags):
        for name, x in features_of(sentence, i).items():
            counts[name, tag] += x
        counts[("after", before), tag] += 1
        if order == 2:
            counts[("after", before, earlier), tag] += 1
        before, earlier = tag, before
    if whole:
        counts["end", before] += 1
    return counts


def value(weights, counts):
    return sum(weights.get(key, 0) * count for key, count in counts.items())


def sequences(labels, length):
    """All sequences, with those that win ties first."""
    return [tuple(reversed(tags)) for tags in product(labels, repeat=length)]


def best_sequence(weights, sentence, labels, order, legal=lambda a, b: True):
    return best_and_lead(weights, sentence, labels, order, legal)[0]


def best_and_lead(weights, sentence, labels, order, legal=lambda a, b: True):
    """The best sequence, and how much better it is than the second."""
    best, second = None, -math.inf
    for tags in sequences(labels, len(sentence)):
        if not all(legal(a, b) for a, b in zip((None, *tags), (*tags, None), strict=True)):
            continue
        found = value(weights, sequence_features(sentence, tags, order))
        if best is None or found > best[0]:
            second = second if best is None else best[0]
            best = found, tags
        else:
            second = max(second, found)
    return best[1], best[0] - second


def difference(one, other):
    keys = set(one) | set(other)
    return {key: d for key in keys if (d := one.get(key, 0) - other.get(key, 0))}


def learn(sentences, tags, labels, order, epochs, rule="perceptron", C=1.0, leads=None):
    """The last weights, their average over w_0 ... w_N, mistakes per epoch, the largest norm.

    If `leads` is a list, the lead of each best sequence over the second is appended to it.
    """
    w, sums, n = defaultdict(Fraction), defaultdict(Fraction), 1
    mistakes, longest = [], 0
    for _ in range(epochs):
        mistakes.append(0)
        for sentence, right in zip(sentences, tags, strict=True):
            if sentence:
                found, lead = best_and_lead(w, sentence, labels, order)
                if leads is not None and w:  # with zero weights, all are equal in any arithmetic
                    leads.append(lead)
                d = difference(
                    sequence_features(sentence, right, order),
                    sequence_features(sentence, found, order),
                )
                if tuple(found) != tuple(right):
                    mistakes[-1] += 1
                    norm = sum(x * x for x in d.values())
                    longest = max(longest, norm)
                    step = Fraction(1)
                    if rule == "pa1":
                        wrong = sum(a != b for a, b in zip(found, right, strict=True))
                        step = min(Fraction(C), (wrong - value(w, d)) / norm)
                    for key, x in d.items():
                        w[key] += step * x
            n += 1
            for key, x in w.items():
                sums[key] += x
    return dict(w), {key: x / n for key, x in sums.items()}, mistakes, longest


def beam_prefixes(weights, sentence, labels, size):
    """For each prefix, the best taggings that a beam keeps, by last label (order 1)."""
    kept, steps = {START: ()}, []
    for _ in sentence:
        grown = {}
        for tag in labels:
            for tags in kept.values():
                counts = sequence_features(sentence, (*tags, tag), 1, whole=False)
                found = value(weights, counts)
                if tag not in grown or found > grown[tag][0]:
                    grown[tag] = found, (*tags, tag)
        order = sorted(grown, key=lambda tag: (-grown[tag][0], labels.index(tag)))[:size]
        kept = {tag: grown[tag][1] for tag in labels if tag in order}
        steps.append({tag: grown[tag] for tag in kept})
    return steps


def learn_with_beam(sentences, tags, labels, size, update, epochs):
    """The last weights of the perceptron with a first-order beam."""
    w = defaultdict(int)
    for _ in range(epochs):
        for sentence, right in zip(sentences, tags, strict=True):
            steps = beam_prefixes(w, sentence, labels, size)
            ends = {tag: found + w.get(("end", tag), 0) for tag, (found, _) in steps[-1].items()}
            last = max(ends, key=lambda tag: (ends[tag], -labels.index(tag)))
            cut, found = len(sentence), steps[-1][last][1]
            if update == "early":
                lost = [i for i, step in enumerate(steps) if right[i] not in step]
                cut = lost[0] + 1 if lost else cut
            else:
                leads = []
                for i, step in enumerate(steps):
                    counts = sequence_features(sentence, right[: i + 1], 1, whole=False)
                    leads.append(max(one for one, _ in step.values()) - value(w, counts))
                if max(leads) > 0:
                    cut = leads.index(max(leads)) + 1
            if cut < len(sentence):
                step = steps[cut - 1]
                tag = max(step, key=lambda tag: (step[tag][0], -labels.index(tag)))
                found = step[tag][1]
            whole = cut == len(sentence)
            d = difference(
                sequence_features(sentence, right[:cut], 1, whole),
                sequence_features(sentence, found, 1, whole),
            )
            if tuple(found) != tuple(right[:cut]):
                for key, x in d.items():
                    w[key] += x
    return dict(w)


def marginals(answers, labels, temperature):
    """The probability of every label at every token, from all scored taggings."""
    top = max(score for _, score in answers)
    weights = [math.exp((score - top) / temperature) for _, score in answers]
    length = len(answers[0][0])
    return [
        [
            sum(w for w, (tags, _) in zip(weights, answers, strict=True) if tags[i] == label)
            / sum(weights)
            for label in labels
        ]
        for i in range(length)
    ]


def margins(answers):
    """By token, the lead of the best tagging over the best one with another tag there."""
    best, top = max(answers, key=lambda answer: answer[1])
    return [
        top - max([score for tags, score in answers if tags[i] != tag], default=-math.inf)
        for i, tag in enumerate(best)
    ]
