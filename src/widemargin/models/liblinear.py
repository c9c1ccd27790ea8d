"""Read and write LIBLINEAR's model files."""

from __future__ import annotations

import os

import numpy as np

from widemargin.errors import DataError, ModelFileError
from widemargin.models.linear import LinearModel
from widemargin.online.state import State
from widemargin.stores.writing import write_file

#: Solver names that we write: LIBLINEAR predicts in the same way with all of them, but gives
#: probabilities only with logistic regression.
_LOGISTIC, _JOINT, _OVR = "L2R_LR", "MCSVM_CS", "L2R_L1LOSS_SVC_DUAL"
_REGRESSIONS = ("L2R_L2LOSS_SVR", "L2R_L2LOSS_SVR_DUAL", "L2R_L1LOSS_SVR_DUAL", "ONECLASS_SVM")


def is_liblinear(path: str | os.PathLike[str]) -> bool:
    """Whether a file starts like a LIBLINEAR model."""
    with open(path, "rb") as file:
        return file.read(12) == b"solver_type "


def write_liblinear(model: LinearModel, path: str | os.PathLike[str]) -> None:
    """Write a model in the format of LIBLINEAR's programs."""
    labels = model.classes
    if labels.dtype.kind not in "iub":
        raise DataError("LIBLINEAR supports only integers as labels, but this model has strings")
    if model.keep == "vote":
        raise DataError("a voted model has no single weights, so LIBLINEAR cannot represent it")
    binary = len(model.stored_weights) == 1
    # LIBLINEAR's positive class is the first of two, ours is the second.
    order = labels[::-1] if binary else labels
    weights = model.coef.astype(np.float64)
    has_bias = bool(model.bias or model.threshold)
    if has_bias:
        weights = np.column_stack([weights, model.intercept])
    if not np.all(np.isfinite(weights)):
        raise DataError("the bias of this model, as one number, is too large for a float")
    # With a threshold in its bias, a logistic model would have other probabilities.
    logistic = model.rule == "logistic" and not model.threshold
    solver = _LOGISTIC if logistic else _OVR if binary else _JOINT
    lines = [
        f"solver_type {solver}",
        f"nr_class {len(labels)}",
        "label " + " ".join(str(int(label)) for label in order),
        f"nr_feature {model.state.width}",
        f"bias {1 if has_bias else -1}",
        "w",
    ]
    lines += [" ".join(f"{weight:.17g}" for weight in column) + " " for column in weights.T]
    write_file(path, [("\n".join(lines) + "\n").encode()])


def read_liblinear(path: str | os.PathLike[str]) -> LinearModel:
    """Read a model written by LIBLINEAR's `train`."""
    head: dict[str, str] = {}
    with open(path, encoding="ascii", errors="replace") as file:
        for number, line in enumerate(file, 1):
            key, _, value = line.strip().partition(" ")
            if key == "w":
                break
            head[key] = value
            if number > 10:
                raise ModelFileError(f"{path}:{number}: expected the line w of a LIBLINEAR model")
        try:
            weights = np.array(file.read().split(), np.float64)
            classes, width = int(head["nr_class"]), int(head["nr_feature"])
            bias = float(head["bias"])
            labels = np.array([int(label) for label in head["label"].split()], np.int64)
            solver = head["solver_type"]
        except KeyError as error:
            raise ModelFileError(f"{path}: not a LIBLINEAR model (no line {error})") from None
        except (ValueError, OverflowError) as error:
            raise ModelFileError(f"{path}: not a LIBLINEAR model ({error})") from None
    if solver in _REGRESSIONS:
        raise ModelFileError(f"{path}: {solver} is not a classifier")
    vectors = 1 if classes == 2 and solver != _JOINT else classes
    if classes < 2 or len(np.unique(labels)) != classes or len(labels) != classes:
        raise ModelFileError(f"{path}: has the labels {head['label']} for {classes} classes")
    columns = width + (bias >= 0)
    if width < 0 or weights.size != columns * vectors:
        raise ModelFileError(
            f"{path}: has {weights.size} weights, but its header says {columns} x {vectors}"
        )
    if not (np.all(np.isfinite(weights)) and np.isfinite(bias)):
        raise ModelFileError(f"{path}: has weights that are not finite numbers")
    W = np.zeros((vectors, width + 1))
    W[:, :columns] = weights.reshape(columns, vectors).T
    if vectors == 1 and labels[0] < labels[1]:
        W = -W
    elif vectors > 1:
        W = W[np.argsort(labels)]
        with np.errstate(over="ignore"):
            W = W[1:] - W[:1] if classes == 2 else W
    with np.errstate(over="ignore"):
        intercept = W[:, -1] * max(bias, 0.0)
    if not (np.all(np.isfinite(W)) and np.all(np.isfinite(intercept))):
        raise ModelFileError(f"{path}: has weights that are too large for a float")
    logistic = solver.endswith("LR")
    params = {"keep": "last"} if logistic else {"keep": "last", "rule": "margin"}
    return LinearModel(
        np.sort(labels),
        # LIBLINEAR trains logistic models one-vs-rest, and their probabilities depend on that.
        State.begin(W, "last", joint=not logistic),
        keep="last",
        rule="logistic" if logistic else "margin",
        bias=max(bias, 0.0),
        learner="OnlineLogistic" if logistic else "Perceptron",
        params=params,
    )
