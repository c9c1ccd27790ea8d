"""Tables with other delimiters than commas, as spreadsheets write them."""

import csv
import io
import json
import random

import pytest
from shell import run

import widemargin
from widemargin import DataError, TableClassifier
from widemargin.data.readers.delimited import Delimited, find_delimiter
from widemargin.data.readers.formats import format_of

ROWS = [
    ["name", "size", "note", "y"],
    ["cat", "1.5", "small; furry", "a"],
    ["dog", "30", 'says "wow", often', "b"],
    ["ox", "", "two\nlines | three", "b"],
    ["cat", "2", "a\ttab", "a"],
]


def written(delimiter, rows=ROWS):
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return out.getvalue()


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_first_lines_say_what_separates_cells(delimiter, tmp_path):
    path = tmp_path / "pets.csv"
    path.write_text(written(delimiter))
    options = {"text": "note", "columns": ["name"], "bits": 10, "random_state": 0}
    table = {name: cells for name, *cells in zip(*ROWS, strict=True)}
    expected = TableClassifier(**options).fit(table, "y").decision_function(table)
    for given in (None, delimiter):
        found = TableClassifier(**options, delimiter=given).fit(path)
        assert found.decision_function(path).tolist() == expected.tolist()
        X, y = widemargin.read(path, columns=["name", "size"], delimiter=given)
        assert y.tolist() == ["a", "b", "b", "a"]
        rows = [[1, 0, 0, 1.5, 0], [0, 1, 0, 30, 0], [0, 0, 1, 0, 1], [1, 0, 0, 2, 0]]
        assert X.toarray().tolist() == rows


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("a;b;c\n1,5;2,5;x\n", ";"),
        ("1,5;2,5\n2,5;7,0\n", ";"),  # decimal commas
        ("1,2;x\n3,y;z\n", ","),
        ("a,b;c\nd,e\n", ","),
        ("a;b\nc;d;e\n", ";"),  # ragged: the first line decides
        ("one column\nonly\n", ","),
        ("", ","),
        ("\ufeffa;b\r\n1;2\r\n", ";"),
        ("a|b\n1|2", "|"),
        ('"x;y;z",b\n"u;v",c\n', ","),
        ('a;b\n"two\nlines, and more";c\n', ";"),
        ("a,b;c\n1,5;2\n", ","),
    ],
)
def test_what_the_first_lines_say(text, delimiter):
    assert find_delimiter(text.encode()) == delimiter


def test_decimal_commas_separate_no_cells():
    assert find_delimiter(b"1,2;x\n3,y;z\n", ",") == ";"
    assert find_delimiter(b'"1,5",x\n"2,5",y\n', ",") == ","


def test_semicolons_are_recognised_without_an_extension():
    assert format_of("-", b"a;b\n1;2\n") == "csv"
    assert format_of("-", b"1|2|3\n4|5|6\n", delimited=True) == "csv"
    assert format_of("x.tsv", b"a;b\n", delimited=True) == "tsv"
    with pytest.raises(DataError, match="cannot tell its format"):
        format_of("-", b"one; two\nthree\n")


def test_decimal_commas_are_refused(tmp_path):
    path = tmp_path / "german.csv"
    path.write_text("groesse;y\n1,5;a\n2;b\n")
    message = "german.csv:2: column 'groesse' holds numbers with a decimal comma, found '1,5'"
    with pytest.raises(DataError, match=message):
        TableClassifier().fit(path)
    assert TableClassifier(categories="groesse", random_state=0).fit(path).score(path) == 1.0
    path.write_text("groesse;y\n1.5;a\n2;b\n")
    message = "german.csv:2: column 'groesse' holds numbers with a decimal point, found '1.5'"
    with pytest.raises(DataError, match=message):
        TableClassifier(decimal=",").fit(path)


@pytest.mark.parametrize("slow", [False, True])
def test_single_blanks_separate_cells(slow, tmp_path, monkeypatch):
    if slow:
        monkeypatch.setattr(Delimited, "read", lambda *_: None)
    path = tmp_path / "pets.txt"
    path.write_text(written(" "))
    options = {"text": "note", "columns": ["name", "size"], "bits": 10, "random_state": 0}
    table = {name: cells for name, *cells in zip(*ROWS, strict=True)}
    table["size"] = [1.5, 30.0, None, 2.0]
    expected = TableClassifier(**options).fit(table, "y").decision_function(table)
    found = TableClassifier(**options, delimiter=" ").fit(path)
    assert found.decision_function(path).tolist() == expected.tolist()
    path.write_text("a b y\n1 2 p\n3  q\n1   2 p\n")
    with pytest.raises(DataError) as caught:
        TableClassifier(delimiter=" ").fit(path)
    told = "pets.txt:4: 5 cells, expected 3; cells are separated by exactly one blank"
    assert str(caught.value).endswith(told)
    path.write_text("a b y\n1 2 p\n3  q\n")
    X, y = widemargin.read(path, delimiter=" ")
    assert (X.shape[0], y.tolist()) == (2, ["p", "q"])
    with pytest.raises(ValueError, match="must be a tab, a single blank or a single punctuation"):
        widemargin.read(path, delimiter="  ")


