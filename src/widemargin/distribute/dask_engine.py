"""Dask as an engine: the calls are tasks that any worker may take, lose and take again.

No task is pinned to a worker and no task changes its input. What goes out from here travels with
the tasks, so that the scheduler can hand it out again: a value that was scattered would be gone
with the workers that hold it. What partitions become stays with the workers, spills to their disks
when memory is short, and is made anew from the recipe when a worker is lost.
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
from widemargin.data.memory import keep_memory_on_dask_workers
from widemargin.errors import ClusterError, DataWarning

#: How often the driver is given a chance to look at Ctrl-C and the clock.
_TICK_SECONDS = 0.1
#: Dask gives a task up after it was on four workers that died. It is handed out again this often:
#: fifty workers lost at random moments are no fault of the task, sixteen in a row are.
_MOST_TRIALS = 4
#: What became of a future whose task must be handed out again.
_GONE = ("error", "lost", "cancelled")
#: After this long without any worker, a warning says what is waited for.
_LONELY_SECONDS = 10.0
#: How often the workers are counted.
_LOOK_SECONDS = 2.0


@dataclass(eq=False)
class _Task:
    """A call, and the future that stands for its outcome; None if it is not held here.

    What only other calls need has no future: the scheduler forgets it as soon as they are done.
    """

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    future: Any = None
    kept: bool = False
    trials: int = 0

    @property
    def alive(self) -> bool:
        """Whether the scheduler has the outcome, or is about to have it."""
        return self.future is not None and self.future.status not in _GONE


class DaskEngine:
    """Has calls made by the workers of a Dask cluster.

    Calls are noted, and handed out together when an outcome is asked for: a message to the
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
        self._lonely_since: float | None = None
        self._next_look = 0.0
        check_versions(client)

    def submit(self, name: str, function: Callable[..., Any], *arguments: Any) -> _Task:
        """Note a call."""
        return _Task(name, function, arguments)

    def share(self, name: str, value: Any) -> _Task:
        """Send a value along with a task that returns it, so that it can be sent again."""
        return self.submit(name, _same, value)

    def _send(self, wanted: Sequence[_Task]) -> None:
        """Hand out tasks, together with those that they need and that nobody has."""
        import dask

        if not wanted:
            return
        graph = _Graph(self._key)
        for task in wanted:
            graph.add(task)
        held = {id(task): task for task in [*wanted, *graph.kept]}.values()
        keys = [graph.keys[id(task)] for task in held]
        # Weights are large, and that is no mistake.
        quiet = {"distributed.admin.large-graph-warning-threshold": "1TB"}
        with self._connected(), dask.config.set(quiet):
            futures = self.client.get(graph.made, keys, sync=False)
        for task, future in zip(held, futures, strict=True):
            task.future = future

    def _key(self, name: str) -> tuple[str, str]:
        """A key of its own; up to the first comma, its name is that of a group of tasks."""
        self._count += 1
        group, _, rest = name.partition(",")
        return f"widemargin {group}", f"{rest.strip()} {self._run}-{self._count}"

    @contextmanager
    def _connected(self) -> Iterator[None]:
        """Whatever goes wrong because the scheduler is gone is told as such."""
        try:
            yield
        except Exception:
            if self.client.status not in ("running", "connecting"):
                raise ClusterError(self._say_lost()) from None
            raise

    def finished(
        self, handles: Sequence[Any], kept: Sequence[Any] = (), watched: Sequence[Any] = ()
    ) -> Iterator[tuple[int, Any] | int]:
        """Yield outcomes as they come; in between, how many of the watched are done."""
        from distributed import TimeoutError as TooLate
        from distributed import wait

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
        """Let go of tasks: the scheduler forgets what nobody waits for."""
        for task in handles:
            task.kept = False
            if task.future is not None:
                task.future.release()
                task.future = None

    def _outcomes(self, futures: list[Any]) -> list[Any]:
        """The outcomes of tasks; none if one of them was lost on the way, and is made again."""
        from distributed import KilledWorker
        from distributed import TimeoutError as TooLate

        if futures:
            with self._connected(), suppress(TooLate, CancelledError, KilledWorker):
                return list(self.client.gather(futures))
        return []

    def _mend(self, tasks: list[_Task]) -> None:
        """Have tasks done again whose workers died, or raise the error of one."""
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
            f"the connection to the Dask scheduler ({where}) was lost; what was learned up to the"
            " last whole epoch is in the checkpoint, if there is one: start again with the same"
            " arguments"
        )

    def _look_for_workers(self) -> None:
        """Warn if there is nobody to do the work."""
        if self.client.status not in ("running", "connecting"):
            raise ClusterError(self._say_lost())
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + _LOOK_SECONDS  # it asks the scheduler, which has other work
        if self.client.scheduler_info(n_workers=-1)["workers"]:
            self._lonely_since = None
            return
        if self._lonely_since is None:
            self._lonely_since = now
        elif now - self._lonely_since > _LONELY_SECONDS:
            self._lonely_since = float("inf")
            warnings.warn(
                "the Dask cluster has no worker left: waiting for one", DataWarning, stacklevel=2
            )


class _Graph:
    """Tasks that are handed out together.

    Attributes
    ----------
    made : dict
        The tasks as Dask takes them.
    keys : dict
        The key of each task, by its identity.
    kept : list
        Tasks that are asked for again and again, and were lost.
    """

    def __init__(self, key: Callable[[str], Any]) -> None:
        self._key = key
        self.made: dict[Any, Any] = {}
        self.keys: dict[int, Any] = {}
        self.kept: list[_Task] = []

    def add(self, task: _Task) -> Any:
        """Add a task, and before it those that it needs; the key of its outcome."""
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
    """Stands for an argument that is the outcome of another task."""

    def __reduce__(self) -> Any:
        return "_LATER"


_LATER = _Later()


class _Call:
    """A call, some of whose arguments come later."""

    def __init__(
        self, version: str, function: Callable[..., Any], arguments: tuple[Any, ...]
    ) -> None:
        self.version, self.function, self.arguments = version, function, arguments

    def __dask_tokenize__(self) -> str:
        """A name that costs nothing: Dask would read all that is in the arguments."""
        return uuid.uuid4().hex

    def __call__(self, *outcomes: Any) -> Any:
        """Make the call, unless this worker came later with another version."""
        if self.version != __version__:
            raise ClusterError(
                f"a worker has widemargin {__version__}, and this process {self.version}: install"
                " the same"
            )
        keep_memory_on_dask_workers()
        later = iter(outcomes)
        return self.function(*(next(later) if one is _LATER else one for one in self.arguments))


def _same(value: Any) -> Any:
    return value


def versions() -> dict[str, str]:
    """The versions on which the bits of a result depend."""
    import platform
    from importlib.metadata import version

    names = ("numpy", "scipy", "numba", "pyarrow")
    found = {name: version(name) for name in names}
    return {"widemargin": __version__, "python": platform.python_version(), **found}


def check_versions(client: Any) -> None:
    """Raise an error if a worker's versions are not those of this process."""
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
            told = ", ".join(f"{name} {theirs.get(name)} (here {mine[name]})" for name in wrong)
            raise ClusterError(
                f"worker {worker} has {told}: install the same versions everywhere, so that every"
                " worker computes the same bits"
            )
