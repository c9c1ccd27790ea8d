"""Rows of label scores in LLVM."""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from widemargin.loops.lowlevel.by_hand.choice import replaces
from widemargin.loops.lowlevel.by_hand.emit import (
    emit_data,
    emit_loop,
    emit_prefetch,
    emit_splat,
)
from widemargin.loops.lowlevel.vectors import HEAD, LINE, add_rows, add_split_rows, max_plus

_F32, _I16, _I32, _I64 = ir.FloatType(), ir.IntType(16), ir.IntType(32), ir.IntType(64)
#: Numbers of a vector: a register of AVX-512 or two of AVX2.
_EACH = 16
#: Numbers that are added in registers at once; what remains of a row is 8, 16, 32 or 48. They take
#: 8 of the 16 registers of AVX2.
_MOST = np.uint64(64)
_8, _16, _32 = np.uint64(8), np.uint64(16), np.uint64(32)


def _vectors(kind, lanes):
    """The type of a vector, and where each of the vectors begins that hold this many numbers.

    One vector of all would be simpler, but the compiler then keeps odd ones in pieces.
    """
    each = min(lanes, _EACH)
    return ir.VectorType(kind, each), range(0, lanes, each)


def _at(builder, data, index, vector):
    """The address of a vector that begins at a number."""
    return builder.bitcast(builder.gep(data, [index]), vector.as_pointer())


