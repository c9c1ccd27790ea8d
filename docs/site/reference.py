"""The reference is complete, or the build fails.

Every public name stands on a page of docs/reference, and has a docstring with an example. Every
public method of a public class has a docstring. That the examples run is seen by
`tests/test_docs.py`.
"""

from __future__ import annotations

import inspect
import pathlib
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

#: Where public names live; the modules among the names have sections of their own.
HOMES = ("widemargin", "widemargin.structured", "widemargin.structured.tasks")
#: Names from elsewhere that the guide uses.
OTHERS = {("widemargin.kernels.strings", "NGrams")}
_SECTION = re.compile(r"^Examples\n-{8}\n", re.MULTILINE)


def _thing(home: str, name: str) -> Any:
    return getattr(import_module(home), name)


def public_names() -> set[tuple[str, str]]:
    """Every public name that is not a module, with the last module that it is imported from."""
    found = {name: home for home in HOMES for name in import_module(home).__all__}
    things = {(home, name) for name, home in found.items()} | OTHERS
    return {(home, name) for home, name in things if not inspect.ismodule(_thing(home, name))}


def listed_names(pages: str) -> set[tuple[str, str]]:
    """The names in the lists of the reference's pages, with the module that is current there."""
    found, module = set(), ""
    for line in pages.splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split(":: ")[1].strip()
        elif re.fullmatch(r"   \w+", line):
            found.add((module, line.strip()))
    return found


def _methods(kind: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties that this library gives to a class."""
    for name in dir(kind):
        made = inspect.getattr_static(kind, name)
        code = getattr(made, "fget", None) or getattr(made, "func", None)
        code = code or getattr(made, "__func__", made)
        if not name.startswith("_") and str(getattr(code, "__module__", "")).startswith(
            "widemargin"
        ):
            yield name, code


def faults_of(name: str, thing: Any) -> list[str]:
    """What is missing in the docstrings of a public name."""
    doc = inspect.getdoc(thing) if vars(thing).get("__doc__") or not inspect.isclass(thing) else ""
    if not doc:
        return [f"{name} has no docstring"]
    found = []
    section = _SECTION.search(doc)
    if section is None or ">>>" not in doc[section.end() :]:
        found.append(f"{name} has no example in its docstring")
    if inspect.isclass(thing):
        found += [
            f"{name}.{method} has no docstring"
            for method, code in _methods(thing)
            if not code.__doc__
        ]
    return found


def find_faults(pages: str) -> list[str]:
    """What the reference lacks, given the text of its pages."""
    public, listed = public_names(), listed_names(pages)
    found = [f"{home}.{name} is on no page of docs/reference" for home, name in public - listed]
    found += [
        f"{home}.{name} is in docs/reference, but not public" for home, name in listed - public
    ]
    for home, name in public:
        found += faults_of(f"{home}.{name}", _thing(home, name))
    return sorted(found)


def read_pages(folder: pathlib.Path) -> str:
    """The text of the reference's pages."""
    return "\n".join(page.read_text("utf-8") for page in sorted(folder.glob("*.md")))


def _check(app: Any) -> None:
    from sphinx.errors import ExtensionError

    found = find_faults(read_pages(pathlib.Path(app.srcdir) / "reference"))
    if found:
        raise ExtensionError("the reference is incomplete: " + "; ".join(found))


def setup(app: Any) -> dict[str, Any]:
    """Check the reference before any page is read."""
    app.connect("builder-inited", _check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
