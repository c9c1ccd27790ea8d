"""The cache gives back every bit, or is refused."""

import os
from dataclasses import replace

import numpy as np
import pytest
from file_samples import each_file, loaded, prepared, trained

from widemargin import DataError
from widemargin.cli import training_data
from widemargin.cli.trainer import Job
from widemargin.data import cache
from widemargin.data.cache import is_cache, read_cache, stamp, write_cache
from widemargin.modelfile.layout import check_layout, pack


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


def test_a_cache_that_is_replaced_while_it_is_read_is_read_as_it_was(tmp_path, monkeypatch):
    files, encoding = prepared(tmp_path, "f.svm")
    data, classes, encoder = loaded(files, encoding)
    path, other = str(tmp_path / "f.wmc"), str(tmp_path / "other.wmc")
    write_cache(path, data, classes, encoder)
    write_cache(other, replace(data, codes=data.codes[::-1].copy()), classes, encoder)

    def check_and_replace(*layout):
        check_layout(*layout)
        os.replace(other, path)

    monkeypatch.setattr(cache, "check_layout", check_and_replace)
    assert read_cache(path)[0].codes.tolist() == data.codes.tolist()
    assert not os.path.exists(other)


@each_file
@pytest.mark.parametrize("old", [False, True])
def test_arrays_of_a_cache_are_aligned(name, old, tmp_path, monkeypatch):
    files, encoding = prepared(tmp_path, name)
    data, classes, encoder = loaded(files, encoding)
    data = replace(data, weights=np.ones(data.rows.n))
    if old:  # the weights came last, behind bytes

        def pack_as_before(arrays, about):
            weights = arrays.pop("weights")
            return pack({**arrays, "weights": weights}, about)

        monkeypatch.setattr(cache, "pack", pack_as_before)
    path = str(tmp_path / "f.wmc")
    write_cache(path, data, classes, encoder)
    again, _, restored = read_cache(path)
    arrays = [*again.rows.stored[:-1], again.codes, again.lines, again.weights]
    for array in [*arrays, *restored.arrays().values()]:
        assert array.flags.aligned


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
        with pytest.raises(DataError, match=r"f.wmc: not a cache of examples, or cut short"):
            read_cache(str(path))


@each_file
def test_a_mapped_cache_trains_the_same_bits(name, tmp_path, monkeypatch):
    files, encoding = prepared(tmp_path, name)
    job = Job(str(tmp_path / "m.wm"), cache=True, quiet=True)
    weights = []
    for _ in range(2):
        model = trained(files, encoding, job, "pa", seed=3, epochs=3)
        weights.append((model.weights, model.state.U, model.classes.tolist()))
        assert is_cache(f"{files.paths[0]}.wmc")
        monkeypatch.setattr(training_data, "read_all", None)  # the second time nothing is read
    np.testing.assert_array_equal(weights[0][0], weights[1][0])
    np.testing.assert_array_equal(weights[0][1], weights[1][1])
    assert weights[0][2] == weights[1][2]
