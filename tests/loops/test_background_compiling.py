"""Compiling in the background: the list is right, and no loop is compiled by two processes."""

import contextlib
import json
import os
import pathlib
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numba
import pytest
from forked import run_forked

from widemargin.loops import background_compiling as background
from widemargin.loops import cached_loops, compile_locks, compiling, jit
from widemargin.loops.compile_locks import CompileLock, is_locked

sys.path.append(str(pathlib.Path(__file__).parents[2]))
from benchmarks.startup import FIRST_CALLS, note_loops

compiled_only = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a second process")
CALLS = sorted(json.loads(background.LIST.read_text()))


@linux_only
@compiled_only
@pytest.mark.parametrize("call", CALLS)
def test_list_has_the_loops_of_the_call_in_order(call):
    listed = [one[:3] for one in background.listed_loops(call)]
    assert note_loops(FIRST_CALLS[call]) == listed, "run python .ci/list_first_calls.py"


@pytest.mark.parametrize("call", CALLS)
def test_words_become_the_types_that_they_name(call):
    for one in background.listed_loops(call):
        assert cached_loops.name_types(background.types_of(one.kinds)) == one.kinds


def test_tuples_keep_their_class():
    plain, named = background.types_of(
        "builtins.tuple(int64,float64),widemargin.loops.sequences.templates.Index(uint64,"
        "uint64[1Cr],uint32[2Fw])"
    )
    assert str(plain) == "Tuple(int64, float64)"
    assert named.instance_class.__name__ == "Index"
    assert [kind.mutable for kind in named.types[1:]] == [False, True]
    assert [kind.layout for kind in named.types[1:]] == ["C", "F"]


@pytest.mark.parametrize("kinds", ["builtins.tuple(int64", "int64)"])
def test_words_that_do_not_match_are_refused(kinds):
    with pytest.raises((ValueError, IndexError)):
        background.types_of(kinds)


@linux_only
def test_the_second_process_waits_for_the_lock(tmp_path):
    first, second = CompileLock(tmp_path), CompileLock(tmp_path)
    first.acquire("loop")
    assert is_locked(tmp_path, "loop")
    assert not is_locked(tmp_path, "another")
    order = []

    def wait():
        second.acquire("loop")
        order.append("second")

    waiting = threading.Thread(target=wait)
    waiting.start()
    time.sleep(0.1)
    order.append("first")
    first.release()
    waiting.join()
    assert order == ["first", "second"]
    second.release()
    assert not is_locked(tmp_path, "loop")


@linux_only
def test_a_process_that_was_forked_meanwhile_does_not_keep_the_lock(tmp_path):
    lock = CompileLock(tmp_path)
    lock.acquire("loop")
    child = os.fork()
    if not child:
        signal.pause()
    try:
        lock.release()
        assert not is_locked(tmp_path, "loop")
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


@linux_only
@linux_only
def test_threads_that_compiled_the_same_loop_may_release_its_lock_at_once(tmp_path, monkeypatch):
    lock = CompileLock(tmp_path)
    unlock, both = compile_locks.fcntl.flock, threading.Barrier(2)

    def unlock_late(file, how):
        with contextlib.suppress(threading.BrokenBarrierError):
            both.wait(0.2)  # until the other thread has the file, too, if it can get it
        unlock(file, how)

    lock.acquire("x")
    monkeypatch.setattr(compile_locks.fcntl, "flock", unlock_late)
    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(lock.release) for _ in range(2)]:
            done.result()
    assert not is_locked(tmp_path, "x")


def test_other_work_is_done_while_a_lock_is_waited_for(tmp_path):
    first, second = CompileLock(tmp_path), CompileLock(tmp_path)
    first.acquire("loop")
    done = []

    def work():
        done.append("a loop")
        if len(done) == 3:
            first.release()
        return True

    second.acquire("loop", meanwhile=work)
    assert len(done) == 3
    assert is_locked(tmp_path, "loop")
    second.release()


def listed(*loops):
    """Loops of a list, each from the name of its module and its own."""
    return [background.Listed(*loop.split("."), "int64", 1.0) for loop in loops]


def test_meanwhile_takes_the_next_loop_that_nobody_has_begun(monkeypatch):
    outcomes = {"missing": AttributeError("no such loop"), "taken": False, "free": True}
    tried = []

    def compile_unless_locked(one):
        tried.append(one.name)
        if isinstance(outcomes[one.name], Exception):
            raise outcomes[one.name]
        return outcomes[one.name]

    monkeypatch.setattr(background, "_compile_unless_locked", compile_unless_locked)
    monkeypatch.setattr(background, "_shared", listed("a.missing", "b.taken", "a.free", "b.taken"))
    monkeypatch.setattr(background, "_begun", set())
    assert background.compile_meanwhile()
    assert tried == ["missing", "taken", "free"]
    assert not background.compile_meanwhile()
    assert tried[3:] == ["taken"]


