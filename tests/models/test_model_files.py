"""Model files: back exactly as saved, or refused."""

import contextlib
import json
import os
import resource
import signal
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from old_models import FOLDERS, LEARNERS, OLD
from safetensors.numpy import load_file, save_file

import widemargin
from widemargin import ModelFileError, OnlineLogistic, PassiveAggressive, Perceptron
from widemargin.data import cache
from widemargin.errors import DataError
from widemargin.modelfile import files
from widemargin.modelfile.files import read_model_file, write_model_file
from widemargin.training import checkpoints

X = np.random.default_rng(0).integers(-3, 4, (40, 3)).astype(float)
LABELS = {
    "ints": np.arange(40) % 3,
    "strings": np.array(["héllo", "wörld", "語"])[np.arange(40) % 3],
    "booleans": np.arange(40) % 2 == 0,
    "objects": np.array(["a", "bb"], object)[np.arange(40) % 2],
    "bytes": np.array([b"a", b"\xff"])[np.arange(40) % 2],
    "floats": (np.arange(40) % 2) * 2.0,
    "small ints": (np.arange(40) % 3).astype(np.int8),
}


@pytest.mark.parametrize("y", LABELS.values(), ids=LABELS.keys())
@pytest.mark.parametrize("keep", ["last", "average", "vote"])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_a_model_comes_back_as_it_was_saved(y, keep, kind, tmp_path):
    saved = Perceptron(
        keep=keep, random_state=3, class_weight=dict.fromkeys(np.unique(y).tolist()[:1], 2.0)
    )
    saved.fit(kind(X), y).save(tmp_path / "model.wm")
    back = widemargin.load(tmp_path / "model.wm")
    np.testing.assert_array_equal(back.decision_function(X), saved.decision_function(X))
    assert back.classes_.dtype == saved.classes_.dtype
    np.testing.assert_array_equal(back.predict(X), saved.predict(X))
    assert back.get_params() == saved.get_params()
    assert back.history_ == saved.history_
    assert repr(back.explain(X[0])) == repr(saved.explain(X[0]))
    back.set_params(shuffle=False).partial_fit(X, y)
    saved.set_params(shuffle=False).partial_fit(X, y)
    np.testing.assert_array_equal(back.decision_function(X), saved.decision_function(X))


@pytest.mark.parametrize(
    "learner",
    [
        PassiveAggressive(rule="pa2", C=0.5),
        OnlineLogistic(eta=(0.5, 0.25), l2=1e-3),
        Perceptron(start=np.ones((3, 3)), multiclass="ovr"),
        Perceptron(start=(np.ones((3, 3)), np.zeros(3)), batch=4),
    ],
    ids=str,
)
def test_every_learner_comes_back_with_its_parameters(learner, tmp_path):
    y = LABELS["ints"]
    learner.fit(X, y).save(tmp_path / "model.wm")
    back = widemargin.load(tmp_path / "model.wm")
    assert type(back) is type(learner)
    np.testing.assert_array_equal(back.decision_function(X), learner.decision_function(X))
    back.fit(X, y)


def test_a_learner_of_dicts_goes_on_learning_after_loading(tmp_path):
    learner = Perceptron(keep="vote")
    for i in range(30):
        learner.learn_one({"n": float(i % 5), "word": "ab"[i % 2]}, i % 3)
    learner.save(tmp_path / "model.wm")
    back = widemargin.load(tmp_path / "model.wm")
    for i in range(30, 60):
        example = {"n": float(i % 5), "word": "abc"[i % 3]}
        assert back.predict_one(example) == learner.predict_one(example)
        back.learn_one(example, i % 3)
        learner.learn_one(example, i % 3)


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.wm"
    Perceptron(keep="vote", random_state=0).fit(X[:8], LABELS["strings"][:8]).save(path)
    return path.read_bytes()


