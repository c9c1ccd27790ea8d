"""TableClassifier: tables from data frames and files, in Python and in the shell."""

import json
import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse
from pyarrow import csv
from shell import run
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

import widemargin as wm
from widemargin.data.encode.learned_column import LearnedColumn

JOBS = ["clerk", "smith", "cook", None]


def people(n=300, seed=0):
    """Rows of every kind of column; who earns much depends on most of them."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, n)
    job = rng.choice(np.array(JOBS, dtype=object), n)
    owner = rng.random(n) < 0.5
    hours = np.where(rng.random(n) < 0.1, np.nan, rng.normal(40.0, 9.0, n).round(2))
    score = (age - 45) / 20 + 2.0 * (job == "smith") + owner + np.nan_to_num((hours - 40) / 20)
    return pd.DataFrame(
        {
            "age": age,
            "job": job,
            "owner": owner,
            "hours": hours,
            "pay": np.where(score > 0.7, "much", "little"),
        }
    )


@pytest.fixture(scope="module")
def frame():
    return people()


@pytest.fixture(scope="module")
def fitted(frame):
    return wm.TableClassifier(random_state=0).fit(frame, "pay")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people().to_csv("people.csv", index=False)
    people(seed=1).to_csv("others.csv", index=False)
    return tmp_path


def in_all_forms(frame):
    return {
        "pandas": frame,
        "polars": pl.from_pandas(frame),
        "arrow": pa.table(frame),
        "dict of lists": {name: frame[name].tolist() for name in frame},
        "dict of arrays": {name: frame[name].to_numpy() for name in frame},
        "categorical": frame.astype({"job": "category"}),
        "nullable": frame.convert_dtypes(),
        "parts": pa.concat_tables([pa.table(frame[:100]), pa.table(frame[100:])]),
    }


def test_every_form_of_a_table_is_the_same_table(frame):
    whole = wm.TableClassifier(random_state=0).fit(frame, "pay")
    scores = whole.decision_function(frame)
    assert whole.score(frame) > 0.9
    for form, table in in_all_forms(frame).items():
        again = wm.TableClassifier(random_state=0).fit(table, "pay")
        np.testing.assert_array_equal(again.learner_.coef_, whole.learner_.coef_, err_msg=form)
        np.testing.assert_array_equal(again.decision_function(table), scores, err_msg=form)
        assert whole.score(table) == whole.score(table, "pay") == whole.score(frame)


def test_labels_come_by_name_or_apart(frame, fitted):
    apart = wm.TableClassifier(random_state=0).fit(frame.drop(columns="pay"), frame["pay"])
    listed = wm.TableClassifier(random_state=0).fit(frame.drop(columns="pay"), list(frame["pay"]))
    named = wm.TableClassifier(random_state=0, label="pay").fit(frame)
    also = wm.TableClassifier(random_state=0, label="pay").fit(frame, frame["pay"])
    for one in (apart, listed, named, also):
        np.testing.assert_array_equal(one.learner_.coef_, fitted.learner_.coef_)
    assert apart.score(frame) == listed.score(frame, "pay") == fitted.score(frame)
    assert fitted.score(frame.drop(columns="pay"), frame["pay"]) == fitted.score(frame)
    with pytest.raises(wm.DataError, match="column 'pay' of X has the same name as the labels y"):
        wm.TableClassifier().fit(frame, frame["pay"])
    with pytest.raises(ValueError, match="give the labels, or the name of their column"):
        wm.TableClassifier().fit(frame)
    with pytest.raises(ValueError, match="y='pay' and label='job' name different columns"):
        wm.TableClassifier(label="job").fit(frame, "pay")
    with pytest.raises(wm.DataError, match="no column 'pya'; did you mean 'pay'"):
        wm.TableClassifier().fit(frame, "pya")
    with pytest.raises(ValueError, match="label=-1 has no effect if y is given"):
        wm.TableClassifier(label=-1).fit(frame, list(frame["pay"]))
    assert wm.TableClassifier(label=-1, random_state=0).fit(frame).score(frame) == fitted.score(
        frame
    )
    with pytest.raises(wm.DataError, match="300 examples but 299 labels"):
        wm.TableClassifier().fit(frame.drop(columns="pay"), frame["pay"][1:])


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        ([3, 1, 3, 1], [1, 3]),
        ([True, False, True, False], [False, True]),
        (["b ", " a"] * 2, ["a", "b"]),
    ],
    ids=str,
)
def test_labels_in_a_column_keep_their_type(values, classes, tmp_path):
    table = {"x": [1.0, 2.0, 1.5, 3.0], "y": values}
    clf = wm.TableClassifier(random_state=0).fit(table, "y")
    assert clf.classes_.tolist() == classes
    clf.save(tmp_path / "m.wm")
    back = wm.load(tmp_path / "m.wm")
    assert back.predict(table).tolist() == clf.predict(table).tolist()
    # The same labels in a file, where booleans are words.
    pd.DataFrame(table).to_csv(tmp_path / "t.csv", index=False)
    assert back.score(tmp_path / "t.csv") == clf.score(table)


@pytest.mark.parametrize(
    "learner",
    [wm.Perceptron(), wm.LinearSVM(), wm.KernelSVM(), wm.KernelPerceptron(), wm.OnlineLogistic()],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:X has feature names")
def test_other_learners_name_a_column_of_strings(learner, frame):
    name = type(learner).__name__
    message = (
        f"column 'job' holds strings, and {name} takes numbers only:"
        f" use TableClassifier({name}(...)), which encodes tables"
    )
    numbers = frame[["age", "owner"]]
    learner = clone(learner).fit(numbers.to_numpy(float), frame["pay"])
    for table in (frame[["age", "job"]], pl.from_pandas(frame[["age", "job"]])):
        for ask in (learner.predict, lambda X, one=clone(learner): one.fit(X, frame["pay"])):
            with pytest.raises(wm.DataError) as caught:
                ask(table)
            assert str(caught.value) == message
    with pytest.raises(wm.DataError, match="column 'born' holds dates or times"):
        clone(learner).fit(numbers.assign(born=pd.Timestamp("2024-01-01")), frame["pay"])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        clone(learner).fit(numbers, frame["pay"][1:])


# Prediction: columns by name


def test_columns_are_found_by_name(frame, fitted):
    scores = fitted.decision_function(frame)
    other = frame[["pay", "hours", "owner", "job", "age"]].assign(extra="ignored")
    np.testing.assert_array_equal(fitted.decision_function(other), scores)
    with pytest.raises(wm.DataError, match="no column 'job', 'hours', which the model needs"):
        fitted.predict(frame[["owner", "age"]])


def test_other_types_of_numbers_are_the_same_numbers(frame, fitted):
    scores = fitted.decision_function(frame)
    other = frame.astype({"age": np.int8, "hours": object, "owner": np.int64})
    np.testing.assert_array_equal(fitted.decision_function(other), scores)
    other = frame.astype({"age": float, "owner": float})
    np.testing.assert_array_equal(fitted.decision_function(other), scores)


@pytest.mark.parametrize(
    ("column", "cells", "message"),
    [
        ("age", "old", "column 'age' holds strings, where numbers are needed"),
        ("job", 1.5, "column 'job' holds fractions, where strings are needed"),
        ("job", True, "column 'job' holds booleans, where strings are needed"),
        ("owner", "yes", "column 'owner' holds strings, where booleans are needed"),
        ("owner", 2, "column 'owner' holds numbers other than 0 and 1, where booleans are needed"),
        ("hours", np.inf, "row 0: column 'hours' is infinite"),
        ("age", pd.Timestamp("2024-01-01"), "column 'age' holds dates or times"),
    ],
)
def test_other_cells_than_in_training_are_errors(frame, fitted, column, cells, message):
    with pytest.raises(wm.DataError, match=message):
        fitted.predict(frame.assign(**{column: cells}))


def test_unseen_and_missing_values(frame, fitted):
    before = fitted.encoder_.unseen
    unseen = fitted.decision_function(frame.assign(job="astronaut"))
    assert fitted.encoder_.unseen == before + len(frame)
    names = [fitted.encoder_.feature_name(j) for j in range(fitted.encoder_.width)]
    weights = dict(zip(names, fitted.learner_.coef_[0], strict=True))
    # Only the share of the job is gone.
    shares = ("job=" + frame["job"]).fillna("job is missing").map(weights)
    np.testing.assert_allclose(unseen, fitted.decision_function(frame) - shares, atol=1e-9)
    for nothing in (None, "?", "", " NA "):
        absent = fitted.decision_function(frame.assign(job=nothing))
        np.testing.assert_allclose(absent, unseen + weights["job is missing"], atol=1e-9)
    empty = frame.assign(age=None, hours=np.nan, owner=None)
    assert np.all(np.isfinite(fitted.decision_function(empty)))


def test_whole_numbers_stand_for_categories_of_the_same_digits(tmp_path):
    table = pd.DataFrame({"zip": [94110, 10115, 94110, 10115], "y": ["a", "b", "a", "b"]})
    clf = wm.TableClassifier(categories="zip", random_state=0).fit(table, "y")
    assert clf.encoder_.feature_name(0) == "zip=94110"
    table.to_csv(tmp_path / "zip.csv", index=False)
    read = wm.TableClassifier(categories=["zip"], random_state=0).fit(tmp_path / "zip.csv")
    for form in (table, table.astype({"zip": float}), table.astype({"zip": str})):
        assert clf.score(form) == read.score(form) == 1.0
    assert clf.encoder_.unseen == read.encoder_.unseen == 0


def test_a_category_with_a_point_and_zeros_is_the_whole_number(tmp_path):
    path = tmp_path / "codes.csv"
    path.write_text("code,y\n" + "1.0,a\n2.0,b\n,a\n" * 5)
    from_file = wm.TableClassifier(categories="code", random_state=0).fit(path)
    frame = pd.read_csv(path)
    from_frame = wm.TableClassifier(categories="code", random_state=0).fit(frame, "y")
    assert from_file.encoder_.feature_name(0) == "code=1.0"
    assert from_frame.encoder_.feature_name(0) == "code=1"
    for form in (path, frame, {"code": ["1", "2.00", "-1.0"]}):
        wanted, found = (clf.decision_function(form) for clf in (from_file, from_frame))
        np.testing.assert_array_equal(found, wanted)
    assert from_file.encoder_.unseen == from_frame.encoder_.unseen == 1  # -1
    from_file.save(tmp_path / "codes.wm")
    assert wm.load(tmp_path / "codes.wm").encoder_.columns[0].find("1") == 0


@pytest.mark.parametrize("values", [[7, 12], ["a", "b"], [False, True]])
def test_categoricals_of_pandas_mean_the_same_in_parquet(tmp_path, values):
    frame = pd.DataFrame({"code": pd.Categorical(values * 8 + [None]), "size": [1.5] * 17})
    frame["y"] = ["u", "v"] * 8 + ["u"]
    frame.to_parquet(path := tmp_path / "f.parquet")
    from_file = wm.TableClassifier(random_state=0).fit(path, "y")
    from_frame = wm.TableClassifier(random_state=0).fit(frame, "y")
    assert from_file.encoder_.columns == from_frame.encoder_.columns
    assert from_file.encoder_.columns[0].kind == ("boolean" if values[1] is True else "category")
    wanted = from_frame.decision_function(frame)
    for form in (frame, path, pd.read_parquet(path)):  # the last has floats instead of 7 and 12
        np.testing.assert_array_equal(from_file.decision_function(form), wanted)


def test_a_model_that_learned_numbers_reads_categoricals_as_numbers(tmp_path):
    frame = pd.DataFrame({"code": [7, 12, 9] * 5, "y": ["u", "v", "u"] * 5})
    clf = wm.TableClassifier(random_state=0).fit(frame, "y")
    frame.astype({"code": "category"}).to_parquet(path := tmp_path / "f.parquet")
    wanted = clf.decision_function(frame)
    np.testing.assert_array_equal(clf.decision_function(path), wanted)


def test_parquet_with_metadata_of_another_program_is_read(tmp_path):
    table = pa.table({"code": [1, 2], "y": ["a", "b"]})
    for said in (
        b"",
        b"[]",
        b'{"columns": [3]}',
        b'{"columns": [{"name": "code"}]}',
        b'{"columns": [{"name": [], "pandas_type": "categorical"}]}',
        b"\xff",
    ):
        pq.write_table(table.replace_schema_metadata({b"pandas": said}), tmp_path / "f.parquet")
        clf = wm.TableClassifier(random_state=0).fit(tmp_path / "f.parquet")
        assert clf.encoder_.columns[0].kind == "number"


def test_columns_are_counted_as_in_a_file_and_have_one_role(tmp_path):
    frame = pd.DataFrame({"w": 1.0, "y": list("ab"), "t": ["red", "blue"], "x": [1, 2]})
    frame.to_csv(tmp_path / "f.csv", index=False)
    clf = wm.TableClassifier(weight=0, text=2, columns=-1)
    for fitted in (clone(clf).fit(frame, "y"), clone(clf).fit(tmp_path / "f.csv", "y")):
        assert fitted.feature_names_in_.tolist() == ["t", "x"]
        assert fitted.encoder_.text_columns == ("t",)
    for given, told in [
        ({"drop": "y"}, "'y' cannot be both the label and dropped"),
        ({"weight": "w", "drop": "w"}, "'w' cannot be both the weight and dropped"),
        ({"text": "t", "categories": "t"}, "'t' cannot be both a text and a category"),
    ]:
        for source in (frame, tmp_path / "f.csv"):
            with pytest.raises(wm.DataError, match=told):
                wm.TableClassifier(**given).fit(source, "y")


def test_categories_of_other_spellings_stay_apart():
    cells = ["007", "7", "3.1", "3.10", "1", "1.0"]
    clf = wm.TableClassifier(random_state=0).fit({"code": cells * 2}, ["a", "b"] * 6)
    column = clf.encoder_.columns[0]
    assert list(column.values) == cells[:5]  # 1.0 is 1
    assert [column.find(code) for code in ("7.0", "07", "007.0", "3.100")] == [1, -1, -1, -1]
    # A model from version 0.1 may have both: what it was given keeps its meaning.
    old = LearnedColumn("code", "category", values={"1": 0, "1.0": 1, "2.0": 2})
    assert [old.find(code) for code in ("1", "1.0", "1.00", "2")] == [0, 1, 0, 2]


FORMS = ("csv", "jsonl", "parquet")


def write(frame, path):
    """Write a frame as CSV, JSON lines or Parquet."""
    form = path.rsplit(".", 1)[1]
    if form == "csv":
        frame.write_csv(path)
    elif form == "jsonl":
        frame.write_ndjson(path)
    else:
        frame.write_parquet(path)
    return path


@pytest.mark.parametrize(
    "changed",
    [
        {"owner": [1, 0, 1]},
        {"owner": [1.0, None, 0.0]},
        {"hours": [True, False, None]},
        {"code": [3, 1, 2]},
        {"owner": [0, 1, 0], "hours": [None, False, True], "code": [2, None, 7]},
    ],
)
@pytest.mark.parametrize("form", FORMS)
def test_cells_of_other_types_mean_the_same_in_frames_and_files(form, changed, tmp_path):
    table = {
        "owner": [True, False, True, False, True],
        "hours": [40.0, 1.0, 0.0, None, 1.5],
        "code": ["1", "2", "3", "1", None],
        "pay": ["much", "little", "much", "little", "little"],
    }
    model = wm.TableClassifier(random_state=0).fit(pl.DataFrame(table), "pay")
    new = pl.DataFrame({**{name: cells[:3] for name, cells in table.items()}, **changed})
    path = write(new, str(tmp_path / f"new.{form}"))
    wanted = model.decision_function(new)
    np.testing.assert_array_equal(model.decision_function(path), wanted)
    # In a large file, too, where blocks are not read cell by cell.
    write(pl.concat([new] * 100), path)
    np.testing.assert_array_equal(model.decision_function(path), np.tile(wanted, 100))


@pytest.mark.parametrize("form", FORMS)
def test_numbers_can_be_declared_categories_in_every_format(form, tmp_path):
    table = pl.DataFrame({"code": [3, 1, 2, None] * 50, "y": ["a", "b", "a", "b"] * 50})
    path = write(table, str(tmp_path / f"table.{form}"))
    frame, file = (
        wm.TableClassifier(categories=["code"], random_state=0).fit(X, "y") for X in (table, path)
    )
    assert [file.encoder_.feature_name(j) for j in range(3)] == ["code=3", "code=1", "code=2"]
    np.testing.assert_array_equal(file.learner_.coef_, frame.learner_.coef_)


@pytest.mark.parametrize("form", FORMS)
def test_nan_in_a_table_is_a_missing_cell(form, tmp_path):
    table = pl.DataFrame({"a": [1.0, math.nan, 3.0, None], "y": ["p", "q", "p", "q"]})
    path = str(tmp_path / f"t.{form}")
    if form == "jsonl":  # as Python's json module writes it
        lines = (json.dumps(row) + "\n" for row in table.to_dicts())
        (tmp_path / "t.jsonl").write_text("".join(lines))
    else:
        write(table, path)
    model = wm.TableClassifier(random_state=0).fit(path, "y")
    np.testing.assert_array_equal(
        model.learner_.coef_, wm.TableClassifier(random_state=0).fit(table, "y").learner_.coef_
    )


@pytest.mark.parametrize(
    ("X", "found"),
    [
        (np.zeros((3, 2, 1)), "an object of type ndarray"),
        ([1.0, 2.0], "an object of type list"),
        (pd.Series([1.0, 2.0]), "a single column (Series)"),
        (pl.Series([1.0, 2.0]), "a single column (Series)"),
        (pa.chunked_array([[1.0]]), "a single column (ChunkedArray)"),
        (None, "an object of type NoneType"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_table_is_refused_with_what_to_pass(fitted, X, found):
    for ask in (fitted.predict, fitted.decision_function, fitted.score):
        with pytest.raises(wm.DataError) as caught:
            ask(X)
        assert str(caught.value) == (
            f"found {found}, where a table is needed; pass a pandas or Polars data frame, an Arrow"
            " table, a dict of columns, an array with two dimensions, or the path of a file"
        )
    with pytest.raises(wm.DataError, match="where a table is needed"):
        wm.TableClassifier().fit(X, [0, 1])


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"a": [1, 2], "b": [1]}, "the columns have different lengths: 'b' has 1 rows and 'a'"),
        ({"a": [1, "x"]}, "column 'a' holds values of the types int, str: make all of them"),
        ({"a": "xy"}, "column 'a' is 'xy', not a sequence of cells"),
        ({"a": 3}, "column 'a' is 3, not a sequence of cells"),
        ({"a": [[1], [2]]}, "column 'a' holds nested values"),
        ({"a": [], "b": []}, "there are no examples"),
        ({}, "there are no examples"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "two columns are called 'a'"),
    ],
    ids=str,
)
def test_bad_tables_are_errors_that_name_the_column(table, message):
    y = [0, 1] if message != "there are no examples" else []
    with pytest.raises(wm.DataError, match=message):
        wm.TableClassifier().fit(table, y)


@pytest.mark.parametrize("form", ["pandas", "polars", *FORMS])
def test_strings_that_are_dates_are_refused_in_every_format(form, tmp_path):
    table = pl.DataFrame(
        {"when": ["2024-01-01", None, "2024-01-03", "?"], "a": [1, 2, 3, 4], "y": [0, 1, 0, 1]}
    )
    X = {"pandas": table.to_pandas(), "polars": table}.get(form)
    X = write(table, str(tmp_path / f"t.{form}")) if X is None else X
    with pytest.raises(
        wm.DataError, match="column 'when' holds dates or times, found '2024-01-01'"
    ):
        wm.TableClassifier().fit(X, "y")
    declared = wm.TableClassifier(categories=["when"], random_state=0).fit(X, "y")
    assert declared.encoder_.feature_name(0) == "when=2024-01-01"
    assert wm.TableClassifier(drop=["when"], random_state=0).fit(X, "y").score(X, "y") >= 0.5


def test_identifiers_are_refused():
    n = 1200
    table = {"name": [f"n{i}" for i in range(n)], "x": np.arange(n)}
    with pytest.raises(wm.DataError, match=r"column 'name' has 1,200 different values .* drop it"):
        wm.TableClassifier().fit(table, np.arange(n) % 2)
    few = wm.TableClassifier(drop="name", random_state=0).fit(table, np.arange(n) % 2)
    assert few.feature_names_in_.tolist() == ["x"]


def test_labels_that_are_no_classes_are_not_scored(frame, fitted):
    with pytest.raises(
        wm.DataError, match=r"no label is a class of the model: .*' little'.*'little'"
    ):
        fitted.score(frame.drop(columns="pay"), " " + frame["pay"])
    some = frame.assign(pay=["new"] * 150 + frame["pay"].tolist()[150:])
    assert fitted.score(some) == fitted.score(frame[150:]) / 2


# Two faces


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        (None, []),
        (
            wm.PassiveAggressive(C=0.1, fit_intercept="auto", random_state=0),
            ["--learner=pa", "--C=0.1"],
        ),
        (wm.OnlineLogistic(fit_intercept="auto", random_state=0), ["--learner=logistic"]),
        (wm.LinearSVM(C=0.5, random_state=0), ["--learner=svm", "--C=0.5"]),
        (
            wm.KernelPerceptron(epochs=3, random_state=0),
            ["--learner=kernel-perceptron", "--epochs=3"],
        ),
        (wm.KernelSVM(C=2.0, random_state=0), ["--learner=kernel-svm", "--C=2"]),
    ],
    ids=str,
)
@pytest.mark.parametrize("held_out", [True, False])
def test_the_shell_trains_the_same_classifier(learner, words, held_out, folder):
    words = [*words, *([] if held_out else ["--no-holdout"])]
    run("train", "people.csv", *words, "--model", "m.wm", "--quiet")
    measured = {"validation": 0.1 if held_out else 0.0}
    seed = {"random_state": 0, **measured} if learner is None else {}
    if learner is not None:
        measured |= {"patience": None} if held_out and hasattr(learner, "patience") else {}
        learner = clone(learner).set_params(**measured)
    own = wm.TableClassifier(learner, **seed).fit("people.csv")
    shell = wm.load("m.wm")
    assert type(shell) is wm.TableClassifier
    assert type(shell.learner_) is type(own.learner_)
    assert shell.label == "pay"
    for table in (people(), "people.csv", pl.from_pandas(people())):
        np.testing.assert_array_equal(shell.decision_function(table), own.decision_function(table))
    frame = people(seed=1)
    assert shell.score(frame) == own.score("others.csv") > 0.8
    told = run("predict", "m.wm", "others.csv").stdout.split()
    assert told == own.predict(frame.drop(columns="pay")).tolist()
    own.save("own.wm")
    assert run("predict", "own.wm", "others.csv").stdout.split() == told


def test_a_classifier_of_a_frame_reads_files(frame, fitted, folder):
    fitted.save("m.wm")
    told = run("test", "m.wm", "people.csv", "--json").stdout
    assert f'"accuracy": {fitted.score(frame)}' in told
    pq.write_table(pa.table(frame), "people.parquet")
    assert fitted.score("people.parquet") == fitted.score("people.csv") == fitted.score(frame)
    many = fitted.predict(["people.csv", "others.csv"])
    assert len(many) == 600
    assert fitted.score("*e*.csv") == np.mean(many == pd.concat([people(), people(seed=1)])["pay"])


def test_options_mean_the_same_in_the_shell(folder):
    run("train", "people.csv", "--label", "owner", "--drop", "job", "--scale", "maxabs")
    shell = wm.load("model.wm")
    own = wm.TableClassifier(
        label="owner", drop="job", scale="maxabs", validation=0.1, random_state=0
    )
    np.testing.assert_array_equal(shell.learner_.coef_, own.fit("people.csv").learner_.coef_)
    again = clone(shell).fit("people.csv")
    np.testing.assert_array_equal(shell.learner_.coef_, again.learner_.coef_)
    assert shell.feature_names_in_.tolist() == ["age", "hours", "pay"]


def test_a_column_of_texts(folder):
    texts = ["cheap pills now", "lunch at noon", "cheap cheap money", "see you at lunch"] * 5
    mail = pd.DataFrame({"text": texts, "n": range(20), "to": "me", "y": ["s", "h"] * 10})
    mail.to_csv("mail.csv", index=False)
    options = {"text": "text", "columns": ["n"], "bits": 10, "ngrams": 2, "idf": True}
    own = wm.TableClassifier(**options, random_state=0).fit(mail, "y")
    words = ["--text=text", "--column=n", "--bits=10", "--ngrams=2", "--idf", "--label=y"]
    run("train", "mail.csv", *words, "--model", "m.wm")
    shell = wm.load("m.wm")
    assert shell.ngrams == (1, 2)
    np.testing.assert_array_equal(shell.decision_function(mail), own.decision_function("mail.csv"))
    assert {"cheap", "n"} <= {reason.feature for reason in own.explain(mail.iloc[0]).reasons}

    alone = wm.TableClassifier(text=["text"], bits=10, random_state=0).fit(mail, "y")
    alone.save("alone.wm")
    back = wm.load("alone.wm")
    assert type(back) is wm.TableClassifier
    np.testing.assert_array_equal(back.decision_function(mail), alone.decision_function(mail))
    # The shell's models of one column of texts take texts.
    run("train", "mail.csv", "--text", "text", "--label", "y", "--bits", 10)
    assert type(wm.load("model.wm")) is wm.TextClassifier
    back = wm.load("model.wm")
    scores = back.decision_function(mail["text"].fillna("").tolist())
    for form in (mail, pl.from_pandas(mail), pa.table(mail), mail[["text"]].to_dict("list")):
        np.testing.assert_array_equal(back.decision_function(form), scores)
    with pytest.raises(wm.DataError, match="found 2 columns"):
        back.predict(mail.rename(columns={"text": "body"})[["n", "body"]])
    # Saved again, they still read the same files.
    told = run("predict", "model.wm", "mail.csv").stdout
    back.save("again.wm")
    assert run("predict", "again.wm", "mail.csv").stdout == told
    copied = pickle.loads(pickle.dumps(back))
    with pytest.warns(wm.DataWarning, match="continues with passive-aggressive steps"):
        copied.partial_fit(mail, mail["y"]).save("again.wm")
    assert run("predict", "again.wm", "mail.csv").stdout.split() == list(copied.predict(mail))
    back.fit(["good", "bad"], [0, 1]).save("texts.wm")
    assert wm.load("texts.wm").predict(["good"]).tolist() == [0]
    with pytest.raises(ValueError, match=r"ngrams=2 has no effect without text columns"):
        wm.TableClassifier(ngrams=2).fit(mail, "y")
    with pytest.raises(wm.DataError, match="column 'n' holds numbers, where texts are needed"):
        wm.TableClassifier(text="n").fit(mail, "y")


def test_options_of_files_have_no_effect_for_frames(frame):
    with pytest.raises(ValueError, match="header=True has no effect for tables in memory"):
        wm.TableClassifier(header=True).fit(frame, "pay")


def test_files_without_names(folder):
    people().to_csv("plain.csv", index=False, header=False)
    clf = wm.TableClassifier(random_state=0).fit("plain.csv")
    assert clf.feature_names_in_.tolist() == ["c1", "c2", "c3", "c4"]
    assert clf.score("plain.csv") > 0.9
    with pytest.raises(
        wm.DataError, match=r"no column 'c1', .*c1 is the first column of a file without"
    ):
        clf.predict(people())
    with pytest.raises(
        wm.DataError, match="labels of a file are in one of its columns: give its name"
    ):
        clf.fit("plain.csv", people()["pay"])


# In scikit-learn's company


def test_searches_folds_and_clones(frame):
    X, y = frame.drop(columns="pay"), frame["pay"]
    search = GridSearchCV(
        wm.TableClassifier(wm.LinearSVM(random_state=0)),
        {"learner__C": [0.01, 1.0], "scale": ["standard", "maxabs"]},
        cv=3,
    ).fit(X, y)
    assert search.best_score_ > 0.85
    assert cross_val_score(wm.TableClassifier(random_state=0), X, y, cv=3).min() > 0.8
    assert (
        cross_val_score(wm.TableClassifier(random_state=0), pl.from_pandas(X), y, cv=3).min() > 0.8
    )
    assert cross_val_score(wm.TableClassifier(label="pay", random_state=0), frame, cv=3).min() > 0.8
    assert clone(wm.TableClassifier(drop=["job"])).get_params()["drop"] == ["job"]
    assert is_classifier(wm.TableClassifier())


def test_the_columns_of_an_array_are_called_x0_x1_and_so_on():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) * [1.0, 100.0, 0.01]
    y = np.where(X[:, 1] > 0.0, "up", "down")
    clf = wm.TableClassifier(random_state=0).fit(X, y)
    assert clf.feature_names_in_.tolist() == ["x0", "x1", "x2"]
    named = {f"x{j}": X[:, j] for j in range(3)}
    same = wm.TableClassifier(random_state=0).fit(named, y)
    for table in (X, X.tolist(), named, X.astype(object)):
        np.testing.assert_array_equal(clf.decision_function(table), same.decision_function(named))
    with pytest.raises(wm.DataError, match="X has 2 features, but TableClassifier is expecting 3"):
        clf.predict(X[:, :2])
    with pytest.raises(wm.DataError, match="Reshape your data"):
        clf.predict(X[0])
    with pytest.raises(TypeError, match="sparse data was passed"):
        clf.predict(scipy.sparse.dok_array(X))
    some = wm.TableClassifier(columns=["x1"], random_state=0).fit(X, y)
    assert some.score(X, y) > 0.9


def test_attributes_before_and_after_fit(frame, fitted):
    with pytest.raises(ValueError, match="this TableClassifier is not fitted yet"):
        wm.TableClassifier().predict(frame)
    assert not hasattr(wm.TableClassifier(), "n_features_in_")
    assert fitted.n_features_in_ == 4
    assert fitted.classes_.tolist() == ["little", "much"]
    assert fitted.n_iter_ == 10


def test_copies_and_other_processes(frame, fitted):
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.decision_function(frame), fitted.decision_function(frame))
    assert "perceptron rule, average kept" in fitted._repr_html_()


def test_only_what_the_learner_has(frame):
    plain = wm.TableClassifier(random_state=0).fit(frame, "pay")
    assert not hasattr(plain, "predict_proba")
    logistic = wm.TableClassifier(wm.OnlineLogistic(random_state=0)).fit(frame, "pay")
    assert np.allclose(logistic.predict_proba(frame).sum(axis=1), 1.0)
    machine = wm.TableClassifier(wm.KernelSVM(probability=True, random_state=0)).fit(frame, "pay")
    assert machine.predict_proba(frame).shape == (300, 2)
    assert not hasattr(machine, "top_features")
    assert not hasattr(machine, "partial_fit")
    with pytest.raises(TypeError, match="must be a learner of widemargin"):
        wm.TableClassifier(GridSearchCV(wm.Perceptron(), {})).fit(frame, "pay")
    with pytest.raises(ValueError, match="random_state=1 has no effect if a learner is given"):
        wm.TableClassifier(wm.Perceptron(), random_state=1).fit(frame, "pay")


def test_explanations_and_features(frame, fitted, tmp_path):
    row = {"age": 70, "job": "smith", "owner": True, "hours": 41.0}
    told = fitted.explain(row, top=20)
    assert told.prediction == "much"
    assert {"age", "job=smith", "owner"} <= {reason.feature for reason in told.reasons}
    assert repr(fitted.explain(pd.Series(row), top=20)) == repr(told)
    assert repr(fitted.explain(pd.DataFrame([row]), top=20)) == repr(told)
    assert "job=smith" in dict(fitted.top_features(3)["much"])
    with pytest.raises(wm.DataError, match="explain takes one row, found 300"):
        fitted.explain(frame)
    with pytest.raises(wm.DataError, match="no column 'job', 'owner', 'hours'"):
        fitted.explain({"age": 3})
    fitted.report(tmp_path / "page.html", frame, "pay")
    text = (tmp_path / "page.html").read_text()
    assert "job=smith" in text
    assert f"{100 * fitted.score(frame):.2f}" in text
    machine = wm.TableClassifier(wm.KernelSVM(random_state=0)).fit(frame, "pay")
    machine.report(tmp_path / "kernel.html", frame)
    assert "How good the answers are" in (tmp_path / "kernel.html").read_text()


def test_learning_goes_on_with_the_first_encoder(frame):
    clf, parts = wm.TableClassifier(wm.Perceptron(shuffle=False)), [frame[:100], frame[100:]]
    assert parts[1]["job"].isin(["cook"]).any()
    parts[0] = parts[0].replace({"job": {"cook": "clerk"}})
    twin = wm.Perceptron(shuffle=False)
    for part in parts:
        clf.partial_fit(part, "pay")
        X = (part[["age", "hours"]] - parts[0][["age", "hours"]].mean()) / parts[0][
            ["age", "hours"]
        ].std(ddof=0)
        X.insert(1, "owner", part["owner"])
        jobs = [part["job"] == job for job in parts[0]["job"].dropna().unique()]
        marks = [part["job"].isna(), part["hours"].isna()]
        twin.partial_fit(np.column_stack([X.fillna(0.0), *jobs, *marks]), part["pay"])
    names = [clf.encoder_.feature_name(j) for j in range(clf.encoder_.width)]
    ours = dict(zip(names, clf.learner_.coef_[0], strict=True))
    jobs = [f"job={job}" for job in parts[0]["job"].dropna().unique()]
    order = ["age", "owner", "hours", *jobs, "job is missing", "hours is missing"]
    np.testing.assert_allclose([ours[name] for name in order], twin.coef_[0], atol=1e-9)
    clf.partial_fit(frame.assign(pay="unknown"), "pay")
    assert clf.classes_.tolist() == ["little", "much", "unknown"]


@pytest.mark.parametrize("make", [wm.TableClassifier, wm.TextClassifier])
def test_a_call_that_fails_leaves_the_classifier_as_it_was(make):
    texts, y = ["good film", "bad film", "good", "bad"], ["y", "n", "y", "n"]
    raw = texts if make is wm.TextClassifier else {"words": texts, "size": [1, 2, 3, 4]}
    learner = wm.Perceptron(random_state=0)
    new = make(learner)
    with pytest.raises(wm.DataError):
        new.partial_fit(raw, y[:3])
    with pytest.raises(NotFittedError):
        new.predict(raw)
    fitted = make(learner).fit(raw, y)
    before = fitted.decision_function(raw)
    for labels in (["y"] * 4, [None] * 4):
        with pytest.raises(wm.DataError):
            fitted.fit(raw, labels)
    with pytest.raises(wm.DataError):
        fitted.partial_fit(raw, [None] * 4)
    np.testing.assert_array_equal(fitted.decision_function(raw), before)


def test_the_learner_can_be_certified_on_encoded_rows(frame, fitted, tmp_path):
    fitted.save(tmp_path / "m.wm")
    for clf in (fitted, wm.load(tmp_path / "m.wm")):
        with pytest.raises(
            wm.DataError, match=r"use certify\(model.learner_, model.encode\(X\), y\)"
        ):
            wm.certify(clf, frame, frame["pay"])
        X = clf.encode(frame)
        assert X.shape == (300, clf.encoder_.width)
        np.testing.assert_array_equal(clf.learner_.predict(X), clf.predict(frame))
        told = wm.certify(clf.learner_, X, frame["pay"])
        plain = wm.Perceptron(fit_intercept="auto", random_state=0).fit(X, frame["pay"])
        assert str(told) == str(wm.certify(plain, X, frame["pay"]))


def test_a_file_of_several_chunks_gives_the_bits_of_a_frame(folder):
    rng = np.random.default_rng(0)
    n = 60_000
    frame = pd.DataFrame({f"column {j}": rng.normal(10.0**j, 1.0, n) for j in range(4)})
    frame["kind"] = np.where(frame["column 0"] > 1.0, "big", "small")
    frame.to_csv("large.csv", index=False)
    assert (folder / "large.csv").stat().st_size > 1 << 22  # the size of a chunk
    read_again = csv.read_csv("large.csv")
    file, own = (
        wm.TableClassifier(wm.Perceptron(epochs=1, random_state=0)).fit(table, "kind")
        for table in ("large.csv", read_again)
    )
    np.testing.assert_array_equal(file.learner_.coef_, own.learner_.coef_)
