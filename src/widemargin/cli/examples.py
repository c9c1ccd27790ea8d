"""Reading all labelled examples of files into memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from widemargin.cli import options
from widemargin.data.datasets import Classes, Encoded, make_encoder, read_all
from widemargin.data.encode.encoder import Encoder
from widemargin.data.readers.files import Files
from widemargin.models.text_defaults import WHOLE


def read_examples(
    patterns: str | Sequence[str], given: Mapping[str, Any]
) -> tuple[Encoded, Classes, Encoder]:
    """Read files with the options of the command."""
    files = Files(patterns, options.read_options(given))
    options.check_meaning(given, files.format)
    encoding = options.encode_options(given, files.format, WHOLE.idf)
    encoder, classes = make_encoder(files, encoding), Classes()
    data = read_all(files, encoder, classes, learn=True)
    assert data is not None
    return data, classes, encoder
