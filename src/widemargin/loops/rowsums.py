"""Sums of short rows of weights: the scores of all choices at once.

A feature has a row of weights, one for each choice, padded to a multiple of 16. The scores of a
configuration are the sum of the rows of its features:

    add_up(W, ids, s)       s[c] = sum_k W[ids[k], c]

Weights are float32 while they are learned. To be used they can be whole numbers of 16 bits, of
which twice as many fit into a cache line; then the scores are whole numbers of 32 bits.

Compiled, 16 scores are summed in registers while the rows to come are on their way from memory.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from widemargin.loops.jit import INLINE, OPTIONS
from widemargin.loops.storage import prefetch

#: How many scores are summed at once: one cache line of float32.
LANES = 16
_BLOCK = np.uint64(LANES)
_ONE = np.uint64(1)


def add_up(W, ids, s):
    """Sum rows of a C-ordered matrix, float32 or int16, into float32 or int32 scores."""
    s[:] = 0
    for k in range(len(ids)):
        s += W[ids[k]]


def fetch_rows(W, ids):
    """Ask the memory for the rows that will be added up."""
    width = np.uint64(W.shape[1])
    for k in range(np.uint64(len(ids))):
        start = ids[k] * width
        for c in range(np.uint64(0), width, _BLOCK):
            prefetch(W, start + c)


@intrinsic
def _sum_block(typingctx, W, ids, s, c):
    """s[c : c + 16] = sum_k W[ids[k], c : c + 16]."""

    def codegen(context, builder, signature, args):
        matrix = context.make_array(signature.args[0])(context, builder, args[0])
        places = context.make_array(signature.args[1])(context, builder, args[1])
        scores = context.make_array(signature.args[2])(context, builder, args[2])
        start = args[3]
        whole = signature.args[0].dtype == types.int16
        kind = ir.VectorType(ir.IntType(32) if whole else ir.FloatType(), LANES)
        stored = ir.VectorType(ir.IntType(16), LANES) if whole else kind
        word = ir.IntType(64)
        width = builder.extract_value(matrix.shape, 1)
        count = builder.extract_value(places.shape, 0)
        before = builder.block
        loop = builder.append_basic_block("rows")
        after = builder.append_basic_block("summed")
        any_rows = builder.icmp_unsigned("!=", count, word(0))
        builder.cbranch(any_rows, loop, after)
        builder.position_at_end(loop)
        k = builder.phi(word)
        total = builder.phi(kind)
        row = builder.load(builder.gep(places.data, [k]))
        place = builder.add(builder.mul(row, width), start)
        address = builder.bitcast(builder.gep(matrix.data, [place]), stored.as_pointer())
        weights = builder.load(address, align=2 if whole else 4)
        if whole:
            more = builder.add(total, builder.sext(weights, kind))
        else:
            more = builder.fadd(total, weights)
        following = builder.add(k, word(1))
        k.add_incoming(word(0), before)
        k.add_incoming(following, loop)
        total.add_incoming(ir.Constant(kind, None), before)
        total.add_incoming(more, loop)
        builder.cbranch(builder.icmp_unsigned("<", following, count), loop, after)
        builder.position_at_end(after)
        found = builder.phi(kind)
        found.add_incoming(ir.Constant(kind, None), before)
        found.add_incoming(more, loop)
        target = builder.bitcast(builder.gep(scores.data, [start]), kind.as_pointer())
        builder.store(found, target, align=4)
        return context.get_dummy_value()

    return types.void(W, ids, s, c), codegen


@overload(add_up, jit_options=OPTIONS | INLINE)
def _add_up(W, ids, s):
    def summed(W, ids, s):
        for c in range(np.uint64(0), np.uint64(W.shape[1]), _BLOCK):
            _sum_block(W, ids, s, c)

    return summed


@overload(fetch_rows, jit_options=OPTIONS | INLINE)
def _fetch_rows(W, ids):
    return fetch_rows
