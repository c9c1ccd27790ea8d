"""The readers of lines: the same examples however a file is cut, or one clear error."""

import bz2
import gzip
import io
import lzma
import os
import sys
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from interpreted import told_interpreted
from plain_examples import examples_of, plain
from profiles import tries
from sklearn.datasets import load_svmlight_file

from widemargin import DataError
from widemargin.data.encode.hashed import HashedEncoder
from widemargin.data.encode.numbers import NumbersEncoder
from widemargin.data.readers.columns import TableOptions
from widemargin.data.readers.files import Files, ReadOptions
from widemargin.data.readers.formats import format_of
from widemargin.data.readers.sources import Range, find_files, ranges_of
from widemargin.data.reading import read

# Bad lines ---------------------------------------------------------------------------------------

#: Two good lines of each format, between which a bad one is put.
GOOD = {
    "svmlight": (b"1 1:1 3:2\n", b"-1 2:0.5\n"),
    "vw": (b"1 | a b:2\n", b"-1 |n c\n"),
    "fasttext": (b"__label__x some words\n", b"__label__y\n"),
    "labelled-text": (b"x\tsome words\n", b"y\tother\n"),
}
BAD_SVMLIGHT = [
    (b"1 1:nan", 5, "expected a number as value, found 'nan'"),
    (b"1 1:NaN", 5, "expected a number as value, found 'NaN'"),
    (b"1 1:inf", 5, "expected a number as value, found 'inf'"),
    (b"1 1:-inf", 5, "expected a number as value, found '-inf'"),
    (b"1 1:Infinity", 5, "expected a number as value, found 'Infinity'"),
    (b"1 1:1e999", 5, "the value '1e999' is too large for a float"),
    (b"1 1:-1e999", 5, "the value '-1e999' is too large for a float"),
    (b"1 2:1e308 3:1e309", 13, "the value '1e309' is too large for a float"),
    (
        b"1 1:" + b"9" * 400,
        5,
        "the value '9999999999999999999999999999999999999...' is too large for a float",
    ),
    (b"nan 1:1", 1, "expected a number as label, found 'nan'"),
    (b"inf 1:1", 1, "expected a number as label, found 'inf'"),
    (b"1e999 1:1", 1, "the label '1e999' is too large: more than 2^53"),
    (b"9007199254740994 1:1", 1, "the label '9007199254740994' is too large: more than 2^53"),
    (b"-1e300 1:1", 1, "the label '-1e300' is too large: more than 2^53"),
    (b"0.5 1:1", 1, "the label '0.5' is a measurement, not a class"),
    (b"  0.5 1:1", 3, "the label '0.5' is a measurement, not a class"),
    (b"-1.25 1:1 2:1e999", 1, "the label '-1.25' is a measurement, not a class"),
    (b"1 -1:1", 3, "expected index:value, found '-1:1'"),
    (b"1 -1:-1", 3, "expected index:value, found '-1:-1'"),
    (b"1 a:1", 3, "expected index:value, found 'a:1'"),
    (b"1 1.5:1", 4, "expected a colon after the index, found '.5:1'"),
    (b"1 2147483647:1", 3, "the index '2147483647' is larger than 2147483646"),
    (b"1 99999999999999999999:1", 3, "the index '99999999999999999999' is larger than 2147483646"),
    (b"1 18446744073709551617:1", 3, "the index '18446744073709551617' is larger than 2147483646"),
    (b"1 1e3:1", 4, "expected a colon after the index, found 'e3:1'"),
    (b"1 1", 4, "expected a colon after the index, found the end of the line"),
    (b"1 1 2:1", 4, "expected a colon after the index, found a blank"),
    (b"1 1=2", 4, "expected a colon after the index, found '=2'"),
    (b"1 1;2", 4, "expected a colon after the index, found ';2'"),
    (b"1 1:1 7", 8, "expected a colon after the index, found the end of the line"),
    (b"1 1:", 5, "expected a number as value, found the end of the line"),
    (b"1 1: 2:1", 5, "expected a number as value, found a blank"),
    (b"1 1:1 2:", 9, "expected a number as value, found the end of the line"),
    (b"1 :1", 3, "expected index:value, found ':1'"),
    (b"1 1::1", 5, "expected a number as value, found ':1'"),
    (b"1 1:1:1", 5, "expected a number as value, found '1:1'"),
    (b"1 1:1 :", 7, "expected index:value, found ':'"),
    (b"1 1:\x00", 5, "expected a number as value, found a NUL byte"),
    (b"1 \x001:1", 3, "expected index:value, found a NUL byte"),
    (b"\x001 1:1", 1, "expected a number as label, found a NUL byte"),
    (b"1\x00 1:1", 2, "expected a blank after the label, found a NUL byte"),
    (b"1 1:1\x00", 5, "expected a number as value, found a NUL byte"),
    (b"1 2:1 1:1", 7, "the index '1' does not follow a smaller one: indices must ascend"),
    (b"1 2:1 2:1", 7, "the index '2' does not follow a smaller one: indices must ascend"),
    (b"1 5:1 6:1 5:1", 11, "the index '5' does not follow a smaller one: indices must ascend"),
    (b"1 qid: 1:1", 3, "expected qid:number, found 'qid:'"),
    (b"1 qid:a 1:1", 3, "expected qid:number, found 'qid:a'"),
    (b"1 qid:-1 1:1", 3, "expected qid:number, found 'qid:-1'"),
    (b"1 quid:1 1:1", 3, "expected qid:number, found 'quid:1'"),
    (b"1 qid:1x 1:1", 3, "expected qid:number, found 'qid:1x'"),
    (b"1 qid 1:1", 3, "expected qid:number, found 'qid'"),
    (b"1 1:1 qid:1", 7, "expected index:value, found 'qid:1'"),
    (b"1 qid:1.5 1:1", 3, "expected qid:number, found 'qid:1.5'"),
    (b"1 1:1x", 5, "expected a number as value, found '1x'"),
    (b"1 1:1,5", 5, "expected a number as value, found '1,5'"),
    (b"1 1:1_000", 5, "expected a number as value, found '1_000'"),
    (b"1 1:0x10", 5, "expected a number as value, found '0x10'"),
    (b"1 1:1e", 5, "expected a number as value, found '1e'"),
    (b"1 1:1e+", 5, "expected a number as value, found '1e+'"),
    (b"1 1:--1", 5, "expected a number as value, found '--1'"),
    (b"1 1:+-1", 5, "expected a number as value, found '+-1'"),
    (b"1 1:.", 5, "expected a number as value, found '.'"),
    (b"1 1:-", 5, "expected a number as value, found '-'"),
    (b"1 1:one", 5, "expected a number as value, found 'one'"),
    (b"1 1:1d5", 5, "expected a number as value, found '1d5'"),
    (b'1 1:"1"', 5, "expected a number as value, found '\"1\"'"),
    (b"1x 1:1", 2, "expected a blank after the label, found 'x'"),
    (
        b"1,2 1:1",
        2,
        "expected a blank after the label, found ',2' (several labels per row can only be learned"
        " in Python, from a list of sets)",
    ),
    (b"1_0 1:1", 2, "expected a blank after the label, found '_0'"),
    (
        b"1:1 2:1",
        2,
        "expected a blank after the label, found ':1' (every row begins with a label; to predict,"
        " it may be any number, such as 0)",
    ),
    (b"spam 1:1", 1, "expected a number as label, found 'spam'"),
    (b"qid:1 1:1", 1, "expected a number as label, found 'qid:1'"),
    (b"__label__1 1:1", 1, "expected a number as label, found '__label__1'"),
    (b"- 1:1", 1, "expected a number as label, found '-'"),
    (b".5.5 1:1", 3, "expected a blank after the label, found '.5'"),
    (b"\xff 1:1", 1, "expected a number as label, found '�'"),
    (b"1 1:\xff", 5, "expected a number as value, found '�'"),
    (b"\xc3\xa9 1:1", 1, "expected a number as label, found 'é'"),
    (b"1 1:1 \xc3\xa9:2", 7, "expected index:value, found 'é:2'"),
    (b"1 \xd9\xa1:1", 3, "expected index:value, found '١:1'"),
    (b"1 1:1 2;2 " + b"x" * 50, 8, "expected a colon after the index, found ';2'"),
    (
        b"1 " + b"y" * 100,
        3,
        "expected index:value, found 'yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy...'",
    ),
    (b"1\xc2\xa01:1", 2, "expected a blank after the label, found '\\xa01:1'"),
    (b"\xef\xbb\xbf1 1:1", 1, "expected a number as label, found '\\ufeff1'"),
]
BAD_VW = [
    (b"1", 2, "expected a bar | before the features, found the end of the line"),
    (b"1 a b", 3, "expected a number before the bar, found 'a'"),
    (b"1 2 3", 6, "expected a bar | before the features, found the end of the line"),
    (b"spam", 1, "expected a number before the bar, found 'spam'"),
    (b"-1 1.0 'tag", 12, "expected a bar | before the features, found the end of the line"),
    (b"one | a", 1, "expected a number before the bar, found 'one'"),
    (b"1x | a", 1, "expected a number before the bar, found '1x'"),
    (b"1 nan | a", 3, "expected a number before the bar, found 'nan'"),
    (b"nan | a", 1, "expected a number before the bar, found 'nan'"),
    (b"inf | a", 1, "expected a number before the bar, found 'inf'"),
    (b"1 inf | a", 3, "expected a number before the bar, found 'inf'"),
    (b"1 2 3 4 | a", 7, "expected label, importance and base before the bar, found also '4'"),
    (b"1 -1 | a", 3, "the importance '-1' is negative or too large"),
    (b"1 -0.5 | a", 3, "the importance '-0.5' is negative or too large"),
    (b"1 1e999 | a", 3, "the importance '1e999' is negative or too large"),
    (b"1e999 | a", 1, "the label '1e999' is too large: more than 2^53"),
    (b"0.5 | a", 1, "the label '0.5' is a measurement, not a class"),
    (b"\t0.5 2 'tag | a", 2, "the label '0.5' is a measurement, not a class"),
    (b"1e17 | a", 1, "the label '1e17' is too large: more than 2^53"),
    (b"1_0 | a", 1, "expected a number before the bar, found '1_0'"),
    (b"1,2 | a", 1, "expected a number before the bar, found '1,2'"),
    (b"0x1 | a", 1, "expected a number before the bar, found '0x1'"),
    (b"| a b", 1, "the example has no label"),
    (b"'tag | a", 1, "the example has no label"),
    (b"tag| a", 1, "the example has no label"),
    (b"1| a", 1, "the example has no label"),
    (b"1 | a:nan", 7, "expected a number as value, found 'nan'"),
    (b"1 | a:inf", 7, "expected a number as value, found 'inf'"),
    (b"1 | a:", 7, "expected a number as value, found the end of the line"),
    (b"1 | a: b", 7, "expected a number as value, found a blank"),
    (b"1 | a::1", 7, "expected a number as value, found ':1'"),
    (b"1 | a:1:2", 7, "expected a number as value, found '1:2'"),
    (b"1 | a:1x", 7, "expected a number as value, found '1x'"),
    (b"1 | a:x", 7, "expected a number as value, found 'x'"),
    (b"1 | a:1e", 7, "expected a number as value, found '1e'"),
    (b"1 | a:1_000", 7, "expected a number as value, found '1_000'"),
    (b"1 | a:1e999", 5, "the value of 'a:1e999' is too large for a float"),
    (b"1 | a:-1e999 b", 5, "the value of 'a:-1e999' is too large for a float"),
    (b"1 |n:1e300 a:1e300", 12, "the value of 'a:1e300' is too large for a float"),
    (b"1 |n:1e999 a", 12, "the value of 'a' is too large for a float"),
    (b"1 |n:1e999 a:0", 12, "the value of 'a:0' is too large for a float"),
    (b"1 |n:x a", 6, "expected a number as value, found 'x'"),
    (b"1 |n: a", 6, "expected a number as value, found a blank"),
    (b"1 |n:nan a", 6, "expected a number as value, found 'nan'"),
    (b"1 |n::2 a", 6, "expected a number as value, found ':2'"),
    (b"1 | a |n:x b", 10, "expected a number as value, found 'x'"),
    (b"1 | a\tb:\x00", 9, "expected a number as value, found a NUL byte"),
    (b"1 | a:1\x00", 7, "expected a number as value, found a NUL byte"),
    (b"1\x00 | a", 1, "expected a number before the bar, found a NUL byte"),
    (b"\xff | a", 1, "expected a number before the bar, found '�'"),
    (b"1 | a:\xff", 7, "expected a number as value, found '�'"),
    (b"1 | \xc3\xa9 b:\xc3\xa9", 9, "expected a number as value, found 'é'"),
    (b"1 2.5.5 | a", 3, "expected a number before the bar, found '2.5.5'"),
]
BAD_FASTTEXT = [
    (b"words only", 1, "expected a label such as __label__spam, found 'words'"),
    (b"label__x words", 1, "expected a label such as __label__spam, found 'label__x'"),
    (b"__label_x words", 1, "expected a label such as __label__spam, found '__label_x'"),
    (b"__Label__x words", 1, "expected a label such as __label__spam, found '__Label__x'"),
    (b" __label__x words", 1, "expected a label such as __label__spam, found a blank"),
    (b"__label__", 1, "nothing follows __label__"),
    (b"__label__ words", 1, "nothing follows __label__"),
    (b"__label__\twords", 1, "nothing follows __label__"),
    (b"__label__x __label__y words", 12, "a second label, '__label__y': an example has only one"),
    (b"__label__x\t__label__y", 12, "a second label, '__label__y': an example has only one"),
    (b"words __label__y", 1, "expected a label such as __label__spam, found 'words'"),
    (
        b"__label__x caf\xe9 au lait",
        15,
        "byte 0xe9 is not UTF-8; give the encoding (latin-1, perhaps)",
    ),
    (b"__label__\xff words", 10, "byte 0xff is not UTF-8; give the encoding (latin-1, perhaps)"),
    (b"__label__x a\x00b", 13, "found a NUL byte"),
    (b"\x00", 1, "expected a label such as __label__spam, found a NUL byte"),
    (b"caf\xe9", 1, "expected a label such as __label__spam, found 'caf�'"),
    (b"\xc3\xa9t\xc3\xa9 __label__x", 1, "expected a label such as __label__spam, found 'été'"),
    (
        b"__label__x \xed\xa0\x80",
        12,
        "byte 0xed is not UTF-8; give the encoding (latin-1, perhaps)",
    ),
    (b"__label__x \xc0\xaf", 12, "byte 0xc0 is not UTF-8; give the encoding (latin-1, perhaps)"),
    (b" ", 1, "expected a label such as __label__spam, found a blank"),
    (
        b"w" * 100,
        1,
        "expected a label such as __label__spam, found 'wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww...'",
    ),
]
BAD_LABELLED_TEXT = [
    (b"no tab here", 1, "expected label, tab and text, found no tab"),
    (b"x", 1, "expected label, tab and text, found no tab"),
    (b"\ttext", 1, "expected a label before the tab, found a blank"),
    (b"\t", 1, "expected a label before the tab, found a blank"),
    (b"x\tcaf\xe9", 6, "byte 0xe9 is not UTF-8; give the encoding (latin-1, perhaps)"),
    (b"\xff\ttext", 1, "byte 0xff is not UTF-8; give the encoding (latin-1, perhaps)"),
    (b"x\ta\x00b", 4, "found a NUL byte"),
    (b"x\x00\tb", 2, "found a NUL byte"),
    (b"caf\xe9 no tab", 1, "expected label, tab and text, found no tab"),
    (b"  ", 1, "expected label, tab and text, found no tab"),
    (b"__label__x words", 1, "expected label, tab and text, found no tab"),
    (b"x\t\xe9 \xff", 3, "byte 0xe9 is not UTF-8; give the encoding (latin-1, perhaps)"),
    (b"x\t\xf4\x90\x80\x80", 3, "byte 0xf4 is not UTF-8; give the encoding (latin-1, perhaps)"),
    (b"x\tcut \xe2\x82", 7, "byte 0xe2 is not UTF-8; give the encoding (latin-1, perhaps)"),
]
BAD_LINES = [
    *(("svmlight", *case) for case in BAD_SVMLIGHT),
    *(("vw", *case) for case in BAD_VW),
    *(("fasttext", *case) for case in BAD_FASTTEXT),
    *(("labelled-text", *case) for case in BAD_LABELLED_TEXT),
]


