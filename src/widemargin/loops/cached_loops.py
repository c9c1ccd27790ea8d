"""Calls compiled loops without numba, if their code for the given arguments is cached.

Next to numba's own files there is, for each loop and each kind of arguments, a file with its code
as an `Image` (see `loops/object_code.py`): `keep_image` writes it whenever numba compiles or loads
a loop. A `Loop` looks for the file that fits its arguments and calls the code in it. If there is
none, or if anything about it is unusual, it imports numba and lets it find or compile the code.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pathlib
import pickle
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from widemargin.loops.cache_folders import Folders, replace_file
from widemargin.loops.object_code import Image, UnusualError, lay_out

#: The first bytes of a file, and its extension.
_MAGIC, ENDING = b"widemargin loop 1\n", ".image"
#: The range of integers that numba takes as int64.
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
#: Number of calls of a loop after which numba is imported for it. A call with four arrays takes 2.6
#: microseconds here and 1.2 with numba, and more with more arrays: by then, as much time was lost
#: as the import takes.
PATIENCE = 100_000
_PLAIN = {int: "int64", float: "float64", bool: "bool", type(None): "none"}


# The kinds of a call's arguments as text: the same for values as for numba's types.


def name_kinds(values: Any) -> str:
    """Name the types of values as numba would see them.

    Raises
    ------
    UnusualError
        If only numba can determine them.
    """
    return ",".join(map(_name_kind, values))


def _name_kind(value: Any) -> str:
    kind = type(value)
    if kind is np.ndarray:
        flags = value.flags
        if not flags.aligned:
            raise UnusualError("an array that is not aligned")
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        return _name_array(value.dtype, value.ndim, layout, flags.writeable)
    if kind is int and not _LEAST <= value <= _MOST:
        raise UnusualError("a number of more than 64 bits")
    if kind in _PLAIN:
        return _PLAIN[kind]
    if isinstance(value, np.bool_ | np.number) and kind.__module__ == "numpy":
        return value.dtype.name
    if kind is tuple or (isinstance(value, tuple) and hasattr(kind, "_fields")):
        return _name_tuple(kind, name_kinds(value))
    raise UnusualError(f"an argument of type {kind.__name__}")


def _name_array(dtype: np.dtype, dimensions: int, layout: str, writeable: bool) -> str:
    if dtype.kind not in "biuf" or not dtype.isnative:
        raise UnusualError(f"an array of {dtype}")
    return f"{dtype.name}[{dimensions}{layout}{'w' if writeable else 'r'}]"


def _name_tuple(kind: type, inside: str) -> str:
    return f"{kind.__module__}.{kind.__qualname__}({inside})"


def name_types(kinds: Any) -> str:
    """Name numba's types in the same way."""
    return ",".join(map(_name_type, kinds))


def _name_type(kind: Any) -> str:
    from numba import types
    from numba.np.numpy_support import as_dtype

    if type(kind) is types.Array:
        if not kind.aligned:
            raise UnusualError("an array that is not aligned")
        return _name_array(as_dtype(kind.dtype), kind.ndim, kind.layout, kind.mutable)
    if type(kind) in (types.Integer, types.Float, types.Boolean):
        return str(as_dtype(kind).name)
    if kind == types.none:
        return "none"
    if isinstance(kind, types.BaseNamedTuple):
        return _name_tuple(kind.instance_class, name_types(kind.types))
    if type(kind) in (types.UniTuple, types.Tuple):
        return _name_tuple(tuple, name_types(kind.types))
    raise UnusualError(f"an argument of type {kind}")


# The files.


def _image_path(folder: str, module: str, name: str, kinds: str) -> str:
    types = hashlib.sha256(kinds.encode()).hexdigest()[:16]
    return f"{folder}/images/{module}.{name}.{types}{ENDING}"


def is_kept(folders: Iterable[str], module: str, name: str, kinds: str) -> bool:
    """Whether one of the folders has cached code of a loop for these kinds of arguments."""
    return any(os.path.exists(_image_path(one, module, name, kinds)) for one in folders)


def _is_ours(module: str) -> bool:
    """Whether the sources of a module are in the digest, so that its code is never stale."""
    return module.startswith("widemargin.loops.")


