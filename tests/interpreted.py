"""Run programs with the compiler off, to compare them with the same programs compiled."""

import contextlib
import functools
import io
import json
import os
import pathlib
import subprocess
import sys
import warnings

import numpy as np

HERE = pathlib.Path(__file__).parent

#: Runs scripts one after another: each script and each answer is a line of JSON.
SERVER = """
import json, sys, traceback
from interpreted import told_here
for line in sys.stdin:
    try:
        answer = True, told_here(json.loads(line))
    except Exception:
        answer = False, traceback.format_exc()
    print(json.dumps(answer), flush=True)
"""


def environment(interpreted):
    """The environment of a child process that finds the modules of the tests."""
    folders = [HERE, *(path for path in HERE.iterdir() if path.is_dir())]
    paths = [*map(str, folders), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        **os.environ,
        "NUMBA_DISABLE_JIT": "1" if interpreted else "0",
        "PYTHONPATH": os.pathsep.join(paths),
    }


def run_python(*command, interpreted=True):
    """The output of Python, called with these arguments in the tests folder."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", *map(str, command)],
        env=environment(interpreted),
        cwd=HERE,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@functools.cache
def interpreter():
    """A process without the compiler, started once, which ends when this process does."""
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", SERVER],
        env=environment(interpreted=True),
        cwd=HERE,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def told_interpreted(script):
    """What a script prints with the compiler off."""
    child = interpreter()
    print(json.dumps(script), file=child.stdin, flush=True)
    done, told = json.loads(child.stdout.readline())
    assert done, told
    return told


def told_here(script):
    """What a script prints in this process: compiled, unless the compiler is off here too."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(script, {})
    return said.getvalue()


def told_by_both(script):
    """What a script prints compiled, and what it prints interpreted."""
    return told_here(script), told_interpreted(script)


def assert_both_tell_the_same(script, **tolerance):
    """Check that a script prints the same lines of numbers, as JSON, compiled and interpreted."""
    found = [map(json.loads, told.splitlines()) for told in told_by_both(script)]
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, **tolerance)
