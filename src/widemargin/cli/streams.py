"""Standard input and output as the shell left them: perhaps closed, perhaps not in UTF-8."""

from __future__ import annotations

import os
import sys

#: The standard streams by the numbers of their files. Of /dev/null opened the wrong way around,
#: the reading or writing of data fails; only messages may be lost.
_MODES = {"stdin": os.O_WRONLY, "stdout": os.O_RDONLY, "stderr": os.O_WRONLY}


def prepare_streams() -> None:
    """Fill in streams that are closed, and let output show characters that it cannot encode.

    A closed stream would leave its number to the next file that is opened, such as a model.
    """
    for number, (name, mode) in enumerate(_MODES.items()):
        if getattr(sys, name) is None:
            file = os.open(os.devnull, mode)
            if file != number:
                os.dup2(file, number)
                os.close(file)
            how = "r" if name == "stdin" else "w"
            setattr(sys, name, open(number, how, encoding="utf-8", closefd=False))  # noqa: SIM115
    output = sys.stdout
    if getattr(output, "errors", "") == "strict" and hasattr(output, "reconfigure"):
        output.reconfigure(errors="backslashreplace")


def give_up_output() -> None:
    """After an error of standard output, drop what it still holds: at exit it would fail again."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.close(nothing)
