"""`widemargin warmup`: compile all loops by running each once on tiny data."""

from __future__ import annotations

import itertools
import pathlib
import re
import shutil
import sys
import time
import warnings
from collections import deque
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from multiprocessing import get_context
from typing import Any

import click
import numpy as np
import scipy.sparse

from widemargin.data.encode.hashed import HashedEncoder
from widemargin.data.encode.named import NamedFeatures
from widemargin.data.encode.text import TextEncoder
from widemargin.data.readers.corpus import Corpus
from widemargin.data.readers.labelled import parse_labelled
from widemargin.data.readers.svmlight import parse_lines
from widemargin.data.readers.vw import parse_vw_lines
from widemargin.data.rows import Rows, Stack, frozen
from widemargin.errors import CacheWarning
from widemargin.kernel_machines.perceptron.fit import fit_kernel_perceptron
from widemargin.kernel_machines.perceptron.settings import KernelSettings
from widemargin.kernel_machines.svm.fit import KernelSVMSettings, fit_kernel_svm
from widemargin.linear_svm.dual_ascent import DualAscent
from widemargin.linear_svm.fit import LOSSES, SVMSettings, fit_svm
from widemargin.linear_svm.newton_joint import JointIterate, SmoothedJoint, iterate
from widemargin.linear_svm.problem import BinarySVM, StopSignal
from widemargin.linear_svm.steps import CoordinatePass
from widemargin.loops import cache_folders, cached_loops
from widemargin.loops.jit import compile_quietly
from widemargin.loops.kernel.panels import LONGEST
from widemargin.loops.svm.dual import combine
from widemargin.loops.svm.joint import add_ties
from widemargin.models.linear import LinearModel
from widemargin.online.columns import Columns
from widemargin.online.fit import fit_linear
from widemargin.online.one_by_one import AnswerThenLearn, OneByOne
from widemargin.online.scores import scores
from widemargin.online.settings import Settings
from widemargin.online.state import State
from widemargin.separability.examples import certify_examples
from widemargin.structured.lemmas.lemmatizer import Lemmatizer
from widemargin.structured.morphology.morphologizer import Morphologizer
from widemargin.structured.parser.parser import Parser
from widemargin.structured.tagger.tagger import Tagger
from widemargin.threads import thread_count
from widemargin.training.history import History


def warmup(quiet: bool) -> None:
    """Compile all loops in parallel processes, and remove the code of old versions."""
    began = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CacheWarning)  # the error says the same
        from widemargin.loops import compiling
    folder = compiling.find_cache_folder()
    compile_quietly()  # it shows its own progress
    shown = not quiet and sys.stderr.isatty()
    processes = min(thread_count(-1), len(PARTS))
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        running = [pool.submit(_compile_part, name) for name in PARTS]
        for done, part in enumerate(as_completed(running)):
            part.result()
            if shown:
                click.echo(f"\rcompiled {done + 1}/{len(PARTS)}", err=True, nl=False)
    forget_old_versions(folder)
    if not quiet:
        start = "\r" if shown else ""
        seconds = time.monotonic() - began
        click.echo(f"{start}compiled in {seconds:.0f} s, cached in {folder}", err=True)


def _compile_part(name: str) -> None:
    """Compile one of the parts, in a separate process."""
    compile_quietly()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few examples cause convergence warnings
        PARTS[name]()


def _learn_rows(matrix: Any, dtype: Any) -> None:
    """Fit tiny linear learners and SVMs, and predict."""
    ways = (Settings(epochs=1, keep="vote"), Settings(epochs=1, keep="vote", batch=2))
    for classes, settings in itertools.product((2, 3), ways):
        rows = Rows.of(matrix.astype(dtype))
        labels = np.arange(classes)
        codes = (np.arange(rows.n) % classes).astype(np.int64)
        rng = np.random.default_rng(0)
        state, _ = fit_linear(rows, labels, codes, settings, rng)
        model = LinearModel(labels, state, keep="vote")
        model.predict(rows)
        model.using("average").predict(rows)
        for loss, each in itertools.product(LOSSES, (rows, _widened(matrix.astype(dtype)))):
            fit_svm(each, labels, codes, SVMSettings(loss=loss, fit_intercept=False), rng)
        if rows.is_sparse:
            columns = Columns(rows.width)
            columns.number(rows)
            columns.look_up(rows, columns.count)
    # Longer SVM fits also compute scores with weights in double precision.
    scores(rows, rows.everything, np.zeros((1, rows.width + 1)))
    # Passes over more values than any training here has.
    signs = frozen(np.where(np.arange(rows.n) % 2, 1, -1).astype(np.int8))
    ascent = DualAscent(BinarySVM(rows, signs, frozen(np.empty(0))), rng)
    deque(CoordinatePass().run_one(ascent, StopSignal()), maxlen=0)
    # Newton steps in the dual, which no training here is hard enough to need.
    combine(rows.stored, rows.everything, np.zeros(rows.n), np.zeros(rows.width + 1))


