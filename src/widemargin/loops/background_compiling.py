"""Compiles loops that a first call will need later, in a second process in the background.

On its own, a first call compiles each loop when it is reached. But the loops that it will need are
known from the start: `first_calls.json` lists them, with the types of their arguments, for calls
with default settings. While this process compiles the first ones, another one starts with those
that take longest (`compile_ahead`).

No loop is compiled twice (`loops/compile_locks.py`). A process that needs what the other is
compiling compiles another loop of the list in the meantime (`compile_meanwhile`), so both
processors work until nothing is left. Loops of one module have parts in common, which both
processes would compile if each took one of the loops. A process therefore prefers modules of which
it has already compiled a loop.

Loops that are not in the list are compiled as usual, so an incomplete list does no harm.
`.ci/list_first_calls.py` writes it.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import json
import os
import pathlib
import re
import subprocess
import sys
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from widemargin.loops import cache_folders, cached_loops
from widemargin.loops.jit import COMPILED, PLAIN

#: The list, by the name of the call.
LIST = pathlib.Path(__file__).with_name("first_calls.json")
#: The program of the other process, which must import this package from the same place.
_PROGRAM = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from widemargin.loops.background_compiling import compile_listed
compile_listed(json.loads(sys.argv[2]), int(sys.argv[3]))
"""
#: The processes that were started, and the loops passed to the last of them.
_others: list[subprocess.Popen[bytes]] = []
_shared: list[Listed] = []
#: The modules of the loops that this process has begun to compile.
_begun: set[str] = set()
#: The least cost of compiling that makes a second process worthwhile: starting one costs 1.
_WORTHWHILE = 2.0


class Listed(NamedTuple):
    """A loop of a first call.

    Attributes
    ----------
    module, name : str
        Its module and name.
    kinds : str
        The kinds of its arguments, as written by `name_kinds`.
    cost : float
        How long it took to compile where the list was made, in units of the time that starting
        Python with numba takes there: that ratio depends little on the machine.
    """

    module: str
    name: str
    kinds: str
    cost: float


@functools.cache
def listed_loops(call: str) -> list[Listed]:
    """The loops of a first call, in the order in which it needs them."""
    calls = json.loads(LIST.read_text(encoding="utf-8"))
    return [Listed(*one) for one in calls[call]]


def compile_ahead(call: str) -> None:
    """Let another process compile the loops that a call will need later, if many are missing.

    Parameters
    ----------
    call : str
        The name of the call in the list.
    """
    if COMPILED and _can_help() and not any(one.poll() is None for one in _others):
        _start_once(call)


def _can_help() -> bool:
    """Whether a second process has a processor, and can be started."""
    if sys.platform != "linux" or not sys.executable or getattr(sys, "frozen", False):
        return False
    return len(os.sched_getaffinity(0)) > 1


@functools.cache
def _start_once(call: str) -> None:
    """Start the other process; end it with this one."""
    try:
        missing = _find_missing(call)
        if sum(one.cost for one in missing[1:]) < _WORTHWHILE:
            return
        given = (json.dumps(sys.path), json.dumps(missing), str(os.getpid()))
        other = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, *given],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # it needs no BLAS threads
        )
    except (OSError, ValueError, LookupError):
        return  # this process compiles all of them
    _others.append(other)
    _shared[:] = missing
    atexit.register(_end, other, os.getpid())


def _end(other: subprocess.Popen[bytes], owner: int) -> None:
    """End a process when the one that started it exits, but not when a fork of that exits."""
    if os.getpid() == owner:
        other.terminate()
        other.wait()


def _find_missing(call: str) -> list[Listed]:
    """The loops that are not cached anywhere; all, if the cache folders are unknown."""
    folders = [folder for folder in cache_folders.known_folders(PLAIN) if folder]
    return [one for one in listed_loops(call) if not cached_loops.is_kept(folders, *one[:3])]


def compile_meanwhile() -> bool:
    """Compile a loop of the list while another process compiles the one that is needed now.

    Returns
    -------
    bool
        Whether there was a loop to compile that no other process had started on.
    """
    while _shared:
        _shared.sort(key=lambda one: one.module not in _begun)  # else in the order of the call
        with contextlib.suppress(Exception):  # the call itself reports errors, if it needs the loop
            if _compile_unless_locked(_shared.pop(0)):
                return True
    return False


def note_begun(module: str) -> None:
    """Note that this process compiles a loop of a module."""
    _begun.add(module)


def _compile_unless_locked(one: Listed) -> bool:
    """Compile a loop unless another process does or did; returns whether it was compiled here."""
    from widemargin.loops import compile_locks, compiling

    folder = compiling.cache_folder()
    if folder is None or cached_loops.is_kept([str(folder)], *one[:3]):
        return False
    kinds = types_of(one.kinds)
    lock = compiling.name_lock(f"{one.module}.{one.name}", kinds)
    if compile_locks.is_locked(folder / compiling.LOCKS, lock):
        return False
    getattr(import_module(one.module), one.name).dispatcher.compile(kinds)
    return True


# In the other process.


def compile_listed(loops: list[list[Any]], parent: int) -> None:
    """Compile loops of the list, the longest first, as long as the parent lives."""
    from widemargin.loops.jit import compile_quietly

    compile_quietly()
    gc.disable()  # this process ends soon
    left = list(map(Listed._make, loops))
    while left and os.getppid() == parent:
        left.sort(key=lambda one: (one.module not in _begun, -one.cost))
        _compile_unless_locked(left.pop(0))


#: A name, an array's dimensions and flags, or a separator.
_WORD = re.compile(r"[^\[\](),]+|[(),]|\[[^\]]*\]")


def types_of(kinds: str) -> tuple[Any, ...]:
    """Numba's types for kinds as written by `name_kinds`."""
    words = _WORD.findall(kinds)
    words.append(")")
    found = _read_types(words)
    if words:
        raise ValueError(f"{kinds} ends too early")
    return found


def _read_types(words: list[str]) -> tuple[Any, ...]:
    """Read types up to a closing parenthesis."""
    from numba import from_dtype, types

    found: list[Any] = []
    while (word := words.pop(0)) != ")":
        if word == ",":
            continue
        if words[0] == "(":
            words.pop(0)
            found.append(_make_tuple(word, _read_types(words)))
        elif words[0][0] == "[":
            dimensions, layout, access = re.fullmatch(r"\[(\d+)(.)(.)\]", words.pop(0)).groups()
            dtype = from_dtype(np.dtype(word))
            found.append(types.Array(dtype, int(dimensions), layout, readonly=access == "r"))
        else:
            found.append(types.none if word == "none" else from_dtype(np.dtype(word)))
    return tuple(found)


def _make_tuple(name: str, inside: tuple[Any, ...]) -> Any:
    """The type of a tuple, or of a named tuple."""
    from numba import types

    module, _, kind = name.rpartition(".")
    made = getattr(import_module(module), kind)
    return types.BaseTuple.from_types(inside, None if made is tuple else made)
