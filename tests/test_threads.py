"""Pools of threads: kept and shared, and made anew in a forked process."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from widemargin import threads


def test_threads_that_need_a_pool_at_once_share_it(monkeypatch):
    both = threading.Barrier(2)

    class Awaited(ThreadPoolExecutor):
        def __init__(self, size):
            both.wait()
            super().__init__(size)

    monkeypatch.setattr(threads, "_POOLS", {})
    monkeypatch.setattr(threads, "ThreadPoolExecutor", Awaited)
    found = []
    callers = [threading.Thread(target=lambda: found.append(threads._pool(3))) for _ in range(2)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert found[0] is found[1]


@pytest.mark.skipif(not hasattr(os, "register_at_fork"), reason="no process is forked here")
def test_a_forked_process_has_threads_of_its_own():
    assert threads.run_all(abs, [-1, -2, -3], 2) == [1, 2, 3]
    child = os.fork()
    if not child:
        found = threads.run_all(abs, [-4, -5, -6], 2)
        os._exit(found != [4, 5, 6])
    assert os.waitpid(child, 0)[1] == 0
