"""Labelled text whose first line names the columns."""

import json
import warnings

import pytest
from plain_examples import examples_of
from shell import run_shell

from widemargin import DataError, DataWarning, load_model, read
from widemargin.data.readers.columns import TableOptions

LINES = "ham\tsee you at lunch\nspam\twin money now\n"
HEADERS = ["Class\tMessage", "label\ttext", "Category\tSMS text", "v1\tv2", "sentiment\treview"]
#: First lines that are examples.
EXAMPLES = [
    "ham\ttext",
    "label\ta sentence of many words",
    "class5\ttext",
    "1\ttext",
    "good\tlabel",
]


def labels(path, **options):
    return [(line, label) for line, label, *_ in examples_of(path, **options)[0]]


@pytest.mark.parametrize("first", HEADERS)
def test_a_header_is_recognised_and_told(first, tmp_path):
    path = tmp_path / "f.txt"
    path.write_text(f"\n{first}\n{LINES * 30}")
    for options in ({}, {"block": 5}, {"block": 100, "threads": 2}):
        with pytest.warns(DataWarning) as told:
            found = labels(path, **options)
        assert found[:3] == [(3, "ham"), (4, "spam"), (5, "ham")]
        assert len(found) == 60
        name = first.partition("\t")[0]
        assert [str(one.message) for one in told] == [
            f"{path}:2: the first line, {name!r}, is taken as a header; if it is an example, give"
            " --no-header (header=False)"
        ]


@pytest.mark.parametrize("first", EXAMPLES)
def test_an_example_is_not_taken_for_a_header(first, tmp_path):
    path = tmp_path / "f.txt"
    path.write_text(f"{first}\n{LINES}")
    assert labels(path)[0] == (1, first.partition("\t")[0])


def test_a_name_that_is_the_label_of_another_line_is_a_label(tmp_path):
    path = tmp_path / "f.txt"
    path.write_text(f"topic\tone\n{LINES}topic\ttwo words\n")
    assert labels(path)[0] == (1, "topic")


@pytest.mark.parametrize("first", ["label\ttext", "ham\ttext", "no tab"])
def test_a_header_that_is_given_is_left_out_whatever_it_says(first, tmp_path):
    path = tmp_path / "f.txt"
    path.write_text(f"{first}\n{LINES}bad\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = labels(path, format="labelled-text", table=TableOptions(header=True), skip_bad=1)
        assert found == [(2, "ham"), (3, "spam")]
        with pytest.raises(DataError, match=r"f\.txt:4:1: expected label, tab and text"):
            read(path, format="labelled-text", header=True)


def test_every_file_has_its_own_header(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text(f"label\ttext\n{LINES}")
    with pytest.warns(DataWarning) as told:
        _, y = read(str(tmp_path / "*.txt"))
    assert y.tolist() == ["ham", "spam"] * 2
    assert len(told) == 2
    assert read(str(tmp_path / "*.txt"), header=False)[1].tolist().count("label") == 2


def test_headers_in_the_shell(tmp_path):
    (tmp_path / "f.txt").write_text(f"Class\tMessage\n{LINES * 4}")
    told = run_shell(tmp_path, "train", "f.txt", "--model", "m.wm").stderr
    assert told.count("widemargin: f.txt:1: the first line, 'Class', is taken as a header") == 1
    assert load_model(tmp_path / "m.wm").classes.tolist() == ["ham", "spam"]
    ran = run_shell(tmp_path, "train", "f.txt", "--stream", "--quiet", "--model", "s.wm")
    assert (ran.stderr, load_model(tmp_path / "s.wm").classes.tolist()) == ("", ["ham", "spam"])
    run_shell(tmp_path, "train", "f.txt", "--no-header", "--model", "n.wm", "--quiet")
    assert load_model(tmp_path / "n.wm").classes.tolist() == ["Class", "ham", "spam"]
    ran = run_shell(tmp_path, "test", "m.wm", "f.txt", "--header", "--json")
    assert (ran.stderr, json.loads(ran.stdout)["rows"]) == ("", 8)
    (tmp_path / "f.ft").write_text("__label__x one\n__label__y two\n")
    told = run_shell(tmp_path, "train", "f.ft", "--header", code=2).stderr
    assert "--header has no effect for fasttext files" in told


def test_a_text_file_that_was_trained_as_a_table_can_be_tested_as_one(tmp_path):
    lines = "".join(f"{i},see you,ham\n{i},win money,spam\n" for i in range(4))
    (tmp_path / "f.txt").write_text(f"id,body,kind\n{lines}")
    table = ("--format", "csv")
    run_shell(
        tmp_path, "train", "f.txt", *table, "--text", "body", "--label", "kind", "--model", "m.wm"
    )
    told = run_shell(tmp_path, "test", "m.wm", "f.txt", *table, "--json").stdout
    assert (json.loads(told)["rows"], json.loads(told)["accuracy"]) == (8, 1.0)
