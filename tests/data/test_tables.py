"""Tables: the same examples from every format, the right rows of them, or one clear error."""

import csv
import io
import json
import math
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import tries

from widemargin import DataError, DataWarning
from widemargin import read as read_examples
from widemargin.data.encode.learned_column import Moments
from widemargin.data.encode.table import TableEncoder
from widemargin.data.readers.cell_values import parse_label
from widemargin.data.readers.columns import (
    MISSING,
    CellError,
    Column,
    TableOptions,
    TableSchema,
)
from widemargin.data.readers.parser import BlockParser
from widemargin.data.readers.table import read_table, schema_of, texts_of_column
from widemargin.data.rows import Rows, frozen
from widemargin.loops.storage import Sparse
from widemargin.modelfile.files import read_model_file, write_model_file


def read(content, form="csv", chunk_bytes=1 << 24, threads=1, **options):
    """All chunks of a table, and the reader."""
    stream = io.BytesIO(content)
    reader = read_table(stream, "f", form, TableOptions(**options), chunk_bytes, threads)
    return list(reader), reader


def examples(chunks):
    """Rows, labels and lines of chunks as plain values."""
    rows = [row for chunk in chunks for row in chunk.raw.to_pylist()]
    labels = []
    for chunk in chunks:
        assert chunk.n == chunk.raw.num_rows == len(chunk.lines)
        if chunk.labels is not None:
            assert len(set(chunk.labels.values.tolist())) == len(chunk.labels.values)
            for code in chunk.labels.codes.tolist():
                labels.append(chunk.labels.values[code].item() if code >= 0 else None)
    return rows, labels, [line for chunk in chunks for line in chunk.lines.tolist()]


# Bad input ---------------------------------------------------------------------------------------

AB = b"a,b,label\n"
BAD_CSV = [
    (AB + b"1,x,p\n2,y\n3,z,q\n", "f:3: 2 cells, expected 3"),
    (AB + b"1,x,p\n2,y,q,r\n", "f:3: 4 cells, expected 3"),
    (AB + b"1,x,p\n2,y,q\n3,z", "f:4: 2 cells, expected 3: the last line is cut short"),
    (AB + b"1,x,p\n2", "f:3: 1 cell, expected 3: the last line is cut short"),
    (AB + b"1,x,p\ninf,y,q\n", "f:3:1: column 'a': 'inf' is not a finite number"),
    (AB + b"1,x,p\n2,y,q\n -Infinity,y,q\n",
     "f:4:1: column 'a': '-Infinity' is not a finite number"),
    (AB + b"1,x,p\n1e400,y,q\n", "f:3:1: column 'a': '1e400' is too large for a number"),
    (AB + b"1,x,p\n\n\n-1e999,y,q\n", "f:5:1: column 'a': '-1e999' is too large for a number"),
    (AB + b"1,x,p\n2,y\0,q\n", "f:3:3: a NUL byte; is this text in UTF-8?"),
    (AB + b"1,x,p\n2,\xff,q\n",
     "f:3:3: column 'b': the byte 0xff is not UTF-8; give the encoding (latin-1, perhaps)"),
    (AB + "1,é,p\n2,éé\udcc3,q\n".encode("utf-8", "surrogateescape"),
     "f:3:3: column 'b': the byte 0xc3 is not UTF-8; give the encoding (latin-1, perhaps)"),
    (AB + b'1,"x,p\n2,y,q\n', "f:2:3: a quote is not closed"),
    (AB + b'1,"x"y,p\n2,y,q\n',
     "f:2:6: text after a closing quote; a quote within quotes must be doubled"),
    (AB + b'1,"x\ny",p\n2,"z\n""\n",q,\n', "f:4: 4 cells, expected 3"),
    (AB + b'1,"x\ny",p\ninf,"z",q\n', "f:4:1: column 'a': 'inf' is not a finite number"),
    (AB + b'"1","x",p\n2,"\n\n",\n', "f:5:3: column 'label': the label is missing"),
    (AB + b"1,x,p\n2,y,\n", "f:3:5: column 'label': the label is missing"),
    (AB + b"1,x,p\n2,y, ? \n", "f:3:5: column 'label': the label is missing"),
    (AB + b"1,x,0\n2,y,0.5\n",
     "f:3:5: column 'label': label 0.5: labels must be classes, not measurements"),
    (AB + b"1,x,0\n2,y,1e400\n", "f:3:5: column 'label': label 1e400 is not a finite number"),
    (AB + b"1,x,p\r2,y,q\r3,z,p\n",
     "f:2:6: a carriage return within a line; end lines with \\n or \\r\\n"),
    (b"a,label\n" + b"1,p\n" * 30 + b"1_0,p\n",
     "f:32:1: column 'a': expected a number, found '1_0'"),
    (b"a,label\n" + b"1,p\n" * 30 + b"0x1,p\n",
     "f:32:1: column 'a': expected a number, found '0x1'"),
    (b"a,label\n" + b"1,p\n" * 30 + "１,p\n".encode(),
     "f:32:1: column 'a': expected a number, found '１'"),
    (b"d,label\n,p\n2020-01-02,q\n",
     "f:3: column 'd' holds dates or times, found '2020-01-02': neither numbers nor categories;"
     " drop it, or convert it to numbers first"),
    (b"d,label\n3/4/2020,q\n",
     "f:2: column 'd' holds dates or times, found '3/4/2020': neither numbers nor categories;"
     " drop it, or convert it to numbers first"),
    (b"a,a,label\n1,2,3\n", "f:1: two columns are called 'a'; rename or remove one"),
    (b"", "f: no examples found"),
    (b"\n\n", "f: no examples found"),
    (b"a,label\n", "f: there are no rows, only the names of columns"),
    (b"age,city\n", "f: there are no rows, only the names of columns"),
    (b"label\n1\n", "f: no column left to learn from (columns found: 'label'); is there another"
     " delimiter?"),
    (b"\xff\xfea\0", "f:1: the text is UTF-16; give the encoding (--encoding utf-16), or convert"
     " the file"),
]  # fmt: skip
BAD_JSONL = [
    (b'{"a":1,"label":0}\n{"a":[2],"label":1}\n',
     "f:2:6: key 'a': nested values cannot be learned from; flatten or drop the column"),
    (b'{"a":1,"label":0}\n{"a":{"b":2},"label":1}\n',
     "f:2:6: key 'a': nested values cannot be learned from; flatten or drop the column"),
    (b'{"a":1,"label":0}\n{"a":2,"a":3,"label":1}\n', "f:2:8: key 'a' occurs twice"),
    (b'{"a":1,"label":0}\n[1, 2]\n', "f:2:1: expected an object: {...}"),
    (b'null\n{"a":1,"label":0}\n', "f:1:1: expected an object: {...}"),
    (b'{"a":1,"label":0}\n\n17\n', "f:3:1: expected an object: {...}"),
    (b'{"a":1,"label":0}\n{"a":1e400,"label":1}\n',
     "f:2:6: key 'a': '1e400' is too large for a number"),
    (b'{"a":1,"label":0}\n{"a":1' + b"0" * 400 + b',"label":1}\n',
     "f:2:6: key 'a': 1" + "0" * 35 + "...0 is not a finite number"),
    (b'{"a":1,"label":0}\n{"a":1' + b"0" * 5000 + b',"label":1}\n',
     "f:2:6: key 'a': a number with too many digits"),
    (b'{"a":1,"label":0}\n{"a":2,"label":NaN}\n', "f:2:16: column 'label': the label is missing"),
    (b'{"a":1,"label":0}\n{"a":-Infinity,"label":1}\n',
     "f:2:6: key 'a': -Infinity is not a finite number"),
    (b'{"a":1,"label":0}\n{"a":"x","label":1}\n', "f:2:6: key 'a': expected a number, found 'x'"),
    (b'{"a":1,"label":0}\n{"a":true,"label":1}\n', "f:2:6: key 'a': expected a number, found true"),
    (b'{"a":true,"label":0}\n{"a":1,"label":1}\n',
     "f:2:6: key 'a': expected true or false, found the number 1"),
    (b'{"a":"x","label":0}\n{"a":1,"label":1}\n',
     "f:2:6: key 'a': expected a string, found the number 1"),
    (b'{"a":1,"label":0}\n{"a":2}\n', "f:2: column 'label': the label is missing"),
    (b'{"a":1,"label":0}\n{"a":2,"label":null}\n', "f:2:16: column 'label': the label is missing"),
    (b'{"a":1,"label":0}\n{"a":2,"label":0.5}\n',
     "f:2:16: column 'label': label 0.5: labels must be classes, not measurements"),
    (b'{"a":1,"label":0}\n{"a":2,"label":"x"}\n',
     "f:2:16: column 'label': expected a whole number as label, found 'x'"),
    (b'{"a":1,"label":0}\n{"a":2,"label":[1]}\n',
     "f:2:16: column 'label': a label must be a string or a whole number, found nested values"),
    (b'{"a":1,"label":0}\n{"a":2,"label":1',
     'f:2:17: expected "," or "}" (the last line is cut short?)'),
    (b'{"a":1,"label":0}\n{"a":2,"lab',
     "f:2:8: not JSON: unterminated string starting at (the last line is cut short?)"),
    (b'{"a":1,"label":0}\n{"a":2,"label":1}}\n', "f:2:18: more after the object: '}'"),
    (b'{"a":1,"label":0}\n{"a":2,"label":1}{"a":3,"label":1}\n',
     "f:2:18: more after the object: '{\"a\":3,\"label\":1}'"),
    (b'{"a":1,"label":0}\n{"a":2,"label":1},\n', "f:2:18: more after the object: ','"),
    (b'{"a":1,"label":0}\n{"a":2,"label":1,}\n', "f:2:18: a comma before the closing brace"),
    (b'{"a":1,"label":0}\n{a:2,"label":1}\n', 'f:2:2: expected a key in double quotes, or "}"'),
    (b'{"a":1,"label":0}\n{"a" 2,"label":1}\n', "f:2:6: expected a colon after the key 'a'"),
    (b'{"a":1,"label":0}\n{"a":01,"label":1}\n', 'f:2:7: expected "," or "}"'),
    (b'{"a":1,"label":0}\n{"a":,"label":1}\n', "f:2:6: not JSON: expecting value"),
    (b'{"a":"x","label":0}\n{"a":"\xff","label":1}\n',
     "f:2:7: the byte 0xff is not UTF-8; give the encoding (latin-1, perhaps)"),
    (b'{"a":"x","label":0}\n{"a":"\0","label":1}\n', "f:2:7: a NUL byte; is this text in UTF-8?"),
    (b'{"a":"x","label":0}\n{"a":"\\u0000","label":1}\n', "f:2:6: key 'a': a NUL character"),
    (b'{"a":"x","label":0}\n{"a":"\\ud800","label":1}\n',
     "f:2:6: key 'a': half of a surrogate pair"),
    (b'{"a":"x","label":0}\n{"\\ud800":1,"label":1}\n',
     "f:2:2: key '\\ud800': half of a surrogate pair"),
    (b'{"a":"x","label":0}\n{"a":"\t","label":1}\n',
     "f:2:7: not JSON: invalid control character at"),
    (b'{"a":"x","label":0}\n{"a":' + b"[" * 100000 + b"\n", "f:2:6: not JSON: nested too deeply"),
    (b'{"a":"x","label":0}\n{"a":' + b"[" * 200000 + b"]" * 200000 + b"}\n",
     "f:2:6: not JSON: nested too deeply"),
    (b'{"a":"x","label":0}\n{"\xc6":1,"label":1}\n',
     "f:2:3: the byte 0xc6 is not UTF-8; give the encoding (latin-1, perhaps)"),
    (b"spam\n", "f:1:1: expected an object: {...}"),
    (b'{"a":"2020-01-01","label":0}\n{"a":"2020-01-01T10:00","label":0}\n',
     "f:1: column 'a' holds dates or times, found '2020-01-01': neither numbers nor categories;"
     " drop it, or convert it to numbers first"),
    (b"", "f: no examples found"),
]  # fmt: skip
BAD_TSV = [
    (b"1\tx\tp\n2\ty\n", "f:2: 2 cells, expected 3"),
    (
        b'1\t"x\tp\n2\t"y\ty"\tq\n',
        "f:2: 4 cells, expected 3; if quoted cells hold tabs or line ends, give the format csv",
    ),
]


