"""From files to models: in memory or window by window, from a cache, to LIBLINEAR and back."""

import gzip
import io
import os
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import widemargin
from widemargin import DataError, ModelFileError, OnlineLogistic, PassiveAggressive, Perceptron
from widemargin.cli import train
from widemargin.cli.learners import Learner
from widemargin.cli.train import Job, train_files
from widemargin.data.cache import is_cache, read_cache, stamp, write_cache
from widemargin.data.datasets import Classes, EncodeOptions, make_encoder, read_all
from widemargin.data.readers.chunk import Labels
from widemargin.data.readers.columns import TableOptions
from widemargin.data.readers.files import Files, ReadOptions
from widemargin.data.rows import Rows
from widemargin.models.liblinear import is_liblinear, read_liblinear, write_liblinear
from widemargin.online.fit import fit_linear
from widemargin.online.from_files import FromFiles
from widemargin.online.learn import learn
from widemargin.online.settings import Settings

# Data --------------------------------------------------------------------------------------------


def vectors(n=60, classes=3, seed=0, width=8):
    """Lines of svmlight, every class among the first of them."""
    rng = np.random.default_rng(seed)
    lines = []
    for i in range(n):
        columns = np.flatnonzero(rng.random(width) < 0.5) + 1
        words = [f"{column}:{rng.normal():.3f}" for column in columns]
        lines.append(" ".join([str(i % classes if i < classes else rng.integers(classes)), *words]))
    return "\n".join(lines) + "\n"


def hashed(n=40):
    """Lines of VW, with importances, some of them 0."""
    rng = np.random.default_rng(1)
    return "".join(
        f"{i % 2} {(1, 2, 0.5, 0)[rng.integers(4) if i > 1 else 0]} |n"
        f" a{rng.integers(9)} b{rng.integers(5)}:{rng.normal():.2f}\n"
        for i in range(n)
    )


def documents(n=40):
    """Lines of fastText."""
    rng = np.random.default_rng(2)
    return "".join(
        f"__label__{'xyz'[i % 3]} " + " ".join(f"word{k}" for k in rng.integers(0, 20, 5)) + "\n"
        for i in range(n)
    )


