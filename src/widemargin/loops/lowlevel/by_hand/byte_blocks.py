"""Blocks of bytes in LLVM."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from widemargin.loops.lowlevel.by_hand.choice import replaces
from widemargin.loops.lowlevel.by_hand.emit import emit_data, emit_splat
from widemargin.loops.lowlevel.byte_blocks import (
    copy_block,
    count_in_block,
    lowest_bit,
    word_bits,
)

_BYTE, _WORD = ir.IntType(8), ir.IntType(64)


def _emit_address(context, builder, kind, array, k, vector):
    """Emit the address of the vector of bytes that begins at element k of an array."""
    data = emit_data(context, builder, kind, array)
    return builder.bitcast(builder.gep(data, [k]), vector.as_pointer())


@intrinsic
def _copy_block(typingctx, source, p, text, q):
    def codegen(context, builder, signature, args):
        block = ir.VectorType(_BYTE, 16)
        start, end = (
            _emit_address(context, builder, signature.args[at], args[at], args[at + 1], block)
            for at in (0, 2)
        )
        builder.store(builder.load(start, align=1), end, align=1)
        return context.get_dummy_value()

    return types.void(source, p, text, q), codegen


@intrinsic
def _count_in_block(typingctx, text, p, byte):
    def codegen(context, builder, signature, args):
        kind = ir.VectorType(_BYTE, 64)
        address = _emit_address(context, builder, signature.args[0], args[0], args[1], kind)
        wanted = emit_splat(builder, builder.trunc(args[2], _BYTE), 64)
        equal = builder.icmp_unsigned("==", builder.load(address, align=1), wanted)
        return builder.ctpop(builder.bitcast(equal, _WORD))

    return types.uint64(text, p, types.uint64), codegen


@intrinsic
def _word_bits(typingctx, text, p):
    def codegen(context, builder, signature, args):
        kind = ir.VectorType(_BYTE, 64)

        def all_of(number):
            return ir.Constant(kind, [number] * 64)

        def within(block, first, size):
            return builder.icmp_unsigned("<", builder.sub(block, all_of(first)), all_of(size))

        address = _emit_address(context, builder, signature.args[0], args[0], args[1], kind)
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


@replaces(copy_block)
def _copy_block_by_hand(source, p, text, q):
    _copy_block(source, p, text, q)


@replaces(count_in_block)
def _count_in_block_by_hand(text, p, byte):
    return _count_in_block(text, p, byte)


@replaces(word_bits)
def _word_bits_by_hand(text, p):
    return _word_bits(text, p)


@replaces(lowest_bit)
def _lowest_bit_by_hand(bits):
    return _lowest_bit(bits)
