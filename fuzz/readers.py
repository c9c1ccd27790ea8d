"""File readers, each compared with a slow reference: both return the same rows, or both refuse."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import pathlib
import tempfile
from itertools import pairwise
from typing import Any

import numpy as np

from fuzz.naive_readers import (
    Found,
    conll_sentences,
    conllu_sentences,
    fasttext_line,
    labelled_line,
    read_lines,
    svmlight_line,
    vw_line,
)

#: More bad lines than any file here has.
_ALL = 1 << 30
#: Ways to read a table and sentences. The length of a file chooses one, so mutation tries all.
_TABLES: list[dict[str, Any]] = [
    {},
    {"label": "label"},
    {"label": -1, "header": False},
    {"label": "label", "text": ("b",)},
    {"label": "label", "text": ("a", "b"), "columns": (0,)},
    {"label": "label", "weight": "a"},
    {"label": "label", "categories": ("a",), "drop": ("b",)},
    {"need_label": False, "missing_values": ("", "x")},
    {"delimiter": ";", "decimal": ","},
    {"quote": False, "header": True},
]
_MARKS = ("delimiter", "decimal", "quote", "header")
_SENTENCES: list[dict[str, Any]] = [
    {},
    {"words": 2},
    {"columns": ["tag", "word"]},
    {"format": "text"},
    {"plain": True},
    {"encoding": "latin-1"},
]


def as_text(data: bytes) -> np.ndarray:
    """Lines as a reader gets them, with a line break after the last."""
    whole = data if data.endswith(b"\n") else data + b"\n"
    return np.frombuffer(whole, np.uint8)


def plain(piece: Any, examples: list[Any]) -> Found:
    """What a reader found, as plain values."""
    labels = [None] * piece.n
    if piece.labels is not None:
        known = [*piece.labels.values.tolist(), None]
        labels = [known[code] for code in piece.labels.codes.tolist()]
    weights = [1.0] * piece.n if piece.weights is None else piece.weights.tolist()
    found = list(zip(piece.lines.tolist(), labels, weights, examples, strict=True))
    return Found(found, sorted({flaw.line for flaw in piece.flaws}))


def compare(found: Found, expected: Found) -> None:
    """Fail unless both are the same, bit for bit (-0.0 is not 0.0)."""
    assert repr(found) == repr(expected), f"\n{found}\n{expected}"


def svmlight(data: bytes) -> None:
    """Compare the compiled svmlight reader with the naive one, as doubles and as float32."""
    from widemargin.data.readers.svmlight import parse_lines

    small = len(data) % 2 == 1
    text = as_text(data)
    piece = parse_lines(text, _ALL, np.float32 if small else np.float64)
    stored = piece.raw.rows.stored
    items = list(zip(stored.indices.tolist(), stored.values.tolist(), strict=True))
    rows = [items[a:b] for a, b in pairwise(stored.starts.tolist())]
    naive = functools.partial(svmlight_line, small=small)
    compare(plain(piece, rows), read_lines(text.tobytes(), naive))


def vw(data: bytes) -> None:
    """Compare the compiled reader of Vowpal Wabbit's format with the naive one."""
    from widemargin.data.encode.hashed import HashedEncoder
    from widemargin.data.readers.vw import parse_vw_lines

    small = len(data) % 2 == 1
    text = as_text(data)
    piece = parse_vw_lines(text, _ALL, np.float32 if small else np.float64)
    raw = piece.raw
    names = [
        (raw.text[a:b].tobytes(), raw.text[c:d].tobytes()) for a, b, c, d in raw.names.tolist()
    ]
    items = list(zip(names, raw.values.tolist(), strict=True))
    rows = [items[a:b] for a, b in pairwise(raw.starts.tolist())]
    naive = functools.partial(vw_line, small=small)
    compare(plain(piece, rows), read_lines(text.tobytes(), naive))
    if piece.n:
        encoder = HashedEncoder(bits=8, names=16)
        encoder.observe(raw)
        encoded = encoder.encode(raw, 0.0, 1, note=True)
        assert encoded.n == piece.n
        for column in range(0, 256, 17):
            encoder.feature_name(column)


def fasttext(data: bytes) -> None:
    """Compare the readers of fastText's format."""
    from widemargin.data.readers.labelled import parse_fasttext

    _documents(data, parse_fasttext, fasttext_line)


def labelled(data: bytes) -> None:
    """Compare the readers of lines with label, tab and text."""
    from widemargin.data.readers.labelled import parse_labelled

    _documents(data, parse_labelled, labelled_line)


def _documents(data: bytes, parse: Any, naive: Any) -> None:
    text = as_text(data)
    piece = parse(text, _ALL)
    raw = piece.raw
    edges = zip(raw.starts.tolist(), raw.ends.tolist(), strict=True)
    rows = [raw.buffer[a:b].tobytes().decode() for a, b in edges]
    compare(plain(piece, rows), read_lines(text.tobytes(), naive))
    _encode(raw)


def _encode(raw: Any) -> None:
    """Encode texts as hashed words and characters: there is no reference, but nothing may fail."""
    from widemargin.data.encode.text import TextEncoder

    if not len(raw.starts):
        return
    for analyzer, ngrams in (("word", (1, 2)), ("char", (2, 4)), ("char_wb", (1, 3))):
        encoder = TextEncoder(analyzer=analyzer, ngrams=ngrams, bits=10, idf=True, names=16)
        encoder.observe(raw)
        rows = encoder.encode(raw, 0.0, 1, note=True)
        assert not len(rows.stored.indices) or int(rows.stored.indices.max()) < 1 << 10
        assert np.all(np.isfinite(rows.stored.values))


