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
from contextlib import contextmanager, suppress
from typing import Any

from widemargin import __version__
from widemargin.errors import ClusterError, DataWarning

#: How often the driver is given a chance to look at Ctrl-C and the clock.
_TICK_SECONDS = 0.1
#: Dask gives a task up after it was on four workers that died. It is handed out again this often:
#: fifty workers lost at random moments are no fault of the task, sixteen in a row are.
_MOST_TRIALS = 4
#: After this long without any worker, a warning says what is waited for.
_LONELY_SECONDS = 10.0


class DaskEngine:
    """Has calls made by the workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client
        The cluster.
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        self._run = uuid.uuid4().hex[:8]
        self._count = 0
        self._trials: dict[str, int] = {}
        self._lonely_since: float | None = None
        check_versions(client)

    def submit(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Have a worker call a function."""
        from dask.delayed import Delayed

        given = [self.client.compute(one) if isinstance(one, Delayed) else one for one in arguments]
        self._count += 1
        # Up to the first comma, the name is that of a group of tasks on the dashboard.
        group, _, rest = name.partition(",")
        key = (f"widemargin {group}", f"{rest.strip()} {self._run}-{self._count}")
        return self._send(_call, __version__, function, *given, key=key)

    def share(self, name: str, value: Any) -> Any:
        """Send a value along with a task that returns it, so that it can be sent again."""
        return self.submit(name, _same, value)

    def _send(self, *arguments: Any, key: Any) -> Any:
        import dask

        # Weights are large, and that is no mistake.
        quiet = {"distributed.admin.large-graph-warning-threshold": "1TB"}
        with self._connected(), dask.config.set(quiet):
            return self.client.submit(*arguments, key=key, pure=False)

    @contextmanager
    def _connected(self) -> Iterator[None]:
        """Whatever goes wrong because the scheduler is gone is told as such."""
        try:
            yield
        except Exception:
            if self.client.status not in ("running", "connecting"):
                raise ClusterError(self._say_lost()) from None
            raise

    def finished(self, handles: Sequence[Any]) -> Iterator[tuple[int, Any] | None]:
        """Yield outcomes as they come; in between, None."""
        from distributed import TimeoutError as TooLate
        from distributed import wait

        waiting = dict(enumerate(handles))
        while waiting:
            for number, handle in list(waiting.items()):
                if handle.status == "finished":
                    outcome = self._outcome(handle)
                    if outcome is not _LOST:
                        del waiting[number]
                        yield number, outcome
                elif handle.status in ("error", "lost", "cancelled"):
                    self._mend(handle)
            if not waiting:
                return
            yield None
            self._look_for_workers()
            with self._connected(), suppress(TooLate):
                wait(list(waiting.values()), timeout=_TICK_SECONDS, return_when="FIRST_COMPLETED")

    def release(self, handles: Sequence[Any]) -> None:
        """Cancel what is not done, and let go of the rest."""
        pending = [handle for handle in handles if handle.status == "pending"]
        if pending and self.client.status == "running":
            self.client.cancel(pending)
        for handle in handles:
            handle.release()

    def _outcome(self, handle: Any) -> Any:
        """The outcome of a task; _LOST if it was lost on the way and is being made again."""
        from distributed import TimeoutError as TooLate

        with self._connected(), suppress(TooLate):
            return handle.result(timeout=60)
        return _LOST

    def _mend(self, handle: Any) -> None:
        """Have a task done again whose workers died, or raise its error."""
        from distributed import KilledWorker

        if handle.status != "error":
            raise ClusterError(self._say_lost())
        error = handle.exception()
        name = " ".join(handle.key) if isinstance(handle.key, tuple) else str(handle.key)
        if not isinstance(error, KilledWorker):
            raise error.with_traceback(None)
        self._trials[name] = self._trials.get(name, 0) + 1
        if self._trials[name] >= _MOST_TRIALS:
            raise ClusterError(
                f"{name.rsplit(' ', 1)[0]}: every worker that tried it died; does a partition fit"
                " into a worker's memory? give more partitions"
            ) from None
        handle.retry()

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
        if self.client.scheduler_info(n_workers=-1)["workers"]:
            self._lonely_since = None
            return
        now = time.monotonic()
        if self._lonely_since is None:
            self._lonely_since = now
        elif now - self._lonely_since > _LONELY_SECONDS:
            self._lonely_since = float("inf")
            warnings.warn(
                "the Dask cluster has no worker left: waiting for one", DataWarning, stacklevel=2
            )


_LOST = object()


def _same(value: Any) -> Any:
    return value


def _call(version: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function, unless this worker came later with another version."""
    if version != __version__:
        raise ClusterError(
            f"a worker has widemargin {__version__}, and this process {version}: install the same"
        )
    return function(*arguments)


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
