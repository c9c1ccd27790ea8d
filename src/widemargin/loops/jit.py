"""The decorator of every compiled loop: what it may assume, and how its code is found.

Cached code is called directly (`loops/cached_loops.py`). Numba, whose import takes a third of a
second, is imported (`loops/compiling.py`) only if a loop has to be compiled or if anything about
its code is unusual. So no module in this folder imports numba or LLVM at import time, except those
that only the compiler needs: `compiling.py`, `numba_pipelines.py`, `numba_shortcuts.py`, and
`lowlevel/by_hand`.
"""

from __future__ import annotations

import contextlib
import functools
import os
import pathlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from widemargin.loops.cache_folders import compiler_is_on, find_folders
from widemargin.loops.cached_loops import ENDING, Loop

F = TypeVar("F", bound=Callable[..., Any])

#: What a loop may assume. No flag assumes that NaN or infinity cannot occur.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
#: The same for a loop whose sums may be added up in any order, as vector instructions need.
SUMS: dict[str, Any] = {**OPTIONS, "fastmath": {"reassoc", "contract", "nsz"}}
#: The same for a loop whose products and sums may be fused into one instruction, rounded once.
FUSED: dict[str, Any] = {**OPTIONS, "fastmath": {"contract"}}
#: For a function that only other loops call, see `loops/numba_pipelines.py`.
INNER: dict[str, Any] = {"inner": True}
#: For a function that is called for every example. A real call would increment and decrement the
#: reference count of each array argument, which costs as much as a short row.
INLINE: dict[str, Any] = INNER | {"forceinline": True}

#: Whether loops avoid the handwritten LLVM; see `loops/lowlevel/by_hand/choice.py`.
PLAIN = os.environ.get("WIDEMARGIN_PLAIN_LOOPS", "") not in ("", "0")
#: Whether loops are compiled.
COMPILED = compiler_is_on()

_FOLDERS = find_folders(PLAIN)
#: Registrations to make with numba before it compiles anything.
_waiting: list[Callable[[], Any]] = []
_quiet = False


def jit(*, inner: bool = False, inline: bool = False, sums: bool = False) -> Callable[[F], F]:
    """Compile a loop on first use and cache its machine code.

    Parameters
    ----------
    inner : bool
        Only other loops call it: compile it with them, see `loops/numba_pipelines.py`.
    inline : bool
        The same, and inline its code at every call, see `INLINE`. Python may also call it: it is
        then interpreted.
    sums : bool
        Its sums may be added up in any order, as vector instructions need; see `SUMS`.
    """

    def decorate(function: F) -> F:
        if not COMPILED:
            return function
        options = SUMS if sums else {}
        if inner or inline:
            options = options | (INLINE if inline else INNER)
            return Inside(function, options)  # type: ignore[return-value]
        make = functools.partial(_make_dispatcher, options=options)
        return Loop(function, _FOLDERS, make)  # type: ignore[return-value]

    return decorate


class Inside(Loop):
    """A function compiled as part of the loops that call it, with no code for Python to call."""

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        super().__init__(function, None, functools.partial(_make_dispatcher, options=options))
        self._interpreted = "forceinline" in options

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Run it as Python, if that is allowed."""
        if self._interpreted:
            return self.py_func(*arguments, **named)
        return super().__call__(*arguments, **named)


def _make_dispatcher(function: Any, options: dict[str, Any] | None = None) -> Any:
    with _STOPWATCH.running():
        from widemargin.loops import compiling

        return compiling.make_dispatcher(function, OPTIONS | (options or {}), _STOPWATCH.running)


class _Stopwatch:
    """Measures how long at least one thread has been at some work."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spent, self._since, self._threads = 0.0, 0.0, 0

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Count the time that passes inside."""
        with self._lock:
            if not self._threads:
                self._since = time.monotonic()
            self._threads += 1
        try:
            yield
        finally:
            with self._lock:
                self._threads -= 1
                if not self._threads:
                    self._spent += time.monotonic() - self._since

    @property
    def seconds(self) -> float:
        """The time so far."""
        with self._lock:
            going = time.monotonic() - self._since if self._threads else 0.0
            return self._spent + going


_STOPWATCH = _Stopwatch()


def compile_seconds() -> float:
    """How long this process has been compiling loops, or waiting for them to be compiled."""
    return _STOPWATCH.seconds


def overload(function: Any, jit_options: dict[str, Any]) -> Callable[[F], F]:
    """Register what compiled loops run where they call `function`: numba's `overload`, deferred.

    It is registered with numba when it is first needed.
    """

    def register(choose: F) -> F:
        def tell() -> None:
            from numba.extending import overload

            from widemargin.loops.compiling import numba_options

            overload(function, jit_options=numba_options(jit_options))(choose)

        if "widemargin.loops.compiling" in sys.modules:
            tell()
        else:
            _waiting.append(tell)
        return choose

    return register


def register_overloads() -> None:
    """Make all waiting registrations with numba, before it compiles."""
    while _waiting:
        _waiting.pop(0)()


def resolve(loop: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """The machine code of a loop for arguments of these types.

    Checking the types in every call takes as long as learning from a short row. A caller of the
    machine code itself must ensure that they stay the same.
    """
    if not isinstance(loop, Loop):
        return loop
    code = loop.code_for(*arguments)
    if code is not loop.dispatcher_or_none:
        return code
    import numba

    return code.compile(tuple(map(numba.typeof, arguments)))  # type: ignore[attr-defined]


def compile_quietly() -> None:
    """Suppress messages about compiling from now on."""
    global _quiet
    _quiet = True


def is_quiet() -> bool:
    """Whether messages about compiling are suppressed."""
    return _quiet


def announce_compiling(*, always: bool = False) -> None:
    """Print, once per process, why the first use of a loop takes so long, on a terminal.

    Parameters
    ----------
    always : bool
        Print it even if standard error is not a terminal.
    """
    from widemargin.loops import compiling

    compiling.announce_compiling(always=always)


def is_cold() -> bool:
    """Whether no loop has been compiled and cached yet, so that the first use takes seconds."""
    if not COMPILED:
        return False
    for folder in filter(None, _FOLDERS or ()):
        if next(pathlib.Path(folder, "images").glob(f"*{ENDING}"), None) is not None:
            return False
    from widemargin.loops import compiling

    return compiling.is_cold()
