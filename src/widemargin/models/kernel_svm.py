"""A trained kernel SVM: one machine for two classes, else one per pair of classes or per class."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from widemargin.certificates.kernel_gap import KernelCertificate
from widemargin.kernels.blocks import add_near, is_near
from widemargin.modelfile.checks import check_ends, check_kinds, check_shape
from widemargin.models.kernel import KernelModel, combine
from widemargin.online.scores import best_class
from widemargin.parameters.values import check_choice
from widemargin.threads import one_blas_thread, run_all

#: Number of examples that are scored together.
_TOGETHER = 1024


@dataclass(frozen=True, repr=False)
class KernelSVMModel(KernelModel):
    """A `KernelModel` of several machines, which may separate pairs of classes.

    `coef` has one column per machine. The machine for classes a < b is positive for a; with only
    two classes, it is positive for the second; one-vs-rest machines are positive for the one class.

    Attributes
    ----------
    pairs : bool
        Whether there are three or more classes and one machine per pair of them.
    support_sizes : array
        Number of support vectors of every class; `support` is ordered by class.
    shape : {"ovr", "ovo"}
        Whether `decision_function` returns one score per class, or one per pair.
    certificate : KernelCertificate or None
        The certificate of the machines.

    Examples
    --------
    >>> from widemargin import KernelSVM
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    >>> model = KernelSVM(gamma=1.0, C=10.0).fit(X, y).model_
    >>> model.support_sizes.tolist(), model.certificate.gap < 1e-2
    ([2, 2], True)
    """

    pairs: bool = False
    support_sizes: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    shape: str = "ovr"
    certificate: KernelCertificate | None = None  # type: ignore[assignment]

    @property
    def dual_coef(self) -> np.ndarray:
        """The coefficients of each support vector (column) in its machines.

        With pairs, row r belongs to its machine against the r-th of the other classes.
        """
        if not self.pairs:
            return self.coef.T
        count = len(self.classes)
        own = np.repeat(np.arange(count), self.support_sizes)
        found = np.zeros((count - 1, len(own)))
        for column, (a, b) in enumerate(combinations(range(count), 2)):
            found[b - 1, own == a] = self.coef[own == a, column]
            found[a, own == b] = self.coef[own == b, column]
        return found

    def machine_scores(self, X: Any, threads: int = 1) -> np.ndarray:
        """Compute the score of every machine (column) on every example.

        Kernel values take a few megabytes per thread at a time, however many examples there are.
        """
        points = self.points(X)
        support, columns = self.support_for(points)
        found = np.empty((points.n, self.coef.shape[1]))
        near = is_near(self.kernel, support, points)
        together = _TOGETHER // 4 if near else _TOGETHER
        weights = np.ascontiguousarray(self.coef.T, support.dtype)

        def answer(begin: int) -> None:
            which = slice(begin, begin + together)
            part = points.take(which) if columns is None else points.keep(columns, which)
            if near:
                scores = np.zeros((found.shape[1], part.n))
                add_near(self.kernel, support, part, weights, scores)
            else:
                scores = combine(self.kernel, self.coef, support, part)
            found[which] = scores.T

        with one_blas_thread():
            run_all(answer, range(0, points.n, together), threads)
        found += self.intercept
        self._check_finite(found, points)
        return found

    def decision_function(self, X: Any, threads: int = 1) -> np.ndarray:
        """Compute one score per row for two classes (positive: the second), else one per class.

        With pairs, the score of a class is the number of its wins plus, to break ties, a fraction
        that grows with their margins. With `shape="ovo"`, the scores of the pairs themselves.
        """
        if self.pairs and self.shape == "ovo":
            return self.machine_scores(X, threads)
        return self.class_scores(X, threads)

    def predict(self, X: Any, threads: int = 1) -> np.ndarray:
        """Predict the label of every row.

        Ties go to the second of two classes, and to the first of more than two.
        """
        return self.classes[best_class(self.class_scores(X, threads))]

    def class_scores(self, X: Any, threads: int = 1) -> np.ndarray:
        """The scores that `predict` compares: one for two classes, else one per class."""
        scores = self.machine_scores(X, threads)
        if self.pairs:
            return votes_of_pairs(scores, len(self.classes))
        if len(self.classes) > 2:
            return scores
        return scores[:, 0] - self.threshold if self.threshold else scores[:, 0]

    def contents(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The arrays and the description to store in a file."""
        arrays, about = super().contents()
        arrays["support.sizes"] = self.support_sizes
        about |= {"model": "kernel svm", "pairs": self.pairs, "shape": self.shape}
        about["worth"] = None if self.certificate is None else self.certificate.to_dict()
        return arrays, about

    @classmethod
    def of(cls, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> KernelSVMModel:
        """Undo `contents`."""
        check_kinds(about, pairs=bool)
        check_choice("shape", about["shape"], ("ovr", "ovo"))
        plain = KernelModel.of(arrays, about)
        sizes = arrays["support.sizes"]
        check_shape("support.sizes", sizes, (len(plain.classes),), kinds="i")
        check_ends("support.sizes", np.cumsum(sizes), plain.support.n)
        worth = about["worth"]
        return cls(
            **vars(plain),
            pairs=about["pairs"],
            support_sizes=arrays["support.sizes"],
            shape=about["shape"],
            certificate=None if worth is None else KernelCertificate.from_dict(worth),
        )


def votes_of_pairs(scores: np.ndarray, classes: int) -> np.ndarray:
    """Compute class scores from pair scores: wins plus a tie-breaking fraction below one half.

    (The same form as in scikit-learn.)
    """
    votes, sums = np.zeros((len(scores), classes)), np.zeros((len(scores), classes))
    for column, (a, b) in enumerate(combinations(range(classes), 2)):
        score = scores[:, column]
        sums[:, a] += score
        sums[:, b] -= score
        first = score >= 0.0
        votes[first, a] += 1.0
        votes[~first, b] += 1.0
    return votes + sums / (3.0 * (np.abs(sums) + 1.0))
