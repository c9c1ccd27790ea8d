"""One decorator for every compiled loop: what it may assume, and where its machine code is kept.

Numba's own cache looks only at the file of the function it caches. When a function that this one
calls changes in another file, the old machine code is run without a word. So the code of all loops
is kept in one folder whose name is a digest of everything the machine code depends on: change a
line of any loop and every loop is compiled anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pathlib
import stat
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import llvmlite.binding
import numba
import numpy
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.runtime import rtsys
from numba.core.sigutils import normalize_signature

try:
    import fcntl
except ImportError:  # not on every system
    fcntl = None

F = TypeVar("F", bound=Callable[..., Any])

#: What a loop may assume. No flag says that NaN or infinity cannot happen.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
#: The same for a loop whose sum may be added up in any order, as vector instructions need.
SUMS: dict[str, Any] = {**OPTIONS, "fastmath": {"reassoc", "contract", "nsz"}}
#: The same for a loop whose products and sums may be one instruction, rounded once.
FUSED: dict[str, Any] = {**OPTIONS, "fastmath": {"contract"}}
#: For a function that is called for every example. A real call would count references to each array
#: that it is given up and down, which costs as much as a short row.
INLINE: dict[str, Any] = {"forceinline": True}

#: Whether loops do without the LLVM that is written by hand; see `loops/lowlevel/choice.py`.
PLAIN = os.environ.get("WIDEMARGIN_PLAIN_LOOPS", "") not in ("", "0")

_PACKAGE = pathlib.Path(__file__).resolve().parent.parent


def cache_root() -> pathlib.Path:
    """The user's folder for machine code, of every version of widemargin."""
    chosen = os.environ.get("WIDEMARGIN_CACHE")
    if chosen:
        return pathlib.Path(chosen)
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(home) / "widemargin"


def _digest() -> str:
    """Name everything that the machine code depends on."""
    digest = hashlib.sha256()
    for source in [*sorted((_PACKAGE / "loops").rglob("*.py")), _PACKAGE / "data" / "rows.py"]:
        digest.update(source.relative_to(_PACKAGE).as_posix().encode())
        digest.update(source.read_bytes())
    for fact in (
        numba.__version__,
        numpy.__version__,
        llvmlite.binding.get_host_cpu_name(),
        llvmlite.binding.get_host_cpu_features().flatten(),
        "plain" if PLAIN else "by hand",
    ):
        digest.update(fact.encode())
    return digest.hexdigest()[:24]


def _private(folder: pathlib.Path) -> bool:
    """Whether nobody but this user can put a file there: the files are pickles."""
    found = folder.stat()
    ours = not hasattr(os, "getuid") or found.st_uid == os.getuid()
    return ours and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _open_cache() -> pathlib.Path | None:
    """Make the folder ready, or say in one line why every run will compile again."""
    folder = cache_root() / _digest()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _private(folder):
            reason = "others can write to it"
        elif not os.access(folder, os.W_OK):
            reason = "it is read-only"
        else:
            return folder
    except OSError as error:
        reason = error.strerror or str(error)
    warnings.warn(
        f"compiled loops are not kept in {folder} ({reason}): each run compiles them again",
        RuntimeWarning,
        stacklevel=2,
    )
    return None


#: Numba's way to name the files in a folder that it was given; the class has had two names.
_InGivenFolder: type = CompileResultCacheImpl._locator_classes[0]


class _Place(_InGivenFolder):
    """Where the code of a loop is kept: by its module, wherever the package is installed.

    The folder above is named by a digest of all sources of the package, so the stamp of one of them
    would say nothing more.
    """

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        folder = pathlib.Path(py_file).resolve().parent
        if folder.is_relative_to(_PACKAGE):
            return "_".join(folder.relative_to(_PACKAGE).parts)
        return str(super().get_suitable_cache_subpath(py_file))

    def get_source_stamp(self) -> Any:
        inside = pathlib.Path(self._py_file).resolve().is_relative_to(_PACKAGE)
        return "in the digest" if inside else super().get_source_stamp()


