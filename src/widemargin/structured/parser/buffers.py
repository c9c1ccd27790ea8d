"""Buffers for the parser loops, allocated once and reused for all sentences."""

from __future__ import annotations

import numpy as np

from widemargin.loops.lowlevel.vectors import LANES, aligned
from widemargin.loops.trees.arcs import FAR, ArcBuffers
from widemargin.loops.trees.beam import Beam
from widemargin.loops.trees.contexts import COUNTS, NODES, FeatureBuffers, Templates
from widemargin.loops.trees.greedy import StateBuffers
from widemargin.loops.trees.labels import ARC_COUNTS, ARC_NODES
from widemargin.loops.trees.spanning import ChartBuffers, ContractionBuffers
from widemargin.loops.trees.transitions import FACTS

#: Rows of weights per block.
_BLOCK = 1 << 14
#: The integer that the largest weight becomes.
LARGEST_WHOLE = 32767


def feature_buffers(templates: Templates) -> FeatureBuffers:
    """Buffers for the features of one state or arc."""
    return FeatureBuffers(
        np.zeros(max(len(NODES), len(ARC_NODES)), np.uint64),
        np.zeros(max(len(COUNTS), len(ARC_COUNTS)), np.uint64),
        np.zeros(len(templates.key), np.uint64),
    )


def padded(choices: int) -> int:
    """The length of a row of scores: a multiple of the number of lanes summed at once."""
    return -(-choices // LANES) * LANES


def packed_weights(weights: np.ndarray) -> np.ndarray:
    """Weights as 16-bit integers, all scaled by the same factor."""
    largest = float(np.abs(weights).max(initial=0.0))
    whole = aligned(weights.shape, np.int16)
    for a in range(0, len(weights), _BLOCK):
        scaled = weights[a : a + _BLOCK] * (LARGEST_WHOLE / largest if largest else 1.0)
        whole[a : a + _BLOCK] = np.rint(scaled)
    return whole


def state_buffers(
    templates: Templates, lanes: int, longest: int, whole: bool = False
) -> StateBuffers:
    """Buffers for one state of a sentence of at most `longest` words; `whole`: integer scores."""
    return StateBuffers(
        np.zeros((longest + 2, FACTS), np.uint32),
        np.zeros(len(templates.seed), np.uint64),
        np.zeros((1, lanes), np.int32 if whole else np.float32),
        np.zeros(3, np.int64),
        np.zeros(3, np.uint64),
    )


def beam_buffers(width: int, lanes: int, longest: int, whole: bool = False) -> Beam:
    """Buffers for a search with `width` states, plus the right one."""
    steps = max(1, 2 * longest)
    return Beam(
        np.zeros((width + 1, longest + 2, FACTS), np.uint32),
        np.zeros((2, width), np.uint64),
        np.zeros(width, np.uint64),
        np.zeros((2, width)),
        np.zeros((steps, width), np.uint64),
        np.zeros((steps, width), np.uint64),
        np.zeros(steps, np.uint64),
        np.zeros(width + 1, np.uint64),
        np.zeros((width + 1, lanes), np.int32 if whole else np.float32),
    )


def chart_buffers(longest: int) -> ChartBuffers:
    """Buffers for the best projective tree."""
    n = longest + 2
    scores = (np.zeros((n, n)) for _ in range(4))
    cuts = (np.zeros((n, n), np.uint64) for _ in range(3))
    return ChartBuffers._make([*scores, *cuts, np.zeros((3 * n, 3), np.uint64)])


def contraction_buffers(longest: int) -> ContractionBuffers:
    """Buffers for the best tree, projective or not."""
    n = longest + 1
    return ContractionBuffers(
        np.zeros((n, n)),
        np.zeros((n, n), np.uint32),
        np.zeros((n, n), np.uint32),
        np.zeros(n, np.uint8),
        np.zeros(n, np.uint64),
        np.zeros(n, np.uint8),
        np.zeros(n, np.uint64),
        *(np.zeros(2 * n, np.uint64) for _ in range(3)),
    )


def arc_buffers(templates: Templates, longest: int, rows: int) -> ArcBuffers:
    """Buffers for the scores of all arcs; for learning, `rows` is the number of weight rows."""
    features = len(templates.seed) + FAR
    touched = 2 * features * longest if rows else 0
    return ArcBuffers(
        np.zeros((longest + 2, longest + 2)),
        np.zeros(features, np.uint64),
        np.zeros(longest + 2, np.uint32),
        np.zeros(rows, np.float32),
        np.zeros(touched, np.uint64),
        np.zeros(touched, np.float32),
    )
