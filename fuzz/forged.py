"""Model files, caches and checkpoints with correct digests and corrupt content.

A few bytes decide what is changed in a valid file: numbers in its arrays, their shapes and types,
and values of its description. A file that loads must predict; one that does not must be refused
with a one-line error.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import hashlib
import json
import os
import pathlib
import shutil
import sys
import warnings
from typing import Any

import numpy as np

from fuzz.altered import UNSERVED, USES, use_model
from fuzz.readers import folder

HERE = pathlib.Path(__file__).parent
TESTS = HERE.parent / "tests"
_NAMES = {"<f8": "F64", "<f4": "F32", "<f2": "F16", "<i8": "I64", "<i4": "I32", "<i2": "I16"}
_NAMES |= {"|i1": "I8", "<u8": "U64", "<u4": "U32", "|u1": "U8"}
_KINDS = [*_NAMES]
_ODD: list[Any] = [
    *(0, 1, -1, 2, 7, 255, 1 << 16, 1 << 31, 1 << 40, (1 << 63) - 1, 1 << 64, 0.5, 1e308),
    *(None, True, False, "", "average", "vote", "\u202e<b>", [], {}, [0], [[1, 2], [3]], "1" * 50),
]
#: Signs of a header.
_SIGNS = b'0123456789{}[],:"\\-. FIUabc_\xff'


class Script:
    """Bytes that drive decisions: small numbers from the front, then zeros once they run out."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, below: int) -> int:
        """A number from 0 to `below` - 1."""
        if below <= 1 or self.at >= len(self.data):
            return 0
        wide = 1 if below <= 256 else 4
        piece = self.data[self.at : self.at + wide]
        self.at += wide
        return int.from_bytes(piece, "little") % below

    def any_of(self, choices: Any) -> Any:
        """One of several."""
        return choices[self.take(len(choices))]

    @property
    def over(self) -> bool:
        """Whether all bytes are used up."""
        return self.at >= len(self.data)


def read_parts(content: bytes, inside: str) -> tuple[dict[str, np.ndarray], Any]:
    """The arrays and the description of a file."""
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    about = json.loads(header.pop("__metadata__")[inside])
    kinds, arrays = {name: kind for kind, name in _NAMES.items()}, {}
    for name, spec in header.items():
        a, b = (8 + size + place for place in spec["data_offsets"])
        arrays[name] = np.frombuffer(content[a:b], kinds[spec["dtype"]]).reshape(spec["shape"])
    arrays.pop("sha256", None)
    return arrays, about


def write_parts(arrays: dict[str, np.ndarray], about: Any, inside: str, sealed: bool) -> bytes:
    """Undo `read_parts`, with a correct digest."""
    header: dict[str, Any] = {"__metadata__": {inside: json.dumps(about)}}
    body = b""
    given = {**arrays, "sha256": np.zeros(32, np.uint8)} if sealed else arrays
    for name, array in given.items():
        content = np.ascontiguousarray(array).tobytes()
        ends = [len(body), len(body) + len(content)]
        kind = _NAMES[array.dtype.str]
        header[name] = {"dtype": kind, "shape": array.shape, "data_offsets": ends}
        body += content
    text = json.dumps(header).encode()
    return seal(len(text).to_bytes(8, "little") + text + body, sealed)


def seal(whole: bytes, sealed: bool) -> bytes:
    """A file whose last 32 bytes are the digest of the others, if files of its kind have one."""
    return whole[:-32] + hashlib.sha256(whole[:-32]).digest() if sealed else whole


def damaged(whole: bytes, script: Script, sealed: bool) -> bytes:
    """A file whose header a script has changed, or not: a sign replaced or added, or its end cut.

    The digest is correct, so that only what the header says can be wrong.
    """
    if script.take(4) != 3:
        return whole
    size = int.from_bytes(whole[:8], "little")
    header = bytearray(whole[8 : 8 + size])
    for _ in range(1 + script.take(4)):
        at, sign = script.take(len(header)), script.any_of(_SIGNS)
        header[at : at + script.take(2)] = bytes([sign])
    told = len(header) if script.take(4) else script.any_of([0, 1, size, 1 << 40, (1 << 64) - 1])
    rest = whole[8 + size :]
    if script.take(4) == 3:
        rest = rest[script.take(len(rest)) :]
    return seal(told.to_bytes(8, "little") + bytes(header) + rest, sealed)


def change(arrays: dict[str, np.ndarray], about: Any, script: Script) -> tuple[dict, Any]:
    """Make the one to four changes that a script selects."""
    arrays = dict(arrays)
    about = json.loads(json.dumps(about))
    for _ in range(1 + script.take(4)):
        if script.take(3) == 0:
            _change_description(about, script)
        elif arrays:
            name = script.any_of(sorted(arrays))
            arrays[name] = _changed(arrays[name], script)
            if script.take(16) == 15:
                del arrays[name]
        if script.over:
            break
    return arrays, about


