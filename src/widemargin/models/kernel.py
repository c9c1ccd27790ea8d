"""A trained kernel model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from widemargin.data.encode.encoder import Encoder
from widemargin.data.encode.labels import plain_labels, typed_labels
from widemargin.data.encode.registry import read_encoder, write_encoder
from widemargin.data.readers.chunk import is_raw
from widemargin.data.rows import Rows
from widemargin.errors import DataError
from widemargin.kernels.blocks import block, check_values
from widemargin.kernels.kernel import Kernel, make_kernel
from widemargin.kernels.points import Points, points_of
from widemargin.loops.kernel.feature_space import vote_each, vote_together
from widemargin.loops.linear.passes import Log
from widemargin.markup.words import several
from widemargin.modelfile.checks import check_counts, check_kinds, check_places, check_shape
from widemargin.modelfile.files import SavedModel
from widemargin.modelfile.packing import (
    pack_params,
    pack_strings,
    pack_value,
    unpack_params,
    unpack_strings,
)
from widemargin.models.description import check_description
from widemargin.models.explanation import Explanation
from widemargin.models.support import explain_by_support, strongest_rows
from widemargin.online.mistake_log import read_log
from widemargin.online.orders import unpack_state
from widemargin.online.scores import best_class
from widemargin.online.state import KEEPS
from widemargin.parameters.values import check_choice
from widemargin.training.checkpoints import check_alike
from widemargin.training.history import History

#: Kernel values are computed in blocks of about this many bytes, which fit in the processor cache.
BLOCK_BYTES = 1 << 23
#: Number of examples that are scored together.
_TOGETHER = 512


@dataclass(frozen=True)
class KernelModel(SavedModel):
    """A sum of kernels: the score of x is sum_j coef[j] K(x_j, x) + intercept.

    Attributes
    ----------
    classes : array
        The labels, sorted. With two classes, the second is the positive one.
    kernel : Kernel
        The inner product in feature space.
    support : Points
        The support vectors; `support.index` holds their rows in the training data.
    coef : array (support, k)
        Their coefficients for each class in the last hypothesis; k is 1 for two classes.
    summed : array (support, k), or (0, k)
        The coefficients summed over all hypotheses, for the average.
    log : Log or None
        All corrections, for a vote; their `example` is an index into `support`.
    count : float
        The number of hypotheses: examples seen, plus one.
    intercept : array (k,)
        The bias of every score.
    joint : bool
        Whether all classes were learned together.
    keep, rule, learner, params, history, feature_names, encoder, threshold, generator_state
        As in `LinearModel`.
    R : float
        The length of the longest training example in feature space.

    Examples
    --------
    >>> from widemargin import KernelPerceptron
    >>> learner = KernelPerceptron(kernel="poly", degree=2, keep="last", shuffle=False, epochs=100)
    >>> model = learner.fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]).model_
    >>> str(model.kernel), model.support.index.tolist()
    ('(x.z + 1)^2', [0, 1, 2, 3])
    """

    classes: np.ndarray
    kernel: Kernel
    support: Points
    coef: np.ndarray
    summed: np.ndarray
    log: Log | None
    count: float
    intercept: np.ndarray
    joint: bool = True
    keep: str = "average"
    rule: str = "perceptron"
    learner: str = "KernelPerceptron"
    params: dict[str, Any] = field(default_factory=dict)
    history: History = field(default_factory=History)
    feature_names: Sequence[str] | None = None
    encoder: Encoder | None = None
    R: float = 0.0
    width: int = 0
    threshold: float = 0.0
    generator_state: Mapping[str, Any] | None = None

    def __repr__(self) -> str:
        kernel, stored = self.kernel.called or self.kernel.name, self.support.n
        return (
            f"{type(self).__name__}({self.learner}, {len(self.classes)} classes,"
            f" kernel {kernel!r}, {several(stored, 'support vector')})"
        )

    #: Attributes that estimators expect of every model: no constant feature, dicts or certificate.
    bias = 0.0
    by_name = False
    has_probabilities = False
    certificate = None

    @property
    def dtype(self) -> np.dtype:
        """The type of the numbers in its examples."""
        return self.support.dtype

    def points(self, X: Any) -> Points:
        """Convert examples to points; with an encoder, raw examples are encoded."""
        if self.encoder is not None and is_raw(X):
            X = self.encoder.encode(X, 0.0)
        if self.kernel.on_objects:
            return points_of(self.kernel, X)
        rows = X.with_bias(0.0) if isinstance(X, Rows) else Rows.of(X, bias=0.0, dtype=self.dtype)
        if rows.width != self.width:
            kind = "columns" if self.kernel.is_precomputed else "features"
            raise DataError(
                f"X has {rows.width} {kind}, but the model was trained with {self.width}"
            )
        if rows.dtype != self.dtype:
            rows = Rows.of(rows.to_matrix(), bias=0.0, dtype=self.dtype)
        return points_of(self.kernel, rows)

    def support_for(self, points: Points) -> tuple[Points, np.ndarray | None]:
        """The support in the form these points need, and the columns to use; None means all.

        Columns that are zero in the whole support contribute nothing to any product.
        """
        if not self.kernel.is_precomputed:
            points.prepare(self.kernel)
            self.support.prepare(self.kernel)
        if not self.kernel.by_products or not points.is_dense:
            return self.support, None
        return self.support.narrow, self.support.used

    def decision_function(self, X: Any, threads: int = 1) -> np.ndarray:
        """Compute one score per row for two classes (positive: the second), else one per class.

        The score of a voted model is the mean vote, from -1 to 1, or the share of the votes for
        each class. Kernel values take only a few megabytes at a time, however many rows there are.
        """
        points = self.points(X)
        support, columns = self.support_for(points)
        found = np.empty((points.n, self.coef.shape[1]))
        for begin in range(0, points.n, _TOGETHER):
            which = slice(begin, begin + _TOGETHER)
            part = points.take(which) if columns is None else points.keep(columns, which)
            if self.keep == "vote":
                assert self.log is not None
                votes = RunningScores(self.kernel, part, self.coef.shape[1], self.joint)
                votes.add(support, self.log, threads)
                found[which] = votes.result("vote", self.count)
            else:
                average = self.keep == "average"
                weights = self.summed if average else self.coef
                scores = combine(self.kernel, weights, support, part, threads)
                # Dividing the score rather than the weights keeps an exact tie a tie.
                found[which] = scores.T / (self.count if average else 1.0)
        found += self.intercept
        self._check_finite(found, points)
        if self.threshold:
            found -= self.threshold
        return found[:, 0] if found.shape[1] == 1 else found

    def _check_finite(self, scores: np.ndarray, points: Points) -> None:
        """Raise an error that names the first row with a score that is not finite, if any."""
        if not np.all(np.isfinite(scores)):
            row = int(np.argmin(np.all(np.isfinite(scores), axis=1)))
            alone = points.take(np.array([row]))
            check_values(block(self.kernel, alone, self.support), alone, self.support)
            raise DataError(f"row {row}: its score is too large for a float; scale the features")

    def predict(self, X: Any, threads: int = 1) -> np.ndarray:
        """Predict the label of every row.

        Ties go to the second of two classes, and to the first of more than two.
        """
        return self.classes[best_class(self.decision_function(X, threads))]

    def class_scores(self, X: Any, threads: int = 1) -> np.ndarray:
        """The scores that `predict` compares: one for two classes, else one per class."""
        return self.decision_function(X, threads)

    def explain(self, x: Any, top: int | None = 10, first: int = 0) -> Explanation:
        """Return the support vectors that decided the prediction for one example.

        They are named by their rows in the training data and their labels. The value of each is its
        kernel value with the example, and the weight its coefficient for the predicted class less
        that for the next best one. The shares of all of them and of the bias add up to the score.
        With one machine per pair of classes, the machine of these two classes is explained. For
        a vote, the coefficients are those of the average.

        Parameters
        ----------
        x : matrix with one row, or a list with one object
            The example.
        top : int or None
            Maximum number of rows to return, the most influential first; None for all.
        first : int
            The number of the first row of the training data.
        """
        return explain_by_support(self, x, top, first)

    def facts(self) -> list[tuple[str, Any]]:
        """Extra lines for the table that describes the model."""
        return [
            ("kernel", str(self.kernel)),
            ("support vectors", f"{self.support.n:,}"),
            ("longest example", f"{self.R:.6g} in the space of the kernel"),
        ]

    def top_rows(self, n: int = 10, first: int = 0) -> dict[str, list[tuple[str, float]]]:
        """For each score, the rows of the training data with the largest coefficients.

        `first` is the number of the first row.
        """
        return {
            name: [(f"row {row}", coef) for row, coef in rows]
            for name, rows in strongest_rows(self, n, first)
        }

    def using(self, keep: str) -> KernelModel:
        """Return the same training as the last, averaged or voted perceptron, without a threshold.

        (A threshold belongs to the scores that it was chosen on.)
        """
        check_choice("keep", keep, KEEPS)
        if keep == "vote" and self.log is None:
            raise ValueError("the mistake log was not kept: train with keep='vote'")
        if keep == "average" and not len(self.summed) and len(self.coef):
            raise ValueError("the average was not kept: train with keep='average' or 'vote'")
        return replace(self, keep=keep, threshold=self.threshold if keep == self.keep else 0.0)

    def with_kernel(self, function: Any) -> KernelModel:
        """Return the same model with its kernel function, which a file cannot store."""
        return replace(self, kernel=make_kernel(function))

    def contents(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The arrays and the description to store in a file."""
        labels, kind = plain_labels(self.classes)
        arrays = {
            "coef": self.coef,
            "summed": self.summed,
            "intercept": self.intercept,
            "support.index": self.support.index.astype(np.int64),
            **pack_strings("labels", labels),
        }
        arrays |= _pack_support(self.support, self.kernel)
        if self.feature_names is not None:
            arrays |= pack_strings("names", list(self.feature_names))
        if self.log is not None:
            arrays |= {f"log.{name}": column for name, column in self.log._asdict().items()}
        encoder, more = write_encoder(self.encoder)
        about = {
            "model": "kernel",
            "learner": self.learner,
            "params": pack_params(self.params),
            "kernel": self.kernel.to_dict(),
            "keep": self.keep,
            "rule": self.rule,
            "joint": self.joint,
            "count": self.count,
            "width": self.width,
            "R": self.R,
            "dtype": self.support.dtype.str,
            "logged": self.log is not None,
            "labels": kind,
            "names": self.feature_names is not None,
            "history": self.history.to_dict(),
            "encoder": encoder,
            "threshold": self.threshold,
        }
        if self.generator_state is not None:
            about["chance"] = pack_value(self.generator_state)
        return arrays | more, about

    @classmethod
    def of(cls, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> KernelModel:
        """Undo `contents`."""
        classes = typed_labels(unpack_strings("labels", arrays), about["labels"])
        check_description(about, len(classes))
        check_kinds(about, count=float, R=float)
        check_counts(about, "width")
        kernel = Kernel.from_dict(about["kernel"])
        support = _unpack_support(arrays, kernel, about)
        n, k = support.n, arrays["coef"].shape[-1]
        check_shape("coef", arrays["coef"], (n, k))
        check_shape("summed", arrays["summed"], (n, k), (0, k))
        check_shape("intercept", arrays["intercept"], (k,))
        log = None
        if about["logged"]:
            log = read_log(arrays, n)
            check_places("log.label", log.label, k)
        scores = _scores_of(len(classes), bool(about.get("pairs")))
        if not len(classes) or k != scores or not 1.0 <= about["count"] <= 1 << 53:
            raise ValueError(
                f"{k} scores after {about['count']} examples for {len(classes)} classes"
            )
        there = {"last": True, "average": len(arrays["summed"]) == n, "vote": log is not None}
        if not there.get(about["keep"]):
            raise ValueError(f"the model lacks what keep={about['keep']!r:.20} needs")
        return cls(
            classes=classes,
            kernel=kernel,
            support=support,
            coef=arrays["coef"],
            summed=arrays["summed"],
            log=log,
            count=about["count"],
            intercept=arrays["intercept"],
            joint=about["joint"],
            keep=about["keep"],
            rule=about["rule"],
            learner=about["learner"],
            params=unpack_params(about["params"]),
            history=History.from_dict(about["history"]),
            feature_names=unpack_strings("names", arrays) if about["names"] else None,
            encoder=read_encoder(arrays, about["encoder"]),
            R=about["R"],
            width=about["width"],
            threshold=about.get("threshold", 0.0),
            generator_state=unpack_state(about.get("chance")),
        )


class RunningScores:
    """The scores of all hypotheses so far on some examples, as running sums over a log.

    Parameters
    ----------
    kernel : Kernel
    points : Points
        The examples to score.
    k : int
        Number of scores per example: 1 for two classes.
    joint : bool
        Whether each vote goes to one class; otherwise every class is voted on separately.
    """

    def __init__(self, kernel: Kernel, points: Points, k: int, joint: bool) -> None:
        self.kernel, self.points, self.together = kernel, points, joint and k > 1
        self.S, self.U, self.votes = (np.zeros((k, points.n)) for _ in range(3))
        self.last = np.zeros(1 if self.together else k)
        self._work = np.empty(0)

    def add(self, support: Points, log: Log, threads: int = 1) -> None:
        """Add the votes of a part of the log; its `example` is an index into `support`."""
        # Only some examples fit in the cache at a time, and they need their kernel with all others.
        dtype = np.promote_types(support.dtype, self.points.dtype)
        room = max(16, BLOCK_BYTES * 4 // max(1, support.n * dtype.itemsize))
        before = self.last.copy()
        for begin in range(0, self.points.n, room):
            part = self.points.take(slice(begin, begin + room))
            if self._work.size < support.n * part.n or self._work.dtype != dtype:
                self._work = np.empty(support.n * part.n, dtype)
            K = self._work[: support.n * part.n].reshape(support.n, part.n)
            block(self.kernel, support, part, K, threads)
            self.last[:] = before
            each = slice(begin, begin + part.n)
            S, U, votes = (np.ascontiguousarray(a[:, each]) for a in (self.S, self.U, self.votes))
            tell = vote_together if self.together else vote_each
            tell(K, log, self.last, S, U, votes)
            self.S[:, each], self.U[:, each], self.votes[:, each] = S, U, votes

    def arrays(self) -> dict[str, np.ndarray]:
        """The running sums so far, for a file."""
        return {"S": self.S, "U": self.U, "votes": self.votes, "last": self.last}

    def resume(self, arrays: dict[str, np.ndarray]) -> None:
        """Undo `arrays`."""
        check_alike(arrays, self.arrays())
        self.S, self.U, self.votes, self.last = (
            arrays[name] for name in ("S", "U", "votes", "last")
        )

    def result(self, keep: str, count: float) -> np.ndarray:
        """The scores (examples, k) at clock time `count`."""
        if keep == "last":
            return self.S.T.copy()
        if keep == "average":
            return (count * self.S - self.U).T / count
        survival = (count - self.last)[:, None]
        if self.together:
            final = self.votes.copy()
            final[np.argmax(self.S, axis=0), np.arange(self.points.n)] += survival[0]
        else:
            final = self.votes + survival * np.where(self.S >= 0.0, 1.0, -1.0)
        return final.T / count


def combine(
    kernel: Kernel,
    coef: np.ndarray,
    support: Points,
    points: Points,
    threads: int = 1,
    work: np.ndarray | None = None,
) -> np.ndarray:
    """Compute the scores (k, points) of some examples: sum_j coef[j] K(x_j, x), in float64.

    Kernel values are computed in blocks, in the buffer `work` if it is given and large enough.
    """
    dtype = np.promote_types(support.dtype, points.dtype)
    scores = np.zeros((coef.shape[1], points.n))
    weights = np.ascontiguousarray(coef.T, dtype)
    step = max(64, BLOCK_BYTES // max(1, points.n * dtype.itemsize))
    step = min(step, support.n)
    if work is None or work.size < step * points.n or work.dtype != dtype:
        work = np.empty(step * points.n, dtype)
    for begin in range(0, support.n, max(1, step)):
        part = support if step == support.n else support.take(slice(begin, begin + step))
        K = work[: part.n * points.n].reshape(part.n, points.n)
        block(kernel, part, points, K, threads)
        with np.errstate(over="ignore", invalid="ignore"):  # the caller checks the scores
            scores += weights[:, begin : begin + part.n] @ K
    return scores


def _scores_of(classes: int, pairs: bool) -> int:
    """The number of scores: one for two classes, else one per class or per pair of classes."""
    return classes * (classes - 1) // 2 if pairs else 1 if classes <= 2 else classes


def _pack_support(support: Points, kernel: Kernel) -> dict[str, np.ndarray]:
    """The support as arrays; a precomputed kernel needs only the row numbers."""
    if kernel.is_precomputed:
        return {}
    if support.objects is not None:
        if all(isinstance(thing, str) for thing in support.objects):
            return pack_strings("support.strings", support.objects)
        try:
            matrix = np.array(support.objects, dtype=np.float64)
        except (TypeError, ValueError):
            found = type(support.objects[0]).__name__
            raise DataError(
                f"examples of type {found} cannot be saved to a file, only vectors and strings"
            ) from None
        return {"support.vectors": matrix}
    assert support.rows is not None
    stored = support.rows.stored._asdict()
    del stored["bias"]
    return {f"support.{name}": array for name, array in stored.items()}


def _unpack_support(arrays: dict[str, np.ndarray], kernel: Kernel, about: dict) -> Points:
    """Undo `_pack_support`."""
    index = arrays["support.index"]
    check_shape("support.index", index, (len(index),), kinds="i")
    if kernel.is_precomputed:
        check_places("support.index", index, about["width"])
        if about["dtype"] not in ("<f4", "<f8"):
            raise ValueError(f"the type is {about['dtype']!r:.20}")
        empty = np.empty((len(index), 0), np.dtype(about["dtype"]))
        return Points(len(index), Rows.of(empty, bias=0.0), None, index)
    if "support.strings.ends" in arrays:
        check_shape("support.strings", arrays["support.strings.ends"], index.shape, kinds="i")
        return Points(len(index), None, unpack_strings("support.strings", arrays), index)
    if "support.vectors" in arrays:
        vectors = arrays["support.vectors"]
        check_shape("support.vectors", vectors, (len(index), vectors.shape[-1]))
        return Points(len(index), None, list(vectors), index)
    values = arrays["support.values"]
    if "support.indices" in arrays:
        import scipy.sparse

        kind = f"i{arrays['support.indices'].itemsize}"
        parts = (values, arrays["support.indices"].view(kind), arrays["support.starts"].view("i8"))
        values = scipy.sparse.csr_matrix(parts, shape=(len(index), about["width"]))
    rows = Rows.of(values, bias=0.0)
    if rows.shape != (len(index), about["width"]):
        raise ValueError(f"{rows.shape} values for {len(index)} examples")
    return Points(rows.n, rows, None, index)