@pytest.mark.parametrize(
    ("form", "content", "message"),
    [
        *(("csv", *case) for case in BAD_CSV),
        *(("jsonl", *case) for case in BAD_JSONL),
        *(("tsv", *case) for case in BAD_TSV),
    ],
)
@pytest.mark.parametrize("chunk_bytes", [1, 1 << 24])
def test_bad_input_is_refused_with_its_place(form, content, message, chunk_bytes):
    with pytest.raises(DataError) as caught:
        read(content, form, chunk_bytes)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"a": pa.array([1.0, math.inf])}, "f:2: column 'a': inf is not a finite number"),
        ({"a": pa.array([-math.inf, 1.0])}, "f:1: column 'a': -inf is not a finite number"),
        ({"a": pa.array(["x", "y\0"])}, "f:2: column 'a': a NUL character"),
        ({"a": pa.array([b"x", b"\xff"]).cast(pa.string(), safe=False)},
         "f:2: column 'a': bytes that are not UTF-8"),
        ({"a": pa.array([1, 2], pa.date32())},
         "f: column 'a' holds dates or times (date32[day]): neither numbers nor categories;"
         " drop it, or convert it to numbers first"),
        ({"a": pa.array([1, 2], pa.timestamp("us"))},
         "f: column 'a' holds dates or times (timestamp[us]): neither numbers nor categories;"
         " drop it, or convert it to numbers first"),
        ({"a": pa.array([b"x", b"y"])},
         "f: column 'a' holds binary, neither numbers nor strings: drop it"),
        ({"a": pa.array([{"x": 1}, {"x": 2}])},
         "f: column 'a' holds nested values (struct<x: int64>): flatten or drop it"),
        ({"a": [1, 2], "label": pa.array([0, None])}, "f:2: column 'label': the label is missing"),
        ({"a": [1, 2], "label": [0.0, 0.5]},
         "f:2: column 'label': label 0.5: labels must be classes, not measurements"),
        ({"a": [1, 2], "label": pa.array([0, 1], pa.time32("ms"))},
         "f: column 'label' holds dates or times (time32[ms]): neither numbers nor categories;"
         " drop it, or convert it to numbers first"),
        ({"a": pa.array([], pa.int64()), "label": pa.array([], pa.int64())},
         "f: no examples found"),
    ],
)  # fmt: skip
def test_bad_parquet_is_refused_with_its_row_or_column(table, message):
    table = pa.table({"label": ["p", "q"], **table} if "label" not in table else table)
    with pytest.raises(DataError) as caught:
        read(as_parquet(table), "parquet")
    assert str(caught.value) == message


