"""Find the cluster that a user names, and make an engine for it."""

from __future__ import annotations

import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import Any

from widemargin.distribute.dask_engine import DaskEngine
from widemargin.distribute.engine import Engine, SerialEngine
from widemargin.errors import ClusterError

#: The address that stands for a cluster on this machine.
LOCAL = "local"
#: Seconds to wait for a scheduler.
_PATIENCE = 15


@contextmanager
def patient_with_workers() -> Iterator[None]:
    """Make clusters on this machine wait longer for workers that are restarted.

    Dask gives up on a worker that is not back after 15 seconds, and a busy machine may take longer.
    """
    import dask

    with dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"}):
        yield


@contextmanager
def _shielded_from_ctrl_c() -> Iterator[None]:
    """Hold Ctrl-C back while processes and threads are started in this block.

    A terminal sends Ctrl-C to every process started from it, so workers on this machine would die
    with a traceback each, and nothing could be saved. Threads and processes inherit which signals
    are held back, also those started later by these threads, such as workers that replace lost
    ones. This thread receives the signal at the end of the block.
    """
    if not hasattr(signal, "pthread_sigmask"):  # not on Windows
        yield
        return
    # Started now, because the thread that starts it would no longer hold Ctrl-C back.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start_local() -> Any:
    """Start a cluster on this machine, whose workers Ctrl-C does not reach.

    Workers log errors of tasks, which are raised here as well, and lost connections at the end.
    """
    from distributed import LocalCluster

    try:
        with _shielded_from_ctrl_c():
            return LocalCluster(
                dashboard_address=":0", threads_per_worker=1, silence_logs=logging.CRITICAL
            )
    except (OSError, RuntimeError) as error:
        told = f"no cluster could be started on this machine ({error})"
        if isinstance(error, RuntimeError):  # what Dask raises if a worker does not start
            told += (
                "; in a script, fit below `if __name__ == '__main__':`, because every worker"
                " imports the script"
            )
        raise ClusterError(told) from None


@contextmanager
def open_engine(client: Any) -> Iterator[Engine]:
    """Open an engine for a client, the address of a scheduler, "local", or the current client.

    A cluster or connection opened here is closed at the end of the block.
    """
    if isinstance(client, SerialEngine):
        yield client
        return
    try:
        from distributed import Client, default_client
    except ImportError:
        raise ClusterError(
            "clusters need Dask, which is not installed: pip install 'widemargin[dask]'"
        ) from None
    if client is None:
        try:
            client = default_client()
        except ValueError:
            raise ClusterError(
                "there is no current Dask client: give client=Client(address), the address of a"
                " scheduler, or 'local'"
            ) from None
    if not isinstance(client, str):
        yield DaskEngine(client)
        return
    if client == LOCAL:
        with patient_with_workers(), _start_local() as cluster, Client(cluster) as own:
            yield DaskEngine(own)
        return
    try:
        own = Client(client, timeout=_PATIENCE)
    except (OSError, ValueError) as error:
        raise ClusterError(f"no Dask scheduler answers at {client!r} ({error})") from None
    with own:
        yield DaskEngine(own)
