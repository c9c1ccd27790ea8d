"""Docstrings as they are written here, turned into what Sphinx reads.

Docstrings are plain text for people who read the source: |x - z| is a length, `x` is code, and an
indented block below the first line is pseudocode. To reStructuredText the first is a substitution,
the second italics, and the third a definition. Doctests and sections are left to numpydoc.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

_CODE_OR_MARK = re.compile(r"``.*?``|`[^`]*`_?|(?<!\\)[|*]")


def escape_marks(line: str) -> str:
    """A line in which | and * mean themselves, but for those in code."""
    return _CODE_OR_MARK.sub(
        lambda found: found[0] if found[0].startswith("`") else "\\" + found[0], line
    )


def readable(lines: list[str]) -> list[str]:
    """A docstring for numpydoc."""
    made: list[str] = []
    section = pseudocode = doctest = False
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if following and set(following.strip()) == {"-"}:
            section = True
        if line.strip().startswith(">>>"):
            doctest = True
        elif not line.strip():
            doctest = False
        inside = line.startswith("    ") and not section
        if inside and not pseudocode:
            made += ["", "::", ""] if made and made[-1].strip() else ["::", ""]
            pseudocode = True
        elif pseudocode and line.strip() and not inside:
            if made and made[-1].strip():
                made.append("")
            pseudocode = False
        plain = not (pseudocode or doctest or re.match(r"\*{1,2}\w+( :|$)", line))
        made.append(escape_marks(line) if plain else line)
    return made


def _process(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    lines[:] = readable(lines)


def _signature(
    app: Any, what: str, name: str, thing: Any, options: Any, signature: str, result: str
) -> tuple[str, str] | None:
    """The parameters of a class as Python tells them: Sphinx would show those of `__new__`."""
    if what != "class":
        return None
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return None
    plain = [one.replace(annotation=one.empty) for one in found.parameters.values()]
    return str(inspect.Signature(plain)), ""


def setup(app: Any) -> dict[str, Any]:
    """Come before numpydoc, whose priority is 500."""
    app.connect("autodoc-process-docstring", _process, priority=400)
    app.connect("autodoc-process-signature", _signature)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