def as_parquet(table):
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def test_parquet_that_is_none_or_cut_short():
    content = as_parquet(pa.table({"a": list(range(1000)), "label": [0, 1] * 500}))
    for spoiled in (content[:-7], content[: len(content) // 2], b"a,b\n1,2\n"):
        with pytest.raises(DataError, match=r"^f: not a Parquet file, or damaged"):
            read(spoiled, "parquet")


def test_objects_across_lines_are_refused_though_arrow_reads_them():
    content = b'{"a":1,"label":0}\n{"a":1,"label":0}{"z":\n{"y":1},"a":2,"label":1}\n'
    with pytest.raises(DataError, match=r"^f:2:18: more after the object"):
        read(content, "jsonl", columns=["a"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label": "c"}, "f: no column 'c' (columns found: 'a', 'b', 'label')"),
        ({"label": 3}, "f: no column 3, counted from 0 (columns found: 'a', 'b', 'label')"),
        ({"drop": ["z"]}, "f: no column 'z' (columns found: 'a', 'b', 'label')"),
        (
            {"columns": ["a"], "categories": ["b"]},
            "f: column 'b' is declared a category, but is not a"
            " feature: name it as a column to use, too",
        ),
        (
            {"text": ["b"], "categories": ["a"]},
            "f: column 'a' is declared a category, but is not a"
            " feature: name it as a column to use, too",
        ),
        (
            {"categories": ["label"]},
            "f: column 'label' cannot be both the label and a category",
        ),
        ({"text": ["b"], "label": "b"}, "f: column 'b' cannot be both the label and a text"),
        ({"drop": "b", "label": 1}, "f: column 'b' cannot be both the label and dropped"),
        ({"weight": "a", "drop": ["a"]}, "f: column 'a' cannot be both the weight and dropped"),
        ({"weight": "a", "label": "a"}, "f: column 'a' cannot be both the label and the weight"),
        (
            {"columns": ["a", "label"]},
            "f: column 'label' cannot be both the label and a column to use",
        ),
        (
            {"columns": ["a", "b"], "drop": ["b"]},
            "f: column 'b' cannot be both a column to use and dropped",
        ),
        ({"text": ["b"], "drop": [1]}, "f: column 'b' cannot be both a text and dropped"),
        ({"text": ["b"], "categories": [1]}, "f: column 'b' cannot be both a text and a category"),
        ({"drop": [0, 1]}, "f: no column left to learn from (columns found: 'a', 'b', 'label')"),
    ],
)
def test_columns_that_are_not_there(options, message):
    with pytest.raises(DataError) as caught:
        read(b"a,b,label\n1,x,p\n", **options)
    assert str(caught.value) == message


@pytest.mark.parametrize("chunk_bytes", [64, 1 << 24])
@pytest.mark.parametrize("threads", [1, 2])
def test_bad_lines_are_skipped_and_counted_up_to_a_number(chunk_bytes, threads):
    lines = [b"%d,%s,%d" % (i, b"xyz"[i % 3 : i % 3 + 1], i % 2) for i in range(1000)]
    bad = {17: b"1,x", 400: b"inf,x,1", 401: b"1,\xff,1", 999: b"1,x,"}
    content = b"\n".join(bad.get(i, line) for i, line in enumerate(lines)) + b"\n"
    chunks, reader = read(content, chunk_bytes=chunk_bytes, threads=threads, skip_bad=4)
    assert reader.bad == [
        "f:18: 2 cells, expected 3",
        "f:401:1: column 'c1': 'inf' is not a finite number",
        "f:402:3: column 'c2': the byte 0xff is not UTF-8; give the encoding (latin-1, perhaps)",
        "f:1000:5: column 'c3': the label is missing",
    ]
    rows, labels, at = examples(chunks)
    kept = [i for i in range(1000) if i not in bad]
    assert at == [i + 1 for i in kept]
    assert labels == [i % 2 for i in kept]
    assert [row["c1"] for row in rows] == kept
    with pytest.raises(DataError, match=r"^f:1000:5: .* \(3 bad lines skipped before\)$"):
        read(content, chunk_bytes=chunk_bytes, threads=threads, skip_bad=3)


def test_bad_rows_of_parquet_are_skipped_too():
    table = pa.table({"a": [1.0, math.inf] + [2.0] * 200, "label": [0] * 201 + [None]})
    chunks, reader = read(as_parquet(table), "parquet", skip_bad=2)
    assert [message.split(" ")[0] for message in reader.bad] == ["f:2:", "f:202:"]
    assert examples(chunks)[2] == [1, *range(3, 202)]


# The same table in every format ------------------------------------------------------------------

#: Anything that UTF-8 can hold, but NUL.
letters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
plain = st.characters(exclude_categories=["Cs", "Cc"])
names = st.text(plain, max_size=5).map(lambda s: s.strip(" \t")).filter(lambda s: s not in MISSING)
cells = {
    "number": st.floats(allow_nan=False, allow_infinity=False, width=64),
    "boolean": st.booleans(),
    "category": names,
    "text": st.text(letters, max_size=8),
}


@st.composite
def tables(draw, kinds=("number", "boolean", "category", "text"), missing=True):
    """Names with kinds, rows of values (None is missing; the first row is whole), and labels."""
    n = draw(st.integers(1, 12))
    found = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=5))
    columns = [(f"{kind} {i}", kind) for i, kind in enumerate(found)]
    rows = []
    for i in range(n):
        values = [draw(cells[kind]) for _, kind in columns]
        if i and missing:
            kept = [draw(st.integers(0, 3)) for _ in columns]
            values = [v if k else None for v, k in zip(values, kept, strict=True)]
        rows.append(values)
    labels = draw(
        st.lists(st.integers(-(2**63) + 1, 2**63 - 1), min_size=n, max_size=n)
        | st.lists(names.map("L".__add__), min_size=n, max_size=n)
    )
    return columns, rows, labels


def as_text(value, kind, marker):
    """A value as a cell of CSV."""
    if value is None:
        return "" if kind == "text" else marker
    return str(value).lower() if kind == "boolean" else str(value)