def _widened(matrix: Any) -> Rows:
    """Rows with too many columns to be solved as a small SVM: the others are empty."""
    if scipy.sparse.issparse(matrix):
        matrix = matrix.copy()
        matrix.resize(matrix.shape[0], _WIDE)
        return Rows.of(matrix)
    return Rows.of(np.pad(matrix, ((0, 0), (0, _WIDE - matrix.shape[1]))))


def _learn_dense() -> None:
    for dtype in (np.float64, np.float32):
        _learn_rows(_MATRIX, dtype)
        _separate_classes(dtype)


def _separate_classes(dtype: Any) -> None:
    """Fit SVMs to three classes, also jointly, with mostly zeros in dense and in sparse rows."""
    matrix = np.tile(np.eye(_WIDE, dtype=dtype), (3, 1))
    rows, rng = Rows.of(matrix), np.random.default_rng(0)
    codes = (np.arange(rows.n) % 3).astype(np.int64)
    for loss in LOSSES:
        fit_svm(rows, np.arange(3), codes, SVMSettings(C=100.0, loss=loss), rng)
    joint = SVMSettings(multiclass="joint")
    fit_svm(rows, np.arange(3), codes, joint, rng)
    fit_svm(Rows.of(scipy.sparse.csr_matrix(matrix)), np.arange(3), codes, joint, rng)
    smoothed = SmoothedJoint(rows, codes, 3, np.ones(rows.n))
    deque(iterate(JointIterate.at(smoothed, np.zeros((rows.n, 3))), joint.tol), maxlen=0)
    add_ties(np.ones((1, 2)), np.ones((2, 1)), np.empty((4, 4)))


def _learn_sparse() -> None:
    for dtype in (np.float64, np.float32):
        _learn_rows(scipy.sparse.csr_matrix(_MATRIX), dtype)
    _reversed_columns(np.int32).without_duplicates(in_order=False)
    # Texts of several classes, i.e. rows with many columns, are solved side by side.
    columns = np.arange(12) * 1000
    matrix = scipy.sparse.csr_matrix((np.ones(12), columns, np.arange(13)), (12, 12_000))
    svm = SVMSettings(loss="squared_hinge")
    fit_svm(Rows.of(matrix), np.arange(3), np.arange(12) % 3, svm, np.random.default_rng(0))


def _learn_wide() -> None:
    """Fit learners to sparse rows whose column numbers need 64 bits."""
    wide = scipy.sparse.csr_matrix(_MATRIX)
    wide.indices = wide.indices.astype(np.int64)
    for dtype in (np.float64, np.float32):
        _learn_rows(wide, dtype)
    _reversed_columns(np.int64).without_duplicates(in_order=False)


def _reversed_columns(kind: Any) -> Rows:
    """Return one sparse row whose columns are not in order."""
    matrix = scipy.sparse.csr_matrix((np.ones(2), [1, 0], [0, 2]), (1, 2))
    matrix.indices = matrix.indices.astype(kind)
    return Rows.of(matrix)


def _certify() -> None:
    """Certify tiny sets, separable or not, with each stage of the cascade."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    sparse = scipy.sparse.csr_matrix(X * (rng.random(X.shape) < 0.2))
    for y in (X[:, 0] + X[:, 1] > 0.0, rng.integers(0, 2, 60)):
        for matrix in (X, X.astype(np.float32), sparse, sparse.astype(np.float32)):
            certify_examples(matrix, y)
            certify_examples(matrix[:12], y[:12])
    certify_examples([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])


def _learn_one_by_one() -> None:
    """Learn from a dict and from rows one by one, with two and with three classes."""
    rows = Rows.of(scipy.sparse.csr_matrix(np.ones((2, 1), np.float32)))
    for classes, joint in ((2, True), (3, True), (3, False)):
        W, features = np.zeros((1 if classes == 2 else classes, 2)), NamedFeatures(["a"])
        state = State.begin(W, "average", joint)
        ready = OneByOne(features, np.arange(classes), state, Settings(), 1.0, History())
        ready.learn({"a": 1.0}, 0)
        ready.predict({"a": 1.0})
        state = State.begin(W.astype(np.float32), "average", joint)
        turns = AnswerThenLearn(rows, state, Settings())
        turns.run(slice(0, 2), np.arange(2), None, 0.0)


def _learn_in_feature_space() -> None:
    """Fit tiny kernel perceptrons and kernel SVMs in all their variants."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    for dtype, kernel, k in itertools.product((np.float32, np.float64), ("poly", "rbf"), (2, 3)):
        classes, y = np.arange(k), np.arange(60) % k
        settings = KernelSettings(kernel=kernel, gamma=1.0, epochs=2, keep="vote")
        for way in (settings, replace(settings, multiclass="ovr"))[: k - 1]:
            model = fit_kernel_perceptron(X.astype(dtype), classes, y, way, rng)
            model.predict(X.astype(dtype))
        # Longer rows (on some processors, all) are multiplied by BLAS, and binary rows by counting.
        for matrix in (X, np.pad(X, ((0, 0), (0, LONGEST))), X > 0.0):
            rows = Rows.of(matrix.astype(dtype))
            how = KernelSVMSettings(kernel=kernel)
            trained = fit_kernel_svm(rows, classes, y, how)
            trained.model.predict(rows)
            # Small pairs have their own solver, unless there are dual values to start from.
            fit_kernel_svm(rows, classes, y, how, start=trained.start)
    settings = KernelSettings(gamma=1.0, keep="last", budget=3)
    fit_kernel_perceptron(X, np.arange(3), np.arange(60) % 3, settings, rng)


