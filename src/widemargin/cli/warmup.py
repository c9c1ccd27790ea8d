"""`widemargin warmup`."""

from __future__ import annotations

import itertools
import pathlib
import re
import shutil
import sys
import time

import click
import numpy as np
import scipy.sparse

from widemargin.fit import Settings, fit_linear
from widemargin.loops.jit import cache_folder
from widemargin.model import LinearModel
from widemargin.rows import Rows


def warmup(quiet: bool) -> None:
    """Fit something tiny in every storage, number type and way of learning; forget old versions."""
    began = time.monotonic()
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
    folder = cache_folder()
    if folder is not None:
        forget_old_versions(folder)
    if not quiet:
        where = "not kept" if folder is None else f"kept in {folder}"
        start = "\r" if sys.stderr.isatty() else ""
        click.echo(f"{start}compiled in {time.monotonic() - began:.0f} s, {where}", err=True)


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
