"""Finds machine code that fits this machine, as far as possible without numba and LLVM.

The folders are named by facts that only these two know, such as LLVM's name for the processor
(`loops/compiling.py`). So `remember_folders` stores the names in a file that is itself named by
facts available without them. A release lists in `FITS` what its folders are for.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
import os
import pathlib
import platform
import stat
import sys
import threading
from typing import Any, NamedTuple

import numpy as np

PACKAGE = pathlib.Path(__file__).resolve().parent.parent
#: What a release ships: folders of machine code, and what they fit, in words and in full.
RELEASE = PACKAGE / "loops" / "compiled"
FITS = "fits.json"
#: Processor features that have other names in Linux than in LLVM.
_IN_LINUX = {
    "bmi": "bmi1",
    "lzcnt": "abm",
    "sahf": "lahf_lm",
    "sse3": "pni",
    "sse4.1": "sse4_1",
    "sse4.2": "sse4_2",
}


def cache_root() -> pathlib.Path:
    """The user's folder for machine code, of every version of widemargin."""
    chosen = os.environ.get("WIDEMARGIN_CACHE")
    if chosen:
        return pathlib.Path(chosen)
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(home) / "widemargin"


@functools.cache
def digest_sources() -> Any:
    """The digest of all loops, and of the rows that they read."""
    digest = hashlib.sha256()
    for source in [*sorted((PACKAGE / "loops").rglob("*.py")), PACKAGE / "data" / "rows.py"]:
        digest.update(source.relative_to(PACKAGE).as_posix().encode())
        digest.update(source.read_bytes())
    return digest


def is_private(folder: pathlib.Path) -> bool:
    """Whether only this user can write files there: the files are pickles."""
    found = folder.stat()
    ours = not hasattr(os, "getuid") or found.st_uid == os.getuid()
    return ours and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def compiler_is_on() -> bool:
    """Whether loops are compiled at all: see NUMBA_DISABLE_JIT and numba's configuration file."""
    if "numba" in sys.modules or os.path.exists(".numba_config.yaml"):
        import numba

        return not numba.config.DISABLE_JIT
    chosen = os.environ.get("NUMBA_DISABLE_JIT", "")
    return not (chosen.strip().isdigit() and int(chosen))


class Folders(NamedTuple):
    """Folders of machine code that fit this machine: of the release, and of the user."""

    released: str
    user: str


def _name_machine(plain: bool) -> str:
    """Name what machine code depends on, as far as it is known without numba and LLVM."""
    digest = digest_sources().copy()
    facts = [sys.version, np.__version__, platform.machine(), "plain" if plain else "by hand"]
    facts += _settings()
    for package in ("numba", "llvmlite"):
        found = importlib.util.find_spec(package)
        if found is None or found.origin is None:
            raise LookupError(f"{package} is not installed")
        facts += [found.origin, str(os.stat(found.origin).st_mtime_ns)]
        facts.append(_version_file(found.origin))
    wanted = ("vendor_id", "cpu family", "model", "stepping", "flags")
    facts += [line for line in _first_processor() if line.startswith(wanted)]
    for fact in facts:
        digest.update(fact.encode() + b"\0")
    return str(digest.hexdigest()[:24])


def _settings() -> list[str]:
    """The settings of numba in the environment."""
    return [f"{name}={os.environ[name]}" for name in sorted(os.environ) if name[:6] == "NUMBA_"]


def _version_file(origin: str) -> str:
    """The file in which numba or llvmlite stores its version."""
    return pathlib.Path(origin).with_name("_version.py").read_text(encoding="utf-8")


@functools.cache
def _first_processor() -> list[str]:
    """What Linux says about the first processor."""
    found = []
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if not line.strip():
                break
            found.append(line)
    return found


def describe_fits(folders: dict[str, str], versions: dict[str, str]) -> str:
    """The content of `FITS`, for a release.

    Parameters
    ----------
    folders : dict
        The features that a processor must have, as LLVM writes them, by the name of the folder; the
        fastest code first.
    versions : dict
        The versions of numba, llvmlite and numpy.
    """
    facts = {"sources": digest_sources().hexdigest(), "python": sys.version_info[:2]}
    return json.dumps({**facts, "versions": versions, "folders": folders})


def _find_released(plain: bool) -> str:
    """The folder of the release that fits; "" if there is none, or if only numba can tell."""
    if plain or _settings() or platform.machine() != "x86_64" or not (RELEASE / FITS).is_file():
        return ""
    fits = json.loads((RELEASE / FITS).read_text(encoding="utf-8"))
    if fits["sources"] != digest_sources().hexdigest():
        return ""
    if tuple(fits["python"]) != sys.version_info[:2] or fits["versions"]["numpy"] != np.__version__:
        return ""
    for package in ("numba", "llvmlite"):
        found = importlib.util.find_spec(package)
        if found is None or found.origin is None:
            return ""
        version, file = fits["versions"][package], _version_file(found.origin)
        if f'"{version}"' not in file and f"'{version}'" not in file:
            return ""
    flags = {flag for line in _first_processor() if line[:5] == "flags" for flag in line.split()}
    for folder, features in fits["folders"].items():
        needed = {feature.removeprefix("+") for feature in features.split(",")}
        if {_IN_LINUX.get(name, name) for name in needed} <= flags and (RELEASE / folder).is_dir():
            return str(RELEASE / folder)
    return ""


def _remembered_at(plain: bool) -> pathlib.Path:
    return cache_root() / "known" / _name_machine(plain)


def find_folders(plain: bool) -> Folders | None:
    """The folders of code that fits, as far as they are known; None if only numba can tell."""
    if sys.platform != "linux" or not compiler_is_on() or "numba" in sys.modules:
        return None
    try:
        return known_folders(plain)
    except (OSError, ValueError, LookupError):
        return None


def known_folders(plain: bool) -> Folders:
    """The folders of code that fits, whoever loads it; "" where none is known.

    Raises
    ------
    OSError, ValueError, LookupError
        If this cannot be determined without numba.
    """
    return _find_remembered(plain) or Folders(_find_released(plain), "")


def _find_remembered(plain: bool) -> Folders | None:
    """The folders recorded by an earlier run, if only this user can write the record."""
    place = _remembered_at(plain)
    if not place.is_file() or not is_private(place.parent):
        return None
    released, user = place.read_text(encoding="utf-8").split("\n")
    folder, theirs = cache_root() / user, RELEASE / released
    usable = user and folder.is_dir() and is_private(folder)
    return Folders(
        str(theirs) if released and theirs.is_dir() else "", str(folder) if usable else ""
    )


def remember_folders(released: pathlib.Path | None, user: pathlib.Path, plain: bool) -> None:
    """Record for later runs where the code for this machine is, if possible."""
    if sys.platform != "linux":
        return
    try:
        place = _remembered_at(plain)
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        content = f"{released.name if released else ''}\n{user.name}".encode()
        if not place.is_file() or place.read_bytes() != content:
            replace_file(place, content)
    except (OSError, LookupError):
        return  # the next run asks numba again


def forget_folders(current: pathlib.Path) -> None:
    """Delete the records of folders other than the current one."""
    for place in (current.parent / "known").glob("*"):
        if place.is_file() and place.read_bytes().split(b"\n")[-1] != current.name.encode():
            place.unlink(missing_ok=True)


def replace_file(place: pathlib.Path, content: bytes) -> None:
    """Write a file atomically."""
    written = place.with_name(f"{place.name}.{os.getpid()}.{threading.get_ident()}.tmp")
    written.write_bytes(content)
    os.replace(written, place)
