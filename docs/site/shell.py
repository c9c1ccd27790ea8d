"""The directive `shell-help`: what `widemargin COMMAND --help` prints now.

    ```{shell-help} train
    ```

Without a command it shows the help of the program.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive

#: Columns of the help, so that a page does not depend on the terminal that builds it.
_WIDTH = 88


def help_text(command: str = "") -> str:
    """The help of the program, or of one of its commands."""
    import click

    from widemargin.cli.main import main as program

    context = click.Context(program, info_name="widemargin", terminal_width=_WIDTH)
    if not command:
        return program.get_help(context)
    found = program.get_command(context, command)
    if found is None:
        raise ValueError(f"widemargin has no command {command!r}")
    inner = click.Context(found, context, info_name=command, terminal_width=_WIDTH)
    return found.get_help(inner)


class ShellHelpDirective(Directive):
    """Shows the help of a command as a literal block."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The block."""
        try:
            text = help_text(*self.arguments)
        except ValueError as error:
            raise self.error(str(error)) from None
        return [nodes.literal_block(text, text, language="text")]


def setup(app: Any) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("shell-help", ShellHelpDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
