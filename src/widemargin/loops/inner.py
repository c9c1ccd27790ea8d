"""Functions that only other loops call: compiled as a part of their callers and nowhere else.

Numba treats every function alike. It wraps it for Python and for C, optimises it, makes machine
code of it, and then copies what it optimised into each caller, where all of this happens again. A
function that Python never calls needs only the last of these. Without the others a first `certify`
compiled for 7 seconds of processor time instead of 13.

These are private names of numba, all of them in this module. Where one is missing, `INNER` is
empty, and numba compiles in its own way.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler


class _Part(JITCodeLibrary):
    """Code that waits to be put into a caller: neither optimised nor made executable."""

    @property
    def codegen(self) -> Any:
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing: the environment serves code that uses Python objects, and no loop does."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0


class _PartCompiler(Compiler):
    """Numba's compiler, which puts what it makes into a `_Part`."""

    def __init__(self, typingctx: Any, targetctx: Any, library: Any, *others: Any) -> None:
        part = _Part(targetctx.codegen(), "part") if library is None else library
        super().__init__(typingctx, targetctx, part, *others)


def _is_known() -> bool:
    """Whether numba has the names that are used here."""
    names = ("_optimize_final_module", "_finalize_final_module", "_finalize_dynamic_globals")
    return all(hasattr(JITCodeLibrary, name) for name in (*names, "_ensure_finalized"))


#: Options of numba for a function that only loops call.
INNER: dict[str, Any] = (
    {"no_cpython_wrapper": True, "pipeline_class": _PartCompiler} if _is_known() else {}
)


def keep_inside(compiled: Any, interpreted: bool) -> Any:
    """Let a function compiled with `INNER` be called by loops only, and once for all constants.

    For Python there is no code to call: the call is an error or, if it may be `interpreted`, runs
    the function as Python, which suits a formula and no loop. Numba would compile once more for
    each constant among the arguments, and for what it takes for one until it has seen the whole
    caller.
    """
    if not INNER:
        return compiled

    def code_for(*_arguments: Any, **_named: Any) -> Any:
        if interpreted:
            return compiled.py_func
        name = compiled.py_func.__name__
        raise TypeError(f"{name} is compiled for other loops alone; Python calls {name}.py_func")

    def ignore(*_arguments: Any) -> None:
        """Remember no code for calls from Python."""

    template = compiled.get_call_template

    def without_constants(args: Any, kws: Any) -> Any:
        plain = tuple(types.unliteral(kind) for kind in args)
        return template(plain, {name: types.unliteral(kind) for name, kind in kws.items()})

    compiled._compile_for_args = code_for
    compiled._insert = ignore
    compiled.get_call_template = without_constants
    return compiled
