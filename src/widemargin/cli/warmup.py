"""`widemargin warmup`."""

from __future__ import annotations

import itertools
import pathlib
import re
import shutil
import sys
import time
from dataclasses import replace

import click
import numpy as np
import scipy.sparse

from widemargin.data.encode.hashed import HashedEncoder
from widemargin.data.encode.text import TextEncoder
from widemargin.data.readers.corpus import Corpus
from widemargin.data.readers.labelled import parse_labelled
from widemargin.data.readers.svmlight import parse_lines
from widemargin.data.readers.vw import parse_vw_lines
from widemargin.data.rows import Rows, Stack
from widemargin.kernel_machines.perceptron.fit import fit_kernel_perceptron
from widemargin.kernel_machines.perceptron.settings import KernelSettings
from widemargin.kernel_machines.svm.fit import KernelSVMSettings, fit_kernel_svm
from widemargin.linear_svm.fit import SVMSettings, fit_svm
from widemargin.loops.jit import cache_folder, compile_quietly
from widemargin.models.linear import LinearModel
from widemargin.online.columns import Columns
from widemargin.online.fit import fit_linear
from widemargin.online.settings import Settings
from widemargin.structured.parser.parser import Parser
from widemargin.structured.tagger.tagger import Tagger


def warmup(quiet: bool) -> None:
    """Read, encode and fit something tiny in every way; forget old versions."""
    began = time.monotonic()
    compile_quietly()  # it shows its own progress
    y = np.arange(12)
    X = np.eye(12)
    matrices = [X, scipy.sparse.csr_matrix(X)]
    wide = scipy.sparse.csr_matrix(X)
    wide.indices = wide.indices.astype(np.int64)
    matrices.append(wide)
    ways = (
        Settings(epochs=1, keep="vote"),
        Settings(epochs=1, keep="vote", batch=2),
    )
    work = list(itertools.product(matrices, (np.float64, np.float32), (2, 3), ways))
    for done, (matrix, dtype, classes, settings) in enumerate(work):
        if not quiet and done % 4 == 0 and sys.stderr.isatty():
            click.echo(f"\rcompiling {done}/{len(work)}", err=True, nl=False)
        rows = Rows.of(matrix.astype(dtype))
        labels = np.arange(classes)
        codes = (y % classes).astype(np.int64)
        rng = np.random.default_rng(0)
        state, _ = fit_linear(rows, labels, codes, settings, rng)
        model = LinearModel(labels, state, keep="vote")
        model.predict(rows)
        model.using("average").predict(rows)
        fit_svm(rows, labels, codes, SVMSettings(fit_intercept=False), rng)
        if rows.is_sparse:
            columns = Columns(rows.width)
            columns.number(rows)
            columns.look_up(rows, columns.count)
    _learn_in_feature_space(X, y % 3)
    _read_and_hash()
    _tag_and_parse()
    folder = cache_folder()
    if folder is not None:
        forget_old_versions(folder)
    if not quiet:
        where = "not kept" if folder is None else f"kept in {folder}"
        start = "\r" if sys.stderr.isatty() else ""
        click.echo(f"{start}compiled in {time.monotonic() - began:.0f} s, {where}", err=True)


def _learn_in_feature_space(X: np.ndarray, y: np.ndarray) -> None:
    """Fit tiny kernel perceptrons, in blocks and with all kernel values at hand, and SVMs."""
    for dtype, kernel in itertools.product((np.float32, np.float64), ("poly", "rbf")):
        settings = KernelSettings(kernel=kernel, gamma=1.0, epochs=2, keep="vote")
        for way in (settings, replace(settings, multiclass="ovr")):
            rng = np.random.default_rng(0)
            model = fit_kernel_perceptron(X.astype(dtype), np.arange(3), y, way, rng)
            model.predict(X.astype(dtype))
        rows = Rows.of(X.astype(dtype))
        svm = fit_kernel_svm(rows, np.arange(3), y, KernelSVMSettings(kernel=kernel)).model
        svm.predict(rows)
    settings = KernelSettings(gamma=1.0, keep="last", budget=3)
    fit_kernel_perceptron(X, np.arange(3), y, settings, np.random.default_rng(0))


def _read_and_hash() -> None:
    """Read a line of every format, and encode a document in every way."""
    for dtype in (np.float32, np.float64):
        parse_lines(np.frombuffer(b"1 qid:1 1:0.5 2:1e-7\n", np.uint8), 1, dtype)
        piece = parse_vw_lines(np.frombuffer(b"1 2 'tag|a:2 b:1 c |d e\n", np.uint8), 1, dtype)
        HashedEncoder(4).encode(piece.raw, 1.0, note=True)
    texts = parse_labelled(np.frombuffer("a\ttwo words, ünd mehr\n".encode(), np.uint8), 1).raw
    for analyzer in ("word", "char", "char_wb"):
        encoder, stack = TextEncoder(analyzer=analyzer, ngrams=(1, 2), idf=True), Stack()
        encoder.encode_first(texts, stack, note=True)
        encoder.finish(stack.rows(encoder.width))
        encoder.encode(texts, 1.0)


def _tag_and_parse() -> None:
    """Learn a sentence in every way."""
    tree = {"word": [["a", "b"]], "upos": [["X", "Y"]], "head": [["2", "0"]]}
    corpus = Corpus.of({**tree, "deprel": [["l", "r"]]})
    for order, search, bits in (
        (1, "exact", 8),
        (2, "exact", 8),
        (1, "beam", 8),
        (1, "exact", None),
    ):
        tagger = Tagger(order, search=search, bits=bits, tag_dictionary=1, epochs=1)
        model = tagger.fit(corpus, column="upos").model_
        model.codes(corpus)
        model.n_best(["a"], 1)
        model.margins(["a"])
    for system, beam in (("arc-hybrid", 1), ("arc-hybrid", 2), ("eisner", 1), ("cle", 1)):
        parser = Parser(system, beam=beam, tags="upos", bits=8, epochs=1).fit(corpus)
        parser.predict(corpus)


def forget_old_versions(current: pathlib.Path) -> None:
    """Remove the machine code of other versions, and nothing else that may lie beside it.

    Only folders that are named by a digest and hold no files but numba's and our lock are taken.
    """
    for other in current.parent.iterdir():
        if other == current or other.is_symlink() or not re.fullmatch("[0-9a-f]{24}", other.name):
            continue
        files = [path for path in other.rglob("*") if not path.is_dir()]
        if files and all(path.suffix in (".nbi", ".nbc") or path.name == "lock" for path in files):
            shutil.rmtree(other, ignore_errors=True)