def keep_image(folder: pathlib.Path, reduced: tuple[Any, ...]) -> None:
    """Cache the code of a loop, from what numba caches, unless it is unusual or already there.

    Parameters
    ----------
    folder : Path
        The folder of the code for this machine.
    reduced : tuple
        What `CompileResult._reduce` returns.
    """
    try:
        (_, how, (file, *_)), described, environment, signature, objects, *_ = reduced
        if how != "object" or objects or not _is_ours(described.modname):
            return
        kinds = name_types(signature.args)
        place = _image_path(str(folder), described.modname, described.qualname, kinds)
        image = lay_out(
            file,
            described.llvm_cpython_wrapper_name,
            environment.env_name,
            environment.consts,
        )
        content = pickle.dumps((kinds, tuple(image)))
        pathlib.Path(place).parent.mkdir(mode=0o700, exist_ok=True)
        check = hashlib.sha256(content).digest()
        replace_file(pathlib.Path(place), _MAGIC + check + content)
    except (UnusualError, OSError, AttributeError, ValueError):
        return  # numba finds its own files


def _read_image(path: str, kinds: str) -> Image | None:
    """The code in a file; None without one, or if it is damaged or for other arguments."""
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError:
        return None
    start = len(_MAGIC) + 32
    if content[: len(_MAGIC)] != _MAGIC:
        return None
    if hashlib.sha256(content[start:]).digest() != content[len(_MAGIC) : start]:
        return None
    named, image = pickle.loads(content[start:])
    return Image(*image) if named == kinds else None


# The loops.


def _distinguish(values: Any, found: list[Any]) -> None:
    """Append a quick key for the types, which distinguishes at least as much as `name_kinds`."""
    for value in values:
        kind = type(value)
        if kind is np.ndarray:
            found.append(value.dtype)
            found.append(value.ndim << 16 | value.flags.num)
        elif kind is int:
            found.append(kind if _LEAST <= value <= _MOST else None)
        elif isinstance(value, tuple):
            found.append(kind)
            found.append(len(value))
            _distinguish(value, found)
        else:
            found.append(kind)


#: Held while a loop is loaded, or numba imported; also by a fork, so that a new process never waits
#: for a thread that it does not have.
_LOADING = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_LOADING.acquire,
        after_in_parent=_LOADING.release,
        after_in_child=_LOADING.release,
    )


class Loop:
    """A compiled loop: its cached code or, if there is none, what numba compiles.

    Parameters
    ----------
    function : function
        The loop in Python.
    folders : Folders or None
        Where its code may be cached.
    compile : function
        Imports numba and returns its dispatcher for the function.
    """

    def __init__(
        self, function: Any, folders: Folders | None, compile: Callable[[Any], Any]
    ) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self.loaded = 0
        self._folders = folders if _is_ours(function.__module__) else None
        self._compile = compile
        self._known: dict[tuple[Any, ...], Callable[..., Any]] = {}
        self._calls = 0
        self._dispatcher: Any = None

    @property
    def dispatcher_or_none(self) -> Any:
        """Numba's dispatcher, if it was made."""
        return self._dispatcher

    @property
    def dispatcher(self) -> Any:
        """Numba's dispatcher, made on first use."""
        if self._dispatcher is None:
            with _LOADING:
                if self._dispatcher is None:
                    self._dispatcher = self._compile(self.py_func)
        return self._dispatcher

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Run the loop."""
        if self._dispatcher is not None:
            return self._dispatcher(*arguments, **named)
        if named:
            return self.dispatcher(*arguments, **named)
        return self.code_for(*arguments)(*arguments)

    def code_for(self, *arguments: Any) -> Callable[..., Any]:
        """What to call for arguments of these types."""
        found: list[Any] = []
        _distinguish(arguments, found)
        code = self._known.get(tuple(found))
        if code is None:
            code = self._load(arguments)
            if code is None:
                return self.dispatcher
            self._known[tuple(found)] = code
        self._calls += 1
        return code if self._calls < PATIENCE else self.dispatcher

    def _load(self, arguments: Any) -> Callable[..., Any] | None:
        """The cached code for arguments of these types, if numba is not needed."""
        if self._folders is None or "numba" in sys.modules:
            return None
        function = self.py_func
        try:
            kinds = name_kinds(arguments)
            with _LOADING:
                for folder in filter(None, self._folders):
                    path = _image_path(folder, function.__module__, function.__qualname__, kinds)
                    image = _read_image(path, kinds)
                    if image is not None:
                        self.loaded += 1
                        return image.load()
        except (UnusualError, OSError, ImportError, AttributeError):
            self._folders = None  # numba finds its own files
        return None

    @property
    def _numba_type_(self) -> Any:
        """For numba, when it compiles a loop that calls this one."""
        return self.dispatcher._numba_type_

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.dispatcher, name)

    def __reduce__(self) -> str:
        return str(self.py_func.__qualname__)

    def __repr__(self) -> str:
        return f"<loop {self.py_func.__module__}.{self.py_func.__qualname__}>"
