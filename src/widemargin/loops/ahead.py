"""Compiling in a second process what a first call will need later.

A first call compiles its loops one after the other, each when it is reached. But which loops come
is known from the beginning: `first_calls.json` lists them, with the types of their arguments, for
calls with default settings. While this process compiles the first ones, another one begins with
the last (`compile_ahead`), and where they meet, one waits for the other (`loops/turns.py`). What
the list does not have is compiled as ever, so it can make nothing wrong. `.ci/list_first_calls.py`
writes it.
"""

from __future__ import annotations

import atexit
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

from widemargin.loops import direct, places
from widemargin.loops.jit import COMPILED, PLAIN

#: The list, by the name of the call.
LIST = pathlib.Path(__file__).with_name("first_calls.json")
#: What the other process runs: it must find this package where this process found it.
_PROGRAM = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from widemargin.loops.ahead import compile_listed
compile_listed(json.loads(sys.argv[2]), int(sys.argv[3]))
"""
#: The processes that were started.
_others: list[subprocess.Popen[bytes]] = []
#: Loops that must be missing for a second process to pay: it takes a second of processor time to
#: start Python with numba, which is what a loop takes.
_WORTHWHILE = 2


class Listed(NamedTuple):
    """A loop of a first call, and the kinds of its arguments in the words of `name_kinds`."""

    module: str
    name: str
    kinds: str


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
        if len(missing) < _WORTHWHILE:
            return
        given = (json.dumps(sys.path), json.dumps(missing), str(os.getpid()))
        other = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, *given],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # it multiplies nothing
        )
    except (OSError, ValueError, LookupError):
        return  # this process compiles all of them
    _others.append(other)
    atexit.register(_end, other, os.getpid())


def _end(other: subprocess.Popen[bytes], owner: int) -> None:
    """End a process at the exit of the one that started it, and not of one forked from that."""
    if os.getpid() == owner:
        other.terminate()
        other.wait()


def _find_missing(call: str) -> list[Listed]:
    """The loops that are nowhere kept; all, if it is not known where that would be."""
    folders = [folder for folder in places.known_folders(PLAIN) if folder]
    return [one for one in listed_loops(call) if not direct.is_kept(folders, *one)]


# In the other process.


def compile_listed(loops: list[list[str]], parent: int) -> None:
    """Compile loops of the list, from the last to the first, as long as the parent lives."""
    from widemargin.loops import compiling, turns
    from widemargin.loops.jit import compile_quietly

    folder = compiling.cache_folder()
    if folder is None:
        return
    compile_quietly()
    gc.disable()  # this process ends soon
    for one in map(Listed._make, reversed(loops)):
        if os.getppid() != parent:
            return
        kinds = types_of(one.kinds)
        turn = compiling.name_turn(f"{one.module}.{one.name}", kinds)
        if not turns.is_taken(folder / compiling.TURNS, turn):
            getattr(import_module(one.module), one.name).dispatcher.compile(kinds)


#: A name, an array's dimensions and flags, or what is between them.
_WORD = re.compile(r"[^\[\](),]+|[(),]|\[[^\]]*\]")


def types_of(kinds: str) -> tuple[Any, ...]:
    """Numba's types for the words of `name_kinds`."""
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