def _refused(path, content):
    path.write_bytes(content)
    with pytest.raises(ModelFileError) as caught:
        widemargin.load_model(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


#: Every 13th byte; from the first in the plain run, from the others in CI. These steps meet all
#: eight bits.
STEP = 13
steps = pytest.mark.parametrize(
    "first", [0, *(pytest.param(first, marks=pytest.mark.exhaustive) for first in range(1, STEP))]
)


@steps
def test_every_truncation_is_refused(first, content, tmp_path):
    for length in range(first, len(content), STEP):
        _refused(tmp_path / "cut.wm", content[:length])
    _refused(tmp_path / "cut.wm", content[:-1])
    _refused(tmp_path / "long.wm", content + b"\0")


@steps
def test_every_flipped_byte_is_refused(first, content, tmp_path):
    for at in range(first, len(content), STEP):
        flipped = bytearray(content)
        flipped[at] ^= 1 << (at % 8)
        _refused(tmp_path / "flipped.wm", bytes(flipped))


@pytest.mark.parametrize(
    "other",
    [b"", b"\x80\x04K\x01.", b"PK\x03\x04" + bytes(100), b"{}" * 100, b"\xff" * 200, bytes(200)],
)
def test_other_files_are_not_models(other, tmp_path):
    _refused(tmp_path / "other", other)


def test_a_safetensors_file_of_somebody_else_is_not_a_model(tmp_path):
    save_file({"weights": np.ones(100)}, tmp_path / "other.safetensors")
    with pytest.raises(ModelFileError, match="not a widemargin model"):
        widemargin.load(tmp_path / "other.safetensors")


def test_sizes_that_lie_cost_no_memory(tmp_path):
    header = json.dumps(
        {
            "__metadata__": {"model": json.dumps({"format": 1})},
            "W": {"dtype": "F64", "shape": [1 << 40], "data_offsets": [0, 1 << 43]},
            "sha256": {"dtype": "U8", "shape": [32], "data_offsets": [1 << 43, (1 << 43) + 32]},
        }
    ).encode()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    _refused(tmp_path / "lie.wm", len(header).to_bytes(8, "little") + header + bytes(64))
    _refused(tmp_path / "lie.wm", (1 << 62).to_bytes(8, "little") + bytes(100))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


@pytest.mark.parametrize("form", FOLDERS)
@pytest.mark.parametrize("name", LEARNERS)
def test_models_of_older_formats_answer_as_they_did(name, form):
    _, ask = LEARNERS[name]
    path = FOLDERS[form] / f"{name}.wm"
    assert read_model_file(path)[1]["format"] == form
    answers, before = ask(path), json.loads((path.parent / "answers.json").read_text())[name]
    if name in ("tagger", "task", "table"):
        assert answers == before
    else:  # another processor or compiler may add up in another order; texts are float32
        np.testing.assert_allclose(answers, before, rtol=1e-6 if name == "text" else 1e-9)


def test_a_file_says_its_format_and_who_wrote_it(tmp_path):
    widemargin.load(OLD / "perceptron.wm").save(tmp_path / "new.wm")
    _, about = read_model_file(tmp_path / "new.wm")
    assert (about["format"], about["widemargin"]) == (4, widemargin.__version__)


def test_a_model_of_a_newer_version_says_so(tmp_path, monkeypatch):
    with monkeypatch.context() as later:
        later.setattr(files, "FORMAT", 99)
        later.setattr(files, "__version__", "7.0")
        write_model_file(tmp_path / "new.wm", {"W": np.ones(2)}, {})
    with pytest.raises(ModelFileError, match=r"by a newer widemargin \(7\.0\); upgrade"):
        widemargin.load(tmp_path / "new.wm")


@pytest.mark.parametrize("form", [0, -1, True, "2", None, 1.5])
def test_a_format_that_never_was_is_refused(form, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "FORMAT", form)
    write_model_file(tmp_path / "odd.wm", {"W": np.ones(2)}, {})
    monkeypatch.undo()
    with pytest.raises(ModelFileError, match="not a widemargin model, or damaged"):
        widemargin.load(tmp_path / "odd.wm")


def test_a_cache_of_the_first_version_is_read():
    data, classes, _ = cache.read_cache(str(OLD / "rows.wmc"))
    assert (data.rows.n, classes.values.tolist()) == (4, [-1, 1])
    assert data.codes.tolist() == [1, 0, 1, 0]


def test_a_cache_of_a_newer_version_is_made_anew_or_says_so(tmp_path, monkeypatch):
    (tmp_path / "rows.svm").write_text("+1 1:1\n-1 2:1\n")
    path, made_from = str(tmp_path / "rows.wmc"), cache.stamp([str(tmp_path / "rows.svm")], "")
    examples = cache.read_cache(str(OLD / "rows.wmc"))
    with monkeypatch.context() as later:
        later.setattr(cache, "_FORMAT", 99)
        cache.write_cache(path, *examples, made_from)
    assert cache.is_cache(path)
    assert cache.read_cache(path, made_from) is None
    with pytest.raises(DataError, match=r"by a newer widemargin .*; upgrade"):
        cache.read_cache(path)


@pytest.mark.parametrize(
    ("form", "told"),
    [
        (1, "is a checkpoint of widemargin 0.1.0, .*finish with that version, or start again"),
        (99, "by a newer widemargin .*; upgrade"),
    ],
)
def test_a_checkpoint_of_another_version_is_not_resumed(form, told, tmp_path, monkeypatch):
    arrays, about = read_model_file(OLD / "perceptron.wm")
    folder = checkpoints.Checkpoints(tmp_path, {}, 0.0)
    if form > 1:  # the first version wrote no number
        about["checkpoint"] = form
    monkeypatch.setattr(files, "__version__", "0.1.0")
    write_model_file(folder.path, arrays, {**about, "task": {}, "course": {}})
    with pytest.raises(ModelFileError, match=told):
        checkpoints.Checkpoints(tmp_path, {}, 0.0, resume=True)


def test_a_description_that_does_not_fit_is_refused(tmp_path):
    write_model_file(tmp_path / "odd.wm", {"W": np.ones(2)}, {"learner": "Perceptron"})
    with pytest.raises(ModelFileError, match="does not fit"):
        widemargin.load(tmp_path / "odd.wm")


def test_a_file_from_before_there_were_encoders_still_loads(content, tmp_path):
    (tmp_path / "new.wm").write_bytes(content)
    arrays, about = read_model_file(tmp_path / "new.wm")
    assert about.pop("encoder") is None
    write_model_file(tmp_path / "old.wm", arrays, about)
    old, new = (widemargin.load(tmp_path / name) for name in ("old.wm", "new.wm"))
    np.testing.assert_array_equal(old.decision_function(X), new.decision_function(X))
    assert old.model_.encoder is None


def test_an_encoder_of_an_unknown_kind_is_refused(content, tmp_path):
    (tmp_path / "new.wm").write_bytes(content)
    arrays, about = read_model_file(tmp_path / "new.wm")
    write_model_file(tmp_path / "odd.wm", arrays, {**about, "encoder": {"kind": "smoke"}})
    with pytest.raises(ModelFileError, match="unknown kind of encoder 'smoke'"):
        widemargin.load_model(tmp_path / "odd.wm")


def test_an_encoder_that_lacks_its_arrays_is_refused(content, tmp_path):
    (tmp_path / "new.wm").write_bytes(content)
    arrays, about = read_model_file(tmp_path / "new.wm")
    told = {"kind": "text", "ngrams": [1, 1], "documents": 0}
    for encoder in (told, {**told, "bits": 99}, {**told, "smell": 1}, {"kind": "text"}):
        write_model_file(tmp_path / "odd.wm", arrays, {**about, "encoder": encoder})
        with pytest.raises(ModelFileError, match="does not fit"):
            widemargin.load_model(tmp_path / "odd.wm")


def test_the_file_is_plain_safetensors(content, tmp_path):
    (tmp_path / "model.wm").write_bytes(content)
    arrays = load_file(tmp_path / "model.wm")
    assert arrays["W"].shape == (3, 4)


@contextlib.contextmanager
def full_disk():
    """A limit on the size of files stands in for a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_failed_save_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "model.wm"
    learner = Perceptron(random_state=0).fit(X, LABELS["ints"])
    learner.save(path)
    before = path.read_bytes()
    with pytest.raises(OSError, match="File too large"), full_disk():
        learner.save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.wm"]


def test_a_model_is_not_saved_over_a_device():
    learner = Perceptron(random_state=0).fit(X, LABELS["ints"])
    with pytest.raises(ModelFileError, match="regular file"):
        learner.save("/dev/null")


def test_saving_through_a_link_replaces_what_it_points_to(tmp_path):
    learner = Perceptron(random_state=0).fit(X, LABELS["ints"])
    learner.save(tmp_path / "real.wm")
    (tmp_path / "link.wm").symlink_to(tmp_path / "real.wm")
    learner.save(tmp_path / "link.wm")
    assert (tmp_path / "link.wm").is_symlink()
    widemargin.load(tmp_path / "link.wm")


@pytest.mark.parametrize("learner", [Perceptron, widemargin.KernelSVM, widemargin.LinearSVM])
def test_files_with_parameters_that_were_not_checked_load(learner, tmp_path):
    y = np.arange(40) % 2
    learner(n_jobs=2).fit(X, y).save(tmp_path / "model.wm")
    arrays, about = read_model_file(tmp_path / "model.wm")
    about["params"] |= {"n_jobs": 2.0, "random_state": -1}
    write_model_file(tmp_path / "old.wm", arrays, about)
    again = widemargin.load(tmp_path / "old.wm")
    assert (again.n_jobs, again.random_state) == (2, None)
    assert isinstance(again.n_jobs, int)
    again.predict(X)


@pytest.mark.parametrize("seed", [-1, 1.5, "abc"])
@pytest.mark.parametrize("learner", [Perceptron, widemargin.KernelSVM, widemargin.Tagger])
def test_seeds_that_are_none_are_refused(learner, seed):
    words, tags = [["a", "b"]], [["X", "Y"]]
    given = (words, tags) if learner is widemargin.Tagger else (X, np.arange(40) % 2)
    with pytest.raises(ValueError, match=r"random_state=.* must be an integer"):
        learner(random_state=seed).fit(*given)


@pytest.mark.parametrize(
    "labels", [[b"no", b"yes"], ["\udce9", "a"], [np.longdouble(1), np.longdouble(2)]], ids=repr
)
@pytest.mark.parametrize("learner", [Perceptron, widemargin.KernelSVM, widemargin.LinearSVM])
def test_unusual_labels_come_back(learner, labels, tmp_path):
    kind = object if isinstance(labels[0], str) else None
    y = np.array(labels, kind)[np.arange(40) % 2]
    fitted = learner(random_state=0).fit(X, y)
    fitted.save(tmp_path / "model.wm")
    again = widemargin.load(tmp_path / "model.wm")
    assert again.predict(X).tolist() == fitted.predict(X).tolist()
    assert repr(again.certificate_) == repr(fitted.certificate_)


def test_numbers_of_other_types_are_saved(tmp_path):
    Perceptron(rule="pa1", C=Fraction(1, 2)).fit(X, np.arange(40) % 2).save(tmp_path / "model.wm")
    assert widemargin.load(tmp_path / "model.wm").C == 0.5