class _Places(CompileResultCacheImpl):
    """Numba's way to keep compiled functions, in our places."""

    _locator_classes = (_Place,)


class _SafeCache(FunctionCache):
    """Numba's cache, except that a damaged or unwritable file costs a compile and not the run.

    Two processes that save at once could also mix up numba's index, so that it leads to the code
    for other types: saving is one at a time, and what is loaded must be what was asked for.
    """

    _impl_class = _Places

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            found = self._load(sig, target_context)
            if found is None:
                tell_compiling()
            elif found.signature.args != normalize_signature(sig)[0]:
                raise ValueError("it is for other types")
            return found
        except Exception as error:
            self._tell(error)
            with contextlib.suppress(OSError):
                os.unlink(self._cache_file._index_path)
            return None

    def _load(self, sig: Any, target_context: Any) -> Any:
        """Load code without numba's first step, which registers all that can be compiled.

        That step imports scipy.linalg and takes half a second, and only the compiler needs it,
        which takes it itself. Loaded code needs nothing but numba's runtime. These are private
        names of numba: where they are missing, numba loads in its own way.
        """
        if not (hasattr(rtsys, "initialize") and hasattr(FunctionCache, "_load_overload")):
            return super().load_overload(sig, target_context)
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            with _alone(pathlib.Path(self.cache_path)):
                super().save_overload(sig, data)
        except OSError as error:
            self._tell(error)

    def _tell(self, error: Exception) -> None:
        warnings.warn(
            f"compiled code in {self.cache_path} could not be used"
            f" ({type(error).__name__}: {error}); compiling",
            RuntimeWarning,
            stacklevel=2,
        )


@contextlib.contextmanager
def _alone(folder: pathlib.Path) -> Iterator[None]:
    """Keep other processes from saving in this folder meanwhile, where the system can."""
    if fcntl is None:
        yield
        return
    with open(folder / "lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


#: Whether it was said that loops are being compiled.
_told = False
_CACHE = None if numba.config.DISABLE_JIT else _open_cache()


def jit(*, inline: bool = False) -> Callable[[F], F]:
    """Compile a loop on first use and keep its machine code.

    Parameters
    ----------
    inline : bool
        Put the function into its callers, see `INLINE`.
    """

    def decorate(function: F) -> F:
        compiled = numba.njit(**(OPTIONS | INLINE if inline else OPTIONS))(function)
        if numba.config.DISABLE_JIT or inline:
            return compiled
        if _CACHE is not None:
            before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(_CACHE)
            try:
                compiled._cache = _SafeCache(function)
            finally:
                numba.config.CACHE_DIR = before
        return compiled

    return decorate


def resolve(loop: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """The machine code of a loop for arguments of these types.

    To look at the types in every call takes as long as to learn from a short row. Who calls the
    machine code itself promises that they stay the same.
    """
    if numba.config.DISABLE_JIT:
        return loop
    return loop.compile(tuple(map(numba.typeof, arguments)))


def cache_folder() -> pathlib.Path | None:
    """Where this version keeps its machine code; None if it cannot be kept."""
    return _CACHE


def tell_compiling(*, always: bool = False) -> None:
    """Say once in a process why the first use of a loop takes so long, on a terminal.

    Parameters
    ----------
    always : bool
        Say it even if standard error is not a terminal.
    """
    global _told
    if not _told and (always or sys.stderr.isatty()):
        how_long = "about 10 seconds" if is_cold() else "a few seconds"
        print(f"compiling loops for their first use: {how_long}, once", file=sys.stderr)
        _told = True


def compile_quietly() -> None:
    """Say nothing about compiling from now on."""
    global _told
    _told = True


def is_cold() -> bool:
    """Whether no loop has been compiled and kept yet, so that the first use takes seconds."""
    if numba.config.DISABLE_JIT:
        return False
    return _CACHE is None or next(_CACHE.rglob("*.nbi"), None) is None
