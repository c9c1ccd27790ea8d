"""Dask as an engine: calls are tasks that any worker can run, and rerun if a worker is lost.

No task is pinned to a worker, and no task modifies its input. Values from this process are sent
along with the tasks, so that the scheduler can send them again; a scattered value would be lost
with the workers that hold it. Loaded partitions stay with the workers, spill to disk when memory is
short, and are rebuilt from the recipe when a worker is lost.
"""

from __future__ import annotations

import time
import uuid
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from widemargin import __version__
from widemargin.data.memory import keep_freed_memory, keep_memory_on_dask_workers
from widemargin.errors import ClusterError, DataWarning

#: How often, in seconds, the driver can check for Ctrl-C and the clock.
_TICK_SECONDS = 0.1
#: Dask gives up on a task after four workers died while running it. It is then submitted again, up
#: to this many trials: fifty workers lost at random moments are not the task's fault, but sixteen
#: in a row are.
_MOST_TRIALS = 4
#: The statuses of a future whose task must be submitted again.
_GONE = ("error", "lost", "cancelled")
#: After this many seconds without any worker that runs tasks, something must be done.
_IDLE_SECONDS = 10.0
#: How often paused workers are restarted before an outcome arrives.
_MOST_RESTARTS = 3
#: Seconds that workers have to start again.
_RESTART_SECONDS = 120.0
#: Seconds between two counts of the workers.
_LOOK_SECONDS = 2.0


@dataclass(eq=False)
class _Task:
    """A call, and the future of its outcome; None if it is not held here.

    An outcome that only other calls need has no future: the scheduler forgets it once they are
    done.
    """

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    future: Any = None
    kept: bool = False
    trials: int = 0

    @property
    def alive(self) -> bool:
        """Whether the scheduler has the outcome, or will have it."""
        return self.future is not None and self.future.status not in _GONE


