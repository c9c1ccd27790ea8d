"""Programs in an interpreter of their own, with the compiler off or on."""

import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent


def run_python(*command, interpreted=True):
    """What Python prints, called with these arguments in the folder of the tests."""
    folders = [HERE, *(path for path in HERE.iterdir() if path.is_dir())]
    environment = {
        **os.environ,
        "NUMBA_DISABLE_JIT": "1" if interpreted else "0",
        "PYTHONPATH": os.pathsep.join(map(str, folders)),
    }
    done = subprocess.run(
        [sys.executable, "-W", "ignore", *map(str, command)],
        env=environment,
        cwd=HERE,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def told_by_both(script):
    """What a script prints compiled, and what it prints interpreted."""
    return run_python("-c", script, interpreted=False), run_python("-c", script)