@pytest.mark.parametrize(("format", "bad", "column", "message"), BAD_LINES)
def test_a_bad_line_is_one_clear_error_or_skipped(format, bad, column, message, tmp_path):
    first, second = GOOD[format]
    path = tmp_path / "f"
    path.write_bytes(first + second)
    good, _ = examples_of(path, format=format)
    assert [line for line, *_ in good] == [1, 2]

    path.write_bytes(first + bad + b"\n" + second)
    with pytest.raises(DataError) as error:
        examples_of(path, format=format)
    assert str(error.value) == f"{path}:2:{column}: {message}"
    found, files = examples_of(path, format=format, skip_bad=1)
    assert [line for line, *_ in found] == [1, 3]
    assert [rest for _, *rest in found] == [rest for _, *rest in good]
    assert len(files.skipped.lines) == 1

    path.write_bytes(first + bad + b"\n" + second + bad + b"\r\n" + first)
    for block in (1, 9, 1 << 20):
        with pytest.raises(DataError) as error:
            examples_of(path, format=format, skip_bad=1, block=block)
        assert str(error.value) == f"{path}:4:{column}: {message} (1 bad line skipped before)"
    found, _ = examples_of(path, format=format, skip_bad=2)
    assert [line for line, *_ in found] == [1, 3, 5]

    path.write_bytes(first + bad)  # without a line end
    with pytest.raises(DataError) as error:
        examples_of(path, format=format)
    assert str(error.value) == f"{path}:2:{column}: {message}"


