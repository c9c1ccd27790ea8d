"""Files whose digest is right and whose content is meant to do harm: refused, at no cost."""

import json
import pickle
import resource

import numpy as np
import pytest
import scipy.sparse as sp
from forging import forged_cache, forged_model, header_of, sealed_file
from shell import run_shell
from small_language import made_corpus
from tagged_sentences import SENTENCES, TAGS

import widemargin
from widemargin import ModelFileError
from widemargin.data.cache import is_cache, read_cache
from widemargin.errors import DataError
from widemargin.modelfile.files import read_model_file, write_model_file
from widemargin.training.checkpoints import Checkpoints

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 4))
Y = np.arange(30) % 3
#: The kernel of a model, as its file describes it.
KERNEL = {"name": "rbf", "degree": 3, "gamma": 0.5, "coef0": 0.0, "called": ""}
#: The certificate of a kernel SVM.
WORTH = {
    **dict.fromkeys(("primal", "dual", "gap", "violation", "margin"), 1.0),
    **{"support_vectors": 3, "bounded": 2, "bound": None, "labels": [], "parts": []},
    **{"proved": False, "low_rank": None},
}
TEXTS = ["win money now", "see you at lunch", "cheap pills", "how is the family"] * 3


def saved(folder, name):
    """A small model of each kind."""
    path = folder / f"{name}.wm"
    wide = sp.random(30, 200_000, 1e-4, "csr", random_state=0)
    tagger = widemargin.Tagger(epochs=2, random_state=0)
    learners = {
        "linear": lambda: widemargin.Perceptron(random_state=0).fit(X, Y),
        "vote": lambda: widemargin.Perceptron(keep="vote", random_state=0).fit(sp.csr_matrix(X), Y),
        "wide": lambda: widemargin.Perceptron(random_state=0).fit(wide, Y),
        "text": lambda: widemargin.TextClassifier(random_state=0, idf=True, bits=10).fit(
            TEXTS, ["a", "b"] * 6
        ),
        "table": lambda: widemargin.TableClassifier(random_state=0).fit(
            {"food": ["fish", "meat", "bone", "milk"] * 3}, ["a", "b"] * 6
        ),
        "kernel": lambda: widemargin.KernelPerceptron(keep="vote", random_state=0).fit(
            sp.csr_matrix(X), Y
        ),
        "averaged kernel": lambda: widemargin.KernelPerceptron(random_state=0).fit(X, Y),
        "precomputed": lambda: widemargin.KernelPerceptron(
            kernel="precomputed", random_state=0
        ).fit(X @ X.T, Y),
        "strings": lambda: widemargin.KernelPerceptron(kernel="ngrams").fit(TEXTS, ["a", "b"] * 6),
        "sets": lambda: widemargin.Perceptron(random_state=0).fit(
            X, [{"a"}, {"b"}, {"a", "b"}] * 10
        ),
        "svm": lambda: widemargin.KernelSVM(random_state=0).fit(X, Y),
        "tagger": lambda: tagger.fit(SENTENCES, TAGS),
        "parser": lambda: widemargin.Parser(epochs=1, random_state=0).fit(made_corpus(20)),
    }
    learners[name]().save(path)
    return path


@pytest.fixture(scope="module")
def contents(tmp_path_factory):
    """What files of models hold, by the name of the model; read once."""
    folder, found = tmp_path_factory.mktemp("models"), {}

    def read(name):
        if name not in found:
            found[name] = read_model_file(saved(folder, name))
        arrays, about = found[name]
        return {key: array.copy() for key, array in arrays.items()}, json.loads(json.dumps(about))

    return read


