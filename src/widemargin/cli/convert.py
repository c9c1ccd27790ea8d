"""`widemargin convert`: models to and from LIBLINEAR, examples into a cache."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import click

from widemargin.cli.examples import read_examples
from widemargin.cli.model_input import load_rows_model
from widemargin.data.cache import write_cache
from widemargin.data.readers.sources import check_readable
from widemargin.errors import ModelFileError
from widemargin.markup.words import several
from widemargin.models.kernel import KernelModel
from widemargin.models.liblinear import is_liblinear, read_liblinear, write_liblinear


def convert(source: str, target: str, given: Mapping[str, Any]) -> None:
    """Convert a model or examples, depending on what the source contains."""
    check_readable(source)
    if is_liblinear(source):
        read_liblinear(source).save(target)
        click.echo(f"{target}: a widemargin model")
        return
    model = _model(source)
    if isinstance(model, KernelModel):
        raise ModelFileError(f"{source}: a kernel model has no weights that LIBLINEAR could store")
    if model is not None:
        write_liblinear(model, target)
        click.echo(f"{target}: a LIBLINEAR model")
        return
    data, classes, encoder = read_examples(source, given)
    write_cache(target, data, classes, encoder)
    size = os.stat(target).st_size
    counts = several(data.rows.n, "example"), several(data.rows.width, "feature")
    click.echo(f"{target}: {', '.join(counts)}, {size:,} bytes")


def _model(path: str) -> Any:
    try:
        return load_rows_model(path)
    except ModelFileError:
        if path.endswith(".wm"):
            raise
        return None
