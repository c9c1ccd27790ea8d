"""The shell program, called in this process: starting Python takes longer than most commands."""

import contextlib

from click.testing import CliRunner

from widemargin.cli.main import main


def run_shell(folder, *words, code=0):
    """What the program prints in this folder; it must end with this exit code."""
    with contextlib.chdir(folder):
        ran = CliRunner().invoke(main, words, prog_name="widemargin")
    assert ran.exit_code == code, ran.output
    return ran