@pytest.mark.parametrize(
    ("format", "line", "message"),
    [
        ("svmlight", b"1 1:3.4028236e38", "5: the value '3.4028236e38' is too large for a float"),
        ("svmlight", b"1 1:-1e39", "5: the value '-1e39' is too large for a float"),
        ("svmlight", b"1 1:1e300", "5: the value '1e300' is too large for a float"),
        ("svmlight", b"1 1:" + b"7" * 41, f"5: the value '{'7' * 37}...' is too large for a float"),
        ("vw", b"1 | a:1e39", "5: the value of 'a:1e39' is too large for a float"),
        ("vw", b"1 |n:1e20 a:1e20", "11: the value of 'a:1e20' is too large for a float"),
    ],
)
def test_what_only_a_double_can_hold_is_too_large_for_float32(format, line, message, tmp_path):
    path = tmp_path / "f"
    path.write_bytes(line)
    with pytest.raises(DataError) as error:
        examples_of(path, format=format, dtype=np.float32)
    assert str(error.value) == f"{path}:1:{message}"
    assert len(examples_of(path, format=format)[0]) == 1


def test_the_first_bad_line_is_told_whatever_is_wrong_with_it(tmp_path):
    path = tmp_path / "f.svm"
    kinds = [b"0.5 1:1", b"1 1:1e999", b"1 x", b"1e30 1:1", b"1 2:1 1:1"]
    for turn in range(len(kinds)):
        lines = kinds[turn:] + kinds[:turn]
        path.write_bytes(b"\n".join(lines))
        for skip in range(len(kinds)):
            with pytest.raises(DataError, match=rf":{skip + 1}:\d+: "):
                examples_of(path, skip_bad=skip)
        assert examples_of(path, skip_bad=len(kinds))[0] == []


