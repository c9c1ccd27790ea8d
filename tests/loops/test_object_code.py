"""Machine code that is called without numba gives what numba's own call gives."""

import os
import platform
import sys
import threading
import time
from typing import NamedTuple

import numba
import numpy as np
import pytest

from widemargin.loops import cached_loops
from widemargin.loops.cached_loops import Loop, UnusualError, name_kinds, name_types
from widemargin.loops.jit import OPTIONS
from widemargin.loops.object_code import find_symbol, lay_out
from widemargin.loops.storage import Dense, Sparse

pytestmark = pytest.mark.skipif(
    numba.config.DISABLE_JIT or (sys.platform, platform.machine()) != ("linux", "x86_64"),
    reason="numba loads all code",
)


class Pair(NamedTuple):
    total: float
    largest: float


def load(function, *arguments):
    """Compile a function for these arguments, and load its code without numba's help."""
    compiled = numba.njit(**OPTIONS)(function)
    compiled.compile(tuple(map(numba.typeof, arguments)))
    (result,) = compiled.overloads.values()
    (_, _, (file, _)), described, environment, *_ = result._reduce()
    entry, constants = described.llvm_cpython_wrapper_name, environment.consts
    return lay_out(file, entry, environment.env_name, constants).load()


def total(rows, scale):
    s = 0.0
    for i in range(len(rows.values)):
        for x in rows.values[i]:
            s += np.exp(x) * scale
    return s


def doubled(x):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = 2 * x[i]
    return out


def measured(x):
    return Pair(x.sum(), x.max())


def refused(x, limit):
    for i in range(len(x)):
        if x[i] > limit:
            raise ValueError("too large")
    return True


def test_numbers_are_the_same_to_the_bit():
    rows = Dense(np.random.default_rng(0).normal(size=(50, 7)), 1.0)
    assert load(total, rows, 0.3)(rows, 0.3) == numba.njit(**OPTIONS)(total)(rows, 0.3)


def test_arrays_are_made_and_freed():
    x = np.arange(1000.0)
    code = load(doubled, x)
    for _ in range(100):
        assert np.array_equal(code(x), 2 * x)
    assert sys.getrefcount(x) == 2


def test_named_tuples_come_back_as_such():
    found = load(measured, np.zeros(2))(np.array([1.0, 3.0]))
    assert type(found) is Pair
    assert found == (4.0, 3.0)


def test_errors_are_raised():
    x = np.array([1.0, 5.0])
    code = load(refused, x, 2.0)
    assert code(x, 9.0) is True
    for _ in range(3):
        with pytest.raises(ValueError, match="too large"):
            code(x, 2.0)
    with pytest.raises(TypeError):
        code(x)


def test_threads_may_call_it_at_once():
    rows = Dense(np.random.default_rng(0).normal(size=(2000, 50)), 1.0)
    code, found = load(total, rows, 1.0), []
    threads = [threading.Thread(target=lambda: found.append(code(rows, 1.0))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1


@pytest.mark.skipif(not hasattr(os, "register_at_fork"), reason="no process is forked here")
def test_a_process_that_is_forked_while_a_thread_loads_a_loop_can_load_others():
    begun = threading.Event()

    def load():
        with cached_loops._LOADING:
            begun.set()
            time.sleep(0.1)

    thread = threading.Thread(target=load)
    thread.start()
    begun.wait()
    child = os.fork()
    if not child:
        os._exit(not cached_loops._LOADING.acquire(timeout=5.0))
    assert os.waitpid(child, 0)[1] == 0
    thread.join()


def _read_only(x):
    x.flags.writeable = False
    return x


def _shifted(x):
    """The same array at an address that is not a multiple of its item size."""
    return np.frombuffer(b"?" + x.tobytes(), np.uint8)[1:].view(x.dtype).reshape(x.shape)


X = np.arange(24.0).reshape(4, 6)


@pytest.mark.parametrize(
    "value",
    [
        1,
        -1,
        True,
        None,
        2.5,
        np.float32(1),
        np.uint64(3),
        np.int32(3),
        np.bool_(True),
        np.float64(2),
        X,
        X.T,
        X[:, ::2],
        X[0],
        X[:, 0],
        X[:1],
        np.zeros((0, 3)),
        np.array(1.0),
        _read_only(X.astype(np.float32)),
        X.astype(np.int16),
        X > 3,
        np.zeros(3, np.longlong),
        (1, 2.0),
        (1, 2),
        (),
        ((X, 1), None),
        Dense(X, 1.0),
        Pair(1.0, 2.0),
        Sparse(X[0], np.zeros(6, np.uint32), np.zeros(2, np.uint64), 0.0),
    ],
    ids=repr,
)
def test_kinds_have_the_names_of_numbas_types(value):
    assert name_kinds([value]) == name_types([numba.typeof(value)])


@pytest.mark.parametrize(
    "value",
    [
        *(1 << 63, "text", b"bytes", [1], {}, object()),
        *(X.astype(complex), X.astype(">f8"), _shifted(X)),
    ],
)
def test_unusual_arguments_are_left_to_numba(value):
    with pytest.raises(UnusualError):
        name_kinds([value])


def test_unusual_code_is_left_to_numba():
    with pytest.raises(UnusualError):
        lay_out(b"\x7fELF\x02\x01" + bytes(100), "entry", "environment", [])
    with pytest.raises(UnusualError, match="no_such_function"):
        find_symbol("no_such_function")


def test_a_loop_goes_to_numba_for_what_is_not_kept():
    loop = Loop(doubled, None, numba.njit(**OPTIONS))
    assert loop(x=np.ones(2)).tolist() == [2.0, 2.0]
    assert loop(np.ones(3)).tolist() == [2.0] * 3
    assert loop.loaded == 0
