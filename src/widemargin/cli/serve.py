"""`widemargin serve`: serve predictions over HTTP."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from widemargin.errors import DataError


def serve(paths: Sequence[str], given: Mapping[str, Any]) -> int:
    """Serve models until SIGTERM or Ctrl-C, and return the exit code."""
    _check_installed()
    from widemargin.web.running import address_of, listen
    from widemargin.web.security import Hosts, Tokens, is_loopback, read_tokens
    from widemargin.web.serving.limits import Limits, within_open_files
    from widemargin.web.serving.served import named_paths
    from widemargin.web.serving.supervisor import Supervisor
    from widemargin.web.serving.worker import ServeSettings

    host = given["host"]
    if given["token"] and given["token_file"]:
        raise click.UsageError("--token and --token-file: give one of them, not both")
    tokens = Tokens(given["token"])
    if given["token_file"]:
        tokens = read_tokens(given["token_file"])
    if not is_loopback(host) and not tokens:
        raise click.UsageError(
            f"--host {host}: other machines could connect; require a token with --token or"
            " --token-file"
        )
    limits = within_open_files(
        Limits(
            body=given["max_body"],
            rows=given["max_rows"],
            seconds=given["max_seconds"],
            concurrent=given["max_requests"],
            connections=given["max_connections"],
        )
    )
    named = named_paths(paths)
    with listen(host, given["port"]) as listening:
        port = listening.getsockname()[1]
        guarded = is_loopback(host) or given["allow_host"]
        settings = ServeSettings(
            hosts=Hosts(host, port, given["allow_host"]) if guarded else None,
            tokens=tokens,
            limits=limits,
            workers=given["workers"],
            wait=given["wait_ms"] / 1000.0,
            grace=given["grace"],
            log=None if given["quiet"] else sys.stdout.fileno(),
        )
        supervisor = Supervisor(named, settings)
        names = ", ".join(f"{m.name} ({m.predictor.kind})" for m in supervisor.models)
        click.echo(f"serving {names} at {address_of(listening)}", err=True)
        if limits.connections < given["max_connections"]:
            words = f"at most {limits.connections} connections: the system allows no more open"
            click.echo(f"{words} files (ulimit -n)", err=True)
        stopped_by = supervisor.run(listening)
    return 130 if stopped_by == signal.SIGINT else 0


def _check_installed() -> None:
    """Raise an error if the extra is not installed, or the system has no fork."""
    for name in ("httptools", "uvloop"):
        if importlib.util.find_spec(name) is None:
            raise DataError(
                f"serve needs {name}, which is not installed: pip install 'widemargin[serve]'"
            )
    if not hasattr(os, "fork"):
        raise DataError("serve needs a system with fork, such as Linux")
