"""The directive `loop`: a compiled loop beside the pseudocode in its docstring.

    ```{loop} widemargin.loops.linear.passes.binary_pass
    ```

Both are taken from the source as it is now, so that a page cannot fall behind the code.
"""

from __future__ import annotations

import ast
import pathlib
import re
import textwrap
from typing import Any, NamedTuple

from docutils import nodes
from docutils.parsers.rst import Directive

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Loop(NamedTuple):
    """A loop as a page shows it."""

    name: str
    pseudocode: str
    code: str
    file: str  # relative to the root of the repository


def find_loop(path: str) -> Loop:
    """Find a loop by its dotted name; its docstring must hold pseudocode, indented by four."""
    module, name = path.rsplit(".", 1)
    file = ROOT / "src" / pathlib.Path(*module.split(".")).with_suffix(".py")
    text = file.read_text(encoding="utf-8")
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    found = next((node for node in functions if node.name == name), None)
    if found is None:
        raise ValueError(f"{path}: there is no such function")
    written = ast.get_docstring(found, clean=True) or ""
    blocks = re.findall(r"(?:^    .*\n?(?:^\s*\n(?=    ))?)+", written, flags=re.MULTILINE)
    if not blocks:
        raise ValueError(f"{path}: its docstring has no pseudocode")
    lines = text.splitlines()
    code = [lines[found.lineno - 1], *lines[found.body[1].lineno - 1 : found.end_lineno]]
    return Loop(
        name,
        textwrap.dedent(blocks[0]).strip("\n"),
        "\n".join(code),
        file.relative_to(ROOT).as_posix(),
    )


class LoopDirective(Directive):
    """Shows the pseudocode and the loop, side by side where there is room."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The two blocks."""
        try:
            loop = find_loop(self.arguments[0])
        except (OSError, ValueError) as error:
            raise self.error(str(error)) from None
        pair = nodes.container(classes=["loop-pair"])
        for title, text, language in (
            ("The lecture", loop.pseudocode, "text"),
            (f"The loop: {loop.name}, in {loop.file}", loop.code, "python"),
        ):
            block = nodes.literal_block(text, text, language=language)
            side = nodes.container("", nodes.paragraph(title, title), block, classes=["loop-side"])
            pair += side
        return [pair]


def setup(app: Any) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("loop", LoopDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
