"""Shorter ways through numba's compiler: they lead to the same code, and are left again."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys

import numba
import numpy as np
import pytest
from numba.core import event, postproc
from numba.core.types.functions import BaseFunction

from widemargin.loops import numba_pipelines, numba_shortcuts
from widemargin.loops.jit import OPTIONS, compile_seconds, jit

compiled_only = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="only with the compiler")


def test_numba_has_the_names():
    assert numba_shortcuts.is_known(), "numba or llvmlite has changed: see loops/numba_shortcuts.py"
    names = {name for _, name, _ in numba_shortcuts._unheard()}
    assert names == {"_runPass", "_cblist"}, (
        "numba or llvmlite has changed: see loops/numba_shortcuts.py"
    )


def spread(rows, out):
    """Uses operators, constants, tuples, slices, a new array, and numba's own functions."""
    work = np.empty(len(out))
    low, high = np.inf, -np.inf
    for i in range(len(rows)):
        row = rows[i, 1:]
        for j in range(len(row)):
            low, high = min(low, row[j]), max(high, row[j])
        work[i] = high - low if i % 2 else (low + 1) / (high + 2)
    for i in range(len(out)):
        out[i] += abs(work[i]) ** 2
    return -low, high > 3


def compile_spread():
    """Its LLVM, without the number that makes its name unique."""
    loop = numba.njit(**(OPTIONS | numba_pipelines.WHOLE))(spread)
    loop.compile((numba.types.float64[:, ::1], numba.types.float64[::1]))
    (found,) = loop.inspect_llvm().values()
    return re.sub(r"B\d+v\d+B", "B", found)


@compiled_only
def test_the_code_is_the_same(monkeypatch):
    short = compile_spread()
    monkeypatch.setattr(numba_pipelines, "shortened", contextlib.nullcontext)
    assert compile_spread() == short


@compiled_only
def test_every_way_is_left_again(monkeypatch):
    steps = (BaseFunction.get_call_type, postproc.PostProcessor.run)
    with numba_shortcuts.shortened():
        assert (BaseFunction.get_call_type, postproc.PostProcessor.run) != steps
        with numba_shortcuts.shortened():  # a part of a loop
            pass
        assert (BaseFunction.get_call_type, postproc.PostProcessor.run) != steps
    assert (BaseFunction.get_call_type, postproc.PostProcessor.run) == steps

    with pytest.raises(ValueError, match="stop"), numba_shortcuts.shortened():
        raise ValueError("stop")
    assert (BaseFunction.get_call_type, postproc.PostProcessor.run) == steps
    monkeypatch.setattr(numba_shortcuts, "is_known", lambda: False)
    with numba_shortcuts.shortened():
        assert (BaseFunction.get_call_type, postproc.PostProcessor.run) == steps


@compiled_only
def test_who_listens_hears_of_passes():
    heard = event.RecordingListener()
    with event.install_listener("numba:run_pass", heard):
        compile_spread()
    assert len(heard.buffer) > 10


@compiled_only
def test_compiling_is_timed():
    @jit()
    def triple(x):
        return 3 * x

    before = compile_seconds()
    assert triple(2) == 6
    after = compile_seconds()
    assert after > before
    assert triple(3) == 9
    assert compile_seconds() == after


PROGRAM = """
import sys
import numba
import numpy as np
from widemargin.loops.sequences.templates import note_first
first = np.zeros(3, np.uint64)
note_first(np.array([2, 0], np.uint64), first)
assert first.tolist() == [2, 0, 1]
assert "numba.np.arraymath" in sys.modules
assert not any(name.startswith("scipy.linalg") for name in sys.modules), "nobody has asked for BLAS"

@numba.njit
def product(x):
    return np.dot(x, x)

assert product(np.eye(3)).tolist() == np.eye(3).tolist()
assert "scipy.linalg.cython_blas" in sys.modules
"""


@compiled_only
def test_blas_is_found_when_it_is_needed(tmp_path):
    # A fresh Python: the one that tests fork from has imported SciPy.
    environment = {**os.environ, "WIDEMARGIN_CACHE": str(tmp_path)}
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, env=environment)