def as_csv(table, marker="", delimiter=",", ending="\n"):
    columns, rows, labels = table
    sink = io.StringIO(newline="")
    # Left alone, Python writes a carriage return without quotes.
    returns = any(isinstance(value, str) and "\r" in value for row in rows for value in row)
    quoting = csv.QUOTE_ALL if returns else csv.QUOTE_MINIMAL
    writer = csv.writer(sink, delimiter=delimiter, lineterminator=ending, quoting=quoting)
    writer.writerow([*(name for name, _ in columns), "label"])
    for row, label in zip(rows, labels, strict=True):
        pairs = zip(row, columns, strict=True)
        writer.writerow([*(as_text(value, kind, marker) for value, (_, kind) in pairs), label])
    return sink.getvalue().encode()


def as_jsonl(table, leave_out=False, ascii=True):
    columns, rows, labels = table
    lines = []
    for row, label in zip(rows, labels, strict=True):
        values = {name: value for (name, _), value in zip(columns, row, strict=True)}
        if leave_out:
            values = {name: value for name, value in values.items() if value is not None}
        lines.append(json.dumps({**values, "label": label}, ensure_ascii=ascii))
    return "\n".join(lines).encode()


def as_arrow(table):
    columns, rows, labels = table
    types = {"number": pa.float64(), "boolean": pa.bool_()}
    arrays = {
        name: pa.array([row[i] for row in rows], types.get(kind, pa.string()))
        for i, (name, kind) in enumerate(columns)
    }
    return pa.table({**arrays, "label": labels})


def settings_of(table):
    """Options that name the kinds, so that a category that says 7 is still one."""
    columns = table[0]
    return {
        "text": [name for name, kind in columns if kind == "text"],
        "columns": [name for name, kind in columns if kind != "text"],
        "categories": [name for name, kind in columns if kind == "category"],
    }


def expected(table):
    columns, rows, labels = table
    found = [{name: v for (name, _), v in zip(columns, row, strict=True)} for row in rows]
    return found, labels


def with_empty_texts(rows):
    return [
        {k: "" if k.startswith("text") and v is None else v for k, v in r.items()} for r in rows
    ]


@given(
    tables(),
    st.sampled_from(MISSING),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.sampled_from([1, 100, 1 << 24]),
    st.integers(1, 2),
)
def test_a_table_is_the_same_in_every_format(table, marker, ending, flag, size, threads):
    options = settings_of(table)
    whole = (size, threads)
    rows, labels = expected(table)
    for form, content in [
        ("csv", as_csv(table, marker, ending=ending)),
        ("jsonl", as_jsonl(table, flag, flag)),
        ("parquet", as_parquet(as_arrow(table))),
    ]:
        chunks, reader = read(
            content, form, *whole, header=True if form == "csv" else None, **options
        )
        found, found_labels, lines = examples(chunks)
        assert with_empty_texts(found) == with_empty_texts(rows)
        assert found_labels == labels
        assert not reader.bad
        assert dict(reader.schema.columns) == dict(table[0])
        if form != "csv":
            first = 1
            assert lines == list(range(first, first + len(rows)))


@given(tables(kinds=("number", "boolean", "category")), st.sampled_from([1, 1 << 24]))
def test_tabs_part_cells_that_hold_quotes(table, size):
    columns, rows, labels = table
    lines = ["\t".join([*(name for name, _ in columns), "label"])]
    for row, label in zip(rows, labels, strict=True):
        pairs = zip(row, columns, strict=True)
        lines.append("\t".join([*(as_text(v, kind, "?") for v, (_, kind) in pairs), str(label)]))
    content = "\n".join(lines).encode()
    chunks, _ = read(content, "tsv", size, header=True, quote=False, **settings_of(table))
    assert examples(chunks)[:2] == expected(table)
    quoted, _ = read(
        as_csv(table, "?", "\t"), "tsv", size, header=True, quote=True, **settings_of(table)
    )
    assert examples(quoted)[:2] == expected(table)


@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC, csv.QUOTE_ALL])
@pytest.mark.parametrize("size", [1, 1 << 24])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_quoted_cells_of_tsv_are_what_other_programs_wrote(quoting, size, ending):
    cells = ['the "Hague"', '5" screw', '"', '""', '"a" or "b"', "New York, NY", "plain", '"whole"']
    sink = io.StringIO(newline="")
    writer = csv.writer(sink, delimiter="\t", lineterminator=ending, quoting=quoting)
    writer.writerow(["size", "kind", "label"])
    writer.writerows([1.5 * i, cell, f"it's {cell}"] for i, cell in enumerate(cells))
    chunks, _ = read(sink.getvalue().encode(), "tsv", size)
    rows, labels, _ = examples(chunks)
    assert rows == [{"size": 1.5 * i, "kind": cell} for i, cell in enumerate(cells)]
    assert labels == [f"it's {cell}" for cell in cells]


@pytest.mark.parametrize("size", [1, 1 << 24])
def test_other_quotes_of_tsv_are_quotes(size):
    cells = [
        '5" screw',
        '"open',
        'closed"',
        'say "hi" now',
        '"one" and "two"',
        '"odd"" quotes" here',
    ]
    content = "kind\tlabel\n" + "".join(f"{cell}\t{i}\n" for i, cell in enumerate(cells))
    chunks, _ = read(content.encode(), "tsv", size)
    assert [row["kind"] for row in examples(chunks)[0]] == cells


def naive_records(text):
    """Records of CSV with the line each starts on, by a machine of a few states."""
    records, cell, row, quoted, line, start = [], "", [], False, 1, 1
    i = 0
    while i < len(text):
        c = text[i]
        if quoted:
            if c == '"' and text[i + 1 : i + 2] == '"':
                cell += c
                i += 1
            elif c == '"':
                quoted = False
            else:
                cell += c
        elif c == '"' and cell == "":
            quoted = True
        elif c == ",":
            row.append(cell)
            cell = ""
        elif c == "\n":
            if row or cell:
                records.append((start, [*row, cell]))
            row, cell, start = [], "", line + 1
        else:
            cell += c
        line += c == "\n"
        i += 1
    return records


@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                ['"a\n\nb"', '"c,"', '""', '"""q"""', '5" pipe', 'say "hi"', "e", '"é\n"']
            ),
            st.sampled_from(["", "\n", "\n\n"]),
        ),
        min_size=1, max_size=30,
    ),
    st.sampled_from([1, 70, 150, 1 << 24]),
)  # fmt: skip
def test_lines_are_those_on_which_examples_start(cells, size):
    text = "".join(f"{cell},x{i}\n{blank}" for i, (cell, blank) in enumerate(cells))
    chunks, _ = read(text.encode(), "csv", size, header=False, text=[0], label=1)
    rows, labels, lines = examples(chunks)
    records = naive_records(text)
    assert lines == [line for line, _ in records]
    assert [[row["c1"], label] for row, label in zip(rows, labels, strict=True)] == [
        cells for _, cells in records
    ]


def outcome(content, form, size, **options):
    """What is read, or the error."""
    try:
        chunks, reader = read(content, form, size, **options)
    except DataError as error:
        return str(error)
    return *examples(chunks), reader.bad, reader.schema


