"""Rows of label scores: short, all of the same width, and worth a few vector instructions each.

A row holds a number for each label, and is padded to 8 numbers or a multiple of 16. The compiler,
left alone, keeps the sums in memory; here they stay in registers while many rows are added.

    add_rows(W, ids, first, count, ahead, s, at)    s[at] = the sum of W[ids[first:first + count]]
    fetch_rows(W, ids, first, count)                ask the memory for those rows
    max_plus(v, j, n, A, k, s, i, out, at)          out[at] = s[i] + max of v[j][z] + A[k + z]

All arrays are C-ordered float32 matrices of the same width, but for ids, which is flat. W may also
hold whole numbers of 16 bits, of which twice as many fit into a cache line: they are added as
numbers of 32 bits, and s may hold such. With the compiler off the plain functions below do the
same, to the bit.

Rows are read quickest where they begin with a cache line; `aligned` makes room for such.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from widemargin.loops.jit import INLINE, OPTIONS
from widemargin.loops.lowlevel.choice import replaces
from widemargin.loops.lowlevel.emit import emit_data, emit_loop, emit_prefetch, emit_splat
from widemargin.loops.lowlevel.prefetch import prefetch

_F32, _I16, _I32, _I64 = ir.FloatType(), ir.IntType(16), ir.IntType(32), ir.IntType(64)
#: Bytes of a cache line.
_LINE = 64
#: Rows are padded to a multiple of this, or to 8: then vectors divide them without a remainder, and
#: rows of float32 begin with a cache line.
LANES = 16
#: Numbers of a vector: a register of AVX2; and while rows are added, one of AVX-512 or two of AVX2.
#: Where there is AVX-512, sums of 48 float32 take five sixths of the time so, maxima more.
_EACH, _ADDED = 8, 16
#: Numbers that are added in registers at once; what remains of a row is 8, 16, 32 or 48. They take
#: 8 of the 16 registers of AVX2.
_MOST = np.uint64(64)
_8, _16, _32 = np.uint64(8), np.uint64(16), np.uint64(32)


def aligned(shape, kind):
    """An array of zeros, C-ordered, that begins with a cache line."""
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    room = np.zeros(size + _LINE, np.uint8)
    start = -room.ctypes.data % _LINE
    return room[start : start + size].view(kind).reshape(shape)


def add_rows(W, ids, first, count, ahead, s, at):
    """s[at] = the sum of the rows of W that ids[first:first + count] names.

    Those that ids[ahead:ahead + count] names are fetched meanwhile, unless ahead is None: they are
    wanted next. The plain version fetches nothing, and adds whole numbers as numbers of the type of
    s: the same, as long as no sum exceeds 2^24.

    By hand, because the compiler keeps the sums in memory: with 36 rows of 32 labels for each token
    this takes 153 ns per token (134 ns with 16 bits), the plain function 478 ns (440 ns).
    """
    total = s[at]
    total[:] = 0
    for k in range(first, first + count):
        total += W[ids[k]]


def fetch_rows(W, ids, first, count):
    """Ask the memory for the rows that ids[first:first + count] names."""
    width, line = np.uint64(W.shape[1]), np.uint64(_LINE // W.itemsize)
    for k in range(first, first + count):
        start = np.uint64(ids[k]) * width
        for c in range(np.uint64(0), width, line):
            prefetch(W, start + c)


def max_plus(v, j, n, A, k, s, i, out, at):
    """out[at] = s[i] + max over z < n of v[j][z] + A[k + z], for all labels at once.

    By hand for the same reason: 22 labels take 35 ns per token, and 403 ns with the plain function.
    """
    best, own = out[at], s[i]
    best[:] = -np.inf
    for z in range(n):
        one, row = v[j, z], A[k + z]
        for y in range(len(row)):
            found = one + row[y]
            if found > best[y]:
                best[y] = found
    best += own


def _vectors(kind, lanes, most=_EACH):
    """The type of a vector, and where each of the vectors begins that hold this many numbers.

    One vector of all would be simpler, but the compiler then keeps odd ones in pieces.
    """
    each = min(lanes, most)
    return ir.VectorType(kind, each), range(0, lanes, each)


def _at(builder, data, index, vector):
    """The address of a vector that begins at a number."""
    return builder.bitcast(builder.gep(data, [index]), vector.as_pointer())


def _make_add_rows(lanes):
    """The sum of rows, `lanes` of their numbers at a time, from number `block` on."""

    @intrinsic
    def add(typingctx, W, ids, first, count, ahead, width, block, s, at):
        whole = W.dtype == types.int16
        stored, parts = _vectors(_I16 if whole else _F32, lanes, _ADDED)
        summed, _ = _vectors(_I32 if whole else _F32, lanes, _ADDED)
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
                    for number in range(0, lanes, _LINE // size):
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
                splat = emit_splat(builder, one, _EACH)
                start = builder.add(builder.mul(builder.add(first, z), width), block)
                new = []
                for part, best in zip(parts, bests, strict=True):
                    row = builder.load(part_of(table, start, part), align=4)
                    found = builder.fadd(splat, row)
                    higher = builder.fcmp_ordered(">", found, best)
                    new.append(builder.select(higher, found, best))
                return new

            start = [ir.Constant(vector, [float("-inf")] * _EACH) for _ in parts]
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
_max_8, _max_16, _max_32, _max_48, _max_64 = map(_make_max_plus, (8, 16, 32, 48, 64))


@overload(fetch_rows, jit_options=OPTIONS | INLINE)
def _fetch_rows(W, ids, first, count):
    return fetch_rows


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
