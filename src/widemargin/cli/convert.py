"""`widemargin convert`: models to and from LIBLINEAR, examples into a cache."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import click

from widemargin.cli import options
from widemargin.cli.examples import read_examples
from widemargin.cli.model_input import load_rows_model
from widemargin.cli.targets import Kind, check_output
from widemargin.data.cache import is_cache, write_cache
from widemargin.data.readers.sources import STANDARD_INPUT, check_readable
from widemargin.errors import ModelFileError
from widemargin.markup.words import several
from widemargin.modelfile.files import learner_of
from widemargin.models.kernel import KernelModel
from widemargin.models.liblinear import is_liblinear, read_liblinear, write_liblinear
from widemargin.stores.addresses import is_address, size_of


def convert(source: str, target: str, given: Mapping[str, Any]) -> None:
    """Convert a model or examples, depending on what the source contains."""
    if source != STANDARD_INPUT:
        check_readable(source)
        if os.path.exists(target) and os.path.samefile(source, target):
            raise click.UsageError(f"{target}: is the file to convert; choose another name")
    check_output(target, Kind("a model or a cache", _is_convertible), given["force"])
    if _holds_liblinear(source):
        _refuse_reading(source)
        read_liblinear(source).save(target)
        click.echo(f"{target}: a widemargin model")
        return
    model = _model(source)
    if model is not None:
        _refuse_reading(source)
        write_liblinear(model, target)
        click.echo(f"{target}: a LIBLINEAR model")
        return
    data, classes, encoder = read_examples(source, given)
    write_cache(target, data, classes, encoder)
    counts = several(data.rows.n, "example"), several(data.rows.width, "feature")
    click.echo(f"{target}: {', '.join(counts)}, {size_of(target):,} bytes")


def _is_convertible(path: str) -> bool:
    """Whether a file is of a kind that this command writes."""
    return bool(learner_of(path)) or _holds_liblinear(path) or _holds_examples(path)


def _holds_examples(path: str) -> bool:
    return not is_address(path) and is_cache(path)


def _holds_liblinear(path: str) -> bool:
    return path != STANDARD_INPUT and not is_address(path) and is_liblinear(path)


def _refuse_reading(path: str) -> None:
    """Refuse the options for reading examples, given a model."""
    for name, written in options.typed_options().items():
        if name != "force":
            raise click.UsageError(f"{written} has no effect on a model, and {path} is one")


def _model(path: str) -> Any:
    """The model in a file, which must have weights for LIBLINEAR; None if the file holds none."""
    if path == STANDARD_INPUT:
        return None
    if not learner_of(path) and not path.endswith(".wm"):
        return None
    model = load_rows_model(path)
    if isinstance(model, KernelModel):
        raise ModelFileError(f"{path}: a kernel model has no weights that LIBLINEAR could store")
    return model