ODD_CELLS = [
    "1",
    " 2 ",
    "+.5e1",
    "inf",
    "-nan",
    "1e400",
    "1 2",
    "",
    "?",
    " NA",
    "true",
    " TRUE ",
    "x",
]
ODD_CELLS += [
    '"x"',
    '"a""b"',
    '"a"b',
    '5"',
    ' "q"',
    ' "q,r" ',
    '"n\nl"',
    '"',
    '"""',
    "a\rb",
    "é",
    "\0",
]
ODD_LINES = [
    '{"c1":1,"c2":"x","c3":"p"}',
    '{"c2":" x ","c1":2.5,"c3":"q"}',
    '{"c1":null,"c2":"?","c3":"p"}',
    *('{"c3":"p","z":[1]}', "{}", '{"c3":null}', '{"c3":1}', '{"c1":NaN,"c3":"p"}', "null", " "),
    *('{"c1":1e400,"c3":"p"}', '{"c1":1,"c1":2,"c3":"p"}', '{"c3":"p"}{"c3":"q"}', '{"c3":"p"'),
    *('{"c3":"p"} null', "}", '{"c3":"p"}{"c1":', "2}", '{"c2":true,"c3":"p"}', '{"c3":"p"}\r'),
    *('{"c2":"\\u0000","c3":"p"}', ' {"c3":"p"} ', '{"c2":"\\ud800","c3":"p"}'),
]


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl"])
@given(st.data(), st.sampled_from([1, 64, 1 << 24]), st.sampled_from([0, 1, 100]))
@tries(100)
def test_arrow_and_plain_python_read_the_same(form, data, size, skip_bad):
    kinds = [data.draw(st.sampled_from(["number", "boolean", "category", "text"])) for _ in "ab"]
    columns = tuple(Column(f"c{i}", kind) for i, kind in enumerate(kinds, 1))
    schema = TableSchema(columns, "c3", "string", header=False, width=3)
    if form == "jsonl":
        line = st.sampled_from(ODD_LINES[:3]) | st.sampled_from(ODD_LINES)
    else:
        mark = "," if form == "csv" else "\t"
        cell = {"number": "1", "boolean": "true", "category": "x", "text": "x y"}
        usual = st.just(mark.join([*(cell[kind] for kind in kinds), "p"]))
        odd = [st.just(cell[kind]) | st.sampled_from(ODD_CELLS) for kind in kinds]
        line = (
            usual | st.tuples(*odd, st.just("p")).map(mark.join) | st.sampled_from(["", "x", " "])
        )
    lines = data.draw(st.lists(line, min_size=1, max_size=5))
    content = data.draw(st.sampled_from(["\n", "\r\n"])).join(["", *lines, ""]).encode()
    options = {"skip_bad": skip_bad, "need_label": data.draw(st.booleans()), "schema": schema}
    found = outcome(content, form, size, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BlockParser, "_parse_at_once", lambda self, block: None)
        assert outcome(content, form, size, **options) == found


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_chunks_and_threads_do_not_matter(form):
    rng = np.random.default_rng(0)
    rows = [[float(rng.normal()), bool(i % 3), f"v{i % 7}"] for i in range(6000)]
    columns = [("a", "number"), ("b", "boolean"), ("c", "category")]
    table = columns, rows, [f"l{i % 5}" for i in range(6000)]
    content = as_csv(table) if form == "csv" else as_jsonl(table)
    whole, _ = read(content, form)
    assert len(whole) == 1
    assert examples(whole)[:2] == expected(table)
    for size, threads in [(1000, 1), (1000, 2), (30_000, 2), (len(content) - 1, 1)]:
        chunks, _ = read(content, form, size, threads)
        assert len(chunks) > 1
        assert examples(chunks) == examples(whole)
        assert {str(chunk.raw.schema) for chunk in chunks} == {str(whole[0].raw.schema)}


class Trickle(io.RawIOBase):
    """A pipe that gives a few bytes at a time."""

    def __init__(self, content):
        self.content = content

    def read(self, size=-1):
        piece, self.content = self.content[: min(size, 7)], self.content[min(size, 7) :]
        return piece


def test_a_pipe_may_give_few_bytes_at_a_time():
    content = b"a,label\n" + b"".join(b"%d,x%d\n" % (i, i % 2) for i in range(100))
    chunks = list(read_table(Trickle(content), "f", "csv", chunk_bytes=100))
    assert [row["a"] for row in examples(chunks)[0]] == list(range(100))
    with pytest.raises(DataError, match="pipe"):
        next(read_table(Trickle(b""), "f", "parquet"))


# Which columns -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "options", "header"),
    [
        (b"x,y,z\n1,a,2\n", {}, True),
        (b"x,y,3\n1,a,2\n", {}, False),
        (b"a,b,c\nd,e,f\n", {}, False),
        (b"a,b,label\nd,e,f\n", {}, True),
        (b"a,b,c\nd,e,f\n", {"label": "a"}, True),
        (b"a,b,c\nd,e,f\n", {"text": ["b"]}, True),
        (b"1,2,3\n4,5,6\n", {"header": True}, True),
        (b"x,y,z\n1,a,2\n", {"header": False}, False),
        (b"3,x,p", {}, False),
        (b"\xef\xbb\xbf3,x,p", {}, False),
    ],
)
def test_a_header_is_seen(content, options, header):
    chunks, reader = read(content, **options)
    assert reader.schema.header == header
    assert (
        sum(chunk.n for chunk in chunks) == content.count(b"\n") + (b"\n" not in content) - header
    )
    if not header:
        assert set(chunks[0].raw.column_names) <= {"c1", "c2", "c3"}


@pytest.mark.parametrize(
    ("header", "options", "label", "features"),
    [
        ("a,b,c", {}, "c", ["a", "b"]),
        ("a,y,c", {}, "y", ["a", "c"]),
        ("a,Class,y", {}, "Class", ["a", "y"]),
        ("a,b,c", {"label": 0}, "a", ["b", "c"]),
        ("a,b,c", {"label": "-2"}, "b", ["a", "c"]),
        ("a,b,c", {"drop": ["c"]}, "b", ["a"]),
        ("a,b,c", {"text": ["a"]}, "c", ["a"]),
        ("a,b,c", {"text": [1], "columns": ["a"]}, "c", ["a", "b"]),
        ("a,b,c", {"columns": ["b"]}, "c", ["b"]),
    ],
)
def test_columns_are_chosen(header, options, label, features):
    chunks, reader = read(f"{header}\n1,2,3\n4,5,6\n".encode(), header=True, **options)
    assert reader.schema.label == label
    assert chunks[0].raw.column_names == features
    lines = [dict(zip(header.split(","), values, strict=True)) for values in ([1, 2, 3], [4, 5, 6])]
    content = "\n".join(map(json.dumps, lines)).encode()
    if not options.get("text"):
        chunks, reader = read(content, "jsonl", **options)
        assert (reader.schema.label, chunks[0].raw.column_names) == (label, features)


def test_cells_are_stripped_and_numbers_may_be_written_in_many_ways():
    content = b'a,b,label\n 1 ,\t true,  x y\n+2.,false ,x y \n ? , "true" ,"x y"\n.5e1,NA,x y\n'
    rows, labels, _ = examples(read(content)[0])
    assert [row["a"] for row in rows] == [1.0, 2.0, None, 5.0]
    assert [row["b"] for row in rows] == [True, False, True, None]
    assert set(labels) == {"x y"}


