"""Rows of label scores: short, all of the same width, and worth a vector instruction each.

A row holds a number for each label, and is padded to 8 numbers or a multiple of 16. The compiler,
left alone, keeps the sums in memory; here they stay in registers while many rows are added.

    add_rows(W, ids, first, count, ahead, s, at)    s[at] = the sum of W[ids[first:first + count]]
    max_plus(v, j, n, A, k, s, i, out, at)          out[at] = s[i] + max of v[j][z] + A[k + z]

All arrays are C-ordered float32 matrices of the same width, but for ids, which is flat. With the
compiler off the plain functions below do the same, to the bit.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from widemargin.loops.jit import INLINE, OPTIONS
from widemargin.loops.storage import emit_prefetch

_F32, _I64 = ir.FloatType(), ir.IntType(64)
#: Numbers in a cache line.
_LINE = 16
_8, _16, _32 = np.uint64(8), np.uint64(16), np.uint64(32)


def add_rows(W, ids, first, count, ahead, s, at):
    """s[at] = the sum of the rows of W that ids[first:first + count] names.

    Those that ids[ahead:ahead + count] names are fetched meanwhile: they are wanted next.
    """
    s[at] = 0
    for k in ids[int(first) : int(first) + int(count)]:
        s[at] += W[k]


def max_plus(v, j, n, A, k, s, i, out, at):
    """out[at] = s[i] + max over z < n of v[j][z] + A[k + z], for all labels at once."""
    best = np.full(A.shape[1], -np.inf, np.float32)
    for z in range(int(n)):
        np.maximum(best, v[j, z] + A[int(k) + z], out=best)
    out[at] = s[i] + best


def _data(context, builder, kind, value):
    return context.make_array(kind)(context, builder, value).data


def _at(builder, data, index, vector):
    """The address of a vector that begins at a number."""
    return builder.bitcast(builder.gep(data, [index]), vector.as_pointer())


def _loop(builder, count, start, body):
    """Emit `for k in range(count): value = body(k, value)`; gives the last value."""
    before = builder.block
    head = builder.append_basic_block("head")
    inside = builder.append_basic_block("inside")
    after = builder.append_basic_block("after")
    builder.branch(head)
    builder.position_at_end(head)
    k, value = builder.phi(_I64), builder.phi(start.type)
    k.add_incoming(_I64(0), before)
    value.add_incoming(start, before)
    builder.cbranch(builder.icmp_unsigned("<", k, count), inside, after)
    builder.position_at_end(inside)
    new = body(k, value)
    k.add_incoming(builder.add(k, _I64(1)), builder.block)
    value.add_incoming(new, builder.block)
    builder.branch(head)
    builder.position_at_end(after)
    return value


def _make_add_rows(lanes):
    """The sum of rows, `lanes` of their numbers at a time, from number `block` on."""
    vector = ir.VectorType(_F32, lanes)

    @intrinsic
    def add(typingctx, W, ids, first, count, ahead, width, block, s, at):
        def codegen(context, builder, signature, args):
            _, _, first, count, ahead, width, block, _, at = args
            rows = _data(context, builder, signature.args[0], args[0])
            named = _data(context, builder, signature.args[1], args[1])
            out = _data(context, builder, signature.args[7], args[7])

            def place(k):
                row = builder.load(builder.gep(named, [k]))
                row = builder.zext(row, _I64) if row.type.width < 64 else row
                return builder.add(builder.mul(row, width), block)

            def body(k, sums):
                after = place(builder.add(ahead, k))
                for line in range(0, lanes, _LINE):
                    address = builder.gep(rows, [builder.add(after, _I64(line))])
                    emit_prefetch(builder, address)
                start = place(builder.add(first, k))
                return builder.fadd(sums, builder.load(_at(builder, rows, start, vector), align=4))

            sums = _loop(builder, count, ir.Constant(vector, [0.0] * lanes), body)
            start = builder.add(builder.mul(at, width), block)
            builder.store(sums, _at(builder, out, start, vector), align=4)
            return context.get_dummy_value()

        u = types.uint64
        return types.void(W, ids, u, u, u, u, u, s, u), codegen

    return add


def _make_max_plus(lanes):
    """The maximum over rows, `lanes` of their numbers at a time, from number `block` on."""
    vector = ir.VectorType(_F32, lanes)

    @intrinsic
    def best(typingctx, v, j, n, A, k, s, i, out, at, width, block):
        def codegen(context, builder, signature, args):
            _, j, n, _, first, _, i, _, at, width, block = args
            before, table, scores, after = (
                _data(context, builder, signature.args[p], args[p]) for p in (0, 3, 5, 7)
            )
            here = builder.mul(j, width)

            def body(z, best):
                one = builder.load(builder.gep(before, [builder.add(here, z)]))
                start = builder.add(builder.mul(builder.add(first, z), width), block)
                row = builder.load(_at(builder, table, start, vector), align=4)
                nothing = ir.Constant(vector, ir.Undefined)
                splat = builder.insert_element(nothing, one, ir.IntType(32)(0))
                zeros = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
                splat = builder.shuffle_vector(splat, nothing, zeros)
                found = builder.fadd(splat, row)
                return builder.select(builder.fcmp_ordered(">", found, best), found, best)

            start = ir.Constant(vector, [float("-inf")] * lanes)
            best = _loop(builder, n, start, body)
            from_ = builder.add(builder.mul(i, width), block)
            to = builder.add(builder.mul(at, width), block)
            own = builder.load(_at(builder, scores, from_, vector), align=4)
            builder.store(builder.fadd(own, best), _at(builder, after, to, vector), align=4)
            return context.get_dummy_value()

        u = types.uint64
        return types.void(v, u, u, A, u, s, u, out, u, u, u), codegen

    return best


_add_8, _add_16, _add_32 = (_make_add_rows(lanes) for lanes in (8, 16, 32))
_max_8, _max_16, _max_32 = (_make_max_plus(lanes) for lanes in (8, 16, 32))


@overload(add_rows, jit_options=OPTIONS | INLINE)
def _add_rows(W, ids, first, count, ahead, s, at):
    def add(W, ids, first, count, ahead, s, at):
        width = np.uint64(W.shape[1])
        if width == _8:
            _add_8(W, ids, first, count, ahead, width, np.uint64(0), s, at)
        else:
            for block in range(np.uint64(0), width - _16, _32):
                _add_32(W, ids, first, count, ahead, width, block, s, at)
            if width & _16:
                _add_16(W, ids, first, count, ahead, width, width - _16, s, at)

    return add


@overload(max_plus, jit_options=OPTIONS | INLINE)
def _max_plus(v, j, n, A, k, s, i, out, at):
    def best(v, j, n, A, k, s, i, out, at):
        width = np.uint64(A.shape[1])
        if width == _8:
            _max_8(v, j, n, A, k, s, i, out, at, width, np.uint64(0))
        else:
            for block in range(np.uint64(0), width - _16, _32):
                _max_32(v, j, n, A, k, s, i, out, at, width, block)
            if width & _16:
                _max_16(v, j, n, A, k, s, i, out, at, width, width - _16)

    return best