class DaskEngine:
    """Runs calls on the workers of a Dask cluster.

    Calls are recorded, and submitted together when an outcome is requested: a message to the
    scheduler costs as much as a hundred small tasks.

    Parameters
    ----------
    client : distributed.Client
        The cluster.
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        self._run = uuid.uuid4().hex[:8]
        self._count = 0
        self._idle_since: float | None = None
        self._next_look, self._restarts = 0.0, 0
        check_versions(client)
        keep_freed_memory()

    def submit(self, name: str, function: Callable[..., Any], *arguments: Any) -> _Task:
        """Record a call."""
        return _Task(name, function, arguments)

    def share(self, name: str, value: Any) -> _Task:
        """Send a value along with a task that returns it, so that it can be sent again."""
        return self.submit(name, _same, value)

    def _send(self, wanted: Sequence[_Task]) -> None:
        """Submit tasks, together with those they need that the scheduler does not have."""
        import dask

        if not wanted:
            return
        graph = _Graph(self._key)
        for task in wanted:
            graph.add(task)
        held = {id(task): task for task in [*wanted, *graph.kept]}.values()
        keys = [graph.keys[id(task)] for task in held]
        # Weights are large on purpose: suppress Dask's warning.
        quiet = {"distributed.admin.large-graph-warning-threshold": "1TB"}
        with self._connected(), dask.config.set(quiet):
            futures = self.client.get(graph.made, keys, sync=False)
        for task, future in zip(held, futures, strict=True):
            task.future = future

    def _key(self, name: str) -> tuple[str, str]:
        """A unique key; the name up to the first comma is that of a group of tasks."""
        self._count += 1
        group, _, rest = name.partition(",")
        return f"widemargin {group}", f"{rest.strip()} {self._run}-{self._count}"

    @contextmanager
    def _connected(self) -> Iterator[None]:
        """Report any error caused by a lost scheduler as a lost connection."""
        try:
            yield
        except Exception:
            if self.client.status not in ("running", "connecting"):
                raise ClusterError(self._say_lost()) from None
            raise

    def finished(
        self, handles: Sequence[Any], kept: Sequence[Any] = (), watched: Sequence[Any] = ()
    ) -> Iterator[tuple[int, Any] | int]:
        """Yield outcomes as they arrive; in between, how many of the watched are done."""
        from distributed import TimeoutError as TooLate
        from distributed import wait

        self._restarts = 0
        for task in kept:
            task.kept = True
        self._send([task for task in [*handles, *kept, *watched] if not task.alive])
        waiting: dict[int, _Task] = dict(enumerate(handles))
        while waiting:
            known = [n for n, task in waiting.items() if task.future.status == "finished"]
            outcomes = self._outcomes([waiting[n].future for n in known])
            for number, outcome in zip(known, outcomes, strict=False):
                del waiting[number]
                yield number, outcome
            self._mend([task for task in waiting.values() if task.future.status in _GONE])
            if not waiting:
                return
            yield sum(task.future.status == "finished" for task in watched)
            self._look_for_workers()
            futures = [task.future for task in waiting.values()]
            with self._connected(), suppress(TooLate, CancelledError):
                wait(futures, timeout=_TICK_SECONDS)

    def release(self, handles: Sequence[_Task]) -> None:
        """Release tasks: the scheduler forgets what nobody waits for."""
        for task in handles:
            task.kept = False
            if task.future is not None:
                task.future.release()
                task.future = None

    def _outcomes(self, futures: list[Any]) -> list[Any]:
        """The outcomes of tasks; empty if one of them was lost on the way and must be redone."""
        from distributed import KilledWorker
        from distributed import TimeoutError as TooLate

        if futures:
            with self._connected(), suppress(TooLate, CancelledError, KilledWorker):
                return list(self.client.gather(futures))
        return []

    def _mend(self, tasks: list[_Task]) -> None:
        """Resubmit tasks whose workers died, or raise the error of a task."""
        from distributed import KilledWorker

        if not tasks:
            return
        if self.client.status not in ("running", "connecting"):
            raise ClusterError(self._say_lost())
        for task in tasks:
            if task.future.status == "error":
                error = task.future.exception()
                if not isinstance(error, KilledWorker):
                    raise error.with_traceback(None)
            task.trials += 1
            if task.trials >= _MOST_TRIALS:
                raise ClusterError(
                    f"{task.name}: every worker that tried it died; does a partition fit into a"
                    " worker's memory? give more partitions"
                ) from None
        self._send(tasks)

    def _say_lost(self) -> str:
        where = getattr(self.client.scheduler, "address", None) or "the scheduler"
        return (
            f"the connection to the Dask scheduler ({where}) was lost; if there is a checkpoint, it"
            " holds what was learned up to the last complete epoch: start again with the same"
            " arguments"
        )

    def _look_for_workers(self) -> None:
        """Do what can be done if no worker runs tasks: there is none, or all are paused."""
        if self.client.status not in ("running", "connecting"):
            raise ClusterError(self._say_lost())
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + _LOOK_SECONDS  # not too often: this asks the scheduler
        workers = self.client.scheduler_info(n_workers=-1)["workers"]
        if any(_runs_tasks(worker) for worker in workers.values()):
            self._idle_since = None
        elif self._idle_since is None:
            self._idle_since = now
        elif now - self._idle_since > _IDLE_SECONDS:
            self._idle_since = float("inf")
            if workers:
                self._restart(list(workers))
            else:
                waiting = "the Dask cluster has no workers left: waiting for one"
                warnings.warn(waiting, DataWarning, stacklevel=2)

    def _restart(self, workers: list[str]) -> None:
        """Restart workers that Dask has paused for good.

        Dask pauses a worker at 80 % of its memory limit. When all its data is on disk and memory is
        still short, what fills it is mostly the compiler, which a new process does not need: it
        loads the machine code that was compiled.
        """
        self._restarts += 1
        if self._restarts > _MOST_RESTARTS:
            raise ClusterError(
                "all workers are paused because their memory is full, and restarting them did not"
                " help: give more partitions, or the workers more memory"
            )
        try:
            self.client.restart_workers(workers, timeout=_RESTART_SECONDS, raise_for_error=False)
        except ValueError:  # nothing would start them again
            warnings.warn(
                "all workers are paused because their memory is full: give more partitions, or the"
                " workers more memory",
                DataWarning,
                stacklevel=2,
            )
        else:
            self._idle_since = None


def _runs_tasks(worker: dict[str, Any]) -> bool:
    """Whether a worker may start tasks, or is running one."""
    return worker["status"] != "paused" or "executing" in worker["metrics"]["task_counts"]


class _Graph:
    """Tasks that are submitted together.

    Attributes
    ----------
    made : dict
        The tasks in Dask's form.
    keys : dict
        The key of each task, by its identity.
    kept : list
        Tasks whose outcomes are to be kept, and must be computed (again).
    """

    def __init__(self, key: Callable[[str], Any]) -> None:
        self._key = key
        self.made: dict[Any, Any] = {}
        self.keys: dict[int, Any] = {}
        self.kept: list[_Task] = []

    def add(self, task: _Task) -> Any:
        """Add a task, and before it those that it needs; returns the key of its outcome."""
        from dask._task_spec import Task, TaskRef  # as distributed.Client has them
        from dask.delayed import Delayed

        if id(task) in self.keys:
            return self.keys[id(task)]
        given, needed = [], []
        for one in task.arguments:
            if isinstance(one, _Task):
                needed.append(TaskRef(one.future.key if one.alive else self.add(one)))
            elif isinstance(one, Delayed):
                self.made.update(one.__dask_graph__())
                needed.append(TaskRef(one.key))
            else:
                given.append(one)
                continue
            given.append(_LATER)
        key = self.keys[id(task)] = self._key(task.name)
        self.made[key] = Task(key, _Call(__version__, task.function, tuple(given)), *needed)
        if task.kept:
            self.kept.append(task)
        return key


class _Later:
    """A placeholder for an argument that is the outcome of another task."""

    def __reduce__(self) -> Any:
        return "_LATER"


_LATER = _Later()


class _Call:
    """A call, some of whose arguments are supplied later."""

    def __init__(
        self, version: str, function: Callable[..., Any], arguments: tuple[Any, ...]
    ) -> None:
        self.version, self.function, self.arguments = version, function, arguments

    def __dask_tokenize__(self) -> str:
        """A random name, which costs nothing: Dask would hash all arguments."""
        return uuid.uuid4().hex

    def __call__(self, *outcomes: Any) -> Any:
        """Make the call, unless this worker joined later with another version."""
        if self.version != __version__:
            raise ClusterError(
                f"a worker has widemargin {__version__}, but the driver has {self.version}: install"
                " the same version"
            )
        keep_memory_on_dask_workers(_memory_limit())
        later = iter(outcomes)
        return self.function(*(next(later) if one is _LATER else one for one in self.arguments))


def _memory_limit() -> int | None:
    """The memory limit of the worker that runs this task, in bytes; None if there is none."""
    from distributed import get_worker

    return get_worker().memory_manager.memory_limit or None


def _same(value: Any) -> Any:
    return value


def versions() -> dict[str, str]:
    """The versions of the packages that affect the bits of a result."""
    import platform
    from importlib.metadata import version

    names = ("numpy", "scipy", "numba", "pyarrow")
    found = {name: version(name) for name in names}
    return {"widemargin": __version__, "python": platform.python_version(), **found}


def check_versions(client: Any) -> None:
    """Raise an error if a worker's versions differ from those of this process."""
    mine = versions()
    for worker, theirs in client.run(versions, on_error="return").items():
        if isinstance(theirs, BaseException):
            if isinstance(theirs, ImportError):
                raise ClusterError(
                    f"worker {worker} cannot import widemargin ({theirs}): install"
                    f" widemargin {__version__} there"
                )
            continue  # it may just have died
        wrong = [name for name in mine if theirs.get(name) != mine[name]]
        if wrong:
            found = ", ".join(f"{name} {theirs.get(name)} (here {mine[name]})" for name in wrong)
            raise ClusterError(
                f"worker {worker} has {found}: install the same versions everywhere, so that every"
                " worker computes the same bits"
            )
