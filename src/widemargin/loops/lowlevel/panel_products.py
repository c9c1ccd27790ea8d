"""Products of 6 rows with 16 others that are laid out side by side, as a panel: P[g, k, j].

All 96 sums stay in registers during one pass over the features, and each is added up in the order
of the features: a value does not depend on what is computed beside it.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from widemargin.loops.jit import FUSED
from widemargin.loops.lowlevel.choice import replaces
from widemargin.loops.lowlevel.emit import emit_loop, emit_prefetch, emit_splat
from widemargin.loops.processor import this_processor

#: Rows of a panel, and rows that meet it at once: 12 registers of sums, as AVX2 has room for.
PANEL, ROWS = 16, 6
#: Numbers of a register of AVX2, and features that are added between two prefetches (not tuned).
_LANES, _UNROLLED = 8, 4
_PANEL, _ROWS = np.uint64(PANEL), np.uint64(ROWS)
_F32, _I64 = ir.FloatType(), ir.IntType(64)


@cache
def suits_this_processor() -> bool:
    """Whether the sums fit the registers, and BLAS would not compute twice as many at a time.

    Zen 4 has registers of AVX-512 but takes them in two halves, so its peak is that of AVX2: a fit
    of 20,000 rows of MNIST takes 1.75 s with panels and 2.3 s with BLAS, of ijcnn1 0.8 and 1.2 s.
    """
    here = this_processor()
    wide = here.has("avx512f") and here.name != "znver4"
    return here.has("avx2", "fma") and not wide


def multiply_panel(X, i, P, g, T, t, x, z, step):
    """T[r, 16 t + j] = X[i[r]] . (row j of panel g), for 6 rows.

    Meanwhile what is wanted next is fetched: the row x of X, and the numbers of P from z on, `step`
    of them a feature. The plain version fetches nothing.

    By hand, because the compiler keeps the sums in memory: values of the Gaussian kernel are made
    at 72 to 79 GFLOP/s, with the plain function at 5 to 7 GFLOP/s (rows of 100 and 784 features).
    """
    panel, start = P[g], t * _PANEL
    for r in range(_ROWS):
        row, sums = X[i[r]], T[r, start : start + _PANEL]
        sums[:] = 0.0
        for k in range(len(row)):
            a, others = row[k], panel[k]
            for j in range(len(others)):
                sums[j] += a * others[j]


@intrinsic
def _multiply_panel(typingctx, X, i, P, g, T, t, x, z, step):
    vector = ir.VectorType(_F32, _LANES)
    halves = PANEL // _LANES

    def codegen(context, builder, signature, args):
        def data(at):
            return context.make_array(signature.args[at])(context, builder, args[at])

        def begins(array, index):
            """The address of a vector."""
            return builder.bitcast(builder.gep(array, [index]), vector.as_pointer())

        rows, named, panels, out = data(0), data(1), data(2), data(4)
        width = builder.extract_value(rows.shape, 1)
        across = builder.extract_value(out.shape, 1)
        starts = []
        for r in range(ROWS):
            row = builder.load(builder.gep(named.data, [_I64(r)]))
            starts.append(builder.gep(rows.data, [builder.mul(row, width)]))
        panel = builder.mul(args[3], builder.mul(width, _I64(PANEL)))
        panel = builder.gep(panels.data, [panel])
        next_row = builder.gep(rows.data, [builder.mul(args[6], width)])
        next_panel = builder.gep(panels.data, [args[7]])

        def add_feature(k, sums):
            """The sums with one feature more."""
            here = builder.mul(k, _I64(PANEL))
            z = [
                builder.load(begins(panel, builder.add(here, _I64(h * _LANES))), align=4)
                for h in range(halves)
            ]
            found = []
            for r in range(ROWS):
                x = emit_splat(builder, builder.load(builder.gep(starts[r], [k])), _LANES)
                for h in range(halves):
                    product = builder.fmul(x, z[h], flags=("contract",))
                    one = sums[r * halves + h]
                    found.append(builder.fadd(one, product, flags=("contract",)))
            return found

        def add_features(k, sums):
            emit_prefetch(builder, builder.gep(next_row, [k]))
            emit_prefetch(builder, builder.gep(next_panel, [builder.mul(k, args[8])]))
            for u in range(_UNROLLED):
                sums = add_feature(builder.add(k, _I64(u)), sums)
            return sums

        whole = builder.sub(width, builder.urem(width, _I64(_UNROLLED)))
        sums = [ir.Constant(vector, [0.0] * _LANES)] * (ROWS * halves)
        sums = emit_loop(builder, _I64(0), whole, _UNROLLED, sums, add_features)
        sums = emit_loop(builder, whole, width, 1, sums, add_feature)
        for r in range(ROWS):
            for h in range(halves):
                at = builder.add(builder.mul(args[5], _I64(PANEL)), _I64(h * _LANES))
                at = builder.add(builder.mul(_I64(r), across), at)
                builder.store(sums[r * halves + h], begins(out.data, at), align=4)
        return context.get_dummy_value()

    u = types.uint64
    return types.void(X, i, P, u, T, u, u, u, u), codegen


@replaces(multiply_panel, FUSED)
def _multiply_panel_by_hand(X, i, P, g, T, t, x, z, step):
    u = np.uint64
    _multiply_panel(X, i, P, u(g), T, u(t), u(x), u(z), u(step))
