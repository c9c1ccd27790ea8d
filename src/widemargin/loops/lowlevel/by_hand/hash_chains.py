"""`chain_hashes` in LLVM."""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from widemargin.loops.lowlevel.by_hand.choice import replaces
from widemargin.loops.lowlevel.by_hand.emit import emit_data, emit_loop, emit_splat
from widemargin.loops.lowlevel.hash_chains import PRIME, TOGETHER, chain_hashes

_I64 = ir.IntType(64)
#: A register of AVX-512, or two of AVX2.
_VECTOR = ir.VectorType(_I64, TOGETHER)
_PRIMES = ir.Constant(_VECTOR, [int(PRIME)] * TOGETHER)
_ONES = ir.Constant(_VECTOR, [1] * TOGETHER)


@intrinsic
def _chain(typingctx, columns, width, which, places, first, last, seed, at, n, hashes, out):
    """As `chain_hashes`; `width` is that of a row of columns, `out` the first place in hashes."""

    def codegen(context, builder, signature, args):
        def data_of(p):
            return emit_data(context, builder, signature.args[p], args[p])

        cells, named, moved, found = data_of(0), data_of(2), data_of(3), data_of(9)
        width, (first, last, seed, at, n), out = args[1], args[4:9], args[10]

        def vector_at(data, place):
            return builder.bitcast(builder.gep(data, [place]), _VECTOR.as_pointer())

        def extended(h, x):
            return builder.mul(builder.xor(h, x), _PRIMES)

        def hash_some(i, _):
            here = builder.add(at, i)

            def add_cells(p, so_far):
                row = builder.mul(builder.load(builder.gep(named, [p])), width)
                place = builder.add(here, builder.load(builder.gep(moved, [p])))
                cell = builder.load(vector_at(cells, builder.add(row, place)), align=8)
                return [extended(so_far[0], cell)]

            begun = [emit_splat(builder, seed, TOGETHER)]
            (h,) = emit_loop(builder, first, last, 1, begun, add_cells)
            h = builder.or_(extended(h, emit_splat(builder, last, TOGETHER)), _ONES)
            builder.store(h, vector_at(found, builder.add(out, i)), align=8)
            return []

        emit_loop(builder, _I64(0), n, TOGETHER, [], hash_some)
        return context.get_dummy_value()

    u = types.uint64
    return types.void(columns, u, which, places, u, u, u, u, u, hashes, u), codegen


@replaces(chain_hashes)
def _chain_hashes_by_hand(columns, which, places, first, last, seed, at, n, hashes, t):
    width, wide = np.uint64(columns.shape[1]), np.uint64(hashes.shape[1])
    _chain(columns, width, which, places, first, last, seed, at, n, hashes, t * wide)
