"""Which version of a piece compiled loops run: the one written by hand in LLVM, or the plain one.

Every piece in the folder above is a plain Python function that numba can compile, and here is a
version that emits LLVM. With the environment variable `WIDEMARGIN_PLAIN_LOOPS=1` compiled loops use
the plain functions; with the compiler off there is nothing else. Each docstring says how much
slower the plain function is, so that readers can judge whether the handwritten one is worth having.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from widemargin.loops.jit import INLINE, OPTIONS, PLAIN, overload


def replaces(plain: Callable[..., Any], options: dict[str, Any] = OPTIONS) -> Callable[..., Any]:
    """Let compiled loops run the decorated function wherever they call `plain`.

    Both must have the same parameters. `options` are those of `numba.njit`.
    """

    def register(by_hand: Callable[..., Any]) -> Callable[..., Any]:
        chosen = plain if PLAIN else by_hand

        @functools.wraps(plain)
        def choose(*_types: Any) -> Callable[..., Any]:
            return chosen

        overload(plain, jit_options=options | INLINE)(choose)
        return by_hand

    return register