def test_a_file_of_measurements_is_one_error(tmp_path):
    path = tmp_path / "f.svm"
    path.write_text("".join(f"{i}.5 1:1\n" for i in range(5000)))
    with pytest.raises(DataError, match=r"f.svm:1:1: the label '0.5' is a measurement"):
        examples_of(path)
    with pytest.raises(DataError, match=r"f.svm:4001:1: the label '4000.5' is a measurement"):
        examples_of(path, skip_bad=4000)


@pytest.mark.parametrize("format", ["svmlight", "vw", "fasttext"])
def test_interpreted_as_compiled(format, tmp_path):
    first, second = GOOD[format]
    bad = {"svmlight": b"1 1:1e999\n", "vw": b"0.5 | a:1e-310\n", "fasttext": b"x\n"}[format]
    path = tmp_path / "f"
    path.write_bytes(first + bad + second)
    found, _ = examples_of(path, format=format, skip_bad=1)
    script = (
        "from plain_examples import examples_of\n"
        f"print(examples_of({str(path)!r}, format={format!r}, skip_bad=1)[0])"
    )
    assert told_interpreted(script).strip() == repr(found)


# Whole files -------------------------------------------------------------------------------------


def zstd(content):
    return pa.compress(content, "zstd", asbytes=True)


COMPRESSIONS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstd}
LINES = b"".join(b"%d 1:%d 3:0.5\n" % (i % 2, i) for i in range(3000))


