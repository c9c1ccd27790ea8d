"""Products of columns and namespaces are those of the definition, in both faces."""

import itertools

import numpy as np
import pandas as pd
import pytest
from shell import run_shell

from widemargin import DataError, LinearSVM, TableClassifier, load, read, tune
from widemargin.data.datasets import Classes, EncodeOptions, make_encoder, read_all
from widemargin.data.encode.interactions import pairs_of
from widemargin.data.readers.files import Files, ReadOptions


def naive_features(row, means, deviations):
    """One row of a table as {feature: value}: scaled numbers, categories, missing cells."""
    found = {}
    for name, cell in row.items():
        if cell is None or cell != cell:
            found[name] = {f"{name} is missing": 1.0}
        elif isinstance(cell, str):
            found[name] = {f"{name}={cell}": 1.0}
        else:
            found[name] = {name: (cell - means[name]) / deviations[name]}
    return found


def naive_products(row, pairs, means, deviations):
    """All features of a row, with the products of the pairs."""
    by_column = naive_features(row, means, deviations)
    found = {name: value for part in by_column.values() for name, value in part.items()}
    for left, right in pairs:
        for (a, u), (b, v) in itertools.product(by_column[left].items(), by_column[right].items()):
            found[f"{a}*{b}"] = u * v
    return found


def table(n=80, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 9, n).round(1),
            "hours": rng.normal(30, 5, n).round(1),
            "kind": rng.choice(["red", "blue", "green"], n),
            "sex": rng.choice(["f", "m"], n),
        }
    )
    frame.loc[rng.choice(n, 7, replace=False), "age"] = None
    frame.loc[rng.choice(n, 5, replace=False), "kind"] = None
    return frame, rng.choice(["yes", "no"], n)


@pytest.mark.parametrize(
    "given",
    [
        [("age", "hours")],
        ["age*kind", "kind*sex"],
        "hours*hours,sex*age",
        [("kind", ":")],
        [(":", ":")],
    ],
)
def test_products_of_columns_are_those_of_the_definition(given):
    frame, label = table()
    model = TableClassifier(interactions=given, random_state=0).fit(frame, label)
    encoder = model.encoder_
    pairs = encoder.products.pairs
    numbers = frame[["age", "hours"]]
    X = np.asarray(model.encode(frame).todense())
    names = [encoder.feature_name(j) for j in range(encoder.width)]
    assert len(set(names)) == len(names) == X.shape[1]
    for row, found in zip(frame.to_dict("records"), X, strict=True):
        expected = naive_products(row, pairs, numbers.mean(), numbers.std(ddof=0))
        for name, value in zip(names, found, strict=True):
            assert value == pytest.approx(expected.pop(name, 0.0), abs=1e-9)
        assert not expected  # every product of a training row has a feature


def test_all_pairs_are_each_other_once():
    frame, label = table()
    model = TableClassifier(interactions=":*:").fit(frame, label)
    expected = list(itertools.combinations(["age", "hours", "kind", "sex"], 2))
    assert model.encoder_.products.pairs == expected


def test_numbers_alone_stay_dense():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(30, 2)), columns=["a", "b"])
    model = TableClassifier(interactions="a*b,a*a").fit(frame, rng.choice(["x", "y"], 30))
    X = model.encode(frame)
    assert isinstance(X, np.ndarray)
    assert np.array_equal(X[:, 2], X[:, 0] * X[:, 1])
    assert np.array_equal(X[:, 3], X[:, 0] ** 2)
    names = [model.encoder_.feature_name(j) for j in range(4)]
    assert names == ["a", "b", "a*b", "a*a"]


def test_combinations_that_training_did_not_have_count_nothing():
    frame = pd.DataFrame({"kind": ["a", "a", "b"], "sex": ["f", "m", "f"]})
    model = TableClassifier(interactions="kind*sex").fit(frame, ["x", "y", "x"])
    asked = model.encode({"kind": ["b", "c", None], "sex": ["m", "f", "f"]}).toarray()
    assert asked.sum(axis=1).tolist() == [2.0, 1.0, 1.0]  # of b and m, of f, of f
    assert model.encoder_.width == 2 + 2 + 3


