"""MurmurHash3 (x86, 32 bits, seed 0) in steps, so that names with a common beginning share work.

    h = 0
    for each block of four bytes:   h = mix(h, load(text, p))
    g = finish(h, load(text, p) & what is left of the last block, length)

`absorb` does one block if there is one, without a branch: how long a word is cannot be guessed.

Feature hashing wants |h| for the column and the sign of h. So `finish` gives both in one number,
g = 2 |h| + (h < 0), from which nothing is lost.

Compiled, each is a few instructions on 32 bits, which numba's own integers (all of 64) are not.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from widemargin.loops.jit import INLINE, OPTIONS

_C1, _C2, _C3, _C4, _C5 = 0xCC9E2D51, 0x1B873593, 0xE6546B64, 0x85EBCA6B, 0xC2B2AE35
_I32 = ir.IntType(32)
_ALL = 0xFFFFFFFF


def load(text, p):
    """The four bytes that begin at p, as a number; the text must go on so far."""
    return np.uint32(int.from_bytes(text[int(p) : int(p) + 4].tobytes(), "little"))


def mix(h, k):
    """One block k mixed into h."""
    h = int(h) ^ _scramble(int(k))
    return np.uint32((_rotate(h, 13) * 5 + _C3) & _ALL)


def absorb(h, k, whole):
    """One block mixed into h if `whole` says that it is one; else h."""
    return mix(h, k) if whole else h


def finish(h, k, length):
    """The last bytes k (0 if there are none) mixed in: 2 |h| + (h < 0)."""
    h = int(h) ^ _scramble(int(k)) ^ int(length)
    h = ((h ^ (h >> 16)) * _C4) & _ALL
    h = ((h ^ (h >> 13)) * _C5) & _ALL
    h ^= h >> 16
    negative = h >> 31
    return np.uint32((2 * ((_ALL + 1 - h) if negative else h) + negative) & _ALL)


def _rotate(k: int, by: int) -> int:
    return ((k << by) | (k >> (32 - by))) & _ALL


def _scramble(k: int) -> int:
    return (_rotate((k * _C1) & _ALL, 15) * _C2) & _ALL


def copy_block(source, p, text, q):
    """Copy 16 bytes; both must go on so far."""
    text[int(q) : int(q) + 16] = source[int(p) : int(p) + 16]


def word_bits(text, p):
    """Bit i says whether byte p + i is a letter, a digit, an underscore or not ASCII."""
    block = text[int(p) : int(p) + 64].astype(np.uint32)
    folded = block | 0x20
    words = ((folded >= 97) & (folded < 123)) | ((block >= 48) & (block < 58)) | (block == 95)
    words |= block >= 128
    return np.uint64(int.from_bytes(np.packbits(words, bitorder="little").tobytes(), "little"))


def lowest_bit(bits):
    """The place of the lowest bit that is set; there must be one."""
    return np.uint64((int(bits) & -int(bits)).bit_length() - 1)


# The same for the compiler.


def _const(number):
    return ir.Constant(_I32, number)


def _emit_rotate(builder, k, by):
    return builder.or_(builder.shl(k, _const(by)), builder.lshr(k, _const(32 - by)))


def _emit_scramble(builder, k):
    k = builder.mul(k, _const(_C1))
    return builder.mul(_emit_rotate(builder, k, 15), _const(_C2))


@intrinsic
def _load(typingctx, text, p):
    def codegen(context, builder, signature, args):
        view = context.make_array(signature.args[0])(context, builder, args[0])
        address = builder.bitcast(builder.gep(view.data, [args[1]]), _I32.as_pointer())
        return builder.load(address, align=1)

    return types.uint32(text, p), codegen


@intrinsic
def _mix(typingctx, h, k):
    def codegen(context, builder, signature, args):
        h = builder.xor(args[0], _emit_scramble(builder, args[1]))
        return builder.add(builder.mul(_emit_rotate(builder, h, 13), _const(5)), _const(_C3))

    return types.uint32(types.uint32, types.uint32), codegen


@intrinsic
def _absorb(typingctx, h, k, whole):
    def codegen(context, builder, signature, args):
        m = builder.xor(args[0], _emit_scramble(builder, args[1]))
        m = builder.add(builder.mul(_emit_rotate(builder, m, 13), _const(5)), _const(_C3))
        return builder.select(args[2], m, args[0])

    return types.uint32(types.uint32, types.uint32, types.boolean), codegen


@intrinsic
def _finish(typingctx, h, k, length):
    def codegen(context, builder, signature, args):
        h = builder.xor(args[0], _emit_scramble(builder, args[1]))
        h = builder.xor(h, args[2])
        for shift, factor in ((16, _C4), (13, _C5), (16, None)):
            h = builder.xor(h, builder.lshr(h, _const(shift)))
            if factor is not None:
                h = builder.mul(h, _const(factor))
        negative = builder.lshr(h, _const(31))
        signs = builder.sub(_const(0), negative)  # all ones if negative
        size = builder.add(builder.xor(h, signs), negative)
        return builder.or_(builder.shl(size, _const(1)), negative)

    return types.uint32(types.uint32, types.uint32, types.uint32), codegen


@intrinsic
def _copy_block(typingctx, source, p, text, q):
    def codegen(context, builder, signature, args):
        block = ir.VectorType(ir.IntType(8), 16).as_pointer()
        ends = []
        for at in (0, 2):
            view = context.make_array(signature.args[at])(context, builder, args[at])
            ends.append(builder.bitcast(builder.gep(view.data, [args[at + 1]]), block))
        builder.store(builder.load(ends[0], align=1), ends[1], align=1)
        return context.get_dummy_value()

    return types.void(source, p, text, q), codegen


@intrinsic
def _word_bits(typingctx, text, p):
    def codegen(context, builder, signature, args):
        kind = ir.VectorType(ir.IntType(8), 64)

        def all_of(number):
            return ir.Constant(kind, [number] * 64)

        def within(block, first, size):
            return builder.icmp_unsigned("<", builder.sub(block, all_of(first)), all_of(size))

        view = context.make_array(signature.args[0])(context, builder, args[0])
        address = builder.bitcast(builder.gep(view.data, [args[1]]), kind.as_pointer())
        block = builder.load(address, align=1)
        words = builder.or_(
            within(builder.or_(block, all_of(0x20)), 97, 26),
            builder.or_(within(block, 48, 10), builder.icmp_unsigned("==", block, all_of(95))),
        )
        words = builder.or_(words, builder.icmp_signed("<", block, all_of(0)))
        return builder.bitcast(words, ir.IntType(64))

    return types.uint64(text, p), codegen


@intrinsic
def _lowest_bit(typingctx, bits):
    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), codegen


@overload(load, jit_options=OPTIONS | INLINE)
def _load_compiled(text, p):
    return lambda text, p: _load(text, p)


@overload(mix, jit_options=OPTIONS | INLINE)
def _mix_compiled(h, k):
    return lambda h, k: _mix(h, k)


@overload(absorb, jit_options=OPTIONS | INLINE)
def _absorb_compiled(h, k, whole):
    return lambda h, k, whole: _absorb(h, k, whole)


@overload(finish, jit_options=OPTIONS | INLINE)
def _finish_compiled(h, k, length):
    return lambda h, k, length: _finish(h, k, length)


@overload(copy_block, jit_options=OPTIONS | INLINE)
def _copy_block_compiled(source, p, text, q):
    return lambda source, p, text, q: _copy_block(source, p, text, q)


@overload(word_bits, jit_options=OPTIONS | INLINE)
def _word_bits_compiled(text, p):
    return lambda text, p: _word_bits(text, p)


@overload(lowest_bit, jit_options=OPTIONS | INLINE)
def _lowest_bit_compiled(bits):
    return lambda bits: _lowest_bit(bits)
