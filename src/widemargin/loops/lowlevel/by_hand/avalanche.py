"""`avalanche` in LLVM."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from widemargin.loops.lowlevel.avalanche import C4, C5, avalanche
from widemargin.loops.lowlevel.by_hand.choice import replaces

_I32 = ir.IntType(32)


@intrinsic
def _avalanche(typingctx, h):
    def codegen(context, builder, signature, args):
        (h,) = args
        for shift, factor in ((16, C4), (13, C5), (16, None)):
            h = builder.xor(h, builder.lshr(h, _I32(shift)))
            if factor is not None:
                h = builder.mul(h, _I32(factor))
        negative = builder.lshr(h, _I32(31))
        signs = builder.sub(_I32(0), negative)  # all ones if negative
        size = builder.add(builder.xor(h, signs), negative)
        return builder.or_(builder.shl(size, _I32(1)), negative)

    return types.uint32(types.uint32), codegen


@replaces(avalanche)
def _avalanche_by_hand(h):
    return _avalanche(h)