def table(n=40):
    """A CSV file of numbers, categories and texts."""
    rng = np.random.default_rng(3)
    lines = [
        f"{rng.normal():.3f},{'pqr'[rng.integers(3)]},word{rng.integers(9)} and,{label}"
        for label in ["yes", "no"] * (n // 2)
    ]
    return "\n".join(["a,b,c,label", *lines]) + "\n"


FILES = {
    "f.svm": (vectors(), {}, {}),
    "f.vw": (hashed(), {}, {"text": {"bits": 8}}),
    "f.ft": (documents(), {}, {"text": {"bits": 9, "idf": True}}),
    "f.csv": (table(), {"text": ("c",)}, {"text": {"bits": 6}}),
}
each_file = pytest.mark.parametrize("name", FILES)


def prepared(folder, name, **reading):
    """One of those files, written: how to read and how to encode it."""
    content, columns, encoding = FILES[name]
    path = folder / name
    path.write_text(content)
    options = ReadOptions(**reading, table=TableOptions(**columns))
    return Files(path, options), EncodeOptions(**encoding)


def loaded(files, encoding=EncodeOptions()):
    encoder, classes = make_encoder(files, encoding), Classes()
    return read_all(files, encoder, classes, learn=True), classes, encoder


# In memory and from files ------------------------------------------------------------------------


def learned_in_memory(files, encoding, how):
    data, classes, _ = loaded(files, encoding)
    state, _ = fit_linear(
        how.extend(data.rows),
        classes.values,
        data.codes,
        how,
        np.random.default_rng(0),
        sample_weight=data.weights,
    )
    return state, classes


def learned_from_files(files, encoding, how, budget=1, seed=0):
    encoder, classes = make_encoder(files, encoding), Classes()
    stream, rng = FromFiles(files, encoder, classes, how, budget), np.random.default_rng(seed)
    stream.start(rng)
    learn(stream, stream.state, how, rng)
    return stream.state, classes


def assert_same_state(a, b):
    """The same bits, whatever columns of zeros one of them has more."""
    width = min(a.width, b.width)
    for x, y in ((a.last(), b.last()), (a.U, b.U)):
        np.testing.assert_array_equal(x[:, :width], y[:, :width])
        assert not np.any(x[:, width:-1])
        assert not np.any(y[:, width:-1])
        np.testing.assert_array_equal(x[:, -1], y[:, -1])


@each_file
@pytest.mark.parametrize("rule", ["perceptron", "pa1", "logistic"])
def test_a_stream_in_order_learns_what_is_learned_in_memory(name, rule, tmp_path):
    how = Settings(rule=rule, epochs=3, shuffle=False)
    expected, known = learned_in_memory(*prepared(tmp_path, name), how)
    for block, threads in ((150, 1), (400, 2)):
        files, encoding = prepared(tmp_path, name, block=block, threads=threads)
        if name != "f.csv":
            assert sum(1 for _ in files.chunks()) > 1
        state, classes = learned_from_files(files, encoding, how)
        assert_same_state(state, expected)
        assert classes.values.tolist() == known.values.tolist()
        assert state.seen == expected.seen


@pytest.mark.parametrize("name", ["f.svm", "f.vw", "f.ft"])
def test_shuffled_windows_are_decided_by_the_seed_and_hold_every_example_once(name, tmp_path):
    how = Settings(epochs=4)
    runs = []
    for seed, threads in ((0, 1), (0, 2), (1, 1)):
        files, encoding = prepared(tmp_path, name, block=200, threads=threads)
        runs.append(learned_from_files(files, encoding, how, budget=1500, seed=seed)[0])
    np.testing.assert_array_equal(runs[0].W, runs[1].W)
    np.testing.assert_array_equal(runs[0].U, runs[1].U)
    assert not np.array_equal(runs[0].U, runs[2].U)
    data, *_ = loaded(*prepared(tmp_path, name))
    heavy = data.rows.n if data.weights is None else np.count_nonzero(data.weights)
    assert [run.seen for run in runs] == [4 * heavy] * 3


def test_a_stream_of_ever_new_classes_and_features_is_partial_fit_that_grows(tmp_path):
    path = tmp_path / "f.svm"
    lines = [f"{i // 20} {1 + i % 7}:1.5 {8 + i // 10}:{i % 5 - 2}" for i in range(80)]
    path.write_text("\n".join(lines))
    for learner in (
        Perceptron(shuffle=False, grow=True),
        PassiveAggressive(shuffle=False, grow=True),
        OnlineLogistic(shuffle=False, grow=True, fit_intercept=False),
    ):
        for X, y in widemargin.stream(path, block=100):
            learner.partial_fit(X, y)
        model = learner.model_
        how = Settings(
            rule=model.rule, keep=model.keep, eta=getattr(learner, "eta", 1.0), epochs=1,
            shuffle=False, fit_intercept=learner.fit_intercept,
        )  # fmt: skip
        state, classes = learned_from_files(
            Files(path, ReadOptions(block=100)), EncodeOptions(), how
        )
        assert classes.values.tolist() == [0, 1, 2, 3]
        assert state.width == 15
        assert_same_state(state, model.state)


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_a_pipe_is_learned_from_as_a_file(compress, tmp_path, monkeypatch):
    how = Settings(epochs=1, shuffle=False)
    expected, _ = learned_in_memory(*prepared(tmp_path, "f.svm"), how)
    piped = io.BufferedReader(io.BytesIO(compress(FILES["f.svm"][0].encode())))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=piped))
    files = Files("-", ReadOptions(block=200))
    assert (files.format, files.readable_again, files.size) == ("svmlight", False, 0)
    state, _ = learned_from_files(files, EncodeOptions(), how)
    assert_same_state(state, expected)


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("name", ["f.svm", "f.ft", "f.csv"])
def test_a_bad_line_is_skipped_once_however_often_it_is_read(name, shuffle, tmp_path):
    how = Settings(epochs=3, shuffle=shuffle)
    files, encoding = prepared(tmp_path, name)
    data, *_ = loaded(files, encoding)
    bad = {"f.svm": "1 x\n", "f.ft": "x\n", "f.csv": "1,p\n"}[name]
    with open(files.paths[0], "a") as file:
        file.write(bad)
    files = Files(files.paths, replace(files.options, skip_bad=1, block=150))
    state, _ = learned_from_files(files, encoding, how)
    assert files.patience.skipped == 1
    assert state.seen == 3 * data.rows.n
    with open(files.paths[0], "a") as file:
        file.write(bad)
    files = Files(files.paths, replace(files.options, skip_bad=1, block=150))
    with pytest.raises(DataError, match=rf"{name}:\d+.* \(1 bad line skipped before\)"):
        learned_from_files(files, encoding, how)


