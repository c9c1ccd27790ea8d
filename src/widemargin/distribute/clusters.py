"""Find the cluster that a user names, and make an engine for it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
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
def open_engine(client: Any) -> Iterator[Engine]:
    """Open an engine for a client, the address of a scheduler, "local", or the current client.

    A cluster or connection opened here is closed at the end of the block.
    """
    if isinstance(client, SerialEngine):
        yield client
        return
    try:
        from distributed import Client, LocalCluster, default_client
    except ImportError:
        raise ClusterError(
            'clusters need Dask: install it with pip install "widemargin[dask]"'
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
        with (
            patient_with_workers(),
            LocalCluster(
                dashboard_address=":0", threads_per_worker=1, silence_logs=logging.ERROR
            ) as cluster,
            Client(cluster) as own,
        ):
            yield DaskEngine(own)
        return
    try:
        own = Client(client, timeout=_PATIENCE)
    except (OSError, ValueError) as error:
        raise ClusterError(f"no Dask scheduler answers at {client!r} ({error})") from None
    with own:
        yield DaskEngine(own)
