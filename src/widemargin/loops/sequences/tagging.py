"""Learning to label sequences from mistakes, and labelling sentences.

A sentence's tokens have features, the rows of W whose numbers are the scores of all labels; a
numeric feature with the value x adds x times its row. The R rows of the features are followed by
those of the transitions: n + 1 for the label before (the last: a sentence begins), one for the end
of a sentence and, of order 2, (n + 1)^2 for the two labels before. D is what the dynamic program
reads (see `loops.viterbi`): the transitions added up, and minus infinity where a transition is not
allowed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin.loops.jit import jit
from widemargin.loops.sequences.numbers import Numbers, add_numbers
from widemargin.loops.sequences.row_sums import score_split_tokens, score_tokens
from widemargin.loops.sequences.templates import (
    Index,
    Table,
    add_to_dictionary,
    fill_edges,
    fill_ids,
    find_row,
    make_workspace,
)
from widemargin.loops.sequences.tokens import fill_columns, scatter_bits, word_hash
from widemargin.loops.sequences.viterbi import backward, best_path, path_score, score_through
from widemargin.loops.steps import REACH, reach

#: When a beam has lost the right labels: correct the whole sentence, the beginning up to where
#: they were lost, or the beginning for which they are furthest behind.
WHOLE, EARLY, VIOLATION = range(3)

_0, _1 = np.uint64(0), np.uint64(1)
_LOW = np.float32(-np.inf)


class Sentences(NamedTuple):
    """What is learned from: sentence j has the tokens starts[j] up to starts[j + 1]."""

    ids: np.ndarray  # rows of W, T for every token
    starts: np.ndarray
    y: np.ndarray  # the right label of every token
    allowed: np.ndarray  # of every token its row of `masks`; empty if all labels are allowed
    masks: np.ndarray  # 0 for labels that are allowed, else minus infinity
    numbers: Numbers


class Search(NamedTuple):
    """How the best labels are searched for."""

    n: int  # labels
    order: int
    beam: int | None  # None: exact
    update: int  # with a beam: WHOLE, EARLY or VIOLATION
    cost: float  # added to every wrong label's score while learning, for a margin


class Tally(NamedTuple):
    """What happened in a pass."""

    mistakes: int  # sentences
    wrong: int  # tokens in them
    updates: int
    loss: float
    longest: float  # the largest |f(x, y) - f(x, y*)|^2 that was stepped along
    bad: int  # a sentence whose score is not a finite number, or -1


@jit(inline=True)
def _add_masks(s, m, n, allowed, first, masks):
    for i in range(m):
        row = np.uint64(allowed[first + i])
        if row != _0:
            for y in range(np.uint64(n)):
                s[i, y] += masks[row, y]


@jit()
def tagging_pass(given, order, rule, search, W, D, U, clock, slots, counts, used):
    """Learn from sentences in a given order.

        for j in order:
            y* = the best labels
            if y* != y:                               (the rule says how far)
                tau = eta, or min(C, (wrong labels - lead of y) / |f(x, y) - f(x, y*)|^2)
                W += tau (f(x, y) - f(x, y*))
                U += c tau (f(x, y) - f(x, y*))       (for the average W - U / c)
            c += 1

    Parameters
    ----------
    given : Sentences
    order : array of uint64
    rule : Rule
    search : Search
    W, D, U : arrays, (rows, width)
        Changed. U may have no rows: then no average is kept.
    clock : array of float64
        Changed: clock[0] is c.
    slots, counts, used : arrays of uint64, float64 and uint64
        Room for the differences of one sentence: a hash table (of a power of two, all ones where
        empty) of cells of W, how often each is used, and where in the table each is.
    """
    n, width, T = np.uint64(search.n), np.uint64(W.shape[1]), np.uint64(0)
    tokens = len(given.y)
    if tokens:
        T = np.uint64(len(given.ids) // tokens)
    rows = n + _1 if search.order == 2 else _1
    longest = _0
    for j in order:
        longest = max(longest, given.starts[j + _1] - given.starts[j])
    s = np.empty((longest + _1, width), np.float32)
    v = np.empty(((longest + _1) * rows, width), np.float32)
    turned = np.empty((n + _1, width), np.float32)
    path = np.empty(longest + _1, np.uint32)
    R = np.uint64(len(W)) - _transitions(n, search.order)
    c = clock[0]
    mistakes, wrong, updates, total, norm, bad = 0, 0, 0, 0.0, 0.0, -1
    for k in range(np.uint64(len(order))):
        j = order[k]
        first = given.starts[j]
        m = given.starts[j + _1] - first
        if m == _0:
            c += 1.0
            continue
        y = given.y[first : first + m]
        then = given.starts[order[k + _1]] if k + _1 < np.uint64(len(order)) else first
        if then == np.uint64(tokens):
            then = first  # only empty sentences are left there
        score_tokens(W, given.ids, first * T, m, T, then * T, s)
        if len(given.numbers.starts):
            add_numbers(s, m, n, given.numbers, first)
        if len(given.allowed):
            _add_masks(s, m, n, given.allowed, first, given.masks)
        if search.cost > 0.0:
            for i in range(m):
                for z in range(n):
                    if z != np.uint64(y[i]):
                        s[i, z] += np.float32(search.cost)
        best = best_path(s, m, n, D, search.order, search.beam, v, turned, path)
        if not np.isfinite(best):
            bad = np.int64(j)
            break
        prefix = _find_violation(s, m, n, D, search, search.beam, v, y)
        if prefix < m:
            backward(prefix, n, D, search.order, v, path, False)
        errors = 0
        for i in range(prefix):
            errors += path[i] != np.uint32(y[i])
        if errors:
            whole = prefix == m
            lead = path_score(s, prefix, n, D, search.order, y, whole)
            lead -= path_score(s, prefix, n, D, search.order, path, whole)
            lead += search.cost * errors
            mistakes += 1
            wrong += errors
            cells = _count_differences(given, first, prefix, T, y, path, n, search.order,
                                       whole, R, width, slots, counts, used)  # fmt: skip
            q = 0.0
            for u in used[:cells]:
                q += counts[u] * counts[u]
            tau = rule.eta
            if rule.form == REACH:
                tau = reach(rule.target * errors - lead, q, 0.0, rule.soft, rule.cap)
            total += max(0.0, errors - lead)
            norm = max(norm, q)
            if q > 0.0 and tau > 0.0:
                updates += 1
                _correct(W, D, U, tau, c, n, R, width, search.order, cells, slots, counts, used)
            for u in used[:cells]:
                slots[u] = ~_0
        c += 1.0
    clock[0] = c
    return Tally(mistakes, wrong, updates, total, norm, bad)


@jit(inline=True)
def _transitions(n, order):
    """How many rows of W are not of features."""
    return n + _1 + _1 + ((n + _1) * (n + _1) if order == 2 else _0)


@jit(inner=True)
def _find_violation(s, m, n, D, search, beam, v, y):
    """The number of tokens to correct.

    The whole sentence, unless a beam search lost the right labels.
    """
    if beam is None or search.update == WHOLE:
        return m
    rows = n + _1 if search.order == 2 else _1
    lead, most, where = 0.0, -np.inf, m
    z, x = n, n
    for i in range(m):
        right = np.uint64(y[i])
        row = z * rows + x if search.order == 2 else z
        lead += np.float64(s[i, right]) + np.float64(D[row, right])
        at = i * rows
        if search.update == EARLY:
            if v[at + z if search.order == 2 else at, right] == _LOW:
                return i + _1
        else:
            best = _LOW
            for k in range(rows):
                for j in range(n):
                    best = max(best, v[at + k, j])
            if np.float64(best) - lead > most:
                most, where = np.float64(best) - lead, i + _1
        z, x = right, z
    return m if search.update == EARLY or most <= 0.0 else where


@jit(inline=True)
def _count(slots, counts, used, cells, cell, by):
    """Use a cell `by` times more; returns how many cells are used."""
    mask = np.uint64(len(slots)) - _1
    k = scatter_bits(cell) & mask
    while slots[k] != ~_0 and slots[k] != cell:
        k = (k + _1) & mask
    if slots[k] == ~_0:
        slots[k] = cell
        counts[k] = 0.0
        used[cells] = k
        cells += _1
    counts[k] += by
    return cells


@jit(inner=True)
def _count_differences(given, first, m, T, y, path, n, order, whole, R, width, slots, counts, used):
    """f(x, y) - f(x, y*) as counts of cells of W; returns how many cells there are.

    Only where the two differ is anything counted.
    """
    cells = _0
    a, b, c, d = n, n, n, n  # the label before and the one before that: right, found
    pairs = R + n + _1 + _1
    numbers, some = given.numbers, len(given.numbers.starts) > 0
    for i in range(m):
        right, found = np.uint64(y[i]), np.uint64(path[i])
        if right != found:
            for k in range((first + i) * T, (first + i + _1) * T):
                row = np.uint64(given.ids[k]) * width
                cells = _count(slots, counts, used, cells, row + right, 1.0)
                cells = _count(slots, counts, used, cells, row + found, -1.0)
        if right != found and some:
            for k in range(numbers.starts[first + i], numbers.starts[first + i + _1]):
                row = (R - np.uint64(len(numbers.V)) + np.uint64(numbers.rows[k])) * width
                cells = _count(slots, counts, used, cells, row + right, numbers.x[k])
                cells = _count(slots, counts, used, cells, row + found, -numbers.x[k])
        if right != found or a != c:
            cells = _count(slots, counts, used, cells, (R + a) * width + right, 1.0)
            cells = _count(slots, counts, used, cells, (R + c) * width + found, -1.0)
        if order == 2 and (right != found or a != c or b != d):
            row = pairs + a * (n + _1) + b
            cells = _count(slots, counts, used, cells, row * width + right, 1.0)
            row = pairs + c * (n + _1) + d
            cells = _count(slots, counts, used, cells, row * width + found, -1.0)
        a, b, c, d = right, a, found, c
    if whole and a != c:
        cells = _count(slots, counts, used, cells, (R + n + _1) * width + a, 1.0)
        cells = _count(slots, counts, used, cells, (R + n + _1) * width + c, -1.0)
    return cells


@jit(inner=True)
def _correct(W, D, U, tau, c, n, R, width, order, cells, slots, counts, used):
    """W += tau times the difference, and the same for D; U likewise, c times."""
    for k in range(cells):
        cell, step = slots[used[k]], tau * counts[used[k]]
        row, y = cell // width, cell % width
        W[row, y] += np.float32(step)
        if len(U):
            U[row, y] += c * step
        if row >= R:
            at = row - R
            if order == 2:
                if at < n + _1:
                    for x in range(at * (n + _1), (at + _1) * (n + _1)):
                        D[x, y] += np.float32(step)
                elif at == n + _1:
                    D[len(D) - 1, y] += np.float32(step)
                else:
                    D[at - n - _1 - _1, y] += np.float32(step)
            else:
                D[at, y] += np.float32(step)


class Lexicon(NamedTuple):
    """The labels that words may have: an exact dictionary from words to rows of masks."""

    keys: np.ndarray  # empty if every word may have every label
    rows: np.ndarray
    masks: np.ndarray  # row 0 allows all


class Reader(NamedTuple):
    """How tokens are turned into rows of W."""

    made: np.ndarray  # how columns are made, see loops.tokens
    table: Table
    index: Index
    lexicon: Lexicon


@jit()
def read_ids(codes, edges, classes, reader, starts, ids):
    """The features of all tokens, T numbers of rows for each."""
    T = np.uint64(len(reader.table.seeds))
    work = _make_workspace(reader, starts, 0, len(starts) - 1)
    for j in range(len(starts) - 1):
        m = _read_columns(codes, edges, classes, reader, starts, j, work)
        fill_ids(work, m, reader.table, reader.index, ids, starts[j] * T)


@jit()
def grow_ids(codes, edges, classes, reader, starts, j, used, keys, rows, ids):
    """As `read_ids` from sentence j on, adding features to a dictionary until it is too full.

    Returns the next sentence, and how many rows are used.
    """
    T = np.uint64(len(reader.table.seeds))
    work = _make_workspace(reader, starts, 0, len(starts) - 1)
    while j < len(starts) - 1:
        m = _read_columns(codes, edges, classes, reader, starts, j, work)
        found = add_to_dictionary(work, m, reader.table, keys, rows, used, ids, starts[j] * T)
        if found < 0:
            break
        used = found
        j += 1
    return j, used


@jit()
def look_up(codes, edges, lexicon, a, b, allowed):
    """The rows of masks of the words a up to b."""
    for i in range(np.uint64(a), np.uint64(b)):
        allowed[i - np.uint64(a)] = find_row(lexicon.keys, lexicon.rows, word_hash(codes, edges, i))


@jit()
def tag_sentences(
    codes, edges, classes, reader, starts, a, b, W, tails, D, numbers, search, labels
):
    """The best labels of the sentences a up to b, end to end.

    tails may be None; if they are given, W has the first parts of rows. numbers may be None.
    """
    n, width, T = np.uint64(search.n), np.uint64(D.shape[1]), np.uint64(len(reader.table.seeds))
    work = _make_workspace(reader, starts, a, b)
    size = np.uint64(work.columns.shape[1])
    rows = n + _1 if search.order == 2 else _1
    ids = np.empty(size * T, np.uint32)
    s = np.empty((size, width), np.float32)
    v = np.empty((size * rows, width), np.float32)
    turned = np.empty((n + _1, width), np.float32)
    path = np.empty(size, np.uint32)
    allowed = np.zeros(size, np.uint32)
    out = _0
    for j in range(a, b):
        m = _read_columns(codes, edges, classes, reader, starts, j, work)
        if m == _0:
            continue
        fill_ids(work, m, reader.table, reader.index, ids, _0)
        best, masked = _LOW, len(reader.lexicon.keys) > 0
        while best == _LOW:
            if tails is None:
                score_tokens(W, ids, _0, m, T, _0, s)
            else:
                score_split_tokens(W, tails, ids, m, T, s)
            if numbers is not None:
                add_numbers(s, m, n, numbers, starts[j])
            if masked:
                look_up(codes, edges, reader.lexicon, starts[j], starts[j + 1], allowed)
                _add_masks(s, m, n, allowed, _0, reader.lexicon.masks)
            best = best_path(s, m, n, D, search.order, search.beam, v, turned, path)
            if not masked:
                break
            masked = False  # if the dictionary leaves no path, the transitions alone decide
        for i in range(m):
            labels[out + i] = path[i]
        out += m


@jit()
def score_sentence(codes, edges, classes, reader, starts, j, W, numbers, n, s):
    """The scores of all labels of the tokens of sentence j, those not allowed minus infinity."""
    T = np.uint64(len(reader.table.seeds))
    work = _make_workspace(reader, starts, j, j + 1)
    m = _read_columns(codes, edges, classes, reader, starts, j, work)
    ids = np.empty((m + _1) * T, np.uint32)
    if m == _0:
        return
    fill_ids(work, m, reader.table, reader.index, ids, _0)
    score_tokens(W, ids, _0, m, T, _0, s)
    if numbers is not None:
        add_numbers(s, m, n, numbers, starts[j])
    if len(reader.lexicon.keys):
        allowed = np.zeros(m, np.uint32)
        look_up(codes, edges, reader.lexicon, starts[j], starts[j + 1], allowed)
        _add_masks(s, m, n, allowed, _0, reader.lexicon.masks)


@jit()
def score_all_labels(
    codes, edges, classes, reader, starts, a, b, W, D, numbers, search, temperature, through
):
    """What `score_through` computes for every token of the sentences a up to b, end to end."""
    longest = _0
    for j in range(a, b):
        longest = max(longest, starts[j + 1] - starts[j])
    s = np.empty((longest + _1, np.uint64(W.shape[1])), np.float32)
    free = Lexicon(reader.lexicon.keys[:0], reader.lexicon.rows[:0], reader.lexicon.masks)
    unmasked = Reader(reader.made, reader.table, reader.index, free)
    out = 0
    for j in range(a, b):
        m = np.int64(starts[j + 1] - starts[j])
        if m == 0:
            continue
        here = through[out : out + m]
        score_sentence(codes, edges, classes, reader, starts, j, W, numbers, search.n, s)
        score_through(s, m, search.n, D, search.order, temperature, here)
        if len(reader.lexicon.keys) and here[0].max() == -np.inf:
            # As in tagging: if the dictionary leaves no path, the transitions alone decide.
            score_sentence(codes, edges, classes, unmasked, starts, j, W, numbers, search.n, s)
            score_through(s, m, search.n, D, search.order, temperature, here)
        out += m


@jit(inline=True)
def _make_workspace(reader, starts, a, b):
    """Work buffers for the longest of the sentences a up to b."""
    longest = _0
    for j in range(a, b):
        longest = max(longest, starts[j + 1] - starts[j])
    return make_workspace(len(reader.made), reader.table, longest)


@jit(inline=True)
def _read_columns(codes, edges, classes, reader, starts, j, work):
    """The columns of a sentence and of what stands around it; returns how many tokens it has."""
    m = starts[j + 1] - starts[j]
    reach = reader.table.reach
    fill_columns(codes, edges, classes, reader.made, starts[j], starts[j + 1], work.columns, reach)
    fill_edges(work.columns, reach, m)
    return m