def test_large_whole_numbers_are_rounded_as_features_and_exact_as_labels():
    big = 2**53 + 1
    for form, content in [
        ("csv", b"a,label\n%d,%d\n" % (big, big)),
        ("jsonl", b'{"a":%d,"label":%d}' % (big, big)),
        ("parquet", as_parquet(pa.table({"a": [big], "label": [big]}))),
    ]:
        rows, labels, _ = examples(read(content, form)[0])
        assert rows == [{"a": float(2**53)}]
        assert labels == [big]


def test_whole_floats_are_labels_and_truth_values_are_strings():
    assert examples(read(b"a,label\n1,1.0\n2,2e0\n1,1\n")[0])[1] == [1, 2, 1]
    assert examples(read(as_parquet(pa.table({"a": [1], "label": [3.0]})), "parquet")[0])[1] == [3]
    assert examples(read(b'{"a":1,"label":true}\n{"a":1,"label":false}', "jsonl")[0])[1] == [
        "true",
        "false",
    ]


def test_parquet_may_hold_any_numbers_and_strings():
    table = pa.table(
        {
            "u": pa.array([1, None], pa.uint8()),
            "h": pa.array([1.5, 2.5], pa.float32()),
            "d": pa.array([1, 2], pa.int64()).cast(pa.decimal128(22, 2)),
            "n": pa.nulls(2),
            "s": pa.array(["x", "NA"]).dictionary_encode(),
            "l": pa.array(["x ", None], pa.large_string()),
            "label": pa.array(["p", "q"]).dictionary_encode(),
        }
    )
    rows, labels, _ = examples(read(as_parquet(table), "parquet")[0])
    assert rows[0] == {"u": 1.0, "h": 1.5, "d": 1.0, "n": None, "s": "x", "l": "x"}
    assert rows[1] == {"u": None, "h": 2.5, "d": 2.0, "n": None, "s": None, "l": None}
    assert labels == ["p", "q"]


# Predicting --------------------------------------------------------------------------------------


def test_the_schema_of_training_is_used_for_other_files():
    trained, reader = read(b"a,b,label\n1,2,p\n2,x,q\n")
    schema = TableSchema.restore(json.loads(json.dumps(reader.schema.describe())))
    assert schema == reader.schema == schema_of(trained[0].raw)
    for need_label in (True, False):
        chunks, _ = read(b"label,c,b,a\np,5,6,7\n", schema=schema, need_label=need_label)
        assert examples(chunks) == ([{"a": 7.0, "b": "6"}], ["p"], [2])
    chunks, _ = read(b"b,a\n1,2\n", schema=schema, need_label=False)
    assert chunks[0].labels is None
    assert examples(chunks)[0] == [{"a": 2.0, "b": "1"}]
    chunks, _ = read(b"a,b,label\n1,2,?\n1,2,p\n", schema=schema, need_label=False)
    assert examples(chunks)[1] == [None, "p"]
    assert read(b"", schema=schema, need_label=False)[0] == []
    for content, words in [
        (b"a,b\n1,2\n", "no column 'label', which the model needs"),
        (b"a,label\n1,2\n", "no column 'b', which the model needs"),
        (b"a,b,label\nx,2,p\n", "^f:2:1: column 'a': expected a number, found 'x'$"),
    ]:
        with pytest.raises(DataError, match=words):
            read(content, schema=schema)


@pytest.mark.parametrize("cells", ['"a": 2', '"b": "1"', '"b": 1, "more": []'])
def test_keys_that_the_model_needs_may_be_absent_in_json_lines(cells):
    schema = read(b"a,b,label\n1,x,p\n2,y,q\n")[1].schema
    row = {"a": None, "b": None, **json.loads(f"{{{cells}}}")}
    row = {"a": row["a"], "b": row["b"] and str(row["b"])}
    content = f"{{{cells}}}\n".encode()
    chunks, _ = read(content * 2, "jsonl", schema=schema, need_label=False)
    assert examples(chunks)[0] == [row, row]
    assert chunks[0].labels is None
    with pytest.raises(DataError, match="no column 'label', which the model needs"):
        read(content, "jsonl", schema=schema)


def test_json_lines_without_any_key_of_the_model_are_another_file():
    schema = read(b"a,b,label\n1,x,p\n2,y,q\n")[1].schema
    for content in (b'{"c": 1}\n', b"{}\n", b'{"label": "p"}\n'):
        with pytest.raises(DataError, match="no column 'a', 'b', which the model needs"):
            read(content, "jsonl", schema=schema, need_label=False)


def test_files_without_header_may_lack_the_label_when_predicting():
    _, reader = read(b"1,2,3\n0,5,6\n", label=0)
    chunks, _ = read(b"2,3\n5,6\n", schema=reader.schema, need_label=False)
    assert examples(chunks)[0] == [{"c2": 2.0, "c3": 3.0}, {"c2": 5.0, "c3": 6.0}]
    chunks, _ = read(b"1,2,3\n", schema=reader.schema, need_label=False)
    assert examples(chunks)[:2] == ([{"c2": 2.0, "c3": 3.0}], [1])


def test_files_without_header_have_as_many_columns_as_the_table_learned_from():
    _, reader = read(b"1,2,3\n0,5,6\n", label=0)
    for content, found in [(b"1,2,3,4\n", "4 columns"), (b"2\n", "1 column")]:
        told = f"^f:1: {found} without names, .* learned from has 3 \\(2 without the labels\\)$"
        for need_label in (False, True):
            with pytest.raises(DataError, match=told):
                read(content, schema=reader.schema, need_label=need_label)
    with pytest.raises(DataError, match="no column 'c1', which the model needs"):
        read(b"2,3\n", schema=reader.schema)


def test_a_file_may_name_columns_that_had_no_names_in_training():
    _, reader = read(b"1,2,p\n0,5,q\n")
    chunks, _ = read(b"c2,c3,c1\n5,q,6\n", schema=reader.schema)
    assert examples(chunks)[:2] == ([{"c1": 6.0, "c2": 5.0}], ["q"])
    with pytest.raises(DataError, match="f:1:1: column 'c1': expected a number, found 'x'"):
        read(b"x,c2,c3\n5,6,q\n", schema=reader.schema)


def test_unnamed_columns_of_older_models_are_counted_from_0():
    _, reader = read(b"1,2,3\n0,5,6\n")
    told = reader.schema.describe()
    assert [told["columns"][0][0], told["label"], told.pop("first")] == ["c1", "c3", 1]
    told |= {"columns": [["c0", "number"], ["c1", "number"]], "label": "c2"}
    older = TableSchema.restore(told)
    for content in (b"7,8,9\n", b"7,8\n"):
        chunks, _ = read(content, schema=older, need_label=False)
        assert examples(chunks)[0] == [{"c0": 7.0, "c1": 8.0}]
    assert read(b",b,c\n1,2,3\n")[1].schema.columns[0].name == "c1"


# Texts -------------------------------------------------------------------------------------------


def documents(texts):
    return [
        texts.buffer[a:b].tobytes().decode() for a, b in zip(texts.starts, texts.ends, strict=True)
    ]