def _changed(array: np.ndarray, script: Script) -> np.ndarray:
    """An array with a changed number, shape, length or type."""
    way = script.take(6)
    if way <= 2 and array.size:
        array = array.copy()
        which = script.take(array.size)
        bits = array.reshape(-1).view(f"u{array.itemsize}")
        if way == 0:
            bits[which] ^= bits.dtype.type(1 << script.take(8 * array.itemsize))
        elif way == 1:
            bits[which] = bits.dtype.type(script.any_of([0, 1, 2, 3, 100, 1 << 7]))
        else:
            bits[which] = bits[script.take(array.size)]
        return array
    if way == 3:
        return array.reshape(-1)[: script.take(array.size + 1)]
    if way == 4:
        return np.resize(array.reshape(-1), script.take(64))
    kind = np.dtype(script.any_of(_KINDS))
    size = array.nbytes // kind.itemsize * kind.itemsize
    return np.frombuffer(array.tobytes()[:size], kind)


def _change_description(about: Any, script: Script) -> None:
    """Change a value somewhere in a description."""
    here = about
    for _ in range(6):
        keys = sorted(here) if isinstance(here, dict) else list(range(len(here)))
        if not keys:
            return
        key = script.any_of(keys)
        if isinstance(here[key], (dict, list)) and len(here[key]) and script.take(4):
            here = here[key]
            continue
        if script.take(8) == 7 and isinstance(here, dict):
            del here[key]
        elif isinstance(here[key], int) and script.take(2):
            here[key] += script.any_of([1, -1, 1 << 10, -(1 << 10), 1 << 33])
        else:
            here[key] = copy.deepcopy(script.any_of(_ODD))  # or lists may come to hold themselves
        return


def save_models(where: pathlib.Path) -> None:
    """Write models of every kind, made by helpers of the tests."""
    for name in ("", "web", "structured"):
        sys.path.append(str(TESTS / name))
    from annotated_language import annotated_corpus  # type: ignore[import-not-found]
    from serving_models import save_all  # type: ignore[import-not-found]

    import widemargin

    where.mkdir(parents=True)
    corpus = annotated_corpus()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        save_all(where)
        widemargin.Lemmatizer(random_state=0, bits=8).fit(corpus).save(where / "lemmas.wm")
        widemargin.Morphologizer(random_state=0, bits=8).fit(corpus).save(where / "feats.wm")
        annotator = widemargin.Annotator(jackknife=0, random_state=0).fit(corpus)
        annotator.save(where / "annotator.wm")
        annotator.model_.parser.smaller().save(where / "small.wm")
        _save_unserved(where)


def _save_unserved(where: pathlib.Path) -> None:
    """Write models of kinds that are seldom served."""
    import scipy.sparse

    import widemargin
    from widemargin.structured.tasks.tagging import Tagging

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 4)), np.arange(30) % 3
    widemargin.Perceptron(keep="vote", random_state=0).fit(X, y).save(where / "voted.wm")
    votes = widemargin.KernelPerceptron(keep="vote", random_state=0)
    votes.fit(scipy.sparse.csr_matrix(X), y).save(where / "votes.wm")
    gram = widemargin.KernelPerceptron(kernel="precomputed", keep="last", random_state=0)
    gram.fit(X @ X.T, y).save(where / "gram.wm")
    task = widemargin.StructuredPerceptron(Tagging(["D", "N"]), keep="vote")
    task.fit([["the", "dog"], ["a", "cat"]], [("D", "N"), ("D", "N")]).save(where / "task.wm")
    widemargin.boolean_network([0, 1, 1, 0]).save(where / "network.wm")


def model_files(served: bool = False) -> list[pathlib.Path]:
    """Files of models of every kind, trained beforehand because the interpreter is slow."""
    found = sorted(pathlib.Path(os.environ["FUZZ_MODELS"]).glob("*.wm"))
    return [path for path in found if not served or path.stem not in UNSERVED]


@functools.cache
def good_models() -> list[tuple[str, dict[str, np.ndarray], Any]]:
    """The names of the models, and the contents of their files."""
    return [(path.stem, *read_parts(path.read_bytes(), "model")) for path in model_files()]


def model(data: bytes) -> None:
    """A model file loads and can be used, or is refused with one line."""
    script = Script(data)
    name, arrays, about = script.any_of(good_models())
    path = folder() / "forged.wm"
    forged = write_parts(*change(arrays, about, script), "model", sealed=True)
    path.write_bytes(damaged(forged, script, sealed=True))
    use_model(path, name, script.take(len(USES) + 1))


