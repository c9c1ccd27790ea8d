"""Tables that come through a pipe piece by piece: each record as soon as its line has ended."""

import io
from dataclasses import replace

import pytest

from widemargin import DataError
from widemargin.data.readers.columns import TableOptions
from widemargin.data.readers.table import read_table

CSV = b"size,kind,label\n1.5,cat,a\n2,dog,b\n3,cat,a\n"
JSON = b'{"size": 1.5, "kind": "cat", "label": "a"}\n{"size": 2, "label": "b"}\n'


class Pipe(io.BytesIO):
    """A stream that hands out its pieces one by one, as a pipe does."""

    def __init__(self, pieces):
        super().__init__()
        self.pieces = list(pieces)

    def read1(self, size=-1):
        return self.pieces.pop(0) if self.pieces else b""


def known(content, format):
    """How to read a table like this one, whose schema is known."""
    chunks = read_table(io.BytesIO(content), "f", format, TableOptions())
    list(chunks)
    return TableOptions(schema=chunks.schema)


def decoded_labels(chunk):
    """The label of each row of a chunk; None if it has none."""
    values = [*chunk.labels.values.tolist(), None]
    return [values[code] for code in chunk.labels.codes]


def live(pieces, format, options):
    """Rows as they come: after how many pieces, and their cells."""
    pipe = Pipe(pieces)
    for chunk in read_table(pipe, "f", format, options, live=True):
        yield len(pieces) - len(pipe.pieces), chunk.raw.to_pylist()


@pytest.mark.parametrize(("content", "format"), [(CSV, "csv"), (JSON, "jsonl")])
@pytest.mark.parametrize("size", [1, 7, 30, 1000])
def test_pieces_of_any_size_are_the_rows_of_the_whole(content, format, size):
    options = known(content, format)
    wanted = read_table(io.BytesIO(content), "f", format, options)
    pieces = [content[i : i + size] for i in range(0, len(content), size)]
    found = [row for _, rows in live(pieces, format, options) for row in rows]
    assert found == [row for chunk in wanted for row in chunk.raw.to_pylist()]


def test_a_row_does_not_wait_for_the_next():
    lines = CSV.splitlines(keepends=True)
    found = list(live(lines, "csv", known(CSV, "csv")))
    assert [came for came, _ in found] == [2, 3, 4]  # the first has the names before it
    assert [len(rows) for _, rows in found] == [1, 1, 1]


def test_a_header_alone_has_no_rows():
    assert list(live([b"size,kind,", b"label\n"], "csv", known(CSV, "csv"))) == []
    assert list(live([], "csv", known(CSV, "csv"))) == []


def test_a_pipe_that_lacks_a_column_is_refused_at_its_end():
    with pytest.raises(DataError, match="no column 'kind', which the model needs"):
        list(live([b"size,label\n", b"1,a\n"], "csv", known(CSV, "csv")))


def test_records_of_a_pipe_do_not_wait_for_keys_or_labels():
    options = replace(known(JSON, "jsonl"), need_label=False)
    lines = [b'{"size": 2}\n', b'{"label": "b", "kind": 3, "size": 1}\n', b'{"kind": "dog"}\n']
    assert list(live(lines, "jsonl", options)) == [
        (1, [{"size": 2.0, "kind": None}]),
        (2, [{"size": 1.0, "kind": "3"}]),
        (3, [{"size": None, "kind": "dog"}]),
    ]
    chunks = read_table(Pipe(lines), "f", "jsonl", options, live=True)
    assert [decoded_labels(chunk) for chunk in chunks] == [[None], ["b"], [None]]