@given(st.lists(st.none() | st.text(letters, max_size=5), max_size=8), st.integers(0, 3))
def test_texts_are_views_of_a_column(strings, skipped):
    wanted = ["" if string is None else string for string in strings]
    for kind in (pa.string(), pa.large_string()):
        array = pa.array([*["skip"] * skipped, *strings], kind)[skipped:]
        texts = texts_of_column(pa.table({"t": array}), "t")
        assert documents(texts) == wanted
        assert (texts.starts.dtype, texts.ends.dtype) == (np.uint64, np.uint64)
        if array.buffers()[2] is not None and len(array):
            assert texts.buffer.ctypes.data == array.buffers()[2].address
        pieces = pa.chunked_array([array[:2], array[2:]], kind)
        table = pa.table({"t": pieces, "s": array})
        assert documents(texts_of_column(table, ["t"])) == wanted
        assert documents(texts_of_column(table, ["s", "t"])) == [f"{w}\n{w}" for w in wanted]


# Encoding ----------------------------------------------------------------------------------------


def naive_encode(train, table, scale):
    """Names of features and rows of them, in plain Python."""
    columns, rows, _ = train
    names, makers = [], []
    for i, (name, kind) in enumerate(columns):
        seen = [row[i] for row in rows if row[i] is not None]
        had_missing = len(seen) < len(rows)
        if kind == "category":
            for value in dict.fromkeys(seen):
                names.append(f"{name}={value}")
                makers.append(lambda row, i=i, value=value: float(row[i] == value))
        else:
            center, spread = 0.0, 1.0
            if kind == "number" and scale == "standard":
                center = math.fsum(seen) / len(seen)
                spread = math.sqrt(math.fsum((v - center) ** 2 for v in seen) / len(seen))
            elif kind == "number" and scale == "maxabs":
                spread = max(abs(v) for v in seen)
            if kind == "number" and scale == "standard" and len(set(seen)) == 1:
                spread = 0.0

            def scaled(row, i=i, center=center, spread=spread):
                return (row[i] - center) / spread if spread and row[i] is not None else 0.0

            names.append(name)
            makers.append(scaled)
        if had_missing:
            names.append(f"{name} is missing")
            makers.append(lambda row, i=i: float(row[i] is None))
    return names, [[make(row) for make in makers] for row in table[1]]


def encoder_of(table, scale="standard", pieces=1, **more):
    encoder = TableEncoder(scale, **more)
    arrow = as_arrow(table).drop_columns(["label"])
    size = max(1, math.ceil(arrow.num_rows / pieces))
    for start in range(0, arrow.num_rows, size):
        encoder.observe(arrow.slice(start, size))
    return encoder


def dense(rows):
    matrix = rows.to_matrix()
    return matrix if isinstance(matrix, np.ndarray) else matrix.toarray()


few = {
    **cells,
    "number": st.integers(-3, 3).map(float) | st.floats(-1e6, 1e6),
    "category": st.sampled_from(["p", "q", "r", "s"]),
}


@given(st.data(), st.sampled_from(["standard", "maxabs", "none"]), st.integers(1, 3), st.booleans())
def test_encoding_is_that_of_the_naive_twin(data, scale, pieces, missing):
    kinds = ("number", "boolean", "category") if data.draw(st.booleans()) else ("number", "boolean")
    train = data.draw(tables(kinds, missing))
    columns = train[0]
    remade = [
        [
            None if v is None else data.draw(few[kind])
            for v, (_, kind) in zip(row, columns, strict=True)
        ]
        for row in train[1]
    ]
    train = columns, remade, train[2]
    other = [[data.draw(st.none() | few[kind]) for _, kind in columns] for _ in range(4)]
    encoder = encoder_of(train, scale, pieces)
    for table in (train, (columns, other, [0] * 4)):
        names, wanted = naive_encode(train, table, scale)
        rows = encoder.encode(as_arrow(table), bias=2.0)
        assert rows.bias == 2.0
        assert [encoder.feature_name(i) for i in range(encoder.width)] == names
        assert rows.width == encoder.width == len(names)
        assert rows.dtype == np.float64
        assert rows.is_sparse == any(name.endswith(" is missing") or "=" in name for name in names)
        np.testing.assert_allclose(dense(rows), np.array(wanted), rtol=1e-7, atol=1e-7)
        if rows.is_sparse:
            assert rows.to_matrix().has_canonical_format
            assert np.all(rows.stored.values != 0.0)


@given(tables())
def test_rows_are_the_same_from_every_format(table):
    options = settings_of(table)
    if not options["columns"]:
        return
    texts = {"text": Lengths(), "text_columns": options["text"]} if options["text"] else {}
    matrices = []
    for form, content in [
        ("csv", as_csv(table)),
        ("jsonl", as_jsonl(table)),
        ("parquet", as_parquet(as_arrow(table))),
    ]:
        chunks, _ = read(content, form, header=True if form == "csv" else None, **options)
        encoder = TableEncoder("maxabs", **texts)
        encoder.observe(chunks[0].raw)
        assert encoder.schema is not None
        matrices.append(dense(encoder.encode(chunks[0].raw, 1.0)))
    np.testing.assert_array_equal(matrices[0], matrices[1])
    np.testing.assert_array_equal(matrices[0], matrices[2])


def test_the_mean_and_deviation_are_those_of_all_chunks():
    rng = np.random.default_rng(1)
    numbers = 1e9 + rng.standard_normal(10_000)  # the naive sum of squares would lose all digits
    table = pa.table({"a": numbers})
    encoder = TableEncoder()
    for start in range(0, 10_000, 777):
        encoder.observe(table.slice(start, 777))
    found = dense(encoder.encode(table, 1.0))[:, 0]
    np.testing.assert_allclose(found, (numbers - numbers.mean()) / numbers.std(), atol=1e-6)


def test_a_constant_column_becomes_zero():
    encoder = TableEncoder()
    for _ in range(3):
        encoder.observe(pa.table({"a": [0.1] * 7, "b": pa.array([None] * 7, pa.float64())}))
    found = dense(encoder.encode(pa.table({"a": [0.1, 5.0, None], "b": [1.0, None, 2.0]}), 1.0))
    np.testing.assert_array_equal(found, [[0, 0, 0], [0, 0, 1], [0, 0, 0]])


@pytest.mark.parametrize("values", [[1e200, -1e200], [1e-200, 2e-200], [1e308, -1e308]])
def test_numbers_that_cannot_be_scaled_are_named(values):
    encoder = TableEncoder()
    encoder.observe(pa.table({"a": values}))
    with pytest.raises(DataError, match=r"column 'a' has numbers from .* too wide or too narrow"):
        encoder.encode(pa.table({"a": values}), 1.0)


def test_identifiers_are_refused():
    def column(distinct, n):
        return pa.table({"who": [f"u{i % distinct}" for i in range(n)]})

    with pytest.warns(DataWarning, match="nearly all values of column 'who' differ: it looks like"):
        TableEncoder().observe(column(999, 999))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TableEncoder().observe(column(19, 19))
        TableEncoder().observe(column(90, 100))
        TableEncoder().observe(column(500, 1000))
    encoder = TableEncoder()
    encoder.observe(column(501, 600))
    with pytest.raises(DataError) as caught:
        encoder.observe(column(501, 400))
    assert str(caught.value) == (
        "column 'who' has 501 different values in 1,000 examples: it looks like an identifier or"
        " free text; drop it, or declare it as text"
    )


