"""Choices among few candidates out of many labels, word by word, learned from mistakes.

A label is a set of parts, and a word has T features; every pair of a feature and a part has a
weight, found by a hash in the table W. The score of a label is the sum over its parts and the
features of the word:

    score(i, z) = sum over parts p of z, features f of word i, of W[hash(f, p)]

Words are read from left to right, so that the labels chosen before may be features, too: the label
before, that and the one before it, and the label before with the word's first feature.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin.loops.jit import jit
from widemargin.loops.sequences.tokens import hash_in
from widemargin.loops.steps import reach

_0, _1 = np.uint64(0), np.uint64(1)
#: Number of features of earlier labels, if these are used.
EARLIER = 3
#: Seeds of their hashes, unlike the hash of any word.
_SEEDS = (np.uint64(0xA24BAED4963EE407), np.uint64(0x9FB21C651E98DF25))
#: No label: a sentence begins.
_NONE = np.uint64(0xFFFFFFFF)


class Words(NamedTuple):
    """The words to label: sentence j has the words starts[j] up to starts[j + 1]."""

    ids: np.ndarray  # features, T for every word
    starts: np.ndarray
    lists: np.ndarray  # the list of candidates of every word


class Candidates(NamedTuple):
    """Lists of labels, and the parts of labels."""

    starts: np.ndarray  # list k has the labels[starts[k]] up to starts[k + 1]
    labels: np.ndarray
    ends: np.ndarray  # label z has the parts[ends[z]] up to ends[z + 1], in ascending order
    parts: np.ndarray
    mixed: np.ndarray  # a hash for every part


class Tally(NamedTuple):
    """What happened in a pass: words with a choice, wrong ones, corrections and their loss."""

    words: int
    mistakes: int
    updates: int
    loss: float


@jit(inline=True)
def _cell(mixed, feature, shift):
    """Where the weight of a feature and a part is."""
    return hash_in(mixed, feature) >> shift


@jit(inline=True)
def _fill_earlier(earlier, before, further, first):
    """The features of the labels before."""
    h = hash_in(_SEEDS[0], before)
    earlier[0] = h >> np.uint64(32)
    earlier[1] = hash_in(h, further) >> np.uint64(32)
    earlier[2] = hash_in(hash_in(_SEEDS[1], before), first) >> np.uint64(32)


@jit(inline=True)
def _score_lists(words, i, T, earlier, among, W, shift, scores, seen, part_scores):
    """Scores of the candidates of word i; a part that several of them have is scored once."""
    first = among.starts[words.lists[i]]
    count = among.starts[np.uint64(words.lists[i]) + _1] - first
    at = i * T
    for k in range(count):
        z = np.uint64(among.labels[first + k])
        total = np.float32(0.0)
        for p in range(among.ends[z], among.ends[z + _1]):
            part = among.parts[p]
            if seen[part] != i:
                seen[part] = i
                mixed = among.mixed[part]
                s = np.float32(0.0)
                for t in range(at, at + T):
                    s += W[_cell(mixed, words.ids[t], shift)]
                for e in range(np.uint64(len(earlier))):
                    s += W[_cell(mixed, earlier[e], shift)]
                part_scores[part] = s
            total += part_scores[part]
        scores[k] = total
    return count


@jit(inner=True)
def _move(words, i, T, earlier, among, W, U, shift, z, other, tau, c):
    """Add tau to the weights of the parts that only label z has, not `other`."""
    at = i * T
    for p in range(among.ends[z], among.ends[z + _1]):
        part = among.parts[p]
        shared = False
        for o in range(among.ends[other], among.ends[other + _1]):
            shared |= among.parts[o] == part
        if shared:
            continue
        mixed = among.mixed[part]
        for t in range(at, at + T):
            cell = _cell(mixed, words.ids[t], shift)
            W[cell] += np.float32(tau)
            U[cell] += c * tau
        for e in range(np.uint64(len(earlier))):
            cell = _cell(mixed, earlier[e], shift)
            W[cell] += np.float32(tau)
            U[cell] += c * tau


@jit(inner=True)
def _count_apart(among, z, other):
    """How many parts only one of two labels has."""
    shared = 0
    for p in range(among.ends[z], among.ends[z + _1]):
        for o in range(among.ends[other], among.ends[other + _1]):
            shared += among.parts[p] == among.parts[o]
    sizes = among.ends[z + _1] - among.ends[z] + among.ends[other + _1] - among.ends[other]
    return np.float64(sizes) - 2.0 * shared


@jit()
def choosing_pass(words, y, order, among, target, cap, W, U, clock, shift, earlier):
    """Learn from words in a given order of sentences.

        for each word i that has a choice:
            z* = the best candidate that is not the right one, y
            lead = score(i, y) - score(i, z*)
            if lead < target:                              (the step of PA-I)
                tau = min(cap, (target - lead) / |f(i, y) - f(i, z*)|^2)
                W += tau (f(i, y) - f(i, z*))
                U += c tau (f(i, y) - f(i, z*))            (for the average W - U / c)
            c += 1

    Earlier labels are those that were chosen, not the right ones. A word whose right label is not a
    candidate is skipped.

    Parameters
    ----------
    words : Words
    y : array of uint32
        The right label of every word.
    order : array of uint64
    among : Candidates
    target, cap : float
        The lead aimed at, and the longest step.
    W, U : arrays of float32 and float64
        Changed.
    clock : array of float64
        Changed: clock[0] is c.
    shift : uint64
        64 minus the base-2 logarithm of the size of W.
    earlier : array of uint64
        A buffer for the features of earlier labels; empty if these are not used.
    """
    T = _0
    if len(y):
        T = np.uint64(len(words.ids) // len(y))
    scores = np.empty(_longest(among), np.float32)
    seen = np.full(len(among.mixed), ~_0)
    part_scores = np.empty(len(among.mixed), np.float32)
    c = clock[0]
    number, mistakes, updates, total = 0, 0, 0, 0.0
    for j in order:
        seen[:] = ~_0
        before, further = _NONE, _NONE
        for i in range(words.starts[j], words.starts[j + _1]):
            first = among.starts[words.lists[i]]
            count = among.starts[np.uint64(words.lists[i]) + _1] - first
            chosen = np.uint64(among.labels[first])
            if count > _1:
                if len(earlier):
                    _fill_earlier(earlier, before, further, words.ids[i * T])
                _score_lists(words, i, T, earlier, among, W, shift, scores, seen, part_scores)
                best, right, other = _0, count, count
                for k in range(count):
                    if scores[k] > scores[best]:
                        best = k
                    if among.labels[first + k] == y[i]:
                        right = k
                    elif other == count or scores[k] > scores[other]:
                        other = k
                chosen = np.uint64(among.labels[first + best])
                if right < count:
                    number += 1
                    mistakes += best != right
                    lead = np.float64(scores[right]) - np.float64(scores[other])
                    total += max(0.0, target - lead)
                    if lead < target:
                        z, w = np.uint64(y[i]), np.uint64(among.labels[first + other])
                        q = _count_apart(among, z, w) * np.float64(T + np.uint64(len(earlier)))
                        tau = reach(target - lead, q, 0.0, 0.0, cap)
                        _move(words, i, T, earlier, among, W, U, shift, z, w, tau, c)
                        _move(words, i, T, earlier, among, W, U, shift, w, z, -tau, c)
                        updates += 1
                    c += 1.0
            further, before = before, chosen
    clock[0] = c
    return Tally(number, mistakes, updates, total)


@jit(inner=True)
def _longest(among):
    """The length of the longest list."""
    longest = _0
    for k in range(np.uint64(len(among.starts)) - _1):
        longest = max(longest, among.starts[k + _1] - among.starts[k])
    return longest


@jit()
def choose_labels(words, among, W, shift, earlier, labels):
    """The best candidate of every word, the first of the best ones.

    Parameters as in `choosing_pass`; labels is changed.
    """
    T = _0
    if len(labels):
        T = np.uint64(len(words.ids) // len(labels))
    scores = np.empty(_longest(among), np.float32)
    seen = np.full(len(among.mixed), ~_0)
    part_scores = np.empty(len(among.mixed), np.float32)
    for j in range(np.uint64(len(words.starts)) - _1):
        before, further = _NONE, _NONE
        for i in range(words.starts[j], words.starts[j + _1]):
            first = among.starts[words.lists[i]]
            count = among.starts[np.uint64(words.lists[i]) + _1] - first
            best = _0
            if count > _1:
                if len(earlier):
                    _fill_earlier(earlier, before, further, words.ids[i * T])
                _score_lists(words, i, T, earlier, among, W, shift, scores, seen, part_scores)
                for k in range(count):
                    if scores[k] > scores[best]:
                        best = k
            further, before = before, np.uint64(among.labels[first + best])
            labels[i] = before
