"""Compiles loops with numba, and caches their machine code.

Numba's own cache checks only the file of the function it caches. When a called function in another
file changes, the outdated machine code is silently run. So the code of all loops is cached in one
folder whose name is a digest of everything the machine code depends on: if a line of any loop
changes, every loop is recompiled.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import pathlib
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import llvmlite
import llvmlite.binding
import numba
import numpy
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.runtime import rtsys
from numba.core.sigutils import normalize_signature

from widemargin.errors import CacheWarning, DataError
from widemargin.loops import cache_folders, cached_loops
from widemargin.loops.background_compiling import compile_meanwhile, note_begun
from widemargin.loops.compile_locks import CompileLock
from widemargin.loops.jit import PLAIN, is_quiet, register_overloads
from widemargin.loops.numba_pipelines import INNER, WHOLE, call_inside, keep_inside
from widemargin.loops.processor import RELEASED, Processor, this_processor

_RELEASE = cache_folders.RELEASE
#: The version and build of Python, on whose C interface and objects machine code relies.
_PYTHON = f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}"
#: The folder of the locks that let one process at a time compile a loop.
LOCKS = "locks"
#: The name of the lock that lets one process at a time save code in a folder.
SAVING = "lock"


def _digest(processor: Processor) -> str:
    """A digest of everything that the machine code depends on."""
    digest = cache_folders.digest_sources().copy()
    for fact in (
        _PYTHON,
        numba.__version__,
        numpy.__version__,
        llvmlite.__version__,
        llvmlite.binding.get_process_triple(),
        *processor,
        "with SVML" if numba.config.USING_SVML else "without SVML",
        "plain" if PLAIN else "by hand",
    ):
        digest.update(fact.encode())
    return digest.hexdigest()[:24]


def _find_released() -> pathlib.Path | None:
    """The machine code shipped with this package, if it fits this machine and its packages."""
    here = this_processor()
    if _RELEASE.is_dir():
        for target in RELEASED:
            folder = _RELEASE / _digest(target)
            if here.runs(target) and folder.is_dir():
                return folder
    return None


def _open_cache() -> tuple[pathlib.Path, str]:
    """Prepare the user's cache folder; returns its path, and why it cannot be used, or ""."""
    folder = cache_folders.cache_root() / _digest(this_processor())
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not cache_folders.is_private(folder):
            return folder, "others can write to it"
        return folder, "" if os.access(folder, os.W_OK) else "it is read-only"
    except OSError as error:
        return folder, error.strerror or str(error)


def _warn_not_kept(obstacle: str) -> None:
    """Warn, in one line and once per process, that every run will compile again, and why."""
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            f"compiled loops are not kept in {_FOLDER} ({obstacle}): each run compiles them again",
            CacheWarning,
            stacklevel=2,
        )


#: Numba's cache locator for a given folder; the class has had two names.
_InGivenFolder: type = CompileResultCacheImpl._locator_classes[0]


class _Place(_InGivenFolder):
    """Where the code of a loop is cached: by its module, wherever the package is installed.

    The parent folder is named by a digest of all sources that matter, so the stamp of a single
    source would add nothing. The folder is created when something is saved.
    """

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        return cls(py_func, py_file)

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        return _folder_inside(py_file) or str(super().get_suitable_cache_subpath(py_file))

    def get_source_stamp(self) -> Any:
        return "in the digest" if _folder_inside(self._py_file) else super().get_source_stamp()


@functools.cache
def _folder_inside(file: str) -> str:
    """A name for the folder of a file of this package; empty for other files."""
    folder = pathlib.Path(file).resolve().parent
    inside = folder.is_relative_to(cache_folders.PACKAGE)
    return "_".join(folder.relative_to(cache_folders.PACKAGE).parts) if inside else ""