@pytest.mark.parametrize("stream", [True, False])
def test_one_class_only_is_an_error(stream, tmp_path):
    path = tmp_path / "f.svm"
    path.write_text("1 1:1\n" * 9)
    learner = Learner.of("perceptron", {"seed": 0})
    job = Job(str(tmp_path / "m.wm"), stream=stream, quiet=True)
    with pytest.raises(DataError, match=r"only one class \(1\) is present"):
        train_files([str(path)], ReadOptions(), EncodeOptions(), learner, job)


def test_one_class_at_first_is_passed_over(tmp_path):
    path = tmp_path / "f.svm"
    path.write_text("1 1:1\n" * 20 + "2 1:-1\n1 1:1\n" * 3)
    how = Settings(epochs=1, shuffle=False)
    state, classes = learned_from_files(Files(path, ReadOptions(block=60)), EncodeOptions(), how)
    assert classes.values.tolist() == [1, 2]
    assert state.seen == 26
    assert state.last()[0, 0] < 0


def test_labels_of_two_kinds_do_not_mix():
    classes = Classes()
    classes.add(Labels(np.array([3, 1, 7]), np.array([0, 1, 0])), "a")
    assert classes.values.tolist() == [1, 3]  # 7 is no example's
    with pytest.raises(DataError, match="b: labels such as 'x' do not mix with 1"):
        classes.add(Labels(np.array(["x"], object), np.array([0])), "b")
    classes.add(Labels(np.array([2, 1]), np.array([0, 1, -1])), "c")
    assert classes.values.tolist() == [1, 2, 3]
    assert classes.codes(Labels(np.array([3, 9]), np.array([0, 1, -1]))).tolist() == [2, -1, -1]
    names = Classes()
    names.add(Labels(np.array(["b", "a"], object), np.array([0, 1])), "a")
    with pytest.raises(DataError, match="labels such as 5 do not mix with 'a'"):
        names.add(Labels(np.array([5]), np.array([0])), "b")


def test_what_has_no_labels_is_not_learned_from(tmp_path):
    path = tmp_path / "f"
    path.write_text("some words\nmore words\n")
    with pytest.raises(DataError, match="f: has no labels to learn from"):
        loaded(Files(path, ReadOptions(format="text")))
    path.write_text("1 | a\n | b\n-1 | c\n")
    with pytest.raises(DataError, match=r"f:2:2: the example has no label"):
        loaded(Files(path))
    with pytest.raises(DataError, match=r"f:2:2: the example has no label"):
        list(widemargin.stream(path))


def test_more_than_the_budget_is_not_kept_in_memory(tmp_path):
    files, encoding = prepared(tmp_path, "f.svm", block=200)
    encoder = make_encoder(files, encoding)
    assert read_all(files, encoder, Classes(), learn=True, budget=500) is None
    assert read_all(files, encoder, Classes(), learn=True, budget=1 << 20) is not None