def text(data: bytes) -> None:
    """Encode texts of any bytes, replaced where they are not UTF-8."""
    from widemargin.data.encode.text import texts_of

    _encode(texts_of([part.decode("utf-8", "replace") for part in data.split(b"\n")]))


def conll(data: bytes) -> None:
    """Compare CoNLL columns with the naive reader; written back, they are the same bytes."""
    _sentences(data, "conll", conll_sentences)


def conllu(data: bytes) -> None:
    """Compare CoNLL-U with the naive reader."""
    _sentences(data, "conllu", conllu_sentences)


def _sentences(data: bytes, form: str, naive: Any) -> None:
    from widemargin.data.readers.conll import read_conll
    from widemargin.errors import DataError

    _sentences_of_file(data, form)
    decoded = data.decode("utf-8", "ignore")
    try:
        corpus = read_conll(io.StringIO(decoded, newline=""), format=form)
    except DataError:
        assert naive(decoded) is None, naive(decoded)
        return
    expected = naive(decoded)
    assert expected is not None
    first = 1 if form == "conllu" else 0
    names = list(corpus.columns)
    columns = [corpus.column(name) for name in names]
    found = [
        [[column[k] for column in columns] for k in range(a, b)]
        for a, b in pairwise(corpus.starts.tolist())
    ]
    assert found == [[token[first:] for token in sentence] for sentence in expected]
    skipping = read_conll(io.StringIO(decoded, newline=""), format=form, skip_bad=_ALL)
    assert not skipping.skipped
    assert skipping.sentences() == corpus.sentences()


def _sentences_of_file(data: bytes, form: str) -> None:
    """A file of any bytes is read in some way, strictly and with its bad sentences left out."""
    from widemargin.data.readers.conll import read_conll
    from widemargin.errors import DataError

    path = folder() / f"sentences.{form}"
    path.write_bytes(data)
    how = _SENTENCES[len(data) % len(_SENTENCES)]
    found = []
    for skip_bad in (0, _ALL):
        try:
            found.append(read_conll(path, skip_bad=skip_bad, **how))
        except DataError as error:
            assert "\n" not in str(error), str(error)
    if len(found) == 2:
        assert found[0].sentences() == found[1].sentences()
        assert not found[1].skipped


# Tables: Arrow reads blocks, and Python reads what Arrow refuses. The rows must be the same however
# a file is split.


@functools.cache
def folder() -> pathlib.Path:
    """A folder for files, in memory if possible."""
    memory = "/dev/shm"
    place = memory if os.access(memory, os.W_OK) else None
    kept = tempfile.TemporaryDirectory(dir=place, prefix="fuzz")
    folder.kept = kept  # type: ignore[attr-defined]
    return pathlib.Path(kept.name)


def csv(data: bytes) -> None:
    """A table of comma-separated cells."""
    _table(data, "csv")


def tsv(data: bytes) -> None:
    """A table of cells between tabs."""
    _table(data, "tsv")


def jsonl(data: bytes) -> None:
    """A table of JSON lines."""
    _table(data, "jsonl")


def _table(data: bytes, form: str) -> None:
    path = folder() / f"rows.{form}"
    path.write_bytes(data)
    how = _TABLES[len(data) % len(_TABLES)]
    if form == "jsonl":  # where the marks between cells have no meaning
        how = {name: value for name, value in how.items() if name not in _MARKS}
    # Which lines are bad depends on the types of the columns, and these on the first block.
    _table_rows(path, form, 48, how, skip_bad=_ALL)
    whole, cut = (_table_rows(path, form, block, how) for block in (1 << 24, 48))
    # The first block decides the column types, so one of the two may refuse a later cell.
    refused = any(found.startswith(str(path)) for found in (whole, cut))
    assert refused or whole == cut, f"\n{whole}\n{cut}"


def _table_rows(
    path: pathlib.Path, form: str, block: int, how: dict[str, Any], skip_bad: int = 0
) -> str:
    """All rows as plain values, or the message of the error."""
    from widemargin.data.readers.columns import TableOptions
    from widemargin.data.readers.files import Files, ReadOptions
    from widemargin.errors import DataError

    rows: list[Any] = []
    try:
        table = TableOptions(**how, skip_bad=skip_bad)
        options = ReadOptions(format=form, table=table, block=block, skip_bad=skip_bad)
        files = Files(str(path), options)
        for chunk in files.chunks():
            labels = [None] * chunk.n
            if chunk.labels is not None:
                known = [*chunk.labels.values.tolist(), None]
                labels = [known[code] for code in chunk.labels.codes.tolist()]
            rows += zip(chunk.lines.tolist(), labels, chunk.raw.to_pylist(), strict=True)
    except DataError as error:
        assert "\n" not in str(error)
        return str(error)
    return repr(rows)


def liblinear(data: bytes) -> None:
    """A LIBLINEAR model is refused, or written and read back unchanged."""
    from widemargin.errors import DataError, ModelFileError
    from widemargin.models.liblinear import read_liblinear, write_liblinear

    path = folder() / "liblinear"
    path.write_bytes(data)
    try:
        model = read_liblinear(path)
    except ModelFileError as error:
        assert "\n" not in str(error)
        return
    with contextlib.suppress(DataError):  # a score too large for a float
        model.predict(np.zeros((2, model.width)))
    with contextlib.suppress(DataError):
        write_liblinear(model, path)
        again = read_liblinear(path)
        np.testing.assert_array_equal(again.coef, model.coef)
        np.testing.assert_array_equal(again.classes, model.classes)
