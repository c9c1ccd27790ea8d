"""Files in which one array, or one value of the description, is replaced by something odd.

`alterations` lists them for one file, the same ones in every run, and `use_model` does with a model
what users do. A file must be refused with one line when it is loaded; what loads may reject a
question with one line, and nothing else may happen. The tests run samples of it;
`python -m fuzz.altered` runs all or, with a number n, every n-th alteration, and prints how the
files fared.
"""

from __future__ import annotations

import collections
import copy
import os
import pathlib
import sys
import tempfile
import time
import traceback
import warnings
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse

Parts = tuple[dict[str, np.ndarray], Any]
_KINDS = ("<f8", "<f4", "<f2", "<i8", "<i4", "|i1", "<u8", "<u4", "|u1")
#: What every value of a description is replaced by, or its removal.
_GONE = "(gone)"
_ODD: tuple[Any, ...] = (
    *(0, 1, -1, 2, 7, 1 << 31, 1 << 63, 1 << 70, 0.5, -2.5, 1e308, float("nan"), float("inf")),
    *(None, True, False, "", "x", "average", [], {}, [0], [[1, 2], [3]], ["x"], {"x": 1}, _GONE),
)
#: Of longer lists, only these items are replaced.
_ITEMS = (0, 1, 2, -1)
_TEXTS, _PLAIN = ["cheap pills", ""], ["The dogs don't bark. \n\nA!", ""]
_SENTENCE = ["The", "dog", "barks", "."]
_TAGGED = {
    "word": [["Dogs", "bark", "!"]],
    "upos": [["NOUN", "VERB", "X"]],
    "xpos": [["NNS", "VBP", "_"]],
    "feats": [["Number=Plur", "Mood=Ind", "_"]],
}
#: What models are asked that take neither rows nor plain sentences, by their names.
_QUESTIONS: dict[str, Any] = {
    "texts": _TEXTS,
    "strings": _TEXTS,
    "table": {"weight": [4.0], "indoor": [True], "food": ["fish"]},
    "annotator": _PLAIN,
    "words": _PLAIN,
    "lemmas": _TAGGED,
    "feats": _TAGGED,
    "small": _TAGGED,
    "dicts": [[{"lower": word.lower(), "length": len(word)} for word in _SENTENCE]],
    "task": [["the", "dog"]],
    "network": [[0, 1], [1, 1]],
    "features": [[{"word": "dog", "size": 1.5}, {"word": "barks", "size": -2.0}]],
}
#: The formats of the files with which models can be updated in the shell, by their names.
_UPDATED = {"logistic": "svm", "vectors": "svm", "svmlight": "svm", "vw": "vw"}
#: Models that the server refuses, such as those that need tags, or that it is not fuzzed with.
UNSERVED = ("lemmas", "feats", "small", "voted", "votes", "gram", "task", "network")
#: Seconds; slower alterations are printed.
_SLOW = 3.0
#: Wider rows are sparse, or not tried.
_WIDE, _WIDEST = 1 << 12, 1 << 24


def alterations(
    arrays: dict[str, np.ndarray], about: Any, every: int = 1
) -> Iterator[tuple[str, Parts]]:
    """Alterations of a file: what was done, and the altered contents; one in `every` of them."""

    def chosen(told: str) -> bool:
        return zlib.crc32(told.encode()) % every == 0

    for name, array in arrays.items():
        for how, other in _other_arrays(array):
            if chosen(told := f"{name} {how}"):
                yield told, ({**arrays, name: other}, about)
        if chosen(told := f"{name} is missing"):
            yield told, ({key: one for key, one in arrays.items() if key != name}, about)
    for place in _places(about):
        for odd in _ODD:
            if chosen(told := f"{'/'.join(map(str, place))} = {odd!r:.40}"):
                yield told, (arrays, _put(about, place, odd))


