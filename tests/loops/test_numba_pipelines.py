"""How loops are compiled: as parts of their callers, and without counting what is only lent."""

from __future__ import annotations

import gc
import sys
from typing import NamedTuple

import numba
import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys

from widemargin.loops.jit import OPTIONS, jit
from widemargin.loops.numba_pipelines import WHOLE

compiled_only = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="only with the compiler")


class Pair(NamedTuple):
    matrix: np.ndarray
    column: np.ndarray


@jit()
def add_up(x):
    s = 0.0
    for k in range(len(x)):
        s += x[k]
    return s


@jit()
def add_up_rows(pair, out):
    """Reads views of its arguments in every way that borrows."""
    for row in pair.matrix:
        out[0] += add_up(row)
    for i in range(len(pair.matrix)):
        both = (pair.matrix[i], pair.column[1:])
        out[1] += add_up(both[0]) + add_up(both[1])
    out[2] = add_up(pair.matrix.T[0])


@jit(inner=True)
def tail_of(x):
    return x[1:]


@jit()
def second_of(x):
    return tail_of(x)[0]


@jit()
def doubled(x):
    y = np.empty(len(x))
    for k in range(len(x)):
        y[k] = 2.0 * x[k]
    return y, x[:1]


@jit()
def sum_of_doubled(x):
    y, first = doubled(x)
    return add_up(y) + add_up(first)


@jit()
def shift_right(x):
    x[1:] = x[:-1]


@jit()
def squares(n):
    return sum([k * k for k in range(n)])


def pair():
    return Pair(np.arange(6.0).reshape(3, 2), np.arange(4.0))


def llvm(loop, *arguments):
    """What is made of a loop that is not kept: numba shows nothing of what it has loaded."""
    fresh = numba.njit(**(OPTIONS | WHOLE))(loop.py_func)
    fresh(*arguments)
    return "".join(fresh.inspect_llvm().values())


@compiled_only
def test_a_loop_that_loops_call_is_a_part_of_them():
    out = np.zeros(3)
    add_up_rows(pair(), out)
    assert out.tolist() == [15.0, 15.0 + 3 * 6.0, 6.0]
    assert not add_up.overloads  # Python has not called it yet
    assert add_up(np.ones(3)) == 3.0
    assert len(add_up.overloads) == 1


@compiled_only
def test_what_is_lent_is_not_counted():
    assert WHOLE, "numba has changed: see loops/numba_pipelines.py"
    lent = llvm(add_up_rows, pair(), np.zeros(3))
    assert "NRT_incref" not in lent
    assert "NRT_decref" not in lent
    assert "NRT_decref" in llvm(sum_of_doubled, np.arange(3.0))


@pytest.fixture
def counting():
    """Let numba count what it allocates and frees."""
    _nrt_python.memsys_enable_stats()
    yield
    _nrt_python.memsys_disable_stats()


@compiled_only
@pytest.mark.usefixtures("counting")
@pytest.mark.parametrize("loop", [second_of, doubled, sum_of_doubled])
def test_references_are_given_back(loop):
    x = np.arange(5.0)
    loop(x)
    before, made = sys.getrefcount(x), rtsys.get_allocation_stats()
    for _ in range(10):
        loop(x)
    after = rtsys.get_allocation_stats()
    assert sys.getrefcount(x) == before
    assert after.mi_alloc - made.mi_alloc == after.mi_free - made.mi_free


def test_a_view_that_is_returned_keeps_its_array():
    def give():
        return doubled(np.full(1000, 7.0))

    results = [give() for _ in range(20)]
    gc.collect()
    assert all((y == 14.0).all() and first[0] == 7.0 for y, first in results)


def test_an_array_written_over_itself():
    x = np.arange(4.0)
    shift_right(x)
    assert x.tolist() == [0.0, 0.0, 1.0, 2.0]


def test_functions_in_a_loop_are_compiled_in_numbas_own_way():
    assert squares(4) == 14


@compiled_only
@pytest.mark.parametrize("enabled", [True, False])
def test_the_garbage_collector_is_left_as_it_was(enabled):
    @jit()
    def good(x):
        return x + 1

    @jit()
    def bad(x):
        return x.no_such_name

    if not enabled:
        gc.disable()
    try:
        assert good(1) == 2
        assert gc.isenabled() == enabled
        with pytest.raises(numba.TypingError):
            bad(1)
        assert gc.isenabled() == enabled
    finally:
        gc.enable()
