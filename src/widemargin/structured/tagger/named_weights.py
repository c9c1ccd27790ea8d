"""The weights of a tagger by the names of features and tags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from widemargin.errors import DataError
from widemargin.structured.tagger.feature_names import FeatureNames


class Weight(NamedTuple):
    """One weight by name."""

    feature: str
    tag: str
    weight: float


class NamedWeights(NamedTuple):
    """Rows of weights, one per feature, with their names.

    Attributes
    ----------
    W : array (features, width)
        The weights; the first columns are those of the tags.
    tags : list of str
        The names of the columns.
    names : FeatureNames or None
        The names of the rows.
    """

    W: np.ndarray
    tags: list[str]
    names: FeatureNames | None

    def weight(self, feature: str, tag: str) -> float:
        """The weight of a feature for a tag; 0 if it was never seen."""
        row = self._known_names().find(feature)
        return 0.0 if row is None else float(self.W[row, self._code(tag)])

    def top(self, n: int, tag: str | None = None) -> list[Weight]:
        """The features with the largest absolute weights for a tag, or for any tag."""
        W = self.W
        if tag is None:
            flat = np.abs(W[:, : len(self.tags)]).ravel()
            width = len(self.tags)
        else:
            flat, width = np.abs(W[:, self._code(tag)]), 1
        n = min(n, len(flat))
        top = np.argpartition(-flat, n - 1)[:n] if n else np.empty(0, np.int64)
        top = top[np.lexsort([top, -flat[top]])]
        rows, labels = np.divmod(top, width)
        labels = labels if tag is None else np.full(len(rows), self._code(tag))
        names = self._known_names().of(rows.astype(np.uint32))
        return [
            Weight(name or f"row {row}", self.tags[y], float(W[row, y]))
            for name, row, y in zip(names, rows.tolist(), labels.tolist(), strict=True)
            if W[row, y] != 0.0
        ]

    def _known_names(self) -> FeatureNames:
        if self.names is None:
            raise DataError("the feature names were not saved: save the model with names=True")
        return self.names

    def _code(self, tag: str) -> int:
        if tag not in self.tags:
            raise DataError(f"there is no tag {tag!r}; the tags are {', '.join(self.tags)}")
        return self.tags.index(tag)


def transition_weights(
    T: np.ndarray, tags: Sequence[str], allowed: np.ndarray
) -> dict[tuple[str | None, str | None], float]:
    """The weights of transitions by (tag, next tag), see `TaggerModel.transitions`.

    `T` holds the rows of weights that belong to transitions.
    """
    n, names = len(tags), [*tags, None]
    found: dict[tuple[str | None, str | None], float] = {}
    for i, before in enumerate(names):
        for j, tag in enumerate(names):
            if i == n and j == n:
                continue
            weight = float(T[i, j] if j < n else T[n + 1, i])
            found[before, tag] = weight if allowed[i, j] else -np.inf
    return found