def _read_and_hash() -> None:
    """Read a line of every format, and encode a document in every way."""
    for dtype in (np.float32, np.float64):
        parse_lines(np.frombuffer(b"1 qid:1 1:0.5 2:1e-7\n", np.uint8), 1, dtype)
        piece = parse_vw_lines(np.frombuffer(b"1 2 'tag|a:2 b:1 c |d e\n", np.uint8), 1, dtype)
        for pairs in ((), (("a", "d"),)):
            HashedEncoder(4, interactions=pairs).encode(piece.raw, 1.0, note=True)
    texts = parse_labelled(np.frombuffer("a\ttwo words, ünd mehr\n".encode(), np.uint8), 1).raw
    for analyzer in ("word", "char", "char_wb"):
        encoder, stack = TextEncoder(analyzer=analyzer, ngrams=(1, 2), idf=True), Stack()
        encoder.encode_first(texts, stack, note=True)
        encoder.finish(stack.rows(encoder.width))
        encoder.encode(texts, 1.0)


def _sentence() -> Corpus:
    tree = {"word": [["a", "b"]], "upos": [["X", "Y"]], "head": [["2", "0"]]}
    return Corpus.of({**tree, "deprel": [["l", "r"]]})


def _tag() -> None:
    """Learn the tags of a sentence in every way."""
    corpus = _sentence()
    for order, search, bits in (
        (1, "exact", 8),
        (2, "exact", 8),
        (1, "beam", 8),
        (1, "exact", None),
    ):
        tagger = Tagger(order, search=search, bits=bits, tag_dictionary=1, epochs=1)
        model = tagger.fit(corpus, column="upos").model_
        model.lead(["a", "b"], model.codes(corpus))
        model.explain(["a"], 0)
        model.marginals(["a"])
        model.n_best(["a"], 1)
        model.margins(["a"])
    words = [list(map(str, range(40)))]
    for search in ("exact", "beam"):  # as many tags as rows of weights in two parts need
        Tagger(search=search, bits=8, epochs=1).fit(words, words).predict(words)
    numbers = [[{"size": 2.0}, {"size": -2.0}]]
    model = Tagger(bits=8, epochs=1).fit(numbers, [["X", "Y"]]).model_
    model.explain(numbers[0], 0)
    model.margins(numbers)


def _parse() -> None:
    """Learn the tree of a sentence in every way."""
    corpus = _sentence()
    for system, beam in (("arc-hybrid", 1), ("arc-hybrid", 2), ("eisner", 1), ("cle", 1)):
        parser = Parser(system, beam=beam, tags="upos", bits=8, epochs=1).fit(corpus)
        parser.predict(corpus)
        parser.explain(corpus[0], 0)
        parser.explain_label(corpus[0], 0)


def _choose() -> None:
    """Learn and predict lemmas and morphological features of a sentence."""
    columns = {"word": [["as", "a"]], "upos": [["X", "X"]], "lemma": [["a", "a"]]}
    Lemmatizer(tags="upos", bits=8, epochs=1).fit(columns).predict(columns)
    columns["feats"] = [["A=1", "A=2"]]
    Morphologizer(columns="feats", bits=8, epochs=1).fit(columns).predict(columns)


_MATRIX = np.eye(12)
#: More columns than a small SVM has.
_WIDE = 140
#: What to compile, in parts that take about the same time; the longest come first.
PARTS: dict[str, Callable[[], None]] = {
    "parse": _parse,
    "tag": _tag,
    "sparse": _learn_sparse,
    "dense": _learn_dense,
    "wide": _learn_wide,
    "kernel": _learn_in_feature_space,
    "certify": _certify,
    "one by one": _learn_one_by_one,
    "read": _read_and_hash,
    "choose": _choose,
}


def forget_old_versions(current: pathlib.Path) -> None:
    """Remove the machine code of other versions, and nothing else that may be next to it.

    Only folders that are named by a digest and contain no files but numba's and ours are removed.
    """
    from widemargin.loops.compiling import LOCKS

    cache_folders.forget_folders(current)
    for other in current.parent.iterdir():
        if other == current or other.is_symlink() or not re.fullmatch("[0-9a-f]{24}", other.name):
            continue
        files = [path for path in other.rglob("*") if not path.is_dir()]
        if files and all(
            path.suffix in (".nbi", ".nbc", cached_loops.ENDING)
            or path.name == "lock"
            or path.parent == other / LOCKS
            for path in files
        ):
            shutil.rmtree(other, ignore_errors=True)