def refused(path, content, told="wm: "):
    """Check that a file is refused in one line, and without memory."""
    path.write_bytes(content)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ModelFileError, match=told) as caught:
        widemargin.load(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400 + len(str(path))


def test_what_is_forged_without_a_change_loads(contents, tmp_path):
    arrays, about = contents("linear")
    (tmp_path / "same.wm").write_bytes(forged_model(arrays, about))
    widemargin.load(tmp_path / "same.wm")


# The header

SIZES = [-1, 1 << 40, (1 << 64) - 1, 1 << 64, 1e3, "9", None, True, [3]]


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("place", [("shape", 0), ("data_offsets", 0), ("data_offsets", 1)])
def test_sizes_that_lie(size, place, contents, tmp_path):
    def change(header):
        header["W"][place[0]][place[1]] = size

    refused(tmp_path / "x.wm", forged_model(*contents("linear"), change), "cut short or damaged")


@pytest.mark.parametrize(
    "shape",
    [[], [1 << 62, 1 << 62], [1] * 9 + [12], [12] * 100_000, "12", {"3": 5}, [-3, -5], None],
    ids=lambda shape: str(shape)[:20],
)
def test_shapes_that_cannot_be(shape, contents, tmp_path):
    def change(header):
        header["W"]["shape"] = shape

    refused(tmp_path / "x.wm", forged_model(*contents("linear"), change), "cut short or damaged")


@pytest.mark.parametrize("kind", ["BOOL", "F8", "", None, 7, "f8", ["F64"], "O", "F64\0"], ids=str)
def test_types_that_are_not_numbers(kind, contents, tmp_path):
    def change(header):
        header["W"]["dtype"] = kind

    refused(tmp_path / "x.wm", forged_model(*contents("linear"), change), "cut short or damaged")


def test_arrays_that_overlap_or_leave_gaps(contents, tmp_path):
    arrays, about = contents("linear")
    arrays |= {"a": np.zeros(4), "b": np.ones(4)}

    def overlap(header):
        header["b"]["data_offsets"] = header["a"]["data_offsets"]

    def hide(header):
        del header["a"]

    for change in (overlap, hide):
        refused(tmp_path / "x.wm", forged_model(arrays, about, change), "overlap, or leave bytes")


@pytest.mark.parametrize(
    "name",
    [
        *("../../etc/passwd", "/etc/passwd", "a\\b", "a\0b", "a\nb", "\x1b[31mW", "", " W"),
        *("a//b", "a/../b", "a" * 201, "é", "\u202eW", "<script>", ".hidden", "a/", "%2e"),
    ],
    ids=ascii,
)
def test_names_of_arrays_are_plain_words(name, contents, tmp_path):
    arrays, about = contents("linear")
    refused(tmp_path / "x.wm", forged_model(arrays | {name: np.zeros(2)}, about), "invalid name")


def test_an_array_that_is_there_twice(contents, tmp_path):
    arrays, about = contents("linear")
    header, body = header_of(arrays, {"model": json.dumps(about)})
    twice = json.dumps(header)[:-1] + f', "W": {json.dumps(header["W"])}}}'
    refused(tmp_path / "x.wm", sealed_file(twice, body), "damaged")
    for spec in ('"shape": [1], "shape"', '"dtype": "U8", "dtype"'):
        word = spec.split(", ")[1]
        refused(
            tmp_path / "x.wm", sealed_file(json.dumps(header).replace(word, spec, 1), body), "dam"
        )


@pytest.mark.parametrize("depth", [1_000, 100_000, 5_000_000])
@pytest.mark.parametrize("where", ["header", "description", "shape"])
def test_deep_json(depth, where, contents, tmp_path):
    arrays, about = contents("linear")
    deep = "[" * depth + "]" * depth
    header, body = header_of(arrays, {"model": "@"})
    text = json.dumps(header)
    if where == "header":
        text = text.replace('"W": {', f'"W": {{"more": {deep}, ', 1).replace("@", "{}")
    elif where == "description":
        text = text.replace(
            "@", json.dumps(about)[:-1].replace('"', '\\"') + f', \\"x\\": {deep}}}'
        )
    else:
        text = text.replace('"shape": [', f'"shape": [{deep}, ', 1).replace("@", "{}")
    if depth > 1_000 or where != "description":
        refused(tmp_path / "x.wm", sealed_file(text, body))


def test_a_long_header_is_not_read(tmp_path):
    path = tmp_path / "x.wm"
    with open(path, "wb") as file:  # a file with a hole
        file.write(((1 << 26) + 1).to_bytes(8, "little"))
        file.truncate(1 << 30)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ModelFileError, match="not a widemargin model"):
        widemargin.load(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


#: Text that a terminal must not show as it is.
UNPRINTABLE = "\u202e<b>\x1b[31m\n"


def test_names_in_an_error_are_printable(contents, cached, tmp_path):
    change = {"format": 99, "widemargin": UNPRINTABLE}
    arrays, about = contents("linear")
    refused(tmp_path / "x.wm", forged_model(arrays, {**about, **change}), "newer widemargin")
    refused(tmp_path / "x.wm", forged_model(arrays, {**about, "learner": UNPRINTABLE}), "damaged")
    refused(tmp_path / "x.wm", forged_model(arrays, {**about, "learner": "x" * 999}), "unknown")
    given = {**about, "task": {}, "widemargin": UNPRINTABLE}
    for form in (1, 99):
        content = forged_model(arrays, {**given, "checkpoint": form})
        (tmp_path / "checkpoint.wm").write_bytes(content)
        with pytest.raises(ModelFileError) as caught:
            Checkpoints(tmp_path, {}, resume=True)
        assert str(caught.value).isprintable()
    arrays, about = cached
    (tmp_path / "x.wmc").write_bytes(forged_cache(arrays, {**about, **change, "cache": 99}))
    with pytest.raises(DataError, match="newer widemargin") as caught:
        read_cache(str(tmp_path / "x.wmc"))
    assert str(caught.value).isprintable()


# Arrays that do not fit each other

HUGE = np.array([1 << 40, 1 << 20])


@pytest.mark.parametrize(
    ("model", "changes"),
    [
        ("wide", {"W.shape": HUGE}),
        ("wide", {"W.shape": np.array([3, -5])}),
        ("wide", {"W.columns": "most"}),
        ("wide", {"W.ends": "most"}),
        ("wide", {"columns.width": np.array([3])}),
        ("wide", {"columns.ids": "zero"}),
        ("wide", {"columns.ids": np.zeros((1, 3), np.uint32)}),
        ("linear", {"W": np.zeros((3, 0))}),
        ("linear", {"W": np.zeros((2, 5))}),
        ("linear", {"W": np.zeros(5)}),
        ("linear", {"W": np.zeros((3, 5), np.int64)}),
        ("linear", {"U": np.zeros((3, 4))}),
        ("linear", {"U": np.zeros((0, 5))}),
        ("linear", {"clock": np.zeros((1, 3))}),
        ("linear", {"clock": np.zeros(0)}),
        ("linear", {"clock": np.full((1, 4), np.inf)}),
        ("linear", {"labels.ends": np.array([5, 1, 3])}),
        ("linear", {"labels.ends": np.array([1, 2, 1 << 50])}),
        ("linear", {"labels.ends": np.array([1.0, 2.0, 3.0])}),
        ("linear", {"labels.bytes": np.array([48, 49, 49], np.uint8)}),
        ("kernel", {"labels.bytes": np.array([48, 50, 49], np.uint8)}),
        ("vote", {"log.example": "most"}),
        ("vote", {"log.label": "most"}),
        ("vote", {"log.label": np.zeros(1, np.int64)}),
        ("vote", {"log.origin": np.zeros(1, np.int64)}),
        ("vote", {"support.indices": "most"}),
        ("vote", {"support.starts": "most"}),
        ("vote", {"support.width": np.array([1 << 40])}),
        ("vote", {"start.shape": HUGE}),
        ("vote", {"start": np.zeros((3, 5), np.float16)}),
        ("kernel", {"log.example": "most"}),
        ("kernel", {"log.label": "most"}),
        ("kernel", {"coef": np.zeros((1, 1))}),
        ("kernel", {"summed": np.zeros((2, 3))}),
        ("kernel", {"intercept": np.zeros(0)}),
        ("kernel", {"support.indices": "most"}),
        ("kernel", {"support.index": np.zeros(2, np.int64)}),
        ("strings", {"support.strings.ends": "most"}),
        ("svm", {"support.values": np.zeros((2, 2))}),
        ("svm", {"support.sizes": np.zeros(3, np.int64)}),
        ("svm", {"support.sizes": np.zeros(3)}),
        # A class more than there are scores.
        ("kernel", {"labels.ends": np.arange(1, 5), "labels.bytes": np.full(4, 49, np.uint8)}),
        ("text", {"encoder.having.shape": HUGE}),
        ("text", {"encoder.having": np.zeros(3, np.uint32)}),
        ("text", {"encoder.having": np.full(1 << 10, 13, np.uint32)}),  # of 12 documents
        ("text", {"encoder.names.count": np.array([1 << 40, 0])}),
        ("text", {"encoder.names.ends": "most"}),
        ("text", {"encoder.names.columns": "most"}),
        # All bytes belong to a category, but three categories stand where four are told.
        ("table", {"encoder.categories.ends": np.array([4, 8, 16])}),
        ("table", {"encoder.categories.ends": np.array([4, 8, 12, 14, 16])}),
        ("table", {"encoder.count": np.zeros(0, np.int64)}),
        ("table", {"encoder.moments": np.zeros((0, 4))}),
        # A class list that is empty and whole.
        ("kernel", {"labels.ends": np.zeros(0, np.int64), "labels.bytes": np.zeros(0, np.uint8)}),
        ("svm", {"labels.ends": np.zeros(0, np.int64), "labels.bytes": np.zeros(0, np.uint8)}),
        ("linear", {"labels.ends": np.zeros(0, np.int64), "labels.bytes": np.zeros(0, np.uint8)}),
        ("tagger", {"index.rows": "most"}),
        ("tagger", {"names.lengths": np.zeros(2, np.int64)}),
        ("tagger", {"names.lengths": np.zeros(2)}),
        ("tagger", {"names.lengths": np.zeros(3, np.int64)}),
        ("tagger", {"names.bytes": np.zeros(8)}),
        ("tagger", {"names.sizes": np.zeros((2, 2), np.uint8)}),
        ("tagger", {"allowed": np.zeros((1, 1), np.uint8)}),
        ("tagger", {"lexicon.keys": np.ones(4, np.uint64), "lexicon.rows": np.zeros(4, np.uint32)}),
        ("tagger", {"lexicon.masks": np.zeros((0, 8), np.float32)}),
        ("tagger", {"lexicon.masks": np.zeros((1, 8), np.float16)}),
        ("tagger", {"lexicon.keys": np.zeros(0, np.float16)}),
        ("tagger", {"W.cells": np.zeros(0, np.uint8)}),
        ("parser", {"kind": "most"}),
        ("parser", {"of": "most"}),
        ("parser", {"allowed": np.zeros((1, 1), np.uint8)}),
        ("parser", {"tagger0.index.rows": "most"}),
    ],
    ids=lambda given: given if isinstance(given, str) else "+".join(given),
)
def test_arrays_that_do_not_fit(model, changes, contents, tmp_path):
    arrays, about = contents(model)
    for name, value in changes.items():
        if isinstance(value, str):
            if name not in arrays:
                pytest.skip(f"this model has no {name}")
            value, before = arrays[name].copy(), value
            value.flat[:] = value.flat[0] if before == "zero" else value
            if before == "most":
                value.flat[value.size // 2] = np.iinfo(value.dtype).max >> 1
        for other in [key for key in arrays if key.startswith(f"{name}.")]:
            del arrays[other]
        arrays[name] = np.asarray(value)
    refused(tmp_path / "x.wm", forged_model(arrays, about), "does not fit")


@pytest.mark.parametrize(
    ("model", "change"),
    [
        ("linear", {"learner": ["Perceptron"]}),
        ("linear", {"learner": None}),
        ("linear", {"labels": "<U1000000000"}),
        ("linear", {"labels": "|V8"}),
        ("linear", {"labels": "O"}),
        ("linear", {"labels": {}}),
        ("linear", {"keep": "vote"}),
        ("linear", {"keep": "everything"}),
        ("linear", {"model": "os.system"}),
        ("linear", {"params": {"__class__": 1}}),
        ("linear", {"params": {"eta": {"array": [[1], [2, 3]]}}}),
        ("linear", {"history": {"epochs": [[1]]}}),
        ("linear", {"joint": False}),
        ("linear", {"joint": 1}),
        ("linear", {"bias": "1"}),
        ("linear", {"by_name": 7}),
        ("table", {"by_name": True}),
        ("linear", {"threshold": None}),
        ("linear", {"chance": {"dict": [["bit_generator", "test"]]}}),
        ("linear", {"chance": 1}),
        ("linear", {"threshold": 1.0}),  # of three classes
        ("linear", {"params": {"n_jobs": "2"}}),
        ("sets", {"kind": ["eye", "<i8"]}),  # a function of scipy.sparse
        ("sets", {"kind": ["array", "O"]}),
        ("sets", {"kind": [["set"], "<i8"]}),
        *(
            ("strings", {"kernel": {**KERNEL, "name": "function", "ngrams": ngrams}})
            for ngrams in (["x", True], [-1, True], [[1], [2]], "xy", 3)
        ),
        *(
            ("linear", {"history": {"epochs": [], "stopped": "", "best": None, **change}})
            for change in (
                *({"cycle": None, "stopped": 7}, {"cycle": None, "best": "1"}, {"cycle": [1]}),
                *({"cycle": ["1", 2, True]}, {"epochs": [["1", 0, 0, 0.0, None, None, 0.0]]}),
                *({"epochs": [[1, 0, -1, 0.0, None, None, 0.0]], "cycle": None},),
                *({"epochs": [[1, 0, 1, None, None, None, 0.0]], "cycle": None},),
            )
        ),
        ("averaged kernel", {"keep": "vote"}),
        ("kernel", {"logged": False}),
        *(
            ("kernel", change)
            for change in (
                *({"keep": "everything"}, {"keep": ["vote"]}, {"rule": None}, {"joint": "yes"}),
                *({"count": "7"}, {"count": 0}, {"count": float("nan")}, {"R": []}),
                *({"width": 4.0}, {"threshold": "0"}, {"names": 1}, {"params": []}),
            )
        ),
        ("svm", {"keep": "average"}),
        ("svm", {"pairs": 1}),
        ("svm", {"pairs": False, "shape": 7}),
        ("svm", {"shape": "ova"}),
        ("precomputed", {"width": 1}),
        ("precomputed", {"dtype": "O"}),
        ("text", {"encoder": {"kind": "os.system"}}),
        ("svm", {"kernel": {"name": "function"}}),
        *(
            ("svm", {"kernel": {**KERNEL, **change}})
            for change in (
                *({"gamma": {}}, {"degree": "3"}, {"degree": -1}, {"degree": 1 << 70}),
                *({"coef0": None}, {"name": 7}, {"name": "tanh"}, {"gamma": 1 << 70}),
            )
        ),
        *(
            ("svm", {"worth": {**WORTH, **change}})
            for change in (
                *({"primal": "1"}, {"bounded": -1}, {"bound": []}, {"low_rank": {"rank": 1}}),
                *({"parts": [WORTH]}, {"proved": 1}),
            )
        ),
        ("svm", {"width": 1 << 40}),
        ("tagger", {"shape": [1 << 40, 8]}),
        ("tagger", {"shape": [-1, 8]}),
        ("tagger", {"index": 1 << 45}),
        ("tagger", {"shift": 0}),
        ("tagger", {"order": 3}),
        ("tagger", {"order": 2}),
        ("tagger", {"beam": 1 << 40}),
        ("tagger", {"features": 5}),
        ("tagger", {"scheme": "IOB3"}),
        ("tagger", {"given_scheme": []}),
        ("tagger", {"column": None}),
        ("tagger", {"half": 0}),
        ("tagger", {"unit": "1"}),
        ("tagger", {"temperature": 0}),
        ("tagger", {"certificate": {"mistakes": "3", "epochs": 1}}),
        ("tagger", {"certificate": {"mistakes": 3, "epochs": 1, "R": []}}),
        ("tagger", {"features": 1 << 40, "shape": [3, 8]}),
        ("parser", {"shapes": [[1 << 40, 16], [1 << 40, 16]]}),
        ("parser", {"beam": 1 << 40}),
        ("parser", {"system": "eisner"}),
        ("parser", {"columns": [["upos"]]}),
    ],
    ids=lambda given: given if isinstance(given, str) else ascii(given)[:40],
)
def test_descriptions_that_do_not_fit(model, change, contents, tmp_path):
    arrays, about = contents(model)
    refused(tmp_path / "x.wm", forged_model(arrays, {**about, **change}))


@pytest.mark.parametrize("change", [{"missing": "7"}, {"values": "4"}, {"name": 7}, {"kind": None}])
def test_columns_of_a_table_that_do_not_fit(change, contents, tmp_path):
    arrays, about = contents("table")
    about = json.loads(json.dumps(about))
    about["encoder"]["columns"][0].update(change)
    refused(tmp_path / "x.wm", forged_model(arrays, about))


@pytest.mark.parametrize(
    "change",
    [
        *(
            {"columns": [["food", "x"]]},
            {"columns": [["food", []]]},
            {"columns": [[1, "category"]]},
        ),
        *({"label": 1}, {"label_kind": "x"}, {"first": 7}, {"width": -1}),
    ],
    ids=str,
)
def test_a_schema_of_a_table_that_does_not_fit(change, contents, tmp_path):
    arrays, about = contents("table")
    about["encoder"]["schema"].update(change)
    refused(tmp_path / "x.wm", forged_model(arrays, about))


def test_a_table_without_a_schema_is_refused(contents, tmp_path):
    arrays, about = contents("table")
    about["encoder"]["schema"] = None
    refused(tmp_path / "x.wm", forged_model(arrays, about), "not described")


@pytest.mark.parametrize(
    ("changes", "change"),
    [
        ({"thresholds": np.zeros(3, np.int8)}, {}),
        ({"hidden": np.zeros((2, 2))}, {}),
        *(({}, {"output": output}) for output in (7, "1", None)),
        ({}, {"bias": [0]}),
    ],
    ids=str,
)
def test_a_network_that_does_not_fit_is_refused(changes, change, tmp_path):
    network = widemargin.boolean_network([0, 1, 1, 0])
    network.save(tmp_path / "good.wm")
    arrays, about = read_model_file(tmp_path / "good.wm")
    (tmp_path / "x.wm").write_bytes(forged_model(arrays | changes, about | change))
    with pytest.raises(ModelFileError, match="does not fit"):
        type(network).load(tmp_path / "x.wm")


@pytest.mark.parametrize(
    "change",
    [
        *({"count": 0}, {"count": 1 << 70}, {"seen": "x"}, {"longest": None}),
        *({"params": {"dict": [["beam", -1]]}}, {"params": {"dict": [["wide", 1]]}}),
        {"task_params": {"dict": [["tags", [["N"]]]]}},
    ],
    ids=str,
)
def test_a_model_of_a_task_that_does_not_fit_is_refused(change, tmp_path):
    from widemargin.structured.tasks.tagging import Tagging

    model = widemargin.StructuredPerceptron(Tagging(["D", "N"]))
    model.fit([["the", "dog"]], [("D", "N")]).save(tmp_path / "good.wm")
    arrays, about = read_model_file(tmp_path / "good.wm")
    refused(tmp_path / "x.wm", forged_model(arrays, about | change))


@pytest.mark.parametrize("name", ["names.lengths", "names.bytes", "names.sizes"])
def test_a_tagger_whose_names_are_missing_is_refused(name, contents, tmp_path):
    arrays, about = contents("tagger")
    del arrays[name]
    refused(tmp_path / "x.wm", forged_model(arrays, about), "does not fit")


def test_names_of_an_old_tagger_that_do_not_fit_are_refused(contents, tmp_path):
    arrays, about = contents("tagger")
    for name in ("names.sizes", "names.lengths"):
        del arrays[name]
    arrays |= {"names.bytes": np.zeros(3, np.uint8), "names.ends": np.array([1, 2, 3])}
    refused(tmp_path / "x.wm", forged_model(arrays, about), "does not fit")


def test_a_label_without_a_model(contents, tmp_path):
    arrays, about = contents("sets")
    refused(tmp_path / "x.wm", forged_model(arrays, {**about, "each": about["each"] * 2}))
    refused(tmp_path / "x.wm", forged_model(arrays, {**about, "each": about["each"][:1]}))


@pytest.mark.parametrize("eta", [np.zeros(1), np.full(1, np.inf), np.ones(2), np.ones(1, np.int64)])
def test_a_step_size_that_is_none(eta, contents, tmp_path):
    arrays, about = contents("linear")
    refused(tmp_path / "x.wm", forged_model(arrays | {"eta": eta}, about))


@pytest.mark.parametrize("option", [{"bits": 60}, {"names": 1 << 40}, {"documents": -1}], ids=str)
def test_encoders_that_ask_for_much(option, contents, tmp_path):
    arrays, about = contents("text")
    about["encoder"] |= option
    refused(tmp_path / "x.wm", forged_model(arrays, about), "does not fit")


# Nothing in a file is run


class Bomb:
    """What a pickle would do when it is read."""

    def __reduce__(self):
        return exec, ("raise SystemExit('a file was run')",)


def test_a_pickle_is_not_read(contents, tmp_path):
    refused(tmp_path / "x.wm", pickle.dumps(Bomb()), "not a widemargin model")
    arrays, about = contents("linear")
    arrays["W"] = np.frombuffer(pickle.dumps(Bomb()).ljust(96, b"."), np.uint8)
    refused(tmp_path / "x.wm", forged_model(arrays, about), "does not fit")


@pytest.mark.parametrize(
    "task",
    [
        *("os:system", "subprocess:Popen", "builtins:exec", "posix:system", ":", ""),
        *("widemargin.structured.tasks.no:Task", "widemargin.structured.tasks.../os:system"),
    ],
)
def test_a_task_that_is_no_task_is_not_made(task, tmp_path):
    about = {"learner": "StructuredPerceptron", "task": task, "task_params": {"dict": []}}
    about |= {"count": 1, "params": {"dict": []}, "history": {}}
    write_model_file(tmp_path / "x.wm", {}, about)
    with pytest.raises(ModelFileError):
        widemargin.load(tmp_path / "x.wm")


# Caches and checkpoints


@pytest.fixture(scope="module")
def cached(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    (folder / "rows.svm").write_text("1 1:1 3:2\n2 2:1 4:1\n1 1:2\n")
    run_shell(folder, "convert", "rows.svm", "rows.wmc")
    content = (folder / "rows.wmc").read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    about = json.loads(header.pop("__metadata__")["examples"])
    kinds = {"F64": "<f8", "F32": "<f4", "U64": "<u8", "U32": "<u4", "I64": "<i8", "U8": "|u1"}
    arrays = {}
    for name, spec in header.items():
        a, b = (8 + size + end for end in spec["data_offsets"])
        arrays[name] = np.frombuffer(content[a:b], kinds[spec["dtype"]]).reshape(spec["shape"])
    return arrays, about


def test_a_forged_cache_without_a_change_is_read(cached, tmp_path):
    (tmp_path / "x.wmc").write_bytes(forged_cache(*cached))
    assert read_cache(str(tmp_path / "x.wmc"))[0].rows.n == 3


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rows.indices", np.array([0, 1 << 31, 1, 3, 0], np.uint32)),
        ("rows.starts", np.array([0, 2, 1 << 40, 5], np.uint64)),
        ("rows.starts", np.array([0, 4, 2, 5], np.uint64)),
        ("rows.starts", np.array([0, 5], np.uint64)),
        ("rows.values", np.zeros(2, np.float32)),
        ("rows.values", np.zeros(5, np.float16)),
        ("codes", np.array([0, 9, 0])),
        ("codes", np.array([0, -2, 0])),
        ("lines", np.zeros(1, np.int64)),
        ("labels.ends", np.array([1, 1 << 40])),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_a_cache_that_does_not_fit_is_refused(name, value, cached, tmp_path):
    arrays, about = cached
    (tmp_path / "x.wmc").write_bytes(forged_cache(arrays | {name: value}, about))
    with pytest.raises(DataError, match=r"damaged cache .*; delete it"):
        read_cache(str(tmp_path / "x.wmc"))


@pytest.mark.parametrize(
    "change",
    [
        *({"width": 2}, {"width": -1}, {"encoder": {}}, {"sources": 3}),
        *({"width": 1 << 70}, {"width": 1 << 40}),
        *({"encoder": {"kind": "numbers", "width": 4, "first": one}} for one in ("", None, 7, 1.0)),
        *({"encoder": {"kind": "numbers", "width": one, "first": 1}} for one in ("4", -1)),
    ],
    ids=str,
)
def test_a_cache_whose_description_lies_is_refused(change, cached, tmp_path):
    arrays, about = cached
    (tmp_path / "x.wmc").write_bytes(forged_cache(arrays, {**about, **change}))
    with pytest.raises(DataError, match="damaged cache"):
        read_cache(str(tmp_path / "x.wmc"))


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_a_cache_with_sizes_that_lie_is_none(size, cached, tmp_path):
    def change(header):
        header["codes"]["shape"][0] = size

    (tmp_path / "x.wmc").write_bytes(forged_cache(*cached, change))
    assert not is_cache(str(tmp_path / "x.wmc"))


def test_a_checkpoint_is_read_as_carefully_as_a_model(contents, tmp_path):
    arrays, about = contents("linear")
    for change in ({"checkpoint": 1 << 70}, {"checkpoint": "2"}, {"task": [1]}, {"task": "x"}):
        content = forged_model(arrays, {**about, "task": {}, "checkpoint": 2, **change})
        (tmp_path / "checkpoint.wm").write_bytes(content)
        with pytest.raises(ModelFileError):
            Checkpoints(tmp_path, {}, resume=True)


#: Two columns of the log in a checkpoint.
ROWS, LABELS = "training.log.example", "training.log.label"


@pytest.mark.parametrize(
    "forge",
    [
        lambda arrays, about: arrays.update(W=np.zeros((3, 2)), U=np.zeros((3, 2))),
        lambda arrays, about: arrays.update(clock=np.zeros((0, 4))),
        lambda arrays, about: arrays.clear(),
        lambda arrays, about: about.update(run={}),
        lambda arrays, about: about.update(training=[]),
        lambda arrays, about: about.update(run=None),
        lambda arrays, about: about["run"].update(epoch="1"),
        lambda arrays, about: about["run"].update(begun=[]),
        lambda arrays, about: about["run"].update(before="average"),
        lambda arrays, about: about["run"].update(seconds=[0]),
        lambda arrays, about: about["run"]["counts"].update(examples=None),
        lambda arrays, about: arrays.update({LABELS: arrays[LABELS][:-1]}),
        lambda arrays, about: arrays.update({ROWS: arrays[ROWS] + 1000}),
        lambda arrays, about: about["training"].update(logs=[[1 << 20]]),
        lambda arrays, about: about["training"].update(logs=[[-1, 1]]),
        lambda arrays, about: about["run"].update(epoch=-1),
        lambda arrays, about: about["run"]["counts"].update(mistakes=-1),
        lambda arrays, about: about["run"]["counts"].update(updates=1 << 70),
        lambda arrays, about: about["training"].update(logs=[["1"]]),
        lambda arrays, about: about["training"].update(place=[0, 0]),
        lambda arrays, about: about["training"].update(place=[0, 0, -1]),
        lambda arrays, about: about["training"].update(place=[0, 0.0, 1]),
        lambda arrays, about: about["training"].update(cycles=[7, 0.0, 0]),
        lambda arrays, about: about["training"].update(cycles=[{"": "1"}, 0.0, 0]),
        lambda arrays, about: about["training"].update(cycles=[{}, "0", 0]),
        lambda arrays, about: about["training"].update(cycles=[{}, 0.0, None]),
        lambda arrays, about: about["training"].update(cycles=[{}]),
        lambda arrays, about: about.update(logged=False, keep="last"),
        lambda arrays, about: arrays.update({LABELS: arrays[LABELS] + 3}),
        lambda arrays, about: arrays.update({"training.before": np.zeros(3)}),
        lambda arrays, about: about["training"].update(generators=7),
        lambda arrays, about: about["training"].update(generators={}),
        lambda arrays, about: about["training"]["generators"].update(epoch=7),
    ],
)
def test_a_checkpoint_that_does_not_fit_is_refused(forge, monkeypatch, tmp_path):
    learner = widemargin.Perceptron(keep="vote", random_state=0)
    given = X, np.random.default_rng(1).integers(0, 3, 30)
    stop_at_a_checkpoint(learner, given, tmp_path, monkeypatch)
    forge_checkpoint(tmp_path, forge)
    with pytest.raises((ModelFileError, DataError)):
        learner.fit(*given, checkpoint=tmp_path)


#: How forged checkpoints of kernel perceptrons differ from true ones.
TRAINING = [
    *({"done": one} for one in ("1", [1], -1, 0.0, None, True)),
    *({"logs_scored": one} for one in ("1", -1)),
    *({"generators": one} for one in (7, {})),
    {"generator": 7},
]
LOGS = [{name: one} for name in ("logs", "pending") for one in (7, ["1"], [-1], [1 << 40], [0.0])]


@pytest.mark.parametrize("how", [{}, {"budget": 4}, {"epochs": 1}], ids=str)
@pytest.mark.parametrize("change", [*TRAINING, *LOGS], ids=str)
def test_a_checkpoint_of_a_kernel_perceptron_that_does_not_fit_is_refused(
    change, how, monkeypatch, tmp_path
):
    if "budget" in how and change in LOGS:
        pytest.skip("a budget has no log")
    learner = widemargin.KernelPerceptron(**how, random_state=0)
    stop_at_a_checkpoint(learner, (X, Y), tmp_path, monkeypatch)
    forge_checkpoint(tmp_path, lambda arrays, about: about["training"].update(change))
    with pytest.raises(ModelFileError, match="does not fit"):
        learner.fit(X, Y, checkpoint=tmp_path)


@pytest.mark.parametrize("how", [{}, {"budget": 4}], ids=str)
def test_a_checkpoint_with_numbers_of_another_type_is_refused(how, monkeypatch, tmp_path):
    learner = widemargin.KernelPerceptron(**how, random_state=0)
    stop_at_a_checkpoint(learner, (X, Y), tmp_path, monkeypatch)

    def shorten(arrays, about):
        arrays["training.clock"] = arrays["training.clock"].astype(np.float16)

    forge_checkpoint(tmp_path, shorten)
    with pytest.raises(ModelFileError, match="clock has the shape"):
        learner.fit(X, Y, checkpoint=tmp_path)


@pytest.mark.parametrize(
    "change", [{"longest": [1]}, {"done": "1"}, {"done": -1}, {"done": True}], ids=str
)
def test_a_checkpoint_of_a_tagger_that_does_not_fit_is_refused(change, monkeypatch, tmp_path):
    tagger = widemargin.Tagger(bits=8, epochs=2, random_state=0)
    given = [["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]]
    stop_at_a_checkpoint(tagger, given, tmp_path, monkeypatch)
    forge_checkpoint(tmp_path, lambda arrays, about: about["training"].update(change))
    with pytest.raises((ModelFileError, DataError)):
        tagger.fit(*given, checkpoint=tmp_path)


#: The snapshot of the best epoch in a checkpoint, by learner: a description and an array of it.
BEST = {
    "linear": (widemargin.Perceptron(random_state=0), {"epochs": "1"}, "W"),
    "voted": (widemargin.Perceptron(keep="vote", random_state=0), {"logged": 1}, "W"),
    "kernel": (widemargin.KernelPerceptron(random_state=0), {}, "snapshot"),
    "budget": (widemargin.KernelPerceptron(budget=4, random_state=0), {}, "A"),
}


@pytest.mark.parametrize("name", BEST)
def test_a_snapshot_that_does_not_fit_is_refused(name, monkeypatch, tmp_path):
    learner, changed, array = BEST[name]
    given = {"X_val": X, "y_val": Y}
    for number, forge in enumerate(
        (
            lambda arrays, about: about["run"]["best"].update(epoch="1"),
            lambda arrays, about: about["run"]["best"].update(score=None),
            lambda arrays, about: about["run"]["best"]["snapshot"].update(changed),
            lambda arrays, about: arrays.update({f"best.{array}": np.full((2, 2), 9.0)}),
        )
    ):
        if number == 2 and not changed:
            continue
        folder = tmp_path / str(number)
        stop_at_a_checkpoint(learner, (X, Y), folder, monkeypatch, after=1, **given)
        forge_checkpoint(folder, forge)
        with pytest.raises(ModelFileError, match="does not fit"):
            learner.fit(X, Y, checkpoint=folder, **given)


def test_a_checkpoint_of_a_tagger_has_a_snapshot_of_its_shape(monkeypatch, tmp_path):
    tagger = widemargin.Tagger(bits=8, epochs=3, random_state=0, validation=0.5)
    given = [["the", "dog"], ["a", "cat"]] * 4, [["D", "N"], ["D", "N"]] * 4
    stop_at_a_checkpoint(tagger, given, tmp_path, monkeypatch, after=1)
    forge_checkpoint(tmp_path, lambda arrays, about: arrays.update({"best.W": np.zeros((2, 2))}))
    with pytest.raises(ModelFileError, match="W has the shape"):
        tagger.fit(*given, checkpoint=tmp_path)


def stop_at_a_checkpoint(learner, given, folder, monkeypatch, after=0, **more):
    """Train until the first checkpoint after so many epochs is written."""

    class StopError(Exception):
        pass

    def stop(self, arrays, about):
        write(self, arrays, about)
        if about["run"]["epoch"] >= after:
            raise StopError

    write = Checkpoints.write
    with monkeypatch.context() as often:
        often.setattr(Checkpoints, "write", stop)
        often.setattr(Checkpoints, "due", lambda self: True)
        with pytest.raises(StopError):
            learner.fit(*given, checkpoint=folder, **more)


def forge_checkpoint(folder, forge):
    """Change a checkpoint; its digest is right again."""
    [path] = folder.rglob("*.wm")
    arrays, about = read_model_file(path)
    forge(arrays, about)
    path.write_bytes(forged_model(arrays, about))
