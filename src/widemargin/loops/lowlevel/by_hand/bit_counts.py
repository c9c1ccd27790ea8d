"""`count_bits` in LLVM."""

from __future__ import annotations

from numba import types
from numba.extending import intrinsic

from widemargin.loops.lowlevel.bit_counts import count_bits
from widemargin.loops.lowlevel.by_hand.choice import replaces


@intrinsic
def _count_bits(typingctx, x):
    def codegen(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.uint32(types.uint32), codegen


@replaces(count_bits)
def _count_bits_by_hand(x):
    return _count_bits(x)
