"""The longest run of one label, and when it is suspicious."""

from itertools import chain, groupby

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from widemargin.online.label_runs import LabelRuns

PIECES = st.lists(st.lists(st.integers(0, 2), max_size=8), max_size=6)


def longest_of(codes):
    return max((len(list(run)) for _, run in groupby(codes)), default=0)


@given(PIECES)
def test_pieces_are_the_whole(pieces):
    runs = LabelRuns()
    for piece in pieces:
        runs.add(np.array(piece, np.int64))
    whole = list(chain.from_iterable(pieces))
    assert runs.longest == longest_of(whole)
    if whole:
        found = [label for label, run in groupby(whole) if len(list(run)) == runs.longest]
        assert runs.label in found


@given(PIECES, PIECES)
def test_labels_may_get_other_codes_between_pieces(before, after):
    codes = np.array([3, 0, 2])
    runs, whole = LabelRuns(), []
    for piece in before:
        runs.add(np.array(piece, np.int64))
        whole += codes[piece].tolist() if piece else []
    runs.rename(codes)
    for piece in after:
        runs.add(np.array(piece, np.int64))
        whole += piece
    assert runs.longest == longest_of(whole)


def suspicious(codes):
    runs = LabelRuns()
    runs.add(codes)
    return runs.is_suspicious


def test_sorted_labels_are_suspicious_and_shuffled_ones_are_not():
    rng = np.random.default_rng(0)
    for share in (0.5, 0.9, 0.99, 0.999):
        codes = (rng.random(200_000) < share).astype(np.int64)
        assert not suspicious(codes)
        assert suspicious(np.sort(codes))
    assert not suspicious(np.zeros(100_000, np.int64))  # a single class is another error
    assert not suspicious(np.repeat([0, 1], 400))  # too few to say