@pytest.mark.parametrize("size", [1 << 24, 4000])
def test_labels_that_all_differ_are_no_classes(size):
    content = b"".join(b"%d,x,%d\n" % (i % 7, i) for i in range(1000))
    if size < 1 << 24:  # too few in a chunk to tell
        read(content, chunk_bytes=size)
        return
    with pytest.raises(DataError) as caught:
        read(content, chunk_bytes=size)
    assert str(caught.value) == (
        "f: column 'c3' has 1,000 different labels in 1,000 examples;"
        " name the column that holds the classes (label)"
    )


def test_columns_may_come_in_any_order_but_must_be_there():
    encoder = TableEncoder("none")
    encoder.observe(pa.table({"a": [1, 2], "b": ["x", "y"]}))
    rows = encoder.encode(pa.table({"z": [b"?"], "b": ["z"], "a": pa.array([3], pa.int8())}), 1.0)
    np.testing.assert_array_equal(dense(rows), [[3, 0, 0]])
    assert encoder.unseen == 1
    for table, words in [
        (pa.table({"c": [1]}), "no column 'a', 'b', which the model needs"),
        (pa.table({"a": ["1"], "b": ["x"]}), "column 'a' is of kind category, but was of kind num"),
        (pa.table({"a": pa.array([1], pa.date32()), "b": ["x"]}), "column 'a' holds dates"),
    ]:
        with pytest.raises(DataError, match=words):
            encoder.encode(table, 1.0)


class Lengths:
    """An encoder of texts: feature i is 1 if the text has a character of code i modulo 8."""

    kind = "lengths"
    width = 8

    def __init__(self, seen=0):
        self.seen = seen

    def observe(self, raw):
        self.seen += len(raw.starts)

    def encode(self, raw, bias, threads=1, *, note=False):
        features = [sorted({ord(c) % 8 for c in text}) for text in documents(raw)]
        starts = np.cumsum([0, *map(len, features)]).astype(np.uint64)
        indices = np.array([i for some in features for i in some], np.uint32)
        values = np.ones(len(indices), np.float32)
        stored = Sparse(frozen(values), frozen(indices), frozen(starts), bias)
        return Rows(stored, len(features), 8)

    def feature_name(self, column):
        return f"code {column}"

    def describe(self):
        return {"seen": self.seen}

    def arrays(self):
        return {"some": np.arange(3)}

    @classmethod
    def restore(cls, about, arrays):
        np.testing.assert_array_equal(arrays["some"], np.arange(3))
        return cls(about["seen"])


@given(tables(kinds=("number", "category", "text")))
def test_texts_come_first(table):
    columns = table[0]
    text = [name for name, kind in columns if kind == "text"]
    if not text:
        return
    encoder = encoder_of(table, "none", text=Lengths(), text_columns=text)
    arrow = as_arrow(table)
    rows = encoder.encode(arrow, 1.0)
    assert (rows.dtype, rows.is_sparse) == (np.float32, True)
    assert encoder.text.seen == arrow.num_rows
    others = [i for i, (_, kind) in enumerate(columns) if kind != "text"]
    rest = [columns[i] for i in others], [[row[i] for i in others] for row in table[1]], table[2]
    names, wanted = naive_encode(rest, rest, "none")
    assert [encoder.feature_name(i) for i in range(encoder.width)] == [
        *(f"code {i}" for i in range(8)),
        *names,
    ]
    texts = dense(Lengths().encode(texts_of_column(arrow, text), 1.0))
    with np.errstate(over="ignore"):
        beside = np.array(wanted, np.float32).reshape(len(texts), -1)
    np.testing.assert_array_equal(dense(rows), np.hstack([texts, beside]))


@given(tables())
def test_an_encoder_comes_back_as_it_was_saved(tmp_path_factory, table):
    path = tmp_path_factory.mktemp("encoder") / "model.wm"
    text = [name for name, kind in table[0] if kind == "text"]
    texts = {"text": Lengths(), "text_columns": text} if text else {}
    chunks, _ = read(as_parquet(as_arrow(table)), "parquet", **settings_of(table))
    saved = TableEncoder("none", **texts)
    saved.observe(chunks[0].raw)
    write_model_file(path, saved.arrays(), {"encoder": saved.describe()})
    arrays, about = read_model_file(path)
    back = TableEncoder.restore(about["encoder"], arrays, Lengths)
    assert back.describe() == saved.describe()
    assert back.schema == saved.schema
    for encoder in (saved, back):
        encoder.observe(chunks[0].raw)
    names = [saved.feature_name(i) for i in range(saved.width)]
    assert [back.feature_name(i) for i in range(back.width)] == names
    a, b = (encoder.encode(chunks[0].raw, 1.0) for encoder in (saved, back))
    np.testing.assert_array_equal(dense(a), dense(b))
    for name, array in saved.arrays().items():
        np.testing.assert_array_equal(back.arrays()[name], array)


def test_encoding_follows_the_file_to_the_end():
    content = b"size,kind,label\n" + b"".join(
        b"%d,%s,%d\n" % (i, b"cat" if i % 2 else b"dog", i % 3) for i in range(50)
    )
    chunks, _ = read(content, chunk_bytes=100)
    encoder = TableEncoder("maxabs")
    for chunk in chunks:
        encoder.observe(chunk.raw)
    found = np.vstack([dense(encoder.encode(chunk.raw, 1.0)) for chunk in chunks])
    wanted = [[i / 49, i % 2 == 0, i % 2 == 1] for i in range(50)]
    np.testing.assert_allclose(found, np.array(wanted, float), rtol=1e-15)


@pytest.mark.parametrize("n", [1, 8191, 8192, 8193, 30_000])
def test_statistics_of_numbers_do_not_depend_on_chunks(n):
    rng = np.random.default_rng(n)
    numbers = rng.normal(1e6, 1e-3, n) * rng.choice([1.0, 1e-9, 7.0], n)
    whole = Moments()
    whole.add(numbers)
    for size in (1 + n // 3, 4096, 8192, 9999):
        parts = Moments()
        for start in range(0, n, size):
            parts.add(numbers[start : start + size])
        assert parts == whole
    assert whole.count == n
    assert (whole.low, whole.high) == (numbers.min(), numbers.max())
    assert whole.mean == pytest.approx(np.mean(numbers), rel=1e-12)
    assert whole.squares / n == pytest.approx(np.var(numbers), rel=1e-9)


def test_labels_padded_with_zeros_are_strings(tmp_path):
    path = tmp_path / "codes.csv"
    path.write_text("x,label\n" + "1,01\n2,1\n3,10\n" * 4)
    assert sorted(set(read_examples(path)[1].tolist())) == ["01", "1", "10"]
    path.write_text("x,label\n" + "1,0\n2,1\n" * 4)
    assert sorted(set(read_examples(path)[1].tolist())) == [0, 1]
    with pytest.raises(CellError) as wrong:  # far below the first lines
        parse_label("01", "whole", frozenset(), True)
    assert wrong.value.reason == "label 01 starts with a zero, and the first labels do not"
