"""Loads machine code without its compiler: a linker and loader for the code of one loop.

Importing numba takes longer than learning from a file of 50 MB, and cached code needs none of it.
The object code that numba makes for x86-64 on Linux (ELF, with 64-bit addresses everywhere) is laid
out once, when it is cached, as it will be in memory (`lay_out`). Loading it (`Image.load`) means
copying it there and filling in addresses: its own, those of Python and the C library, and those of
two of numba's extension modules, which can be loaded without numba.

What is loaded is the function by which Python calls the loop, the same as numba's own: it reads the
arguments, releases the GIL, and counts references.

All of this relies on how numba generates code. Unusual code is not laid out, and numba loads it in
its own way; `tests/loops/test_object_code.py` fails if that becomes the rule.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.machinery
import importlib.util
import mmap
import os
import pickle
import struct
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

_PAGE = mmap.PAGESIZE
#: ELF: sections of relocations, symbols, data and zeros; their flags; special sections of a symbol.
_RELA, _SYMTAB, _NOBITS = 4, 2, 8
_ALLOCATED, _EXECUTABLE = 0x2, 0x4
_UNDEFINED, _COMMON, _FIRST_RESERVED = 0, 0xFFF2, 0xFF00
#: The one relocation: a 64-bit address.
_ADDRESS = 1
#: Extension modules of numba whose C functions loops call, by the beginning of their names.
_HELPERS = {"numba_": "numba._helperlib", "NRT_": "numba.core.runtime._nrt_python"}


class UnusualError(Exception):
    """Raised for code of a kind that is not laid out here."""


class Image(NamedTuple):
    """The code of a loop as it will be in memory, except for the addresses."""

    memory: bytes
    executable: int
    """Bytes from the beginning that are code."""
    entry: int
    """Where the function for Python begins."""
    environment: int
    """Where it looks for its environment, which holds Python objects."""
    own: bytes
    """Places of addresses within the image, to which its own address is added: int64."""
    others: dict[str, bytes]
    """The same for the addresses of functions elsewhere, by their names."""
    constants: bytes
    """The Python objects of the environment, pickled."""
    name: str

    def load(self) -> Callable[..., Any]:
        """Load the code into memory; returns the function that Python calls."""
        modules = _load_extension("numba._dynfunc")
        memory = mmap.mmap(-1, len(self.memory))
        memory[:] = self.memory
        begin = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        content = np.frombuffer(memory, np.uint8)
        _add(content, self.own, begin)
        for name, places in self.others.items():
            _add(content, places, find_symbol(name))
        environment = modules.Environment({})
        environment.consts[:] = pickle.loads(self.constants)
        _add(content, np.int64(self.environment).tobytes(), id(environment))
        _protect(begin, self.executable)
        return modules.make_function(
            sys.modules[__name__], self.name, "", begin + self.entry, environment, (memory, content)
        )


def _add(content: np.ndarray, places: bytes, number: int) -> None:
    """Add a number to the 64-bit words at these places, whatever their alignment."""
    bytes_of = np.frombuffer(places, np.int64)[:, None] + np.arange(8)
    words = content[bytes_of].view(np.uint64) + np.uint64(number)
    content[bytes_of] = words.view(np.uint8)


def _protect(begin: int, size: int) -> None:
    """Make memory executable, and no longer writable."""
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    if protect(begin, size, mmap.PROT_READ | mmap.PROT_EXEC):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


@functools.cache
def _load_extension(name: str) -> Any:
    """Load an extension module of numba without numba; numba will later find the same module."""
    if name in sys.modules:
        return sys.modules[name]
    found = importlib.util.find_spec("numba")
    if found is None or not found.submodule_search_locations:
        raise UnusualError("numba is not installed")
    path = os.path.join(found.submodule_search_locations[0], *name.split(".")[1:])
    for suffix in importlib.machinery.EXTENSION_SUFFIXES:
        if os.path.exists(path + suffix):
            spec = importlib.util.spec_from_file_location(name, path + suffix)
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    raise UnusualError(f"numba has no {name}")


@functools.cache
def _unpickled(content: bytes) -> Any:
    return pickle.loads(content)


@ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
def _unpickle(begin: int, size: int, _digest: int) -> Any:
    """Replaces numba's C function that returns a constant, such as the class of a named tuple.

    The original imports numba to do so.
    """
    return _unpickled(ctypes.string_at(begin, size))


@functools.cache
def find_symbol(name: str) -> int:
    """The address of a C function or variable of Python, the C library or numba."""
    if name == "numba_unpickle":
        return ctypes.cast(_unpickle, ctypes.c_void_p).value or 0
    for beginning, module in _HELPERS.items():
        if name.startswith(beginning):
            helpers = _load_extension(module).c_helpers
            if name.removeprefix(beginning) in helpers:
                return int(helpers[name.removeprefix(beginning)])
    try:
        address = ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p).value
    except AttributeError:
        raise UnusualError(f"no {name} here") from None
    return address or 0


class _Section(NamedTuple):
    """A section of an ELF file, from its header."""

    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int

    def content(self, file: bytes) -> bytes:
        return bytes(self.size) if self.kind == _NOBITS else file[self.offset :][: self.size]


class _Symbol(NamedTuple):
    name: str
    section: int
    value: int
    size: int


def lay_out(file: bytes, entry: str, environment: str, constants: list[Any]) -> Image:
    """Lay out object code as it will be in memory.

    Parameters
    ----------
    file : bytes
        The ELF file that numba caches.
    entry, environment : str
        Symbols: the function for Python, and the variable that points at its environment.
    constants : list
        The Python objects of the environment.

    Raises
    ------
    UnusualError
        If numba has to load it.
    """
    if file[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<HH", file, 16) != (1, 62):
        raise UnusualError("not object code for x86-64")
    names, sections = _read_sections(file)
    kept = [
        number
        for number, one in enumerate(sections)
        if one.flags & _ALLOCATED and one.size and names[number] != ".eh_frame"
    ]
    kept.sort(key=lambda number: not sections[number].flags & _EXECUTABLE)
    memory, begins, executable = bytearray(), {}, 0
    for number in kept:
        one = sections[number]
        if not one.flags & _EXECUTABLE and not executable:
            memory += bytes(-len(memory) % _PAGE)
            executable = len(memory)
        memory += bytes(-len(memory) % max(one.alignment, 1))
        begins[number] = len(memory)
        memory += one.content(file)
    if not executable:  # nothing but code
        memory += bytes(-len(memory) % _PAGE)
        executable = len(memory)
    symbols = _read_symbols(file, sections)
    places = _place_symbols(symbols, begins, memory)
    own, others = _relocate(file, sections, symbols, begins, places, memory)
    pickled = pickle.dumps(constants)
    if entry not in places or environment not in places or b"numba" in pickled:
        raise UnusualError("an environment of another kind")
    return Image(
        bytes(memory),
        executable,
        places[entry],
        places[environment],
        np.array(own, np.int64).tobytes(),
        {name: np.array(where, np.int64).tobytes() for name, where in others.items()},
        pickled,
        entry,
    )


def _read_sections(file: bytes) -> tuple[list[str], list[_Section]]:
    """The sections of an ELF file, and their names."""
    start, size, count, strings = (
        *struct.unpack_from("<Q", file, 40),
        *struct.unpack_from("<HHH", file, 58),
    )
    sections, at = [], []
    for number in range(count):
        head = struct.unpack_from("<IIQQQQIIQQ", file, start + number * size)
        name, kind, flags, _, offset, length, link, info, alignment, _ = head
        at.append(name)
        sections.append(_Section(kind, flags, offset, length, link, info, alignment))
    table = sections[strings].content(file)
    return [_read_name(table, name) for name in at], sections


def _read_name(table: bytes, start: int) -> str:
    return table[start : table.index(b"\0", start)].decode()


def _read_symbols(file: bytes, sections: list[_Section]) -> list[_Symbol]:
    (table,) = (one for one in sections if one.kind == _SYMTAB)
    names, symbols = sections[table.link].content(file), []
    for name, _, _, section, value, size in struct.iter_unpack("<IBBHQQ", table.content(file)):
        symbols.append(_Symbol(_read_name(names, name), section, value, size))
    return symbols


def _place_symbols(
    symbols: list[_Symbol], begins: dict[int, int], memory: bytearray
) -> dict[str, int]:
    """The positions of symbols in memory; common ones, which have no section, come last."""
    places = {}
    for one in symbols:
        if one.section == _COMMON:
            memory += bytes(-len(memory) % one.value)  # the value is its alignment
            places[one.name] = len(memory)
            memory += bytes(one.size)
        elif one.section in begins and one.name:
            places[one.name] = begins[one.section] + one.value
    return places


def _relocate(
    file: bytes,
    sections: list[_Section],
    symbols: list[_Symbol],
    begins: dict[int, int],
    places: dict[str, int],
    memory: bytearray,
) -> tuple[list[int], dict[str, list[int]]]:
    """Where addresses are to be filled in; their addends are written there now."""
    own: list[int] = []
    others: dict[str, list[int]] = {}
    for table in sections:
        if table.kind != _RELA or table.info not in begins:
            continue
        for offset, info, addend in struct.iter_unpack("<QQq", table.content(file)):
            symbol, place = symbols[info >> 32], begins[table.info] + offset
            if info & 0xFFFFFFFF != _ADDRESS:
                raise UnusualError("a relative address")
            if symbol.section == _UNDEFINED:
                others.setdefault(symbol.name, []).append(place)
                target = addend
            elif symbol.section == _COMMON:
                own.append(place)
                target = places[symbol.name] + addend
            elif symbol.section < _FIRST_RESERVED and symbol.section in begins:
                own.append(place)
                target = begins[symbol.section] + symbol.value + addend
            else:
                raise UnusualError("a symbol of another kind")
            struct.pack_into("<q", memory, place, target)
    return own, others