def test_lines_and_sources_of_what_was_read(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.svm").write_text("# x\n1 1:1\n\n2 2:1\n")
    data, classes, _ = loaded(Files(str(tmp_path / "*.svm")))
    assert data.lines.tolist() == [2, 4, 2, 4]
    assert [(os.path.basename(source), n) for source, n in data.sources] == [
        ("a.svm", 2),
        ("b.svm", 2),
    ]
    assert classes.values[data.codes].tolist() == [1, 2, 1, 2]


@pytest.mark.parametrize("name", ["f.svm", "f.vw", "f.ft"])
def test_the_shell_trains_the_same_in_memory_and_as_a_stream(name, tmp_path):
    weights = []
    learner = Learner.of("perceptron", {"seed": 0, "shuffle": "no", "epochs": 2})
    for stream in (False, True):
        files, encoding = prepared(tmp_path, name, block=300)
        job = Job(str(tmp_path / "m.wm"), stream=stream, quiet=True)
        assert train_files(files.paths, files.options, encoding, learner, job) == 0
        weights.append(widemargin.load_model(job.model).weights)
    np.testing.assert_array_equal(*weights)


# The cache ---------------------------------------------------------------------------------------


@each_file
def test_a_cache_gives_back_every_bit(name, tmp_path):
    files, encoding = prepared(tmp_path, name)
    data, classes, encoder = loaded(files, encoding)
    path = str(tmp_path / "f.wmc")
    write_cache(path, data, classes, encoder)
    assert is_cache(path)
    again, known, restored = read_cache(path)
    assert type(again.rows.stored) is type(data.rows.stored)
    assert (again.rows.n, again.rows.width, again.rows.distinct, again.rows.bias) == (
        data.rows.n, data.rows.width, data.rows.distinct, data.rows.bias,
    )  # fmt: skip
    for a, b in zip(again.rows.stored, data.rows.stored, strict=True):
        if isinstance(a, np.ndarray):
            assert a.dtype == b.dtype
            assert a.tobytes() == b.tobytes()
            assert not a.flags.writeable
    assert again.codes.tolist() == data.codes.tolist()
    assert again.lines.tolist() == data.lines.tolist()
    assert again.sources == data.sources
    assert (again.weights is None) == (data.weights is None)
    if data.weights is not None:
        assert again.weights.tobytes() == data.weights.tobytes()
    assert known.values.tolist() == classes.values.tolist()
    assert known.values.dtype == classes.values.dtype
    assert type(restored) is type(encoder)
    assert restored.describe() == encoder.describe()
    for key, array in encoder.arrays().items():
        np.testing.assert_array_equal(restored.arrays()[key], array)
    raw = next(files.chunks()).raw
    a, b = restored.encode(raw, 1.0), encoder.encode(raw, 1.0)
    assert a.stored.values.tobytes() == b.stored.values.tobytes()
    names = [encoder.feature_name(column) for column in range(min(encoder.width, 64))]
    assert [restored.feature_name(column) for column in range(len(names))] == names


def test_a_cache_is_of_files_of_this_size_and_time_read_this_way(tmp_path):
    files, encoding = prepared(tmp_path, "f.svm")
    source, path = files.paths[0], str(tmp_path / "f.wmc")
    made_from = stamp(files.paths, "options")
    write_cache(path, *loaded(files, encoding), made_from)
    assert read_cache(path, stamp(files.paths, "options")) is not None
    assert read_cache(path, stamp(files.paths, "other options")) is None
    assert read_cache(path, stamp([*files.paths, path], "options")) is None
    before = os.stat(source)
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert read_cache(path, stamp(files.paths, "options")) is None
    with open(source, "a") as file:
        file.write("1 1:1\n")
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert read_cache(path, stamp(files.paths, "options")) is None
    assert read_cache(path) is not None


def test_a_cache_that_is_cut_or_is_none_is_refused(tmp_path):
    files, encoding = prepared(tmp_path, "f.svm")
    path = tmp_path / "f.wmc"
    write_cache(str(path), *loaded(files, encoding))
    whole = path.read_bytes()
    strange = [whole[:n] for n in (0, 3, 8, 50, len(whole) // 2, len(whole) - 1)]
    strange += [whole + b"\0", b"x" * 1000, (100).to_bytes(8, "little") + b"{}" * 200]
    for content in strange:
        path.write_bytes(content)
        assert not is_cache(str(path))
        with pytest.raises(DataError, match=r"f.wmc: is not a cache of examples, or is cut short"):
            read_cache(str(path))


@each_file
def test_a_mapped_cache_trains_the_same_bits(name, tmp_path, monkeypatch):
    files, encoding = prepared(tmp_path, name)
    learner = Learner.of("pa", {"seed": 3, "epochs": 3})
    job = Job(str(tmp_path / "m.wm"), cache=True, quiet=True)
    weights = []
    for _ in range(2):
        assert train_files(files.paths, files.options, encoding, learner, job) == 0
        model = widemargin.load_model(job.model)
        weights.append((model.weights, model.state.U, model.classes.tolist()))
        assert is_cache(f"{files.paths[0]}.wmc")
        monkeypatch.setattr(train, "read_all", None)  # the second time nothing is read
    np.testing.assert_array_equal(weights[0][0], weights[1][0])
    np.testing.assert_array_equal(weights[0][1], weights[1][1])
    assert weights[0][2] == weights[1][2]


# LIBLINEAR ---------------------------------------------------------------------------------------


def liblinear(solver, labels, weights, bias):
    """The text of a model file. Row i of the weights is of feature i; the last of the bias."""
    width = len(weights) - (bias >= 0)
    head = f"solver_type {solver}\nnr_class {len(labels)}\nlabel {' '.join(map(str, labels))}\n"
    rows = "".join(" ".join(f"{w:.17g}" for w in row) + " \n" for row in weights)
    return f"{head}nr_feature {width}\nbias {bias:.17g}\nw\n{rows}"


def liblinear_predicts(labels, weights, bias, x):
    """predict_values of LIBLINEAR's linear.cpp."""
    extended = [*x, bias] if bias >= 0 else list(x)
    scores = [
        sum(w * v for w, v in zip(column, extended, strict=True))
        for column in zip(*weights, strict=True)
    ]
    if len(scores) == 1:
        return labels[0] if scores[0] > 0 else labels[1]
    return labels[max(range(len(scores)), key=scores.__getitem__)]


@pytest.mark.parametrize("bias", [-1, 1, 2.5, 0])
@pytest.mark.parametrize(
    ("solver", "labels", "vectors"),
    [
        ("L2R_LR", [1, -1], 1),
        ("L2R_LR", [-1, 1], 1),
        ("L2R_L2LOSS_SVC_DUAL", [7, 3], 1),
        ("MCSVM_CS", [2, 1], 2),
        ("MCSVM_CS", [1, 2], 2),
        ("MCSVM_CS", [3, 1, 2], 3),
        ("L2R_LR", [5, -1, 2], 3),
        ("L1R_L2LOSS_SVC", [1, 2, 3, 4], 4),
    ],
)
def test_a_model_of_liblinear_predicts_by_its_formula(solver, labels, vectors, bias, tmp_path):
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(4 + (bias >= 0), vectors)).tolist()
    path = tmp_path / "m"
    path.write_text(liblinear(solver, labels, weights, bias))
    assert is_liblinear(path)
    model = read_liblinear(path)
    X = 3.0 * rng.normal(size=(200, 4))
    expected = [liblinear_predicts(labels, weights, bias, x) for x in X]
    assert len(set(expected)) == len(labels)
    assert model.predict(X).tolist() == expected
    assert model.classes.tolist() == sorted(labels)
    if solver == "L2R_LR":
        assert np.argmax(model.predict_proba(X), axis=1).tolist() == [
            sorted(labels).index(label) for label in expected
        ]


@settings(max_examples=15)
@given(
    st.sampled_from([Perceptron, PassiveAggressive, OnlineLogistic]),
    st.sampled_from(["last", "average"]),
    st.integers(2, 4),
    st.sampled_from([True, False, 3.0]),
)
def test_a_model_that_goes_through_liblinear_predicts_as_before(
    tmp_path, kind, keep, classes, bias
):
    rng = np.random.default_rng(classes)
    X, y = rng.normal(size=(50, 5)), np.arange(50) % classes - 1
    learner = kind(keep=keep, fit_intercept=bias, epochs=2, random_state=0).fit(X, y)
    path = tmp_path / "m"
    write_liblinear(learner.model_, path)
    model = read_liblinear(path)
    assert model.predict(X).tolist() == learner.predict(X).tolist()
    np.testing.assert_allclose(
        model.decision_function(X), learner.decision_function(X), rtol=1e-12, atol=1e-12
    )
    if kind is OnlineLogistic and classes == 2:
        np.testing.assert_allclose(model.predict_proba(X), learner.predict_proba(X), rtol=1e-12)
    lines = path.read_text().splitlines()
    labels = [int(label) for label in lines[2].split()[1:]]
    weights = [[float(w) for w in line.split()] for line in lines[6:]]
    found = [liblinear_predicts(labels, weights, float(lines[4].split()[1]), x) for x in X]
    assert found == learner.predict(X).tolist()


def test_what_liblinear_cannot_hold(tmp_path):
    X = np.eye(2)
    with pytest.raises(DataError, match="only whole numbers as labels"):
        write_liblinear(Perceptron().fit(X, ["a", "b"]).model_, tmp_path / "m")
    with pytest.raises(DataError, match="a voted model"):
        write_liblinear(Perceptron(keep="vote").fit(X, [0, 1]).model_, tmp_path / "m")
    assert not (tmp_path / "m").exists()


WHOLE = liblinear("L2R_LR", [1, 2], [[1.0], [2.0], [3.0]], 1)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (WHOLE.replace("nr_class 2\n", ""), "not a LIBLINEAR model (no line 'nr_class')"),
        (WHOLE.replace("label 1 2\n", ""), "not a LIBLINEAR model (no line 'label')"),
        (WHOLE.replace("bias 1\n", ""), "not a LIBLINEAR model (no line 'bias')"),
        (WHOLE.replace("nr_feature 2\n", ""), "not a LIBLINEAR model (no line 'nr_feature')"),
        (WHOLE.replace("solver_type L2R_LR\n", ""),
         "not a LIBLINEAR model (no line 'solver_type')"),
        (WHOLE.replace("nr_class 2", "nr_class two"),
         "not a LIBLINEAR model (invalid literal for int() with base 10: 'two')"),
        (WHOLE.replace("label 1 2", "label 1 x"),
         "not a LIBLINEAR model (invalid literal for int() with base 10: 'x')"),
        (WHOLE.replace("bias 1", "bias one"),
         "not a LIBLINEAR model (could not convert string to float: 'one')"),
        (WHOLE.replace("label 1 2", "label 1 2 3"), "has the labels 1 2 3 for 2 classes"),
        (WHOLE.replace("label 1 2", "label 1 1"), "has the labels 1 1 for 2 classes"),
        (WHOLE.replace("nr_class 2", "nr_class 1"), "has the labels 1 2 for 1 classes"),
        (WHOLE.replace("nr_feature 2", "nr_feature 5"), "has 3 weights where its head says 6 x 1"),
        (WHOLE.replace("nr_feature 2", "nr_feature -1"), "has 3 weights where its head says 0 x 1"),
        (WHOLE.replace("bias 1", "bias -1"), "has 3 weights where its head says 2 x 1"),
        (WHOLE[:-3], "has 2 weights where its head says 3 x 1"),
        (WHOLE.partition("w\n")[0], "has 0 weights where its head says 3 x 1"),
        (WHOLE + "4 \n", "has 4 weights where its head says 3 x 1"),
        (WHOLE[:-3] + "x \n", "not a LIBLINEAR model (could not convert string to float: 'x')"),
        (WHOLE[:-3] + "nan \n", "has weights that are not finite numbers"),
        (WHOLE[:-3] + "-inf \n", "has weights that are not finite numbers"),
        (WHOLE.replace("L2R_LR", "L2R_L2LOSS_SVR"), "L2R_L2LOSS_SVR is no classifier"),
        (WHOLE.replace("L2R_LR", "ONECLASS_SVM"), "ONECLASS_SVM is no classifier"),
    ],
)  # fmt: skip
def test_damaged_models_of_liblinear(content, message, tmp_path):
    path = tmp_path / "m"
    path.write_text(content)
    with pytest.raises(ModelFileError) as error:
        read_liblinear(path)
    assert str(error.value) == f"{path}: {message}"


