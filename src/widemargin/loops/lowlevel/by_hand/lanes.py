"""Weights of several classes side by side in LLVM."""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from widemargin.loops.lowlevel.by_hand.choice import replaces
from widemargin.loops.lowlevel.by_hand.emit import emit_data, emit_loop, emit_splat
from widemargin.loops.lowlevel.lanes import LANES, add_to_rows, weigh_rows

_I64, _VECTOR = ir.IntType(64), ir.VectorType(ir.FloatType(), LANES)
#: Lanes that are worked on at once; what remains is 8, 16 or 24.
_MOST = np.uint64(32)
_8, _16 = np.uint64(8), np.uint64(16)


class _Lanes:
    """Some lanes of the rows of V, and the values and numbers of rows that go with them."""

    def __init__(self, context, builder, signature, args, lanes):
        self.builder = builder
        self.rows, self.values, self.named, self.own = (
            emit_data(context, builder, signature.args[p], args[p]) for p in (0, 1, 2, 5)
        )
        self.first, self.last, self.width, self.block = args[3], args[4], args[6], args[7]
        self.parts = range(0, lanes, LANES)

    def at(self, data, start, part):
        """The address of a vector of lanes."""
        place = self.builder.add(start, _I64(part))
        return self.builder.bitcast(self.builder.gep(data, [place]), _VECTOR.as_pointer())

    def value(self, k):
        """The value k, in all lanes."""
        one = self.builder.load(self.builder.gep(self.values, [k]))
        return emit_splat(self.builder, one, LANES)

    def row(self, k):
        """Where the lanes of the row begin that has the number k."""
        row = self.builder.load(self.builder.gep(self.named, [k]))
        row = self.builder.zext(row, _I64) if row.type.width < 64 else row
        return self.builder.add(self.builder.mul(row, self.width), self.block)


def _signature(V, x, ids, own):
    u = types.uint64
    return types.void(V, x, ids, u, u, own, u, u)


def _make_weigh(lanes):
    """The sum of rows, `lanes` of their numbers from number `block` on."""

    @intrinsic
    def weigh(typingctx, V, x, ids, first, last, s, width, block):
        def codegen(context, builder, signature, args):
            here = _Lanes(context, builder, signature, args, lanes)

            def body(k, sums):
                start, value = here.row(k), here.value(k)
                rows = [
                    builder.load(here.at(here.rows, start, part), align=4) for part in here.parts
                ]
                return [
                    builder.fadd(total, builder.fmul(value, row))
                    for total, row in zip(sums, rows, strict=True)
                ]

            zeros = [ir.Constant(_VECTOR, None) for _ in here.parts]
            sums = emit_loop(builder, here.first, here.last, 1, zeros, body)
            for part, total in zip(here.parts, sums, strict=True):
                builder.store(total, here.at(here.own, here.block, part), align=4)
            return context.get_dummy_value()

        return _signature(V, x, ids, s), codegen

    return weigh


def _make_add(lanes):
    """Add to rows, `lanes` of their numbers from number `block` on."""

    @intrinsic
    def add(typingctx, V, x, ids, first, last, t, width, block):
        def codegen(context, builder, signature, args):
            here = _Lanes(context, builder, signature, args, lanes)
            steps = [builder.load(here.at(here.own, here.block, p), align=4) for p in here.parts]

            def body(k, nothing):
                start, value = here.row(k), here.value(k)
                for part, step in zip(here.parts, steps, strict=True):
                    place = here.at(here.rows, start, part)
                    sum_ = builder.fadd(builder.load(place, align=4), builder.fmul(value, step))
                    builder.store(sum_, place, align=4)
                return nothing

            emit_loop(builder, here.first, here.last, 1, [], body)
            return context.get_dummy_value()

        return _signature(V, x, ids, t), codegen

    return add


_weigh_8, _weigh_16, _weigh_24, _weigh_32 = map(_make_weigh, (8, 16, 24, 32))
_add_8, _add_16, _add_24, _add_32 = map(_make_add, (8, 16, 24, 32))


@replaces(weigh_rows)
def _weigh_rows_by_hand(V, x, ids, first, last, s):
    width = np.uint64(V.shape[1])
    rest = width % _MOST
    for block in range(np.uint64(0), width - rest, _MOST):
        _weigh_32(V, x, ids, first, last, s, width, block)
    if rest > _16:
        _weigh_24(V, x, ids, first, last, s, width, width - rest)
    elif rest > _8:
        _weigh_16(V, x, ids, first, last, s, width, width - rest)
    elif rest:
        _weigh_8(V, x, ids, first, last, s, width, width - rest)


@replaces(add_to_rows)
def _add_to_rows_by_hand(V, x, ids, first, last, t):
    width = np.uint64(V.shape[1])
    rest = width % _MOST
    for block in range(np.uint64(0), width - rest, _MOST):
        _add_32(V, x, ids, first, last, t, width, block)
    if rest > _16:
        _add_24(V, x, ids, first, last, t, width, width - rest)
    elif rest > _8:
        _add_16(V, x, ids, first, last, t, width, width - rest)
    elif rest:
        _add_8(V, x, ids, first, last, t, width, width - rest)