def test_only_an_interaction_solves_xor(tmp_path):
    rng = np.random.default_rng(0)
    signs = rng.choice([-1.0, 1.0], size=(200, 2))
    frame = pd.DataFrame(signs + 0.1 * rng.normal(size=(200, 2)), columns=["a", "b"])
    label = np.where(signs[:, 0] * signs[:, 1] > 0, "same", "other")
    assert TableClassifier(random_state=0).fit(frame, label).score(frame, label) < 0.8
    crossed = TableClassifier(interactions=[("a", "b")], random_state=0).fit(frame, label)
    assert crossed.score(frame, label) == 1.0
    assert crossed.top_features(1)["same"][0][0] == "a*b"
    frame.assign(label=label).to_csv(tmp_path / "xor.csv", index=False)
    run_shell(
        tmp_path, "train", "xor.csv", "--interactions", "a*b", "--no-holdout", "--model", "m.wm"
    )
    loaded = load(tmp_path / "m.wm")
    of_file = TableClassifier(interactions="a*b", random_state=0).fit(str(tmp_path / "xor.csv"))
    assert loaded.model_.weights.tobytes() == of_file.model_.weights.tobytes()
    assert loaded.score(frame, label) == 1.0
    assert loaded.interactions == (("a", "b"),)
    said = run_shell(tmp_path, "predict", "m.wm", "xor.csv").stdout
    assert said.split() == of_file.predict(frame).tolist()
    assert "a*b" in run_shell(tmp_path, "inspect", "m.wm").stdout
    assert "a*b" in str(crossed.explain({"a": 1.0, "b": -1.0}))


def test_a_saved_model_has_its_interactions(tmp_path):
    frame, label = table()
    model = TableClassifier(interactions="kind*sex,age*kind", random_state=0).fit(frame, label)
    model.save(tmp_path / "m.wm")
    again = load(tmp_path / "m.wm")
    assert np.array_equal(again.decision_function(frame), model.decision_function(frame))
    width = model.encoder_.width
    for j in range(width):
        assert again.encoder_.feature_name(j) == model.encoder_.feature_name(j)
    assert again.encoder_.width == width


