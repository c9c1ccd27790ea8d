"""Text in other encodings than UTF-8: the same examples, or an error that names the line."""

import gzip
import io
import sys

import pytest
from plain_examples import examples_of
from shell import run_shell

from widemargin import DataError, load_model, read
from widemargin.data.readers.files import Files, ReadOptions

#: The same characters in all of these encodings.
CONTENT = {
    "f.ft": "__label__gut Käse für 5 Franken\n__label__schlecht kein Käse\n",
    "f.txt": "gut\tKäse für 5 Franken\r\nschlecht\tkein Käse\r\n",
    "f.vw": "1 | käse:2 für\n-1 |ü kein käse\n",
    "f.svm": "1 1:2 # Käse\n-1 2:1\n",
}
ENCODINGS = ("latin-1", "cp1252", "utf-16", "utf-16-be", "utf-32", "utf-8-sig")


@pytest.mark.parametrize("name", CONTENT)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_encoding_changes_nothing_but_the_bytes(name, encoding, tmp_path, monkeypatch):
    content = CONTENT[name] * 50
    path = tmp_path / name
    path.write_text(content, encoding="utf-8", newline="")
    expected, _ = examples_of(path)
    written = content.encode(encoding)
    path.write_bytes(written)
    for block in (7, 1 << 20):
        found, files = examples_of(path, encoding=encoding, block=block)
        assert found == expected
    assert (files.ranges() is None) == (encoding != "utf-8-sig")
    path.write_bytes(gzip.compress(written))
    assert examples_of(path, encoding=encoding)[0] == expected
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(written))))
    assert examples_of("-", format=files.format, encoding=encoding, live=True)[0] == expected


def test_tables_are_decoded_too(tmp_path):
    for name, content in {
        "f.csv": "wer,label\nMüller,ja\nBär,nein\n",
        "f.tsv": "wer\tlabel\nMüller\tja\nBär\tnein\n",
        "f.jsonl": '{"wer": "Müller", "label": "ja"}\n{"wer": "Bär", "label": "nein"}\n',
    }.items():
        path = tmp_path / name
        path.write_bytes(content.encode("utf-16"))
        (chunk,) = Files(path, ReadOptions(encoding="utf-16")).chunks()
        assert chunk.raw.to_pydict() == {"wer": ["Müller", "Bär"]}


def test_an_error_names_the_line_whose_byte_is_not_in_the_encoding(tmp_path):
    path = tmp_path / "f.ft"
    path.write_bytes(b"__label__x one\n" * 9000 + b"__label__x caf\xe9\n")
    told = f"{path}:9001: byte 0xe9 is not ascii; give another encoding, or convert the file"
    with pytest.raises(DataError) as error:
        read(path, encoding="ascii")
    assert str(error.value) == told
    path.write_bytes("__label__x one\n".encode("utf-16") + b"\x00\xdc\n\x00")
    with pytest.raises(DataError, match=r"f\.ft:2: byte 0x00 is not utf-16"):
        read(path, encoding="utf-16")
    path.write_bytes("__label__x one\n".encode("utf-16") + b"a")
    with pytest.raises(DataError, match=r"f\.ft:2: byte 0x61 is not utf-16"):
        read(path, encoding="utf-16")


@pytest.mark.parametrize("name", ["latin-l", "base64", "utf-8\0"])
def test_an_encoding_that_does_not_exist_is_refused(name, tmp_path):
    (tmp_path / "f.ft").write_text("__label__x one\n")
    with pytest.raises(ValueError, match=r"encoding=.* is unknown; give a name such as 'latin-1'"):
        read(tmp_path / "f.ft", encoding=name)


def test_the_shell_reads_and_asks_in_any_encoding(tmp_path):
    for name, encoding in (("a.txt", "latin-1"), ("b.txt", "utf-8")):
        (tmp_path / name).write_text(CONTENT["f.txt"] * 4, encoding=encoding)
    told = run_shell(tmp_path, "train", "a.txt", code=1).stderr
    assert told == (
        "widemargin: a.txt:1:6: byte 0xe4 is not UTF-8; give the encoding (latin-1, perhaps)\n"
    )
    run_shell(tmp_path, "train", "a.txt", "--encoding", "latin-1", "--model", "a.wm")
    run_shell(tmp_path, "train", "b.txt", "--model", "b.wm")
    a, b = (load_model(tmp_path / name) for name in ("a.wm", "b.wm"))
    assert a.weights.tobytes() == b.weights.tobytes()
    told = run_shell(tmp_path, "test", "b.wm", "a.txt", "--encoding", "latin-1").stdout
    assert "8 of 8 right" in told
    told = run_shell(tmp_path, "train", "b.txt", "--encoding", "utf-99", code=2).stderr
    assert "--encoding utf-99 is unknown" in told
    told = run_shell(tmp_path, "train", "--encoding", "latin-1", code=2).stderr
    assert "--encoding has no effect without FILES to read" in told


def test_parquet_has_an_encoding_of_its_own(tmp_path):
    (tmp_path / "f.parquet").write_bytes(b"PAR1")
    with pytest.raises(DataError, match=r"f\.parquet: text in Parquet is always UTF-8"):
        read(tmp_path / "f.parquet", encoding="latin-1")


def test_names_of_columns_that_are_not_utf8_are_refused(tmp_path):
    (tmp_path / "f.csv").write_bytes(b"a;Gr\xf6\xdfe;label\n1;2;x\n2;1;y\n")
    said = r"f\.csv:1:3: the byte 0xf6 is not UTF-8; give the encoding \(latin-1, perhaps\)"
    with pytest.raises(DataError, match=said):
        read(tmp_path / "f.csv")
    (chunk,) = Files(tmp_path / "f.csv", ReadOptions(encoding="latin-1")).chunks()
    assert chunk.raw.column_names == ["a", "Größe"]


@pytest.mark.parametrize("name", ["f.svm", "f.vw", "f.ft", "f.txt"])
@pytest.mark.parametrize("compressed", [False, True])
def test_lines_that_end_with_a_carriage_return_alone_are_refused(name, compressed, tmp_path):
    lines = {"f.svm": "1 1:2", "f.vw": "1 |n a", "f.ft": "__label__x one", "f.txt": "x\ta b"}
    path = tmp_path / (name + ".gz" * compressed)
    content = f"{lines[name]}\r{lines[name]}\r".encode()
    path.write_bytes(gzip.compress(content) if compressed else content)
    format = "labelled-text" if name == "f.txt" else None
    with pytest.raises(DataError, match="its lines end with a carriage return alone"):
        read(path, format=format)
    path.write_bytes(content.replace(b"\r", b"\r\n"))
    assert len(read(path, format=format)[1]) == 2
