"""`prefetch` in LLVM."""

from __future__ import annotations

from numba import types
from numba.extending import intrinsic

from widemargin.loops.lowlevel.by_hand.choice import replaces
from widemargin.loops.lowlevel.by_hand.emit import emit_data, emit_prefetch
from widemargin.loops.lowlevel.prefetch import prefetch


@intrinsic
def _prefetch(typingctx, array, k):
    def codegen(context, builder, signature, args):
        data = emit_data(context, builder, signature.args[0], args[0])
        emit_prefetch(builder, builder.gep(data, [args[1]]))
        return context.get_dummy_value()

    return types.void(array, k), codegen


@replaces(prefetch)
def _prefetch_by_hand(array, k):
    _prefetch(array, k)
