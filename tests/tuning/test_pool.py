"""Parts of a pool are encoded as if the other examples did not exist."""

import numpy as np
import pyarrow as pa
import pytest

from widemargin import DataError
from widemargin.data.datasets import Classes, Encoded, EncodeOptions, make_encoder, read_all
from widemargin.data.pool import Pool
from widemargin.data.readers.columns import TableOptions
from widemargin.data.readers.files import Files, ReadOptions
from widemargin.data.rows import Rows

WORDS = ["cow", "barn", "hay", "ship", "wave", "sail", "cloud", "star"]


def write_table(path, n=60, seed=0):
    """A table with numbers, categories, missing cells and texts, and its lines."""
    rng = np.random.default_rng(seed)
    lines = []
    for i in range(n):
        size = "" if i % 11 == 5 else f"{rng.normal() * (i + 1):.3f}"
        text = " ".join(rng.choice(WORDS, 4))
        lines.append(f"{size},kind{rng.integers(i // 10 + 2)},{text} w{i},{'ab'[i % 2]}\n")
    path.write_text("size,kind,note,label\n" + "".join(lines))
    return lines


def read(path, encoding, **table):
    files = Files([str(path)], ReadOptions(table=TableOptions(**table), threads=1))
    encoder, classes = make_encoder(files, encoding), Classes()
    data = read_all(files, encoder, classes, learn=True, keep=encoding.keep)
    return data, encoder, classes


def same_rows(ours, theirs):
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
    for mine, other in zip(ours.stored, theirs.stored, strict=True):
        assert np.array_equal(mine, other)


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ({"columns": ("size", "kind")}, {}),
        ({"text": ("note",)}, {"idf": "seen"}),
        ({"text": ("note",)}, {"idf": False}),
        ({"text": ("note",), "columns": ("size", "kind")}, {"idf": True}),
    ],
)
def test_parts_are_encoded_as_if_the_others_did_not_exist(table, text, tmp_path):
    lines = write_table(tmp_path / "all.csv")
    encoding = EncodeOptions(text=text, keep=True)
    data, encoder, classes = read(tmp_path / "all.csv", encoding, **table)
    pool = Pool(data, classes.values, encoder)
    train, test = np.arange(0, 60, 3), np.arange(1, 60, 3)
    split = pool.split(train, test)
    part = "size,kind,note,label\n" + "".join(lines[i] for i in train)
    (tmp_path / "part.csv").write_text(part)
    alone, fitted, _ = read(tmp_path / "part.csv", EncodeOptions(text=text), **table)
    same_rows(split.learned.rows, alone.rows)
    assert np.array_equal(split.learned.codes, alone.codes)
    (tmp_path / "rest.csv").write_text("size,kind,note,label\n" + "".join(lines[i] for i in test))
    reading = ReadOptions(table=TableOptions(**table, schema=fitted.schema), threads=1)
    files = Files([str(tmp_path / "rest.csv")], reading)
    asked = read_all(files, fitted, Classes(classes.values), learn=False)
    same_rows(split.tested.rows, asked.rows)


def test_what_is_tested_cannot_change_what_is_learned(tmp_path):
    lines = write_table(tmp_path / "all.csv")
    train, test = np.arange(0, 60, 3), np.arange(1, 60, 3)
    for i in test:
        lines[i] = f"{1e6 * i:g},strange{i % 5},{'ship ' * 50},{'ab'[i % 2]}\n"
    (tmp_path / "other.csv").write_text("size,kind,note,label\n" + "".join(lines))
    encoding = EncodeOptions(text={"idf": "seen"}, keep=True)
    learned = []
    for name in ("all.csv", "other.csv"):
        data, encoder, classes = read(
            tmp_path / name, encoding, text=("note",), columns=("size", "kind")
        )
        learned.append(Pool(data, classes.values, encoder).split(train, test).learned)
    same_rows(learned[0].rows, learned[1].rows)


def test_a_class_that_a_part_lacks_has_no_code():
    rows = Rows.of(np.arange(8.0).reshape(4, 2))
    data = Encoded(rows, np.array([0, 1, 2, 1]), np.array([1.0, 2.0, 3.0, 4.0]), np.arange(4), [])
    split = Pool(data, np.array(["a", "b", "c"])).split(np.array([0, 1]), np.array([2, 3]))
    assert split.classes.tolist() == ["a", "b"]
    assert split.tested.codes.tolist() == [-1, 1]
    assert split.learned.weights.tolist() == [1.0, 2.0]
    with pytest.raises(DataError, match="only one class"):
        Pool(data, np.array(["a", "b", "c"])).split(np.array([1, 3]), np.array([0, 2]))


def test_examples_encoded_all_together_are_refused(tmp_path):
    write_table(tmp_path / "all.csv")
    data, encoder, classes = read(tmp_path / "all.csv", EncodeOptions(), columns=("size",))
    with pytest.raises(DataError, match="give the original files"):
        Pool(data, classes.values, encoder)


def test_tables_of_several_chunks_are_joined():
    from widemargin.data.datasets import join_tables

    tables = [pa.table({"a": [1.0]}), pa.table({"a": [2.0, 3.0]})]
    assert join_tables(tables)["a"].to_pylist() == [1.0, 2.0, 3.0]
