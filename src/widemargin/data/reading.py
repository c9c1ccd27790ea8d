"""Read files as matrices, for this library or any other: all at once, or in chunks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from inspect import signature
from typing import Any

import numpy as np

from widemargin.data.datasets import Classes, EncodeOptions, make_encoder, read_all
from widemargin.data.encode.interactions import pairs_of
from widemargin.data.readers.columns import TableOptions, listed
from widemargin.data.readers.files import Files, ReadOptions
from widemargin.data.readers.formats import OPTIONS_OF_TABLES, TABLES, options_of
from widemargin.data.readers.sources import BLOCK_BYTES
from widemargin.data.rows import Rows
from widemargin.errors import DataError
from widemargin.parameters.names import refuse_unknown
from widemargin.threads import thread_count

Path = str | os.PathLike[str]


def read(
    paths: Path | Sequence[Path],
    *,
    format: str | None = None,
    encoding: str = "utf-8",
    n_features: int | None = None,
    zero_based: bool | None = None,
    dtype: Any = np.float64,
    skip_bad: int = 0,
    n_jobs: int | None = -1,
    return_weight: bool = False,
    **columns: Any,
) -> Any:
    """Read examples and their labels.

    Parameters
    ----------
    paths : path, pattern such as "logs/*.gz", or list of them
        The files: svmlight, VW, CSV, TSV, Parquet, JSON lines, fastText or label<TAB>text, also
        compressed (gz, bz2, xz, zst).
    format : str, optional
        Their format, if it cannot be recognised from their names or first lines.
    encoding : str
        The character encoding of the text in the files.
    n_features : int, optional
        The width of X for svmlight files, so that a test file gets the width of its training file.
    zero_based : bool, optional
        Whether svmlight indices start at 0; None means that they do if 0 occurs.
    dtype : float32 or float64
        The type of svmlight and VW values.
    skip_bad : int
        Skip at most this many bad lines; one more is an error.
    n_jobs : int or None
        Number of threads; -1 for one per core.
    return_weight : bool
        Whether to return the weight (cost of an error) of each example as well: the importance in
        VW files, or the column `weight` of tables; 1 where there is none.
    **columns
        For tables `label`, `weight`, `text`, `columns`, `drop`, `categories`, `header`, `delimiter`
        and `decimal`, as for `TableClassifier`, `quote` (whether cells may be quoted),
        `missing_values` (a list of cells) and `scale` (by default numbers are not scaled); for
        texts `ngrams`, `analyzer`, `bits` and the other options of `HashedText`. Other keywords
        raise an error. For tables and VW files `interactions`: pairs of columns or namespaces to
        multiply, such as [("age", "hours")] or "age*hours", where ":" means any.

    Returns
    -------
    X : scipy CSR matrix (int32 indices where they fit) or array of shape (n, d)
        The examples.
    y : array of n labels
        Integers or strings.
    weight : array of n numbers, only with `return_weight`
        For `sample_weight`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "two.svm")
    ...     _ = path.write_text("+1 1:0.5 3:2\\n-1 2:1\\n")
    ...     X, y = read(path)
    >>> X.toarray(), y
    (array([[0.5, 0. , 2. ],
           [0. , 1. , 0. ]]), array([ 1, -1]))
    """
    reading = {"format": format, "encoding": encoding, "dtype": dtype, "skip_bad": skip_bad}
    _check_weight(columns, return_weight)
    files, how = open_files("read", paths, reading, zero_based, n_jobs, columns)
    classes = Classes()
    data = read_all(files, make_encoder(files, how), classes, learn=True)
    assert data is not None
    X, y = matrix_of(data.rows, n_features), classes.values[data.codes]
    return (X, y, _weights(data.weights, len(y))) if return_weight else (X, y)


def stream(
    paths: Path | Sequence[Path],
    *,
    format: str | None = None,
    encoding: str = "utf-8",
    n_features: int | None = None,
    zero_based: bool | None = None,
    dtype: Any = np.float64,
    skip_bad: int = 0,
    n_jobs: int | None = -1,
    block: int = BLOCK_BYTES,
    return_weight: bool = False,
    **columns: Any,
) -> Iterator[tuple[Any, ...]]:
    """Read examples in chunks of bounded memory, for `partial_fit`.

    Parameters
    ----------
    paths, format, encoding, n_features, zero_based, dtype, skip_bad, n_jobs, return_weight
        As for `read`. Whatever depends on the data (the first index, the scaling of numbers) is
        decided by the first chunk. Without `n_features` the chunks of svmlight files may have
        different widths: learn with `grow=True`.
    block : int
        Approximate size of a chunk, in bytes of text.
    **columns
        As for `read`.

    Yields
    ------
    X, y
        The examples of a chunk, in the order of the files; with `return_weight`, also the weights.

    Examples
    --------
    >>> import pathlib, widemargin
    >>> _ = pathlib.Path("tiny.svm").write_text("+1 1:1\\n-1 1:-1\\n+1 1:2\\n-1 1:-3\\n")
    >>> learner = widemargin.Perceptron(random_state=0)
    >>> for X, y in widemargin.stream("tiny.svm", n_features=1):
    ...     learner = learner.partial_fit(X, y, classes=[-1, 1])
    >>> learner.predict([[1], [-1]]).tolist()
    [1, -1]
    """
    reading = {"format": format, "encoding": encoding, "dtype": dtype, "skip_bad": skip_bad}
    _check_weight(columns, return_weight)
    files, how = open_files(
        "stream", paths, {**reading, "block": block}, zero_based, n_jobs, columns
    )
    encoder = make_encoder(files, how)
    first = True
    for chunk in files.chunks():
        if chunk.labels is None:
            raise DataError(f"{chunk.source}: has no labels to learn from")
        if first:
            encoder.observe(chunk.raw)
            first = False
        rows = encoder.encode(chunk.raw, 0.0, files.options.threads, note=True)
        X, y = matrix_of(rows, n_features), chunk.labels.values[chunk.labels.codes]
        yield (X, y, _weights(chunk.weights, len(y))) if return_weight else (X, y)


def open_files(
    function: str,
    paths: Path | Sequence[Path],
    reading: dict[str, Any],
    zero_based: bool | None,
    n_jobs: int | None,
    columns: dict[str, Any],
) -> tuple[Files, EncodeOptions]:
    """Open files with the keywords of `read`; `function` is the name shown in errors.

    Parameters
    ----------
    reading : dict
        The format, the encoding, the type of the values, and how many bad lines to skip.
    columns : dict
        Options for tables and texts.
    """
    explicit = [name for name in signature(read).parameters if name != "columns"]
    texts = _text_keywords()
    refuse_unknown(function, columns, {*OPTIONS_OF_TABLES, *texts, *explicit, *reading})
    table = {name: value for name, value in columns.items() if name in OPTIONS_OF_TABLES}
    scale, interactions = table.pop("scale", "none"), pairs_of(table.pop("interactions", ()))
    for name in table.keys() & {"text", "drop", "columns", "categories"}:
        table[name] = listed(table[name])
    options = ReadOptions(**reading, table=TableOptions(**table), threads=thread_count(n_jobs))
    files = Files(paths, options)
    _check_meaning(columns, files, texts)
    first = None if zero_based is None else 0 if zero_based else 1
    text = {name: value for name, value in columns.items() if name in texts}
    how = EncodeOptions(first=first, scale=scale, text=text, interactions=interactions)
    return files, how


def _check_weight(columns: dict[str, Any], return_weight: bool) -> None:
    if columns.get("weight") is not None and not return_weight:
        raise TypeError("weight has an effect only with return_weight=True")


def _weights(found: np.ndarray | None, n: int) -> np.ndarray:
    return np.ones(n) if found is None else found


def _text_keywords() -> list[str]:
    """The options of texts."""
    from widemargin.data.encode.text import TextEncoder

    return list(signature(TextEncoder).parameters)


def _check_meaning(columns: dict[str, Any], files: Files, texts: Sequence[str]) -> None:
    """Raise a TypeError for keywords that have no effect on files of this format."""
    has_texts = bool(files.options.table.text)
    used = options_of(files.format, texts, has_texts)
    without = " without text" if files.format in TABLES and not has_texts else ""
    strange = min(columns.keys() - used, default=None)
    if strange is not None:
        raise TypeError(f"{strange!r} is not an option for {files.format} files{without}")


def matrix_of(rows: Rows, n_features: int | None = None) -> Any:
    """Rows as a matrix that any library can use."""
    if n_features is not None:
        if rows.width > n_features:
            raise DataError(f"found {rows.width} features, more than n_features={n_features}")
        rows = rows.widened(n_features)
    if not rows.is_sparse:
        return np.asarray(rows.stored.values)
    import scipy.sparse

    matrix = rows.to_matrix()
    small = len(matrix.data) < 2**31
    starts = matrix.indptr.astype(np.int32) if small else matrix.indptr
    return scipy.sparse.csr_matrix((matrix.data, matrix.indices, starts), shape=matrix.shape)