def _make_add_rows(lanes):
    """The sum of rows, `lanes` of their numbers at a time, from number `block` on."""

    @intrinsic
    def add(typingctx, W, ids, first, count, ahead, width, block, s, at):
        whole = W.dtype == types.int16
        stored, parts = _vectors(_I16 if whole else _F32, lanes)
        summed, _ = _vectors(_I32 if whole else _F32, lanes)
        size = 2 if whole else 4
        fetched = not isinstance(ahead, types.NoneType)

        def codegen(context, builder, signature, args):
            _, _, first, count, ahead, width, block, _, at = args
            rows, named, out = (
                emit_data(context, builder, signature.args[p], args[p]) for p in (0, 1, 7)
            )

            def place(k):
                row = builder.load(builder.gep(named, [k]))
                row = builder.zext(row, _I64) if row.type.width < 64 else row
                return builder.add(builder.mul(row, width), block)

            def body(k, sums):
                if fetched:
                    after = place(builder.add(ahead, k))
                    for number in range(0, lanes, LINE // size):
                        address = builder.gep(rows, [builder.add(after, _I64(number))])
                        emit_prefetch(builder, address)
                start, new = place(builder.add(first, k)), []
                for part, total in zip(parts, sums, strict=True):
                    address = _at(builder, rows, builder.add(start, _I64(part)), stored)
                    row = builder.load(address, align=size)
                    if whole:
                        new.append(builder.add(total, builder.sext(row, summed)))
                    else:
                        new.append(builder.fadd(total, row))
                return new

            zeros = [ir.Constant(summed, None) for _ in parts]
            sums = emit_loop(builder, _I64(0), count, 1, zeros, body)
            start = builder.add(builder.mul(at, width), block)
            for part, total in zip(parts, sums, strict=True):
                if whole and s.dtype == types.float32:
                    total = builder.sitofp(total, ir.VectorType(_F32, summed.count))
                address = _at(builder, out, builder.add(start, _I64(part)), total.type)
                builder.store(total, address, align=4)
            return context.get_dummy_value()

        u = types.uint64
        return types.void(W, ids, u, u, u if fetched else ahead, u, u, s, u), codegen

    return add


def _make_add_split_rows(lanes):
    """The sum of rows in two parts, the second of `lanes` numbers."""
    stored, parts = _vectors(_I16, HEAD)
    behind = range(0, lanes, _EACH)
    summed = ir.VectorType(_I32, _EACH)

    @intrinsic
    def add(typingctx, heads, tails, ids, first, count, ahead, width, s, at):
        def codegen(context, builder, signature, args):
            _, _, _, first, count, ahead, width, _, at = args
            rows, rest, named, out = (
                emit_data(context, builder, signature.args[p], args[p]) for p in (0, 1, 2, 7)
            )

            def place(k):
                row = builder.load(builder.gep(named, [k]))
                row = builder.zext(row, _I64) if row.type.width < 64 else row
                return builder.mul(row, _I64(HEAD))

            def body(k, sums):
                emit_prefetch(builder, builder.gep(rows, [place(builder.add(ahead, k))]))
                start = place(builder.add(first, k))
                tail = builder.load(builder.gep(rows, [builder.add(start, _I64(HEAD - 1))]))
                other = builder.mul(builder.zext(tail, _I64), _I64(lanes))
                places = [(rows, start, part) for part in parts]
                places += [(rest, other, part) for part in behind]
                new = []
                for total, (data, begin, part) in zip(sums, places, strict=True):
                    address = _at(builder, data, builder.add(begin, _I64(part)), stored)
                    row = builder.load(address, align=2)
                    new.append(builder.add(total, builder.sext(row, summed)))
                return new

            zeros = [ir.Constant(summed, None) for _ in (*parts, *behind)]
            sums = emit_loop(builder, _I64(0), count, 1, zeros, body)
            start = builder.mul(at, width)
            # The second part is written over the last number of the first.
            places = (*parts, *(HEAD - 1 + part for part in behind))
            for part, total in zip(places, sums, strict=True):
                total = builder.sitofp(total, ir.VectorType(_F32, _EACH))
                address = _at(builder, out, builder.add(start, _I64(part)), total.type)
                builder.store(total, address, align=4)
            return context.get_dummy_value()

        u = types.uint64
        return types.void(heads, tails, ids, u, u, u, u, s, u), codegen

    return add


def _make_max_plus(lanes):
    """The maximum over rows, `lanes` of their numbers at a time, from number `block` on."""
    vector, parts = _vectors(_F32, lanes)

    @intrinsic
    def best(typingctx, v, j, n, A, k, s, i, out, at, width, block):
        def codegen(context, builder, signature, args):
            _, j, n, _, first, _, i, _, at, width, block = args
            before, table, scores, after = (
                emit_data(context, builder, signature.args[p], args[p]) for p in (0, 3, 5, 7)
            )
            here = builder.mul(j, width)

            def part_of(data, start, part):
                return _at(builder, data, builder.add(start, _I64(part)), vector)

            def body(z, bests):
                one = builder.load(builder.gep(before, [builder.add(here, z)]))
                splat = emit_splat(builder, one, vector.count)
                start = builder.add(builder.mul(builder.add(first, z), width), block)
                new = []
                for part, best in zip(parts, bests, strict=True):
                    row = builder.load(part_of(table, start, part), align=4)
                    found = builder.fadd(splat, row)
                    higher = builder.fcmp_ordered(">", found, best)
                    new.append(builder.select(higher, found, best))
                return new

            start = [ir.Constant(vector, [float("-inf")] * vector.count) for _ in parts]
            bests = emit_loop(builder, _I64(0), n, 1, start, body)
            from_ = builder.add(builder.mul(i, width), block)
            to = builder.add(builder.mul(at, width), block)
            for part, best in zip(parts, bests, strict=True):
                own = builder.load(part_of(scores, from_, part), align=4)
                builder.store(builder.fadd(own, best), part_of(after, to, part), align=4)
            return context.get_dummy_value()

        u = types.uint64
        return types.void(v, u, u, A, u, s, u, out, u, u, u), codegen

    return best


_add_8, _add_16, _add_32, _add_48, _add_64 = map(_make_add_rows, (8, 16, 32, 48, 64))
_add_with_16, _add_with_32 = map(_make_add_split_rows, (16, 32))
_max_8, _max_16, _max_32, _max_48, _max_64 = map(_make_max_plus, (8, 16, 32, 48, 64))


@replaces(add_rows)
def _add_rows_by_hand(W, ids, first, count, ahead, s, at):
    width = np.uint64(W.shape[1])
    rest = width % _MOST
    for block in range(np.uint64(0), width - rest, _MOST):
        _add_64(W, ids, first, count, ahead, width, block, s, at)
    if rest > _32:
        _add_48(W, ids, first, count, ahead, width, width - rest, s, at)
    elif rest > _16:
        _add_32(W, ids, first, count, ahead, width, width - rest, s, at)
    elif rest > _8:
        _add_16(W, ids, first, count, ahead, width, width - rest, s, at)
    elif rest:
        _add_8(W, ids, first, count, ahead, width, width - rest, s, at)


@replaces(add_split_rows)
def _add_split_rows_by_hand(heads, tails, ids, first, count, ahead, s, at):
    width = np.uint64(s.shape[1])
    if tails.shape[1] == _16:
        _add_with_16(heads, tails, ids, first, count, ahead, width, s, at)
    else:
        _add_with_32(heads, tails, ids, first, count, ahead, width, s, at)


@replaces(max_plus)
def _max_plus_by_hand(v, j, n, A, k, s, i, out, at):
    width = np.uint64(A.shape[1])
    rest = width % _MOST
    for block in range(np.uint64(0), width - rest, _MOST):
        _max_64(v, j, n, A, k, s, i, out, at, width, block)
    if rest > _32:
        _max_48(v, j, n, A, k, s, i, out, at, width, width - rest)
    elif rest > _16:
        _max_32(v, j, n, A, k, s, i, out, at, width, width - rest)
    elif rest > _8:
        _max_16(v, j, n, A, k, s, i, out, at, width, width - rest)
    elif rest:
        _max_8(v, j, n, A, k, s, i, out, at, width, width - rest)