def _other_arrays(array: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Arrays to replace one by: of other types, shapes, lengths and values."""
    with np.errstate(all="ignore"):
        for kind in _KINDS:
            if array.dtype.str != kind:
                yield f"as {kind}", array.astype(kind)
    flat = array.reshape(-1)
    yield "half", flat[: array.size // 2]
    yield "empty", flat[:0]
    yield "deeper", array.reshape(1, *array.shape)
    yield "a column", array.reshape(-1, 1)
    yield "flat" if array.ndim > 1 else "a block", flat if array.ndim > 1 else flat[None, None]
    if array.ndim:
        yield "cut", array[:-1]
        yield "twice", np.concatenate([array, array])
        yield "reversed", array[::-1].copy()
    whole = array.dtype.kind in "iu"
    limits = np.iinfo(array.dtype) if whole else None
    least, most = (limits.min, limits.max) if limits else (np.nan, np.inf)
    for value in (0, 1, least, most):
        yield f"all {value}", np.full_like(array, value)
        for at in (0, -1) if array.size else ():
            other = array.copy()
            other.reshape(-1)[at] = value
            yield f"{value} at {at}", other


def _places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of a description and of everything in it."""
    yield place
    keys: Any = value if isinstance(value, dict) else ()
    if isinstance(value, list):
        keys = sorted({range(len(value))[at] for at in _ITEMS if -1 <= at < len(value) and value})
    for key in keys:
        yield from _places(value[key], (*place, key))


def _put(about: Any, place: tuple[Any, ...], odd: Any) -> Any:
    """A description with another value in one place."""
    if not place:
        return {} if odd is _GONE else odd
    changed = copy.deepcopy(about)
    *path, last = place
    here = changed
    for key in path:
        here = here[key]
    if odd is _GONE:
        del here[last]
    else:
        here[last] = copy.deepcopy(odd)
    return changed


# What users do


def use_model(path: pathlib.Path, name: str, only: int | None = None) -> str:
    """Load a model and do with it what users do; says how that went.

    Parameters
    ----------
    path : path
        The file.
    name : str
        The name of the model in `question_for`.
    only : int, optional
        The use to try, from 0; by default all. (If there are not as many, none.)

    Returns
    -------
    str
        "refused" if loading fails as it should, "rejected" if something that was asked of the model
        did, and "fine" otherwise.
    """
    from widemargin.errors import ModelFileError

    rejected = False
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            learner = _load(path, name)
        except ModelFileError as error:
            assert str(error).isprintable(), str(error)
            return "refused"
        for use in USES if only is None else USES[only : only + 1]:
            try:
                use(learner, name, path)
            except (ValueError, MemoryError) as error:  # columns without weights take no room
                assert "\n" not in str(error), f"{use.__name__}: {error}"
                rejected = True
    return "rejected" if rejected else "fine"


def _load(path: pathlib.Path, name: str) -> Any:
    if name == "network":
        from widemargin.models.networks import BooleanNetwork

        return BooleanNetwork.load(path)
    import widemargin

    return widemargin.load(path)


def question_for(learner: Any, name: str) -> Any:
    """Examples to ask a model for predictions."""
    if name in _QUESTIONS:
        return _QUESTIONS[name]
    if type(learner).__name__ in ("Tagger", "Parser"):
        return [_SENTENCE]
    width = int(getattr(learner, "n_features_in_", 5))
    if width <= _WIDE:
        return np.ones((2, width))
    if width > _WIDEST:
        raise ValueError(f"rows of {width} columns are not tried")
    return scipy.sparse.csr_matrix(([1.0, 1.0], ([0, 1], [0, 1])), (2, width))


def _predict(learner: Any, name: str, path: pathlib.Path) -> None:
    if name == "named":
        learner.predict_one({"size": 1.5, "colour": "red"})
    else:
        learner.predict(question_for(learner, name))


def _save(learner: Any, name: str, path: pathlib.Path) -> None:
    """Save a model and load it again."""
    again = path.with_name("again.wm")
    learner.save(again)
    _predict(_load(again, name), name, again)


def _explain(learner: Any, name: str, path: pathlib.Path) -> None:
    if not hasattr(learner, "explain") or name == "several":
        return
    given = question_for(learner, name)
    if type(learner).__name__ in ("Tagger", "Parser"):
        learner.explain(given[0], 1) if isinstance(given, list) else None
    elif name == "table":
        if hasattr(learner, "encoder_"):
            learner.explain({"weight": 4.0, "indoor": True, "food": "fish"})
    elif name == "network":
        learner.explain([0, 1])
    elif name == "named":
        if learner.model_.by_name:
            learner.explain({"size": 1.5, "colour": "red"})
    else:
        learner.explain(given[0])


def _tell(learner: Any, name: str, path: pathlib.Path) -> None:
    """Show a model in all ways that there are."""
    from widemargin import report

    repr(learner)
    str(getattr(learner, "history_", None))
    str(getattr(learner, "certificate_", None))
    str(getattr(learner, "coef_", None))
    if name in ("task", "network"):
        return
    getattr(learner.model_, "_repr_html_", str)()
    if name != "several":
        report(learner, path.with_name("page.html"))


def _inspect(learner: Any, name: str, path: pathlib.Path) -> None:
    """Inspect a model in the shell."""
    if name not in ("several", "network"):
        _run("inspect", path)
        _run("inspect", path, "--json")


def _update(learner: Any, name: str, path: pathlib.Path) -> None:
    """Continue the training of a model in the shell."""
    if name in _UPDATED:
        train = pathlib.Path(os.environ["FUZZ_MODELS"], f"train.{_UPDATED[name]}")
        _run("update", path, train, "--model", path.with_name("more.wm"), "--force")


def _run(*words: Any) -> None:
    """Run a command of the shell program, which must end with an exit code."""
    from click.testing import CliRunner

    from widemargin.cli.main import main

    # In standalone mode, the program would exempt all objects from garbage collection at its end.
    given = [str(word) for word in words]
    ran = CliRunner().invoke(main, given, prog_name="widemargin", standalone_mode=False)
    if ran.exception is not None and not isinstance(ran.exception, SystemExit):
        raise ran.exception
    if ran.exit_code:
        raise ValueError(ran.stderr.strip())


def _serve(learner: Any, name: str, path: pathlib.Path) -> None:
    """Describe a model as the server does."""
    from widemargin.web.serving.predictor import plain_json
    from widemargin.web.serving.served import load_served

    if name in UNSERVED:
        return
    plain_json(load_served(str(path), name).describe())


def _learn(learner: Any, name: str, path: pathlib.Path) -> None:
    """Continue the training, or make the model smaller."""
    if name == "named":
        learner.learn_one({"size": 1.5, "colour": "red"}, "apple")
        learner.predict_one({"size": 1.5})
    elif name == "task":
        learner.partial_fit([["the", "dog"]], [("N", "D")])
        _predict(learner, name, path)
    elif hasattr(learner, "partial_fit") and name != "gram":
        given = question_for(learner, name)
        size = 1 if name == "table" else 2
        labels = [learner.classes_[0]] * size
        learner.partial_fit(given, [{"a"}, {"b"}] if name == "several" else labels)
        _predict(learner, name, path)
    elif name not in ("dicts", "features", "network") and hasattr(learner.model_, "smaller"):
        learner.restore(learner.model_.smaller())
        _save(learner, name, path)


#: In this order: training changes the model.
USES: tuple[Callable[[Any, str, pathlib.Path], None], ...] = (
    *(_predict, _save, _explain, _tell, _inspect, _update, _serve, _learn),
)


# All of it


def altered_files(folder: pathlib.Path) -> Iterator[tuple[str, Parts, Callable[[Parts], str]]]:
    """Files to alter: their names, contents, and a function that uses altered contents."""
    from fuzz import forged

    path = folder / "altered.wm"

    def write(parts: Parts, inside: str) -> None:
        path.write_bytes(forged.write_parts(*parts, inside, sealed=inside == "model"))

    for name, arrays, about in forged.good_models():

        def use(parts: Parts, name: str = name) -> str:
            write(parts, "model")
            return use_model(path, name)

        yield name, (arrays, about), use
    for number, parts in enumerate(forged.good_caches()):

        def learn(parts: Parts) -> str:
            write(parts, "examples")
            found = forged.use_cache(path)
            try:
                _run("train", path, "--model", path.with_name("new.wm"), "--quiet", "--force")
            except ValueError:
                return "refused" if found == "refused" else "rejected"
            return found

        yield f"cache{number}", parts, learn
    for number, (go_on, arrays, about) in enumerate(forged.good_checkpoints()):

        def resume(parts: Parts, go_on: Any = go_on, task: Any = about["task"]) -> str:
            return forged.use_checkpoint(go_on, *parts, task)

        yield f"checkpoint{number}", (arrays, about), resume


def main(every: int, only: list[str]) -> int:
    """Alter files, and print how they fared, and each kind of failure once."""
    from fuzz.forged import save_models

    fared, failed = collections.Counter[str](), collections.defaultdict[str, list[str]](list)
    with tempfile.TemporaryDirectory() as folder:
        if "FUZZ_MODELS" not in os.environ:
            os.environ["FUZZ_MODELS"] = str(pathlib.Path(folder, "models"))
            save_models(pathlib.Path(folder, "models"))
        for name, whole, use in altered_files(pathlib.Path(folder)):
            if only and name not in only:
                continue
            before, began = fared.total(), time.process_time()
            for told, parts in alterations(*whole, every):
                start = time.process_time()
                try:
                    fared[use(parts)] += 1
                except Exception as error:
                    fared["failed"] += 1
                    failed[_kind_of(error)].append(f"{name}: {told}: {error!s:.90}")
                if time.process_time() - start > _SLOW:
                    print(f"{time.process_time() - start:.1f} s: {name}: {told}", flush=True)
            seconds = time.process_time() - began
            print(f"{name}: {fared.total() - before} in {seconds:.1f} s", flush=True)
    print(dict(fared))
    for kind, examples in failed.items():
        print(kind, len(examples), *examples[:4], sep="\n    ")
    return 1 if failed else 0


def _kind_of(error: Exception) -> str:
    """The type of an error, and where in the package it was raised."""
    places = traceback.extract_tb(error.__traceback__)
    *_, last = [at for at in places if "widemargin" in at.filename] or places
    return f"{type(error).__name__} {last.filename.split('widemargin/')[-1]}:{last.lineno}"


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1, sys.argv[2:]))