@functools.cache
def good_caches() -> list[tuple[dict[str, np.ndarray], Any]]:
    """The contents of caches of files of several formats."""
    from click.testing import CliRunner

    from widemargin.cli.main import main

    files = {
        "a.svm": "1 1:1 3:2\n2 2:1 4:1\n1 1:2\n2 4:0.5\n" * 3,
        "b.csv": "a,b,label\n1,x,yes\n2,y,no\n3,x,no\n4,z,yes\n",
        "c.vw": "1 2 | a b:2\n-1 |n c d\n1 | a\n",
        "d.tsv": "x\tsome words\ny\tother words\nx\tsome\n",
    }
    found = []
    for name, content in files.items():
        path = folder() / name
        path.write_text(content)
        target = path.with_suffix(".wmc")
        words = ["convert", str(path), str(target)]
        ran = CliRunner().invoke(main, words, prog_name="widemargin")
        assert ran.exit_code == 0, ran.output
        found.append(read_parts(target.read_bytes(), "examples"))
    return found


def cache(data: bytes) -> None:
    """A cache of examples is learned from, or refused with one line."""
    script = Script(data)
    arrays, about = script.any_of(good_caches())
    path = folder() / "forged.wmc"
    forged = write_parts(*change(arrays, about, script), "examples", sealed=False)
    path.write_bytes(damaged(forged, script, sealed=False))
    use_cache(path)


def use_cache(path: pathlib.Path) -> str:
    """Learn from a cache; says how that went, as `use_model` does."""
    from widemargin.data.cache import is_cache, read_cache
    from widemargin.errors import DataError

    if not is_cache(str(path)):
        return "refused"
    try:
        found = read_cache(str(path))
    except DataError as error:
        assert str(error).isprintable(), str(error)
        return "refused"
    assert found is not None
    return _learn_from(*found)


def _learn_from(examples: Any, classes: Any, encoder: Any) -> str:
    """Learn from the rows of a cache for two epochs."""
    from widemargin.online.fit import fit_linear
    from widemargin.online.settings import Settings

    rows = examples.rows
    if rows.n == 0 or len(classes.values) < 2 or np.any(examples.codes < 0) or rows.width > 1 << 22:
        return "rejected"
    for column in range(min(rows.width, encoder.width, 4)):
        encoder.feature_name(column)
    try:
        with np.errstate(all="ignore"):
            settings = Settings(epochs=2)
            rng = np.random.default_rng(0)
            fit_linear(rows.with_bias(1.0), classes.values, examples.codes, settings, rng)
    except ValueError as error:
        assert "\n" not in str(error)
        return "rejected"
    return "fine"


class _StopError(Exception):
    """Raised after the first checkpoint."""


@functools.cache
def good_checkpoints() -> list[tuple[Any, dict[str, np.ndarray], Any]]:
    """Stopped trainings: how to resume each, and the contents of its checkpoint."""
    import widemargin
    from widemargin.training.checkpoints import Checkpoints

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), rng.integers(0, 3, 20)
    words = [["a", "b", "c"], ["b", "a"]] * 3
    tags = [["X", "Y", "X"], ["Y", "X"]] * 3
    makers = [
        lambda: widemargin.Perceptron(random_state=0, epochs=3).fit,
        lambda: widemargin.Perceptron(random_state=0, epochs=3, keep="vote").fit,
        lambda: widemargin.KernelPerceptron(random_state=0, epochs=3).fit,
        lambda: widemargin.KernelPerceptron(random_state=0, epochs=3, budget=4).fit,
        lambda: widemargin.Tagger(random_state=0, epochs=3).fit,
    ]
    write, due, found = Checkpoints.write, Checkpoints.due, []

    def stop(self: Checkpoints, *contents: Any) -> None:
        write(self, *contents)
        raise _StopError

    for number, make in enumerate(makers):
        given = (words, tags) if number == len(makers) - 1 else (X, y)
        place = folder() / f"points{number}"

        def go_on(make: Any = make, given: Any = given, place: pathlib.Path = place) -> Any:
            return make()(*given, checkpoint=place)

        Checkpoints.write, Checkpoints.due = stop, lambda self: True  # type: ignore[method-assign]
        try:
            with contextlib.suppress(_StopError):
                go_on()
        finally:
            Checkpoints.write, Checkpoints.due = write, due  # type: ignore[method-assign]
        for path in sorted(place.glob("*.wm"))[:1]:
            arrays, about = read_parts(path.read_bytes(), "model")
            found.append(((go_on, path), arrays, about))
    return found


def checkpoint(data: bytes) -> None:
    """A checkpoint lets the training resume, or is refused with one line."""
    script = Script(data)
    go_on, arrays, about = script.any_of(good_checkpoints())
    use_checkpoint(go_on, *change(arrays, about, script), task=about["task"])


def use_checkpoint(go_on: Any, arrays: dict[str, np.ndarray], about: Any, task: Any) -> str:
    """Resume a training from what is written as its checkpoint; says how that went."""
    resume, path = go_on
    shutil.rmtree(path.parent, ignore_errors=True)
    path.parent.mkdir()
    if isinstance(about, dict):
        about = {**about, "task": task}
    path.write_bytes(write_parts(arrays, about, "model", sealed=True))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            resume()
        except ValueError as error:
            assert "\n" not in str(error)
            return "refused"
    return "fine"