class _Places(CompileResultCacheImpl):
    """Numba's cache of compiled functions, in the folders of `_Place`."""

    _locator_classes = (_Place,)

    def reduce(self, data: Any) -> Any:
        """The parts of a loop to cache: not its typed source, nor Python objects of its parts.

        None of its parts uses such objects (see `loops/numba_pipelines.py`), and loading them would
        import numba's modules for strings and sorting.
        """
        *kept, _objects = super().reduce(data._replace(type_annotation=""))
        cached_loops.keep_image(_FOLDER, (*kept, ()))
        return (*kept, ())

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        """Load numba's file, and restore the image that lets later runs do without numba."""
        if _CACHE is not None:
            cached_loops.keep_image(_CACHE, payload)
        return super().rebuild(target_context, payload)


class _Kept(FunctionCache):
    """The cached code of one loop in a folder. Damaged files are ignored, with a warning."""

    _impl_class = _Places

    def __init__(self, function: Any, folder: pathlib.Path) -> None:
        before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(folder)
        try:
            super().__init__(function)
        finally:
            numba.config.CACHE_DIR = before

    def find(self, sig: Any, target_context: Any) -> Any:
        """The code for these types, or None.

        Two processes that save at the same time could corrupt numba's index, so that it points to
        code for other types: the loaded code must match the requested types.
        """
        try:
            found = self._load(sig, target_context)
            if found is not None and found.signature.args != normalize_signature(sig)[0]:
                raise ValueError("it is for other types")
            return found
        except Exception as error:
            self.tell(error)
            self.forget()
            return None

    def forget(self) -> None:
        """Leave damaged files alone: they belong to the package."""

    def _load(self, sig: Any, target_context: Any) -> Any:
        """Load code without numba's first step, which registers everything that can be compiled.

        That step imports scipy.linalg and takes half a second, and only the compiler needs it,
        which does it anyway. Loaded code needs only numba's runtime. This uses private names of
        numba: where they are missing, numba loads the code in its own way.
        """
        if not (hasattr(rtsys, "initialize") and hasattr(FunctionCache, "_load_overload")):
            return super().load_overload(sig, target_context)
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        """Leave out the processor, which is in the name of the folder."""
        kind, _, source = super()._index_key(sig, codegen)
        return kind, source

    def tell(self, error: Exception) -> None:
        """Warn that a file could not be used."""
        warnings.warn(
            f"compiled code in {self.cache_path} could not be used"
            f" ({type(error).__name__}: {error}); compiling",
            CacheWarning,
            stacklevel=2,
        )


class _SafeCache(_Kept):
    """Cached code: first that of the release, then that in the user's folder.

    A damaged or unwritable file causes a recompilation, not an error. One process saves at a time.
    """

    def __init__(self, function: Any) -> None:
        super().__init__(function, _FOLDER)
        self._released = None if _RELEASED is None else _Kept(function, _RELEASED)
        self._compile_lock = CompileLock(_FOLDER / LOCKS)
        self._module = function.__module__
        self._name = f"{function.__module__}.{function.__qualname__}"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = None if self._released is None else self._released.find(sig, target_context)
        if found is None and _CACHE is not None:
            found = self.find(sig, target_context)
        if found is None:
            announce_compiling()
        if found is None and _CACHE is not None:
            lock = name_lock(self._name, normalize_signature(sig)[0])
            self._compile_lock.acquire(lock, meanwhile=compile_meanwhile)
            found = self.find(sig, target_context)
        if found is None:
            note_begun(self._module)
        return found

    def releasing_lock(
        self, compile: Callable[[Any], Any], timed: Callable[[], Any]
    ) -> Callable[[Any], Any]:
        """Numba's `compile`, timed, which then releases the lock, even if it fails."""

        def compile_and_release(sig: Any) -> Any:
            try:
                with timed():
                    return compile(sig)
            finally:
                self._compile_lock.release()

        return compile_and_release

    def save_overload(self, sig: Any, data: Any) -> None:
        if _CACHE is None:
            _warn_not_kept(_OBSTACLE)
            return
        try:
            os.makedirs(self.cache_path, exist_ok=True)
            with CompileLock(pathlib.Path(self.cache_path)).held(SAVING):
                super().save_overload(sig, data)
        except OSError as error:
            _warn_not_kept(error.strerror or str(error))

    def forget(self) -> None:
        with contextlib.suppress(OSError):
            os.unlink(self._cache_file._index_path)