def test_the_shell_reads_tables_of_blanks(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.txt").write_text("1 2.5 yes\n2 3.5 no\n1 2 yes\n" * 3)
    run("train", "t.txt", "--delimiter", " ", "--quiet", "--model", "m.wm")
    told = run("test", "m.wm", "t.txt", "--delimiter", " ", "--json").stdout
    assert json.loads(told)["accuracy"] == 1.0


SIZES = ["1,5", "-2", "", "3,25e1", " 0,125", "+7,0"]


@pytest.mark.parametrize("delimiter", [";", ","])
@pytest.mark.parametrize("slow", [False, True])
def test_decimal_commas_are_those_of_points(delimiter, slow, tmp_path):
    """By Arrow, and cell by cell, where a quote stands within a cell; numbers may be quoted."""
    note = '"b"' if slow else "b"
    for name, sign in (("comma.csv", ","), ("point.csv", ".")):
        sizes = [size.replace(",", sign) for size in SIZES]
        sizes = [f'"{size}"' if delimiter in size else size for size in sizes]
        lines = [[size, f"a {note}", "uv"[i % 2]] for i, size in enumerate(sizes)]
        text = "".join(delimiter.join(line) + "\n" for line in [["size", "note", "y"], *lines])
        (tmp_path / name).write_text(text)
    X, y = widemargin.read(tmp_path / "comma.csv", decimal=",", columns=["size"])
    Z, z = widemargin.read(tmp_path / "point.csv", columns=["size"])
    assert X.toarray().tolist() == Z.toarray().tolist()
    assert y.tolist() == z.tolist()


def test_decimal_commas_in_both_faces(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = random.Random(0)
    rows = [[f"{rng.gauss(0, 1):.3f}", f"{rng.randrange(31)}.12.2020"] for _ in range(80)]
    rows = [[x.replace(".", ","), day, "hot" if float(x) > 0 else "cold"] for x, day in rows]
    (tmp_path / "t.csv").write_text(written(";", [["temperature", "day", "y"], *rows]))
    words = ["--decimal", ",", "--category", "day", "--seed", "0"]
    run("train", "t.csv", *words, "--model", "m.wm", "--quiet")
    own = TableClassifier(decimal=",", categories="day", random_state=0)
    found = widemargin.load("m.wm")
    assert found.learner_.coef_.tolist() == own.fit("t.csv").learner_.coef_.tolist()
    told = json.loads(run("test", "m.wm", "t.csv", "--decimal", ",", "--json").stdout)
    assert told["accuracy"] == own.score("t.csv") > 0.9
    answers = run("predict", "m.wm", "t.csv", "--decimal", ",").stdout.split()
    assert answers == own.predict("t.csv").tolist()
    message = r"t.csv:2:1: column 'temperature': expected a number, found '.*'; give --decimal ','"
    with pytest.raises(DataError, match=message):
        found.predict("t.csv")
    with pytest.raises(DataError, match="column 'day' holds dates"):
        TableClassifier(decimal=",").fit("t.csv")


def test_a_decimal_sign_without_effect_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_text('{"x": 1, "y": 2}\n')
    (tmp_path / "a.svm").write_text("1 1:2\n")
    for path in ("a.jsonl", "a.svm"):
        with pytest.raises(ValueError, match="decimal=',' has no effect for"):
            widemargin.read(path, decimal=",")
        assert "has no effect" in run("train", path, "--decimal", ",", code=2).stderr
    with pytest.raises(ValueError, match=r"decimal=';' must be '\.' or ','"):
        TableClassifier(decimal=";").fit("a.csv")


def test_the_shell_reads_spreadsheets_in_other_encodings(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = random.Random(0)
    towns = ["K\u00f6ln", "Z\u00fcrich", "Gen\u00e8ve"]
    rows = [[rng.choice(towns), rng.randrange(9), "one\nline; two"] for _ in range(60)]
    rows = [[*row, "ja" if row[0] == towns[0] else "nein"] for row in rows]
    names = ["Stadt", "Alter", "Notiz", "Kunde"]
    for encoding in ("latin-1", "utf-16"):
        (tmp_path / "a.csv").write_bytes(written(";", [names, *rows]).encode(encoding))
        words = ["--encoding", encoding, "--label", "4", "--drop", "Notiz", "--category", "2"]
        run("train", "a.csv", *words, "--model", "m.wm", "--quiet")
        told = run("test", "m.wm", "a.csv", "--encoding", encoding, "--json").stdout
        assert json.loads(told)["accuracy"] == 1.0
        shell = widemargin.load("m.wm")
        assert "Stadt=K\u00f6ln" in dict(shell.top_features()["ja"])
        own = TableClassifier(encoding=encoding, drop="Notiz", categories=1, random_state=0)
        assert shell.learner_.coef_.tolist() == own.fit("a.csv").learner_.coef_.tolist()
        columns = {column.name: column.kind for column in shell.encoder_.columns}
        assert columns == {"Stadt": "category", "Alter": "category"}
    (tmp_path / "c.txt").write_text(written("\t", [names, *rows]))
    run("train", "c.txt", "--delimiter", "tab", "--drop", "Notiz", "--quiet")
    assert widemargin.load("model.wm").set_params(delimiter="\t").score("c.txt") == 1.0


def test_thousands_of_categories(tmp_path):
    rng = random.Random(1)
    rows = [[f"item{rng.randrange(3000)}", rng.randrange(2)] for _ in range(20_000)]
    path = tmp_path / "many.csv"
    path.write_text("item,label\n" + "".join(f"{item},{label}\n" for item, label in rows))
    clf = TableClassifier(random_state=0).fit(path)
    distinct = {item for item, _ in rows}
    assert clf.encoder_.width == len(distinct)
    names = {clf.encoder_.feature_name(j) for j in range(clf.encoder_.width)}
    assert names == {f"item={item}" for item in distinct}


def test_a_column_may_be_called_by_a_number(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "years.csv").write_text("2019,2020,y\n1,2,a\n3,4,b\n5,1,a\n")
    run("train", "years.csv", "--header", "--drop", "2020", "--label", "3", "--quiet")
    assert widemargin.load("model.wm").feature_names_in_.tolist() == ["2019"]
