"""The files that commands write: which may be overwritten."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple

import click

from widemargin.modelfile.files import learner_of
from widemargin.stores.addresses import exists, is_address, open_file, size_of
from widemargin.stores.writing import check_target

#: The first bytes of the pages that widemargin writes.
_PAGE = b"<!doctype html"


class Kind(NamedTuple):
    """What a command writes.

    Attributes
    ----------
    called : str
        Its name, with an article.
    fits : callable
        Whether a local or remote file is one, and so may be overwritten.
    """

    called: str
    fits: Callable[[str], object]


def _is_page(path: str) -> bool:
    with open_file(path) as file:
        return file.read(len(_PAGE)).lower() == _PAGE


MODEL = Kind("a widemargin model", learner_of)
PAGE = Kind("an HTML page", _is_page)


def check_output(path: str, kind: Kind, forced: bool | None = None) -> None:
    """Refuse to overwrite a file of another kind, unless `--force` is given.

    What would make writing fail is reported, too, before any work is done.

    Parameters
    ----------
    path : str
        The file to write.
    kind : Kind
        What will be written.
    forced : bool, optional
        Whether `--force` was given; None if the command has no such option.
    """
    if path in ("", "-"):
        raise click.UsageError(f"{path!r} is not the name of a file to write {kind.called} to")
    try:
        there = exists(path) if is_address(path) else os.path.isfile(path)
        foreign = there and size_of(path) > 0 and not kind.fits(path)
    except OSError:  # writing will report the error
        return
    if foreign and not forced:
        force = "" if forced is None else ", or add --force"
        raise click.UsageError(
            f"{path}: is not {kind.called} and would be overwritten; choose another name{force}"
        )
    if kind is not PAGE or there or not os.path.exists(path):  # a page can be sent to a pipe
        check_target(path)