#: Whether the message that loops are being compiled was printed.
_told = False
#: Whether the warning that compiled loops are not kept was given.
_warned = False
#: The user's folder, and why it cannot be used, if it cannot.
_FOLDER, _OBSTACLE = (pathlib.Path(), "") if numba.config.DISABLE_JIT else _open_cache()
_CACHE = None if numba.config.DISABLE_JIT or _OBSTACLE else _FOLDER
_RELEASED = None if numba.config.DISABLE_JIT else _find_released()
if _OBSTACLE and _RELEASED is None:
    _warn_not_kept(_OBSTACLE)
if _CACHE is not None or _RELEASED is not None:
    cache_folders.remember_folders(_RELEASED, _FOLDER, PLAIN)


def numba_options(options: dict[str, Any]) -> dict[str, Any]:
    """Convert the options of a function to numba's; `inner` is not one of numba's."""
    plain = {name: value for name, value in options.items() if name != "inner"}
    return plain | INNER if options.get("inner") else plain


def make_dispatcher(
    function: Any,
    options: dict[str, Any],
    timed: Callable[[], Any] = contextlib.nullcontext,
) -> Any:
    """Numba's dispatcher for a loop, which loads cached code or compiles, and times that."""
    register_overloads()
    import_module("widemargin.loops.lowlevel.by_hand")
    if options.get("inner"):
        part = numba.njit(**numba_options(options))(function)
        return keep_inside(part, interpreted="forceinline" in options)
    compiled = numba.njit(**(options | WHOLE))(function)
    if INNER:
        part = numba.njit(**(options | INNER))(function)
        call_inside(compiled, keep_inside(part, interpreted=False))
    if _CACHE is not None or _RELEASED is not None:
        compiled._cache = _SafeCache(function)
        compiled.compile = compiled._cache.releasing_lock(compiled.compile, timed)
    return compiled


def name_lock(loop: str, kinds: Any) -> str:
    """The name of the lock for compiling a loop for arguments of these numba types."""
    return f"{loop}.{hashlib.sha256(str(kinds).encode()).hexdigest()[:16]}"


def cache_folder() -> pathlib.Path | None:
    """The folder where this version caches machine code; None if it cannot be cached."""
    return _CACHE


def find_cache_folder() -> pathlib.Path:
    """The folder where this version caches machine code; an error says why there is none."""
    if numba.config.DISABLE_JIT:
        raise DataError("numba's compiler is switched off (NUMBA_DISABLE_JIT)")
    if _CACHE is None:
        raise DataError(f"{_FOLDER}: compiled loops cannot be kept there ({_OBSTACLE})")
    return _CACHE


def announce_compiling(*, always: bool = False) -> None:
    """Print, once per process, why the first use of a loop takes so long, on a terminal.

    Parameters
    ----------
    always : bool
        Print it even if standard error is not a terminal.
    """
    global _told
    if not (_told or is_quiet()) and (always or sys.stderr.isatty()):
        why = f"{_released_for_others()}compiling the loops of this first use"
        often = "in each run" if _CACHE is None else "once"
        print(f"{why}: a few seconds, {often}", file=sys.stderr)
        _told = True


def _released_for_others() -> str:
    """Why the machine code of the release does not fit here; "" if it does, or if there is none."""
    if _RELEASED is not None or not (_RELEASE / "made_with.txt").is_file():
        return ""
    made_with = (_RELEASE / "made_with.txt").read_text(encoding="utf-8").strip()
    return f"the machine code of this release is for {made_with}; "


def is_cold() -> bool:
    """Whether no loop has been compiled and cached yet, so that the first use takes seconds."""
    if numba.config.DISABLE_JIT:
        return False
    if _RELEASED is not None:
        return False
    return _CACHE is None or next(_CACHE.rglob("*.nbi"), None) is None
