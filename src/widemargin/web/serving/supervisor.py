"""The process that loads models, starts workers, and replaces both.

Workers are forked from it, so that they share the memory of the models and of everything computed
from them. When a file changes, its model is loaded here while the workers continue; new workers
then take over the listening socket, and the old ones finish their requests.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Mapping
from typing import Any

from widemargin.errors import DataError
from widemargin.web.serving.metrics import Counters
from widemargin.web.serving.served import Served, load_served, version_of
from widemargin.web.serving.worker import RETIRE, STOP, ServeSettings, Worker

#: Seconds between checks of the files.
_LOOK = 0.5
#: Seconds that new workers have to start.
_BEGIN = 30.0
#: A worker that ends within this many seconds is not restarted at once.
_SHORT = 1.0
#: The number of generations of workers that may overlap; retired ones end within seconds.
_GENERATIONS = 4
#: Signals that stop the server: from kill, Ctrl-C, and closing the terminal.
_ENDS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Supervisor:
    """Serves models until a signal.

    Parameters
    ----------
    paths : dict
        The files, by the names of their models.
    settings : ServeSettings
        The settings of the server.
    """

    def __init__(self, paths: Mapping[str, str], settings: ServeSettings) -> None:
        self._settings = settings
        # Ignored signals stay ignored: nohup ignores SIGHUP. A blocked one would be delivered.
        self._ends = [one for one in _ENDS if signal.getsignal(one) is not signal.SIG_IGN]
        self._signals = [*self._ends, signal.SIGCHLD]
        self._models = [load_served(path, name) for name, path in paths.items()]
        self._counters = Counters(_GENERATIONS * settings.workers, list(paths))
        self._workers: dict[int, int] = {}  # worker numbers, by process
        self._retired: set[int] = set()
        self._began: dict[int, float] = {}
        self._generation = 0
        self._bad: dict[str, tuple[int, ...]] = {}  # versions of files that could not be read
        self._changed: dict[str, tuple[int, ...]] = {}  # versions that were seen only once so far

    @property
    def models(self) -> list[Served]:
        """The served models."""
        return self._models

    def run(self, listening: socket.socket) -> int:
        """Serve until a signal, and return it."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, self._signals)
        try:
            gc.collect()
            gc.freeze()  # so that garbage collection does not copy shared memory
            if not self._start_all(listening):
                raise DataError("the worker processes ended at once; see above")
            return self._watch(listening)
        finally:
            listening.close()  # so that no new client waits in vain
            self._stop_all()
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _watch(self, listening: socket.socket) -> int:
        while True:
            found = signal.sigtimedwait(self._signals, _LOOK)
            if found is not None and found.si_signo in self._ends:
                return found.si_signo
            self._reap(listening)
            if found is None:
                self._look_at_files(listening)

    # Workers

    def _start_all(self, listening: socket.socket) -> bool:
        """Start a generation of workers; return whether all of them started."""
        count = self._settings.workers
        base = (self._generation % _GENERATIONS) * count
        reads = dict(self._start(listening, base + number) for number in range(count))
        until = time.monotonic() + _BEGIN
        waiting = set(reads.values())
        began = True
        while waiting and began and time.monotonic() < until:
            for end in select.select(list(waiting), [], [], _LOOK)[0]:
                began = began and os.read(end, 1) == b"1"  # empty if the worker has ended
                waiting.discard(end)
        for end in reads.values():
            os.close(end)
        if not began or waiting:
            for process in reads:
                self._workers.pop(process, None)
                os.kill(process, signal.SIGKILL)
                os.waitpid(process, 0)
            return False
        return True

    def _start(self, listening: socket.socket, number: int) -> tuple[int, int]:
        """Start a worker; return its process, and the pipe on which it reports its start."""
        read, write = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        process = os.fork()
        if process == 0:
            os.close(read)
            self._be_worker(listening, number, write)
        os.close(write)
        self._workers[process], self._began[process] = number, time.monotonic()
        return process, read

    def _be_worker(self, listening: socket.socket, number: int, write: int) -> None:
        """Serve in this process; never returns."""
        code = 1
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, self._signals)
            self._counters.take_slot(number)
            worker = Worker(self._models, self._settings, self._counters, self._generation)
            worker.run(listening, lambda: _announce_start(write))
            code = 0
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)

    def _reap(self, listening: socket.socket) -> None:
        """Replace workers that ended unexpectedly."""
        while self._began:
            try:
                process, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if process == 0:
                return
            began = self._began.pop(process, 0.0)
            if process in self._retired:
                self._retired.discard(process)
                continue
            number = self._workers.pop(process, None)
            if number is None:
                continue
            self._log(event="worker ended", process=process, status=status)
            if time.monotonic() - began < _SHORT:
                time.sleep(_SHORT)
            _, read = self._start(listening, number)
            os.close(read)

    def _stop_all(self) -> None:
        """Tell all workers to finish, and kill those that do not."""
        processes = {*self._workers, *self._retired}
        for process in processes:
            _kill(process, STOP)
        until = time.monotonic() + self._settings.grace + 1.0
        while processes and time.monotonic() < until:
            processes -= {one for one in processes if os.waitpid(one, os.WNOHANG)[0]}
            time.sleep(0.01)
        for process in processes:
            _kill(process, signal.SIGKILL)
            os.waitpid(process, 0)

    # Files

    def _look_at_files(self, listening: socket.socket) -> None:
        """Load models whose files were replaced."""
        fresh = []
        for served in self._models:
            version = version_of(served.path)
            if version in ((), served.version, self._bad.get(served.path)):
                continue
            if self._changed.get(served.path) != version:
                self._changed[served.path] = version  # may still be written to: check again
                continue
            try:
                fresh.append(load_served(served.path, served.name))
            except Exception as error:  # whatever is wrong with it, the old model answers
                self._bad[served.path] = version
                told = str(error) if isinstance(error, (ValueError, OSError)) else repr(error)
                self._log(event="model refused", model=served.name, error=told)
        if fresh:
            self._take_over({served.name: served for served in fresh}, listening)

    def _take_over(self, fresh: dict[str, Served], listening: socket.socket) -> None:
        before, old = self._models, dict(self._workers)
        self._models = [fresh.get(served.name, served) for served in before]
        self._generation += 1
        self._workers.clear()
        gc.collect()
        gc.freeze()
        if not self._start_all(listening):
            self._models, self._workers = before, old
            for served in fresh.values():
                self._bad[served.path] = served.version
            self._log(event="takeover failed", models=list(fresh))
            return
        for process in old:
            self._retired.add(process)
            _kill(process, RETIRE)
        digests = {name: served.digest for name, served in fresh.items()}
        self._log(event="models taken over", models=digests)

    def _log(self, **facts: Any) -> None:
        """Log an event."""
        if self._settings.log is not None:
            shown = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            os.write(self._settings.log, (json.dumps({"time": shown, **facts}) + "\n").encode())


def _announce_start(write: int) -> None:
    """Report the start of a worker; nobody listens when it replaces one that died."""
    with contextlib.suppress(BrokenPipeError):
        os.write(write, b"1")
    os.close(write)


def _kill(process: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, number)
