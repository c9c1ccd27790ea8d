"""Learning from files: the same in memory as window by window."""

import gzip
import io
import os
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from file_samples import (
    FILES,
    each_file,
    loaded,
    prepared,
    trained,
)

import widemargin
from widemargin import DataError, OnlineLogistic, PassiveAggressive, Perceptron
from widemargin.cli.trainer import Job
from widemargin.data.datasets import Classes, EncodeOptions, make_encoder, read_all
from widemargin.data.readers.chunk import Labels
from widemargin.data.readers.files import Files, ReadOptions
from widemargin.online.examples import Place
from widemargin.online.fit import fit_linear
from widemargin.online.from_files import FromFiles
from widemargin.online.learn import learn
from widemargin.online.settings import Settings


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
        x, y = a.spread(x), b.spread(y)
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


@each_file
@pytest.mark.parametrize("rule", ["perceptron", "pa1", "logistic"])
@pytest.mark.parametrize("batch", [4, 50])
def test_mini_batches_continue_from_one_chunk_to_the_next(name, rule, batch, tmp_path):
    how = Settings(rule=rule, epochs=3, shuffle=False, batch=batch, l2=0.001)
    expected, known = learned_in_memory(*prepared(tmp_path, name), how)
    for block, threads in ((150, 1), (400, 2)):
        files, encoding = prepared(tmp_path, name, block=block, threads=threads)
        state, classes = learned_from_files(files, encoding, how)
        assert_same_state(state, expected)
        assert classes.values.tolist() == known.values.tolist()
        np.testing.assert_array_equal(state.clock, expected.clock)


def test_a_mini_batch_over_several_chunks_can_be_resumed(tmp_path):
    how = Settings(epochs=2, shuffle=False, batch=7)

    def windows(place):
        files, encoding = prepared(tmp_path, "f.svm", block=150)
        encoder, classes = make_encoder(files, encoding), Classes()
        for chunk in files.chunks():  # as the saved model knows them
            encoder.observe(chunk.raw)
            classes.add(chunk.labels, chunk.source)
        stream, rng = FromFiles(files, encoder, classes, how, 1), np.random.default_rng(0)
        stream.start(rng)
        place.generator_states["window"] = rng.bit_generator.state
        for window in stream.epoch(place, rng):
            yield window
            place.leave(window.rows.n)

    whole = list(windows(Place()))
    assert len(whole) > 3
    assert all(len(window.order) % 7 == 0 for window in whole[:-1])
    before = sum(window.rows.n for window in whole[:2])
    rest = list(windows(Place(window=2, rows=before)))
    assert len(rest) == len(whole) - 2
    for one, other in zip(rest, whole[2:], strict=True):
        assert one.first_row == other.first_row
        np.testing.assert_array_equal(one.y, other.y)
        np.testing.assert_array_equal(one.rows.stored.values, other.rows.stored.values)


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
    assert len(files.skipped.lines) == 1
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
    job = Job(str(tmp_path / "m.wm"), stream=stream, quiet=True)
    with pytest.raises(DataError, match=r"only one class \(1\) is present"):
        trained(Files(path, ReadOptions()), EncodeOptions(), job)


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
    for stream in (False, True):
        files, encoding = prepared(tmp_path, name, block=300)
        job = Job(str(tmp_path / "m.wm"), stream=stream, quiet=True)
        weights.append(trained(files, encoding, job, shuffle="no", epochs=2).weights)
    np.testing.assert_array_equal(*weights)