def test_a_model_of_liblinear_without_an_end_of_its_head(tmp_path):
    path = tmp_path / "m"
    path.write_text("solver_type L2R_LR\n" + "x\n" * 100)
    with pytest.raises(ModelFileError, match=r"m:11: expected the line w of a LIBLINEAR model"):
        read_liblinear(path)


# read and stream ---------------------------------------------------------------------------------


def test_read_gives_a_matrix_and_labels(tmp_path):
    path = tmp_path / "f.svm"
    path.write_text("+1 1:0.5 3:2\n-1 2:1\n")
    X, y = widemargin.read(path)
    assert sp.issparse(X)
    assert X.format == "csr"
    assert X.indices.dtype == X.indptr.dtype == np.int32
    assert X.toarray().tolist() == [[0.5, 0, 2], [0, 1, 0]]
    assert y.tolist() == [1, -1]
    assert y.dtype == np.int64
    assert widemargin.read(path, n_features=5)[0].shape == (2, 5)
    with pytest.raises(DataError, match="found 3 features, more than n_features=2"):
        widemargin.read(path, n_features=2)
    assert widemargin.read(path, dtype=np.float32, n_jobs=None)[0].dtype == np.float32
    (tmp_path / "g.svm").write_text("2 1:1\nbad\n")
    X, y = widemargin.read([path, tmp_path / "g.svm"], skip_bad=1)
    assert y.tolist() == [1, -1, 2]
    assert widemargin.read(str(tmp_path / "*.svm"), skip_bad=1)[0].shape == (3, 3)