@pytest.mark.parametrize("ending", COMPRESSIONS)
def test_damaged_compressed_files(ending, tmp_path):
    whole = COMPRESSIONS[ending](LINES)
    path = tmp_path / f"f.svm.{ending}"
    cut = [whole[:-1], whole[: len(whole) // 2], whole[:20]]
    middle = len(whole) // 2
    altered = [whole[:middle] + b"\xff\0\xff\0\xff\0\xff\0" + whole[middle + 8 :]]
    for damaged in cut + altered * (ending != "zst"):  # which need not have a checksum
        path.write_bytes(damaged)
        with pytest.raises(DataError, match=r"f\.svm\.\w+: the compressed data are damaged or cut"):
            examples_of(path)
    path.write_bytes(whole)
    assert len(examples_of(path)[0]) == 3000


@pytest.mark.parametrize(
    ("files", "patterns", "message"),
    [
        ({}, "a.svm", "a.svm: No such file or directory"),
        ({}, "*.svm", "*.svm: no file matches"),
        ({"a.svm": b"1 1:1\n"}, ["a.svm", "b*"], "b*: no file matches"),
        ({}, [3], "expected the name of a file, or a list of names, found int"),
        ({}, [], "no file was given"),
        ({"d/a.svm": b"1 1:1\n"}, "d", "d: is a folder, not a file"),
        ({"d.svm/a.svm": b"1 1:1\n"}, "*.svm", "d.svm: is a folder, not a file"),
        ({"a.svm": b"1 1:1\n", "b.vw": b"1 | a\n"}, ["a.svm", "b.vw"],
         "files of different formats cannot be read together: a.svm is svmlight, b.vw is vw"),
        ({"a": b"1 1:1\n", "b": b"1 | a\n"}, ["a", "b"],
         "files of different formats cannot be read together: a is svmlight, b is vw"),
        ({"a": b"one two\nthree\n"}, "a",
         "a: cannot tell its format from its first lines; give the format (--format), one of"
         " svmlight, vw, csv, tsv, parquet, jsonl, fasttext, labelled-text"),
        ({"a.svm": b""}, "a.svm", "a.svm: there are no examples"),
        ({"a.svm": b"", "b.svm": b"\n"}, ["a.svm", "b.svm"], "a.svm, b.svm: there are no examples"),
        ({"a": b""}, "a", "a: there are no examples"),
        ({"a": b"", "b": b""}, ["a", "b"], "a, b: there are no examples"),
        ({"a.svm": b"\xef\xbb\xbf"}, "a.svm", "a.svm: there are no examples"),
        ({"a.svm": b"# one\n  # two\n\n\r\n \t\n"}, "a.svm", "a.svm: there are no examples"),
        ({"a.vw": b"\n \n\t\r\n"}, "a.vw", "a.vw: there are no examples"),
        ({"a.ft": b"\n\r\n"}, "a.ft", "a.ft: there are no examples"),
        ({"a.svm": "1 1:1\n".encode("utf-16")}, "a.svm",
         "a.svm: is UTF-16; give the encoding (--encoding utf-16), or convert the file"),
        ({"a.ft": "\ufeff__label__x a\n".encode("utf-16-be")}, "a.ft",
         "a.ft: is UTF-16; give the encoding (--encoding utf-16), or convert the file"),
        ({"a.vw.gz": gzip.compress("1 | a\n".encode("utf-16"))}, "a.vw.gz",
         "a.vw.gz: is UTF-16; give the encoding (--encoding utf-16), or convert the file"),
        ({"a.svm": "1 1:1\n".encode("utf-16-le")}, "a.svm",
         "a.svm:1:2: expected a blank after the label, found a NUL byte"),
        ({"a.svm": b"1 1:1\n", "b.svm": b"1 1:1\n1 a\n"}, ["a.svm", "b.svm"],
         "b.svm:2:3: expected index:value, found 'a'"),
        ({"a.svm": b"1 5:1\n2 0:1\n"}, "a.svm", None),
        ({"a.text": b"1 5:1\n", "b.svm": b""}, ["a.text", "b.svm"], None),
        ({"a": b"1 | b\n2 | a\n", "b": b""}, ["b", "a"], None),
    ],
)  # fmt: skip
def test_files_that_cannot_be_read(files, patterns, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    if message is None:
        read(patterns)
        return
    with pytest.raises(DataError) as error:
        read(patterns)
    assert str(error.value) == message


def test_a_file_without_permission(tmp_path, monkeypatch):
    path = tmp_path / "f.svm"
    path.write_bytes(b"1 1:1\n")
    monkeypatch.setattr(os, "access", lambda path, how: False)
    with pytest.raises(DataError, match="Permission denied"):
        find_files(path)


def test_patterns_stand_for_sorted_files_and_names_for_themselves(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("b.svm", "a.svm", "c[1].svm", "d.vw"):
        (tmp_path / name).write_bytes(b"1 1:1\n")
    assert find_files("[ab].svm") == ["a.svm", "b.svm"]
    assert find_files(["b.svm", "*.svm"]) == ["b.svm", "a.svm", "b.svm", "c[1].svm"]
    assert find_files("c[1].svm") == ["c[1].svm"]
    assert find_files(tmp_path / "d.vw") == [str(tmp_path / "d.vw")]


# Laws --------------------------------------------------------------------------------------------

NUMBERS = ("0", "1", "-2", "+3", "0.5", "1.", ".25", "-1e-3", "1E+2", "0.1000000000000000055511151",
           "1e-310", "123456789012345678", "-0.0", "9" * 30)  # fmt: skip
BLANKS = st.sampled_from([" ", "  ", "\t", " \t"])
LABELS = st.sampled_from(["1", "-1", "+1", "2", "3.0", "1e1", "0"])
WORDS = st.text("abcé中^-_.", min_size=1, max_size=6)


@st.composite
def svmlight_lines(draw):
    if draw(st.integers(0, 5)) == 0:
        return draw(st.sampled_from(["", " ", "\t ", "# a comment: 1:2", "  #"]))
    indices = draw(st.lists(st.integers(0, 30), unique=True, max_size=5).map(sorted))
    words = [draw(LABELS)] + ["qid:7"] * draw(st.booleans())
    words += [f"{index}:{draw(st.sampled_from(NUMBERS))}" for index in indices]
    line = draw(BLANKS).join(words) + draw(st.sampled_from(["", " ", "\t", " # c 5:", "#9:9"]))
    return draw(st.sampled_from(["", " "])) + line


def naive_svmlight(line):
    label, *words = line.partition("#")[0].split() or [None]
    if label is None:
        return None
    pairs = [word.split(":") for word in words if not word.startswith("qid:")]
    return int(float(label)), 1.0, [(int(index), float(value)) for index, value in pairs]


@st.composite
def vw_lines(draw):
    if draw(st.integers(0, 5)) == 0:
        return draw(st.sampled_from(["", " ", " \t"]))
    line = draw(BLANKS).join(
        [draw(LABELS), *draw(st.sampled_from([(), ("2",), ("0.5", "1"), ("0",), ("1e-310",)]))]
    )
    line += draw(st.sampled_from([" ", "  ", " tag", " 'tag", " 'tag "]))
    for _ in range(draw(st.integers(1, 3))):
        line += "|" + draw(st.sampled_from(["", "n", "name", "n:2", "n:.5", "é:1e-310"]))
        for name in draw(st.lists(WORDS, max_size=3)):
            value = draw(st.sampled_from(["", *(f":{number}" for number in NUMBERS)]))
            line += draw(BLANKS) + name + value
        line += draw(st.sampled_from(["", " "]))
    return line


def naive_vw(line):
    if not line.strip():
        return None
    head, *spaces = line.split("|")
    words = head.split()
    if words and (not head[-1].isspace() or words[-1].startswith("'")):
        words.pop()
    features = []
    for space in spaces:
        names = space.split()
        namespace, factor = "", 1.0
        if not space[:1].isspace() and names:
            namespace, _, factor = names.pop(0).partition(":")
        for name in names:
            name, _, value = name.partition(":")
            features.append(((namespace, name), float(value or 1) * float(factor or 1)))
    numbers = [float(word) for word in words]
    return int(numbers[0]) if numbers else None, (numbers[1:2] or [1.0])[0], features


def naive_fasttext(line):
    if not line:
        return None
    label = line.removeprefix("__label__").replace("\t", " ").partition(" ")[0]
    return label, 1.0, line[len("__label__" + label) :]


def naive_labelled(line):
    if not line:
        return None
    label, _, text = line.partition("\t")
    return label, 1.0, "\t" + text


TEXTS = st.text("ab cé中🙂.\t#|:", max_size=20)
FORMS = {
    "svmlight": (svmlight_lines(), naive_svmlight),
    "vw": (vw_lines(), naive_vw),
    "fasttext": (st.one_of(st.just(""), st.builds("__label__{} {}".format, WORDS, TEXTS),
                           st.builds("__label__{}".format, WORDS)), naive_fasttext),
    "labelled-text": (st.one_of(st.just(""), st.builds("{}\t{}".format, WORDS, TEXTS)),
                      naive_labelled),
}  # fmt: skip


def naive_examples(content, naive):
    """All that some bytes hold, line by line."""
    lines = content.decode().removeprefix("\ufeff").split("\n")
    found = enumerate((naive(line.removesuffix("\r")) for line in lines), 1)
    return [(number, *example) for number, example in found if example is not None]


@st.composite
def contents(draw, lines, marks=True):
    """Lines as a file has them: with a mark, of either line end, with or without the last one."""
    rows = draw(st.lists(lines, max_size=8))
    ends = draw(st.sampled_from(["\n", "\r\n"]))
    text = ends.join(rows) + ends * draw(st.booleans())
    return (b"\xef\xbb\xbf" * (marks and draw(st.booleans()))) + text.encode()


each_format = pytest.mark.parametrize("format", FORMS)


@each_format
@tries(30)
@given(st.data())
def test_however_a_file_is_cut_its_examples_are_those_of_the_naive_reader(format, tmp_path, data):
    lines, naive = FORMS[format]
    content = data.draw(contents(lines))
    path = tmp_path / "f"
    path.write_bytes(content)
    expected = naive_examples(content, naive)
    for block in (data.draw(st.integers(1, 12)), data.draw(st.integers(13, 100)), 1 << 22):
        threads = data.draw(st.sampled_from([1, 2]))
        assert examples_of(path, format=format, block=block, threads=threads)[0] == expected


@each_format
@tries(8)
@given(st.data())
def test_plain_compressed_and_piped_are_the_same(format, tmp_path, data):
    lines, naive = FORMS[format]
    content = data.draw(contents(lines))
    expected = naive_examples(content, naive)
    block, threads = data.draw(st.integers(1, 60)), data.draw(st.sampled_from([1, 2]))
    how = {"format": format, "block": block, "threads": threads}
    for ending, compress in COMPRESSIONS.items():
        path = tmp_path / f"f.{ending}"
        path.write_bytes(compress(content))
        assert examples_of(path, **how)[0] == expected
    for piped in (content, gzip.compress(content), zstd(content)):
        for live in (False, True):
            with pytest.MonkeyPatch.context() as patch:
                stdin = SimpleNamespace(buffer=io.BufferedReader(io.BytesIO(piped)))
                patch.setattr(sys, "stdin", stdin)
                assert examples_of("-", live=live, **how)[0] == expected


@each_format
@tries(8)
@given(st.data())
def test_many_files_are_one_after_the_other(format, tmp_path, data):
    lines, naive = FORMS[format]
    files = data.draw(st.lists(contents(lines), min_size=1, max_size=4))
    paths = []
    for i, content in enumerate(files):
        paths.append(tmp_path / (f"{i}.gz" if i % 2 else f"{i}"))
        paths[-1].write_bytes(gzip.compress(content) if i % 2 else content)
    expected = [example for content in files for example in naive_examples(content, naive)]
    block, threads = data.draw(st.integers(1, 60)), data.draw(st.sampled_from([1, 2]))
    assert examples_of(paths, format=format, block=block, threads=threads)[0] == expected


@each_format
@tries(10)
@given(st.data())
def test_bad_lines_are_found_by_their_number_in_any_order_of_ranges(format, tmp_path, data):
    lines, naive = FORMS[format]
    content = data.draw(contents(lines.filter(str.strip), marks=False))
    content += b"" if content.endswith(b"\n") or not content else b"\n"
    rows = content.splitlines(keepends=True)
    bad = data.draw(st.integers(0, len(rows)))
    wrong = {"svmlight": b"1 x\n", "vw": b"x\n", "fasttext": b"x\n", "labelled-text": b"x\n"}
    text = b"".join([*rows[:bad], wrong[format], *rows[bad:]])
    path = tmp_path / "f"
    path.write_bytes(text)
    size = data.draw(st.integers(1, 40))
    ranges = data.draw(st.permutations(ranges_of(str(path), size)))
    threads = data.draw(st.sampled_from([1, 2]))
    with pytest.raises(DataError, match=rf"/f:{bad + 1}:\d+: "):
        list(Files(path, ReadOptions(format=format, threads=threads)).read(ranges))
    files = Files(path, ReadOptions(format=format, threads=threads, skip_bad=1))
    found = [example for chunk in files.read(ranges) for example in plain(chunk)]
    expected = naive_examples(content, naive)
    assert sorted(map(repr, (x for _, *x in found))) == sorted(map(repr, (x for _, *x in expected)))
    assert len(files.skipped.lines) == 1


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("format", ["svmlight", "vw", "fasttext", "labelled-text"])
def test_chunks_that_are_kept_do_not_change_while_others_are_read(format, threads, tmp_path):
    written = {
        "svmlight": "{0} {1}:{0}.5",
        "vw": "{0} | a{1}:{0}.5",
        "fasttext": "__label__{0} w{1}",
    }
    line = written.get(format, "{0}\tword{1}")
    path = tmp_path / "f"
    path.write_text("".join(line.format(k % 3, k + 1) + "\n" for k in range(200)))
    options = ReadOptions(format=format, threads=threads, block=64)
    at_once = [example for chunk in Files(path, options).chunks() for example in plain(chunk)]
    kept = list(Files(path, options).chunks())
    assert len(kept) > 20
    assert [example for chunk in kept for example in plain(chunk)] == at_once


@pytest.mark.parametrize("digits", [1, 7, 8, 9, 10])
def test_indices_of_any_length_at_the_end_of_a_file_or_before_it(digits, tmp_path):
    index = int("1234567890"[:digits])
    line = f"1 {index}:2.5\n"
    (tmp_path / "f.svm").write_text(line * 3)
    rows = next(Files(tmp_path / "f.svm").chunks()).raw.rows
    assert rows.stored.indices.tolist() == [index] * 3
    assert rows.stored.values.tolist() == [2.5] * 3


def test_ranges_of_several_files_are_not_taken_for_one(tmp_path):
    a, b = tmp_path / "a.svm", tmp_path / "b.svm"
    assert a.write_bytes(b"1 1:1 2:1 3:1 4:1 55:12\n") == 24
    b.write_bytes(b"1 1:1\n" * 6 + b"1 x\n")
    parts = [Range(str(a), 0, 24), Range(str(b), 24, 40), Range(str(b), 0, 24)]
    with pytest.raises(DataError, match=r"b.svm:7:3: "):
        list(Files([a, b]).read(parts))


@given(st.binary(max_size=60).map(lambda b: bytes(b"\nxy"[c % 3] for c in b)), st.integers(1, 9))
def test_ranges_hold_every_line_once_and_know_its_number(tmp_path, content, size):
    path = tmp_path / "f"
    path.write_bytes(content)
    lines = content.split(b"\n")
    expected = lines if lines[-1] else lines[:-1]
    found = []
    for one in ranges_of(str(path), size):
        text = one.load().tobytes()
        assert not text or text.endswith(b"\n")
        if text:
            assert one.first_line() == len(found) + 1
        found += text.split(b"\n")[:-1]
    assert found == expected


@tries(20)
@given(contents(svmlight_lines(), marks=False))
def test_svmlight_as_scikit_learn_reads_it(tmp_path, content):
    path = tmp_path / "f.svm"
    path.write_bytes(content + b"\n2 7:1\n")
    expected, labels = load_svmlight_file(str(path), zero_based="auto")
    X, y = read(path)
    assert X.shape == expected.shape
    np.testing.assert_array_equal(X.toarray(), expected.toarray())
    np.testing.assert_array_equal(y, labels)
    X, _ = read(path, zero_based=True)
    expected, _ = load_svmlight_file(str(path), zero_based=True)
    np.testing.assert_array_equal(X.toarray(), expected.toarray())


@tries(20)
@given(contents(svmlight_lines()))
def test_float32_is_the_double_rounded(tmp_path, content):
    path = tmp_path / "f.svm"
    path.write_bytes(content + b"\n2 7:1 8:3.4028235e38 9:1e-45 10:16777217 11:1e-320\n")
    X, _ = read(path)
    Y, _ = read(path, dtype=np.float32)
    assert Y.dtype == np.float32
    np.testing.assert_array_equal(Y.data, X.data.astype(np.float32))
    np.testing.assert_array_equal(Y.indices, X.indices)


def test_lines_longer_than_a_block_and_than_what_is_read_beyond_it(tmp_path):
    long = "1 " + " ".join(f"{i}:{i}" for i in range(40_000))
    content = f"2 1:1\n{long}\n3 2:2\n{long}".encode()
    path = tmp_path / "f.svm"
    path.write_bytes(content)
    expected = naive_examples(content, naive_svmlight)
    for block in (1000, 200_000):
        assert examples_of(path, block=block)[0] == expected
    path.write_bytes(gzip.compress(content))
    assert examples_of(path, block=5000)[0] == expected


# Indices -----------------------------------------------------------------------------------------


def test_the_first_index_is_0_if_it_occurs_anywhere_and_else_1(tmp_path):
    path, other = tmp_path / "a.svm", tmp_path / "b.svm"
    path.write_bytes(b"1 1:1 9:2\n")
    other.write_bytes(b"1 0:1 2:1\n")
    assert read(path)[0].shape == (1, 9)
    assert read(path, zero_based=True)[0].shape == (1, 10)
    X, _ = read([path, other])
    assert X.toarray().tolist() == [[0, 1, 0, 0, 0, 0, 0, 0, 0, 2], [1, 0, 1, 0, 0, 0, 0, 0, 0, 0]]
    with pytest.raises(DataError, match="found index 0, but indices seemed to start at 1"):
        read(other, zero_based=False)


def test_an_encoder_of_numbers_looks_at_all_it_observes(tmp_path):
    path = tmp_path / "a.svm"
    path.write_bytes(b"1 1:1 9:2\n1 0:1\n")
    first, second = [chunk.raw for chunk in Files(path, ReadOptions(block=10)).chunks()]
    encoder = NumbersEncoder()
    encoder.observe(first)
    assert (encoder.first, encoder.width) == (1, 9)
    encoder.observe(second)
    assert (encoder.first, encoder.width) == (0, 10)
    assert encoder.encode(first, 0.0).to_matrix().toarray()[0].tolist() == [0, 1, *[0] * 7, 2]
    narrow = NumbersEncoder.restore({"first": 0, "width": 5}, {})
    rows = narrow.encode(first, 1.0)
    assert (rows.width, rows.bias) == (5, 1.0)
    assert rows.to_matrix().toarray().tolist() == [[0, 1, 0, 0, 0]]


# Vowpal Wabbit -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "label", "weight", "features"),
    [
        ("1 | a", 1, 1.0, [(("", "a"), 1.0)]),
        ("-1 2.5 |n a b:3", -1, 2.5, [(("n", "a"), 1.0), (("n", "b"), 3.0)]),
        ("1 0.5 0.25 'tag |n a", 1, 0.5, [(("n", "a"), 1.0)]),
        ("1 tag|n a", 1, 1.0, [(("n", "a"), 1.0)]),
        ("1 2 'the_tag |n a", 1, 2.0, [(("n", "a"), 1.0)]),
        ("1 2 'the_tag|n a", 1, 2.0, [(("n", "a"), 1.0)]),
        ("2|n a", None, 1.0, [(("n", "a"), 1.0)]),
        ("|n a", None, 1.0, [(("n", "a"), 1.0)]),
        ("'tag |n a", None, 1.0, [(("n", "a"), 1.0)]),
        ("1 |n:2 a b:3 |m:0.5 c:4 | d", 1, 1.0,
         [(("n", "a"), 2.0), (("n", "b"), 6.0), (("m", "c"), 2.0), (("", "d"), 1.0)]),
        ("1 |n 12:0.5 7", 1, 1.0, [(("n", "12"), 0.5), (("n", "7"), 1.0)]),
        ("1 | price:-.5e1 a|n b", 1, 1.0,
         [(("", "price"), -5.0), (("", "a"), 1.0), (("n", "b"), 1.0)]),
        ("1 |n", 1, 1.0, []),
        ("1 |", 1, 1.0, []),
        ("3 ||n a", 3, 1.0, [(("n", "a"), 1.0)]),
        ("1 | a\rb\rc\rd\re\rf\rg\rh", 1, 1.0, [(("", name), 1.0) for name in "abcdefgh"]),
    ],
)  # fmt: skip
def test_what_a_line_of_vw_says(line, label, weight, features, tmp_path):
    path = tmp_path / "f.vw"
    path.write_bytes(line.encode() + b"\n-1 | z\n")
    found, _ = examples_of(path, table=TableOptions(need_label=False))
    assert found == [(1, label, weight, features), (2, -1, 1.0, [(("", "z"), 1.0)])]


def test_numbers_that_python_must_read_in_vw(tmp_path):
    numbers = ["1e-310", "0." + "1" * 30, "5e-324", "3" * 25]
    lines = [
        f"{'0' * 30}1{'0' * 20}e-20 1.{'0' * 25}5 |n:{numbers[0]} a:{numbers[3]} b",
        "-1 | a:" + " b:".join(numbers),
        f"1 |n:{numbers[1]} a:{numbers[1]} b:{numbers[2]} |m x:{numbers[3]}",
    ]
    content = "\n".join(lines).encode()
    path = tmp_path / "f.vw"
    path.write_bytes(content)
    for block in (5, 1 << 20):
        assert examples_of(path, block=block)[0] == naive_examples(content, naive_vw)


def vw_encoded(path, encoder, **options):
    """The columns of the features of every example, as the encoder makes them."""
    found = []
    for chunk in Files(path, ReadOptions(**options)).chunks():
        rows = encoder.encode(chunk.raw, 0.0, note=True)
        starts = rows.stored.starts.tolist()
        columns = rows.stored.indices.tolist()
        found += [columns[a:b] for a, b in pairwise(starts)]
    return found


def test_a_name_in_a_namespace_has_one_column_in_every_file_and_its_name_is_known(tmp_path):
    a, b = tmp_path / "a.vw", tmp_path / "b.vw"
    a.write_text("1 |user x y |item x\n-1 | x café:2\n")
    b.write_text("1 |item y x:3\n1 | café\n-1 |user y\n")
    encoder = HashedEncoder(bits=20)
    (ux, uy, ix), (x, cafe) = vw_encoded(a, encoder)
    assert len({ux, uy, ix, x, cafe}) == 5
    assert encoder.feature_name(ix) == "item^x"
    for block in (4, 1 << 20):
        (iy, again), *rest = vw_encoded(b, encoder, block=block)
        assert (again, rest) == (ix, [[cafe], [uy]])
    named = {ux: "user^x", uy: "user^y", ix: "item^x", x: "x", cafe: "café", iy: "item^y"}
    assert {column: encoder.feature_name(column) for column in named} == named
    strange = next(c for c in range(100) if c not in named)
    assert encoder.feature_name(strange) == f"#{strange}"
    assert [encoder.names.get(c) for c in (ux, cafe)] == ["user^x", "café"]
    assert len(encoder.names) == 6
    assert HashedEncoder(bits=20, names=0).feature_name(ux) == f"#{ux}"


def test_names_that_share_a_column_say_so(tmp_path):
    path = tmp_path / "f.vw"
    path.write_text("".join(f"1 |n name{i}\n" for i in range(64)))
    encoder = HashedEncoder(bits=4)
    columns = [column for (column,) in vw_encoded(path, encoder)]
    assert set(columns) <= set(range(16))
    for column in set(columns):
        names = [f"n^name{i}" for i in range(64) if columns[i] == column]
        shared = "~" * (len(names) > 1)
        assert encoder.feature_name(column) == shared + names[0]
    assert encoder.names.collisions == sum(columns.count(c) > 1 for c in set(columns))


# Formats -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "head", "format"),
    [
        ("a.svm", b"", "svmlight"),
        ("a.libsvm.gz", b"", "svmlight"),
        ("A.SVMLIGHT", b"", "svmlight"),
        ("mnist.scale.bz2", b"", "svmlight"),
        ("a.vw.xz", b"", "vw"),
        ("a.csv.zst", b"", "csv"),
        ("a.b.tsv", b"", "tsv"),
        ("a.parquet", b"", "parquet"),
        ("a.pq", b"", "parquet"),
        ("a.jsonl", b"", "jsonl"),
        ("a.ndjson", b"", "jsonl"),
        ("a.ft", b"", "fasttext"),
        ("a.fasttext", b"1 | a", "fasttext"),
        ("x.csv/a", b"1 1:1\n", "svmlight"),
        ("a", b"", "svmlight"),
        ("a", b"+1 3:0.5 7:1\n-1 2:1\n", "svmlight"),
        ("a.txt", b"1\n2 1:1\n", "svmlight"),
        ("a.dat", b"# made by hand\n\n1 qid:3 1:2 # x\n", "svmlight"),
        ("a", b"\xef\xbb\xbf1 1:1\r\n", "svmlight"),
        ("a", b"1 1:1\n2 1:1 3:", "svmlight"),
        ("a", b"1 " + b" ".join(b"%d:1" % i for i in range(9000)), "svmlight"),
        ("a", (b"1 " + b" ".join(b"%d:1" % i for i in range(9000)))[:8191], "svmlight"),
        ("a", (b"1 " + b" ".join(b"%d:1" % i for i in range(9000)))[:8192], "svmlight"),
        ("a", (b"1 " + b" ".join(b"%d:1" % i for i in range(9000)))[:8193], "svmlight"),
        ("a", b"1 |n a b\n", "vw"),
        ("a", b"1 2 'tag|n a\n| b\n", "vw"),
        ("a", b"|n a 3:4\n", "vw"),
        ("a", b"__label__x some words\n__label__y\n", "fasttext"),
        ("a", b"x\tsome words\ny\tother\n", "labelled-text"),
        ("a", b"a\tb\n1\t2\n", "tsv"),
        ("a", b"a\tb\tc\n1\t2\tx y\n", "tsv"),
        ("a", b"a,b\n1,2\n", "csv"),
        ("a", b'{"a": 1}\n{"a": 2}\n', "jsonl"),
        ("a", b"PAR1\x15", "parquet"),
    ],
)
def test_the_format_is_known_from_the_name_or_the_first_lines(name, head, format):
    assert format_of(name, head) == format


def test_formats_that_do_not_do():
    assert format_of("a", b"some words\n", ("fasttext", "labelled-text", "text")) == "text"
    with pytest.raises(DataError, match=r"a.csv: is csv, where svmlight is needed"):
        format_of("a.csv", b"1,2\n", ("svmlight",))
    with pytest.raises(DataError, match=r"a.csv: no examples found"):
        format_of("a.csv", b"", ("svmlight",))
    with pytest.raises(DataError, match="cannot tell its format"):
        format_of("a", b"some words\nmore words\n")
    with pytest.raises(ValueError, match="format='svm' is unknown; did you mean 'svmlight'"):
        ReadOptions(format="svm")


def test_a_model_of_one_format_reads_it_whatever_the_first_lines_look_like():
    assert format_of("-", b"? 1:1\n? 2:1\n", ("svmlight",)) == "svmlight"


@pytest.mark.parametrize("block", [1, 1 << 20])
def test_rows_without_features(block, tmp_path):
    path = tmp_path / "labels.svm"
    path.write_text("1\n-1\n" * 5)
    X, y = read(path)
    assert X.shape == (10, 0)
    assert y.tolist() == [1, -1] * 5
