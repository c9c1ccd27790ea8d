"""`widemargin lab`: a local web page to watch learners learn."""

from __future__ import annotations

import contextlib
import pathlib
import tempfile
import webbrowser
from collections.abc import Iterator, Mapping
from typing import Any

import click

from widemargin.cli import options
from widemargin.cli.examples import read_examples
from widemargin.data.reading import matrix_of
from widemargin.errors import DataError
from widemargin.web.lab.samples import Table, make_table
from widemargin.web.lab.start import Lab

#: The largest number of columns that users can reasonably choose two from.
_MOST_COLUMNS = 2_000


def lab(path: str | None, given: Mapping[str, Any]) -> None:
    """Read the examples, if a file is given, and serve the page until Ctrl-C."""
    if path is None:
        options.refuse_without_files()
    table = None if path is None else _table(path, given)
    try:
        running = Lab(table, given["port"], framed=False)
    except ImportError as error:
        raise DataError(str(error)) from None
    click.echo(f"The lab is at {running.url}")
    click.echo("Press Ctrl-C to stop it.", err=True)
    with _opened(running.url) if given["browser"] else contextlib.nullcontext():
        running.run()


@contextlib.contextmanager
def _opened(url: str) -> Iterator[None]:
    """Open an address in a browser, by way of a file that only this user can read.

    Other users of the machine can see the arguments of a process, and so would see the token.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".html", encoding="utf-8") as file:
        file.write(f'<meta http-equiv="refresh" content="0; url={url}">\n')
        file.flush()
        webbrowser.open(pathlib.Path(file.name).as_uri())
        yield


def _table(path: str, given: Mapping[str, Any]) -> Table:
    """The examples of a file."""
    data, classes, encoder = read_examples(path, {**given, "scale": "none"})
    if data.rows.width > _MOST_COLUMNS:
        raise DataError(
            f"{path}: has {data.rows.width:,} columns, too many to choose two of; the lab is for"
            f" tables of at most {_MOST_COLUMNS:,}"
        )
    names = [encoder.feature_name(column) for column in range(data.rows.width)]
    return make_table(matrix_of(data.rows), classes.values[data.codes], names, path)
