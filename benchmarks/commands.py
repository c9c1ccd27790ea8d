"""Our command and Vowpal Wabbit's, run within a warm process."""

from __future__ import annotations

import pathlib
import re

#: Vowpal Wabbit as a command that loads only its library.
VW_COMMAND = """
import sys, pylibvw
workspace = pylibvw.vw(sys.argv[1:])
workspace.run_parser()
workspace.finish()
"""


def run_command(arguments: list[str]) -> None:
    """Run `widemargin ARGUMENTS` in this process."""
    from widemargin.cli.main import main

    try:
        main(arguments, standalone_mode=False)
    except SystemExit as end:
        if end.code:
            raise


def vw_train(options: str) -> None:
    """Run Vowpal Wabbit in this process: read the data, train, and save the model."""
    from vowpalwabbit import Workspace

    workspace = Workspace(f"{options} --quiet")
    workspace.run_parser()
    workspace.finish()


def vw_lines(svmlight: pathlib.Path, vw: pathlib.Path) -> None:
    """Write the rows of an svmlight file in Vowpal Wabbit's format."""
    with open(svmlight) as lines, open(vw, "w") as out:
        for line in lines:
            label, _, features = line.partition(" ")
            out.write(f"{label} |f {features}")


def vw_texts(documents: list[tuple[str, str]], positive: str, vw: pathlib.Path) -> None:
    """Write labelled documents as lower-case words in Vowpal Wabbit's format."""
    with open(vw, "w") as out:
        for label, text in documents:
            words = re.findall(r"(?u)\b\w\w+\b", text.lower())
            out.write(f"{1 if label == positive else -1} |t {' '.join(words)}\n")
