"""A trained linear model: scores, predictions, explanations, saving and loading."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from widemargin.certificates.gap import GapCertificate
from widemargin.data.encode.encoder import Encoder
from widemargin.data.encode.labels import plain_labels, typed_labels
from widemargin.data.encode.registry import read_encoder, write_encoder
from widemargin.data.readers.chunk import Vectors
from widemargin.data.rows import Rows
from widemargin.errors import DataError
from widemargin.markup.html import facts, fragment, lines_of
from widemargin.modelfile.checks import check_kinds
from widemargin.modelfile.files import SavedModel, read_model_file, restore
from widemargin.modelfile.packing import (
    pack_params,
    pack_strings,
    pack_value,
    unpack_params,
    unpack_strings,
)
from widemargin.models.description import check_description, read_names
from widemargin.models.explanation import Explanation, Reason
from widemargin.models.threshold import describe_threshold
from widemargin.online.orders import unpack_state
from widemargin.online.scores import best_class, deployed_scores, votes_on
from widemargin.online.state import KEEPS, State
from widemargin.parameters.values import check_choice
from widemargin.training.history import History

#: Looking up the column of a value costs about as much as making this many weights, which are
#: cached for later predictions.
_LOOK_UPS = 16
#: With more weights than this, none are made for columns that never occurred.
_FEW_WEIGHTS = 1 << 24


@dataclass(frozen=True)
class LinearModel(SavedModel):
    """A trained linear model.

    Attributes
    ----------
    classes : array
        The labels, sorted. With two classes, the second is the positive one.
    state : State
        The weights and whatever else was kept during training.
    keep : {"last", "average", "vote"}
        Which hypothesis predicts.
    rule : str
        The name of the update rule.
    bias : float
        The value of the constant feature added to rows; 0 means none.
    learner, params
        The name of the learner and its parameters.
    history : History
        The training history.
    feature_names : list of str or None
        Names of the columns.
    by_name : bool
        Whether examples are given as dicts from feature name to value.
    certificate : GapCertificate or None
        How close to optimal the weights are, if they solve an optimisation problem.
    generator_state : dict or None
        The state of the random generator, so that training can continue as if it had never
        stopped.
    encoder : Encoder or None
        Converts raw examples, such as texts, to rows.
    threshold : float
        With two classes: the least score for which the second is predicted. It is subtracted from
        all scores, so that the sign of `decision_function` is always the prediction.
    mixture : (str, int) or None
        If several partitions learned at the same time: how their weights were mixed after each
        epoch ("uniform" or "touched"), and how many there were.

    Examples
    --------
    >>> from widemargin import Perceptron
    >>> model = Perceptron(random_state=0).fit([[0, 1], [1, 0]], ["a", "b"]).model_
    >>> model.learner, model.classes.tolist(), model.predict([[2, 0]]).tolist()
    ('Perceptron', ['a', 'b'], ['b'])
    """

    classes: np.ndarray
    state: State
    keep: str = "average"
    rule: str = "perceptron"
    bias: float = 1.0
    learner: str = "Perceptron"
    params: dict[str, Any] = field(default_factory=dict)
    history: History = field(default_factory=History)
    feature_names: Sequence[str] | None = None
    by_name: bool = False
    certificate: GapCertificate | None = None
    generator_state: Mapping[str, Any] | None = None
    encoder: Encoder | None = None
    threshold: float = 0.0
    mixture: tuple[str, int] | None = None

    def __repr__(self) -> str:
        return (
            f"LinearModel({self.learner}, {len(self.classes)} classes,"
            f" {self.width} features, keep {self.keep!r})"
        )

    @cached_property
    def weights(self) -> np.ndarray:
        """The weights used for prediction, bias last; for a vote, the averaged weights."""
        return self.state.spread(self.stored_weights)

    @cached_property
    def stored_weights(self) -> np.ndarray:
        """The weights as stored in the state: of all columns, or of those that occurred."""
        return self.state.last() if self.keep == "last" else self.state.average()

    @property
    def coef(self) -> np.ndarray:
        """The weights of the features: one row for two classes, else one row per class."""
        return self.weights[:, :-1]

    @property
    def intercept(self) -> np.ndarray:
        """The biases, less the threshold."""
        biases = self.stored_weights[:, -1] * self.dtype.type(self.bias)
        return biases - biases.dtype.type(self.threshold) if self.threshold else biases

    @property
    def width(self) -> int:
        """Number of features."""
        return self.state.width

    @property
    def dtype(self) -> np.dtype:
        """The type of the weights."""
        return self.state.W.dtype

    @cached_property
    def _deployed(self) -> dict[Any, tuple[np.ndarray, np.ndarray]]:
        """A cache of the deployed weights in the forms needed so far; see `_weights_for`."""
        return {}

    def _weights_for(self, rows: Rows, everywhere: bool) -> tuple[np.ndarray, np.ndarray]:
        """The deployed weights for such rows (with `everywhere`, of all columns) and the divisor.

        They are cached: making them costs more than scoring a few rows.
        """
        form = rows.dtype, rows.is_sparse, everywhere
        if form not in self._deployed:
            W, divisor = self.state.deployed(self.keep, rows.dtype, rows.is_sparse)
            self._deployed[form] = self.state.spread(W) if everywhere else W, divisor
        return self._deployed[form]

    def _deployed_scores(self, rows: Rows, threads: int) -> np.ndarray:
        """The scores of the deployed weights."""
        everywhere = self.state.columns is None or not rows.is_sparse
        weights = len(self.state.W) * self.width
        if weights <= min(_FEW_WEIGHTS, _LOOK_UPS * rows.stored_values):
            everywhere = True
        W, divisor = self._weights_for(rows, everywhere)
        if not everywhere:
            rows, W = self.state.matching(rows, W, threads)
        return deployed_scores(W, divisor, rows, rows.everything, threads)

    def rows(self, X: Any) -> Rows:
        """Convert examples to rows; with an encoder, raw examples are encoded."""
        of_numbers = getattr(self.encoder, "kind", "numbers") == "numbers"
        encodes = isinstance(X, Vectors) or not (of_numbers or isinstance(X, Rows))
        if self.encoder is not None and encodes:
            return self.encoder.encode(X, self.bias)
        rows = X if isinstance(X, Rows) else Rows.of(X, bias=self.bias, dtype=self.state.W.dtype)
        if rows.width != self.state.width and not self.by_name:
            raise DataError(
                f"X has {rows.width} features, but the model was trained with {self.state.width}"
            )
        return rows

    def decision_function(self, X: Any, threads: int = 1) -> np.ndarray:
        """Compute one score per row for two classes (positive: the second), else one per class.

        The score of a voted model is the mean vote, from -1 to 1, or the share of the votes for
        each class. The threshold, if there is one, is subtracted.
        """
        found = self._scores(X, threads)
        return found - self.threshold if self.threshold else found

    def _scores(self, X: Any, threads: int) -> np.ndarray:
        """The scores before the threshold is subtracted."""
        rows = self.rows(X)
        if self.keep == "vote":
            votes = votes_on(self.state, rows, rows.everything, threads)
            found = votes.result(self.state.count)
        else:
            found = self._deployed_scores(rows, threads)
        if not np.all(np.isfinite(found)):
            rows.check_finite()
            raise DataError("a score is too large for a float; scale the features down")
        return found

    def predict(self, X: Any, threads: int = 1) -> np.ndarray:
        """Predict the label of every row.

        Ties go to the second of two classes, and to the first of more than two.
        """
        found = self.decision_function(X, threads)
        if len(self.classes) == 1:  # a stream that has seen one class so far
            return np.repeat(self.classes, len(found))
        return self.classes[best_class(found)]

    @property
    def has_probabilities(self) -> bool:
        """Whether the model can estimate probabilities."""
        return self.rule == "logistic" and self.keep != "vote"

    def predict_proba(self, X: Any, threads: int = 1) -> np.ndarray:
        """Estimate the probability of every class; only the logistic rule supports it.

        A threshold does not change the probabilities, only the predictions.
        """
        if not self.has_probabilities:
            raise AttributeError(
                "probabilities come from the logistic rule with keep='last' or 'average';"
                " to calibrate another model's scores use scikit-learn's CalibratedClassifierCV"
            )
        return probabilities(self._scores(X, threads), self.state.joint)

    def using(self, keep: str) -> LinearModel:
        """Return the same training as the last, averaged or voted perceptron.

        With `keep="vote"` all three are available; with `keep="average"` also the last. A threshold
        belongs to the scores that it was chosen on: another hypothesis has none.
        """
        check_choice("keep", keep, KEEPS)
        if keep == "vote" and self.state.log is None:
            raise ValueError("the mistake log was not kept: train with keep='vote'")
        if keep == "average" and not len(self.state.U):
            raise ValueError("the average was not kept: train with keep='average' or 'vote'")
        return replace(self, keep=keep, threshold=self.threshold if keep == self.keep else 0.0)

    def feature_name(self, column: int) -> str:
        """The name of a column; -1 is the bias."""
        if column < 0:
            return "(bias)"
        if self.feature_names is not None and column < len(self.feature_names):
            return str(self.feature_names[column])
        return f"x{column}" if self.encoder is None else self.encoder.feature_name(column)

    def top_features(self, n: int = 10) -> dict[Any, list[tuple[str, float]]]:
        """Return for each class the n features with the largest weights for it.

        With two classes, the first has the weights of the second with opposite signs.
        """
        weights, columns = self.stored_weights[:, :-1], np.arange(self.width)
        if self.state.columns is not None:
            columns = self.state.columns.ids
            weights = weights[:, 1 : len(columns) + 1]
        signs = getattr(self.encoder, "signs", lambda: 1.0)()
        weights = weights * (signs[columns] if isinstance(signs, np.ndarray) else signs)
        if len(weights) == 1:
            weights = np.concatenate([-weights, weights])
        best = {}
        for label, w in zip(self.classes.tolist(), weights, strict=True):
            least = np.partition(w, -n)[-n] if n < len(w) else 0.0
            few = np.flatnonzero((w >= least) & (w > 0.0))
            few = few[np.lexsort((columns[few], -w[few]))][:n]
            best[label] = [(self.feature_name(int(columns[j])), float(w[j])) for j in few]
        return best

    def equation(self, digits: int = 4) -> str:
        """Return the boundary w.x + b = 0 between two classes, as an equation.

        Its normal is w, which points to the side of the second class; b shifts it off the origin.
        With `keep="vote"`, it is that of the average: the boundary of a vote is no hyperplane.
        """
        if len(self.weights) > 1:
            raise ValueError("more than two classes have no single hyperplane; see `weights`")
        terms = [
            f"{weight:.{digits}g}*{self.feature_name(column)}"
            for column, weight in enumerate(self.coef[0])
            if weight != 0.0
        ]
        terms.append(f"{self.intercept[0]:.{digits}g}")
        return " + ".join(terms).replace("+ -", "- ") + " = 0"

    def explain(self, x: Any, top: int = 10) -> Explanation:
        """Return the features that decided the prediction for one row, and the mistakes behind
        them.

        Parameters
        ----------
        x : row, matrix with one row, or a raw example for the encoder
            The example.
        top : int
            Maximum number of features to return, the most influential first.
        """
        names: Mapping[int, str] = {}
        if self.encoder is not None and not isinstance(x, Rows):
            # Names from the example itself, because the table of names may have had no room for
            # them.
            names = getattr(self.encoder, "names_in", lambda raw: {})(x)
            x = self.rows(x)
        rows = self.rows(x if isinstance(x, Rows) or hasattr(x, "tocsr") else np.atleast_2d(x))
        if rows.n != 1:
            raise DataError(f"explain takes one row, found {rows.n}")
        found = self.decision_function(rows)
        code = int(best_class(found)[0])
        columns, values = _entries(rows)
        weights = self.state.weights_at(columns, self.stored_weights)
        if len(weights) == 1:
            sign = 1.0 if code else -1.0
            rival, direction = 1 - code, sign * weights[0]
            score, signs = sign * float(found[0]), {0: sign}
        else:
            others = found[0].copy()
            others[code] = -np.inf
            rival = int(np.argmax(others))
            direction = weights[code] - weights[rival]
            score, signs = float(found[0, code] - found[0, rival]), {code: 1.0, rival: -1.0}
        shares = direction * values
        order = np.argsort(-np.abs(shares), kind="stable")
        reasons = [
            self._reason(int(columns[j]), float(values[j]), float(direction[j]), signs, names)
            for j in order[:top]
            if shares[j] != 0.0
        ]
        if self.threshold:
            share = -signs[0] * self.threshold
            reasons.append(Reason("(threshold)", 1.0, share, share, None))
            reasons = sorted(reasons, key=lambda reason: -abs(reason.share))[:top]
        return Explanation(
            prediction=self.classes[code],
            instead_of=self.classes[rival],
            score=score,
            reasons=reasons,
            voted=self.keep == "vote",
        )

    def _reason(
        self,
        column: int,
        value: float,
        weight: float,
        signs: dict[int, float],
        names: Mapping[int, str],
    ) -> Reason:
        """The contribution of a column; `signs` maps the classes involved to their signs."""
        mistakes = None if self.state.log is None else self.state.log.behind(column, signs)
        name = names.get(column) or self.feature_name(column)
        return Reason(name, value, weight, weight * value, mistakes)

    def _repr_html_(self) -> str:
        shown = ", ".join(map(str, self.classes[:10].tolist()))
        parts = [
            ("model", f"{self.learner}, {self.rule} rule, {self.keep} kept"),
            ("classes", f"{len(self.classes)}: {shown}{', ...' if len(self.classes) > 10 else ''}"),
            ("features", f"{self.state.width:,}"),
        ]
        if self.threshold:
            parts.append(("threshold", describe_threshold(self)))
        found = []
        if self.certificate is None:
            epochs = self.history.epochs_run
            parts.append(("mistakes", f"{self.history.mistakes:,} in {epochs} epochs"))
        else:
            found = [lines_of(str(self.certificate))]
        return fragment(facts(parts), self.history.charts(), *found)

    def contents(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The model as arrays and a description."""
        labels, kind = plain_labels(self.classes)
        arrays = {**self.state.arrays(), **pack_strings("labels", labels)}
        if self.feature_names is not None:
            arrays |= pack_strings("names", self.feature_names)
        encoder, more = write_encoder(self.encoder)
        arrays |= more
        about = {
            "model": "linear",
            "learner": self.learner,
            "params": pack_params(self.params),
            "keep": self.keep,
            "rule": self.rule,
            "bias": self.bias,
            "joint": self.state.joint,
            "logged": self.state.log is not None,
            "by_name": self.by_name,
            "labels": kind,
            "names": self.feature_names is not None,
            "chance": pack_value(self.generator_state),
            "history": self.history.to_dict(),
            "encoder": encoder,
            "certificate": None if self.certificate is None else self.certificate.to_dict(),
            "threshold": self.threshold,
        }
        if self.mixture is not None:
            about["mixture"] = list(self.mixture)
        return arrays, about

    @classmethod
    def of(cls, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> LinearModel:
        """Undo `contents`."""
        classes = typed_labels(unpack_strings("labels", arrays), about["labels"])
        check_description(about, len(classes))
        check_kinds(about, bias=float, by_name=bool)
        if about["by_name"] and about.get("encoder"):
            raise ValueError("its examples are dicts, which need no encoder")
        state = State.of(arrays, about["bias"], about["joint"], about["logged"])
        state.check_use(len(classes), about["keep"])
        names = read_names(arrays, about, state)
        worth = about.get("certificate")
        return cls(
            classes=classes,
            state=state,
            keep=about["keep"],
            rule=about["rule"],
            bias=about["bias"],
            learner=about["learner"],
            params=unpack_params(about["params"]),
            history=History.from_dict(about["history"]),
            feature_names=names,
            by_name=about["by_name"],
            certificate=None if worth is None else GapCertificate.from_dict(worth),
            generator_state=unpack_state(about["chance"]),
            encoder=read_encoder(arrays, about.get("encoder")),
            threshold=about.get("threshold", 0.0),
            mixture=tuple(about["mixture"]) if "mixture" in about else None,
        )


def _multilabel(arrays: dict[str, np.ndarray], about: dict[str, Any]) -> Any:
    from widemargin.models.multilabel import MultilabelModel  # it imports this module

    return MultilabelModel.of(arrays, about)


def _kernel(arrays: dict[str, np.ndarray], about: dict[str, Any]) -> Any:
    from widemargin.models.kernel import KernelModel  # imported here, to load linear models faster

    return KernelModel.of(arrays, about)


def _kernel_svm(arrays: dict[str, np.ndarray], about: dict[str, Any]) -> Any:
    from widemargin.models.kernel_svm import KernelSVMModel

    return KernelSVMModel.of(arrays, about)


#: Maps the kind of model named in a file to the function that restores it.
_KINDS: dict[str, Callable[..., Any]] = {
    "linear": LinearModel.of,
    "multilabel": _multilabel,
    "kernel": _kernel,
    "kernel svm": _kernel_svm,
}


def load_model(path: str | os.PathLike[str]) -> Any:
    """Read a model from its file.

    This is the plain model; `widemargin.load` returns the learner around it.

    Raises
    ------
    ModelFileError
        If the file is not a model, is damaged, or was written by a newer version.

    Examples
    --------
    >>> from widemargin import LinearSVM, load_model
    >>> LinearSVM().fit([[0, 1], [1, 0]], ["a", "b"]).save("small.wm")
    >>> model = load_model("small.wm")
    >>> type(model).__name__, model.predict([[2, 0]]).tolist()
    ('LinearModel', ['b'])
    """
    return model_of(path, *read_model_file(path))


def model_of(
    path: str | os.PathLike[str], arrays: dict[str, np.ndarray], about: dict[str, Any]
) -> Any:
    """Restore the model from the contents of a file."""
    return restore(
        path,
        arrays,
        about,
        lambda arrays, about: _KINDS[about.get("model", "linear")](arrays, about),
    )


def probabilities(found: np.ndarray, joint: bool) -> np.ndarray:
    """Convert logistic scores to probabilities; the largest is that of the predicted class."""
    if found.ndim == 2 and joint:
        P = np.exp(found - found.max(axis=1, keepdims=True))
    else:
        P = 1.0 / (1.0 + np.exp(-np.clip(found, -700.0, 700.0)))
    P = np.column_stack([1.0 - P, P]) if found.ndim == 1 else P / P.sum(axis=1, keepdims=True)
    # Different scores may round to the same probability, and argmax would then take the first.
    best = best_class(found)
    each = np.arange(len(P))
    tied = np.argmax(P, axis=1) != best
    P[each[tied], best[tied]] = np.nextafter(P[tied].max(axis=1), 2.0)
    return P


def _entries(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """The columns of a single row in ascending order, then -1 for the bias, and their values."""
    matrix = rows.to_matrix()
    columns, row = np.arange(rows.width), matrix[0]
    if rows.is_sparse:
        matrix = matrix.copy()
        matrix.sum_duplicates()
        columns, row = matrix.indices, matrix.data
    return np.append(columns, -1), np.append(row, rows.bias).astype(np.float64)