def test_read_of_other_formats(tmp_path):
    expected = {
        "f.svm": ((60, 8), int),
        "f.vw": ((40, 256), int),
        "f.ft": ((40, 512), str),
    }
    for name, (shape, kind) in expected.items():
        files, encoding = prepared(tmp_path, name)
        X, y = widemargin.read(files.paths, **encoding.text)
        assert X.shape == shape
        assert {type(label) for label in y.tolist()} == {kind}
    files, _ = prepared(tmp_path, "f.csv")
    X, y = widemargin.read(files.paths, text="c", bits=6)
    assert len(X.toarray() if sp.issparse(X) else X) == 40
    assert set(y) == {"yes", "no"}
    copied = tmp_path / "data"
    copied.write_text(FILES["f.svm"][0])
    assert widemargin.read(copied, format="svmlight")[0].shape == (60, 8)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("f.svm", {"label": "y"}, "'label' is not an option for svmlight files"),
        ("f.svm", {"bits": 5}, "'bits' is not an option for svmlight files"),
        ("f.svm", {"scale": "standard"}, "'scale' is not an option for svmlight files"),
        ("f.vw", {"ngrams": 2}, "'ngrams' is not an option for vw files"),
        ("f.ft", {"nonsense": 2}, "nonsense"),
    ],
)
def test_options_that_mean_nothing_are_refused(name, options, message, tmp_path):
    prepared(tmp_path, name)
    for reader in (widemargin.read, lambda *given, **how: list(widemargin.stream(*given, **how))):
        with pytest.raises(TypeError, match=message):
            reader(tmp_path / name, **options)


