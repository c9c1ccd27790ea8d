"""Call the shell program in this process, as starting Python takes longer than most commands."""

import contextlib

from click.testing import CliRunner

from widemargin.cli.main import main


def run(*words, code=0):
    """The program's output in the current folder; it must exit with this code."""
    ran = CliRunner().invoke(main, [str(word) for word in words], prog_name="widemargin")
    if ran.exception is not None and not isinstance(ran.exception, SystemExit):
        raise ran.exception
    assert ran.exit_code == code, ran.output
    return ran


def run_shell(folder, *words, code=0):
    """The program's output in this folder; it must exit with this code."""
    with contextlib.chdir(folder):
        return run(*words, code=code)
