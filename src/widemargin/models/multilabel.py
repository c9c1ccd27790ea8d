"""A trained multilabel model: one binary linear model for each label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from widemargin.data.encode.encoder import Encoder
from widemargin.data.encode.labels import plain_labels, typed_labels
from widemargin.data.encode.multilabel import Kind
from widemargin.data.encode.registry import read_encoder, write_encoder
from widemargin.data.rows import Rows
from widemargin.modelfile.files import SavedModel
from widemargin.modelfile.packing import pack_params, pack_strings, unpack_params, unpack_strings
from widemargin.models.linear import LinearModel
from widemargin.training.history import Epoch, History


@dataclass(frozen=True)
class MultilabelModel(SavedModel):
    """One linear model of the classes 0 (absent) and 1 (present) for each label.

    Attributes
    ----------
    classes : array
        The labels, sorted; for indicator matrices, the numbers of their columns.
    models : tuple of LinearModel
        The model of each label.
    kind : Kind
        The form in which labels were given and predictions are returned.
    learner, params
        The name of the learner and its parameters.
    feature_names : list of str or None
        Names of the columns.
    encoder : Encoder or None
        Converts raw examples, such as texts, to rows.
    """

    classes: np.ndarray
    models: tuple[LinearModel, ...]
    kind: Kind
    learner: str
    params: dict[str, Any]
    feature_names: Sequence[str] | None = None
    encoder: Encoder | None = None

    # A threshold belongs to the model of one label.
    threshold = 0.0
    by_name = False
    certificate = None
    generator_state = None

    def __repr__(self) -> str:
        return (
            f"MultilabelModel({self.learner}, {len(self.classes)} labels,"
            f" {self.width} features, keep {self.keep!r})"
        )

    @property
    def _one(self) -> LinearModel:
        """One of the models: all were trained in the same way, on the same rows."""
        return self.models[0]

    @property
    def keep(self) -> str:
        """Which hypothesis predicts."""
        return self._one.keep

    @property
    def rule(self) -> str:
        """The name of the update rule."""
        return self._one.rule

    @property
    def bias(self) -> float:
        """The value of the constant feature added to rows; 0 means none."""
        return self._one.bias

    @property
    def width(self) -> int:
        """Number of features."""
        return self._one.width

    @property
    def dtype(self) -> np.dtype:
        """The type of the weights."""
        return self._one.dtype

    @property
    def coef(self) -> np.ndarray:
        """The weights of the features, one row per label."""
        return np.concatenate([model.coef for model in self.models])

    @property
    def intercept(self) -> np.ndarray:
        """The biases, one per label."""
        return np.concatenate([model.intercept for model in self.models])

    @property
    def has_probabilities(self) -> bool:
        """Whether the model can estimate probabilities."""
        return self._one.has_probabilities

    @property
    def history(self) -> History:
        """The counts of every epoch, summed over the labels that were trained in it."""
        histories = [model.history for model in self.models]
        longest = max(map(len, histories))
        found = History(stopped=" / ".join(sorted({history.stopped for history in histories})))
        for number in range(longest):
            some = [history.epochs[number] for history in histories if len(history) > number]
            counts = {name: sum(getattr(e, name) for e in some) for name in ("mistakes", "updates")}
            found.add(
                Epoch(
                    number + 1,
                    **counts,
                    loss=float(np.mean([e.loss for e in some])),
                    change=None,
                    held_out=None,
                    seconds=sum(e.seconds for e in some),
                    examples=some[0].examples,
                )
            )
        return found

    def rows(self, X: Any) -> Rows:
        """Convert examples to rows; with an encoder, raw examples are encoded."""
        return replace(self._one, encoder=self.encoder).rows(X)

    def decision_function(self, X: Any, threads: int = 1) -> np.ndarray:
        """Compute one score per row and label; a score of 0 or more means that it has the label."""
        return self._ask("decision_function", X, threads)

    def predict(self, X: Any, threads: int = 1) -> Any:
        """Predict the labels of every row, in the form used for training."""
        return self.kind.give_back(self.decision_function(X, threads) >= 0.0, self.classes)

    def predict_proba(self, X: Any, threads: int = 1) -> np.ndarray:
        """Estimate the probability of every label (columns) for every row."""
        return self._ask("predict_proba", X, threads)

    def _ask(self, method: str, X: Any, threads: int) -> np.ndarray:
        """The output of every model as a column; of two columns, that of class 1."""
        rows, found = self.rows(X), []
        for model in self.models:
            # A label that appeared later may have a different constant feature.
            said = getattr(model, method)(rows.with_bias(model.bias), threads)
            found.append(said if said.ndim == 1 else said[:, 1])
        return np.column_stack(found)

    def using(self, keep: str) -> MultilabelModel:
        """Return the same training as the last, averaged or voted perceptron."""
        return replace(self, models=tuple(model.using(keep) for model in self.models))

    def contents(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The model as arrays and a description."""
        labels, kind = plain_labels(self.classes)
        arrays = pack_strings("labels", labels)
        if self.feature_names is not None:
            arrays |= pack_strings("names", self.feature_names)
        encoder, more = write_encoder(self.encoder)
        arrays |= more
        each = []
        for number, model in enumerate(self.models):
            found, about = replace(model, feature_names=None, params={}).contents()
            arrays |= {f"{number}/{name}": array for name, array in found.items()}
            each.append(about)
        return arrays, {
            "model": "multilabel",
            "learner": self.learner,
            "params": pack_params(self.params),
            "kind": list(self.kind),
            "labels": kind,
            "names": self.feature_names is not None,
            "encoder": encoder,
            "each": each,
        }

    @classmethod
    def of(cls, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> MultilabelModel:
        """Undo `contents`."""
        names = unpack_strings("names", arrays) if about["names"] else None
        params = unpack_params(about["params"])
        models = []
        for number, each in enumerate(about["each"]):
            start = f"{number}/"
            mine = {n[len(start) :]: array for n, array in arrays.items() if n.startswith(start)}
            models.append(replace(LinearModel.of(mine, each), params=params, feature_names=names))
        classes = typed_labels(unpack_strings("labels", arrays), about["labels"])
        if len(classes) != len(models) or any(len(model.classes) != 2 for model in models):
            raise ValueError(f"{len(models)} models for {len(classes)} labels")
        return cls(
            classes=classes,
            models=tuple(models),
            kind=Kind.of(about["kind"]),
            learner=about["learner"],
            params=params,
            feature_names=names,
            encoder=read_encoder(arrays, about["encoder"]),
        )