@pytest.mark.parametrize("name", ["f.svm", "f.vw", "f.ft"])
def test_the_chunks_of_a_stream_are_what_read_gives(name, tmp_path):
    files, encoding = prepared(tmp_path, name)
    how = {k: v for k, v in encoding.text.items() if k != "idf"}
    X, y = widemargin.read(files.paths, **how)
    for block in (1, 100, 1 << 20):
        chunks = list(widemargin.stream(files.paths, n_features=X.shape[1], block=block, **how))
        assert len(chunks) > 1 or block > 100
        np.testing.assert_array_equal(
            sp.vstack([part for part, _ in chunks]).toarray(), X.toarray()
        )
        assert np.concatenate([labels for _, labels in chunks]).tolist() == y.tolist()


def test_a_stream_judges_the_first_index_by_its_first_chunk(tmp_path):
    path = tmp_path / "f.svm"
    path.write_text("1 1:1\n1 0:1\n")
    with pytest.raises(DataError, match="found the index 0 where indices seemed to begin at 1"):
        list(widemargin.stream(path, block=5))
    shapes = [X.shape for X, _ in widemargin.stream(path, block=5, zero_based=True)]
    assert shapes == [(1, 2), (1, 2)]


@pytest.mark.parametrize("kind", [Perceptron, PassiveAggressive, OnlineLogistic])
def test_learning_from_a_stream_is_one_unshuffled_epoch(kind, tmp_path):
    path = tmp_path / "f.svm"
    path.write_text(vectors(width=6, n=30) + vectors(seed=5, width=12))
    X, y = widemargin.read(path)
    expected = kind(epochs=1, shuffle=False).fit(X, y)
    learner = kind(shuffle=False, grow=True)
    widths = set()
    for part, labels in widemargin.stream(path, block=200):
        widths.add(part.shape[1])
        learner.partial_fit(part, labels)
    assert len(widths) > 1
    np.testing.assert_array_equal(learner.coef_, expected.coef_)
    np.testing.assert_array_equal(learner.intercept_, expected.intercept_)


def test_rows_of_what_was_read_are_rows_of_the_matrix(tmp_path):
    files, encoding = prepared(tmp_path, "f.svm")
    data, *_ = loaded(files, encoding)
    X, _ = widemargin.read(files.paths)
    np.testing.assert_array_equal(Rows.of(X).to_matrix().toarray(), data.rows.to_matrix().toarray())
