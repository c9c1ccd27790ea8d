"""Notes: a collection of arrays under readable names."""

from __future__ import annotations

import contextlib
import pathlib
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

#: The public data sets beside the repository.
DATA = pathlib.Path(__file__).resolve().parents[3] / "shared" / "data"
PROGRAM = [sys.executable, "-m", "widemargin"]
#: Columns of a history, without the times, which differ from run to run.
HISTORY = ("epoch", "mistakes", "updates", "loss", "change", "held_out", "examples", "gap")
#: The figures of all kinds of certificates.
FIGURES = (
    *("verdict", "primal", "dual", "gap", "violation", "support_vectors", "bounded", "margin"),
    *("bound", "proved", "mistakes", "epochs", "n", "R", "extended_margin", "gamma", "hinge_bound"),
    *("progress", "strict_margin", "asked", "w", "b", "extended", "examples", "shares", "support"),
    *("alpha", "separates", "labels"),
)
LOW_RANK = ("landmarks", "rank", "mean", "worst")

Arrays = dict[str, np.ndarray]
Put = Callable[[str, Any], None]


class Notes:
    """Arrays under readable names."""

    def __init__(self) -> None:
        self.arrays: Arrays = {}

    @contextlib.contextmanager
    def case(self, name: str) -> Iterator[Put]:
        """One fit: the names of its arrays are prefixed with the case's name.

        An error ends the case, not the program, and is recorded in the fingerprint.
        """

        def put(what: str, value: Any) -> None:
            full = f"{name}/{what}"
            if full in self.arrays:
                raise KeyError(f"{full} is noted already")
            self.arrays[full] = as_array(value)

        try:
            yield put
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
            if not isinstance(error, (ValueError, TypeError)) or "-v" in sys.argv:
                traceback.print_exc()
            self.arrays[f"{name}/error"] = as_array(type(error).__name__)


def as_array(value: Any) -> np.ndarray:
    """Any value as an array that can be stored without pickle; None becomes an empty one."""
    if value is None:
        return np.empty(0)
    if isinstance(value, (Fraction, str)):
        return np.array(str(value))
    found = np.asarray(value)
    if found.dtype.kind == "O":
        return np.array([str(one) for one in found.ravel().tolist()], np.str_)
    return found


def put_matrix(put: Put, name: str, matrix: Any) -> None:
    """A matrix or, if it is sparse or mostly zero, its nonzero values and their places."""
    if sp.issparse(matrix):
        matrix = matrix.tocsr()
        for part in ("data", "indices", "indptr"):
            put(f"{name}.{part}", getattr(matrix, part))
        return
    matrix = np.asarray(matrix)
    if matrix.size < 10_000:
        put(name, matrix)
        return
    flat = matrix.ravel()
    places = np.flatnonzero(flat)
    put(f"{name}.shape", matrix.shape)
    put(f"{name}.places", places)
    put(f"{name}.values", flat[places])


def put_history(put: Put, history: Any) -> None:
    """The history of every epoch, except for its time."""
    for column in HISTORY:
        put(f"history.{column}", history[column])
    put("history.best", history.best)
    cycle = history.cycle
    put("history.cycle", None if cycle is None else [cycle.first, cycle.last, cycle.proof])


def put_certificate(put: Put, certificate: Any, name: str = "certificate") -> None:
    """The figures of a certificate of any kind, and of its parts."""
    if certificate is None:
        put(name, None)
        return
    for figure in FIGURES:
        with contextlib.suppress(AttributeError):
            value = getattr(certificate, figure)
            if isinstance(value, tuple) and value and isinstance(value[0], Fraction):
                value = [str(share) for share in value]
            put(f"{name}.{figure}", value)
    low_rank = getattr(certificate, "low_rank", None)
    if low_rank is not None:
        put(f"{name}.low_rank", [getattr(low_rank, figure) for figure in LOW_RANK])
    parts = getattr(certificate, "parts", ())
    if hasattr(parts, "items"):
        for which, part in parts.items():
            put_certificate(put, part, f"{name}[{which}]")
    else:
        _put_parts(put, parts, name)


def _put_parts(put: Put, parts: Sequence[Any], name: str) -> None:
    """The figures of many small certificates, as an array per figure."""
    for figure in FIGURES:
        if parts and figure != "alpha" and hasattr(parts[0], figure):
            put(f"{name}.parts.{figure}", [repr(getattr(part, figure)) for part in parts])


def put_linear(put: Put, model: Any, X: Any, probabilities: bool = False) -> None:
    """What a linear learner has learned, and its predictions."""
    put("classes", model.classes_)
    put_matrix(put, "coef", model.coef_)
    put("intercept", model.intercept_)
    put("scores", model.decision_function(X))
    put("answers", model.predict(X))
    if probabilities:
        put("probabilities", model.predict_proba(X))
    put_history(put, model.history_)


def put_kernel(put: Put, model: Any, X: Any) -> None:
    """What a kernel learner has learned, and its predictions."""
    put("classes", model.classes_)
    put("support", model.support_)
    put("dual_coef", model.dual_coef_)
    put("scores", model.decision_function(X))
    put("answers", model.predict(X))
    put("n_iter", model.n_iter_)
    put_history(put, model.history_)


def put_file(put: Put, path: Any) -> None:
    """Every tensor of a model file, except for the checksum."""
    from safetensors.numpy import load_file

    for name, tensor in sorted(load_file(path).items()):
        if name != "sha256":
            put_matrix(put, f"file.{name}", tensor)


def put_saved(put: Put, model: Any) -> None:
    """The tensors of a saved model: its weights, whatever the code calls them."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "m.wm")
        model.save(path)
        put_file(put, path)