def test_each_process_prefers_modules_that_it_has_begun(monkeypatch):
    tried = []

    def compile_unless_locked(one):
        tried.append(f"{one.module}.{one.name}")
        background.note_begun(one.module)
        return True

    monkeypatch.setattr(background, "_compile_unless_locked", compile_unless_locked)
    monkeypatch.setattr(background, "_begun", {"b"})
    monkeypatch.setattr(background, "_shared", listed("a.first", "b.second", "a.third"))
    while background.compile_meanwhile():
        pass
    assert tried == ["b.second", "a.first", "a.third"]
    tried.clear()
    background._begun.clear()
    costs = {"a.first": 1.0, "b.second": 3.0, "a.third": 2.0, "b.last": 0.5}
    loops = [one._replace(cost=s) for one, s in zip(listed(*costs), costs.values(), strict=True)]
    monkeypatch.setattr(background.gc, "disable", lambda: None)
    monkeypatch.setattr(jit, "_quiet", False)
    background.compile_listed([list(one) for one in loops], os.getppid())
    assert tried == ["b.second", "b.last", "a.third", "a.first"]


@linux_only
@compiled_only
def test_loop_that_is_kept_or_taken_is_left_to_the_other_process(monkeypatch, tmp_path):
    kinds = "uint64[1Cw],uint64[1Cw]"
    one = background.Listed("widemargin.loops.sequences.templates", "note_first", kinds, 1.0)
    monkeypatch.setattr(compiling, "cache_folder", lambda: tmp_path)
    lock = CompileLock(tmp_path / compiling.LOCKS)
    lock.acquire(compiling.name_lock(f"{one.module}.{one.name}", background.types_of(kinds)))
    assert not background._compile_unless_locked(one)
    lock.release()
    monkeypatch.setattr(cached_loops, "is_kept", lambda *_: True)
    assert not background._compile_unless_locked(one)


def test_turn_without_a_folder_is_nobodys(tmp_path):
    lock = CompileLock(tmp_path / "missing" / "folder")
    lock.acquire("loop")
    lock.release()


@linux_only
@compiled_only
def test_turn_ends_when_compiling_fails():
    from widemargin.loops.sequences.templates import note_first

    kinds = background.types_of("float64,int64")
    with pytest.raises(numba.TypingError):
        note_first.dispatcher.compile(kinds)
    name = compiling.name_lock("widemargin.loops.sequences.templates.note_first", kinds)
    assert compiling.cache_folder() is None or not is_locked(
        compiling.cache_folder() / compiling.LOCKS, name
    )


PROGRAM = """
import json, os, pathlib, sys
import numpy as np
from widemargin.loops import background_compiling as background
background.LIST = pathlib.Path(sys.argv[1])
os.sched_getaffinity = lambda _: {0, 1}
background.compile_ahead("test")
background.compile_ahead("test")
(other,) = background._others
assert other.wait() == 0
from widemargin.loops.sequences.templates import note_first
from widemargin.loops.sequences.tokens import find_edges
first = np.zeros(3, np.uint64)
note_first(np.array([2, 0], np.uint64), first)
assert first.tolist() == [2, 0, 1]
assert sum(note_first.stats.cache_hits.values()) == 1, note_first.stats
assert not find_edges.stats.cache_misses
"""


@linux_only
@compiled_only
def test_other_process_compiles_what_this_one_loads(tmp_path):
    loops = "widemargin.loops.sequences"
    listed = {
        "test": [
            (f"{loops}.templates", "note_first", "uint64[1Cw],uint64[1Cw]", 1.0),
            (f"{loops}.tokens", "find_edges", "uint32[1Cr],uint64[2Cw]", 2.0),
        ]
    }
    place = tmp_path / "list.json"
    place.write_text(json.dumps(listed))
    cache = {"WIDEMARGIN_CACHE": str(tmp_path / "cache")}
    done = run_forked("-c", PROGRAM, str(place), env={**os.environ, **cache})
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("kept", [True, False])
def test_no_process_for_what_is_kept_or_with_one_processor(monkeypatch, kept):
    def refuse(*_arguments, **_named):
        raise AssertionError("a process was started")

    monkeypatch.setattr(background.subprocess, "Popen", refuse)
    if kept:
        monkeypatch.setattr(background.cached_loops, "is_kept", lambda *_: True)
    monkeypatch.setattr(
        background.os, "sched_getaffinity", lambda _: {0, 1} if kept else {0}, raising=False
    )
    background._start_once.cache_clear()
    background.compile_ahead("Tagger")