def test_folds_see_only_the_combinations_of_their_training_rows():
    """A combination that one row has is of no use to the fold that tests it."""
    n = 60
    frame = pd.DataFrame({"kind": [f"k{i % 20}" for i in range(n)], "part": ["u", "v"] * (n // 2)})
    label = np.random.default_rng(0).choice(["a", "b"], n)
    found = tune(TableClassifier(LinearSVM(), interactions="kind*part"), frame, label, C=[1.0])
    assert 0.2 < found.trials_[0].mean < 0.8


def naive_vw(line, pairs):
    """The features of a VW line as {name: value}, with the products of the pairs."""
    _, *spaces = line.split("|")
    features = []
    for space in spaces:
        head, *names = space.split(" ") if not space.startswith(" ") else ["", *space.split()]
        for name in filter(None, names):
            name, _, value = name.partition(":")
            shown = f"{head}^{name}" if head else name
            features.append((head, shown, float(value or 1.0)))
    found = {name: value for _, name, value in features}
    for left, right in pairs:
        done = set()
        for i, (a, one, u) in enumerate(features):
            for j, (b, other, v) in enumerate(features):
                if left not in (":", a) or right not in (":", b) or frozenset((i, j)) in done:
                    continue
                if i == j and u == 1.0:
                    continue
                done.add(frozenset((i, j)))
                found[f"{one}*{other}"] = u * v
    return found


LINES = [
    "1 |a x y:2 |b z |c w:0.5",
    "-1 |b z:3 q |a x",
    "1 | plain:2 |a y |b",
    "-1 |ab x |a x:1.5",
]


@pytest.mark.parametrize(
    "given", ["a*b", "a*b,a*c", "a*a", ":*:", "a*:", "ab*a"], ids=lambda given: given
)
def test_products_of_namespaces_are_those_of_the_definition(given, tmp_path):
    (tmp_path / "f.vw").write_text("\n".join(LINES) + "\n")
    files = Files([str(tmp_path / "f.vw")], ReadOptions(dtype=np.float64, threads=1))
    encoder = make_encoder(files, EncodeOptions(interactions=pairs_of(given)))
    rows = read_all(files, encoder, Classes(), learn=True).rows
    matrix = rows.without_duplicates().to_matrix()
    for i, line in enumerate(LINES):
        expected = naive_vw(line, pairs_of(given))
        row = matrix[i].tocoo()
        found = {encoder.feature_name(j): v for j, v in zip(row.col, row.data, strict=True)}
        assert sorted(map(_unordered, found.items())) == sorted(map(_unordered, expected.items()))


def _unordered(item):
    """A product and its value, whichever factor comes first."""
    name, value = item
    return sorted(name.split("*")), value


def test_a_product_does_not_depend_on_the_order_of_its_factors(tmp_path):
    (tmp_path / "f.vw").write_text("1 |a x |b y\n-1 |b y |a x\n")
    X, _ = read(tmp_path / "f.vw", interactions=":*:")
    assert (X[0] != X[1]).nnz == 0


def test_namespaces_in_both_faces(tmp_path):
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(120):
        a, b = rng.integers(0, 2, 2)
        lines.append(f"{1 if a == b else -1} |user u{a} |item i{b} noise{rng.integers(9)}\n")
    (tmp_path / "f.vw").write_text("".join(lines))
    words = ["train", "f.vw", "--double", "--learner", "svm", "--no-holdout"]
    run_shell(tmp_path, *words, "--interactions", "user*item", "--model", "m.wm")
    X, y = read(tmp_path / "f.vw", interactions=[("user", "item")])
    fitted = LinearSVM(random_state=0).fit(X, y)
    loaded = load(tmp_path / "m.wm")
    assert loaded.model_.weights.tobytes() == fitted.model_.weights.tobytes()
    assert fitted.score(X, y) == 1.0
    plain, _ = read(tmp_path / "f.vw")
    assert LinearSVM(random_state=0).fit(plain, y).score(plain, y) < 0.9
    said = run_shell(tmp_path, "predict", "m.wm", "f.vw").stdout
    assert [int(label) for label in said.split()] == fitted.predict(X).tolist()
    assert "user^u1*item^i1" in run_shell(tmp_path, "inspect", "m.wm").stdout


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("age", "is not a pair of names"),
        ("age*", "is not a pair of names"),
        ("a*b*c", "is not a pair of names"),
        ("age*sex,sex*age", "is given twice"),
        ([("age", 3)], "is not a pair of names"),
    ],
)
def test_pairs_that_are_none_are_refused(given, expected):
    with pytest.raises(ValueError, match=expected):
        pairs_of(given)


def test_columns_that_are_none_are_refused(tmp_path):
    frame, label = table()
    with pytest.raises(DataError, match=r"column 'agee' .* did you mean 'age'"):
        TableClassifier(interactions="agee*sex").fit(frame, label)
    with pytest.raises(DataError, match="times itself adds nothing"):
        TableClassifier(interactions="sex*sex").fit(frame, label)
    with pytest.raises(DataError, match="no numeric or categorical column 'kind'"):
        TableClassifier(interactions="kind*sex", text="kind", columns="sex").fit(frame, label)
    (tmp_path / "f.svm").write_text("1 1:1\n-1 2:1\n")
    words = ["train", "f.svm", "--interactions", "a*b"]
    said = run_shell(tmp_path, *words, code=2).stderr
    assert "--interactions has no effect for svmlight files" in said
    with pytest.raises(TypeError, match="'interactions' is not an option for svmlight files"):
        read(tmp_path / "f.svm", interactions="a*b")
